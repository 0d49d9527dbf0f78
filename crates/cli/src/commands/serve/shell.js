"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const root = document.documentElement, result = by("result"), text = by("text"), told = by("told");
  const POLL = 250, MAX_EDITED = 2_000_000;

  // The colours are those that the page was told to have.
  const colour = () => {
    let theme = new URLSearchParams(location.search).get("theme");
    try { theme = localStorage.getItem("nestegg-theme") || theme; } catch { /* nothing is kept */ }
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  };
  addEventListener("storage", colour);
  colour();

  const chosen = new URLSearchParams(location.hash.slice(1));
  let kernel = chosen.get("kernel") || "", level = chosen.get("level") || "", file = chosen.get("file") || "";
  let shown = null, wanted = null, tag = null, clean = "", problems = [];
  const query = (pairs) => new URLSearchParams(pairs).toString();
  const input = () => query({ kernel, level });
  const remember = () => history.replaceState(null, "", location.search + "#" + query({ kernel, level, file }));
  const say = (message, isBusy = false) => { told.textContent = message; told.classList.toggle("busy", isBusy); };

  const options = (select, groups, value) => {
    const now = JSON.stringify(groups);
    if (select.dataset.now !== now) {
      select.dataset.now = now;
      select.replaceChildren(...groups.map(([label, names]) => {
        const made = names.map((name) => new Option(name, name));
        if (!label) return made;
        const group = document.createElement("optgroup");
        group.label = label;
        group.append(...made);
        return [group];
      }).flat());
    }
    select.value = value;
  };

  // The editor.
  const isDirty = () => text.value !== clean;
  const number = () => {
    const marks = new Map();
    for (const { severity, labels } of problems) for (const label of labels.slice(0, 1))
      if (label.file === file && marks.get(label.line) !== "error") marks.set(label.line, severity);
    const n = text.value.split("\n").length;
    by("numbers").replaceChildren(...Array.from({ length: n }, (_, i) => {
      const line = document.createElement("span");
      line.textContent = i + 1;
      if (marks.has(i + 1)) line.className = marks.get(i + 1);
      return line;
    }));
    by("numbers").scrollTop = text.scrollTop;
  };
  const touched = () => {
    by("save").disabled = !isDirty();
    by("saved").textContent = isDirty() ? "not saved" : "";
  };
  // An answer that comes late is that to another question.
  const open = async (name) => {
    const response = await fetch("/file?" + query({ name }));
    const body = response.ok ? await response.text() : "";
    if (name !== file) return;
    const isLong = body.length > MAX_EDITED;
    tag = response.headers.get("ETag");
    clean = text.value = isLong ? "" : body;
    text.readOnly = isLong || !response.ok;
    text.placeholder = isLong ? "This file is too long to edit here." : "";
    touched();
    number();
  };
  const save = async () => {
    if (!isDirty() || text.readOnly) return;
    const body = text.value;
    const response = await fetch("/file?" + query({ name: file }), { method: "PUT", headers: { "If-Match": tag }, body });
    if (response.ok) {
      tag = response.headers.get("ETag");
      clean = body;
      touched();
      poll();
    } else {
      by("saved").textContent = "not saved: " + await response.text();
    }
  };
  const go = async (label) => {
    if (label.file !== file) { if (!leave()) return; file = label.file; remember(); by("file").value = file; await open(file); }
    // Offsets are those of bytes.
    const before = new TextDecoder().decode(new TextEncoder().encode(text.value).slice(0, label.offset)).length;
    const marked = new TextDecoder().decode(new TextEncoder().encode(text.value).slice(label.offset, label.offset + label.length)).length;
    text.focus();
    text.setSelectionRange(before, before + marked);
    text.scrollTop = Math.max(0, (label.line - 5) * 20);
  };
  const leave = () => !isDirty() || confirm("Leave what is not saved?");

  const describe = () => {
    const part = (name, content, kind) => {
      const element = document.createElement(name);
      element.textContent = content;
      if (kind) element.className = kind;
      return element;
    };
    by("problems").replaceChildren(...problems.map(({ severity, message, help, causes, labels, text: drawn }) => {
      const item = part("li", "", severity);
      const label = labels.find((one) => one.file && one.line);
      if (label) {
        const button = part("button", `${label.file}:${label.line}:${label.column}`);
        button.type = "button";
        button.addEventListener("click", () => go(label));
        item.append(button);
      }
      item.append(part("p", [`${severity}: ${message}`, ...causes].join(": ")));
      if (help) item.append(part("p", help, "help"));
      if (drawn) item.append(part("pre", drawn));
      return item;
    }));
    number();
  };

  // The result: the next page is drawn behind the last one, and takes its place in the same position.
  const frame = (version) => {
    result.querySelector("iframe.next")?.remove();
    const next = document.createElement("iframe"), last = result.querySelector("iframe");
    next.className = "next";
    next.title = "Result";
    next.src = "/page?" + query({ kernel, level, version });
    next.addEventListener("load", () => {
      if (!next.isConnected) return;
      if (last) next.contentWindow.scrollTo(0, last.contentWindow.scrollY);
      next.className = "";
      last?.remove();
      next.dataset.version = version;
    }, { once: true });
    result.append(next);
  };
  const show = async (version) => {
    wanted = version;
    say("at work…", true);
    const response = await fetch("/result?" + input());
    if (!response.ok) { wanted = null; say(await response.text()); return; }
    const story = await response.json();
    if (wanted !== version) return;
    shown = wanted = story.version;
    problems = story.problems;
    describe();
    if (story.levels.length) {
      const first = by("level").options[0].textContent;
      by("level").replaceChildren(new Option(first, ""), ...story.levels.filter((name) => name !== first).map((name) => new Option(name, name)));
      by("level").value = level;
    }
    result.classList.toggle("stale", !story.operations);
    by("nothing").hidden = true;
    if (story.operations) {
      const [before, after] = story.operations;
      say(`${before} → ${after} operations; rules fired: ${story.rules}`);
      frame(shown);
    } else {
      say("no result: see what is wrong");
    }
  };

  let timer = 0;
  const poll = async () => {
    clearTimeout(timer);
    try {
      const response = await fetch("/state?" + query({ kernel, level, file }));
      const state = await response.json();
      const { kernels, rules } = state.files;
      if (!kernels.includes(kernel) && kernels.length) { kernel = kernels[0]; shown = wanted = null; remember(); timer = setTimeout(poll); return; }
      if (!kernels.includes(file) && !rules.includes(file) && !isDirty()) { file = rules[0] || kernel; remember(); await open(file); }
      options(by("kernel"), [["", kernels]], kernel);
      options(by("file"), [["Rules", rules], ["Kernels", kernels]], file);
      if (state.file && tag && `"${state.file}"` !== tag) {
        if (isDirty()) by("saved").textContent = "the file has been changed elsewhere; save is refused";
        else await open(file);
      }
      if (state.version && state.version !== shown && state.version !== wanted) show(state.version).catch(() => { wanted = null; });
      if (told.dataset.gone) { delete told.dataset.gone; shown = wanted = null; }
    } catch {
      told.dataset.gone = "yes";
      say("nestegg does not answer: it has ended");
    }
    clearTimeout(timer);
    timer = setTimeout(poll, POLL);
  };

  by("kernel").addEventListener("change", (event) => {
    const wasOpen = file === kernel;
    if (wasOpen && !leave()) { event.target.value = kernel; return; }
    kernel = event.target.value;
    shown = wanted = null;
    if (wasOpen) { file = kernel; open(file); }
    remember();
    poll();
  });
  by("level").addEventListener("change", (event) => { level = event.target.value; shown = wanted = null; remember(); poll(); });
  by("file").addEventListener("change", (event) => {
    if (!leave()) { event.target.value = file; return; }
    file = event.target.value;
    remember();
    open(file);
  });
  by("save").addEventListener("click", save);
  by("show-editor").addEventListener("click", (event) => {
    const isAlone = document.querySelector(".panes").classList.toggle("alone");
    event.target.setAttribute("aria-expanded", String(!isAlone));
  });
  text.addEventListener("input", () => { touched(); number(); });
  text.addEventListener("scroll", () => { by("numbers").scrollTop = text.scrollTop; });
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); save(); }
  });
  addEventListener("beforeunload", (event) => { if (isDirty()) event.preventDefault(); });
  poll();
})();

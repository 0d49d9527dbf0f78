"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;

  // Light and dark: what the button chose is kept where the browser lets us.
  const stored = () => { try { return localStorage.getItem("nestegg-theme"); } catch { return null; } };
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const wanted = new URLSearchParams(location.search).get("theme") || stored();
  if (wanted === "light" || wanted === "dark") root.dataset.theme = wanted;
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("nestegg-theme", root.dataset.theme); } catch { /* a page of a file may keep nothing */ }
  });

  // Lines: what a line writes and reads is marked.
  for (const side of document.querySelectorAll(".code")) {
    const arcs = [...side.querySelectorAll(".arcs path")];
    const lines = [...side.querySelectorAll("li[data-names]")];
    const mark = (names) => {
      for (const arc of arcs) arc.classList.toggle("on", names.includes(arc.dataset.name));
      for (const line of lines) line.classList.toggle("on", line.dataset.names.split(" ").some((name) => names.includes(name)));
    };
    for (const line of lines) {
      line.addEventListener("mouseenter", () => mark(line.dataset.names.split(" ")));
      line.addEventListener("mouseleave", () => mark([]));
    }
    let at = -1;
    side.addEventListener("keydown", (event) => {
      const step = { j: 1, k: -1 }[event.key];
      if (!step || !lines.length) return;
      at = Math.max(0, Math.min(lines.length - 1, at + step));
      mark(lines[at].dataset.names.split(" "));
      lines[at].scrollIntoView({ block: "nearest", inline: "nearest" });
    });
  }

  // The e-graph.
  const picture = JSON.parse(byId("picture").textContent);
  const drawing = byId("drawing");
  if (!drawing || !picture.classes.length) return;
  const canvas = byId("canvas"), NS = "http://www.w3.org/2000/svg";
  const ROW = 20, CHAR = 7.25, PAD = 10, GAP_X = 26, GAP_Y = 64, MAX_TEXT = 46;
  const rules = [...new Set(picture.classes.flatMap((c) => c.nodes.map((n) => n.rule)).filter(Boolean))].sort();
  const hue = (rule) => (rules.indexOf(rule) * 137 + 210) % 360;
  const cut = (text) => text.length > MAX_TEXT ? text.slice(0, MAX_TEXT - 1) + "…" : text;
  const make = (name, attributes, text) => {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const legend = byId("legend");
  for (const rule of ["", ...rules]) {
    const item = document.createElement("li"), dot = document.createElement("i");
    if (rule) dot.style.setProperty("--h", hue(rule)); else dot.className = "kernel";
    item.append(dot, rule || "the kernel itself");
    legend.append(item);
  }

  let centre = +byId("value").value, history = [], view = { x: 0, y: 0, k: 1 }, size = { width: 1, height: 1 };
  const boxes = new Map();

  // Classes in levels by their distance from the centre; each level is in the order in which the one above leads to it.
  const levels = (depth) => {
    const level = new Map([[centre, 0]]), rows = [[centre]];
    for (let d = 0; d < depth; d++) {
      const next = [];
      for (const id of rows[d]) for (const node of picture.classes[id].nodes) for (const child of node.children)
        if (!level.has(child)) { level.set(child, d + 1); next.push(child); }
      if (!next.length) break;
      rows.push(next);
    }
    return rows;
  };

  const draw = () => {
    drawing.replaceChildren();
    boxes.clear();
    const layer = make("g", { id: "layer" }), edges = make("g", {}), nodes = make("g", {});
    const rows = levels(Math.max(1, Math.min(6, +byId("depth").value || 2)));
    let y = 0, widest = 0;
    for (const row of rows) {
      let x = 0, tallest = 0;
      for (const id of row) {
        const { text, nodes: forms, more } = picture.classes[id];
        const lines = forms.map((n) => cut(n.text));
        const width = Math.max(90, CHAR * Math.max(cut(text).length * .92, ...lines.map((l) => l.length + 2)) + 2 * PAD);
        const height = ROW * (forms.length + 1 + (more ? 1 : 0)) + PAD;
        boxes.set(id, { x, y, width, height, forms });
        x += width + GAP_X;
        tallest = Math.max(tallest, height);
      }
      row.width = x - GAP_X;
      widest = Math.max(widest, row.width);
      y += tallest + GAP_Y;
    }
    for (const row of rows) for (const id of row) boxes.get(id).x += (widest - row.width) / 2;
    size = { width: widest, height: y - GAP_Y };
    for (const [id, box] of boxes) {
      const { text, nodes: forms, more } = picture.classes[id];
      const group = make("g", { class: "class" + (id === centre ? " root" : ""), tabindex: "0", role: "button", "data-id": id, "aria-label": `e-class ${text}, ${forms.length + more} forms`, transform: `translate(${box.x.toFixed(1)} ${box.y.toFixed(1)})` });
      group.append(make("title", {}, text), make("rect", { width: box.width.toFixed(1), height: box.height, rx: 8 }), make("text", { class: "head", x: PAD, y: 15 }, cut(text)));
      forms.forEach((form, i) => {
        const top = ROW * (i + 1) + 4;
        if (form.chosen) group.append(make("rect", { class: "mark", x: 3, y: top, width: (box.width - 6).toFixed(1), height: ROW, rx: 5 }));
        const dot = make("circle", { class: "dot" + (form.rule ? "" : " kernel"), cx: PAD + 3, cy: top + ROW / 2, r: 4 });
        if (form.rule) dot.style.setProperty("--h", hue(form.rule));
        const line = make("text", { class: "form" + (form.chosen ? " chosen" : ""), x: PAD + 12, y: top + 14 }, cut(form.text));
        line.append(make("title", {}, form.text + (form.rule ? `\nby ${form.rule}` : "\nof the kernel") + (form.chosen ? "\nchosen" : "")));
        group.append(dot, line);
        for (const child of form.children) {
          const to = boxes.get(child);
          if (!to || to.y <= box.y) continue;
          const x1 = box.x + box.width / 2, y1 = box.y + top + ROW / 2, x2 = to.x + to.width / 2, y2 = to.y;
          const y3 = box.y + box.height;
          edges.append(make("path", { class: "edge" + (form.chosen ? " chosen" : ""), d: `M${x1.toFixed(1)} ${y3.toFixed(1)}C${x1.toFixed(1)} ${(y3 + GAP_Y * .6).toFixed(1)} ${x2.toFixed(1)} ${(y2 - GAP_Y * .6).toFixed(1)} ${x2.toFixed(1)} ${y2.toFixed(1)}` }));
        }
      });
      if (more) group.append(make("text", { class: "head", x: PAD, y: box.height - 8 }, `and ${more} more`));
      nodes.append(group);
    }
    layer.append(edges, nodes);
    drawing.append(layer);
    search();
    fit();
  };

  const place = () => byId("layer").setAttribute("transform", `translate(${view.x.toFixed(1)} ${view.y.toFixed(1)}) scale(${view.k.toFixed(3)})`);
  const fit = () => {
    const { clientWidth: w, clientHeight: h } = canvas;
    view.k = Math.max(.45, Math.min(1.1, (w - 32) / size.width, (h - 32) / size.height));
    const box = boxes.get(centre);
    const isWide = size.width * view.k > w - 32;
    view.x = isWide ? w / 2 - (box.x + box.width / 2) * view.k : (w - size.width * view.k) / 2;
    view.y = Math.max(16, (h - size.height * view.k) / 2);
    place();
  };
  const zoom = (factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) => {
    const k = Math.max(.1, Math.min(4, view.k * factor));
    view = { x: x - (x - view.x) * k / view.k, y: y - (y - view.y) * k / view.k, k };
    place();
  };
  const go = (id, keeps = true) => {
    if (id === centre) return;
    if (keeps) history.push(centre);
    centre = id;
    const value = picture.values.find(([, own]) => own === id);
    if (value) byId("value").value = id;
    byId("back").disabled = !history.length;
    draw();
    drawing.querySelector(".root")?.focus({ preventScroll: true });
  };
  const search = () => {
    const word = byId("find").value.trim().toLowerCase();
    let n = 0;
    for (const group of drawing.querySelectorAll(".class")) {
      const { text, nodes: forms } = picture.classes[+group.dataset.id];
      const has = !word || [text, ...forms.flatMap((f) => [f.text, f.rule || ""])].some((t) => t.toLowerCase().includes(word));
      group.classList.toggle("dim", !has);
      n += has && word ? 1 : 0;
    }
    byId("found").textContent = word ? `${n} here` : "";
  };
  // What is not shown may still be found: Enter goes to the next e-class that has it.
  const next = () => {
    const word = byId("find").value.trim().toLowerCase();
    if (!word) return;
    const all = picture.classes, n = all.length;
    for (let i = 1; i <= n; i++) {
      const id = (centre + i) % n;
      if ([all[id].text, ...all[id].nodes.flatMap((f) => [f.text, f.rule || ""])].some((t) => t.toLowerCase().includes(word))) { go(id); byId("find").focus(); return; }
    }
  };

  byId("value").addEventListener("change", (event) => { history.push(centre); centre = +event.target.value; byId("back").disabled = false; draw(); });
  byId("depth").addEventListener("change", draw);
  byId("find").addEventListener("input", search);
  byId("find").addEventListener("keydown", (event) => { if (event.key === "Enter") next(); });
  byId("in").addEventListener("click", () => zoom(1.25));
  byId("out").addEventListener("click", () => zoom(.8));
  byId("fit").addEventListener("click", fit);
  byId("back").addEventListener("click", () => { const id = history.pop(); if (id !== undefined) go(id, false); byId("back").disabled = !history.length; });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !canvas.matches(":focus-within")) return;
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 500), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (move) { view.x += move[0]; view.y += move[1]; place(); }
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(.8);
    else if (event.key === "0") fit();
    else if (event.key === "Backspace") byId("back").click();
    else if ((event.key === "Enter" || event.key === " ") && event.target.dataset.id) go(+event.target.dataset.id);
    else return;
    event.preventDefault();
  });
  // Pointers: one moves, two zoom, a short one selects.
  const pointers = new Map();
  let moved = 0, apart = 0;
  canvas.addEventListener("pointerdown", (event) => { pointers.set(event.pointerId, event); moved = 0; apart = 0; });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    pointers.set(event.pointerId, event);
    if (pointers.size === 1) {
      const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
      moved += Math.abs(dx) + Math.abs(dy);
      if (moved > 4) { canvas.setPointerCapture(event.pointerId); view.x += dx; view.y += dy; place(); }
    } else {
      const [a, b] = [...pointers.values()], now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
      const box = canvas.getBoundingClientRect();
      if (apart) zoom(now / apart, (a.clientX + b.clientX) / 2 - box.left, (a.clientY + b.clientY) / 2 - box.top);
      apart = now;
      moved = 99;
    }
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => { pointers.delete(event.pointerId); apart = 0; });
  canvas.addEventListener("click", (event) => {
    const group = event.target.closest(".class");
    if (group && moved <= 4) go(+group.dataset.id);
  });
  addEventListener("resize", fit);
  draw();
  root.dataset.drawn = String(boxes.size);
})();

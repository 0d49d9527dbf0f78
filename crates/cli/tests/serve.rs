//! `nestegg serve` from outside: by HTTP, and in a [browser].
#![allow(clippy::unwrap_used)]

mod browser;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use browser::{Tab, chromium};
use serde_json::Value;

const KERNEL: &str = "\
kernel force
domain { [i] : 0 <= i < 100 }
arg a : float64[100] read
arg g : float64[100] read
arg m : float64[100] read
arg f : float64[100] write
for i
  f[i] = a[i]*m[i] + m[i]*g[i]
end
";

const RULES: &str = "\
;; Common factors.

;; a*c + b*c == (a + b)*c.
(rule factor
  (+ (* ?a ?c) (* ?b ?c) ?rest...)
  (+ (* (+ ?a ?b) ?c) ?rest...)
  :tag reassociate)
";

/// A server of a folder, which ends with this.
struct Served {
    server: Child,
    port: u16,
}

impl Served {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_nestegg"))
            .arg("serve")
            .arg(folder)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.split("http://127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next()).unwrap();
        Self { port: port.parse().unwrap(), server }
    }

    /// Sends a request with these headers, beside `Host` if it is not among them; answers the status, the headers and the body.
    fn ask(&self, what: &str, headers: &str, body: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let host = format!("Host: 127.0.0.1:{}\r\n", self.port);
        let host = if headers.contains("Host:") { "" } else { &host };
        let length = body.len();
        let request = format!("{what} HTTP/1.0\r\n{host}{headers}Content-Length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
    }

    fn json(&self, path: &str) -> Value {
        let (status, _, body) = self.ask(&format!("GET {path}"), "", "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    fn status(&self, what: &str, headers: &str) -> u16 {
        self.ask(what, headers, "").0
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("force.knl"), KERNEL).unwrap();
    folder
}

#[test]
fn the_page_is_that_of_the_report_and_follows_the_files() {
    let folder = folder();
    let served = Served::start(folder.path(), &[]);
    let (status, head, shell) = served.ask("GET /", "", "");
    assert!(status == 200 && shell.contains("id=\"kernel\"") && head.contains("frame-ancestors 'self'"), "{head}");
    let state = served.json("/state?kernel=force.knl");
    assert_eq!(state["files"]["kernels"], serde_json::json!(["force.knl"]));
    let story = served.json("/result?kernel=force.knl");
    assert_eq!(story["version"], state["version"]);
    assert_eq!(story["operations"], serde_json::json!([300, 300]));

    fs::write(folder.path().join("factor.rules"), RULES).unwrap();
    let later = served.json("/state?kernel=force.knl");
    assert_ne!(later["version"], state["version"]);
    assert_eq!(later["files"]["rules"], serde_json::json!(["factor.rules"]));
    let story = served.json("/result?kernel=force.knl");
    assert_eq!(
        (&story["operations"], &story["rules"]),
        (&serde_json::json!([300, 200]), &serde_json::json!("factor 1"))
    );

    let (_, _, page) = served.ask("GET /page?kernel=force.knl&level=O1", "", "");
    let flags = ["--level", "O1", "--cost", "operations", "--rules", "factor.rules", "--report", "html"];
    let report = Command::new(env!("CARGO_BIN_EXE_nestegg"))
        .args(["optimize", "force.knl", "-o", "out.txt"])
        .args(flags)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(page == String::from_utf8(report.stdout).unwrap(), "the page is the same to the byte");

    // Another level, and a strategy of the folder's own.
    let levels = story["levels"].as_array().unwrap();
    assert!(levels.contains(&Value::from("O2")) && !levels.contains(&Value::from("mine")));
    let mine = format!(
        "{RULES}\n;; Nothing but this rule.\n(strategy mine (phase only :rules (factor) :passes 2 :nodes 1000))\n"
    );
    fs::write(folder.path().join("factor.rules"), mine).unwrap();
    let story = served.json("/result?kernel=force.knl&level=mine");
    assert_eq!(story["operations"], serde_json::json!([300, 200]), "{story}");
    assert!(story["levels"].as_array().unwrap().contains(&Value::from("mine")));
}

#[test]
fn what_is_wrong_has_its_place() {
    let folder = folder();
    let served = Served::start(folder.path(), &[]);
    let first = |story: &Value| {
        let problem = &story["problems"][0];
        let label = &problem["labels"][0];
        (problem["code"].clone(), label["file"].clone(), label["line"].clone(), problem["severity"].clone())
    };
    fs::write(folder.path().join("a.rules"), RULES.replace("(+ (* (+ ?a ?b) ?c) ?rest...)", "(+ (* ?d ?c) ?rest...)"))
        .unwrap();
    let story = served.json("/result?kernel=force.knl");
    let expected = |code: &str, file: &str, line: u64, severity: &str| {
        (Value::from(code), Value::from(file), Value::from(line), Value::from(severity))
    };
    assert_eq!(first(&story), expected("rules::unbound_variable", "a.rules", 6, "error"), "{story}");
    assert!(story["operations"].is_null() && served.status("GET /page?kernel=force.knl", "") == 404);
    assert!(story["problems"][0]["text"].as_str().unwrap().contains("?d"), "it is drawn, too: {story}");

    // A rule that is well formed and wrong.
    fs::write(folder.path().join("a.rules"), RULES.replace("(+ ?a ?b) ?c", "(- ?a ?b) ?c")).unwrap();
    let story = served.json("/result?kernel=force.knl");
    assert!(story["operations"].is_null() && story.to_string().contains("factor"), "{story}");

    // A warning does not keep the result away.
    fs::write(folder.path().join("a.rules"), "; File.\n\n; x*1 == x.\n(rule one (* ?x 1) ?x)\n").unwrap();
    let story = served.json("/result?kernel=force.knl");
    assert_eq!(first(&story), expected("rules::warning", "a.rules", 4, "warning"), "{story}");
    assert_eq!(story["operations"], serde_json::json!([300, 300]));

    fs::write(folder.path().join("force.knl"), KERNEL.replace("m[i]*g[i]", "m[i]*h[i]")).unwrap();
    let story = served.json("/result?kernel=force.knl");
    let problem = first(&story);
    assert_eq!((&problem.1, &problem.2), (&Value::from("force.knl"), &Value::from(8)), "{story}");
}

#[test]
fn only_the_reader_gets_an_answer_and_only_the_folder_is_read() {
    let outside = tempfile::tempdir().unwrap();
    let place = outside.path().join("in");
    fs::create_dir(&place).unwrap();
    fs::write(outside.path().join("secret.knl"), KERNEL).unwrap();
    fs::write(place.join("force.knl"), KERNEL).unwrap();
    let served = Served::start(&place, &["--port", "0"]);
    for host in [
        "Host: evil.example\r\n",
        "Host: 127.0.0.1\r\n",
        "Host: 127.0.0.1.evil.example:80\r\n",
        "No-Host: 1\r\nHost:\r\n",
    ] {
        assert_eq!(served.status("GET /state", host), 421, "{host}");
    }
    let twice = format!("Host: 127.0.0.1:{0}\r\nHost: evil.example\r\n", served.port);
    assert_eq!(served.status("GET /state", &twice), 421);
    assert_eq!(served.status("GET /state", &format!("Host: localhost:{}\r\n", served.port)), 200);
    assert_eq!(served.status("GET /state", "Origin: http://evil.example\r\n"), 403);
    assert_eq!(served.status("GET /state", "Origin: null\r\n"), 403);
    assert_eq!(served.status("GET /state", &format!("Origin: http://127.0.0.1:{}\r\n", served.port)), 200);
    for name in ["../secret.knl", "..%2Fsecret.knl", "%2e%2e/secret.knl", "in/force.knl", "%00force.knl", ""] {
        for what in ["file?name", "result?kernel", "page?kernel"] {
            assert_eq!(served.status(&format!("GET /{what}={name}"), ""), 404, "{what} {name}");
        }
        assert_eq!(served.status(&format!("PUT /file?name={name}"), "If-Match: \"x\"\r\n"), 404, "{name}");
    }
    assert_eq!(served.status("GET /../secret.knl", ""), 404);
    assert_eq!(served.status("POST /file?name=force.knl", ""), 405);
}

#[test]
fn files_are_written_only_over_what_the_writer_has_seen() {
    let folder = folder();
    let served = Served::start(folder.path(), &[]);
    let tag = |head: &str| head.lines().find_map(|line| line.strip_prefix("ETag: ")).unwrap().to_owned();
    let (_, head, body) = served.ask("GET /file?name=force.knl", "", "");
    assert_eq!(body, KERNEL);
    let seen = format!("If-Match: {}\r\n", tag(&head));
    let new = KERNEL.replace("100", "50");
    assert_eq!(served.ask("PUT /file?name=force.knl", "", &new).0, 428);
    let foreign = format!("{seen}Origin: http://evil.example\r\n");
    assert_eq!(served.ask("PUT /file?name=force.knl", &foreign, &new).0, 403);
    assert_eq!(fs::read_to_string(folder.path().join("force.knl")).unwrap(), KERNEL);
    let (status, head, _) = served.ask("PUT /file?name=force.knl", &seen, &new);
    assert_eq!((status, fs::read_to_string(folder.path().join("force.knl")).unwrap()), (200, new.clone()));
    assert_eq!(served.ask("PUT /file?name=force.knl", &seen, KERNEL).0, 412);
    let seen = format!("If-Match: {}\r\n", tag(&head));
    assert_eq!(served.ask("PUT /file?name=force.knl", &seen, KERNEL).0, 200);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left there");
}

#[test]
fn what_cannot_be_served_is_said() {
    let folder = folder();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_nestegg")).args(arguments).current_dir(folder.path()).output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) = run(&["serve", "force.knl"]);
    assert!(code == Some(2) && text.contains("nestegg::no_folder"), "{text}");
    let served = Served::start(folder.path(), &[]);
    let (code, text) = run(&["serve", ".", "--port", &served.port.to_string()]);
    assert!(code == Some(2) && text.contains("nestegg::no_port"), "{text}");
}

#[test]
fn a_browser_sees_edits() {
    let Some(chromium) = chromium() else { return };
    let (folder, profile) = (folder(), tempfile::tempdir().unwrap());
    let rules = folder.path().join("factor.rules");
    fs::write(&rules, ";; Common factors.\n").unwrap();
    let served = Served::start(folder.path(), &[]);
    let address = format!("http://127.0.0.1:{}/", served.port);
    let mut tab = Tab::open(&chromium, profile.path(), "1400,1000", &address);
    let told = |text: &str| format!("document.getElementById('told').textContent.includes('{text}')");
    let framed = |text: &str| {
        format!("document.querySelector('iframe:not(.next)').contentDocument.body.textContent.includes('{text}')")
    };
    tab.wait_until(&told("300 → 300 operations"));
    tab.wait_until(&framed("factor.rules"));
    assert_eq!(tab.value("window.stays = 1"), 1);

    // In an editor of one's own.
    fs::write(&rules, RULES).unwrap();
    tab.wait_until(&told("300 → 200 operations; rules fired: factor 1"));
    tab.wait_until(&framed("m[i]*(g[i] + a[i])"));
    tab.wait_until("document.getElementById('text').value.includes('rule factor')");
    let light = tab.picture("serve-light.png");

    // On the page: something wrong first, which has its place in the editor.
    let edit = |from: &str, to: &str| {
        format!(
            "(() => {{ const text = document.getElementById('text'); text.value = text.value.replace('{from}', '{to}'); \
             text.dispatchEvent(new Event('input')); document.getElementById('save').click(); }})()"
        )
    };
    tab.value(&edit("(+ ?a ?b) ?c", "(+ ?a ?q) ?c"));
    tab.wait_until("document.querySelector('#problems li.error button').textContent === 'factor.rules:6:15'");
    tab.wait_until("document.querySelectorAll('#numbers span')[5].className === 'error'");
    tab.value("document.querySelector('#problems button').click()");
    tab.wait_until(
        "(text => text.value.slice(text.selectionStart, text.selectionEnd) === '?q')(document.getElementById('text'))",
    );
    let wrong = tab.picture("serve-error.png");
    assert!(fs::read_to_string(&rules).unwrap().contains("?q"), "it is in the file");
    tab.value(&edit("?q", "?b"));
    tab.wait_until(&told("300 → 200 operations"));
    tab.wait_until("document.getElementById('problems').childElementCount === 0");
    assert_eq!(fs::read_to_string(&rules).unwrap(), RULES);

    // The kernel, at another level, after a change by somebody else.
    fs::write(folder.path().join("force.knl"), KERNEL.replace("100", "10")).unwrap();
    tab.wait_until(&told("30 → 20 operations"));
    tab.value("(level => { level.value = 'O0'; level.dispatchEvent(new Event('change')); })(document.getElementById('level'))");
    tab.wait_until(&told("30 → 30 operations"));
    assert_eq!(tab.value("window.stays"), 1, "the shell was never loaded anew");
    assert!(light.len() > 20_000 && wrong.len() > 20_000 && light != wrong);

    // The theme of the page is that of the shell.
    tab.value("document.querySelector('iframe').contentDocument.getElementById('theme').click()");
    tab.wait_until("!!document.documentElement.dataset.theme");
    tab.picture("serve-dark.png");

    // A server that ends is missed.
    drop(served);
    tab.wait_until(&told("does not answer"));
}

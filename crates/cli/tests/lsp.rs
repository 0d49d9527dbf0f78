//! `nestegg lsp` from outside: the protocol over pipes, as editors speak it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// An editor with its server.
struct Editor {
    server: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    n_asked: u64,
}

impl Editor {
    fn start() -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_nestegg"))
            .args(["lsp", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (server.stdin.take(), BufReader::new(server.stdout.take().unwrap()));
        let mut res = Self { server, to, from, n_asked: 0 };
        let answer = res.ask("initialize", &json!({ "capabilities": {} }));
        assert_eq!(answer["capabilities"]["hoverProvider"], true);
        res.tell("initialized", &json!({}));
        res
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        write!(self.to.as_mut().unwrap(), "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    }

    fn tell(&mut self, method: &str, parameters: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": parameters }));
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "the server has ended");
            match line.trim().strip_prefix("Content-Length: ") {
                Some(number) => length = number.parse().unwrap(),
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        self.from.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    /// The answer to a request; nothing else may come before it.
    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        let answer = self.answer(method, parameters);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    fn answer(&mut self, method: &str, parameters: &Value) -> Value {
        self.n_asked += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.n_asked, "method": method, "params": parameters }));
        let answer = self.read();
        assert_eq!(answer["id"], self.n_asked, "{answer}");
        answer
    }

    /// What is published, each as a line: `SEVERITY CODE LINE:COLUMN-LINE:COLUMN`.
    fn published(&mut self, uri: &str) -> Vec<String> {
        let message = self.read();
        assert_eq!(message["method"], "textDocument/publishDiagnostics", "{message}");
        assert_eq!(message["params"]["uri"], uri, "{message}");
        let place = |at: &Value| format!("{}:{}", at["line"], at["character"]);
        let line = |one: &Value| {
            let range = &one["range"];
            format!(
                "{} {} {}-{}",
                one["severity"],
                one["code"].as_str().unwrap(),
                place(&range["start"]),
                place(&range["end"])
            )
        };
        message["params"]["diagnostics"].as_array().unwrap().iter().map(line).collect()
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "nestegg", "version": 1, "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": document }));
    }

    fn change(&mut self, uri: &str, text: &str) {
        let parameters = json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": text }] });
        self.tell("textDocument/didChange", &parameters);
    }

    fn at(&mut self, method: &str, uri: &str, text: &str, word: &str) -> Value {
        let offset = text.find(word).unwrap();
        let line = text[..offset].matches('\n').count();
        let column = text[..offset].rsplit('\n').next().unwrap().encode_utf16().count() + 1;
        let position = json!({ "line": line, "character": column });
        self.ask(method, &json!({ "textDocument": { "uri": uri }, "position": position }))
    }

    fn hover(&mut self, uri: &str, text: &str, word: &str) -> String {
        self.at("textDocument/hover", uri, text, word)["contents"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// Says farewell; answers the exit code.
    fn end(mut self) -> Option<i32> {
        self.ask("shutdown", &Value::Null);
        self.tell("exit", &Value::Null);
        self.to = None;
        self.server.wait().unwrap().code()
    }
}

const RULES: &str = "\
;; Common factors, for \u{1d6fc} and others.

;; a*c + b*c == (a + b)*c.
(rule factor
  (+ (* ?a ?c) (* ?b ?c) ?rest...)
  (+ (* (+ ?a ?b) ?c) ?rest...)
  :tag reassociate)

;; All of them.
(ruleset mine factor pull-invariant)
";

fn address(path: &Path) -> String {
    format!("file://{}", path.display().to_string().replace(' ', "%20"))
}

#[test]
fn errors_come_as_one_types() {
    let folder = tempfile::tempdir().unwrap();
    let uri = address(&folder.path().join("mine.rules"));
    let mut editor = Editor::start();
    let right = RULES;
    editor.open(&uri, right);
    assert_eq!(editor.published(&uri), Vec::<String>::new());
    editor.change(&uri, &right.replace("(+ ?a ?b) ?c", "(+ ?a ?q) ?c"));
    assert_eq!(editor.published(&uri), ["1 rules::unbound_variable 5:14-5:16"]);
    // Half of a rule, after a character of two units.
    editor.change(&uri, &format!("{right}\n;; \u{1d6fc}.\n(rule half (\u{1d6fc}"));
    let found = editor.published(&uri);
    assert!(found.iter().any(|line| line.starts_with("1 rules::unclosed_list")), "{found:?}");
    // A warning, and then nothing once the file is closed.
    editor.change(&uri, "; File.\n\n; x*1 == x.\n(rule one (* ?x 1) ?x)\n");
    assert_eq!(editor.published(&uri), ["2 rules::warning 3:10-3:18"]);
    editor.tell("textDocument/didClose", &json!({ "textDocument": { "uri": uri } }));
    assert_eq!(editor.published(&uri), Vec::<String>::new());
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn kernels_have_errors_too() {
    let folder = tempfile::tempdir().unwrap();
    let uri = address(&folder.path().join("a kernel.knl"));
    let text = "kernel k\ndomain { [i] : 0 <= i < 4 }\narg y : float64[4] write\nfor i\n  y[i] = 1.0\nend\n";
    let mut editor = Editor::start();
    editor.open(&uri, text);
    assert_eq!(editor.published(&uri), Vec::<String>::new());
    editor.change(&uri, &text.replace("= 1.0", "= z"));
    let found = editor.published(&uri);
    assert!(found.len() == 1 && found[0].contains(" 4:9-4:10"), "{found:?}");
    editor.change(&uri, &text.replace("y[i] =", "y[i + 1] ="));
    let found = editor.published(&uri);
    assert!(
        found.len() == 1 && found[0].starts_with("1 ") && found[0].contains(" 4:"),
        "outside of the array: {found:?}"
    );
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn names_lead_to_their_definitions_and_say_what_they_mean() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("my rules");
    fs::create_dir(&place).unwrap();
    let (path, other) = (place.join("factors.rules"), place.join("other.rules"));
    fs::write(&other, "; Other.\n\n; x/x == 1.\n(rule itself (/ ?x ?x) 1 :when (nonzero ?x))\n").unwrap();
    let text = RULES.replace("mine factor", "mine itself factor");
    let uri = address(&path);
    let mut editor = Editor::start();
    editor.open(&uri, &text);
    assert_eq!(editor.published(&uri), Vec::<String>::new(), "a rule of the file beside it is known");
    let start = |answer: &Value| {
        let start = &answer["range"]["start"];
        (
            answer["uri"].as_str().unwrap().to_owned(),
            start["line"].as_u64().unwrap(),
            start["character"].as_u64().unwrap(),
        )
    };
    let found = editor.at("textDocument/definition", &uri, &text, "factor pull");
    assert_eq!(start(&found), (uri.clone(), 3, 6));
    let found = editor.at("textDocument/definition", &uri, &text, "itself");
    assert_eq!(start(&found), (address(&other), 3, 6));
    let found = editor.at("textDocument/definition", &uri, &text, "?rest...)\n  :tag");
    assert_eq!(start(&found), (uri.clone(), 4, 25));
    assert!(editor.at("textDocument/definition", &uri, &text, "pull-invariant").is_null(), "it is in no file");

    let hover = editor.hover(&uri, &text, "pull-invariant");
    assert!(hover.contains("sum(q, a*b[q]) == a*sum(q, b[q])") && hover.contains("`rules/hoist.rules`"), "{hover}");
    assert!(editor.hover(&uri, &text, "factor\n").contains("a*c + b*c == (a + b)*c."));
    assert!(editor.hover(&uri, &text, "reassociate").contains("Tag `reassociate`: Holds for real numbers"));
    assert!(editor.hover(&uri, &text, "+ (* ?a ?c)").contains("Operator `+`"));
    // While a file is broken, names still mean what they meant.
    let broken = text.replace(":tag reassociate)", ":tag ");
    editor.change(&uri, &broken);
    assert!(!editor.published(&uri).is_empty());
    assert!(editor.hover(&uri, &broken, "pull-invariant").contains("a*sum(q, b[q])"));
    let found = editor.at("textDocument/definition", &uri, &broken, "itself");
    assert_eq!(start(&found), (address(&other), 3, 6));
    // A message that nobody knows is answered, and the conversation goes on.
    let answer = editor.answer("textDocument/rename", &json!({}));
    assert_eq!(answer["error"]["code"], -32601);
    let answer = editor.answer("textDocument/hover", &json!({ "textDocument": 1 }));
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn the_files_of_the_project_itself_are_right() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules/hoist.rules").canonicalize().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let uri = address(&path);
    let mut editor = Editor::start();
    editor.open(&uri, &text);
    assert_eq!(editor.published(&uri), Vec::<String>::new());
    let found = editor.at("textDocument/definition", &uri, &text, "merge-sums merge-products");
    assert_eq!(found["uri"], uri.as_str());
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn who_is_no_editor_is_told_so() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_nestegg"))
        .arg("lsp")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.stdin.take().unwrap().write_all(b"hello\r\n\r\n").unwrap();
    let output = server.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && text.contains("nestegg::protocol"), "{text}");
}

//! The page of `optimize --report html`, the trace, and explanations from outside.
//!
//! What a [browser] makes of the page is tested by a script that uses the page as a reader does. Pictures of it go below `target`, into a folder `screenshots`.
#![allow(clippy::unwrap_used)]

mod browser;

use std::fs;
use std::path::Path;
use std::process::Command;

use browser::{browse, chromium};

const KERNEL: &str = "\
kernel page
domain { [i, q, r] : 0 <= i < 8 and 0 <= q, r < 6 }
arg a : float64[8] read
arg b : float64[6] read
arg c : float64[6] read
arg y : float64[8] write
arg z : float64[8] write
for i
  y[i] = sum([q, r], a[i]*b[q]*c[r] + a[i]*c[r])
  z[i] = sum(q, b[q]*(a[i] + 1.0)) if a[i] < 0.5 else a[i]
end
";

fn nestegg(folder: &Path, arguments: &[&str]) -> std::process::Output {
    let output = Command::new(env!("CARGO_BIN_EXE_nestegg")).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page.knl"), KERNEL).unwrap();
    folder
}

/// The page at a level.
fn page(folder: &Path, level: &str) -> String {
    let choice = ["--level", level, "--cost", "operations"];
    let arguments = [&["optimize", "page.knl", "-o", "out.knl", "--report", "html"], &choice[..]].concat();
    let output = nestegg(folder, &arguments);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn traces_are_lines_of_json_and_the_same_on_every_run() {
    let folder = folder();
    let trace = |threads: &str| {
        let arguments = [
            "optimize",
            "page.knl",
            "--level",
            "O3",
            "-o",
            "out.knl",
            "--trace",
            "t.jsonl",
            "--threads",
            threads,
            "-q",
        ];
        nestegg(folder.path(), &arguments);
        fs::read_to_string(folder.path().join("t.jsonl")).unwrap()
    };
    let first = trace("1");
    assert_eq!(first, trace("4"));
    let events: Vec<serde_json::Value> = first.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    for kind in ["run", "seeds", "encoded", "pass", "phase", "selected", "made", "taken"] {
        assert!(kinds.contains(&kind), "{kind}");
    }
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("run", "taken"));
    // Each store is searched by itself too, and what follows is of the whole again.
    let parts = |kind: &str| -> Vec<&str> {
        let of_kind = events.iter().filter(|event| event["event"] == kind);
        of_kind.map(|event| event["part"].as_str().unwrap()).collect()
    };
    assert_eq!((parts("apart"), parts("joined")), (vec!["y", "z"], vec!["y", "z"]));
    // What a pass adds up to is what the next one starts from, and rules that fired are named.
    let fired =
        events.iter().filter(|event| event["event"] == "pass").flat_map(|event| event["rules"].as_array().unwrap());
    assert!(fired.into_iter().any(|rule| rule["rule"] == "pull-invariant" && rule["new"].as_u64() > Some(0)));
    assert!(!first.contains("seconds"));
}

#[test]
fn pages_are_self_contained_well_formed_and_the_same_on_every_run() {
    let folder = folder();
    let page = page(folder.path(), "O2");
    assert_eq!(page, self::page(folder.path(), "O2"));
    for outside in ["src=", "http-equiv", "@import", "url(", "<link", "<iframe", "fetch(", "XMLHttpRequest", "import("]
    {
        assert!(!page.contains(outside), "{outside}");
    }
    let addresses = page.matches("://").count();
    assert_eq!(addresses, page.matches("http://www.w3.org/2000/svg").count(), "the only address is the name of SVG");
    balanced(&page);
    for section in ["loops", "search", "growth", "forms", "rules", "egraph", "evidence"] {
        assert_eq!(page.matches(&format!("<section id=\"{section}\"")).count(), 1, "{section}");
    }
    assert!(page.contains("pull-invariant"));
}

/// Every element that is opened is closed, in order.
fn balanced(page: &str) {
    const VOID: [&str; 4] = ["meta", "input", "br", "hr"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if rest.starts_with('!') {
            continue;
        }
        let end = rest.find('>').unwrap();
        let tag = &rest[..end];
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !VOID.contains(&name) {
            open.push(name);
        }
        rest = &rest[end + 1..];
        // What is in scripts and styles is not markup.
        if ["script", "style"].contains(&name) && !tag.starts_with('/') {
            rest = &rest[rest.find(&format!("</{name}>")).unwrap()..];
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn names_cannot_break_the_page() {
    let folder = folder();
    // Names are identifiers, but paths are not.
    let name = "a<script>alert(1)<b>.knl";
    fs::write(folder.path().join(name), KERNEL).unwrap();
    let output = nestegg(folder.path(), &["optimize", name, "-o", "out.knl", "--report", "html"]);
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(!page.contains("<script>alert"));
    balanced(&page);
}

#[test]
fn graphs_are_drawn_for_graphviz() {
    let folder = folder();
    let output = nestegg(
        folder.path(),
        &["optimize", "page.knl", "--level", "O1", "--cost", "operations", "--emit", "dot", "-q"],
    );
    let dot = String::from_utf8(output.stdout).unwrap();
    assert!(dot.starts_with("digraph egraph {") && dot.ends_with("}\n"), "{dot}");
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    assert!(dot.contains("style=bold") && dot.contains("\\npull-invariant"), "{dot}");
}

#[test]
fn explanations_are_text_and_json() {
    let folder = folder();
    let text = |arguments: &[&str]| String::from_utf8(nestegg(folder.path(), arguments).stdout).unwrap();
    let whole = text(&["explain", "page.knl", "--verify"]);
    assert!(whole.contains("pull-invariant") && whole.contains("verified:") && !whole.contains("WRONG"), "{whole}");
    let json = text(&["explain", "page.knl", "y", "--verify", "--format", "json"]);
    assert_eq!(json, text(&["explain", "page.knl", "y", "--verify", "--format", "json"]));
    let told: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(told["verified"]["wrong"], 0);
    let searches = told["stages"].as_array().unwrap().iter().filter(|stage| stage["kind"] == "search");
    let values: Vec<&serde_json::Value> = searches.flat_map(|search| search["values"].as_array().unwrap()).collect();
    assert_eq!(values.len(), 1);
    assert!(values[0]["names"][0].as_str().unwrap().starts_with("y["));
    let unknown = Command::new(env!("CARGO_BIN_EXE_nestegg"))
        .args(["explain", "page.knl", "nothing"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(unknown.status.code(), Some(2));
}

/// What a reader does, with what is to be seen then; the outcome is the text of the page.
const READER: &str = concat!("<script>\n", include_str!("reader.js"), "</script></body>");

#[test]
fn a_browser_shows_the_page() {
    let Some(chromium) = chromium() else { return };
    let folder = folder();
    let page = page(folder.path(), "O1");
    fs::write(folder.path().join("read.html"), page.replace("</body>", READER)).unwrap();
    let address = |name: &str, theme: &str| format!("file://{}?theme={theme}", folder.path().join(name).display());
    for (size, theme) in [("1280,1000", "light"), ("1280,1000", "dark"), ("500,900", "light")] {
        let size = format!("--window-size={size}");
        let seen = browse(&chromium, folder.path(), &["--dump-dom", &size, &address("read.html", theme)]);
        assert!(
            !seen.contains("FAILS") && !seen.contains("<title>error") && seen.matches("holds: ").count() == 15,
            "{size}: {seen}"
        );
    }
    // Light, dark and narrow are three pictures, of a search with many choices.
    fs::write(folder.path().join("page.html"), self::page(folder.path(), "O3")).unwrap();
    let mut pictures = Vec::new();
    for (name, size, theme) in
        [("light", "1280,3500", "light"), ("dark", "1280,3500", "dark"), ("narrow", "500,4000", "light")]
    {
        let picture = browser::pictures().join(format!("page-{name}.png"));
        let arguments = [
            &format!("--window-size={size}"),
            &format!("--screenshot={}", picture.display()),
            &address("page.html", theme),
        ];
        browse(&chromium, folder.path(), &arguments.map(String::as_str));
        let bytes = fs::read(&picture).unwrap();
        assert!(bytes.len() > 20_000, "{name} is not empty: {} bytes", bytes.len());
        pictures.push(bytes);
    }
    assert!(pictures[0] != pictures[1] && pictures[0] != pictures[2]);
}

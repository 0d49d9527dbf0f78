//! The examples of documents print what the documents say they print.
//!
//! In blocks marked `console`, a line that begins with `$ ` is a command and the lines after it are what it prints; a line
//! of `...` stands for any lines, and `...` in a line for any text. Seconds of reports are shown as `...`. Setting up and building are left out:
//! commands run the program that this test was built with. A block marked `c FILE`, `lisp FILE` or `text FILE` is what the reader writes into that file.
//! A command may answer no (exit status 1). They run in a temporary folder that has `fixtures/`, `examples/` and `tests/` in it,
//! so that nothing is written into the project.
//!
//! With `INSTA_UPDATE=always`, as for snapshots, documents are written anew where they are wrong.

#![allow(clippy::unwrap_used)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the README runs the program from the project's folder.
const RUN: &str = "cargo run --release -p nestegg -- ";

/// What stands for a block that the reader writes into a file.
const WRITE: &str = "write ";

/// What the README's command for the tests contains; a test cannot run it.
const TEST: &str = "cargo test";

#[test]
fn the_readme_tells_the_truth() {
    check("README.md");
}

#[test]
fn the_first_rule_works_as_written() {
    check("docs/first-rule.md");
}

#[test]
fn the_laboratory_shows_what_it_says() {
    check("docs/laboratory.md");
}

#[test]
fn c_goes_in_and_comes_out() {
    check("docs/c.md");
}

#[test]
fn prints_of_loopy_are_kernels() {
    check("docs/prints.md");
}

#[test]
fn the_counting_rule_is_what_is_counted() {
    check("docs/counting.md");
}

/// Runs the examples of a document.
fn check(document: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    for shared in ["fixtures", "examples", "tests"] {
        link(&root.join(shared), &folder.path().join(shared));
    }
    let path = root.join(document);
    let readme = fs::read_to_string(&path).unwrap();
    let is_update = env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    let mut right = readme.clone();
    let examples = examples(&readme);
    assert!(examples.len() >= 2, "{document} has examples");
    for (command, expected) in examples.into_iter().filter(|(command, _)| !command.contains(TEST)) {
        if let Some(path) = command.strip_prefix(WRITE) {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, expected).unwrap();
            continue;
        }
        let printed = lasting(&run(folder.path(), &command));
        let is_right = matches(&expected, &printed);
        assert!(is_right || is_update, "$ {command}\n{document} says:\n{expected}\nit prints:\n{printed}");
        if !is_right {
            right = right.replace(&format!("$ {command}\n{expected}"), &format!("$ {command}\n{printed}"));
        }
    }
    if right != readme {
        fs::write(&path, right).unwrap();
    }
}

/// What was printed, without the seconds, which another run prints otherwise, in one line or more.
fn lasting(printed: &str) -> String {
    let mut res = String::new();
    let mut is_seconds = false;
    for line in printed.lines() {
        is_seconds = line.starts_with("seconds: ") || (is_seconds && line.starts_with("  "));
        match (is_seconds, line.starts_with("seconds: ")) {
            (false, _) => res += &format!("{line}\n"),
            (true, true) => res += "seconds: ...\n",
            (true, false) => {}
        }
    }
    res
}

/// Files of the project are read through links, so that nothing is written into it.
fn link(from: &Path, to: &Path) {
    let from: PathBuf = fs::canonicalize(from).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(from, to).unwrap();
    #[cfg(windows)]
    std::os::windows::fs::symlink_dir(from, to).unwrap();
}

/// Commands with what they are said to print.
fn examples(readme: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut is_console = false;
    let mut is_file = false;
    for line in readme.lines() {
        if let Some(info) = line.strip_prefix("```") {
            is_console = info == "console";
            let file = info.split_once(' ').filter(|(language, _)| ["c", "lisp", "text"].contains(language));
            is_file = file.is_some();
            found.extend(file.map(|(_, path)| (format!("{WRITE}{path}"), String::new())));
        } else if let Some((_, content)) = found.last_mut().filter(|_| is_file) {
            content.push_str(line);
            content.push('\n');
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) {
            found.push((command.to_owned(), String::new()));
        } else if let Some((_, expected)) = found.last_mut().filter(|_| is_console) {
            expected.push_str(line);
            expected.push('\n');
        }
    }
    found
}

/// What a command prints on standard output. Only what a shell does with these few words is done.
fn run(folder: &Path, command: &str) -> String {
    let command = command.strip_prefix("./setup && ").unwrap_or(command);
    if let Some(path) = command.strip_prefix("cat ") {
        return fs::read_to_string(folder.join(path)).unwrap();
    }
    let arguments = command.strip_prefix(RUN).or_else(|| command.strip_prefix("nestegg "));
    let arguments = arguments.unwrap_or_else(|| panic!("this test cannot run `{command}`"));
    let output = Command::new(env!("CARGO_BIN_EXE_nestegg"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    let is_answer = matches!(output.status.code(), Some(0 | 1));
    assert!(is_answer, "$ {command}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Whether the text is what the pattern says, where a line `...` is any lines and `...` in a line any text.
fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<&str> = pattern.lines().collect();
    let text: Vec<&str> = text.lines().collect();
    matches_sequence(
        &pattern,
        &text,
        |pattern| *pattern == "...",
        |pattern, line| {
            let parts: Vec<&str> = pattern.split("...").collect();
            let (first, last) = (parts[0], parts[parts.len() - 1]);
            match parts.len() {
                1 => pattern.trim_end() == line.trim_end(),
                _ => line.starts_with(first) && line.ends_with(last) && line.len() >= first.len() + last.len(),
            }
        },
    )
}

/// Greedy matching with backtracking to the last wildcard, as for file name patterns.
fn matches_sequence<T>(pattern: &[T], text: &[T], is_any: impl Fn(&T) -> bool, fits: impl Fn(&T, &T) -> bool) -> bool {
    let (mut at_pattern, mut at_text) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while at_text < text.len() {
        if at_pattern < pattern.len() && is_any(&pattern[at_pattern]) {
            retry = Some((at_pattern + 1, at_text));
            at_pattern += 1;
        } else if at_pattern < pattern.len() && fits(&pattern[at_pattern], &text[at_text]) {
            at_pattern += 1;
            at_text += 1;
        } else if let Some((after, from)) = retry {
            retry = Some((after, from + 1));
            (at_pattern, at_text) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[at_pattern..].iter().all(is_any)
}

#[test]
fn wildcards_stand_for_anything() {
    assert!(matches("a\n...\nc\n", "a\nb\nb\nc\n"));
    assert!(matches("a\n...\n", "a\n"));
    assert!(matches("seconds: ...\n", "seconds: 1\n"));
    assert!(!matches("a\n...\nc\n", "a\nb\n"));
    assert!(!matches("a\n", "a\nb\n"));
    assert_eq!(lasting("a\nseconds: 1\n  and 2\nb\n"), "a\nseconds: ...\nb\n");
}

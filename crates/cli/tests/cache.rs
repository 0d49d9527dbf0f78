//! Results that are kept: the same bytes again, one run for each kernel whoever asks, and nothing lost with a killed process.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// A kernel that differs from those of other numbers.
fn kernel(number: usize) -> String {
    format!(
        "kernel small{number}\ndomain {{ [i] : 0 <= i < 8 }}\narg a : float64 read\narg x : float64[8] read\narg y : float64[8] write\n\
         for i\n  y[i] = a*x[i]*{number}.5 + a*x[i]\nend\n"
    )
}

fn folder(n_kernels: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("kernels")).unwrap();
    for number in 0..n_kernels {
        fs::write(folder.path().join(format!("kernels/{number:03}.knl")), kernel(number)).unwrap();
    }
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nestegg"));
    command.args(arguments).current_dir(folder);
    command
}

fn run(folder: &Path, arguments: &[&str]) -> String {
    text(&command(folder, arguments).output().unwrap())
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// How many of a folder's kernels were in the cache, by its summary.
fn n_kept(summary: &str) -> usize {
    let last = summary.lines().last().unwrap();
    let words = last.split("; ").find_map(|part| part.strip_suffix(" from the cache"));
    words.map_or(0, |number| number.parse().unwrap())
}

#[test]
fn what_is_kept_comes_back_to_the_byte() {
    let folder = folder(1);
    let optimize = |more: &[&str]| {
        let arguments = ["optimize", "kernels/000.knl", "-o", "out/k", "--emit", "dump,text,c", "--report", "json"];
        fs::create_dir_all(folder.path().join("out")).unwrap();
        let report = run(folder.path(), &[&arguments, more].concat());
        let file = |ending| fs::read_to_string(folder.path().join("out/k").with_extension(ending)).unwrap();
        let files = ["json", "knl", "c", "h"].map(file);
        fs::remove_dir_all(folder.path().join("out")).unwrap();
        (report, files)
    };
    let without = optimize(&[]);
    let made = optimize(&["--cache", "kept"]);
    let kept = optimize(&["--cache", "kept"]);
    // Seconds and all.
    assert_eq!(made, kept);
    assert_eq!(without.1, made.1);
    let comparable = |report: &str| {
        let mut report: Value = serde_json::from_str(report).unwrap();
        report.as_object_mut().unwrap().remove("stages");
        report
    };
    assert_eq!(comparable(&without.0), comparable(&made.0));
    let other = optimize(&["--cache", "kept", "--level", "O0"]);
    assert_ne!(other.1, made.1, "options are in the key");
    assert_eq!(run(folder.path(), &["cache", "size", "kept"]).split(',').next(), Some("2 results"));
    // The same kernel in JSON under another name.
    run(folder.path(), &["convert", "kernels/000.knl", "-o", "same.json"]);
    let arguments = ["optimize", "same.json", "-o", "same.knl", "--report", "json", "--cache", "kept"];
    assert_eq!(run(folder.path(), &arguments), made.0);
    assert!(run(folder.path(), &["cache", "clear", "kept"]).starts_with("removed 2 results"));
    assert!(run(folder.path(), &["cache", "size", "kept"]).starts_with("0 results, 0 bytes"));
}

#[test]
fn pictures_and_traces_are_kept_too() {
    let folder = folder(1);
    let optimize = |more: &[&str]| {
        let arguments = ["optimize", "kernels/000.knl", "--cache", "kept", "-o", "k.dot", "--trace", "trace"];
        let page = run(folder.path(), &[&arguments, more].concat());
        let file = |name| fs::read_to_string(folder.path().join(name)).unwrap();
        (page, file("k.dot"), file("trace"))
    };
    let made = optimize(&["--report", "html"]);
    assert!(made.0.contains("<html") && made.1.contains("graph") && made.2.contains("\"event\""));
    assert_eq!(made, optimize(&["--report", "html"]));
}

#[test]
fn measurements_are_kept() {
    let folder = folder(1);
    let tune = |n: &str| {
        let arguments =
            ["optimize", "kernels/000.knl", "--cache", "kept", "--tune", n, "-o", "out.knl", "--report", "json"];
        let report: Value = serde_json::from_str(&run(folder.path(), &arguments)).unwrap();
        report["tuned"].clone()
    };
    let made = tune("2");
    assert!(made.as_array().is_some_and(|tuned| !tuned.is_empty()), "{made}");
    assert_eq!(made, tune("2"));
    tune("3");
    assert!(run(folder.path(), &["cache", "size", "kept"]).starts_with("2 results"));
}

#[test]
fn processes_share_the_work() {
    let n = 40;
    let folder = folder(n);
    // The same kernel twice in a folder.
    fs::write(folder.path().join("kernels/twin.knl"), kernel(3)).unwrap();
    let arguments = ["optimize", "kernels", "--cache", "kept"];
    let running: Vec<_> = (0..3)
        .map(|_| command(folder.path(), &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    let n_made: usize =
        running.into_iter().map(|child| n + 1 - n_kept(&text(&child.wait_with_output().unwrap()))).sum();
    assert_eq!(n_made, n);
    assert_eq!(n_kept(&run(folder.path(), &arguments)), n + 1);
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let n = 40;
    let folder = folder(n);
    let arguments = ["optimize", "kernels", "--cache", "kept", "--threads", "1", "--level", "O2"];
    let mut child = command(folder.path(), &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let n_done = || {
        let size = run(folder.path(), &["cache", "size", "kept"]);
        size.split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    while n_done() < 3 {
        thread::sleep(Duration::from_millis(2));
    }
    // As `kill -9` does.
    child.kill().unwrap();
    child.wait().unwrap();
    let done = n_done();
    assert!((3..=n).contains(&done));
    assert_eq!(n_kept(&run(folder.path(), &arguments)), done);
    assert_eq!(n_kept(&run(folder.path(), &arguments)), n);
}

#[test]
fn what_fails_is_told_as_without_a_cache() {
    let folder = folder(2);
    fs::write(folder.path().join("kernels/bad.knl"), "kernel bad\nA[0] = B\n").unwrap();
    let optimize =
        |more: &[&str]| command(folder.path(), &[&["optimize", "kernels", "-q"], more].concat()).output().unwrap();
    let (without, with) = (optimize(&[]), optimize(&["--cache", "kept"]));
    assert_eq!(without, with);
    assert_eq!(with.status.code(), Some(2));
    assert!(run(folder.path(), &["cache", "size", "kept"]).starts_with("2 results"));
    let elsewhere = command(folder.path(), &["optimize", "kernels", "--cache", "kernels"]).output().unwrap();
    assert_eq!(elsewhere.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&elsewhere.stderr).contains("is no cache of nestegg"));
}

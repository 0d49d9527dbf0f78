//! The commands for rules from outside: exit codes, files, and output that is the same on every run.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const KERNEL: &str = "\
# rules: fires=common
# A common factor.
kernel force
domain { [i] : 0 <= i < 8 }
arg a : float64[8] read
arg b : float64[8] read
arg c : float64[8] read
arg y : float64[8] write
for i
  y[i] = a[i]*c[i] + b[i]*c[i]
end
";

const RULES: &str = "\
;; Common factors.

;; a*c + b*c == (a + b)*c.
(rule common (+ (* ?a ?c) (* ?b ?c) ?rest...) (+ (* (+ ?a ?b) ?c) ?rest...) :tag reassociate)
";

const WRONG: &str = "\
;; Wrong on purpose.

;; a - b == b - a, which is wrong.
(rule turned (- ?a ?b) (- ?b ?a) :tag reassociate)

;; x + 0 == x, which the normal form does by itself.
(rule silent (+ ?x 0) ?x :tag exact)
";

fn nestegg(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nestegg")).args(arguments).current_dir(folder).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("mine/force.knl", KERNEL), ("mine/common.rules", RULES), ("wrong.rules", WRONG)] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn counter_examples_run() {
    let folder = folder();
    let output = nestegg(folder.path(), &["rules", "check", "wrong.rules", "--save", "found"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(stdout(&output).contains("2 rules: 1 unsound, 1 not checked"), "{}", stdout(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("rules::unsound"));
    assert_eq!(fs::read_dir(folder.path().join("found")).unwrap().count(), 1, "only what is unsound is written");
    let output = nestegg(folder.path(), &["run", "found/turned.knl"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let values: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_ne!(values["left"], values["right"]);
}

#[test]
fn rules_are_checked_by_file_and_by_name() {
    let folder = folder();
    let checked = |arguments: &[&str]| {
        let output = nestegg(folder.path(), &[&["rules", "check"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        stdout(&output)
    };
    assert!(checked(&["mine"]).contains("1 rule: 1 sound"));
    assert!(checked(&["select-equal", "reciprocals"]).contains("2 rules: 2 sound"));
    let json: serde_json::Value = serde_json::from_str(&checked(&["mine", "--format", "json"])).unwrap();
    assert_eq!(json[0]["rule"], "common");
    assert!(json[0]["verdict"]["sound"]["kernels"].as_u64().unwrap() > 100);
    let output = nestegg(folder.path(), &["rules", "check", "no-such-rule"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn snapshots_are_written_kept_and_compared() {
    let folder = folder();
    let tested = |arguments: &[&str]| {
        let output = nestegg(folder.path(), &[&["rules", "test", "mine"], arguments].concat());
        (output.status.code(), stdout(&output))
    };
    let (code, text) = tested(&[]);
    assert!(code == Some(1) && text.contains("it has no snapshot"), "{text}");
    let (code, text) = tested(&["--update"]);
    assert!(code == Some(0) && text.contains("1 snapshot written"), "{text}");
    let (code, text) = tested(&[]);
    assert!(code == Some(0) && text == "1 test: 1 passed, 0 failed\n", "{text}");

    let snapshot = folder.path().join("mine/force.expect");
    let known = fs::read_to_string(&snapshot).unwrap();
    fs::write(&snapshot, known.replace("operations: 24", "operations: 23")).unwrap();
    let (code, text) = tested(&[]);
    assert!(code == Some(1) && text.contains("of the snapshot is"), "{text}");

    fs::write(
        folder.path().join("mine/force.knl"),
        KERNEL.replace("fires=common", "silent=common fires=pythagoras,nobody"),
    )
    .unwrap();
    let (code, text) = tested(&["--update"]);
    for expected in ["`common` fires: 1", "`pythagoras` does not fire", "there is no rule `nobody`"] {
        assert!(code == Some(1) && text.contains(expected), "{expected}: {text}");
    }

    fs::write(folder.path().join("mine/force.knl"), KERNEL.replace("# rules: fires", "# rules: fire")).unwrap();
    let (code, text) = tested(&[]);
    assert!(code == Some(1) && text.contains("`fire=common` is not"), "{text}");

    fs::remove_file(folder.path().join("mine/force.knl")).unwrap();
    assert_eq!(tested(&[]).0, Some(2), "a folder without tests");
}

#[test]
fn the_tests_of_the_built_in_rules_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = nestegg(&root, &["rules", "test", "rules/tests"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
}

#[test]
fn comparisons_are_the_same_on_every_run() {
    let folder = folder();
    let tried = |arguments: &[&str]| {
        let common: &[&str] = &["rules", "try", "mine/common.rules", "mine/force.knl"];
        let output = nestegg(folder.path(), &[common, arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        stdout(&output)
    };
    let json = tried(&["--format", "json"]);
    assert_eq!(json, tried(&["--format", "json"]));
    let values: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&values[0]["without"]["operations"], &values[0]["with"]["operations"]), (&24.into(), &16.into()));
    assert_eq!(values[0]["fired"]["common"], 1);
    assert!(values[0].get("seconds").is_none());
    assert!(tried(&["--seconds"]).contains("seconds"));
}

#[test]
fn rules_that_the_licence_leaves_out_are_named() {
    let folder = folder();
    let text = ";; Exponentials.\n\n;; exp(a + b) == exp(a)*exp(b).\n(rule apart (exp (+ ?a ?b)) (* (exp ?a) (exp ?b)) :tag finite-only)\n";
    fs::write(folder.path().join("apart.rules"), text).unwrap();
    let kernel = "kernel e\narg a : float64 read\narg b : float64 read\narg o : float64 write\no = exp(a + b)\n";
    fs::write(folder.path().join("e.knl"), kernel).unwrap();
    let said = |arguments: &[&str]| {
        let output = nestegg(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        stdout(&output)
    };
    let plain = said(&["rules", "try", "apart.rules", "e.knl"]);
    assert!(plain.contains("`apart` does not run: `--float fast` grants its tag"), "{plain}");
    let json: serde_json::Value =
        serde_json::from_str(&said(&["rules", "try", "apart.rules", "e.knl", "--format", "json"])).unwrap();
    assert_eq!(json[0]["left_out"]["apart"], "fast");
    let fast = said(&["rules", "try", "apart.rules", "e.knl", "--float", "fast", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&fast).unwrap();
    assert_eq!((&json[0]["fired"]["apart"], json[0].get("left_out")), (&1.into(), None));
    let why = said(&["rules", "why-not", "apart", "e.knl", "--rules", "apart.rules"]);
    assert!(why.contains("it is `finite-only`, which `--float fast` grants and `reassociate` does not"), "{why}");
    assert!(why.contains("it would fire"), "{why}");
    let why = said(&["rules", "why-not", "apart", "e.knl", "--rules", "apart.rules", "--float", "fast"]);
    assert!(why.contains("`apart` fires once") && why.contains("it runs in the phase `apart`"), "{why}");
}

#[test]
fn error_functions_are_known_to_the_judge() {
    let folder = folder();
    let text = ";; Error functions.\n\n;; erf(-x) == -erf(x).\n(rule odd (erf (- ?x)) (- (erf ?x)))\n\n;; erfc(-x) == erfc(x), which is wrong.\n(rule even (erfc (- ?x)) (erfc ?x))\n";
    fs::write(folder.path().join("erf.rules"), text).unwrap();
    let output = nestegg(folder.path(), &["rules", "check", "erf.rules", "--format", "json", "--quiet"]);
    let verdicts: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let verdict = |name: &str| {
        let found = verdicts.as_array().unwrap().iter().find(|verdict| verdict["rule"] == name);
        found.unwrap()["verdict"].to_string()
    };
    assert!(verdict("odd").contains("sound") && !verdict("odd").contains("unsound"), "{verdicts}");
    assert!(verdict("even").contains("unsound"), "{verdicts}");
}

#[test]
fn reports_without_seconds_are_the_same_on_every_run() {
    let folder = folder();
    for form in ["text", "json"] {
        for (input, output) in [("mine/force.knl", "result.knl"), ("mine", "results")] {
            let told = || {
                let arguments = ["optimize", input, "-o", output, "--level", "O2", "--report", form, "--no-seconds"];
                let output = nestegg(folder.path(), &arguments);
                assert_eq!(output.status.code(), Some(0), "{output:?}");
                stdout(&output)
            };
            let first = told();
            assert!(!first.is_empty() && first == told(), "{form} of {input}:\n{first}");
            assert!(!first.contains("seconds"), "{first}");
        }
    }
}

#[test]
fn parts_are_left_out_in_turn() {
    let folder = folder();
    let ablated = || {
        let output = nestegg(folder.path(), &["ablate", "mine", "--rules", "mine", "--only", "common,select-equal"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        stdout(&output)
    };
    let text = ablated();
    let row = text.lines().find(|line| line.trim_start().starts_with("common ")).unwrap();
    assert!(row.contains("1.5000") && row.contains("1.500 mine/force.knl"), "{text}");
    assert_eq!(text, ablated());
    let output = nestegg(folder.path(), &["ablate", "mine", "--only", "nothing"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

//! The command line from outside: exit codes, files, streams.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A small kernel: `y[i] = a*x[i] + a*x[i]`, and a temporary that nothing needs.
const KERNEL: &str = "\
kernel small
domain { [i] : 0 <= i < 8 }
arg a : float64 read
arg x : float64[8] read
arg y : float64[8] write
temp dead : float64
for i
  dead = sin(a)  {id=unused}
  y[i] = a*x[i] + a*x[i]  {id=store}
end
";

/// The same values in another order.
const EQUAL: &str = "\
kernel small
domain { [i] : 0 <= i < 8 }
arg a : float64 read
arg x : float64[8] read
arg y : float64[8] write
for i
  y[i] = 2.0*(x[i]*a)
end
";

/// No equality at all.
const WRONG_RULE: &str = "\
;; Wrong on purpose.

;; sin(x) == cos(x), which is wrong.
(rule wrong (sin ?x) (cos ?x) :tag exact)
";

fn nestegg(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nestegg"));
    command.args(arguments).current_dir(folder).env_remove("NO_COLOR");
    command
}

/// A folder with these files in it.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn exits(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "stdout: {}\nstderr: {}", stdout(output), stderr(output));
}

#[test]
fn a_dash_is_standard_output() {
    let folder = folder(&[("small.knl", KERNEL)]);
    for command in ["optimize", "convert"] {
        let plain = nestegg(folder.path(), &[command, "small.knl"]);
        let dash = nestegg(folder.path(), &[command, "small.knl", "-o", "-"]);
        assert_eq!((dash.status.code(), dash.stdout), (Some(0), plain.stdout), "{command}");
    }
    assert!(!folder.path().join("-").exists());
}

#[test]
fn the_product_goes_to_stdout_and_the_story_to_stderr() {
    let folder = folder(&[("k.knl", KERNEL)]);
    let output = nestegg(folder.path(), &["optimize", "k.knl"]);
    exits(&output, 0);
    assert!(stdout(&output).starts_with("kernel small linearized"), "{}", stdout(&output));
    assert!(stderr(&output).contains("operations"), "{}", stderr(&output));
}

#[test]
fn the_output_is_in_the_notation_that_its_name_says_or_the_input_has() {
    let folder = folder(&[("in/k.knl", KERNEL)]);
    exits(&nestegg(folder.path(), &["convert", "in/k.knl", "-o", "in/j.json"]), 0);
    let is_json = |text: &str| {
        assert!(text.starts_with('{') || text.starts_with("kernel small"), "{text}");
        text.starts_with('{')
    };
    for (input, is_input_json) in [("in/k.knl", false), ("in/j.json", true)] {
        let output = nestegg(folder.path(), &["optimize", input]);
        assert_eq!(is_json(&stdout(&output)), is_input_json, "{input}");
        for (flags, is_expected_json) in [
            (&["-o", "out"][..], is_input_json),
            (&["-o", "out.txt"], is_input_json),
            (&["-o", "out.json"], true),
            (&["-o", "out.knl"], false),
            (&["-o", "out.json", "--emit", "text"], false),
            (&["-o", "out.knl", "--emit", "dump"], true),
        ] {
            exits(&nestegg(folder.path(), &[&["optimize", input], flags].concat()), 0);
            let written = fs::read_to_string(folder.path().join(flags[1])).unwrap();
            assert_eq!(is_json(&written), is_expected_json, "{input} {flags:?}");
        }
    }
    exits(&nestegg(folder.path(), &["optimize", "in", "-o", "all", "--threads", "2"]), 0);
    assert!(!is_json(&fs::read_to_string(folder.path().join("all/k.knl")).unwrap()));
    assert!(is_json(&fs::read_to_string(folder.path().join("all/j.json")).unwrap()));
}

#[test]
fn rules_are_files_or_folders_and_swallow_no_kernel() {
    let rule = |name: &str| {
        format!(
            ";; One.\n\n;; a*c + b*c == (a + b)*c.\n(rule {name} (+ (* ?a ?c) (* ?b ?c) ?r...) (+ (* (+ ?a ?b) ?c) ?r...) :tag reassociate)\n"
        )
    };
    let (first, second) = (rule("first"), rule("second"));
    let files = [
        ("k.knl", KERNEL),
        ("more/b.rules", &*second),
        ("more/a.rules", &first),
        ("more/c.txt", ""),
        ("none/c.txt", ""),
    ];
    let folder = folder(&files);
    let listed = |arguments: &[&str]| {
        let output = nestegg(folder.path(), &[&["rules"], arguments].concat());
        exits(&output, 0);
        let text = stdout(&output);
        ["(rule first", "(rule second"].map(|rule| text.find(rule))
    };
    let [first, second] = listed(&["--rules", "more"]);
    assert!(first.is_some() && first < second, "by name");
    let [first, second] = listed(&["--rules", "more/b.rules", "--rules", "more/a.rules"]);
    assert!(second.is_some() && second < first, "as given");
    assert_eq!(listed(&["--rules", "more/a.rules", "first"])[1], None);
    exits(&nestegg(folder.path(), &["optimize", "--rules", "more/a.rules", "k.knl"]), 0);
    let output = nestegg(folder.path(), &["optimize", "k.knl", "--rules", "none"]);
    exits(&output, 2);
    assert!(stderr(&output).contains("nestegg::no_rules"), "{}", stderr(&output));
}

#[test]
fn one_of_several_strategies_of_a_file_is_chosen() {
    let text = ";; Two.\n\n;; As it came.\n(strategy idle :extends O0)\n\n;; As O1.\n(strategy busy :extends O1)\n";
    let folder = folder(&[
        ("k.knl", KERNEL),
        ("two.rules", text),
        ("one.rules", ";; One.\n\n;; As O0.\n(strategy only :extends O0)\n"),
    ]);
    let strategy = |level: &str| {
        let output =
            nestegg(folder.path(), &["optimize", "k.knl", "-o", "out.knl", "--report", "json", "--level", level]);
        exits(&output, 0);
        serde_json::from_str::<serde_json::Value>(&stdout(&output)).unwrap()["strategy"].as_str().unwrap().to_owned()
    };
    assert_eq!(strategy("two.rules#idle"), "idle");
    assert_eq!(strategy("two.rules#busy"), "busy");
    assert_eq!(strategy("one.rules"), "only");
    for (level, code, named) in [
        ("two.rules", "driver::several_strategies", "`idle`, `busy`"),
        ("two.rules#lazy", "driver::unknown_strategy", "`idle`, `busy`"),
        ("none.rules", "nestegg::cannot_read", "none.rules"),
    ] {
        let output = nestegg(folder.path(), &["optimize", "k.knl", "--level", level]);
        exits(&output, 2);
        let error = stderr(&output);
        assert!(error.contains(code) && error.contains(named), "{error}");
    }
}

/// Of every flag the help says what it may be and what it is by itself.
#[test]
fn help_lists_values_and_defaults() {
    let folder = folder(&[]);
    let help = |arguments: &[&str]| {
        let output = nestegg(folder.path(), arguments);
        exits(&output, 0);
        stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let optimize = help(&["optimize", "-h"]);
    let listed = help(&["rules"]);
    let strategies: Vec<&str> =
        listed.split("(strategy ").skip(1).filter_map(|rest| rest.split([' ', ')']).next()).collect();
    let level = format!("[default: O3] [alias: --strategy] [possible values: {}]", strategies.join(", "));
    assert!(optimize.contains(&level), "{level}: {optimize}");
    for command in ["optimize", "count", "convert", "validate", "run", "rules", "check"] {
        let text = help(&[command, "--help"]);
        // A flag takes a value if a name of one follows; a path or name given for its own sake has no default.
        for flag in
            text.split(" --").skip(1).filter(|flag| flag.split(' ').nth(1).is_some_and(|word| word.starts_with('<')))
        {
            let name = flag.split(' ').next().unwrap();
            let may_lack = name == "rules" || command == "validate" && name != "param";
            assert!(may_lack || flag.contains("[default: "), "{command} --{flag}");
        }
    }
}

#[test]
fn failures_are_in_the_json() {
    let kernel = KERNEL.replace("a*x[i] + a*x[i]", "sin(x[i])*cos(x[i])");
    let bad = KERNEL.replace("a*x[i] + a*x[i]", "a*z[i]");
    let folder = folder(&[
        ("in/k.knl", &*kernel),
        ("in/bad.knl", &bad),
        ("wrong.rules", WRONG_RULE),
        ("broken.rules", "(rule)"),
    ]);
    let json =
        |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let run = |arguments: &[&str]| nestegg(folder.path(), &[&["optimize", "--report", "json"], arguments].concat());

    let output = run(&["in/bad.knl", "-o", "out.json"]);
    exits(&output, 2);
    let failed = json(&stdout(&output));
    assert_eq!((&failed["file"], &failed["kernel"]), (&"in/bad.knl".into(), &serde_json::Value::Null));
    let error = &failed["error"];
    assert_eq!(error["code"], "dump::unknown_name");
    assert_eq!(error["message"], "the name `z` is not defined");
    let label = &error["labels"][0];
    assert_eq!(
        (&label["file"], &label["line"], &label["column"]),
        (&"in/bad.knl".into(), &9.into(), &12.into()),
        "{label}"
    );
    assert!(stderr(&output).contains("dump::unknown_name"), "people are told too");

    let output = run(&["in/k.knl", "--rules", "wrong.rules"]);
    exits(&output, 2);
    assert_eq!(stdout(&output), "");
    let failed = json(&stderr(&output));
    assert_eq!(failed["kernel"], "small");
    assert!(failed["error"]["code"].is_string() && failed["error"]["help"].is_string(), "{failed}");

    for (arguments, code) in [
        (&["in/k.knl", "--rules", "broken.rules"][..], "rules::"),
        (&["in/none.knl"], "nestegg::cannot_read"),
        (&["in/k.knl", "--param", "n=1"], "driver::unknown_parameter"),
    ] {
        let output = run(arguments);
        exits(&output, 2);
        let failed = json(&stderr(&output));
        assert!(failed["error"]["code"].as_str().unwrap().starts_with(code), "{failed}");
    }

    let output = run(&["in", "-o", "out"]);
    exits(&output, 2);
    let rows = json(&stdout(&output));
    assert_eq!((&rows[0]["file"], &rows[0]["error"]["code"]), (&"bad.knl".into(), &"dump::unknown_name".into()));
    assert_eq!((&rows[1]["file"], &rows[1]["report"]["kernel"]), (&"k.knl".into(), &"small".into()));
}

#[test]
fn quiet_says_nothing_but_errors() {
    let folder = folder(&[("k.knl", KERNEL), ("bad.knl", "kernel\n")]);
    let output = nestegg(folder.path(), &["optimize", "k.knl", "-o", "out.knl", "--quiet"]);
    exits(&output, 0);
    assert_eq!((stdout(&output), stderr(&output)), (String::new(), String::new()));
    let output = nestegg(folder.path(), &["optimize", "bad.knl", "-q"]);
    exits(&output, 2);
    assert!(!stderr(&output).is_empty());
    exits(&nestegg(folder.path(), &["optimize", "k.knl", "-q", "--report", "json"]), 2);
}

#[test]
fn a_place_that_cannot_be_written_is_found_before_the_work() {
    let folder = folder(&[("k.knl", KERNEL), ("taken/x", "")]);
    let output = nestegg(folder.path(), &["optimize", "k.knl", "-o", "none/out.json"]);
    exits(&output, 2);
    let error = stderr(&output);
    assert!(error.contains("the folder `none` does not exist") && !error.contains("operations"), "{error}");
    assert!(!error.contains(".nestegg-"), "temporary files are our own business: {error}");
    let output = nestegg(folder.path(), &["optimize", "k.knl", "-o", "taken"]);
    exits(&output, 2);
    assert!(stderr(&output).contains("this is a folder"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(folder.path().join("taken")).unwrap().count(), 1);
}

#[test]
fn the_schema_is_json() {
    let output = nestegg(folder(&[]).path(), &["schema"]);
    exits(&output, 0);
    let schema: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(schema["title"], "nestegg-kernel");
}

/// What terminals see is not shown in pipes, however long a run takes.
#[test]
fn there_is_no_progress_in_pipes() {
    let folder = folder(&[("in/k.knl", KERNEL)]);
    let output = nestegg(folder.path(), &["optimize", "in", "--report", "none"]);
    exits(&output, 0);
    assert_eq!(stderr(&output), "");
}

#[test]
fn with_a_file_the_story_goes_to_stdout() {
    let folder = folder(&[("k.knl", KERNEL)]);
    let output = nestegg(folder.path(), &["optimize", "k.knl", "-o", "out.knl", "--report", "json"]);
    exits(&output, 0);
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(report["after"]["total"].as_u64() < report["before"]["total"].as_u64(), "{report}");
    assert!(report["validation"]["equal"].is_object(), "{report}");
    assert!(fs::read_to_string(folder.path().join("out.knl")).unwrap().starts_with("kernel small linearized"));
}

#[test]
fn several_kinds_get_their_own_endings() {
    let folder = folder(&[("k.knl", KERNEL)]);
    exits(&nestegg(folder.path(), &["optimize", "k.knl", "-o", "out", "--emit", "dump,text,c"]), 0);
    for name in ["out.json", "out.knl", "out.c", "out.h"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
    exits(&nestegg(folder.path(), &["optimize", "k.knl", "--emit", "dump,c"]), 2);
}

#[test]
fn standard_input_is_a_file() {
    let folder = folder(&[]);
    let mut child =
        command(folder.path(), &["convert", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(KERNEL.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    exits(&output, 0);
    assert!(stdout(&output).contains("\"nestegg-kernel/1\""));
}

#[test]
fn bad_input_is_2_and_writes_nothing() {
    let folder = folder(&[("k.knl", "kernel k\ndomain { [i] : 0 <= i }\n"), ("text.json", "{\"format\": 3}")]);
    for arguments in [
        vec!["optimize", "k.knl", "-o", "out.json"],
        vec!["optimize", "text.json", "-o", "out.json"],
        vec!["optimize", "missing.knl", "-o", "out.json"],
        vec!["optimize", "k.knl", "-o", "out.json", "--no-such-flag"],
        vec!["optimize", "k.knl", "-o", "out.json", "--level", "O17"],
        vec!["optimize", "k.knl", "-o", "out.json", "--threads", "0"],
        vec!["convert", "k.knl", "-o", "out.json"],
        vec!["validate", "k.knl", "k.knl"],
        vec!["count", "k.knl"],
        vec!["run", "k.knl"],
        vec!["check", "k.knl"],
        vec!["rules", "no-such-rule"],
    ] {
        let output = nestegg(folder.path(), &arguments);
        exits(&output, 2);
        assert!(!stderr(&output).is_empty(), "{arguments:?}");
        assert!(stdout(&output).is_empty(), "{arguments:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "{arguments:?}");
    }
}

#[test]
fn a_wrong_rule_is_bad_input_and_writes_nothing() {
    let kernel = KERNEL.replace("a*x[i] + a*x[i]", "sin(x[i])*cos(x[i])");
    let folder = folder(&[("k.knl", &kernel), ("wrong.rules", WRONG_RULE)]);
    let output = nestegg(folder.path(), &["optimize", "k.knl", "-o", "out.json", "--rules", "wrong.rules"]);
    exits(&output, 2);
    assert!(!folder.path().join("out.json").exists());
    // Lines are broken anywhere, and begin with a bar.
    let error = stderr(&output);
    let text = error.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert!(text.contains("rule `wrong` is not an equality: `sin(x[i])` is"), "{text}");
    assert!(text.contains("wrong.rules:4:1"), "{text}");
}

/// A right side may call functions that the kernel does not.
#[test]
fn rules_bring_functions_along() {
    let kernel = KERNEL.replace("a*x[i] + a*x[i]", "sqrt(x[i]**2)");
    let rule =
        |name: &str, right: &str| format!(";; On trial.\n\n;; On trial.\n(rule {name} (sqrt (** ?x 2)) {right})\n");
    let folder = folder(&[
        ("k.knl", &kernel),
        ("right.rules", &rule("right", "(fabs ?x)")),
        ("wrong.rules", &rule("wrong", "(sin ?x)")),
    ]);
    let output = nestegg(folder.path(), &["optimize", "k.knl", "-o", "out.knl", "--rules", "right.rules"]);
    exits(&output, 0);
    assert!(stdout(&output).contains("right 1"), "{}", stdout(&output));
    assert!(fs::read_to_string(folder.path().join("out.knl")).unwrap().contains("fabs(x[i])"));
    let output = nestegg(folder.path(), &["optimize", "k.knl", "-o", "none.knl", "--rules", "wrong.rules"]);
    exits(&output, 2);
    assert!(!folder.path().join("none.knl").exists());
}

#[test]
fn a_difference_has_two_operands() {
    let rule = ";; On trial.\n\n;; On trial.\n(rule three (- ?a ?b ?c) ?a)\n";
    let folder = folder(&[("k.knl", KERNEL), ("three.rules", rule)]);
    let output = nestegg(folder.path(), &["optimize", "k.knl", "--rules", "three.rules"]);
    exits(&output, 2);
    assert!(stderr(&output).contains("rules::wrong_arity"), "{}", stderr(&output));
}

/// A kernel that reads `x` at the index.
fn reading(index: &str) -> String {
    format!(
        "kernel k\ndomain {{ [i] : 0 <= i < 8 }}\narg x : float64[8] read\narg off : int32[8] read\narg y : float64[8] write\n\
         temp t : float64[8]\nfor i\n  y[i] = {index}*x[i] + {index}*x[i]  {{id=here}}\nend\n"
    )
}

#[test]
fn what_is_not_validated_is_not_written() {
    let empty = "kernel k\nparam n : int32 = 0\nassume [n] -> { : n = 0 or n >= 50 }\ndomain [n] -> { [i] : 0 <= i < n }\n\
                 arg x : float64[n] read\narg y : float64[n] write\nfor i\n  y[i] = x[i] + x[i]\nend\n";
    let huge = "kernel k\ndomain { [i, j] : 0 <= i, j < 3000000 }\narg x : float64[3000000, 3000000] read\n\
                arg y : float64[3000000, 3000000] write\nfor i, j\n  y[i, j] = x[i, j] + x[i, j]\nend\n";
    let (outside, before) = (reading("x[i + 1]"), reading("t[i]"));
    let folder =
        folder(&[("outside.knl", &outside), ("before.knl", &before), ("empty.knl", empty), ("huge.knl", huge)]);
    for (name, code, said) in [("outside.knl", 2, "outside.knl:8"), ("before.knl", 2, "before.knl:8")] {
        let output = nestegg(folder.path(), &["optimize", name, "-o", "out.json"]);
        exits(&output, code);
        assert!(stderr(&output).contains(said), "{name}: {}", stderr(&output));
        assert!(!folder.path().join("out.json").exists(), "{name}");
    }
    // What means nothing is not optimized at all.
    for (name, code) in [("outside.knl", 2), ("before.knl", 2)] {
        exits(&nestegg(folder.path(), &["optimize", name, "-o", "unvalidated.json", "--unvalidated"]), code);
    }
    // Where nothing is written at the given size, another one tells; and no array has to exist for that.
    let output = nestegg(folder.path(), &["optimize", "empty.knl", "-o", "empty.json"]);
    exits(&output, 0);
    assert!(stdout(&output).contains("at n = 50"), "{}", stdout(&output));
    exits(&nestegg(folder.path(), &["optimize", "huge.knl", "-o", "huge.json"]), 0);
}

#[test]
fn empty_loops_are_compared_at_another_size() {
    let kernel = "kernel k\nparam n : int32 = 8\ndomain [n] -> { [i] : 0 <= i < n }\narg x : float64[n] read\n\
                  arg y : float64[n] write\nfor i\n  y[i] = x[i]*2.0 + x[i]*2.0\nend\n";
    let folder = folder(&[("k.knl", kernel)]);
    let output = nestegg(folder.path(), &["optimize", "k.knl", "--param", "n=0", "-o", "out.json"]);
    exits(&output, 0);
    assert!(stdout(&output).contains("at n = 3") && !stdout(&output).contains("at n = 0"), "{}", stdout(&output));
    let output = nestegg(folder.path(), &["optimize", "k.knl", "--param", "n=-5", "-o", "out.json"]);
    exits(&output, 0);
    let words: Vec<String> = stdout(&output).split_whitespace().map(str::to_owned).collect();
    assert!(words.join(" ").contains("; not at n = -5: array `x` has no usable size"), "{}", stdout(&output));
}

#[test]
fn results_with_computed_tables_say_so_and_are_accepted() {
    let folder = folder(&[]);
    let mass = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/weighted_mass.knl");
    let mass = mass.to_str().unwrap();
    let level = ["--level", "O3", "--cost", "operations"];
    exits(&nestegg(folder.path(), &[&["optimize", mass, "--param", "n=20", "-o", "out.knl"], &level[..]].concat()), 0);
    let text = fs::read_to_string(folder.path().join("out.knl")).unwrap();
    assert!(text.contains("\nmeta {\"nestegg\":{\"tables\":{\"changed\":"), "{text}");
    exits(&nestegg(folder.path(), &["validate", mass, "out.knl", "--param", "n=20"]), 0);
    // Who states nothing is to be equal exactly, and who states more than is allowed states nothing.
    let line = text.lines().find(|line| line.starts_with("meta")).unwrap().to_owned();
    let (before, after) = line.split_once("\"largest_change\":").unwrap();
    let much = format!("{before}\"largest_change\":0.5{}", &after[after.find('}').unwrap()..]);
    for (name, claim) in [("silent.knl", ""), ("much.knl", much.as_str())] {
        fs::write(folder.path().join(name), text.replace(&line, claim)).unwrap();
        exits(&nestegg(folder.path(), &["validate", mass, name, "--param", "n=20"]), 1);
    }
    // A statement is no excuse for other numbers.
    let wrong = text.replacen("scale**2", "1.0000001*scale**2", 1);
    fs::write(folder.path().join("wrong.knl"), &wrong).unwrap();
    assert_ne!(wrong, text);
    exits(&nestegg(folder.path(), &["validate", mass, "wrong.knl", "--param", "n=20"]), 1);
}

#[test]
fn validate_answers_by_its_exit_code() {
    let different = EQUAL.replace("2.0", "2.5");
    let folder = folder(&[("a.knl", KERNEL), ("b.knl", EQUAL), ("c.knl", &different)]);
    exits(&nestegg(folder.path(), &["validate", "a.knl", "b.knl"]), 0);
    let output = nestegg(folder.path(), &["validate", "a.knl", "c.knl"]);
    exits(&output, 1);
    assert!(stdout(&output).contains("not equal"), "{}", stdout(&output));
}

#[test]
fn a_folder_is_done_in_spite_of_one_bad_kernel() {
    let folder =
        folder(&[("in/a.knl", KERNEL), ("in/deep/b.knl", EQUAL), ("in/bad.knl", "kernel\n"), ("in/no.txt", "")]);
    let output = nestegg(folder.path(), &["optimize", "in", "-o", "out", "--threads", "2"]);
    exits(&output, 2);
    assert!(folder.path().join("out/a.knl").exists() && folder.path().join("out/deep/b.knl").exists());
    assert!(!folder.path().join("out/bad.knl").exists());
    let summary = stdout(&output);
    assert!(summary.contains("3 kernels, 1 failed"), "{summary}");
    assert!(summary.contains("optimize s") && summary.contains("validate s"), "{summary}");
}

#[test]
fn a_kernel_of_a_folder_that_is_not_validated_costs_itself() {
    let folder = folder(&[("in/a.knl", KERNEL), ("in/bad.knl", "kernel\n"), ("in/outside.knl", &reading("x[i + 1]"))]);
    exits(&nestegg(folder.path(), &["optimize", "in", "-o", "out"]), 2);
    assert!(folder.path().join("out/a.knl").exists() && !folder.path().join("out/outside.knl").exists());
    let wrong = KERNEL.replace("a*x[i] + a*x[i]", "sin(x[i])*cos(x[i])");
    fs::write(folder.path().join("in/wrong.knl"), wrong).unwrap();
    fs::write(folder.path().join("wrong.rules"), WRONG_RULE).unwrap();
    let output = nestegg(folder.path(), &["optimize", "in", "-o", "out", "--rules", "wrong.rules"]);
    exits(&output, 2);
    assert!(stdout(&output).contains("4 kernels, 3 failed"), "{}", stdout(&output));
}

#[test]
fn two_results_of_one_name_are_refused() {
    let folder = folder(&[("in/a.knl", KERNEL), ("in/a.json", "{}")]);
    exits(&nestegg(folder.path(), &["optimize", "in", "-o", "out", "--emit", "c"]), 2);
    assert!(!folder.path().join("out").exists());
}

#[test]
fn depth_is_an_error_and_no_overflow() {
    let n = 100_000;
    let (open, close) = ("[\"-\", ".repeat(n), "]".repeat(n));
    let json = format!(
        "{{\"format\": \"nestegg-kernel/1\", \"name\": \"deep\", \"domains\": [], \"temporaries\": [], \
         \"arguments\": [{{\"name\": \"x\", \"dtype\": \"float64\", \"shape\": [], \"access\": \"write\"}}], \
         \"instructions\": [{{\"id\": \"a\", \"kind\": \"assignment\", \"within_inames\": [], \"depends_on\": [], \
         \"predicates\": [], \"assignee\": \"x\", \"expression\": {open}1.0{close}}}], \"linearization\": null}}"
    );
    let text = format!("kernel deep\narg x : float64 write\nx = {}1.0{}\n", "-(".repeat(n), ")".repeat(n));
    let folder = folder(&[("deep.json", &json), ("deep.knl", &text)]);
    for name in ["deep.json", "deep.knl"] {
        let output = nestegg(folder.path(), &["optimize", name]);
        exits(&output, 2);
        assert!(stderr(&output).contains("dump::nested_too_deep"), "{}", &stderr(&output)[..500]);
    }
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/coffee");
    let chosen = ["tsfc_mass_2d_nf1_q1.json", "tsfc_mass_2d_nf0_q1.json", "tsfc_helmholtz_2d_nf0_q1.json"];
    let folder = folder(&[]);
    fs::create_dir(folder.path().join("in")).unwrap();
    for name in chosen {
        fs::copy(fixtures.join(name), folder.path().join("in").join(name)).unwrap();
    }
    let run = |threads: &str, out: &str| {
        let arguments = ["optimize", "in", "-o", out, "--threads", threads, "--emit", "dump,c", "--unvalidated"];
        exits(&nestegg(folder.path(), &arguments), 0);
        chosen.map(|name| {
            let path: PathBuf = folder.path().join(out).join(name);
            (fs::read(&path).unwrap(), fs::read(path.with_extension("c")).unwrap())
        })
    };
    assert_eq!(run("1", "one"), run("3", "three"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = folder(&[("k.knl", KERNEL)]);
    let mut child = command(folder.path(), &["rules"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    exits(&output, 0);
    assert_eq!(stderr(&output), "");
}

#[test]
fn errors_have_no_colours_where_nobody_sees_them() {
    let folder = folder(&[("k.knl", "kernel\n")]);
    let output = nestegg(folder.path(), &["check", "k.knl"]);
    exits(&output, 2);
    assert!(!stderr(&output).contains('\u{1b}'));
}

#[test]
fn given_arguments_are_used() {
    let folder = folder(&[("k.knl", EQUAL), ("in.json", "{\"a\": 1.5, \"x\": [0, 1, 2, 3, 4, 5, 6, 7]}")]);
    let output = nestegg(folder.path(), &["run", "k.knl", "--arguments", "in.json"]);
    exits(&output, 0);
    assert_eq!(stdout(&output), "{\"y\": [0.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0]}\n");
    fs::write(folder.path().join("in.json"), "{\"b\": 1}").unwrap();
    exits(&nestegg(folder.path(), &["run", "k.knl", "--arguments", "in.json"]), 2);
    fs::write(folder.path().join("in.json"), "{\"x\": [1]}").unwrap();
    exits(&nestegg(folder.path(), &["run", "k.knl", "--arguments", "in.json"]), 2);
}

#[test]
fn help_and_completions_are_no_errors() {
    let folder = folder(&[]);
    for arguments in [vec!["--help"], vec!["optimize", "--help"], vec!["--version"], vec!["completions", "bash"]] {
        let output = nestegg(folder.path(), &arguments);
        exits(&output, 0);
        assert!(!stdout(&output).is_empty(), "{arguments:?}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = folder(&[]);
    exits(&nestegg(folder.path(), &["man", "pages"]), 0);
    let help = stdout(&nestegg(folder.path(), &["--help"]));
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Descriptions go on in lines that stand further right.
    let names = commands.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names: Vec<&str> = names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help").collect();
    assert!(names.contains(&"optimize"), "{names:?}");
    for name in names {
        let page = fs::read_to_string(folder.path().join(format!("pages/nestegg-{name}.1"))).unwrap_or_default();
        assert!(page.contains("\n.TH ") && page.contains(".SH SYNOPSIS"), "{name}: {page}");
    }
    assert!(folder.path().join("pages/nestegg-rules-check.1").exists());
}

#[test]
fn data_stand_beside_prints_only() {
    let print = "KERNEL: k\nARGUMENTS:\n\
        y: type: np:dtype('float64'), shape: (2), dim_tags: (N0:stride:1) out aspace: global\n\
        DOMAINS:\n{ [i] : 0 <= i <= 1 }\nTEMPORARIES:\n\
        t: type: np:dtype('float64'), shape: (2), dim_tags: (N0:stride:1) aspace: global\n\
        INSTRUCTIONS:\nfor i\n  y[i] = t[i]  {id=insn}\nend i\n";
    let files = [("k.knl", KERNEL), ("p.txt", print), ("t.json", "{\"t\": [1, 2.5]}"), ("bad.json", "[1]")];
    let folder = folder(&files);
    exits(&nestegg(folder.path(), &["check", "p.txt"]), 2);
    exits(&nestegg(folder.path(), &["check", "p.txt", "--data", "bad.json"]), 2);
    exits(&nestegg(folder.path(), &["check", "k.knl", "--data", "t.json"]), 2);
    exits(&nestegg(folder.path(), &["check", "p.txt", "--data", "t.json"]), 0);
    let converted = nestegg(folder.path(), &["convert", "p.txt", "--data", "t.json", "--to", "text"]);
    exits(&converted, 0);
    assert!(stdout(&converted).contains("table t : float64[2] = [1, 2.5]"), "{}", stdout(&converted));
    fs::write(folder.path().join("k2.knl"), stdout(&converted)).unwrap();
    exits(&nestegg(folder.path(), &["validate", "k2.knl", "p.txt", "--data", "t.json"]), 0);
}

#[test]
fn a_special_file_is_written_and_stays() {
    if !cfg!(unix) {
        return;
    }
    let folder = folder(&[("k.knl", KERNEL)]);
    let output = nestegg(folder.path(), &["optimize", "k.knl", "-o", "/dev/null", "--emit", "dump"]);
    exits(&output, 0);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn time_is_made_small_on_a_machine() {
    let folder = folder(&[("k.knl", KERNEL)]);
    let output = nestegg(folder.path(), &["optimize", "k.knl", "-o", "out.knl", "--report", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["cost"], "time");
    let of = |key: &str| report["estimate"][key].as_f64().unwrap();
    assert!(of("after") > 0.0 && of("after") <= of("before"), "{report}");
    assert_eq!(report["estimate"]["machine"], "zen3-gcc");
    let text = nestegg(folder.path(), &["optimize", "k.knl", "-o", "out.knl", "--cost", "time"]);
    assert!(
        String::from_utf8_lossy(&text.stdout).contains("\nestimated: "),
        "{}",
        String::from_utf8_lossy(&text.stdout)
    );
    let by_operations =
        nestegg(folder.path(), &["optimize", "k.knl", "-o", "out.knl", "--cost", "operations", "--report", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&by_operations.stdout).unwrap();
    assert!(report["estimate"].is_null(), "{report}");
}

#[test]
fn machines_are_looked_for_and_checked() {
    let folder = folder(&[("k.knl", KERNEL), ("m.machine", "compiler = cc\nflags = -O2\nlaod = 3\n")]);
    let check = |arguments: &[&str], code: &str| {
        let output = nestegg(folder.path(), arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(code), "{said}");
    };
    check(&["optimize", "k.knl", "--cost", "time", "--machine", "abacus"], "nestegg::no_machine");
    check(&["optimize", "k.knl", "--cost", "time", "--machine", "m.machine"], "machine::unknown_constant");
    check(&["optimize", "k.knl", "--tune", "0"], "nestegg::nothing_tuned");
}

/// Nothing is measured here that may differ: a result is one of those that compete, whoever wins.
#[test]
fn results_are_tuned_with_the_users_compiler() {
    let folder = folder(&[("k.knl", KERNEL)]);
    let arguments = ["optimize", "k.knl", "-o", "out.knl", "--cost", "time", "--tune", "3", "--report", "json"];
    let output = command(folder.path(), &arguments).env("CC", "cc").env("CFLAGS", "-O1").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let tuned = report["tuned"].as_array().unwrap();
    assert!(!tuned.is_empty() && tuned.len() <= 3, "{report}");
    assert!(tuned.iter().all(|one| one["measured"].as_f64().unwrap() > 0.0), "{report}");
    assert!(tuned.iter().any(|one| one["seed"] == report["seed"]), "{report}");
    let none = command(folder.path(), &arguments).env("CC", "no-such-compiler").output().unwrap();
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stdout).contains("nestegg::cannot_run"));
}

/// What is estimated and timed is the kernel of many elements: its interface has one argument more, and a run takes as many times as long.
#[test]
fn batches_are_estimated_and_tuned_as_they_run() {
    let folder = folder(&[("k.knl", KERNEL)]);
    let report = |more: &[&str]| -> serde_json::Value {
        let mut arguments = vec!["optimize", "k.knl", "-o", "out.c", "--emit", "c,h", "--cost", "time"];
        arguments.extend(["--report", "json"].iter().chain(more));
        let output = command(folder.path(), &arguments).env("CC", "cc").env("CFLAGS", "-O1").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let before = |report: &serde_json::Value| report["estimate"]["before"].as_f64().unwrap();
    let (alone, together) = (report(&[]), report(&["--batch", "4", "--tune", "2"]));
    assert!(before(&together) > 10.0 * before(&alone), "{together}");
    assert_eq!(together["batch"]["width"], 4, "{together}");
    assert!(together["tuned"].as_array().unwrap().iter().all(|one| one["measured"].as_f64().unwrap() > 0.0));
    let written = std::fs::read_to_string(folder.path().join("out.h")).unwrap();
    assert!(written.contains("int small_batch(") && written.contains("int64_t n_elements"), "{written}");
}

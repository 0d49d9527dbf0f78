//! Rules of the house that no compiler checks: layering, module documentation, links, headers, leftovers.
//!
//! Each test lists everything that is wrong, not only the first.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use nestegg_tests::{files, root};

/// What each crate may depend on, of our own: the layering in `ARCHITECTURE.md`. Development dependencies are free.
const ALLOWED_EDGES: &[(&str, &[&str])] = &[
    ("span", &[]),
    ("isl", &[]),
    ("ir", &["isl", "span"]),
    ("dump", &["ir", "isl", "span"]),
    ("lift", &["dump", "ir", "isl", "span"]),
    ("prints", &["dump", "ir", "span"]),
    ("interp", &["ir", "isl"]),
    ("rules", &["span"]),
    ("egraph", &["ir", "isl", "rules", "span"]),
    ("extract", &["egraph", "ir", "isl"]),
    ("transform", &["ir", "isl"]),
    ("solve", &[]),
    ("forms", &["ir", "isl", "solve"]),
    ("schedule", &["ir", "isl"]),
    ("codegen", &["ir", "isl"]),
    ("testgen", &["ir", "isl"]),
    ("time", &["ir", "isl", "span"]),
    (
        "driver",
        &[
            "codegen",
            "dump",
            "egraph",
            "extract",
            "forms",
            "interp",
            "ir",
            "isl",
            "lift",
            "prints",
            "rules",
            "schedule",
            "span",
            "time",
            "transform",
        ],
    ),
    ("lab", &["driver", "dump", "egraph", "interp", "ir", "isl", "rules", "span", "testgen", "time"]),
    ("cache", &["driver", "ir", "span"]),
    (
        "cli",
        &["cache", "codegen", "driver", "dump", "egraph", "interp", "ir", "lab", "prints", "rules", "span", "time"],
    ),
    ("bench", &["codegen", "driver", "dump", "egraph", "interp", "ir", "lab", "rules", "span", "testgen", "time"]),
    ("py", &["cache", "driver", "ir", "span", "time"]),
];

/// The one crate that calls C.
const UNSAFE_CRATE: &str = "isl";

#[test]
fn crates_depend_downwards_only() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED_EDGES.iter().copied().collect();
    let mut wrong = Vec::new();
    for (name, manifest) in manifests() {
        let Some(may) = allowed.get(name.as_str()) else {
            wrong.push(format!("crates/{name} is not in the list of layers"));
            continue;
        };
        for dependency in own_dependencies(&manifest) {
            if !may.contains(&dependency.as_str()) {
                wrong.push(format!("{name} -> {dependency}"));
            }
        }
    }
    check(wrong, "edges that the layering does not allow");
}

#[test]
fn only_one_crate_is_unsafe() {
    let mut wrong = Vec::new();
    for (name, manifest) in manifests() {
        if name != UNSAFE_CRATE && !manifest.contains("[lints]\nworkspace = true") {
            wrong.push(format!("crates/{name}/Cargo.toml does not take the workspace's lints"));
        }
    }
    for path in files(&root(), &["rs"]) {
        if !path.starts_with(root().join("crates").join(UNSAFE_CRATE))
            && read(&path).contains(&joined("allow(unsafe", "_code)"))
        {
            wrong.push(shown(&path));
        }
    }
    check(wrong, "unsafe code outside its crate");
}

#[test]
fn every_module_has_documentation() {
    let wrong = files(&root(), &["rs"]).into_iter().filter(|path| !read(path).trim_start().starts_with("//!"));
    check(wrong.map(|path| shown(&path)).collect(), "modules that do not begin with their documentation");
}

#[test]
fn every_rule_file_has_a_header() {
    let wrong = files(&root().join("rules"), &["rules"]).into_iter().filter(|path| !read(path).starts_with(";; "));
    check(wrong.map(|path| shown(&path)).collect(), "rule files that do not begin with a comment");
}

#[test]
fn rule_names_are_unique() {
    let names = rule_names().into_iter().filter(|(_, files)| files.len() > 1);
    let wrong = names.map(|(name, files)| format!("`{name}` in {}", files.join(" and "))).collect();
    check(wrong, "rules of the same name");
}

#[test]
fn every_rule_has_a_filetest_that_shows_it_fire() {
    let mut wrong = Vec::new();
    for name in rule_names().into_keys() {
        let path = root().join("tests/optimize").join(format!("{name}.snap"));
        let is_fired = |text: String| {
            let fired = text.lines().find_map(|line| line.strip_prefix("rules fired: "));
            fired.is_some_and(|fired| fired.split([' ', ',']).any(|word| word == name))
        };
        if !fs::read_to_string(&path).is_ok_and(is_fired) {
            wrong.push(name);
        }
    }
    check(wrong, "rules that do not fire in `tests/optimize/<rule>.snap`");
}

#[test]
fn every_rule_has_a_test_of_its_own() {
    let is_fired = |name: &str| {
        let path = root().join("rules/tests").join(format!("{name}.knl"));
        fs::read_to_string(path).is_ok_and(|text| text.lines().any(|line| line.ends_with(&format!(" fires={name}"))))
    };
    let wrong = rule_names().into_keys().filter(|name| !is_fired(name)).collect();
    check(wrong, "rules without `rules/tests/<rule>.knl` that says `fires=<rule>`");
}

#[test]
fn links_in_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    for path in files(&root(), &["md"]) {
        let folder = path.parent().expect("a file has a folder").to_owned();
        for target in links(&read(&path)) {
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !folder.join(file).exists() {
                wrong.push(format!("{}: {target}", shown(&path)));
            }
        }
    }
    check(wrong, "links to nothing");
}

#[test]
fn recipes_and_paths_in_documents_exist() {
    let justfile = read(&root().join("justfile"));
    let is_recipe = |name: &str| {
        let is_head = |line: &str| line.contains(':') && line.split([' ', ':']).next() == Some(name);
        justfile.lines().any(is_head)
    };
    let folders = ["crates", "docs", "examples", "fixtures", "rules", "tests"];
    let is_there = |path: &str| {
        let is_fixed = |part: &&str| !part.contains(['<', '*', '{', '…']) && !part.contains("NAME");
        path.split('/').take_while(is_fixed).fold(root(), |path, part| path.join(part)).exists()
    };
    let mut wrong = Vec::new();
    for path in files(&root(), &["md"]) {
        for (line_idx, line) in prose(&read(&path)) {
            for code in line.split('`').skip(1).step_by(2) {
                let recipe = code.strip_prefix("just ").and_then(|rest| rest.split_whitespace().next());
                let is_path =
                    !code.contains(' ') && code.split_once('/').is_some_and(|(top, _)| folders.contains(&top));
                if recipe.is_some_and(|recipe| !is_recipe(recipe)) || (is_path && !is_there(code)) {
                    wrong.push(format!("{}:{}: `{code}`", shown(&path), line_idx + 1));
                }
            }
        }
    }
    check(wrong, "recipes and paths that do not exist");
}

#[test]
fn documents_have_one_sentence_a_line() {
    let mut wrong = Vec::new();
    for path in files(&root(), &["md"]) {
        for (line_idx, line) in prose(&read(&path)) {
            if has_inner_sentence_end(&line) {
                wrong.push(format!("{}:{}", shown(&path), line_idx + 1));
            }
        }
    }
    check(wrong, "lines of documents with several sentences");
}

#[test]
fn techniques_are_shown_by_filetests_that_exist() {
    let path = root().join("docs/techniques.md");
    let mut wrong = Vec::new();
    for line in read(&path).lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        match cells.as_slice() {
            ["technique", ..] => {}
            [technique, _, shows, not] => {
                let is_test = |link: &String| link.starts_with("../") && link.contains("tests/");
                let filetests = |cell: &str| links(cell).into_iter().filter(is_test);
                if filetests(shows).next().is_none() {
                    wrong.push(format!("{technique}: no filetest shows it"));
                }
                let missing =
                    filetests(shows).chain(filetests(not)).filter(|link| !root().join("docs").join(link).is_file());
                wrong.extend(missing.map(|link| format!("{technique}: there is no {link}")));
            }
            _ => wrong.push(format!("{}: not four cells", cells[0])),
        }
    }
    check(wrong, "techniques without their filetests");
}

#[test]
fn nothing_is_left_over() {
    let words = [
        joined("TO", "DO"),
        joined("#[ig", "nore"),
        joined("#[should", "_panic"),
        joined("dbg", "!("),
        joined("/wo", "rk/"),
        joined("/ho", "me/"),
        joined("/ro", "ot/"),
        joined("/tm", "p/"),
    ];
    let mut wrong = Vec::new();
    let extensions = ["rs", "md", "toml", "rules", "knl", "snap", "sh", "c", "h"];
    let named = ["setup", "justfile", ".ci/run"].map(|name| root().join(name));
    for path in files(&root(), &extensions).into_iter().chain(named) {
        for (line_idx, line) in read(&path).lines().enumerate() {
            for word in words.iter().filter(|word| line.contains(word.as_str())) {
                wrong.push(format!("{}:{}: `{word}`", shown(&path), line_idx + 1));
            }
        }
    }
    check(wrong, "leftovers and machine paths");
}

#[test]
fn fixtures_have_their_figures() {
    let mut wrong = Vec::new();
    for group in ["coffee", "devito", "tsfc"] {
        let folder = root().join("fixtures").join(group);
        let table = read(&folder.join("peers.csv"));
        let listed: BTreeSet<String> =
            table.lines().skip(1).filter_map(|line| line.split(',').next()).map(str::to_owned).collect();
        let there: BTreeSet<String> = files(&folder, &["json"])
            .into_iter()
            .filter(|path| path.parent() == Some(folder.as_path()))
            .filter_map(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))
            .collect();
        wrong.extend(listed.symmetric_difference(&there).map(|name| format!("{group}/{name}")));
    }
    check(wrong, "kernels without figures, or figures without a kernel");
}

/// The name of every rule, with the files that define it.
fn rule_names() -> BTreeMap<String, Vec<String>> {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files(&root().join("rules"), &["rules"]) {
        for line in read(&path).lines() {
            let mut words = line.split_whitespace();
            if let (Some("(rule" | "(guided"), Some(name)) = (words.next(), words.next()) {
                names.entry(name.trim_end_matches(')').to_owned()).or_default().push(shown(&path));
            }
        }
    }
    names
}

/// The folder name and manifest of every crate.
fn manifests() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = fs::read_dir(root().join("crates"))
        .expect("the crates' folder is there")
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), read(&entry.path().join("Cargo.toml"))))
        .collect();
    found.sort();
    found
}

/// Our own crates in the `[dependencies]` of a manifest, without the prefix.
fn own_dependencies(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim();
        } else if matches!(section, "[dependencies]" | "[build-dependencies]")
            && let Some(rest) = line.strip_prefix("nestegg-")
        {
            found.push(rest.split(['.', ' ', '=']).next().unwrap_or_default().to_owned());
        }
    }
    found
}

/// Targets of the links of a document that lead into the project.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (_, line) in prose(text) {
        for part in line.split("](").skip(1) {
            let target = part.split(')').next().unwrap_or_default();
            if !target.contains("://") {
                found.push(target.to_owned());
            }
        }
    }
    found
}

/// The lines of a document outside code blocks.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (line_idx, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            found.push((line_idx, line.to_owned()));
        }
    }
    found
}

/// Whether a sentence ends in the middle of the line: a full stop, a space, a capital. Rows of tables and items of lists
/// are exempt: they are lines already.
fn has_inner_sentence_end(line: &str) -> bool {
    let start = line.trim_start();
    let is_item = start.starts_with("- ") || start.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok());
    if start.starts_with('|') || is_item {
        return false;
    }
    let without_code: String = line.split('`').step_by(2).collect::<Vec<_>>().join("x");
    without_code.match_indices(". ").any(|(at, _)| {
        let before = without_code[..at].chars().next_back();
        let after = without_code[at + 2..].chars().next();
        before.is_some_and(char::is_lowercase) && after.is_some_and(char::is_uppercase)
    })
}

/// One word of two halves, so that this file does not contain it.
fn joined(first: &str, second: &str) -> String {
    format!("{first}{second}")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The path from the project's folder, with `/` on every system.
fn shown(path: &Path) -> String {
    let root: PathBuf = root();
    path.strip_prefix(&root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// Fails with the whole list.
fn check(wrong: Vec<String>, what: &str) {
    assert!(wrong.is_empty(), "{what}:\n  {}", wrong.join("\n  "));
}

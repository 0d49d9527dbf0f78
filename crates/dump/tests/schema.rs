//! The JSON schema says what the reader does, and the shipped file is the schema.
//!
//! A dump that holds every field and form is broken in every place: a field left out, renamed or doubled in a list, a value replaced by one of another
//! JSON type, a word by another word. The schema and the reader must agree on each, but for what depends on other parts of the dump.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use miette::Diagnostic;
use nestegg_dump::{json_schema, read_json};
use nestegg_span::Source;
use serde_json::{Value, json};

/// Codes of errors that a schema can find. How many arguments a substitution takes depends on its definition: [`codes`] leaves that out.
const STRUCTURAL: [&str; 15] = [
    "dump::json_syntax",
    "dump::unknown_field",
    "dump::missing_field",
    "dump::wrong_json_type",
    "dump::wrong_format",
    "dump::unknown_dtype",
    "dump::unknown_access",
    "dump::unknown_tag",
    "dump::unknown_kind",
    "dump::unknown_operator",
    "dump::unknown_reduction",
    "dump::unknown_item",
    "dump::wrong_arity",
    "dump::invalid_name",
    "dump::parameter_dtype",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn validator() -> Validator {
    jsonschema::validator_for(&serde_json::from_str(&json_schema()).unwrap()).unwrap()
}

/// The codes of what the reader says.
fn codes(dump: &Value) -> BTreeSet<String> {
    match read_json(&Source::new("dump.json", dump.to_string())) {
        Ok(_) => BTreeSet::new(),
        Err(errors) => {
            let structural = errors.errors().iter().filter(|error| !error.to_string().contains("the substitution `"));
            structural.filter_map(|error| Some(error.code()?.to_string())).collect()
        }
    }
}

/// Every field, every form of expression, every kind of instruction and item.
fn full() -> Value {
    json!({
        "format": "nestegg-kernel/1", "name": "full", "meta": {"from": ["a", "test"]},
        "parameters": [{"name": "n", "dtype": "int32", "estimate": 4}],
        "assumptions": "[n] -> { : n >= 1 }",
        "domains": ["[n] -> { [i] : 0 <= i < n }", "{ [j] : 0 <= j < 2 }"],
        "inames": [{"name": "i", "tags": ["parallel"]}],
        "arguments": [
            {"name": "a", "dtype": "float64", "shape": [], "access": "read"},
            {"name": "m", "dtype": "int64", "shape": [], "access": "read"},
            {"name": "x", "dtype": "float64", "shape": ["n"], "access": "read"},
            {"name": "y", "dtype": "float64", "shape": [["+", "n", 1]], "access": "readwrite"}
        ],
        "temporaries": [
            {"name": "t", "dtype": "float32", "shape": [], "initializer": null},
            {"name": "w", "dtype": "float64", "shape": [2, 1], "initializer": [[0.5], [1]]}
        ],
        "substitutions": [{"name": "square", "parameters": ["v"], "expression": ["*", "v", "v"]}],
        "instructions": [
            {"id": "first", "kind": "assignment", "within_inames": ["i"], "depends_on": [],
             "predicates": [["<", "a", 2.5], ["not", ["and", ["==", "i", 1], ["!=", "m", 3]]]],
             "assignee": ["[]", "y", "i"],
             "expression": ["+", ["[]", "x", "i"], ["reduce", "sum", ["j"], ["[]", "w", "j", 0]],
                ["subst", "square", "a"], ["call", "sin", "a"], ["cast", "float64", "m"],
                ["if", [">=", "a", 1e-3], ["-", "a"], ["-", "a", 1.0]], ["min", "a", ["/", "a", 2.0]]]},
            {"id": "second", "kind": "opaque", "within_inames": [], "depends_on": ["first"], "predicates": [],
             "code": "step(y);", "reads": ["y"], "writes": ["y"]},
            {"id": "third", "kind": "call", "within_inames": [], "depends_on": ["second"], "predicates": [],
             "assignees": ["t", ["[]", "y", 0]], "function": "halves", "arguments": ["a"]}
        ],
        "linearization": [["for", "i"], ["if", ["<", "a", 1.0]], ["run", "first"], ["endif"], ["end", "i"],
            ["run", "second"], ["run", "third"]]
    })
}

/// The same with all that is new in version 2.
fn full_second() -> Value {
    let mut dump = full();
    dump["format"] = json!("nestegg-kernel/2");
    dump["arguments"][2]["shape"] = json!([null]);
    dump["arguments"][1]["dtype"] = json!("uint16");
    dump["temporaries"][1]["shape"] = json!([1, 2, 1]);
    dump["temporaries"][1]["initializer"] = json!([[[0.5], [1]]]);
    let mut sum = dump["instructions"][0]["expression"].clone();
    sum[2] = json!(["reduce", "sum", ["j"], ["[[]]", "w", "j"]]);
    dump["instructions"][0]["expression"] = sum;
    dump["instructions"][0]["predicates"][0] = json!(["reduce", "any", ["j"], ["<", "a", "j"]]);
    dump
}

/// Every way to break one place of a value: the places below it, and itself replaced.
fn broken(value: &Value) -> Vec<Value> {
    let mut res: Vec<Value> =
        [json!(null), json!(true), json!(3), json!("q r"), json!("if"), json!([]), json!({}), json!([["zz", 1]])]
            .to_vec();
    match value {
        Value::Array(items) => {
            for (idx, item) in items.iter().enumerate() {
                let with = |new: Option<Value>| {
                    let mut items = items.clone();
                    items.splice(idx..=idx, new);
                    Value::Array(items)
                };
                res.push(with(None));
                res.extend(broken(item).into_iter().map(|item| with(Some(item))));
            }
            let mut longer = items.clone();
            longer.push(json!("a"));
            res.push(Value::Array(longer));
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let without = || {
                    let mut fields = fields.clone();
                    fields.shift_remove(name);
                    fields
                };
                res.push(Value::Object(without()));
                let mut renamed = without();
                renamed.insert(format!("{name}s"), field.clone());
                res.push(Value::Object(renamed));
                for new in broken(field) {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), new);
                    res.push(Value::Object(fields));
                }
            }
        }
        _ => {}
    }
    res
}

#[test]
fn schema_and_reader_agree_on_broken_dumps() {
    [full(), full_second()].iter().for_each(agree);
}

fn agree(full: &Value) {
    let validator = validator();
    assert_eq!(codes(full), BTreeSet::new(), "the full dump is right");
    assert!(validator.is_valid(full));
    let dumps = broken(full);
    let mut n_refused = 0;
    let mut wrong = Vec::new();
    for dump in &dumps {
        let codes = codes(dump);
        let is_structural = codes.iter().any(|code| STRUCTURAL.contains(&code.as_str()));
        n_refused += usize::from(is_structural);
        if validator.is_valid(dump) == is_structural {
            wrong.push(format!("{codes:?} {dump}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} dumps:\n{}", wrong.len(), dumps.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert!(n_refused > 1_000 && n_refused < dumps.len(), "{n_refused} of {}", dumps.len());
}

#[test]
fn every_fixture_fits_the_schema() {
    let validator = validator();
    let mut pending = vec![root().join("fixtures")];
    let mut n_files = 0;
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let dump: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let error =
                validator.validate(&dump).err().map(|error| error.to_string().chars().take(300).collect::<String>());
            assert_eq!(error, None, "{}", path.display());
            n_files += 1;
        }
    }
    assert!(n_files > 200);
}

/// With `INSTA_UPDATE=always`, as for snapshots, the file is written anew.
#[test]
fn the_shipped_schema_is_up_to_date() {
    let path = root().join("docs/nestegg-kernel.schema.json");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&path, json_schema()).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), json_schema(), "write it anew: `nestegg schema`");
}

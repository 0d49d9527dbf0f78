//! Every kernel of the corpus survives both notations, and accesses what is there.
#![allow(missing_docs, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use nestegg_dump::{Read, check_defined, read, write_json, write_text};
use nestegg_ir::verify::verify;
use nestegg_span::Source;
use serde_json::Value;

fn files(dir: &Path, ending: &str, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, ending, out);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            out.push(path);
        }
    }
}

fn reads(name: &str, text: &str) -> Read {
    read(&Source::new(name, text)).unwrap_or_else(|errors| panic!("{errors}: {:#?}", errors.errors()))
}

/// A dump without the optional fields that hold nothing.
fn essence(text: &str) -> Value {
    let mut value: Value = serde_json::from_str(text).unwrap();
    let fields = value.as_object_mut().unwrap();
    for field in ["parameters", "assumptions", "inames", "substitutions", "linearization"] {
        let is_nothing =
            fields.get(field).is_some_and(|value| value.is_null() || value.as_array().is_some_and(Vec::is_empty));
        if is_nothing {
            fields.remove(field);
        }
    }
    value
}

#[test]
fn every_kernel_survives_both_notations() {
    let mut paths = Vec::new();
    files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures")), "json", &mut paths);
    assert!(paths.len() > 200);
    for path in paths {
        let name = path.display().to_string();
        let json = fs::read_to_string(&path).unwrap();
        let source = Source::new(name.as_str(), json.as_str());
        let as_read = reads(&name, &json);
        check_defined(&source, &as_read, &[]).unwrap_or_else(|errors| panic!("{errors}: {:#?}", errors.errors()));
        let kernel = as_read.program;
        assert_eq!(verify(&kernel), [], "{name}: what is read is verified");
        let again = write_json(&kernel);
        assert_eq!(essence(&again), essence(&json), "{name}: JSON to JSON");
        assert_eq!(write_json(&reads(&name, &again).program), again, "{name}: the same bytes");
        let text = write_text(&kernel);
        let from_text = reads(&name, &text).program;
        assert_eq!(essence(&write_json(&from_text)), essence(&json), "{name}: JSON to text to JSON");
        assert_eq!(write_text(&from_text), text, "{name}: text to text");
    }
}

#[test]
fn small_kernels_access_what_is_there() {
    let mut paths = Vec::new();
    for folder in ["examples", "tests"] {
        files(&Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(folder), "knl", &mut paths);
    }
    // Those are undefined on purpose.
    paths.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        !path.components().any(|part| part.as_os_str() == "error") && !name.starts_with("undefined")
    });
    assert!(paths.len() > 100);
    for path in paths {
        let source = Source::new(path.display().to_string(), fs::read_to_string(&path).unwrap());
        let as_read = reads(&source.name, &source.text);
        check_defined(&source, &as_read, &[]).unwrap_or_else(|errors| panic!("{errors}: {:#?}", errors.errors()));
    }
}

//! A fingerprint of the program's own sources: entries of a cache are of the program that made them.
//!
//! Where the sources of the other crates are not beside this one, the version alone has to do.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut hasher = DefaultHasher::new();
    for part in ["Cargo.lock", "crates", "rules", "machines"] {
        let path = root.join(part);
        if path.exists() {
            println!("cargo:rerun-if-changed={}", path.display());
        }
        let mut found = Vec::new();
        // What cannot be read is not compiled either.
        let _ = collect(&path, &mut found);
        found.sort();
        for file in found {
            file.strip_prefix(&root).unwrap_or(&file).hash(&mut hasher);
            fs::read(&file).unwrap_or_default().hash(&mut hasher);
        }
    }
    println!("cargo:rustc-env=NESTEGG_SOURCES={:016x}", hasher.finish());
}

/// All files that make the program.
fn collect(path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_file() {
        found.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name != "tests") {
            collect(&path, found)?;
        }
    }
    Ok(())
}

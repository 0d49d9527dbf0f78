//! What the tests of the whole project share: where it lies, and which files are its own.

pub mod commands;
pub mod compilers;
pub mod header;
pub mod random;

use std::path::{Path, PathBuf};

/// The project's top folder.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the project's folder").to_owned()
}

/// Every file of the project under `folder` with one of these extensions, sorted; build products are not the project's.
#[must_use]
pub fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let is_ours = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !(name == "target" || name == "corpus" || name == ".git")
    };
    let mut found: Vec<PathBuf> = walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_entry(is_ours)
        .filter_map(Result::ok)
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.is_file())
        .filter(|path| path.extension().is_some_and(|found| extensions.iter().any(|wanted| found == *wanted)))
        .collect();
    found.sort();
    found
}

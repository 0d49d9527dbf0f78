//! The kernels of `fixtures/`, by group.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nestegg_span::Source;

/// The groups of fixtures, as the folders are named.
pub const GROUPS: [&str; 3] = ["tsfc", "coffee", "devito"];

/// One kernel of the fixtures.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// Its group.
    pub group: &'static str,
    /// Its name, as in `peers.csv`.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
}

impl Fixture {
    /// `group/name`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }

    /// Its text.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self) -> io::Result<Source> {
        Ok(Source::new(self.full_name(), fs::read_to_string(&self.path)?))
    }
}

/// The kernels below the folder of all fixtures, by group and name.
///
/// # Errors
/// If a group's folder cannot be read.
pub fn fixtures(folder: &Path) -> io::Result<Vec<Fixture>> {
    let mut found = Vec::new();
    for group in GROUPS {
        found.extend(kernels(group, &folder.join(group))?);
    }
    Ok(found)
}

/// The best programs that peers made, where there are any; named as the fixtures that they come from.
///
/// # Errors
/// If a folder that is there cannot be read.
pub fn peer_programs(folder: &Path) -> io::Result<Vec<Fixture>> {
    let mut found = Vec::new();
    for group in GROUPS {
        let folder = folder.join(group).join("peer");
        if folder.is_dir() {
            found.extend(kernels(group, &folder)?);
        }
    }
    Ok(found)
}

/// The kernels of a folder that is none of the fixtures', in any notation: JSON, text, and C with one function a file.
///
/// # Errors
/// If it cannot be read.
pub fn others(folder: &Path) -> io::Result<Vec<Fixture>> {
    kernels_of("kernels", folder, &["json", "knl", "c"])
}

fn kernels(group: &'static str, folder: &Path) -> io::Result<Vec<Fixture>> {
    kernels_of(group, folder, &["json"])
}

fn kernels_of(group: &'static str, folder: &Path, extensions: &[&str]) -> io::Result<Vec<Fixture>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extensions.iter().any(|known| extension == *known)) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.push(Fixture { group, name, path });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

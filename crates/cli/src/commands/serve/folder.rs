//! The files of the folder that is served: kernels and rule files in it, by their names.
//!
//! A name is looked up in the list of the folder, so no name leads out of it; a link that leads out is not in the list. Folders in it are not looked into.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nestegg_span::Source;

use crate::files::{self, FileError, Output};

/// The endings of kernels, and of rule files.
const KERNELS: [&str; 2] = ["knl", "json"];
const RULES: &str = "rules";

/// A folder whose files may change at any time.
pub(super) struct Folder {
    /// Its place, without links.
    place: PathBuf,
    /// Files are compared and written by one at a time.
    writing: Mutex<()>,
}

/// A file as it was when it was read.
#[derive(Clone)]
pub(super) struct File {
    /// Its name in the folder, and its text.
    pub(super) source: Source,
}

impl File {
    /// Its version: another text has another one.
    pub(super) fn tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.source.text.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

/// What came of writing.
pub(super) enum Save {
    /// It is written, and this is its version.
    Written(String),
    /// It was not what the writer had seen, and stays as it is.
    Changed,
}

/// The names of the files, sorted.
#[derive(serde::Serialize)]
pub(super) struct Names {
    kernels: Vec<String>,
    rules: Vec<String>,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self, FileError> {
        let place = fs::canonicalize(path).map_err(|source| FileError::Read {
            path: path.display().to_string(),
            help: None,
            source,
        })?;
        Ok(Self { place, writing: Mutex::new(()) })
    }

    /// The files with these endings; none if the folder is gone.
    fn list(&self, endings: &[&str]) -> BTreeMap<String, PathBuf> {
        let entries = fs::read_dir(&self.place).into_iter().flatten().filter_map(Result::ok);
        let files = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let ending = Path::new(&name).extension()?.to_str()?;
            // Names that begin with a dot are those of files that are being written.
            let is_one = endings.contains(&ending) && !name.starts_with('.');
            let path = is_one.then(|| fs::canonicalize(entry.path()).ok()).flatten()?;
            (path.is_file() && path.starts_with(&self.place)).then_some((name, path))
        });
        files.collect()
    }

    pub(super) fn names(&self) -> Names {
        let names = |endings: &[&str]| self.list(endings).into_keys().collect();
        Names { kernels: names(&KERNELS), rules: names(&[RULES]) }
    }

    /// A kernel or rule file; `None` if the folder has no file of that name.
    pub(super) fn read(&self, name: &str) -> Option<Result<File, FileError>> {
        let path = self.find(name)?;
        Some(files::read(&path).map(|source| File { source: Source { name: name.into(), ..source } }))
    }

    /// All rule files, by name.
    pub(super) fn rules(&self) -> Vec<Result<File, FileError>> {
        self.list(&[RULES]).keys().filter_map(|name| self.read(name)).collect()
    }

    /// Writes a file that is there, unless its version is another than `seen`.
    pub(super) fn save(&self, name: &str, seen: &str, text: String) -> Option<Result<Save, FileError>> {
        let path = self.find(name)?;
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let save = || match self.read(name) {
            Some(Ok(now)) if now.tag() == seen => {
                let file = File { source: Source::new(name, text) };
                files::write_all(&[Output { path, text: file.source.text.to_string() }])?;
                Ok(Save::Written(file.tag()))
            }
            Some(Err(error)) => Err(error),
            _ => Ok(Save::Changed),
        };
        Some(save())
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        let ending = Path::new(name).extension()?.to_str()?;
        let endings = [KERNELS.as_slice(), &[RULES]].concat();
        endings.contains(&ending).then(|| self.list(&[ending]).remove(name)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_folder_are_found() {
        let outside = tempfile::tempdir().unwrap();
        let place = outside.path().join("in");
        fs::create_dir_all(place.join("deep")).unwrap();
        for file in ["secret.knl", "in/a.knl", "in/b.rules", "in/c.txt", "in/deep/d.knl", "in/.e.knl"] {
            fs::write(outside.path().join(file), "kernel k\n").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("../secret.knl", place.join("link.knl")).unwrap();
        let folder = Folder::open(&place).unwrap();
        let names = folder.names();
        assert_eq!((names.kernels, names.rules), (vec!["a.knl".to_owned()], vec!["b.rules".to_owned()]));
        assert!(folder.read("a.knl").is_some());
        let absolute = outside.path().join("secret.knl").display().to_string();
        for name in ["../secret.knl", "./a.knl", "deep/d.knl", "link.knl", "c.txt", "", ".", "..", ".e.knl", &absolute]
        {
            assert!(folder.read(name).is_none() && folder.save(name, "", String::new()).is_none(), "{name}");
        }
    }

    #[test]
    fn what_somebody_else_has_changed_is_not_written_over() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("a.rules"), "one").unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let first = folder.read("a.rules").unwrap().unwrap().tag();
        assert!(
            matches!(folder.save("a.rules", &first, "two".to_owned()), Some(Ok(Save::Written(tag))) if tag != first)
        );
        assert!(matches!(folder.save("a.rules", &first, "three".to_owned()), Some(Ok(Save::Changed))));
        assert_eq!(fs::read_to_string(place.path().join("a.rules")).unwrap(), "two");
    }
}

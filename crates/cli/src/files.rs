//! Reading inputs, and writing outputs all or nothing.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use nestegg_span::{InvalidUtf8, Source};
use tempfile::NamedTempFile;

/// The name of standard input on the command line.
pub const STDIN: &str = "-";

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum FileError {
    /// The system says no.
    #[error("cannot read `{path}`")]
    #[diagnostic(code(nestegg::cannot_read))]
    Read {
        /// As the user wrote it.
        path: String,
        /// The way out, where one is known.
        #[help]
        help: Option<String>,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Kernels and rules are text.
    #[error("`{path}` is not UTF-8")]
    #[diagnostic(code(nestegg::not_utf8), help("kernels and rules are UTF-8 text"))]
    NotUtf8 {
        /// As the user wrote it.
        path: String,
        /// The readable part.
        #[source_code]
        text: miette::NamedSource<std::sync::Arc<str>>,
        /// Where it goes wrong.
        #[label("byte {byte_offset} of the file is not UTF-8")]
        at: miette::SourceSpan,
        /// Where it goes wrong, in the file.
        byte_offset: usize,
    },
    /// The system says no.
    #[error("cannot write `{path}`")]
    #[diagnostic(code(nestegg::cannot_write))]
    Write {
        /// As the user wrote it.
        path: String,
        /// The way out, where one is known.
        #[help]
        help: Option<String>,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

/// Reads a file, or standard input for `-`.
pub fn read(path: &Path) -> Result<Source, FileError> {
    let name = if path == Path::new(STDIN) { "<stdin>".to_owned() } else { path.display().to_string() };
    let mut bytes = Vec::new();
    let res = if path == Path::new(STDIN) {
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    match res {
        Ok(bytes) => Source::from_bytes(name, &bytes).map_err(|error| not_utf8(*error)),
        Err(source) => Err(read_error(path, source)),
    }
}

/// Reads a file that is no text.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, FileError> {
    fs::read(path).map_err(|source| read_error(path, source))
}

/// An error of reading, with the way out of the usual one.
fn read_error(path: &Path, source: io::Error) -> FileError {
    let help = path
        .is_dir()
        .then(|| "this is a folder; name a file in it; only `optimize` takes folders of kernels".to_owned());
    FileError::Read { path: path.display().to_string(), help, source }
}

fn not_utf8(error: InvalidUtf8) -> FileError {
    FileError::NotUtf8 {
        path: error.source.name.to_string(),
        text: error.source.named_source(),
        at: error.span.into(),
        byte_offset: error.byte_offset,
    }
}

/// The files of a folder with that ending, sorted by name; folders in it are not looked into.
pub fn in_folder(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, FileError> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect);
    let entries: Vec<fs::DirEntry> = entries.map_err(|source| read_error(folder, source))?;
    let paths = entries.into_iter().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.is_file() && path.extension().is_some_and(|found| found == extension)).collect();
    found.sort();
    Ok(found)
}

/// Whether a file may be written there, found out before the work that it is to hold.
pub fn check_place(path: &Path) -> Result<(), FileError> {
    if is_special(path) {
        return Ok(());
    }
    write_beside(&Output { path: path.to_owned(), text: String::new() }).map(drop)
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub text: String,
}

/// Writes all files or none: each is written in full beside its place, then all are moved there.
///
/// A place that is there and no ordinary file (`/dev/stdout`) is written directly.
pub fn write_all(outputs: &[Output]) -> Result<(), FileError> {
    let (special, ordinary): (Vec<&Output>, Vec<&Output>) = outputs.iter().partition(|output| is_special(&output.path));
    let written: Vec<(NamedTempFile, PathBuf)> = ordinary.into_iter().map(write_beside).collect::<Result<_, _>>()?;
    for output in special {
        fs::write(&output.path, &output.text).map_err(|source| write_error(&output.path, source))?;
    }
    let mut new_files: Vec<PathBuf> = Vec::new();
    for (file, path) in written {
        let is_new = !path.exists();
        if let Err(error) = file.persist(&path) {
            for path in new_files {
                // The first error is the one to report.
                let _ = fs::remove_file(path);
            }
            return Err(write_error(&path, error.error));
        }
        if is_new {
            new_files.push(path);
        }
    }
    Ok(())
}

fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Writes the text into a new file in the output's folder; says where it then belongs.
fn write_beside(output: &Output) -> Result<(NamedTempFile, PathBuf), FileError> {
    // A link stays a link: the file that it leads to is replaced.
    let path = fs::canonicalize(&output.path).unwrap_or_else(|_| output.path.clone());
    let write = || {
        if path.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        fs::metadata(folder)?;
        // The name of a temporary file says nothing to who asked for another one.
        let mut file = builder().tempfile_in(folder).map_err(|error| io::Error::from(error.kind()))?;
        file.write_all(output.text.as_bytes())?;
        Ok(file)
    };
    match write() {
        Ok(file) => Ok((file, path)),
        Err(source) => Err(write_error(&output.path, source)),
    }
}

/// Temporary files are private by default; outputs have the permissions of ordinary files.
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".nestegg-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

/// An error of writing, with the way out of the usual ones.
pub fn write_error(path: &Path, source: io::Error) -> FileError {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let help = match folder {
        Some(folder) => Some(format!("the folder `{}` does not exist; create it first", folder.display())),
        None if path.is_dir() => Some("this is a folder; name a file in it".to_owned()),
        None => None,
    };
    FileError::Write { path: path.display().to_string(), help, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(folder: &Path, name: &str, text: &str) -> Output {
        Output { path: folder.join(name), text: text.to_owned() }
    }

    #[test]
    fn files_are_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        write_all(&[output(folder.path(), "a", "old"), output(folder.path(), "b", "1")]).unwrap();
        write_all(&[output(folder.path(), "a", "new")]).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left there");
    }

    #[test]
    fn one_bad_place_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let outputs = [output(folder.path(), "a", "x"), output(folder.path(), "missing/b", "y")];
        assert!(write_all(&outputs).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(write_all(&[Output { path: folder.path().to_owned(), text: String::new() }]).is_err());
    }
}

//! Kernels by their paths: `FILE`, or `FILE.c#NAME` for one function of a file of C.

use std::path::{Path, PathBuf};

use nestegg_driver::Notation;
use nestegg_driver::emit::Product;
use nestegg_prints::{BadData, Data};
use nestegg_span::Source;

use crate::args::DataArgs;
use crate::files;
use crate::terminal::Failure;

/// What separates a file from the name of a function in it.
const NAME_IN_FILE: char = '#';

/// A file and the name of a function in it, if one is given.
fn parts(path: &Path) -> (PathBuf, Option<&str>) {
    match path.to_str().and_then(|text| text.rsplit_once(NAME_IN_FILE)) {
        Some((file, name)) if !path.exists() => (PathBuf::from(file), Some(name)),
        _ => (path.to_owned(), None),
    }
}

/// The file that a kernel is in.
pub fn file(path: &Path) -> PathBuf {
    parts(path).0
}

/// Data that cannot stand beside a kernel.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
enum DataError {
    /// They are no data.
    #[error("`{path}` has no data for a print")]
    #[diagnostic(
        code(nestegg::bad_data),
        help(
            "`--data` takes a JSON object of tables (nested lists), which may have a text `assumptions`, or an `.npz` archive of arrays"
        )
    )]
    Bad {
        /// The file.
        path: String,
        /// What is wrong.
        #[source]
        source: BadData,
    },
    /// Everything else holds its data.
    #[error("`--data` is for prints of loopy, and `{name}` is none")]
    #[diagnostic(code(nestegg::data_of_no_print))]
    NoPrint {
        /// The kernel.
        name: String,
    },
}

/// The kernel of a file, or one of the kernels of a file of C.
pub fn read(path: &Path) -> Result<Source, Failure> {
    let (file, name) = parts(path);
    let source = files::read(&file)?;
    Ok(match name {
        Some(name) => nestegg_driver::function(&source, name)?,
        None => source,
    })
}

/// The same kernel with what its print leaves out.
pub fn with_data(source: Source, data: &DataArgs) -> Result<Source, Failure> {
    if data.files.is_empty() {
        return Ok(source);
    }
    if !nestegg_prints::is_print(&source) {
        return Err(DataError::NoPrint { name: source.name.to_string() }.into());
    }
    let mut found = Vec::new();
    for path in &data.files {
        let bytes = files::read_bytes(path)?;
        let bad = |source| DataError::Bad { path: path.display().to_string(), source };
        found.push(Data::from_bytes(&bytes).map_err(bad)?);
    }
    Ok(nestegg_prints::with_data(&source, &found))
}

/// The kernel of a file, as [`read`] gives it, with the data that are given for it.
pub fn read_with(path: &Path, data: &DataArgs) -> Result<Source, Failure> {
    with_data(read(path)?, data)
}

/// The kernels of a file, each as [`read`] gives it; of anything but C, the file, with the data that are given for it.
pub fn all(path: &Path, data: &DataArgs) -> Result<Vec<Source>, Failure> {
    let source = read_with(path, data)?;
    if Notation::of(&source).is_some() {
        return Ok(vec![source]);
    }
    let names = nestegg_driver::functions(&source)?;
    match names.as_slice() {
        [] | [_] => Ok(vec![source]),
        names => Ok(names.iter().map(|name| nestegg_driver::function(&source, name)).collect::<Result<_, _>>()?),
    }
}

/// The C of kernels that came from one file of C, as that file with other functions in their places. `done` are the names of the functions with
/// what is written of each.
pub fn in_place(whole: &Source, done: &[(String, Product)]) -> Result<Product, Failure> {
    let texts: Vec<(String, String)> =
        done.iter().map(|(name, product)| (name.clone(), product.text.clone())).collect();
    let text = nestegg_driver::replaced(whole, &texts)?;
    Ok(Product { extension: "c", text, is_companion: false })
}

//! Kernels by their paths: `FILE`, or `FILE.c#NAME` for one function of a file of C.

use std::path::{Path, PathBuf};

use nestegg_driver::Notation;
use nestegg_driver::emit::Product;
use nestegg_span::Source;

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

/// The kernel of a file, or one of the kernels of a file of C.
pub fn read(path: &Path) -> Result<Source, Failure> {
    let (file, name) = parts(path);
    let source = files::read(&file)?;
    Ok(match name {
        Some(name) => nestegg_driver::function(&source, name)?,
        None => source,
    })
}

/// The kernels of a file, each as [`read`] gives it; of anything but C, the file.
pub fn all(path: &Path) -> Result<Vec<Source>, Failure> {
    let source = read(path)?;
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

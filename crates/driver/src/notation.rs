//! The two notations of kernels, JSON and text; prints of loopy; and C, which kernels are lifted from.

use nestegg_dump::Read;
use nestegg_ir::Program;
use nestegg_span::Source;

use crate::error::Error;

/// A notation of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// For programs.
    Json,
    /// For people.
    Text,
}

impl Notation {
    /// The notation that a kernel is in, and its result is to be: JSON begins with a brace, and a print of loopy is text for people. `None` if it is C.
    #[must_use]
    pub fn of(source: &Source) -> Option<Self> {
        match source.text.trim_start().starts_with('{') {
            true => Some(Self::Json),
            false => (nestegg_prints::is_print(source) || !nestegg_lift::is_c(source)).then_some(Self::Text),
        }
    }

    /// The one that this is not.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Json => Self::Text,
            Self::Text => Self::Json,
        }
    }

    /// The program in this notation.
    #[must_use]
    pub fn write(self, program: &Program) -> String {
        match self {
            Self::Json => nestegg_dump::write_json(program),
            Self::Text => nestegg_dump::write_text(program),
        }
    }
}

/// Reads a kernel in either notation, that of a print of loopy, or the one kernel of a file of C; everything that is wrong with it is reported together.
///
/// # Errors
/// If it is not a kernel.
pub fn read(source: &Source) -> Result<Read, Error> {
    match Notation::of(source) {
        Some(_) if nestegg_prints::is_print(source) => nestegg_prints::read(source),
        Some(_) => nestegg_dump::read(source),
        None => nestegg_lift::read(source),
    }
    .map_err(Error::Read)
}

/// The names of the kernels in a file of C.
///
/// # Errors
/// If it is not C.
pub fn functions(source: &Source) -> Result<Vec<String>, Error> {
    let functions = nestegg_lift::functions(source).map_err(Error::Read)?;
    Ok(functions.into_iter().map(|function| function.name).collect())
}

/// A file of C with one of its kernels.
///
/// # Errors
/// If it is not C, or has no such kernel.
pub fn function(source: &Source, name: &str) -> Result<Source, Error> {
    nestegg_lift::only(source, name).map_err(Error::Read)
}

/// A file of C with other text in place of functions, by their names.
///
/// # Errors
/// If it is not C, has no such function, or has a macro that would change the text.
pub fn replaced(source: &Source, functions: &[(String, String)]) -> Result<String, Error> {
    nestegg_lift::replaced(source, functions).map_err(Error::Read)
}

/// Reads a kernel to work on it: one that certainly reads or writes outside of an array, or reads what nothing has written, is refused too. `given` are values
/// of parameters, before the kernel's estimates.
///
/// # Errors
/// If it is not a kernel, or has such an access.
pub fn read_defined(source: &Source, given: &[(String, i64)]) -> Result<Read, Error> {
    let read = read(source)?;
    nestegg_dump::check_defined(source, &read, given).map_err(Error::Read)?;
    Ok(read)
}

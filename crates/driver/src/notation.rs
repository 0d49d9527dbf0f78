//! The two notations of kernels, JSON and text.

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
    /// The notation that a kernel is in: JSON begins with a brace.
    #[must_use]
    pub fn of(source: &Source) -> Self {
        if source.text.trim_start().starts_with('{') { Self::Json } else { Self::Text }
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

/// Reads a kernel in either notation; everything that is wrong with it is reported together.
///
/// # Errors
/// If it is not a kernel.
pub fn read(source: &Source) -> Result<Read, Error> {
    nestegg_dump::read(source).map_err(Error::Read)
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

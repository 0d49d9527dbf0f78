//! Kernel dumps: JSON and text to [`Program`] and back.
//!
//! # Input
//! A dump in the format `nestegg-kernel/1`, in JSON or in the text form, whose grammar is in `GRAMMAR.md` beside this
//! crate. Any bytes are allowed: nothing panics, and nothing recurses on how deep the input nests.
//! # Output
//! A checked [`Program`] with the [`Spans`] of its parts; or [`ReadErrors`], which holds every error in the source in
//! one diagnostic. Writing gives a dump that reads back as the same program, byte for byte the same on every machine.
//! # Method
//! Both notations are read into one syntax tree with spans (`syntax`), whose expressions live in an arena; one lowering
//! (`lower`) builds the program and makes all checks that do not depend on the notation.
//! # Complexity
//! Linear in the source (some hundredths of a second for a megabyte), except for isl's work on the domains.
//! # Not done
//! Reading does no data-flow analysis: [`check_defined`] refuses kernels that read elements before they are written, or
//! outside their arrays. The text form's comments are not kept.
//!
//! ```
//! use nestegg_dump::{read, write_json, write_text};
//! use nestegg_span::Source;
//!
//! let text = "kernel axpy
//! param n : int32 = 1000
//! domain [n] -> { [i] : 0 <= i < n }
//! arg a : float64 read
//! arg x : float64[n] read
//! arg y : float64[n] readwrite
//! for i
//!   y[i] = y[i] + a*x[i]  {id=update}
//! end
//! ";
//! let axpy = read(&Source::new("axpy.knl", text))?;
//! assert_eq!(write_text(&axpy.program), text);
//!
//! let json = write_json(&axpy.program);
//! let again = read(&Source::new("axpy.json", json))?;
//! assert_eq!(write_text(&again.program), text);
//!
//! let wrong = read(&Source::new("wrong.knl", text.replace("a*x", "a*z"))).unwrap_err();
//! assert_eq!(wrong.errors()[0].to_string(), "the name `z` is not defined");
//! # Ok::<(), Box<nestegg_dump::ReadErrors>>(())
//! ```
#![warn(missing_docs)]

mod defined;
mod error;
mod json;
mod lower;
mod share;
mod spans;
pub mod syntax;
mod text;

use nestegg_ir::Program;
use nestegg_span::{InvalidUtf8, Source};

pub use defined::check_defined;
pub use error::{Errors, MAX_ERRORS, Mismatch, Problem, ReadError, ReadErrors};
pub use json::{json_schema, write_json};
pub use spans::Spans;
pub use text::write_text;

use syntax::KernelSyntax;

/// How many operations may be nested in one expression of a dump.
///
/// Nothing here recurses on the depth; the limit keeps what is read within what other programs can read. Deeper
/// expressions are written by naming sub-expressions as substitutions.
pub const MAX_EXPRESSION_DEPTH: usize = 1_000;

/// A kernel and where its parts were written.
#[derive(Clone, Debug)]
pub struct Read {
    /// The kernel, checked.
    pub program: Program,
    /// Its places in the source.
    pub spans: Spans,
}

/// Reads a dump in JSON.
///
/// # Errors
/// All that is wrong with it.
pub fn read_json(source: &Source) -> Result<Read, Box<ReadErrors>> {
    let mut errors = Errors::default();
    let syntax = json::read(source, &mut errors);
    finish(source, syntax.as_ref(), errors)
}

/// Reads a kernel in the text form.
///
/// # Errors
/// All that is wrong with it.
pub fn read_text(source: &Source) -> Result<Read, Box<ReadErrors>> {
    let mut errors = Errors::default();
    let syntax = text::read(source, &mut errors);
    finish(source, syntax.as_ref(), errors)
}

/// Reads a dump in either notation: what begins with `{` is JSON.
///
/// # Errors
/// All that is wrong with it.
pub fn read(source: &Source) -> Result<Read, Box<ReadErrors>> {
    if source.text.trim_start().starts_with('{') { read_json(source) } else { read_text(source) }
}

/// Reads a dump in either notation from bytes.
///
/// # Errors
/// All that is wrong with it; bytes that are not UTF-8.
pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<(Source, Read), Box<ReadErrors>> {
    match Source::from_bytes(name, bytes) {
        Ok(source) => read(&source).map(|read| (source, read)),
        Err(invalid) => {
            let InvalidUtf8 { source, span, byte_offset } = *invalid;
            Err(Errors::refuse(&source, ReadError::NotUtf8 { byte_offset, at: span }))
        }
    }
}

/// Makes the kernel of a syntax tree, with all checks: for readers of other notations. `errors` are those of the reader.
///
/// # Errors
/// The given ones, and all that is wrong with the kernel.
pub fn build(source: &Source, syntax: &KernelSyntax<'_>, errors: Errors) -> Result<Read, Box<ReadErrors>> {
    finish(source, Some(syntax), errors)
}

fn finish(source: &Source, syntax: Option<&KernelSyntax<'_>>, mut errors: Errors) -> Result<Read, Box<ReadErrors>> {
    let lowered = syntax.map(|syntax| lower::lower(syntax, &mut errors));
    match (errors.finish(source), lowered) {
        (None, Some((program, spans))) => Ok(Read { program, spans }),
        (Some(errors), _) => Err(Box::new(errors)),
        (None, None) => unreachable!("a reader that answers nothing reports why"),
    }
}

//! Problems of notations whose readers are other crates.

use std::fmt;

use miette::{Diagnostic, LabeledSpan};
use nestegg_span::Span;

use super::ReadError;

/// A problem of a notation that another crate reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The stable code, as `c::syntax`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What is said at the place.
    pub label: String,
    /// The place.
    pub at: Span,
    /// The way out.
    pub help: Option<String>,
}

impl Problem {
    /// An error of that code, with what is said at its place; an empty `help` is none.
    #[must_use]
    pub fn error(code: &'static str, message: String, label: &str, at: Span, help: &str) -> Box<ReadError> {
        let help = (!help.is_empty()).then(|| help.to_owned());
        Box::new(ReadError::Foreign(Self { code, message, label: label.to_owned(), at, help }))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display + 'a>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(Some(self.label.clone()), self.at))))
    }
}

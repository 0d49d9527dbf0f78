//! Errors of several files in one report.

use std::fmt;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, Severity, SourceCode};
use nestegg_span::{Position, Source};
use thiserror::Error;

use crate::error::RuleError;

/// The most errors that one report holds. Text that is no rule file at all has one for every word.
pub const MAX_ERRORS: usize = 200;

/// Everything that is wrong with a set of rule files, ordered by file and place.
#[derive(Debug, Error, Diagnostic)]
#[error("{}", self.summary())]
#[diagnostic(code(rules::refused))]
pub struct RuleErrors {
    /// The errors; never empty.
    #[related]
    pub errors: Vec<LocatedError>,
    /// How many more there were than [`MAX_ERRORS`].
    pub n_omitted: usize,
}

/// An error with the file it is in.
#[derive(Debug)]
pub struct LocatedError {
    /// What is wrong.
    pub error: RuleError,
    /// The file.
    pub file: Source,
    named: NamedSource<Arc<str>>,
    file_idx: usize,
}

impl RuleErrors {
    fn summary(&self) -> String {
        let total = self.errors.len() + self.n_omitted;
        let plural = if total == 1 { "" } else { "s" };
        match self.n_omitted {
            0 => format!("{total} error{plural} in the rule files"),
            _ => format!("{total} errors in the rule files, of which {} are shown", self.errors.len()),
        }
    }
}

impl LocatedError {
    /// The line and column of the first label.
    pub fn position(&self) -> Position {
        self.file.position(u32::try_from(self.offset()).unwrap_or(u32::MAX))
    }

    fn offset(&self) -> usize {
        let first = self.error.labels().and_then(|mut labels| labels.next());
        first.map_or(0, |label| label.offset())
    }
}

impl fmt::Display for LocatedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for LocatedError {}

impl Diagnostic for LocatedError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.error.code()
    }

    fn severity(&self) -> Option<Severity> {
        self.error.severity()
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.error.help()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.named)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.error.labels()
    }
}

/// Collects errors.
#[derive(Default)]
pub(crate) struct Sink {
    errors: Vec<LocatedError>,
    n_omitted: usize,
}

impl Sink {
    /// Keeps an error, as long as there is room.
    pub(crate) fn push(&mut self, file: &File<'_>, error: RuleError) {
        if self.errors.len() == MAX_ERRORS {
            self.n_omitted += 1;
            return;
        }
        self.errors.push(LocatedError {
            error,
            file: file.source.clone(),
            named: file.source.named_source(),
            file_idx: file.idx,
        });
    }

    /// Keeps an error that takes time to describe, if there is room.
    pub(crate) fn push_with(&mut self, file: &File<'_>, error: impl FnOnce() -> RuleError) {
        if self.errors.len() == MAX_ERRORS {
            self.n_omitted += 1;
        } else {
            self.push(file, error());
        }
    }

    /// The errors in order of file and place, if there are any.
    pub(crate) fn finish(mut self) -> Result<(), RuleErrors> {
        if self.errors.is_empty() {
            return Ok(());
        }
        self.errors.sort_by_key(|error| (error.file_idx, error.offset()));
        Err(RuleErrors { errors: self.errors, n_omitted: self.n_omitted })
    }
}

/// A source and its position among the sources.
#[derive(Clone, Copy)]
pub(crate) struct File<'a> {
    pub(crate) source: &'a Source,
    pub(crate) idx: usize,
}

//! What can be wrong with a dump.
//!
//! All errors of a source are collected and reported together, sorted by place: [`ReadErrors`] is one miette
//! diagnostic whose related diagnostics are the [`ReadError`]s. Codes are stable.

mod excerpt;
mod foreign;
mod kinds;

use std::fmt;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use nestegg_span::{Source, Span};

use excerpt::{Clipped, Excerpted};
pub use foreign::Problem;
pub use kinds::{Mismatch, ReadError};

/// How many errors of a source are kept; the others are only counted.
pub const MAX_ERRORS: usize = 100;
/// How many unknown names of a source are compared with the known ones.
const MAX_SUGGESTIONS: usize = 20;

/// Every error of a source, in order of place.
#[derive(Debug)]
pub struct ReadErrors {
    source: Source,
    code: Excerpted,
    errors: Vec<ReadError>,
    /// The same as they are shown.
    clipped: Vec<Clipped>,
    n_omitted: usize,
}

impl ReadErrors {
    /// The errors, at least one, at most [`MAX_ERRORS`].
    #[must_use]
    pub fn errors(&self) -> &[ReadError] {
        &self.errors
    }

    /// How many errors there are beyond those kept.
    #[must_use]
    pub fn n_omitted(&self) -> usize {
        self.n_omitted
    }

    /// The source that was read; of bytes that are not UTF-8 a readable copy.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }
}

impl fmt::Display for ReadErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.errors.len() + self.n_omitted;
        let plural = if n == 1 { "" } else { "s" };
        write!(f, "`{}` has {n} error{plural}", self.source.name)?;
        if self.n_omitted > 0 {
            write!(f, ", of which the first {} follow", self.errors.len())?;
        }
        Ok(())
    }
}

impl std::error::Error for ReadErrors {}

impl Diagnostic for ReadErrors {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.code)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.clipped.iter().map(|error| error as &dyn Diagnostic)))
    }
}

/// Collects errors.
#[derive(Debug, Default)]
pub struct Errors {
    errors: Vec<ReadError>,
    n_suggestions: usize,
}

impl Errors {
    /// Adds an error.
    pub fn push(&mut self, error: ReadError) {
        self.errors.push(error);
    }

    /// The errors of a source that has one.
    #[must_use]
    pub fn refuse(source: &Source, error: ReadError) -> Box<ReadErrors> {
        let mut errors = Self::default();
        errors.push(error);
        errors.of(source)
    }

    /// All errors of `source`, which has at least one.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn of(self, source: &Source) -> Box<ReadErrors> {
        Box::new(self.finish(source).expect("an error was found"))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.errors.len()
    }

    /// Whether unknown names are still compared with known ones.
    pub(crate) fn may_suggest(&self) -> bool {
        self.n_suggestions < MAX_SUGGESTIONS
    }

    /// The known name nearest to an unknown one, as a help; nothing if none is near.
    pub(crate) fn suggest<'a>(&mut self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
        if !self.may_suggest() {
            return None;
        }
        self.n_suggestions += 1;
        nearest(name, known)
    }

    /// All errors of `source`; `None` if there is none.
    #[must_use]
    pub fn finish(self, source: &Source) -> Option<ReadErrors> {
        let mut errors = self.errors;
        if errors.is_empty() {
            return None;
        }
        errors.sort_by_key(place);
        let n_omitted = errors.len().saturating_sub(MAX_ERRORS);
        errors.truncate(MAX_ERRORS);
        let code = Excerpted::new(source);
        let clipped = errors.iter().map(|error| Clipped::new(error, source)).collect();
        Some(ReadErrors { source: source.clone(), code, errors, clipped, n_omitted })
    }
}

/// The known name nearest to `name`, as a help.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// Jaro-Winkler similarity from which two names are taken for a slip of the pen.
    const NEAR: f64 = 0.8;
    let mut best: Option<(f64, &str)> = None;
    for other in known {
        let similarity = strsim::jaro_winkler(name, other);
        if similarity >= NEAR && best.is_none_or(|(most, _)| similarity > most) {
            best = Some((similarity, other));
        }
    }
    best.map(|(_, other)| format!("did you mean `{other}`?"))
}

/// The first label of an error: where it is reported.
fn place(error: &ReadError) -> (usize, usize) {
    let label: Option<LabeledSpan> = error.labels().and_then(|mut labels| labels.next());
    label.map_or((0, 0), |label| (label.offset(), label.len()))
}

/// The text of a source for miette.
type Text = NamedSource<Arc<str>>;

impl ReadError {
    /// The place at which it is reported.
    #[must_use]
    pub fn place(&self) -> Span {
        let (offset, len) = place(self);
        Span::from_range(offset..offset + len)
    }
}

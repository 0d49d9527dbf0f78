//! A source whose long lines are cut for display.
//!
//! Dumps written by machines are often one line of hundreds of kilobytes; a diagnostic that quotes the line is of
//! no use. Around a span in a long line only a window is quoted, with the true line and column, and labels of long
//! places mark their beginning.

use std::fmt;

use miette::{Diagnostic, LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use nestegg_span::Source;

use super::{ReadError, Text};

/// The longest line that is quoted whole, in bytes.
const MAX_LINE: usize = 400;
/// How much of a longer line is quoted on each side of the place, in bytes.
const MARGIN: usize = 60;
/// The most of a labelled place itself that is quoted, in bytes.
const MAX_SPAN: usize = 60;

/// A source code that quotes windows of long lines.
#[derive(Debug)]
pub(crate) struct Excerpted {
    source: Source,
    text: Text,
}

impl Excerpted {
    pub(crate) fn new(source: &Source) -> Self {
        Self { source: source.clone(), text: source.named_source() }
    }
}

impl SourceCode for Excerpted {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        context_lines_before: usize,
        context_lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let whole = self.text.read_span(span, context_lines_before, context_lines_after)?;
        if whole.data().split(|&byte| byte == b'\n').all(|line| line.len() <= MAX_LINE) {
            return Ok(whole);
        }
        let text = &*self.source.text;
        let (offset, end) = (span.offset().min(text.len()), (span.offset() + span.len()).min(text.len()));
        let line_start = text.as_bytes()[..offset].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line_end =
            text.as_bytes()[offset..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |n| offset + n);
        let mut start = offset.saturating_sub(MARGIN).max(line_start);
        let mut stop = (end.min(offset + MAX_SPAN) + MARGIN).min(line_end).max(offset);
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        while !text.is_char_boundary(stop) {
            stop += 1;
        }
        let position = self.source.position(u32::try_from(start).unwrap_or(u32::MAX));
        Ok(Box::new(MietteSpanContents::new_named(
            self.source.name.to_string(),
            &text.as_bytes()[start..stop],
            SourceSpan::from((start, stop - start)),
            position.line as usize - 1,
            position.column as usize - 1,
            1,
        )))
    }
}

/// An error whose labels fit what is quoted.
#[derive(Debug)]
pub(crate) struct Clipped {
    error: ReadError,
    labels: Vec<LabeledSpan>,
}

impl Clipped {
    pub(crate) fn new(error: &ReadError, source: &Source) -> Self {
        let text = &*source.text;
        let labels = error.labels().into_iter().flatten().map(|label| {
            if label.len() <= MAX_SPAN {
                return label;
            }
            let start = label.offset().min(text.len());
            let mut end = (start + MAX_SPAN).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let first_line = text.get(start..end).and_then(|text| text.split('\n').next()).map_or(0, str::len);
            LabeledSpan::new(label.label().map(str::to_owned), start, first_line)
        });
        Self { error: error.clone(), labels: labels.collect() }
    }
}

impl fmt::Display for Clipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Clipped {}

impl Diagnostic for Clipped {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.error.code()
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.error.help()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.labels.iter().cloned()))
    }
}

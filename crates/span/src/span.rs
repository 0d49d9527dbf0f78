//! Byte ranges of a source.

use std::fmt;
use std::ops::Range;

use miette::{SourceOffset, SourceSpan};

/// A half-open range of bytes in one source. Spans order by start, then by end.
///
/// Offsets are 32 bits: a source larger than 4 GiB has its later places reported at the last offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last one; never before `start`.
    pub end: u32,
}

impl Span {
    /// The span of `start..end`; an `end` before `start` gives the empty span at `start`.
    pub const fn new(start: u32, end: u32) -> Self {
        let end = if end < start { start } else { end };
        Self { start, end }
    }

    /// The empty span in front of the byte at `offset`.
    pub const fn point(offset: u32) -> Self {
        Self { start: offset, end: offset }
    }

    /// The span of a range of `usize` offsets, cut off at the largest offset that a span can hold.
    pub fn from_range(range: Range<usize>) -> Self {
        Self::new(offset(range.start), offset(range.end))
    }

    /// The number of bytes.
    pub const fn len(self) -> u32 {
        self.end - self.start
    }

    /// Whether the span has no bytes.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The smallest span that covers `self` and `other`.
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Whether `other` lies in `self`.
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The offsets, to slice a string or a byte slice with.
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Narrows an offset, saturating.
pub(crate) fn offset(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self::from_range(range)
    }
}

impl From<Span> for SourceSpan {
    fn from(span: Span) -> Self {
        Self::new(SourceOffset::from(span.start as usize), span.len() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reversed_range_is_empty() {
        assert_eq!(Span::new(7, 3), Span::point(7));
        assert!(Span::new(7, 3).is_empty());
    }

    #[test]
    fn covers_both_ends() {
        let (a, b) = (Span::new(2, 4), Span::new(9, 10));
        assert_eq!(a.to(b), Span::new(2, 10));
        assert_eq!(b.to(a), Span::new(2, 10));
        assert!(a.to(b).contains(a) && !a.contains(b));
    }

    #[test]
    fn orders_by_start_then_end() {
        let mut spans = [Span::new(3, 4), Span::new(1, 9), Span::new(1, 2)];
        spans.sort();
        assert_eq!(spans, [Span::new(1, 2), Span::new(1, 9), Span::new(3, 4)]);
    }

    #[test]
    fn large_offsets_saturate() {
        assert_eq!(Span::from_range(1..usize::MAX), Span::new(1, u32::MAX));
    }

    #[test]
    fn becomes_miettes_span() {
        let span = SourceSpan::from(Span::new(3, 8));
        assert_eq!((span.offset(), span.len()), (3, 5));
    }
}

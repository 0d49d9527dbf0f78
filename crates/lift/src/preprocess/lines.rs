//! Logical lines: text as the preprocessor takes it, with the places of its bytes.
//!
//! # Input
//! Any text.
//! # Output
//! One [`Line`] after the other. Together they are the text: a line with `\` at its end goes on in the next, and so does one inside of a
//! comment. Of a directive the bytes are given, each comment as one space.
//! # Complexity
//! Linear in the text.

use std::ops::Range;

/// A logical line.
#[derive(Debug)]
pub(super) struct Line {
    /// All of it, with the ends of lines inside and after it.
    pub(super) range: Range<usize>,
    /// The bytes of a directive with their places, from `#` on.
    pub(super) directive: Option<Vec<(usize, u8)>>,
}

/// The logical lines of a text.
pub(super) fn lines(text: &str) -> Lines<'_> {
    Lines { bytes: text.as_bytes(), at: 0 }
}

/// An iterator over logical lines.
pub(super) struct Lines<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Lines<'_> {
    /// The end of a line that is continued here, if one is: `\` and what ends the line.
    fn splice(&self, at: usize) -> Option<usize> {
        match self.bytes.get(at..)? {
            [b'\\', b'\n', ..] => Some(at + 2),
            [b'\\', b'\r', b'\n', ..] => Some(at + 3),
            _ => None,
        }
    }

    /// Where a comment that begins here ends; one without an end takes all that is left.
    fn comment(&self, at: usize) -> Option<usize> {
        match self.bytes.get(at..)? {
            [b'/', b'*', rest @ ..] => {
                let end = rest.windows(2).position(|pair| pair == b"*/");
                Some(end.map_or(self.bytes.len(), |end| at + 2 + end + 2))
            }
            [b'/', b'/', ..] => {
                let mut end = at;
                while end < self.bytes.len() && self.bytes[end] != b'\n' {
                    end = self.splice(end).unwrap_or(end + 1);
                }
                Some(end)
            }
            _ => None,
        }
    }

    /// Where a string or character that begins here ends: at its quote, or with its line.
    fn quoted(&self, at: usize) -> usize {
        let quote = self.bytes[at];
        let mut end = at + 1;
        while end < self.bytes.len() && self.bytes[end] != b'\n' {
            match self.bytes[end] {
                b'\\' => end = self.splice(end).unwrap_or_else(|| self.bytes.len().min(end + 2)),
                byte if byte == quote => return end + 1,
                _ => end += 1,
            }
        }
        end
    }
}

impl Iterator for Lines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        let start = self.at;
        if start >= self.bytes.len() {
            return None;
        }
        let (mut kept, mut is_directive) = (Vec::new(), None);
        while let Some(&byte) = self.bytes.get(self.at) {
            if let Some(next) = self.splice(self.at) {
                self.at = next;
                continue;
            }
            let (end, first) = match self.comment(self.at) {
                Some(end) => (end, b' '),
                None if matches!(byte, b'"' | b'\'') => (self.quoted(self.at), byte),
                None => (self.at + 1, byte),
            };
            if byte == b'\n' {
                self.at = end;
                break;
            }
            if is_directive.is_none() && !first.is_ascii_whitespace() {
                is_directive = Some(first == b'#');
            }
            if is_directive == Some(true) {
                kept.push((self.at, first));
                let is_quoted = first == byte && end > self.at + 1;
                kept.extend((self.at + 1..end).filter(|_| is_quoted).map(|at| (at, self.bytes[at])));
            }
            self.at = end;
        }
        Some(Line { range: start..self.at, directive: is_directive.filter(|&it| it).map(|_| kept) })
    }
}

//! Named texts, and lines and columns in them.

use std::fmt;
use std::str;
use std::sync::Arc;

use miette::NamedSource;

use crate::span::{Span, offset};

/// A text and the name it is reported under. Cloning shares the text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// The name in diagnostics: a path as the user wrote it, or `<stdin>`.
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
}

/// A place for people: lines and columns count from 1, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters (not bytes), from 1.
    pub column: u32,
}

/// Bytes that are not UTF-8, as [`Source::from_bytes`] found them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidUtf8 {
    /// The text with each wrong sequence replaced by U+FFFD, so that a diagnostic can show it.
    pub source: Source,
    /// The first replacement character in that text.
    pub span: Span,
    /// The offset of the first wrong byte in the bytes given.
    pub byte_offset: usize,
}

impl Source {
    /// A source from its name and text.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// A source from bytes, which must be UTF-8.
    ///
    /// # Errors
    /// The place of the first byte that is not, with a readable copy of the rest.
    pub fn from_bytes(name: impl Into<Arc<str>>, bytes: &[u8]) -> Result<Self, Box<InvalidUtf8>> {
        match str::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(name, text)),
            Err(error) => {
                let start = error.valid_up_to();
                let end = start + char::REPLACEMENT_CHARACTER.len_utf8();
                Err(Box::new(InvalidUtf8 {
                    source: Self::new(name, String::from_utf8_lossy(bytes)),
                    span: Span::from_range(start..end),
                    byte_offset: start,
                }))
            }
        }
    }

    /// The text under `span`; empty if the span does not fit this text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// The span of the first occurrence of `needle`.
    pub fn span_of(&self, needle: &str) -> Option<Span> {
        let start = self.text.find(needle)?;
        Some(Span::from_range(start..start + needle.len()))
    }

    /// The span of the whole text.
    pub fn span(&self) -> Span {
        Span::from_range(0..self.text.len())
    }

    /// The empty span at the end of the text, where something is missing.
    pub fn end(&self) -> Span {
        Span::point(offset(self.text.len()))
    }

    /// The line and column of a byte offset. An offset inside a character counts as that character, one past the
    /// end as the end.
    pub fn position(&self, offset: u32) -> Position {
        let mut end = self.text.len().min(offset as usize);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let n_newlines = before.bytes().filter(|&byte| byte == b'\n').count();
        let n_chars = before[line_start..].chars().count();
        Position { line: crate::span::offset(n_newlines + 1), column: crate::span::offset(n_chars + 1) }
    }

    /// The same source for a miette diagnostic. The text is shared, not copied.
    pub fn named_source(&self) -> NamedSource<Arc<str>> {
        NamedSource::new(&*self.name, Arc::clone(&self.text))
    }
}

/// Prints the name and the size only: texts are long.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({:?}, {} bytes)", self.name, self.text.len())
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use miette::SourceCode;

    use super::*;

    fn at(text: &str, offset: u32) -> String {
        Source::new("t", text).position(offset).to_string()
    }

    #[test]
    fn positions_count_characters() {
        assert_eq!(at("", 0), "1:1");
        assert_eq!(at("ab\ncd", 0), "1:1");
        assert_eq!(at("ab\ncd", 2), "1:3");
        assert_eq!(at("ab\ncd", 3), "2:1");
        assert_eq!(at("äöx", 4), "1:3");
        assert_eq!(at("äöx", 1), "1:1");
        assert_eq!(at("ab", 99), "1:3");
    }

    #[test]
    fn slices_never_panic() {
        let source = Source::new("t", "äb");
        assert_eq!(source.slice(Span::new(2, 3)), "b");
        assert_eq!(source.slice(Span::new(1, 3)), "");
        assert_eq!(source.slice(Span::new(2, 90)), "");
    }

    #[test]
    fn wrong_bytes_are_located() {
        let error = Source::from_bytes("t", b"ok \xff\xfe!").expect_err("not UTF-8");
        assert_eq!(error.byte_offset, 3);
        assert_eq!(error.source.slice(error.span), "\u{fffd}");
        assert!(Source::from_bytes("t", "gut".as_bytes()).is_ok());
    }

    #[test]
    fn miette_reads_the_text() {
        let source = Source::new("a.knl", "one\ntwo\n").named_source();
        let span = Span::new(4, 7).into();
        let contents = source.read_span(&span, 0, 0).expect("in range");
        assert_eq!(contents.data(), b"two");
        assert_eq!(contents.name(), Some("a.knl"));
    }
}

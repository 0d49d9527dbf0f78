//! Bytes of a text as positions of editors: lines from 0, and in a line units of UTF-16, from 0.

use lsp_types::{Position, Range};
use nestegg_span::Span;

/// The position of a byte; one inside a character counts as that character, one past the end as the end.
pub(super) fn position(text: &str, offset: usize) -> Position {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|&byte| byte == b'\n').count();
    let units = before[start..].encode_utf16().count();
    Position::new(u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(units).unwrap_or(u32::MAX))
}

/// The byte at a position; past the end of a line it is that end, past the end of the text the end.
pub(super) fn offset(text: &str, position: Position) -> usize {
    let mut start = 0;
    for _ in 0..position.line {
        match text[start..].find('\n') {
            Some(newline) => start += newline + 1,
            None => return text.len(),
        }
    }
    let mut units = position.character as usize;
    for (idx, symbol) in text[start..].char_indices() {
        if units < symbol.len_utf16() || symbol == '\n' {
            return start + idx;
        }
        units -= symbol.len_utf16();
    }
    text.len()
}

/// A span as a range.
pub(super) fn range(text: &str, span: Span) -> Range {
    Range::new(position(text, span.start as usize), position(text, span.end as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_units_of_utf_16() {
        let text = "a\nä𝛼x\n";
        let x = text.find('x').unwrap();
        assert_eq!(position(text, x), Position::new(1, 3));
        assert_eq!(offset(text, Position::new(1, 3)), x);
        for at in (0..=text.len()).filter(|&at| text.is_char_boundary(at)) {
            assert_eq!(offset(text, position(text, at)), at);
        }
        assert_eq!(position(text, 99), Position::new(2, 0));
        assert_eq!(position(text, x - 1), position(text, x - 4), "inside of a character");
        assert_eq!(offset(text, Position::new(0, 9)), 1);
        assert_eq!(offset(text, Position::new(9, 0)), text.len());
    }
}

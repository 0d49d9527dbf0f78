//! JSON values with spans, in an arena.
//!
//! # Method
//! A list of open brackets instead of recursion: linear in the text at any depth. Stops at the first error, since
//! what follows a missing bracket means nothing.

use std::borrow::Cow;
use std::ops::Range;

use jsonc_parser::errors::ParseError;
use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};
use nestegg_span::Span;

use crate::error::ReadError;
use crate::syntax::Name;

/// Position of a value in its [`Tree`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueId(u32);

#[derive(Clone, Debug)]
pub(crate) enum Value<'s> {
    Null,
    Bool,
    Number(&'s str),
    String(Cow<'s, str>),
    /// Range of [`Tree::items`].
    Array(Range<u32>),
    /// Range of [`Tree::members`].
    Object(Range<u32>),
}

impl Value<'_> {
    /// What it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a truth value",
            Self::Number(text) if text.contains(['.', 'e', 'E']) => "a float",
            Self::Number(_) => "an integer",
            Self::String(_) => "a string",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// All values of a text.
#[derive(Debug, Default)]
pub(crate) struct Tree<'s> {
    values: Vec<(Value<'s>, Span)>,
    items: Vec<ValueId>,
    members: Vec<(Name<'s>, ValueId)>,
}

impl<'s> Tree<'s> {
    pub(crate) fn value(&self, id: ValueId) -> &Value<'s> {
        &self.values[id.0 as usize].0
    }

    pub(crate) fn span(&self, id: ValueId) -> Span {
        self.values[id.0 as usize].1
    }

    /// The items of an array; nothing of other values.
    pub(crate) fn items(&self, id: ValueId) -> &[ValueId] {
        match self.value(id) {
            Value::Array(range) => &self.items[range.start as usize..range.end as usize],
            _ => &[],
        }
    }

    /// The members of an object; nothing of other values.
    pub(crate) fn members(&self, id: ValueId) -> &[(Name<'s>, ValueId)] {
        match self.value(id) {
            Value::Object(range) => &self.members[range.start as usize..range.end as usize],
            _ => &[],
        }
    }

    fn push(&mut self, value: Value<'s>, span: Span) -> ValueId {
        self.values.push((value, span));
        ValueId(narrow(self.values.len() - 1))
    }
}

fn narrow(n: usize) -> u32 {
    u32::try_from(n).expect("a source of at most 4 GiB holds fewer than 2^32 values")
}

/// An array or object whose end has not come.
struct Open<'s> {
    start: usize,
    kind: OpenKind<'s>,
}

enum OpenKind<'s> {
    Array { items: Vec<ValueId> },
    Object { members: Vec<(Name<'s>, ValueId)>, key: Option<Name<'s>> },
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    /// After `[`.
    ValueOrEnd,
    Key,
    /// After `{`.
    KeyOrEnd,
    Colon,
    CommaOrEnd,
}

impl Expect {
    fn name(self) -> &'static str {
        match self {
            Self::Value => "a value",
            Self::ValueOrEnd => "a value or `]`",
            Self::Key => "a field name in double quotes",
            Self::KeyOrEnd => "a field name in double quotes or `}`",
            Self::Colon => "`:`",
            Self::CommaOrEnd => "`,` or the closing bracket",
        }
    }
}

/// Reads a text that is one JSON value.
pub(crate) fn parse(text: &str) -> Result<(Tree<'_>, ValueId), ReadError> {
    let (tree, root, end) = parse_prefix(text, 0)?;
    let rest = text[end..].trim_start_matches([' ', '\t', '\n', '\r']);
    if rest.is_empty() {
        return Ok((tree, root));
    }
    let start = text.len() - rest.len();
    let first = rest.chars().next().map_or(0, char::len_utf8);
    Err(syntax("nothing may follow the object".to_owned(), start..start + first))
}

/// Reads the JSON value at the beginning of `text[base..]`; answers where it ends, too.
fn parse_prefix(text: &str, base: usize) -> Result<(Tree<'_>, ValueId, usize), ReadError> {
    let options = ScannerOptions {
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let mut scanner = Scanner::new(&text[base..], &options);
    let mut tree = Tree::default();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut expect = Expect::Value;
    let mut last_end = base;
    loop {
        let token = scanner.scan().map_err(|error| scan_error(text, base, &error))?;
        let range = base + scanner.token_start()..base + scanner.token_end();
        check_strict(text, last_end, &range)?;
        last_end = range.end;
        let Some(token) = token else {
            let message = match open.last() {
                Some(open) => {
                    let bracket = &text[open.start..open.start + 1];
                    format!("the text ends where {} is expected; this `{bracket}` is open", expect.name())
                }
                None => "the text is empty".to_owned(),
            };
            let at = open.last().map_or(text.len()..text.len(), |open| open.start..open.start + 1);
            return Err(syntax(message, at));
        };
        let span = Span::from_range(range.clone());
        let value = match (token, expect) {
            (Token::OpenBracket, Expect::Value | Expect::ValueOrEnd) => {
                open.push(Open { start: range.start, kind: OpenKind::Array { items: Vec::new() } });
                expect = Expect::ValueOrEnd;
                continue;
            }
            (Token::OpenBrace, Expect::Value | Expect::ValueOrEnd) => {
                open.push(Open { start: range.start, kind: OpenKind::Object { members: Vec::new(), key: None } });
                expect = Expect::KeyOrEnd;
                continue;
            }
            (Token::CloseBracket, Expect::ValueOrEnd | Expect::CommaOrEnd)
            | (Token::CloseBrace, Expect::KeyOrEnd | Expect::CommaOrEnd)
                if closes(open.last(), &text[range.clone()]) =>
            {
                let Some(Open { start, kind }) = open.pop() else { unreachable!("`closes` saw an open bracket") };
                let value = match kind {
                    OpenKind::Array { items } => {
                        let first = narrow(tree.items.len());
                        tree.items.extend(items);
                        Value::Array(first..narrow(tree.items.len()))
                    }
                    OpenKind::Object { members, .. } => {
                        let first = narrow(tree.members.len());
                        tree.members.extend(members);
                        Value::Object(first..narrow(tree.members.len()))
                    }
                };
                tree.push(value, Span::from_range(start..range.end))
            }
            (Token::String(text), Expect::Key | Expect::KeyOrEnd) => {
                if let Some(Open { kind: OpenKind::Object { key, .. }, .. }) = open.last_mut() {
                    *key = Some(Name { text, span });
                }
                expect = Expect::Colon;
                continue;
            }
            (Token::Colon, Expect::Colon) => {
                expect = Expect::Value;
                continue;
            }
            (Token::Comma, Expect::CommaOrEnd) => {
                let in_object = matches!(open.last(), Some(Open { kind: OpenKind::Object { .. }, .. }));
                expect = if in_object { Expect::Key } else { Expect::Value };
                continue;
            }
            (Token::Null, Expect::Value | Expect::ValueOrEnd) => tree.push(Value::Null, span),
            (Token::Boolean(_), Expect::Value | Expect::ValueOrEnd) => tree.push(Value::Bool, span),
            (Token::Number(text), Expect::Value | Expect::ValueOrEnd) => tree.push(Value::Number(text), span),
            (Token::String(text), Expect::Value | Expect::ValueOrEnd) => tree.push(Value::String(text), span),
            (Token::CommentLine(_) | Token::CommentBlock(_), _) => {
                return Err(syntax("JSON has no comments".to_owned(), range));
            }
            _ => {
                let found: String = text[range.clone()].chars().take(20).collect();
                return Err(syntax(format!("expected {}, found `{found}`", expect.name()), range));
            }
        };
        match open.last_mut().map(|open| &mut open.kind) {
            None => return Ok((tree, value, range.end)),
            Some(OpenKind::Array { items }) => items.push(value),
            Some(OpenKind::Object { members, key }) => {
                if let Some(key) = key.take() {
                    members.push((key, value));
                }
            }
        }
        expect = Expect::CommaOrEnd;
    }
}

/// The JSON string that begins at `base`, and where it ends.
pub(crate) fn string_at(text: &str, base: usize) -> Result<(Cow<'_, str>, usize), ReadError> {
    let (tree, root, end) = parse_prefix(text, base)?;
    match tree.value(root) {
        Value::String(text) => Ok((text.clone(), end)),
        other => Err(syntax(format!("expected a string, found {}", other.kind()), base..end)),
    }
}

/// The JSON value that begins at `base`, without blanks, and where it ends.
pub(crate) fn value_at(text: &str, base: usize) -> Result<(String, usize), ReadError> {
    let (.., end) = parse_prefix(text, base)?;
    Ok((minified(&text[base..end]), end))
}

fn closes(open: Option<&Open<'_>>, bracket: &str) -> bool {
    match open.map(|open| &open.kind) {
        Some(OpenKind::Array { .. }) => bracket == "]",
        Some(OpenKind::Object { .. }) => bracket == "}",
        None => false,
    }
}

/// What the scanner lets pass and JSON does not: other white space, and control characters in strings.
fn check_strict(text: &str, last_end: usize, token: &Range<usize>) -> Result<(), ReadError> {
    let gap = &text[last_end..token.start];
    if let Some(at) = gap.find(|c| !matches!(c, ' ' | '\t' | '\n' | '\r')) {
        let len = gap[at..].chars().next().map_or(0, char::len_utf8);
        return Err(syntax("only blanks may stand between tokens".to_owned(), last_end + at..last_end + at + len));
    }
    let inside = &text.as_bytes()[token.clone()];
    match inside.iter().position(|&byte| byte < b' ') {
        Some(at) => Err(syntax(
            "a control character in a string is written as an escape".to_owned(),
            token.start + at..token.start + at + 1,
        )),
        None => Ok(()),
    }
}

/// What the scanner says, but for numbers that Python writes and JSON does not have.
fn scan_error(text: &str, base: usize, error: &ParseError) -> ReadError {
    let (start, end) = (base + error.range().start, base + error.range().end);
    let word = text[start..].split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or_default();
    match word {
        "NaN" | "Infinity" | "-Infinity" | "inf" | "-inf" | "nan" => {
            ReadError::NonFinite { text: word.to_owned(), at: Span::from_range(start..start + word.len()) }
        }
        _ => syntax(lowercase(&error.kind().to_string()), start..end),
    }
}

fn syntax(message: String, range: Range<usize>) -> ReadError {
    ReadError::JsonSyntax { message, at: Span::from_range(range) }
}

fn lowercase(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// A JSON text without the blanks between its tokens.
pub(crate) fn minified(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    let (mut in_string, mut is_escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            in_string = c != '"' || is_escaped;
            is_escaped = c == '\\' && !is_escaped;
        } else if c.is_ascii_whitespace() {
            continue;
        } else {
            in_string = c == '"';
        }
        res.push(c);
    }
    res
}

//! The tokens of the text form.

use logos::Logos;
use nestegg_span::Span;

/// A kind of token; its text is in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Logos)]
#[logos(skip r"[ \t\r]+")]
#[logos(skip(r"#[^\n]*", allow_greedy = true))]
pub(crate) enum Token {
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Word,
    #[regex(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")]
    Number,
    /// A float with loopy's letter for single or double precision.
    #[regex(r"([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+[eE][+-]?[0-9]+)([eE][+-]?[0-9]+)?[fd]")]
    TaggedFloat,
    #[token("...")]
    Ellipsis,
    /// A JSON string.
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    String,
    /// Text between three double quotes on each side, as it is.
    #[token("\"\"\"", raw_end)]
    RawString,
    #[token("\n")]
    Newline,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token(":=")]
    Define,
    #[token("=")]
    Assign,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("**")]
    StarStar,
    #[token("/")]
    Slash,
    #[token("//")]
    SlashSlash,
    #[token("%")]
    Percent,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEqual,
    #[token("==")]
    EqualEqual,
    #[token("!=")]
    NotEqual,
    #[token("&")]
    Ampersand,
    #[token("|")]
    Bar,
    #[token("^")]
    Caret,
    #[token("<<")]
    ShiftLeft,
    #[token(">>")]
    ShiftRight,
    #[token("~")]
    Tilde,
    /// Anything else; isl's sets may hold it.
    Unknown,
    /// After the last token.
    End,
}

fn raw_end(lexer: &mut logos::Lexer<'_, Token>) -> bool {
    match lexer.remainder().find("\"\"\"") {
        Some(at) => {
            lexer.bump(at + 3);
            true
        }
        None => false,
    }
}

/// The tokens of a text from `base` on. Line ends inside brackets are left out: a statement goes on while a bracket is open.
pub(crate) fn tokens(text: &str, base: usize) -> Vec<(Token, Span)> {
    let mut res = Vec::new();
    let mut depth = 0_usize;
    for (token, range) in Token::lexer(&text[base..]).spanned() {
        let token = token.unwrap_or(Token::Unknown);
        match token {
            Token::OpenParen | Token::OpenBracket | Token::OpenBrace => depth += 1,
            Token::CloseParen | Token::CloseBracket | Token::CloseBrace => depth = depth.saturating_sub(1),
            Token::Newline if depth > 0 => continue,
            _ => {}
        }
        res.push((token, Span::from_range(base + range.start..base + range.end)));
    }
    res
}

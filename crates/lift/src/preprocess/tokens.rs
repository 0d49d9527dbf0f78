//! Tokens of directives, and the expansion of macros in them.
//!
//! # Input
//! The bytes of a condition, and the macros that the file has defined before.
//! # Output
//! Its tokens, as C11 (6.10.3) expands them: a macro is not expanded in what it expands to. `defined` is decided on the way.
//! # Not done
//! `#` and `##`, and macros with any number of arguments: these are left as they are, and whoever evaluates them refuses them.
//! # Complexity
//! Linear in the tokens, of which there are at most [`MAX_TOKENS`].

use std::collections::VecDeque;
use std::rc::Rc;

use nestegg_span::Span;

use super::Definitions;
use crate::problem::{self, Lifted};

/// A condition expands to at most so many tokens.
const MAX_TOKENS: usize = 10_000;
/// Arguments of macros nest at most so deep.
const MAX_DEPTH: usize = 50;

/// Operators of two characters.
const PAIRS: [&str; 9] = ["&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "##"];

/// The macros that a token comes from, which are not expanded in it.
#[derive(Debug)]
struct Hidden {
    name: String,
    outer: Option<Rc<Hidden>>,
}

/// A word, a number, a character, a string or an operator.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) text: String,
    /// Where it stands, or where the macro stands that it comes from.
    pub(super) at: Span,
    hidden: Option<Rc<Hidden>>,
}

impl Token {
    pub(super) fn new(text: &str, at: Span) -> Self {
        Self { text: text.to_owned(), at, hidden: None }
    }

    /// Whether it is a name.
    pub(super) fn is_name(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    }

    fn hides(&self, name: &str) -> bool {
        std::iter::successors(self.hidden.as_ref(), |hidden| hidden.outer.as_ref()).any(|hidden| hidden.name == name)
    }
}

/// The tokens of some bytes with their places.
pub(super) fn tokens(bytes: &[(usize, u8)]) -> Vec<Token> {
    let mut res = Vec::new();
    let mut rest = bytes;
    while let Some(&(_, first)) = rest.first() {
        let count = |test: fn(u8) -> bool| rest.iter().take_while(|(_, byte)| test(*byte)).count();
        let text =
            |len: usize| String::from_utf8_lossy(&rest[..len].iter().map(|it| it.1).collect::<Vec<u8>>()).into_owned();
        let len = match first {
            _ if first.is_ascii_whitespace() => {
                rest = &rest[1..];
                continue;
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => count(is_word),
            b'0'..=b'9' => count(|byte| is_word(byte) || byte == b'.'),
            b'"' | b'\'' => quoted(rest),
            _ if PAIRS.contains(&text(rest.len().min(2)).as_str()) => 2,
            // The bytes of one character stay together.
            _ => 1 + rest[1..].iter().take_while(|(_, byte)| byte & 0xc0 == 0x80).count(),
        };
        let at = Span::from_range(rest[0].0..rest[len - 1].0 + 1);
        res.push(Token::new(&text(len), at));
        rest = &rest[len..];
    }
    res
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The length of a string or character.
fn quoted(bytes: &[(usize, u8)]) -> usize {
    let mut len = 1;
    while let Some(&(_, byte)) = bytes.get(len) {
        match byte {
            b'\\' => len += 2,
            _ if byte == bytes[0].1 => return len + 1,
            _ => len += 1,
        }
    }
    bytes.len()
}

/// The tokens with macros expanded, and `1` or `0` for each `defined`.
pub(super) fn expand(tokens: Vec<Token>, definitions: &Definitions) -> Lifted<Vec<Token>> {
    Expansion { definitions, n_tokens: 0, depth: 0 }.expand(tokens)
}

struct Expansion<'d> {
    definitions: &'d Definitions,
    n_tokens: usize,
    depth: usize,
}

impl Expansion<'_> {
    fn expand(&mut self, tokens: Vec<Token>) -> Lifted<Vec<Token>> {
        let mut open = VecDeque::from(tokens);
        let mut res: Vec<Token> = Vec::new();
        while let Some(token) = open.pop_front() {
            self.n_tokens += 1;
            if self.n_tokens + open.len() > MAX_TOKENS || self.depth > MAX_DEPTH {
                return Err(problem::condition("it expands to too much", token.at));
            }
            if token.text == "defined" {
                let is_defined = self.definitions.contains_key(&defined(&token, &mut open)?);
                res.push(Token { text: u8::from(is_defined).to_string(), ..token });
                continue;
            }
            let Some(found) = self.definitions.get(&token.text).filter(|_| !token.hides(&token.text)) else {
                res.push(token);
                continue;
            };
            let Some(value) = found.value() else {
                res.push(token);
                continue;
            };
            let hidden = Some(Rc::new(Hidden { name: token.text.clone(), outer: token.hidden.clone() }));
            let of_macro = |text: &str| Token { text: text.to_owned(), at: token.at, hidden: hidden.clone() };
            let mut expanded: Vec<Token> = Vec::new();
            match found.parameters() {
                None => expanded.extend(value.iter().take(MAX_TOKENS).map(|text| of_macro(text))),
                Some(_) if open.front().is_none_or(|next| next.text != "(") => {
                    res.push(token);
                    continue;
                }
                Some(parameters) => {
                    let arguments = arguments(&token, &mut open)?;
                    let is_empty = parameters.is_empty() && arguments.iter().all(Vec::is_empty);
                    let n_given = if is_empty { arguments.len() - 1 } else { arguments.len() };
                    if n_given != parameters.len() {
                        let what = format!("`{}` takes {}, not {n_given}", token.text, counted(parameters.len()));
                        return Err(problem::condition(&what, token.at));
                    }
                    self.depth += 1;
                    let arguments: Vec<Vec<Token>> =
                        arguments.into_iter().map(|argument| self.expand(argument)).collect::<Lifted<_>>()?;
                    self.depth -= 1;
                    for text in value {
                        // What is too much is refused when the next token is taken.
                        if expanded.len() > MAX_TOKENS {
                            break;
                        }
                        match parameters.iter().position(|parameter| parameter == text) {
                            Some(position) => expanded.extend(arguments[position].iter().cloned()),
                            None => expanded.push(of_macro(text)),
                        }
                    }
                }
            }
            expanded.into_iter().rev().for_each(|token| open.push_front(token));
        }
        Ok(res)
    }
}

fn counted(n_arguments: usize) -> String {
    if n_arguments == 1 { "1 argument".to_owned() } else { format!("{n_arguments} arguments") }
}

/// The name that `defined` asks for.
fn defined(token: &Token, open: &mut VecDeque<Token>) -> Lifted<String> {
    let lacking = || problem::condition("`defined` asks for one name", token.at);
    let first = open.pop_front().ok_or_else(lacking)?;
    let is_closed = first.text == "(";
    let name = if is_closed { open.pop_front().ok_or_else(lacking)? } else { first };
    if !name.is_name() || (is_closed && open.pop_front().is_none_or(|end| end.text != ")")) {
        return Err(lacking());
    }
    Ok(name.text)
}

/// The arguments of a macro, whose `(` comes next.
fn arguments(token: &Token, open: &mut VecDeque<Token>) -> Lifted<Vec<Vec<Token>>> {
    let (mut res, mut depth) = (vec![Vec::new()], 0_usize);
    while let Some(next) = open.pop_front() {
        match next.text.as_str() {
            "(" => {
                depth += 1;
                if depth == 1 {
                    continue;
                }
            }
            ")" => {
                depth -= 1;
                if depth == 0 {
                    return Ok(res);
                }
            }
            "," if depth == 1 => {
                res.push(Vec::new());
                continue;
            }
            _ => {}
        }
        if let Some(argument) = res.last_mut() {
            argument.push(next);
        }
    }
    Err(problem::condition(&format!("the arguments of `{}` have no end", token.text), token.at))
}

//! The preprocessor, as far as it chooses text: conditionals, and the macros that a file defines.
//!
//! # Input
//! Any text.
//! # Output
//! [`Preprocessed`]: the text that is left, as long as before, so that every place stays where it is; what is not chosen is blank, and so are the
//! directives of conditionals. Or the first error, at its place.
//! # Meaning
//! C11, read by a compiler without extensions: of the names that compilers define there are those that the standard asks for ([`PREDEFINED`]).
//! # Complexity
//! Linear in the text, but for what macros in conditions expand to.
//! # Not done
//! Headers are not read, and macros are expanded in conditions only.

mod condition;
mod lines;
mod tokens;

use std::ops::Range;

use nestegg_span::Span;
use rustc_hash::FxHashMap;

use crate::problem::{self, Lifted};
use lines::lines;
use tokens::{Token, tokens};

/// The macros of a compiler without extensions.
const PREDEFINED: [(&str, &str); 3] = [("__STDC__", "1"), ("__STDC_VERSION__", "201112L"), ("__STDC_HOSTED__", "1")];

/// A macro of the file.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    /// Its parameters, if it is used like a function.
    pub(crate) parameters: Option<Vec<String>>,
    /// What it expands to, without comments.
    pub(crate) value: String,
    /// The tokens of that.
    tokens: Vec<String>,
}

impl Definition {
    /// Whether nestegg wrote it: another name for the same function.
    fn is_of_nestegg(&self) -> bool {
        self.value.strip_prefix("nestegg_") == Some(&self.name)
    }

    fn parameters(&self) -> Option<&[String]> {
        self.parameters.as_deref()
    }

    /// What it expands to in a condition; nothing if it pastes or takes any number of arguments.
    fn value(&self) -> Option<&[String]> {
        let is_plain = self.tokens.iter().all(|text| !matches!(text.as_str(), "#" | "##" | "__VA_ARGS__"));
        is_plain.then_some(&self.tokens)
    }
}

/// The macros that are defined at some place, by name.
type Definitions = FxHashMap<String, Definition>;

/// A text without conditionals.
#[derive(Debug)]
pub(crate) struct Preprocessed {
    /// What is left.
    pub(crate) text: String,
    /// The macros that the chosen text defines, in order.
    pub(crate) definitions: Vec<Definition>,
    /// The names of macros that are defined anywhere.
    pub(crate) names: Vec<String>,
    /// The places of the directives of each conditional.
    pub(crate) conditionals: Vec<Vec<Span>>,
}

/// A conditional that is open.
struct Open {
    /// Its directives.
    places: Vec<Span>,
    /// Whether text around it is left.
    is_outer_live: bool,
    /// Whether one of its groups has been chosen.
    is_chosen: bool,
    /// Whether this group is.
    is_live: bool,
    has_else: bool,
}

/// Takes the text that is chosen; `defined` are names that are defined as 1, beside those of any compiler.
pub(crate) fn preprocess(text: &str, defined: &[&str]) -> Lifted<Preprocessed> {
    let mut state = State::new(defined);
    let mut blank: Vec<Range<usize>> = Vec::new();
    for line in lines(text) {
        let was_live = state.is_live();
        let is_conditional = match &line.directive {
            Some(bytes) => state.directive(bytes)?,
            None => false,
        };
        if is_conditional || !was_live {
            blank.push(line.range);
        }
    }
    if let Some(open) = state.open.last() {
        let what = "this conditional has no `#endif`";
        return Err(problem::conditional(
            what,
            open.places[0],
            "each `#if`, `#ifdef` and `#ifndef` ends with an `#endif`",
        ));
    }
    let mut bytes = text.as_bytes().to_vec();
    for range in blank {
        bytes[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    let State { found, names, conditionals, .. } = state;
    // Whole lines are blank, so that what is left is text.
    let text = String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned());
    Ok(Preprocessed { text, definitions: found, names, conditionals })
}

struct State {
    open: Vec<Open>,
    definitions: Definitions,
    /// What of a file's own is defined, whether it stays so or not.
    found: Vec<Definition>,
    names: Vec<String>,
    conditionals: Vec<Vec<Span>>,
    includes: bool,
    includes_own: bool,
}

impl State {
    fn new(defined: &[&str]) -> Self {
        let of = |name: &str, value: &str| Definition {
            name: name.to_owned(),
            parameters: None,
            value: value.to_owned(),
            tokens: vec![value.to_owned()],
        };
        let known = PREDEFINED.iter().copied().chain(defined.iter().map(|name| (*name, "1")));
        Self {
            open: Vec::new(),
            definitions: known.map(|(name, value)| (name.to_owned(), of(name, value))).collect(),
            found: Vec::new(),
            names: Vec::new(),
            conditionals: Vec::new(),
            includes: false,
            includes_own: false,
        }
    }

    fn is_live(&self) -> bool {
        self.open.last().is_none_or(|open| open.is_live)
    }

    /// Does what a directive says; whether it is part of a conditional.
    fn directive(&mut self, bytes: &[(usize, u8)]) -> Lifted<bool> {
        let whole = place(bytes);
        let rest = trimmed(&bytes[1..]);
        let (word, rest) = split_word(rest);
        let word_at = Span::from_range(whole.range().start..rest.first().map_or(whole.range().end, |it| it.0));
        match word.as_str() {
            "if" | "ifdef" | "ifndef" => {
                let is_outer_live = self.is_live();
                let is_live = is_outer_live && self.holds(&word, rest, whole)?;
                let places = vec![whole];
                self.open.push(Open { places, is_outer_live, is_chosen: is_live, is_live, has_else: false });
            }
            "elif" | "else" | "endif" => {
                let Some(open) = self.open.last_mut() else {
                    let help = "each conditional begins with `#if`, `#ifdef` or `#ifndef`";
                    return Err(problem::conditional(&format!("`#{word}` belongs to no conditional"), whole, help));
                };
                if open.has_else && word != "endif" {
                    let help = "a conditional has one `#else`, after every `#elif`";
                    return Err(problem::conditional(&format!("`#{word}` comes after `#else`"), whole, help));
                }
                open.places.push(whole);
                open.has_else |= word == "else";
                let may_be_live = open.is_outer_live && !open.is_chosen;
                if word == "endif" {
                    self.conditionals.extend(self.open.pop().map(|open| open.places));
                    return Ok(true);
                }
                let is_live = may_be_live && (word == "else" || self.holds(&word, rest, whole)?);
                if let Some(open) = self.open.last_mut() {
                    open.is_live = is_live;
                    open.is_chosen |= is_live;
                }
            }
            "define" => {
                if let Some(definition) = definition(rest)
                    && !definition.is_of_nestegg()
                {
                    self.names.push(definition.name.clone());
                    if self.is_live() {
                        self.definitions.insert(definition.name.clone(), definition.clone());
                        self.found.push(definition);
                    }
                }
                return Ok(false);
            }
            "undef" if self.is_live() => {
                let (name, _) = split_word(trimmed(rest));
                self.definitions.remove(&name);
                return Ok(false);
            }
            "include" if self.is_live() => {
                self.includes = true;
                self.includes_own |= trimmed(rest).first().is_some_and(|it| it.1 != b'<');
                return Ok(false);
            }
            "error" if self.is_live() => {
                let help = "the file is read as by a compiler without extensions; run the preprocessor of yours first: `cc -E -P`";
                return Err(problem::conditional("`#error` refuses this file", word_at.to(place(rest)), help));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether the condition of a directive holds.
    fn holds(&self, word: &str, rest: &[(usize, u8)], whole: Span) -> Lifted<bool> {
        let all = tokens(rest);
        if matches!(word, "ifdef" | "ifndef") {
            return match all.first().filter(|token| token.is_name()) {
                Some(name) => Ok(self.definitions.contains_key(&name.text) == (word == "ifdef")),
                None => Err(problem::condition(&format!("`#{word}` asks for a name"), whole)),
            };
        }
        let expanded: Vec<Token> = tokens::expand(all, &self.definitions)?;
        condition::holds(&expanded, whole, &|name| self.may_stand_in_header(name))
    }

    /// Whether a header that is included may define a name: any of the file's own, and limits of the standard's.
    fn may_stand_in_header(&self, name: &str) -> bool {
        let is_limit =
            ["_MAX", "_MIN", "_DIG", "_BIT", "_EXP", "_RADIX", "_METHOD"].iter().any(|end| name.ends_with(end));
        !(name.starts_with('_') || matches!(name, "true" | "false"))
            && (self.includes_own || (self.includes && is_limit))
    }
}

/// What is defined, of the bytes after `define`.
fn definition(bytes: &[(usize, u8)]) -> Option<Definition> {
    let (name, rest) = split_word(trimmed(bytes));
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (parameters, rest) = match rest.first() {
        Some(&(_, b'(')) => {
            let end = rest.iter().position(|it| it.1 == b')')?;
            let list = text(&rest[1..end]);
            let names = list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
            (Some(names.collect()), &rest[end + 1..])
        }
        _ => (None, rest),
    };
    let tokens = tokens(rest).into_iter().map(|token| token.text).collect();
    Some(Definition { name, parameters, value: text(rest).trim().to_owned(), tokens })
}

fn trimmed(bytes: &[(usize, u8)]) -> &[(usize, u8)] {
    let start = bytes.iter().position(|it| !it.1.is_ascii_whitespace()).unwrap_or(bytes.len());
    &bytes[start..]
}

/// The word at the start, and what follows.
fn split_word(bytes: &[(usize, u8)]) -> (String, &[(usize, u8)]) {
    let len = bytes.iter().take_while(|it| it.1.is_ascii_alphanumeric() || it.1 == b'_').count();
    (text(&bytes[..len]), &bytes[len..])
}

fn text(bytes: &[(usize, u8)]) -> String {
    String::from_utf8_lossy(&bytes.iter().map(|it| it.1).collect::<Vec<u8>>()).into_owned()
}

/// Where bytes stand, without blanks around them.
fn place(bytes: &[(usize, u8)]) -> Span {
    let solid = || bytes.iter().filter(|it| !it.1.is_ascii_whitespace());
    match (solid().next(), solid().next_back()) {
        (Some(first), Some(last)) => Span::from_range(first.0..last.0 + 1),
        _ => bytes.first().map_or_else(Span::default, |it| Span::from_range(it.0..it.0 + 1)),
    }
}

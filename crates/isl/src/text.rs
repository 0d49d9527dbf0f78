//! A check of text before isl's parser sees it.
//!
//! isl parses by recursive descent without a limit and computes powers without one, so that hostile text overflows the stack or exhausts memory.
//! The check refuses only text beyond any honest use and leaves syntax to isl. Linear in the text.

use std::ffi::CString;

use crate::error::{Error, Result};

/// Nested brackets allowed.
const MAX_DEPTH: usize = 100;
/// Factors in one product, and conditionals, negations and quantifiers in one text: each is a recursion in isl.
const MAX_CHAIN: usize = 200;
/// Digits in a number.
const MAX_DIGITS: usize = 100;
/// Digits in an exponent.
const MAX_EXPONENT_DIGITS: usize = 3;
/// Bytes in a text.
const MAX_BYTES: usize = 16 << 20;

/// The text as a C string, if it is safe to parse.
pub(crate) fn checked(text: &str) -> Result<CString> {
    let refuse = |message: &str, offset: usize| Err(syntax(message, text, Some(offset)));
    if text.len() > MAX_BYTES {
        return refuse("text too long", MAX_BYTES);
    }
    let (mut depth, mut product, mut chain) = (0_usize, 0_usize, 0_usize);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        at += 1;
        match bytes[start] {
            0 => return refuse("zero byte", start),
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'*' => product += 1,
            b'+' | b'-' | b',' | b'<' | b'>' | b'=' | b':' | b';' => product = 0,
            b'?' | b'!' => chain += 1,
            b'^' => {
                let from = end_of(bytes, at, |b| b.is_ascii_whitespace());
                at = end_of(bytes, from, |b| b.is_ascii_digit());
                if at - from > MAX_EXPONENT_DIGITS {
                    return refuse("exponent too large", start);
                }
            }
            b'0'..=b'9' => {
                at = end_of(bytes, at, |b| b.is_ascii_digit());
                if at - start > MAX_DIGITS {
                    return refuse("number too long", start);
                }
                product += 1;
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                at = end_of(bytes, at, |b| b.is_ascii_alphanumeric() || b == b'_' || b == b'\'');
                match text[start..at].to_ascii_lowercase().as_str() {
                    "not" | "exists" | "implies" => chain += 1,
                    "and" | "or" => product = 0,
                    "rat" => return refuse("rational sets are not supported", start),
                    _ => {}
                }
            }
            _ => {}
        }
        if depth > MAX_DEPTH {
            return refuse("brackets nested too deeply", start);
        }
        if product > MAX_CHAIN || chain > MAX_CHAIN {
            return refuse("expression too complex", start);
        }
    }
    CString::new(text).or_else(|_| refuse("zero byte", 0))
}

fn end_of(bytes: &[u8], from: usize, inside: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|b| !inside(*b)).map_or(bytes.len(), |n| from + n)
}

/// An error about `text`.
pub(crate) fn syntax(message: &str, text: &str, offset: Option<usize>) -> Error {
    Error::Syntax { message: message.to_string(), text: text.chars().take(200).collect(), offset }
}

/// Words that isl's notation takes for something else, in any mix of cases.
const KEYWORDS: [&str; 18] = [
    "and", "ceil", "ceild", "exists", "false", "floor", "floord", "implies", "infinity", "infty", "max", "min", "mod",
    "nan", "not", "or", "rat", "true",
];

/// A name of a dimension as a C string. Only what isl can read again is a name: identifiers that are not [`KEYWORDS`].
pub(crate) fn name(name: &str) -> Result<CString> {
    if KEYWORDS.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(Error::BadName(name.to_string()));
    }
    tuple_name(name)
}

/// A name of a tuple as a C string: an identifier; isl tells keywords from tuples by the bracket that follows.
pub(crate) fn tuple_name(name: &str) -> Result<CString> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let identifier = name.bytes().next().is_some_and(|b| plain(b) && !b.is_ascii_digit()) && name.bytes().all(plain);
    CString::new(name).ok().filter(|_| identifier).ok_or_else(|| Error::BadName(name.to_string()))
}

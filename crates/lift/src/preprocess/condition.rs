//! Conditions of the preprocessor: constant expressions of integers.
//!
//! # Input
//! The tokens of a condition, with macros expanded.
//! # Output
//! Whether it holds, as C11 (6.10.1) says: integers have 64 bits, and names that are left are 0. What has no value is an error at its place, unless
//! an operand before it decides.
//! # Complexity
//! Linear in the tokens; parentheses nest at most [`MAX_NESTING`] deep.

use nestegg_span::Span;

use super::tokens::Token;
use crate::MAX_NESTING;
use crate::problem::{self, Lifted};

/// Operators of two operands, by how loosely they bind.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// An integer of the widest type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Value {
    bits: i64,
    is_unsigned: bool,
}

impl Value {
    fn signed(bits: i64) -> Self {
        Self { bits, is_unsigned: false }
    }

    fn of(truth: bool) -> Self {
        Self::signed(i64::from(truth))
    }

    fn holds(self) -> bool {
        self.bits != 0
    }
}

/// Whether a condition holds. `headers` says whether a name may be one that a header defines.
pub(super) fn holds(tokens: &[Token], at: Span, headers: &dyn Fn(&str) -> bool) -> Lifted<bool> {
    let mut parser = Parser { tokens, next: 0, end: at, nesting: 0, headers };
    let value = parser.choice(true)?;
    match parser.peek() {
        None => Ok(value.holds()),
        Some(token) => Err(problem::condition(&format!("`{}` is not expected here", token.text), token.at)),
    }
}

struct Parser<'t> {
    tokens: &'t [Token],
    next: usize,
    /// What is named where tokens are missing.
    end: Span,
    nesting: usize,
    headers: &'t dyn Fn(&str) -> bool,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.next)
    }

    fn takes(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == text);
        self.next += usize::from(found);
        found
    }

    fn nested<T>(&mut self, at: Span, inside: impl FnOnce(&mut Self) -> Lifted<T>) -> Lifted<T> {
        if self.nesting >= MAX_NESTING {
            return Err(problem::condition(&format!("it nests more than {MAX_NESTING} deep"), at));
        }
        self.nesting += 1;
        let res = inside(self);
        self.nesting -= 1;
        res
    }

    /// `a ? b : c`. Only what `is_asked` may fail.
    fn choice(&mut self, is_asked: bool) -> Lifted<Value> {
        let condition = self.binary(0, is_asked)?;
        let at = self.peek().map_or(self.end, |token| token.at);
        if !self.takes("?") {
            return Ok(condition);
        }
        let first = self.nested(at, |parser| parser.choice(is_asked && condition.holds()))?;
        if !self.takes(":") {
            return Err(problem::condition("`?` lacks its `:`", at));
        }
        let second = self.nested(at, |parser| parser.choice(is_asked && !condition.holds()))?;
        let is_unsigned = first.is_unsigned || second.is_unsigned;
        Ok(Value { is_unsigned, ..if condition.holds() { first } else { second } })
    }

    fn binary(&mut self, level: usize, is_asked: bool) -> Lifted<Value> {
        let Some(operators) = LEVELS.get(level) else { return self.unary(is_asked) };
        let mut left = self.binary(level + 1, is_asked)?;
        while let Some(token) = self.peek().filter(|token| operators.contains(&token.text.as_str())) {
            self.next += 1;
            let is_decided = match token.text.as_str() {
                "&&" => !left.holds(),
                "||" => left.holds(),
                _ => false,
            };
            let right = self.binary(level + 1, is_asked && !is_decided)?;
            left = match computed(&token.text, left, right) {
                Some(value) => value,
                None if is_asked => {
                    let what = format!("`{}` has no result of 64 bits", token.text);
                    return Err(problem::condition(&what, token.at));
                }
                None => Value::signed(0),
            };
        }
        Ok(left)
    }

    fn unary(&mut self, is_asked: bool) -> Lifted<Value> {
        let Some(token) = self.peek() else {
            return Err(problem::condition("an operand is missing", self.end));
        };
        self.next += 1;
        let text = token.text.as_str();
        match text {
            "(" => {
                let value = self.nested(token.at, |parser| parser.choice(is_asked))?;
                if self.takes(")") { Ok(value) } else { Err(problem::condition("this is not closed", token.at)) }
            }
            "!" | "-" | "+" | "~" => {
                let value = self.nested(token.at, |parser| parser.unary(is_asked))?;
                Ok(match text {
                    "!" => Value::of(!value.holds()),
                    "-" => Value { bits: value.bits.wrapping_neg(), ..value },
                    "~" => Value { bits: !value.bits, ..value },
                    _ => value,
                })
            }
            _ if token.is_name() => self.name(token, is_asked),
            _ => number(text).ok_or_else(|| problem::condition(&format!("`{text}` is no integer"), token.at)),
        }
    }

    /// A name that is no macro.
    fn name(&self, token: &Token, is_asked: bool) -> Lifted<Value> {
        let name = &token.text;
        if self.peek().is_some_and(|next| next.text == "(") {
            let what = format!("`{name}(…)` cannot be expanded");
            return Err(problem::condition(&what, token.at));
        }
        if is_asked && (self.headers)(name) {
            return Err(problem::condition(&format!("the value of `{name}` may stand in a header"), token.at));
        }
        Ok(Value::of(name == "true"))
    }
}

/// A number or a character.
fn number(text: &str) -> Option<Value> {
    if let Some(inside) = text.strip_prefix('\'') {
        let mut all = inside.strip_suffix('\'')?.chars();
        let (first, None) = (all.next().filter(|&c| c.is_ascii() && c != '\\')?, all.next()) else { return None };
        return Some(Value::signed(i64::from(u32::from(first))));
    }
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_end_matches(['u', 'l']);
    let suffix = &lower[digits.len()..];
    if !matches!(suffix, "" | "u" | "l" | "ll" | "ul" | "ull" | "lu" | "llu") {
        return None;
    }
    let (digits, radix) = match digits {
        _ if digits.starts_with("0x") => (&digits[2..], 16),
        _ if digits.starts_with("0b") => (&digits[2..], 2),
        _ if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
        _ => (digits, 10),
    };
    let value = u64::from_str_radix(digits, radix).ok()?;
    let is_unsigned = suffix.contains('u') || (radix != 10 && i64::try_from(value).is_err());
    match i64::try_from(value) {
        Err(_) if !is_unsigned => None,
        _ => Some(Value { bits: value as i64, is_unsigned }),
    }
}

/// An operation; `None` where C leaves it undefined.
fn computed(operator: &str, a: Value, b: Value) -> Option<Value> {
    let is_unsigned = a.is_unsigned || b.is_unsigned;
    let (x, y) = (a.bits, b.bits);
    let order = if is_unsigned { (x as u64).cmp(&(y as u64)) } else { x.cmp(&y) };
    let truth = match operator {
        "||" => a.holds() || b.holds(),
        "&&" => a.holds() && b.holds(),
        "==" => x == y,
        "!=" => x != y,
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        "<<" | ">>" => {
            let by = u32::try_from(y).ok().filter(|&by| by < 64)?;
            let bits = match (operator, a.is_unsigned) {
                ("<<", true) => ((x as u64) << by) as i64,
                ("<<", false) => (x << by >> by == x && x >= 0).then_some(x << by)?,
                (_, true) => ((x as u64) >> by) as i64,
                (_, false) => x >> by,
            };
            return Some(Value { bits, is_unsigned: a.is_unsigned });
        }
        _ => {
            let bits = match (operator, is_unsigned) {
                ("|", _) => x | y,
                ("^", _) => x ^ y,
                ("&", _) => x & y,
                ("+", true) => x.wrapping_add(y),
                ("-", true) => x.wrapping_sub(y),
                ("*", true) => x.wrapping_mul(y),
                ("/", true) => (x as u64).checked_div(y as u64)? as i64,
                ("%", true) => (x as u64).checked_rem(y as u64)? as i64,
                ("+", false) => x.checked_add(y)?,
                ("-", false) => x.checked_sub(y)?,
                ("*", false) => x.checked_mul(y)?,
                ("/", false) => x.checked_div(y)?,
                ("%", false) => x.checked_rem(y)?,
                _ => return None,
            };
            return Some(Value { bits, is_unsigned });
        }
    };
    Some(Value::of(truth))
}

//! Expressions as loopy prints them.
//!
//! Its precedence, loosest first: `a if c else b`, `or`, `and`, comparisons, `|`, `^`, `&`, shifts, `+`, `*` `/` `//` `%`, `~` `not`, `**`.
//! Where its printer leaves out parentheses that matter, the text is refused.

use std::ops::Range;

use nestegg_ir::{Dtype, Float, Number, Op, ReduceOp};
use nestegg_span::Span;

use crate::expr::{E, Expr, Kind, MAX_DEPTH, Reduction};
use crate::problem::{self, Known};
use crate::sections::Line;

/// What stands between the letters of a function that loopy has resolved.
const UNDERLINE: char = '\u{332}';

/// Operators from long to short.
const OPERATORS: [(&str, Op); 18] = [
    ("**", Op::Pow),
    ("//", Op::FloorDiv),
    ("<<", Op::Shl),
    (">>", Op::Shr),
    ("<=", Op::Le),
    (">=", Op::Ge),
    ("==", Op::Eq),
    ("!=", Op::Ne),
    ("<", Op::Lt),
    (">", Op::Gt),
    ("+", Op::Add),
    ("-", Op::Sub),
    ("*", Op::Mul),
    ("/", Op::Div),
    ("%", Op::Mod),
    ("|", Op::BitOr),
    ("^", Op::BitXor),
    ("&", Op::BitAnd),
];

/// How tightly an operator binds.
fn level(op: Op) -> u8 {
    match op {
        Op::Or => 1,
        Op::And => 2,
        Op::BitOr => 4,
        Op::BitXor => 5,
        Op::BitAnd => 6,
        Op::Shl | Op::Shr => 7,
        Op::Add | Op::Sub => 8,
        Op::Mul | Op::Div | Op::FloorDiv | Op::Mod => 9,
        Op::Pow => 11,
        _ => 3,
    }
}

/// The level of a selection.
const SELECTION: u8 = 0;
/// The level of `~` and `not`.
const PREFIX: u8 = 10;

/// The dtype that loopy prints as `np:dtype('float64')`.
pub(crate) fn dtype(line: Line<'_>) -> Known<Dtype> {
    let name = line.text.strip_prefix("np:dtype('").and_then(|rest| rest.strip_suffix("')"));
    let Some(name) = name else {
        return Err(problem::unsupported(&format!("the type `{}`", line.text), line.span(), ""));
    };
    Dtype::from_name(name).ok_or_else(|| {
        let help = "the format has bool, int32, int64, float32 and float64";
        problem::unsupported(&format!("the type {name}"), line.span(), help)
    })
}

/// A number as Python writes it: an integer of 64 bits, or a float; `None` if it is none, or not finite.
pub(crate) fn number(text: &str) -> Option<Number> {
    if let Ok(value) = text.parse() {
        return Some(Number::Int(value));
    }
    let value = text.contains(['.', 'e', 'E']).then(|| text.parse().ok())?;
    value.and_then(Float::new).map(Number::Float)
}

/// The expression that a line is.
pub(crate) fn expression(line: Line<'_>) -> Known<E> {
    let mut parser = Parser { line, at: 0, depth: 0 };
    let expr = parser.expression(SELECTION)?;
    parser.end("an operator or the end")?;
    Ok(expr)
}

/// The expressions between commas.
pub(crate) fn expressions(line: Line<'_>) -> Known<Vec<E>> {
    let mut parser = Parser { line, at: 0, depth: 0 };
    parser.space();
    if parser.at == line.text.len() {
        return Ok(Vec::new());
    }
    let res = parser.list()?;
    parser.end("an operator, `,` or the end")?;
    Ok(res)
}

struct Parser<'t> {
    line: Line<'t>,
    at: usize,
    depth: u32,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.line.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn span(&self, range: Range<usize>) -> Span {
        Span::from_range(self.line.start + range.start..self.line.start + range.end)
    }

    /// The place of an expression that began there.
    fn since(&self, start: usize) -> Span {
        self.span(start..self.at)
    }

    fn here(&self) -> Span {
        let len = self.rest().chars().next().map_or(0, char::len_utf8);
        self.span(self.at..self.at + len)
    }

    fn expected(&self, what: &str) -> Box<nestegg_dump::ReadError> {
        problem::syntax(what, self.here())
    }

    fn end(&mut self, what: &str) -> Known<()> {
        self.space();
        if self.at < self.line.text.len() { Err(self.expected(what)) } else { Ok(()) }
    }

    fn skip(&mut self, mark: &str) -> bool {
        self.space();
        let is_there = self.rest().starts_with(mark);
        if is_there {
            self.at += mark.len();
        }
        is_there
    }

    fn expect(&mut self, mark: &str) -> Known<()> {
        if self.skip(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    /// The length of the word that comes.
    fn word_len(&self) -> usize {
        let rest = self.rest();
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return 0;
        }
        rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == UNDERLINE)).unwrap_or(rest.len())
    }

    fn is_word(&mut self, word: &str) -> bool {
        self.space();
        let len = self.word_len();
        self.rest().get(..len) == Some(word)
    }

    fn word(&mut self, what: &str) -> Known<String> {
        self.space();
        let len = self.word_len();
        let text = self.rest().get(..len).unwrap_or_default();
        let word: String = text.chars().filter(|&c| c != UNDERLINE).collect();
        if word.is_empty() {
            return Err(self.expected(what));
        }
        self.at += len;
        Ok(word)
    }

    fn list(&mut self) -> Known<Vec<E>> {
        let mut res = vec![self.expression(SELECTION)?];
        while self.skip(",") {
            res.push(self.expression(SELECTION)?);
        }
        Ok(res)
    }

    fn words(&mut self, what: &str) -> Known<Vec<String>> {
        let mut res = vec![self.word(what)?];
        while self.skip(",") {
            res.push(self.word(what)?);
        }
        Ok(res)
    }

    /// The operator that comes, and its length.
    fn operator(&mut self) -> Option<(Op, usize)> {
        self.space();
        for (word, op) in [("or", Op::Or), ("and", Op::And)] {
            if self.is_word(word) {
                return Some((op, word.len()));
            }
        }
        OPERATORS.iter().find(|(mark, _)| self.rest().starts_with(mark)).map(|&(mark, op)| (op, mark.len()))
    }

    /// An expression whose operators bind at least so tightly.
    fn expression(&mut self, least: u8) -> Known<E> {
        if self.depth > MAX_DEPTH {
            return Err(problem::unsupported("an expression that is nested so deep", self.here(), ""));
        }
        self.depth += 1;
        self.space();
        let start = self.at;
        let mut left = self.operand()?;
        while let Some((op, len)) = self.operator() {
            if level(op) < least.max(1) {
                break;
            }
            left = self.operation(left, op, len, start)?;
        }
        if least == SELECTION && self.is_word("if") {
            self.at += "if".len();
            let condition = self.expression(1)?;
            if !self.is_word("else") {
                return Err(self.expected("`else`"));
            }
            self.at += "else".len();
            let other = self.expression(1)?;
            if self.is_word("if") {
                return Err(problem::ambiguous("a selection beside a selection", self.since(start)));
            }
            left = Expr::new(Kind::Op(Op::If), vec![condition, left, other], self.since(start))?;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Reads an operator and what stands right of it.
    fn operation(&mut self, left: E, op: Op, len: usize, start: usize) -> Known<E> {
        self.at += len;
        let right = self.expression(level(op) + 1)?;
        let mut of = vec![left];
        match op {
            Op::Sub => {
                let at = right.at;
                of.push(Expr::new(Kind::Op(Op::Mul), vec![Expr::int(-1, at), right], at)?);
            }
            _ => of.push(right),
        }
        let op = if op == Op::Sub { Op::Add } else { op };
        if matches!(op, Op::Add | Op::Mul | Op::And | Op::Or | Op::BitAnd | Op::BitOr | Op::BitXor) {
            while let Some((next, len)) = self.operator()
                && next == op
            {
                self.at += len;
                of.push(self.expression(level(op) + 1)?);
            }
        }
        let res = Expr::new(Kind::Op(op), of, self.since(start))?;
        // Sums of the same level that differ in their sign are one after the other; anything else is not printed so.
        match self.operator() {
            Some((next, _)) if level(next) == level(op) && level(op) != level(Op::Add) => {
                Err(problem::ambiguous("an operation beside one that binds as tightly", self.since(start)))
            }
            _ => Ok(res),
        }
    }

    fn operand(&mut self) -> Known<E> {
        self.space();
        let start = self.at;
        if self.skip("(") {
            let inner = self.expression(SELECTION)?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.skip("~") {
            let inner = self.expression(PREFIX)?;
            return Expr::new(Kind::Op(Op::BitNot), vec![inner], self.since(start));
        }
        if self.skip("[") {
            let swept = self.words("an iname")?;
            self.expect("]")?;
            self.expect(":")?;
            let element = self.expression(PREFIX)?;
            return Expr::new(Kind::Part(swept), vec![element], self.since(start));
        }
        if self.rest().starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '-') {
            return self.number();
        }
        if self.is_word("not") {
            self.at += "not".len();
            let inner = self.expression(PREFIX)?;
            return Expr::new(Kind::Op(Op::Not), vec![inner], self.since(start));
        }
        if ["and", "or", "if", "else"].iter().any(|word| self.is_word(word)) {
            return Err(self.expected("an expression"));
        }
        let word = self.word("an expression")?;
        self.after_word(word, start)
    }

    fn number(&mut self) -> Known<E> {
        let start = self.at;
        let rest = self.rest();
        let mut end = usize::from(rest.starts_with('-'));
        let bytes = rest.as_bytes();
        while let Some(&byte) = bytes.get(end) {
            let is_sign = matches!(byte, b'+' | b'-') && end > 0 && matches!(bytes.get(end - 1), Some(b'e' | b'E'));
            if !(byte.is_ascii_alphanumeric() || byte == b'.' || is_sign) {
                break;
            }
            end += 1;
        }
        let text = rest.get(..end).unwrap_or_default();
        self.at += end;
        let at = self.since(start);
        let number = number(text).ok_or_else(|| problem::syntax("a finite number", at))?;
        Expr::new(Kind::Number(number), Vec::new(), at)
    }

    /// What begins with a word that has been read.
    fn after_word(&mut self, word: String, start: usize) -> Known<E> {
        if self.rest().starts_with("[[") {
            self.at += 2;
            let index = self.expression(SELECTION)?;
            self.expect("]]")?;
            return Expr::new(Kind::Linear(word), vec![index], self.since(start));
        }
        if self.rest().starts_with('[') {
            self.at += 1;
            let indices = self.list()?;
            self.expect("]")?;
            return Expr::new(Kind::Subscript(word), indices, self.since(start));
        }
        if self.rest().starts_with('(') {
            self.at += 1;
            return match &*word {
                "reduce" | "simul_reduce" => self.reduction(start),
                "cast" => self.cast(start),
                _ if self.skip(")") => Expr::new(Kind::Call(word), Vec::new(), self.since(start)),
                _ => {
                    let arguments = self.list()?;
                    self.expect(")")?;
                    Expr::new(Kind::Call(word), arguments, self.since(start))
                }
            };
        }
        if self.rest().starts_with(['.', '$', '<']) && !self.rest().starts_with("<=") && !self.rest().starts_with("<<")
        {
            self.at += 1;
            return Err(problem::unsupported("this expression of loopy", self.since(start), ""));
        }
        Ok(Expr::name(&word, self.since(start)))
    }

    fn reduction(&mut self, start: usize) -> Known<E> {
        let word = self.word("a reduction")?;
        let reduction = match &*word {
            "any" => Reduction::Any,
            "all" => Reduction::All,
            word => match ReduceOp::from_spelling(word) {
                Some(op) => Reduction::Op(op),
                None => {
                    let help = "kernels have sum, product, min, max, any and all";
                    return Err(problem::unsupported(&format!("the reduction `{word}`"), self.since(start), help));
                }
            },
        };
        self.expect(",")?;
        self.expect("[")?;
        let inames = self.words("an iname")?;
        self.expect("]")?;
        self.expect(",")?;
        let value = self.expression(SELECTION)?;
        self.expect(")")?;
        Expr::new(Kind::Reduce(reduction, inames), vec![value], self.since(start))
    }

    fn cast(&mut self, start: usize) -> Known<E> {
        let len = self.rest().find(',').ok_or_else(|| self.expected("a type and `,`"))?;
        let dtype = dtype(self.line.part(self.at..self.at + len))?;
        self.at += len + 1;
        let value = self.expression(SELECTION)?;
        self.expect(")")?;
        Expr::new(Kind::Cast(dtype), vec![value], self.since(start))
    }
}

//! Expressions of the text form: operator precedence with a list of what is open instead of recursion.
//!
//! Python's precedence, but `/`, `//` and `%` bind tighter than `*`, as in loopy. `a + b + c` is one sum of three;
//! parentheses make sums of their own. Where loopy's precedence differs from Python's, parentheses are asked for.

use std::borrow::Cow;

use nestegg_ir::{Dtype, Op, ReduceOp};
use nestegg_span::Span;

use super::lexer::Token;
use super::parser::{Parsed, Parser, Reported};
use crate::error::{Mismatch, ReadError};
use crate::json::arity_text;
use crate::syntax::{Fold, Name, NodeId, NodeKind};

/// How tightly operators bind, loosest first.
pub(super) mod level {
    pub const IF: u8 = 1;
    pub const OR: u8 = 2;
    pub const AND: u8 = 3;
    pub const NOT: u8 = 4;
    pub const COMPARE: u8 = 5;
    pub const BIT_OR: u8 = 6;
    pub const BIT_XOR: u8 = 7;
    pub const BIT_AND: u8 = 8;
    pub const SHIFT: u8 = 9;
    pub const ADD: u8 = 10;
    pub const MULTIPLY: u8 = 11;
    pub const DIVIDE: u8 = 12;
    pub const UNARY: u8 = 13;
    pub const POWER: u8 = 14;
    pub const PRIMARY: u8 = 15;
}

/// What is open left of the current token.
enum Open<'s> {
    Prefix {
        op: Op,
        level: u8,
        span: Span,
    },
    /// Of an operator like `+`, several operands may have come.
    Infix {
        op: Op,
        level: u8,
        n_operands: usize,
    },
    /// `a if`, before `else`.
    If {
        span: Span,
    },
    /// `a if c else`.
    Else,
    /// A bracket.
    Bracket {
        kind: Bracket<'s>,
        start: Span,
        n_operands: usize,
    },
}

enum Bracket<'s> {
    Group,
    Subscript(Name<'s>),
    Apply(Name<'s>),
    Op(Op),
    Linear(Name<'s>),
    Reduce(Fold, Vec<Name<'s>>),
    Cast(Dtype),
}

struct State<'s> {
    open: Vec<Open<'s>>,
    done: Vec<NodeId>,
}

impl<'s> Parser<'s, '_> {
    /// Reads an expression up to a token that cannot continue it.
    pub(super) fn expression(&mut self) -> Parsed<NodeId> {
        let mut state = State { open: Vec::new(), done: Vec::new() };
        loop {
            self.operand(&mut state)?;
            if !self.after_operand(&mut state)? {
                return Ok(state.done.pop().expect("an operand has come"));
            }
        }
    }

    /// Reads prefixes and opening brackets up to a name or number.
    fn operand(&mut self, state: &mut State<'s>) -> Parsed<()> {
        loop {
            let span = self.span();
            match self.peek() {
                Token::Number => {
                    self.bump();
                    let number = self.number(span, false)?;
                    state.done.push(self.kernel.nodes.push(NodeKind::Number(number), span, &[]));
                    return Ok(());
                }
                Token::TaggedFloat => {
                    self.bump();
                    let digits = Span::from_range(span.start as usize..span.end as usize - 1);
                    let number = self.number(digits, false)?;
                    let mut node = self.kernel.nodes.push(NodeKind::Number(number), span, &[]);
                    if self.slice(span).ends_with('f') {
                        node = self.kernel.nodes.push(NodeKind::Cast(Dtype::Float32), span, &[node]);
                    }
                    state.done.push(node);
                    return Ok(());
                }
                Token::Plus => {
                    self.bump();
                }
                Token::Minus if self.peek_nth(1) == Token::Number && self.peek_nth(2) != Token::StarStar => {
                    self.bump();
                    let digits = self.bump();
                    let number = self.number(digits, true)?;
                    state.done.push(self.kernel.nodes.push(NodeKind::Number(number), span.to(digits), &[]));
                    return Ok(());
                }
                Token::Minus => self.prefix(state, Op::Neg, level::UNARY),
                Token::Tilde => self.prefix(state, Op::BitNot, level::UNARY),
                Token::OpenParen => {
                    let start = self.bump();
                    state.open.push(Open::Bracket { kind: Bracket::Group, start, n_operands: 1 });
                }
                Token::Word => match self.slice(span) {
                    "not" => self.prefix(state, Op::Not, level::NOT),
                    "if" if self.peek_nth(1) == Token::OpenParen => self.bracket(state, Bracket::Op(Op::If)),
                    "and" | "or" | "if" | "else" | "for" => return Err(self.expected("an expression")),
                    word => {
                        if self.variable(state, word)? {
                            return Ok(());
                        }
                    }
                },
                _ => return Err(self.expected("an expression")),
            }
        }
    }

    fn prefix(&mut self, state: &mut State<'s>, op: Op, level: u8) {
        let span = self.bump();
        state.open.push(Open::Prefix { op, level, span });
    }

    /// Opens a bracket after a word.
    fn bracket(&mut self, state: &mut State<'s>, kind: Bracket<'s>) {
        let start = self.bump();
        self.bump();
        state.open.push(Open::Bracket { kind, start, n_operands: 1 });
    }

    /// Reads a word and the bracket after it, if there is one; says whether an operand is complete.
    fn variable(&mut self, state: &mut State<'s>, word: &'s str) -> Parsed<bool> {
        let span = self.span();
        let name = Name { text: Cow::Borrowed(word), span };
        match self.peek_nth(1) {
            Token::OpenBracket if self.peek_nth(2) == Token::OpenBracket => {
                self.bump();
                self.bracket(state, Bracket::Linear(name));
            }
            Token::OpenBracket => self.bracket(state, Bracket::Subscript(name)),
            Token::OpenParen => match (word, Dtype::from_name(word)) {
                (_, Some(dtype)) => self.bracket(state, Bracket::Cast(dtype)),
                ("min", _) => self.bracket(state, Bracket::Op(Op::Min)),
                ("max", _) => self.bracket(state, Bracket::Op(Op::Max)),
                ("sum" | "product" | "reduce" | "simul_reduce", _) => self.reduction(state, word)?,
                ("cast", _) => {
                    self.bump();
                    self.bump();
                    let (dtype, _) = self.dtype()?;
                    self.expect(Token::Comma, "`,`")?;
                    state.open.push(Open::Bracket { kind: Bracket::Cast(dtype), start: span, n_operands: 1 });
                }
                _ => {
                    if self.peek_nth(2) == Token::CloseParen {
                        self.bump();
                        self.bump();
                        let end = self.bump();
                        state.done.push(self.kernel.nodes.push(NodeKind::Apply(name), span.to(end), &[]));
                        return Ok(true);
                    }
                    self.bracket(state, Bracket::Apply(name));
                }
            },
            _ => {
                self.bump();
                state.done.push(self.kernel.nodes.push(NodeKind::Name(name.text), span, &[]));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads `sum(i, `, `sum([i, j], ` or `reduce(op, [i], `.
    fn reduction(&mut self, state: &mut State<'s>, word: &'s str) -> Parsed<()> {
        let start = self.bump();
        self.bump();
        let op = match ReduceOp::from_spelling(word).map(Fold::Number) {
            Some(op) => op,
            None => {
                let op = self.word("a reduction")?;
                self.expect(Token::Comma, "`,`")?;
                Fold::from_spelling(&op.text).ok_or_else(|| {
                    self.errors.push(ReadError::UnknownReduction { word: op.text.to_string(), at: op.span });
                    Reported
                })?
            }
        };
        let inames = match self.peek() {
            Token::OpenBracket => {
                self.bump();
                let inames = self.words("an iname")?;
                self.expect(Token::CloseBracket, "`]`")?;
                inames
            }
            Token::OpenParen => {
                self.bump();
                let inames = self.words("an iname")?;
                self.expect(Token::CloseParen, "`)`")?;
                inames
            }
            _ => vec![self.word("an iname")?],
        };
        self.expect(Token::Comma, "`,`")?;
        state.open.push(Open::Bracket { kind: Bracket::Reduce(op, inames), start, n_operands: 1 });
        Ok(())
    }

    /// Reads closing brackets up to an operator; says whether an operand must follow.
    fn after_operand(&mut self, state: &mut State<'s>) -> Parsed<bool> {
        loop {
            let (op, level) = match self.peek() {
                Token::Plus => (Op::Add, level::ADD),
                Token::Minus => (Op::Sub, level::ADD),
                Token::Star => (Op::Mul, level::MULTIPLY),
                Token::Slash => (Op::Div, level::DIVIDE),
                Token::SlashSlash => (Op::FloorDiv, level::DIVIDE),
                Token::Percent => (Op::Mod, level::DIVIDE),
                Token::StarStar => (Op::Pow, level::POWER),
                Token::Less => (Op::Lt, level::COMPARE),
                Token::LessEqual => (Op::Le, level::COMPARE),
                Token::Greater => (Op::Gt, level::COMPARE),
                Token::GreaterEqual => (Op::Ge, level::COMPARE),
                Token::EqualEqual => (Op::Eq, level::COMPARE),
                Token::NotEqual => (Op::Ne, level::COMPARE),
                Token::Ampersand => (Op::BitAnd, level::BIT_AND),
                Token::Bar => (Op::BitOr, level::BIT_OR),
                Token::Caret => (Op::BitXor, level::BIT_XOR),
                Token::ShiftLeft => (Op::Shl, level::SHIFT),
                Token::ShiftRight => (Op::Shr, level::SHIFT),
                Token::Word if self.is_word("and") => (Op::And, level::AND),
                Token::Word if self.is_word("or") => (Op::Or, level::OR),
                Token::Word if self.is_word("if") => {
                    self.reduce(state, level::IF);
                    let span = self.bump();
                    state.open.push(Open::If { span });
                    return Ok(true);
                }
                Token::Word if self.is_word("else") => {
                    self.reduce(state, 0);
                    let Some(Open::If { .. }) = state.open.last() else { return self.finish_expression(state) };
                    state.open.pop();
                    self.bump();
                    state.open.push(Open::Else);
                    return Ok(true);
                }
                Token::Comma => {
                    self.reduce(state, 0);
                    match state.open.last_mut() {
                        Some(Open::Bracket {
                            kind: Bracket::Subscript(_) | Bracket::Apply(_) | Bracket::Op(_),
                            n_operands,
                            ..
                        }) => {
                            *n_operands += 1;
                            self.bump();
                            return Ok(true);
                        }
                        _ => return self.finish_expression(state),
                    }
                }
                Token::CloseParen | Token::CloseBracket => {
                    self.reduce(state, 0);
                    let is_bracket = self.peek() == Token::CloseBracket;
                    match state.open.last() {
                        Some(Open::Bracket { kind, .. })
                            if matches!(kind, Bracket::Subscript(_) | Bracket::Linear(_)) == is_bracket =>
                        {
                            self.close(state)?;
                            continue;
                        }
                        _ => return self.finish_expression(state),
                    }
                }
                _ => {
                    self.reduce(state, 0);
                    return self.finish_expression(state);
                }
            };
            self.infix(state, op, level)?;
            return Ok(true);
        }
    }

    /// The expression is over, unless something is still open.
    fn finish_expression(&mut self, state: &mut State<'s>) -> Parsed<bool> {
        match state.open.last() {
            None => Ok(false),
            Some(Open::If { span }) => {
                let span = *span;
                let mismatch =
                    Mismatch { expected: "`else`".to_owned(), found: "the end of the expression".to_owned() };
                let help = Some("a selection is `a if c else b`".to_owned());
                self.errors.push(ReadError::TextSyntax { mismatch, at: span, help });
                Err(Reported)
            }
            Some(Open::Bracket { kind: Bracket::Linear(_), .. }) => Err(self.expected("an operator or `]]`")),
            Some(Open::Bracket { kind: Bracket::Subscript(_), .. }) => Err(self.expected("an operator, `,` or `]`")),
            Some(Open::Bracket { kind: Bracket::Apply(_) | Bracket::Op(_), .. }) => {
                Err(self.expected("an operator, `,` or `)`"))
            }
            Some(_) => Err(self.expected("an operator or `)`")),
        }
    }

    fn infix(&mut self, state: &mut State<'s>, op: Op, level: u8) -> Parsed<()> {
        self.check_readings(state, op)?;
        // Powers group to the right, everything else to the left.
        let to_right = op == Op::Pow;
        self.reduce(state, if to_right { level + 1 } else { level + u8::from(is_variadic(op)) });
        match state.open.last_mut() {
            Some(Open::Infix { op: other, n_operands, .. }) if *other == op && is_variadic(op) => *n_operands += 1,
            Some(Open::Infix { level: other, .. }) if *other == level && !to_right => {
                self.reduce(state, level);
                state.open.push(Open::Infix { op, level, n_operands: 2 });
            }
            _ => state.open.push(Open::Infix { op, level, n_operands: 2 }),
        }
        self.bump();
        Ok(())
    }

    /// Refuses an operator that loopy would give other operands: there `not` binds as tightly as a sign, comparisons bind tighter than bits, and `|` as
    /// tightly as `^`.
    fn check_readings(&mut self, state: &State<'s>, op: Op) -> Parsed<()> {
        let is_bits = |op: Op| matches!(op, Op::BitAnd | Op::BitOr | Op::BitXor);
        let level = match op {
            _ if op.is_comparison() => level::COMPARE,
            _ if is_bits(op) => level::BIT_OR,
            _ => return Ok(()),
        };
        for open in state.open.iter().rev() {
            let (what, here, loopy) = match *open {
                Open::Prefix { op: Op::Not, .. } => ("`not` before an operation", "not (a == b)", "(not a) == b"),
                Open::Infix { op: left, .. } if level == level::COMPARE && is_bits(left) => {
                    ("an operation on bits beside a comparison", "(a & b) == c", "a & (b == c)")
                }
                Open::Infix { op: left, .. } if level == level::BIT_OR && left.is_comparison() => {
                    ("a comparison beside an operation on bits", "a == (b & c)", "(a == b) & c")
                }
                Open::Infix { op: Op::BitOr, .. } if op == Op::BitXor => {
                    ("`^` after `|`", "a | (b ^ c)", "(a | b) ^ c")
                }
                // What binds tighter is an operand, whatever it holds.
                Open::Infix { level: left, .. } | Open::Prefix { level: left, .. } if left > level => continue,
                _ => return Ok(()),
            };
            let at = self.span();
            self.errors.push(ReadError::TwoReadings { what: what.to_owned(), here, loopy, at });
            return Err(Reported);
        }
        Ok(())
    }

    /// Builds the operations that bind at least as tightly as `level`, up to a bracket.
    fn reduce(&mut self, state: &mut State<'s>, least: u8) {
        while let Some(open) = state.open.last() {
            let (op, n_operands, span) = match *open {
                Open::Prefix { op, level, span } if level >= least => (op, 1, Some(span)),
                Open::Infix { op, level, n_operands } if level >= least => (op, n_operands, None),
                // Selections group to the right.
                Open::Else if least < level::IF => (Op::If, 3, None),
                _ => return,
            };
            state.open.pop();
            let mut operands = state.done.split_off(state.done.len() - n_operands);
            let spans = operands.iter().map(|&operand| self.kernel.nodes.span(operand));
            let span = spans.chain(span).reduce(Span::to).unwrap_or_default();
            if op == Op::If {
                // Written value, condition, other value.
                operands.swap(0, 1);
            }
            state.done.push(self.kernel.nodes.push(NodeKind::Op(op), span, &operands));
        }
    }

    /// Closes a bracket.
    fn close(&mut self, state: &mut State<'s>) -> Parsed<()> {
        let end = self.bump();
        let Some(Open::Bracket { kind, start, n_operands }) = state.open.pop() else {
            unreachable!("the caller saw an open bracket")
        };
        let span = start.to(end);
        let kind = match kind {
            // What stands in parentheses is one operand already.
            Bracket::Group => return Ok(()),
            Bracket::Subscript(name) => NodeKind::Subscript(name),
            Bracket::Linear(name) => {
                let end = self.expect(Token::CloseBracket, "`]`: a linear subscript ends with `]]`")?;
                let operands = state.done.split_off(state.done.len() - n_operands);
                state.done.push(self.kernel.nodes.push(NodeKind::Linear(name), start.to(end), &operands));
                return Ok(());
            }
            Bracket::Apply(name) => NodeKind::Apply(name),
            Bracket::Reduce(op, inames) => NodeKind::Reduce(op, inames),
            Bracket::Cast(dtype) => NodeKind::Cast(dtype),
            Bracket::Op(op) if !op.arity().allows(n_operands) => {
                let (what, expected) = (format!("`{}`", op.spelling()), arity_text(op));
                self.errors.push(ReadError::WrongArity { what, expected, found: n_operands, at: span });
                return Err(Reported);
            }
            Bracket::Op(op) => NodeKind::Op(op),
        };
        let operands = state.done.split_off(state.done.len() - n_operands);
        state.done.push(self.kernel.nodes.push(kind, span, &operands));
        Ok(())
    }
}

/// Whether `a op b op c` is one operation.
pub(super) fn is_variadic(op: Op) -> bool {
    matches!(op, Op::Add | Op::Mul | Op::And | Op::Or | Op::BitAnd | Op::BitOr | Op::BitXor)
}

//! Expressions of loopy.

use std::rc::Rc;

use nestegg_ir::{Dtype, Number, Op, ReduceOp};
use nestegg_span::Span;

use crate::problem::{self, Known};

/// How deep operations may be nested: all work on expressions recurses.
pub(crate) const MAX_DEPTH: u32 = 200;

/// How large an expression may be as a tree: substitution rules can make them so.
const MAX_SIZE: u64 = 1_000_000;

/// A shared expression.
pub(crate) type E = Rc<Expr>;

/// An expression.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) kind: Kind,
    /// The operands.
    pub(crate) of: Vec<E>,
    pub(crate) at: Span,
    depth: u32,
    /// How many expressions it is, as a tree.
    size: u64,
}

/// What is reduced how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Op(ReduceOp),
    Any,
    All,
}

/// What an expression is, without its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number(Number),
    Name(String),
    /// An element of an array.
    Subscript(String),
    /// An element of an array that is seen flat.
    Linear(String),
    Call(String),
    /// An operator; a difference is a sum with a product by -1, as in loopy.
    Op(Op),
    Reduce(Reduction, Vec<String>),
    Cast(Dtype),
    /// The part of an array that some inames sweep.
    Part(Vec<String>),
}

impl Expr {
    /// An expression of others.
    pub(crate) fn new(kind: Kind, of: Vec<E>, at: Span) -> Known<E> {
        let depth = of.iter().map(|operand| operand.depth + 1).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            return Err(problem::unsupported("an expression that is nested so deep", at, ""));
        }
        let size = of.iter().fold(1, |sum: u64, operand| sum.saturating_add(operand.size));
        if size > MAX_SIZE {
            return Err(problem::unsupported("an expression that is so long", at, ""));
        }
        Ok(Rc::new(Self { kind, of, at, depth, size }))
    }

    /// An integer.
    pub(crate) fn int(value: i64, at: Span) -> E {
        Rc::new(Self { kind: Kind::Number(Number::Int(value)), of: Vec::new(), at, depth: 0, size: 1 })
    }

    /// A name.
    pub(crate) fn name(name: &str, at: Span) -> E {
        Rc::new(Self { kind: Kind::Name(name.to_owned()), of: Vec::new(), at, depth: 0, size: 1 })
    }

    /// Its value, if it is an integer.
    pub(crate) fn as_int(&self) -> Option<i64> {
        match self.kind {
            Kind::Number(Number::Int(value)) => Some(value),
            _ => None,
        }
    }

    /// Calls `see` on it and everything in it.
    pub(crate) fn visit(&self, see: &mut dyn FnMut(&Self)) {
        see(self);
        for operand in &self.of {
            operand.visit(see);
        }
    }
}

/// The same expression with other parts: `change` gives what takes the place of a part, if anything does, and sees operands first.
pub(crate) fn rebuilt(expr: &E, change: &mut dyn FnMut(&E) -> Known<Option<E>>) -> Known<E> {
    let of = expr.of.iter().map(|operand| rebuilt(operand, change)).collect::<Known<Vec<E>>>()?;
    let is_same = of.iter().zip(&expr.of).all(|(new, old)| Rc::ptr_eq(new, old));
    let expr = if is_same { expr.clone() } else { Expr::new(expr.kind.clone(), of, expr.at)? };
    Ok(change(&expr)?.unwrap_or(expr))
}

/// Whether two expressions are written the same, wherever they stand.
pub(crate) fn is_equal(a: &E, b: &E) -> bool {
    let mut operands = a.of.iter().zip(&b.of);
    a.kind == b.kind && a.of.len() == b.of.len() && operands.all(|(a, b)| is_equal(a, b))
}

/// `a*b`, without factors of one.
pub(crate) fn times(a: &E, b: &E) -> Known<E> {
    match (a.as_int(), b.as_int()) {
        (Some(a_value), Some(b_value)) if a_value.checked_mul(b_value).is_some() => {
            Ok(Expr::int(a_value.saturating_mul(b_value), a.at))
        }
        (Some(1), _) => Ok(b.clone()),
        (_, Some(1)) => Ok(a.clone()),
        _ => Expr::new(Kind::Op(Op::Mul), vec![a.clone(), b.clone()], a.at),
    }
}

/// What an expression is the negative of, if it is written so.
pub(crate) fn negated(expr: &E) -> Known<Option<E>> {
    let (Kind::Op(Op::Mul), [first, rest @ ..]) = (&expr.kind, expr.of.as_slice()) else { return Ok(None) };
    if first.as_int() != Some(-1) {
        return Ok(None);
    }
    match rest {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        several => Expr::new(Kind::Op(Op::Mul), several.to_vec(), expr.at).map(Some),
    }
}

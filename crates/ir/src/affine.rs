//! Affine integer expressions: a constant plus integer multiples of inames and parameters.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;

use crate::expr::{Expr, Exprs, Op};
use crate::ids::{ExprId, InameId, ParameterId};
use crate::number::Number;
use crate::walk::OperandsFirst;

/// What an affine expression may multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Var {
    /// The value of an iname.
    Iname(InameId),
    /// The value of a parameter.
    Parameter(ParameterId),
}

/// `constant + Σ coefficient·var`, the variables in increasing order and no coefficient zero: equal functions
/// are equal values.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Affine {
    /// The value where all variables are zero.
    pub constant: i64,
    /// Variables with their coefficients.
    pub terms: Vec<(Var, i64)>,
}

impl Affine {
    /// The constant function.
    #[must_use]
    pub fn constant(constant: i64) -> Self {
        Self { constant, terms: Vec::new() }
    }

    /// The value of one variable.
    #[must_use]
    pub fn var(var: Var) -> Self {
        Self { constant: 0, terms: vec![(var, 1)] }
    }

    /// The coefficient of `var`, zero if it does not occur.
    #[must_use]
    pub fn coefficient(&self, var: Var) -> i64 {
        match self.terms.binary_search_by_key(&var, |term| term.0) {
            Ok(idx) => self.terms[idx].1,
            Err(_) => 0,
        }
    }

    /// Its value if it has no variables.
    #[must_use]
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The iname if the function is exactly the value of one iname.
    #[must_use]
    pub fn as_iname(&self) -> Option<InameId> {
        match (self.constant, self.terms.as_slice()) {
            (0, [(Var::Iname(iname), 1)]) => Some(*iname),
            _ => None,
        }
    }

    /// The inames that occur.
    pub fn inames(&self) -> impl Iterator<Item = InameId> + '_ {
        self.terms.iter().filter_map(|(var, _)| match var {
            Var::Iname(iname) => Some(*iname),
            Var::Parameter(_) => None,
        })
    }

    /// `self + factor·other`; `None` on overflow.
    #[must_use]
    pub fn plus(&self, other: &Self, factor: i64) -> Option<Self> {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => a.0.cmp(&b.0),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let mut term = None;
            if order != Ordering::Greater {
                term = left.next().copied();
            }
            if order != Ordering::Less {
                let (var, coefficient) = *right.next()?;
                let scaled = coefficient.checked_mul(factor)?;
                term = Some((var, term.map_or(Some(scaled), |(_, c)| c.checked_add(scaled))?));
            }
            terms.extend(term.filter(|term| term.1 != 0));
        }
        let constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        Some(Self { constant, terms })
    }

    /// `factor·self`; `None` on overflow.
    #[must_use]
    pub fn times(&self, factor: i64) -> Option<Self> {
        Self::default().plus(self, factor)
    }

    /// The function with `value` in the place of `var`; `None` on overflow.
    #[must_use]
    pub fn substitute(&self, var: Var, value: &Self) -> Option<Self> {
        match self.coefficient(var) {
            0 => Some(self.clone()),
            coefficient => {
                let mut rest = self.clone();
                rest.terms.retain(|term| term.0 != var);
                rest.plus(value, coefficient)
            }
        }
    }

    /// The function as the size of an array: not below zero, where parameters that are small or large would make it so.
    pub fn to_size(&self, exprs: &mut Exprs) -> ExprId {
        let size = self.to_expr(exprs);
        let grows = self.constant >= 0 && self.terms.iter().all(|term| term.1 > 0);
        if grows || self.terms.is_empty() { size } else { exprs.clipped_at_zero(size) }
    }

    /// The function as an expression, variables first, in the usual spelling (`i + 2`, `3*i - j`).
    pub fn to_expr(&self, exprs: &mut Exprs) -> ExprId {
        let mut operands: Vec<ExprId> = Vec::with_capacity(self.terms.len() + 1);
        for &(var, coefficient) in &self.terms {
            let value = exprs.intern(match var {
                Var::Iname(iname) => Expr::Iname(iname),
                Var::Parameter(parameter) => Expr::Parameter(parameter),
            });
            operands.push(if coefficient == 1 {
                value
            } else {
                let factor = exprs.int(coefficient);
                exprs.op(Op::Mul, [factor, value])
            });
        }
        if self.constant != 0 || operands.is_empty() {
            operands.push(exprs.int(self.constant));
        }
        match operands.as_slice() {
            [single] => *single,
            _ => exprs.op(Op::Add, operands),
        }
    }
}

/// The affine function that `root` computes, if it is one: literals, inames, parameters, their sums and
/// differences, and products with constants. `None` also where a coefficient exceeds 64 bits.
#[must_use]
pub fn of(exprs: &Exprs, root: ExprId) -> Option<Affine> {
    // Most are of leaves.
    let is_operation = |expr: &Expr| matches!(expr, Expr::Op { .. });
    let expr = &exprs[root];
    if !expr.children().iter().any(|&child| is_operation(&exprs[child])) {
        let children: Vec<Affine> =
            expr.children().iter().map(|&child| combine(&exprs[child], &[])).collect::<Option<_>>()?;
        return combine(expr, &children.iter().collect::<Vec<_>>());
    }
    let mut known: FxHashMap<ExprId, Affine> = FxHashMap::default();
    let mut walk = OperandsFirst::new(root);
    while let Some(id) = walk.next_unknown(|id| known.contains_key(id)) {
        let expr = &exprs[id];
        if !matches!(
            expr,
            Expr::Number(Number::Int(_))
                | Expr::Iname(_)
                | Expr::Parameter(_)
                | Expr::Op { op: Op::Add | Op::Mul | Op::Neg | Op::Sub, .. }
        ) {
            return None;
        }
        if walk.waits_for(expr.children().iter().copied(), |child| known.contains_key(child)) {
            continue;
        }
        let children: Vec<&Affine> = expr.children().iter().map(|child| &known[child]).collect();
        let affine = combine(expr, &children)?;
        known.insert(id, affine);
    }
    known.remove(&root)
}

fn combine(expr: &Expr, children: &[&Affine]) -> Option<Affine> {
    match expr {
        Expr::Number(Number::Int(value)) => Some(Affine::constant(*value)),
        Expr::Iname(iname) => Some(Affine::var(Var::Iname(*iname))),
        Expr::Parameter(parameter) => Some(Affine::var(Var::Parameter(*parameter))),
        Expr::Op { op: Op::Add, .. } => children.iter().try_fold(Affine::default(), |sum, child| sum.plus(child, 1)),
        Expr::Op { op: Op::Sub, .. } => children[0].plus(children[1], -1),
        Expr::Op { op: Op::Neg, .. } => children[0].times(-1),
        Expr::Op { op: Op::Mul, .. } => {
            let mut product = Affine::constant(1);
            for child in children {
                product = match (product.as_constant(), child.as_constant()) {
                    (Some(factor), _) => child.times(factor)?,
                    (_, Some(factor)) => product.times(factor)?,
                    (None, None) => return None,
                };
            }
            Some(product)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iname(idx: usize) -> Var {
        Var::Iname(InameId::new(idx))
    }

    #[test]
    fn sums_cancel_and_stay_sorted() {
        let a = Affine { constant: 1, terms: vec![(iname(0), 2), (iname(2), 1)] };
        let b = Affine { constant: -1, terms: vec![(iname(0), -2), (iname(1), 5)] };
        assert_eq!(a.plus(&b, 1), Some(Affine { constant: 0, terms: vec![(iname(1), 5), (iname(2), 1)] }));
        assert_eq!(a.plus(&a, -1), Some(Affine::default()));
        assert_eq!(Affine::constant(i64::MAX).plus(&Affine::constant(1), 1), None);
    }

    #[test]
    fn expressions_go_both_ways() {
        let mut exprs = Exprs::new();
        let affine = Affine { constant: 3, terms: vec![(iname(0), 1), (iname(1), -2)] };
        let id = affine.to_expr(&mut exprs);
        assert_eq!(of(&exprs, id), Some(affine));
        let i = exprs.iname(InameId::new(0));
        let square = exprs.op(Op::Mul, [i, i]);
        assert_eq!(of(&exprs, square), None);
    }

    #[test]
    fn substitution_replaces_a_variable() {
        let affine = Affine { constant: 1, terms: vec![(iname(0), 2)] };
        let value = Affine { constant: 4, terms: vec![(iname(1), 1)] };
        assert_eq!(affine.substitute(iname(0), &value), Some(Affine { constant: 9, terms: vec![(iname(1), 2)] }));
    }
}

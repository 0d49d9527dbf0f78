//! What expressions are lists of: terms, factors, indices. Linear in them.

use nestegg_ir::{Expr, ExprId, Kernel, Op};

use super::super::facts::literal_of;

/// Whether the indices are those of the two elements of a pair.
pub(super) fn are_neighbours(kernel: &Kernel, first: &[ExprId], second: &[ExprId]) -> bool {
    let value = |id: Option<&ExprId>| id.and_then(|&id| literal_of(kernel, id)).map(|number| number.to_f64());
    let n = first.len();
    n == second.len()
        && n > 0
        && first[..n - 1] == second[..n - 1]
        && value(first.last()) == Some(0.0)
        && value(second.last()) == Some(1.0)
}

/// The terms that are added from left to right, and whether they are taken away.
pub(super) fn terms(kernel: &Kernel, mut id: ExprId) -> Vec<(bool, ExprId)> {
    let mut res = Vec::new();
    while let Expr::Op { op, operands } = &kernel.exprs[id] {
        match op {
            Op::Add => res.extend(operands[1..].iter().rev().map(|&operand| (false, operand))),
            Op::Sub => res.push((true, operands[1])),
            _ => break,
        }
        id = operands[0];
    }
    res.push((false, id));
    res.reverse();
    for (is_negated, term) in &mut res {
        let (is_opposite, unsigned) = unsigned(kernel, *term);
        (*is_negated, *term) = (*is_negated != is_opposite, unsigned);
    }
    res
}

/// Whether an expression has a sign, and the expression without it.
pub(super) fn unsigned(kernel: &Kernel, mut id: ExprId) -> (bool, ExprId) {
    let mut is_negated = false;
    while literal_of(kernel, id).is_none()
        && let Expr::Op { op: Op::Neg, operands } = &kernel.exprs[id]
    {
        is_negated = !is_negated;
        id = operands[0];
    }
    (is_negated, id)
}

/// The factors that are multiplied from left to right.
pub(super) fn factors(kernel: &Kernel, mut id: ExprId) -> Vec<ExprId> {
    let mut res = Vec::new();
    while let Expr::Op { op: Op::Mul, operands } = &kernel.exprs[id] {
        res.extend(operands[1..].iter().rev());
        id = operands[0];
    }
    res.push(id);
    res.reverse();
    res
}

/// The first two in each other's place.
pub(super) fn exchanged<T: Clone>(list: &[T]) -> Vec<T> {
    let mut res = list.to_vec();
    res.swap(0, 1);
    res
}

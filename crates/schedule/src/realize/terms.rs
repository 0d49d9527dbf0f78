//! A value as terms joined by one operation, where some terms are reductions by that operation.

use nestegg_ir::{Expr, ExprId, Exprs, Kernel, Op, ReduceOp};
use rustc_hash::{FxHashMap, FxHashSet};

use nestegg_ir::walk::below;

/// One term of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// Whether it is subtracted; only in sums.
    pub(super) negated: bool,
    /// Its expression.
    pub(super) expr: ExprId,
}

/// The operation by which a value's reductions can accumulate straight into where the value goes.
pub(super) fn joining(exprs: &Exprs, value: ExprId) -> Option<ReduceOp> {
    match &exprs[value] {
        Expr::Reduce { op, .. } => Some(*op),
        Expr::Op { op: Op::Add | Op::Sub | Op::Neg, .. } => Some(ReduceOp::Sum),
        Expr::Op { op: Op::Mul, .. } => match negated_factor(exprs, value) {
            Some(_) => Some(ReduceOp::Sum),
            None => Some(ReduceOp::Product),
        },
        Expr::Op { op: Op::Min, .. } => Some(ReduceOp::Min),
        Expr::Op { op: Op::Max, .. } => Some(ReduceOp::Max),
        _ => None,
    }
}

/// `e` if the expression is `-1·e`.
fn negated_factor(exprs: &Exprs, id: ExprId) -> Option<ExprId> {
    let Expr::Op { op: Op::Mul, operands } = &exprs[id] else {
        return None;
    };
    let [a, b] = **operands else {
        return None;
    };
    let is_minus_one = |id: ExprId| matches!(exprs[id], Expr::Number(number) if number.to_f64() == -1.0);
    match (is_minus_one(a), is_minus_one(b)) {
        (true, false) => Some(b),
        (false, true) => Some(a),
        _ => None,
    }
}

/// How an expression is made of terms joined by `op`: itself alone if it is not.
fn operands_of(exprs: &Exprs, op: ReduceOp, term: Term) -> Option<Vec<Term>> {
    let Expr::Op { op: operator, operands } = &exprs[term.expr] else {
        return None;
    };
    let same = |expr: ExprId| Term { negated: term.negated, expr };
    let opposite = |expr: ExprId| Term { negated: !term.negated, expr };
    match (op, operator) {
        (ReduceOp::Sum, Op::Sub) => Some(vec![same(operands[0]), opposite(operands[1])]),
        (ReduceOp::Sum, Op::Neg) => Some(vec![opposite(operands[0])]),
        (ReduceOp::Sum, Op::Mul) => negated_factor(exprs, term.expr).map(|factor| vec![opposite(factor)]),
        _ if *operator == op.operator() => Some(operands.iter().map(|&operand| same(operand)).collect()),
        _ => None,
    }
}

/// The terms of `value` joined by `op`. An operation is taken apart only if a reduction is among its terms, and only
/// once: what occurs a second time stays whole, so that nothing is computed twice.
pub(super) fn terms(exprs: &Exprs, op: ReduceOp, value: ExprId) -> Vec<Term> {
    let mut has_reduction: FxHashMap<ExprId, bool> = FxHashMap::default();
    for id in below(exprs, [value]) {
        let has = match operands_of(exprs, op, Term { negated: false, expr: id }) {
            Some(operands) => operands.iter().any(|term| has_reduction[&term.expr]),
            None => matches!(&exprs[id], Expr::Reduce { op: own, .. } if *own == op),
        };
        has_reduction.insert(id, has);
    }
    let mut seen = FxHashSet::default();
    let mut res = Vec::new();
    let mut pending = vec![Term { negated: false, expr: value }];
    while let Some(term) = pending.pop() {
        match operands_of(exprs, op, term) {
            Some(operands) if has_reduction[&term.expr] && seen.insert(term.expr) => {
                pending.extend(operands.into_iter().rev());
            }
            _ => res.push(term),
        }
    }
    res
}

/// The terms joined again; `None` if there is none. Joining n terms takes n − 1 operations.
pub(super) fn join(exprs: &mut Exprs, op: ReduceOp, terms: &[Term]) -> Option<ExprId> {
    let all = |exprs: &mut Exprs, negated: bool| {
        let chosen: Vec<ExprId> = terms.iter().filter(|term| term.negated == negated).map(|term| term.expr).collect();
        match chosen.as_slice() {
            [] => None,
            [single] => Some(*single),
            _ => Some(exprs.op(op.operator(), chosen)),
        }
    };
    match (all(exprs, false), all(exprs, true)) {
        (positive, None) => positive,
        (None, Some(negative)) => Some(exprs.op(Op::Neg, [negative])),
        (Some(positive), Some(negative)) => Some(exprs.op(Op::Sub, [positive, negative])),
    }
}

/// What changes nothing under an operation, if it is a number.
fn beginning(op: ReduceOp) -> Option<i64> {
    match op {
        ReduceOp::Sum => Some(0),
        ReduceOp::Product => Some(1),
        ReduceOp::Min | ReduceOp::Max => None,
    }
}

/// Whether a number changes nothing under an operation.
pub(super) fn is_neutral(op: ReduceOp, number: nestegg_ir::Number) -> bool {
    beginning(op).is_some_and(|value| number.to_f64() == value as f64)
}

/// The value that a reduction begins with, if the format has a literal for it.
pub(super) fn neutral(kernel: &mut Kernel, op: ReduceOp, dtype: nestegg_ir::Dtype) -> Option<ExprId> {
    let value = beginning(op)?;
    if dtype.is_float() {
        nestegg_ir::Float::new(value as f64).map(|value| kernel.exprs.float(value))
    } else {
        dtype.is_integer().then(|| kernel.exprs.int(value))
    }
}

//! Sums and products in other orders, and multiplied out.

use nestegg_ir::{Expr, ExprId, LinearizedKernel, Op, ReduceOp};
use rustc_hash::FxHashMap;

use super::rewrite;
use super::scope::free_inames;
use crate::choices::{Choices, Seeded};
use crate::compact::{compacted, roots};

/// Operands of sums and products change places.
pub(super) fn shuffled(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    let mut choices = Seeded::new(1);
    rewrite(&mut res, |exprs, expr| match expr {
        Expr::Op { op: op @ (Op::Add | Op::Mul), mut operands } => {
            for last in (1..operands.len()).rev() {
                operands.swap(last, choices.below(last as u64 + 1) as usize);
            }
            if choices.below(2) == 0 {
                operands.reverse();
            }
            exprs.op(op, operands)
        }
        expr => exprs.intern(expr),
    });
    (roots(&res) != roots(linearized)).then_some(res)
}

/// A sum has at most so many terms after it was multiplied out.
const MAX_TERMS: usize = 64;

/// Bodies of sum reductions, and what is stored without one, are sums of products.
pub(super) fn multiplied_out(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    let free = free_inames(&res.kernel);
    let mut expanded: FxHashMap<ExprId, Sum> = FxHashMap::default();
    let all: Vec<ExprId> = res.kernel.exprs.reachable(roots(&res));
    for &id in &all {
        let sum = match &res.kernel.exprs[id] {
            _ if free[id.index()].is_empty() => None,
            Expr::Op { op, operands } => terms(*op, operands, &expanded),
            _ => None,
        };
        expanded.insert(id, sum.unwrap_or_else(|| vec![(false, vec![id])]));
    }
    let bodies: FxHashMap<ExprId, ExprId> = all
        .iter()
        .filter_map(|&id| match &res.kernel.exprs[id] {
            Expr::Reduce { op: ReduceOp::Sum, body, .. } if expanded[body].len() > 1 => Some(*body),
            _ => None,
        })
        .collect::<Vec<_>>()
        .into_iter()
        .map(|body| (body, written(&mut res, &expanded[&body])))
        .collect();
    if bodies.is_empty() {
        return None;
    }
    // Bodies hold no reductions that change too: those stay as they are in factors.
    let old = roots(&res);
    let rewritten = res.kernel.exprs.rewrite(old, |exprs, _, expr| match expr {
        Expr::Reduce { op, inames, body } => {
            let body = bodies.get(&body).copied().unwrap_or(body);
            exprs.intern(Expr::Reduce { op, inames, body })
        }
        expr => exprs.intern(expr),
    });
    res.kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| rewritten.get(id)));
    let (res, before) = (compacted(res), compacted(linearized.clone()));
    (res.kernel.exprs.iter().map(|(_, expr)| expr).ne(before.kernel.exprs.iter().map(|(_, expr)| expr))).then_some(res)
}

/// Terms, each with whether it is subtracted, and its factors.
type Sum = Vec<(bool, Vec<ExprId>)>;

fn terms(op: Op, operands: &[ExprId], known: &FxHashMap<ExprId, Sum>) -> Option<Sum> {
    let negated = |sum: &Sum| sum.iter().map(|(sign, factors)| (!sign, factors.clone())).collect::<Sum>();
    let res = match op {
        Op::Add => operands.iter().flat_map(|operand| known[operand].clone()).collect(),
        Op::Sub => [known[&operands[0]].clone(), negated(&known[&operands[1]])].concat(),
        Op::Neg => negated(&known[&operands[0]]),
        Op::Mul => {
            let n_terms = operands.iter().map(|operand| known[operand].len()).try_fold(1_usize, usize::checked_mul)?;
            if n_terms > MAX_TERMS {
                return None;
            }
            operands.iter().fold(vec![(false, Vec::new())], |done: Sum, operand| {
                let times = |(sign, factors): &(bool, Vec<ExprId>)| {
                    known[operand]
                        .iter()
                        .map(|(other, more)| (sign != other, [factors.as_slice(), more.as_slice()].concat()))
                        .collect::<Sum>()
                };
                done.iter().flat_map(times).collect()
            })
        }
        _ => return None,
    };
    (res.len() <= MAX_TERMS).then_some(res)
}

fn written(linearized: &mut LinearizedKernel, sum: &Sum) -> ExprId {
    let exprs = &mut linearized.kernel.exprs;
    let terms: Vec<ExprId> = sum
        .iter()
        .map(|(is_negative, factors)| {
            let product = match factors.as_slice() {
                [single] => *single,
                _ => exprs.op(Op::Mul, factors.as_slice()),
            };
            if *is_negative { exprs.op(Op::Neg, [product]) } else { product }
        })
        .collect();
    match terms.as_slice() {
        [single] => *single,
        _ => exprs.op(Op::Add, terms),
    }
}

//! Reductions nested, merged and split.

use nestegg_ir::{Expr, ExprId, Exprs, InameId, InameSet, Kernel, LinearizedKernel, Op, ReduceOp};
use nestegg_isl::{Context, Set};

use super::arrays::extent;
use super::scope::free_inames;
use super::{add_iname, rewrite};
use crate::compact::roots;

fn changed(old: &LinearizedKernel, new: LinearizedKernel) -> Option<LinearizedKernel> {
    (roots(&new) != roots(old)).then_some(new)
}

/// `sum([q, r], a[q]*b[q, r])` is `sum(q, a[q]*sum(r, b[q, r]))`.
pub(super) fn nested(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    let kernel = linearized.kernel.clone();
    rewrite(&mut res, |exprs, expr| match expr {
        Expr::Reduce { op, inames, body } if inames.len() > 1 => {
            let order = kernel.enclosing_first(&inames);
            order.iter().rev().fold(body, |body, &iname| inside(&kernel, exprs, op, iname, body))
        }
        expr => exprs.intern(expr),
    });
    changed(linearized, res)
}

/// A reduction over one iname; factors that do not depend on it stand before it.
fn inside(kernel: &Kernel, exprs: &mut Exprs, op: ReduceOp, iname: InameId, body: ExprId) -> ExprId {
    let (mut outer, mut inner) = (Vec::new(), vec![body]);
    if let (ReduceOp::Sum, Expr::Op { op: Op::Mul, operands }) = (op, &exprs[body]) {
        let depends = |&id: &ExprId| free_in(kernel, exprs, id).contains(iname);
        (inner, outer) = operands.iter().copied().partition(depends);
        if inner.is_empty() {
            (outer, inner) = (Vec::new(), vec![body]);
        }
    }
    let body = match inner.as_slice() {
        [single] => *single,
        _ => exprs.op(Op::Mul, inner),
    };
    let reduced = exprs.intern(Expr::Reduce { op, inames: [iname].into(), body });
    if outer.is_empty() {
        return reduced;
    }
    outer.push(reduced);
    exprs.op(Op::Mul, outer)
}

/// The inames that an expression of a store that has grown depends on.
fn free_in(kernel: &Kernel, exprs: &Exprs, id: ExprId) -> InameSet {
    let mut part = Kernel { exprs: Exprs::new(), instructions: Vec::new(), ..kernel.clone() };
    let (compacted, kept) = exprs.compacted([id]);
    part.exprs = compacted;
    free_inames(&part)[kept.get(id).index()].clone()
}

/// `sum(q, a[q])` over `m*n` values is `sum(q0, sum(q1, a[n*q0 + q1]))`, `n` the least divisor.
pub(super) fn digits(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    let kernel = &linearized.kernel;
    let mut split: Vec<Option<(InameId, InameId, i64)>> = vec![None; kernel.inames.len()];
    for iname in kernel.iname_ids() {
        let is_alone = kernel[kernel[iname].domain].inames.len() == 1;
        let n = extent(kernel, iname)
            .filter(|&n| is_alone && kernel[iname].tags.is_empty() && starts_at_zero(kernel, iname, n));
        let Some(n) = n else { continue };
        let Some(least) = (2..n).find(|divisor| n % divisor == 0) else { continue };
        let new = &mut res.kernel;
        let wanted = format!("{}_digit", kernel[iname].name);
        let (outer, inner) = (add_iname(new, &wanted, n / least), add_iname(new, &wanted, least));
        split[iname.index()] = Some((outer, inner, least));
    }
    rewrite(&mut res, |exprs, expr| match &expr {
        Expr::Reduce { op, inames, body } => {
            let [iname] = **inames else { return exprs.intern(expr) };
            let Some((outer, inner, least)) = split[iname.index()] else { return exprs.intern(expr) };
            let (high, low, least) = (exprs.iname(outer), exprs.iname(inner), exprs.int(least));
            let scaled = exprs.op(Op::Mul, [least, high]);
            let value = exprs.op(Op::Add, [scaled, low]);
            let rewritten = exprs.rewrite([*body], |exprs, _, expr| match expr {
                Expr::Iname(other) if other == iname => value,
                expr => exprs.intern(expr),
            });
            let body = exprs.intern(Expr::Reduce { op: *op, inames: [inner].into(), body: rewritten.get(*body) });
            exprs.intern(Expr::Reduce { op: *op, inames: [outer].into(), body })
        }
        _ => exprs.intern(expr),
    });
    changed(linearized, res)
}

fn starts_at_zero(kernel: &Kernel, iname: InameId, n: i64) -> bool {
    let set = Set::parse(&Context::new(), &kernel[kernel[iname].domain].text);
    set.is_ok_and(|set| {
        let points = set.points(usize::try_from(n).unwrap_or(usize::MAX));
        points.is_ok_and(|points| points.len() as i64 == n)
    })
}

/// `sum(q, a[q]*sum(r, b[q, r]))` is `sum([q, r], a[q]*b[q, r])`.
pub(super) fn merged(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    rewrite(&mut res, |exprs, expr| {
        let Expr::Reduce { op: ReduceOp::Sum, inames, body } = &expr else { return exprs.intern(expr) };
        let factors: Vec<ExprId> = match &exprs[*body] {
            Expr::Op { op: Op::Mul, operands } => operands.to_vec(),
            _ => vec![*body],
        };
        let is_inner = |id: &&ExprId| match &exprs[**id] {
            Expr::Reduce { op: ReduceOp::Sum, inames: inner, .. } => inner.iter().all(|iname| !inames.contains(iname)),
            _ => false,
        };
        let inner: Vec<ExprId> = factors.iter().filter(is_inner).copied().collect();
        let [inner] = inner.as_slice() else { return exprs.intern(expr) };
        let Expr::Reduce { inames: more, body: inner_body, .. } = exprs[*inner].clone() else {
            return exprs.intern(expr);
        };
        let factors: Vec<ExprId> = factors.iter().map(|id| if id == inner { inner_body } else { *id }).collect();
        let body = match factors.as_slice() {
            [single] => *single,
            _ => exprs.op(Op::Mul, factors),
        };
        let inames = inames.iter().chain(more.iter()).copied().collect();
        exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames, body })
    });
    changed(linearized, res)
}

/// `sum(q, a + b)` is `sum(q, a) + sum(q, b)`, factors outside of the sum multiplied into it first.
pub(super) fn split(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    rewrite(&mut res, |exprs, expr| match expr {
        Expr::Reduce { op: ReduceOp::Sum, inames, body } => {
            let terms = addends(exprs, body);
            let sums: Vec<ExprId> = terms
                .into_iter()
                .map(|body| exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames: inames.clone(), body }))
                .collect();
            if sums.len() == 1 { sums[0] } else { exprs.op(Op::Add, sums) }
        }
        expr => exprs.intern(expr),
    });
    changed(linearized, res)
}

/// At most so many addends are made of one sum.
const MAX_ADDENDS: usize = 16;

/// What a value is the sum of: the terms of the outermost sum, or of the first sum among the factors of a product.
pub(super) fn addends(exprs: &mut Exprs, id: ExprId) -> Vec<ExprId> {
    let mut res = vec![id];
    while res.len() < MAX_ADDENDS {
        let Some((at, terms)) = res.iter().enumerate().find_map(|(at, &id)| Some((at, opened(exprs, id)?))) else {
            break;
        };
        let terms: Vec<ExprId> = terms
            .into_iter()
            .map(|(is_negative, factors)| {
                let product = if factors.len() == 1 { factors[0] } else { exprs.op(Op::Mul, factors) };
                if is_negative { exprs.op(Op::Neg, [product]) } else { product }
            })
            .collect();
        res.splice(at..=at, terms);
    }
    res
}

/// The terms of a sum, or of a product with a sum, each as factors.
fn opened(exprs: &Exprs, id: ExprId) -> Option<Vec<(bool, Vec<ExprId>)>> {
    let of_sum = |id: ExprId| -> Option<Vec<(bool, ExprId)>> {
        match &exprs[id] {
            Expr::Op { op: Op::Add, operands } => Some(operands.iter().map(|&operand| (false, operand)).collect()),
            Expr::Op { op: Op::Sub, operands } => Some(vec![(false, operands[0]), (true, operands[1])]),
            _ => None,
        }
    };
    if let Some(terms) = of_sum(id) {
        return Some(terms.into_iter().map(|(sign, term)| (sign, vec![term])).collect());
    }
    let Expr::Op { op: Op::Mul, operands } = &exprs[id] else { return None };
    let (at, terms) = operands.iter().enumerate().find_map(|(at, &operand)| Some((at, of_sum(operand)?)))?;
    let product = |(sign, term): (bool, ExprId)| {
        let mut factors = operands.to_vec();
        factors[at] = term;
        (sign, factors)
    };
    Some(terms.into_iter().map(product).collect())
}

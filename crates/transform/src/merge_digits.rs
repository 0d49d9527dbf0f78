//! Reductions over the digits of a number become reductions over the number.
//!
//! # Output
//! `sum(a, sum(b, w[4*a + b]*f[4*a + b]))` over `0 <= b < 4` becomes `sum(q, w[q]*f[q])`, where everything below reads
//! `a` and `b` only as the number `4*a + b`.
//! # Why
//! A reduction is one value however its range was cut; forms that want digits cut it where the tables say so.
//! # Legality
//! A reduction over real numbers has no order. Both inames take all values from zero to a constant, whatever others
//! are.
//! # Complexity
//! Linear in the body of each reduction over several inames, times their pairs.

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::names::{Names, add_iname};
use nestegg_ir::{Expr, ExprId, Exprs, InameId, Kernel, Licence, LinearizedKernel, ReduceOp};
use nestegg_isl as isl;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ranges::Ranges;
use crate::substitute::with_inames;

/// Merges the digits that reductions run over.
///
/// # Errors
/// If a domain cannot be used.
pub(crate) fn merge_digits(linearized: LinearizedKernel, licence: Licence) -> Result<LinearizedKernel, DomainError> {
    let LinearizedKernel { kernel, linearization } = linearized;
    if licence == Licence::Strict || !reduces_over_several(&kernel) {
        return Ok(LinearizedKernel { kernel, linearization });
    }
    let domains = Domains::new(&isl::Context::new(), &kernel)?;
    let ranges = Ranges::new(&kernel, &domains)?;
    let extents = kernel.iname_ids().map(|iname| extent(&kernel, &ranges, iname)).collect();
    let mut merger = Merger { names: Names::new(&kernel), extents, merged: FxHashMap::default(), kernel };
    let roots: Vec<ExprId> =
        merger.kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    let mut replaced: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for id in merger.kernel.exprs.reachable(roots) {
        let mut expr = merger.kernel.exprs[id].clone();
        expr.children_mut().iter_mut().for_each(|child| *child = replaced[child]);
        let new = match expr {
            Expr::Reduce { op, inames, body } => merger.reduction(op, &inames, body),
            expr => merger.kernel.exprs.intern(expr),
        };
        replaced.insert(id, new);
    }
    let mut kernel = merger.kernel;
    kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| replaced[&id]));
    Ok(LinearizedKernel { kernel, linearization })
}

fn reduces_over_several(kernel: &Kernel) -> bool {
    kernel.exprs.iter().any(|(_, expr)| match expr {
        Expr::Reduce { inames, body, .. } => inames.len() > 1 || matches!(&kernel.exprs[*body], Expr::Reduce { .. }),
        _ => false,
    })
}

/// How many values an iname takes, if it takes all from zero on, whatever others are.
fn extent(kernel: &Kernel, ranges: &Ranges, iname: InameId) -> Option<i64> {
    let (Some(0), Some(last)) = ranges.bounds(iname) else { return None };
    let is_digit = ranges.is_independent(iname) && ranges.is_interval(iname) && !kernel.is_sequential(iname);
    if is_digit { last.checked_add(1) } else { None }
}

struct Merger {
    kernel: Kernel,
    names: Names,
    /// Of each iname, where it can be a digit.
    extents: Vec<Option<i64>>,
    /// The numbers that pairs of digits are.
    merged: FxHashMap<(InameId, InameId), InameId>,
}

impl Merger {
    fn reduction(&mut self, op: ReduceOp, inames: &[InameId], mut body: ExprId) -> ExprId {
        // Nested reductions by the same operator are one.
        let mut all = inames.to_vec();
        let mut innermost = body;
        while let Expr::Reduce { op: inner, inames, body } = &self.kernel.exprs[innermost]
            && *inner == op
        {
            all.extend(inames.iter().copied());
            innermost = *body;
        }
        let mut is_merged = false;
        while let Some((high, low)) = self.digits(&all, innermost) {
            let number = self.number(high, low);
            all.retain(|&iname| iname != low);
            all.iter_mut().filter(|iname| **iname == high).for_each(|iname| *iname = number);
            // Everything reads the two as one number: what is read of the lower one tells all.
            let image = |iname| match iname {
                _ if iname == low => Some(Affine::var(Var::Iname(number))),
                _ if iname == high => Some(Affine::default()),
                _ => None,
            };
            innermost = with_inames(&mut self.kernel.exprs, [innermost], image).get(innermost);
            is_merged = true;
        }
        let mut inames: Box<[InameId]> = inames.into();
        if is_merged {
            (inames, body) = (all.into(), innermost);
        }
        self.kernel.exprs.intern(Expr::Reduce { op, inames, body })
    }

    /// Two of the inames that an expression reads as one number only.
    fn digits(&self, inames: &[InameId], body: ExprId) -> Option<(InameId, InameId)> {
        let digits: Vec<(InameId, i64)> =
            inames.iter().filter_map(|&iname| Some((iname, self.extents[iname.index()]?))).collect();
        if digits.len() < 2 {
            return None;
        }
        let reads = integers(&self.kernel.exprs, body);
        digits.iter().find_map(|&(low, extent)| {
            let is_high = |&(high, n_high): &(InameId, i64)| {
                high != low
                    && n_high.checked_mul(extent).is_some()
                    && reads.iter().all(|read| {
                        let [high, low] = [high, low].map(|iname| read.coefficient(Var::Iname(iname)));
                        low.checked_mul(extent) == Some(high)
                    })
            };
            digits.iter().find(|digit| is_high(digit)).map(|digit| (digit.0, low))
        })
    }

    fn number(&mut self, high: InameId, low: InameId) -> InameId {
        if let Some(&known) = self.merged.get(&(high, low)) {
            return known;
        }
        let extent = [high, low].iter().filter_map(|iname| self.extents[iname.index()]).product::<i64>();
        let number = add_iname(&mut self.kernel, &mut self.names, high, usize::try_from(extent).unwrap_or_default());
        self.extents.push(Some(extent));
        self.merged.insert((high, low), number);
        number
    }
}

/// The largest affine functions that an expression computes.
fn integers(exprs: &Exprs, root: ExprId) -> Vec<Affine> {
    let (mut res, mut seen, mut pending) = (Vec::new(), FxHashSet::default(), vec![root]);
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        match affine::of(exprs, id) {
            Some(affine) if !affine.terms.is_empty() => res.push(affine),
            _ => pending.extend(exprs[id].children()),
        }
    }
    res
}

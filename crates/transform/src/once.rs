//! Removes loops that run once.
//!
//! # Input
//! A kernel without substitution rules, and its order.
//! # Output
//! `A[j + 3, i] = x[i]` in a loop over `{ [j] : 0 <= j < 1 }` becomes `A[3, i] = x[i]` outside of it.
//! # Why
//! Such a loop changes nothing, but a store in it whose index does not name the iname looks like one that accumulates.
//! # Legality
//! The domain has exactly one point, whatever the parameters are. If it depends on other inames, each of these has one value, too.
//! # Complexity
//! Linear in the DAG.
//! # Not done
//! Inames with tags, inames around opaque code, which knows them by name, and inames that a domain has together with one that stays.

use nestegg_ir::affine::Affine;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{Expr, InameId, InameSet, Item, Kernel, Linearization, LinearizedKernel};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::loops::around_opaque_code;
use crate::ranges::Ranges;
use crate::substitute::image_of;

/// The kernel without the loops and reductions that run once, which forms make of short loops, equal to the bit; `None` if no iname has one value only.
#[must_use]
pub fn without_loops_of_one(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let kernel = &linearized.kernel;
    if !kernel.substitutions.is_empty() {
        return None;
    }
    let only = only_values(kernel, &InameSet::new()).ok().filter(|only| !only.is_empty())?;
    let mut res = linearized.clone();
    replace(&mut res.kernel, &mut res.linearization, &only);
    Some(res)
}

/// Removes the loops that run once; reductions stay.
///
/// # Errors
/// If isl cannot read a domain.
pub(crate) fn remove_loops_that_run_once(
    kernel: &mut Kernel,
    linearization: &mut Linearization,
) -> Result<(), DomainError> {
    let reduced = kernel.exprs.iter().filter_map(|(_, expr)| match expr {
        Expr::Reduce { inames, .. } => Some(inames.iter().copied()),
        _ => None,
    });
    let only = only_values(kernel, &reduced.flatten().collect())?;
    if !only.is_empty() {
        replace(kernel, linearization, &only);
    }
    Ok(())
}

/// Replaces inames by their only values.
fn replace(kernel: &mut Kernel, linearization: &mut Linearization, only: &FxHashMap<InameId, i64>) {
    let image = |iname: InameId| only.get(&iname).map(|&value| Affine::constant(value));
    kernel.rewrite_all(linearization, |exprs, old, expr| match (image_of(exprs, old, &image), expr) {
        (Some(affine), _) => affine.to_expr(exprs),
        (None, Expr::Reduce { op, inames, body }) => {
            let inames: Box<[InameId]> = inames.into_iter().filter(|iname| !only.contains_key(iname)).collect();
            if inames.is_empty() { body } else { exprs.intern(Expr::Reduce { op, inames, body }) }
        }
        (None, expr) => exprs.intern(expr),
    });
    for instruction in &mut kernel.instructions {
        instruction.within.retain(|iname| !only.contains_key(iname));
    }
    linearization.retain(|item| !matches!(item, Item::For(iname) | Item::End(iname) if only.contains_key(iname)));
}

/// The inames, but for those that stay, that may be replaced by their only value, with that value.
fn only_values(kernel: &Kernel, stay: &InameSet) -> Result<FxHashMap<InameId, i64>, DomainError> {
    let domains = Domains::new(&isl::Context::new(), kernel)?;
    let ranges = Ranges::new(kernel, &domains)?;
    let opaque = around_opaque_code(kernel);
    let only_value = |iname: InameId| match ranges.bounds(iname) {
        (Some(first), Some(last)) if first == last && ranges.is_interval(iname) => Some((iname, first)),
        _ => None,
    };
    let may_go = |iname: &InameId| kernel[*iname].tags.is_empty() && !stay.contains(*iname) && !opaque.contains(*iname);
    let mut res: FxHashMap<InameId, i64> = kernel.iname_ids().filter(may_go).filter_map(only_value).collect();
    loop {
        // The text of a domain is not rewritten: all that it names goes with it, or stays.
        let is_bound_by = |iname: InameId| {
            let beside = kernel[kernel[iname].domain].inames.iter().copied().collect();
            ranges.dependencies(iname).union(&beside)
        };
        let mut lost: Vec<InameId> = Vec::new();
        for iname in kernel.iname_ids() {
            let others = is_bound_by(iname);
            if !res.contains_key(&iname) {
                lost.extend(others.iter().filter(|other| res.contains_key(other)));
            } else if others.iter().any(|other| !res.contains_key(&other)) {
                lost.push(iname);
            }
        }
        if lost.is_empty() {
            return Ok(res);
        }
        lost.iter().for_each(|iname| {
            res.remove(iname);
        });
    }
}

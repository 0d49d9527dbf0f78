//! Removes loops that run once.
//!
//! # Input
//! A kernel without substitution rules, and its order.
//! # Output
//! `A[j + 3, i] = x[i]` in a loop over `{ [j] : 0 <= j < 1 }` becomes `A[3, i] = x[i]` outside of it.
//! # Why
//! Such a loop changes nothing, but a store in it whose index does not name the iname looks like one that accumulates.
//! # Legality
//! The domain has exactly one point, whatever the parameters are.
//! # Complexity
//! Linear in the DAG.
//! # Not done
//! Inames of reductions, inames with tags, inames around opaque code, which knows them by name, and inames whose domain
//! has parameters or other inames.

use nestegg_ir::domains::DomainError;
use nestegg_ir::{Expr, InameId, InameSet, Item, Kernel, Linearization};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::loops::around_opaque_code;

/// Removes the loops that run once.
///
/// # Errors
/// If isl cannot read a domain.
pub(crate) fn remove_loops_that_run_once(
    kernel: &mut Kernel,
    linearization: &mut Linearization,
) -> Result<(), DomainError> {
    let only = only_values(kernel)?;
    if only.is_empty() {
        return Ok(());
    }
    kernel.rewrite_all(linearization, |exprs, _, expr| match expr {
        Expr::Iname(iname) if let Some(&value) = only.get(&iname) => exprs.int(value),
        expr => exprs.intern(expr),
    });
    for instruction in &mut kernel.instructions {
        instruction.within.retain(|iname| !only.contains_key(iname));
    }
    linearization.retain(|item| !matches!(item, Item::For(iname) | Item::End(iname) if only.contains_key(iname)));
    Ok(())
}

/// The inames that may be replaced by their only value, with that value.
fn only_values(kernel: &Kernel) -> Result<FxHashMap<InameId, i64>, DomainError> {
    let context = isl::Context::new();
    let stays = those_that_stay(kernel);
    let mut res = FxHashMap::default();
    for id in kernel.domain_ids() {
        let domain = &kernel[id];
        let &[iname] = &domain.inames[..] else { continue };
        if stays.contains(iname) || !domain.enclosing.is_empty() || !domain.parameters.is_empty() {
            continue;
        }
        let set = isl::Set::parse(&context, &domain.text).map_err(|error| DomainError::Text { domain: id, error })?;
        let name = &kernel[iname].name;
        if let (Some(first), Some(last)) = (set.dim_min_val(name)?, set.dim_max_val(name)?)
            && first == last
        {
            res.insert(iname, first);
        }
    }
    Ok(res)
}

fn those_that_stay(kernel: &Kernel) -> InameSet {
    let mut res: InameSet = kernel.iname_ids().filter(|&iname| !kernel[iname].tags.is_empty()).collect();
    res.extend(kernel.domains.iter().flat_map(|domain| domain.enclosing.iter().copied()));
    res.extend(around_opaque_code(kernel).iter());
    for (_, expr) in kernel.exprs.iter() {
        if let Expr::Reduce { inames, .. } = expr {
            res.extend(inames.iter().copied());
        }
    }
    res
}

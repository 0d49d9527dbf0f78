//! Joins domains of enclosed loops into one domain, where that changes nothing.
//!
//! # Input
//! A kernel with its order.
//! # Output
//! The same kernel: `{ [i] : 0 <= i < n }` and `[i] -> { [j] : 0 <= j <= i }` become
//! `{ [i, j] : 0 <= i < n and 0 <= j <= i }`. In one domain a loop over `j` can enclose the one over `i`, over all
//! values that `j` has for any `i`; so values that depend on `j` alone can be computed once.
//! # Method
//! A domain that encloses another is joined with it if every instruction in loops of the outer one is in those of the
//! inner one too, or if isl proves that the inner one has a value for every point of the outer one; otherwise the outer
//! one would lose points. Inames of reductions stay as they are.
//! # Complexity
//! A projection and a comparison for each enclosed domain.
//! # Not done
//! Domains that several others enclose, and those that data end.

use nestegg_ir::data_bounds::end_of;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{DomainId, Expr, InameId, InameSet, Kernel, LinearizedKernel};
use nestegg_isl as isl;

/// Joins domains of loops with those that enclose them.
///
/// # Errors
/// If a domain cannot be read.
pub fn join_domains(mut linearized: LinearizedKernel) -> Result<LinearizedKernel, DomainError> {
    let kernel = &mut linearized.kernel;
    if kernel.domains.iter().all(|domain| domain.enclosing.is_empty()) {
        return Ok(linearized);
    }
    let mut reduced = InameSet::new();
    for (_, expr) in kernel.exprs.iter() {
        if let Expr::Reduce { inames, .. } = expr {
            reduced.extend(inames.iter().copied());
        }
    }
    let context = isl::Context::new();
    while let Some((outer, inner, joint)) = joinable(kernel, &context, &reduced)? {
        join(kernel, outer, inner, &joint)?;
    }
    Ok(linearized)
}

/// A domain, one that it encloses, and both as one set.
fn joinable(
    kernel: &Kernel,
    context: &isl::Context,
    reduced: &InameSet,
) -> Result<Option<(DomainId, DomainId, isl::Set)>, DomainError> {
    let domains = Domains::new(context, kernel)?;
    let is_of_loops = |domain: DomainId| !kernel[domain].inames.iter().any(|&iname| reduced.contains(iname));
    for inner in kernel.domain_ids().filter(|&inner| is_of_loops(inner)) {
        let Some(&first) = kernel[inner].enclosing.first() else { continue };
        let outer = kernel[first].domain;
        let is_alone = kernel[inner].enclosing.iter().all(|&iname| kernel[iname].domain == outer);
        let is_open = |domain: DomainId| end_of(kernel, domain).is_some();
        if is_open(inner) || is_open(outer) {
            continue;
        }
        if !is_alone || !kernel[outer].enclosing.is_empty() || !is_of_loops(outer) {
            continue;
        }
        let all = |domain: DomainId| kernel[domain].inames.iter().copied();
        let joint = domains.of(&all(outer).chain(all(inner)).collect())?;
        let alone = domains.of(&all(outer).collect())?;
        let names: Vec<String> = alone.dim_names()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if nothing_between(kernel, outer, inner) || alone.is_subset(&joint.project_onto(&names)?)? {
            // Without what is assumed of parameters, which may be others.
            let both = isl::Set::combine(&[domains.set(outer).clone(), domains.set(inner).clone()])?;
            return Ok(Some((outer, inner, both.set_tuple_name(None)?.coalesce()?)));
        }
    }
    Ok(None)
}

/// Whether all instructions in loops of one domain are in those of another too.
fn nothing_between(kernel: &Kernel, outer: DomainId, inner: DomainId) -> bool {
    kernel.instructions.iter().all(|instruction| {
        let is_within = |iname: &InameId| instruction.within.contains(iname);
        !kernel[outer].inames.iter().any(is_within) || kernel[inner].inames.iter().all(is_within)
    })
}

/// Makes two domains one; those after the inner one are numbered anew.
fn join(kernel: &mut Kernel, outer: DomainId, inner: DomainId, joint: &isl::Set) -> Result<(), DomainError> {
    let removed = kernel.domains.remove(inner.index());
    let renumbered = |domain: DomainId| match domain {
        domain if domain == inner => outer,
        domain => domain,
    };
    let after = |domain: DomainId| DomainId::new(domain.index() - usize::from(domain.index() > inner.index()));
    for iname in &mut kernel.inames {
        iname.domain = after(renumbered(iname.domain));
    }
    let by_name = |name: &String| kernel.inames.iter().position(|iname| iname.name == *name).map(InameId::new);
    let inames = joint.dim_names()?.iter().filter_map(by_name).collect();
    let domain = &mut kernel.domains[after(outer).index()];
    domain.text = joint.to_string();
    domain.inames = inames;
    domain.parameters.extend(removed.parameters);
    domain.parameters.sort_unstable();
    domain.parameters.dedup();
    Ok(())
}

//! Predicates that hold wherever an instruction runs go.
//!
//! # Input
//! A kernel in value form.
//! # Output
//! The same without predicates that hold at every point of the domain of their instruction, `i >= 0` over `0 <= i < n` for one.
//! # Method
//! isl compares the domain with its part where the predicate holds; only predicates of affine comparisons are looked at.
//! # Complexity
//! One comparison for each predicate and set of loops around it.

use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{ExprId, InameSet, Kernel};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

/// Drops predicates that always hold.
///
/// # Errors
/// If a domain cannot be used.
pub(crate) fn drop_decided(kernel: &mut Kernel) -> Result<(), DomainError> {
    if kernel.instructions.iter().all(|instruction| instruction.predicates.is_empty()) {
        return Ok(());
    }
    let domains = Domains::new(&isl::Context::new(), kernel)?;
    let mut known: FxHashMap<(ExprId, InameSet), bool> = FxHashMap::default();
    for insn in kernel.insn_ids() {
        let within = kernel[insn].within_set();
        let mut kept = Vec::new();
        for predicate in kernel[insn].predicates.clone() {
            let key = (predicate, within.clone());
            let always = match known.get(&key) {
                Some(&always) => always,
                None => always_holds(kernel, &domains, predicate, &within)?,
            };
            known.insert(key, always);
            if !always {
                kept.push(predicate);
            }
        }
        kernel[insn].predicates = kept;
    }
    Ok(())
}

fn always_holds(
    kernel: &Kernel,
    domains: &Domains,
    predicate: ExprId,
    within: &InameSet,
) -> Result<bool, DomainError> {
    if !Domains::is_affine(kernel, predicate) {
        return Ok(false);
    }
    let all = domains.of(within)?;
    match domains.restrict(&all, kernel, predicate)? {
        Some(part) => Ok(all.is_subset(&part)?),
        None => Ok(false),
    }
}

//! Removes conditions that always hold where they are tested.
//!
//! # Output
//! The kernel without predicates that hold at every point of the loops of their instruction, such as `i >= 0` over
//! `0 <= i < n`, and without such conditions in its order.
//! # Method
//! isl compares the domain of the loops with its part where the condition holds; only conditions of affine comparisons
//! count.
//! # Complexity
//! One comparison for each condition and set of loops around it.

use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{ExprId, InameSet, Item, Kernel, Linearization};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

/// Drops conditions that always hold.
///
/// # Errors
/// If a domain cannot be used.
pub(crate) fn drop_decided(kernel: &mut Kernel, linearization: &mut Linearization) -> Result<(), DomainError> {
    let has_predicates = kernel.instructions.iter().any(|instruction| !instruction.predicates.is_empty());
    if !has_predicates && !linearization.iter().any(|item| matches!(item, Item::If(_))) {
        return Ok(());
    }
    let mut decisions = Decisions { domains: Domains::new(&isl::Context::new(), kernel)?, known: FxHashMap::default() };
    for insn in kernel.insn_ids() {
        let within = kernel[insn].within_set();
        let mut kept = Vec::new();
        for predicate in kernel[insn].predicates.clone() {
            if !decisions.always(kernel, predicate, &within)? {
                kept.push(predicate);
            }
        }
        kernel[insn].predicates = kept;
    }
    // The open loops, and for each open condition whether it stays.
    let (mut loops, mut open) = (InameSet::new(), Vec::new());
    let mut res = Linearization::with_capacity(linearization.len());
    for item in linearization.drain(..) {
        let stays = match item {
            Item::For(iname) => loops.insert(iname),
            Item::End(iname) => loops.remove(iname),
            Item::If(condition) => {
                open.push(!decisions.always(kernel, condition, &loops)?);
                open.last() == Some(&true)
            }
            Item::EndIf => open.pop().unwrap_or(true),
            Item::Run(_) => true,
        };
        if stays {
            res.push(item);
        }
    }
    *linearization = res;
    Ok(())
}

/// What is known of conditions inside loops.
struct Decisions {
    domains: Domains,
    known: FxHashMap<(ExprId, InameSet), bool>,
}

impl Decisions {
    fn always(&mut self, kernel: &Kernel, condition: ExprId, loops: &InameSet) -> Result<bool, DomainError> {
        let key = (condition, loops.clone());
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let mut res = false;
        if Domains::is_affine(kernel, condition) {
            let all = self.domains.of(loops)?;
            if let Some(part) = self.domains.restrict(&all, kernel, condition)? {
                res = all.is_subset(&part)?;
            }
        }
        self.known.insert(key, res);
        Ok(res)
    }
}

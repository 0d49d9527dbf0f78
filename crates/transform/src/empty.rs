//! Removes code that never runs: instructions in loops without points, whatever the parameters are.
//!
//! # Input
//! A kernel with its order.
//! # Output
//! The same kernel without instructions whose inames have no values under the assumptions, and without the loops and
//! conditions around them. [`eliminate_dead`](crate::eliminate_dead) then removes what only those needed.
//! # Complexity
//! One question to isl for each set of inames that instructions are within.
//! # Not done
//! Conditions that never hold, and reductions over nothing: [`fold_constants`](crate::fold_constants) handles both.

use nestegg_ir::domains::Domains;
use nestegg_ir::{InameSet, Item, LinearizedKernel};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::compact::compact;
use crate::dead::without_empty;

/// What isl may spend on one call; what it cannot decide stays.
const MAX_ISL_OPERATIONS: u64 = 200_000;

/// Takes away what never runs.
#[must_use]
pub fn eliminate_empty(linearized: LinearizedKernel) -> LinearizedKernel {
    let context = isl::Context::new();
    let Ok(domains) = Domains::new(&context, &linearized.kernel) else { return linearized };
    context.set_max_operations(Some(MAX_ISL_OPERATIONS));
    let mut known: FxHashMap<InameSet, bool> = FxHashMap::default();
    let instructions = linearized.kernel.instructions.iter();
    let never: Vec<bool> = instructions
        .map(|instruction| {
            let within = instruction.within_set();
            *known.entry(within.clone()).or_insert_with(|| is_empty(&domains, &within))
        })
        .collect();
    if !never.contains(&true) {
        return linearized;
    }
    let LinearizedKernel { kernel, linearization } = linearized;
    let runs = |item: &Item| !matches!(item, Item::Run(insn) if never[insn.index()]);
    let linearization = without_empty(linearization.into_iter().filter(runs).collect());
    compact(LinearizedKernel { kernel, linearization })
}

/// Whether isl is sure that the inames have no values together.
pub(crate) fn is_empty(domains: &Domains, inames: &InameSet) -> bool {
    domains.once("is empty", inames, || Ok(domains.of(inames)?.is_empty()?)).unwrap_or(false)
}

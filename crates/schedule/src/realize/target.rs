//! Whether a value may read the element that it is added to.
//!
//! # Method
//! Other elements of the same array may be read, if isl knows that they are others: in elimination, `a[i, k]*a[k, j]` with `k < i` and `i <= j` does not read
//! `a[i, j]`. What substitution rules read may be any element.

use std::cell::OnceCell;

use nestegg_ir::domains::Domains;
use nestegg_ir::walk::below;
use nestegg_ir::{ArrayId, Assignee, Expr, ExprId, InameId, Kernel, SubstitutionId};
use rustc_hash::FxHashSet;

use crate::meet;

/// Answers questions about the elements that instructions of a kernel write.
#[derive(Default)]
pub(super) struct Targets {
    /// Made when isl is first asked; `None` if it cannot read a domain.
    domains: OnceCell<Option<Domains>>,
}

impl Targets {
    /// Whether a value reads the target, in the same iteration of all open loops.
    pub(super) fn may_be_read(&self, kernel: &Kernel, open: &[InameId], target: &Assignee, value: ExprId) -> bool {
        below(&kernel.exprs, [value]).into_iter().any(|id| match &kernel.exprs[id] {
            Expr::Access { array, indices } if *array == target.array => {
                let domains = self.domains.get_or_init(|| meet::domains(kernel)).as_ref();
                !domains.is_some_and(|domains| domains.are_different(&kernel.exprs, &target.indices, indices, open))
            }
            Expr::Substitution { rule, .. } => rules_reading(kernel, target.array).contains(rule),
            _ => false,
        })
    }
}

/// The substitution rules that read an array, by themselves or by others.
fn rules_reading(kernel: &Kernel, array: ArrayId) -> FxHashSet<SubstitutionId> {
    let mut res: FxHashSet<SubstitutionId> = FxHashSet::default();
    loop {
        let reads = |id: ExprId| match &kernel.exprs[id] {
            Expr::Access { array: read, .. } => *read == array,
            Expr::Substitution { rule, .. } => res.contains(rule),
            _ => false,
        };
        let is_new = |rule: &SubstitutionId| {
            !res.contains(rule) && below(&kernel.exprs, [kernel[*rule].expression]).into_iter().any(reads)
        };
        let found: Vec<SubstitutionId> = kernel.substitution_ids().filter(is_new).collect();
        if found.is_empty() {
            return res;
        }
        res.extend(found);
    }
}

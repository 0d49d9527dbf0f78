//! Whether a value may read the element that it is added to.
//!
//! # Method
//! Other elements of the same array may be read, if isl knows that they are others: in elimination, `a[i, k]*a[k, j]` with `k < i` and `i <= j` does not read
//! `a[i, j]`. What substitution rules read may be any element.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use nestegg_ir::domains::Domains;
use nestegg_ir::order::rule_reads;
use nestegg_ir::walk::below;
use nestegg_ir::{ArrayId, Assignee, Expr, ExprId, InameId, Kernel};

use crate::meet::MAX_ISL_OPERATIONS;

/// Answers questions about the elements that instructions of a kernel write.
pub(super) struct Targets {
    /// Made when isl is first asked; `None` if it cannot read a domain.
    domains: OnceCell<Option<Domains>>,
    /// For each substitution rule the arrays that it reads.
    rules: Vec<BTreeSet<ArrayId>>,
}

impl Targets {
    pub(super) fn new(kernel: &Kernel) -> Self {
        Self { domains: OnceCell::new(), rules: rule_reads(kernel) }
    }

    /// Whether a value reads the target, in the same iteration of all open loops.
    pub(super) fn may_be_read(&self, kernel: &Kernel, open: &[InameId], target: &Assignee, value: ExprId) -> bool {
        below(&kernel.exprs, [value]).into_iter().any(|id| match &kernel.exprs[id] {
            Expr::Access { array, indices } if *array == target.array => {
                let domains = self.domains.get_or_init(|| Domains::bounded(kernel, MAX_ISL_OPERATIONS).ok()).as_ref();
                !domains.is_some_and(|domains| domains.are_different(&kernel.exprs, &target.indices, indices, open))
            }
            Expr::Substitution { rule, .. } => self.rules[rule.index()].contains(&target.array),
            _ => false,
        })
    }
}

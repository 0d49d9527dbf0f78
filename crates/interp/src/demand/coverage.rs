//! Which outcomes the decisions of a kernel have had.
//!
//! A decision is a condition (of a selection, an instruction or a part of the linearization, or an operand of `and` or `or`), with the outcomes false (0) and true
//! (1), or an extremum, with its operands as outcomes.

use std::collections::BTreeMap;

use nestegg_ir::ExprId;

use crate::demand::plan::Plan;

/// The outcomes seen, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcomes {
    /// Those that were seen; of an extremum with more than 64 operands the first 64.
    pub(crate) seen: u64,
    /// How many there may be.
    pub(crate) n_outcomes: u32,
}

impl Outcomes {
    /// Whether one was not seen.
    pub(crate) fn lacks(&self, outcome: u32) -> bool {
        outcome < 64 && self.seen & (1 << outcome) == 0
    }
}

/// The outcomes of each decision of a [`Plan`].
#[derive(Clone, Debug)]
pub(crate) struct Coverage {
    seen: Vec<u64>,
}

impl Coverage {
    pub(super) fn new(n_decisions: usize) -> Self {
        Self { seen: vec![0; n_decisions] }
    }

    #[inline]
    pub(super) fn see(&mut self, decision: usize, outcome: i64) {
        if let 0..64 = outcome {
            self.seen[decision] |= 1 << outcome;
        }
    }

    /// What either has seen; both are of one plan.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.seen.iter_mut().zip(&other.seen).for_each(|(own, other)| *own |= other);
    }

    /// By the kernel's own expressions; one in the body of a substitution rule has seen what it sees wherever the rule is applied.
    pub(crate) fn by_expression(&self, plan: &Plan<'_>) -> BTreeMap<ExprId, Outcomes> {
        let mut res: BTreeMap<ExprId, Outcomes> = BTreeMap::new();
        for (idx, decision) in plan.decisions.iter().enumerate() {
            for &expr in &plan.decided[idx] {
                let entry = res.entry(expr).or_default();
                let mask = if decision.n_outcomes < 64 { (1 << decision.n_outcomes) - 1 } else { u64::MAX };
                entry.seen |= self.seen[idx] & mask;
                entry.n_outcomes = decision.n_outcomes;
            }
        }
        res
    }
}

//! What variables for inames stand for, and which reductions may be made of them.
//!
//! A reduction of a right side is over the inames of one reduction of the left side, of parts of it, or of several. It is made only
//! if its points are those that the left side runs over: values of inames that depend on one another stay together, or in the order
//! in which they were, and no range depends on an iname of that name bound elsewhere. Whether what is *reduced* may
//! go in or out is not asked here: that is the rule's condition.

use nestegg_ir::{InameId, InameSet, ReduceOp};

use crate::analysis::Graph;
use crate::context::Context;
use crate::language::ReductionId;

/// Some or all inames of a reduction that a left side matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// The inames.
    pub(super) inames: InameSet,
    /// In the order of the reduction, for those whose order is kept.
    pub(super) ordered: Vec<InameId>,
    /// Inames around the reduction that it is coupled with.
    pinned: InameSet,
    /// Which reduction of the left side it was, by number.
    reduction: usize,
    /// The reductions of the left side around it, by number.
    within: Vec<usize>,
}

impl Bound {
    /// All inames of a matched reduction.
    pub(super) fn new(context: &Context, id: ReductionId, reduction: usize, within: &[usize]) -> Self {
        let known = context.reduction(id);
        Self {
            inames: known.inames.iter().copied().collect(),
            ordered: known.inames.to_vec(),
            pinned: known.pinned.clone(),
            reduction,
            within: within.to_vec(),
        }
    }

    /// Some of the inames.
    pub(super) fn part(&self, inames: &InameSet) -> Self {
        let ordered = self.ordered.iter().copied().filter(|&iname| inames.contains(iname)).collect();
        Self { inames: inames.clone(), ordered, ..self.clone() }
    }

    /// How many points these inames have, if that is one number whatever else.
    pub(super) fn size(&self, context: &Context) -> Option<i64> {
        let mut n = 1_i64;
        for iname in self.inames.iter() {
            let is_alone = context.coupled_with(&[iname].into_iter().collect()).is_empty();
            n = n.checked_mul(context.extent(iname).filter(|_| is_alone)?)?;
        }
        Some(n)
    }

    fn range(&self, context: &Context) -> InameSet {
        context.free_in_range(&self.inames, &self.pinned)
    }

    /// Whether the two may be inames of one reduction.
    fn may_join(&self, other: &Self, context: &Context) -> bool {
        if self.reduction == other.reduction {
            return self.inames.is_disjoint(&other.inames);
        }
        let (inner, outer) = if other.within.contains(&self.reduction) { (other, self) } else { (self, other) };
        let coupled = context.coupled_with(&inner.inames).intersection(&outer.inames);
        let is_nested = inner.within.contains(&outer.reduction);
        inner.inames.is_disjoint(&outer.inames)
            && inner.inames.is_disjoint(&outer.range(context))
            && if is_nested {
                coupled.is_subset(&inner.pinned)
            } else {
                coupled.is_empty() && outer.inames.is_disjoint(&inner.range(context))
            }
    }

    /// Whether a reduction over `inner` may stand inside one over `self`.
    fn may_enclose(&self, inner: &Self, context: &Context) -> bool {
        if inner.within.contains(&self.reduction) && self.reduction != inner.reduction {
            return inner.inames.is_disjoint(&self.inames);
        }
        let is_same = self.reduction == inner.reduction;
        inner.inames.is_disjoint(&self.inames)
            && inner.inames.is_disjoint(&self.range(context))
            && (is_same
                || self.inames.is_disjoint(&inner.range(context))
                    && context.coupled_with(&inner.inames).is_disjoint(&self.inames))
    }
}

/// The reduction of `op` over all inames of `parts`, inside those over `outer`; `None` if it would be over other points.
pub(super) fn reduction(graph: &mut Graph, op: ReduceOp, parts: &[&Bound], outer: &[&Bound]) -> Option<ReductionId> {
    let context = &graph.analysis.context;
    for (idx, part) in parts.iter().enumerate() {
        let joins = parts[..idx].iter().all(|other| part.may_join(other, context));
        if !joins || !outer.iter().all(|other| other.may_enclose(part, context)) {
            return None;
        }
    }
    let scope = parts.iter().fold(InameSet::new(), |all, part| all.union(&part.pinned));
    let inames = parts.iter().fold(InameSet::new(), |all, part| all.union(&part.inames));
    let is_strict = context.is_strict();
    let context = &mut graph.analysis.context;
    match parts {
        [all] => Some(context.intern_ordered_reduction(op, &all.ordered, &scope)),
        _ if is_strict => None,
        _ => Some(context.intern_reduction(op, &inames, &scope)),
    }
}

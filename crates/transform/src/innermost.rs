//! What an innermost loop reads and writes.
//!
//! # Input
//! A kernel in its final order, and a loop in it that holds nothing but assignments.
//! # Output
//! The elements that it writes, those that every iteration reads of the same arrays, which of them are the same in all iterations, and whether there is one.
//! # Complexity
//! Linear in the instructions of the loop, and what isl takes.

use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::walk::{arrays_below, below};
use nestegg_ir::{
    Assignee, Expr, ExprId, InameId, InameSet, InameTag, InsnId, Instruction, InstructionKind, Kernel, LoopTree, Op,
    affine,
};
use rustc_hash::FxHashSet;

/// An innermost loop.
pub(crate) struct Innermost<'a> {
    kernel: &'a Kernel,
    iname: InameId,
    insns: Vec<InsnId>,
}

impl<'a> Innermost<'a> {
    /// The loop over an iname with this body; `None` if there is something else in it than assignments, or if its iterations are lanes.
    pub(crate) fn of(kernel: &'a Kernel, iname: InameId, body: &[LoopTree]) -> Option<Self> {
        let assignment = |node: &LoopTree| match node {
            LoopTree::Run(insn) => matches!(kernel[*insn].kind, InstructionKind::Assignment { .. }).then_some(*insn),
            _ => None,
        };
        let insns = body.iter().map(assignment).collect::<Option<Vec<InsnId>>>()?;
        (!kernel[iname].tags.contains(&InameTag::Vec)).then_some(Self { kernel, iname, insns })
    }

    /// Its instructions, in order.
    pub(crate) fn insns(&self) -> &[InsnId] {
        &self.insns
    }

    /// Its instructions that run in every iteration.
    pub(crate) fn certain(&self) -> impl Iterator<Item = &'a Instruction> {
        self.insns.iter().map(|&insn| &self.kernel[insn]).filter(|instruction| instruction.predicates.is_empty())
    }

    /// The elements that its instructions write, in order.
    pub(crate) fn writes(&self) -> impl Iterator<Item = &'a Assignee> {
        self.insns.iter().map(|&insn| &self.kernel[insn].assignees()[0])
    }

    /// Whether an element is the same in all iterations.
    pub(crate) fn stays(&self, element: &Assignee) -> bool {
        let exprs = &self.kernel.exprs;
        element.indices.iter().all(|&index| {
            let varies = |id: ExprId| matches!(exprs[id], Expr::Iname(other) if other == self.iname);
            affine::of(exprs, index).is_some()
                && !below(exprs, [index]).into_iter().any(varies)
                && arrays_below(exprs, [index]).iter().all(|array| !self.writes().any(|write| write.array == *array))
        })
    }

    /// What every iteration reads of the arrays that the loop writes, whatever choices in its expressions depend on.
    pub(crate) fn certain_reads(&self) -> Vec<Assignee> {
        let exprs = &self.kernel.exprs;
        let mut pending: Vec<ExprId> = self.certain().flat_map(Instruction::expressions).collect();
        let mut seen: FxHashSet<ExprId> = FxHashSet::default();
        while let Some(id) = pending.pop() {
            if seen.insert(id) {
                pending.extend(match &exprs[id] {
                    Expr::Reduce { .. } => &[],
                    Expr::Op { op: Op::If | Op::And | Op::Or, operands } => &operands[..1],
                    other => other.children(),
                });
            }
        }
        let mut found: Vec<ExprId> = seen.into_iter().collect();
        found.sort_unstable();
        let accesses = found.into_iter().filter_map(|id| match &exprs[id] {
            Expr::Access { array, indices } if self.writes().any(|write| write.array == *array) => {
                Some(Assignee { array: *array, indices: indices.clone() })
            }
            _ => None,
        });
        accesses.collect()
    }

    /// Whether an element is none of those that the loop writes inside loops over `open`, as isl knows.
    pub(crate) fn is_unwritten(&self, element: &Assignee, domains: &Domains, open: &[InameId]) -> bool {
        self.writes()
            .filter(|write| write.array == element.array)
            .all(|write| domains.are_different(&self.kernel.exprs, &element.indices, &write.indices, open))
    }

    /// Whether the loop runs at least once inside of those over `open`; `None` if it never runs `n_trips` times, or nobody knows.
    pub(crate) fn runs(&self, domains: &Domains, open: &[InameId], n_trips: i64) -> Option<bool> {
        let outer: InameSet = open.iter().copied().collect();
        let answer = || {
            let (set, name) = (domains.projection(self.iname)?, &self.kernel[self.iname].name);
            let ends = (set.dim_min_val(name)?, set.dim_max_val(name)?);
            let is_short = matches!(ends, (Some(first), Some(last)) if last - first < n_trips - 1);
            Ok::<_, DomainError>((!is_short).then_some(domains.surely_runs(self.iname, &outer)?))
        };
        answer().ok().flatten()
    }
}

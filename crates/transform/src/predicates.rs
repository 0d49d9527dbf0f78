//! Conditions of the linearization become predicates of the instructions under them.
//!
//! # Input
//! A kernel without substitution rules, with its order.
//! # Output
//! The same kernel without the conditions that can be tested at each instruction under them: they become its first
//! predicates, the outermost first. The scheduler makes conditions around neighbours again.
//! # Legality
//! Nothing under the condition is opaque or writes memory that the condition reads, and the condition has no reduction.
//! Code tests an inner condition after the outer one, so the outer one stays if the inner one does.
//! # Complexity
//! Linear in the linearization times the depth of conditions.

use std::collections::BTreeMap;

use nestegg_ir::linearization::{LoopTree, from_tree, runs_in, to_tree};
use nestegg_ir::walk::each_with;
use nestegg_ir::{Expr, ExprId, InsnId, InstructionKind, Kernel, LinearizedKernel};

use crate::memory::Memory;

/// Makes conditions predicates.
pub(crate) fn conditions_to_predicates(linearized: LinearizedKernel) -> LinearizedKernel {
    let LinearizedKernel { mut kernel, linearization } = linearized;
    let Ok(tree) = to_tree(&linearization) else { return LinearizedKernel { kernel, linearization } };
    let mut pass = Pass {
        kernel: &kernel,
        memory: Memory::new(&kernel),
        reduces: each_with(&kernel.exprs, |expr| matches!(expr, Expr::Reduce { .. })),
        predicates: BTreeMap::default(),
    };
    let (tree, _) = pass.sequence(tree);
    let predicates = pass.predicates;
    for (insn, mut own) in predicates {
        own.reverse();
        own.extend(kernel[insn].predicates.iter().copied());
        kernel[insn].predicates = own;
    }
    LinearizedKernel { kernel, linearization: from_tree(&tree) }
}

struct Pass<'a> {
    kernel: &'a Kernel,
    memory: Memory,
    /// For each expression whether a reduction is in it.
    reduces: Vec<bool>,
    /// New predicates of instructions, the innermost first.
    predicates: BTreeMap<InsnId, Vec<ExprId>>,
}

impl Pass<'_> {
    /// The sequence without conditions, and whether none is left.
    fn sequence(&mut self, nodes: Vec<LoopTree>) -> (Vec<LoopTree>, bool) {
        let mut res = Vec::with_capacity(nodes.len());
        let mut is_bare = true;
        for node in nodes {
            match node {
                LoopTree::Loop { iname, body } => {
                    let (body, own) = self.sequence(body);
                    is_bare &= own;
                    res.push(LoopTree::Loop { iname, body });
                }
                LoopTree::Branch { condition, body } => {
                    let (body, own) = self.sequence(body);
                    let insns = runs_in(&body);
                    if own && self.can_be_tested_inside(condition, &insns) {
                        for insn in insns {
                            self.predicates.entry(insn).or_default().push(condition);
                        }
                        res.extend(body);
                    } else {
                        is_bare = false;
                        res.push(LoopTree::Branch { condition, body });
                    }
                }
                run @ LoopTree::Run(_) => res.push(run),
            }
        }
        (res, is_bare)
    }

    fn can_be_tested_inside(&self, condition: ExprId, insns: &[InsnId]) -> bool {
        let reads = self.memory.of(condition);
        !self.reduces[condition.index()]
            && insns.iter().all(|&insn| {
                !matches!(self.kernel[insn].kind, InstructionKind::Opaque { .. })
                    && !self.kernel[insn].written_arrays().iter().any(|array| reads.contains(array))
            })
    }
}

//! Selections that do not vary in a loop become two instructions, one for each branch.
//!
//! # Input
//! A loop tree.
//! # Output
//! `y = a if c else b` in a loop over which `c` does not vary is `y = a` under the predicate `c` and `y = b` under its negation,
//! each in loops of its own. Where `b` is what `y` was, or `y` joined with what changes nothing, there is no second instruction.
//! # Legality
//! The two run at different points; `c` does not read what they write.
//! # Complexity
//! Linear in the instructions and what is below their conditions.
//! # Not done
//! Selections inside operations stay: what is around them would be there twice.

use nestegg_ir::linearization::LoopTree;
use nestegg_ir::{Expr, ExprId, InameId, InsnId, Instruction, InstructionKind, Kernel, Op};

use crate::names::Names;
use crate::walk::{below, reads};

/// Splits instructions in a tree.
pub(crate) fn split_selections(kernel: &mut Kernel, tree: Vec<LoopTree>) -> Vec<LoopTree> {
    let is_selection = |instruction: &Instruction| matches!(&instruction.kind, InstructionKind::Assignment { expression, .. } if find(kernel, instruction, *expression).is_some());
    if !kernel.instructions.iter().any(is_selection) {
        return tree;
    }
    let names = Names::of(kernel);
    let mut pass = Pass { kernel, names };
    pass.sequence(tree, None)
}

struct Pass<'a> {
    kernel: &'a mut Kernel,
    names: Names,
}

/// A selection as two instructions: its condition and the values of its branches.
struct Selection {
    condition: ExprId,
    branches: [ExprId; 2],
}

impl Pass<'_> {
    /// Depth is limited by [`nestegg_ir::linearization::MAX_NESTING`].
    fn sequence(&mut self, nodes: Vec<LoopTree>, innermost: Option<InameId>) -> Vec<LoopTree> {
        let mut res = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                LoopTree::Loop { iname, body } => {
                    // A loop of its own around each instruction lets each nest be sorted and each branch leave it.
                    let body = self.sequence(body, Some(iname));
                    res.push(LoopTree::Loop { iname, body });
                }
                LoopTree::Branch { condition, body } => {
                    let body = self.sequence(body, innermost);
                    res.push(LoopTree::Branch { condition, body });
                }
                LoopTree::Run(insn) => {
                    res.push(LoopTree::Run(insn));
                    if let Some(other) = innermost.and_then(|iname| self.split(insn, iname)) {
                        res.push(LoopTree::Run(other));
                    }
                }
            }
        }
        res
    }

    /// Splits an instruction in a loop; answers the one for the other branch.
    fn split(&mut self, insn: InsnId, iname: InameId) -> Option<InsnId> {
        let instruction = self.kernel[insn].clone();
        let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return None };
        let Selection { condition, branches } = find(self.kernel, &instruction, *expression)?;
        let exprs = &mut self.kernel.exprs;
        let varies = below(exprs, [condition]).into_iter().any(|id| exprs[id] == Expr::Iname(iname));
        if varies {
            return None;
        }
        let other = exprs.op(Op::Not, [condition]);
        let target = exprs.access(assignee.array, assignee.indices.clone());
        let part = |expression: ExprId, condition: ExprId| {
            let mut part = instruction.clone();
            part.kind = InstructionKind::Assignment { assignee: assignee.clone(), expression };
            part.predicates.push(condition);
            part
        };
        let [first, second] = branches;
        if first == target {
            self.kernel[insn] = part(second, other);
            return None;
        }
        self.kernel[insn] = part(first, condition);
        if second == target {
            return None;
        }
        let mut part = part(second, other);
        part.id = self.names.instruction(&format!("{}_else", instruction.id));
        self.kernel.instructions.push(part);
        Some(InsnId::new(self.kernel.instructions.len() - 1))
    }
}

/// The selection that an assignment stores, or joins to its element where one branch changes nothing.
fn find(kernel: &Kernel, instruction: &Instruction, expression: ExprId) -> Option<Selection> {
    let InstructionKind::Assignment { assignee, .. } = &instruction.kind else { return None };
    let is_safe = |condition: ExprId| {
        let others = assignee.indices.iter().chain(&instruction.predicates).copied();
        !reads(&kernel.exprs, others.chain([condition]), assignee.array)
    };
    match &kernel.exprs[expression] {
        Expr::Op { op: Op::If, operands } if is_safe(operands[0]) => {
            Some(Selection { condition: operands[0], branches: [operands[1], operands[2]] })
        }
        _ => None,
    }
}

//! Selections that do not vary in a loop become two instructions, one for each branch.
//!
//! # Input
//! A loop tree.
//! # Output
//! `y = a if c else b` in a loop over which `c` does not vary is `y = a` under the predicate `c` and `y = b` under its negation,
//! right after it. Where `b` is what `y` was, or `y` joined with what changes nothing, there is no second instruction.
//! # Legality
//! The two run at different points; `c` does not read what they write. Neither is rounded to the type of the other.
//! # Complexity
//! Linear in the instructions and what is below their conditions.
//! # Not done
//! Selections inside operations stay: what is around them would be there twice.

use nestegg_ir::linearization::LoopTree;
use nestegg_ir::types::{Type, Types};
use nestegg_ir::{Dtype, Expr, ExprId, InameId, InsnId, Instruction, InstructionKind, Kernel, Op};

use crate::names::Names;
use nestegg_ir::walk::{below, reads};

/// Splits instructions in a tree.
pub(crate) fn split_selections(kernel: &mut Kernel, tree: Vec<LoopTree>) -> Vec<LoopTree> {
    let types = Types::infer(kernel);
    let is_selection = |instruction: &Instruction| matches!(&instruction.kind, InstructionKind::Assignment { expression, .. } if find(kernel, &types, instruction, *expression).is_some());
    if !kernel.instructions.iter().any(is_selection) {
        return tree;
    }
    let names = Names::of(kernel);
    let mut pass = Pass { kernel, types, names };
    pass.sequence(tree, None)
}

struct Pass<'a> {
    kernel: &'a mut Kernel,
    types: Types,
    names: Names,
}

/// A selection as two instructions: its condition and what its branches store.
struct Selection {
    condition: ExprId,
    branches: [Branch; 2],
}

/// What a branch stores.
#[derive(Clone, Copy)]
enum Branch {
    /// What was there.
    Same,
    /// A value.
    Value(ExprId),
    /// A value joined to what was there.
    Joined(Op, ExprId),
}

impl Pass<'_> {
    /// Depth is limited by [`nestegg_ir::linearization::MAX_NESTING`].
    fn sequence(&mut self, nodes: Vec<LoopTree>, innermost: Option<InameId>) -> Vec<LoopTree> {
        let mut res = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                LoopTree::Loop { iname, body } => {
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
        let Selection { condition, branches } = find(self.kernel, &self.types, &instruction, *expression)?;
        let exprs = &mut self.kernel.exprs;
        let varies = below(exprs, [condition]).into_iter().any(|id| exprs[id] == Expr::Iname(iname));
        if varies {
            return None;
        }
        let other = exprs.op(Op::Not, [condition]);
        let target = exprs.access(assignee.array, assignee.indices.clone());
        let mut stored = |branch: Branch| match branch {
            Branch::Same => None,
            Branch::Value(value) => Some(value),
            Branch::Joined(op, value) => Some(exprs.op(op, [target, value])),
        };
        let [first, second] = branches.map(&mut stored);
        let part = |expression: ExprId, condition: ExprId| {
            let mut part = instruction.clone();
            part.kind = InstructionKind::Assignment { assignee: assignee.clone(), expression };
            part.predicates.push(condition);
            part
        };
        match (first, second) {
            (Some(first), Some(second)) => {
                self.kernel[insn] = part(first, condition);
                let mut part = part(second, other);
                part.id = self.names.instruction(&format!("{}_else", instruction.id));
                self.kernel.instructions.push(part);
                Some(InsnId::new(self.kernel.instructions.len() - 1))
            }
            (Some(first), None) => {
                self.kernel[insn] = part(first, condition);
                None
            }
            (None, Some(second)) => {
                self.kernel[insn] = part(second, other);
                None
            }
            (None, None) => None,
        }
    }
}

/// The selection that an assignment stores, or joins to its element where one branch changes nothing.
fn find(kernel: &Kernel, types: &Types, instruction: &Instruction, expression: ExprId) -> Option<Selection> {
    let InstructionKind::Assignment { assignee, .. } = &instruction.kind else { return None };
    let is_target = |id: ExprId| assignee.is_read_by(&kernel.exprs, id);
    let Expr::Op { op, operands } = &kernel.exprs[expression] else { return None };
    let (selection, join) = match (op, &**operands) {
        (Op::If, _) => (expression, None),
        (Op::Add | Op::Sub | Op::Mul, &[first, second]) if is_target(first) => (second, Some(*op)),
        (Op::Add | Op::Mul, &[first, second]) if is_target(second) => (first, Some(*op)),
        _ => return None,
    };
    let Expr::Op { op: Op::If, operands } = &kernel.exprs[selection] else { return None };
    let [condition, first, second] = **operands else { return None };
    // A branch alone would not be rounded to the type that both have together.
    let (first_ty, second_ty) = (types.of(first), types.of(second));
    let is_rounded = first_ty != second_ty && first_ty.join(second_ty) == Type::Float32;
    if is_rounded && kernel[assignee.array].dtype != Dtype::Float32 {
        return None;
    }
    let others = assignee.indices.iter().chain(&instruction.predicates).copied();
    if reads(&kernel.exprs, others.chain([condition]), assignee.array) {
        return None;
    }
    let branch = |value: ExprId| match join {
        None if is_target(value) => Branch::Same,
        None => Branch::Value(value),
        Some(op) if is_neutral(kernel, op, value) => Branch::Same,
        Some(op) => Branch::Joined(op, value),
    };
    let branches = [branch(first), branch(second)];
    // Joining in both branches would be written twice.
    let is_won = join.is_none() || branches.iter().any(|branch| matches!(branch, Branch::Same));
    is_won.then_some(Selection { condition, branches })
}

/// Whether joining a value by an operation changes nothing.
fn is_neutral(kernel: &Kernel, op: Op, value: ExprId) -> bool {
    let neutral = if op == Op::Mul { 1.0 } else { 0.0 };
    matches!(&kernel.exprs[value], Expr::Number(number) if number.to_f64() == neutral)
}

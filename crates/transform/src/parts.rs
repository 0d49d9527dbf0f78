//! Parts of a kernel that share nothing.
//!
//! # Input
//! A kernel in value form.
//! # Output
//! For each set of instructions that shares no values with the others except those of tables, the kernel that runs only
//! these, in the order of their first instructions. [`in_sequence`](nestegg_ir::join::in_sequence) joins their results.
//! # Method
//! Union-find over instructions: each array, and each expression that reads one, belongs to the first instruction that
//! uses it.
//! # Complexity
//! Linear in the DAG.
//! # Not done
//! A kernel with opaque code, or with conditions around instructions, is one part.

use nestegg_ir::types::Types;
use nestegg_ir::{Expr, ExprId, Instruction, InstructionKind, Item, Kernel, LinearizedKernel};

use crate::dead::{eliminate_dead, without_empty};

/// The parts of a kernel; only itself if it has no others.
#[must_use]
pub fn parts(linearized: &LinearizedKernel) -> Vec<LinearizedKernel> {
    let LinearizedKernel { kernel, linearization } = linearized;
    let is_opaque = |instruction: &Instruction| matches!(instruction.kind, InstructionKind::Opaque { .. });
    let has_conditions = linearization.iter().any(|item| matches!(item, Item::If(_)));
    if has_conditions || kernel.instructions.len() < 2 || kernel.instructions.iter().any(is_opaque) {
        return vec![linearized.clone()];
    }
    let part_of = components(kernel);
    let mut order: Vec<usize> = Vec::new();
    for item in linearization {
        if let Item::Run(insn) = item
            && !order.contains(&part_of[insn.index()])
        {
            order.push(part_of[insn.index()]);
        }
    }
    if order.len() < 2 {
        return vec![linearized.clone()];
    }
    let only = |part: usize| {
        let runs = |item: &&Item| !matches!(item, Item::Run(insn) if part_of[insn.index()] != part);
        let linearization = without_empty(linearization.iter().filter(runs).copied().collect());
        eliminate_dead(LinearizedKernel { kernel: kernel.clone(), linearization })
    };
    order.into_iter().map(only).collect()
}

/// For each instruction a number that it has in common with those of its part.
fn components(kernel: &Kernel) -> Vec<usize> {
    let is_shared = values(kernel);
    let mut parents: Vec<usize> = (0..kernel.instructions.len()).collect();
    let mut owner_of_expr: Vec<Option<usize>> = vec![None; kernel.exprs.len()];
    let mut owner_of_array: Vec<Option<usize>> = vec![None; kernel.arrays.len()];
    for insn in kernel.insn_ids() {
        let own = insn.index();
        // Whether nobody was met with it before.
        let mut join = |owner: &mut Option<usize>| match *owner {
            Some(other) => {
                let (a, b) = (root(&mut parents, own), root(&mut parents, other));
                parents[a.max(b)] = a.min(b);
                false
            }
            None => {
                *owner = Some(own);
                true
            }
        };
        for array in kernel[insn].written_arrays() {
            join(&mut owner_of_array[array.index()]);
        }
        let mut pending: Vec<ExprId> = kernel[insn].expressions().collect();
        while let Some(id) = pending.pop() {
            if !is_shared[id.index()] || !join(&mut owner_of_expr[id.index()]) {
                continue;
            }
            let expr = &kernel.exprs[id];
            if let Expr::Access { array, .. } = expr
                && kernel[*array].table().is_none()
            {
                join(&mut owner_of_array[array.index()]);
            }
            pending.extend(expr.children());
        }
    }
    (0..kernel.instructions.len()).map(|insn| root(&mut parents, insn)).collect()
}

/// For each expression whether those who have it in common belong together: all that read anything but tables, and floats that read nothing.
fn values(kernel: &Kernel) -> Vec<bool> {
    let types = Types::infer(kernel);
    let (mut res, mut reads_tables): (Vec<bool>, Vec<bool>) = (Vec::new(), Vec::new());
    for (id, expr) in kernel.exprs.iter() {
        let is_table = matches!(expr, Expr::Access { array, .. } if kernel[*array].table().is_some());
        let is_argument = matches!(expr, Expr::Access { .. }) && !is_table;
        let children = expr.children();
        reads_tables.push(is_table || children.iter().any(|child| reads_tables[child.index()]));
        let is_number = types.of(id).is_float() && !children.is_empty() && !reads_tables[id.index()];
        res.push(is_argument || is_number || children.iter().any(|child| res[child.index()]));
    }
    res
}

/// The member that stands for the set of another, in a forest of sets.
pub(crate) fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

//! Dead code elimination.
//!
//! # Input
//! A kernel with its order.
//! # Output
//! The same kernel without three kinds of things: instructions whose results no store to an argument and no opaque
//! instruction needs, stores of elements in themselves, and loops and conditions left without instructions. Unused
//! temporaries, tables, domains, inames, substitution rules, functions and expressions go too. Arguments and parameters
//! stay.
//! # Method
//! The least fixpoint over arrays: a needed array makes its writers live, and a live instruction makes every array
//! needed that it or a condition around it reads. Then everything is renumbered ([`compact`]).
//! # Complexity
//! Linear.
//! # Not done
//! Stores that are overwritten before they are read stay: arrays are needed as a whole.

use crate::compact::compact;
use nestegg_ir::linearization::for_each_run;
use nestegg_ir::{ArrayId, Expr, ExprId, InsnId, InstructionKind, Item, Kernel, Linearization, LinearizedKernel};

/// Takes away what the kernel's results do not need.
#[must_use]
pub fn eliminate_dead(linearized: LinearizedKernel) -> LinearizedKernel {
    let live = live_instructions(&linearized);
    let LinearizedKernel { kernel, linearization } = linearized;
    let linearization =
        linearization.into_iter().filter(|item| !matches!(item, Item::Run(insn) if !live[insn.index()])).collect();
    compact(LinearizedKernel { kernel, linearization: without_empty(linearization) })
}

/// The list without loops and conditions around nothing.
pub(crate) fn without_empty(items: Linearization) -> Linearization {
    let mut res = Linearization::with_capacity(items.len());
    for item in items {
        let is_end = matches!(item, Item::End(_) | Item::EndIf);
        if is_end && matches!(res.last(), Some(Item::For(_) | Item::If(_))) {
            res.pop();
        } else {
            res.push(item);
        }
    }
    res
}

/// For each instruction whether a result needs it.
fn live_instructions(linearized: &LinearizedKernel) -> Vec<bool> {
    let LinearizedKernel { kernel, linearization } = linearized;
    let mut conditions: Vec<Vec<ExprId>> = vec![Vec::new(); kernel.instructions.len()];
    for_each_run(linearization, |insn, around| conditions[insn.index()].clone_from(&around.conditions));
    let mut writers: Vec<Vec<InsnId>> = vec![Vec::new(); kernel.arrays.len()];
    let mut is_live = vec![false; kernel.instructions.len()];
    let mut pending = Vec::new();
    for insn in kernel.insn_ids() {
        if stores_what_was_there(kernel, insn) {
            continue;
        }
        let mut is_root = matches!(kernel[insn].kind, InstructionKind::Opaque { .. });
        for array in kernel[insn].written_arrays() {
            writers[array.index()].push(insn);
            is_root |= kernel[array].is_argument();
        }
        if is_root {
            is_live[insn.index()] = true;
            pending.push(insn);
        }
    }
    let mut is_needed = vec![false; kernel.arrays.len()];
    // An expression that was walked once needs nothing more the second time.
    let mut seen = vec![false; kernel.exprs.len()];
    while let Some(insn) = pending.pop() {
        let mut arrays = match &kernel[insn].kind {
            InstructionKind::Opaque { reads, .. } => reads.clone(),
            _ => Vec::new(),
        };
        let roots = kernel[insn].expressions().chain(conditions[insn.index()].iter().copied());
        arrays_below(kernel, roots.collect(), &mut seen, &mut arrays);
        for array in arrays {
            if std::mem::replace(&mut is_needed[array.index()], true) {
                continue;
            }
            for &writer in &writers[array.index()] {
                if !std::mem::replace(&mut is_live[writer.index()], true) {
                    pending.push(writer);
                }
            }
        }
    }
    is_live
}

/// Whether an instruction stores an element in itself.
fn stores_what_was_there(kernel: &Kernel, insn: InsnId) -> bool {
    let InstructionKind::Assignment { assignee, expression } = &kernel[insn].kind else { return false };
    assignee.is_read_by(&kernel.exprs, *expression)
}

/// Adds the arrays that expressions read which were not seen before, through substitution rules too.
fn arrays_below(kernel: &Kernel, mut pending: Vec<ExprId>, seen: &mut [bool], arrays: &mut Vec<ArrayId>) {
    while let Some(id) = pending.pop() {
        if std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        let expr = &kernel.exprs[id];
        match expr {
            Expr::Access { array, .. } => arrays.push(*array),
            Expr::Substitution { rule, .. } => pending.push(kernel[*rule].expression),
            _ => {}
        }
        pending.extend(expr.children());
    }
}

//! Dead code elimination.
//!
//! # Input
//! A kernel with its order.
//! # Output
//! The same without instructions whose results no store to an argument and no opaque instruction needs, loops and conditions around
//! nothing, and unused temporaries, tables, domains, inames, substitution rules, functions and expressions. Arguments and parameters stay.
//! # Method
//! The least fixpoint over arrays: a needed array makes its writers live, a live instruction makes the arrays that it and
//! the conditions around it read needed. Then everything is numbered anew ([`compact`]).
//! # Complexity
//! Linear.
//! # Not done
//! Stores that are overwritten before they are read stay: arrays are needed as a whole.

use nestegg_ir::linearization::for_each_run;
use nestegg_ir::order::arrays_read;
use nestegg_ir::{
    ArrayId, ArrayKind, Expr, ExprId, InsnId, InstructionKind, Item, Kernel, Linearization, LinearizedKernel,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::compact::compact;

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
    let mut reads = arrays_read(kernel);
    let mut of_condition: FxHashMap<ExprId, Vec<ArrayId>> = FxHashMap::default();
    for_each_run(linearization, |insn, around| {
        for &condition in &around.conditions {
            let arrays = of_condition.entry(condition).or_insert_with(|| arrays_below(kernel, condition));
            reads[insn.index()].extend(arrays.iter());
        }
    });
    let mut writers: Vec<Vec<InsnId>> = vec![Vec::new(); kernel.arrays.len()];
    let mut live = vec![false; kernel.instructions.len()];
    let mut pending = Vec::new();
    for insn in kernel.insn_ids() {
        let is_opaque = matches!(kernel[insn].kind, InstructionKind::Opaque { .. });
        let mut is_root = is_opaque;
        for array in kernel[insn].written_arrays() {
            writers[array.index()].push(insn);
            is_root |= kernel[array].is_argument();
        }
        if is_root {
            live[insn.index()] = true;
            pending.push(insn);
        }
    }
    let mut is_needed = vec![false; kernel.arrays.len()];
    while let Some(insn) = pending.pop() {
        for array in &reads[insn.index()] {
            if std::mem::replace(&mut is_needed[array.index()], true) {
                continue;
            }
            for &writer in &writers[array.index()] {
                if !std::mem::replace(&mut live[writer.index()], true) {
                    pending.push(writer);
                }
            }
        }
    }
    live
}

/// The arrays that an expression reads, through substitution rules too.
fn arrays_below(kernel: &Kernel, root: ExprId) -> Vec<ArrayId> {
    let mut seen: FxHashSet<ExprId> = FxHashSet::default();
    let mut res = Vec::new();
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        let expr = &kernel.exprs[id];
        match expr {
            Expr::Access { array, .. } if !matches!(kernel[*array].kind, ArrayKind::Table(_)) => res.push(*array),
            Expr::Substitution { rule, .. } => pending.push(kernel[*rule].expression),
            _ => {}
        }
        pending.extend(expr.children());
    }
    res.sort_unstable();
    res.dedup();
    res
}

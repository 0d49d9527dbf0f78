//! Stores to elements of arguments that lie apart leave the loop that computes what they store.
//!
//! # Why
//! Such stores keep compilers from putting the rest of the loop into lanes. Nor do compilers move them: they cannot tell whether two of them go to the same element.
//! # Input
//! A kernel in its final order.
//! # Output
//! The loop becomes two: the first computes the values into temporaries; the second stores them, or adds them to the arrays, in their original order.
//! # Method
//! A store qualifies if nothing else in the loop touches its array, and nothing in the loop changes its indices.
//! # Complexity
//! Quadratic in the instructions of a loop.

use std::collections::BTreeSet;

use nestegg_ir::affine::{self, Var};
use nestegg_ir::linearization::{conditions_in, direct_runs, runs_in};
use nestegg_ir::walk::{arrays_below, reads};
use nestegg_ir::{ArrayId, Assignee, ExprId, InameId, InsnId, InstructionKind, Kernel, LinearizedKernel, LoopTree};

use crate::in_two::{Splitter, in_two};
use crate::updates::set_stored;

/// The kernel with such stores in loops of their own; `None` if it has none.
#[must_use]
pub fn store_last(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    in_two(linearized, stores, split)
}

/// The loop without these stores, and theirs.
fn split(splitter: &mut Splitter, over: (InameId, i64), body: Vec<LoopTree>, stores: &[InsnId]) -> [LoopTree; 2] {
    let (mut computed, mut late) = (Vec::with_capacity(body.len()), Vec::with_capacity(stores.len()));
    // Values, with the elements in which they are kept.
    let mut kept: Vec<(ExprId, ExprId)> = Vec::new();
    for node in body {
        match node {
            LoopTree::Run(insn) if stores.contains(&insn) => {
                let value = stored(&splitter.kernel, insn);
                let known = kept.iter().find(|kept| kept.0 == value).map(|kept| kept.1);
                let element = known.unwrap_or_else(|| {
                    // Only the store rounds to the type of its array.
                    let (keep, element) = splitter.keep(over, "stored", insn, (value, value));
                    computed.push(LoopTree::Run(keep));
                    kept.push((value, element));
                    element
                });
                set_stored(&mut splitter.kernel, insn, element);
                late.push(LoopTree::Run(insn));
            }
            other => {
                let runs = runs_in(std::slice::from_ref(&other));
                let kernel = &splitter.kernel;
                let changed: Vec<ArrayId> = runs.into_iter().flat_map(|insn| kernel[insn].written_arrays()).collect();
                let stays =
                    |value: ExprId| !arrays_below(&kernel.exprs, [value]).iter().any(|array| changed.contains(array));
                kept.retain(|&(value, _)| stays(value));
                computed.push(other);
            }
        }
    }
    [computed, late].map(|body| LoopTree::Loop { iname: over.0, body })
}

/// The stores of a loop that come last: none if they are all that there is, or are to neighbours.
fn stores(kernel: &Kernel, iname: InameId, body: &[LoopTree]) -> Vec<InsnId> {
    let (all, exprs) = (runs_in(body), &kernel.exprs);
    let is_opaque = |&insn: &InsnId| matches!(kernel[insn].kind, InstructionKind::Opaque { .. });
    if all.iter().any(is_opaque) {
        return Vec::new();
    }
    let written: Vec<ArrayId> = all.iter().flat_map(|&insn| kernel[insn].written_arrays()).collect();
    let mut res = direct_runs(body);
    res.retain(|&insn| is_store(kernel, insn, &written));
    // Of an array, all or none. What is stored late is not read, and what others write is not stored late.
    let mut refused: BTreeSet<ArrayId> = arrays_below(exprs, conditions_in(body));
    for insn in all {
        if res.contains(&insn) {
            refused.extend(arrays_below(exprs, [stored(kernel, insn)]));
        } else {
            refused.extend(kernel[insn].written_arrays());
            refused.extend(arrays_below(exprs, kernel[insn].expressions()));
        }
    }
    res.retain(|&store| !refused.contains(&kernel[store].written_arrays()[0]));
    if res.len() == body.len() || !res.iter().any(|&store| lies_apart(kernel, store, &res, iname)) {
        res.clear();
    }
    res
}

/// Whether an instruction stores to an argument, in all iterations, what does not depend on the argument but for what is added to, where a loop that writes these arrays finds the same element later.
fn is_store(kernel: &Kernel, insn: InsnId, written: &[ArrayId]) -> bool {
    let instruction = &kernel[insn];
    let InstructionKind::Assignment { assignee, .. } = &instruction.kind else { return false };
    let exprs = &kernel.exprs;
    let of_indices = arrays_below(exprs, assignee.indices.iter().copied());
    kernel[assignee.array].is_argument()
        && instruction.predicates.is_empty()
        && !reads(exprs, [stored(kernel, insn)], assignee.array)
        && !of_indices.iter().any(|array| written.contains(array))
}

/// Whether the elements of a store lie apart even with those that other stores of the loop fill between them.
fn lies_apart(kernel: &Kernel, store: InsnId, stores: &[InsnId], iname: InameId) -> bool {
    let Some(assignee) = kernel[store].assignees().first() else { return false };
    let n_beside = stores.iter().filter(|&&other| kernel[other].written_arrays() == [assignee.array]).count();
    distance(kernel, assignee, iname).is_none_or(|distance| distance.unsigned_abs() > n_beside as u64)
}

/// How far apart in memory the elements of two iterations are; `None` if that is not known.
fn distance(kernel: &Kernel, assignee: &Assignee, iname: InameId) -> Option<i64> {
    let (mut res, mut row) = (0_i64, Some(1_i64));
    for (&index, &extent) in assignee.indices.iter().zip(&kernel[assignee.array].shape).rev() {
        let step = affine::of(&kernel.exprs, index)?.coefficient(Var::Iname(iname));
        if step != 0 {
            res = res.checked_add(step.checked_mul(row?)?)?;
        }
        let extent = affine::of(&kernel.exprs, extent).and_then(|extent| extent.as_constant());
        row = row.and_then(|row| row.checked_mul(extent?));
    }
    Some(res)
}

/// What a store stores, or joins to the old value.
fn stored(kernel: &Kernel, store: InsnId) -> ExprId {
    let instruction = &kernel[store];
    match (instruction.update(&kernel.exprs), &instruction.kind) {
        (Some((_, operand)), _) => operand,
        (None, InstructionKind::Assignment { expression, .. }) => *expression,
        (None, _) => unreachable!("only assignments are stores"),
    }
}

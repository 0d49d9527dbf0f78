//! Array contraction: temporaries lose the dimensions that a common loop makes needless.
//!
//! # Method
//! A dimension goes if every access to the array has one and the same index there, an iname plus a constant, and all of
//! them are in one loop over that iname: then each iteration uses only its own element. A dimension over an iname tagged `vec` stays:
//! its loop runs all at once.
//! # Complexity
//! Linear in accesses and expressions.
//! # Source
//! Sarkar and Gao, "Optimization of array accesses by collective loop transformations", ICS 1991.

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::linearization::{Item, Linearization};
use nestegg_ir::walk::below;
use nestegg_ir::{ArrayId, Expr, ExprId, InameId, InameTag, InsnId, Kernel, LinearizedKernel};

use crate::reindex::reindex;

/// Contracts the temporaries of a kernel in its final order.
pub(crate) fn contract(linearized: LinearizedKernel) -> LinearizedKernel {
    let mut linearized = linearized;
    let LinearizedKernel { kernel, linearization } = &linearized;
    let loops = loops_of(kernel, linearization);
    let mut candidates: Vec<Option<Vec<Dimension>>> = kernel
        .arrays
        .iter()
        .map(|array| array.is_temporary().then(|| vec![Dimension::Unseen; array.shape.len()]))
        .collect();
    for insn in kernel.insn_ids() {
        visit(kernel, insn, &loops[insn.index()], &mut candidates);
    }
    for substitution in &kernel.substitutions {
        // What a rule reads is read wherever the rule is used.
        for array in arrays(kernel, substitution.expression) {
            candidates[array.index()] = None;
        }
    }
    let mut open: Vec<(InameId, usize)> = Vec::new();
    for (node, item) in linearization.iter().enumerate() {
        match item {
            Item::For(iname) => open.push((*iname, node)),
            Item::End(_) => {
                open.pop();
            }
            Item::If(condition) => note_reads(kernel, [*condition], &open, &mut candidates),
            Item::Run(_) | Item::EndIf => {}
        }
    }
    let dropped: Vec<Vec<bool>> = candidates
        .into_iter()
        .map(|dims| {
            let dims = dims.unwrap_or_default();
            dims.iter().map(|dim| matches!(dim, Dimension::Loop { .. })).collect()
        })
        .collect();
    if dropped.iter().flatten().any(|&dropped| dropped) {
        drop_dimensions(&mut linearized, &dropped);
    }
    linearized
}

/// What all accesses so far have in common in one dimension.
#[derive(Clone, Debug, PartialEq)]
enum Dimension {
    /// No access so far.
    Unseen,
    /// The same function of one iname, in one loop.
    Loop { index: Affine, node: usize },
    /// Nothing.
    Kept,
}

/// For each instruction the loops around it, each with its position among all loops.
fn loops_of(kernel: &Kernel, items: &Linearization) -> Vec<Vec<(InameId, usize)>> {
    let mut res = vec![Vec::new(); kernel.instructions.len()];
    let mut open: Vec<(InameId, usize)> = Vec::new();
    for (node, item) in items.iter().enumerate() {
        match item {
            Item::For(iname) => open.push((*iname, node)),
            Item::End(_) => {
                open.pop();
            }
            Item::Run(insn) => res[insn.index()].clone_from(&open),
            Item::If(_) | Item::EndIf => {}
        }
    }
    res
}

fn visit(kernel: &Kernel, insn: InsnId, loops: &[(InameId, usize)], candidates: &mut [Option<Vec<Dimension>>]) {
    let instruction = &kernel[insn];
    for array in instruction.written_arrays().into_iter().chain(opaque_reads(instruction)) {
        if instruction.assignees().is_empty() {
            candidates[array.index()] = None;
        }
    }
    for assignee in instruction.assignees() {
        note(kernel, assignee.array, &assignee.indices, loops, candidates);
    }
    note_reads(kernel, instruction.expressions(), loops, candidates);
}

/// Notes what is read below some expressions.
fn note_reads(
    kernel: &Kernel,
    roots: impl IntoIterator<Item = ExprId>,
    loops: &[(InameId, usize)],
    candidates: &mut [Option<Vec<Dimension>>],
) {
    for id in below(&kernel.exprs, roots) {
        if let Expr::Access { array, indices } = &kernel.exprs[id] {
            note(kernel, *array, indices, loops, candidates);
        }
    }
}

/// Notes an access inside loops.
fn note(
    kernel: &Kernel,
    array: ArrayId,
    indices: &[ExprId],
    loops: &[(InameId, usize)],
    candidates: &mut [Option<Vec<Dimension>>],
) {
    let Some(dims) = &mut candidates[array.index()] else { return };
    for (dim, &index) in dims.iter_mut().zip(indices) {
        let own = affine::of(&kernel.exprs, index).and_then(|index| {
            let iname = index.inames().next().filter(|_| index.terms.len() == 1)?;
            let is_vector = kernel[iname].tags.contains(&InameTag::Vec);
            let (_, node) = loops.iter().filter(|_| !is_vector).find(|(open, _)| *open == iname)?;
            Some(Dimension::Loop { index, node: *node })
        });
        let own = own.unwrap_or(Dimension::Kept);
        if *dim == Dimension::Unseen {
            *dim = own;
        } else if *dim != own {
            *dim = Dimension::Kept;
        }
    }
}

fn opaque_reads(instruction: &nestegg_ir::Instruction) -> Vec<ArrayId> {
    match &instruction.kind {
        nestegg_ir::InstructionKind::Opaque { reads, .. } => reads.clone(),
        _ => Vec::new(),
    }
}

fn arrays(kernel: &Kernel, root: ExprId) -> Vec<ArrayId> {
    let accessed = |id: ExprId| match &kernel.exprs[id] {
        Expr::Access { array, .. } => Some(*array),
        _ => None,
    };
    below(&kernel.exprs, [root]).into_iter().filter_map(accessed).collect()
}

fn drop_dimensions(linearized: &mut LinearizedKernel, dropped: &[Vec<bool>]) {
    let is_dropped = |array: usize, dim: usize| dropped[array].get(dim).copied().unwrap_or(false);
    reindex(linearized, |array, indices| {
        let kept = indices.iter().enumerate().filter(|(dim, _)| !is_dropped(array.index(), *dim));
        kept.map(|(_, &index)| index).collect()
    });
    for (idx, array) in linearized.kernel.arrays.iter_mut().enumerate() {
        let mut dim = 0;
        array.shape.retain(|_| {
            dim += 1;
            !is_dropped(idx, dim - 1)
        });
    }
}

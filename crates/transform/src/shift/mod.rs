//! Sharing by renaming and shifting: a value under another name of its inames, or moved, is the same stored value read elsewhere.
//!
//! # Input
//! A kernel in value form.
//! # Output
//! An equal kernel in which values that are needed at several shifts of inames (a stencil's inner derivative at `x` and at `x + 1`), or under
//! several names (the same in two loop nests), are computed once each, on the box around their uses, and kept in an array; [`None`] if
//! there is no such value. Factors that are numbers, or scalars that the kernel divides by, are gathered, and terms with the same factor are added up before
//! they are multiplied: floats are rounded differently.
//! # Method
//! `translate` makes values modulo renaming, shift and scale, in which sums and products have any number of operands; `flatten` joins sums;
//! `pairs` finds parts of sums and products that recur; `place` decides which values get arrays; `write` writes instructions.
//! A value is moved before the first tree of loops that needs it. It is kept only if every element that it reads on the
//! box is inside its array, an argument that is read or a table, and no tree between its uses writes what it reads.
//! # Complexity
//! Linear in the expressions of each instruction, and quadratic in the operands of a sum for each pair that is found; limits are named.
//! # Not done
//! Boxes whose bounds differ by more than numbers; offsets other than constants; kernels in which floats of two sizes meet. Reductions over
//! inames whose ranges have to do with others stay as they are; what they go over is looked at like what is stored.

mod boxes;
mod divide;
mod divisors;
mod flatten;
mod pairs;
mod place;
mod rescale;
mod scale;
mod translate;
mod values;
mod write;

use nestegg_ir::domains::DomainError;
use nestegg_ir::linearization::{LoopTree, NestingError, to_tree};
use nestegg_ir::{Expr, InstructionKind, LinearizedKernel};

use crate::bound::name_bound_inames;
use crate::depends::in_order_without_dead;
use crate::shift::boxes::Boxes;
use crate::shift::pairs::Among;
use crate::shift::translate::{Context, Root, Writes};
use crate::shift::values::{Term, Values};
use crate::workspace::Workspace;

/// Why a kernel could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShiftError {
    /// Loops and conditions do not nest.
    #[error(transparent)]
    Nesting(#[from] NestingError),
    /// A domain cannot be used.
    #[error(transparent)]
    Domain(#[from] DomainError),
}

/// Kernels with more expressions than this are left alone; [`exceeds_limit`] tells.
pub const MAX_EXPRESSIONS: usize = 20_000;

/// Whether [`share_shifted`] leaves a kernel alone for its size.
#[must_use]
pub fn exceeds_limit(linearized: &LinearizedKernel) -> bool {
    linearized.kernel.exprs.len() > MAX_EXPRESSIONS
}

/// Keeps values that are needed at several shifts or under several names; `None` if there are none. Points are counted with these
/// `parameters`.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn share_shifted(
    linearized: &LinearizedKernel,
    parameters: &[(String, i64)],
) -> Result<Option<LinearizedKernel>, ShiftError> {
    if exceeds_limit(linearized) || !linearized.kernel.substitutions.is_empty() {
        return Ok(None);
    }
    let LinearizedKernel { kernel, linearization } = name_bound_inames(linearized.clone())?;
    let trees = to_tree(&linearization)?;
    let mut workspace = Workspace::new(kernel)?;
    workspace.domains = workspace.domains.with_values(parameters);
    if workspace.has_two_float_types {
        return Ok(None);
    }
    let mut values = Values::new();
    let mut roots = translated(&workspace, &trees, &mut values)?;
    // Sums that always stand together are one sum before they are joined with others.
    pairs::share_pairs(&mut values, &terms(&roots), Among::Sums);
    let Some(mut values) = flatten::flatten(&values, &mut roots) else { return Ok(None) };
    let n_pairs = pairs::share_pairs(&mut values, &terms(&roots), Among::All);
    let Some(placement) = place::place(&workspace, &Boxes::new(&workspace, parameters), &values, &roots) else {
        return Ok(None);
    };
    if placement.kept.is_empty() && n_pairs == 0 {
        return Ok(None);
    }
    let dtype = roots.iter().find_map(|root| match &workspace.kernel[root.insn].kind {
        InstructionKind::Assignment { assignee, .. } => Some(workspace.kernel[assignee.array].dtype),
        _ => None,
    });
    let Some(dtype) = dtype else { return Ok(None) };
    let names = workspace.names.clone();
    let multiples = rescale::rescale(&values, &placement, &roots);
    let chosen = (&placement, &multiples);
    let (kernel, items) = write::write(workspace.kernel, &trees, &values, chosen, &roots, names, dtype);
    Ok(Some(in_order_without_dead(kernel, items)))
}

fn terms(roots: &[Root]) -> Vec<Term> {
    roots.iter().map(|root| root.value.clone()).collect()
}

/// For each iname whether only reductions bind it, and its range has to do with no other.
fn bound(workspace: &Workspace) -> Vec<bool> {
    let kernel = &workspace.kernel;
    let mut res = vec![false; kernel.inames.len()];
    for (_, expr) in kernel.exprs.iter() {
        let Expr::Reduce { inames, .. } = expr else { continue };
        inames.iter().for_each(|&iname| res[iname.index()] = workspace.ranges.is_independent(iname));
    }
    for instruction in &kernel.instructions {
        instruction.within.iter().for_each(|iname| res[iname.index()] = false);
    }
    res
}

/// What the instructions store.
fn translated(workspace: &Workspace, trees: &[LoopTree], values: &mut Values) -> Result<Vec<Root>, DomainError> {
    let kernel = &workspace.kernel;
    let divisors = divisors::divisors(workspace, trees)?;
    let is_bound = bound(workspace);
    let mut insns = Vec::new();
    let mut writes = Writes { by_array: vec![Vec::new(); kernel.arrays.len()] };
    for (position, tree) in trees.iter().enumerate() {
        let mut pending = vec![tree];
        while let Some(tree) = pending.pop() {
            match tree {
                LoopTree::Loop { body, .. } | LoopTree::Branch { body, .. } => pending.extend(body.iter().rev()),
                LoopTree::Run(insn) => {
                    insns.push((*insn, position));
                    for array in kernel[*insn].written_arrays() {
                        writes.by_array[array.index()].push(position);
                    }
                }
            }
        }
    }
    writes.by_array.iter_mut().for_each(|trees| trees.dedup());
    let context = Context { writes: &writes, divisors: &divisors, is_bound: &is_bound };
    let (mut known, mut at) = (translate::Known::default(), 0);
    let mut res = Vec::new();
    for (insn, position) in insns {
        if std::mem::replace(&mut at, position) != position {
            known.clear();
        }
        res.extend(translate::translate(workspace, values, context, insn, position, &mut known));
    }
    Ok(res)
}

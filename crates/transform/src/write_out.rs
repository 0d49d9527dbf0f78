//! Short reductions over elements of arrays are written out.
//!
//! # Output
//! `sum(c, x[c]*T[c, q])` becomes `x[0]*T[0, q] + x[1]*T[1, q]`, in which each read is of one element.
//! [`write_out_reductions`] takes temporaries each of whose elements has its own writer, so that value form can replace
//! the reads. [`write_out_components`] takes every array but tables: sums over the components of vectors and matrices
//! then look like code written out by hand.
//! # Complexity
//! Linear in the DAG, times the values of the reductions that are written out, which are few.
//! # Not done
//! Loops around instructions.

use std::ops::RangeInclusive;

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::walk::below;
use nestegg_ir::{
    ArrayId, Expr, ExprId, Exprs, InameId, Instruction, InstructionKind, Kernel, Linearization, LinearizedKernel,
    ReduceOp,
};
use nestegg_isl as isl;

use crate::ranges::Ranges;
use crate::substitute::with_inames;

/// Reductions over more values read elements of temporaries as they came.
const MAX_VALUES: i64 = 16;

/// Vectors of more components stay in loops.
const MAX_COMPONENTS: i64 = 4;

/// A kernel that would get so many times its expressions is not written out.
const MAX_GROWTH: usize = 20;

/// Writes out reductions over elements that are written one by one.
///
/// # Errors
/// If a domain cannot be used.
pub(crate) fn write_out_reductions(kernel: &mut Kernel, linearization: &mut Linearization) -> Result<(), DomainError> {
    let by_elements = written_by_elements(kernel);
    if !by_elements.contains(&true) || !has_reductions(kernel) {
        return Ok(());
    }
    let rewrite = writing_out(kernel, &by_elements, MAX_VALUES)?;
    kernel.rewrite_all(linearization, rewrite);
    Ok(())
}

/// A kernel in value form with its short reductions over elements of anything but tables written out; `None` if all of these read tables too, or it would be much larger.
///
/// # Errors
/// If a domain cannot be used.
pub fn write_out_components(linearized: &LinearizedKernel) -> Result<Option<LinearizedKernel>, DomainError> {
    let is_meant: Vec<bool> = linearized.kernel.arrays.iter().map(|array| array.table().is_none()).collect();
    if !has_reductions(&linearized.kernel) || !has_components(&linearized.kernel, &is_meant)? {
        return Ok(None);
    }
    let LinearizedKernel { mut kernel, linearization } = linearized.clone();
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    let before = kernel.exprs.reachable(roots.iter().copied()).len();
    let rewrite = writing_out(&kernel, &is_meant, MAX_COMPONENTS)?;
    let rewritten = kernel.exprs.rewrite(roots.clone(), rewrite);
    let after = kernel.exprs.reachable(roots.iter().map(|&root| rewritten.get(root))).len();
    if roots.iter().all(|&root| rewritten.get(root) == root) || after > before.saturating_mul(MAX_GROWTH) {
        return Ok(None);
    }
    kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| rewritten.get(id)));
    Ok(Some(LinearizedKernel { kernel, linearization }))
}

fn has_reductions(kernel: &Kernel) -> bool {
    kernel.exprs.iter().any(|(_, expr)| matches!(expr, Expr::Reduce { .. }))
}

/// A rewrite that writes out the reductions over at most so many values that select elements of these arrays.
fn writing_out<'a>(
    kernel: &Kernel,
    arrays: &'a [bool],
    max_values: i64,
) -> Result<impl FnMut(&mut Exprs, ExprId, Expr) -> ExprId + use<'a>, DomainError> {
    let domains = Domains::new(&isl::Context::new(), kernel)?;
    let ranges = Ranges::new(kernel, &domains)?;
    Ok(move |exprs: &mut Exprs, _, expr| {
        let Expr::Reduce { op, inames, body } = expr else { return exprs.intern(expr) };
        let few = |exprs: &Exprs, body: ExprId, iname: InameId| {
            values(&ranges, iname, max_values).filter(|_| selects(exprs, body, iname, arrays))
        };
        without_loops(exprs, (op, &inames, body), few)
    })
}

/// A reduction with a copy of its body for each of the values that an iname has; `None` keeps the iname.
pub(crate) fn without_loops(
    exprs: &mut Exprs,
    (op, inames, mut body): (ReduceOp, &[InameId], ExprId),
    mut values: impl FnMut(&Exprs, ExprId, InameId) -> Option<RangeInclusive<i64>>,
) -> ExprId {
    let mut rest: Vec<InameId> = Vec::new();
    for &iname in inames {
        match values(exprs, body, iname) {
            Some(values) => {
                let copies: Vec<ExprId> = values.map(|value| at(exprs, body, iname, value)).collect();
                body = if copies.len() == 1 { copies[0] } else { exprs.op(op.operator(), copies) };
            }
            None => rest.push(iname),
        }
    }
    if rest.is_empty() { body } else { exprs.intern(Expr::Reduce { op, inames: rest.into(), body }) }
}

/// For each array whether it is a temporary, several elements of which are written, all at constant indices.
fn written_by_elements(kernel: &Kernel) -> Vec<bool> {
    let mut n_writers = vec![0_usize; kernel.arrays.len()];
    let mut is_other = vec![false; kernel.arrays.len()];
    for instruction in &kernel.instructions {
        for array in instruction.written_arrays() {
            n_writers[array.index()] += 1;
            is_other[array.index()] |= !writes_at_constants(kernel, instruction);
        }
    }
    let is_meant =
        |array: ArrayId| kernel[array].is_temporary() && n_writers[array.index()] > 1 && !is_other[array.index()];
    kernel.array_ids().map(is_meant).collect()
}

fn writes_at_constants(kernel: &Kernel, instruction: &Instruction) -> bool {
    let is_constant =
        |&index: &ExprId| affine::of(&kernel.exprs, index).is_some_and(|index| index.as_constant().is_some());
    matches!(instruction.kind, InstructionKind::Assignment { .. })
        && instruction.assignees().iter().all(|assignee| assignee.indices.iter().all(is_constant))
}

/// Whether an iname selects the element that is read of one of these arrays.
fn selects(exprs: &Exprs, body: ExprId, iname: InameId, arrays: &[bool]) -> bool {
    below(exprs, [body]).into_iter().any(|id| match &exprs[id] {
        Expr::Access { array, indices } if arrays[array.index()] => {
            below(exprs, indices.iter().copied()).into_iter().any(|id| exprs[id] == Expr::Iname(iname))
        }
        _ => false,
    })
}

/// Whether some reduction that would be written out selects no element of a table: sums of products with tables are found by forms as they are.
fn has_components(kernel: &Kernel, arrays: &[bool]) -> Result<bool, DomainError> {
    let domains = Domains::new(&isl::Context::new(), kernel)?;
    let ranges = Ranges::new(kernel, &domains)?;
    let tables: Vec<bool> = arrays.iter().map(|is_meant| !is_meant).collect();
    Ok(kernel.exprs.iter().any(|(_, expr)| match expr {
        Expr::Reduce { inames, body, .. } => inames.iter().any(|&iname| {
            values(&ranges, iname, MAX_COMPONENTS).is_some()
                && selects(&kernel.exprs, *body, iname, arrays)
                && !selects(&kernel.exprs, *body, iname, &tables)
        }),
        _ => false,
    }))
}

/// The values of an iname that has to do with no other, if they are few.
pub(crate) fn values(ranges: &Ranges, iname: InameId, max_values: i64) -> Option<RangeInclusive<i64>> {
    let (Some(first), Some(last)) = ranges.bounds(iname) else { return None };
    let is_plain = ranges.is_independent(iname) && ranges.is_interval(iname);
    (is_plain && first <= last && last - first < max_values).then_some(first..=last)
}

/// An expression at a value of an iname.
fn at(exprs: &mut Exprs, body: ExprId, iname: InameId, value: i64) -> ExprId {
    with_inames(exprs, [body], |other| (other == iname).then(|| Affine::constant(value))).get(body)
}

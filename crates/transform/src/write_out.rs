//! Reductions over the elements of temporaries that are written one by one are written out.
//!
//! # Input
//! A kernel without substitution rules.
//! # Output
//! With `x[0] = a` and `x[1] = b`, `sum(c, x[c]*T[c, q])` is `x[0]*T[0, q] + x[1]*T[1, q]`. Each read then is of one element, which one instruction wrote, so that
//! value form can replace it.
//! # Complexity
//! Linear in the DAG, times the values of the reductions that are written out, of which there are at most [`MAX_VALUES`].
//! # Not done
//! Loops around instructions.

use nestegg_ir::affine;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::linearization::conditions_mut;
use nestegg_ir::walk::below;
use nestegg_ir::{ArrayId, Expr, ExprId, Exprs, InameId, Instruction, InstructionKind, Kernel, Linearization};
use nestegg_isl as isl;

/// Reductions over more values stay.
const MAX_VALUES: usize = 16;

/// Writes out reductions.
///
/// # Errors
/// If a domain cannot be used.
pub(crate) fn write_out_reductions(kernel: &mut Kernel, linearization: &mut Linearization) -> Result<(), DomainError> {
    let by_elements = written_by_elements(kernel);
    if !by_elements.contains(&true) || !kernel.exprs.iter().any(|(_, expr)| matches!(expr, Expr::Reduce { .. })) {
        return Ok(());
    }
    let domains = Domains::new(&isl::Context::new(), kernel)?;
    let values: Vec<Option<Vec<i64>>> = kernel.iname_ids().map(|iname| few_values(kernel, &domains, iname)).collect();
    let conditions = conditions_mut(linearization);
    let of_instructions = kernel.instructions.iter().flat_map(|instruction| instruction.expressions());
    let roots: Vec<ExprId> = of_instructions.chain(conditions.iter().map(|id| **id)).collect();
    let rewritten = kernel.exprs.rewrite(roots, |exprs, _, expr| {
        let Expr::Reduce { op, inames, mut body } = expr else { return exprs.intern(expr) };
        let mut rest: Vec<InameId> = Vec::new();
        for &iname in &inames {
            match &values[iname.index()] {
                Some(values) if selects(exprs, body, iname, &by_elements) => {
                    let copies: Vec<ExprId> = values.iter().map(|&value| at(exprs, body, iname, value)).collect();
                    body = if copies.len() == 1 { copies[0] } else { exprs.op(op.operator(), copies) };
                }
                _ => rest.push(iname),
            }
        }
        if rest.is_empty() { body } else { exprs.intern(Expr::Reduce { op, inames: rest.into(), body }) }
    });
    kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| rewritten.get(id)));
    conditions.into_iter().for_each(|id| *id = rewritten.get(*id));
    Ok(())
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

/// The values of an iname in a domain of its own that bounds no other, if they are few.
fn few_values(kernel: &Kernel, domains: &Domains, iname: InameId) -> Option<Vec<i64>> {
    let domain = &kernel[kernel[iname].domain];
    let is_alone = domain.inames.len() == 1
        && domain.enclosing.is_empty()
        && domain.parameters.is_empty()
        && !kernel.domains.iter().any(|other| other.enclosing.contains(&iname));
    let points = is_alone.then(|| domains.set(kernel[iname].domain).points(MAX_VALUES + 1).ok())??;
    let is_few = !points.is_empty() && points.len() <= MAX_VALUES;
    is_few.then(|| points.into_iter().map(|point| point[0]).collect())
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

/// An expression at a value of an iname.
fn at(exprs: &mut Exprs, body: ExprId, iname: InameId, value: i64) -> ExprId {
    let rewritten = exprs.rewrite([body], |exprs, _, expr| match expr {
        Expr::Iname(other) if other == iname => exprs.int(value),
        expr => exprs.intern(expr),
    });
    rewritten.get(body)
}

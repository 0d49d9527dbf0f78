//! Merges sums whose body is a sum.
//!
//! # Input
//! A kernel in value form.
//! # Output
//! `sum(q, sum(r, a[q, r, j]))` becomes `sum([q, r], a[q, r, j])`.
//! # Why
//! Forms look at the body of one sum. Rules take sums apart again where that pays.
//! # Legality
//! Sums of real numbers have no order. The inner sum is read nowhere else, so no shared value is computed twice.
//! # Complexity
//! Linear in the DAG.
//! # Not done
//! Sums with factors in between, and other reductions: rules merge these. Inner inames whose domain depends on the outer ones, or on data.

use nestegg_ir::data_bounds::is_open;
use nestegg_ir::domains::DomainError;
use nestegg_ir::walk::read_once;
use nestegg_ir::{Expr, ExprId, InameId, Instruction, Kernel, LinearizedKernel, ReduceOp};

use crate::bound::name_bound_inames;

/// The kernel with one sum in place of nested ones; `None` if no sum has a sum as its body.
///
/// # Errors
/// If a domain cannot be used.
pub fn flatten_sums(linearized: &LinearizedKernel) -> Result<Option<LinearizedKernel>, DomainError> {
    if !has_nested(&linearized.kernel) {
        return Ok(None);
    }
    // Gives the inames of nested sums different names.
    let LinearizedKernel { mut kernel, linearization } = name_bound_inames(linearized.clone())?;
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(Instruction::expressions).collect();
    let read_once = read_once(&kernel.exprs, &roots);
    let original = kernel.clone();
    let mut is_flattened = false;
    let flattened = kernel.exprs.rewrite(roots, |exprs, old, expr| {
        let (Some((outer, body)), Some((_, old_body))) = (sum(&expr), sum(&original.exprs[old])) else {
            return exprs.intern(expr);
        };
        match sum(&exprs[body]) {
            Some((inner, innermost)) if read_once.contains(&old_body) && may_join(&original, outer, inner) => {
                is_flattened = true;
                let inames: Vec<InameId> = outer.iter().chain(inner).copied().collect();
                exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames: inames.into(), body: innermost })
            }
            _ => exprs.intern(expr),
        }
    });
    kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| flattened.get(id)));
    Ok(is_flattened.then_some(LinearizedKernel { kernel, linearization }))
}

fn has_nested(kernel: &Kernel) -> bool {
    let exprs = &kernel.exprs;
    exprs.iter().any(|(_, expr)| sum(expr).is_some_and(|(_, body)| sum(&exprs[body]).is_some()))
}

/// The inames and the body of a sum.
fn sum(expr: &Expr) -> Option<(&[InameId], ExprId)> {
    match expr {
        Expr::Reduce { op: ReduceOp::Sum, inames, body } => Some((inames, *body)),
        _ => None,
    }
}

fn may_join(kernel: &Kernel, outer: &[InameId], inner: &[InameId]) -> bool {
    inner.iter().all(|&iname| {
        let enclosing = &kernel[kernel[iname].domain].enclosing;
        !outer.contains(&iname) && !is_open(kernel, iname) && !enclosing.iter().any(|around| outer.contains(around))
    })
}

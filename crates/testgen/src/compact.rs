//! Kernels without the expressions that nothing uses any more.

use nestegg_ir::linearization::conditions_mut;
use nestegg_ir::{ExprId, Item, LinearizedKernel};

/// The expressions that instructions and conditions evaluate.
pub(crate) fn roots(linearized: &LinearizedKernel) -> Vec<ExprId> {
    let conditions = linearized.linearization.iter().filter_map(|item| match item {
        Item::If(condition) => Some(*condition),
        _ => None,
    });
    let of_instructions = linearized.kernel.instructions.iter().flat_map(|instruction| instruction.expressions());
    of_instructions.chain(conditions).collect()
}

/// The kernel with only those expressions that it uses.
pub(crate) fn compacted(mut linearized: LinearizedKernel) -> LinearizedKernel {
    let mut all = roots(&linearized);
    let kernel = &mut linearized.kernel;
    all.extend(kernel.arrays.iter().flat_map(|array| array.shape.iter().copied()));
    all.extend(kernel.substitutions.iter().map(|rule| rule.expression));
    let (exprs, new) = kernel.exprs.compacted(all);
    kernel.exprs = exprs;
    kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| new.get(id)));
    kernel.arrays.iter_mut().flat_map(|array| &mut array.shape).for_each(|size| *size = new.get(*size));
    kernel.substitutions.iter_mut().for_each(|rule| rule.expression = new.get(rule.expression));
    conditions_mut(&mut linearized.linearization).into_iter().for_each(|id| *id = new.get(*id));
    linearized
}

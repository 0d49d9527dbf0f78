//! Arrays whose indices change at every access.
//!
//! # Complexity
//! Linear in expressions.

use nestegg_ir::linearization::conditions_mut;
use nestegg_ir::{ArrayId, Expr, ExprId, Instruction, InstructionKind, LinearizedKernel};

/// Replaces the indices of all accesses, in values, stores and conditions, by what `indices` makes of them; shapes and tables stay as they are.
pub(crate) fn reindex(linearized: &mut LinearizedKernel, indices: impl Fn(ArrayId, &[ExprId]) -> Box<[ExprId]>) {
    let LinearizedKernel { kernel, linearization } = linearized;
    let mut conditions = conditions_mut(linearization);
    let mut roots: Vec<ExprId> = kernel.instructions.iter().flat_map(Instruction::expressions).collect();
    roots.extend(kernel.substitutions.iter().map(|substitution| substitution.expression));
    roots.extend(conditions.iter().map(|condition| **condition));
    let map = kernel.exprs.rewrite(roots, |exprs, _, mut expr| {
        if let Expr::Access { array, indices: old } = &mut expr {
            *old = indices(*array, old);
        }
        exprs.intern(expr)
    });
    for instruction in &mut kernel.instructions {
        instruction.map_expressions(|id| map.get(id));
        let assignees: &mut [nestegg_ir::Assignee] = match &mut instruction.kind {
            InstructionKind::Assignment { assignee, .. } => std::slice::from_mut(assignee),
            InstructionKind::Call { assignees, .. } => assignees,
            InstructionKind::Opaque { .. } => &mut [],
        };
        for assignee in assignees {
            assignee.indices = indices(assignee.array, &assignee.indices);
        }
    }
    for substitution in &mut kernel.substitutions {
        substitution.expression = map.get(substitution.expression);
    }
    for condition in &mut conditions {
        **condition = map.get(**condition);
    }
}

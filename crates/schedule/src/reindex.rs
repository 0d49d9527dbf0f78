//! Arrays whose indices change at every access.
//!
//! # Complexity
//! Linear in expressions.

use nestegg_ir::linearization::Item;
use nestegg_ir::{ArrayId, Expr, ExprId, InstructionKind, LinearizedKernel};
use rustc_hash::FxHashMap;

/// Replaces the indices of all accesses, in values, stores and conditions, by what `indices` makes of them; shapes and tables stay as they are.
pub(crate) fn reindex(linearized: &mut LinearizedKernel, indices: impl Fn(ArrayId, &[ExprId]) -> Box<[ExprId]>) {
    let LinearizedKernel { kernel, linearization } = linearized;
    let mut map: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for idx in 0..kernel.exprs.len() {
        let old = ExprId::new(idx);
        let mut expr = kernel.exprs[old].clone();
        for child in expr.children_mut() {
            *child = map[child];
        }
        if let Expr::Access { array, indices: old } = &mut expr {
            *old = indices(*array, old);
        }
        let new = kernel.exprs.intern(expr);
        map.insert(old, new);
    }
    for instruction in &mut kernel.instructions {
        instruction.map_expressions(|id| map[&id]);
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
        substitution.expression = map[&substitution.expression];
    }
    for item in linearization {
        if let Item::If(condition) = item {
            *condition = map[condition];
        }
    }
}

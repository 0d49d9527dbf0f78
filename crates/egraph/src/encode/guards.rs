//! What may trap, and where it is evaluated only under a condition.

use nestegg_ir::types::Types;
use nestegg_ir::{Expr, ExprId, InsnId, Kernel, LinearizedKernel, Number, Op, Traps};
use rustc_hash::FxHashSet;

/// Whether evaluating an expression where the input does not could trap, its operands aside: a division of integers by anything
/// but a literal, a conversion of a float to an integer (one beyond the integers has no value as one), an operation with
/// a domain if those of floats trap.
pub(super) fn may_trap(kernel: &Kernel, types: &Types, id: ExprId, traps: Traps) -> bool {
    let is_float = |id: ExprId| types.of(id).is_float();
    match &kernel.exprs[id] {
        Expr::Op { op: Op::FloorDiv | Op::Mod, operands } => {
            let is_literal = matches!(kernel.exprs[operands[1]], Expr::Number(_));
            !is_literal && (!is_float(id) || traps == Traps::Keep)
        }
        Expr::Op { op: Op::Div, operands } => traps == Traps::Keep && !is_nonzero_literal(kernel, operands[1]),
        Expr::Op { op: Op::Pow, .. } => traps == Traps::Keep && is_float(id),
        Expr::Call { function, .. } => traps == Traps::Keep && !is_total(&kernel[*function]),
        Expr::Cast { dtype, operand } => dtype.is_integer() && is_float(*operand),
        _ => false,
    }
}

fn is_nonzero_literal(kernel: &Kernel, id: ExprId) -> bool {
    matches!(&kernel.exprs[id], Expr::Number(number) if *number != Number::Int(0) && number.to_f64() != 0.0)
}

/// Whether a function has a finite value for all finite arguments.
fn is_total(function: &str) -> bool {
    matches!(
        function,
        "fabs" | "sin" | "cos" | "tanh" | "atan" | "cbrt" | "copysign" | "fmin" | "fmax" | "floor" | "ceil"
    )
}

/// Expressions that are evaluated only if a condition inside an expression says so.
pub(super) fn in_branches(kernel: &Kernel) -> FxHashSet<ExprId> {
    let mut seen: FxHashSet<ExprId> = FxHashSet::default();
    let mut pending: Vec<ExprId> = Vec::new();
    for (_, expr) in kernel.exprs.iter() {
        match expr {
            Expr::Op { op: Op::If, operands } => pending.extend(&operands[1..]),
            Expr::Op { op: Op::And | Op::Or, operands } => pending.extend(&operands[1..]),
            _ => {}
        }
    }
    while let Some(id) = pending.pop() {
        if seen.insert(id) {
            pending.extend(kernel.exprs[id].children());
        }
    }
    seen
}

/// Instructions under a predicate, or under a condition of the linearization.
pub(super) fn in_conditions(linearized: &LinearizedKernel) -> FxHashSet<InsnId> {
    let kernel = &linearized.kernel;
    let mut res: FxHashSet<InsnId> = kernel.insn_ids().filter(|&insn| !kernel[insn].predicates.is_empty()).collect();
    nestegg_ir::linearization::for_each_run(&linearized.linearization, |insn, around| {
        if !around.conditions.is_empty() {
            res.insert(insn);
        }
    });
    res
}

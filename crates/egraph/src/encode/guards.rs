//! What may trap, and where it is evaluated only under a condition.

use nestegg_ir::affine;
use nestegg_ir::types::Types;
use nestegg_ir::{Expr, ExprId, InameSet, InsnId, Kernel, LinearizedKernel, Number, Op, Traps};
use rustc_hash::FxHashMap;

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

/// The conditions around what is not evaluated always.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conditions {
    /// The inames that they depend on.
    pub(super) inames: InameSet,
    /// Whether there are some that no other instruction can have: those of the linearization, those before the last operand of a logical
    /// operation, and those that are no operation.
    pub(super) is_untold: bool,
    /// Whether something is tested before the first predicate.
    pub(super) is_first_guarded: bool,
}

/// Expressions that are evaluated only if a condition inside an expression says so, with these conditions; of an expression in several
/// branches all conditions of each.
pub(super) fn in_branches(kernel: &Kernel) -> FxHashMap<ExprId, Conditions> {
    let mut res: FxHashMap<ExprId, Conditions> = FxHashMap::default();
    let is_branching = |expr: &Expr| matches!(expr, Expr::Op { op: Op::If | Op::And | Op::Or, .. });
    if !kernel.exprs.iter().any(|(_, expr)| is_branching(expr)) {
        return res;
    }
    let inames = free_inames(kernel);
    // Users come after their operands.
    for id in (0..kernel.exprs.len()).rev().map(ExprId::new) {
        let own = res.get(&id).cloned();
        let expr = &kernel.exprs[id];
        for (position, &child) in expr.children().iter().enumerate() {
            let mut around = own.clone();
            match expr {
                Expr::Op { op: Op::If, operands } if position > 0 => {
                    let around = around.get_or_insert_default();
                    around.inames = around.inames.union(&inames[operands[0].index()]);
                    around.is_untold |= !is_operation(kernel, operands[0]);
                }
                Expr::Op { op: Op::And | Op::Or, .. } if position > 0 => {
                    around.get_or_insert_default().is_untold = true
                }
                _ => {}
            }
            if let Some(around) = around {
                let all = res.entry(child).or_default();
                all.inames = all.inames.union(&around.inames);
                all.is_untold |= around.is_untold;
            }
        }
    }
    res
}

/// The inames that each expression depends on, those that are bound in it aside.
fn free_inames(kernel: &Kernel) -> Vec<InameSet> {
    let mut res: Vec<InameSet> = Vec::with_capacity(kernel.exprs.len());
    for (_, expr) in kernel.exprs.iter() {
        let children = expr.children();
        let all = children.iter().fold(InameSet::new(), |all, child| all.union(&res[child.index()]));
        res.push(match expr {
            Expr::Iname(iname) => [*iname].into_iter().collect(),
            Expr::Reduce { inames, .. } => all.difference(&inames.iter().copied().collect()),
            _ => all,
        });
    }
    res
}

/// Whether the encoder has a value for a condition: it has none for affine functions.
fn is_operation(kernel: &Kernel, condition: ExprId) -> bool {
    affine::of(&kernel.exprs, condition).is_none()
}

/// Instructions under a predicate, or under a condition of the linearization, with these conditions.
pub(super) fn in_conditions(linearized: &LinearizedKernel) -> FxHashMap<InsnId, Conditions> {
    let kernel = &linearized.kernel;
    let mut res: FxHashMap<InsnId, Conditions> = FxHashMap::default();
    if kernel.instructions.iter().any(|instruction| !instruction.predicates.is_empty()) {
        let inames = free_inames(kernel);
        for insn in kernel.insn_ids() {
            for &predicate in &kernel[insn].predicates {
                let all = res.entry(insn).or_default();
                all.inames = all.inames.union(&inames[predicate.index()]);
                all.is_untold |= !is_operation(kernel, predicate);
            }
        }
    }
    nestegg_ir::linearization::for_each_run(&linearized.linearization, |insn, around| {
        if !around.conditions.is_empty() {
            let all = res.entry(insn).or_default();
            let predicates = &kernel[insn].predicates;
            all.is_untold |= !around.conditions.iter().all(|condition| predicates.contains(condition));
            all.is_first_guarded |= around.conditions.first() != predicates.first();
        }
    });
    res
}

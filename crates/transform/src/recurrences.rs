//! Terms that the iteration before has just computed are added last.
//!
//! # Why
//! In `for j: A[j] = A[j - 1] + b[j] + c[j]`, each iteration waits for two additions of the one before. If the old element is added last, it waits for one: the
//! other addition does not need it.
//! # Input
//! A kernel in its final order, in which sums may be reordered.
//! # Output
//! The same terms in another order.
//! # Method
//! In each sum of an instruction in an innermost loop, the terms that read an element which the same instruction wrote [a few iterations before](stored_before) go last.
//! # Complexity
//! Linear in the expressions of each instruction.

use nestegg_ir::linearization::for_each_run;
use nestegg_ir::meetings::stored_before;
use nestegg_ir::walk::below;
use nestegg_ir::{Expr, ExprId, InameId, InsnId, InstructionKind, LinearizedKernel, Op};
use rustc_hash::FxHashSet;

/// The kernel with such terms last; `None` if they are, or there are none.
#[must_use]
pub fn add_recurrences_last(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let kernel = &linearized.kernel;
    let mut innermost: Vec<(InsnId, InameId)> = Vec::new();
    for_each_run(&linearized.linearization, |insn, around| {
        innermost.extend(around.loops.last().map(|&iname| (insn, iname)));
    });
    let mut res: Option<LinearizedKernel> = None;
    for (insn, iname) in innermost {
        let InstructionKind::Assignment { assignee, expression } = &kernel[insn].kind else { continue };
        if !kernel[assignee.array].dtype.is_float() {
            continue;
        }
        let exprs = &kernel.exprs;
        let below = below(exprs, [*expression]);
        // Operands come before operations.
        let mut late: FxHashSet<ExprId> = FxHashSet::default();
        for &id in &below {
            if stored_before(exprs, assignee, id, iname).is_some()
                || exprs[id].children().iter().any(|child| late.contains(child))
            {
                late.insert(id);
            }
        }
        let is_early = |id: &ExprId| match &exprs[*id] {
            Expr::Op { op: Op::Add, operands } => {
                operands.windows(2).any(|pair| late.contains(&pair[0]) && !late.contains(&pair[1]))
            }
            _ => false,
        };
        let early: FxHashSet<ExprId> = below.into_iter().filter(is_early).collect();
        if early.is_empty() {
            continue;
        }
        let changed = &mut res.get_or_insert_with(|| linearized.clone()).kernel;
        let map =
            changed.exprs.rewrite([*expression], |new_exprs, old, new| match (early.contains(&old), &exprs[old]) {
                (true, Expr::Op { op: Op::Add, operands: of_old }) => {
                    let mut order: Vec<usize> = (0..of_old.len()).collect();
                    order.sort_by_key(|&at| late.contains(&of_old[at]));
                    let operands: Vec<ExprId> = order.into_iter().map(|at| new.children()[at]).collect();
                    new_exprs.op(Op::Add, operands)
                }
                _ => new_exprs.intern(new),
            });
        let new = map.get(*expression);
        if let InstructionKind::Assignment { expression, .. } = &mut changed[insn].kind {
            *expression = new;
        }
    }
    res.map(crate::eliminate_dead)
}

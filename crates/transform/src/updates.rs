//! Stores that add to what an element has are written as updates.
//!
//! # Why
//! `A[i] = -(x - A[i])` and `A[i] = (x + A[i]) - y` add to the element. Written as `A[i] = A[i] - x` and `A[i] = A[i] + (x - y)`, they are one operation on memory, nothing of
//! which waits for the old value but that; and where [elements are put together](crate::batch), nothing needs to be read before.
//! # Input
//! A kernel in its final order, in which sums may be reordered.
//! # Output
//! The same terms in another order, as many operations.
//! # Method
//! In the value of each store, sums, differences and signs are followed to the old value of the element. What stands beside it there is added up first.
//! # Complexity
//! Linear in the expressions of each instruction.
//! # Not done
//! Sums with an element that [an iteration before](stored_before) wrote stay: that is added last, since the next iteration waits for it.

use nestegg_ir::linearization::for_each_run;
use nestegg_ir::meetings::stored_before;
use nestegg_ir::walk::below;
use nestegg_ir::{Assignee, Expr, ExprId, Exprs, InameId, InsnId, InstructionKind, Kernel, LinearizedKernel, Op};
use rustc_hash::FxHashSet;

/// Makes an instruction store this to its element; or add or take it away, if it is an update now.
pub(crate) fn set_stored(kernel: &mut Kernel, insn: InsnId, value: ExprId) {
    let Kernel { instructions, exprs, .. } = kernel;
    let instruction = &mut instructions[insn.index()];
    let update = instruction.update(exprs);
    if let InstructionKind::Assignment { assignee, expression } = &mut instruction.kind {
        let own = exprs.access(assignee.array, assignee.indices.clone());
        *expression = update.map_or(value, |(op, _)| exprs.op(op, [own, value]));
    }
}

/// The kernel with such stores as updates; `None` if they are, or there are none.
#[must_use]
pub fn write_as_updates(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let kernel = &linearized.kernel;
    let mut runs: Vec<(InsnId, Option<InameId>)> = Vec::new();
    for_each_run(&linearized.linearization, |insn, around| runs.push((insn, around.loops.last().copied())));
    let mut res: Option<LinearizedKernel> = None;
    for (insn, innermost) in runs {
        let InstructionKind::Assignment { assignee, expression } = &kernel[insn].kind else { continue };
        if !kernel[assignee.array].dtype.is_float()
            || matches!(kernel[insn].update(&kernel.exprs), Some((Op::Add | Op::Sub, _)))
        {
            continue;
        }
        let Some((false, terms)) = beside(&kernel.exprs, assignee, *expression) else { continue };
        let waits = |iname| {
            let all = below(&kernel.exprs, [*expression]);
            all.into_iter().any(|id| stored_before(&kernel.exprs, assignee, id, iname).is_some())
        };
        if innermost.is_some_and(waits) {
            continue;
        }
        let changed = &mut res.get_or_insert_with(|| linearized.clone()).kernel;
        let own = changed.exprs.access(assignee.array, assignee.indices.clone());
        let of_sign = |is_negated: bool| terms.iter().filter(move |term| term.1 == is_negated).map(|term| term.0);
        let (added, taken): (Vec<ExprId>, Vec<ExprId>) = (of_sign(false).collect(), of_sign(true).collect());
        let mut sum = |list: Vec<ExprId>| match list.as_slice() {
            [] => None,
            [one] => Some(*one),
            _ => Some(changed.exprs.op(Op::Add, list)),
        };
        let new = match (sum(added), sum(taken)) {
            (Some(added), None) => changed.exprs.op(Op::Add, [own, added]),
            (None, Some(taken)) => changed.exprs.op(Op::Sub, [own, taken]),
            (Some(added), Some(taken)) => {
                let difference = changed.exprs.op(Op::Sub, [added, taken]);
                changed.exprs.op(Op::Add, [own, difference])
            }
            (None, None) => continue,
        };
        if let InstructionKind::Assignment { expression, .. } = &mut changed[insn].kind {
            *expression = new;
        }
    }
    res.map(crate::eliminate_dead)
}

/// What is added to the element's own value, each term with whether it is taken away, and whether the element's value is; `None` if a value is no such sum.
fn beside(exprs: &Exprs, assignee: &Assignee, root: ExprId) -> Option<(bool, Vec<(ExprId, bool)>)> {
    let summed = |id: ExprId| match &exprs[id] {
        Expr::Op { op: Op::Add | Op::Sub | Op::Neg, operands } => &**operands,
        _ => &[],
    };
    // Sums of which the element's value is a term; operands come before operations.
    let mut leads: FxHashSet<ExprId> = FxHashSet::default();
    for id in below(exprs, [root]) {
        if assignee.is_read_by(exprs, id) || summed(id).iter().any(|operand| leads.contains(operand)) {
            leads.insert(id);
        }
    }
    let (mut at, mut is_own_taken, mut terms) = (root, false, Vec::new());
    while !assignee.is_read_by(exprs, at) {
        let operands = summed(at);
        let next = operands.iter().position(|operand| leads.contains(operand))?;
        let is_taken = |idx: usize| {
            let changes = matches!(&exprs[at], Expr::Op { op: Op::Neg, .. })
                || matches!(&exprs[at], Expr::Op { op: Op::Sub, .. }) && idx == 1;
            is_own_taken ^ changes
        };
        let others = operands.iter().enumerate().filter(|&(idx, _)| idx != next);
        // What stands next to the element comes first.
        terms.splice(0..0, others.map(|(idx, &operand)| (operand, is_taken(idx))));
        (at, is_own_taken) = (operands[next], is_taken(next));
    }
    Some((is_own_taken, terms))
}

//! Long sums in loops as sums of partial sums.
//!
//! # Why
//! A sum of seventy terms is a chain of seventy additions, each waiting for the one before. Other iterations could fill the time, but a processor sees only a few hundred
//! instructions ahead, which is two or three iterations. Partial sums do not wait for each other. Compilers that may not reassociate leave sums as they are.
//! # Input
//! A kernel in its final order, in which sums may be reassociated.
//! # Output
//! The same terms in the same order, in parentheses.
//! # Method
//! Sums of floats with more than [`MAX_TERMS`] terms, in instructions inside loops, become sums of as many parts of equal length as keep to that, up to [`MAX_PARTS`].
//! What an update adds to stays its first or last term.
//! # Complexity
//! Linear in the expressions of each instruction.

use std::ops::Range;

use nestegg_ir::linearization::for_each_run;
use nestegg_ir::walk::{below, reads};
use nestegg_ir::{ArrayId, Expr, ExprId, Exprs, InsnId, InstructionKind, LinearizedKernel, Op};
use rustc_hash::FxHashMap;

/// Sums of so many terms stay: enough of their iterations are under way at once.
const MAX_TERMS: usize = 16;

/// Each part takes a register.
const MAX_PARTS: usize = 4;

/// The kernel with long sums in parts; `None` if there are none.
#[must_use]
pub fn split_long_sums(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let kernel = &linearized.kernel;
    let mut inside: Vec<InsnId> = Vec::new();
    for_each_run(&linearized.linearization, |insn, around| {
        inside.extend((!around.loops.is_empty()).then_some(insn));
    });
    let mut res: Option<LinearizedKernel> = None;
    for insn in inside {
        let InstructionKind::Assignment { assignee, expression } = &kernel[insn].kind else { continue };
        if !kernel[assignee.array].dtype.is_float() {
            continue;
        }
        let long: FxHashMap<ExprId, Range<usize>> = below(&kernel.exprs, [*expression])
            .into_iter()
            .filter_map(|id| Some((id, long_run(&kernel.exprs, id, assignee.array)?)))
            .collect();
        if long.is_empty() {
            continue;
        }
        let changed = &mut res.get_or_insert_with(|| linearized.clone()).kernel;
        let map = changed.exprs.rewrite([*expression], |new_exprs, old, new| match (long.get(&old), new) {
            (Some(run), Expr::Op { op, operands }) => {
                let n_parts = run.len().div_ceil(MAX_TERMS).min(MAX_PARTS);
                let length = run.len().div_ceil(n_parts);
                let mut terms = operands[..run.start].to_vec();
                terms.extend(operands[run.clone()].chunks(length).map(|part| new_exprs.op(op, part.to_vec())));
                terms.extend_from_slice(&operands[run.end..]);
                new_exprs.op(op, terms)
            }
            (_, new) => new_exprs.intern(new),
        });
        let new = map.get(*expression);
        if let InstructionKind::Assignment { expression, .. } = &mut changed[insn].kind {
            *expression = new;
        }
    }
    res.map(crate::eliminate_dead)
}

/// The terms of a long sum that are split. Those at its ends that read the array that is written stay where they are.
fn long_run(exprs: &Exprs, id: ExprId, written: ArrayId) -> Option<Range<usize>> {
    let Expr::Op { op: Op::Add, operands } = &exprs[id] else { return None };
    let is_other = |operand: &ExprId| !reads(exprs, [*operand], written);
    let run = operands.iter().position(is_other)?..operands.iter().rposition(is_other)? + 1;
    (run.len() > MAX_TERMS).then_some(run)
}

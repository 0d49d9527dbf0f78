//! Extrema: operands lost, `min` for `max`, other constants.

use nestegg_ir::{Expr, Op};

use super::Sites;
use super::conditions::moved;
use super::view::{View, without};

/// The operands of an extremum are one fewer.
pub(super) fn part_lost(view: &View<'_>, sites: &mut Sites<'_>) {
    for (node, op, operands) in view.operations().filter(|(_, op, _)| matches!(op, Op::Min | Op::Max)) {
        for at in 0..operands.len() {
            let operands = operands.to_vec();
            let what = format!("operand {at} of `{}` lost", op.spelling());
            sites.expression(node, what, move |kernel| without(kernel, op, &operands, at));
        }
    }
}

/// `min` for `max`, and the other way round.
pub(super) fn exchanged(view: &View<'_>, sites: &mut Sites<'_>) {
    for (node, op, operands) in view.operations() {
        let other = match op {
            Op::Min => Op::Max,
            Op::Max => Op::Min,
            _ => continue,
        };
        let what = format!("`{}` for `{}`", other.spelling(), op.spelling());
        sites.put(node, what, Expr::Op { op: other, operands: operands.into() });
    }
}

/// A constant among the operands of an extremum is one more or less.
pub(super) fn constant(view: &View<'_>, sites: &mut Sites<'_>) {
    for node in view.nodes.iter().filter(|node| node.is_extremal && !node.is_index) {
        let Expr::Number(number) = view.expr(node.id) else { continue };
        for by in [1, -1] {
            if let Some(other) = moved(*number, by).filter(|other| other != number) {
                sites.put(node, format!("{number} in an extremum becomes {other}"), Expr::Number(other));
            }
        }
    }
}

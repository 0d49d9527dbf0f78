//! Conditions: lost, turned, compared otherwise, with other constants.

use nestegg_ir::types::Type;
use nestegg_ir::{Expr, Float, Item, Number, Op};

use super::Sites;
use super::view::{View, end_of, without};

/// A predicate, or a condition around instructions, is gone.
pub(super) fn lost(view: &View<'_>, sites: &mut Sites<'_>) {
    let kernel = view.kernel();
    for insn in kernel.insn_ids() {
        for at in 0..kernel[insn].predicates.len() {
            sites.kernel(format!("predicate {at} of `{}` lost", kernel[insn].id), move |mutant| {
                mutant.kernel[insn].predicates.remove(at);
            });
        }
    }
    for (at, item) in view.linearized.linearization.iter().enumerate() {
        if let Item::If(_) = item {
            sites.kernel(format!("condition at item {at} lost"), move |mutant| {
                let end = end_of(&mutant.linearization, at);
                mutant.linearization.remove(end);
                mutant.linearization.remove(at);
            });
        }
    }
}

/// A condition holds where it did not.
pub(super) fn turned(view: &View<'_>, sites: &mut Sites<'_>) {
    for node in view.nodes.iter().filter(|node| view.types.of(node.id) == Type::Bool) {
        let id = node.id;
        match view.expr(id) {
            Expr::Op { op: Op::Not, operands } => {
                let operand = operands[0];
                sites.expression(node, "`not` lost", move |_| operand);
            }
            _ => sites.expression(node, "condition turned", move |kernel| kernel.exprs.op(Op::Not, [id])),
        }
    }
    for (node, op, operands) in view.operations() {
        if let (Op::If, &[condition, a, b]) = (op, operands) {
            sites.put(node, "branches exchanged", Expr::Op { op, operands: [condition, b, a].into() });
        }
    }
}

/// One of several conditions joined by `and` or `or` is gone.
pub(super) fn part_lost(view: &View<'_>, sites: &mut Sites<'_>) {
    for (node, op, operands) in view.operations().filter(|(_, op, _)| matches!(op, Op::And | Op::Or)) {
        for at in 0..operands.len() {
            let operands = operands.to_vec();
            let what = format!("operand {at} of `{}` lost", op.spelling());
            sites.expression(node, what, move |kernel| without(kernel, op, &operands, at));
        }
    }
}

/// `and` for `or`, and the other way round.
pub(super) fn connective(view: &View<'_>, sites: &mut Sites<'_>) {
    for (node, op, operands) in view.operations() {
        let other = match op {
            Op::And => Op::Or,
            Op::Or => Op::And,
            _ => continue,
        };
        sites.put(
            node,
            format!("`{}` for `{}`", other.spelling(), op.spelling()),
            Expr::Op { op: other, operands: operands.into() },
        );
    }
}

/// Another comparison of the same operands.
pub(super) fn comparison(view: &View<'_>, sites: &mut Sites<'_>) {
    for (node, op, operands) in view.operations() {
        let others: &[Op] = match op {
            Op::Lt => &[Op::Le, Op::Gt, Op::Ne],
            Op::Le => &[Op::Lt, Op::Ge, Op::Eq],
            Op::Gt => &[Op::Ge, Op::Lt, Op::Ne],
            Op::Ge => &[Op::Gt, Op::Le, Op::Eq],
            Op::Eq => &[Op::Ne, Op::Le, Op::Ge],
            Op::Ne => &[Op::Eq, Op::Lt, Op::Gt],
            _ => continue,
        };
        for &other in others {
            let what = format!("`{}` for `{}`", other.spelling(), op.spelling());
            sites.put(node, what, Expr::Op { op: other, operands: operands.into() });
        }
    }
}

/// What another number is made of a number.
type Change = fn(Number) -> Option<Number>;

/// A constant in a comparison is one more or less.
pub(super) fn constant(view: &View<'_>, sites: &mut Sites<'_>) {
    let up: Change = |number| moved(number, 1);
    let down: Change = |number| moved(number, -1);
    constants(view, sites, &[("one more", up), ("one less", down)]);
}

/// A constant in a comparison is another by a factor.
pub(super) fn constant_scaled(view: &View<'_>, sites: &mut Sites<'_>) {
    let twice: Change = |number| scaled(number, 2);
    let far: Change = |number| scaled(number, 1000);
    let negative: Change = |number| scaled(number, -1);
    constants(view, sites, &[("twice as large", twice), ("a thousand times as large", far), ("negative", negative)]);
}

/// A float in a comparison is the next one.
pub(super) fn constant_next(view: &View<'_>, sites: &mut Sites<'_>) {
    let up: Change = |number| next(number, f64::next_up);
    let down: Change = |number| next(number, f64::next_down);
    constants(view, sites, &[("the next float", up), ("the float before", down)]);
}

fn constants(view: &View<'_>, sites: &mut Sites<'_>, changes: &[(&str, Change)]) {
    for node in view.nodes.iter().filter(|node| node.is_compared && !node.is_index) {
        let Expr::Number(number) = view.expr(node.id) else { continue };
        for (how, change) in changes {
            if let Some(other) = change(*number) {
                sites.put(node, format!("{number} in a comparison {how}"), Expr::Number(other));
            }
        }
    }
}

pub(super) fn moved(number: Number, by: i64) -> Option<Number> {
    match number {
        Number::Int(value) => value.checked_add(by).map(Number::Int),
        Number::Float(value) => Float::new(value.get() + by as f64).map(Number::Float),
    }
}

fn scaled(number: Number, by: i64) -> Option<Number> {
    match number {
        Number::Int(value) => value.checked_mul(by).map(Number::Int),
        Number::Float(value) => Float::new(value.get() * by as f64).map(Number::Float),
    }
}

fn next(number: Number, next: fn(f64) -> f64) -> Option<Number> {
    match number {
        Number::Int(_) => None,
        Number::Float(value) => Float::new(next(value.get())).map(Number::Float),
    }
}

/// A selection is one of its branches.
pub(super) fn selection(view: &View<'_>, sites: &mut Sites<'_>) {
    for (node, op, operands) in view.operations() {
        if let (Op::If, &[_, a, b]) = (op, operands) {
            sites.expression(node, "selection lost, first branch stays", move |_| a);
            sites.expression(node, "selection lost, second branch stays", move |_| b);
        }
    }
}

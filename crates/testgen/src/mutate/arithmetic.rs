//! Arithmetic: signs, terms, factors, exponents, the order of operands, integer division and bits.

use nestegg_ir::{Expr, Op};

use super::Sites;
use super::conditions::moved;
use super::view::{View, without};

/// A term, factor, argument or element has the other sign.
pub(super) fn sign(view: &View<'_>, sites: &mut Sites<'_>) {
    for node in view.nodes.iter().filter(|node| view.is_float(node) || view.types.of(node.id).is_integer()) {
        let id = node.id;
        match view.expr(id) {
            Expr::Op { op: Op::Neg, operands } => {
                let operand = operands[0];
                sites.expression(node, "a sign lost", move |_| operand);
            }
            Expr::Op { op: Op::Sub, operands } => {
                sites.put(node, "`+` for `-`", Expr::Op { op: Op::Add, operands: operands.clone() });
            }
            Expr::Op { op: Op::Add, operands } => {
                for at in 0..operands.len() {
                    let operands = operands.to_vec();
                    sites.expression(node, format!("term {at} negated"), move |kernel| {
                        let mut operands = operands.clone();
                        operands[at] = kernel.exprs.op(Op::Neg, [operands[at]]);
                        kernel.exprs.op(Op::Add, operands)
                    });
                }
            }
            Expr::Number(_) | Expr::Access { .. } | Expr::Call { .. } | Expr::Reduce { .. } if view.is_float(node) => {
                sites.expression(node, "negated", move |kernel| kernel.exprs.op(Op::Neg, [id]));
            }
            _ => {}
        }
    }
}

/// A term is gone.
pub(super) fn term_lost(view: &View<'_>, sites: &mut Sites<'_>) {
    lost(view, sites, &[Op::Add, Op::Sub]);
}

/// A factor or a divisor is gone.
pub(super) fn factor_lost(view: &View<'_>, sites: &mut Sites<'_>) {
    lost(view, sites, &[Op::Mul, Op::Div]);
}

fn lost(view: &View<'_>, sites: &mut Sites<'_>, ops: &[Op]) {
    for (node, op, operands) in view.operations().filter(|(node, op, _)| !node.is_index && ops.contains(op)) {
        for at in 0..operands.len() {
            let operands = operands.to_vec();
            let what = format!("operand {at} of `{}` lost", op.spelling());
            sites.expression(node, what, move |kernel| match (op, at) {
                (Op::Sub, 0) => kernel.exprs.op(Op::Neg, [operands[1]]),
                (Op::Div, 0) => {
                    let one = kernel.exprs.int(1);
                    kernel.exprs.op(Op::Div, [one, operands[1]])
                }
                _ => without(kernel, op, &operands, at),
            });
        }
    }
}

/// A sum for a product, or the other way round.
pub(super) fn exchanged(view: &View<'_>, sites: &mut Sites<'_>) {
    for (node, op, operands) in view.operations().filter(|(node, ..)| !node.is_index) {
        let other = match op {
            Op::Add => Op::Mul,
            Op::Mul => Op::Add,
            _ => continue,
        };
        let what = format!("`{}` for `{}`", other.spelling(), op.spelling());
        sites.put(node, what, Expr::Op { op: other, operands: operands.into() });
    }
}

/// The operands of a difference change places.
pub(super) fn difference(view: &View<'_>, sites: &mut Sites<'_>) {
    turned(view, sites, Op::Sub);
}

/// The operands of a quotient change places.
pub(super) fn quotient(view: &View<'_>, sites: &mut Sites<'_>) {
    turned(view, sites, Op::Div);
}

fn turned(view: &View<'_>, sites: &mut Sites<'_>, which: Op) {
    for (node, op, operands) in view.operations().filter(|(_, op, _)| *op == which) {
        let what = format!("operands of `{}` exchanged", op.spelling());
        sites.put(node, what, Expr::Op { op, operands: [operands[1], operands[0]].into() });
    }
}

/// An exponent is one more or less; a factor that occurs twice occurs once more.
pub(super) fn exponent(view: &View<'_>, sites: &mut Sites<'_>) {
    for (node, op, operands) in view.operations().filter(|(node, ..)| !node.is_index) {
        match op {
            Op::Pow => {
                let (base, exponent) = (operands[0], operands[1]);
                for by in [1, -1] {
                    sites.expression(node, format!("exponent off by {by}"), move |kernel| {
                        let exponent = match kernel.exprs[exponent] {
                            // A whole exponent stays a literal: other powers have another meaning.
                            Expr::Number(number) => moved(number, by).map(Expr::Number),
                            _ => None,
                        }
                        .unwrap_or_else(|| {
                            let by = kernel.exprs.int(by);
                            Expr::Op { op: Op::Add, operands: [exponent, by].into() }
                        });
                        let exponent = kernel.exprs.intern(exponent);
                        kernel.exprs.op(Op::Pow, [base, exponent])
                    });
                }
            }
            Op::Mul => {
                let repeated = operands.iter().enumerate().find(|(at, id)| operands[..*at].contains(id));
                if let Some((_, &repeated)) = repeated {
                    let mut operands = operands.to_vec();
                    operands.push(repeated);
                    sites.put(node, "a repeated factor once more", Expr::Op { op, operands: operands.into() });
                }
            }
            _ => {}
        }
    }
}

/// `//` for `%`, the other way round, or by another divisor.
pub(super) fn division(view: &View<'_>, sites: &mut Sites<'_>) {
    for (node, op, operands) in view.operations() {
        let other = match op {
            Op::FloorDiv => Op::Mod,
            Op::Mod => Op::FloorDiv,
            _ => continue,
        };
        sites.put(
            node,
            format!("`{}` for `{}`", other.spelling(), op.spelling()),
            Expr::Op { op: other, operands: operands.into() },
        );
        let (dividend, divisor) = (operands[0], operands[1]);
        for by in [1, -1] {
            sites.expression(node, format!("divisor of `{}` off by {by}", op.spelling()), move |kernel| {
                let by = kernel.exprs.int(by);
                let divisor = kernel.exprs.op(Op::Add, [divisor, by]);
                kernel.exprs.op(op, [dividend, divisor])
            });
        }
    }
}

/// Another operation on bits.
pub(super) fn bits(view: &View<'_>, sites: &mut Sites<'_>) {
    for (node, op, operands) in view.operations() {
        let others: &[Op] = match op {
            Op::BitAnd => &[Op::BitOr, Op::BitXor],
            Op::BitOr => &[Op::BitAnd, Op::BitXor],
            Op::BitXor => &[Op::BitAnd, Op::BitOr],
            Op::Shl => &[Op::Shr],
            Op::Shr => &[Op::Shl],
            Op::BitNot => &[Op::Neg],
            _ => continue,
        };
        for &other in others {
            let what = format!("`{}` for `{}`", other.spelling(), op.spelling());
            sites.put(node, what, Expr::Op { op: other, operands: operands.into() });
        }
    }
}

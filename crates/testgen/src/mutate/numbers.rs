//! Numbers: literals and the entries of tables.

use std::sync::Arc;

use nestegg_ir::{ArrayId, ArrayKind, Expr, Float, Number, Op};

use super::Sites;
use super::conditions::moved;
use super::view::View;

/// A slight change is by this part of a number,
const SLIGHT: f64 = 1e-7;

/// and by this where the kernel computes in float32, of which 1e-7 is one unit in the last place.
const SLIGHT_SINGLE: f64 = 1e-5;

fn slightness(view: &View<'_>) -> f64 {
    if view.kernel().has_single() { SLIGHT_SINGLE } else { SLIGHT }
}

/// A float literal, or the value of an element, is another by a slight change.
pub(super) fn slightly(view: &View<'_>, sites: &mut Sites<'_>) {
    let slightness = slightness(view);
    let factor = Float::new(1.0 + slightness).map(|value| Expr::Number(Number::Float(value)));
    for node in view.nodes.iter().filter(|node| view.is_float(node) && !node.is_compared) {
        match view.expr(node.id) {
            Expr::Number(number) => {
                if let Some(other) = slight(*number, slightness) {
                    sites.put(node, format!("{number} becomes {other}"), Expr::Number(other));
                }
            }
            Expr::Access { array, .. } => {
                let (id, factor) = (node.id, factor.clone());
                let what = format!("`{}` times {}", view.kernel()[*array].name, 1.0 + slightness);
                sites.expression(node, what, move |kernel| match &factor {
                    Some(factor) => {
                        let factor = kernel.exprs.intern(factor.clone());
                        kernel.exprs.op(Op::Mul, [factor, id])
                    }
                    None => id,
                });
            }
            _ => {}
        }
    }
}

fn slight(number: Number, slightness: f64) -> Option<Number> {
    match number {
        Number::Int(_) => None,
        Number::Float(value) if value.get() == 0.0 => Float::new(slightness).map(Number::Float),
        Number::Float(value) => Float::new(value.get() * (1.0 + slightness)).map(Number::Float),
    }
}

/// A literal, or the value of an element, is twice as large.
pub(super) fn doubled(view: &View<'_>, sites: &mut Sites<'_>) {
    for node in view.nodes.iter().filter(|node| !node.is_index && !node.is_compared) {
        let id = node.id;
        match view.expr(id) {
            Expr::Number(Number::Float(_)) | Expr::Access { .. } if view.is_float(node) => {
                sites.expression(node, "a value doubled", move |kernel| {
                    let two = kernel.exprs.int(2);
                    kernel.exprs.op(Op::Mul, [two, id])
                });
            }
            Expr::Number(Number::Int(value)) => {
                if let Some(twice) = value.checked_mul(2) {
                    sites.put(node, format!("{value} becomes {twice}"), Expr::Number(Number::Int(twice)));
                }
            }
            _ => {}
        }
    }
}

/// An integer literal outside of indices and comparisons is one more or less.
pub(super) fn by_one(view: &View<'_>, sites: &mut Sites<'_>) {
    for node in view.nodes.iter().filter(|node| !node.is_index && !node.is_compared) {
        let Expr::Number(number @ Number::Int(_)) = view.expr(node.id) else { continue };
        for other in [1, -1].into_iter().filter_map(|by| moved(*number, by)) {
            sites.put(node, format!("{number} becomes {other}"), Expr::Number(other));
        }
    }
}

/// A number of a table is another by a slight change; an integer by one.
pub(super) fn table_slightly(view: &View<'_>, sites: &mut Sites<'_>) {
    let slightness = slightness(view);
    entries(view, sites, |number| match number {
        Number::Float(value) if value.get() == 0.0 => None,
        Number::Float(_) => slight(number, slightness),
        Number::Int(_) => moved(number, 1),
    });
}

/// A number of a table has the other sign.
pub(super) fn table_sign(view: &View<'_>, sites: &mut Sites<'_>) {
    entries(view, sites, |number| match number {
        Number::Float(value) if value.get() == 0.0 => None,
        Number::Float(value) => Float::new(-value.get()).map(Number::Float),
        Number::Int(value) => value.checked_neg().map(Number::Int),
    });
}

/// A zero of a table is a number, and a number is zero.
pub(super) fn table_zero(view: &View<'_>, sites: &mut Sites<'_>) {
    entries(view, sites, |number| match number {
        Number::Float(value) if value.get() == 0.0 => Float::new(0.5).map(Number::Float),
        Number::Float(_) => Float::new(0.0).map(Number::Float),
        Number::Int(0) => Some(Number::Int(1)),
        Number::Int(_) => Some(Number::Int(0)),
    });
}

/// So many entries of one table are places, evenly spread.
const ENTRIES: usize = 16;

fn entries(view: &View<'_>, sites: &mut Sites<'_>, change: impl Fn(Number) -> Option<Number>) {
    for (array, values) in tables(view) {
        let step = values.len().div_ceil(ENTRIES).max(1);
        // Where the spacing meets zeros only, their neighbours may do.
        for at in (0..values.len()).step_by(step) {
            let Some((at, other)) = (at..values.len().min(at + step)).find_map(|at| Some((at, change(values[at])?)))
            else {
                continue;
            };
            let what = format!("entry {at} of `{}` becomes {other} from {}", view.kernel()[array].name, values[at]);
            sites.kernel(what, move |mutant| {
                if let ArrayKind::Table(values) = &mut mutant.kernel[array].kind {
                    let mut entries = values.to_vec();
                    entries[at] = other;
                    *values = entries.into();
                }
            });
        }
    }
}

fn tables<'a>(view: &View<'a>) -> impl Iterator<Item = (ArrayId, &'a Arc<[Number]>)> {
    let kernel = view.kernel();
    kernel.array_ids().filter_map(|array| Some((array, kernel[array].table()?)))
}

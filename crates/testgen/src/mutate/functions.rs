//! Functions and conversions.

use nestegg_ir::{Dtype, Expr};

use super::Sites;
use super::view::View;

/// Functions that take the same arguments and are easily mixed up.
const ALIKE: [&[&str]; 9] = [
    &["sin", "cos", "tan"],
    &["exp", "exp2", "expm1"],
    &["log", "log2", "log1p", "log10"],
    &["sqrt", "cbrt", "fabs"],
    &["sinh", "cosh", "tanh"],
    &["asin", "acos", "atan"],
    &["floor", "ceil", "trunc", "round"],
    &["fmin", "fmax", "fmod"],
    &["pow", "hypot", "atan2", "copysign"],
];

/// A function for another that is like it.
pub(super) fn exchanged<'a>(view: &View<'a>, sites: &mut Sites<'a>) {
    for node in &view.nodes {
        let Expr::Call { function, arguments } = view.expr(node.id) else { continue };
        let name = view.kernel()[*function].as_str();
        let alike = ALIKE.iter().find(|group| group.contains(&name)).copied().unwrap_or_default();
        for &other in alike.iter().filter(|other| **other != name) {
            sites.expression(node, format!("`{other}` for `{name}`"), move |kernel| {
                let function = kernel.function(other);
                kernel.exprs.intern(Expr::Call { function, arguments: arguments.clone() })
            });
        }
    }
}

/// A function of one argument is that argument.
pub(super) fn lost(view: &View<'_>, sites: &mut Sites<'_>) {
    for node in &view.nodes {
        let Expr::Call { function, arguments } = view.expr(node.id) else { continue };
        for &argument in arguments {
            let what = format!("`{}` lost", view.kernel()[*function]);
            sites.expression(node, what, move |_| argument);
        }
    }
}

/// Two arguments of a function change places.
pub(super) fn arguments(view: &View<'_>, sites: &mut Sites<'_>) {
    for node in &view.nodes {
        let Expr::Call { function, arguments } = view.expr(node.id) else { continue };
        for at in 1..arguments.len() {
            let mut arguments = arguments.clone();
            arguments.swap(at - 1, at);
            let what = format!("arguments of `{}` exchanged", view.kernel()[*function]);
            sites.put(node, what, Expr::Call { function: *function, arguments });
        }
    }
}

/// A conversion is gone, or goes to a smaller type.
pub(super) fn cast(view: &View<'_>, sites: &mut Sites<'_>) {
    for node in &view.nodes {
        let Expr::Cast { dtype, operand } = view.expr(node.id) else { continue };
        let (dtype, operand) = (*dtype, *operand);
        sites.expression(node, format!("conversion to {dtype} lost"), move |_| operand);
        if dtype.is_float() && view.types.of(operand).is_float() {
            // A fraction that is cut off shows, whatever the precision.
            let what = format!("conversion to int64 before that to {dtype}");
            sites.expression(node, what, move |kernel| {
                let operand = kernel.exprs.intern(Expr::Cast { dtype: Dtype::Int64, operand });
                kernel.exprs.intern(Expr::Cast { dtype, operand })
            });
        }
    }
}

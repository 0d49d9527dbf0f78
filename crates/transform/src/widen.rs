//! float64 in place of float32: the same kernel without the rounding of single precision.
//!
//! # Input
//! A program.
//! # Output
//! The program with every float32 array as a float64 array, and every conversion to float32 as one to float64.
//! # Method
//! Dtypes are exchanged, and all expressions rebuilt in their order.
//! # Complexity
//! Linear in the expressions.

use nestegg_ir::linearization::conditions_mut;
use nestegg_ir::{Dtype, Expr, ExprId, Exprs, Kernel, Program};

/// The program in double precision throughout.
#[must_use]
pub fn in_doubles(program: &Program) -> Program {
    let mut res = program.clone();
    match &mut res {
        Program::Unordered(kernel) => widen(kernel, Vec::new()),
        Program::Linearized(linearized) => {
            widen(&mut linearized.kernel, conditions_mut(&mut linearized.linearization));
        }
    }
    res
}

fn widen(kernel: &mut Kernel, conditions: Vec<&mut ExprId>) {
    kernel.arrays.iter_mut().filter(|array| array.dtype == Dtype::Float32).for_each(|array| {
        array.dtype = Dtype::Float64;
    });
    let mut exprs = Exprs::new();
    let mut new: Vec<ExprId> = Vec::with_capacity(kernel.exprs.len());
    for (_, expr) in kernel.exprs.iter() {
        let mut expr = expr.clone();
        expr.children_mut().iter_mut().for_each(|child| *child = new[child.index()]);
        if let Expr::Cast { dtype: dtype @ Dtype::Float32, .. } = &mut expr {
            *dtype = Dtype::Float64;
        }
        new.push(exprs.intern(expr));
    }
    kernel.exprs = exprs;
    let of_arrays = kernel.arrays.iter_mut().flat_map(|array| &mut array.shape);
    let of_substitutions = kernel.substitutions.iter_mut().map(|substitution| &mut substitution.expression);
    let roots = conditions.into_iter().chain(of_arrays).chain(of_substitutions);
    roots.for_each(|root| *root = new[root.index()]);
    kernel.instructions.iter_mut().for_each(|it| it.map_expressions(|id| new[id.index()]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use nestegg_span::Source;

    #[test]
    fn nothing_is_single() {
        let text = "kernel k linearized\ndomain { [i] : 0 <= i < 5 }\narg x : float32[5] read\narg y : float32[5] write\n\
                    f(a) := cast(float32, a)*2.0\nfor i\n  if cast(float32, 0.1) < x[i]\n    \
                    y[i] = f(x[i]) + cast(float32, 0.1) + cast(float64, x[i])\n  end\nend\n";
        let wide = in_doubles(&nestegg_dump::read(&Source::new("k.knl", text)).unwrap().program);
        assert!(!wide.kernel().has_single());
        assert!(nestegg_ir::verify::verify(&wide).is_empty());
    }
}

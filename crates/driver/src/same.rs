//! Whether two kernels are the same up to names.
//!
//! # Input
//! Kernels made from one kernel: their arguments and parameters are the same.
//! # Output
//! Whether they have the same instructions in the same order. The names of instructions, their stated dependences, the
//! order in which expressions are kept, and unused expressions make no difference.
//! # Complexity
//! Linear.

use nestegg_ir::{Array, ExprId, Instruction, Item, LinearizedKernel};

/// Whether two kernels are the same.
pub(crate) fn is_same(a: &LinearizedKernel, b: &LinearizedKernel) -> bool {
    let (first, second) = (&a.kernel, &b.kernel);
    let may_be = a.linearization.len() == b.linearization.len()
        && first.instructions.len() == second.instructions.len()
        && first.arrays.len() == second.arrays.len()
        && first.domains == second.domains
        && first.inames == second.inames
        && first.functions == second.functions
        && first.substitutions.is_empty()
        && second.substitutions.is_empty();
    may_be && Counterparts::of(a, b).are_all_same(a, b)
}

/// Kernels without those that are the same as one before.
pub(crate) fn different<E>(
    kernels: impl Iterator<Item = Result<LinearizedKernel, E>>,
) -> Result<Vec<LinearizedKernel>, E> {
    let mut res: Vec<LinearizedKernel> = Vec::new();
    for kernel in kernels {
        let kernel = kernel?;
        if !res.iter().any(|known| is_same(known, &kernel)) {
            res.push(kernel);
        }
    }
    Ok(res)
}

/// For each expression of the second kernel the one of the first that is the same.
struct Counterparts(Vec<Option<ExprId>>);

impl Counterparts {
    fn of(a: &LinearizedKernel, b: &LinearizedKernel) -> Self {
        let mut res: Vec<Option<ExprId>> = Vec::with_capacity(b.kernel.exprs.len());
        for (_, expr) in b.kernel.exprs.iter() {
            let mut expr = expr.clone();
            let is_known = expr.children_mut().iter_mut().all(|child| match res[child.index()] {
                Some(same) => {
                    *child = same;
                    true
                }
                None => false,
            });
            res.push(if is_known { a.kernel.exprs.find(&expr) } else { None });
        }
        Self(res)
    }

    fn are_all_same(&self, a: &LinearizedKernel, b: &LinearizedKernel) -> bool {
        a.linearization.iter().zip(&b.linearization).all(|(x, y)| self.is_same_item(x, y))
            && a.kernel.arrays.iter().zip(&b.kernel.arrays).all(|(x, y)| self.is_same_array(x, y))
            && a.kernel.instructions.iter().zip(&b.kernel.instructions).all(|(x, y)| self.is_same_instruction(x, y))
    }

    fn is_same_item(&self, x: &Item, y: &Item) -> bool {
        match (x, y) {
            (Item::If(x), Item::If(y)) => self.0[y.index()] == Some(*x),
            _ => x == y,
        }
    }

    fn is_same_array(&self, x: &Array, y: &Array) -> bool {
        let shape = y.shape.iter().map(|size| self.0[size.index()]);
        shape.eq(x.shape.iter().copied().map(Some))
            && (&x.name, x.dtype, x.stored, &x.kind) == (&y.name, y.dtype, y.stored, &y.kind)
    }

    fn is_same_instruction(&self, x: &Instruction, y: &Instruction) -> bool {
        let mut is_known = true;
        let mut y = Instruction { id: x.id.clone(), depends_on: x.depends_on.clone(), ..y.clone() };
        y.map_expressions(|expr| {
            is_known &= self.0[expr.index()].is_some();
            self.0[expr.index()].unwrap_or(expr)
        });
        is_known && *x == y
    }
}

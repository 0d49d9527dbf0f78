//! Which arrays hold something else for each element of a block.
//!
//! # Output
//! The least set of arrays that holds the given ones and every temporary that an instruction writes whose value, index, predicate or
//! condition around it reads one of the set, or the iname of elements.
//! # Complexity
//! Linear in the kernel, times the number of rounds until nothing is added.

use nestegg_ir::linearization::for_each_run;
use nestegg_ir::linearization::from_tree;
use nestegg_ir::{ArrayId, Expr, ExprId, InameId, Kernel, LoopTree};

/// Arrays by id, whether they are varying.
pub(super) fn varying(kernel: &Kernel, tree: &[LoopTree], own: &[ArrayId], element: Option<InameId>) -> Vec<bool> {
    let mut arrays = vec![false; kernel.arrays.len()];
    for array in own {
        arrays[array.index()] = true;
    }
    let items = from_tree(tree);
    loop {
        let exprs = expressions(kernel, &arrays, element);
        let mut changed = false;
        for_each_run(&items, |insn, around| {
            let instruction = &kernel[insn];
            let mut needed = instruction.expressions().chain(around.conditions.iter().copied());
            if needed.any(|expr| exprs[expr.index()]) {
                for array in instruction.written_arrays() {
                    if kernel[array].is_temporary() && !arrays[array.index()] {
                        arrays[array.index()] = true;
                        changed = true;
                    }
                }
            }
        });
        if !changed {
            return arrays;
        }
    }
}

/// Expressions by id, whether they are varying.
pub(super) fn expressions(kernel: &Kernel, arrays: &[bool], element: Option<InameId>) -> Vec<bool> {
    let mut res = vec![false; kernel.exprs.len()];
    for (id, expr) in kernel.exprs.iter() {
        let own = match expr {
            Expr::Access { array, .. } => arrays[array.index()],
            Expr::Iname(iname) => Some(*iname) == element,
            _ => false,
        };
        res[id.index()] = own || expr.children().iter().any(|child: &ExprId| res[child.index()]);
    }
    res
}

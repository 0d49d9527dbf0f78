//! Stacks of tables are taken apart: `T[1, q, j]` reads the table `T_0[q, j]`.
//!
//! # Output
//! A table that is read at several constants along its first dimension, and nowhere else, is read as the slices that have only the others; of equal tables the first is read.
//! # Why
//! A stack of tables that is read one by one is as many tables, and equal values have equal expressions, whichever table they came from.
//! # Complexity
//! Linear in the DAG and in the entries of the slices.
//! # Not done
//! Constants along later dimensions: there `T[q, 0]` and `T[q, 1]` are columns of one table, and forms look at them together. Slices of one entry are literals already.

use nestegg_ir::{Expr, ExprId, Kernel, LinearizedKernel, affine};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::table_pool::TablePool;

/// A kernel whose stacks of tables are taken apart. Conditions around instructions are left as they are.
#[must_use]
pub fn slice_tables(linearized: LinearizedKernel) -> LinearizedKernel {
    let LinearizedKernel { mut kernel, linearization } = linearized;
    let mut pool = TablePool::new(&kernel);
    let stems: Vec<String> = kernel.arrays.iter().map(|array| array.name.clone()).collect();
    let mut known: FxHashMap<(usize, Vec<Option<i64>>), Option<nestegg_ir::ArrayId>> = FxHashMap::default();
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    let is_stack = stacks(&kernel, &roots);
    let rewritten = kernel.exprs.rewrite(roots, |exprs, _, expr| {
        let Expr::Access { array, indices } = &expr else { return exprs.intern(expr) };
        let Some(contents) = pool.contents(*array).cloned() else { return exprs.intern(expr) };
        let constant = |&index: &ExprId| affine::of(exprs, index).and_then(|index| index.as_constant());
        let mut fixed: Vec<Option<i64>> = indices.iter().map_while(|index| Some(Some(constant(index)?))).collect();
        fixed.resize(indices.len(), None);
        let first = pool.first_equal(*array);
        if !is_stack[array.index()] || !fixed.contains(&None) {
            return exprs.access(first, indices.clone());
        }
        let slice = *known
            .entry((first.index(), fixed.clone()))
            .or_insert_with(|| contents.slice(&fixed).map(|slice| pool.get(exprs, &stems[array.index()], slice)));
        match slice {
            Some(slice) => {
                let rest: Vec<ExprId> =
                    indices.iter().zip(&fixed).filter(|(_, fixed)| fixed.is_none()).map(|(&index, _)| index).collect();
                exprs.access(slice, rest)
            }
            None => exprs.access(first, indices.clone()),
        }
    });
    kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| rewritten.get(id)));
    pool.finish(&mut kernel);
    crate::eliminate_dead(LinearizedKernel { kernel, linearization })
}

/// For each array whether all reads of it are at constants along the first dimension, and there are several of these.
fn stacks(kernel: &Kernel, roots: &[ExprId]) -> Vec<bool> {
    let mut constants: Vec<Option<FxHashSet<i64>>> = vec![Some(FxHashSet::default()); kernel.arrays.len()];
    for id in kernel.exprs.reachable(roots.iter().copied()) {
        let Expr::Access { array, indices } = &kernel.exprs[id] else { continue };
        let first = indices.first().and_then(|&index| affine::of(&kernel.exprs, index)?.as_constant());
        match (first, &mut constants[array.index()]) {
            (Some(first), Some(known)) => {
                known.insert(first);
            }
            (_, known) => *known = None,
        }
    }
    constants.into_iter().map(|known| known.is_some_and(|known| known.len() > 1)).collect()
}

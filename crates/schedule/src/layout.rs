//! Layout: temporaries and tables with their axes in another order in memory.
//!
//! # Input
//! Arrays, each with the axis that is to be last, so that its elements follow each other in memory; and accesses to tables for which another axis is to be last.
//! # Output
//! The same loops and values; the other axes keep their order. Such accesses read a copy of the table. Arguments, and arrays that opaque instructions know by name, stay as they are.
//! # Complexity
//! Linear in expressions and entries of tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use nestegg_ir::names::Names;
use nestegg_ir::{Array, ArrayId, ArrayKind, Expr, ExprId, InsnId, InstructionKind, Kernel, LinearizedKernel, Number};

use crate::reindex::reindex;

/// Moves an axis of each of these arrays behind its others, and where instructions `read` tables, by the access, that axis of a copy; what does not exist is ignored.
#[must_use]
pub fn lay_out(
    linearized: LinearizedKernel,
    last: &[(ArrayId, usize)],
    read: &[(InsnId, ExprId, usize)],
) -> LinearizedKernel {
    let mut linearized = linearized;
    let kernel = &mut linearized.kernel;
    copy_tables(kernel, read);
    let fixed = known_by_name(kernel);
    let mut axes: Vec<Option<usize>> = vec![None; kernel.arrays.len()];
    for &(array, axis) in last {
        if kernel[array].is_argument() || axis + 1 >= kernel[array].shape.len() || fixed.contains(&array) {
            continue;
        }
        if let Some(turned) = turned(kernel, array, axis) {
            kernel[array] = turned;
            axes[array.index()] = Some(axis);
        }
    }
    reindex(&mut linearized, |array, indices| {
        let mut indices: Box<[_]> = indices.into();
        if let Some(axis) = axes[array.index()] {
            indices[axis..].rotate_left(1);
        }
        indices
    });
    linearized
}

/// Lets instructions read copies of tables, one for each table and axis.
fn copy_tables(kernel: &mut Kernel, read: &[(InsnId, ExprId, usize)]) {
    let mut names = Names::new(kernel);
    let mut copies: BTreeMap<(ArrayId, usize), ArrayId> = BTreeMap::new();
    let mut of_instruction: BTreeMap<InsnId, BTreeMap<ExprId, (usize, ArrayId)>> = BTreeMap::new();
    for &(insn, access, axis) in read {
        if insn.index() >= kernel.instructions.len() || access.index() >= kernel.exprs.len() {
            continue;
        }
        let Expr::Access { array, .. } = kernel.exprs[access] else { continue };
        if kernel[array].table().is_none() || axis >= kernel[array].shape.len() {
            continue;
        }
        let copy = match copies.get(&(array, axis)) {
            Some(copy) => *copy,
            None => {
                let Some(turned) = turned(kernel, array, axis) else { continue };
                kernel.arrays.push(Array { name: names.new_name(&turned.name), ..turned });
                *copies.entry((array, axis)).or_insert(ArrayId::new(kernel.arrays.len() - 1))
            }
        };
        of_instruction.entry(insn).or_default().insert(access, (axis, copy));
    }
    for (insn, accesses) in of_instruction {
        let roots: Vec<ExprId> = kernel[insn].expressions().collect();
        let map = kernel.exprs.rewrite(roots, |exprs, old, mut expr| {
            if let Expr::Access { array, indices } = &mut expr
                && let Some(&(axis, copy)) = accesses.get(&old)
            {
                *array = copy;
                indices[axis..].rotate_left(1);
            }
            exprs.intern(expr)
        });
        kernel[insn].map_expressions(|id| map.get(id));
    }
}

/// Arrays that the text of an opaque instruction names.
fn known_by_name(kernel: &Kernel) -> Vec<ArrayId> {
    let mut res = Vec::new();
    for instruction in &kernel.instructions {
        if let InstructionKind::Opaque { reads, writes, .. } = &instruction.kind {
            res.extend(reads.iter().chain(writes));
        }
    }
    res
}

/// An array with that axis behind its others; `None` for a table whose shape is not constant.
fn turned(kernel: &Kernel, array: ArrayId, axis: usize) -> Option<Array> {
    let mut res = Array { kind: moved(kernel, array, axis)?, ..kernel[array].clone() };
    res.shape[axis..].rotate_left(1);
    Some(res)
}

/// The kind of an array with that axis last: a table's values are in their new order. `None` for a table whose shape is not constant.
fn moved(kernel: &Kernel, array: ArrayId, axis: usize) -> Option<ArrayKind> {
    let ArrayKind::Table(values) = &kernel[array].kind else { return Some(kernel[array].kind.clone()) };
    let shape = kernel.constant_shape(array)?;
    let (n_moved, n_behind): (usize, usize) = (shape[axis], shape[axis + 1..].iter().product());
    if n_moved * n_behind == 0 {
        return None;
    }
    let mut res: Vec<Number> = Vec::with_capacity(values.len());
    for block in values.chunks(n_moved * n_behind) {
        for behind in 0..n_behind {
            res.extend(block.iter().skip(behind).step_by(n_behind));
        }
    }
    Some(ArrayKind::Table(Arc::from(res)))
}

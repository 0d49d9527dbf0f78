//! Layout: temporaries and tables with their axes in another order in memory.
//!
//! # Input
//! Arrays, each with the axis that is to be last, so that its elements follow each other in memory.
//! # Output
//! The same loops and values; the other axes keep their order. Arguments, and arrays that opaque instructions know by name, stay as they are.
//! # Complexity
//! Linear in expressions and entries of tables.

use std::sync::Arc;

use nestegg_ir::{ArrayId, ArrayKind, InstructionKind, Kernel, LinearizedKernel, Number};

use crate::reindex::reindex;

/// Moves an axis of each of these arrays behind its others; axes that do not exist are ignored.
#[must_use]
pub fn lay_out(linearized: LinearizedKernel, last: &[(ArrayId, usize)]) -> LinearizedKernel {
    let mut linearized = linearized;
    let kernel = &mut linearized.kernel;
    let fixed = known_by_name(kernel);
    let mut axes: Vec<Option<usize>> = vec![None; kernel.arrays.len()];
    for &(array, axis) in last {
        if kernel[array].is_argument() || axis + 1 >= kernel[array].shape.len() || fixed.contains(&array) {
            continue;
        }
        if let Some(kind) = moved(kernel, array, axis) {
            kernel[array].kind = kind;
            kernel[array].shape[axis..].rotate_left(1);
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

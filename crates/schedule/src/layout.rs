//! Layout: temporaries and tables with their axes in another order in memory.
//!
//! # Input
//! Arrays, each with the axis that is to be last, so that its elements follow each other in memory.
//! # Output
//! The same loops and values; the other axes keep their order. Arguments, and arrays that opaque instructions know by name, stay as they are.
//! # Complexity
//! Linear in expressions and entries of tables.

use std::sync::Arc;

use nestegg_ir::affine;
use nestegg_ir::{ArrayId, ArrayKind, InstructionKind, Kernel, LinearizedKernel, Number};

use crate::reindex::reindex;

/// Moves an axis of each of these arrays behind its others; numbers of axes that there are not change nothing.
#[must_use]
pub fn lay_out(linearized: LinearizedKernel, last: &[(ArrayId, usize)]) -> LinearizedKernel {
    let mut linearized = linearized;
    let mut axes: Vec<Option<usize>> = vec![None; linearized.kernel.arrays.len()];
    let fixed = known_by_name(&linearized.kernel);
    for &(array, axis) in last {
        let kernel = &linearized.kernel;
        if !kernel[array].is_argument() && axis + 1 < kernel[array].shape.len() && !fixed.contains(&array) {
            axes[array.index()] = moved(kernel, array, axis).is_some().then_some(axis);
        }
    }
    for array in linearized.kernel.array_ids() {
        let Some(axis) = axes[array.index()] else { continue };
        let Some(kind) = moved(&linearized.kernel, array, axis) else { continue };
        linearized.kernel[array].kind = kind;
        linearized.kernel[array].shape[axis..].rotate_left(1);
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

/// What an array is once an axis is behind the others; `None` for a table whose extents are no numbers.
fn moved(kernel: &Kernel, array: ArrayId, axis: usize) -> Option<ArrayKind> {
    let ArrayKind::Table(values) = &kernel[array].kind else { return Some(kernel[array].kind.clone()) };
    let extent = |&extent: &_| usize::try_from(affine::of(&kernel.exprs, extent)?.as_constant()?).ok();
    let shape: Vec<usize> = kernel[array].shape.iter().map(extent).collect::<Option<_>>()?;
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

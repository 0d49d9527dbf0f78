//! Elements of arrays of constant sizes: where they are.

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::{ArrayId, Kernel};

/// The sizes of an array; `None` if they are no constants.
pub(crate) fn constant_shape(kernel: &Kernel, array: ArrayId) -> Option<Vec<i64>> {
    kernel[array].shape.iter().map(|&size| affine::of(&kernel.exprs, size)?.as_constant()).collect()
}

/// The position of an element, row-major, for values of inames; `None` outside the array, or where one has no value.
pub(crate) fn position(indices: &[Affine], shape: &[i64], value: &dyn Fn(Var) -> Option<i64>) -> Option<usize> {
    let mut res = 0_i64;
    for (index, &size) in indices.iter().zip(shape) {
        let mut at = index.constant;
        for &(var, by) in &index.terms {
            at = at.checked_add(by.checked_mul(value(var)?)?)?;
        }
        if !(0..size).contains(&at) {
            return None;
        }
        res = res.checked_mul(size)?.checked_add(at)?;
    }
    usize::try_from(res).ok()
}

//! Elements of arrays of constant sizes: where they are.

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::{ArrayId, InameId, Kernel};

/// The sizes of an array; `None` if they are no constants.
pub(crate) fn constant_shape(kernel: &Kernel, array: ArrayId) -> Option<Vec<i64>> {
    kernel[array].shape.iter().map(|&size| affine::of(&kernel.exprs, size)?.as_constant()).collect()
}

/// The least and the greatest value of an affine function, for inames that take values from zero to before their extents; `None` if it has another variable.
pub(crate) fn hull(index: &Affine, extent: impl Fn(InameId) -> Option<usize>) -> Option<(i64, i64)> {
    let (mut low, mut high) = (index.constant, index.constant);
    for &(var, coefficient) in &index.terms {
        let Var::Iname(iname) = var else { return None };
        let last = i64::try_from(extent(iname)?).ok()? - 1;
        let end = coefficient.checked_mul(last)?;
        (low, high) = (low.checked_add(end.min(0))?, high.checked_add(end.max(0))?);
    }
    Some((low, high))
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

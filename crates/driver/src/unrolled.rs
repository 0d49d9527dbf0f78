//! Value forms whose short loops are straight-line code, with the constants that meet there folded.
//!
//! # Input
//! A value form, and the arrays whose stores are unrolled.
//! # Output
//! The unrolled form, which equals the value form exactly, and the same with its constants folded, which equals it to the bit: two steps that can be proved on
//! their own.
//! # Method
//! The parts of a kernel are searched alone, and so are groups of stores within a part; so any of them may be unrolled. This takes a kernel apart as the search does.
//! # Not done
//! An array that one group unrolls and another stores as it is.

use std::collections::BTreeSet;

use nestegg_ir::join::in_sequence;
use nestegg_ir::{Kernel, Licence, LinearizedKernel};
use nestegg_transform::{Folded, apart, fold_constants, isolate_stores, parts, unroll};

/// Names of arrays.
pub(crate) type Names = BTreeSet<String>;

/// A value form without short loops, before and after its constants are folded.
pub(crate) struct Unrolled {
    pub(crate) before: LinearizedKernel,
    pub(crate) after: LinearizedKernel,
    /// How many constants were rounded; if none, both are equal exactly.
    pub(crate) n_rounded: usize,
}

/// A value form without short loops; `None` if it has none, or is too large without them.
pub(crate) fn unrolled(form: &LinearizedKernel) -> Option<Unrolled> {
    let before = unroll(form).ok()??;
    Some(match fold_constants(&before) {
        Some(Folded { linearized: after, n_rounded, .. }) => Unrolled { before, after, n_rounded },
        None => Unrolled { after: before.clone(), before, n_rounded: 0 },
    })
}

/// A value form whose stores of these arrays are without short loops; `None` if that cannot be done.
pub(crate) fn unrolled_in(form: &LinearizedKernel, arrays: &Names, licence: Licence) -> Option<Unrolled> {
    let written = written(&form.kernel);
    if written.is_disjoint(arrays) {
        return Some(Unrolled { before: form.clone(), after: form.clone(), n_rounded: 0 });
    }
    if written.is_subset(arrays)
        && let Some(unrolled) = unrolled(form)
    {
        return Some(unrolled);
    }
    let mut pieces = parts(form);
    if pieces.len() < 2 {
        pieces = apart(&isolate_stores(form.clone()).ok()?, licence).ok()?;
    }
    if pieces.len() < 2 {
        return None;
    }
    let pieces: Option<Vec<Unrolled>> = pieces.iter().map(|piece| unrolled_in(piece, arrays, licence)).collect();
    let pieces = pieces?;
    let before: Vec<&LinearizedKernel> = pieces.iter().map(|piece| &piece.before).collect();
    let after: Vec<&LinearizedKernel> = pieces.iter().map(|piece| &piece.after).collect();
    let n_rounded = pieces.iter().map(|piece| piece.n_rounded).sum();
    Some(Unrolled { before: in_sequence(&before)?, after: in_sequence(&after)?, n_rounded })
}

/// The arrays that a kernel writes.
pub(crate) fn written(kernel: &Kernel) -> Names {
    let arrays = kernel.instructions.iter().flat_map(|instruction| instruction.written_arrays());
    arrays.map(|array| kernel[array].name.clone()).collect()
}

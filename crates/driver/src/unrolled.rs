//! Value forms whose short loops are straight-line code, with the constants that meet there folded.
//!
//! # Input
//! A value form, and the instructions that are unrolled.
//! # Output
//! The unrolled form, which equals the value form exactly, and the same with its constants folded, which equals it to the bit: two steps that can be proved on
//! their own.
//! # Method
//! The search takes a kernel apart into parts, and these into groups of stores, and may unroll any of them. This takes it apart in the same way: an instruction is
//! known by its name in the smallest group.

use std::collections::BTreeSet;

use nestegg_ir::join::in_sequence;
use nestegg_ir::{Licence, LinearizedKernel};
use nestegg_transform::{Folded, apart, fold_constants, isolate_stores, parts, unroll};

/// Names of instructions.
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

/// A value form in which the groups of these instructions are without short loops; `None` if that cannot be done.
pub(crate) fn unrolled_in(form: &LinearizedKernel, instructions: &Names, licence: Licence) -> Option<Unrolled> {
    joined(&parts(form), |part| of_group(part, instructions, licence))
}

fn of_group(group: &LinearizedKernel, instructions: &Names, licence: Licence) -> Option<Unrolled> {
    let own = smallest(group, licence);
    if own.is_disjoint(instructions) {
        return Some(Unrolled { before: group.clone(), after: group.clone(), n_rounded: 0 });
    }
    if own.is_subset(instructions)
        && let Some(unrolled) = unrolled(group)
    {
        return Some(unrolled);
    }
    joined(&groups(group, licence)?, |group| of_group(group, instructions, licence))
}

/// What pieces of a kernel are together.
fn joined(pieces: &[LinearizedKernel], of: impl Fn(&LinearizedKernel) -> Option<Unrolled>) -> Option<Unrolled> {
    let pieces: Vec<Unrolled> = pieces.iter().map(of).collect::<Option<_>>()?;
    let before: Vec<&LinearizedKernel> = pieces.iter().map(|piece| &piece.before).collect();
    let after: Vec<&LinearizedKernel> = pieces.iter().map(|piece| &piece.after).collect();
    let n_rounded = pieces.iter().map(|piece| piece.n_rounded).sum();
    Some(Unrolled { before: in_sequence(&before)?, after: in_sequence(&after)?, n_rounded })
}

/// The instructions of the smallest groups of a part.
pub(crate) fn smallest(part: &LinearizedKernel, licence: Licence) -> Names {
    match groups(part, licence) {
        Some(groups) => groups.iter().flat_map(|group| smallest(group, licence)).collect(),
        None => part.kernel.instructions.iter().map(|instruction| instruction.id.clone()).collect(),
    }
}

/// The groups of stores of a part or group; `None` if it is one.
fn groups(part: &LinearizedKernel, licence: Licence) -> Option<Vec<LinearizedKernel>> {
    let groups = apart(&isolate_stores(part.clone()).ok()?, licence).ok()?;
    (groups.len() > 1).then_some(groups)
}

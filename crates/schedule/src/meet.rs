//! When two accesses of a loop touch the same element.
//!
//! # Method
//! Two indices that are affine in the loop's iname and in inames of loops around it meet a fixed number of iterations apart if they differ by a constant.
//! One index that tells is enough; indices with other inames tell nothing.

use nestegg_ir::InameId;
use nestegg_ir::affine::{Affine, Var};

use crate::access::Access;

/// When two functions of an iname, each in its own iteration, have the same value.
pub(crate) enum Meetings {
    /// Never.
    Never,
    /// The second so many values of the iname after the first.
    Later(i64),
}

impl Meetings {
    /// Whether they never meet, or only at distances that satisfy a condition.
    pub(crate) fn only(&self, is_allowed: impl Fn(i64) -> bool) -> bool {
        match self {
            Self::Never => true,
            Self::Later(distance) => is_allowed(*distance),
        }
    }
}

/// What each index that tells says of the meetings of two accesses in a loop over `iname`, where `is_fixed` inames stay the same in an iteration.
pub(crate) fn meetings(
    a: &Access,
    b: &Access,
    iname: InameId,
    is_fixed: impl Fn(InameId) -> bool,
) -> impl Iterator<Item = Meetings> {
    let indices = a.indices.iter().zip(&b.indices).flat_map(|(first, second)| first.iter().zip(second.iter()));
    indices.filter_map(move |(first, second)| {
        let (first, second) = (first.as_ref()?, second.as_ref()?);
        let is_known = |affine: &Affine| affine.inames().all(&is_fixed);
        (is_known(first) && is_known(second)).then(|| of_indices(first, second, iname)).flatten()
    })
}

/// How iterations meet at one index; `None` if that cannot be told, or they meet in many.
fn of_indices(first: &Affine, second: &Affine, iname: InameId) -> Option<Meetings> {
    let distance = first.plus(second, -1)?.as_constant()?;
    // The difference is constant, so both have the same coefficient.
    match first.coefficient(Var::Iname(iname)) {
        0 => (distance != 0).then_some(Meetings::Never),
        coefficient if distance.checked_rem(coefficient)? != 0 => Some(Meetings::Never),
        coefficient => Some(Meetings::Later(distance.checked_div(coefficient)?)),
    }
}

//! When two accesses of a loop touch the same element.
//!
//! # Method
//! Two indices that are affine in the loop's iname and in inames of loops around it meet a fixed number of iterations apart if they differ by a constant.
//! One index that tells is enough; indices with other inames tell nothing. Where none tells, [`Exact`] asks isl, which knows the domains: the halves of a matrix
//! above and below its diagonal do not meet.
//! # Complexity
//! [`meetings`] is linear in the indices. isl answers at most [`MAX_QUESTIONS`] different questions.

use std::cell::{OnceCell, RefCell};

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::domains::Domains;
use nestegg_ir::meetings::{Distance, Element};
use nestegg_ir::{InameId, Kernel};
use rustc_hash::FxHashMap;

use crate::access::Access;

/// How many questions isl is asked in one pass over a kernel.
const MAX_QUESTIONS: usize = 256;

/// What isl may spend on one question.
pub(crate) const MAX_ISL_OPERATIONS: u64 = 200_000;

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

/// Answers of isl, each found once.
pub(crate) struct Exact<'a> {
    kernel: &'a Kernel,
    /// Made when the first question is asked; `None` if isl cannot read a domain.
    domains: OnceCell<Option<Domains>>,
    known: RefCell<FxHashMap<Question, bool>>,
}

/// Two accesses, the loops around both whose iterations are the same, and loops whose iterations may be this far apart.
type Question = (Access, Access, Vec<InameId>, Vec<InameId>, Distance);

impl<'a> Exact<'a> {
    pub(crate) fn new(kernel: &'a Kernel) -> Self {
        Self { kernel, domains: OnceCell::new(), known: RefCell::default() }
    }

    /// Whether two accesses to one array, in the same iterations of `outer`, meet only in iterations of `loops` that are this far apart.
    pub(crate) fn meet_only(
        &self,
        a: &Access,
        b: &Access,
        outer: &[InameId],
        (loops, distance): (&[InameId], Distance),
    ) -> bool {
        let indices = a.indices.iter().zip(&b.indices).flat_map(|(first, second)| first.iter().zip(second.iter()));
        let known: Vec<(&Affine, &Affine)> =
            indices.filter_map(|(first, second)| Some((first.as_deref()?, second.as_deref()?))).collect();
        // Indices that are the same function of outer loops meet always.
        let may_tell = |&(first, second): &(&Affine, &Affine)| {
            first != second || first.inames().any(|iname| !outer.contains(&iname))
        };
        if !known.iter().any(may_tell) {
            return false;
        }
        let question = (a.clone(), b.clone(), outer.to_vec(), loops.to_vec(), distance);
        if let Some(&answer) = self.known.borrow().get(&question) {
            return answer;
        }
        if self.known.borrow().len() >= MAX_QUESTIONS {
            return false;
        }
        let (first, second): (Vec<&Affine>, Vec<&Affine>) = known.into_iter().unzip();
        let (one, other) = (Element::at(&first), Element::at(&second));
        let domains = self.domains.get_or_init(|| Domains::bounded(self.kernel, MAX_ISL_OPERATIONS).ok());
        let ask = |domains: &Domains| domains.meet_only(one, other, outer, (loops, distance)).ok();
        let answer = domains.as_ref().and_then(ask).unwrap_or(false);
        self.known.borrow_mut().insert(question, answer);
        answer
    }
}

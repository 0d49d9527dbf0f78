//! Sets of integer points.
//!
//! A [`Set`] is isl's: a union of convex pieces with parameters and existentially quantified variables. Operations copy references, not data.
//! Binary operations pair dimensions by *position* and parameters by *name*, as in isl; [`Set::combine`] pairs dimensions by name.

mod names;
mod points;
mod space;

use std::ffi::c_int;

use crate::context::Context;
use crate::convert::{self, PARAM, SET};
use crate::error::Error;
use crate::map::Map;
use crate::templates::copy_or_make;
use crate::union::UnionSet;
use crate::wrap::{methods, object};

/// Which dimensions of a set or map are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dim {
    /// Parameters.
    Param,
    /// The dimensions of a set.
    Set,
    /// The dimensions of the domain of a map.
    In,
    /// The dimensions of the range of a map.
    Out,
}

impl Dim {
    pub(crate) fn raw(self) -> c_int {
        match self {
            Dim::Param => PARAM,
            Dim::In => convert::IN,
            Dim::Set | Dim::Out => SET,
        }
    }
}

object! {
    /// A set of integer points, such as `[n] -> { S[i, j] : 0 <= i < n and 0 <= j <= i }`.
    Set, isl_set, set_to_str
}

impl Set {
    /// The set that was made before on this thread by a name that says all that it depends on; if there is none, `make` makes it.
    ///
    /// # Errors
    /// Those of `make`, which are not kept.
    pub fn make_once<E: From<Error>>(
        context: &Context,
        name: &str,
        make: impl FnOnce() -> Result<Set, E>,
    ) -> Result<Set, E> {
        copy_or_make(context, context.made(), name, || make().map(|set| set.handle)).map(Set::from)
    }
}

methods! { Set:
    /// All points of the space that are not in the set.
    complement = set_complement() -> Set;
    /// The same set in fewer convex pieces, where isl finds them.
    coalesce = set_coalesce() -> Set;
    /// The same set as disjoint convex pieces.
    make_disjoint = set_make_disjoint() -> Set;
    /// The same set with every existentially quantified variable as an explicit integer division.
    compute_divs = set_compute_divs() -> Set;
    /// The same set with implicit equalities made explicit.
    detect_equalities = set_detect_equalities() -> Set;
    /// The same set without redundant constraints.
    remove_redundancies = set_remove_redundancies() -> Set;
    /// The lexicographically least point for each value of the parameters.
    lexmin = set_lexmin() -> Set;
    /// The lexicographically greatest point for each value of the parameters.
    lexmax = set_lexmax() -> Set;
    /// The relation that a set of pairs `{ [A[i] -> B[j]] }` stands for.
    unwrap = set_unwrap() -> Map;
    /// The set without the structure of nested tuples, and without tuple name.
    flatten = set_flatten() -> Set;
    /// Each point to itself.
    identity = set_identity() -> Map;
    /// The union set with this set in it.
    to_union_set = set_to_union_set() -> UnionSet;
    /// The images of the points under a relation.
    apply = set_apply(map: Map) -> Set;
    /// Pairs of a point of `self` and one of `other`, the first lexicographically less.
    lex_lt_set = set_lex_lt_set(other: Set) -> Map;
    /// Pairs of a point of `self` and one of `other`, the first lexicographically less or equal.
    lex_le_set = set_lex_le_set(other: Set) -> Map;
    /// The projection on the parameters: for which values the set is not empty.
    params = set_params() -> Set;
    /// The points in both.
    intersect = set_intersect(other: Set) -> Set;
    /// The points in either.
    union = set_union(other: Set) -> Set;
    /// The points in `self` and not in `other`.
    subtract = set_subtract(other: Set) -> Set;
    /// `self` without what `other` already says: equal to `self` on `other`, arbitrary elsewhere.
    gist = set_gist(other: Set) -> Set;
    /// The points of `self` where the parameters are in the parameter set `other`.
    intersect_params = set_intersect_params(other: Set) -> Set;
    /// Whether no value of the parameters gives a point.
    is_empty = set_is_empty() -> bool;
    /// Whether there are finitely many points for each value of the parameters.
    is_bounded = set_is_bounded() -> bool;
    /// Whether there is exactly one point for each value of the parameters.
    is_singleton = set_is_singleton() -> bool;
    /// Whether this is a product of intervals, without parameters in the bounds.
    is_box = set_is_box() -> bool;
    /// Whether this is a set of parameters, as [`Set::params`] gives it.
    is_params = set_is_params() -> bool;
    /// Whether both have the same points.
    is_equal = set_is_equal(other: Set) -> bool;
    /// Whether every point of `self` is in `other`.
    is_subset = set_is_subset(other: Set) -> bool;
    /// Whether no point is in both.
    is_disjoint = set_is_disjoint(other: Set) -> bool;
}

//! Sets and relations over several spaces at once, told apart by tuple names: the instances of all instructions, all accesses of a kernel.

use crate::context::Context;
use crate::convert::int;
use crate::error::Result;
use crate::ffi;
use crate::map::Map;
use crate::set::Set;
use crate::wrap::{methods, object};

object! {
    /// Relations over several spaces, such as `{ S[i] -> A[i]; T[i, j] -> B[j] }`.
    UnionMap, isl_union_map, union_map_to_str
}

object! {
    /// Sets over several spaces, such as `{ S[i] : 0 <= i < 4; T[i, j] }`.
    UnionSet, isl_union_set, union_set_to_str
}

methods! { UnionMap:
    /// The pairs the other way round.
    reverse = union_map_reverse() -> UnionMap;
    /// The same relation in fewer convex pieces, where isl finds them.
    coalesce = union_map_coalesce() -> UnionMap;
    /// The same relation with every existentially quantified variable as an explicit integer division.
    compute_divs = union_map_compute_divs() -> UnionMap;
    /// The same relation with implicit equalities made explicit.
    detect_equalities = union_map_detect_equalities() -> UnionMap;
    /// For each point the lexicographically least image in each space.
    lexmin = union_map_lexmin() -> UnionMap;
    /// For each point the lexicographically greatest image in each space.
    lexmax = union_map_lexmax() -> UnionMap;
    /// The points that have an image.
    domain = union_map_domain() -> UnionSet;
    /// The images.
    range = union_map_range() -> UnionSet;
    /// The differences image − point, of pairs within one space.
    deltas = union_map_deltas() -> UnionSet;
    /// The pairs as a set.
    wrap = union_map_wrap() -> UnionSet;
    /// The pairs in either.
    union = union_map_union(other: UnionMap) -> UnionMap;
    /// The pairs in both.
    intersect = union_map_intersect(other: UnionMap) -> UnionMap;
    /// The pairs in `self` and not in `other`.
    subtract = union_map_subtract(other: UnionMap) -> UnionMap;
    /// `self` with `other` applied to the points of the domain.
    apply_domain = union_map_apply_domain(other: UnionMap) -> UnionMap;
    /// `self` followed by `other`.
    apply_range = union_map_apply_range(other: UnionMap) -> UnionMap;
    /// `self` without what `other` already says.
    gist = union_map_gist(other: UnionMap) -> UnionMap;
    /// `self` without what `other` already says of the domain.
    gist_domain = union_map_gist_domain(other: UnionSet) -> UnionMap;
    /// `self` without what `other` already says of the range.
    gist_range = union_map_gist_range(other: UnionSet) -> UnionMap;
    /// Each point to the pair of its images under `self` and `other`.
    range_product = union_map_range_product(other: UnionMap) -> UnionMap;
    /// Each point to its images under `self` and `other`, in one tuple.
    flat_range_product = union_map_flat_range_product(other: UnionMap) -> UnionMap;
    /// Pairs of points whose images under `self` and `other` are lexicographically increasing.
    lex_lt_union_map = union_map_lex_lt_union_map(other: UnionMap) -> UnionMap;
    /// Pairs of points whose images under `self` and `other` are lexicographically not decreasing.
    lex_le_union_map = union_map_lex_le_union_map(other: UnionMap) -> UnionMap;
    /// The pairs with the first in `set`.
    intersect_domain = union_map_intersect_domain(set: UnionSet) -> UnionMap;
    /// The pairs with the second in `set`.
    intersect_range = union_map_intersect_range(set: UnionSet) -> UnionMap;
    /// The pairs where the parameters are in the parameter set `set`.
    intersect_params = union_map_intersect_params(set: Set) -> UnionMap;
    /// Whether there is no pair.
    is_empty = union_map_is_empty() -> bool;
    /// Whether no two points have an image in common.
    is_injective = union_map_is_injective() -> bool;
    /// Whether no point has two images.
    is_single_valued = union_map_is_single_valued() -> bool;
    /// Whether the relation is single-valued and injective.
    is_bijective = union_map_is_bijective() -> bool;
    /// Whether every pair is of two equal points.
    is_identity = union_map_is_identity() -> bool;
    /// Whether both have the same pairs.
    is_equal = union_map_is_equal(other: UnionMap) -> bool;
    /// Whether every pair of `self` is in `other`.
    is_subset = union_map_is_subset(other: UnionMap) -> bool;
    /// Whether no pair is in both.
    is_disjoint = union_map_is_disjoint(other: UnionMap) -> bool;
}

methods! { UnionSet:
    /// The same set in fewer convex pieces, where isl finds them.
    coalesce = union_set_coalesce() -> UnionSet;
    /// The lexicographically least point of each space.
    lexmin = union_set_lexmin() -> UnionSet;
    /// The lexicographically greatest point of each space.
    lexmax = union_set_lexmax() -> UnionSet;
    /// Each point to itself.
    identity = union_set_identity() -> UnionMap;
    /// The relation that a set of pairs stands for.
    unwrap = union_set_unwrap() -> UnionMap;
    /// The points in either.
    union = union_set_union(other: UnionSet) -> UnionSet;
    /// The points in both.
    intersect = union_set_intersect(other: UnionSet) -> UnionSet;
    /// The points in `self` and not in `other`.
    subtract = union_set_subtract(other: UnionSet) -> UnionSet;
    /// `self` without what `other` already says.
    gist = union_set_gist(other: UnionSet) -> UnionSet;
    /// The images of the points.
    apply = union_set_apply(map: UnionMap) -> UnionSet;
    /// The points where the parameters are in the parameter set `set`.
    intersect_params = union_set_intersect_params(set: Set) -> UnionSet;
    /// Whether there is no point.
    is_empty = union_set_is_empty() -> bool;
    /// Whether both have the same points.
    is_equal = union_set_is_equal(other: UnionSet) -> bool;
    /// Whether every point of `self` is in `other`.
    is_subset = union_set_is_subset(other: UnionSet) -> bool;
    /// Whether no point is in both.
    is_disjoint = union_set_is_disjoint(other: UnionSet) -> bool;
}

impl UnionMap {
    /// No pair.
    ///
    /// # Errors
    /// Memory exhausted.
    pub fn empty(context: &Context) -> Result<UnionMap> {
        ffi::union_map_empty_ctx(context, context).map(UnionMap::from)
    }

    /// The union of relations.
    ///
    /// # Errors
    /// Different contexts.
    pub fn from_maps(context: &Context, maps: impl IntoIterator<Item = Map>) -> Result<UnionMap> {
        let parts = maps.into_iter().map(|map| map.to_union_map()).collect::<Result<Vec<_>>>()?;
        balanced(parts, UnionMap::union)?.map_or_else(|| UnionMap::empty(context), Ok)
    }

    /// The relation between each pair of spaces, ordered by their text (isl keeps them in a hash table).
    ///
    /// # Errors
    /// Memory exhausted.
    pub fn maps(&self) -> Result<Vec<Map>> {
        let context = self.context();
        let list = ffi::union_map_get_map_list(context, &self.handle)?;
        let mut maps = (0..ffi::map_list_size(context, &list)?)
            .map(|at| ffi::map_list_get_at(context, &list, int(at)?).map(Map::from))
            .collect::<Result<Vec<_>>>()?;
        maps.sort_by_cached_key(ToString::to_string);
        Ok(maps)
    }
}

impl UnionSet {
    /// No point.
    ///
    /// # Errors
    /// Memory exhausted.
    pub fn empty(context: &Context) -> Result<UnionSet> {
        ffi::union_set_empty_ctx(context, context).map(UnionSet::from)
    }

    /// The union of sets.
    ///
    /// # Errors
    /// Different contexts.
    pub fn from_sets(context: &Context, sets: impl IntoIterator<Item = Set>) -> Result<UnionSet> {
        let parts = sets.into_iter().map(|set| set.to_union_set()).collect::<Result<Vec<_>>>()?;
        balanced(parts, UnionSet::union)?.map_or_else(|| UnionSet::empty(context), Ok)
    }

    /// The set in each space, ordered by their text (isl keeps them in a hash table).
    ///
    /// # Errors
    /// Memory exhausted.
    pub fn sets(&self) -> Result<Vec<Set>> {
        let context = self.context();
        let list = ffi::union_set_get_set_list(context, &self.handle)?;
        let mut sets = (0..ffi::set_list_size(context, &list)?)
            .map(|at| ffi::set_list_get_at(context, &list, int(at)?).map(Set::from))
            .collect::<Result<Vec<_>>>()?;
        sets.sort_by_cached_key(ToString::to_string);
        Ok(sets)
    }
}

/// Combines in pairs, in rounds: a union copies the table of its operands, so that one after the other would be quadratic.
fn balanced<T>(mut parts: Vec<T>, combine: impl Fn(&T, &T) -> Result<T>) -> Result<Option<T>> {
    while parts.len() > 1 {
        let mut rest = parts.into_iter();
        let mut next = Vec::with_capacity(rest.len().div_ceil(2));
        while let Some(left) = rest.next() {
            next.push(match rest.next() {
                Some(right) => combine(&left, &right)?,
                None => left,
            });
        }
        parts = next;
    }
    Ok(parts.pop())
}

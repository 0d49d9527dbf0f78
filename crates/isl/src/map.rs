//! Relations between integer points.
//!
//! A [`Map`] relates points of one space to points of another: a schedule, an access relation, a dependence. Spaces are paired
//! by position and tuple name, parameters by name, as in isl.

use crate::affine::Affine;
use crate::convert::{PARAM, SET, affine_from, affine_to, int, uint, value};
use crate::error::{Error, Result};
use crate::ffi;
use crate::set::{Dim, Set};
use crate::text;
use crate::union::UnionMap;
use crate::wrap::{methods, object};

object! {
    /// A relation between integer points, such as `[n] -> { S[i] -> A[i + 1] : 0 <= i < n }`.
    Map, isl_map, map_to_str
}

methods! { Map:
    /// The pairs the other way round.
    reverse = map_reverse() -> Map;
    /// The same relation in fewer convex pieces, where isl finds them.
    coalesce = map_coalesce() -> Map;
    /// The same relation as disjoint convex pieces.
    make_disjoint = map_make_disjoint() -> Map;
    /// The same relation with every existentially quantified variable as an explicit integer division.
    compute_divs = map_compute_divs() -> Map;
    /// The same relation with implicit equalities made explicit.
    detect_equalities = map_detect_equalities() -> Map;
    /// The same relation without redundant constraints.
    remove_redundancies = map_remove_redundancies() -> Map;
    /// All pairs of the space that are not in the relation.
    complement = map_complement() -> Map;
    /// For each point of the domain the lexicographically least image.
    lexmin = map_lexmin() -> Map;
    /// For each point of the domain the lexicographically greatest image.
    lexmax = map_lexmax() -> Map;
    /// The relation without the structure of nested tuples.
    flatten = map_flatten() -> Map;
    /// The relation without the structure of nested tuples in the domain.
    flatten_domain = map_flatten_domain() -> Map;
    /// The relation without the structure of nested tuples in the range.
    flatten_range = map_flatten_range() -> Map;
    /// The points that have an image.
    domain = map_domain() -> Set;
    /// The images.
    range = map_range() -> Set;
    /// The parameters for which there is a pair.
    params = map_params() -> Set;
    /// The pairs as a set.
    wrap = map_wrap() -> Set;
    /// The differences image − point, of a relation from a space to itself.
    deltas = map_deltas() -> Set;
    /// The pairs in either.
    union = map_union(other: Map) -> Map;
    /// The pairs in both.
    intersect = map_intersect(other: Map) -> Map;
    /// The pairs in `self` and not in `other`.
    subtract = map_subtract(other: Map) -> Map;
    /// `self` with `other` applied to the points of the domain.
    apply_domain = map_apply_domain(other: Map) -> Map;
    /// `self` followed by `other`.
    apply_range = map_apply_range(other: Map) -> Map;
    /// `self` without what `other` already says.
    gist = map_gist(other: Map) -> Map;
    /// `self` without what `other` already says of the domain.
    gist_domain = map_gist_domain(other: Set) -> Map;
    /// `self` without what `other` already says of the range.
    gist_range = map_gist_range(other: Set) -> Map;
    /// Pairs of points to pairs of images.
    product = map_product(other: Map) -> Map;
    /// Pairs of a point of `self` and one of `other`, to the images they share.
    domain_product = map_domain_product(other: Map) -> Map;
    /// Each point to the pair of its images under `self` and `other`.
    range_product = map_range_product(other: Map) -> Map;
    /// Each point to its images under `self` and `other`, in one tuple.
    flat_range_product = map_flat_range_product(other: Map) -> Map;
    /// The pairs with the first in `set`.
    intersect_domain = map_intersect_domain(set: Set) -> Map;
    /// The pairs with the second in `set`.
    intersect_range = map_intersect_range(set: Set) -> Map;
    /// The pairs where the parameters are in the parameter set `set`.
    intersect_params = map_intersect_params(set: Set) -> Map;
    /// Whether there is no pair.
    is_empty = map_is_empty() -> bool;
    /// Whether no two points have an image in common.
    is_injective = map_is_injective() -> bool;
    /// Whether no point has two images.
    is_single_valued = map_is_single_valued() -> bool;
    /// Whether the relation is single-valued and injective.
    is_bijective = map_is_bijective() -> bool;
    /// Whether every pair is of two equal points; spaces and tuple names must agree.
    is_identity = map_is_identity() -> bool;
    /// Whether both have the same pairs.
    is_equal = map_is_equal(other: Map) -> bool;
    /// Whether every pair of `self` is in `other`.
    is_subset = map_is_subset(other: Map) -> bool;
    /// Whether no pair is in both.
    is_disjoint = map_is_disjoint(other: Map) -> bool;
    /// The union map with this relation in it.
    to_union_map = map_to_union_map() -> UnionMap;
}

impl Map {
    /// Each point of `domain` to the values of `outputs`, which are expressions in its dimensions and parameters, in a tuple called `tuple`.
    ///
    /// # Errors
    /// [`Error::UnknownDim`]; a tuple name that is no identifier.
    pub fn from_affine(domain: &Set, tuple: Option<&str>, outputs: &[Affine]) -> Result<Map> {
        let context = domain.context();
        let domain = if domain.is_params()? { domain.params_to_dims(&[])? } else { domain.clone() };
        let space = ffi::set_get_space(context, &domain.handle)?;
        let local = ffi::local_space_from_space(context, &space)?;
        let (params, dims) = (domain.param_names()?, domain.dim_names()?);
        let mut list = ffi::aff_list_alloc(context, context, int(outputs.len())?)?;
        for output in outputs {
            list = ffi::aff_list_add(context, &list, &affine_to(&local, &params, &dims, output)?)?;
        }
        let mut range = ffi::space_from_domain(context, &space)?;
        range = ffi::space_add_dims(context, &range, SET, uint(outputs.len())?)?;
        let function = ffi::multi_aff_from_aff_list(context, &range, &list)?;
        let map = Map::from(ffi::map_from_multi_aff(context, &function)?).intersect_domain(&domain)?;
        match tuple {
            Some(_) => map.set_tuple_name(Dim::Out, tuple),
            None => Ok(map),
        }
    }

    /// All pairs of a point of `domain` and one of `range`.
    ///
    /// # Errors
    /// Different contexts.
    pub fn from_domain_and_range(domain: &Set, range: &Set) -> Result<Map> {
        ffi::map_from_domain_and_range(domain.context(), &domain.handle, &range.handle).map(Map::from)
    }

    /// All pairs of points of the *space* of `set`, the first lexicographically less.
    ///
    /// # Errors
    /// A set of parameters.
    pub fn lex_lt(set: &Set) -> Result<Map> {
        let space = ffi::set_get_space(set.context(), &set.handle)?;
        ffi::map_lex_lt(set.context(), &space).map(Map::from)
    }

    /// All pairs of points of the *space* of `set`, the first lexicographically less or equal.
    ///
    /// # Errors
    /// A set of parameters.
    pub fn lex_le(set: &Set) -> Result<Map> {
        let space = ffi::set_get_space(set.context(), &set.handle)?;
        ffi::map_lex_le(set.context(), &space).map(Map::from)
    }

    /// The function that this relation is, one expression for each output in the names of the domain; `None` if it is not single-valued
    /// or needs different expressions on different parts of its domain.
    ///
    /// The expressions are valid on the domain: `{ [i] -> [j] : 2j = i }` gives `floor(i/2)`.
    ///
    /// # Errors
    /// A number that exceeds 64 bits, a dimension without a name, the operation limit.
    pub fn as_affine(&self) -> Result<Option<Vec<Affine>>> {
        if !self.is_single_valued()? {
            return Ok(None);
        }
        let context = self.context();
        let pieces = ffi::pw_multi_aff_from_map(context, &self.coalesce()?.handle)?;
        let pieces = ffi::pw_multi_aff_coalesce(context, &pieces)?;
        let pieces = ffi::pw_multi_aff_gist(context, &pieces, &self.domain()?.handle)?;
        if ffi::pw_multi_aff_n_piece(context, &pieces)? != 1 || !ffi::pw_multi_aff_isa_multi_aff(context, &pieces)? {
            return Ok(None);
        }
        let function = ffi::pw_multi_aff_as_multi_aff(context, &pieces)?;
        (0..ffi::multi_aff_size(context, &function)?)
            .map(|at| {
                let (numerator, denominator) = affine_from(&ffi::multi_aff_get_at(context, &function, int(at)?)?)?;
                numerator.floor_div(denominator)
            })
            .collect::<Result<Vec<Affine>>>()
            .map(Some)
    }

    /// The pairs as a set of one tuple without name, its dimensions named `inputs` and then `outputs`.
    ///
    /// # Errors
    /// Not as many names as dimensions; names that are no identifiers or not distinct.
    pub fn as_set(&self, inputs: &[&str], outputs: &[&str]) -> Result<Set> {
        let names: Vec<&str> = inputs.iter().chain(outputs).copied().collect();
        if inputs.len() != self.n(Dim::In)? {
            return Err(Error::Isl(format!("{} names for {} dimensions", inputs.len(), self.n(Dim::In)?)));
        }
        self.wrap()?.flatten()?.set_tuple_name(None)?.with_dim_names(&names)
    }

    /// The number of dimensions of a kind.
    ///
    /// # Errors
    /// None on a well-formed relation.
    pub fn n(&self, kind: Dim) -> Result<usize> {
        ffi::map_dim(self.context(), &self.handle, kind.raw())
    }

    /// The names of the dimensions of a kind, in order. Dimensions that are only equal to an expression, as in `{ [i] -> [i + 1] }`, have none.
    ///
    /// # Errors
    /// None on a well-formed relation.
    pub fn dim_names(&self, kind: Dim) -> Result<Vec<Option<String>>> {
        (0..self.n(kind)?)
            .map(|at| ffi::map_get_dim_name(self.context(), &self.handle, kind.raw(), uint(at)?))
            .collect()
    }

    /// Gives the dimensions of a kind these names in order.
    ///
    /// # Errors
    /// Not as many names as dimensions; names that are no identifiers.
    pub fn with_dim_names(&self, kind: Dim, names: &[&str]) -> Result<Map> {
        if names.len() != self.n(kind)? {
            return Err(Error::Isl(format!("{} names for {} dimensions", names.len(), self.n(kind)?)));
        }
        let mut map = self.handle.clone();
        for (at, name) in names.iter().enumerate() {
            map = ffi::map_set_dim_name(self.context(), &map, kind.raw(), uint(at)?, &text::name(name)?)?;
        }
        Ok(map.into())
    }

    /// The name of the tuple of the domain or the range.
    ///
    /// # Errors
    /// A kind other than [`Dim::In`] and [`Dim::Out`].
    pub fn tuple_name(&self, kind: Dim) -> Result<Option<String>> {
        ffi::map_get_tuple_name(self.context(), &self.handle, tuple(kind)?)
    }

    /// Names the tuple of the domain or the range; `None` takes the name away.
    ///
    /// # Errors
    /// A kind other than [`Dim::In`] and [`Dim::Out`], or a name that is no identifier.
    pub fn set_tuple_name(&self, kind: Dim, name: Option<&str>) -> Result<Map> {
        match name {
            Some(name) => ffi::map_set_tuple_name(self.context(), &self.handle, tuple(kind)?, &text::tuple_name(name)?)
                .map(Map::from),
            None => ffi::map_reset_tuple_id(self.context(), &self.handle, tuple(kind)?).map(Map::from),
        }
    }

    /// Replaces parameters by values: they are fixed and leave the space. Names that are no parameters are passed over.
    ///
    /// # Errors
    /// The operation limit.
    pub fn fix_params(&self, values: &[(&str, i64)]) -> Result<Map> {
        let context = self.context();
        let mut map = self.handle.clone();
        for (name, number) in values {
            if let Some(at) = ffi::map_find_dim_by_name(context, &map, PARAM, &text::name(name)?)? {
                map = ffi::map_fix_val(context, &map, PARAM, uint(at)?, &value(context, *number)?)?;
                map = ffi::map_project_out(context, &map, PARAM, uint(at)?, 1)?;
            }
        }
        Ok(map.into())
    }

    /// Takes dimensions of a kind away by projection.
    ///
    /// # Errors
    /// Positions out of range.
    pub fn project_out(&self, kind: Dim, first: usize, n: usize) -> Result<Map> {
        ffi::map_project_out(self.context(), &self.handle, kind.raw(), uint(first)?, uint(n)?).map(Map::from)
    }
}

fn tuple(kind: Dim) -> Result<std::ffi::c_int> {
    match kind {
        Dim::In | Dim::Out => Ok(kind.raw()),
        Dim::Param | Dim::Set => Err(Error::Isl("a map has tuples of kind `In` and `Out` only".to_string())),
    }
}

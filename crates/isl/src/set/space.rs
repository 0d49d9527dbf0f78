//! Making sets from names and constraints.

use std::slice;

use crate::affine::{Conjunction, Constraint, Relation};
use crate::context::Context;
use crate::convert::{self, PARAM, SET, uint};
use crate::error::{Error, Result};
use crate::ffi;
use crate::handle::Handle;
use crate::set::Set;
use crate::text;

impl Set {
    /// All points of the space with these names.
    ///
    /// # Errors
    /// A name that is no identifier or is used twice.
    pub fn universe(context: &Context, params: &[&str], dims: &[&str]) -> Result<Set> {
        let space = space(context, params, dims)?;
        ffi::set_universe(context, &space).map(Set::from)
    }

    /// No point of the space with these names.
    ///
    /// # Errors
    /// A name that is no identifier or is used twice.
    pub fn empty(context: &Context, params: &[&str], dims: &[&str]) -> Result<Set> {
        let space = space(context, params, dims)?;
        ffi::set_empty(context, &space).map(Set::from)
    }

    /// The points of the space with these names at which all constraints hold.
    ///
    /// # Errors
    /// As [`Set::universe`]; a constraint on a name that is not given.
    pub fn from_constraints(
        context: &Context,
        params: &[&str],
        dims: &[&str],
        constraints: &[Constraint],
    ) -> Result<Set> {
        Set::universe(context, params, dims)?.constrain(constraints)
    }

    /// The points at which one of the conjunctions holds.
    ///
    /// # Errors
    /// As [`Set::from_constraints`].
    pub fn from_conjunctions(
        context: &Context,
        params: &[&str],
        dims: &[&str],
        conjunctions: &[Conjunction],
    ) -> Result<Set> {
        let mut union = Set::empty(context, params, dims)?;
        for conjunction in conjunctions {
            union = union.union(&Set::from_constraints(context, params, dims, conjunction)?)?;
        }
        Ok(union)
    }

    /// The points of this set at which all constraints hold.
    ///
    /// # Errors
    /// A constraint on a name that is neither a parameter nor a dimension of the set.
    pub fn constrain(&self, constraints: &[Constraint]) -> Result<Set> {
        let context = self.context();
        let space = ffi::set_get_space(context, &self.handle)?;
        let domain = ffi::local_space_from_space(context, &space)?;
        let (params, dims) = (self.param_names()?, self.dim_names()?);
        let mut all = ffi::basic_set_universe(context, &space)?;
        let zero = ffi::aff_zero_on_domain(context, &domain)?;
        for constraint in constraints {
            let left = convert::affine_to(&domain, &params, &dims, &constraint.affine)?;
            let one = match constraint.relation {
                Relation::Equality => ffi::aff_zero_basic_set(context, &left)?,
                Relation::Inequality => ffi::aff_ge_basic_set(context, &left, &zero)?,
            };
            all = ffi::basic_set_intersect(context, &all, &one)?;
        }
        self.intersect(&ffi::set_from_basic_set(context, &all)?.into())
    }

    /// The points at which the constraint holds; see [`Set::constrain`].
    ///
    /// # Errors
    /// As [`Set::constrain`].
    pub fn constrain_by(&self, constraint: &Constraint) -> Result<Set> {
        self.constrain(slice::from_ref(constraint))
    }
}

/// A named set space.
pub(crate) fn space(context: &Context, params: &[&str], dims: &[&str]) -> Result<Handle<ffi::isl_space>> {
    distinct(params.iter().chain(dims).copied())?;
    let mut space = ffi::space_set_alloc(context, context, uint(params.len())?, uint(dims.len())?)?;
    for (kind, names) in [(PARAM, params), (SET, dims)] {
        for (at, name) in names.iter().enumerate() {
            space = ffi::space_set_dim_name(context, &space, kind, uint(at)?, &text::name(name)?)?;
        }
    }
    Ok(space)
}

/// Refuses a name that occurs twice.
pub(crate) fn distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::DuplicateDim(pair[0].to_string())),
        None => Ok(()),
    }
}

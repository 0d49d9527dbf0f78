//! Sets of integer points.
//!
//! A [`Set`] is isl's: a union of convex pieces with parameters and existentially quantified variables. Operations copy references, not data.
//! Binary operations pair dimensions by *position* and parameters by *name*, as in isl; [`Set::combine`] pairs dimensions by name.

mod names;
mod points;
mod space;

use std::ffi::c_int;
use std::fmt::{self, Debug, Display, Formatter};

use crate::context::Context;
use crate::convert::{self, PARAM, SET};
use crate::error::{Error, Result};
use crate::ffi;
use crate::handle::Handle;
use crate::text;

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

/// A set of integer points.
#[derive(Clone)]
pub struct Set {
    pub(crate) handle: Handle<ffi::isl_set>,
}

impl From<Handle<ffi::isl_set>> for Set {
    fn from(handle: Handle<ffi::isl_set>) -> Set {
        Set { handle }
    }
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident = $call:ident;)*) => { impl Set { $(
        $(#[$doc])*
        ///
        /// # Errors
        /// What isl refuses, or the operation limit.
        pub fn $name(&self) -> Result<Set> {
            ffi::$call(self.context(), &self.handle).map(Set::from)
        }
    )* } };
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident = $call:ident;)*) => { impl Set { $(
        $(#[$doc])*
        ///
        /// # Errors
        /// Different spaces or contexts, or the operation limit.
        pub fn $name(&self, other: &Set) -> Result<Set> {
            ffi::$call(self.context(), &self.handle, &other.handle).map(Set::from)
        }
    )* } };
}

macro_rules! test {
    ($($(#[$doc:meta])* $name:ident = $call:ident;)*) => { impl Set { $(
        $(#[$doc])*
        ///
        /// # Errors
        /// What isl refuses, or the operation limit.
        pub fn $name(&self) -> Result<bool> {
            ffi::$call(self.context(), &self.handle)
        }
    )* } };
}

macro_rules! compare {
    ($($(#[$doc:meta])* $name:ident = $call:ident;)*) => { impl Set { $(
        $(#[$doc])*
        ///
        /// # Errors
        /// Different contexts, or the operation limit.
        pub fn $name(&self, other: &Set) -> Result<bool> {
            ffi::$call(self.context(), &self.handle, &other.handle)
        }
    )* } };
}

unary! {
    /// All points of the space that are not in the set.
    complement = set_complement;
    /// The same set in fewer convex pieces, where isl finds them.
    coalesce = set_coalesce;
    /// The same set as disjoint convex pieces.
    make_disjoint = set_make_disjoint;
    /// The same set with every existentially quantified variable as an explicit integer division.
    compute_divs = set_compute_divs;
    /// The same set with implicit equalities made explicit.
    detect_equalities = set_detect_equalities;
    /// The same set without redundant constraints.
    remove_redundancies = set_remove_redundancies;
    /// The lexicographically least point for each value of the parameters.
    lexmin = set_lexmin;
    /// The lexicographically greatest point for each value of the parameters.
    lexmax = set_lexmax;
    /// The projection on the parameters: for which values the set is not empty.
    params = set_params;
}

binary! {
    /// The points in both.
    intersect = set_intersect;
    /// The points in either.
    union = set_union;
    /// The points in `self` and not in `other`.
    subtract = set_subtract;
    /// `self` without what `other` already says: equal to `self` on `other`, arbitrary elsewhere.
    gist = set_gist;
    /// The points of `self` where the parameters are in the parameter set `other`.
    intersect_params = set_intersect_params;
}

test! {
    /// Whether no value of the parameters gives a point.
    is_empty = set_is_empty;
    /// Whether there are finitely many points for each value of the parameters.
    is_bounded = set_is_bounded;
    /// Whether there is exactly one point for each value of the parameters.
    is_singleton = set_is_singleton;
    /// Whether this is a product of intervals, without parameters in the bounds.
    is_box = set_is_box;
    /// Whether this is a set of parameters, as [`Set::params`] gives it.
    is_params = set_is_params;
}

compare! {
    /// Whether both have the same points.
    is_equal = set_is_equal;
    /// Whether every point of `self` is in `other`.
    is_subset = set_is_subset;
    /// Whether no point is in both.
    is_disjoint = set_is_disjoint;
}

impl Set {
    /// Reads isl's notation, such as `[n] -> { S[i, j] : 0 <= i < n and 0 <= j <= i }`.
    ///
    /// # Errors
    /// [`Error::Syntax`] for text that isl does not accept, which includes text nested beyond reason.
    pub fn parse(context: &Context, input: &str) -> Result<Set> {
        let checked = text::checked(input)?;
        match ffi::set_read_from_str(context, context, &checked) {
            Ok(handle) => Ok(handle.into()),
            Err(Error::Isl(message)) => Err(text::syntax(&message, input, None)),
            Err(other) => Err(other),
        }
    }

    /// The context.
    pub fn context(&self) -> &Context {
        self.handle.context()
    }
}

impl Display for Set {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let context = self.context();
        match context.unlimited(|| ffi::set_to_str(context, &self.handle)) {
            Ok(text) => f.write_str(&text),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

impl Debug for Set {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

//! Bounds of a loop: what a dimension ranges over when outer dimensions and parameters are given.
//!
//! # Input
//! A set, one of its dimensions, and the dimensions whose loops are outside. All other dimensions are projected out.
//! # Output
//! [`Bounds`]: the least and greatest value as maxima and minima of rounded affine expressions, a stride, and the guard that is left. For outer
//! values in the projection of the set on them, the values between the bounds, on the stride, at which the guard holds are exactly the
//! values of the dimension.
//! # Method
//! The bounds are read off the constraints of the projection; of a union, off its simple hull. Where that has none on a side, they are read off the
//! projection without its integer divisions, which is larger; where its hull has none either, off each of its pieces. The guard is isl's `gist` of the projection given bounds, stride, and outer values.
//! # Complexity
//! One projection and one gist; both can be exponential in isl for contrived sets, and obey the operation limit.
//! # Not done
//! No splitting of a union into several loops: that is the caller's decision.

use std::fmt::{self, Display, Formatter};

use crate::affine::{Affine, Conjunction, Constraint, Relation};
use crate::convert::{affine_from, int, integer64};
use crate::error::{Error, Result};
use crate::ffi;
use crate::set::Set;

/// `numerator / denominator`, rounded up in a lower bound and down in an upper bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bound {
    /// What is divided.
    pub numerator: Affine,
    /// The divisor, at least 1.
    pub denominator: i64,
}

impl Bound {
    /// The bound as a lower one: `ceil(numerator / denominator)`.
    ///
    /// # Errors
    /// A number that exceeds 64 bits.
    pub fn ceil(&self) -> Result<Affine> {
        self.numerator.ceil_div(self.denominator)
    }

    /// The bound as an upper one: `floor(numerator / denominator)`.
    ///
    /// # Errors
    /// A number that exceeds 64 bits.
    pub fn floor(&self) -> Result<Affine> {
        self.numerator.floor_div(self.denominator)
    }
}

impl Display for Bound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            d => write!(f, "({})/{d}", self.numerator),
        }
    }
}

/// Values are congruent to `remainder` modulo `modulus`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stride {
    /// At least 2.
    pub modulus: i64,
    /// In outer dimensions and parameters; any representative.
    pub remainder: Affine,
}

/// The values of a dimension; see [`Set::loop_bounds`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// The least value is the minimum over the alternatives of the maximum over the bounds of each. Neither level is empty;
    /// there is one alternative unless the set is a union whose hull is not bounded below.
    pub lower: Vec<Vec<Bound>>,
    /// The greatest value is the maximum over the alternatives of the minimum over the bounds of each.
    pub upper: Vec<Vec<Bound>>,
    /// The distance of values, where it is not one.
    pub stride: Option<Stride>,
    /// Whether bounds and stride say everything, so that [`Bounds::guard`] is not needed.
    pub exact: bool,
    /// What bounds and stride do not say: one of the conjunctions holds. A single empty conjunction if `exact`.
    pub guard: Vec<Conjunction>,
}

/// The lower and the upper bounds of one convex piece.
type Sides = (Vec<Bound>, Vec<Bound>);

impl Set {
    /// The bounds of the loop over `dim` inside loops over `outer`, outermost first.
    ///
    /// # Errors
    /// [`Error::Unbounded`]; [`Error::UnknownDim`]; numbers beyond 64 bits; the operation limit.
    pub fn loop_bounds(&self, dim: &str, outer: &[&str]) -> Result<Bounds> {
        let names: Vec<&str> = outer.iter().copied().chain([dim]).collect();
        let projection = self.project_onto(&names)?.compute_divs()?.coalesce()?.remove_redundancies()?;
        let pieces = projection.constraints()?;
        if pieces.is_empty() {
            return Ok(nothing());
        }
        let hull = match pieces.as_slice() {
            [piece] => sides(piece, dim)?,
            _ => sides(&projection.hull()?, dim)?,
        };
        let rational: Set = ffi::set_remove_divs(self.context(), &projection.handle)?.into();
        let rational_hull = sides(&rational.hull()?, dim)?;
        let rational_pieces =
            rational.constraints()?.iter().map(|piece| sides(piece, dim)).collect::<Result<Vec<_>>>()?;
        let (lower, upper) = rational_pieces.into_iter().unzip();
        let lower = alternatives([hull.0, rational_hull.0], lower)?;
        let upper = alternatives([hull.1, rational_hull.1], upper)?;
        let stride = projection.stride(dim)?;
        let said =
            projection.said_by(dim, &lower, &upper, stride.as_ref())?.intersect(&projection.eliminate(&[dim])?)?;
        let exact = said.is_subset(&projection)?;
        let guard = if exact { vec![Vec::new()] } else { projection.gist(&said)?.coalesce()?.constraints()? };
        Ok(Bounds { lower, upper, stride, exact, guard })
    }

    /// The constraints of a convex set around this one.
    fn hull(&self) -> Result<Conjunction> {
        let context = self.context();
        let around = |set: &Set| -> Result<Vec<Conjunction>> {
            let hull = ffi::set_simple_hull(context, &set.handle)?;
            Set::from(ffi::set_from_basic_set(context, &hull)?).constraints()
        };
        let mut pieces = around(self)?;
        if pieces.len() != 1 {
            pieces = around(&ffi::set_remove_divs(context, &self.handle)?.into())?;
        }
        Ok(if pieces.len() == 1 { pieces.remove(0) } else { Vec::new() })
    }

    /// The stride of a dimension in terms of the others, if it is at least 2.
    ///
    /// # Errors
    /// [`Error::UnknownDim`]; numbers beyond 64 bits.
    pub fn stride(&self, dim: &str) -> Result<Option<Stride>> {
        let context = self.context();
        let at = self.find_dim(crate::Dim::Set, dim)?;
        let info = ffi::set_get_stride_info(context, &self.handle, int(at)?)?;
        let modulus = integer64(&ffi::stride_info_get_stride(context, &info)?)?;
        let (remainder, denominator) = affine_from(&ffi::stride_info_get_offset(context, &info)?)?;
        if modulus < 2 || denominator != 1 || remainder.involves(dim) {
            return Ok(None);
        }
        let remainder = remainder.as_constant().map_or(remainder, |c| Affine::constant(c.rem_euclid(modulus)));
        Ok(Some(Stride { modulus, remainder }))
    }

    /// The points of the space of this set that bounds and stride allow.
    fn said_by(&self, dim: &str, lower: &[Vec<Bound>], upper: &[Vec<Bound>], stride: Option<&Stride>) -> Result<Set> {
        let (params, dims) = (self.param_names()?, self.dim_names()?);
        let params: Vec<&str> = params.iter().map(String::as_str).collect();
        let dims: Vec<&str> = dims.iter().map(String::as_str).collect();
        let side = |alternatives: &[Vec<Bound>], sign: i64| -> Result<Set> {
            let conjunctions = alternatives
                .iter()
                .map(|all| all.iter().map(|bound| beyond(dim, bound, sign)).collect::<Result<Conjunction>>())
                .collect::<Result<Vec<_>>>()?;
            Set::from_conjunctions(self.context(), &params, &dims, &conjunctions)
        };
        let between = side(lower, 1)?.intersect(&side(upper, -1)?)?;
        match stride {
            None => Ok(between),
            Some(stride) => {
                let off = Affine::var(dim).sub(&stride.remainder)?;
                let multiple = off.floor_div(stride.modulus)?.scale(stride.modulus)?;
                between.constrain(&[Constraint::equality(off.sub(&multiple)?)])
            }
        }
    }
}

/// `sign * (denominator * dim - numerator) >= 0`.
fn beyond(dim: &str, bound: &Bound, sign: i64) -> Result<Constraint> {
    let distance = Affine::var(dim).scale(bound.denominator)?.sub(&bound.numerator)?;
    Ok(Constraint::inequality(distance.scale(sign)?))
}

/// The bounds that the constraints put on `dim`; one that has it inside a floor is no bound.
fn sides(piece: &Conjunction, dim: &str) -> Result<Sides> {
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for constraint in piece {
        let coefficient = constraint.affine.coefficient(dim);
        let rest = constraint.affine.sub(&Affine::var(dim).scale(coefficient)?)?;
        if coefficient == 0 || rest.involves(dim) {
            continue;
        }
        let equal = constraint.relation == Relation::Equality;
        let denominator = coefficient.checked_abs().ok_or_else(|| Error::Overflow(coefficient.to_string()))?;
        let bound = Bound { numerator: rest.scale(-coefficient.signum())?, denominator };
        if equal || coefficient > 0 {
            lower.push(bound.clone());
        }
        if equal || coefficient < 0 {
            upper.push(bound);
        }
    }
    lower.sort();
    upper.sort();
    Ok((lower, upper))
}

/// The first bounds there are of the hulls, or those of each piece where no hull has any.
fn alternatives(hulls: [Vec<Bound>; 2], mut pieces: Vec<Vec<Bound>>) -> Result<Vec<Vec<Bound>>> {
    if let Some(hull) = hulls.into_iter().find(|bounds| !bounds.is_empty()) {
        return Ok(vec![hull]);
    }
    if pieces.iter().any(Vec::is_empty) {
        return Err(Error::Unbounded);
    }
    pieces.sort();
    pieces.dedup();
    Ok(pieces)
}

/// The bounds of the empty set: from 0 to −1.
fn nothing() -> Bounds {
    let bound = |value| vec![vec![Bound { numerator: Affine::constant(value), denominator: 1 }]];
    Bounds { lower: bound(0), upper: bound(-1), stride: None, exact: true, guard: vec![Vec::new()] }
}

//! Exact numbers of points.
//!
//! # Input
//! A bounded set that does not depend on parameters.
//! # Output
//! The number of its points, of any size.
//! # Method
//! isl makes the pieces of the set disjoint and its integer divisions explicit. Each division `q = floor(e/m)` becomes a variable with
//! `m·q <= e < m·q + m`, which has one value at each point, so that a piece is a system of linear constraints whose integer solutions are counted:
//! independent groups of variables are counted apart and multiplied, the others are summed away one by one, symbolically ([`sum`]).
//! Source: Pugh, "Counting solutions to Presburger formulas", PLDI 1994.
//! # Complexity
//! Independent of the number of points. Polynomial in the constraints where each variable that is summed has few bounds with unit
//! coefficients, as in boxes, triangles, simplices, tiles. Coefficients `a` that cannot be avoided cost a factor of up to `a`;
//! [`MAX_PIECES`] bounds the whole.
//! # Not done
//! Barvinok's algorithm, which is polynomial in the size of the coefficients too. isl's own `count_val` enumerates all dimensions but the last.

mod exact;
mod polynomial;
mod sum;
mod system;

use num_bigint::BigUint;

use crate::affine::{Affine, Conjunction, Floor, Relation};
use crate::error::{Error, Result};
use crate::set::Set;
use sum::Limits;
use system::{Row, System};

/// Systems looked at in one count before it is given up with [`Error::LimitExceeded`].
pub const MAX_PIECES: u64 = 1_000_000;

impl Set {
    /// The number of points of a bounded set that does not depend on parameters.
    ///
    /// # Errors
    /// [`Error::Unbounded`], [`Error::Parametric`]; [`Error::LimitExceeded`] and [`Error::Overflow`] for constraints with huge coefficients.
    pub fn count(&self) -> Result<BigUint> {
        self.refuse_params()?;
        if !self.is_bounded()? {
            return Err(Error::Unbounded);
        }
        let n = self.n_dim()?;
        let params = self.param_names()?;
        let names: Vec<String> =
            (0..).map(|at| format!("x{at}")).filter(|name| !params.contains(name)).take(n).collect();
        let named = match n {
            0 => self.clone(),
            _ => self.with_dim_names(&names.iter().map(String::as_str).collect::<Vec<_>>())?,
        };
        let mut pieces = named.constraints()?;
        if pieces.len() > 1 {
            pieces = named.compute_divs()?.make_disjoint()?.constraints()?;
        }
        let mut limits = Limits { context: self.context(), pieces: MAX_PIECES };
        let mut total = BigUint::default();
        for piece in &pieces {
            total += sum::count(translate(piece, &names)?, &mut limits)?;
        }
        Ok(total)
    }
}

/// The constraints over dimensions and integer divisions as a system over both.
fn translate(piece: &Conjunction, names: &[String]) -> Result<System> {
    let mut translation = Translation { names, floors: Vec::new() };
    for constraint in piece {
        translation.collect(&constraint.affine);
    }
    let mut system = System::new(names.len() + translation.floors.len());
    for constraint in piece {
        let row = translation.row(&constraint.affine)?;
        match constraint.relation {
            Relation::Equality => system.equalities.push(row),
            Relation::Inequality => system.inequalities.push(row),
        }
    }
    for (at, floor) in translation.floors.iter().enumerate() {
        let mut remainder = translation.row(&floor.numerator)?;
        remainder.coefficients[names.len() + at] -= i128::from(floor.denominator);
        let mut rest = remainder.scale(-1)?;
        rest.constant += i128::from(floor.denominator) - 1;
        system.inequalities.push(remainder);
        system.inequalities.push(rest);
    }
    Ok(system)
}

struct Translation<'a> {
    names: &'a [String],
    /// The distinct divisions, inner ones first.
    floors: Vec<&'a Floor>,
}

impl<'a> Translation<'a> {
    fn collect(&mut self, affine: &'a Affine) {
        for (floor, _) in &affine.floors {
            self.collect(&floor.numerator);
            if !self.floors.contains(&floor) {
                self.floors.push(floor);
            }
        }
    }

    fn row(&self, affine: &Affine) -> Result<Row> {
        let mut row = Row::constant(self.names.len() + self.floors.len(), affine.constant.into());
        for (name, coefficient) in &affine.terms {
            let at = self.names.iter().position(|n| n == name).ok_or_else(|| Error::Parametric(name.clone()))?;
            row.coefficients[at] = i128::from(*coefficient);
        }
        for (floor, coefficient) in &affine.floors {
            let at =
                self.floors.iter().position(|f| *f == floor).ok_or_else(|| Error::UnknownDim(floor.to_string()))?;
            row.coefficients[self.names.len() + at] = i128::from(*coefficient);
        }
        Ok(row)
    }
}

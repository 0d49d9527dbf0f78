//! The constraints of a set as plain data.

use crate::affine::{Affine, Conjunction, Constraint, Relation};
use crate::convert::{affine_from, int};
use crate::error::Result;
use crate::ffi;
use crate::handle::Handle;
use crate::set::Set;

impl Set {
    /// The set as a disjunction of conjunctions of constraints on its parameters and dimensions, in isl's order.
    ///
    /// Existentially quantified variables are given as floors of affine expressions. The empty set has no
    /// conjunction, the universe one without constraints.
    ///
    /// # Errors
    /// A number that exceeds 64 bits, or a dimension without a name.
    pub fn constraints(&self) -> Result<Vec<Conjunction>> {
        let context = self.context();
        let explicit = self.compute_divs()?.remove_redundancies()?;
        let pieces = ffi::set_get_basic_set_list(context, &explicit.handle)?;
        (0..ffi::basic_set_list_size(context, &pieces)?)
            .map(|at| conjunction(&ffi::basic_set_list_get_at(context, &pieces, int(at)?)?))
            .collect()
    }
}

/// The constraints of one piece, without those that only define its divisions.
pub(crate) fn conjunction(piece: &Handle<ffi::isl_basic_set>) -> Result<Conjunction> {
    let context = piece.context();
    let list = ffi::basic_set_get_constraint_list(context, piece)?;
    let mut constraints = Vec::new();
    for at in 0..ffi::constraint_list_size(context, &list)? {
        let constraint = ffi::constraint_list_get_at(context, &list, int(at)?)?;
        if ffi::constraint_is_div_constraint(context, &constraint)? {
            continue;
        }
        let relation = match ffi::constraint_is_equality(context, &constraint)? {
            true => Relation::Equality,
            false => Relation::Inequality,
        };
        let (affine, _) = affine_from(&ffi::constraint_get_aff(context, &constraint)?)?;
        let trivial: Option<i64> = Affine::as_constant(&affine);
        match (trivial, relation) {
            (Some(0), _) => {}
            (Some(c), Relation::Inequality) if c > 0 => {}
            (_, Relation::Equality) => constraints.push(Constraint::equality(leading_positive(affine)?)),
            (_, Relation::Inequality) => constraints.push(Constraint::inequality(affine)),
        }
    }
    Ok(constraints)
}

/// The expression or its negation, so that the first coefficient is positive.
fn leading_positive(affine: Affine) -> Result<Affine> {
    let first = affine.terms.first().map(|term| term.1).or(affine.floors.first().map(|floor| floor.1));
    if first.is_some_and(|c| c < 0) { affine.scale(-1) } else { Ok(affine) }
}

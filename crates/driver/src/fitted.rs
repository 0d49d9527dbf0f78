//! Results whose coefficients are adjusted in their last digits.
//!
//! Tables come with noise in their last digits, and forms that compute with tables equate numbers that are nearly
//! equal: the result is off by that noise, though its rounding errors are small. Its coefficients are then fitted to
//! the input: on friendly data first, and where that is not enough, on hard data as well.
//!
//! # Input
//! The fits to the input so far, and a candidate whose errors exceed the limit.
//! # Output
//! The candidate with other coefficients and the same operations, to be judged anew; `None` if coefficients are not the
//! cause.
//! # Source
//! [`nestegg_interp::Fits`].

use nestegg_forms::Tolerance;
use nestegg_interp::{Family, Fits, Fitted};
use nestegg_transform::{Coefficients, coefficients, with_coefficients};

use crate::candidates::Candidate;

/// How often a candidate is fitted: once on friendly data, and once on hard data as well.
const MAX_FITS: u8 = 2;

/// Fits the coefficients of a candidate with computed tables whose errors are `excess` times the limit.
pub(crate) fn fit(fits: &mut Fits<'_>, candidate: &Candidate, excess: f64) -> Option<Candidate> {
    let (_, tolerance) = candidate.approximated.as_ref()?;
    if candidate.n_fits >= MAX_FITS || !fits.are_possible() {
        return None;
    }
    let Coefficients { linearized, values: known } = coefficients(&candidate.program);
    // What cannot be evaluated on demand is not fitted: it was refused already.
    let mut fit = |families| fits.fit(&linearized, &known, excess, families).ok().flatten();
    let on_friendly = if candidate.n_fits == 0 { fit(&[]) } else { None };
    let n_fits = if on_friendly.is_some() { 1 } else { MAX_FITS };
    let Fitted { values, n_changed, largest_change } = on_friendly.or_else(|| fit(&Family::ALL))?;
    let program = with_coefficients(&candidate.program, &values);
    let tolerance = Tolerance {
        n_changed: tolerance.n_changed + n_changed,
        largest_change: tolerance.largest_change + largest_change,
    };
    let seed = if candidate.n_fits == 0 { format!("{}, fitted", candidate.seed) } else { candidate.seed.clone() };
    Some(Candidate {
        approximated: Some((program.clone(), tolerance)),
        program,
        counted: None,
        n_fits,
        seed,
        ..candidate.clone()
    })
}

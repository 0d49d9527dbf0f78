//! Results whose coefficients are adjusted in their last digits.
//!
//! Tables come with noise in their last digits, and forms that compute with tables equate numbers that are nearly
//! equal: the result is off by that noise, though its rounding errors are small. Its coefficients are then fitted to
//! the input: on friendly data first, and where that is not enough, on hard data as well.
//!
//! # Input
//! The input, and a candidate whose errors exceed the limit.
//! # Output
//! The candidate with other coefficients and the same operations, to be judged anew; `None` if coefficients are not the
//! cause.
//! # Source
//! [`nestegg_interp::fit`].

use nestegg_forms::Tolerance;
use nestegg_interp::{Family, Fitted};
use nestegg_ir::LinearizedKernel;
use nestegg_transform::{Coefficients, coefficients, with_coefficients};

use crate::accuracy::small;
use crate::candidates::Candidate;

/// How often a candidate is fitted: once on friendly data, and once on hard data as well.
const MAX_FITS: u8 = 2;

/// Fits the coefficients of a candidate with computed tables whose errors are `excess` times the limit. All fits of a run share one budget of `work`.
pub(crate) fn fit(
    input: &LinearizedKernel,
    candidate: &Candidate,
    excess: f64,
    values: &[(String, i64)],
    work: &mut usize,
) -> Option<Candidate> {
    if *work == 0 {
        return None;
    }
    let (_, tolerance) = candidate.approximated.as_ref().filter(|_| candidate.n_fits < MAX_FITS)?;
    let Coefficients { linearized, values: known } = coefficients(&candidate.program);
    let parameters = small(input, values).into_iter().collect();
    // What cannot be evaluated on demand is not fitted: it was refused already.
    let mut fit =
        |families| nestegg_interp::fit(input, &linearized, &known, excess, families, &parameters, work).ok().flatten();
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

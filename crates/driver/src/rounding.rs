//! Rounding errors of a result beside those of its input.

use indexmap::IndexMap;
use nestegg_interp::{Error, Inputs, RunOptions, deviations};
use nestegg_ir::Program;

/// The errors of an input and its result, each over the largest magnitude of the output that it is in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rounding {
    /// Of the input.
    pub input: f64,
    /// Of the result.
    pub result: f64,
}

/// What no kernel is expected to do better than: half the distance from 1 to the next float64.
pub const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

impl Rounding {
    /// The error of the result over that of the input. An error below the unit roundoff counts as that: an input may be exact by chance.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.result.max(UNIT_ROUNDOFF) / self.input.max(UNIT_ROUNDOFF)
    }
}

/// The largest errors over random data of these seeds; `None` if no element has an exact value to compare with.
///
/// # Errors
/// If a program cannot be run, or the input has no meaning in double-double arithmetic.
pub fn rounding(
    input: &Program,
    result: &Program,
    values: &[(String, i64)],
    seeds: impl IntoIterator<Item = u64>,
) -> Result<Option<Rounding>, Error> {
    let parameters: IndexMap<String, i64> = values.iter().cloned().collect();
    let mut res = Rounding::default();
    let mut n_elements = 0;
    for seed in seeds {
        let inputs = Inputs::random(input.kernel(), &parameters, seed)?;
        let found = deviations(&[input, result], &inputs, &RunOptions::default())?;
        if let [of_input, of_result] = found.as_slice() {
            res.input = res.input.max(of_input.largest);
            res.result = res.result.max(of_result.largest);
            n_elements += of_input.n_elements;
        }
    }
    Ok((n_elements > 0).then_some(res))
}

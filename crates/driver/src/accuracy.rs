//! The accuracy guard: how many digits a result loses compared with its input.
//!
//! # Input
//! A program, a result that equals it up to rounding and the tolerance for tables, and values of parameters.
//! # Output
//! An [`Accuracy`]: for each family of data, the largest errors of input and result, and their ratio.
//! # Method
//! The guard evaluates elements of both in floats on friendly data and on each [`Family`] of hard data that concerns
//! the kernel, with [`SEEDS`] seeds each. Where they are within [`LIMIT_EXACT`] roundoffs of each other, the result
//! passes. Of the rest, the guard measures the families on which the limit may be exceeded, and the one on which both
//! are furthest apart, against exact values of the input ([`Reference`]). An error is the largest error of an element
//! over the largest magnitude in its output. Over the seeds of a family, the largest error of the input stands beside
//! the largest of the result, because a single error may be small by chance. Errors below the unit roundoff count as
//! the unit roundoff. Data on which the input has an error above [`LOST`] prove nothing about the result, and are left
//! out.
//! # Complexity
//! Parameters are at most [`MAX_PARAMETER`]: errors of elements do not depend on how many there are. [`SAMPLE`] bounds
//! the elements and the steps on each of some thirty data. The search for the largest element of an output is quick,
//! and thorough only where the limit seems to be exceeded or data to be lost: a smaller element in its place makes all
//! errors seem larger.
//! # Source
//! For the data, see [`nestegg_interp::Hard`].

use std::fmt;
use std::sync::OnceLock;

use indexmap::IndexMap;
use nestegg_interp::{Case, Family, Reference, Sample};
use nestegg_ir::order::OrderError;
use nestegg_ir::{LinearizedKernel, Program};
use serde::{Deserialize, Serialize};

use crate::parameters::for_runs;
use crate::same::is_same;
use crate::validation::is_assumed;

/// How many times the error of the input an exact result may have.
pub const LIMIT_EXACT: f64 = 10.0;

/// How many times the error of the input a result may have whose tables were computed.
pub const LIMIT_COMPUTED: f64 = 100.0;

/// The seeds of each family.
const SEEDS: [u64; 2] = [1, 2];

/// The largest value of a parameter.
const MAX_PARAMETER: i64 = 8;

/// An input that is further off has no digits left that a result could lose.
const LOST: f64 = 1e-4;

/// What is evaluated of each of the data.
const SAMPLE: Sample = Sample {
    n_elements: 16,
    max_steps: 10_000,
    max_steps_of_looking: 500_000,
    max_steps_of_all: u64::MAX,
    close: None,
    max_exact: usize::MAX,
};

/// The steps of a quick look for the largest elements; a thorough one takes those of [`SAMPLE`].
const QUICK: u64 = 50_000;

/// Elements of all data together may take so many steps to guard a result.
const MAX_STEPS: u64 = 2_560_000;

/// Inputs with more instructions are not measured: what their arguments are for takes too long to read off.
const MAX_INSTRUCTIONS: usize = 2_000;

/// So many data are measured in high precision to guard a result whose input decides on floats.
const MAX_EXACT: usize = 8;

/// How far input and result are from what they stand for, on friendly and on hard data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Each family of data on which the input has digits, the friendly one first.
    pub families: Vec<OfFamily>,
    /// Elements that have an exact value and were compared, over all data.
    pub n_elements: usize,
    /// Data on which input and result are within a few roundoffs of each other, and nothing more was measured.
    pub n_close: usize,
    /// Data that were left out because the input has no digits on them.
    pub n_lost: usize,
    /// Why nothing was measured, if so.
    pub not_measured: Option<String>,
}

/// The largest errors on data of one family, each over the largest magnitude of its output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfFamily {
    /// What the data are like.
    pub data: String,
    /// The error of the input.
    pub input: f64,
    /// The error of the result.
    pub result: f64,
    /// The error of the result over that of the input, neither taken for less than the unit roundoff.
    pub ratio: f64,
}

impl Accuracy {
    /// The family on which the result loses most.
    #[must_use]
    pub fn worst(&self) -> Option<&OfFamily> {
        self.families.iter().reduce(|worst, family| if family.ratio > worst.ratio { family } else { worst })
    }

    /// Decimal digits that the result loses against the input where it loses most; below zero where it has more of them everywhere.
    #[must_use]
    pub fn digits_lost(&self) -> Option<f64> {
        self.worst().map(|worst| worst.ratio.log10())
    }

    /// The worst family, if the result is more than `limit` times as far off as the input there.
    #[must_use]
    pub fn exceeds(&self, limit: f64) -> Option<&OfFamily> {
        self.worst().filter(|worst| worst.ratio > limit)
    }
}

/// Prints a sentence.
impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(worst) = self.worst() else {
            if self.n_close > 0 {
                return write!(
                    f,
                    "no digits lost: within {LIMIT_EXACT} roundoffs of the input on all {} data",
                    self.n_close
                );
            }
            let reason = self.not_measured.as_deref().unwrap_or("the input has no digits on any data");
            return write!(f, "not measured: {reason}");
        };
        let OfFamily { data, input, result, ratio } = worst;
        match ratio.log10() {
            lost if lost < 0.05 => f.write_str("no digits lost")?,
            lost => write!(f, "{lost:.1} digits lost")?,
        }
        write!(f, " against the input at worst; {data}: {input:.0e} in the input, {result:.0e} in the result")?;
        match self.n_lost {
            0 => Ok(()),
            n => write!(f, "; {n} data left out, on which the input has no digits"),
        }
    }
}

/// An input that results are measured beside.
pub struct Guard<'k> {
    input: &'k LinearizedKernel,
    guide: &'k LinearizedKernel,
    parameters: IndexMap<String, i64>,
    sample: Sample,
    /// The input on its data with the largest elements as far as a quick look finds them, and as a thorough one does, once that is needed.
    quick: Measured<'k>,
    thorough: OnceLock<Measured<'k>>,
}

/// An input on its data, or why it cannot be measured.
type Measured<'k> = Result<Reference<'k>, String>;

impl<'k> Guard<'k> {
    /// Prepares the input for results whose limits are `least` or more; one of them shows which elements are large.
    #[must_use]
    pub fn new(input: &'k LinearizedKernel, guide: &'k LinearizedKernel, values: &[(String, i64)], least: f64) -> Self {
        let close = (least > 1.0).then(|| least.min(LIMIT_EXACT) - 1.0);
        let sample = Sample { close, max_exact: MAX_EXACT, max_steps_of_all: MAX_STEPS, ..SAMPLE };
        let parameters = parameters(input, values);
        let quick = reference(input, guide, &parameters, Sample { max_steps_of_looking: QUICK, ..sample });
        Self { input, guide, parameters, sample, quick, thorough: OnceLock::new() }
    }

    /// Measures a result, to tell whether it is within its limit.
    #[must_use]
    pub fn accuracy(&self, result: &LinearizedKernel, limit: f64) -> Accuracy {
        // What was computed of the guide need not be computed once more.
        let result = if is_same(result, self.guide) { self.guide } else { result };
        let found = measured(&self.quick, self.input, result, limit);
        if found.exceeds(limit).is_none() && found.n_lost == 0 {
            return found;
        }
        let thorough = self.thorough.get_or_init(|| reference(self.input, self.guide, &self.parameters, self.sample));
        measured(thorough, self.input, result, limit)
    }
}

fn measured(reference: &Measured<'_>, input: &LinearizedKernel, result: &LinearizedKernel, limit: f64) -> Accuracy {
    let measured = reference.as_ref().map_err(Clone::clone).and_then(|reference| {
        let found = reference.deviations(&[result], limit).map_err(|error| error.to_string())?;
        Ok(summarized(found, input.kernel.has_single() || result.kernel.has_single()))
    });
    measured.unwrap_or_else(|reason| Accuracy { not_measured: Some(reason), ..Accuracy::default() })
}

/// The input on its data.
fn reference<'k>(
    input: &'k LinearizedKernel,
    guide: &'k LinearizedKernel,
    parameters: &IndexMap<String, i64>,
    sample: Sample,
) -> Measured<'k> {
    if input.kernel.instructions.len() > MAX_INSTRUCTIONS {
        return Err(format!("the input has more than {MAX_INSTRUCTIONS} instructions"));
    }
    Reference::new(input, guide, parameters, &cases(), sample).map_err(|error| error.to_string())
}

/// Values of parameters that are [`small`], by name.
pub(crate) fn parameters(input: &LinearizedKernel, values: &[(String, i64)]) -> IndexMap<String, i64> {
    small(input, values).into_iter().collect()
}

/// Measures a result beside its input on all data, however close they are.
///
/// # Errors
/// If the input has no order.
pub fn measure(input: &Program, result: &LinearizedKernel, values: &[(String, i64)]) -> Result<Accuracy, OrderError> {
    let input = input.clone().into_linearized()?;
    let reference = reference(&input, result, &parameters(&input, values), SAMPLE);
    Ok(measured(&reference, &input, result, 1.0))
}

/// Every family with each seed, the hardest family of each kind first.
fn cases() -> Vec<(Family, u64)> {
    let (hardest, others) = Family::ALL.split_at(Family::N_KINDS);
    let with_seeds = |families: &[Family]| -> Vec<(Family, u64)> {
        SEEDS.iter().flat_map(|&seed| families.iter().map(move |&family| (family, seed))).collect()
    };
    [with_seeds(hardest), with_seeds(others)].concat()
}

fn summarized(cases_found: Vec<Case>, has_single: bool) -> Accuracy {
    let roundoff = if has_single { f64::from(f32::EPSILON) } else { f64::EPSILON } / 2.0;
    let mut found: IndexMap<String, (f64, f64)> = IndexMap::new();
    let mut res = Accuracy::default();
    for ((family, _), case) in cases().iter().zip(cases_found) {
        let [of_input, of_result] = match &case {
            Case::Measured(deviations) => deviations[..].try_into().unwrap_or_default(),
            Case::Close => {
                res.n_close += 1;
                continue;
            }
            Case::Absent | Case::NotMeasured => continue,
        };
        res.n_elements += of_input.n_elements;
        if of_input.largest > LOST {
            res.n_lost += 1;
        } else if of_input.n_elements > 0 {
            let errors = found.entry(family.name()).or_default();
            *errors = (of_input.largest.max(errors.0), of_result.largest.max(errors.1));
        }
    }
    res.families = found
        .into_iter()
        .map(|(data, (input, result))| OfFamily {
            data,
            input,
            result,
            ratio: result.max(roundoff) / input.max(roundoff),
        })
        .collect();
    if res.n_elements == 0 && res.n_close == 0 {
        res.not_measured = Some("no element has an exact value to compare with".to_owned());
    }
    res
}

/// Values of parameters that are small where the kernel's assumptions allow it.
fn small(input: &LinearizedKernel, values: &[(String, i64)]) -> Vec<(String, i64)> {
    let small: Vec<(String, i64)> =
        values.iter().map(|(name, value)| (name.clone(), (*value).min(MAX_PARAMETER))).collect();
    let small = for_runs(&input.kernel, &small);
    if is_assumed(&input.kernel, &small) { small } else { for_runs(&input.kernel, values) }
}

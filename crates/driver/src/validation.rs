//! Comparison of a result with its input, by the interpreter.
//!
//! # Input
//! Two programs and the values that are assumed for parameters.
//! # Output
//! The evidence that they are equal; or an error that names the first difference.
//! # Method
//! They are compared at the assumed values; where that would run too long, at the largest halves of them that do not, and
//! where there are parameters, once more at a small size, where loops are short and their ends matter.
//! # Not done
//! A kernel whose interpretation stops (it divides by zero, or reads what has no value) is not compared; the report says
//! so.

use nestegg_forms::Tolerance;
use nestegg_interp::{Agreement, Difference, Evidence, ValidateOptions, Verdict, validate};
use nestegg_ir::domains::Domains;
use nestegg_ir::{Licence, LinearizedKernel, Program};
use nestegg_isl::Context;

use crate::count::operations;
use crate::error::Error;
use crate::report::Validated;
use crate::search::{Folds, Found};

/// Parameters are halved until the first program does at most so many operations.
const MAX_OPERATIONS: u128 = 20_000_000;

/// The value of all parameters in the comparison at a small size.
const SMALL: i64 = 3;

/// What comparing two programs found.
#[derive(Clone, Debug, PartialEq)]
pub enum Comparison {
    /// They are equal, as far as is known.
    Equal {
        /// What was compared.
        evidence: String,
    },
    /// They are not.
    Different(Difference),
    /// The first one cannot be run.
    Stopped(nestegg_interp::Error),
}

/// Compares two programs on the same data.
///
/// # Errors
/// If the operations of the first cannot be counted.
pub fn compare(first: &Program, second: &Program, values: &[(String, i64)]) -> Result<Comparison, Error> {
    compare_in(first, second, values, &ValidateOptions::default())
}

fn compare_in(
    first: &Program,
    second: &Program,
    values: &[(String, i64)],
    options: &ValidateOptions,
) -> Result<Comparison, Error> {
    let sizes = sizes(first, values)?;
    let mut all_evidence = Vec::new();
    for (size_idx, values) in sizes.iter().enumerate() {
        let options = ValidateOptions { parameters: values.iter().cloned().collect(), ..options.clone() };
        match validate(first, second, &options) {
            Ok(Verdict::Equal(evidence)) => all_evidence.push(in_words(&evidence, values, options.agreement)),
            Ok(Verdict::Different(difference)) => return Ok(Comparison::Different(difference)),
            Err(error) if size_idx == 0 => return Ok(Comparison::Stopped(error)),
            // The kernel may need more than a small size.
            Err(_) => {}
        }
    }
    Ok(Comparison::Equal { evidence: all_evidence.join("; ") })
}

/// Kernels between input and result, where the two are not equal in exact arithmetic.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// Before and after constants were folded to the bit.
    pub(crate) folds: Folds,
    /// A seed whose tables were computed, within a tolerance.
    pub(crate) approximated: Option<(LinearizedKernel, Tolerance)>,
}

/// How two kernels must be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Equality {
    /// In the prime field, and in floats.
    Full,
    /// In floats, as close as rounding allows.
    Floats,
    /// In floats, to the bit.
    Bits,
}

impl Equality {
    /// Under a strict licence floats are equal to the bit.
    fn options(self, licence: Licence) -> ValidateOptions {
        let agreement = if licence == Licence::Strict { Agreement::Bits } else { Agreement::Close };
        let full = ValidateOptions { agreement, ..ValidateOptions::default() };
        match self {
            Self::Full => full,
            Self::Floats => ValidateOptions { seeds: Vec::new(), ..full },
            Self::Bits => ValidateOptions { seeds: Vec::new(), tolerance: 0.0, tolerance_single: 0.0, ..full },
        }
    }
}

/// A result must be equal to its input: directly, or step by step where constants were rounded or tables computed, and then both in floats. Where no number of a
/// table was changed, only coefficients may have been rounded: that is tried first.
pub(crate) fn check(
    input: &Program,
    steps: Steps,
    output: &Program,
    values: &[(String, i64)],
    licence: Licence,
) -> Result<Validated, Error> {
    let may_be_exact = steps.approximated.as_ref().is_some_and(|(_, tolerance)| tolerance.n_changed == 0);
    if may_be_exact
        && steps.folds.is_empty()
        && let Comparison::Equal { evidence } = compare(input, output, values)?
    {
        return Ok(Validated::Equal { evidence });
    }
    // What each is called on the way to it and from it.
    let mut links: Vec<((&str, &str), Equality, Program)> = Vec::new();
    for (before, after) in steps.folds {
        links.push((("value form", "value form"), Equality::Full, Program::Linearized(before)));
        links.push((("folded constants", "folded constants"), Equality::Bits, Program::Linearized(after)));
    }
    let tolerance = steps.approximated.map(|(seed, tolerance)| {
        links.push((("computed tables", "tables"), Equality::Floats, Program::Linearized(seed)));
        tolerance
    });
    if links.is_empty() {
        return compared(input, output, values, (Equality::Full, licence)).map(|found| match found {
            Ok(evidence) => Validated::Equal { evidence },
            Err(reason) => Validated::NotCompared { reason },
        });
    }
    links.push((("result", "result"), Equality::Full, output.clone()));
    let mut evidence = Vec::new();
    let (mut name, mut from) = ("input", input);
    for ((next, next_from), equality, to) in &links {
        match compared(from, to, values, (*equality, licence))? {
            Ok(found) if *equality == Equality::Bits => {
                evidence.push(format!("{name} and {next}, to the bit: {found}"))
            }
            Ok(found) => evidence.push(format!("{name} and {next}: {found}")),
            Err(reason) => return Ok(Validated::NotCompared { reason }),
        }
        (name, from) = (next_from, to);
    }
    match compared(input, output, values, (Equality::Floats, licence))? {
        Ok(found) => evidence.push(format!("input and result: {found}")),
        Err(reason) => return Ok(Validated::NotCompared { reason }),
    }
    if let Some(Tolerance { n_changed, largest_change }) = tolerance {
        evidence.push(format!("{n_changed} numbers of tables changed, by {largest_change:.0e} of the largest at most"));
    }
    Ok(Validated::Equal { evidence: evidence.join("; ") })
}

/// The same for what was made of one seed; an error names the seed beside the rules.
pub(crate) fn check_seed(
    input: &Program,
    folds: &[(LinearizedKernel, LinearizedKernel)],
    found: &Found,
    values: &[(String, i64)],
    licence: Licence,
) -> Result<(), Error> {
    let steps = Steps { folds: folds.to_vec(), approximated: found.approximated.clone() };
    let output = Program::Linearized(found.program.clone());
    let seed = format!("seed {}", found.seed);
    let checked = check(input, steps, &output, values, licence);
    checked.map(drop).map_err(|error| error.after([&seed].into_iter().chain(found.rules.keys())))
}

/// The evidence that two programs are equal, or why they cannot be compared.
fn compared(
    first: &Program,
    second: &Program,
    values: &[(String, i64)],
    (equality, licence): (Equality, Licence),
) -> Result<Result<String, String>, Error> {
    match compare_in(first, second, values, &equality.options(licence))? {
        Comparison::Equal { evidence } => Ok(Ok(evidence)),
        Comparison::Stopped(error) => Ok(Err(error.to_string())),
        Comparison::Different(difference) => {
            let kernel = first.kernel().name.clone();
            Err(Error::NotEqual { kernel, difference: Box::new(difference), rules: Vec::new(), smallest: None })
        }
    }
}

/// The parameter values to compare at: what is assumed, or less of it; and small ones.
fn sizes(program: &Program, values: &[(String, i64)]) -> Result<Vec<Vec<(String, i64)>>, Error> {
    let mut main = values.to_vec();
    while !main.is_empty() && operations(program, &main)?.total > MAX_OPERATIONS {
        let halved: Vec<(String, i64)> = main.iter().map(|(name, value)| (name.clone(), value.div_euclid(2))).collect();
        if !is_assumed(program, &halved) || halved.iter().all(|(_, value)| *value <= SMALL) {
            break;
        }
        main = halved;
    }
    let small: Vec<(String, i64)> = values.iter().map(|(name, _)| (name.clone(), SMALL)).collect();
    let is_useful = !small.is_empty() && small != main && is_assumed(program, &small);
    Ok(if is_useful { vec![main, small] } else { vec![main] })
}

/// Whether the kernel's assumptions hold for these values. What isl cannot say does not hold.
pub(crate) fn is_assumed(program: &Program, values: &[(String, i64)]) -> bool {
    let holds = || {
        let domains = Domains::new(&Context::new(), program.kernel()).ok()?;
        let Some(assumptions) = domains.assumptions() else { return Some(true) };
        let values: Vec<(&str, i64)> = values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        Some(!assumptions.clone().fix_params(&values).ok()?.is_empty().ok()?)
    };
    holds().unwrap_or(false)
}

/// The evidence of one comparison.
fn in_words(evidence: &Evidence, values: &[(String, i64)], agreement: Agreement) -> String {
    let within = match agreement {
        Agreement::Bits => "to the bit".to_owned(),
        Agreement::Close => format!("within {:.0e}", evidence.largest_error),
    };
    let mut text = match evidence.n_seeds {
        0 => String::new(),
        n_seeds => format!("{} elements exactly ({n_seeds} seeds)", evidence.n_exact),
    };
    if !text.is_empty() && evidence.n_undefined > 0 {
        text += &format!(", {} undefined there", evidence.n_undefined);
    }
    if evidence.n_floats > 0 && text.is_empty() {
        text = format!("{} elements in floats {within}", evidence.n_floats);
    } else if evidence.n_floats > 0 {
        text += &format!(", {} in floats {within}", evidence.n_floats);
    }
    if !values.is_empty() {
        let values: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        text += &format!(", at {}", values.join(", "));
    }
    text
}

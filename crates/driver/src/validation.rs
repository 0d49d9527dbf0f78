//! Comparison of a result with its input, by the interpreter.
//!
//! # Input
//! Two programs and the values that are assumed for parameters.
//! # Output
//! The evidence that they are equal; or an error that names the first difference.
//! # Method
//! They are compared at the assumed values and, where there are parameters, at small sizes: all different, all equal, 0, 1, 2, and
//! beside each number that bounds a loop. A decision that no data brings to both ends is named.
//! # Not done
//! A kernel whose interpretation stops (it divides by zero, or reads what has no value) is not compared; the report says
//! so.

use std::collections::BTreeSet;

use nestegg_forms::Tolerance;
use nestegg_interp::{Agreement, Difference, Evidence, Outcome, ValidateOptions, Verdict, validate};
use nestegg_ir::domains::Domains;
use nestegg_ir::{Expr, Kernel, Licence, LinearizedKernel, Number, Program};
use nestegg_isl::Context;

use crate::error::Error;
use crate::excerpt::excerpt;
use crate::report::Validated;
use crate::search::{Folds, Found};

/// The least value of parameters at a small size.
const SMALL: i64 = 3;

/// Programs are compared at this many sizes.
const MAX_SIZES: usize = 8;

/// Sizes beside larger numbers are not tried.
const MAX_NUMBER: i64 = 300;

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
    let mut main = None;
    let mut others = Vec::new();
    let mut stopped = None;
    for (size_idx, values) in sizes([first, second], values).into_iter().enumerate() {
        let options = ValidateOptions { parameters: values.iter().cloned().collect(), ..options.clone() };
        match validate(first, second, &options) {
            Ok(Verdict::Equal(evidence)) if main.is_none() && evidence.n_elements > 0 => {
                main = Some(in_words(&evidence, &values, [first, second], options.agreement));
            }
            Ok(Verdict::Equal(_)) => others.push(format!("({})", in_equations(&values))),
            Ok(Verdict::Different(difference)) => return Ok(Comparison::Different(difference)),
            Err(error) if size_idx == 0 => stopped = Some(error),
            // The kernel may need more than a small size.
            Err(_) => {}
        }
    }
    Ok(match (main, stopped) {
        (_, Some(error)) => Comparison::Stopped(error),
        (Some(main), None) if others.is_empty() => Comparison::Equal { evidence: main },
        (Some(main), None) => Comparison::Equal { evidence: format!("{main}; also at {}", others.join(", ")) },
        (None, None) => Comparison::Equal { evidence: "nothing is written".to_owned() },
    })
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

/// The parameter values to compare at: what is assumed, then small sizes, all different and all equal, and those beside
/// each number that bounds a loop or is compared with. At a small size loops are short and their ends matter.
fn sizes(programs: [&Program; 2], values: &[(String, i64)]) -> Vec<Vec<(String, i64)>> {
    let mut res = vec![values.to_vec()];
    if values.is_empty() {
        return res;
    }
    let all = |value: i64| values.iter().map(|(name, _)| (name.clone(), value)).collect::<Vec<_>>();
    let apart = (SMALL..).zip(values).map(|(value, (name, _))| (name.clone(), value)).collect();
    let mut candidates = vec![apart];
    candidates.extend([0, 1, 2, SMALL].map(all));
    let bounds: BTreeSet<i64> = programs.iter().flat_map(|program| numbers(program.kernel())).collect();
    let beside = bounds.into_iter().filter(|&number| number <= MAX_NUMBER).flat_map(|number| [number - 1, number, number + 1]);
    candidates.extend(beside.map(all));
    for candidate in candidates {
        if res.len() == MAX_SIZES {
            break;
        }
        if !res.contains(&candidate) && is_assumed(programs[0], &candidate) {
            res.push(candidate);
        }
    }
    res
}

/// The whole numbers above [`SMALL`] that domains and comparisons of a kernel hold.
fn numbers(kernel: &Kernel) -> BTreeSet<i64> {
    let mut res = BTreeSet::new();
    for domain in &kernel.domains {
        let digits = domain.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        res.extend(digits.filter_map(|word| word.parse::<i64>().ok()));
    }
    let comparisons = kernel.exprs.iter().filter(|(_, expr)| matches!(expr, Expr::Op { op, .. } if op.is_comparison()));
    let operands = comparisons.flat_map(|(_, expr)| expr.children());
    res.extend(operands.filter_map(|&operand| match kernel.exprs[operand] {
        Expr::Number(Number::Int(value)) => Some(value),
        _ => None,
    }));
    res.retain(|&number| number > SMALL);
    res
}

/// Whether the kernel's assumptions hold for these values. What isl cannot say does not hold.
fn is_assumed(program: &Program, values: &[(String, i64)]) -> bool {
    let holds = || {
        let domains = Domains::new(&Context::new(), program.kernel()).ok()?;
        let Some(assumptions) = domains.assumptions() else { return Some(true) };
        let values: Vec<(&str, i64)> = values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        Some(!assumptions.clone().fix_params(&values).ok()?.is_empty().ok()?)
    };
    holds().unwrap_or(false)
}

/// The evidence of one comparison.
fn in_words(evidence: &Evidence, values: &[(String, i64)], programs: [&Program; 2], agreement: Agreement) -> String {
    let mut text = evidence.to_string();
    if evidence.n_elements > 0 {
        text += &match agreement {
            Agreement::Bits => ", floats to the bit".to_owned(),
            Agreement::Close => format!(", floats within {:.0e}", evidence.largest_error),
        };
    }
    if !values.is_empty() {
        text += &format!(", at {}", in_equations(values));
    }
    for unreached in &evidence.unreached {
        let (which, program) = if unreached.is_first { ("input", programs[0]) } else { ("result", programs[1]) };
        let condition = excerpt(program.kernel(), unreached.expr);
        text += &match unreached.never {
            Outcome::True => format!("; `{condition}` of the {which} never holds"),
            Outcome::False => format!("; `{condition}` of the {which} always holds"),
            Outcome::Any => format!("; `{condition}` of the {which} is never asked for"),
            Outcome::Operand(operand) => {
                let operand = program.kernel().exprs[unreached.expr].children().get(operand);
                let operand = operand.map_or_else(String::new, |&operand| excerpt(program.kernel(), operand));
                format!("; `{condition}` of the {which} is never `{operand}`")
            }
        };
    }
    text
}

fn in_equations(values: &[(String, i64)]) -> String {
    values.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

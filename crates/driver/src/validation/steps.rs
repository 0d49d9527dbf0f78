//! Results that are not equal to their input in exact arithmetic: each step on the way to them is compared on its own.
//!
//! # Input
//! An input, a result, and what is known of the way: constants that were folded, tables that were computed.
//! # Output
//! The evidence of all steps, or the refusal of the first one that does not hold.

use std::rc::Rc;

use nestegg_forms::Tolerance;
use nestegg_interp::Runnable;
use nestegg_ir::{Licence, LinearizedKernel, Program};

use crate::candidates::Refusal;
use crate::error::Error;
use crate::report::Validated;
use crate::same::is_same;
use crate::search::Fold;
use crate::stated::Stated;
use crate::validation::equality::Equality;
use crate::validation::{Comparison, How, Subject, compare_in, is_undefined};

/// Kernels between input and result, where the two are not equal in exact arithmetic.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Steps<'a> {
    /// Before and after constants were folded to the bit.
    pub(crate) folds: &'a [Fold],
    /// A seed whose tables were computed, within a tolerance.
    pub(crate) approximated: Option<&'a (LinearizedKernel, Tolerance)>,
}

/// A program on the way from an input to its result.
#[derive(Clone)]
enum Stop<'a> {
    End(Subject<'a>),
    Form(Rc<Runnable<'static>>),
}

impl Stop<'_> {
    fn subject(&self) -> Subject<'_> {
        match self {
            Self::End(subject) => *subject,
            Self::Form(runnable) => Subject::from(&**runnable),
        }
    }
}

/// Two neighbours on that way.
struct Step<'a> {
    from: Stop<'a>,
    to: Stop<'a>,
    /// What they are called.
    names: [&'static str; 2],
    equality: Equality,
}

impl Step<'_> {
    fn in_words(&self, evidence: &str) -> String {
        let [from, to] = self.names;
        let how = if self.equality == Equality::Bits { ", to the bit" } else { "" };
        format!("{from} and {to}{how}: {evidence}")
    }
}

/// The way from an input to its result: constants folded, tables computed.
fn on_the_way<'a>(
    input: Subject<'a>,
    folds: &[Fold],
    approximated: Option<&(LinearizedKernel, Tolerance)>,
    (result, last): (Subject<'a>, Equality),
) -> Vec<Step<'a>> {
    let form = |linearized: &LinearizedKernel| Stop::Form(Rc::new(Program::Linearized(linearized.clone()).into()));
    let mut res: Vec<Step<'a>> = Vec::new();
    let (mut from, mut name) = (Stop::End(input), "input");
    let mut go = |to: Stop<'a>, [on_arrival, after]: [&'static str; 2], equality| {
        let from = std::mem::replace(&mut from, to.clone());
        let name = std::mem::replace(&mut name, after);
        res.push(Step { from, to, names: [name, on_arrival], equality });
    };
    for Fold { before, after, unrolled } in folds {
        let name = if unrolled.is_empty() { "value form" } else { "unrolled loops" };
        go(form(before), [name; 2], Equality::Full);
        go(form(after), ["folded constants"; 2], Equality::Bits);
    }
    if let Some((seed, Tolerance { largest_change, .. })) = approximated {
        // Nobody knows yet how close elements are.
        let equality = Equality::Tables { error: f64::INFINITY, change: *largest_change };
        go(form(seed), ["computed tables", "tables"], equality);
    }
    // A form whose coefficients were fitted to the input's is the result itself.
    let is_form = |seed| matches!(result.program, Program::Linearized(own) if is_same(own, seed));
    if !approximated.is_some_and(|(seed, _)| is_form(seed)) {
        go(Stop::End(result), ["result"; 2], last);
    }
    res
}

/// A result must be equal to its input: directly; or in floats where tables were computed, and then to the kernel with these tables exactly; and step by
/// step where constants were rounded.
/// Where no number of a table was changed, only coefficients may have been rounded: that is tried first. Answers the evidence, and what the result must state.
///
/// # Errors
/// If the input itself cannot be compared with anything: that is no fault of the result.
pub(crate) fn check(
    input: Subject<'_>,
    steps: Steps<'_>,
    output: Subject<'_>,
    values: &[(String, i64)],
    licence: Licence,
) -> Result<Result<(Validated, Stated), Refusal>, Error> {
    let Some((_, tolerance)) = steps.approximated else { return exactly(input, steps.folds, output, values, licence) };
    if tolerance.n_changed == 0
        && let Ok(found) = exactly(input, steps.folds, output, values, licence)?
    {
        return Ok(Ok(found));
    }
    let mut all = on_the_way(input, steps.folds, steps.approximated, (output, Equality::Full));
    // Without folds the first step is part of this one.
    let change = tolerance.largest_change;
    let equality = if steps.folds.is_empty() { all.remove(0).equality } else { Equality::Floats { change } };
    let whole = match compared(input, output, values, How { equality, licence, is_surveyed: false }, true)? {
        Ok(found) => found,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let mut evidence = vec![format!("input and result: {}", whole.evidence)];
    match one_by_one(&all, whole.is_surveyed, values, licence)? {
        Ok(found) => evidence.extend(all.iter().zip(found).map(|(step, found)| step.in_words(&found))),
        Err(refusal) => return Ok(Err(refusal)),
    }
    let Tolerance { n_changed, largest_change } = tolerance;
    evidence.push(format!("{n_changed} numbers of tables changed, by {largest_change:.0e} of the largest at most"));
    let stated = Stated::of_steps(steps.folds, Some(*tolerance), Some(whole.largest_error));
    Ok(Ok((Validated::Equal { evidence: evidence.join("; ") }, stated)))
}

/// The evidence that a result is equal to its input exactly, but for constants that were folded to the bit.
fn exactly(
    input: Subject<'_>,
    folds: &[Fold],
    output: Subject<'_>,
    values: &[(String, i64)],
    licence: Licence,
) -> Result<Result<(Validated, Stated), Refusal>, Error> {
    let all = on_the_way(input, folds, None, (output, Equality::Full));
    Ok(one_by_one(&all, false, values, licence)?.map(|found| {
        let evidence = if folds.is_empty() {
            found.concat()
        } else {
            all.iter().zip(found).map(|(step, found)| step.in_words(&found)).collect::<Vec<_>>().join("; ")
        };
        (Validated::Equal { evidence }, Stated::of_steps(folds, None, None))
    }))
}

/// The evidence of each of these steps, or the refusal of the first that does not hold; `is_surveyed` says whether all elements of the result were looked at.
fn one_by_one(
    steps: &[Step<'_>],
    is_surveyed: bool,
    values: &[(String, i64)],
    licence: Licence,
) -> Result<Result<Vec<String>, Refusal>, Error> {
    let mut res = Vec::with_capacity(steps.len());
    for step in steps {
        let is_input = matches!(step.from, Stop::End(_));
        let is_surveyed = is_surveyed && matches!(step.to, Stop::End(_));
        let how = How { equality: step.equality, licence, is_surveyed };
        match compared(step.from.subject(), step.to.subject(), values, how, is_input)? {
            Ok(found) => res.push(found.evidence),
            Err(refusal) => return Ok(Err(refusal)),
        }
    }
    Ok(Ok(res))
}

/// What was found of two programs that are equal.
struct Equal {
    evidence: String,
    largest_error: f64,
    is_surveyed: bool,
}

/// The evidence that two programs are equal, or what is wrong with the second.
///
/// # Errors
/// If the first is the input and cannot be run.
fn compared(
    first: Subject<'_>,
    second: Subject<'_>,
    values: &[(String, i64)],
    how: How,
    is_input: bool,
) -> Result<Result<Equal, Refusal>, Error> {
    let reason = match compare_in(first, second, values, how)? {
        Comparison::Equal { evidence, largest_error, is_surveyed } => {
            return Ok(Ok(Equal { evidence, largest_error, is_surveyed }));
        }
        Comparison::Different(difference) => return Ok(Err(Refusal::NotEqual(Box::new(difference)))),
        Comparison::Stopped(error) if is_input && is_undefined(first.kernel(), &error) => {
            let kernel = first.kernel().name.clone();
            return Err(Error::Undefined { kernel, source: Box::new(error), text: None, at: None });
        }
        Comparison::Stopped(error) => error.to_string(),
    };
    if is_input {
        return Err(Error::NotValidated { kernel: first.kernel().name.clone(), reason, failures: Vec::new() });
    }
    Ok(Err(Refusal::NotCompared(reason)))
}

/// Compares a program with one that was made of it after its constants had been computed.
pub(super) fn compare_folded(
    first: Subject<'_>,
    folds: &[Fold],
    second: Subject<'_>,
    (values, licence): (&[(String, i64)], Licence),
) -> Result<Comparison, Error> {
    let (mut evidence, mut error) = (Vec::new(), 0.0_f64);
    let rest = Equality::of_tables(&Stated::of(first.kernel()), &Stated::of(second.kernel()));
    for step in on_the_way(first, folds, None, (second, rest)) {
        let how = How { equality: step.equality, licence, is_surveyed: false };
        match compare_in(step.from.subject(), step.to.subject(), values, how)? {
            Comparison::Equal { evidence: found, largest_error, .. } => {
                evidence.push(step.in_words(&found));
                error = error.max(largest_error);
            }
            found => return Ok(found),
        }
    }
    Ok(Comparison::Equal { evidence: evidence.join("; "), largest_error: error, is_surveyed: false })
}

//! Comparison of a result with its input, by the interpreter.
//!
//! # Input
//! Two programs and the assumed values of parameters.
//! # Output
//! The evidence that they are equal; or the first difference; or why they cannot be compared.
//! # Method
//! There is one notion of equality ([`Equality`], `docs/evidence.md`): two programs are equal exactly, or in floats
//! where a result [states](crate::stated) that it was not made to be equal exactly. If it states only that constants
//! were computed as C does, the constants of its input are computed in the same way, and the rest must be equal
//! exactly.
//!
//! They are compared at the assumed values and, where there are parameters, at small sizes: all different, all equal,
//! 0, 1, 2, and beside each number that bounds a loop. The evidence names each decision that no data bring to both
//! ends.
//!
//! The optimizer knows more of a result than the result states, so it also compares each step on the way.
//! # Parts
//! [`equality`]: the statements of programs; [`form`]: a look at all elements where only some are compared; [`sizes`]:
//! the sizes at which they are compared; [`steps`]: the steps between them.
//! # Not done
//! Two programs are not compared where the first cannot be run (it divides by zero, or reads elements without a value).

mod equality;
mod form;
mod sizes;
mod steps;

use std::collections::BTreeSet;

use nestegg_dump::{Read, Spans};
use nestegg_interp::{
    Agreement, Difference, Evidence, Outcome, Runnable, Survey, Trap, Unreached, ValidateOptions, Verdict,
    validate_runnable,
};
use nestegg_ir::{Expr, ExprId, Kernel, Licence, Program};
use nestegg_span::Source;
use nestegg_transform::in_doubles;
use rayon::prelude::*;

use crate::error::Error;
use crate::excerpt::excerpt;
use crate::parameters::{for_runs, satisfies};
use crate::search;
use crate::stated::Stated;
use crate::validation::equality::Equality;
use crate::validation::form::surveyed;
use crate::validation::sizes::sizes;
use crate::validation::steps::compare_folded;

pub(crate) use crate::validation::steps::{Steps, check};

/// How often all kinds of data are gone through at the sizes after the first: there the ends of loops matter, which any data reach.
const FURTHER_CYCLES: usize = 2;

/// Where there are parameters, one element may take so many steps at the assumed sizes, and at others: smaller sizes have as much to say.
const MAX_STEPS_OF_ELEMENT: u64 = 5_000_000;
const MAX_STEPS_OF_ELEMENT_FURTHER: u64 = 1_000_000;

/// Sizes after the first whose values are all at most this are compared beside it: their arrays are small.
const MAX_SIDE_BY_SIDE: i64 = 16;

/// What comparing two programs found.
#[derive(Clone, Debug, PartialEq)]
pub enum Comparison {
    /// They are equal, as far as is known.
    Equal {
        /// What was compared.
        evidence: String,
        /// By how much an element is off at most, relative to its condition, where it was compared in floats.
        largest_error: f64,
        /// Whether all elements of the second are as in a form of the first.
        is_surveyed: bool,
    },
    /// They are not.
    Different(Difference),
    /// The first one cannot be run.
    Stopped(nestegg_interp::Error),
}

/// A program to compare.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The program.
    pub program: &'a Program,
    /// Where it is written, if evidence is to say where its decisions are.
    pub written: Option<(&'a Source, &'a Spans)>,
    /// The same program, if it is compared several times.
    pub runnable: Option<&'a Runnable<'a>>,
}

impl<'a> From<&'a Program> for Subject<'a> {
    fn from(program: &'a Program) -> Self {
        Self { program, written: None, runnable: None }
    }
}

impl<'a> From<&'a Runnable<'_>> for Subject<'a> {
    fn from(runnable: &'a Runnable<'_>) -> Self {
        Self { program: runnable.program(), written: None, runnable: Some(runnable) }
    }
}

impl<'a> Subject<'a> {
    /// A program as it was read.
    #[must_use]
    pub fn of(source: &'a Source, read: &'a Read) -> Self {
        Self { program: &read.program, written: Some((source, &read.spans)), runnable: None }
    }

    fn kernel(self) -> &'a Kernel {
        self.program.kernel()
    }

    /// An expression, and the line and column where it is first written.
    fn excerpt(self, expr: ExprId) -> String {
        let text = excerpt(self.kernel(), expr);
        let at = self.written.and_then(|(source, spans)| Some(source.position(spans.first(expr)?.start)));
        at.map_or_else(|| format!("`{text}`"), |at| format!("`{text}` at {at}"))
    }
}

/// Compares two programs on the same data: as exactly as they state to be equal.
///
/// # Errors
/// If the operations of the first cannot be counted, or the first has no order.
pub fn compare<'a>(
    first: impl Into<Subject<'a>>,
    second: impl Into<Subject<'a>>,
    values: &[(String, i64)],
) -> Result<Comparison, Error> {
    let (first, second) = (first.into(), second.into());
    let licence = Licence::default();
    if let Some((n_folds, unrolled)) = Stated::of(second.kernel()).folds_since(&Stated::of(first.kernel())) {
        // Where the input has no value form, floats have to do.
        if let Ok(Some(folds)) = search::folds(first.program, &unrolled, (licence, values))
            && folds.len() == n_folds
        {
            return compare_folded(first, &folds, second, (values, licence));
        }
    }
    let equality = Equality::stated(first.kernel(), second.kernel());
    let found = compare_in(first, second, values, How { equality, licence, is_surveyed: false })?;
    Ok(match found {
        Comparison::Equal { evidence, largest_error, is_surveyed } if equality != Equality::Full => Comparison::Equal {
            evidence: format!(
                "{evidence}; not exactly, for one of them states that its tables or constants were computed"
            ),
            largest_error,
            is_surveyed,
        },
        found => found,
    })
}

/// The seeds of the data on which programs are compared.
pub(crate) fn data_seeds() -> Vec<u64> {
    ValidateOptions::default().seeds
}

/// How two programs are compared.
#[derive(Clone, Copy)]
struct How {
    equality: Equality,
    licence: Licence,
    /// Whether all elements of the second were surveyed before.
    is_surveyed: bool,
}

fn compare_in(
    first: Subject<'_>,
    second: Subject<'_>,
    values: &[(String, i64)],
    How { equality, licence, is_surveyed }: How,
) -> Result<Comparison, Error> {
    let has_single = first.kernel().has_single() || second.kernel().has_single();
    let mut options = equality.options(licence, has_single);
    // Both or neither: an argument that only one of them uses has the same dtype in both.
    let wide = |subject: Subject<'_>| has_single.then(|| in_doubles(subject.program));
    let widened = matches!(equality, Equality::Tables { .. }).then(|| [first, second].map(wide));
    let [first, second] = match &widened {
        Some([a, b]) => [a.as_ref().map_or(first, Subject::from), b.as_ref().map_or(second, Subject::from)],
        None => [first, second],
    };
    let own = [first, second].map(|subject| Runnable::from(subject.program));
    let runnables = [first.runnable.unwrap_or(&own[0]), second.runnable.unwrap_or(&own[1])];
    let values = &*for_runs(first.kernel(), values);
    options.parameters = values.iter().cloned().collect();
    let survey = match options.agreement {
        Agreement::Close if !is_surveyed => surveyed(first.program, runnables[1], values, &options),
        Agreement::Close | Agreement::Bits => None,
    };
    if let Some((Survey { suspects, failure, .. }, _)) = &survey {
        if let Some(error) = failure {
            let error = error.clone();
            return Ok(Comparison::Different(Difference::Trap { program: "the second", error }));
        }
        options.suspects.clone_from(suspects);
        // Exact arithmetic sees more than the floats of a survey.
        options.is_surveyed = suspects.is_empty() && options.seeds.is_empty();
    }
    let sizes = sizes([first.program, second.program], values);
    let (mut main, mut others, mut stopped) = (None, Vec::new(), None);
    let (mut too_long, mut largest_error) = (false, 0.0_f64);
    // Why there is nothing to compare at the assumed sizes.
    let mut senseless = None;
    let mut unreached: Option<Vec<Unreached>> = None;
    let mut note = |evidence: &Evidence| {
        let Some(found) = &evidence.unreached else { return };
        unreached = Some(unreached.as_ref().map_or_else(|| found.clone(), |known| Unreached::in_both(known, found)));
    };
    let verdict_at = |size_idx: usize, values: &[(String, i64)]| {
        let max_cycles = if size_idx == 0 { options.max_cycles } else { FURTHER_CYCLES };
        let parameters = values.iter().cloned().collect();
        let mut options = ValidateOptions { parameters, max_cycles, ..options.clone() };
        match (values.is_empty(), size_idx) {
            (true, _) => {}
            (false, 0) => options.max_steps_of_element = MAX_STEPS_OF_ELEMENT,
            (false, _) => options.max_steps_of_element = MAX_STEPS_OF_ELEMENT_FURTHER,
        }
        validate_runnable(runnables[0], runnables[1], &options)
    };
    let is_small = |values: &&Vec<(String, i64)>| values.iter().all(|(_, value)| *value <= MAX_SIDE_BY_SIDE);
    let n_small = sizes.iter().skip(1).take_while(is_small).count();
    let numbered: Vec<(usize, &Vec<(String, i64)>)> = sizes.iter().enumerate().collect();
    let (together, large) = numbered.split_at(numbered.len().min(1 + n_small));
    let groups = std::iter::once(together).chain(large.chunks(1));
    let verdicts = groups.flat_map(|group| {
        let verdicts: Vec<Result<Verdict, nestegg_interp::Error>> =
            group.par_iter().map(|&(size_idx, values)| verdict_at(size_idx, values)).collect();
        std::iter::zip(group, verdicts)
    });
    for (&(size_idx, values), verdict) in verdicts {
        if let Ok(Verdict::Equal(evidence)) = &verdict {
            note(evidence);
            largest_error = largest_error.max(evidence.largest_error);
        }
        match verdict {
            // Evidence of nothing is none, unless there are no other sizes.
            Ok(Verdict::Equal(evidence)) if main.is_none() && (evidence.n_elements > 0 || values.is_empty()) => {
                main = Some(in_words(&evidence, values, options.agreement));
            }
            Ok(Verdict::Equal(_)) => others.push(format!("({})", in_equations(values))),
            Ok(Verdict::Different(difference)) => return Ok(Comparison::Different(difference)),
            Err(error) if size_idx == 0 && is_undefined(first.kernel(), &error) => {
                return Ok(Comparison::Stopped(error));
            }
            // Another size may do: the kernel may need more than a small one, or less than a large one.
            Err(error) => {
                too_long |= size_idx == 0 && is_step_limit(&error);
                if size_idx == 0 && !is_step_limit(&error) {
                    senseless = Some(error.clone());
                }
                // What is no limit says more.
                stopped = stopped.filter(|first| !is_step_limit(first)).or(Some(error));
            }
        }
    }
    let mut evidence = match (main, stopped) {
        (Some(main), _) => main,
        // Where nothing is written at the sizes of the run, one of another size that would run too long takes nothing from that.
        (None, Some(error)) if too_long || others.is_empty() || !is_step_limit(&error) => {
            return Ok(Comparison::Stopped(error));
        }
        (None, _) => format!("no element of any output is written, at {}", std::mem::take(&mut others).join(", ")),
    };
    if let Some((Survey { n_elements, suspects, .. }, operations)) = &survey
        && suspects.is_empty()
    {
        evidence += &format!("; all {n_elements} elements are as in a form of {operations} operations");
    }
    if !others.is_empty() {
        evidence += &format!("; also at {}", others.join(", "));
    }
    if too_long {
        evidence += &format!("; not at {}, where one element takes too long", in_equations(values));
    }
    if let Some(error) = senseless {
        evidence += &format!("; not at {}: {error}", in_equations(values));
    }
    // Programs between which constants were folded have the decisions of the input.
    if equality != Equality::Bits {
        evidence += &never_in_words(&unreached.unwrap_or_default(), [first, second]);
    }
    let is_surveyed = survey.is_some_and(|(Survey { suspects, .. }, _)| suspects.is_empty());
    Ok(Comparison::Equal { evidence, largest_error, is_surveyed })
}

fn is_step_limit(error: &nestegg_interp::Error) -> bool {
    matches!(error, nestegg_interp::Error::StepLimit { .. })
}

/// Whether a run stopped because the kernel means nothing, whatever the data: it reads outside its arrays, or what has no value.
fn is_undefined(kernel: &Kernel, error: &nestegg_interp::Error) -> bool {
    let nestegg_interp::Error::Trap { trap, .. } = error else { return false };
    match trap {
        Trap::Uninitialised { .. } => true,
        Trap::OutOfBounds { array, .. } => !is_indexed_by_data(kernel, array),
        _ => false,
    }
}

/// Whether an index of an array is read from memory somewhere, so that other data may keep it inside.
fn is_indexed_by_data(kernel: &Kernel, name: &str) -> bool {
    let is_read = |&index: &ExprId| {
        kernel.exprs.reachable([index]).into_iter().any(|id| matches!(kernel.exprs[id], Expr::Access { .. }))
    };
    kernel.exprs.iter().any(|(_, expr)| {
        matches!(expr, Expr::Access { array, indices } if kernel[*array].name == name && indices.iter().any(is_read))
    })
}

/// Whether the kernel's assumptions hold for these values. What isl cannot say does not hold.
pub(crate) fn is_assumed(kernel: &Kernel, values: &[(String, i64)]) -> bool {
    let assumptions = kernel.assumptions.as_deref();
    assumptions.is_none_or(|assumptions| satisfies(assumptions, values).unwrap_or(false))
}

/// The evidence of one comparison.
fn in_words(evidence: &Evidence, values: &[(String, i64)], agreement: Agreement) -> String {
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
    text
}

/// Decisions that went one way only.
fn never_in_words(unreached: &[Unreached], subjects: [Subject<'_>; 2]) -> String {
    let mut text = String::new();
    // What result and input have in common is said of the input.
    let mut said = BTreeSet::new();
    for unreached in unreached {
        let (which, subject) = if unreached.is_first { ("input", subjects[0]) } else { ("result", subjects[1]) };
        let never = match unreached.never {
            Outcome::True => "never holds".to_owned(),
            Outcome::False => "always holds".to_owned(),
            Outcome::Any => "is never asked for".to_owned(),
            Outcome::Operand(operand) => {
                let operand = subject.kernel().exprs[unreached.expr].children().get(operand);
                let operand = operand.map_or_else(String::new, |&operand| excerpt(subject.kernel(), operand));
                format!("is never `{operand}`")
            }
        };
        if said.insert((excerpt(subject.kernel(), unreached.expr), never.clone())) {
            text += &format!("; {} of the {which} {never}", subject.excerpt(unreached.expr));
        }
    }
    text
}

/// Values of parameters, in words.
fn in_equations(values: &[(String, i64)]) -> String {
    values.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Strategy};
    use crate::notation::{Notation, read};

    const ROUNDED: &str = "kernel k\ndomain { [i] : 0 <= i < 5 }\narg x : float32[5] read\narg y : float32[5] write\n\
                           for i\n  y[i] = 0.5*x[i] + exp(x[i]*(cast(float32, 0.1) + cast(float32, 0.2)))\nend\n";

    /// A kernel, its O1 result, and what comparing them finds after a change of the result's text.
    fn compared_with_changed(from: &str, to: &str) -> Comparison {
        let source = Source::new("k.knl", ROUNDED);
        let config = Config { strategy: Strategy::Named("O1".to_owned()), ..Config::of_operations() };
        let optimized = crate::optimize(&source, &config).unwrap();
        let text = Notation::Text.write(&Program::Linearized(optimized.program));
        assert!(text.contains(r#"{"constants":{"rounded":1}}"#), "{text}");
        assert!(text.contains(from), "{text}");
        let changed = read(&Source::new("changed.knl", text.replace(from, to))).unwrap();
        compare(&read(&source).unwrap().program, &changed.program, &[]).unwrap()
    }

    /// The folded constant rounds as float32; nothing else of the kernel may.
    #[test]
    fn what_is_beside_a_rounded_constant_is_compared_exactly() {
        let Comparison::Equal { evidence, .. } = compared_with_changed("0.5*", "0.5*") else { panic!("not equal") };
        assert!(evidence.contains("value form and folded constants, to the bit"), "{evidence}");
        for (from, to) in [("0.5*", "0.50000005*"), ("0.3", "0.3000002")] {
            let found = compared_with_changed(from, to);
            assert!(matches!(found, Comparison::Different(_)), "{from} -> {to}: {found:?}");
        }
    }

    /// The stores of `a` and `b` are unrolled, the numbers of `a` fitted; that of `c` stays in its loop.
    const UNROLLED: &str = "kernel k\ndomain { [i, j, q] : 0 <= i, j, q < 3 }\narg x : float64[3] read\narg n : float64[9] read\n\
                            arg a : float64[3] write\narg b : float64[3] write\narg c : float64[9] write\n\
                            table T : float64[3, 3] = [[0.1, 0.2, 0.7], [0.3, 0.1, 0.6], [0.6, 0.2, 0.2]]\ntable w : float64[3] = [0.3, 0.3, 0.4]\n\
                            domain { [e] : 0 <= e < 9 }\n\
                            for i\n  a[i] = sum([q, j], w[q]*T[q, i]*T[q, j]*x[j])\n  b[i] = sum(q, w[q]*T[q, i])\nend\n\
                            for e\n  c[e] = 0.1*n[e]*n[e]\nend\n";

    #[test]
    fn what_is_unrolled_is_compared_step_by_step() {
        let source = Source::new("k.knl", UNROLLED);
        let config = Config { strategy: Strategy::Named("O2".to_owned()), ..Config::of_operations() };
        let optimized = crate::optimize(&source, &config).unwrap();
        let text = Notation::Text.write(&Program::Linearized(optimized.program));
        let compared = |text: &str| {
            let result = read(&Source::new("result.knl", text)).unwrap();
            compare(&read(&source).unwrap().program, &result.program, &[]).unwrap()
        };
        let Comparison::Equal { evidence, .. } = compared(&text) else { panic!("not equal: {text}") };
        assert!(evidence.contains("unrolled loops and folded constants, to the bit"), "{evidence}\n{text}");
        for (from, to) in
            [("b[0] = 0.", "b[0] = 0.0000001 + 0."), ("0.1*n[e]", "0.1000000001*n[e]"), ("0.063*", "0.0630000001*")]
        {
            assert!(text.contains(from), "{text}");
            let found = compared(&text.replace(from, to));
            assert!(matches!(found, Comparison::Different(_)), "{from} -> {to}: {found:?}");
        }
    }

    #[test]
    fn a_decision_is_named_with_its_place() {
        let text = "kernel k\ndomain { [i] : 0 <= i < 5 }\narg x : float64[5] read\narg y : float64[5] write\n\
                    for i\n  y[i] = x[i] if x[i]*x[i] < -1.0 else 2.0\nend\n";
        let source = Source::new("k.knl", text);
        let read = read(&source).unwrap();
        let found = compare(Subject::of(&source, &read), &read.program, &[]).unwrap();
        let Comparison::Equal { evidence, .. } = found else { panic!("not equal") };
        assert!(evidence.contains("`(x[i]*x[i]) < -1.0` at 6:18 of the input never holds"), "{evidence}");
        assert!(!evidence.contains("of the result"), "once is enough: {evidence}");
    }

    fn parse(text: &str) -> Program {
        read(&Source::new("k.knl", text)).unwrap().program
    }

    /// A vector kernel with a parameter that is small by default.
    fn vector(value: &str) -> Program {
        parse(&format!(
            "kernel k\nparam n : int32 = 10\ndomain [n] -> {{ [i] : 0 <= i < n }}\narg x : float64[n] read\n\
             arg y : float64[n] write\nfor i\n  y[i] = {value}\nend\n"
        ))
    }

    #[test]
    fn conditions_on_sizes_are_tried_on_both_sides() {
        let values = [("n".to_owned(), 10)];
        for condition in ["i < 5000", "n < 1000", "i + 3 < 700", "i % 700 < 699"] {
            let input = vector(&format!("x[i] if {condition} else 2.0*x[i]"));
            let found = compare(&input, &vector("x[i]"), &values).unwrap();
            assert!(matches!(found, Comparison::Different(_)), "{condition}: {found:?}");
        }
    }

    #[test]
    fn conditions_on_sizes_that_are_never_met_are_named() {
        let input = vector("x[i] if i < 20000000 else 2.0*x[i]");
        let found = compare(&input, &input, &[("n".to_owned(), 10)]).unwrap();
        let Comparison::Equal { evidence, .. } = found else { panic!("not equal") };
        assert!(evidence.ends_with("`i < 20000000` of the input always holds"), "{evidence}");
    }

    #[test]
    fn where_one_element_takes_too_long_smaller_sizes_say_enough() {
        let dot = |factor: &str| {
            parse(&format!(
                "kernel k\nparam n : int32 = 1000000000\ndomain [n] -> {{ [i] : 0 <= i < n }}\n\
                 arg x : float64[n] read\narg y : float64[1] write\ny[0] = sum([i], {factor}*x[i])\n"
            ))
        };
        let values = [("n".to_owned(), 1_000_000_000)];
        let found = compare(&dot("2.0"), &dot("2.0"), &values).unwrap();
        let Comparison::Equal { evidence, .. } = found else { panic!("not equal") };
        assert!(evidence.contains("not at n = 1000000000, where one element takes too long"), "{evidence}");
        let found = compare(&dot("2.0"), &dot("2.5"), &values).unwrap();
        assert!(matches!(found, Comparison::Different(_)), "{found:?}");
    }

    /// A matrix product of 64 rows, rolled or row by row; `scale` has an entry for each column.
    fn product(is_rolled: bool, scale: &[f64; 400]) -> Program {
        let mut text = format!(
            "kernel k\ndomain {{ [i, j, k] : 0 <= i < 64 and 0 <= j < 400 and 0 <= k < 64 }}\n\
             arg a : float64[64, 64] read\narg b : float64[64, 400] read\narg y : float64[64, 400] write\n\
             table s : float64[400] = {scale:?}\n"
        );
        let rows: Vec<String> =
            if is_rolled { vec!["i".to_owned()] } else { (0..64).map(|row| row.to_string()).collect() };
        for row in &rows {
            let loops = if is_rolled { "i, j" } else { "j" };
            text += &format!("for {loops}\n  y[{row}, j] = s[j]*sum([k], a[{row}, k]*b[k, j])\nend\n");
        }
        parse(&text)
    }

    #[test]
    fn every_element_of_a_long_result_is_looked_at() {
        let ones = [1.0; 400];
        let found = compare(&product(true, &ones), &product(false, &ones), &[]).unwrap();
        let Comparison::Equal { evidence, .. } = found else { panic!("not equal") };
        assert!(evidence.contains("; all 25600 elements are as in a form of "), "{evidence}");
        let mut wrong = ones;
        wrong[173] = 1.000001;
        let found = compare(&product(true, &ones), &product(false, &wrong), &[]).unwrap();
        let Comparison::Different(Difference::Value { index, .. }) = found else { panic!("equal") };
        assert_eq!(index[1], 173);
    }
}

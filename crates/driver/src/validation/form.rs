//! Surveys long results: compares every element with a fast form of the input.
//!
//! # Input
//! An input that runs too long to compare all elements with, its result, and the options of the comparison.
//! # Output
//! The [survey](nestegg_interp::survey), and the operations of the form; nothing where a survey does not pay.
//! # Method
//! One element of a long result exercises few of its statements, so a sample misses errors. `O1` makes a form of the input in
//! milliseconds that runs fast enough to compare every element. Where form and result differ, validation asks the input itself,
//! so a bug in `O1` cannot make it refuse a right result.

use nestegg_interp::{Runnable, Survey, ValidateOptions, survey};
use nestegg_ir::{Program, Semantics};

use crate::config::{Config, Strategy, Validation};
use crate::count::operations;
use crate::rules::{self, Licensed};
use crate::same::is_same;
use crate::search::{Told, search};
use crate::stages::Stages;

/// Inputs of fewer operations are run whole, or are not far from it; those that are long themselves are up to [`MAX_OPERATIONS`].
const MIN_OPERATIONS: u128 = 500_000;

/// Of shorter results the chosen elements look at every statement often enough.
const MIN_INSTRUCTIONS: usize = 64;

/// Forms and results of more operations are not run.
const MAX_OPERATIONS: u128 = 20_000_000;

/// All elements of a result beside those of a form of its input, where that is worth while; and the operations of the form.
pub(super) fn surveyed(
    input: &Program,
    result: &Runnable<'_>,
    values: &[(String, i64)],
    options: &ValidateOptions,
) -> Option<(Survey, u128)> {
    let runnable = result;
    let result = runnable.program();
    let total = |program: &Program| operations(program, values).ok().map(|operations| operations.total);
    let is_long = |program: &Program| program.kernel().instructions.len() >= MIN_INSTRUCTIONS;
    let least = if is_long(input) { MAX_OPERATIONS } else { MIN_OPERATIONS };
    if !is_long(result) || total(input)? < least || total(result)? > MAX_OPERATIONS {
        return None;
    }
    let form = form(input, values)?;
    // A result that is the form itself is as it whatever it does.
    if matches!((&form, result), (Program::Linearized(form), Program::Linearized(result)) if is_same(form, result)) {
        return None;
    }
    let operations = total(&form).filter(|&total| total <= MAX_OPERATIONS)?;
    Some((survey(&form.into(), runnable, options).ok()??, operations))
}

/// What `O1` makes of a program.
fn form(input: &Program, values: &[(String, i64)]) -> Option<Program> {
    let strategy = Strategy::Named("O1".to_owned());
    let config = Config { strategy, validation: Validation::Off, ..Config::of_operations() };
    let (book, name) = rules::of_config(&config).ok()?;
    let Licensed { strategy, licence, .. } = rules::licensed(&book, &name, &config).ok()?;
    let semantics = Semantics { licence, traps: config.traps };
    let told =
        Told { strategy: &strategy, semantics, values, config: &config, most: u128::MAX, is_strict: false, only: None };
    let found = search(input, told, &mut Stages::new(None)).ok()?;
    found.ranking.into_iter().next().map(|best| Program::Linearized(best.program))
}

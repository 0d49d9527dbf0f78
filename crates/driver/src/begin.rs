//! Where searches begin that look at a kernel without optimizing it: [`explore`](crate::explore) and [`explain`](crate::explain).
//!
//! # Input
//! The text of a kernel and a configuration.
//! # Output
//! The kernel, and what [`optimize`](crate::optimize) would tell its first pass.

use nestegg_ir::{LinearizedKernel, Program, Semantics};
use nestegg_rules::{ResolvedStrategy, RuleBook};
use nestegg_span::Source;

use crate::config::Config;
use crate::error::Error;
use crate::notation::read_defined;
use crate::parameters;
use crate::rules::{self, Licensed};
use crate::search::{Passes, Told, linearized};

/// What a search begins with.
pub(crate) struct Begun<'a> {
    /// The kernel as read.
    pub(crate) program: &'a Program,
    /// The same in order, without loops that have no points.
    pub(crate) input: &'a LinearizedKernel,
    /// All rules.
    pub(crate) book: &'a RuleBook,
    /// The strategy that runs.
    pub(crate) strategy: &'a ResolvedStrategy<'a>,
    pub(crate) semantics: Semantics,
    /// The values that are assumed for parameters.
    pub(crate) values: &'a [(String, i64)],
    pub(crate) pass: Passes<'a>,
}

/// Reads a kernel, and goes on with what a search of it begins with.
///
/// # Errors
/// What is wrong with the kernel or the rules, and the errors of `go`.
pub(crate) fn begin<T>(
    source: &Source,
    config: &Config,
    go: impl FnOnce(Begun<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let program = read_defined(source, &config.parameters)?.program;
    let assumed = parameters::assumed(program.kernel(), &config.parameters)?;
    let values = &parameters::values(&assumed);
    let (book, name) = rules::of_config(config)?;
    let Licensed { strategy, licence, .. } = rules::licensed(&book, &name, config)?;
    let semantics = Semantics { licence, traps: config.traps };
    let told = Told { strategy: &strategy, semantics, values, config, most: u128::MAX, is_strict: true, only: None };
    let input = &nestegg_transform::eliminate_empty(linearized(&program)?);
    let pass = Passes::new(input, &told);
    go(Begun { program: &program, input, book: &book, strategy: &strategy, semantics, values, pass })
}

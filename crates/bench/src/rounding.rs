//! Rounding: errors of results beside those of their inputs, on friendly and on hard data, and what the accuracy guard costs.
//!
//! # Input
//! The chosen fixtures, and levels.
//! # Output
//! A table with a row for each group and level. With the guard off: the median and the worst ratio of the result's error to the
//! input's, on friendly data and on all data, and how many kernels exceed [`LIMIT_EXACT`]. With the guard on: how many results it
//! refuses, how many operations that costs (geometric mean), and how many results still lose more than it allows.
//! Then a row for each kernel that exceeds the limit, with the data on which it loses most and the result that the guard takes;
//! `--all` lists every kernel. Last come the kernels that cannot be measured, with the reason.
//! # Method
//! That of the guard: [`nestegg_driver::accuracy`].

use clap::Args;
use miette::IntoDiagnostic;
use nestegg_bench::fixtures::{Fixture, GROUPS};
use nestegg_driver::Optimized;
use nestegg_driver::accuracy::{Accuracy, LIMIT_COMPUTED, LIMIT_EXACT, measure};
use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_driver::report::FailureKind;
use nestegg_ir::Program;
use nestegg_span::Source;
use rayon::prelude::*;

use crate::CommonArgs;
use crate::statistics::{geometric_mean, largest, median};
use crate::table::{ratio, table};

/// `nestegg-bench rounding`.
#[derive(Debug, Args)]
pub struct RoundingArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The levels
    #[arg(long, value_delimiter = ',', default_value = "O1,O2,O3")]
    levels: Vec<String>,
    /// Show every kernel
    #[arg(long)]
    all: bool,
    /// Show every family of data
    #[arg(long)]
    families: bool,
}

/// One kernel at one level.
struct Measured {
    kernel: String,
    group: &'static str,
    level: String,
    seed: String,
    operations: u128,
    accuracy: Accuracy,
    /// What the guard makes of it, where it is above the limit for exact forms.
    guarded: Option<Guarded>,
}

/// A result with the guard on.
struct Guarded {
    /// How many better ones were refused.
    n_refused: usize,
    operations: u128,
    seed: String,
    accuracy: Accuracy,
}

impl Measured {
    /// Operations with the guard over those without.
    fn cost(&self) -> f64 {
        self.guarded.as_ref().map_or(1.0, |guarded| guarded.operations as f64 / self.operations as f64)
    }

    /// Whether the result that the guard takes loses more than it allows to any.
    fn is_beyond(&self) -> bool {
        self.guarded.as_ref().is_some_and(|guarded| guarded.accuracy.exceeds(LIMIT_COMPUTED).is_some())
    }

    fn is_refused(&self) -> bool {
        self.guarded.as_ref().is_some_and(|guarded| guarded.n_refused > 0)
    }

    fn worst(&self) -> f64 {
        self.accuracy.worst().map_or(0.0, |worst| worst.ratio)
    }

    fn friendly(&self) -> f64 {
        self.accuracy.families.first().map_or(0.0, |friendly| friendly.ratio)
    }
}

/// Measures every chosen fixture.
pub fn run(args: &RoundingArgs) -> miette::Result<String> {
    let fixtures = args.common.chosen()?;
    let results: Vec<Result<Measured, String>> = fixtures
        .par_iter()
        .flat_map_iter(|fixture| args.levels.iter().map(move |level| (fixture, level)))
        .map(|(fixture, level)| {
            measured(fixture, level).map_err(|error| format!("{} at {level}: {error}", fixture.full_name()))
        })
        .collect();
    let (found, failures): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let mut found: Vec<Measured> = found.into_iter().flatten().collect();
    let failures: Vec<String> = failures.into_iter().filter_map(Result::err).collect();
    let mut text = "error of the result over that of the input\n\n".to_owned();
    text += &summary(args, &found);
    found.sort_by(|a, b| b.worst().total_cmp(&a.worst()));
    let shown: Vec<&Measured> = found.iter().filter(|one| args.all || one.worst() > LIMIT_EXACT).collect();
    if !shown.is_empty() {
        let title = if args.all { "all".to_owned() } else { format!("above {LIMIT_EXACT}") };
        text += &format!("\n{title}:\n\n{}", rows(args, &shown));
    }
    if !failures.is_empty() {
        text += &format!("\nnot measured:\n  {}\n", failures.join("\n  "));
    }
    Ok(text)
}

fn measured(fixture: &Fixture, level: &str) -> miette::Result<Measured> {
    let source = fixture.read().into_diagnostic()?;
    let input = nestegg_driver::read(&source)?.program;
    let (without, accuracy) = optimized(&source, &input, level, Validation::Off)?;
    if let Some(reason) = accuracy.not_measured {
        return Err(miette::miette!("{reason}"));
    }
    let guarded = match accuracy.exceeds(LIMIT_EXACT) {
        None => None,
        Some(_) => {
            let (with, accuracy) = optimized(&source, &input, level, Validation::On)?;
            let is_refused = |kind: FailureKind| kind == FailureKind::Inaccurate;
            let n_refused = with.report.failures.iter().filter(|failure| is_refused(failure.kind)).count();
            Some(Guarded { n_refused, operations: with.report.after.total, seed: with.report.seed, accuracy })
        }
    };
    Ok(Measured {
        kernel: fixture.full_name(),
        group: fixture.group,
        level: level.to_owned(),
        seed: without.report.seed,
        operations: without.report.after.total,
        accuracy,
        guarded,
    })
}

/// A result, guarded only where it is validated, and its accuracy.
fn optimized(
    source: &Source,
    input: &Program,
    level: &str,
    validation: Validation,
) -> miette::Result<(Optimized, Accuracy)> {
    let config = Config { strategy: Strategy::Named(level.to_owned()), validation, ..Config::of_operations() };
    let optimized = nestegg_driver::optimize(source, &config)?;
    let values: Vec<(String, i64)> =
        optimized.report.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.value)).collect();
    let accuracy = measure(input, &optimized.program, &values).into_diagnostic()?;
    Ok((optimized, accuracy))
}

/// One row for each group and level.
fn summary(args: &RoundingArgs, found: &[Measured]) -> String {
    let header = [
        "group",
        "level",
        "median, friendly",
        "worst, friendly",
        "median",
        "worst",
        "on",
        "above 10",
        "refused",
        "operations",
        "beyond the guard",
        "kernels",
    ]
    .map(str::to_owned);
    let mut rows = Vec::new();
    for group in GROUPS {
        for level in &args.levels {
            let own: Vec<&Measured> = found.iter().filter(|one| one.group == group && one.level == *level).collect();
            let friendly: Vec<f64> = own.iter().map(|one| one.friendly()).collect();
            let ratios: Vec<f64> = own.iter().map(|one| one.worst()).collect();
            let Some(worst) = own.iter().max_by(|a, b| a.worst().total_cmp(&b.worst())) else { continue };
            rows.push(vec![
                group.to_owned(),
                level.clone(),
                ratio(median(&friendly)),
                ratio(largest(&friendly)),
                ratio(median(&ratios)),
                ratio(largest(&ratios)),
                worst.kernel.clone(),
                ratios.iter().filter(|&&ratio| ratio > LIMIT_EXACT).count().to_string(),
                own.iter().filter(|one| one.is_refused()).count().to_string(),
                ratio(geometric_mean(&own.iter().map(|one| one.cost()).collect::<Vec<_>>())),
                own.iter().filter(|one| one.is_beyond()).count().to_string(),
                ratios.len().to_string(),
            ]);
        }
    }
    table(args.common.markdown, &header, &rows)
}

fn rows(args: &RoundingArgs, shown: &[&Measured]) -> String {
    let header = [
        "kernel",
        "level",
        "operations",
        "made of",
        "friendly",
        "data",
        "input",
        "result",
        "ratio",
        "with the guard",
        "made of",
    ]
    .map(str::to_owned);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for one in shown {
        let families: Vec<_> = if args.families {
            one.accuracy.families.iter().collect()
        } else {
            one.accuracy.worst().into_iter().collect()
        };
        let guarded = one.guarded.as_ref().filter(|guarded| guarded.n_refused > 0);
        for worst in families {
            rows.push(vec![
                one.kernel.clone(),
                one.level.clone(),
                one.operations.to_string(),
                one.seed.clone(),
                format!("{:.1}", one.friendly()),
                worst.data.clone(),
                format!("{:.1e}", worst.input),
                format!("{:.1e}", worst.result),
                format!("{:.1}", worst.ratio),
                guarded.map_or_else(String::new, |guarded| guarded.operations.to_string()),
                guarded.map_or_else(String::new, |guarded| guarded.seed.clone()),
            ]);
        }
    }
    table(args.common.markdown, &header, &rows)
}

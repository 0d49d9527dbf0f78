//! Rounding: errors of results beside those of their inputs, on friendly and on hard data.
//!
//! # Input
//! The chosen fixtures, and levels.
//! # Output
//! For each group and level the median and the worst ratio of the result's error to the input's on friendly data, the worst
//! on any data, and how many kernels are beyond the guard's limit; then every kernel and level that is beyond it, with the data
//! where it loses most and the seed that it was made of, and with `--all` every kernel; then the kernels that cannot be measured, with the reason.
//! # Method
//! That of the guard: [`nestegg_driver::accuracy`].

use clap::Args;
use miette::IntoDiagnostic;
use nestegg_bench::fixtures::{Fixture, GROUPS};
use nestegg_driver::accuracy::{Accuracy, measure};
use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_ir::Program;
use rayon::prelude::*;

use crate::CommonArgs;
use crate::statistics::{largest, median};
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
    /// What counts as beyond the guard
    #[arg(long, default_value_t = 10.0)]
    limit: f64,
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
}

impl Measured {
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
    let shown: Vec<&Measured> = found.iter().filter(|one| args.all || one.worst() > args.limit).collect();
    if !shown.is_empty() {
        let title = if args.all { "all".to_owned() } else { format!("beyond {}", args.limit) };
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
    let config =
        Config { strategy: Strategy::Named(level.to_owned()), validation: Validation::Off, ..Config::default() };
    let optimized = nestegg_driver::optimize(&source, &config)?;
    let values: Vec<(String, i64)> =
        optimized.report.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.value)).collect();
    let result = Program::Linearized(optimized.program);
    let accuracy = measure(&input, &result, &values)?;
    if let Some(reason) = accuracy.not_measured {
        return Err(miette::miette!("{reason}"));
    }
    Ok(Measured {
        kernel: fixture.full_name(),
        group: fixture.group,
        level: level.to_owned(),
        seed: optimized.report.seed,
        operations: optimized.report.after.total,
        accuracy,
    })
}

/// One row for each group and level.
fn summary(args: &RoundingArgs, found: &[Measured]) -> String {
    let header =
        ["group", "level", "median, friendly", "worst, friendly", "median", "worst", "on", "beyond", "kernels"]
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
                ratios.iter().filter(|&&ratio| ratio > args.limit).count().to_string(),
                ratios.len().to_string(),
            ]);
        }
    }
    table(args.common.markdown, &header, &rows)
}

fn rows(args: &RoundingArgs, shown: &[&Measured]) -> String {
    let header =
        ["kernel", "level", "operations", "made of", "friendly", "data", "input", "result", "ratio"].map(str::to_owned);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for one in shown {
        let families: Vec<_> = if args.families {
            one.accuracy.families.iter().collect()
        } else {
            one.accuracy.worst().into_iter().collect()
        };
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
            ]);
        }
    }
    table(args.common.markdown, &header, &rows)
}

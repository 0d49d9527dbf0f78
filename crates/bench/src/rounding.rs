//! Rounding: errors of results beside those of their inputs.
//!
//! # Input
//! The chosen fixtures, and levels.
//! # Output
//! For each group and level the median and worst ratio of the result's error to the input's, then every kernel and level whose
//! ratio is beyond [`LIMIT`], with the seed that the result was made of, and with `--all` every kernel; then the kernels that cannot be measured, with the reason.
//! # Method
//! An error is the largest one of an element over the largest magnitude of its output, in float64 against double-double arithmetic,
//! on random data of [`SEEDS`], outputs starting at zero. Errors below the unit roundoff count as that. Parameters are at most
//! [`MAX_PARAMETER`] here: errors per element do not depend on how many there are.

use clap::Args;
use miette::IntoDiagnostic;
use nestegg_bench::fixtures::{Fixture, GROUPS};
use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_driver::rounding::{Rounding, rounding};
use nestegg_ir::Program;
use rayon::prelude::*;

use crate::CommonArgs;
use crate::statistics::{largest, median};
use crate::table::{ratio, table};

/// The ratio that results should stay within.
const LIMIT: f64 = 10.0;

/// Seeds of the random data.
const SEEDS: [u64; 3] = [1, 2, 3];

/// The largest value of a parameter.
const MAX_PARAMETER: i64 = 8;

/// `nestegg-bench rounding`.
#[derive(Debug, Args)]
pub struct RoundingArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The levels
    #[arg(long, value_delimiter = ',', default_value = "O2,O3")]
    levels: Vec<String>,
    /// Show every kernel
    #[arg(long)]
    all: bool,
}

/// One kernel at one level.
struct Measured {
    kernel: String,
    group: &'static str,
    level: String,
    seed: String,
    rounding: Rounding,
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
    found.sort_by(|a, b| b.rounding.ratio().total_cmp(&a.rounding.ratio()));
    let shown: Vec<&Measured> = found.iter().filter(|one| args.all || one.rounding.ratio() > LIMIT).collect();
    if !shown.is_empty() {
        let title = if args.all { "all".to_owned() } else { format!("beyond {LIMIT}") };
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
    let smaller = |name: &String, value: i64| (name.clone(), value.min(MAX_PARAMETER));
    let values: Vec<(String, i64)> =
        optimized.report.parameters.iter().map(|parameter| smaller(&parameter.name, parameter.value)).collect();
    let result = Program::Linearized(optimized.program);
    let rounding = rounding(&input, &result, &values, SEEDS).into_diagnostic()?;
    let rounding = rounding.ok_or_else(|| miette::miette!("no element has an exact value to compare with"))?;
    Ok(Measured {
        kernel: fixture.full_name(),
        group: fixture.group,
        level: level.to_owned(),
        seed: optimized.report.seed,
        rounding,
    })
}

/// One row for each group and level.
fn summary(args: &RoundingArgs, found: &[Measured]) -> String {
    let header = ["group", "level", "median", "worst", "on", "above 10", "kernels"].map(str::to_owned);
    let mut rows = Vec::new();
    for group in GROUPS {
        for level in &args.levels {
            let own: Vec<&Measured> = found.iter().filter(|one| one.group == group && one.level == *level).collect();
            let ratios: Vec<f64> = own.iter().map(|one| one.rounding.ratio()).collect();
            let worst = own.iter().max_by(|a, b| a.rounding.ratio().total_cmp(&b.rounding.ratio()));
            if ratios.is_empty() {
                continue;
            }
            rows.push(vec![
                group.to_owned(),
                level.clone(),
                ratio(median(&ratios)),
                ratio(largest(&ratios)),
                worst.map_or_else(String::new, |worst| worst.kernel.clone()),
                ratios.iter().filter(|&&ratio| ratio > LIMIT).count().to_string(),
                ratios.len().to_string(),
            ]);
        }
    }
    table(args.common.markdown, &header, &rows)
}

fn rows(args: &RoundingArgs, shown: &[&Measured]) -> String {
    let header = ["kernel", "level", "input", "result", "ratio", "made of"].map(str::to_owned);
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|one| {
            vec![
                one.kernel.clone(),
                one.level.clone(),
                format!("{:.1e}", one.rounding.input),
                format!("{:.1e}", one.rounding.result),
                format!("{:.1}", one.rounding.ratio()),
                one.seed.clone(),
            ]
        })
        .collect();
    table(args.common.markdown, &header, &rows)
}

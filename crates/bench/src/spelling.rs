//! Spelling: what becomes of a kernel that is written in other ways.
//!
//! # Output
//! For each level and family of spellings: how many kernels it applies to, and the operations of the result over those of the best spelling of the same
//! kernel, in the geometric mean and at worst. Then every spelling above [`TOLERATED`].
//! # Method
//! [`nestegg_testgen::spell`] writes the spellings. Those that keep the arguments are compared with the kernel; a spelling that computes something else
//! is dropped, and listed. Results are not validated here. Kernels run in parallel; the numbers are the same everywhere.

use std::path::PathBuf;

use clap::Args;
use indicatif::ParallelProgressIterator;
use miette::IntoDiagnostic;
use nestegg_bench::fixtures::Fixture;
use nestegg_driver::Notation;
use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_driver::validation::{Comparison, compare};
use nestegg_ir::Program;
use nestegg_span::Source;
use nestegg_testgen::spell::{FAMILIES, spellings};
use rayon::prelude::*;

use crate::CommonArgs;
use crate::progress::bar;
use crate::statistics::{geometric_mean, largest};
use crate::table::{ratio, table};

/// Spellings that take more than this of the best one are listed.
const TOLERATED: f64 = 1.05;

/// What the tables call the original kernel.
const AS_IT_CAME: &str = "as it came";

/// `nestegg-bench spelling`.
#[derive(Debug, Args)]
pub struct SpellingArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The levels
    #[arg(long, value_delimiter = ',', default_value = "O2,O3")]
    levels: Vec<String>,
    /// Only these families
    #[arg(long, value_delimiter = ',')]
    families: Vec<String>,
    /// Write every spelling to this folder, as `GROUP/NAME/FAMILY.json`
    #[arg(long)]
    keep: Option<PathBuf>,
}

/// One kernel written in one way.
struct Job<'a> {
    fixture: &'a Fixture,
    family: &'static str,
    source: Source,
    n_elements: u64,
}

/// What came of it at one level.
struct Counted {
    kernel: String,
    family: &'static str,
    level: String,
    n_elements: u64,
    /// Of one element.
    operations: Result<f64, String>,
}

/// Optimizes every spelling of the chosen kernels.
pub fn run(args: &SpellingArgs) -> miette::Result<String> {
    let fixtures = args.common.chosen()?;
    let written: Vec<miette::Result<(Vec<Job<'_>>, Vec<String>)>> = fixtures
        .par_iter()
        .progress_with(bar("spelling", fixtures.len())?)
        .map(|fixture| jobs(fixture, &args.families))
        .collect();
    let (mut all, mut dropped) = (Vec::new(), Vec::new());
    for kernel in written {
        let (jobs, different) = kernel?;
        all.extend(jobs);
        dropped.extend(different);
    }
    if let Some(folder) = &args.keep {
        for job in &all {
            let folder = folder.join(job.fixture.full_name());
            std::fs::create_dir_all(&folder).into_diagnostic()?;
            let file = folder.join(format!("{}.json", job.family.replace(' ', "-")));
            std::fs::write(file, &*job.source.text).into_diagnostic()?;
        }
    }
    let work: Vec<(&Job<'_>, &String)> =
        all.iter().flat_map(|job| args.levels.iter().map(move |level| (job, level))).collect();
    let counted: Vec<Counted> =
        work.par_iter().progress_with(bar("optimizing", work.len())?).map(|(job, level)| count(job, level)).collect();
    Ok(report(args, &counted, &dropped))
}

/// One job for the original kernel and one for each spelling, and the names of spellings that compute something else.
fn jobs<'a>(fixture: &'a Fixture, families: &[String]) -> miette::Result<(Vec<Job<'a>>, Vec<String>)> {
    let source = fixture.read().into_diagnostic()?;
    let program = nestegg_driver::read(&source)?.program;
    let linearized = program.clone().into_linearized().into_diagnostic()?;
    let mut res = vec![Job { fixture, family: AS_IT_CAME, source, n_elements: 1 }];
    let mut dropped = Vec::new();
    for spelling in spellings(&linearized) {
        if !families.is_empty() && !families.iter().any(|family| family == spelling.family) {
            continue;
        }
        let spelled = Program::Linearized(spelling.kernel);
        let name = format!("{}, {}", fixture.full_name(), spelling.family);
        if spelling.is_comparable && !matches!(compare(&program, &spelled, &[]), Ok(Comparison::Equal { .. })) {
            dropped.push(name);
            continue;
        }
        let source = Source::new(name, Notation::Json.write(&spelled));
        res.push(Job { fixture, family: spelling.family, source, n_elements: spelling.n_elements });
    }
    Ok((res, dropped))
}

fn count(job: &Job<'_>, level: &str) -> Counted {
    let config =
        Config { strategy: Strategy::Named(level.to_owned()), validation: Validation::Off, ..Config::of_operations() };
    let operations = nestegg_driver::optimize(&job.source, &config)
        .map(|optimized| optimized.report.after.total as f64 / job.n_elements as f64)
        .map_err(|error| error.to_string());
    Counted {
        kernel: job.fixture.full_name(),
        family: job.family,
        level: level.to_owned(),
        n_elements: job.n_elements,
        operations,
    }
}

/// The operations of each spelling over the least of the same kernel and level.
fn ratios<'a>(counted: &'a [Counted], level: &str) -> Vec<(&'a Counted, f64)> {
    let mut res = Vec::new();
    let of_level: Vec<&Counted> = counted.iter().filter(|one| one.level == level).collect();
    for group in of_level.chunk_by(|a, b| a.kernel == b.kernel) {
        // What a loop over elements shares between them is no matter of spelling.
        let alone = group.iter().filter(|one| one.n_elements == 1);
        let known = alone.filter_map(|one| one.operations.as_ref().ok().copied());
        let Some(least) = known.min_by(f64::total_cmp) else { continue };
        let over = |operations: f64| if least > 0.0 { operations / least } else { 1.0 };
        res.extend(group.iter().filter_map(|one| Some((*one, over(*one.operations.as_ref().ok()?)))));
    }
    res
}

fn report(args: &SpellingArgs, counted: &[Counted], dropped: &[String]) -> String {
    let header = ["level", "spelling", "kernels", "mean", "worst", "on", "above 1.05"].map(str::to_owned);
    let (mut rows, mut above) = (Vec::new(), Vec::new());
    for level in &args.levels {
        let all = ratios(counted, level);
        let families = std::iter::once(AS_IT_CAME).chain(FAMILIES.iter().map(|family| family.name));
        for family in families {
            rows.extend(row(level, family, all.iter().filter(|(one, _)| one.family == family)));
        }
        rows.extend(row(level, "all", all.iter()));
        above.extend(all.into_iter().filter(|(_, ratio)| *ratio > TOLERATED));
    }
    above.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut text = table(args.common.markdown, &header, &rows);
    let header = ["kernel", "spelling", "level", "operations", "of the best"].map(str::to_owned);
    let listed: Vec<Vec<String>> = above
        .iter()
        .map(|(one, over)| {
            let operations = one.operations.as_ref().map_or(f64::NAN, |operations| *operations);
            let level = one.level.clone();
            vec![one.kernel.clone(), one.family.to_owned(), level, format!("{operations:.0}"), ratio(Some(*over))]
        })
        .collect();
    text += &format!("\nabove {TOLERATED}:\n\n{}", table(args.common.markdown, &header, &listed));
    let failed: Vec<String> = counted
        .iter()
        .filter_map(|one| {
            Some(format!("{}, {} at {}: {}", one.kernel, one.family, one.level, one.operations.as_ref().err()?))
        })
        .collect();
    for (what, names) in [("failed", failed.as_slice()), ("computed something else", dropped)] {
        if !names.is_empty() {
            text += &format!("\n{what}:\n  {}\n", names.join("\n  "));
        }
    }
    text
}

/// One row of the summary.
fn row<'a>(level: &str, family: &str, ratios: impl Iterator<Item = &'a (&'a Counted, f64)>) -> Option<Vec<String>> {
    let all: Vec<&(&Counted, f64)> = ratios.collect();
    let values: Vec<f64> = all.iter().map(|(_, ratio)| *ratio).collect();
    let worst = all.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(vec![
        level.to_owned(),
        family.to_owned(),
        all.len().to_string(),
        ratio(geometric_mean(&values)),
        ratio(largest(&values)),
        worst.0.kernel.clone(),
        values.iter().filter(|ratio| **ratio > TOLERATED).count().to_string(),
    ])
}

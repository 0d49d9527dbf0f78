//! Side by side: two kernels in one, beside the two alone.
//!
//! # Output
//! For each level: how many pairs there are, the operations of the joint kernel over the sum of both alone, in the geometric mean and at worst, and the same for
//! seconds of all stages but validation. Then every pair that takes more than both alone.
//! # Method
//! Pairs are neighbours in the list of fixtures, and others drawn with a fixed seed. [`nestegg_testgen::spell::beside`] joins them. Kernels run in parallel, so
//! seconds are those of a busy machine; the counts are the same everywhere.

use clap::Args;
use indicatif::ParallelProgressIterator;
use miette::IntoDiagnostic;
use nestegg_bench::fixtures::Fixture;
use nestegg_driver::Notation;
use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_span::Source;
use nestegg_testgen::spell::{Arguments, beside};
use nestegg_testgen::{Choices, Seeded};
use rayon::prelude::*;

use crate::CommonArgs;
use crate::progress::bar;
use crate::statistics::{geometric_mean, largest, median};
use crate::table::{ratio, table};

/// `nestegg-bench beside`.
#[derive(Debug, Args)]
pub struct BesideArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The levels
    #[arg(long, value_delimiter = ',', default_value = "O2,O3")]
    levels: Vec<String>,
    /// Pairs that are drawn beside those of neighbours
    #[arg(long, default_value_t = 100)]
    random: usize,
    /// Arguments of one name and type that both kernels only read are the same argument
    #[arg(long)]
    shared: bool,
}

/// What a level makes of a kernel.
#[derive(Clone, Copy)]
struct Counted {
    operations: f64,
    seconds: f64,
}

/// A pair at a level: the joint kernel, and both alone.
struct Pair {
    name: String,
    level: String,
    together: Counted,
    alone: Counted,
}

/// Optimizes kernels alone and in pairs.
pub fn run(args: &BesideArgs) -> miette::Result<String> {
    let fixtures = args.common.chosen()?;
    let kernels = fixtures
        .iter()
        .map(|fixture| {
            let program = nestegg_driver::read(&fixture.read().into_diagnostic()?)?.program;
            Ok((fixture, program.into_linearized().into_diagnostic()?))
        })
        .collect::<miette::Result<Vec<(&Fixture, LinearizedKernel)>>>()?;
    let singles: Vec<(usize, &String)> =
        (0..kernels.len()).flat_map(|idx| args.levels.iter().map(move |level| (idx, level))).collect();
    let alone: Vec<Option<Counted>> = singles
        .par_iter()
        .progress_with(bar("alone", singles.len())?)
        .map(|(idx, level)| count(&kernels[*idx].1, level))
        .collect();
    let alone_at =
        |idx: usize, level: &String| singles.iter().position(|single| *single == (idx, level)).and_then(|at| alone[at]);
    let arguments = if args.shared { Arguments::Shared } else { Arguments::Apart };
    let work: Vec<((usize, usize), &String)> = pairs(kernels.len(), args.random)
        .into_iter()
        .flat_map(|pair| args.levels.iter().map(move |level| (pair, level)))
        .collect();
    let found: Vec<Option<Pair>> = work
        .par_iter()
        .progress_with(bar("side by side", work.len())?)
        .map(|&((a, b), level)| {
            let together = count(&beside(&kernels[a].1, &kernels[b].1, arguments)?, level)?;
            let (first, second) = (alone_at(a, level)?, alone_at(b, level)?);
            Some(Pair {
                name: format!("{} + {}", kernels[a].0.full_name(), kernels[b].0.full_name()),
                level: level.clone(),
                together,
                alone: Counted {
                    operations: first.operations + second.operations,
                    seconds: first.seconds + second.seconds,
                },
            })
        })
        .collect();
    let found: Vec<Pair> = found.into_iter().flatten().collect();
    Ok(report(args, &found, work.len()))
}

/// Neighbours, and random pairs.
fn pairs(n_kernels: usize, n_random: usize) -> Vec<(usize, usize)> {
    let mut res: Vec<(usize, usize)> = (1..n_kernels).map(|idx| (idx - 1, idx)).collect();
    let mut choices = Seeded::new(2);
    if n_kernels > 1 {
        res.extend((0..n_random).map(|_| {
            let first = choices.below(n_kernels as u64) as usize;
            let other = choices.below(n_kernels as u64 - 1) as usize;
            (first, if other >= first { other + 1 } else { other })
        }));
    }
    res
}

fn count(kernel: &LinearizedKernel, level: &str) -> Option<Counted> {
    let text = Notation::Json.write(&Program::Linearized(kernel.clone()));
    let source = Source::new(kernel.kernel.name.clone(), text);
    let config =
        Config { strategy: Strategy::Named(level.to_owned()), validation: Validation::Off, ..Config::of_operations() };
    let report = nestegg_driver::optimize(&source, &config).ok()?.report;
    Some(Counted { operations: report.after.total as f64, seconds: report.seconds() })
}

fn report(args: &BesideArgs, found: &[Pair], n_tried: usize) -> String {
    let operations = |pair: &Pair| pair.together.operations / pair.alone.operations.max(1.0);
    let seconds = |pair: &Pair| pair.together.seconds / pair.alone.seconds;
    let header =
        ["level", "pairs", "operations, mean", "worst", "dearer", "seconds, median", "worst"].map(str::to_owned);
    let rows: Vec<Vec<String>> = args
        .levels
        .iter()
        .map(|level| {
            let of_level: Vec<&Pair> = found.iter().filter(|pair| pair.level == *level).collect();
            let counts: Vec<f64> = of_level.iter().map(|pair| operations(pair)).collect();
            let times: Vec<f64> = of_level.iter().map(|pair| seconds(pair)).collect();
            vec![
                level.clone(),
                of_level.len().to_string(),
                ratio(geometric_mean(&counts)),
                ratio(largest(&counts)),
                counts.iter().filter(|ratio| **ratio > 1.0).count().to_string(),
                ratio(median(&times)),
                ratio(largest(&times)),
            ]
        })
        .collect();
    let mut text = table(args.common.markdown, &header, &rows);
    let mut dearer: Vec<&Pair> = found.iter().filter(|pair| operations(pair) > 1.0).collect();
    dearer.sort_by(|a, b| operations(b).total_cmp(&operations(a)));
    let header = ["pair", "level", "together", "alone", "ratio"].map(str::to_owned);
    let rows: Vec<Vec<String>> = dearer
        .iter()
        .map(|pair| {
            let whole = |counted: Counted| format!("{:.0}", counted.operations);
            vec![
                pair.name.clone(),
                pair.level.clone(),
                whole(pair.together),
                whole(pair.alone),
                ratio(Some(operations(pair))),
            ]
        })
        .collect();
    text += &format!("\ndearer than alone:\n\n{}", table(args.common.markdown, &header, &rows));
    if found.len() < n_tried {
        text += &format!("\n{} of {n_tried} could not be joined or optimized\n", n_tried - found.len());
    }
    text
}

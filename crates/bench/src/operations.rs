//! Operations at each level, beside every published figure.
//!
//! # Output
//! For each group of kernels: the counts, their ratios to each column of the figures, seconds beside those of the peers, and at the end a
//! summary against the column `best`. Kernels run in parallel; seconds are those of all stages but the one that validates.

use clap::Args;
use miette::{Context, IntoDiagnostic};
use nestegg_bench::fixtures::{Fixture, GROUPS};
use nestegg_bench::peers::{Peers, accepted_column};
use nestegg_driver::config::{Config, Strategy, Validation};
use rayon::prelude::*;

use crate::CommonArgs;
use crate::statistics::{geometric_mean, largest, median};
use crate::table::{ratio, table};

/// `nestegg-bench operations`.
#[derive(Debug, Args)]
pub struct OperationsArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The levels or strategies to compare
    #[arg(long, value_delimiter = ',', default_value = "O0,O1,O2,O3")]
    levels: Vec<String>,
    /// Compare every result with its input too
    #[arg(long)]
    validate: bool,
}

/// The level that the accepted figures are for.
const ACCEPTED_LEVEL: &str = "O1";

/// One kernel's counts.
struct Counted {
    name: String,
    input: f64,
    /// By level; `None` where the optimizer refused or failed.
    levels: Vec<Option<f64>>,
    /// Seconds of the optimizer, likewise.
    seconds: Vec<Option<f64>>,
    failures: Vec<String>,
}

/// The column that the summary compares with.
const SUMMARY_COLUMN: &str = "best";

/// Counts every chosen kernel and sets it beside the figures of its group.
pub fn run(args: &OperationsArgs) -> miette::Result<String> {
    let fixtures = args.common.chosen()?;
    let mut text = String::new();
    let mut failures = Vec::new();
    let mut summary = Vec::new();
    for group in GROUPS {
        let chosen: Vec<&Fixture> = fixtures.iter().filter(|fixture| fixture.group == group).collect();
        if chosen.is_empty() {
            continue;
        }
        let peers = Peers::read(&args.common.fixtures, group)
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot read the figures of {group}"))?;
        let counted =
            chosen.par_iter().map(|fixture| count(fixture, args)).collect::<miette::Result<Vec<Counted>>>()?;
        failures.extend(counted.iter().flat_map(|kernel| kernel.failures.iter().cloned()));
        text += &format!("{group}: operations\n\n");
        text += &figures(args, &peers, &counted);
        text += &format!("\n{group}: operations over the figure of each column\n\n");
        text += &ratios(args, &peers, &counted);
        text += &format!("\n{group}: seconds\n\n");
        text += &seconds(args, &peers, &counted);
        text += &format!("\n{}\n", accepted(args, group, &peers, &counted));
        summary.extend(summarized(args, group, &peers, &counted));
    }
    let header = ["group", "level", "mean", "worst", "on", "above 1", "kernels"].map(str::to_owned);
    text += &format!("operations over those of the column `{SUMMARY_COLUMN}`\n\n");
    text += &table(args.common.markdown, &header, &summary);
    if !failures.is_empty() {
        text += &format!("\nfailed:\n  {}\n", failures.join("\n  "));
    }
    Ok(text)
}

fn count(fixture: &Fixture, args: &OperationsArgs) -> miette::Result<Counted> {
    let source = fixture.read().into_diagnostic()?;
    let input = nestegg_driver::count(&source, &[])?.total as f64;
    let mut res =
        Counted { name: fixture.name.clone(), input, levels: Vec::new(), seconds: Vec::new(), failures: Vec::new() };
    for level in &args.levels {
        let config = Config {
            strategy: Strategy::Named(level.clone()),
            validation: if args.validate { Validation::On } else { Validation::Off },
            ..Config::of_operations()
        };
        let optimized = nestegg_driver::optimize(&source, &config);
        res.levels.push(optimized.as_ref().ok().map(|optimized| optimized.report.after.total as f64));
        res.seconds.push(optimized.as_ref().ok().map(|optimized| optimized.report.seconds()));
        let of_seeds = optimized.as_ref().ok().into_iter().flat_map(|optimized| &optimized.report.failures);
        let of_seeds = of_seeds.filter(|failure| failure.is_bug());
        res.failures
            .extend(of_seeds.map(|failure| format!("{}/{} at {level}: {failure}", fixture.group, fixture.name)));
        if let Err(error) = optimized {
            res.failures.push(format!("{}/{} at {level}: {error}", fixture.group, fixture.name));
        }
    }
    Ok(res)
}

/// The counts themselves, kernel by kernel.
fn figures(args: &OperationsArgs, peers: &Peers, counted: &[Counted]) -> String {
    let mut header = vec!["kernel".to_owned(), "input".to_owned()];
    header.extend(args.levels.iter().cloned());
    header.extend(peers.columns.iter().cloned());
    let whole = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.0}"));
    let rows: Vec<Vec<String>> = counted
        .iter()
        .map(|kernel| {
            let mut row = vec![kernel.name.clone(), whole(Some(kernel.input))];
            row.extend(kernel.levels.iter().copied().map(whole));
            row.extend(peers.columns.iter().map(|column| whole(peers.figure(&kernel.name, column))));
            row
        })
        .collect();
    table(args.common.markdown, &header, &rows)
}

/// For each level and column the geometric mean and the worst ratio, over the kernels that have both.
fn ratios(args: &OperationsArgs, peers: &Peers, counted: &[Counted]) -> String {
    let mut header = vec!["column".to_owned(), "kernels".to_owned()];
    header.extend(args.levels.iter().flat_map(|level| [format!("{level} mean"), format!("{level} worst")]));
    let rows: Vec<Vec<String>> = peers
        .columns
        .iter()
        .map(|column| {
            let n_kernels = counted.iter().filter(|kernel| peers.figure(&kernel.name, column).is_some()).count();
            let mut row = vec![column.clone(), n_kernels.to_string()];
            for level_idx in 0..args.levels.len() {
                let ratios: Vec<f64> = counted
                    .iter()
                    .filter_map(|kernel| Some(kernel.levels[level_idx]? / peers.figure(&kernel.name, column)?))
                    .collect();
                row.extend([ratio(geometric_mean(&ratios)), ratio(largest(&ratios))]);
            }
            row
        })
        .collect();
    table(args.common.markdown, &header, &rows)
}

/// Median and worst seconds of each level, and of each compiler that has some.
fn seconds(args: &OperationsArgs, peers: &Peers, counted: &[Counted]) -> String {
    let header = ["compiler", "kernels", "median", "worst", "on"].map(str::to_owned);
    let summarized = |name: String, seconds: Vec<(f64, &str)>| {
        let all: Vec<f64> = seconds.iter().map(|(seconds, _)| *seconds).collect();
        let worst = seconds.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or("-", |(_, kernel)| kernel);
        vec![name, all.len().to_string(), ratio(median(&all)), ratio(largest(&all)), worst.to_owned()]
    };
    let of_levels = args.levels.iter().enumerate().map(|(level_idx, level)| {
        let found = counted.iter().filter_map(|kernel| Some((kernel.seconds[level_idx]?, kernel.name.as_str())));
        summarized(format!("nestegg {level}"), found.collect())
    });
    let of_peers = peers.seconds.iter().map(|column| {
        let found =
            counted.iter().filter_map(|kernel| Some((peers.figure(&kernel.name, column)?, kernel.name.as_str())));
        summarized(column.clone(), found.collect())
    });
    table(args.common.markdown, &header, &of_levels.chain(of_peers).collect::<Vec<_>>())
}

/// One row for each level: ratios to the best figure.
fn summarized(args: &OperationsArgs, group: &str, peers: &Peers, counted: &[Counted]) -> Vec<Vec<String>> {
    let row = |(level_idx, level): (usize, &String)| {
        let ratios: Vec<(f64, &str)> = counted
            .iter()
            .filter_map(|kernel| {
                let figure = peers.figure(&kernel.name, SUMMARY_COLUMN)?;
                Some((kernel.levels[level_idx]? / figure, kernel.name.as_str()))
            })
            .collect();
        let all: Vec<f64> = ratios.iter().map(|(ratio, _)| *ratio).collect();
        let worst = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or("-", |(_, kernel)| kernel);
        vec![
            group.to_owned(),
            level.clone(),
            ratio(geometric_mean(&all)),
            ratio(largest(&all)),
            worst.to_owned(),
            all.iter().filter(|ratio| **ratio > 1.0).count().to_string(),
            all.len().to_string(),
        ]
    };
    args.levels.iter().enumerate().map(row).collect()
}

/// Whether each kernel by itself stays within the accepted figure.
fn accepted(args: &OperationsArgs, group: &str, peers: &Peers, counted: &[Counted]) -> String {
    let column = accepted_column(group);
    let Some(level_idx) = args.levels.iter().position(|level| level == ACCEPTED_LEVEL) else {
        return String::new();
    };
    let mut missed = Vec::new();
    let mut n_met = 0;
    for kernel in counted {
        match (kernel.levels[level_idx], peers.figure(&kernel.name, column)) {
            (Some(ours), Some(bound)) if ours <= bound => n_met += 1,
            (Some(ours), Some(bound)) => {
                missed.push(format!("  {}: {ours:.0} against {bound:.0}, {:.3}", kernel.name, ours / bound));
            }
            (None, Some(_)) => missed.push(format!("  {}: no result", kernel.name)),
            (_, None) => {}
        }
    }
    let verdict =
        format!("{group}: {ACCEPTED_LEVEL} at most `{column}` on {n_met} of {} kernels", n_met + missed.len());
    if missed.is_empty() { verdict + "\n" } else { format!("{verdict}; missed:\n{}\n", missed.join("\n")) }
}

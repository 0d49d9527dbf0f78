//! Operations at each level, beside every published figure.

use clap::Args;
use miette::{Context, IntoDiagnostic};
use nestegg_bench::fixtures::{Fixture, GROUPS};
use nestegg_bench::peers::{Peers, accepted_column};
use nestegg_driver::config::{Config, Strategy, Validation};

use crate::CommonArgs;
use crate::statistics::{geometric_mean, largest};
use crate::table::{ratio, table};

/// `nestegg-bench operations`.
#[derive(Debug, Args)]
pub struct OperationsArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The levels or strategies to compare
    #[arg(long, value_delimiter = ',', default_value = "O0,O1")]
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
}

/// Counts every chosen kernel and sets it beside the figures of its group.
pub fn run(args: &OperationsArgs) -> miette::Result<String> {
    let fixtures = args.common.chosen()?;
    let mut text = String::new();
    let mut failures = Vec::new();
    for group in GROUPS {
        let chosen: Vec<&Fixture> = fixtures.iter().filter(|fixture| fixture.group == group).collect();
        if chosen.is_empty() {
            continue;
        }
        let peers = Peers::read(&args.common.fixtures, group)
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot read the figures of {group}"))?;
        let counted =
            chosen.iter().map(|fixture| count(fixture, args, &mut failures)).collect::<Result<Vec<_>, _>>()?;
        text += &format!("{group}: operations\n\n");
        text += &figures(args, &peers, &counted);
        text += &format!("\n{group}: operations over the figure of each column\n\n");
        text += &ratios(args, &peers, &counted);
        text += &format!("\n{}\n", accepted(args, group, &peers, &counted));
    }
    if !failures.is_empty() {
        text += &format!("failed:\n  {}\n", failures.join("\n  "));
    }
    Ok(text)
}

fn count(fixture: &Fixture, args: &OperationsArgs, failures: &mut Vec<String>) -> miette::Result<Counted> {
    let source = fixture.read().into_diagnostic()?;
    let input = nestegg_driver::count(&source, &[])?.total as f64;
    let mut levels = Vec::new();
    for level in &args.levels {
        let config = Config {
            strategy: Strategy::Named(level.clone()),
            validation: if args.validate { Validation::On } else { Validation::Off },
            ..Config::default()
        };
        levels.push(match nestegg_driver::optimize(&source, &config) {
            Ok(optimized) => Some(optimized.report.after.total as f64),
            Err(error) => {
                failures.push(format!("{}/{} at {level}: {error}", fixture.group, fixture.name));
                None
            }
        });
    }
    Ok(Counted { name: fixture.name.clone(), input, levels })
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

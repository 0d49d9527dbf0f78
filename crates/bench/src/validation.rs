//! Seconds of validation beside those of everything else.
//!
//! # Output
//! For each kernel and level the seconds of the stages that find the result, of the comparison with the input, and of the measurement of
//! rounding errors; at the end, for each level, how many kernels keep to the target of [`SHARE`] and [`SECONDS`] ([`SECONDS_OF_LARGE`]).
//! # Method
//! One kernel after the other, so that no two compete for the machine. Of several runs each number is the median.

use clap::Args;
use miette::IntoDiagnostic;
use nestegg_bench::fixtures::Fixture;
use nestegg_driver::config::{Config, Strategy};
use nestegg_driver::stages::ACCURACY;

use crate::CommonArgs;
use crate::statistics::{largest, median};
use crate::table::{ratio, table};

/// `nestegg-bench validation`.
#[derive(Debug, Args)]
pub struct ValidationArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The levels or strategies
    #[arg(long, value_delimiter = ',', default_value = "O0,O1,O2,O3")]
    levels: Vec<String>,
    /// Runs of each kernel, whose median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

/// Validation may take this part of the rest,
const SHARE: f64 = 0.25;

/// or this many seconds.
const SECONDS: f64 = 0.1;

/// or this many, if the kernel has [`LARGE`] operations or more.
const SECONDS_OF_LARGE: f64 = 1.0;
const LARGE: u128 = 1_000_000_000;

/// Where the seconds of one run went.
#[derive(Clone, Copy)]
struct Spent {
    is_large: bool,
    rest: f64,
    comparison: f64,
    accuracy: f64,
}

impl Spent {
    fn validation(&self) -> f64 {
        self.comparison + self.accuracy
    }

    fn is_within_target(&self) -> bool {
        let seconds = if self.is_large { SECONDS_OF_LARGE } else { SECONDS };
        self.validation() <= (SHARE * self.rest).max(seconds)
    }
}

/// Optimizes every chosen kernel at every level.
pub fn run(args: &ValidationArgs) -> miette::Result<String> {
    let header = ["kernel", "level", "rest", "comparison", "accuracy", "within the target"].map(str::to_owned);
    let (mut rows, mut summary, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    let fixtures = args.common.chosen()?;
    for level in &args.levels {
        let mut all = Vec::new();
        for fixture in &fixtures {
            match spent(fixture, level, args.runs)? {
                Ok(spent) => {
                    rows.push(row(fixture, level, &spent));
                    all.push(spent);
                }
                Err(reason) => failures.push(format!("{} at {level}: {reason}", fixture.full_name())),
            }
        }
        summary.push(summarized(level, &all));
    }
    let mut text = format!("seconds\n\n{}", table(args.common.markdown, &header, &rows));
    let header = ["level", "kernels", "rest, median", "validation, median", "validation, worst", "within the target"];
    text += &format!("\n{}", table(args.common.markdown, &header.map(str::to_owned), &summary));
    if !failures.is_empty() {
        text += &format!("\nfailed:\n  {}\n", failures.join("\n  "));
    }
    Ok(text)
}

/// The medians of some runs, or why there are none, in words.
fn spent(fixture: &Fixture, level: &str, n_runs: u32) -> miette::Result<Result<Spent, String>> {
    let source = fixture.read().into_diagnostic()?;
    let config = Config { strategy: Strategy::Named(level.to_owned()), ..Config::of_operations() };
    let one = || {
        let report = nestegg_driver::optimize(&source, &config).map_err(|error| error.to_string())?.report;
        let of_guard = report.stages.iter().filter(|stage| stage.name == ACCURACY);
        let accuracy: f64 = of_guard.map(|stage| stage.seconds).sum();
        let is_large = report.before.total >= LARGE;
        Ok(Spent { is_large, rest: report.seconds() - accuracy, comparison: report.seconds_of_validation(), accuracy })
    };
    let runs: Result<Vec<Spent>, String> = (0..n_runs).map(|_| one()).collect();
    Ok(runs.map(|runs| {
        let of = |seconds: fn(&Spent) -> f64| median(&runs.iter().map(seconds).collect::<Vec<f64>>()).unwrap_or(0.0);
        Spent {
            is_large: runs.iter().any(|run| run.is_large),
            rest: of(|spent| spent.rest),
            comparison: of(|spent| spent.comparison),
            accuracy: of(|spent| spent.accuracy),
        }
    }))
}

fn row(fixture: &Fixture, level: &str, spent: &Spent) -> Vec<String> {
    let seconds = [spent.rest, spent.comparison, spent.accuracy].map(|seconds| ratio(Some(seconds)));
    let verdict = if spent.is_within_target() { "yes" } else { "no" };
    [fixture.full_name(), level.to_owned()].into_iter().chain(seconds).chain([verdict.to_owned()]).collect()
}

fn summarized(level: &str, all: &[Spent]) -> Vec<String> {
    let of = |seconds: fn(&Spent) -> f64| all.iter().map(seconds).collect::<Vec<f64>>();
    let (rest, validation) = (of(|spent| spent.rest), of(Spent::validation));
    let n_within = all.iter().filter(|spent| spent.is_within_target()).count();
    vec![
        level.to_owned(),
        all.len().to_string(),
        ratio(median(&rest)),
        ratio(median(&validation)),
        ratio(largest(&validation)),
        n_within.to_string(),
    ]
}

//! Run time of the emitted C of the output, against the C of the input.
//!
//! Both are compiled with the same flags, linked into one program, and called in turn in rounds, so that what disturbs the
//! machine disturbs both. A kernel's figure is the median over the rounds of the ratio of the two.
//!
//! With `--batch` elements are put together instead, and the best programs of peers as well: see [`batched`].

mod batched;

use std::path::PathBuf;

use clap::Args;
use miette::{IntoDiagnostic, miette};
use nestegg_bench::fixtures::Fixture;
use nestegg_codegen::c::timing::{Compiler, Effort, times};
use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_ir::Dtype;

use crate::CommonArgs;
use crate::statistics::{geometric_mean, largest, median};
use crate::table::{ratio, table};

/// `nestegg-bench runtime`.
#[derive(Debug, Args)]
pub struct RuntimeArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The level or strategy
    #[arg(long, default_value = "O1")]
    level: String,
    /// The compiler
    #[arg(long, default_value = "gcc")]
    cc: String,
    /// Its flags
    #[arg(long, default_value = "-std=c11 -O3 -march=native")]
    flags: String,
    /// How many rounds
    #[arg(long, default_value_t = 7)]
    rounds: u32,
    /// How long a function runs in one round, at least
    #[arg(long, value_name = "MS", default_value_t = 5)]
    milliseconds: u32,
    /// Numbers of elements that are put together, with commas: then elements at once are set beside one at a time
    #[arg(long, value_name = "W", value_delimiter = ',')]
    batch: Vec<u32>,
    /// A folder that keeps the C of `--batch`
    #[arg(long, value_name = "FOLDER", requires = "batch")]
    keep: Option<PathBuf>,
}

/// Results in float64 must agree to this, relative to the larger value: the optimizer reassociates.
const TOLERANCE: f64 = 1e-6;

/// The same for kernels with an argument in float32.
const TOLERANCE_FLOAT32: f64 = 1e-3;

/// One kernel's times.
struct Measured {
    name: String,
    operations_ratio: f64,
    /// Medians in nanoseconds.
    input: f64,
    output: f64,
    /// The median of the paired ratios.
    ratio: f64,
}

/// Compiles and times every chosen kernel.
pub fn run(args: &RuntimeArgs) -> miette::Result<String> {
    if !args.batch.is_empty() {
        return batched::run(args);
    }
    let mut measured = Vec::new();
    let mut failures = Vec::new();
    for fixture in args.common.chosen()? {
        match measure(&fixture, args) {
            Ok(kernel) => measured.push(kernel),
            Err(error) => failures.push(format!("{}: {error:#}", fixture.full_name())),
        }
    }
    let header = ["kernel", "input ns", "output ns", "time ratio", "operations ratio"].map(str::to_owned);
    let rows: Vec<Vec<String>> = measured
        .iter()
        .map(|kernel| {
            vec![
                kernel.name.clone(),
                format!("{:.1}", kernel.input),
                format!("{:.1}", kernel.output),
                format!("{:.3}", kernel.ratio),
                format!("{:.3}", kernel.operations_ratio),
            ]
        })
        .collect();
    let ratios: Vec<f64> = measured.iter().map(|kernel| kernel.ratio).collect();
    let mut text = format!("{} {}, level {}\n\n", args.cc, args.flags, args.level);
    text += &table(args.common.markdown, &header, &rows);
    text += &format!(
        "\n{} kernels; time of the output over time of the input: geometric mean {}, median {}, worst {}\n",
        measured.len(),
        ratio(geometric_mean(&ratios)),
        ratio(median(&ratios)),
        ratio(largest(&ratios)),
    );
    if !failures.is_empty() {
        text += &format!("failed:\n  {}\n", failures.join("\n  "));
    }
    Ok(text)
}

fn measure(fixture: &Fixture, args: &RuntimeArgs) -> miette::Result<Measured> {
    let source = fixture.read().into_diagnostic()?;
    let input = nestegg_driver::read(&source)?.program.into_linearized().into_diagnostic()?;
    let config =
        Config { strategy: Strategy::Named(args.level.clone()), validation: Validation::Off, ..Config::default() };
    let optimized = nestegg_driver::optimize(&source, &config)?;
    let compiler = Compiler { command: args.cc.clone(), flags: args.flags.clone() };
    let effort = Effort { n_rounds: args.rounds, milliseconds: args.milliseconds, n_sets: 1 };
    let times = times(&[&input, &optimized.program], &[], &compiler, effort)?;
    let is_single = input.kernel.arguments().any(|array| input.kernel[array].dtype == Dtype::Float32);
    if times.difference > if is_single { TOLERANCE_FLOAT32 } else { TOLERANCE } {
        return Err(miette!("input and output differ by {:e}", times.difference));
    }
    let [of_input, of_output] = [0, 1].map(|idx| times.rounds.iter().map(|round| round[idx]).collect::<Vec<f64>>());
    let ratios: Vec<f64> = of_input.iter().zip(&of_output).map(|(input, output)| output / input).collect();
    let of = |values: &[f64]| median(values).ok_or_else(|| miette!("no round was timed"));
    Ok(Measured {
        name: fixture.full_name(),
        operations_ratio: optimized.report.ratio(),
        input: of(&of_input)?,
        output: of(&of_output)?,
        ratio: of(&ratios)?,
    })
}

//! Seconds and peak memory of each stage against the size of the kernel.

use clap::Args;
use miette::IntoDiagnostic;
use nestegg_bench::generate::{self, Shape};
use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_driver::report::Report;
use nestegg_driver::stages::VALIDATE;
use nestegg_span::Source;

use crate::CommonArgs;
use crate::memory;
use crate::statistics::{growth, largest, median};
use crate::table::table;

/// `nestegg-bench scaling`.
#[derive(Debug, Args)]
pub struct ScalingArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The level or strategy
    #[arg(long, default_value = "O1")]
    level: String,
    /// Sizes of generated kernels in DAG nodes
    #[arg(long, value_delimiter = ',', default_value = "100,300,1000,3000,10000,30000,100000")]
    sizes: Vec<usize>,
    /// Measure validation too
    #[arg(long)]
    validate: bool,
    /// Only generated kernels
    #[arg(long)]
    no_fixtures: bool,
}

/// One kernel's run.
struct Measured {
    name: String,
    n_nodes: usize,
    report: Report,
}

/// Measures the fixtures and the generated kernels.
pub fn run(args: &ScalingArgs) -> miette::Result<String> {
    let mut text = String::new();
    let mut failures = Vec::new();
    if !args.no_fixtures {
        let mut measured = Vec::new();
        for fixture in args.common.chosen()? {
            let source = fixture.read().into_diagnostic()?;
            measured.extend(measure(fixture.full_name(), &source, args, &mut failures));
        }
        measured.sort_by_key(|kernel| kernel.n_nodes);
        text += &format!("fixtures\n\n{}\n{}\n", stages(args, &measured), summary(&measured));
    }
    for shape in Shape::ALL {
        let mut measured = Vec::new();
        for &n_nodes in &args.sizes {
            let source = generate::kernel(shape, n_nodes);
            measured.extend(measure(source.name.to_string(), &source, args, &mut failures));
        }
        text += &format!("generated: {}\n\n{}\n{}\n", shape.name(), stages(args, &measured), summary(&measured));
    }
    if !failures.is_empty() {
        text += &format!("failed:\n  {}\n", failures.join("\n  "));
    }
    Ok(text)
}

fn measure(name: String, source: &Source, args: &ScalingArgs, failures: &mut Vec<String>) -> Option<Measured> {
    let config = Config {
        strategy: Strategy::Named(args.level.clone()),
        validation: if args.validate { Validation::On } else { Validation::Off },
        memory_probe: Some(memory::PROBE),
        ..Config::default()
    };
    let n_nodes = match nestegg_driver::read(source) {
        Ok(read) => read.program.kernel().exprs.len(),
        Err(error) => {
            failures.push(format!("{name}: {error}"));
            return None;
        }
    };
    match nestegg_driver::optimize(source, &config) {
        Ok(optimized) => Some(Measured { name, n_nodes, report: optimized.report }),
        Err(error) => {
            failures.push(format!("{name}: {error}"));
            None
        }
    }
}

/// Milliseconds and megabytes of each stage, kernel by kernel.
fn stages(args: &ScalingArgs, measured: &[Measured]) -> String {
    let mut names: Vec<&'static str> = Vec::new();
    for stage in measured.iter().flat_map(|kernel| &kernel.report.stages) {
        if !names.contains(&stage.name) {
            names.push(stage.name);
        }
    }
    let mut header: Vec<String> = ["kernel", "nodes", "s", "MB"].map(str::to_owned).to_vec();
    header.extend(names.iter().map(|name| format!("{name} ms (MB)")));
    let rows: Vec<Vec<String>> = measured
        .iter()
        .map(|kernel| {
            let peak = kernel.report.stages.iter().filter_map(|stage| stage.peak_bytes).max();
            let seconds = format!("{:.4}", kernel.report.seconds());
            let mut row = vec![kernel.name.clone(), kernel.n_nodes.to_string(), seconds, megabytes(peak)];
            row.extend(names.iter().map(|name| {
                let of_name: Vec<_> = kernel.report.stages.iter().filter(|stage| stage.name == *name).collect();
                let milliseconds: f64 = of_name.iter().map(|stage| stage.seconds * 1e3).sum();
                let peak = of_name.iter().filter_map(|stage| stage.peak_bytes).max();
                format!("{milliseconds:.2} ({})", megabytes(peak))
            }));
            row
        })
        .collect();
    table(args.common.markdown, &header, &rows)
}

fn megabytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{:.0}", bytes as f64 / 1e6))
}

fn summary(measured: &[Measured]) -> String {
    let seconds: Vec<f64> = measured.iter().map(|kernel| kernel.report.seconds()).collect();
    let points: Vec<(f64, f64)> = measured.iter().map(|kernel| kernel.n_nodes as f64).zip(seconds.clone()).collect();
    let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"));
    format!(
        "{} kernels; seconds without {VALIDATE}: median {}, largest {}; they grow with the number of nodes to the power {}\n",
        measured.len(),
        shown(median(&seconds)),
        shown(largest(&seconds)),
        growth(&points).map_or_else(|| "-".to_owned(), |power| format!("{power:.2}")),
    )
}

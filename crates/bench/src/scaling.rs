//! Seconds and peak memory of each stage against the size of the kernel.
//!
//! Each kernel is optimized in a process of its own ([`measure`]), so that no kernel's memory is counted for another.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use miette::{IntoDiagnostic, miette};
use nestegg_bench::generate::{self, Shape};
use nestegg_driver::config::{Config, Strategy, Validation};
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

/// `nestegg-bench measure`: what `scaling` starts for each kernel.
#[derive(Debug, Args)]
pub struct MeasureArgs {
    /// The kernel
    file: PathBuf,
    /// The level or strategy
    level: String,
    /// Measure validation too
    #[arg(long)]
    validate: bool,
}

/// One kernel's run.
struct Measured {
    name: String,
    n_nodes: usize,
    stages: Vec<Stage>,
}

/// One stage of it.
struct Stage {
    name: String,
    seconds: f64,
    peak_bytes: Option<u64>,
}

impl Measured {
    /// Without validation, which is evidence and no part of the optimization.
    fn seconds(&self) -> f64 {
        self.stages.iter().filter(|stage| stage.name != VALIDATE).map(|stage| stage.seconds).sum()
    }
}

/// Measures the fixtures and the generated kernels.
pub fn run(args: &ScalingArgs) -> miette::Result<String> {
    let mut text = String::new();
    let mut failures = Vec::new();
    if !args.no_fixtures {
        let mut measured = Vec::new();
        for fixture in args.common.chosen()? {
            measured.extend(started(fixture.full_name(), &fixture.path, args, &mut failures)?);
        }
        measured.sort_by_key(|kernel| kernel.n_nodes);
        text += &format!("fixtures\n\n{}\n{}\n", stages(args, &measured), summary(&measured));
    }
    let folder = tempfile::tempdir().into_diagnostic()?;
    for shape in Shape::ALL {
        let mut measured = Vec::new();
        for &n_nodes in &args.sizes {
            let source = generate::kernel(shape, n_nodes);
            let path = folder.path().join(&*source.name);
            fs::write(&path, &*source.text).into_diagnostic()?;
            measured.extend(started(source.name.to_string(), &path, args, &mut failures)?);
        }
        text += &format!("generated: {}\n\n{}\n{}\n", shape.name(), stages(args, &measured), summary(&measured));
    }
    if !failures.is_empty() {
        text += &format!("failed:\n  {}\n", failures.join("\n  "));
    }
    Ok(text)
}

/// Optimizes one kernel; answers its nodes, and a line for each stage: name, seconds, bytes.
pub fn measure(args: &MeasureArgs) -> miette::Result<String> {
    let text = fs::read_to_string(&args.file).into_diagnostic()?;
    let source = Source::new(args.file.display().to_string(), text);
    let config = Config {
        strategy: Strategy::Named(args.level.clone()),
        validation: if args.validate { Validation::On } else { Validation::Off },
        memory_probe: Some(memory::PROBE),
        ..Config::of_operations()
    };
    // Optimized before its nodes are counted, so that nothing is in memory before its time.
    let stages = nestegg_driver::optimize(&source, &config)?.report.stages;
    let mut text = format!("{}\n", nestegg_driver::read(&source)?.program.kernel().exprs.len());
    for stage in stages.iter().filter(|stage| args.validate || stage.name != VALIDATE) {
        let bytes = stage.peak_bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        text += &format!("{}\t{:e}\t{bytes}\n", stage.name, stage.seconds);
    }
    Ok(text)
}

/// Starts a process that measures one kernel.
fn started(
    name: String,
    path: &Path,
    args: &ScalingArgs,
    failures: &mut Vec<String>,
) -> miette::Result<Option<Measured>> {
    let mut command = Command::new(env::current_exe().into_diagnostic()?);
    command.arg("measure").arg(path).arg(&args.level).args(args.validate.then_some("--validate"));
    let output = command.output().into_diagnostic()?;
    if !output.status.success() {
        failures.push(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()));
        return Ok(None);
    }
    let measured = parsed(name, &String::from_utf8_lossy(&output.stdout));
    measured.map(Some).ok_or_else(|| miette!("the measuring process answered something else"))
}

fn parsed(name: String, text: &str) -> Option<Measured> {
    let mut lines = text.lines();
    let n_nodes = lines.next()?.parse().ok()?;
    let mut stages = Vec::new();
    for line in lines {
        let mut cells = line.split('\t');
        let (name, seconds, bytes) = (cells.next()?.to_owned(), cells.next()?.parse().ok()?, cells.next()?);
        stages.push(Stage { name, seconds, peak_bytes: bytes.parse().ok() });
    }
    Some(Measured { name, n_nodes, stages })
}

/// Milliseconds and megabytes of each stage, kernel by kernel.
fn stages(args: &ScalingArgs, measured: &[Measured]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for stage in measured.iter().flat_map(|kernel| &kernel.stages) {
        if !names.contains(&stage.name.as_str()) {
            names.push(&stage.name);
        }
    }
    let mut header: Vec<String> = ["kernel", "nodes", "s", "MB"].map(str::to_owned).to_vec();
    header.extend(names.iter().map(|name| format!("{name} ms (MB)")));
    let rows: Vec<Vec<String>> = measured
        .iter()
        .map(|kernel| {
            let peak = kernel.stages.iter().filter_map(|stage| stage.peak_bytes).max();
            let seconds = format!("{:.4}", kernel.seconds());
            let mut row = vec![kernel.name.clone(), kernel.n_nodes.to_string(), seconds, megabytes(peak)];
            row.extend(names.iter().map(|name| {
                let of_name: Vec<_> = kernel.stages.iter().filter(|stage| stage.name == *name).collect();
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
    let seconds: Vec<f64> = measured.iter().map(|kernel| kernel.seconds()).collect();
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

//! `nestegg optimize FOLDER`: every kernel below a folder, in parallel.
//!
//! One bad kernel does not stop the others. Errors, warnings and the summary come in the order of the paths, whatever the
//! number of threads; the exit status is the worst one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ParallelProgressIterator, ProgressBar, ProgressStyle};
use nestegg_driver::report::{self, Report, Validated};
use rayon::prelude::*;

use crate::args::ReportFormat;
use crate::commands::optimize::{optimized, warn};
use crate::config::{OptimizeConfig, UsageError};
use crate::exit::ExitStatus;
use crate::files::{self, FileError};
use crate::terminal::{self, Failure};

/// How kernels are recognised in a folder.
const EXTENSIONS: [&str; 2] = ["json", "knl"];

/// What became of one kernel.
struct Row {
    /// Its path below the folder.
    name: PathBuf,
    /// Its story, or what went wrong.
    res: Result<Report, Failure>,
}

pub fn run(folder: &Path, config: &OptimizeConfig) -> Result<ExitStatus, Failure> {
    let names = kernels(folder);
    if names.is_empty() {
        return Err(UsageError::NoKernels { path: folder.display().to_string() }.into());
    }
    if config.output.is_some() {
        check_outputs_differ(&names)?;
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(config.n_threads.map_or(0, std::num::NonZeroUsize::get))
        .build()
        .map_err(|error| Failure::Error(ExitStatus::BadInput, miette::miette!("cannot start threads: {error}")))?;
    let bar = progress_bar(names.len());
    let rows: Vec<Row> = pool.install(|| {
        let work = names.into_par_iter().progress_with(bar.clone());
        work.map(|name| Row { res: one(folder, &name, config), name }).collect()
    });
    bar.finish_and_clear();
    let status = rows.iter().map(show_failure).max().unwrap_or_default();
    match config.report {
        ReportFormat::Text => terminal::print(&summary(&rows))?,
        ReportFormat::Json => terminal::print(&(json(&rows) + "\n"))?,
        ReportFormat::None => {}
    }
    Ok(status)
}

/// Paths of all kernels below the folder, relative to it, sorted.
fn kernels(folder: &Path) -> Vec<PathBuf> {
    walkdir::WalkDir::new(folder)
        .sort_by_file_name()
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .filter(|entry| {
            entry.path().extension().is_some_and(|found| EXTENSIONS.iter().any(|extension| found == *extension))
        })
        .filter_map(|entry| entry.path().strip_prefix(folder).ok().map(Path::to_owned))
        .collect()
}

/// Results take the name of their kernel with another ending, so names may not differ in the ending alone.
fn check_outputs_differ(names: &[PathBuf]) -> Result<(), UsageError> {
    let mut seen = BTreeMap::new();
    for name in names {
        if let Some(first) = seen.insert(name.with_extension(""), name) {
            let [first, second] = [first, name].map(|name| name.display().to_string());
            return Err(UsageError::SameOutput { first, second });
        }
    }
    Ok(())
}

fn one(folder: &Path, name: &Path, config: &OptimizeConfig) -> Result<Report, Failure> {
    let (products, report) = optimized(&folder.join(name), config)?;
    if let (Some(output), Some(first)) = (&config.output, products.first()) {
        let path = output.join(name).with_extension(first.extension);
        if let Some(parent) = path.parent() {
            let written = parent.display().to_string();
            fs::create_dir_all(parent).map_err(|source| FileError::Write { path: written, source })?;
        }
        files::write_all(&config.outputs(&path, products))?;
    }
    Ok(report)
}

fn progress_bar(n_kernels: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} kernels, {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    // Indicatif draws on standard error, and only where that is a terminal.
    ProgressBar::new(n_kernels as u64).with_style(style)
}

fn show_failure(row: &Row) -> ExitStatus {
    match &row.res {
        Err(Failure::Error(status, report)) => {
            terminal::show(report);
            *status
        }
        Ok(report) => {
            warn(report);
            ExitStatus::Done
        }
        Err(Failure::BrokenPipe) => ExitStatus::Done,
    }
}

fn summary(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["kernel", "before", "after", "ratio", "seconds", "validated"]);
    for row in rows {
        let name = row.name.display().to_string();
        match &row.res {
            Ok(report) => table.add_row([
                name,
                report.before.total.to_string(),
                report.after.total.to_string(),
                format!("{:.3}", report.ratio()),
                format!("{:.3}", report.seconds()),
                validated(report).to_owned(),
            ]),
            Err(_) => table.add_row([name, "-".into(), "-".into(), "-".into(), "-".into(), "failed".into()]),
        };
    }
    for column in 1..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let done: Vec<&Report> = rows.iter().filter_map(|row| row.res.as_ref().ok()).collect();
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    format!(
        "{}\n{} kernels, {} failed; geometric mean of the ratios {:.3}\n",
        lines.join("\n"),
        rows.len(),
        rows.len() - done.len(),
        geometric_mean(done.iter().map(|report| report.ratio()))
    )
}

fn validated(report: &Report) -> &'static str {
    match report.validation {
        Validated::Equal { .. } if report.failures.iter().any(report::Failure::is_bug) => "equal, next best",
        Validated::Equal { .. } => "equal",
        Validated::NotCompared { .. } => "no",
    }
}

/// Of the positive ratios; 1 if there is none.
fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let logarithms: Vec<f64> = ratios.filter(|ratio| *ratio > 0.0).map(f64::ln).collect();
    if logarithms.is_empty() { 1.0 } else { (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp() }
}

fn json(rows: &[Row]) -> String {
    let rows: Vec<serde_json::Value> = rows
        .iter()
        .map(|row| {
            let file = row.name.display().to_string();
            match &row.res {
                Ok(report) => serde_json::json!({ "file": file, "report": report }),
                Err(Failure::Error(_, error)) => serde_json::json!({ "file": file, "error": error.to_string() }),
                Err(Failure::BrokenPipe) => serde_json::json!({ "file": file, "error": "broken pipe" }),
            }
        })
        .collect();
    serde_json::to_string_pretty(&rows).expect("reports are plain data with text keys")
}

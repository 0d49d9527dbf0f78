//! `nestegg optimize FOLDER`: every kernel below a folder, in parallel.
//!
//! One bad kernel does not stop the others. Errors, warnings and the summary come in the order of the paths, whatever the
//! number of threads; the exit status is the worst one.
//!
//! With a cache, a kernel that another process works on is left for the end, when this one holds no lock that anybody could wait for.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, Table, presets};
use nestegg_cache::{Fetched, Patience};
use nestegg_driver::report::{self, Report, Validated, ratio_in_digits};
use nestegg_span::Source;
use rayon::prelude::*;

use crate::args::{DataArgs, ReportFormat};
use crate::commands::optimize::{Done, Failed, optimized, products_of_file, warn};
use crate::config::{OptimizeConfig, UsageError};
use crate::exit::ExitStatus;
use crate::files;
use crate::kernels;
use crate::progress::Progress;
use crate::terminal::{self, Failure};

/// How kernels are recognised in a folder.
const EXTENSIONS: [&str; 3] = ["c", "json", "knl"];

/// What became of one kernel.
struct Row {
    /// Its path below the folder.
    name: PathBuf,
    /// Its story, or what went wrong.
    res: Result<Report, Failed>,
    /// Whether it was in the cache.
    is_kept: bool,
}

pub fn run(folder: &Path, config: &OptimizeConfig) -> Result<ExitStatus, Failure> {
    let names = kernels(folder);
    if names.is_empty() {
        return Err(UsageError::NoKernels { path: folder.display().to_string() }.into());
    }
    if let Some(output) = &config.output {
        check_outputs_differ(&names, config)?;
        check_place(output)?;
    }
    let progress = Progress::start(names.len(), config.shows_progress);
    let done = |name: &PathBuf| {
        let row = one(folder, name, config, &progress, Patience::Leave);
        if row.is_some() {
            progress.advance();
        }
        row
    };
    let rows: Vec<Option<Row>> = names.par_iter().map(done).collect();
    let waiting = || progress.say("another process works on the kernels that are left");
    let later = |name: &Path| {
        let row = one(folder, name, config, &progress, Patience::Wait(&waiting));
        progress.advance();
        row.unwrap_or_else(|| unreachable!("who waits is answered"))
    };
    let rows: Vec<Row> = rows.into_iter().zip(&names).map(|(row, name)| row.unwrap_or_else(|| later(name))).collect();
    drop(progress);
    let status = rows.iter().map(show_failure).max().unwrap_or_default();
    match config.report {
        ReportFormat::Text => terminal::print(&summary(&rows))?,
        ReportFormat::Json => terminal::print(&(json(&rows) + "\n"))?,
        ReportFormat::Html | ReportFormat::None => {}
    }
    Ok(status)
}

/// Paths of all kernels below the folder, relative to it, sorted.
pub fn kernels(folder: &Path) -> Vec<PathBuf> {
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

/// The kernels of files and folders, in their order.
pub fn sources(paths: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for path in paths {
        if !path.is_dir() {
            sources.extend(kernels::all(path, &DataArgs::default())?);
            continue;
        }
        let found = kernels(path);
        if found.is_empty() {
            return Err(UsageError::NoKernels { path: path.display().to_string() }.into());
        }
        for name in found {
            sources.extend(kernels::all(&path.join(name), &DataArgs::default())?);
        }
    }
    Ok(sources)
}

/// Where it is said what is written, results take the name of their kernel with another ending, so that names may not differ in the ending alone.
fn check_outputs_differ(names: &[PathBuf], config: &OptimizeConfig) -> Result<(), UsageError> {
    if config.emit.is_empty() {
        return Ok(());
    }
    let mut seen = BTreeMap::new();
    for name in names {
        if let Some(first) = seen.insert(name.with_extension(""), name) {
            let [first, second] = [first, name].map(|name| name.display().to_string());
            return Err(UsageError::SameOutput { first, second });
        }
    }
    Ok(())
}

/// Whether folders and files can be made in the output's folder, or where it is to be made.
fn check_place(output: &Path) -> Result<(), Failure> {
    let there = output.ancestors().find(|folder| folder.as_os_str().is_empty() || folder.exists());
    Ok(files::check_place(&there.unwrap_or(Path::new("")).join("place"))?)
}

/// What became of a kernel; nothing if another process works on it, and nobody wants to wait.
fn one(
    folder: &Path,
    name: &Path,
    config: &OptimizeConfig,
    progress: &Progress,
    patience: Patience<'_>,
) -> Option<Row> {
    let path = folder.join(name);
    let source = kernels::read_with(&path, &config.data).map_err(Failed::from);
    let fetched = source.and_then(|source| optimized(&source, config, progress, patience));
    let (is_kept, done) = match fetched {
        Ok(Fetched::Busy) => return None,
        Ok(Fetched::Kept(done)) => (true, Ok(done)),
        Ok(Fetched::Made(done)) => (false, Ok(done)),
        Err(failed) => (false, Err(failed)),
    };
    Some(Row { name: name.to_owned(), res: done.and_then(|done| written((&path, name), config, done)), is_kept })
}

/// Writes the outputs of one kernel.
fn written((input, name): (&Path, &Path), config: &OptimizeConfig, done: Done) -> Result<Report, Failed> {
    let products = products_of_file(input, std::slice::from_ref(&done))?;
    let report = done.report;
    if let (Some(output), Some(first)) = (&config.output, products.first()) {
        let path = output.join(name).with_extension(first.extension);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|source| Failure::from(files::write_error(parent, source)))?;
        }
        files::write_all(&OptimizeConfig::outputs(&path, products)).map_err(Failure::from)?;
    }
    Ok(report)
}

fn show_failure(row: &Row) -> ExitStatus {
    match &row.res {
        Err(Failed { failure: Failure::Error(status, report), .. }) => {
            terminal::show(report);
            *status
        }
        Ok(report) => {
            warn(report);
            ExitStatus::Done
        }
        Err(Failed { failure: Failure::BrokenPipe, .. }) => ExitStatus::Done,
    }
}

fn summary(rows: &[Row]) -> String {
    let mut table = Table::new();
    let header = ["kernel", "before", "after", "ratio", "optimize s", "validate s", "validated"];
    table.load_style(presets::NOTHING).set_header(header);
    for row in rows {
        let name = row.name.display().to_string();
        match &row.res {
            Ok(report) => table.add_row([
                name,
                report.before.total.to_string(),
                report.after.total.to_string(),
                ratio_in_digits(report.ratio()),
                seconds(report, report.seconds()),
                seconds(report, report.seconds_of_validation()),
                validated(report).to_owned(),
            ]),
            Err(_) => {
                let nothing = std::iter::repeat_n("-", header.len() - 2).map(str::to_owned);
                table.add_row(std::iter::once(name).chain(nothing).chain(["failed".to_owned()]))
            }
        };
    }
    for column in 1..header.len() - 1 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let done: Vec<&Report> = rows.iter().filter_map(|row| row.res.as_ref().ok()).collect();
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let of_cache = match rows.iter().filter(|row| row.is_kept).count() {
        0 => String::new(),
        n => format!("; {n} from the cache"),
    };
    format!(
        "{}\n{} kernels, {} failed; geometric mean of the ratios {}{of_cache}\n",
        lines.join("\n"),
        rows.len(),
        rows.len() - done.len(),
        ratio_in_digits(geometric_mean(done.iter().map(|report| report.ratio())))
    )
}

/// Seconds of a report that has some.
fn seconds(report: &Report, seconds: f64) -> String {
    if report.stages.is_empty() { "-".to_owned() } else { format!("{seconds:.3}") }
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
        .map(|row| match &row.res {
            Ok(report) => serde_json::json!({ "file": row.name.display().to_string(), "report": report }),
            Err(failed) => failed.to_json(&row.name),
        })
        .collect();
    serde_json::to_string_pretty(&rows).expect("reports are plain data with text keys")
}

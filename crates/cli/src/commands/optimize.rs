//! `nestegg optimize`: the main job, for one kernel; [`super::folder`] does it for many.

use std::path::Path;

use nestegg_driver::emit::{self, Product};
use nestegg_driver::report::Report;

use crate::args::{Emit, OptimizeArgs, ReportFormat};
use crate::commands::folder;
use crate::config::{Input, OptimizeConfig};
use crate::exit::ExitStatus;
use crate::files;
use crate::terminal::{self, Failure};

pub fn run(args: OptimizeArgs) -> Result<ExitStatus, Failure> {
    let config = OptimizeConfig::new(args)?;
    match &config.input {
        Input::One(path) => one(path, &config),
        Input::Folder(path) => folder::run(path, &config),
    }
}

fn one(path: &Path, config: &OptimizeConfig) -> Result<ExitStatus, Failure> {
    let (products, report) = optimized(path, config)?;
    let story = match config.report {
        ReportFormat::Text => report.to_string(),
        ReportFormat::Json => report.to_json() + "\n",
        ReportFormat::None => String::new(),
    };
    warn(&report);
    match &config.output {
        Some(output) => {
            files::write_all(&config.outputs(output, products))?;
            terminal::print(&story)?;
        }
        None => {
            for product in products.iter().filter(|product| !product.is_companion) {
                terminal::print(&product.text)?;
            }
            terminal::eprint(&story);
        }
    }
    Ok(ExitStatus::Done)
}

/// Reads and optimizes one kernel; everything that is written of it, and its story.
pub fn optimized(path: &Path, config: &OptimizeConfig) -> Result<(Vec<Product>, Report), Failure> {
    let source = files::read(path)?;
    let optimized = nestegg_driver::optimize(&source, &config.driver).map_err(failure)?;
    let mut products = Vec::new();
    for kind in &config.emit {
        match kind {
            Emit::Dump => products.push(emit::dump(&optimized.program)),
            Emit::Text => products.push(emit::text(&optimized.program)),
            Emit::C => products.extend(emit::c(&optimized).map_err(failure)?),
        }
    }
    Ok((products, optimized.report))
}

/// Says which results are not right: the one that is written is another.
pub fn warn(report: &Report) {
    for failure in report.failures.iter().filter(|failure| failure.is_bug()) {
        terminal::show(&miette::Report::new(failure.clone()));
    }
}

/// What the driver could not do: the caller's input is at fault, or the result is.
pub fn failure(error: nestegg_driver::Error) -> Failure {
    let status = if error.is_wrong_result() { ExitStatus::FailedValidation } else { ExitStatus::BadInput };
    Failure::Error(status, miette::Report::new(error))
}

//! Errors on their way to Python.
//!
//! # Output
//! `nestegg.Error` with the diagnostic as the command line renders it, without colours, and with the same as JSON, of which the exception
//! makes its attributes.

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use nestegg_driver::problem::to_json;
use nestegg_driver::report::WIDTH;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// What went wrong.
#[derive(Debug)]
pub struct Problem {
    rendered: String,
    details: String,
}

impl Problem {
    /// A diagnostic, with the places that it is about.
    pub fn new(diagnostic: &dyn Diagnostic) -> Self {
        Self { rendered: rendered(diagnostic), details: to_json(diagnostic).to_string() }
    }

    /// The text of a diagnostic.
    pub fn rendered(diagnostic: &impl Diagnostic) -> String {
        rendered(diagnostic)
    }

    /// Only words.
    pub fn said(message: &str) -> Self {
        let report = miette::miette!("{message}");
        Self::new(report.as_ref())
    }

    /// A panic, or what never happens.
    pub fn bug(message: &str) -> Self {
        Self::said(&format!("this is a bug of nestegg, please report it: {message}"))
    }

    /// The exception.
    pub fn into_exception(self, py: Python<'_>) -> PyErr {
        let class = py.import("nestegg.errors").and_then(|module| module.getattr("Error"));
        match class.and_then(|class| class.call1((self.rendered.as_str(), self.details))) {
            Ok(error) => PyErr::from_value(error),
            // Without the package's own module there is still the text.
            Err(_) => PyRuntimeError::new_err(self.rendered),
        }
    }
}

fn rendered(diagnostic: &dyn Diagnostic) -> String {
    let handler =
        GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(WIDTH).with_links(false);
    let mut text = String::new();
    match handler.render_report(&mut text, diagnostic) {
        Ok(()) => text.trim_end().to_owned(),
        Err(_) => diagnostic.to_string(),
    }
}

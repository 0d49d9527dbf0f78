//! The Python bridge: conversions only, no logic.
//!
//! # Input
//! Texts and options, as the Python package in `python/` hands them over; it reads the files.
//! # Output
//! Texts. What goes wrong is raised as `nestegg.Error`, rendered as on the command line.
//! # Method
//! Each function hands its work to a thread ([`background`]), so that other Python threads run and Ctrl-C interrupts.

mod background;
mod options;
mod problem;

use pyo3::prelude::*;

/// Everything that Python sees.
#[pymodule]
mod _core {
    use nestegg_driver::config::Watcher;
    use nestegg_driver::emit;
    use nestegg_driver::rules::{self, built_in_strategies};
    use nestegg_driver::validation::{Comparison, Subject, compare};
    use nestegg_driver::{Notation, parameters};
    use nestegg_span::Source;
    use pyo3::prelude::*;

    use crate::background::{self, Stop};
    use crate::options::Options;
    use crate::problem::Problem;

    /// A result and its story, all of it as text.
    #[pyclass(frozen, get_all, module = "nestegg._core")]
    struct Optimized {
        /// The kernel in the text form.
        kernel_text: String,
        /// The kernel in JSON.
        json: String,
        /// The story for people.
        report_text: String,
        /// The story for programs.
        report_json: String,
        /// The C source and its header, where C has words for the kernel.
        c: Option<(String, String)>,
        /// The C of one element for a file with other functions, where C has words for the kernel.
        shared_c: Option<String>,
        /// Why there is no C.
        c_refused: Option<String>,
        /// What is worth a warning: about rules, and about results that failed validation.
        warnings: Vec<String>,
    }

    /// Optimizes a kernel in JSON or text. `progress` is called with the stage that runs and its seed.
    #[pyfunction]
    #[pyo3(signature = (text, name, options, progress=None))]
    fn optimize(
        py: Python<'_>,
        text: String,
        name: String,
        options: Options,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Optimized> {
        let n_threads = options.threads.unwrap_or(0);
        let work = move |watcher: Watcher| {
            let mut config = options.into_config()?;
            let mut warnings = Vec::new();
            if !config.rules.is_empty() {
                warnings.extend(rules::warnings(&config.rules).iter().map(Problem::rendered));
            }
            config.watcher = Some(watcher);
            let optimized = nestegg_driver::optimize(&Source::new(name, text), &config)?;
            let wrong = optimized.report.failures.iter().filter(|failure| failure.is_bug());
            warnings.extend(wrong.map(Problem::rendered));
            let (c, c_refused) = match emit::c(&optimized) {
                Ok(products) => {
                    let text = |is_companion: bool| {
                        let found = products.iter().find(|product| product.is_companion == is_companion);
                        found.map(|product| product.text.clone()).unwrap_or_default()
                    };
                    (Some((text(false), text(true))), None)
                }
                Err(error) => (None, Some(Problem::rendered(&error))),
            };
            Ok(Optimized {
                kernel_text: emit::text(optimized.runs()).text,
                json: emit::dump(optimized.runs()).text,
                report_text: optimized.report.to_string(),
                report_json: optimized.report.to_json(),
                c,
                shared_c: emit::shared_c(&optimized).ok(),
                c_refused,
                warnings,
            })
        };
        background::run(py, n_threads, progress, work)
    }

    /// Counts operations: as a table, and as JSON.
    #[pyfunction]
    fn count(py: Python<'_>, text: String, name: String, given: Vec<(String, i64)>) -> PyResult<(String, String)> {
        background::run(py, 1, None, move |_| {
            let counted = nestegg_driver::count(&Source::new(name, text), &given)?;
            let json = serde_json::to_string(&counted).map_err(|error| Problem::bug(&error.to_string()))?;
            Ok((counted.to_text(), json))
        })
    }

    /// Whether two kernels, each with its name, compute the same values, and the evidence or the first difference in words.
    #[pyfunction]
    fn validate(
        py: Python<'_>,
        first: (String, String),
        second: (String, String),
        given: Vec<(String, i64)>,
    ) -> PyResult<(bool, String)> {
        background::run(py, 0, None, move |_| {
            let sources = [first, second].map(|(text, name)| Source::new(name, text));
            let a = nestegg_driver::read_defined(&sources[0], &given)?;
            let b = nestegg_driver::read_defined(&sources[1], &given)?;
            let values = parameters::values(&parameters::assumed(a.program.kernel(), &given)?);
            match compare(Subject::of(&sources[0], &a), Subject::of(&sources[1], &b), &values)? {
                Comparison::Equal { evidence, .. } => Ok((true, evidence)),
                Comparison::Different(difference) => Ok((false, difference.to_string())),
                Comparison::Stopped(error) => {
                    Err(Problem::said(&format!("the first kernel cannot be run: {error}")).into())
                }
            }
        })
    }

    /// Converts a kernel to `json` or `text`.
    #[pyfunction]
    fn convert(py: Python<'_>, text: String, name: String, to_json: bool) -> PyResult<String> {
        background::run(py, 1, None, move |_| {
            let read = nestegg_driver::read(&Source::new(name, text))?;
            Ok(if to_json { Notation::Json } else { Notation::Text }.write(&read.program))
        })
    }

    /// The kernel in JSON, in the order that it means.
    #[pyfunction]
    fn linearize(py: Python<'_>, text: String, name: String) -> PyResult<String> {
        background::run(py, 1, None, move |_| {
            let read = nestegg_driver::read(&Source::new(name, text))?;
            let kernel = read.program.kernel().name.clone();
            let linearized = read.program.into_linearized();
            Ok(emit::dump(&linearized.map_err(|source| nestegg_driver::Error::Order { kernel, source })?).text)
        })
    }

    /// Names and first sentences of the built-in strategies.
    #[pyfunction]
    fn strategies() -> Vec<(String, String)> {
        built_in_strategies()
    }

    /// The version of the package.
    #[pymodule_export]
    const __VERSION__: &str = env!("CARGO_PKG_VERSION");

    impl From<nestegg_driver::Error> for Stop {
        fn from(error: nestegg_driver::Error) -> Self {
            Self::Problem(Problem::new(&error))
        }
    }
}

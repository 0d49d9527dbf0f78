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

/// As in `cli`: e-graphs are many small vectors that live and die together, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Everything that Python sees.
#[pymodule]
mod _core {
    use std::path::PathBuf;

    use nestegg_cache::{Cache, Fetched, Kept, Patience, key_of_run};
    use nestegg_driver::config::{Now, Watcher};
    use nestegg_driver::emit;
    use nestegg_driver::rules::{self, built_in_strategies};
    use nestegg_driver::validation::{Comparison, Subject, compare};
    use nestegg_driver::{Notation, parameters};
    use nestegg_span::Source;
    use pyo3::prelude::*;

    use crate::background::{self, Stop};
    use crate::options::Options;
    use crate::problem::Problem;

    /// The name of the C that shares a file, in a cache.
    const SHARED_C: &str = "shared C";

    /// What progress is told while another process makes the result.
    const WAIT: &str = "wait for another process";

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
        /// The C of one element for a file with other functions, where that was asked for and C has words for the kernel.
        shared_c: Option<String>,
        /// Why there is no C.
        c_refused: Option<String>,
        /// What is worth a warning: about rules, and about results that failed validation.
        warnings: Vec<String>,
        /// Whether all of it was in the cache.
        from_cache: bool,
    }

    /// Optimizes a kernel in JSON or text. `progress` is called with the stage that runs and its seed. Results are kept in the folder `cache`, if
    /// one is given. `shares_file` asks for the C of a function that shares a file with others.
    #[pyfunction]
    #[pyo3(signature = (text, name, options, progress=None, cache=None, shares_file=false))]
    fn optimize(
        py: Python<'_>,
        text: String,
        name: String,
        options: Options,
        progress: Option<Py<PyAny>>,
        cache: Option<PathBuf>,
        shares_file: bool,
    ) -> PyResult<Optimized> {
        let n_threads = options.threads.unwrap_or(0);
        let work = move |watcher: Watcher| {
            let mut config = options.into_config()?;
            let mut warnings = Vec::new();
            if !config.rules.is_empty() {
                warnings.extend(rules::warnings(&config.rules).iter().map(Problem::rendered));
            }
            config.watcher = Some(watcher.clone());
            let source = Source::new(name, text);
            let make = || {
                let optimized = nestegg_driver::optimize(&source, &config)?;
                let shared = if shares_file { emit::shared_c(&optimized).ok() } else { None };
                let extras = shared.map(|text| (SHARED_C.to_owned(), text)).into_iter().collect();
                Ok::<_, Stop>(Kept::new(&source, &optimized, extras))
            };
            let (mut kept, from_cache) = match cache {
                None => (make()?, false),
                Some(folder) => {
                    let cache = Cache::open(&folder).map_err(|error| Problem::new(&error))?;
                    let more: &[(&str, &str)] = if shares_file { &[(SHARED_C, "")] } else { &[] };
                    let key = key_of_run(&nestegg_driver::read(&source)?.program, &config, more);
                    let waiting = || (watcher.0)(Now { stage: WAIT, seed: None });
                    match Kept::fetch(&cache, &key, &source, Patience::Wait(&waiting), make)? {
                        Fetched::Made(kept) => (kept, false),
                        Fetched::Kept(kept) => (kept, true),
                        Fetched::Busy => return Err(Problem::bug("a cache is busy for who waits").into()),
                    }
                }
            };
            let wrong = kept.report.failures.iter().filter(|failure| failure.is_bug());
            warnings.extend(wrong.map(Problem::rendered));
            let (c, c_refused) = match kept.c {
                Ok([source, header]) => (Some((source, header)), None),
                Err(reason) => (None, Some(reason)),
            };
            Ok(Optimized {
                kernel_text: kept.text,
                json: kept.json,
                report_text: kept.report.to_string(),
                report_json: kept.report.to_json(),
                c,
                shared_c: kept.extras.remove(SHARED_C),
                c_refused,
                warnings,
                from_cache,
            })
        };
        background::run(py, n_threads, progress, work)
    }

    /// The folder where results are kept if none is named.
    #[pyfunction]
    fn default_cache() -> Option<PathBuf> {
        Cache::default_folder()
    }

    /// How many results a cache holds, and their bytes; removes them first where `clears`, and says how much that was.
    #[pyfunction]
    fn cache_size(py: Python<'_>, folder: PathBuf, clears: bool) -> PyResult<(u64, u64)> {
        background::run(py, 1, None, move |_| {
            let cache = Cache::open(&folder).map_err(|error| Problem::new(&error))?;
            let size = if clears { cache.clear().map_err(|error| Problem::new(&error))? } else { cache.size() };
            Ok((size.entries, size.bytes))
        })
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

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
    use std::sync::{Arc, OnceLock};

    use nestegg_cache::{Cache, Fetched, Kept, Patience, c_of, key_of_run};
    use nestegg_driver::config::{Now, Watcher};
    use nestegg_driver::emit;
    use nestegg_driver::report::Report;
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

    /// The C source and its header, or why there is none.
    type C = Result<[String; 2], String>;

    /// A result and its story in texts, each made when somebody asks for it.
    #[pyclass(frozen, module = "nestegg._core")]
    struct Optimized {
        /// The C of one element for a file with other functions, where that was asked for and C has words for the kernel.
        #[pyo3(get)]
        shared_c: Option<String>,
        /// What is worth a warning: about rules, and about results that failed validation.
        #[pyo3(get)]
        warnings: Vec<String>,
        /// Whether all of it was in the cache.
        #[pyo3(get)]
        from_cache: bool,
        origin: Origin,
    }

    /// What the texts of a result come from.
    enum Origin {
        /// All but the reports were kept in a cache.
        Kept(Box<Kept>),
        /// The result itself; its C takes long enough to be kept once it is made.
        Whole { whole: Arc<nestegg_driver::Optimized>, n_threads: usize, c: OnceLock<C> },
    }

    #[pymethods]
    impl Optimized {
        /// The kernel in the text form.
        #[getter]
        fn kernel_text(&self) -> String {
            match &self.origin {
                Origin::Kept(kept) => kept.text.clone(),
                Origin::Whole { whole, .. } => emit::text(whole.runs()).text,
            }
        }

        /// The kernel in JSON.
        #[getter]
        fn json(&self) -> String {
            match &self.origin {
                Origin::Kept(kept) => kept.json.clone(),
                Origin::Whole { whole, .. } => emit::dump(whole.runs()).text,
            }
        }

        /// The story for people.
        #[getter]
        fn report_text(&self) -> String {
            self.origin.report().to_string()
        }

        /// The story for programs.
        #[getter]
        fn report_json(&self) -> String {
            self.origin.report().to_json()
        }

        /// The C source and its header, where C has words for the kernel.
        #[getter]
        fn c(&self, py: Python<'_>) -> PyResult<Option<(String, String)>> {
            Ok(self.origin.c(py)?.as_ref().ok().map(|[source, header]| (source.clone(), header.clone())))
        }

        /// Why there is no C.
        #[getter]
        fn c_refused(&self, py: Python<'_>) -> PyResult<Option<String>> {
            Ok(self.origin.c(py)?.as_ref().err().cloned())
        }
    }

    impl Origin {
        fn report(&self) -> &Report {
            match self {
                Self::Kept(kept) => &kept.report,
                Self::Whole { whole, .. } => &whole.report,
            }
        }

        fn c(&self, py: Python<'_>) -> PyResult<&C> {
            let (whole, n_threads, made) = match self {
                Self::Kept(kept) => return Ok(&kept.c),
                Self::Whole { whole, n_threads, c } => (whole, *n_threads, c),
            };
            if let Some(known) = made.get() {
                return Ok(known);
            }
            let whole = Arc::clone(whole);
            let found = background::run(py, n_threads, None, move |_| Ok(c_of(&whole)))?;
            Ok(made.get_or_init(|| found))
        }
    }

    /// Optimizes a kernel in JSON or text. `progress` is called with the stage that runs and its seed. Results are kept in the folder `cache`, if
    /// one is given. `shares_file` asks for the C of a function that shares a file with others.
    /// Other texts are made when somebody asks for them; a cache keeps them.
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
                Ok::<_, Stop>((optimized, shared))
            };
            let Some(folder) = cache else {
                let (optimized, shared_c) = make()?;
                warnings.extend(about_failures(&optimized.report));
                let origin = Origin::Whole { whole: Arc::new(optimized), n_threads, c: OnceLock::new() };
                return Ok(Optimized { shared_c, warnings, from_cache: false, origin });
            };
            let make = || {
                let (optimized, shared) = make()?;
                let extras = shared.map(|text| (SHARED_C.to_owned(), text)).into_iter().collect();
                Ok::<_, Stop>(Kept::new(&source, &optimized, extras))
            };
            let cache = Cache::open(&folder).map_err(|error| Problem::new(&error))?;
            let more: &[(&str, &str)] = if shares_file { &[(SHARED_C, "")] } else { &[] };
            let key = key_of_run(&nestegg_driver::read(&source)?.program, &config, more);
            let waiting = || (watcher.0)(Now { stage: WAIT, seed: None });
            let (mut kept, from_cache) = match Kept::fetch(&cache, &key, &source, Patience::Wait(&waiting), make)? {
                Fetched::Made(kept) => (kept, false),
                Fetched::Kept(kept) => (kept, true),
                Fetched::Busy => return Err(Problem::bug("a cache is busy for who waits").into()),
            };
            warnings.extend(about_failures(&kept.report));
            let shared_c = kept.extras.remove(SHARED_C);
            Ok(Optimized { shared_c, warnings, from_cache, origin: Origin::Kept(Box::new(kept)) })
        };
        background::run(py, n_threads, progress, work)
    }

    /// Warnings about results that failed validation, where that is a bug.
    fn about_failures(report: &Report) -> impl Iterator<Item = String> + '_ {
        report.failures.iter().filter(|failure| failure.is_bug()).map(Problem::rendered)
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

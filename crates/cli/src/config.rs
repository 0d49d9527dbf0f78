//! The checked form of what was typed: files read, contradictions refused.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use nestegg_cache::Cache;
use nestegg_codegen::c::timing::Compiler;
use nestegg_driver::Notation;
use nestegg_driver::config::{BatchLayout, BatchRequest, Config, CostModel, Judged, Strategy, Validation};
use nestegg_driver::emit::Product;
use nestegg_driver::rules;
use nestegg_ir::Licence;
use nestegg_span::Source;
use nestegg_time::Machine;

use crate::args::{Cost, DataArgs, Emit, Float, Layout, OptimizeArgs, ReportFormat, StrategyArgs, Traps, path_of};
use crate::files::{self, Output};
use crate::terminal::Failure;

/// A contradiction between arguments.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum UsageError {
    /// Several products cannot share standard output.
    #[error("several kinds of output need a place to go")]
    #[diagnostic(code(nestegg::several_on_stdout), help("add `-o FILE`: each kind gets its own ending there"))]
    SeveralOnStdout,
    /// Results of a folder cannot go into one file.
    #[error("the results of a folder need a folder, and `{path}` is a file")]
    #[diagnostic(code(nestegg::not_a_folder))]
    NotAFolder {
        /// What `-o` said.
        path: String,
    },
    /// A folder without kernels.
    #[error("there is no kernel in `{path}`")]
    #[diagnostic(code(nestegg::no_kernels), help("kernels are files that end in `.json`, `.knl` or `.c`"))]
    NoKernels {
        /// The folder.
        path: String,
    },
    /// Two kernels whose results would have one name.
    #[error("the results of `{first}` and `{second}` would have the same name")]
    #[diagnostic(code(nestegg::same_output), help("rename one of the kernels"))]
    SameOutput {
        /// A kernel.
        first: String,
        /// Another one.
        second: String,
    },
    /// A folder without rules.
    #[error("there is no rule file in `{path}`")]
    #[diagnostic(code(nestegg::no_rules), help("rule files end in `.rules`"))]
    NoRules {
        /// The folder.
        path: String,
    },
    /// A folder without tests.
    #[error("there is no test in `{path}`")]
    #[diagnostic(code(nestegg::no_tests), help("tests are kernels that end in `.knl`, with rule files beside them"))]
    NoTests {
        /// The folder.
        path: String,
    },
    /// Only a strategy with a name can be extended.
    #[error("`{level}` has no name under which it can be extended")]
    #[diagnostic(
        code(nestegg::unnamed_strategy),
        help("give the file with `--rules`, and `--level` the name of the strategy")
    )]
    UnnamedStrategy {
        /// What `--level` said.
        level: String,
    },
    /// No result can be the fastest of none.
    #[error("at least one result must be tuned")]
    #[diagnostic(code(nestegg::nothing_tuned))]
    NothingTuned,
    /// A machine that is neither a file nor comes with nestegg.
    #[error("there is no machine `{name}`")]
    #[diagnostic(
        code(nestegg::no_machine),
        help("it is a file, or one of {known}; `nestegg calibrate -o FILE` makes one")
    )]
    NoMachine {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A trace and a page are of one kernel.
    #[error("a trace and a report in HTML are of one kernel, and the input holds several")]
    #[diagnostic(code(nestegg::of_one_kernel), help("optimize the kernels one by one"))]
    OfOneKernel,
    /// Of several kernels of a file, only C is written into one file.
    #[error("`{file}` has several kernels: {names}")]
    #[diagnostic(
        code(nestegg::several_kernels),
        help("write C, which keeps them in one file, or choose one: `{file}#NAME`")
    )]
    SeveralKernels {
        /// The file.
        file: String,
        /// Their names.
        names: String,
    },
    /// The system says nothing of caches.
    #[error("there is no default folder for a cache")]
    #[diagnostic(code(nestegg::no_cache_folder), help("name one, or set `NESTEGG_CACHE`"))]
    NoCacheFolder,
    /// No thread can do nothing.
    #[error("at least one thread is needed")]
    #[diagnostic(code(nestegg::no_threads))]
    NoThreads,
}

/// What `nestegg optimize` is to do.
#[derive(Clone, Debug)]
pub struct OptimizeConfig {
    /// One kernel, or a folder.
    pub input: Input,
    /// What prints leave out.
    pub data: DataArgs,
    /// Where results go.
    pub output: Option<PathBuf>,
    /// What is written, without repetition; empty where that follows the input.
    pub emit: Vec<Emit>,
    /// What the optimizer is told.
    pub driver: Config,
    /// The form of the report.
    pub report: ReportFormat,
    /// Whether it says how long each stage took.
    pub tells_seconds: bool,
    /// Where results are kept.
    pub cache: Option<Cache>,
    /// Where the events of the run go.
    pub trace: Option<PathBuf>,
    /// How many results are compiled and timed; 1 for none.
    pub n_tuned: usize,
    /// Whether progress may be shown.
    pub shows_progress: bool,
    /// Kernels of a folder worked on at a time; `None` lets the machine decide.
    pub n_threads: Option<NonZeroUsize>,
}

/// What is optimized.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file or standard input.
    One(PathBuf),
    /// Every kernel below a folder.
    Folder(PathBuf),
}

impl OptimizeConfig {
    /// Checks the arguments and reads the rule files.
    pub fn new(args: OptimizeArgs) -> Result<Self, Failure> {
        let input = if args.input.is_dir() { Input::Folder(args.input) } else { Input::One(args.input) };
        let output = path_of(args.output.as_deref()).map(Path::to_owned);
        let mut emit = args.emit;
        emit.sort();
        emit.dedup();
        if emit.is_empty()
            && let Input::One(_) = &input
        {
            emit.extend(emit_of(output.as_deref()));
        }
        match (&input, &output) {
            (Input::One(_), None) if emit.len() > 1 => return Err(UsageError::SeveralOnStdout.into()),
            (Input::Folder(_), _) if args.trace.is_some() || args.report == ReportFormat::Html => {
                return Err(UsageError::OfOneKernel.into());
            }
            (Input::Folder(_), Some(output)) if output.exists() && !output.is_dir() => {
                return Err(UsageError::NotAFolder { path: output.display().to_string() }.into());
            }
            _ => {}
        }
        let n_threads = match args.threads {
            None => None,
            Some(n) => Some(NonZeroUsize::new(n).ok_or(UsageError::NoThreads)?),
        };
        let batch = args.batch.map(|width| BatchRequest {
            width,
            shared: args.batch_shared,
            layout: match args.batch_layout {
                Layout::Contiguous => BatchLayout::Contiguous,
                Layout::Interleaved => BatchLayout::Interleaved,
            },
        });
        let driver = Config {
            strategy: strategy(&args.level)?,
            rules: read_rules(&args.rules)?,
            float: args.float.map(licence),
            traps: match args.traps {
                Traps::Ignore => nestegg_ir::Traps::Ignore,
                Traps::Keep => nestegg_ir::Traps::Keep,
            },
            cost: match args.cost {
                Cost::Operations => CostModel::Operations,
                Cost::Time => CostModel::Time,
            },
            machine: machine(&args.machine)?,
            machine_name: args.machine,
            parameters: args.parameters.values,
            max_statements: args.max_statements,
            memory: args.memory,
            validation: if args.unvalidated { Validation::Off } else { Validation::Explained },
            judged: Judged::Given,
            accuracy: args.accuracy,
            batch,
            openmp: args.openmp,
            memory_probe: None,
            watcher: None,
            traces: args.trace.is_some() || args.report == ReportFormat::Html,
            keeps_lineage: args.report == ReportFormat::Html || emit.contains(&Emit::Dot),
        };
        // What is wrong with rules is said once, not for every kernel.
        rules::check(&driver)?;
        let report = if args.quiet { ReportFormat::None } else { args.report };
        let n_tuned = args.tune.unwrap_or(1);
        if n_tuned == 0 {
            return Err(UsageError::NothingTuned.into());
        }
        Ok(Self {
            input,
            data: args.data,
            output,
            emit,
            driver,
            report,
            tells_seconds: !args.no_seconds,
            cache: args.cache.as_deref().map(Cache::open).transpose()?,
            trace: args.trace,
            n_tuned,
            shows_progress: !args.quiet,
            n_threads,
        })
    }

    /// What is written of a kernel.
    pub fn emit_for(&self, source: &Source) -> Vec<Emit> {
        match (self.emit.as_slice(), Notation::of(source)) {
            ([], Some(Notation::Json)) => vec![Emit::Dump],
            ([], Some(Notation::Text)) => vec![Emit::Text],
            ([], None) => vec![Emit::C],
            (asked, _) => asked.to_vec(),
        }
    }

    /// Where the products of one kernel go, given where the first of them goes.
    pub fn outputs(path: &Path, products: Vec<Product>) -> Vec<Output> {
        let is_only = products.iter().filter(|product| !product.is_companion).count() == 1;
        let place = |product: &Product| {
            if is_only && !product.is_companion { path.to_owned() } else { path.with_extension(product.extension) }
        };
        products.into_iter().map(|product| Output { path: place(&product), text: product.text }).collect()
    }
}

/// What a run is told that is nothing but a strategy with rules and parameters.
pub fn of_strategy(args: &StrategyArgs) -> Result<Config, Failure> {
    let config = Config {
        strategy: strategy(&args.level)?,
        rules: read_rules(&args.rules)?,
        float: args.float.map(licence),
        parameters: args.parameters.values.clone(),
        validation: Validation::Explained,
        ..Config::of_operations()
    };
    rules::check(&config)?;
    Ok(config)
}

/// What a flag allows.
pub fn licence(float: Float) -> Licence {
    match float {
        Float::Strict => Licence::Strict,
        Float::Reassociate => Licence::Reassociate,
        Float::Fast => Licence::Fast,
    }
}

/// Reads rule files, and of folders all that are in them, by name.
pub fn read_rules(paths: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for path in paths {
        if !path.is_dir() {
            sources.push(files::read(path)?);
            continue;
        }
        let of_folder = files::in_folder(path, "rules")?;
        if of_folder.is_empty() {
            return Err(UsageError::NoRules { path: path.display().to_string() }.into());
        }
        for path in of_folder {
            sources.push(files::read(&path)?);
        }
    }
    Ok(sources)
}

/// A machine by its name, or from a file.
pub fn machine(name: &str) -> Result<Machine, Failure> {
    let source = match Machine::built_in(name) {
        Some(text) => Source::new(name, text),
        None if Path::new(name).exists() => files::read(Path::new(name))?,
        None => {
            let known: Vec<String> = Machine::names().map(|known| format!("`{known}`")).collect();
            return Err(UsageError::NoMachine { name: name.to_owned(), known: known.join(", ") }.into());
        }
    };
    Ok(Machine::read(&source).map_err(|error| *error)?)
}

/// What separates a strategy file from the name of one of its strategies.
const NAME_IN_FILE: char = '#';

/// A strategy by its name, or from a file, which is read.
pub fn strategy(level: &str) -> Result<Strategy, Failure> {
    let path = Path::new(level);
    let is_file = path.extension().is_some() || path.components().count() > 1 || level.contains(NAME_IN_FILE);
    if !is_file {
        return Ok(Strategy::Named(level.to_owned()));
    }
    Ok(match level.rsplit_once(NAME_IN_FILE) {
        Some((file, name)) if !path.exists() => Strategy::NamedInFile(files::read(Path::new(file))?, name.to_owned()),
        _ => Strategy::InFile(files::read(path)?),
    })
}

/// What the ending of an output asks for.
fn emit_of(output: Option<&Path>) -> Option<Emit> {
    match output?.extension()?.to_str()? {
        "json" => Some(Emit::Dump),
        "knl" => Some(Emit::Text),
        "c" => Some(Emit::C),
        "h" => Some(Emit::H),
        "dot" => Some(Emit::Dot),
        _ => None,
    }
}

/// The compiler that is given, else what the environment says in `CC` and `CFLAGS`, else that of a machine.
pub fn compiler(command: Option<String>, flags: Option<String>, machine: &Machine) -> Compiler {
    let of = |given: Option<String>, variable: &str, default: &str| {
        given
            .or_else(|| std::env::var(variable).ok().filter(|value| !value.is_empty()))
            .unwrap_or_else(|| default.to_owned())
    };
    Compiler { command: of(command, "CC", &machine.compiler), flags: of(flags, "CFLAGS", &machine.flags) }
}

/// Calls that are timed go through so many sets of arguments in turn, as those of a mesh do.
pub const N_SETS: u32 = 16;

//! The checked form of what was typed: files read, contradictions refused.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use nestegg_driver::config::{Config, CostModel, DEFAULT_STRATEGY, Strategy, Validation};
use nestegg_driver::emit::Product;
use nestegg_ir::Licence;
use nestegg_span::Source;

use crate::args::{Cost, Emit, Float, OptimizeArgs, ReportFormat, Traps, path_of};
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
    #[diagnostic(code(nestegg::no_kernels), help("kernels are files that end in `.json` or `.knl`"))]
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
    /// Where results go.
    pub output: Option<PathBuf>,
    /// What is written, without repetition.
    pub emit: Vec<Emit>,
    /// What the optimizer is told.
    pub driver: Config,
    /// The form of the report.
    pub report: ReportFormat,
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
        if emit.is_empty() {
            emit.push(default_emit(&input, output.as_deref()));
        }
        match (&input, &output) {
            (Input::One(_), None) if emit.len() > 1 => return Err(UsageError::SeveralOnStdout.into()),
            (Input::Folder(_), Some(output)) if output.exists() && !output.is_dir() => {
                return Err(UsageError::NotAFolder { path: output.display().to_string() }.into());
            }
            _ => {}
        }
        let n_threads = match args.threads {
            None => None,
            Some(n) => Some(NonZeroUsize::new(n).ok_or(UsageError::NoThreads)?),
        };
        let driver = Config {
            strategy: strategy(args.level, args.strategy)?,
            rules: read_rules(&args.rules)?,
            float: args.float.map(|float| match float {
                Float::Strict => Licence::Strict,
                Float::Reassociate => Licence::Reassociate,
                Float::Fast => Licence::Fast,
            }),
            traps: match args.traps {
                Traps::Ignore => nestegg_ir::Traps::Ignore,
                Traps::Keep => nestegg_ir::Traps::Keep,
            },
            cost: match args.cost {
                Cost::Operations => CostModel::Operations,
            },
            parameters: args.parameters.values,
            max_statements: args.max_statements,
            memory: args.memory,
            validation: if args.unvalidated { Validation::Off } else { Validation::Explained },
            accuracy: args.accuracy,
            memory_probe: None,
        };
        Ok(Self { input, output, emit, driver, report: args.report, n_threads })
    }

    /// Where the products of one kernel go, given where the first of them goes.
    pub fn outputs(&self, path: &Path, products: Vec<Product>) -> Vec<Output> {
        let is_only = self.emit.len() == 1;
        let place = |product: &Product| {
            if is_only && !product.is_companion { path.to_owned() } else { path.with_extension(product.extension) }
        };
        products.into_iter().map(|product| Output { path: place(&product), text: product.text }).collect()
    }
}

/// Reads rule files.
pub fn read_rules(paths: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    paths.iter().map(|path| files::read(path).map_err(Failure::from)).collect()
}

/// `--level O1` and `--strategy O1` are the same; a strategy that is a file is read.
fn strategy(level: Option<String>, strategy: Option<String>) -> Result<Strategy, Failure> {
    let Some(name) = level.or(strategy) else {
        return Ok(Strategy::Named(DEFAULT_STRATEGY.to_owned()));
    };
    let path = Path::new(&name);
    let is_file = path.extension().is_some() || path.components().count() > 1;
    Ok(if is_file { Strategy::InFile(files::read(path)?) } else { Strategy::Named(name) })
}

fn default_emit(input: &Input, output: Option<&Path>) -> Emit {
    match (input, output.and_then(Path::extension).and_then(|extension| extension.to_str())) {
        (Input::One(_), Some("knl")) => Emit::Text,
        (Input::One(_), Some("c")) => Emit::C,
        _ => Emit::Dump,
    }
}

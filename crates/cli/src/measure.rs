//! Compiles emitted C with the user's compiler, and times it.
//!
//! # Input
//! Programs of one interface, and a [`Compiler`].
//! # Output
//! Nanoseconds a run: for each round one number for each program, so that what disturbs the machine disturbs all programs.
//! # Not done
//! One measurement at a time: two would disturb each other.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use miette::Diagnostic;
use nestegg_codegen::c::harness::{HarnessOptions, Mode, harness, read_times};
use nestegg_codegen::c::{COptions, CText, CodegenError, emit};
use nestegg_driver::config::Config;
use nestegg_ir::LinearizedKernel;

/// A compiler with its flags.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The command.
    pub command: String,
    /// The flags, separated by spaces.
    pub flags: String,
}

impl Compiler {
    /// What is given, else what the environment says in `CC` and `CFLAGS`, else the default.
    pub fn new(command: Option<String>, flags: Option<String>, default: &nestegg_time::Machine) -> Self {
        let of = |given: Option<String>, variable: &str, default: &str| {
            given
                .or_else(|| std::env::var(variable).ok().filter(|value| !value.is_empty()))
                .unwrap_or_else(|| default.to_owned())
        };
        Self { command: of(command, "CC", &default.compiler), flags: of(flags, "CFLAGS", &default.flags) }
    }

    /// The compiler of a run of the optimizer.
    pub fn of(config: &Config) -> Self {
        Self::new(None, None, &config.machine)
    }
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum MeasureError {
    /// A command that cannot be run.
    #[error("cannot run `{command}`: {source}")]
    #[diagnostic(code(nestegg::cannot_run), help("`CC` and `CFLAGS` name the compiler and its flags"))]
    CannotRun {
        /// The command.
        command: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A command that fails.
    #[error("`{command}` fails: {said}")]
    #[diagnostic(code(nestegg::command_fails))]
    Fails {
        /// The command.
        command: String,
        /// The first line that it wrote.
        said: String,
    },
    /// No place for the programs.
    #[error("no place for the programs to be timed: {0}")]
    #[diagnostic(code(nestegg::no_place))]
    Place(#[from] std::io::Error),
    /// C has no words for something.
    #[error(transparent)]
    #[diagnostic(code(nestegg::not_in_c))]
    Emit(#[from] CodegenError),
    /// The timed program printed something else.
    #[error("the timed program printed something that is no time")]
    #[diagnostic(code(nestegg::no_times))]
    NoTimes,
}

/// How long programs are run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds.
    pub n_rounds: u32,
    /// How long a program runs in one round, at least.
    pub milliseconds: u32,
}

/// Calls go through so many elements in turn, as those of a mesh do.
const IN_TURN: u32 = 16;

static MEASURING: Mutex<()> = Mutex::new(());

/// Times programs of one interface: rounds of one number for each.
pub fn times(
    programs: &[&LinearizedKernel],
    values: &[(String, i64)],
    compiler: &Compiler,
    effort: Effort,
) -> Result<Vec<Vec<f64>>, MeasureError> {
    let Some(first) = programs.first() else { return Ok(Vec::new()) };
    let text = |(idx, program): (usize, &&LinearizedKernel)| {
        emit(program, &COptions { notes: BTreeMap::new(), symbol: Some(format!("timed{idx}")) })
    };
    let texts = programs.iter().enumerate().map(text).collect::<Result<Vec<CText>, CodegenError>>()?;
    let options = HarnessOptions {
        parameters: values.iter().cloned().collect(),
        given: BTreeMap::new(),
        seed: 1,
        mode: Mode::Time { n_rounds: effort.n_rounds, milliseconds: effort.milliseconds, n_sets: IN_TURN },
        definitions: String::new(),
    };
    let main = harness(&first.kernel, &texts.iter().collect::<Vec<_>>(), &options)?;
    let folder = tempfile::tempdir()?;
    let mut files = vec!["main.c".to_owned()];
    fs::write(folder.path().join("main.c"), main)?;
    for text in &texts {
        let name = format!("{}.c", text.symbol);
        fs::write(folder.path().join(&name), &text.source)?;
        files.push(name);
    }
    let _one_at_a_time = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut compile = Command::new(&compiler.command);
    compile.args(compiler.flags.split_whitespace()).args(files).args(["-o", "timed", "-lm"]);
    checked(compile.current_dir(folder.path()))?;
    let printed = checked(Command::new(folder.path().join("timed")).current_dir(folder.path()))?;
    read_times(&printed).map(|times| times.rounds).ok_or(MeasureError::NoTimes)
}

/// Runs a command; answers what it printed.
fn checked(command: &mut Command) -> Result<String, MeasureError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|source| MeasureError::CannotRun { command: name.clone(), source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(MeasureError::Fails { command: name, said: said.lines().next().unwrap_or_default().to_owned() })
}

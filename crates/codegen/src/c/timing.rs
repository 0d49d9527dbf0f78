//! Compiles emitted C with a C compiler, and times it.
//!
//! # Input
//! Programs of one interface, and a [`Compiler`].
//! # Output
//! [`Times`]: nanoseconds per call, for each round one number for each program, so that what disturbs the machine disturbs all programs.
//! # Not done
//! One measurement at a time: two would disturb each other.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use miette::Diagnostic;
use nestegg_ir::{Kernel, LinearizedKernel};

use super::harness::{HarnessOptions, Mode, Times, harness, read_times};
use super::{COptions, CText, CodegenError, emit};

/// A compiler with its flags.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The command.
    pub command: String,
    /// The flags, separated by spaces.
    pub flags: String,
}

/// How long programs are run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds.
    pub n_rounds: u32,
    /// How long a program runs in one round, at least.
    pub milliseconds: u32,
    /// Calls go through so many sets of arguments in turn, as those of a mesh do.
    pub n_sets: u32,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum TimingError {
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

static MEASURING: Mutex<()> = Mutex::new(());

/// A function to be timed, and the flags that it is compiled with, separated by spaces.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// The function, of a name of its own.
    pub text: &'a CText,
    /// The flags.
    pub flags: &'a str,
}

/// The flags that the program around the functions is compiled with.
const FLAGS_OF_MAIN: &str = "-O2";

/// The C of a program, as a function of that name.
///
/// # Errors
/// If C has no words for something.
pub fn function(program: &LinearizedKernel, symbol: &str) -> Result<CText, CodegenError> {
    emit(program, &COptions { symbol: Some(symbol.to_owned()), ..COptions::default() })
}

/// Times programs of one interface, each written in its own way, each round all of them; parameters without a value take their estimates.
///
/// # Errors
/// If a program cannot be emitted, compiled or run.
pub fn times(
    programs: &[(&LinearizedKernel, COptions)],
    parameters: &[(String, i64)],
    compiler: &Compiler,
    effort: Effort,
) -> Result<Times, TimingError> {
    let Some((first, _)) = programs.first() else { return Ok(Times { difference: 0.0, rounds: Vec::new() }) };
    let texts = programs.iter().enumerate().map(|(idx, (program, options))| {
        emit(program, &COptions { symbol: Some(format!("timed{idx}")), ..options.clone() })
    });
    let texts = texts.collect::<Result<Vec<CText>, CodegenError>>()?;
    let functions: Vec<Function<'_>> = texts.iter().map(|text| Function { text, flags: &compiler.flags }).collect();
    times_of(&first.kernel, &functions, parameters, &compiler.command, effort)
}

/// Times functions of a kernel's interface, each compiled with its own flags.
///
/// # Errors
/// If a function cannot be compiled or run.
pub fn times_of(
    kernel: &Kernel,
    functions: &[Function<'_>],
    parameters: &[(String, i64)],
    command: &str,
    effort: Effort,
) -> Result<Times, TimingError> {
    let options = HarnessOptions {
        parameters: parameters.iter().cloned().collect(),
        given: BTreeMap::new(),
        seed: 1,
        mode: Mode::Time { n_rounds: effort.n_rounds, milliseconds: effort.milliseconds, n_sets: effort.n_sets },
        definitions: String::new(),
    };
    let texts: Vec<&CText> = functions.iter().map(|function| function.text).collect();
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("main.c"), harness(kernel, &texts, &options)?)?;
    let _one_at_a_time = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut link = Command::new(command);
    link.args([FLAGS_OF_MAIN, "main.c"]);
    for (idx, Function { text, flags }) in functions.iter().enumerate() {
        let name = format!("f{idx}.c");
        fs::write(folder.path().join(&name), &text.source)?;
        let mut compile = Command::new(command);
        printed(compile.args(flags.split_whitespace()).args(["-c", &name]).current_dir(folder.path()))?;
        link.arg(format!("f{idx}.o"));
    }
    printed(link.args(["-o", "timed", "-lm"]).current_dir(folder.path()))?;
    let printed = printed(Command::new(folder.path().join("timed")).current_dir(folder.path()))?;
    read_times(&printed).ok_or(TimingError::NoTimes)
}

/// Runs a command; answers what it printed.
fn printed(command: &mut Command) -> Result<String, TimingError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|source| TimingError::CannotRun { command: name.clone(), source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(TimingError::Fails { command: name, said: said.lines().next().unwrap_or_default().to_owned() })
}

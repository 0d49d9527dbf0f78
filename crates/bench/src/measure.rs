//! Measures kernels of one interface: compiles their C, runs them in turn in one process.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use miette::{Context, IntoDiagnostic, miette};
use nestegg_codegen::c::harness::{HarnessOptions, Mode, Times, harness, read_times};
use nestegg_codegen::c::{COptions, CText, emit};
use nestegg_ir::{Kernel, LinearizedKernel};

/// How kernels are compiled and timed.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The compiler.
    pub cc: String,
    /// Its flags, separated by spaces.
    pub flags: String,
    /// How many rounds.
    pub n_rounds: u32,
    /// How long a function runs in one round, at least.
    pub milliseconds: u32,
    /// Sets of arguments that calls take in turn.
    pub n_sets: u32,
    /// Values of parameters, before their estimates.
    pub parameters: Vec<(String, i64)>,
}

/// The C of a program, as a function of that name.
pub fn c_of(program: &LinearizedKernel, symbol: &str) -> miette::Result<CText> {
    emit(program, &COptions { notes: BTreeMap::new(), symbol: Some(symbol.to_owned()) }).into_diagnostic()
}

/// Times programs of one interface, each round all of them.
pub fn times(kernel: &Kernel, programs: &[&LinearizedKernel], setup: &Setup) -> miette::Result<Times> {
    let names: Vec<String> = (0..programs.len()).map(|idx| format!("form{idx}")).collect();
    let texts = std::iter::zip(programs, &names)
        .map(|(program, name)| c_of(program, name))
        .collect::<miette::Result<Vec<CText>>>()?;
    let options = HarnessOptions {
        parameters: setup.parameters.iter().cloned().collect(),
        given: BTreeMap::new(),
        seed: 1,
        mode: Mode::Time { n_rounds: setup.n_rounds, milliseconds: setup.milliseconds, n_sets: setup.n_sets },
        definitions: String::new(),
    };
    let main = harness(kernel, &texts.iter().collect::<Vec<_>>(), &options).into_diagnostic()?;
    let folder = tempfile::tempdir().into_diagnostic()?;
    let mut files = vec!["main.c".to_owned()];
    fs::write(folder.path().join("main.c"), main).into_diagnostic()?;
    for (text, name) in std::iter::zip(&texts, &names) {
        files.push(format!("{name}.c"));
        fs::write(folder.path().join(format!("{name}.c")), &text.source).into_diagnostic()?;
    }
    let mut compile = Command::new(&setup.cc);
    compile.args(setup.flags.split_whitespace()).args(files).args(["-o", "timed", "-lm"]);
    checked(compile.current_dir(folder.path()))?;
    let printed = checked(Command::new(folder.path().join("timed")).current_dir(folder.path()))?;
    read_times(&printed).ok_or_else(|| miette!("the timed program printed something else"))
}

/// Runs a command; its standard output if it succeeds, else an error with what it says.
pub fn checked(command: &mut Command) -> miette::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().into_diagnostic().wrap_err_with(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(miette!("{name} fails: {}", said.lines().next().unwrap_or_default()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

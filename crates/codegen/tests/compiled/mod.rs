//! Compiles emitted C with every compiler of this machine, runs it, and compares it with the interpreter.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use indexmap::IndexMap;
use nestegg_codegen::c::harness::{HarnessOptions, Mode, WrittenArray, harness, read_outputs};
use nestegg_codegen::c::{COptions, CText, emit};
use nestegg_interp::{Inputs, RunOptions, Values, run};
use nestegg_ir::{Dtype, Float, LinearizedKernel, Number, Program};
use nestegg_span::Source;

/// What the text must be clean under.
const FLAGS: [&str; 7] = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"];

/// The compilers that are there; none is an error.
pub fn compilers() -> Vec<&'static str> {
    let found: Vec<&str> = ["gcc", "clang"]
        .into_iter()
        .filter(|compiler| Command::new(compiler).arg("--version").output().is_ok())
        .collect();
    assert!(!found.is_empty(), "emitted C cannot be tested: there is neither gcc nor clang");
    found
}

/// Reads a kernel in either notation.
pub fn read(text: &str) -> Program {
    match nestegg_dump::read(&Source::new("kernel", text)) {
        Ok(read) => read.program,
        Err(errors) => panic!("{errors}: {:#?}\n{text}", errors.errors()),
    }
}

/// A kernel, in its order, and as C for compilers that have vectors.
pub fn write_in_vectors(text: &str) -> (Program, LinearizedKernel, CText) {
    let program = read(text);
    let linearized = program.clone().into_linearized().unwrap();
    let options = COptions { symbol: Some("subject".to_owned()), neighbours: true, ..COptions::default() };
    let text = emit(&linearized, &options).unwrap();
    (program, linearized, text)
}

/// The C of a program.
pub fn write(program: &Program, symbol: Option<&str>) -> (LinearizedKernel, CText) {
    let linearized = program.clone().into_linearized().expect("the kernel has an order");
    let options = COptions { symbol: symbol.map(str::to_owned), ..COptions::default() };
    let text = emit(&linearized, &options).unwrap_or_else(|error| panic!("{}: {error}", linearized.kernel.name));
    (linearized, text)
}

/// Runs a command that must succeed.
fn succeed(command: &mut Command, what: &str) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(output.status.success(), "{what}:\n{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Compiles the sources to a program in `folder` and runs it.
pub fn build_and_run(compiler: &str, folder: &Path, sources: &[(&str, &str)]) -> String {
    let mut command = Command::new(compiler);
    command.args(FLAGS).current_dir(folder);
    for (name, text) in sources {
        fs::write(folder.join(name), text).unwrap();
        if name.ends_with(".c") {
            command.arg(name);
        }
    }
    let all: String = sources.iter().map(|(name, text)| format!("/* {name} */\n{text}")).collect();
    succeed(command.args(["-o", "program", "-lm"]), &format!("{compiler} on\n{all}"));
    let output = succeed(&mut Command::new(folder.join("program")), &format!("running\n{all}"));
    String::from_utf8(output.stdout).unwrap()
}

/// Checks a kernel: header and source compile without a warning everywhere, and what the function writes is what the
/// interpreter says.
pub fn check(text: &str, parameters: &[(&str, i64)]) {
    check_program(&read(text), parameters, "");
}

/// The same, with definitions of functions for C. The interpreter does not know functions that C does not: then only the compilation
/// is checked.
pub fn check_program(program: &Program, parameters: &[(&str, i64)], definitions: &str) {
    check_written(program, write(program, Some("subject")), parameters, definitions);
}

/// The same of C that is written already.
pub fn check_written(
    program: &Program,
    (linearized, text): (LinearizedKernel, CText),
    parameters: &[(&str, i64)],
    definitions: &str,
) {
    let given: IndexMap<String, i64> = parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let inputs = Inputs::random(&linearized.kernel, &given, 1).expect("inputs");
    let expected = run(program, &inputs, &RunOptions::default());
    let options = HarnessOptions {
        parameters: parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
        given: inputs.arrays.iter().map(|(name, values)| (name.clone(), numbers(values))).collect(),
        seed: 7,
        mode: Mode::Print,
        definitions: definitions.to_owned(),
    };
    let main = harness(&linearized.kernel, &[&text], &options).expect("a harness");
    let user = "#include \"subject.h\"\n";
    for compiler in compilers() {
        let folder = tempfile::tempdir().unwrap();
        let sources =
            [("subject.c", &*text.source), ("subject.h", &*text.header), ("user.c", user), ("main.c", &*main)];
        let printed = build_and_run(compiler, folder.path(), &sources);
        if text.externals().next().is_some() {
            continue;
        }
        let expected = expected.as_ref().unwrap_or_else(|error| panic!("the interpreter: {error}"));
        let outputs = read_outputs(&printed).expect("the program prints outputs");
        assert_eq!(outputs.len(), expected.arrays.len());
        for output in outputs {
            let (_, wanted) = expected.arrays.get_key_value(&output.name).expect("the same arguments");
            let array = linearized.kernel.arrays.iter().find(|array| array.name == output.name).unwrap();
            for (at, &value) in output.values.iter().enumerate() {
                if wanted.is_set.as_ref().is_some_and(|is_set| !is_set[at]) {
                    continue;
                }
                let (expected, tolerance) = match &wanted.values {
                    Values::Floats(values) => (values[at], if array.dtype == Dtype::Float32 { 1e-5 } else { 1e-12 }),
                    Values::Ints(values) => (values[at] as f64, 0.0),
                };
                let near = (value - expected).abs() <= tolerance * value.abs().max(expected.abs()).max(1.0);
                let both_nan = value.is_nan() && expected.is_nan();
                assert!(
                    near || both_nan || value == expected,
                    "{compiler}: {}[{at}] is {value}, the interpreter says {expected}\n{}",
                    output.name,
                    text.source
                );
            }
        }
    }
}

/// What the C of a kernel writes when all its arguments are zero before, by every compiler.
pub fn outputs_from_zero(text: &str, parameters: &[(&str, i64)]) -> Vec<Vec<WrittenArray>> {
    let program = read(text);
    let (linearized, text) = write(&program, Some("subject"));
    let given: IndexMap<String, i64> = parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let inputs = Inputs::random(&linearized.kernel, &given, 1).expect("inputs");
    let zeros = |values: &Values| vec![Number::Int(0); values.len()];
    let options = HarnessOptions {
        parameters: parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
        given: inputs.arrays.iter().map(|(name, values)| (name.clone(), zeros(values))).collect(),
        seed: 7,
        mode: Mode::Print,
        definitions: String::new(),
    };
    let main = harness(&linearized.kernel, &[&text], &options).expect("a harness");
    let run = |compiler: &&str| {
        let folder = tempfile::tempdir().unwrap();
        let printed = build_and_run(compiler, folder.path(), &[("subject.c", &text.source), ("main.c", &main)]);
        read_outputs(&printed).expect("the program prints outputs")
    };
    compilers().iter().map(run).collect()
}

fn numbers(values: &Values) -> Vec<Number> {
    match values {
        Values::Floats(values) => values.iter().map(|&v| Number::Float(Float::new(v).expect("finite"))).collect(),
        Values::Ints(values) => values.iter().map(|&v| Number::Int(v)).collect(),
    }
}

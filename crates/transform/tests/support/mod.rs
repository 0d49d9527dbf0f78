//! What the tests of this crate share: reading kernels, and comparing what they mean.
#![allow(dead_code)]

use indexmap::IndexMap;
use nestegg_dump::{read, write_text};
use nestegg_interp::{Inputs, RunOptions, run_field};
use nestegg_ir::verify::verify;
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_span::Source;
use nestegg_transform::normalise;

/// A kernel in either notation.
pub fn parse(name: &str, text: &str) -> Program {
    match read(&Source::new(name, text)) {
        Ok(read) => {
            assert_eq!(verify(&read.program), [], "{name}: what is given is verified");
            read.program
        }
        Err(errors) => panic!("{name}: {errors}: {:#?}", errors.errors()),
    }
}

/// The value form of a kernel, which is verified and means the same.
pub fn normalised(name: &str, text: &str) -> LinearizedKernel {
    let program = parse(name, text);
    let linearized = program.clone().into_linearized().expect("the kernel has an order");
    let form = normalise(linearized).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_same_meaning(name, &program, &form);
    form
}

/// Compares two kernels on two draws of random arrays in a prime field.
pub fn assert_same_meaning(name: &str, before: &Program, after: &LinearizedKernel) {
    assert_same_results(name, before, after, 2);
}

/// Compares two kernels on so many draws of random arrays in a prime field.
pub fn assert_same_results(name: &str, before: &Program, after: &LinearizedKernel, n_draws: u64) {
    let after = Program::Linearized(after.clone());
    assert_eq!(verify(&after), [], "{name}: the result is verified\n{}", write_text(&after));
    for seed in 0..n_draws {
        let inputs = Inputs::random(before.kernel(), &IndexMap::new(), seed).expect("inputs are drawn");
        let options = RunOptions::default();
        let expected = run_field(before, &inputs, seed, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = run_field(&after, &inputs, seed, &options);
        let found = found.unwrap_or_else(|error| panic!("{name}: {error}\n{}", write_text(&after)));
        assert_eq!(found, expected, "{name}: the meaning changed\n{}", write_text(&after));
    }
}

/// Checks that a result means the same as its input, and that these are its loops and instructions, without ids and dependences.
pub fn assert_becomes(before: &Program, after: LinearizedKernel, expected: &str) {
    assert_same_meaning("test", before, &after);
    assert_body(after, expected);
}

/// Checks that these are the loops and instructions of a result, without ids and dependences.
pub fn assert_body(after: LinearizedKernel, expected: &str) {
    let all = body(after);
    let is_code = |line: &&str| !line.starts_with("domain") && !line.starts_with("temp") && !line.is_empty();
    let plain = |line: &str| line.split("  {").next().unwrap_or_default().trim().to_owned();
    let lines: Vec<String> = all.lines().filter(is_code).map(plain).collect();
    assert_eq!(lines, expected.lines().collect::<Vec<_>>(), "{all}");
}

/// Checks that a result means the same as its input, and that these are its loops, in the order of the text.
pub fn assert_has_loops(before: &Program, after: LinearizedKernel, loops: &[&str]) {
    assert_same_meaning("test", before, &after);
    let written = text(after);
    let headers = written.lines().filter_map(|line| line.trim_start().strip_prefix("for "));
    let found: Vec<&str> = headers.flat_map(|inames| inames.split(", ")).collect();
    assert_eq!(found, loops, "{written}");
}

/// A kernel in its order as text.
pub fn text(linearized: LinearizedKernel) -> String {
    write_text(&Program::Linearized(linearized))
}

/// The part of the text after the declarations.
pub fn body(linearized: LinearizedKernel) -> String {
    let is_declaration = |line: &&str| {
        let words = ["kernel ", "param ", "assume ", "arg ", "table "];
        words.iter().any(|word| line.starts_with(word))
    };
    text(linearized).lines().filter(|line| !is_declaration(line)).map(|line| format!("{line}\n")).collect()
}

/// A pass that may leave a kernel as it is, and the declarations before the instructions that it is given.
pub struct Pass {
    pub head: &'static str,
    pub run: fn(&LinearizedKernel) -> Option<LinearizedKernel>,
}

impl Pass {
    /// The kernel with these instructions, and what the pass makes of it.
    pub fn of(&self, instructions: &str) -> (Program, Option<LinearizedKernel>) {
        let input = parse("test", &format!("{}{instructions}", self.head));
        let output = (self.run)(&input.clone().into_linearized().expect("the kernel has an order"));
        (input, output)
    }

    /// The pass makes these loops and instructions of those, which mean the same.
    pub fn check(&self, instructions: &str, expected: &str) {
        let (input, output) = self.of(instructions);
        assert_becomes(&input, output.expect("something changes"), expected);
    }

    /// What the pass makes of these instructions means the same, and its text contains a part.
    pub fn check_part(&self, instructions: &str, expected: &str) {
        let (input, output) = self.of(instructions);
        let output = output.expect("something changes");
        assert_same_meaning("test", &input, &output);
        let written = text(output);
        assert!(written.contains(expected), "{written}");
    }

    /// The pass leaves these instructions as they are.
    pub fn refuse(&self, instructions: &str) {
        if let (_, Some(output)) = self.of(instructions) {
            panic!("{}", text(output));
        }
    }
}

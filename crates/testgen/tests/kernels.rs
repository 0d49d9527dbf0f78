//! What is promised of generated kernels, on a few thousand of them.

use indexmap::IndexMap;
use nestegg_interp::{Inputs, RunOptions, run, run_field};
use nestegg_ir::verify::verify;
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_span::Source;
use nestegg_testgen::{Generated, Knobs, generate_seed};

fn inputs(generated: &Generated, program: &Program, seed: u64) -> Inputs {
    let parameters: IndexMap<String, i64> = generated.parameters.iter().cloned().collect();
    Inputs::random(program.kernel(), &parameters, seed).expect("generated kernels have usable sizes")
}

/// Calls `check` with kernels of every preset that runs.
fn for_each(n_seeds: u64, check: impl Fn(&str, u64, &Generated)) {
    for (name, knobs) in Knobs::presets() {
        for seed in 0..n_seeds {
            check(name, seed, &generate_seed(seed, &knobs));
        }
    }
}

fn text(program: &Program) -> String {
    nestegg_dump::write_text(program)
}

#[test]
fn kernels_are_well_formed() {
    for_each(500, |name, seed, generated| {
        let errors = verify(&generated.program);
        assert!(errors.is_empty(), "{name} {seed}: {errors:?}\n{}", text(&generated.program));
    });
}

#[test]
fn kernels_survive_both_notations() {
    let check = |name: &str, seed: u64, generated: &Generated| {
        let json = nestegg_dump::write_json(&generated.program);
        let text = nestegg_dump::write_text(&generated.program);
        let from_json = nestegg_dump::read_json(&Source::new("generated.json", json.as_str()))
            .unwrap_or_else(|error| panic!("{name} {seed}: {error:?}\n{text}"));
        let from_text = nestegg_dump::read_text(&Source::new("generated.knl", text.as_str()))
            .unwrap_or_else(|error| panic!("{name} {seed}: {error:?}\n{text}"));
        assert_eq!(nestegg_dump::write_json(&from_json.program), json, "{name} {seed}\n{text}");
        assert_eq!(nestegg_dump::write_json(&from_text.program), json, "{name} {seed}\n{text}");
        assert_eq!(nestegg_dump::write_text(&from_text.program), text, "{name} {seed}");
    };
    for_each(200, check);
    for seed in 0..400 {
        check("whole_format", seed, &generate_seed(seed, &Knobs::whole_format()));
    }
}

#[test]
fn kernels_that_run_are_not_refused() {
    for_each(500, |name, seed, generated| {
        let text = text(&generated.program);
        let source = Source::new("generated.knl", text.as_str());
        let read = nestegg_dump::read(&source).unwrap_or_else(|error| panic!("{name} {seed}: {error:?}\n{text}"));
        let parameters: Vec<(String, i64)> = generated.parameters.to_vec();
        nestegg_dump::check_defined(&source, &read, &parameters)
            .unwrap_or_else(|error| panic!("{name} {seed}: {:?}\n{text}", error.errors()));
    });
}

#[test]
fn kernels_run() {
    for_each(500, |name, seed, generated| {
        let inputs = inputs(generated, &generated.program, seed);
        let outputs = run(&generated.program, &inputs, &RunOptions::default())
            .unwrap_or_else(|error| panic!("{name} {seed}: {error}\n{}", text(&generated.program)));
        assert!(!outputs.arrays.is_empty(), "{name} {seed}");
    });
}

/// A kernel without linearization means what the order in which it was made means.
#[test]
fn implied_orders_are_those_intended() {
    for_each(400, |name, seed, generated| {
        let Program::Unordered(kernel) = &generated.program else { return };
        let intended =
            Program::Linearized(LinearizedKernel { kernel: kernel.clone(), linearization: generated.order.clone() });
        assert!(verify(&intended).is_empty(), "{name} {seed}: {}", text(&intended));
        let inputs = inputs(generated, &generated.program, seed);
        let run = |program: &Program| run_field(program, &inputs, seed, &RunOptions::default()).unwrap();
        assert_eq!(run(&generated.program), run(&intended), "{name} {seed}\n{}", text(&generated.program));
    });
}

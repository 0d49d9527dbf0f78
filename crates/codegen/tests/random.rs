//! Random kernels: their C compiles without a warning and computes what the interpreter says.
#![allow(missing_docs, clippy::unwrap_used)]

mod compiled;

use std::panic::{AssertUnwindSafe, catch_unwind};

use compiled::{check_program, check_written};
use nestegg_codegen::c::{COptions, emit};
use nestegg_ir::Program;
use nestegg_testgen::{Knobs, generate_seed};

/// How many kernels of each kind; `NESTEGG_RANDOM_KERNELS` asks for more.
fn n_kernels() -> u64 {
    std::env::var("NESTEGG_RANDOM_KERNELS").ok().and_then(|n| n.parse().ok()).unwrap_or(5)
}

/// Checks what is written where time is made small.
fn check_fast(program: &Program, parameters: &[(&str, i64)]) {
    let linearized = program.clone().into_linearized().unwrap();
    let symbol = Some("subject".to_owned());
    let options = COptions { symbol, mirrors: true, neighbours: true, pairs: true, ..COptions::default() };
    let text = emit(&linearized, &options).unwrap();
    check_written(program, (linearized, text), parameters, "");
}

#[test]
fn random_kernels_compute_what_the_interpreter_says() {
    let mut failed = Vec::new();
    for (kind, knobs) in Knobs::presets() {
        for seed in 0..n_kernels() {
            let generated = generate_seed(seed, &knobs);
            let parameters: Vec<(&str, i64)> =
                generated.parameters.iter().map(|(name, v)| (name.as_str(), *v)).collect();
            let check = || {
                check_program(&generated.program, &parameters, "");
                check_fast(&generated.program, &parameters);
            };
            if catch_unwind(AssertUnwindSafe(check)).is_err() {
                failed.push(format!("{kind} {seed}"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

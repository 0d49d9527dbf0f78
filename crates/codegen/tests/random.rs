//! Random kernels: their C compiles without a warning and computes what the interpreter says.
#![allow(missing_docs, clippy::unwrap_used)]

mod compiled;

use std::panic::{AssertUnwindSafe, catch_unwind};

use compiled::check_program;
use nestegg_testgen::{Knobs, generate_seed};

/// How many kernels of each kind; `NESTEGG_RANDOM_KERNELS` asks for more.
fn n_kernels() -> u64 {
    std::env::var("NESTEGG_RANDOM_KERNELS").ok().and_then(|n| n.parse().ok()).unwrap_or(5)
}

#[test]
fn random_kernels_compute_what_the_interpreter_says() {
    let mut failed = Vec::new();
    for (kind, knobs) in Knobs::presets() {
        for seed in 0..n_kernels() {
            let generated = generate_seed(seed, &knobs);
            let parameters: Vec<(&str, i64)> =
                generated.parameters.iter().map(|(name, v)| (name.as_str(), *v)).collect();
            let check = || check_program(&generated.program, &parameters, "");
            if catch_unwind(AssertUnwindSafe(check)).is_err() {
                failed.push(format!("{kind} {seed}"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

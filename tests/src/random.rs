//! Random kernels that run, for tests that transform them.

use indexmap::IndexMap;
use nestegg_interp::{Inputs, RunOptions};
use nestegg_ir::LinearizedKernel;
use nestegg_testgen::{Knobs, generate_seed};

/// Visits random kernels that the interpreter can run, reductions realized, with their seeds and values of parameters: of each kind as many as
/// `NESTEGG_RANDOM_KERNELS` says, else `default`. Answers how many ran, and how many did not.
///
/// # Panics
/// If a generated kernel has no order, or its reductions cannot be realized.
pub fn for_each_that_runs(
    default: u64,
    mut visit: impl FnMut(u64, &LinearizedKernel, &[(String, i64)]),
) -> (usize, usize) {
    let n_kernels = std::env::var("NESTEGG_RANDOM_KERNELS").ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (mut n_run, mut n_left_out) = (0, 0);
    for (_, knobs) in Knobs::presets() {
        for seed in 0..n_kernels {
            let generated = generate_seed(seed, &Knobs { opaque: 0, ..knobs.clone() });
            let program = generated.program.clone().into_linearized().expect("the kernel has an order");
            let values: IndexMap<String, i64> = generated.parameters.iter().cloned().collect();
            let runs = Inputs::random(&program.kernel, &values, 0)
                .and_then(|inputs| nestegg_interp::run(&generated.program, &inputs, &RunOptions::default()));
            if runs.is_err() {
                n_left_out += 1;
                continue;
            }
            n_run += 1;
            let realized = nestegg_schedule::realize_reductions(program).expect("reductions are realized");
            visit(seed, &realized, &generated.parameters);
        }
    }
    (n_run, n_left_out)
}

//! Fits a machine to measured forms, so that the fastest are chosen.
//!
//! # Input
//! The forms of each kernel with their times, and the machine to begin with.
//! # Output
//! A machine for which the choice among the forms of each kernel costs less.
//! # Method
//! [Coordinate descent](nestegg_time::descend) on what the choice costs: the mean over kernels of the logarithm of the chosen time over the least. A form counts the more the
//! nearer its estimate is to the least, so that forms which are nearly chosen matter, too; and how far estimates are off counts a little.
//! # Complexity
//! Sweeps times constants times forms.

use nestegg_time::{Constant, Machine, Timed, descend};
use rayon::prelude::*;

/// The constants that forms tell apart. Calls, quotients, roots, chains and bandwidths are better measured by themselves.
const FREE: &[Constant] = &[
    Constant::Arithmetic,
    Constant::Load,
    Constant::Store,
    Constant::Issue,
    Constant::Lane,
    Constant::LoopEntry,
    Constant::Overlap,
    Constant::UnrollOperations,
    Constant::CodeOperations,
    Constant::Fetch,
];

/// Further than this factor no constant goes from where it starts: what forms of the same kernel have in common says little of it.
const FARTHEST: f64 = 3.0;

/// Estimates that differ by this share are nearly equal.
const NEAR: f64 = 0.08;

/// What the square of the logarithm of an estimate over its measurement counts beside the logarithm of the chosen time over the least.
const ACCURACY: f64 = 0.02;

/// The machine for which the choice among the forms of each kernel costs least, near another.
pub(super) fn fitted(machine: &Machine, kernels: &[Vec<Timed>]) -> Machine {
    let cost = |machine: &Machine| {
        let costs: Vec<f64> = kernels.par_iter().map(|forms| cost(machine, forms)).collect();
        costs.iter().sum::<f64>() / kernels.len().max(1) as f64
    };
    descend(machine, (FREE, FARTHEST), &cost)
}

/// What choosing among the forms of a kernel costs.
fn cost(machine: &Machine, forms: &[Timed]) -> f64 {
    let estimates: Vec<f64> = forms.iter().map(|form| form.profile.on(machine).nanoseconds.max(1e-3).ln()).collect();
    let least = estimates.iter().copied().fold(f64::INFINITY, f64::min);
    let fastest = forms.iter().map(|form| form.nanoseconds).fold(f64::INFINITY, f64::min).max(1e-3);
    let (mut all, mut chosen, mut off) = (0.0, 0.0, 0.0);
    for (form, estimate) in forms.iter().zip(&estimates) {
        let weight = ((least - estimate) / NEAR).exp();
        all += weight;
        chosen += weight * (form.nanoseconds.max(1e-3) / fastest).ln();
        off += (estimate - form.nanoseconds.max(1e-3).ln()).powi(2);
    }
    chosen / all + ACCURACY * off / forms.len().max(1) as f64
}

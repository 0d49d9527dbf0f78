//! Finds the constants of a machine from kernels that were timed on it.
//!
//! # Method
//! Coordinate descent on the mean square of the logarithms of predicted over measured times: each constant in turn is multiplied by factors near 1,
//! and what lowers the misfit is kept. The misfit never grows. Constants that nothing depends on keep their values.
//! # Complexity
//! Sweeps times constants times kernels.

use crate::estimate::Profile;
use crate::machine::{Constant, Machine};

/// A kernel with the nanoseconds that one run takes.
#[derive(Clone, Debug)]
pub struct Timed {
    /// The kernel.
    pub profile: Profile,
    /// Measured.
    pub nanoseconds: f64,
}

/// How often all constants are tried.
const MAX_SWEEPS: usize = 40;

/// Factors that are tried, the coarse ones first.
const FACTORS: [f64; 8] = [2.0, 0.5, 1.25, 0.8, 1.08, 0.926, 1.02, 0.98];

/// The root of the mean square of the logarithms of predicted over measured times.
#[must_use]
pub fn misfit(machine: &Machine, timed: &[Timed]) -> f64 {
    let of = |one: &Timed| (one.profile.on(machine).nanoseconds.max(1e-3) / one.nanoseconds.max(1e-3)).ln().powi(2);
    (timed.iter().map(of).sum::<f64>() / timed.len().max(1) as f64).sqrt()
}

/// The machine with the constants in `free` changed to fit what was timed, from where they are.
#[must_use]
pub fn fit(machine: &Machine, free: &[Constant], timed: &[Timed]) -> Machine {
    descend(machine, (free, FARTHEST), &|machine| misfit(machine, timed))
}

/// The machine with the constants in `free` changed so that something becomes less, each by `farthest` times at most.
#[must_use]
pub fn descend(machine: &Machine, (free, farthest): (&[Constant], f64), misfit: &dyn Fn(&Machine) -> f64) -> Machine {
    let mut best = machine.clone();
    let mut least = misfit(&best);
    for _ in 0..MAX_SWEEPS {
        let before = least;
        for &constant in free {
            for factor in FACTORS {
                let (from, to) = around(machine[constant], farthest, constant);
                let mut other = best.clone();
                other[constant] = rounded(other[constant] * factor).clamp(from, to);
                let misfit = misfit(&other);
                if misfit < least {
                    (best, least) = (other, misfit);
                }
            }
        }
        if before - least < 1e-5 {
            break;
        }
    }
    best
}

/// Further than this factor no constant goes from where it starts: measurements of few kernels say little of some.
const FARTHEST: f64 = 8.0;

fn around(start: f64, farthest: f64, constant: Constant) -> (f64, f64) {
    let (least, most) = constant.range();
    ((start / farthest).max(least), (start * farthest).min(most))
}

/// With four significant digits, as files show it.
fn rounded(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return value;
    }
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Constants that are found by descent.
const FREE: &[Constant] = &[
    Constant::Call,
    Constant::Arithmetic,
    Constant::Load,
    Constant::Store,
    Constant::Issue,
    Constant::Lane,
    Constant::Latency,
    Constant::Divide,
    Constant::DivideVector,
    Constant::Root,
    Constant::Exponential,
    Constant::Trigonometric,
    Constant::Power,
    Constant::Function,
    Constant::CallLanes,
    Constant::LoopEntry,
    Constant::Overlap,
    Constant::Fetch,
    Constant::L2Byte,
    Constant::L3Byte,
    Constant::MemoryByte,
];

/// Lengths of vectors that compilers use.
const VECTORS: [f64; 3] = [16.0, 32.0, 64.0];

/// The machine on which kernels take the times that were measured, from a similar one. Which vectors the compiler uses and whether it reassociates show in what fits
/// best. `timed` gives the kernels as a compiler sees them that does what a machine says.
#[must_use]
pub fn calibrated(start: &Machine, timed: &dyn Fn(&Machine) -> Vec<Timed>) -> Machine {
    let mut best: Option<(f64, Machine)> = None;
    for reassociates in [0.0, 1.0] {
        for bytes in VECTORS {
            let mut machine = start.clone();
            machine[Constant::Reassociates] = reassociates;
            machine[Constant::VectorBytes] = bytes;
            let timed = timed(&machine);
            let machine = fit(&machine, FREE, &timed);
            let off = misfit(&machine, &timed);
            if best.as_ref().is_none_or(|(least, _)| off < *least) {
                best = Some((off, machine));
            }
        }
    }
    best.map_or_else(|| start.clone(), |(_, machine)| machine)
}

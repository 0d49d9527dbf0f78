//! One race: all functions of a kernel, called in turn.
//!
//! # Input
//! [`Contestants`], a compiler, and where the data are.
//! # Output
//! [`Race`]: for each function the median time for one element, and the medians of its ratios to others in the same round.
//! # Method
//! In cache, as many elements as fit a part of the first-level cache make a call; streaming, as many as a mesh has. Of kernels of grids one call is one element. What
//! functions write must agree.

use std::fmt;

use miette::miette;
use nestegg_codegen::c::timing::{Effort, Function, times_of};
use nestegg_driver::batch::Width;
use nestegg_time::Machine;

use super::RuntimeArgs;
use super::kernels::{Contestants, Who};
use crate::statistics::median;

/// Results in float64 must agree to this, relative to the larger value: the optimizer reassociates.
const TOLERANCE: f64 = 1e-6;
/// The same for kernels with an argument in float32.
const TOLERANCE_FLOAT32: f64 = 1e-3;
/// Bytes of arguments that all elements of a call may take together in cache, and the fewest and most elements.
const BYTES_IN_CACHE: u64 = 20 << 10;
const ELEMENTS_IN_CACHE: (u64, u64) = (16, 512);
/// The same of a mesh.
const BYTES_OF_MESH: u64 = 128 << 20;
const ELEMENTS_OF_MESH: (u64, u64) = (512, 100_000);

/// Where the data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the first-level cache, as far as an element fits.
    Cache,
    /// In memory.
    Memory,
}

impl Place {
    /// A part of a file's name.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Cache => "cache",
            Self::Memory => "memory",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One function's times.
#[derive(Clone, Debug)]
pub(super) struct Timed {
    /// Nanoseconds for one element, the median.
    pub(super) time: f64,
    /// The median of the ratios to the input in the same round.
    pub(super) over_input: f64,
    /// The same to the peer, one element at a time.
    pub(super) over_peer: Option<f64>,
    /// Operations for one element.
    pub(super) operations: f64,
    rounds: Vec<f64>,
}

/// A kernel's times.
#[derive(Clone, Debug)]
pub(super) struct Race {
    pub(super) name: String,
    pub(super) n_elements: u64,
    /// Bytes that are read or written for one element, at least.
    pub(super) bytes: f64,
    /// Nanoseconds that the model says of ours, one element at a time.
    pub(super) predicted: f64,
    pub(super) input: Timed,
    pub(super) peer: Option<Timed>,
    pub(super) ours: Timed,
    /// In the order of `--batch`.
    pub(super) peer_lanes: Vec<Timed>,
    pub(super) own_lanes: Vec<Timed>,
}

impl Race {
    /// Our fastest in lanes.
    pub(super) fn best_lanes(&self) -> Option<&Timed> {
        fastest(&self.own_lanes)
    }

    /// Our fastest of all.
    pub(super) fn best(&self) -> &Timed {
        self.best_lanes().filter(|best| best.time < self.ours.time).unwrap_or(&self.ours)
    }

    /// Our fastest in lanes over the peer's.
    pub(super) fn lanes_over_lanes(&self) -> Option<f64> {
        Some(paired(&self.best_lanes()?.rounds, &fastest(&self.peer_lanes)?.rounds))
    }
}

fn fastest(all: &[Timed]) -> Option<&Timed> {
    all.iter().min_by(|a, b| a.time.total_cmp(&b.time))
}

/// The median of the ratios, round by round.
fn paired(rounds: &[f64], others: &[f64]) -> f64 {
    let ratios: Vec<f64> = rounds.iter().zip(others).map(|(own, other)| own / other).collect();
    median(&ratios).unwrap_or(f64::NAN)
}

/// Runs it; nothing if there is no such place for this kernel.
pub(super) fn race(
    contestants: &Contestants,
    cc: &str,
    place: Place,
    args: &RuntimeArgs,
) -> miette::Result<Option<Race>> {
    let Contestants { name, interface, of_many, moved, bytes, predicted, is_single, parameters, all } = contestants;
    if !of_many && place == Place::Memory {
        return Ok(None);
    }
    let (budget, (fewest, most)) = match place {
        Place::Cache => (BYTES_IN_CACHE, ELEMENTS_IN_CACHE),
        Place::Memory => (BYTES_OF_MESH, ELEMENTS_OF_MESH),
    };
    let n_elements = if *of_many { (budget / (*bytes).max(1) / 16 * 16).clamp(fewest, most) } else { 1 };
    let own = args.own_flags.clone().unwrap_or_else(|| Machine::default().flags);
    let functions: Vec<Function<'_>> = all
        .iter()
        .map(|one| Function {
            text: &one.text,
            flags: if matches!(one.who, Who::Ours(_)) { &own } else { &args.flags },
        })
        .collect();
    let mut parameters = parameters.clone();
    parameters.push(("n_elements".to_owned(), i64::try_from(n_elements).unwrap_or(i64::MAX)));
    let effort = Effort { n_rounds: args.rounds, milliseconds: args.milliseconds, n_sets: 1 };
    let times = times_of(interface, &functions, &parameters, cc, effort)?;
    if times.difference > if *is_single { TOLERANCE_FLOAT32 } else { TOLERANCE } {
        return Err(miette!("the functions differ by {:e}", times.difference));
    }
    let rounds = |at: usize| times.rounds.iter().map(|round| round[at] / n_elements as f64).collect::<Vec<f64>>();
    let of = |who: Who| all.iter().position(|one| one.who == who);
    let (of_input, of_peer) = (of(Who::Input).map(rounds).unwrap_or_default(), of(Who::Peer(None)).map(rounds));
    let timed = |at: usize| {
        let rounds = rounds(at);
        Timed {
            time: median(&rounds).unwrap_or(f64::NAN),
            over_input: paired(&rounds, &of_input),
            over_peer: of_peer.as_ref().map(|peer| paired(&rounds, peer)),
            operations: all[at].operations,
            rounds,
        }
    };
    let in_lanes = |who: fn(Option<Width>) -> Who| {
        args.batch.iter().filter_map(|&width| of(who(Some(width)))).map(timed).collect::<Vec<Timed>>()
    };
    let missing = || miette!("a function is missing");
    Ok(Some(Race {
        name: name.clone(),
        n_elements,
        bytes: *moved as f64,
        predicted: *predicted,
        input: of(Who::Input).map(timed).ok_or_else(missing)?,
        peer: of(Who::Peer(None)).map(timed),
        ours: of(Who::Ours(None)).map(timed).ok_or_else(missing)?,
        peer_lanes: in_lanes(Who::Peer),
        own_lanes: in_lanes(Who::Ours),
    }))
}

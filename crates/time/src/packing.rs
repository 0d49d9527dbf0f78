//! What it takes to bring the elements of a block into the lanes of vectors, and back.
//!
//! # Input
//! Loops, of which some are lanes by the kernel's word: the elements of a block, one in each lane.
//! # Output
//! [`Packing`]: the arguments whose elements lie one after the other, so that a block of them is transposed, and how many vectors that takes for each block.
//! # Method
//! A block of an argument is transposed as a whole: before the statements if they read it, and after them if they write it. Where each element gets one term,
//! only the terms are transposed.
//! # Complexity
//! Quadratic in the accesses to one argument.

use std::collections::BTreeMap;

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::{ArrayId, InameId};

use crate::body::{Reference, Work};
use crate::shape::Sized;

/// What is transposed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packing {
    /// Whether an array is.
    is_packed: Vec<bool>,
    /// What each block does for that, by its loop.
    blocks: BTreeMap<usize, Vec<Pack>>,
}

/// An argument in a block.
#[derive(Clone, Copy, Debug)]
struct Pack {
    array: ArrayId,
    is_written: bool,
    /// Values of an element.
    n_values: f64,
    /// How often they are transposed: in, out, or both.
    n_turns: f64,
    /// Whether they are in memory meanwhile, for loops run over them.
    is_copied: bool,
    /// The number of lanes.
    width: f64,
    /// Bytes of a value.
    bytes: u64,
}

/// How a block accesses an argument: the loop of the access, and the place for which loops around tell where it is.
#[derive(Clone, Debug, Default)]
struct Accesses {
    loads: Vec<(usize, Affine)>,
    stores: Vec<(usize, Affine)>,
}

impl Packing {
    /// Finds what is transposed in loops with these parents.
    pub(crate) fn of(kernel: &Sized, parents: &[usize]) -> Self {
        let loops = &kernel.nest.loops;
        let mut of_block: BTreeMap<(usize, ArrayId), Accesses> = BTreeMap::new();
        let mut widths: BTreeMap<usize, f64> = BTreeMap::new();
        for (at, one) in loops.iter().enumerate() {
            let Some(lane) = one.iname.filter(|_| one.is_lanes) else { continue };
            let mut add = |reference: &Reference, is_store: bool| {
                let Some(position) = reference.position.clone() else { return };
                let Some(block) = block_of(kernel, parents, at, lane, (reference.array, &position)) else { return };
                widths.insert(block, one.trips.ceil());
                let accesses = of_block.entry((block, reference.array)).or_default();
                if is_store { &mut accesses.stores } else { &mut accesses.loads }.push((at, position));
            };
            one.work.loads.iter().for_each(|load| add(load, false));
            one.work.stores.iter().for_each(|store| add(store, true));
        }
        let mut res = Self { is_packed: vec![false; kernel.bytes.len()], blocks: BTreeMap::new() };
        for ((block, array), accesses) in of_block {
            let strides = kernel.strides[array.index()].as_ref();
            let n_values = strides.and_then(|strides| strides.first()).map_or(1.0, |&n| n as f64);
            let is_both = !accesses.loads.is_empty() && !accesses.stores.is_empty();
            let n_turns = if is_both && !accesses.is_added_once(kernel, parents, block) { 2.0 } else { 1.0 };
            let all = accesses.loads.iter().chain(&accesses.stores);
            let is_copied = all.into_iter().any(|(at, _)| parents[*at] != block);
            let (width, bytes) = (widths[&block], kernel.element[array.index()]);
            res.is_packed[array.index()] = true;
            let is_written = !accesses.stores.is_empty();
            let pack = Pack { array, is_written, n_values, n_turns, is_copied, width, bytes };
            res.blocks.entry(block).or_default().push(pack);
        }
        res
    }

    /// Whether a block of an array is transposed as a whole.
    pub(crate) fn contains(&self, array: ArrayId) -> bool {
        self.is_packed[array.index()]
    }

    /// Adds what a loop does for the block that each of its iterations is; `lanes` is how many lanes vectors of values of so many bytes have.
    pub(crate) fn add_to(&self, work: &mut Work, at: usize, lanes: impl Fn(u64) -> f64) {
        for pack in self.blocks.get(&at).into_iter().flatten() {
            let lanes = lanes(pack.bytes).min(pack.width).max(1.0);
            let n_vectors = pack.n_values * (pack.width / lanes).ceil();
            let factor = if pack.is_written { 2.0 } else { 1.0 };
            work.packed.push((pack.array, factor * pack.n_values * pack.width * pack.bytes as f64));
            work.turned += pack.n_turns * n_vectors * lanes.log2();
            if pack.is_copied {
                work.copied += pack.n_turns * n_vectors;
            }
        }
    }
}

/// The loop over blocks, if an access is to the element of a lane: `width*block + lane` along the first of several axes.
fn block_of(
    kernel: &Sized,
    parents: &[usize],
    at: usize,
    lane: InameId,
    (array, position): (ArrayId, &Affine),
) -> Option<usize> {
    let stride = position.coefficient(Var::Iname(lane));
    let first = *kernel.strides[array.index()].as_ref()?.first()?;
    if stride <= 1 || u64::try_from(stride).ok()? != first {
        return None;
    }
    let width = kernel.nest.loops[at].trips.ceil() as i64;
    around(parents, at).find(|&at| {
        let iname = kernel.nest.loops[at].iname;
        iname.is_some_and(|iname| position.coefficient(Var::Iname(iname)) == stride.saturating_mul(width))
    })
}

/// The loops around a loop, from the inside out, without the whole.
pub(crate) fn around(parents: &[usize], at: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(parents[at]), |&at| Some(parents[at])).take_while(|&at| at != 0)
}

impl Accesses {
    /// Whether the block only adds to elements, once to each: it reads none but those that it stores, and stores none twice.
    fn is_added_once(&self, kernel: &Sized, parents: &[usize], block: usize) -> bool {
        let is_once = |(nth, (at, position)): (usize, &(usize, Affine))| {
            let differs = |&at: &usize| {
                let iname = kernel.nest.loops[at].iname;
                iname.is_none_or(|iname| position.coefficient(Var::Iname(iname)) != 0)
            };
            around(parents, *at).take_while(|&at| at != block).all(|at| differs(&at))
                && self.stores[..nth].iter().all(|(_, other)| other != position)
        };
        self.stores.iter().enumerate().all(is_once) && self.loads.iter().all(|load| self.stores.contains(load))
    }
}

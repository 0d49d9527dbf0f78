//! What one iteration of a loop does, in machine operations.

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::{ArrayId, InameId, InameSet};

use crate::packing::Packing;

/// Calls by how long they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    Exponential,
    Trigonometric,
    Power,
    Other,
}

/// An element that is loaded or stored.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) array: ArrayId,
    /// Its position in the array, in elements; `None` if it is not affine.
    pub(crate) position: Option<Affine>,
    /// How often in an iteration.
    pub(crate) times: f64,
}

/// How an iteration accesses a small array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) array: ArrayId,
    pub(crate) n_elements: f64,
    /// How often it reads an element that it does not add to.
    pub(crate) n_read: f64,
    pub(crate) is_stored: bool,
}

/// What one iteration does; counts are sums over its operations, weighted with how often each runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    /// Sums, products, fused operations, selections, comparisons.
    pub(crate) arithmetic: f64,
    pub(crate) quotients: f64,
    pub(crate) roots: f64,
    /// Calls, in the order of [`CallKind`].
    pub(crate) calls: [f64; 4],
    pub(crate) loads: Vec<Reference>,
    pub(crate) stores: Vec<Reference>,
    /// Operations that are none if loops over all these inames are unrolled: then their operands are numbers.
    pub(crate) folded: Vec<(InameSet, f64)>,
    /// Operations on integers that are not part of an address.
    pub(crate) integers: f64,
    /// Conditions that are branched on.
    pub(crate) branches: f64,
    /// Lanes that are put in order, one by one.
    pub(crate) moved: f64,
    /// Shuffles that transpose the elements of a block.
    pub(crate) turned: f64,
    /// Vectors that are stored in between, and loaded again.
    pub(crate) copied: f64,
    /// Arrays of which blocks are transposed, with the bytes of a block, twice if it is written.
    pub(crate) packed: Vec<(ArrayId, f64)>,
    /// Loads and stores of spilled values, which find no free register.
    pub(crate) spilled: Vec<(f64, f64)>,
    /// Accesses to small arrays that are in registers, as far as there are any.
    pub(crate) held: Vec<Held>,
    /// Vectors of numbers that straight-line code loads.
    pub(crate) numbers: f64,
    /// How many vectors of straight-line code are ready before the first of them is stored, and how often: those that find no free register are spilled.
    pub(crate) at_once: Vec<(f64, f64)>,
    /// Values that each iteration adds to, kept in registers.
    pub(crate) reductions: f64,
    /// Elements that each iteration adds to, stored and loaded each time.
    pub(crate) reductions_in_memory: f64,
    /// How many operations, one after the other, each iteration waits for because it reads what earlier ones have stored.
    pub(crate) recurrence: f64,
    /// Whether it is a long loop in which each iteration adds to an element of an array: C adds up scalars in lanes, and nothing else.
    pub(crate) adds_to_elements: bool,
    /// Whether there is something that no vector does: a call without vector form, an opaque instruction.
    pub(crate) is_scalar: bool,
}

/// How much of everything an iteration has done so far: what [`Work::since`] begins from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    counts: Counts,
    n_loads: usize,
    n_stores: usize,
}

/// Operations by what they keep busy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) arithmetic: f64,
    pub(crate) quotients: f64,
    pub(crate) roots: f64,
    /// In the order of [`CallKind`].
    pub(crate) calls: [f64; 4],
    pub(crate) loads: f64,
    pub(crate) stores: f64,
    pub(crate) integers: f64,
    pub(crate) branches: f64,
}

impl Work {
    /// What there is now, loads and stores aside.
    fn counts(&self) -> Counts {
        Counts {
            arithmetic: self.arithmetic,
            quotients: self.quotients,
            roots: self.roots,
            calls: self.calls,
            loads: 0.0,
            stores: 0.0,
            integers: self.integers,
            branches: self.branches,
        }
    }

    /// What there is now.
    pub(crate) fn mark(&self) -> Mark {
        Mark { counts: self.counts(), n_loads: self.loads.len(), n_stores: self.stores.len() }
    }

    /// What has been added since.
    pub(crate) fn since(&self, mark: &Mark) -> Counts {
        let (now, then) = (self.counts(), mark.counts);
        let mut calls = now.calls;
        calls.iter_mut().zip(then.calls).for_each(|(now, then)| *now -= then);
        Counts {
            arithmetic: now.arithmetic - then.arithmetic,
            quotients: now.quotients - then.quotients,
            roots: now.roots - then.roots,
            calls,
            loads: count(self.loads.get(mark.n_loads..).unwrap_or_default()),
            stores: count(self.stores.get(mark.n_stores..).unwrap_or_default()),
            integers: now.integers - then.integers,
            branches: now.branches - then.branches,
        }
    }

    /// Adds what a loop with so many iterations does, run once.
    pub(crate) fn add_unrolled(&mut self, other: &Self, trips: f64) {
        self.arithmetic += other.arithmetic * trips;
        self.quotients += other.quotients * trips;
        self.roots += other.roots * trips;
        for (sum, calls) in self.calls.iter_mut().zip(other.calls) {
            *sum += calls * trips;
        }
        let times = |reference: &Reference| Reference { times: reference.times * trips, ..reference.clone() };
        self.loads.extend(other.loads.iter().map(times));
        self.stores.extend(other.stores.iter().map(times));
        self.integers += other.integers * trips;
        self.branches += other.branches * trips;
        self.moved += other.moved * trips;
        self.turned += other.turned * trips;
        self.copied += other.copied * trips;
        self.packed.extend(other.packed.iter().map(|(array, bytes)| (*array, bytes * trips)));
        self.spilled.extend(other.spilled.iter().map(|(distance, n)| (*distance, n * trips)));
        self.held.extend(other.held.iter().map(|held| Held { n_read: held.n_read * trips, ..*held }));
        self.numbers += other.numbers * trips;
        self.at_once.extend(other.at_once.iter().map(|(n_vectors, n)| (*n_vectors, n * trips)));
        self.is_scalar |= other.is_scalar;
    }

    /// What one vector of so many lanes does where an iteration of `iname` does this, and the kernel says that the iterations are lanes:
    /// elements that are not side by side are transposed, unless a whole block of them is, and functions are called lane by lane.
    pub(crate) fn in_lanes(mut self, iname: InameId, lanes: f64, packing: &Packing) -> Self {
        let is_apart = |reference: &Reference| {
            let stride = reference.position.as_ref().map(|position| position.coefficient(Var::Iname(iname)));
            !packing.contains(reference.array) && !matches!(stride, Some(0 | 1))
        };
        let n_apart: f64 = self.loads.iter().chain(&self.stores).filter(|one| is_apart(one)).map(|one| one.times).sum();
        self.moved += n_apart * lanes.max(1.0).log2();
        self.calls.iter_mut().for_each(|calls| *calls *= lanes);
        self.is_scalar = false;
        self
    }

    /// What is left where loops over these inames are unrolled: numbers instead of elements of tables.
    pub(crate) fn with_unrolled(&self, inames: &InameSet, is_table: &[bool]) -> Self {
        let mut res = self.clone();
        res.folded.retain(|(needed, _)| !needed.is_subset(inames));
        let gone: f64 = self.folded.iter().filter(|(needed, _)| needed.is_subset(inames)).map(|folded| folded.1).sum();
        res.arithmetic = (res.arithmetic - gone).max(0.0);
        res.loads.retain(|load| {
            let is_known = |position: &Affine| position.inames().all(|iname| inames.contains(iname));
            !(is_table[load.array.index()] && load.position.as_ref().is_some_and(is_known))
        });
        res
    }

    /// All operations, as a compiler that unrolls counts them.
    pub(crate) fn operations(&self) -> f64 {
        self.arithmetic
            + self.quotients
            + self.roots
            + self.calls.iter().sum::<f64>()
            + self.integers
            + self.branches
            + count(&self.loads)
            + count(&self.stores)
    }
}

/// How many there are in an iteration.
pub(crate) fn count(references: &[Reference]) -> f64 {
    references.iter().map(|reference| reference.times).sum()
}

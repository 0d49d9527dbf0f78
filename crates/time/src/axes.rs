//! The axis along which each array is best kept in memory.
//!
//! # Method
//! Compilers put the iterations of the innermost loop that is left into vector lanes, and give up where neighbouring iterations read elements that lie apart. So each
//! access votes for the axis along which that loop goes, as often as it runs, and twice if it writes. What is read of a table against the vote is read of a copy.
//! # Complexity
//! Linear in accesses times the depth of loops.

use std::collections::BTreeMap;

use nestegg_ir::affine::Var;
use nestegg_ir::{ArrayId, ExprId, InsnId};

use crate::body::Reference;
use crate::machine::Machine;
use crate::shape::{Sized, Strided, in_registers, unrolled};

/// Axes that are better last in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axes {
    /// Of temporaries and tables, where it is another than the last one now.
    pub arrays: Vec<(ArrayId, usize)>,
    /// Of tables where an instruction reads them, by the access, if it is not the one that the table has then.
    pub reads: Vec<(InsnId, ExprId, usize)>,
}

impl Axes {
    /// Whether all arrays are as they should be.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arrays.is_empty() && self.reads.is_empty()
    }
}

/// The axes for the loops that can run in lanes.
pub(crate) fn axes(kernel: &Sized, machine: &Machine) -> Axes {
    let loops = &kernel.nest.loops;
    let parents = kernel.parents();
    // Arrays that are laid out anew are no reason to unroll a loop.
    let unrolled = unrolled(kernel, &parents, machine, Strided::OfArguments);
    let in_registers = in_registers(kernel, &parents, &unrolled);
    let mut has_loops = vec![false; loops.len()];
    for idx in 1..loops.len() {
        has_loops[parents[idx]] |= !unrolled[idx];
    }
    // The axis along which the loop goes that may run in lanes.
    let along = |reference: &Reference, at: usize| {
        let mut around = at;
        while unrolled[around] {
            around = parents[around];
        }
        let iname = loops[around].iname.filter(|_| !has_loops[around])?;
        let (strides, position) = (kernel.strides[reference.array.index()].as_ref()?, reference.position.as_ref()?);
        let step = position.coefficient(Var::Iname(iname)).unsigned_abs();
        strides.iter().rposition(|&stride| step > 0 && stride == step)
    };
    let n_iterations = kernel.n_iterations();
    let mut votes: BTreeMap<ArrayId, Vec<f64>> = BTreeMap::new();
    let mut vote = |reference: &Reference, at: usize, worth: f64| {
        let axis = along(reference, at)?;
        let n_axes = kernel.strides[reference.array.index()].as_ref()?.len();
        votes.entry(reference.array).or_insert_with(|| vec![0.0; n_axes])[axis] +=
            reference.times * worth * n_iterations[at];
        Some(axis)
    };
    for (at, one) in loops.iter().enumerate() {
        let is_ours = |of: &Reference| kernel.is_local[of.array.index()] && !in_registers[of.array.index()];
        one.work.loads.iter().filter(|of| is_ours(of)).for_each(|of| _ = vote(of, at, 1.0));
        one.work.stores.iter().filter(|of| is_ours(of)).for_each(|of| _ = vote(of, at, 2.0));
    }
    let mut reads = Vec::new();
    for read in &kernel.nest.reads {
        reads.extend(vote(&read.of, read.at, 1.0).map(|axis| (read, axis)));
    }
    // Of equals the last axis stays, else the first of those with most votes.
    let best = |votes: &[f64]| {
        let most = votes.iter().copied().fold(0.0, f64::max);
        let is_most = |&votes: &f64| votes == most;
        let last = votes.len() - 1;
        if is_most(&votes[last]) { last } else { votes.iter().position(is_most).unwrap_or(last) }
    };
    let last: BTreeMap<ArrayId, usize> = votes.iter().map(|(array, votes)| (*array, best(votes))).collect();
    let is_moved = |(array, axis): &(ArrayId, usize)| axis + 1 < votes[array].len();
    let reads = reads.into_iter().filter(|(read, axis)| last[&read.of.array] != *axis);
    let reads = reads.map(|(read, axis)| (read.insn, read.access, axis)).collect();
    Axes { arrays: last.into_iter().filter(is_moved).collect(), reads }
}

//! The axis along which each array is best kept in memory.
//!
//! # Method
//! Compilers put the iterations of the innermost loop that is left into vector lanes, and give up where neighbouring iterations read elements that lie apart. So each
//! access votes for the axis along which that loop goes, as often as it runs, and twice if it writes.
//! # Complexity
//! Linear in accesses times the depth of loops.

use std::collections::BTreeMap;

use nestegg_ir::ArrayId;
use nestegg_ir::affine::Var;

use crate::machine::Machine;
use crate::shape::{Sized, Strided, in_registers, unrolled};

/// For each temporary and table of which another axis than the last has most votes, that axis.
pub(crate) fn axes(kernel: &Sized, machine: &Machine) -> Vec<(ArrayId, usize)> {
    let loops = &kernel.nest.loops;
    let parents = kernel.parents();
    // Arrays that are laid out anew are no reason to unroll a loop.
    let unrolled = unrolled(kernel, &parents, machine, Strided::OfArguments);
    let in_registers = in_registers(kernel, &parents, &unrolled);
    let mut has_loops = vec![false; loops.len()];
    for idx in 1..loops.len() {
        has_loops[parents[idx]] |= !unrolled[idx];
    }
    let n_iterations = kernel.n_iterations();
    let mut votes: BTreeMap<ArrayId, Vec<f64>> = BTreeMap::new();
    for (idx, one) in loops.iter().enumerate() {
        let mut around = idx;
        while unrolled[around] {
            around = parents[around];
        }
        let Some(iname) = loops[around].iname.filter(|_| !has_loops[around]) else { continue };
        let accesses = one.work.loads.iter().map(|load| (load, 1.0));
        for (reference, worth) in accesses.chain(one.work.stores.iter().map(|store| (store, 2.0))) {
            let array = reference.array.index();
            let (Some(strides), Some(position)) = (&kernel.strides[array], &reference.position) else { continue };
            let step = position.coefficient(Var::Iname(iname)).unsigned_abs();
            if let Some(axis) = strides.iter().rposition(|&stride| step > 0 && stride == step)
                && (kernel.is_local[array] || kernel.is_table[array])
                && !in_registers[array]
            {
                let votes = votes.entry(reference.array).or_insert_with(|| vec![0.0; strides.len()]);
                votes[axis] += reference.times * worth * n_iterations[idx];
            }
        }
    }
    let best = |(array, votes): (ArrayId, Vec<f64>)| {
        let (mut axis, mut most) = (votes.len() - 1, votes[votes.len() - 1]);
        for (other, &number) in votes.iter().enumerate() {
            if number > most {
                (axis, most) = (other, number);
            }
        }
        (axis + 1 < votes.len()).then_some((array, axis))
    };
    votes.into_iter().filter_map(best).collect()
}

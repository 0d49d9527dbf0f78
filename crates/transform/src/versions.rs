//! Which state of memory a read sees, and from where to where it may move.
//!
//! # Input
//! A kernel in its order, without substitution rules.
//! # Output
//! For each instruction and each array that it reads and that some instruction writes: a [`Version`]. Take the outermost item around the
//! reader (a loop, a condition, or the instruction itself) in which nothing writes the array. Between the writers before and
//! after it in its sequence, at fixed values of the loops around that sequence, the array does not change.
//! # Complexity
//! For each read a walk over the nesting; for each sequence its writers.

use std::sync::Arc;

use indexmap::IndexMap;
use nestegg_ir::{ArrayId, InameSet, InsnId, LinearizedKernel};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::memory::Memory;
use crate::nest::{Entry, Nest, NestError, NodeId};

/// A state of one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Reads of one array see the same state if their versions have the same id and the pinned inames the same values.
    pub id: usize,
    /// The array.
    pub array: ArrayId,
    /// The loops in which the state is another in each iteration.
    pub pinned: InameSet,
    /// All writers in the sequence, in order.
    writers: Arc<[InsnId]>,
    /// How many of them come before.
    n_before: usize,
}

impl Version {
    /// The writers after which the state is seen, within one iteration of the pinned loops: those of the preceding items of the sequence,
    /// in order.
    #[must_use]
    pub fn after(&self) -> &[InsnId] {
        &self.writers[..self.n_before]
    }

    /// The writers before which it is seen: those of the following items, or the reading instruction itself, in order.
    #[must_use]
    pub fn before(&self) -> &[InsnId] {
        &self.writers[self.n_before..]
    }
}

/// The versions that a kernel's instructions read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    versions: Vec<Version>,
    of_reads: IndexMap<(InsnId, ArrayId), usize, FxBuildHasher>,
}

impl Versions {
    /// What `insn` sees of `array`; nothing if it does not read it or no instruction writes it.
    #[must_use]
    pub fn of(&self, insn: InsnId, array: ArrayId) -> Option<&Version> {
        self.of_reads.get(&(insn, array)).map(|&id| &self.versions[id])
    }

    /// All versions, by id.
    #[must_use]
    pub fn all(&self) -> &[Version] {
        &self.versions
    }

    /// All reads of memory that is written, in the order of the instructions.
    pub fn reads(&self) -> impl Iterator<Item = (InsnId, &Version)> + '_ {
        self.of_reads.iter().map(|(&(insn, _), &id)| (insn, &self.versions[id]))
    }
}

/// The versions that the instructions of a kernel read.
///
/// # Errors
/// If the linearization is not that of the kernel.
pub fn versions(linearized: &LinearizedKernel) -> Result<Versions, NestError> {
    let LinearizedKernel { kernel, linearization } = linearized;
    let nest = Nest::new(kernel, linearization)?;
    let mut writers: Vec<Vec<usize>> = vec![Vec::new(); kernel.arrays.len()];
    for (position, entry) in nest.entries() {
        if let Entry::Run(insn) = entry {
            for array in kernel[insn].written_arrays() {
                writers[array.index()].push(position);
            }
        }
    }
    for positions in &mut writers {
        positions.dedup();
    }
    let mut res = Versions::default();
    let mut known: FxHashMap<(ArrayId, NodeId, usize), usize> = FxHashMap::default();
    let mut sequences: FxHashMap<(ArrayId, NodeId), Arc<[InsnId]>> = FxHashMap::default();
    let memory = Memory::new(kernel);
    for reader in kernel.insn_ids() {
        for array in memory.read_by(kernel, reader) {
            let writers = &writers[array.index()];
            let writes_in = |start: usize, end: usize| {
                writers.partition_point(|&writer| writer < start)..writers.partition_point(|&writer| writer < end)
            };
            let position = nest.position(reader);
            let (mut start, mut level) = (position, nest.home(reader));
            if writes_in(position, position + 1).is_empty() {
                while level != NodeId::ROOT && writes_in(nest[level].start, nest[level].end).is_empty() {
                    (start, level) = (nest[level].start, nest[level].parent);
                }
            }
            let before = writes_in(nest[level].start, start);
            let id = *known.entry((array, level, before.len())).or_insert_with(|| {
                let writers = sequences.entry((array, level)).or_insert_with(|| {
                    let range = writes_in(nest[level].start, nest[level].end);
                    writers[range].iter().map(|&at| nest.run_at(at)).collect()
                });
                res.versions.push(Version {
                    id: res.versions.len(),
                    array,
                    pinned: nest.loops(level).collect(),
                    writers: Arc::clone(writers),
                    n_before: before.len(),
                });
                res.versions.len() - 1
            });
            res.of_reads.insert((reader, array), id);
        }
    }
    Ok(res)
}

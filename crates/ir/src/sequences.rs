//! Addresses in a loop tree: sequences of items and where instructions are in them; which state of memory a read sees.
//!
//! A *sequence* is the body of a loop or of a condition, or the whole program. Its items are numbered as they come.

use rustc_hash::FxHashMap;

use crate::ids::{ArrayId, ExprId, InameId, InameSet, InsnId};
use crate::kernel::LinearizedKernel;
use crate::linearization::Item;

/// A sequence, by position in [`Sequences::list`]; the whole program is 0.
pub type SequenceIdx = usize;

/// The body of a loop or condition, or the whole program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// The sequence in which this one is an item, and which; `None` for the whole program.
    pub parent: Option<(SequenceIdx, usize)>,
    /// How many sequences are around it.
    pub depth: usize,
    /// The loops around its items, outermost first.
    pub loops: Vec<InameId>,
    /// The conditions around its items, outermost first.
    pub conditions: Vec<ExprId>,
    /// How many items it has.
    pub n_items: usize,
}

/// A state of memory that an array goes through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryState {
    /// The sequence between whose items the array changes.
    pub sequence: SequenceIdx,
    /// How many items before the reader's write the array.
    pub n_writers_before: usize,
    /// The loops around the sequence: the state may differ from one of their iterations to the next.
    pub pinned: InameSet,
}

/// All sequences of a linearized kernel, and the place of each instruction.
#[derive(Clone, Debug)]
pub struct Sequences {
    /// The sequences; each comes after its parent.
    pub list: Vec<Sequence>,
    /// For each instruction its sequence and item; (0, 0) for one that is not run.
    pub places: Vec<(SequenceIdx, usize)>,
    /// For each array the sequences in which some items write it, with these items in increasing order.
    writers: Vec<FxHashMap<SequenceIdx, Vec<usize>>>,
}

impl Sequences {
    /// The sequences of a linearized kernel.
    #[must_use]
    pub fn new(linearized: &LinearizedKernel) -> Self {
        let kernel = &linearized.kernel;
        let mut res = Self {
            list: vec![Sequence::default()],
            places: vec![(0, 0); kernel.instructions.len()],
            writers: vec![FxHashMap::default(); kernel.arrays.len()],
        };
        let mut open: Vec<SequenceIdx> = vec![0];
        for item in &linearized.linearization {
            let current = *open.last().unwrap_or(&0);
            match *item {
                Item::End(_) | Item::EndIf => {
                    open.pop();
                    continue;
                }
                Item::Run(insn) => res.places[insn.index()] = (current, res.list[current].n_items),
                Item::For(_) | Item::If(_) => {
                    let mut inner = res.list[current].clone();
                    inner.parent = Some((current, inner.n_items));
                    inner.depth += 1;
                    inner.n_items = 0;
                    match *item {
                        Item::For(iname) => inner.loops.push(iname),
                        Item::If(condition) => inner.conditions.push(condition),
                        _ => {}
                    }
                    open.push(res.list.len());
                    res.list.push(inner);
                }
            }
            res.list[current].n_items += 1;
        }
        for insn in kernel.insn_ids() {
            for array in kernel[insn].written_arrays() {
                let mut place = Some(res.places[insn.index()]);
                while let Some((sequence, item)) = place {
                    res.writers[array.index()].entry(sequence).or_default().push(item);
                    place = res.list[sequence].parent;
                }
            }
        }
        for items in res.writers.iter_mut().flat_map(FxHashMap::values_mut) {
            items.sort_unstable();
            items.dedup();
        }
        res
    }

    /// The item of `sequence` in which a place is; `None` if it is outside.
    #[must_use]
    pub fn item_in(&self, place: (SequenceIdx, usize), sequence: SequenceIdx) -> Option<usize> {
        let (mut current, mut item) = place;
        while current != sequence {
            (current, item) = self.list[current].parent?;
        }
        Some(item)
    }

    /// The innermost sequence that holds both places.
    #[must_use]
    pub fn common(&self, a: SequenceIdx, b: SequenceIdx) -> SequenceIdx {
        let (mut a, mut b) = (a, b);
        while a != b {
            // The deeper one goes up; a sequence without parent is the whole program, which holds everything.
            let deeper = if self.list[a].depth >= self.list[b].depth { &mut a } else { &mut b };
            *deeper = self.list[*deeper].parent.map_or(0, |(parent, _)| parent);
        }
        a
    }

    /// The state of `array` that a read by `insn` sees; `None` if no instruction writes the array.
    ///
    /// It is the state between two neighbouring writers in the innermost sequence in which `insn` and a
    /// writer are: the sequence of the instruction itself if it writes what it reads.
    #[must_use]
    pub fn memory_state(&self, insn: InsnId, array: ArrayId) -> Option<MemoryState> {
        let (mut sequence, mut own) = self.places[insn.index()];
        loop {
            if let Some(writers) = self.writers[array.index()].get(&sequence) {
                let n_writers_before = writers.partition_point(|&item| item < own);
                let pinned = self.list[sequence].loops.iter().copied().collect();
                return Some(MemoryState { sequence, n_writers_before, pinned });
            }
            (sequence, own) = self.list[sequence].parent?;
        }
    }
}

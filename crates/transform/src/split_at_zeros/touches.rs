//! Who reads and writes each array, in order: what a store that moves has to be compared with.
//!
//! # Input
//! A kernel with its loop tree.
//! # Output
//! Whether anything between two positions writes an array or tests it, and whether a store may come before or after
//! everything there that touches its array.
//! # Method
//! Lists by array, sorted by position. Stores that all add to their elements commute; so do stores that read no more of
//! the array than the element that they write, where the elements differ. The element of one store differs from those of all others if in some dimension
//! its interval meets no other, which two sorted lists of ends tell; only where that says nothing are stores compared one by one.
//! # Complexity
//! Linear in the stores, times a logarithm, but for comparisons one by one.

use std::ops::Range;

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::{ArrayId, Assignee, Expr, ExprId, Exprs, InsnId, Instruction, InstructionKind, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::memory::Memory;
use crate::nest::{Entry, Nest, NodeKind};
use crate::split_at_zeros::boxes::Interval;
use crate::split_at_zeros::rewrite::Rewriter;

/// What is known of an assignment.
#[derive(Debug)]
pub(crate) struct Store {
    array: ArrayId,
    /// Whether it adds to its element what does not read the array.
    pub(crate) is_accumulation: bool,
    /// Whether it reads of its array no more than the element that it writes, and only in what it stores.
    pub(crate) reads_only_itself: bool,
    /// Its indices where they are affine, with an interval around their values where there is one.
    indices: Vec<(Option<Affine>, Option<Interval>)>,
}

/// Who touches one array.
#[derive(Debug, Default)]
struct OfArray {
    /// Positions of what writes it.
    writers: Vec<usize>,
    /// Positions of the conditions that read it.
    conditions: Vec<usize>,
    /// What reads or writes it, with its position.
    touching: Vec<(usize, InsnId)>,
    /// How many of these, up to each, are no accumulations to it.
    n_others: Vec<usize>,
    /// How many of these, up to each, are no stores to it that read only their element.
    n_readers: Vec<usize>,
    /// For each dimension in which all of its stores have intervals: the beginnings and the ends, sorted.
    ends: Vec<Option<(Vec<i64>, Vec<i64>)>>,
}

/// Who reads and writes each array.
#[derive(Debug)]
pub(crate) struct Touches {
    arrays: Vec<OfArray>,
    /// For each instruction what is known of it, if it is an assignment.
    stores: Vec<Option<Store>>,
}

/// Elements of an array, with expressions that read no other element of it.
type Clean = FxHashMap<(ArrayId, Box<[ExprId]>), FxHashSet<ExprId>>;

impl Touches {
    /// Looks at every instruction and condition once.
    pub(crate) fn new(rewriter: &Rewriter, nest: &Nest, memory: &Memory) -> Self {
        let kernel = &rewriter.kernel;
        let mut clean = Clean::default();
        let mut store = |insn: InsnId| {
            let instruction = &kernel[insn];
            let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return None };
            let index = |&index: &ExprId| {
                let affine = affine::of(&kernel.exprs, index);
                let interval = affine.as_ref().and_then(|affine| rewriter.boxes.interval(affine));
                (affine, interval)
            };
            let is_addressed =
                assignee.indices.iter().chain(&instruction.predicates).any(|&expr| reads(memory, expr, assignee.array));
            Some(Store {
                array: assignee.array,
                is_accumulation: !is_addressed && accumulates(&kernel.exprs, memory, assignee, *expression),
                reads_only_itself: !is_addressed
                    && reads_only(&kernel.exprs, memory, assignee, *expression, &mut clean),
                indices: assignee.indices.iter().map(index).collect(),
            })
        };
        let stores: Vec<Option<Store>> = kernel.insn_ids().map(&mut store).collect();
        let mut res = Self { arrays: kernel.arrays.iter().map(|_| OfArray::default()).collect(), stores };
        for (position, entry) in nest.entries() {
            match entry {
                Entry::Run(insn) => res.note(position, insn, &kernel[insn], memory.read_by(kernel, insn)),
                Entry::Begin(node) => {
                    if let NodeKind::Branch(condition) = nest[node].kind {
                        for array in memory.of(condition) {
                            res.arrays[array.index()].conditions.push(position);
                        }
                    }
                }
            }
        }
        res.sort_ends();
        res
    }

    fn note(&mut self, position: usize, insn: InsnId, instruction: &Instruction, mut touched: Vec<ArrayId>) {
        let written = instruction.written_arrays();
        for &array in &written {
            self.arrays[array.index()].writers.push(position);
        }
        touched.extend(written);
        touched.sort_unstable();
        touched.dedup();
        for array in touched {
            let own = self.stores[insn.index()].as_ref().filter(|store| store.array == array);
            let of_array = &mut self.arrays[array.index()];
            of_array.touching.push((position, insn));
            let n_others = of_array.n_others.last().copied().unwrap_or(0);
            of_array.n_others.push(n_others + usize::from(!own.is_some_and(|own| own.is_accumulation)));
            let n_readers = of_array.n_readers.last().copied().unwrap_or(0);
            of_array.n_readers.push(n_readers + usize::from(!own.is_some_and(|own| own.reads_only_itself)));
        }
    }

    fn sort_ends(&mut self) {
        let mut all: FxHashMap<ArrayId, Vec<&Store>> = FxHashMap::default();
        for store in self.stores.iter().flatten() {
            all.entry(store.array).or_default().push(store);
        }
        for (idx, of_array) in self.arrays.iter_mut().enumerate() {
            let Some(stores) = all.get(&ArrayId::new(idx)) else { continue };
            of_array.ends = (0..stores[0].indices.len())
                .map(|dim| {
                    let intervals = stores.iter().map(|store| store.indices.get(dim)?.1);
                    let (mut begins, mut ends): (Vec<i64>, Vec<i64>) =
                        intervals.collect::<Option<Vec<Interval>>>()?.into_iter().unzip();
                    begins.sort_unstable();
                    ends.sort_unstable();
                    Some((begins, ends))
                })
                .collect();
        }
    }

    /// What is known of an assignment.
    pub(crate) fn store(&self, insn: InsnId) -> Option<&Store> {
        self.stores[insn.index()].as_ref()
    }

    /// Whether anything between these positions, but at `own`, writes the array.
    pub(crate) fn is_written(&self, array: ArrayId, positions: &Range<usize>, own: usize) -> bool {
        let writers = &self.arrays[array.index()].writers;
        writers[between(writers, positions, |&position| position)].iter().any(|&position| position != own)
    }

    /// Whether a condition between these positions reads the array.
    pub(crate) fn is_tested(&self, array: ArrayId, positions: &Range<usize>) -> bool {
        let conditions = &self.arrays[array.index()].conditions;
        !between(conditions, positions, |&position| position).is_empty()
    }

    /// Whether the order of a store and everything between these positions does not matter as far as the stored array goes.
    pub(crate) fn commutes(&self, insn: InsnId, positions: &Range<usize>) -> bool {
        let Some(store) = self.store(insn) else { return false };
        let of_array = &self.arrays[store.array.index()];
        let range = between(&of_array.touching, positions, |&(position, _)| position);
        let counted = |counts: &[usize]| match range.clone() {
            range if range.is_empty() => 0,
            range => counts[range.end - 1] - range.start.checked_sub(1).map_or(0, |before| counts[before]),
        };
        if store.is_accumulation && counted(&of_array.n_others) == 0 {
            return true;
        }
        if counted(&of_array.n_readers) == 0 && of_array.is_apart_from_all(store) {
            return true;
        }
        of_array.touching[range].iter().filter(|(_, other)| *other != insn).all(|&(_, other)| {
            let other = self.store(other).filter(|other| other.array == store.array);
            other.is_some_and(|other| {
                store.is_accumulation && other.is_accumulation
                    || other.reads_only_itself && are_disjoint(&store.indices, &other.indices)
            })
        })
    }
}

impl OfArray {
    /// Whether in some dimension the store's interval meets that of no other store to the array.
    fn is_apart_from_all(&self, store: &Store) -> bool {
        self.ends.iter().zip(&store.indices).any(|(ends, (_, interval))| {
            let (Some((begins, ends)), Some((begin, end))) = (ends, interval) else { return false };
            let n_before = ends.partition_point(|other| other <= begin);
            let n_not_after = begins.partition_point(|other| other < end);
            // It meets itself.
            n_not_after == n_before + 1
        })
    }
}

/// The part of a list, sorted by position, that is between positions.
fn between<T>(list: &[T], positions: &Range<usize>, position: impl Fn(&T) -> usize) -> Range<usize> {
    let from = list.partition_point(|item| position(item) < positions.start);
    from..list.partition_point(|item| position(item) < positions.end).max(from)
}

fn reads(memory: &Memory, expr: ExprId, array: ArrayId) -> bool {
    memory.of(expr).binary_search(&array).is_ok()
}

/// Whether an expression reads no element of the assignee's array but the assignee.
fn reads_only(exprs: &Exprs, memory: &Memory, assignee: &Assignee, root: ExprId, clean: &mut Clean) -> bool {
    let clean = clean.entry((assignee.array, assignee.indices.clone())).or_default();
    let mut seen: FxHashSet<ExprId> = FxHashSet::default();
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        if !reads(memory, id, assignee.array) || clean.contains(&id) || !seen.insert(id) {
            continue;
        }
        if matches!(&exprs[id], Expr::Access { array, .. } if *array == assignee.array) {
            if !is_element(exprs, id, assignee) {
                return false;
            }
            continue;
        }
        pending.extend(exprs[id].children());
    }
    clean.extend(seen);
    true
}

/// Whether an expression adds to the assignee what does not read its array.
fn accumulates(exprs: &Exprs, memory: &Memory, assignee: &Assignee, expression: ExprId) -> bool {
    let mut spine = expression;
    while !is_element(exprs, spine, assignee) {
        let Expr::Op { op: op @ (Op::Add | Op::Sub), operands } = &exprs[spine] else { return false };
        let mut reading = operands.iter().enumerate().filter(|(_, operand)| reads(memory, **operand, assignee.array));
        match (op, reading.next(), reading.next()) {
            (Op::Add, Some((_, &operand)), None) | (Op::Sub, Some((0, &operand)), None) => spine = operand,
            _ => return false,
        }
    }
    spine != expression
}

/// Whether an expression is the element that an assignee is.
pub(crate) fn is_element(exprs: &Exprs, expr: ExprId, assignee: &Assignee) -> bool {
    let is_same = |a: ExprId, b: ExprId| {
        a == b || affine::of(exprs, a).is_some_and(|affine| affine::of(exprs, b) == Some(affine))
    };
    match &exprs[expr] {
        Expr::Access { array, indices } => {
            *array == assignee.array && indices.iter().zip(&assignee.indices).all(|(&a, &b)| is_same(a, b))
        }
        _ => false,
    }
}

/// Whether indices surely differ, in each other's intervals or by their multiples.
fn are_disjoint(a: &[(Option<Affine>, Option<Interval>)], b: &[(Option<Affine>, Option<Interval>)]) -> bool {
    a.iter().zip(b).any(|((a, of_a), (b, of_b))| {
        let are_apart = matches!((of_a, of_b), (Some(a), Some(b)) if a.1 <= b.0 || b.1 <= a.0);
        are_apart || matches!((a, b), (Some(a), Some(b)) if are_incongruent(a, b))
    })
}

/// Whether two affine functions differ whatever their variables are, each's own.
fn are_incongruent(a: &Affine, b: &Affine) -> bool {
    let coefficients = a.terms.iter().chain(&b.terms).map(|term| term.1.unsigned_abs());
    let divisor = coefficients.fold(0, |mut divisor: u64, mut rest| {
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        divisor
    });
    let difference = a.constant.abs_diff(b.constant);
    !difference.is_multiple_of(divisor)
}

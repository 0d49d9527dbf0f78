//! Stores that add to the same elements become one.
//!
//! # Input
//! A kernel whose temporaries are resolved.
//! # Output
//! `A[j] = A[j] + a` and, later in the same sequence and in loops over the same values, `A[j] = A[j] + b` become
//! `A[j] = A[j] + (a + b)` in the place of the first. So an integrand is one value, whether its terms came in one
//! instruction or in several, and whatever the names of the loops around each.
//! # Legality
//! Between the two, code touches the array only to add to it, and writes nothing that the second reads. Sums are those
//! of real numbers. Loops over other inames match those of the first under the renaming that makes the indices equal:
//! each iname is in an index, and ranges over the same values whatever the others are.
//! # Complexity
//! Linear in the linearization, except for the arrays that each instruction reads, and for the earlier stores to the
//! same array in loops over other inames.

use indexmap::IndexMap;
use nestegg_ir::affine::{self, Affine};
use nestegg_ir::domains::DomainError;
use nestegg_ir::linearization::{LoopTree, from_tree, only_run, runs_in, to_tree};
use nestegg_ir::{
    ArrayId, Expr, ExprId, InameId, InameSet, InsnId, Instruction, InstructionKind, Licence, LinearizedKernel, Op,
    ReduceOp,
};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::workspace::Workspace;

/// Joins what adds to the same elements.
///
/// # Errors
/// If a domain cannot be used.
pub(crate) fn join_stores(linearized: LinearizedKernel, licence: Licence) -> Result<LinearizedKernel, DomainError> {
    let LinearizedKernel { kernel, linearization } = linearized;
    let Some(tree) = to_tree(&linearization).ok().filter(|_| licence != Licence::Strict && has_two_writers(&kernel))
    else {
        return Ok(LinearizedKernel { kernel, linearization });
    };
    let mut joiner = Joiner { work: Workspace::new(kernel)? };
    joiner.work.licence = licence;
    let tree = joiner.sequence(tree);
    Ok(LinearizedKernel { kernel: joiner.work.kernel, linearization: from_tree(&tree) })
}

fn has_two_writers(kernel: &nestegg_ir::Kernel) -> bool {
    let mut n_writers = vec![0_usize; kernel.arrays.len()];
    for array in kernel.instructions.iter().flat_map(Instruction::written_arrays) {
        n_writers[array.index()] += 1;
    }
    n_writers.iter().any(|&n| n > 1)
}

type FxIndexMap<K, V> = IndexMap<K, V, FxBuildHasher>;

struct Joiner {
    work: Workspace,
}

/// What an instruction adds, and to what.
struct Addition {
    array: ArrayId,
    term: ExprId,
    place: Place,
}

/// An addition that others may join: where it is in the sequence, and its instruction.
type First = (usize, InsnId);

/// Additions at the same place may be one.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    array: ArrayId,
    indices: Box<[ExprId]>,
    loops: InameSet,
    predicates: Vec<ExprId>,
}

impl Joiner {
    /// The sequence with joined stores. As deep as loops nest, which is bounded.
    fn sequence(&mut self, nodes: Vec<LoopTree>) -> Vec<LoopTree> {
        let mut res: Vec<LoopTree> = Vec::with_capacity(nodes.len());
        let mut first: FxIndexMap<Place, First> = FxIndexMap::default();
        // For each array where it was last written, and where it was last touched but to add to it.
        let mut written: FxHashMap<ArrayId, usize> = FxHashMap::default();
        let mut touched: FxHashMap<ArrayId, usize> = FxHashMap::default();
        for (at, node) in nodes.into_iter().enumerate() {
            let own = self.addition(&node);
            // Its place in its own loops: where it stays.
            let stays = own.as_ref().map(|(_, addition)| addition.place.clone());
            let addition = own.map(|(insn, addition)| (insn, self.as_before(addition, &first)));
            if let Some((insn, addition)) = &addition {
                let is_free = |since: usize| {
                    let reads = self.work.facts.memory(addition.term).iter();
                    touched.get(&addition.array).is_none_or(|&last| last < since)
                        && reads.map(|array| written.get(array)).all(|last| last.is_none_or(|&last| last < since))
                };
                match first.get(&addition.place) {
                    Some(&(since, to)) if is_free(since) => {
                        self.join(to, addition);
                        continue;
                    }
                    _ => {
                        // What could not be joined now cannot be later.
                        first.shift_remove(&addition.place);
                        first.extend(stays.map(|place| (place, (at, *insn))));
                    }
                }
            }
            for insn in runs_in(std::slice::from_ref(&node)) {
                let instruction = &self.work.kernel[insn];
                let only_added = addition.as_ref().map(|(_, addition)| addition.array);
                let (reads, writes) = touches(&self.work, instruction);
                written.extend(writes.iter().map(|&array| (array, at)));
                let others = reads.into_iter().chain(writes).filter(|&array| Some(array) != only_added);
                touched.extend(others.map(|array| (array, at)));
            }
            res.push(match node {
                LoopTree::Loop { iname, body } => LoopTree::Loop { iname, body: self.sequence(body) },
                LoopTree::Branch { condition, body } => LoopTree::Branch { condition, body: self.sequence(body) },
                run @ LoopTree::Run(_) => run,
            });
        }
        res
    }

    /// What a nest of loops around one instruction adds to the elements of an array.
    fn addition(&mut self, node: &LoopTree) -> Option<(InsnId, Addition)> {
        let (loops, insn) = only_run(node)?;
        let loops: InameSet = loops.into_iter().collect();
        let instruction = self.work.kernel[insn].clone();
        let InstructionKind::Assignment { assignee, expression } = instruction.kind else { return None };
        let array = assignee.array;
        let mut others = assignee.indices.iter().chain(&instruction.predicates);
        if others.any(|&expr| self.work.reads(expr, array)) || !self.work.kernel[array].dtype.is_float() {
            return None;
        }
        let added = self.work.accumulation(array, &assignee.indices, expression)?;
        let indices = assignee.indices.iter().map(|&index| self.work.canonical_index(index)).collect();
        let place = Place { array, indices, loops, predicates: instruction.predicates };
        (added.op == ReduceOp::Sum).then_some((insn, Addition { array, term: added.term, place }))
    }

    /// The addition in the inames of an earlier one, if there is one at the same place but for the names of loops.
    fn as_before(&mut self, addition: Addition, first: &FxIndexMap<Place, First>) -> Addition {
        let own = self.loops_by_index(&addition.place);
        if own.is_empty() || first.contains_key(&addition.place) {
            return addition;
        }
        let is_like = |place: &&Place| place.array == addition.place.array && place.loops != addition.place.loops;
        let renamed = first.keys().filter(is_like).find_map(|place| {
            let others = self.loops_by_index(place);
            let is_same_range = |(&own, &other): (&InameId, &InameId)| own == other || self.is_same_range(own, other);
            if others.len() != own.len() || !own.iter().zip(&others).all(is_same_range) {
                return None;
            }
            let values: Vec<(InameId, ExprId)> =
                own.iter().zip(&others).map(|(&own, &other)| (own, self.work.intern(Expr::Iname(other)))).collect();
            let mut renamed = |expr: ExprId| self.work.instantiate(expr, &values, &place.loops);
            let indices =
                addition.place.indices.iter().map(|&index| renamed(index)).collect::<Option<Box<[ExprId]>>>()?;
            let predicates = addition.place.predicates.iter().map(|&expr| renamed(expr)).collect::<Option<Vec<_>>>()?;
            let term = renamed(addition.term)?;
            let indices = indices.iter().map(|&index| self.work.canonical_index(index)).collect();
            let there = Place { array: place.array, indices, loops: place.loops.clone(), predicates };
            (there == *place).then_some(Addition { array: addition.array, term, place: there })
        });
        renamed.unwrap_or(addition)
    }

    /// The inames of the loops in the order in which affine indices have them; none if one is in no index.
    fn loops_by_index(&self, place: &Place) -> Vec<InameId> {
        let mut res: Vec<InameId> = Vec::new();
        for &index in &place.indices {
            let affine = affine::of(&self.work.kernel.exprs, index);
            for iname in affine.iter().flat_map(Affine::inames).filter(|&iname| place.loops.contains(iname)) {
                if !res.contains(&iname) {
                    res.push(iname);
                }
            }
        }
        if res.len() == place.loops.len() { res } else { Vec::new() }
    }

    /// Whether two inames run over the same values, whatever others do, and in the same way.
    fn is_same_range(&self, a: InameId, b: InameId) -> bool {
        let Workspace { kernel, ranges, .. } = &self.work;
        ranges.is_independent(a)
            && ranges.is_independent(b)
            && kernel[a].tags == kernel[b].tags
            && ranges.text(a) == ranges.text(b)
    }

    /// Adds a term to what an instruction adds.
    fn join(&mut self, to: InsnId, addition: &Addition) {
        if let InstructionKind::Assignment { assignee, expression } = self.work.kernel[to].kind.clone()
            && let Some(own) = self.work.accumulation(assignee.array, &assignee.indices, expression)
        {
            let exprs = &mut self.work.kernel.exprs;
            let old = exprs.access(assignee.array, assignee.indices.clone());
            let sum = exprs.op(Op::Add, [own.term, addition.term]);
            let expression = exprs.op(Op::Add, [old, sum]);
            self.work.facts.extend(&self.work.kernel, &self.work.ranges);
            self.work.kernel[to].kind = InstructionKind::Assignment { assignee, expression };
        }
    }
}

/// The arrays that an instruction reads, of those that are written at all, and writes.
fn touches(work: &Workspace, instruction: &Instruction) -> (Vec<ArrayId>, Vec<ArrayId>) {
    let mut reads: Vec<ArrayId> =
        instruction.expressions().flat_map(|expr| work.facts.memory(expr).iter().copied()).collect();
    if let InstructionKind::Opaque { reads: own, .. } = &instruction.kind {
        reads.extend(own);
    }
    (reads, instruction.written_arrays())
}

//! Stores that accumulate in loops over which their element does not vary become one store of a reduction.
//!
//! # Input
//! A kernel whose temporaries are resolved as far as they can be, without dead code.
//! # Output
//! `A[j] = A[j] + e` inside a loop over `q` is `A[j] = A[j] + reduce(sum, [q], e)` after that loop, inside only those of its
//! loops over which `j` varies.
//! # Legality
//! Inside the loop that it leaves, whatever else touches the array accumulates into it in the same way, and nothing writes memory
//! that the store reads. A store at an index that is not affine, which may be outside of the array where the kernel does not run, leaves no loop that may be
//! empty. The reduced loops are not `sequential`, and they and the loops that stay do not bound each other.
//! # Complexity
//! For each accumulation the touches of its array inside the loop that it leaves.

use nestegg_ir::data_bounds::is_open;
use nestegg_ir::{
    ArrayId, Expr, ExprId, InameId, InameSet, InsnId, InstructionKind, Item, Licence, Linearization, LinearizedKernel,
    ReduceOp, affine,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::accumulation::Accumulation;
use crate::dead::without_empty;
use crate::nest::{Entry, Nest, NodeId, NodeKind};
use crate::normalise::NormaliseError;
use crate::workspace::Workspace;

/// Where an accumulation goes.
struct Move {
    insn: InsnId,
    /// The loop after which it goes.
    after: NodeId,
    /// The loops and conditions that go with it, outermost first.
    path: Vec<NodeId>,
}

/// Moves accumulations out of the loops that they reduce over.
pub(crate) fn hoist_accumulations(
    linearized: LinearizedKernel,
    licence: Licence,
) -> Result<LinearizedKernel, NormaliseError> {
    let LinearizedKernel { kernel, linearization } = linearized;
    let nest = Nest::new(&kernel, &linearization)?;
    let mut work = Workspace::new(kernel)?;
    work.licence = licence;
    let n_arrays = work.kernel.arrays.len();
    let mut hoister = Hoister {
        work,
        nest,
        accumulations: Vec::new(),
        touches: vec![Vec::new(); n_arrays],
        writers: vec![Vec::new(); n_arrays],
        common_ops: FxHashMap::default(),
    };
    hoister.find_accumulations();
    hoister.find_touches();
    let moves: Vec<Move> = hoister.work.kernel.insn_ids().filter_map(|insn| hoister.plan(insn)).collect();
    if moves.is_empty() {
        return Ok(LinearizedKernel { kernel: hoister.work.kernel, linearization });
    }
    let moves: Vec<Move> = moves.into_iter().filter(|planned| hoister.reduce(planned).is_some()).collect();
    let linearization = without_empty(hoister.place(&linearization, &moves));
    Ok(LinearizedKernel { kernel: hoister.work.kernel, linearization })
}

struct Hoister {
    work: Workspace,
    nest: Nest,
    /// For each instruction its accumulation, if it is one.
    accumulations: Vec<Option<Accumulation>>,
    /// For each array the positions that read or write it, with the instruction; none at a condition.
    touches: Vec<Vec<(usize, Option<InsnId>)>>,
    /// For each array the positions that write it.
    writers: Vec<Vec<usize>>,
    /// See [`Hoister::common_op`].
    common_ops: FxHashMap<(NodeId, ArrayId), Option<ReduceOp>>,
}

impl Hoister {
    fn find_accumulations(&mut self) {
        for insn in self.work.kernel.insn_ids() {
            let accumulation = match self.work.kernel[insn].kind.clone() {
                InstructionKind::Assignment { assignee, expression } => {
                    let array = assignee.array;
                    let others = assignee.indices.iter().chain(&self.work.kernel[insn].predicates);
                    let is_clean = !others.copied().any(|expr| self.work.reads(expr, array));
                    if is_clean && self.work.reads(expression, array) {
                        self.work.accumulation(array, &assignee.indices, expression)
                    } else {
                        None
                    }
                }
                _ => None,
            };
            self.accumulations.push(accumulation);
        }
    }

    fn find_touches(&mut self) {
        for (position, entry) in self.nest.entries() {
            let (insn, exprs) = match entry {
                Entry::Run(insn) => (Some(insn), self.work.kernel[insn].expressions().collect()),
                Entry::Begin(node) => match self.nest[node].kind {
                    NodeKind::Branch(condition) => (None, vec![condition]),
                    _ => continue,
                },
            };
            let mut arrays: Vec<_> = exprs.iter().flat_map(|&expr| self.work.facts.memory(expr)).copied().collect();
            if let Some(insn) = insn {
                for array in self.work.kernel[insn].written_arrays() {
                    self.writers[array.index()].push(position);
                    arrays.push(array);
                }
                if let InstructionKind::Opaque { reads, .. } = &self.work.kernel[insn].kind {
                    arrays.extend(reads);
                }
            }
            arrays.sort_unstable();
            arrays.dedup();
            for array in arrays {
                self.touches[array.index()].push((position, insn));
            }
        }
    }

    /// Where the accumulation goes, if it can leave a loop.
    fn plan(&mut self, insn: InsnId) -> Option<Move> {
        let accumulation = self.accumulations[insn.index()]?;
        let instruction = &self.work.kernel[insn];
        let assignee = &instruction.assignees()[0];
        let array = assignee.array;
        let varies: FxHashSet<InameId> =
            assignee.indices.iter().flat_map(|&index| self.work.facts.free(index)).copied().collect();
        // What the instruction reads must not be written in the loop that it leaves.
        let mut reads: Vec<_> = vec![accumulation.term];
        reads.extend(assignee.indices.iter().chain(&instruction.predicates));
        let is_gather = assignee.indices.iter().any(|&index| affine::of(&self.work.kernel.exprs, index).is_none());
        let mut res = None;
        let mut kept: Vec<NodeId> = Vec::new();
        let mut reduced: Vec<InameId> = Vec::new();
        let around: Vec<NodeId> = self.nest.below(self.nest.home(insn), NodeId::ROOT).collect();
        for node in around {
            let iname = match self.nest[node].kind {
                NodeKind::Loop(iname) => iname,
                NodeKind::Branch(condition) => {
                    reads.push(condition);
                    kept.push(node);
                    continue;
                }
                NodeKind::Root => break,
            };
            if varies.contains(&iname) {
                kept.push(node);
                continue;
            }
            let depends = |a: InameId, b: InameId| self.work.ranges.enclosing(a).any(|outer| outer == b);
            // Where a loop ends that data end may depend on any loop around it.
            let is_tangled = kept.iter().any(|&other| match self.nest[other].kind {
                NodeKind::Loop(other) => {
                    depends(other, iname) || depends(iname, other) || is_open(&self.work.kernel, other)
                }
                _ => false,
            });
            if is_tangled
                || (is_gather && !self.always_runs(iname))
                || self.work.kernel.is_sequential(iname)
                || !self.is_free(node, array, accumulation.op, &reads)
            {
                break;
            }
            reduced.push(iname);
            res = Some(Move { insn, after: node, path: kept.iter().rev().copied().collect() });
        }
        let mut res = res?;
        // Conditions on the reduced inames become part of the term; `reduce` drops them from the path.
        res.path.retain(|&node| match self.nest[node].kind {
            NodeKind::Branch(condition) => !self.work.facts.free(condition).iter().any(|iname| reduced.contains(iname)),
            _ => true,
        });
        Some(res)
    }

    /// Whether a loop is never empty, whatever the values of parameters and other inames.
    fn always_runs(&self, iname: InameId) -> bool {
        let ranges = &self.work.ranges;
        ranges.is_alone(iname) && matches!(ranges.bounds(iname), (Some(least), Some(greatest)) if least <= greatest)
    }

    /// Whether nothing in a loop minds when the accumulation happens.
    fn is_free(&mut self, node: NodeId, array: ArrayId, op: ReduceOp, reads: &[ExprId]) -> bool {
        let (start, end) = (self.nest[node].start, self.nest[node].end);
        let common = match self.common_ops.get(&(node, array)) {
            Some(&known) => known,
            None => {
                let known = self.common_op(node, array);
                self.common_ops.insert((node, array), known);
                known
            }
        };
        let is_written = |array: ArrayId| {
            let writers = &self.writers[array.index()];
            writers.get(writers.partition_point(|&writer| writer < start)).is_some_and(|&writer| writer < end)
        };
        common == Some(op)
            && !reads.iter().flat_map(|&expr| self.work.facts.memory(expr)).any(|&other| is_written(other))
    }

    /// The operation by which all that touches the array in a loop accumulates into it, if that is so.
    fn common_op(&self, node: NodeId, array: ArrayId) -> Option<ReduceOp> {
        let touches = &self.touches[array.index()];
        let first = touches.partition_point(|touch| touch.0 < self.nest[node].start);
        let inside = touches[first..].iter().take_while(|touch| touch.0 < self.nest[node].end);
        let mut common = None;
        for &(_, insn) in inside {
            let accumulation = self.accumulations[insn?.index()]?;
            // What accumulates into another array reads this one.
            let is_alike = self.work.kernel[insn?].assignees()[0].array == array
                && common.is_none_or(|common| common == accumulation.op);
            if !is_alike {
                return None;
            }
            common = Some(accumulation.op);
        }
        common
    }

    /// Makes the instruction a store of the reduction.
    fn reduce(&mut self, planned: &Move) -> Option<()> {
        let accumulation = self.accumulations[planned.insn.index()]?;
        let instruction = self.work.kernel[planned.insn].clone();
        let home = self.nest.home(planned.insn);
        let outside = self.nest[planned.after].parent;
        let mut reduced: Vec<InameId> = Vec::new();
        let mut conditions = Vec::new();
        for node in self.nest.below(home, outside) {
            match self.nest[node].kind {
                _ if planned.path.contains(&node) => {}
                NodeKind::Loop(iname) => reduced.push(iname),
                NodeKind::Branch(condition) => conditions.push(condition),
                NodeKind::Root => {}
            }
        }
        reduced.reverse();
        let depends =
            |this: &Self, expr: ExprId| this.work.facts.free(expr).iter().any(|iname| reduced.contains(iname));
        let (inner, outer): (Vec<ExprId>, Vec<ExprId>) =
            instruction.predicates.iter().copied().partition(|&predicate| depends(self, predicate));
        conditions.extend(inner);
        let InstructionKind::Assignment { assignee, .. } = instruction.kind else { return None };
        let dtype = self.work.kernel[assignee.array].dtype;
        let open: InameSet = self.nest.loops(home).collect();
        let mut term = accumulation.term;
        // A condition around a loop may bind the loop's iname.
        let conditions = conditions.into_iter().map(|condition| self.work.instantiate(condition, &[], &open));
        let conditions = conditions.collect::<Option<Vec<_>>>()?;
        if let Some(condition) = self.work.all_of(conditions) {
            term = self.work.guard_term(accumulation.op, condition, term)?;
        }
        if self.work.facts.ty(term).join(dtype.into()) == dtype.into() {
            term = self.work.coerce(term, dtype);
        }
        let op = accumulation.op;
        let within: Vec<InameId> =
            instruction.within.iter().copied().filter(|iname| !reduced.contains(iname)).collect();
        let reduction = self.work.closed_reduction(op, &reduced, term, &open)?;
        let old = self.work.intern(Expr::Access { array: assignee.array, indices: assignee.indices.clone() });
        let expression = self.work.intern(Expr::Op { op: op.operator(), operands: [old, reduction].into() });
        let target = &mut self.work.kernel[planned.insn];
        target.kind = InstructionKind::Assignment { assignee, expression };
        target.within = within;
        target.predicates = outer;
        Some(())
    }

    /// The linearization with the moved instructions after the loops that they leave.
    fn place(&self, linearization: &Linearization, moves: &[Move]) -> Linearization {
        let moved: FxHashSet<InsnId> = moves.iter().map(|planned| planned.insn).collect();
        let mut after: Vec<Vec<&Move>> = vec![Vec::new(); self.nest.n_nodes()];
        for planned in moves {
            after[planned.after.index()].push(planned);
        }
        for planned in &mut after {
            planned.sort_by_key(|planned| self.nest.position(planned.insn));
        }
        let mut res = Linearization::with_capacity(linearization.len());
        let mut open = Vec::new();
        let mut entries = self.nest.entries().peekable();
        for (position, &item) in linearization.iter().enumerate() {
            let entry = entries.next_if(|entry| entry.0 == position).map(|entry| entry.1);
            match (item, entry) {
                (Item::Run(insn), _) if moved.contains(&insn) => {}
                (_, Some(Entry::Begin(node))) => {
                    open.push(node);
                    res.push(item);
                }
                (Item::End(_) | Item::EndIf, _) => {
                    res.push(item);
                    if let Some(node) = open.pop() {
                        self.push_moved(&after[node.index()], &mut res);
                    }
                }
                _ => res.push(item),
            }
        }
        res
    }

    /// Moved instructions in their loops; neighbours with the same loops share them.
    fn push_moved(&self, moves: &[&Move], items: &mut Linearization) {
        let begin = |node: NodeId| match self.nest[node].kind {
            NodeKind::Loop(iname) => (Item::For(iname), Item::End(iname)),
            NodeKind::Branch(condition) => (Item::If(condition), Item::EndIf),
            NodeKind::Root => unreachable!("the root is not on a path"),
        };
        let mut open: &[NodeId] = &[];
        for planned in moves {
            let n_common = open.iter().zip(&planned.path).take_while(|(a, b)| a == b).count();
            items.extend(open[n_common..].iter().rev().map(|&node| begin(node).1));
            items.extend(planned.path[n_common..].iter().map(|&node| begin(node).0));
            items.push(Item::Run(planned.insn));
            open = &planned.path;
        }
        items.extend(open.iter().rev().map(|&node| begin(node).1));
    }
}

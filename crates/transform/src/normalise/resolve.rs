//! The value that reaches a read: backwards over the writers of its array.
//!
//! # Method
//! From the read outwards, at each level over the earlier items that write the array, the latest first. An item that certainly
//! writes no part of the element is passed. One that accumulates into it is remembered; one that overwrites it ends the walk: the value is
//! what it stored, with what was remembered joined to it. At the head of a loop no earlier iteration may have written the element.
//! Whatever else is met, the read stays a read of memory.
//!
//! A stored value moves to the read only if the memory that it reads is the same there: nothing may write it in between.

use nestegg_ir::affine::Affine;
use nestegg_ir::{ArrayId, Expr, ExprId, InameId, InameSet, InsnId, Op, ReduceOp};
use rustc_hash::FxHashMap;

use crate::nest::{NodeId, NodeKind};
use crate::normalise::element::{self, Constants, Element, Loops, Source, Value};
use crate::normalise::{Normaliser, Stored};

/// Where something is read.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    /// Its position in the linearization.
    pub(crate) position: usize,
    /// The innermost node around it.
    pub(crate) node: NodeId,
    /// Inames that values which come here must not bind.
    pub(crate) forbidden: InameSet,
    /// Conditions that hold here, as far as their value here is the one that was tested.
    pub(crate) known: Vec<ExprId>,
}

/// What a write does to an element after whatever came before it.
#[derive(Clone, Copy, Debug)]
enum Layer {
    /// Joins a term to it.
    Accumulate(ReduceOp, ExprId),
    /// Stores a value where a condition holds.
    Choose(ExprId, ExprId),
}

/// What one write means to the element that is read.
enum Effect {
    /// It leaves the element alone.
    Pass,
    /// It adds a layer.
    Layer(Layer),
    /// It stores a value.
    Value(ExprId),
    /// It cannot be told.
    Unknown,
}

/// How the loops of an item run over the instances that touch the element.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Instances {
    /// One.
    At(Value),
    /// All, joined by this operation.
    All(ReduceOp),
    /// All, of which the last one counts.
    Last,
}

/// Loops of a writer over which the element does not vary, outermost first.
struct Unsolved {
    /// Those that an accumulation runs over.
    reduced: Vec<InameId>,
    /// Those whose last iteration counts.
    last: Vec<InameId>,
}

/// The loops of the item that is being passed; writes in one loop must agree on it.
type Agreement = FxHashMap<NodeId, Instances>;

impl Normaliser {
    /// The value of an element at a read, or `None` if it stays in memory.
    pub(crate) fn resolve(&mut self, reader: &Reader, array: ArrayId, indices: &[ExprId]) -> Option<ExprId> {
        let read = Element::new(&self.work, indices);
        let mut layers: Vec<Layer> = Vec::new();
        let (mut node, mut position) = (reader.node, reader.position);
        let constants = read.constants();
        let base = 'walk: loop {
            let start = self.nest[node].start;
            let Some(last) = self.writer_before(array, &constants, start, position) else {
                match self.nest[node].kind {
                    NodeKind::Root => return None,
                    NodeKind::Loop(iname) if self.may_be_carried(node, iname, array, &read) => return None,
                    NodeKind::Loop(_) | NodeKind::Branch(_) => {}
                }
                position = start;
                node = self.nest[node].parent;
                continue;
            };
            let item = self.item_start(node, last);
            let mut agreement = Agreement::default();
            let mut next = Some(last);
            while let Some(writer) = next {
                match self.effect(reader, node, writer, array, &read, &mut agreement) {
                    Effect::Pass => {}
                    Effect::Layer(layer) => layers.push(layer),
                    Effect::Value(value) => {
                        // In a later iteration of a loop around it, an earlier writer may have its turn.
                        while let Some(earlier) = self.writer_before(array, &constants, item, next?) {
                            if !self.is_overwritten(node, earlier, &read, &agreement) {
                                return None;
                            }
                            next = Some(earlier);
                        }
                        break 'walk value;
                    }
                    Effect::Unknown => return None,
                }
                next = self.writer_before(array, &constants, item, writer);
            }
            position = item;
        };
        let dtype = self.work.kernel[array].dtype;
        let mut value = base;
        for layer in layers.into_iter().rev() {
            value = match layer {
                Layer::Accumulate(op, term) => self.work.combine(op, value, term, dtype),
                Layer::Choose(condition, stored) => {
                    let operands = [condition, stored, value].into();
                    let chosen = self.work.intern(Expr::Op { op: Op::If, operands });
                    self.work.coerce(chosen, dtype)
                }
            };
        }
        Some(value)
    }

    /// The last writer of the array from `start` on and before `end`, both before the reader, that can write an element with these
    /// constants.
    fn writer_before(&self, array: ArrayId, constants: &Constants, start: usize, end: usize) -> Option<usize> {
        self.written[array.index()].last_before(end, constants).filter(|&writer| writer >= start)
    }

    /// Where the item of `node` begins that contains a position.
    fn item_start(&self, node: NodeId, position: usize) -> usize {
        let home = self.nest.home(self.nest.run_at(position));
        self.nest.below(home, node).last().map_or(position, |item| self.nest[item].start)
    }

    /// Whether an earlier iteration of a loop may have written the element.
    fn may_be_carried(&self, node: NodeId, iname: InameId, array: ArrayId, read: &Element) -> bool {
        let (start, end) = (self.nest[node].start, self.nest[node].end);
        let writers = &self.writers[array.index()];
        let first = writers.partition_point(|&writer| writer < start);
        writers[first..].iter().take_while(|&&writer| writer < end).any(|&writer| {
            let insn = self.nest.run_at(writer);
            let Some(written) = &self.elements[insn.index()] else { return true };
            element::may_be_carried(&self.work, written, iname, &self.split_loops(insn, self.nest[node].parent), read)
        })
    }

    /// The loops around an instruction inside `outer`, innermost first.
    fn inner_loops(&self, insn: InsnId, outer: NodeId) -> impl Iterator<Item = (NodeId, InameId)> + '_ {
        self.nest.below(self.nest.home(insn), outer).filter_map(|id| match self.nest[id].kind {
            NodeKind::Loop(iname) => Some((id, iname)),
            _ => None,
        })
    }

    /// The loops around an instruction inside `outer`, and those around that.
    fn split_loops(&self, insn: InsnId, outer: NodeId) -> Loops {
        Loops {
            inner: self.inner_loops(insn, outer).map(|(_, iname)| iname).collect(),
            common: self.nest.loops(outer).collect(),
        }
    }

    /// What the write at a position means to the element that is read, from inside `node` at a later position.
    fn effect(
        &mut self,
        reader: &Reader,
        node: NodeId,
        writer: usize,
        array: ArrayId,
        read: &Element,
        agreement: &mut Agreement,
    ) -> Effect {
        let insn = self.nest.run_at(writer);
        let loops: Vec<(NodeId, InameId)> = self.inner_loops(insn, node).collect();
        let Some(written) = &self.elements[insn.index()] else { return Effect::Unknown };
        let mut solved = match element::source(&self.work, written, &self.split_loops(insn, node), read) {
            Source::Nothing => return Effect::Pass,
            Source::Unknown => return Effect::Unknown,
            Source::At(solved) => solved,
        };
        let stored = self.stored[insn.index()].clone();
        let Some(stored) = stored else { return Effect::Unknown };
        // All that the effect is made of must mean the same at the read.
        let mut conditions = stored.predicates.clone();
        let indices = self.work.kernel[insn].assignees()[0].indices.to_vec();
        let span = self.between(reader, node, insn);
        let parts = conditions.iter().chain(&indices).chain([&stored.value]);
        if parts.copied().any(|part| self.is_written_between(part, span)) {
            return Effect::Unknown;
        }
        for id in self.nest.below(self.nest.home(insn), node) {
            if let Some(condition) = self.conditions[id.index()] {
                // It was tested before all that it is around.
                if self.is_written_between(condition, (span.0.min(self.nest[id].start), span.1)) {
                    return Effect::Unknown;
                }
                conditions.push(condition);
            }
        }
        if loops.is_empty() && conditions.is_empty() && stored.accumulation.is_some() {
            // What it joined its term to could not be resolved, and is what would have to be resolved here.
            return Effect::Unknown;
        }
        let Some(unsolved) = self.unsolved(insn, &loops, &mut solved, stored.accumulation, conditions.is_empty())
        else {
            return Effect::Unknown;
        };
        for &(id, iname) in &loops {
            let instances = match (stored.accumulation, solved.iter().find(|(other, _)| *other == iname)) {
                _ if unsolved.last.contains(&iname) => Instances::Last,
                (_, Some((_, value))) => Instances::At(value.clone()),
                (Some(op), None) => Instances::All(op),
                (None, None) => return Effect::Unknown,
            };
            if *agreement.entry(id).or_insert_with(|| instances.clone()) != instances {
                return Effect::Unknown;
            }
        }
        let mut values: Vec<(InameId, ExprId)> = Vec::with_capacity(solved.len());
        for (iname, value) in solved {
            let value = match value {
                Value::Affine(value) => self.work.affine(&value),
                Value::Floors(value) => match self.work.quasi_expr(&value) {
                    Some(value) => value,
                    None => return Effect::Unknown,
                },
            };
            values.push((iname, value));
        }
        let open = self.nest.loops(self.nest.home(insn)).collect();
        self.moved(reader, array, &stored, conditions, (unsolved.reduced, open), &values).unwrap_or(Effect::Unknown)
    }

    /// What becomes of the loops over which the element does not vary: an accumulation is reduced over them, of a store the
    /// last instance counts, whose inames are `solved` here. `None` if that cannot be told.
    fn unsolved(
        &self,
        insn: InsnId,
        loops: &[(NodeId, InameId)],
        solved: &mut Vec<(InameId, Value)>,
        accumulation: Option<ReduceOp>,
        is_unconditional: bool,
    ) -> Option<Unsolved> {
        let open: Vec<InameId> = self.nest.loops(self.nest.home(insn)).collect();
        let (at, all): (Vec<InameId>, Vec<InameId>) = loops
            .iter()
            .rev()
            .map(|&(_, iname)| iname)
            .partition(|iname| solved.iter().any(|(other, _)| other == iname));
        let is_tangled = at.iter().any(|&iname| self.work.ranges.enclosing(iname).any(|outer| all.contains(&outer)));
        if is_tangled {
            return None;
        }
        if accumulation.is_some() {
            let is_ordered = all.iter().any(|&iname| self.work.kernel.is_sequential(iname));
            return (!is_ordered).then_some(Unsolved { reduced: all, last: Vec::new() });
        }
        if !all.is_empty() && !is_unconditional {
            return None;
        }
        let is_bounded = |iname: InameId, by: &[InameId]| {
            self.work.ranges.dependencies(iname).iter().any(|outer| by.contains(&outer))
        };
        for &iname in &all {
            let (least, greatest) = self.work.ranges.bounds(iname);
            let greatest = greatest.filter(|_| least.is_some())?;
            // The bounds are those for any value of the inames that could bound it, and attained if none of these is open.
            if is_bounded(iname, &open) || open.iter().any(|&other| is_bounded(other, &[iname])) {
                return None;
            }
            solved.push((iname, Value::Affine(Affine::constant(greatest))));
        }
        Some(Unsolved { reduced: Vec::new(), last: all })
    }

    /// Whether what a writer does to the element comes before the writes in `agreement`, which stand after it in the same item.
    fn is_overwritten(&self, node: NodeId, writer: usize, read: &Element, agreement: &Agreement) -> bool {
        let insn = self.nest.run_at(writer);
        let loops: Vec<(NodeId, InameId)> = self.inner_loops(insn, node).collect();
        // In the last iteration of a loop it stands before them, in others it is earlier.
        let mut shared = loops.iter().filter_map(|(id, _)| agreement.get(id));
        if shared.all(|instances| *instances == Instances::Last) {
            return true;
        }
        let Some(written) = &self.elements[insn.index()] else { return false };
        match element::source(&self.work, written, &self.split_loops(insn, node), read) {
            Source::Nothing => true,
            Source::Unknown => false,
            Source::At(solved) => {
                loops.iter().filter_map(|(id, iname)| Some((agreement.get(id)?, iname))).all(|(instances, iname)| {
                    let own = solved.iter().find(|(other, _)| other == iname).map(|(_, value)| value);
                    *instances == Instances::Last
                        || matches!((instances, own), (Instances::At(value), Some(own)) if value == own)
                })
            }
        }
    }

    /// The effect with the writer's loops at the values that they have for the element; `reduced` are those of the loops
    /// `open` around the writer in which it accumulates.
    fn moved(
        &mut self,
        reader: &Reader,
        array: ArrayId,
        stored: &Stored,
        conditions: Vec<ExprId>,
        (reduced, open): (Vec<InameId>, InameSet),
        values: &[(InameId, ExprId)],
    ) -> Option<Effect> {
        let Some(op) = stored.accumulation else {
            let value = self.work.instantiate(stored.value, values, &reader.forbidden)?;
            let mut tested = Vec::new();
            for condition in conditions {
                let condition = self.work.instantiate(condition, values, &reader.forbidden)?;
                if !reader.known.contains(&condition) && !tested.contains(&condition) {
                    tested.push(condition);
                }
            }
            return Some(match self.work.all_of(tested) {
                None => Effect::Value(value),
                Some(condition) => Effect::Layer(Layer::Choose(condition, value)),
            });
        };
        let mut term = stored.value;
        let mut tested = Vec::new();
        for condition in conditions {
            if !self.is_known(reader, condition, &reduced, values) {
                // A condition around a loop may bind the loop's iname.
                tested.push(self.work.instantiate(condition, &[], &open)?);
            }
        }
        if let Some(condition) = self.work.all_of(tested) {
            term = self.work.guard_term(op, condition, term)?;
        }
        if !reduced.is_empty() {
            let dtype = self.work.kernel[array].dtype;
            if self.work.facts.ty(term).join(dtype.into()) == dtype.into() {
                term = self.work.coerce(term, dtype);
            }
            term = self.work.closed_reduction(op, &reduced, term, &open)?;
        }
        let term = self.work.instantiate(term, values, &reader.forbidden)?;
        Some(Effect::Layer(Layer::Accumulate(op, term)))
    }

    /// Whether a condition of a writer is the same in all of its `reduced` loops, and holds wherever the reader runs.
    fn is_known(
        &mut self,
        reader: &Reader,
        condition: ExprId,
        reduced: &[InameId],
        values: &[(InameId, ExprId)],
    ) -> bool {
        if reduced.iter().any(|&iname| self.work.is_free(condition, iname)) {
            return false;
        }
        let condition = self.work.instantiate(condition, values, &reader.forbidden);
        condition.is_some_and(|condition| reader.known.contains(&condition))
    }

    /// The positions that may run between a write and a read that have the loops around `node` in common.
    fn between(&self, reader: &Reader, node: NodeId, writer: InsnId) -> (usize, usize) {
        let outermost_loop = |inside: NodeId| {
            let below = self.nest.below(inside, node);
            below.filter(|id| matches!(self.nest[*id].kind, NodeKind::Loop(_))).last()
        };
        let start =
            outermost_loop(self.nest.home(writer)).map_or_else(|| self.nest.position(writer), |id| self.nest[id].start);
        let end = outermost_loop(reader.node).map_or(reader.position, |id| self.nest[id].end);
        (start, end)
    }

    /// Whether memory that the expression reads is written in a span of positions.
    fn is_written_between(&self, expr: ExprId, (start, end): (usize, usize)) -> bool {
        self.work.facts.memory(expr).iter().any(|array| {
            let writers = &self.writers[array.index()];
            let first = writers.partition_point(|&writer| writer < start);
            writers.get(first).is_some_and(|&writer| writer < end)
        })
    }
}

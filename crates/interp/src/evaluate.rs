//! Evaluates the nodes of a block, each over all its points, or over one point of a chain.
//!
//! An operation that has no value at some point does not stop the run: the point is *poisoned*, with the node where it happened.
//! Poison spreads as C would meet it: a selection takes only the branch that it chooses, `and` and `or` stop early. It is an
//! error when it reaches a value that is stored.

pub(crate) mod access;
mod float;
mod int;
mod poison;

use nestegg_ir::types::Type;
use rustc_hash::FxHashMap;

use crate::error::Trap;
use crate::memory::{Layout, Storage};
use crate::node::{Block, NodeId, Op, SetId, Unary};
use crate::plan::Code;
use crate::points::{Points, gather};
use crate::world::{Batch, Function, Operand};

/// Where points of a larger set are found in a smaller one, and when that was computed.
type Gathers = FxHashMap<(SetId, SetId), (u64, Vec<u32>)>;

/// The values of a block's nodes.
pub(crate) struct State<F> {
    pub(crate) floats: Vec<Vec<F>>,
    pub(crate) ints: Vec<Vec<i64>>,
    /// For each node and point the node of the trap that it met, plus one; empty if it met none.
    pub(crate) poison: Vec<Vec<u32>>,
    pub(crate) n_poisoned: usize,
    /// The traps of a node: point and trap.
    pub(crate) traps: FxHashMap<NodeId, Vec<(usize, Trap)>>,
    pub(crate) points: Vec<Points>,
    pub(crate) points_at: Vec<u64>,
    /// When a set's points last changed other than by a shift.
    pub(crate) shape_at: Vec<u64>,
    pub(crate) groups_at: Vec<u64>,
    /// For each group the points of its unit at which its values are there.
    pub(crate) held: Vec<Range>,
    gathers: Gathers,
}

impl<F: Copy + Default> State<F> {
    pub(crate) fn new(block: &Block) -> Self {
        let n = block.nodes.len();
        Self {
            floats: vec![Vec::new(); n],
            ints: vec![Vec::new(); n],
            poison: vec![Vec::new(); n],
            n_poisoned: 0,
            traps: FxHashMap::default(),
            points: block.sets.iter().map(|_| Points::default()).collect(),
            points_at: vec![0; block.sets.len()],
            shape_at: vec![0; block.sets.len()],
            groups_at: vec![0; block.n_clocks],
            held: vec![Range::NONE; block.n_clocks],
            gathers: FxHashMap::default(),
        }
    }

    pub(crate) fn truth(&self, node: NodeId, point: usize) -> bool {
        let values = &self.ints[node.index()];
        values[if values.len() == 1 { 0 } else { point }] != 0
    }

    /// The value of a node of integers at a point; `None` of floats.
    pub(crate) fn integer(&self, node: NodeId, point: usize) -> Option<i64> {
        let values = &self.ints[node.index()];
        values.get(if values.len() == 1 { 0 } else { point }).copied()
    }

    /// The poison of a node at a point of a set that it is on, or of a scalar node.
    pub(crate) fn poison_at(&self, node: NodeId, point: usize) -> u32 {
        match self.poison[node.index()].as_slice() {
            [] => 0,
            [only] => *only,
            many => many[point],
        }
    }
}

/// What evaluation reads.
pub(crate) struct Reader<'a, W: Batch> {
    pub(crate) world: &'a W,
    pub(crate) block: &'a Block,
    pub(crate) layouts: &'a [Layout],
    pub(crate) functions: &'a [Function],
    pub(crate) memory: &'a [Storage<W::Float>],
    pub(crate) env: &'a [i64],
}

impl<'a, W: Batch> Reader<'a, W> {
    /// What evaluation of a block of `code` reads.
    pub(crate) fn new(
        world: &'a W,
        code: &'a Code,
        block: &'a Block,
        memory: &'a [Storage<W::Float>],
        env: &'a [i64],
    ) -> Self {
        Self { world, block, layouts: &code.layouts, functions: &code.functions, memory, env }
    }
}

/// Points `lo..hi` of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) lo: usize,
    pub(crate) hi: usize,
}

impl Range {
    /// No points.
    pub(crate) const NONE: Self = Self { lo: 0, hi: 0 };
    /// All points, however many there are.
    pub(crate) const ALL: Self = Self { lo: 0, hi: usize::MAX };

    pub(crate) fn is_empty(self) -> bool {
        self.lo >= self.hi
    }

    /// Whether the other's points are among these.
    pub(crate) fn holds(self, other: Self) -> bool {
        other.is_empty() || (self.lo <= other.lo && other.hi <= self.hi)
    }
}

fn operand<'s, T: Copy + Default>(values: &'s [T], is_scalar: bool, range: Range) -> Operand<'s, T> {
    if is_scalar {
        Operand::One(values.first().copied().unwrap_or_default())
    } else {
        Operand::Each(&values[range.lo..range.hi])
    }
}

fn zip<A: Copy, R>(out: &mut [R], a: Operand<'_, A>, b: Operand<'_, A>, f: impl Fn(A, A) -> R) {
    match (a, b) {
        (Operand::Each(a), Operand::Each(b)) => {
            out.iter_mut().zip(a).zip(b).for_each(|((out, &a), &b)| *out = f(a, b));
        }
        (Operand::Each(a), Operand::One(b)) => out.iter_mut().zip(a).for_each(|(out, &a)| *out = f(a, b)),
        (Operand::One(a), Operand::Each(b)) => out.iter_mut().zip(b).for_each(|(out, &b)| *out = f(a, b)),
        (Operand::One(a), Operand::One(b)) => out.iter_mut().for_each(|out| *out = f(a, b)),
    }
}

impl<W: Batch> Reader<'_, W> {
    /// Evaluates one node over `range` of its set's points (all of them, or one of a chain).
    pub(crate) fn evaluate(&self, state: &mut State<W::Float>, id: NodeId, range: Range) {
        let node = &self.block.nodes[id.index()];
        let len = state.points[node.set.index()].len;
        let mut traps = Vec::new();
        if node.ty.is_float() {
            let mut out = std::mem::take(&mut state.floats[id.index()]);
            out.resize(len, W::Float::default());
            self.float(state, id, &mut out[range.lo..range.hi], range, &mut traps);
            let is_rounded = match node.op {
                Op::Expand(_) | Op::Load { .. } | Op::Unary(Unary::Neg, _) | Op::Select(..) => false,
                // Reductions round each step themselves.
                Op::Reduce(..) => false,
                _ => true,
            };
            if W::ROUNDS && node.ty == Type::Float32 && is_rounded {
                out[range.lo..range.hi].iter_mut().for_each(|value| *value = self.world.round_single(*value));
            }
            state.floats[id.index()] = out;
        } else {
            let mut out = std::mem::take(&mut state.ints[id.index()]);
            out.resize(len, 0);
            self.int(state, id, &mut out[range.lo..range.hi], range, &mut traps);
            state.ints[id.index()] = out;
        }
        if state.n_poisoned > 0 || !traps.is_empty() {
            self.spread_poison(state, id, len, range, traps);
        }
    }

    /// The points of `from` that lie over `range` of `to`, whose inames are the first of its own.
    pub(crate) fn over(&self, state: &mut State<W::Float>, from: SetId, to: SetId, range: Range) -> Range {
        if from == to || range == Range::ALL {
            return Range { lo: range.lo, hi: range.hi.min(state.points[from.index()].len) };
        }
        let key = self.gather(state, from, to);
        over(&state.gathers[&key].1, range)
    }

    fn is_scalar(&self, state: &State<W::Float>, operand: NodeId, set: SetId) -> bool {
        let own = self.block.nodes[operand.index()].set;
        own != set || state.points[own.index()].columns.is_empty()
    }

    fn float_operand<'s>(
        &self,
        state: &'s State<W::Float>,
        id: NodeId,
        set: SetId,
        range: Range,
    ) -> Operand<'s, W::Float> {
        operand(&state.floats[id.index()], self.is_scalar(state, id, set), range)
    }

    fn int_operand<'s>(&self, state: &'s State<W::Float>, id: NodeId, set: SetId, range: Range) -> Operand<'s, i64> {
        operand(&state.ints[id.index()], self.is_scalar(state, id, set), range)
    }

    /// Makes sure that the positions of the points of `from` in `to` are known; their key.
    fn gather(&self, state: &mut State<W::Float>, from: SetId, to: SetId) -> (SetId, SetId) {
        let key = (from, to);
        let at = state.shape_at[from.index()].max(state.shape_at[to.index()]);
        if state.gathers.get(&key).is_none_or(|known| known.0 < at || known.1.len() != state.points[from.index()].len) {
            let mut smaller = std::mem::take(&mut state.points[to.index()]);
            let sets = &self.block.sets;
            let larger = &state.points[from.index()];
            let map = gather(larger, &sets[from.index()].inames, &mut smaller, &sets[to.index()].inames);
            state.points[to.index()] = smaller;
            state.gathers.insert(key, (at, map));
        }
        key
    }
}

/// Where positions that never become less lie in a range.
fn over(positions: &[u32], range: Range) -> Range {
    let before = |end: usize| positions.partition_point(|&position| (position as usize) < end);
    Range { lo: before(range.lo), hi: before(range.hi) }
}

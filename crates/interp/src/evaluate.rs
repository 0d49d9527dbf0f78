//! Evaluates the nodes of a block, each over all its points, or over one point of a chain.
//!
//! An operation that has no value at some point does not stop the run: the point is *poisoned*, with the node where it happened.
//! Poison spreads as C would meet it: a selection takes only the branch that it chooses, `and` and `or` stop early. It is an
//! error when it reaches a value that is stored.

use nestegg_ir::types::Type;
use nestegg_ir::{InameId, ReduceOp};
use rustc_hash::FxHashMap;

use crate::error::Trap;
use crate::memory::{Data, Layout, Storage};
use crate::node::{Address, Binary, Block, Index, NodeId, Op, SetId, Unary};
use crate::points::{Points, gather};
use crate::source::floor_div;
use crate::world::{Function, Operand, World};

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
    pub(crate) groups_at: Vec<u64>,
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
            groups_at: vec![0; block.n_clocks],
            gathers: FxHashMap::default(),
        }
    }

    pub(crate) fn truth(&self, node: NodeId, point: usize) -> bool {
        let values = &self.ints[node.index()];
        values[if values.len() == 1 { 0 } else { point }] != 0
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
pub(crate) struct Reader<'a, W: World> {
    pub(crate) world: &'a W,
    pub(crate) block: &'a Block,
    pub(crate) layouts: &'a [Layout],
    pub(crate) functions: &'a [Function],
    pub(crate) memory: &'a [Storage<W::Float>],
    pub(crate) env: &'a [i64],
}

/// Points `lo..hi` of a set.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub(crate) lo: usize,
    pub(crate) hi: usize,
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

fn index_value(index: &Index, env: &[i64]) -> i128 {
    index
        .outer
        .iter()
        .map(|&(iname, coefficient)| i128::from(coefficient) * i128::from(env[iname.index()]))
        .sum::<i128>()
        + i128::from(index.constant)
}

fn position(inames: &[InameId], iname: InameId) -> usize {
    inames.iter().position(|&other| other == iname).expect("a node's inames are in its set")
}

impl<W: World> Reader<'_, W> {
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

    fn float(
        &self,
        state: &mut State<W::Float>,
        id: NodeId,
        out: &mut [W::Float],
        range: Range,
        traps: &mut Vec<(usize, Trap)>,
    ) {
        let world = self.world;
        let node = &self.block.nodes[id.index()];
        match &node.op {
            Op::Float(bits) => out.fill(world.literal(f64::from_bits(*bits))),
            Op::Affine { .. } | Op::Linear(_) => unreachable!("affine nodes are integers"),
            Op::Load { array, address, .. } => {
                let storage = &self.memory[array.index()];
                let Data::Floats(values) = &storage.data else { unreachable!("the node has the array's type") };
                self.load(state, id, array.index(), address, values, out, range, traps);
            }
            Op::Expand(a) => {
                if self.is_scalar(state, *a, node.set) && self.block.nodes[a.index()].set.index() == 0 {
                    out.fill(state.floats[a.index()][0]);
                } else {
                    let map = self.gather(state, node.set, self.block.nodes[a.index()].set);
                    let values = &state.floats[a.index()];
                    let map = &state.gathers[&map].1[range.lo..range.hi];
                    out.iter_mut().zip(map).for_each(|(out, &from)| *out = values[from as usize]);
                }
            }
            Op::Unary(Unary::Neg, a) => {
                let a = self.float_operand(state, *a, node.set, range);
                zip(out, a, a, |a, _| world.neg(a));
            }
            Op::Unary(_, a) => {
                if self.block.nodes[a.index()].ty.is_float() {
                    let a = self.float_operand(state, *a, node.set, range);
                    zip(out, a, a, |a, _| a);
                } else {
                    let a = self.int_operand(state, *a, node.set, range);
                    zip(out, a, a, |a, _| world.from_int(a));
                }
            }
            Op::Binary(op, a, b) => {
                let a = self.float_operand(state, *a, node.set, range);
                let b = self.float_operand(state, *b, node.set, range);
                match op {
                    Binary::Add => zip(out, a, b, |a, b| world.add(a, b)),
                    Binary::Sub => zip(out, a, b, |a, b| world.sub(a, b)),
                    Binary::Mul => zip(out, a, b, |a, b| world.mul(a, b)),
                    Binary::Min => zip(out, a, b, |a, b| world.min(a, b)),
                    Binary::Max => zip(out, a, b, |a, b| world.max(a, b)),
                    Binary::Power => zip(out, a, b, |a, b| world.power_any(a, b)),
                    Binary::FloorDiv => zip(out, a, b, |a, b| world.floor_div(a, b)),
                    Binary::Mod => zip(out, a, b, |a, b| world.modulo(a, b)),
                    Binary::Div => {
                        zip(out, a, a, |a, _| a);
                        let mut undefined = Vec::new();
                        world.divide(out, b, &mut undefined);
                        traps.extend(undefined.into_iter().map(|idx| (range.lo + idx, Trap::NoInverse)));
                    }
                    other => {
                        let trap = Trap::Unsupported(format!("operation {other:?} on floats"));
                        traps.extend((range.lo..range.hi).map(|point| (point, trap.clone())));
                    }
                }
            }
            Op::Power(a, exponent) => {
                let a = self.float_operand(state, *a, node.set, range);
                for (idx, out) in out.iter_mut().enumerate() {
                    match world.power(a.get(idx), *exponent) {
                        Some(value) => *out = value,
                        None => traps.push((range.lo + idx, Trap::NoInverse)),
                    }
                }
            }
            Op::Select(condition, a, b) => {
                let condition = self.int_operand(state, *condition, node.set, range);
                let a = self.float_operand(state, *a, node.set, range);
                let b = self.float_operand(state, *b, node.set, range);
                for (idx, out) in out.iter_mut().enumerate() {
                    *out = if condition.get(idx) != 0 { a.get(idx) } else { b.get(idx) };
                }
            }
            Op::Call { function, arguments } => {
                let function = &self.functions[*function];
                let operands: Vec<_> =
                    arguments.iter().map(|&argument| self.float_operand(state, argument, node.set, range)).collect();
                let mut values = vec![W::Float::default(); operands.len()];
                for (idx, out) in out.iter_mut().enumerate() {
                    values.iter_mut().zip(&operands).for_each(|(value, operand)| *value = operand.get(idx));
                    match world.call(function, 0, &values) {
                        Some(value) => *out = value,
                        None => {
                            let reason = format!("function `{}` has no value in {}", function.name, world.name());
                            traps.push((range.lo + idx, Trap::Unsupported(reason)));
                        }
                    }
                }
            }
            Op::Reduce(op, body) => {
                let map = self.gather(state, self.block.nodes[body.index()].set, node.set);
                let values = &state.floats[body.index()];
                let map = &state.gathers[&map].1;
                let is_single = W::ROUNDS && node.ty == Type::Float32;
                out.fill(match op {
                    ReduceOp::Sum => world.literal(0.0),
                    ReduceOp::Product => world.literal(1.0),
                    ReduceOp::Min => world.infinity(false),
                    ReduceOp::Max => world.infinity(true),
                });
                let fold = |join: &dyn Fn(W::Float, W::Float) -> W::Float, out: &mut [W::Float]| {
                    for (&to, &value) in map.iter().zip(values) {
                        out[to as usize] = join(out[to as usize], value);
                    }
                };
                let round = |value| if is_single { world.round_single(value) } else { value };
                match op {
                    ReduceOp::Sum if is_single => fold(&|a, b| round(world.add(a, b)), out),
                    ReduceOp::Sum => {
                        for (&to, &value) in map.iter().zip(values) {
                            out[to as usize] = world.add(out[to as usize], value);
                        }
                    }
                    ReduceOp::Product => fold(&|a, b| round(world.mul(a, b)), out),
                    ReduceOp::Min | ReduceOp::Max => {
                        let mut is_first = vec![true; out.len()];
                        for (&to, &value) in map.iter().zip(values) {
                            let out = &mut out[to as usize];
                            *out = match (std::mem::replace(&mut is_first[to as usize], false), op) {
                                (true, _) => value,
                                (false, ReduceOp::Min) => world.min(*out, value),
                                (false, _) => world.max(*out, value),
                            };
                        }
                    }
                }
            }
        }
    }

    fn int(
        &self,
        state: &mut State<W::Float>,
        id: NodeId,
        out: &mut [i64],
        range: Range,
        traps: &mut Vec<(usize, Trap)>,
    ) {
        let world = self.world;
        let node = &self.block.nodes[id.index()];
        let mut checked = |out: &mut [i64], f: &dyn Fn(usize) -> Result<i64, Trap>| {
            for (idx, out) in out.iter_mut().enumerate() {
                match f(idx) {
                    Ok(value) if node.ty == Type::Int32 && i32::try_from(value).is_err() => {
                        traps.push((range.lo + idx, Trap::IntegerOverflow));
                    }
                    Ok(value) => *out = value,
                    Err(trap) => traps.push((range.lo + idx, trap)),
                }
            }
        };
        let overflow = |value: Option<i64>| value.ok_or(Trap::IntegerOverflow);
        match &node.op {
            Op::Float(_) => unreachable!("float literals are floats"),
            Op::Affine { constant, outer } => {
                let index = Index { constant: *constant, outer: outer.clone(), inner: Vec::new() };
                let value = index_value(&index, self.env);
                checked(out, &|_| i64::try_from(value).map_err(|_| Trap::IntegerOverflow));
            }
            Op::Linear(terms) => {
                let points = &state.points[node.set.index()];
                let inames = &self.block.sets[node.set.index()].inames;
                out.fill(0);
                for &(iname, coefficient) in terms {
                    let column = &points.columns[position(inames, iname)][range.lo..range.hi];
                    out.iter_mut()
                        .zip(column)
                        .for_each(|(out, value)| *out = out.wrapping_add(value.wrapping_mul(coefficient)));
                }
            }
            Op::Load { array, address, .. } => {
                let storage = &self.memory[array.index()];
                let Data::Ints(values) = &storage.data else { unreachable!("the node has the array's type") };
                self.load(state, id, array.index(), address, values, out, range, traps);
            }
            Op::Expand(a) => {
                let map = self.gather(state, node.set, self.block.nodes[a.index()].set);
                let values = &state.ints[a.index()];
                let map = &state.gathers[&map].1[range.lo..range.hi];
                out.iter_mut().zip(map).for_each(|(out, &from)| *out = values[from as usize]);
            }
            Op::Unary(op, a) => {
                let from = self.block.nodes[a.index()].ty;
                if from.is_float() {
                    let a = self.float_operand(state, *a, node.set, range);
                    let reason = || Trap::Unsupported(format!("cast of a float to {:?} in {}", node.ty, world.name()));
                    checked(out, &|idx| match node.ty {
                        Type::Bool => Ok(i64::from(!world.equal(a.get(idx), world.literal(0.0)))),
                        _ if W::ROUNDS => overflow(world.truncate(a.get(idx))),
                        _ => world.truncate(a.get(idx)).ok_or_else(reason),
                    });
                    return;
                }
                let a = self.int_operand(state, *a, node.set, range);
                match op {
                    Unary::Neg => checked(out, &|idx| overflow(a.get(idx).checked_neg())),
                    Unary::Not => zip(out, a, a, |a, _| i64::from(a == 0)),
                    Unary::BitNot => zip(out, a, a, |a, _| !a),
                    Unary::Convert if node.ty == Type::Bool => zip(out, a, a, |a, _| i64::from(a != 0)),
                    Unary::Convert => checked(out, &|idx| Ok(a.get(idx))),
                }
            }
            Op::Binary(op, a, b) => {
                if self.block.nodes[a.index()].ty.is_float() {
                    let a = self.float_operand(state, *a, node.set, range);
                    let b = self.float_operand(state, *b, node.set, range);
                    match op {
                        Binary::Lt => zip(out, a, b, |a, b| i64::from(world.less(a, b))),
                        Binary::Le => zip(out, a, b, |a, b| i64::from(world.less_equal(a, b))),
                        Binary::Eq => zip(out, a, b, |a, b| i64::from(world.equal(a, b))),
                        _ => zip(out, a, b, |a, b| i64::from(!world.equal(a, b))),
                    }
                    return;
                }
                let a = self.int_operand(state, *a, node.set, range);
                let b = self.int_operand(state, *b, node.set, range);
                match op {
                    Binary::Add => checked(out, &|idx| overflow(a.get(idx).checked_add(b.get(idx)))),
                    Binary::Sub => checked(out, &|idx| overflow(a.get(idx).checked_sub(b.get(idx)))),
                    Binary::Mul => checked(out, &|idx| overflow(a.get(idx).checked_mul(b.get(idx)))),
                    Binary::FloorDiv | Binary::Mod => checked(out, &|idx| {
                        let (a, b) = (a.get(idx), b.get(idx));
                        if b == 0 {
                            return Err(Trap::IntegerDivisionByZero);
                        }
                        let quotient = overflow(floor_div(a, b))?;
                        Ok(if *op == Binary::FloorDiv { quotient } else { a.wrapping_sub(quotient.wrapping_mul(b)) })
                    }),
                    Binary::Shl | Binary::Shr => {
                        let width = if node.ty == Type::Int64 { 64 } else { 32 };
                        checked(out, &|idx| {
                            let (a, b) = (a.get(idx), b.get(idx));
                            match (u32::try_from(b).ok().filter(|&b| b < width), op) {
                                (None, _) => Err(Trap::ShiftOutOfRange),
                                (Some(b), Binary::Shr) => Ok(a >> b),
                                (Some(b), _) => overflow(i64::try_from(i128::from(a) << b).ok()),
                            }
                        });
                    }
                    Binary::Min => zip(out, a, b, i64::min),
                    Binary::Max => zip(out, a, b, i64::max),
                    Binary::Lt => zip(out, a, b, |a, b| i64::from(a < b)),
                    Binary::Le => zip(out, a, b, |a, b| i64::from(a <= b)),
                    Binary::Eq => zip(out, a, b, |a, b| i64::from(a == b)),
                    Binary::Ne => zip(out, a, b, |a, b| i64::from(a != b)),
                    Binary::And => zip(out, a, b, |a, b| i64::from(a != 0 && b != 0)),
                    Binary::Or => zip(out, a, b, |a, b| i64::from(a != 0 || b != 0)),
                    Binary::BitAnd => zip(out, a, b, |a, b| a & b),
                    Binary::BitOr => zip(out, a, b, |a, b| a | b),
                    Binary::BitXor => zip(out, a, b, |a, b| a ^ b),
                    Binary::Div | Binary::Power => unreachable!("quotients and powers that are not whole are floats"),
                }
            }
            Op::Power(a, exponent) => {
                let a = self.int_operand(state, *a, node.set, range);
                let power = |base: i64| u32::try_from(*exponent).ok().and_then(|exponent| base.checked_pow(exponent));
                checked(out, &|idx| match a.get(idx) {
                    base @ (0 | 1) if *exponent > 0 => Ok(base),
                    base => overflow(power(base)),
                });
            }
            Op::Select(condition, a, b) => {
                let condition = self.int_operand(state, *condition, node.set, range);
                let a = self.int_operand(state, *a, node.set, range);
                let b = self.int_operand(state, *b, node.set, range);
                checked(out, &|idx| Ok(if condition.get(idx) != 0 { a.get(idx) } else { b.get(idx) }));
            }
            Op::Call { .. } => unreachable!("functions give floats"),
            Op::Reduce(op, body) => {
                let map = self.gather(state, self.block.nodes[body.index()].set, node.set);
                let values = &state.ints[body.index()];
                let map = &state.gathers[&map].1;
                let is_int64 = node.ty == Type::Int64;
                out.fill(match (op, is_int64) {
                    (ReduceOp::Sum, _) => 0,
                    (ReduceOp::Product, _) => 1,
                    (ReduceOp::Min, true) => i64::MAX,
                    (ReduceOp::Min, false) => i64::from(i32::MAX),
                    (ReduceOp::Max, true) => i64::MIN,
                    (ReduceOp::Max, false) => i64::from(i32::MIN),
                });
                for (&to, &value) in map.iter().zip(values) {
                    let out = &mut out[to as usize];
                    let next = match op {
                        ReduceOp::Sum => out.checked_add(value),
                        ReduceOp::Product => out.checked_mul(value),
                        ReduceOp::Min => Some((*out).min(value)),
                        ReduceOp::Max => Some((*out).max(value)),
                    };
                    match next.filter(|&next| node.ty != Type::Int32 || i32::try_from(next).is_ok()) {
                        Some(next) => *out = next,
                        None => traps.push((to as usize, Trap::IntegerOverflow)),
                    }
                }
            }
        }
    }

    /// Makes sure that the positions of the points of `from` in `to` are known; their key.
    fn gather(&self, state: &mut State<W::Float>, from: SetId, to: SetId) -> (SetId, SetId) {
        let key = (from, to);
        let at = state.points_at[from.index()].max(state.points_at[to.index()]);
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

    #[allow(clippy::too_many_arguments)]
    fn load<T: Copy>(
        &self,
        state: &State<W::Float>,
        id: NodeId,
        array: usize,
        address: &Address,
        values: &[T],
        out: &mut [T],
        range: Range,
        traps: &mut Vec<(usize, Trap)>,
    ) {
        let set = self.block.nodes[id.index()].set;
        let is_set = self.memory[array].is_set.as_deref();
        let places = self.places(state, array, address, set, range);
        let uninitialised = |position: usize| self.layouts[array].uninitialised(position);
        match &places {
            Places::One(position) => {
                if is_set.is_some_and(|is_set| !is_set[*position]) {
                    traps.extend((range.lo..range.hi).map(|point| (point, uninitialised(*position))));
                } else {
                    out.fill(values[*position]);
                }
            }
            Places::Offset(base, linear) => {
                let at = |offset: i64| (base + offset) as usize;
                out.iter_mut().zip(*linear).for_each(|(out, &offset)| *out = values[at(offset)]);
                if let Some(is_set) = is_set {
                    for (idx, &offset) in linear.iter().enumerate() {
                        if !is_set[at(offset)] {
                            traps.push((range.lo + idx, uninitialised(at(offset))));
                        }
                    }
                }
            }
            Places::Each(positions) => {
                for (idx, position) in positions.iter().enumerate() {
                    match position {
                        Ok(position) if is_set.is_some_and(|is_set| !is_set[*position]) => {
                            traps.push((range.lo + idx, uninitialised(*position)));
                        }
                        Ok(position) => out[idx] = values[*position],
                        Err(trap) => traps.push((range.lo + idx, trap.clone())),
                    }
                }
            }
        }
    }

    /// The flat positions of an address at the points `range` of `set`.
    pub(crate) fn places<'s>(
        &self,
        state: &'s State<W::Float>,
        array: usize,
        address: &Address,
        set: SetId,
        range: Range,
    ) -> Places<'s> {
        let layout = &self.layouts[array];
        let points = &state.points[set.index()];
        let inames = &self.block.sets[set.index()].inames;
        match address {
            Address::Affine { indices, flat, linear } => {
                let is_inside = indices.iter().zip(&layout.shape).all(|(index, &extent)| {
                    let (mut lo, mut hi) = (index_value(index, self.env), index_value(index, self.env));
                    for &(iname, coefficient) in &index.inner {
                        let (least, greatest) = points.hull[position(inames, iname)];
                        let ends = [least, greatest].map(|end| i128::from(coefficient) * i128::from(end));
                        lo += ends[0].min(ends[1]);
                        hi += ends[0].max(ends[1]);
                    }
                    0 <= lo && hi < i128::from(extent)
                });
                if is_inside {
                    let base = index_value(flat, self.env) as i64;
                    return match linear {
                        None => Places::One(base as usize),
                        Some(linear) => Places::Offset(base, &state.ints[linear.index()][range.lo..range.hi]),
                    };
                }
                let place = |point: usize| {
                    let value = |index: &Index| {
                        let inner = index.inner.iter().map(|&(iname, coefficient)| {
                            i128::from(coefficient) * i128::from(points.columns[position(inames, iname)][point])
                        });
                        i64::try_from(index_value(index, self.env) + inner.sum::<i128>()).unwrap_or(i64::MAX)
                    };
                    flat_position(layout, indices.iter().map(value).collect())
                };
                Places::Each((range.lo..range.hi).map(place).collect())
            }
            Address::Computed(indices) => {
                let operands: Vec<_> =
                    indices.iter().map(|&index| self.int_operand(state, index, set, range)).collect();
                let place =
                    |idx: usize| flat_position(layout, operands.iter().map(|operand| operand.get(idx)).collect());
                Places::Each((0..range.hi - range.lo).map(place).collect())
            }
        }
    }

    fn spread_poison(
        &self,
        state: &mut State<W::Float>,
        id: NodeId,
        len: usize,
        range: Range,
        traps: Vec<(usize, Trap)>,
    ) {
        let node = &self.block.nodes[id.index()];
        let mut poison = std::mem::take(&mut state.poison[id.index()]);
        let was_poisoned = !poison.is_empty();
        if poison.len() == len {
            poison[range.lo..range.hi].fill(0);
        } else {
            poison = vec![0; len];
        }
        let mut is_any_operand = false;
        node.op.for_each_operand(|operand| is_any_operand |= !state.poison[operand.index()].is_empty());
        if is_any_operand {
            self.meet_poison(state, id, &mut poison, range);
        }
        let mut kept = Vec::new();
        for (point, trap) in traps {
            if poison[point] == 0 {
                poison[point] = id.index() as u32 + 1;
                kept.push((point, trap));
            }
        }
        if kept.is_empty() {
            state.traps.remove(&id);
        } else {
            state.traps.insert(id, kept);
        }
        if poison.iter().all(|&code| code == 0) {
            poison = Vec::new();
        }
        match (was_poisoned, !poison.is_empty()) {
            (false, true) => state.n_poisoned += 1,
            (true, false) => state.n_poisoned -= 1,
            _ => {}
        }
        state.poison[id.index()] = poison;
    }

    fn meet_poison(&self, state: &mut State<W::Float>, id: NodeId, poison: &mut [u32], range: Range) {
        let node = &self.block.nodes[id.index()];
        match &node.op {
            Op::Expand(a) | Op::Reduce(_, a) => {
                let own = self.block.nodes[a.index()].set;
                let is_reduction = matches!(node.op, Op::Reduce(..));
                let key =
                    if is_reduction { self.gather(state, own, node.set) } else { self.gather(state, node.set, own) };
                let map = &state.gathers[&key].1;
                let from = &state.poison[a.index()];
                if is_reduction {
                    for (&to, &code) in map.iter().zip(from) {
                        if poison[to as usize] == 0 {
                            poison[to as usize] = code;
                        }
                    }
                } else {
                    for point in range.lo..range.hi {
                        poison[point] = from[map[point] as usize];
                    }
                }
            }
            Op::Select(condition, a, b) => {
                for point in range.lo..range.hi {
                    let chosen = if state.truth(*condition, point) { *a } else { *b };
                    poison[point] = match state.poison_at(*condition, point) {
                        0 => state.poison_at(chosen, point),
                        code => code,
                    };
                }
            }
            Op::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                for point in range.lo..range.hi {
                    let is_decided = state.truth(*a, point) == (*op == Binary::Or);
                    poison[point] = match state.poison_at(*a, point) {
                        0 if is_decided => 0,
                        0 => state.poison_at(*b, point),
                        code => code,
                    };
                }
            }
            _ => {
                for point in range.lo..range.hi {
                    node.op.for_each_operand(|operand| {
                        if poison[point] == 0 {
                            poison[point] = state.poison_at(operand, point);
                        }
                    });
                }
            }
        }
    }
}

/// Flat positions in an array.
pub(crate) enum Places<'s> {
    /// The same at all points.
    One(usize),
    /// The sum of both, at each point; all are inside the array.
    Offset(i64, &'s [i64]),
    /// Computed one by one.
    Each(Vec<Result<usize, Trap>>),
}

impl Places<'_> {
    pub(crate) fn get(&self, idx: usize) -> Result<usize, Trap> {
        match self {
            Self::One(position) => Ok(*position),
            Self::Offset(base, linear) => Ok((base + linear[idx]) as usize),
            Self::Each(positions) => positions[idx].clone(),
        }
    }
}

pub(crate) fn flat_position(layout: &Layout, index: Vec<i64>) -> Result<usize, Trap> {
    let is_inside = index.len() == layout.shape.len()
        && index.iter().zip(&layout.shape).all(|(&index, &extent)| 0 <= index && index < extent);
    if !is_inside {
        return Err(layout.out_of_bounds(index));
    }
    Ok(index.iter().zip(&layout.strides).map(|(&index, &stride)| index * stride).sum::<i64>() as usize)
}

//! Nodes whose values are floats, in the arithmetic of the world.

use nestegg_ir::ReduceOp;
use nestegg_ir::types::Type;

use crate::error::Trap;
use crate::evaluate::{Range, Reader, State, zip};
use crate::memory::Data;
use crate::node::{Binary, NodeId, Op, Unary};
use crate::world::Batch;

impl<W: Batch> Reader<'_, W> {
    pub(super) fn float(
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
                    zip(out, a, a, |a, _| world.integer(a));
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
                    Binary::Div => {
                        zip(out, a, a, |a, _| a);
                        let mut undefined = Vec::new();
                        world.divide(out, b, &mut undefined);
                        traps.extend(undefined.into_iter().map(|idx| (range.lo + idx, Trap::NoInverse)));
                    }
                    Binary::Power | Binary::FloorDiv | Binary::Mod => {
                        for (idx, out) in out.iter_mut().enumerate() {
                            let (a, b) = (a.get(idx), b.get(idx));
                            let value = match op {
                                Binary::Power => world.power_any(a, b),
                                Binary::FloorDiv => world.floor_div(a, b),
                                _ => world.modulo(a, b),
                            };
                            match value {
                                Some(value) => *out = value,
                                None => traps.push((range.lo + idx, Trap::NoInverse)),
                            }
                        }
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
                let inside = self.over(state, self.block.nodes[body.index()].set, node.set, range);
                let map = self.gather(state, self.block.nodes[body.index()].set, node.set);
                let values = &state.floats[body.index()][inside.lo..inside.hi];
                let map = &state.gathers[&map].1[inside.lo..inside.hi];
                let joined = || map.iter().map(|&to| to as usize - range.lo).zip(values);
                let is_single = W::ROUNDS && node.ty == Type::Float32;
                out.fill(match op {
                    ReduceOp::Sum => world.literal(0.0),
                    ReduceOp::Product => world.literal(1.0),
                    ReduceOp::Min => world.infinity(false),
                    ReduceOp::Max => world.infinity(true),
                });
                let fold = |join: &dyn Fn(W::Float, W::Float) -> W::Float, out: &mut [W::Float]| {
                    for (to, &value) in joined() {
                        out[to] = join(out[to], value);
                    }
                };
                let round = |value| if is_single { world.round_single(value) } else { value };
                match op {
                    ReduceOp::Sum if is_single => fold(&|a, b| round(world.add(a, b)), out),
                    ReduceOp::Sum => {
                        for (to, &value) in joined() {
                            out[to] = world.add(out[to], value);
                        }
                    }
                    ReduceOp::Product => fold(&|a, b| round(world.mul(a, b)), out),
                    ReduceOp::Min | ReduceOp::Max => {
                        let mut is_first = vec![true; out.len()];
                        for (to, &value) in joined() {
                            let out = &mut out[to];
                            *out = match (std::mem::replace(&mut is_first[to], false), op) {
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
}

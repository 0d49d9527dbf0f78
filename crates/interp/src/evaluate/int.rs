//! Nodes whose values are integers or truth values: exact in every world, with the widths of their types.

use nestegg_ir::ReduceOp;
use nestegg_ir::types::Type;

use crate::conversions::neutral;
use crate::error::Trap;
use crate::evaluate::access::{index_value, position};
use crate::evaluate::{Range, Reader, State, zip};
use crate::memory::Data;
use crate::node::{Binary, Index, NodeId, Op, Unary};
use crate::source::floor_div;
use crate::world::Batch;

impl<W: Batch> Reader<'_, W> {
    pub(super) fn int(
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
                let mut is_overflow = false;
                out.fill(0);
                for &(iname, coefficient) in terms {
                    let column = &points.columns[position(inames, iname)][range.lo..range.hi];
                    for (out, value) in out.iter_mut().zip(column) {
                        let (product, overflows) = value.overflowing_mul(coefficient);
                        let (sum, overflows_too) = out.overflowing_add(product);
                        is_overflow |= overflows | overflows_too;
                        *out = sum;
                    }
                }
                // An address finds that its index is out of bounds by itself.
                if is_overflow || node.ty == Type::Int32 {
                    let fits = |value: i64| node.ty != Type::Int32 || i32::try_from(value).is_ok();
                    let wrong = out.iter().enumerate().filter(|(_, value)| is_overflow || !fits(**value));
                    traps.extend(wrong.map(|(idx, _)| (range.lo + idx, Trap::IntegerOverflow)));
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
                let inside = self.over(state, self.block.nodes[body.index()].set, node.set, range);
                let map = self.gather(state, self.block.nodes[body.index()].set, node.set);
                let values = &state.ints[body.index()][inside.lo..inside.hi];
                let map = &state.gathers[&map].1[inside.lo..inside.hi];
                out.fill(neutral(*op, node.ty));
                for (&to, &value) in map.iter().zip(values) {
                    let out = &mut out[to as usize - range.lo];
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
}

//! Accumulations and recurrences: instructions that read what they write.

use nestegg_ir::{ExprId, InameId, Op, ReduceOp};

use crate::builder::{Builder, Role};
use crate::growth::Growth;
use crate::hazards::Use;
use crate::targets::{Data, Target};

/// A sum of remainders in an array of integers stays below this.
const SUM_BOUND: i64 = 1 << 18;

impl Builder<'_> {
    pub(crate) fn operation(&mut self) -> ReduceOp {
        if !self.chance(self.knobs.other_reductions) {
            return ReduceOp::Sum;
        }
        self.pick(&[ReduceOp::Max, ReduceOp::Min, ReduceOp::Product])
    }

    /// `u[i] = u[i] + e` for an argument or a temporary that has a value; or several of them one after the other, of reductions.
    pub(crate) fn accumulate(&mut self) {
        let depth = self.begin();
        let op = self.operation();
        let old = if self.chance(60) { self.defined_target(Use::Accumulate(op)) } else { None };
        let scattered = if old.is_none() && self.chance(self.knobs.scatter) { self.scattered_target() } else { None };
        let target = match old.or(scattered) {
            Some(target) => target,
            None => {
                let loops: Vec<InameId> = self.loops().collect();
                let mut inames = Vec::new();
                for iname in loops {
                    if self.chance(60) {
                        inames.push(iname);
                    }
                }
                let dtype = self.float_dtype();
                self.new_target(Role::InOut, dtype, &inames)
            }
        };
        let is_float = self.kernel[target.0].dtype.is_float();
        if !is_float || !self.chance(self.knobs.term_by_term) {
            let array = target.0;
            return self.accumulate_into(target, op, |builder| builder.value(array, depth));
        }
        for _ in 0..self.between(2, 4) {
            let depth = self.begin();
            self.accumulate_into(target.clone(), op, |builder| {
                let value = builder.reduction(depth);
                builder.tamed(value, Growth::Linear)
            });
        }
    }

    pub(crate) fn accumulate_into(&mut self, target: Target, op: ReduceOp, value: impl FnOnce(&mut Self) -> ExprId) {
        let (array, indices) = target.clone();
        // Products of integers grow too fast.
        let op = if op == ReduceOp::Product && !self.kernel[array].dtype.is_float() { ReduceOp::Max } else { op };
        if !self.admits(array, &indices, Use::Accumulate(op)) {
            return self.assign_argument();
        }
        self.record(array, &indices, Use::Accumulate(op));
        let (predicates, facts) = self.predicates();
        let mut value = self.under(&facts, value);
        if self.kernel[array].dtype.is_integer() {
            value = self.remainder(value);
            if op == ReduceOp::Sum {
                self.arrays[array.index()].bound = SUM_BOUND;
            }
        }
        if op == ReduceOp::Product {
            value = self.tamed(value, Growth::None);
            value = self.tamed_product(value);
        }
        let old = self.kernel.exprs.access(array, indices);
        let expression = match (op, self.weighted(&[6, 2, 1])) {
            (ReduceOp::Sum, 2) => self.op(Op::Sub, [old, value]),
            (_, 1) => self.op(op.operator(), [value, old]),
            _ => self.op(op.operator(), [old, value]),
        };
        self.emit_assignment(target, expression, predicates);
    }

    /// `t = 0`, and later `t = t + e` in loops that `inside` opens.
    pub(crate) fn initialise_and_accumulate(&mut self, inside: impl FnOnce(&mut Self, &mut dyn FnMut(&mut Self))) {
        self.begin();
        let data = if self.chance(self.knobs.integer / 2) { Data::Integer } else { Data::Float };
        let (array, indices) = self.undefined(data);
        let op = self.operation();
        let neutral = match (op, data) {
            (ReduceOp::Sum | ReduceOp::Max | ReduceOp::Min, Data::Float) => self.number(0.0),
            (ReduceOp::Product, Data::Float) => self.number(1.0),
            _ => self.kernel.exprs.int(0),
        };
        self.emit_assignment((array, indices.clone()), neutral, Vec::new());
        self.define(array, &indices);
        inside(self, &mut |builder| {
            let depth = builder.begin();
            match builder.old_indices(array) {
                Some(indices) => {
                    builder.accumulate_into((array, indices), op, |builder| builder.value(array, depth));
                }
                None => builder.assign_argument(),
            }
        });
    }

    /// `u[i] = c*u[i - 1] + e` over a sequential iname.
    pub(crate) fn recurrence(&mut self, iname: InameId) {
        let depth = self.begin();
        let mut inames = self.free_loops();
        inames.insert(0, iname);
        let dtype = self.float_dtype();
        let shape = inames.iter().map(|iname| self.ranges[iname.index()].size).collect();
        let array = self.declare(Role::InOut, dtype, shape);
        let indices: Box<[ExprId]> = inames.iter().map(|&iname| self.kernel.exprs.iname(iname)).collect();
        self.record(array, &indices, Use::Write);
        let mut predicates = Vec::new();
        if self.margin_low(iname) < 1 {
            let one = self.kernel.exprs.int(1);
            predicates.push(self.op(Op::Ge, [indices[0], one]));
        }
        let mut before = indices.clone();
        before[0] = self.offset(indices[0], -1);
        let previous = self.read(array, before);
        let factor = self.float_literal();
        let product = self.op(Op::Mul, [factor, previous]);
        let value = self.value(array, depth);
        let expression = self.op(Op::Add, [product, value]);
        self.emit_assignment((array, indices), expression, predicates);
    }
}

//! Expressions of integers, with a bound of their size: none overflows.

use nestegg_ir::{Dtype, Expr, ExprId, InameId, Op, ReduceOp};

use crate::arrays::INPUT_BOUND;
use crate::builder::Builder;
use crate::hazards::Use;

/// No intermediate result exceeds this.
pub(crate) const MAX_BOUND: i64 = 1 << 24;
/// Parameters are at most this in runs.
const PARAMETER_BOUND: i64 = 64;
/// Divisors and moduli.
const DIVISORS: [i64; 6] = [2, 3, -2, 5, -3, 7];

impl Builder<'_> {
    /// An expression of integers, and a bound of its absolute value.
    pub(crate) fn integer(&mut self, depth: u32) -> (ExprId, i64) {
        if depth == 0 || self.n_operations == 0 {
            return self.integer_leaf();
        }
        self.n_operations = self.n_operations.saturating_sub(1);
        let bits = u32::from(self.knobs.bits) / 5;
        let (expr, bound) = match self.weighted(&[4, 4, 3, 3, 1, bits, 1, 1, 1]) {
            0 => return self.integer_leaf(),
            1 => {
                let ((a, x), (b, y)) = (self.integer(depth - 1), self.integer(depth - 1));
                let op = self.pick(&[Op::Add, Op::Sub]);
                (self.op(op, [a, b]), x + y)
            }
            2 => {
                let ((a, x), (b, y)) = (self.integer(depth - 1), self.integer(depth - 1));
                if x * y > MAX_BOUND { (self.op(Op::Min, [a, b]), x.max(y)) } else { (self.op(Op::Mul, [a, b]), x * y) }
            }
            3 => {
                let (a, bound) = self.integer(depth - 1);
                let divisor = self.pick(&DIVISORS);
                let literal = self.kernel.exprs.int(divisor);
                match self.chance(50) {
                    false => (self.op(Op::Mod, [a, literal]), divisor.abs()),
                    true => (self.op(Op::FloorDiv, [a, literal]), bound + 1),
                }
            }
            4 => {
                let (a, bound) = self.integer(depth - 1);
                (self.op(Op::Neg, [a]), bound)
            }
            5 => self.bits(depth),
            6 => {
                let condition = self.condition(1);
                let ((a, x), (b, y)) = (self.integer(depth - 1), self.integer(depth - 1));
                (self.op(Op::If, [condition, a, b]), x.max(y))
            }
            7 => {
                let op = self.pick(&[Op::Min, Op::Max]);
                let ((a, x), (b, y)) = (self.integer(depth - 1), self.integer(depth - 1));
                (self.op(op, [a, b]), x.max(y))
            }
            _ => {
                if self.chance(self.knobs.truncation) {
                    self.truncated(depth)
                } else {
                    let (operand, bound) = self.integer(depth - 1);
                    let dtype = self.pick(&[Dtype::Int64, Dtype::Int32]);
                    (self.kernel.exprs.intern(Expr::Cast { dtype, operand }), bound)
                }
            }
        };
        if bound <= MAX_BOUND {
            return (expr, bound);
        }
        self.wrapped(expr)
    }

    /// The remainder by a small literal.
    pub(crate) fn wrapped(&mut self, expr: ExprId) -> (ExprId, i64) {
        let modulus = self.pick(&[7, 16, 101]);
        let literal = self.kernel.exprs.int(modulus);
        (self.op(Op::Mod, [expr, literal]), modulus)
    }

    fn truncated(&mut self, depth: u32) -> (ExprId, i64) {
        let value = self.float(depth - 1);
        let value = self.call("tanh", vec![value]);
        let value = if self.knobs.exceptional > 0 {
            // What is not a number is no integer either.
            let least = self.number(-1.0);
            self.call("fmax", vec![value, least])
        } else {
            value
        };
        let factor = self.kernel.exprs.int(10);
        let operand = self.op(Op::Mul, [factor, value]);
        (self.kernel.exprs.intern(Expr::Cast { dtype: Dtype::Int32, operand }), 10)
    }

    fn bits(&mut self, depth: u32) -> (ExprId, i64) {
        let (a, x) = self.integer(depth - 1);
        match self.below(4) {
            0 => {
                let (b, y) = self.integer(depth - 1);
                let op = self.pick(&[Op::BitAnd, Op::BitOr, Op::BitXor]);
                // Two's complement of both fits in one more bit than the longer one.
                (self.op(op, [a, b]), 2 * x.max(y) + 1)
            }
            1 => (self.op(Op::BitNot, [a]), x + 1),
            2 => {
                let amount = self.between(0, 3);
                let literal = self.kernel.exprs.int(amount);
                (self.op(Op::Shr, [a, literal]), x + 1)
            }
            _ => {
                // A shift to the left of a negative number has no value in C.
                let modulus = self.kernel.exprs.int(16);
                let a = self.op(Op::Mod, [a, modulus]);
                let amount = self.between(0, 3);
                let literal = self.kernel.exprs.int(amount);
                (self.op(Op::Shl, [a, literal]), 16 << amount)
            }
        }
    }

    fn integer_leaf(&mut self) -> (ExprId, i64) {
        if self.only_literals {
            return self.integer_literal();
        }
        let valued = self.valued();
        let has_inames = u32::from(!valued.is_empty());
        let has_parameters = u32::from(!self.parameters.is_empty());
        match self.weighted(&[3, 4 * has_inames, 2 * has_parameters, 4, 1]) {
            1 => self.iname_value(&valued),
            2 => {
                let parameter = self.parameter();
                (self.kernel.exprs.intern(Expr::Parameter(parameter)), PARAMETER_BOUND)
            }
            3 => self.integer_element(),
            4 if !self.bound.is_empty() || self.n_operations == 0 => self.integer_literal(),
            4 => self.integer_sum(),
            _ => self.integer_literal(),
        }
    }

    pub(crate) fn integer_literal(&mut self) -> (ExprId, i64) {
        let value = self.pick(&[1, 0, 2, -1, 3, 5, -4, 10]);
        (self.kernel.exprs.int(value), value.abs())
    }

    fn iname_value(&mut self, valued: &[InameId]) -> (ExprId, i64) {
        let iname = self.pick(valued);
        let bound = self.ranges[iname.index()].size.as_const().unwrap_or(PARAMETER_BOUND);
        (self.kernel.exprs.iname(iname), bound)
    }

    fn integer_element(&mut self) -> (ExprId, i64) {
        let dtype = self.integer_dtype();
        let expr = self.element(Dtype::is_integer, dtype);
        let bound = match &self.kernel.exprs[expr] {
            Expr::Access { array, .. } => self.arrays[array.index()].bound,
            _ => INPUT_BOUND,
        };
        (expr, bound)
    }

    fn integer_sum(&mut self) -> (ExprId, i64) {
        self.n_operations -= 1;
        let inames = self.reduction_inames();
        let (body, bound) = self.within(&inames, |builder| builder.integer(1));
        let points: i64 =
            inames.iter().map(|iname| self.ranges[iname.index()].size.as_const().unwrap_or(PARAMETER_BOUND)).product();
        if bound * points > MAX_BOUND {
            return self.integer_literal();
        }
        let sum = Expr::Reduce { op: ReduceOp::Sum, inames: inames.into(), body };
        (self.kernel.exprs.intern(sum), bound * points)
    }

    /// Whether the array has integers whose accumulation stays small.
    pub(crate) fn has_room(&self, array: nestegg_ir::ArrayId) -> bool {
        self.arrays[array.index()].bound * 64 < MAX_BOUND
            && self.arrays[array.index()].role != crate::builder::Role::Table
    }

    /// An old element that is a condition.
    pub(crate) fn truth_element(&mut self) -> Option<ExprId> {
        (0..3).find_map(|_| self.old_element(|dtype| dtype == Dtype::Bool)).or_else(|| {
            let rank = self.below(2) as usize;
            let valued: Vec<InameId> = self.valued().into_iter().take(rank).collect();
            let shape = valued.iter().map(|iname| self.ranges[iname.index()].size).collect();
            let array = self.declare(crate::builder::Role::Input, Dtype::Bool, shape);
            let indices: Box<[ExprId]> = valued.iter().map(|&iname| self.kernel.exprs.iname(iname)).collect();
            self.admits(array, &indices, Use::Read).then(|| self.read(array, indices))
        })
    }
}

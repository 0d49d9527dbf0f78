//! Conditions: affine in inames and parameters, or of data.

use nestegg_ir::{ExprId, Op};

use crate::builder::{Builder, Kind, Pooled};

/// Comparisons of integers.
const COMPARISONS: [Op; 6] = [Op::Lt, Op::Ge, Op::Le, Op::Gt, Op::Eq, Op::Ne];
/// Comparisons of floats that do not turn on one bit.
const ORDER: [Op; 4] = [Op::Lt, Op::Ge, Op::Le, Op::Gt];
/// Integers of every magnitude, simple ones first.
const INTEGERS: [i64; 9] = [10, -10, 100, 7, 1000, -5000, 123_456, 2_000_000_000, -2_000_000_000];
/// Floats of every magnitude.
const FLOATS: [f64; 14] = [10.0, 1e5, -1e5, 1e-5, 1e9, -1e9, 2.5e-9, 123_456.75, 1e15, -7.5e3, 1e30, 4.0, -1e-12, 0.3];

impl Builder<'_> {
    /// A condition whose connectives nest at most `depth` deep.
    pub(crate) fn condition(&mut self, depth: u32) -> ExprId {
        if self.chance(self.knobs.sharing)
            && let Some(expr) = self.shared(Kind::Condition)
        {
            return expr;
        }
        let expr = if depth > 0 && self.chance(25) {
            match self.below(3) {
                0 => {
                    let operand = self.condition(depth - 1);
                    self.op(Op::Not, [operand])
                }
                kind => {
                    let n = self.between(2, 3);
                    let operands: Vec<ExprId> = (0..n).map(|_| self.condition(depth - 1)).collect();
                    self.op(if kind == 1 { Op::And } else { Op::Or }, operands)
                }
            }
        } else if self.chance(self.knobs.data_dependent) {
            self.data_condition()
        } else {
            self.affine_condition()
        };
        self.pool.push(Pooled { expr, kind: Kind::Condition });
        expr
    }

    /// A comparison of data, or a truth value.
    fn data_condition(&mut self) -> ExprId {
        if self.chance(self.knobs.magnitude) {
            return self.compared_with_constant();
        }
        if self.chance(self.knobs.boolean)
            && let Some(truth) = self.truth_element()
        {
            return truth;
        }
        if self.chance(self.knobs.integer) {
            let ((a, _), (b, _)) = (self.integer(1), self.integer(1));
            let op = self.pick(&COMPARISONS);
            return self.op(op, [a, b]);
        }
        let op = self.pick(&ORDER);
        let (a, b) = (self.float(1), self.float(1));
        self.op(op, [a, b])
    }

    /// A comparison of data with a constant of any magnitude.
    fn compared_with_constant(&mut self) -> ExprId {
        if self.chance(self.knobs.integer) {
            let (value, _) = self.integer(1);
            let literal = self.pick(&INTEGERS);
            let literal = self.kernel.exprs.int(literal);
            let op = self.pick(&COMPARISONS);
            return self.op(op, [value, literal]);
        }
        let value = self.float(1);
        let literal = self.far_literal();
        let op = self.pick(&ORDER);
        if self.chance(30) { self.op(op, [literal, value]) } else { self.op(op, [value, literal]) }
    }

    /// A literal of any magnitude.
    pub(crate) fn far_literal(&mut self) -> ExprId {
        let value = self.pick(&FLOATS);
        self.number(value)
    }

    /// A comparison of inames, parameters and literals.
    pub(crate) fn affine_condition(&mut self) -> ExprId {
        let valued = self.valued();
        let op = self.pick(&COMPARISONS);
        if valued.is_empty() {
            let literal = if self.chance(self.knobs.magnitude) { self.pick(&INTEGERS) } else { self.between(0, 3) };
            let right = self.kernel.exprs.int(literal);
            let left = match self.parameters.is_empty() {
                true => self.kernel.exprs.int(1),
                false => {
                    let parameter = self.parameter();
                    self.kernel.exprs.intern(nestegg_ir::Expr::Parameter(parameter))
                }
            };
            return self.op(op, [left, right]);
        }
        let first = self.pick(&valued);
        let left = self.kernel.exprs.iname(first);
        let right = match self.weighted(&[4, 3, 2]) {
            0 => {
                let literal = if self.chance(self.knobs.magnitude) { self.pick(&INTEGERS) } else { self.between(0, 3) };
                self.kernel.exprs.int(literal)
            }
            1 => {
                let second = self.pick(&valued);
                let second = self.kernel.exprs.iname(second);
                let offset = self.between(-1, 1);
                self.offset(second, offset)
            }
            _ => self.ranges[first.index()].size.expr(-1, &mut self.kernel.exprs),
        };
        self.op(op, [left, right])
    }
}

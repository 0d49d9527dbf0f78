//! Expressions of floats.

use nestegg_ir::{Dtype, Expr, ExprId, Float, InameId, Op, ReduceOp};

use crate::builder::{Builder, Fact, Kind, Pooled};

/// Literals, simple ones first.
const LITERALS: [f64; 12] = [1.0, 2.0, 0.5, -1.0, 0.0, 3.0, -0.25, 1.5, 0.1, -2.5, 0.125, 7.0e-3];
/// Functions that are finite and smooth on all numbers of moderate size.
const TAME: [&str; 6] = ["fabs", "sin", "cos", "tanh", "atan", "cbrt"];
/// Functions of numbers of at least 1.
const OF_POSITIVE: [&str; 4] = ["sqrt", "log", "log1p", "log2"];
/// Functions of numbers between -1 and 1.
const OF_SMALL: [&str; 5] = ["exp", "expm1", "sinh", "cosh", "exp2"];
/// Functions of two numbers.
const OF_TWO: [&str; 5] = ["fmin", "fmax", "hypot", "atan2", "copysign"];
/// Reductions nest at most so deep.
const MAX_REDUCTIONS: usize = 3;

impl Builder<'_> {
    /// An expression of floats whose operations nest at most `depth` deep.
    pub(crate) fn float(&mut self, depth: u32) -> ExprId {
        if depth == 0 || self.n_operations == 0 {
            return self.float_leaf();
        }
        if self.chance(self.knobs.sharing)
            && let Some(expr) = self.shared(Kind::Float)
        {
            return expr;
        }
        if !self.only_literals && self.chance(self.knobs.constant) {
            self.only_literals = true;
            let expr = self.float(depth);
            self.only_literals = false;
            return expr;
        }
        let knobs = &self.knobs;
        let weights = [
            40,
            u32::from(knobs.arithmetic),
            u32::from(knobs.reduction) * u32::from(self.bound.len() < MAX_REDUCTIONS),
            u32::from(knobs.selection),
            u32::from(knobs.guard),
            u32::from(knobs.extremum),
            u32::from(knobs.function),
            u32::from(knobs.power),
            u32::from(knobs.quotient),
            u32::from(knobs.substitution),
            u32::from(knobs.integer) / 2,
            u32::from(knobs.cast),
            u32::from(knobs.flux),
        ];
        let kind = self.weighted(&weights);
        self.n_operations = self.n_operations.saturating_sub(1);
        let expr = match kind {
            0 => return self.float_leaf(),
            1 => self.arithmetic(depth),
            2 => self.reduction(depth),
            3 => {
                let condition = self.condition(2);
                let (a, b) = (self.float(depth - 1), self.float(depth - 1));
                self.op(Op::If, [condition, a, b])
            }
            4 => self.guarded(depth),
            5 => {
                let op = self.pick(&[Op::Min, Op::Max]);
                let mut operands = self.floats(depth - 1);
                if self.chance(25) {
                    let inner = self.floats(depth - 1);
                    operands.push(self.op(op, inner));
                }
                if self.chance(self.knobs.magnitude) {
                    operands.push(self.far_literal());
                }
                self.op(op, operands)
            }
            6 => self.function(depth),
            7 => self.power(depth),
            8 => {
                let (a, b) = (self.float(depth - 1), self.nonzero(depth - 1));
                self.op(Op::Div, [a, b])
            }
            9 => match self.substitution(depth) {
                Some(expr) => expr,
                None => return self.float_leaf(),
            },
            10 => self.integer_as_float(),
            12 => match self.fluxes() {
                Some(expr) => expr,
                None => return self.float_leaf(),
            },
            _ => {
                let dtype = self.pick(&[Dtype::Float64, Dtype::Float32]);
                let operand = self.float(depth - 1);
                self.kernel.exprs.intern(Expr::Cast { dtype, operand })
            }
        };
        self.pool.push(Pooled { expr, kind: Kind::Float });
        expr
    }

    pub(crate) fn op(&mut self, op: Op, operands: impl Into<Box<[ExprId]>>) -> ExprId {
        self.kernel.exprs.op(op, operands)
    }

    /// An expression of the pool.
    pub(crate) fn shared(&mut self, kind: Kind) -> Option<ExprId> {
        let known: Vec<ExprId> = self.pool.iter().rev().filter(|p| p.kind == kind).take(8).map(|p| p.expr).collect();
        (!known.is_empty()).then(|| self.pick(&known))
    }

    fn floats(&mut self, depth: u32) -> Vec<ExprId> {
        let n = self.between(2, i64::from(self.knobs.terms.max(2)));
        let mut operands: Vec<ExprId> = (0..n).map(|_| self.float(depth)).collect();
        if self.chance(self.knobs.integer / 3) {
            // An integer beside floats is a float; alone it would not be.
            let (integer, _) = if self.chance(50) { self.integer(1) } else { self.integer_literal() };
            let at = self.position(operands.len() + 1);
            operands.insert(at, integer);
        }
        operands
    }

    fn arithmetic(&mut self, depth: u32) -> ExprId {
        match self.weighted(&[4, 5, 2, 1]) {
            0 => {
                let operands = self.floats(depth - 1);
                self.op(Op::Add, operands)
            }
            1 => {
                let operands = self.floats(depth - 1);
                self.op(Op::Mul, operands)
            }
            2 => {
                let (a, b) = (self.float(depth - 1), self.float(depth - 1));
                self.op(Op::Sub, [a, b])
            }
            _ => {
                let a = self.float(depth - 1);
                self.op(Op::Neg, [a])
            }
        }
    }

    fn float_leaf(&mut self) -> ExprId {
        if self.only_literals {
            return self.float_literal();
        }
        if self.n_formals > 0 && self.chance(60) {
            let formal = self.below(u64::from(self.n_formals)) as u32;
            return self.kernel.exprs.intern(Expr::Formal(formal));
        }
        match self.weighted(&[12, 3, u32::from(self.knobs.integer) / 15]) {
            0 => {
                let dtype = self.float_dtype();
                self.element(Dtype::is_float, dtype)
            }
            1 => self.float_literal(),
            _ => self.integer_as_float(),
        }
    }

    pub(crate) fn float_literal(&mut self) -> ExprId {
        let value = self.pick(&LITERALS);
        self.number(value)
    }

    /// A literal that is finite by construction.
    pub(crate) fn number(&mut self, value: f64) -> ExprId {
        self.kernel.exprs.float(Float::new(value).expect("literals of the generator are finite"))
    }

    /// An integer where a float is wanted.
    fn integer_as_float(&mut self) -> ExprId {
        let (operand, _) = self.integer(2);
        let dtype = self.float;
        self.kernel.exprs.intern(Expr::Cast { dtype, operand })
    }

    fn function(&mut self, depth: u32) -> ExprId {
        let (name, arguments) = match self.weighted(&[6, 3, 2, 2, 1]) {
            0 => (self.pick(&TAME), vec![self.float(depth - 1)]),
            1 => (self.pick(&OF_POSITIVE), vec![self.positive(depth - 1)]),
            2 => {
                let argument = self.float(depth - 1);
                let inner = self.pick(&["sin", "cos", "tanh"]);
                (self.pick(&OF_SMALL), vec![self.call(inner, vec![argument])])
            }
            4 => {
                let value = self.float(depth - 1);
                let inner = if self.chance(50) { self.op(Op::Neg, [value]) } else { self.call("fabs", vec![value]) };
                ("fabs", vec![inner])
            }
            _ => {
                let name = self.pick(&OF_TWO);
                let first = self.float(depth - 1);
                // Where these two jump the sign of a zero decides, which real numbers lack.
                let jumps = matches!(name, "copysign" | "atan2");
                let is_real = jumps && !self.is_exceptional();
                let second = if is_real { self.positive(depth - 1) } else { self.float(depth - 1) };
                (name, vec![first, second])
            }
        };
        self.call(name, arguments)
    }

    pub(crate) fn call(&mut self, name: &str, arguments: Vec<ExprId>) -> ExprId {
        let function = self.kernel.function(name);
        self.kernel.exprs.intern(Expr::Call { function, arguments: arguments.into() })
    }

    /// A value of at least 1: `1.5 + x*x` or `1.7 + fabs(x)`. In a prime field `fabs` may negate, so the latter is no sum
    /// of literals that could be zero.
    fn positive(&mut self, depth: u32) -> ExprId {
        let value = self.float(depth);
        let (offset, value) = match self.chance(50) {
            false => (1.5, self.op(Op::Mul, [value, value])),
            true => (1.7, self.call("fabs", vec![value])),
        };
        let offset = self.number(offset);
        self.op(Op::Add, [offset, value])
    }

    /// Whether what comes next may be no real number.
    pub(crate) fn is_exceptional(&mut self) -> bool {
        self.knobs.exceptional > 0 && self.chance(self.knobs.exceptional)
    }

    /// A value that is not zero: a literal, or one of at least 1.
    fn nonzero(&mut self, depth: u32) -> ExprId {
        if self.is_exceptional() {
            return self.float(depth);
        }
        if self.chance(70) {
            return self.positive(depth);
        }
        let value = self.pick(&[2.0, 0.5, -4.0, 3.0, 0.1]);
        self.number(value)
    }

    fn power(&mut self, depth: u32) -> ExprId {
        match self.weighted(&[6, 3, 2, 1]) {
            0 => {
                let base = self.float(depth - 1);
                let exponent = self.pick(&[2, 3, 1, 0, 4, 5]);
                if self.chance(20) {
                    let exponent = self.number(f64::from(exponent));
                    return self.call("pow", vec![base, exponent]);
                }
                let exponent = self.kernel.exprs.int(exponent.into());
                self.op(Op::Pow, [base, exponent])
            }
            1 => {
                let base = self.nonzero(depth - 1);
                let exponent = self.pick(&[-1, -2, -3]);
                let exponent = self.kernel.exprs.int(exponent);
                self.op(Op::Pow, [base, exponent])
            }
            2 => {
                let base = self.positive(depth - 1);
                let exponent = self.pick(&[0.5, -0.5, 1.5]);
                let exponent = self.number(exponent);
                self.op(Op::Pow, [base, exponent])
            }
            _ => {
                let base = self.positive(depth - 1);
                let exponent = self.float(depth - 1);
                let exponent = self.call("sin", vec![exponent]);
                if self.chance(50) {
                    self.op(Op::Pow, [base, exponent])
                } else {
                    self.call("pow", vec![base, exponent])
                }
            }
        }
    }

    /// Inames for a reduction.
    pub(crate) fn reduction_inames(&mut self) -> Vec<InameId> {
        let n = 1 + self.weighted(&[6, 2, 1]);
        let mut inames = Vec::new();
        for _ in 0..n.min(MAX_REDUCTIONS - self.bound.len().min(MAX_REDUCTIONS - 1)) {
            let iname = self.any_iname(self.knobs.reopened.max(40));
            inames.push(iname);
            self.bound.push(iname);
        }
        self.bound.truncate(self.bound.len() - inames.len());
        inames
    }

    /// The operation of a reduction; only of something are minima and maxima finite.
    pub(crate) fn reduction_op(&mut self, inames: &[InameId]) -> ReduceOp {
        if !self.chance(self.knobs.other_reductions) {
            return ReduceOp::Sum;
        }
        let has_points = inames.iter().all(|iname| self.ranges[iname.index()].least_points(&self.parameters) > 0);
        match self.below(if has_points { 3 } else { 1 }) {
            0 => ReduceOp::Product,
            1 => ReduceOp::Min,
            _ => ReduceOp::Max,
        }
    }

    pub(crate) fn reduction(&mut self, depth: u32) -> ExprId {
        let inames = self.reduction_inames();
        let op = self.reduction_op(&inames);
        let body = self.within(&inames, |builder| builder.float(depth - 1));
        self.kernel.exprs.intern(Expr::Reduce { op, inames: inames.into(), body })
    }

    /// What `make` makes under a reduction over `inames`; what it shares stays there, and what reduces over them stays outside.
    pub(crate) fn within<T>(&mut self, inames: &[InameId], make: impl FnOnce(&mut Self) -> T) -> T {
        let n_bound = self.bound.len();
        let outside = self.pool.clone();
        let reduces = |expr: ExprId| inames.iter().any(|&iname| self.inames_of(expr).1.contains(iname));
        self.pool = outside.iter().copied().filter(|pooled| !reduces(pooled.expr)).collect();
        self.bound.extend(inames);
        let res = make(self);
        self.bound.truncate(n_bound);
        self.pool = outside;
        res
    }

    /// What `make` makes where `facts` hold.
    pub(crate) fn under<T>(&mut self, facts: &[Fact], make: impl FnOnce(&mut Self) -> T) -> T {
        let (n_facts, n_pooled) = (self.facts.len(), self.pool.len());
        self.facts.extend(facts);
        let res = make(self);
        self.facts.truncate(n_facts);
        self.pool.truncate(n_pooled);
        res
    }

    /// `if(0 < i, … a[i - 1] …, …)`, or `if(x != 0, y/x, …)`.
    fn guarded(&mut self, depth: u32) -> ExprId {
        let valued = self.valued();
        let (condition, value) = if !valued.is_empty() && self.chance(60) {
            let (condition, fact) = self.edge_condition(&valued);
            (condition, self.under(&[fact], |builder| builder.float(depth - 1)))
        } else {
            let divisor = self.float(depth - 1);
            let zero = self.number(0.0);
            let dividend = self.float(depth - 1);
            match self.chance(40) {
                false => (self.op(Op::Ne, [divisor, zero]), self.op(Op::Div, [dividend, divisor])),
                true => (self.op(Op::Gt, [divisor, zero]), self.call("sqrt", vec![divisor])),
            }
        };
        let otherwise = self.float(depth - 1);
        self.op(Op::If, [condition, value, otherwise])
    }

    /// A condition that leaves out the first or the last value of an iname.
    pub(crate) fn edge_condition(&mut self, valued: &[InameId]) -> (ExprId, Fact) {
        let iname = self.pick(valued);
        let value = self.kernel.exprs.iname(iname);
        if self.chance(50) {
            let last = self.ranges[iname.index()].size.expr(-1, &mut self.kernel.exprs);
            (self.op(Op::Lt, [value, last]), Fact { iname, low: 0, high: 1 })
        } else {
            let low = self.between(1, 2);
            let literal = self.kernel.exprs.int(low);
            (self.op(Op::Ge, [value, literal]), Fact { iname, low, high: 0 })
        }
    }
}

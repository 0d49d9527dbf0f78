//! Values as an array of some type holds them.
//!
//! A store converts. A value that bypasses the store must be converted all the same, or it would be more precise than
//! the array: if `t : float32` holds a `float64` value, a read of `t` is that value rounded.

use nestegg_ir::types::Type;
use nestegg_ir::{Dtype, Expr, ExprId, Float, Number, Op, ReduceOp};

use crate::workspace::Workspace;

impl Workspace {
    /// What an element of type `dtype` holds after `expr` was stored in it.
    pub(crate) fn coerce(&mut self, expr: ExprId, dtype: Dtype) -> ExprId {
        let ty = self.facts.ty(expr);
        if ty == Type::from(dtype) || (ty == Type::WeakInt && dtype == Dtype::Int32) {
            return expr;
        }
        let literal = match (&self.kernel.exprs[expr], dtype) {
            (Expr::Number(number), Dtype::Float64 | Dtype::Float32) => Float::new(number.to_f64()),
            _ => None,
        };
        let expr = match literal {
            Some(literal) => self.intern(Expr::Number(Number::Float(literal))),
            None => expr,
        };
        // Literals by themselves are computed with in double precision.
        let is_weak = self.facts.ty(expr) == Type::WeakFloat;
        if is_weak && !self.has_two_float_types && dtype == Dtype::Float64 {
            return expr;
        }
        self.intern(Expr::Cast { dtype, operand: expr })
    }

    /// `base op term`, as an element of type `dtype` holds it.
    pub(crate) fn combine(&mut self, op: ReduceOp, base: ExprId, term: ExprId, dtype: Dtype) -> ExprId {
        let literal = match self.kernel.exprs[base] {
            Expr::Cast { operand, .. } => operand,
            _ => base,
        };
        let is_identity = match self.kernel.exprs[literal] {
            Expr::Number(number) => identity(op).is_some_and(|identity| number.to_f64() == identity),
            _ => false,
        };
        let sum =
            if is_identity { term } else { self.intern(Expr::Op { op: op.operator(), operands: [base, term].into() }) };
        self.coerce(sum, dtype)
    }

    /// The term where the condition holds, and elsewhere what changes nothing; `None` if no number does that.
    pub(crate) fn guard_term(&mut self, op: ReduceOp, condition: ExprId, term: ExprId) -> Option<ExprId> {
        let identity = identity(op)?;
        let nothing = if self.facts.ty(term).is_float() {
            Number::Float(Float::new(identity)?)
        } else {
            Number::Int(identity as i64)
        };
        let nothing = self.intern(Expr::Number(nothing));
        Some(self.intern(Expr::Op { op: Op::If, operands: [condition, term, nothing].into() }))
    }

    /// All of the conditions; `None` if there is none.
    pub(crate) fn all_of(&mut self, mut conditions: Vec<ExprId>) -> Option<ExprId> {
        conditions.dedup();
        match conditions.as_slice() {
            [] => None,
            [single] => Some(*single),
            _ => Some(self.intern(Expr::Op { op: Op::And, operands: conditions.into() })),
        }
    }
}

/// What changes nothing under an operation, if it is a number.
fn identity(op: ReduceOp) -> Option<f64> {
    match op {
        ReduceOp::Sum => Some(0.0),
        ReduceOp::Product => Some(1.0),
        ReduceOp::Min | ReduceOp::Max => None,
    }
}

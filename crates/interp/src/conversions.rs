//! The types of operations, and the conversions that C makes: one account of them for whoever compiles expressions.
//!
//! # Input
//! The types of operands.
//! # Output
//! The type in which an operation is done, and what an operand has to be converted to.
//! # Method
//! C's usual arithmetic conversions, with literals taking the type that they meet (`Type::join`); quotients and powers that need
//! not be whole are floats.

use nestegg_ir::types::Type;
use nestegg_ir::{Expr, ExprId, Kernel, Number, Op, ReduceOp};
use rustc_hash::FxHashSet;

use crate::node::Binary;
use crate::source::Source;

/// The type of a function's arguments and value.
pub(crate) fn of_call(joined: Type) -> Type {
    if joined.is_float() { joined } else { Type::Float64 }
}

/// The type of a quotient.
pub(crate) fn of_quotient(joined: Type) -> Type {
    match joined {
        ty if ty.is_float() => ty,
        Type::WeakInt => Type::WeakFloat,
        _ => Type::Float64,
    }
}

/// The type of a power with a whole literal for its exponent.
pub(crate) fn of_power(base: Type, exponent: i64) -> Type {
    let base = base.join(Type::WeakInt);
    if exponent >= 0 { base } else { of_quotient(base) }
}

/// The type of a selection between two values.
pub(crate) fn of_selection(a: Type, b: Type) -> Type {
    match (a, b) {
        (Type::Bool, Type::Bool) => Type::Bool,
        (a, b) => a.join(b),
    }
}

/// The operation that joins operands from the left, and the type that they are converted to first. `>` and `>=` take them the other
/// way round. `None` for an operator that does no such thing.
pub(crate) fn joining(op: Op, joined: Type) -> Option<(Binary, Type)> {
    Some(match op {
        Op::Add => (Binary::Add, joined),
        Op::Sub => (Binary::Sub, joined),
        Op::Mul => (Binary::Mul, joined),
        Op::Div => (Binary::Div, of_quotient(joined)),
        Op::Pow => (Binary::Power, of_quotient(joined)),
        Op::FloorDiv => (Binary::FloorDiv, joined),
        Op::Mod => (Binary::Mod, joined),
        Op::Min => (Binary::Min, joined),
        Op::Max => (Binary::Max, joined),
        Op::BitAnd => (Binary::BitAnd, joined),
        Op::BitOr => (Binary::BitOr, joined),
        Op::BitXor => (Binary::BitXor, joined),
        Op::Shl => (Binary::Shl, joined),
        Op::Shr => (Binary::Shr, joined),
        Op::And => (Binary::And, Type::Bool),
        Op::Or => (Binary::Or, Type::Bool),
        Op::Lt | Op::Gt => (Binary::Lt, joined),
        Op::Le | Op::Ge => (Binary::Le, joined),
        Op::Eq => (Binary::Eq, joined),
        Op::Ne => (Binary::Ne, joined),
        Op::Neg | Op::Not | Op::BitNot | Op::If => return None,
    })
}

/// Whether a value of a type is one of another as it is.
pub(crate) fn is_same(from: Type, to: Type) -> bool {
    match (from, to) {
        _ if from == to => true,
        (_, Type::Float64 | Type::WeakFloat) => from.is_float(),
        (_, Type::Int64 | Type::WeakInt) => !from.is_float(),
        (_, Type::Int32) => matches!(from, Type::Bool | Type::WeakInt),
        _ => false,
    }
}

/// The value of a whole literal: `2`, or `2.0`.
pub(crate) fn whole_literal(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Number(Number::Int(value)) => Some(*value),
        Expr::Number(Number::Float(value)) if value.get().fract() == 0.0 && value.get().abs() < 1e15 => {
            Some(value.get() as i64)
        }
        _ => None,
    }
}

/// The type of an expression that is an affine form of inames and parameters.
pub(crate) fn of_form(kernel: &Kernel, source: &Source, root: ExprId) -> Type {
    let mut ty = Type::WeakInt;
    let mut pending = vec![root];
    let mut seen = FxHashSet::default();
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        match &source.exprs[id] {
            Expr::Number(Number::Int(value)) if i32::try_from(*value).is_err() => ty = ty.join(Type::Int64),
            Expr::Iname(_) => ty = ty.join(Type::Int32),
            Expr::Parameter(parameter) => ty = ty.join(kernel[*parameter].dtype.into()),
            other => pending.extend(other.children()),
        }
    }
    ty
}

/// What a reduction of integers of a type begins with.
pub(crate) fn neutral(op: ReduceOp, ty: Type) -> i64 {
    match (op, ty == Type::Int64) {
        (ReduceOp::Sum, _) => 0,
        (ReduceOp::Product, _) => 1,
        (ReduceOp::Min, true) => i64::MAX,
        (ReduceOp::Min, false) => i64::from(i32::MAX),
        (ReduceOp::Max, true) => i64::MIN,
        (ReduceOp::Max, false) => i64::from(i32::MIN),
    }
}

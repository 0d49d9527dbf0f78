//! Types as far as checks need them.

use nestegg_ir::{Dtype, Number, Op};

/// What kind of value an expression has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Type {
    Bool,
    Int,
    Float,
    /// Reported already, or dependent on the arguments of a substitution rule: fits everything.
    #[default]
    Unknown,
}

impl Type {
    pub(super) fn of(dtype: Dtype) -> Self {
        match dtype {
            Dtype::Bool => Self::Bool,
            Dtype::Int32 | Dtype::Int64 => Self::Int,
            Dtype::Float32 | Dtype::Float64 => Self::Float,
        }
    }

    /// What it is, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bool => "a condition",
            Self::Int => "an integer",
            Self::Float => "a float",
            Self::Unknown => "unknown",
        }
    }

    /// The type of an operation on numbers of both types.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Float, _) | (_, Self::Float) => Self::Float,
            (Self::Int, Self::Int) => Self::Int,
            (Self::Bool, Self::Bool) => Self::Bool,
            _ => Self::Unknown,
        }
    }

    pub(super) fn fits(self, need: Need) -> bool {
        match need {
            Need::Bool => matches!(self, Self::Bool | Self::Unknown),
            Need::Int => matches!(self, Self::Int | Self::Unknown),
            Need::Number => self != Self::Bool,
        }
    }
}

/// What an operand must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Bool,
    Int,
    Number,
}

impl Need {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bool => "a condition",
            Self::Int => "an integer",
            Self::Number => "a number",
        }
    }
}

/// What an operator takes; `If` is checked apart.
pub(super) fn need(op: Op) -> Need {
    if op.is_logic() {
        Need::Bool
    } else if op.is_bitwise() {
        Need::Int
    } else {
        Need::Number
    }
}

/// The type of an operation whose operands fit.
pub(super) fn result(op: Op, operands: &[Type], exponent: Option<Number>) -> Type {
    let joined = operands.iter().copied().reduce(Type::join).unwrap_or_default();
    match op {
        _ if op.is_comparison() || op.is_logic() => Type::Bool,
        _ if op.is_bitwise() => Type::Int,
        Op::Div => Type::Float,
        Op::Pow => match (operands.first(), exponent) {
            (Some(&base), Some(Number::Int(0..))) => base,
            (_, Some(_)) => Type::Float,
            // Whether a power of integers is an integer depends on the sign of the exponent.
            _ if joined == Type::Int => Type::Unknown,
            _ => joined,
        },
        Op::If => operands[1..].iter().copied().reduce(Type::join).unwrap_or_default(),
        _ => joined,
    }
}

//! Constants with their types, and their conversion as C converts them.

use nestegg_ir::types::Type;
use nestegg_ir::{Number, ReduceOp};

/// The value of a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// A truth value.
    Bool(bool),
    /// An integer within the width of its type.
    Int(i64),
    /// A finite float; of type float32 one that float32 holds.
    Float(f64),
}

/// What is known of a constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known {
    /// Its value.
    pub(super) value: Value,
    /// Whether it is that value in exact arithmetic too, with comparisons and functions of which nothing else is known:
    /// nothing was rounded on the way, and nothing was looked at but integers and small whole numbers.
    pub(super) is_exact: bool,
}

/// Whole floats up to this size keep their order in exact arithmetic.
const LARGEST_ORDERED: f64 = 2_147_483_648.0;

impl Known {
    /// A value without a doubt.
    pub(super) fn exact(value: Value) -> Self {
        Self { value, is_exact: true }
    }

    /// A float; `None` if it is not finite.
    pub(super) fn float(value: f64, is_exact: bool) -> Option<Self> {
        value.is_finite().then_some(Self { value: Value::Float(value), is_exact })
    }

    /// An integer of a type; `None` if it overflows.
    pub(super) fn int(value: i64, ty: Type, is_exact: bool) -> Option<Self> {
        let fits = ty == Type::Int64 || i32::try_from(value).is_ok();
        fits.then_some(Self { value: Value::Int(value), is_exact })
    }

    /// A literal, of type `ty`.
    pub(super) fn literal(number: Number) -> Self {
        Self::exact(match number {
            Number::Int(value) => Value::Int(value),
            Number::Float(value) => Value::Float(value.get()),
        })
    }

    /// The element of a table of that type; `None` if C makes an infinity of it.
    pub(super) fn element(number: Number, ty: Type) -> Option<Self> {
        let from = match number {
            Number::Int(value) if i32::try_from(value).is_err() => Type::Int64,
            Number::Int(_) => Type::WeakInt,
            Number::Float(_) => Type::WeakFloat,
        };
        Self::literal(number).converted(from, ty)
    }

    /// The value as one of another type; `None` where C gives it no meaning, or rounds twice.
    pub(super) fn converted(self, from: Type, to: Type) -> Option<Self> {
        if from == to {
            return Some(self);
        }
        let is_single = to == Type::Float32;
        match (self.value, to) {
            (Value::Float(value), _) if to.is_float() => {
                let rounded = if is_single { round_single(value) } else { value };
                Self::float(rounded, self.is_exact && rounded == value)
            }
            (Value::Float(value), Type::Bool) => {
                Some(Self { value: Value::Bool(value != 0.0), is_exact: self.is_exact })
            }
            (Value::Float(value), _) => {
                // 2^63 is the first float64 beyond int64.
                let is_inside = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
                let is_exact = self.is_exact && is_ordered(value);
                is_inside.then(|| Self::int(value as i64, to, is_exact)).flatten()
            }
            (Value::Bool(truth), _) => {
                Self { value: Value::Int(i64::from(truth)), ..self }.converted(Type::WeakInt, to)
            }
            (Value::Int(value), Type::Bool) => Some(Self { value: Value::Bool(value != 0), ..self }),
            (Value::Int(value), _) if to.is_float() => {
                let float = value as f64;
                let is_held = value.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS
                    && (!is_single || f64::from(float as f32).to_bits() == float.to_bits());
                is_held.then(|| Self::float(float, self.is_exact)).flatten()
            }
            (Value::Int(value), _) => Self::int(value, to, self.is_exact),
        }
    }

    /// Its truth, if it is a truth value.
    pub(super) fn truth(self) -> Option<bool> {
        match self.value {
            Value::Bool(truth) => Some(truth),
            _ => None,
        }
    }
}

/// What a reduction of that type over nothing is, as far as it is a number.
pub(super) fn neutral(op: ReduceOp, ty: Type) -> Option<Known> {
    let whole = match op {
        ReduceOp::Sum => 0,
        ReduceOp::Product => 1,
        ReduceOp::Min | ReduceOp::Max => return None,
    };
    Known::exact(Value::Int(whole)).converted(Type::WeakInt, ty)
}

/// Rounded to float32.
pub(super) fn round_single(value: f64) -> f64 {
    f64::from(value as f32)
}

/// Whether exact arithmetic knows how a float compares with others.
pub(super) fn is_ordered(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() <= LARGEST_ORDERED
}

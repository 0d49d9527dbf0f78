//! Constant expressions: the values of tables, and numbers as they are written.

use nestegg_ir::{Dtype, Float, Number, Op};

use crate::term::{Kind, Term};

/// A literal of C and its type; `None` if a kernel has no such number.
pub(crate) fn literal(text: &str) -> Option<(Number, Dtype)> {
    let lower = text.to_ascii_lowercase();
    let is_hex = lower.starts_with("0x");
    let is_float = !is_hex && lower.contains(['.', 'e']);
    if is_float {
        let (digits, is_single) = match lower.strip_suffix('f') {
            Some(digits) => (digits, true),
            None => (lower.strip_suffix('l').unwrap_or(&lower), false),
        };
        // Rust reads `1.` and `.5` as C does.
        let value: f64 = if is_single { f64::from(digits.parse::<f32>().ok()?) } else { digits.parse().ok()? };
        let dtype = if is_single { Dtype::Float32 } else { Dtype::Float64 };
        return Some((Number::Float(Float::new(value)?), dtype));
    }
    let digits = lower.trim_end_matches(['u', 'l']);
    let is_long = lower.len() > digits.len() && lower.contains('l');
    let value = if let Some(digits) = digits.strip_prefix("0x") {
        i64::from_str_radix(digits, 16).ok()?
    } else if digits.len() > 1 && digits.starts_with('0') {
        i64::from_str_radix(&digits[1..], 8).ok()?
    } else {
        digits.parse().ok()?
    };
    let dtype = if is_long || i32::try_from(value).is_err() { Dtype::Int64 } else { Dtype::Int32 };
    Some((Number::Int(value), dtype))
}

/// The value of an expression of literals, as C computes it; `None` if it is not one.
pub(crate) fn value(term: &Term) -> Option<Number> {
    match &term.kind {
        Kind::Number(number) => Some(*number),
        Kind::Cast(dtype, operand) => {
            let number = value(operand)?;
            match (dtype, number) {
                (Dtype::Float64, Number::Int(_)) => Float::new(number.to_f64()).map(Number::Float),
                (Dtype::Float32, _) => Float::new(f64::from(number.to_f64() as f32)).map(Number::Float),
                (Dtype::Int32 | Dtype::Int64, Number::Float(float)) => {
                    let whole = float.get().trunc();
                    (whole.abs() < 2.0_f64.powi(53)).then_some(Number::Int(whole as i64))
                }
                _ => Some(number),
            }
        }
        Kind::Op(op, operands) => {
            let values: Vec<Number> = operands.iter().map(|operand| value(operand)).collect::<Option<_>>()?;
            let mut rest = values.into_iter();
            let first = rest.next()?;
            if *op == Op::Neg {
                return match first {
                    Number::Int(value) => value.checked_neg().map(Number::Int),
                    Number::Float(value) => Float::new(-value.get()).map(Number::Float),
                };
            }
            rest.try_fold(first, |a, b| binary(*op, a, b))
        }
        Kind::Name(_) | Kind::Element(..) | Kind::Call(..) => None,
    }
}

fn binary(op: Op, a: Number, b: Number) -> Option<Number> {
    if let (Number::Int(a), Number::Int(b)) = (a, b) {
        return Some(Number::Int(match op {
            Op::Add => a.checked_add(b)?,
            Op::Sub => a.checked_sub(b)?,
            Op::Mul => a.checked_mul(b)?,
            Op::FloorDiv if b > 0 => a.checked_div_euclid(b)?,
            Op::Mod if b > 0 => a.checked_rem_euclid(b)?,
            Op::Min => a.min(b),
            Op::Max => a.max(b),
            _ => return None,
        }));
    }
    let (a, b) = (a.to_f64(), b.to_f64());
    let value = match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a * b,
        Op::Div => a / b,
        _ => return None,
    };
    Float::new(value).map(Number::Float)
}

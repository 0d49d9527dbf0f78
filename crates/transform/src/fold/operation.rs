//! Operators on constants, step by step as C computes them.
//!
//! Every operand is converted to the type of the operation first. Floats are rounded after each operation, float32 by rounding the
//! float64 result, which is the right float32 for sums, products and quotients (53 >= 2·24 + 2). What overflows an
//! integer, divides by zero, shifts too far or is no finite number has no value here: it stays for the run to meet.

use nestegg_ir::Op;
use nestegg_ir::types::Type;

use super::value::{Known, Value, is_ordered, round_single};

/// The value of an operator on constants of the type `joined`, its result of type `ty`.
pub(super) fn operation(op: Op, operands: &[Known], joined: Type, ty: Type) -> Option<Known> {
    let (&first, rest) = operands.split_first()?;
    match (op, first.value) {
        (Op::Not, Value::Bool(truth)) => Some(Known { value: Value::Bool(!truth), ..first }),
        (Op::Neg, Value::Int(value)) => Known::int(value.checked_neg()?, ty, first.is_exact),
        (Op::Neg, Value::Float(value)) => Known::float(-value, first.is_exact),
        (Op::BitNot, Value::Int(value)) => Known::int(!value, ty, first.is_exact),
        (Op::Neg | Op::Not | Op::BitNot | Op::If | Op::Pow, _) => None,
        _ if op.is_comparison() => compare(op, first, *rest.first()?),
        _ => rest.iter().try_fold(first, |left, &right| step(op, left, right, joined)),
    }
}

/// One binary operation on values of one type.
pub(super) fn step(op: Op, left: Known, right: Known, ty: Type) -> Option<Known> {
    let is_exact = left.is_exact && right.is_exact;
    match (left.value, right.value) {
        (Value::Bool(a), Value::Bool(b)) => {
            let truth = match op {
                Op::And => a && b,
                Op::Or => a || b,
                _ => return None,
            };
            Some(Known { value: Value::Bool(truth), is_exact })
        }
        (Value::Int(a), Value::Int(b)) => Known::int(int(op, a, b, ty)?, ty, is_exact),
        (Value::Float(a), Value::Float(b)) => {
            let (value, is_free) = float(op, a, b)?;
            let rounded = if ty == Type::Float32 { round_single(value) } else { value };
            Known::float(rounded, is_exact && is_free && rounded == value)
        }
        _ => None,
    }
}

fn int(op: Op, a: i64, b: i64, ty: Type) -> Option<i64> {
    let width = if ty == Type::Int64 { 64 } else { 32 };
    let distance = || u32::try_from(b).ok().filter(|&distance| distance < width);
    match op {
        Op::Add => a.checked_add(b),
        Op::Sub => a.checked_sub(b),
        Op::Mul => a.checked_mul(b),
        Op::FloorDiv | Op::Mod => {
            // Division by −1 can overflow; nothing is lost by leaving it.
            let euclidean = a.checked_div_euclid(b)?;
            let rest = a.checked_rem_euclid(b)?;
            let is_above = b < 0 && rest != 0;
            Some(match op {
                Op::FloorDiv => euclidean - i64::from(is_above),
                _ => rest + if is_above { b } else { 0 },
            })
        }
        Op::Min => Some(a.min(b)),
        Op::Max => Some(a.max(b)),
        Op::BitAnd => Some(a & b),
        Op::BitOr => Some(a | b),
        Op::BitXor => Some(a ^ b),
        Op::Shl => i64::try_from(i128::from(a) << distance()?).ok(),
        Op::Shr => Some(a >> distance()?),
        _ => None,
    }
}

/// A float64 result, and whether it is that of exact arithmetic.
fn float(op: Op, a: f64, b: f64) -> Option<(f64, bool)> {
    Some(match op {
        Op::Add => sum(a, b),
        Op::Sub => sum(a, -b),
        Op::Mul => product(a, b),
        Op::Div if b != 0.0 => {
            let quotient = a / b;
            (quotient, quotient.mul_add(b, -a) == 0.0 && (a == 0.0 || is_normal(a)) && is_normal(b))
        }
        // The product that is taken off must not round, lest a fused operation differ.
        Op::FloorDiv if b != 0.0 => ((a / b).floor(), false),
        Op::Mod if b != 0.0 => {
            let (taken, is_exact) = product(b, (a / b).floor());
            (is_exact.then_some(a - taken)?, false)
        }
        Op::Min | Op::Max if a != 0.0 || b != 0.0 => {
            let value = if op == Op::Min { a.min(b) } else { a.max(b) };
            (value, is_ordered(a) && is_ordered(b))
        }
        _ => return None,
    })
}

/// Far from where errors of rounding vanish by underflow.
fn is_normal(value: f64) -> bool {
    value.abs() > 1e-280
}

/// A sum, and whether it is exact (Knuth's two-sum).
pub(super) fn sum(a: f64, b: f64) -> (f64, bool) {
    let sum = a + b;
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    (sum, error == 0.0)
}

/// A product, and whether it is exact.
pub(super) fn product(a: f64, b: f64) -> (f64, bool) {
    let product = a * b;
    let is_exact = a.mul_add(b, -product) == 0.0 && (a == 0.0 || b == 0.0 || is_normal(product));
    (product, is_exact)
}

/// A whole power, where no way to multiply rounds.
pub(super) fn power(base: Known, exponent: i64, ty: Type) -> Option<Known> {
    /// Beyond this, powers of numbers other than 0, 1 and −1 overflow or round.
    const LARGEST_EXPONENT: u64 = 1100;
    let n = exponent.unsigned_abs();
    if n > LARGEST_EXPONENT {
        return None;
    }
    match base.value {
        Value::Int(value) => {
            let power = value.checked_pow(u32::try_from(exponent).ok()?)?;
            Known::int(power, ty, base.is_exact)
        }
        Value::Float(value) => {
            let mut power = 1.0;
            for _ in 0..n {
                let (next, is_free) = product(power, value);
                let is_held = ty != Type::Float32 || round_single(next) == next;
                power = (is_free && is_held).then_some(next)?;
            }
            if exponent < 0 {
                step(Op::Div, Known::exact(Value::Float(1.0)), Known { value: Value::Float(power), ..base }, ty)
            } else {
                Known::float(power, base.is_exact)
            }
        }
        Value::Bool(_) => None,
    }
}

fn compare(op: Op, left: Known, right: Known) -> Option<Known> {
    let (order, is_free) = match (left.value, right.value) {
        (Value::Int(a), Value::Int(b)) => (a.cmp(&b), true),
        (Value::Bool(a), Value::Bool(b)) => (a.cmp(&b), true),
        (Value::Float(a), Value::Float(b)) => (a.partial_cmp(&b)?, is_ordered(a) && is_ordered(b)),
        _ => return None,
    };
    let (truth, is_free) = match op {
        Op::Lt => (order.is_lt(), is_free),
        Op::Le => (order.is_le(), is_free),
        Op::Gt => (order.is_gt(), is_free),
        Op::Ge => (order.is_ge(), is_free),
        Op::Eq => (order.is_eq(), true),
        Op::Ne => (order.is_ne(), true),
        _ => return None,
    };
    Some(Known { value: Value::Bool(truth), is_exact: is_free && left.is_exact && right.is_exact })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(op: Op, a: i64, b: i64, ty: Type) -> Option<i64> {
        let known = |value| Known::exact(Value::Int(value));
        match operation(op, &[known(a), known(b)], ty, ty)?.value {
            Value::Int(value) => Some(value),
            _ => None,
        }
    }

    fn floats(op: Op, a: f64, b: f64, ty: Type) -> Option<(f64, bool)> {
        let known = |value| Known::exact(Value::Float(value));
        let res = operation(op, &[known(a), known(b)], ty, ty)?;
        match res.value {
            Value::Float(value) => Some((value, res.is_exact)),
            _ => None,
        }
    }

    #[test]
    fn floor_division_and_modulo_take_the_sign_of_the_divisor() {
        for (a, b, quotient, rest) in [(7, 3, 2, 1), (-7, 3, -3, 2), (7, -3, -3, -2), (-7, -3, 2, -1), (6, -3, -2, 0)] {
            assert_eq!(ints(Op::FloorDiv, a, b, Type::Int32), Some(quotient), "{a} // {b}");
            assert_eq!(ints(Op::Mod, a, b, Type::Int32), Some(rest), "{a} % {b}");
        }
        assert_eq!(ints(Op::Mod, 1, 0, Type::Int64), None);
        assert_eq!(ints(Op::FloorDiv, i64::MIN, -1, Type::Int64), None);
    }

    #[test]
    fn integers_have_a_width() {
        assert_eq!(ints(Op::Add, i64::from(i32::MAX), 1, Type::Int32), None);
        assert_eq!(ints(Op::Add, i64::from(i32::MAX), 1, Type::Int64), Some(1 << 31));
        assert_eq!(ints(Op::Shl, 1, 31, Type::Int32), None);
        assert_eq!(ints(Op::Shl, 1, 31, Type::Int64), Some(1 << 31));
        assert_eq!(ints(Op::Shr, -8, 1, Type::Int32), Some(-4));
        assert_eq!(ints(Op::Shr, 1, 32, Type::Int32), None);
    }

    #[test]
    fn floats_round_as_their_type_does() {
        assert_eq!(floats(Op::Add, 0.1, 0.2, Type::Float64), Some((0.1 + 0.2, false)));
        assert_eq!(floats(Op::Add, 0.5, 0.25, Type::Float64), Some((0.75, true)));
        assert_eq!(floats(Op::Div, 1.0, 3.0, Type::Float32), Some((f64::from(1.0f32 / 3.0f32), false)));
        assert_eq!(floats(Op::Div, 1.0, 0.0, Type::Float64), None);
        assert_eq!(floats(Op::Mul, 1e200, 1e200, Type::Float64), None);
        assert_eq!(floats(Op::Min, 0.0, -0.0, Type::Float64), None);
    }

    #[test]
    fn powers_fold_where_nothing_rounds() {
        let of = |base: f64, n| power(Known::exact(Value::Float(base)), n, Type::Float64).map(|known| known.value);
        assert_eq!(of(1.5, 3), Some(Value::Float(3.375)));
        assert_eq!(of(2.0, -2), Some(Value::Float(0.25)));
        assert_eq!(of(0.1, 3), None);
        assert_eq!(of(0.1, 0), Some(Value::Float(1.0)));
    }
}

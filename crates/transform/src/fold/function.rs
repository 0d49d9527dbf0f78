//! Functions of math.h on constants, as far as every C library computes the same.
//!
//! These are the functions whose results are exact or rounded right by their definition, and the values that annex F of C11
//! fixes for the others. All else differs between libraries in the last bit, and is not folded.

use nestegg_ir::types::Type;

use super::operation::{power, product, sum};
use super::value::{Known, Value, is_ordered, round_single};

/// The value of a function at constants of the type of its result.
pub(super) fn call(name: &str, arguments: &[Known], ty: Type) -> Option<Known> {
    let is_exact = arguments.iter().all(|argument| argument.is_exact);
    let floats: Vec<f64> = arguments
        .iter()
        .map(|argument| match argument.value {
            Value::Float(value) => Some(value),
            _ => None,
        })
        .collect::<Option<_>>()?;
    if let ("pow", [base, exponent]) = (name, floats.as_slice())
        && exponent.fract() == 0.0
        && *base != 0.0
        && let Some(known) = power(arguments[0], *exponent as i64, ty)
    {
        return Some(Known { is_exact: known.is_exact && is_exact, ..known });
    }
    let (value, is_free) = match floats.as_slice() {
        [a] => one(name, *a)?,
        [a, b] => two(name, *a, *b)?,
        [a, b, c] if name == "fma" && ty != Type::Float32 => {
            let (inner, is_free) = product(*a, *b);
            (a.mul_add(*b, *c), is_free && sum(inner, *c).1)
        }
        _ => return None,
    };
    let rounded = if ty == Type::Float32 { round_single(value) } else { value };
    Known::float(rounded, is_exact && is_free && rounded == value)
}

/// The value, and whether exact arithmetic knows it.
fn one(name: &str, a: f64) -> Option<(f64, bool)> {
    let value = match name {
        "fabs" | "abs" => return Some((a.abs(), is_ordered(a))),
        "sqrt" if a >= 0.0 => a.sqrt(),
        "ceil" => a.ceil(),
        "floor" => a.floor(),
        "trunc" => a.trunc(),
        "round" => a.round(),
        "rint" | "nearbyint" => a.round_ties_even(),
        _ => fixed(name, a)?,
    };
    Some((value, false))
}

/// Annex F of C11: the values that every library gives.
fn fixed(name: &str, a: f64) -> Option<f64> {
    match name {
        "exp" | "exp2" | "cos" | "cosh" if a == 0.0 => Some(1.0),
        "sin" | "tan" | "asin" | "atan" | "sinh" | "tanh" | "asinh" | "atanh" | "expm1" | "log1p" | "cbrt" | "erf"
            if a == 0.0 =>
        {
            Some(a)
        }
        "log" | "log2" | "log10" | "acos" | "acosh" if a == 1.0 => Some(0.0),
        _ => None,
    }
}

fn two(name: &str, a: f64, b: f64) -> Option<(f64, bool)> {
    let is_known_order = is_ordered(a) && is_ordered(b);
    Some(match name {
        "copysign" => (a.copysign(b), false),
        "fmin" if a != 0.0 || b != 0.0 => (a.min(b), is_known_order),
        "fmax" if a != 0.0 || b != 0.0 => (a.max(b), is_known_order),
        "fmod" if b != 0.0 => (a % b, false),
        "fdim" => (if a > b { a - b } else { 0.0 }, false),
        "hypot" if b == 0.0 => (a.abs(), false),
        "hypot" if a == 0.0 => (b.abs(), false),
        "pow" if b == 0.0 || a == 1.0 => (1.0, false),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(name: &str, arguments: &[f64], ty: Type) -> Option<f64> {
        let arguments: Vec<Known> = arguments.iter().map(|&value| Known::exact(Value::Float(value))).collect();
        match call(name, &arguments, ty)?.value {
            Value::Float(value) => Some(value),
            _ => None,
        }
    }

    #[test]
    fn what_every_library_computes_is_folded() {
        assert_eq!(at("sqrt", &[2.0], Type::Float64), Some(2.0_f64.sqrt()));
        assert_eq!(at("sqrt", &[2.0], Type::Float32), Some(f64::from(2.0_f32.sqrt())));
        assert_eq!(at("exp", &[0.0], Type::Float64), Some(1.0));
        assert_eq!(at("fma", &[2.0, 3.0, 4.0], Type::Float64), Some(10.0));
        assert_eq!(at("pow", &[2.0, 10.0], Type::Float64), Some(1024.0));
    }

    #[test]
    fn what_libraries_may_differ_in_is_not() {
        assert_eq!(at("exp", &[1.0], Type::Float64), None);
        assert_eq!(at("pow", &[2.0, 0.5], Type::Float64), None);
        assert_eq!(at("sqrt", &[-1.0], Type::Float64), None);
        assert_eq!(at("mine", &[0.0], Type::Float64), None);
    }
}

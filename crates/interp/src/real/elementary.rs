//! Roots, powers, and the exponential, circular and hyperbolic functions with their inverses.
//!
//! Magnitudes follow from the derivatives, or from simple bounds of these. At the edge of a domain, where the derivative is infinite, the error of a
//! root is the root of the error.

use astro_float::{BigFloat, Consts};

use crate::real::value::{AGREEMENT, PRECISION, ROUNDING, RealValue, log2_product, log2_size, log2_sum};

/// Arguments of circular functions beyond 2^4096 are not reduced.
const MAX_EXPONENT: f64 = 4096.0;

/// The binary logarithm of e.
const LOG2_E: f64 = std::f64::consts::LOG2_E;

/// A function of one argument; `None` if it is not one of these, or has no value there.
pub(super) fn unary(name: &str, a: &RealValue, constants: &mut Consts) -> Option<RealValue> {
    let x = &a.value;
    // Minus the logarithm of the slope's inverse.
    let by = |value: BigFloat, log2_slope: f64| Some(RealValue::result(value, log2_product(a.magnitude, log2_slope)));
    match name {
        "sqrt" => sqrt(a),
        "cbrt" => {
            let value = x.cbrt(PRECISION, ROUNDING);
            let smooth = a.magnitude - 2.0 / 3.0 * a.log2_size();
            let at_zero = a.magnitude / 3.0 + AGREEMENT * 2.0 / 3.0;
            Some(RealValue::result(value, smooth.min(at_zero)))
        }
        "exp" => {
            let value = x.exp(PRECISION, ROUNDING, constants);
            let slope = log2_size(&value);
            by(value, slope)
        }
        "exp2" => {
            let exponent = x.mul(&constants.ln_2(PRECISION, ROUNDING), PRECISION, ROUNDING);
            let value = exponent.exp(PRECISION, ROUNDING, constants);
            let slope = log2_size(&value);
            by(value, slope)
        }
        "expm1" => {
            let value = expm1(x, constants);
            let slope = log2_sum(0.0, log2_size(&value));
            by(value, slope)
        }
        "log" if a.signum() > 0 => by(x.ln(PRECISION, ROUNDING, constants), -a.log2_size()),
        "log2" if a.signum() > 0 => by(x.log2(PRECISION, ROUNDING, constants), 1.0 - a.log2_size()),
        "log10" if a.signum() > 0 => by(x.log10(PRECISION, ROUNDING, constants), -a.log2_size()),
        "log1p" => {
            let sum = plus(a, &one());
            (sum.signum() > 0).then(|| log1p(x, constants)).and_then(|value| by(value, -sum.log2_size()))
        }
        "sin" => sine(a, constants),
        "cos" => is_reducible(a).then(|| x.cos(PRECISION, ROUNDING, constants)).and_then(|value| by(value, 0.0)),
        "tan" => {
            let cosine = unary("cos", a, constants)?;
            if cosine.is_zero() {
                return None;
            }
            by(x.tan(PRECISION, ROUNDING, constants), -2.0 * cosine.log2_size())
        }
        "asin" | "acos" => {
            let rest = distance_to_one(a)?;
            let clamped = clamp_to_one(x);
            let value = if name == "asin" {
                clamped.asin(PRECISION, ROUNDING, constants)
            } else {
                clamped.acos(PRECISION, ROUNDING, constants)
            };
            Some(RealValue::result(value, root_magnitude(&rest)))
        }
        "atan" => by(x.atan(PRECISION, ROUNDING, constants), 0.0),
        "sinh" | "cosh" => {
            let value = if name == "sinh" {
                x.sinh(PRECISION, ROUNDING, constants)
            } else {
                x.cosh(PRECISION, ROUNDING, constants)
            };
            let slope = log2_sum(0.0, log2_size(&value));
            by(value, slope)
        }
        "tanh" => by(x.tanh(PRECISION, ROUNDING, constants), 0.0),
        "asinh" => by(x.asinh(PRECISION, ROUNDING, constants), 0.0),
        "acosh" => {
            let above = plus(a, &one().neg());
            if above.signum() < 0 {
                return None;
            }
            let value = if above.signum() == 0 { zero() } else { x.acosh(PRECISION, ROUNDING, constants) };
            Some(RealValue::result(value, root_magnitude(&above)))
        }
        "atanh" => {
            let rest = distance_to_one(a).filter(|rest| rest.signum() > 0)?;
            by(x.atanh(PRECISION, ROUNDING, constants), -rest.log2_size())
        }
        _ => None,
    }
}

/// The square root; of what cannot be told from zero it is zero.
pub(super) fn sqrt(a: &RealValue) -> Option<RealValue> {
    let value = match a.signum() {
        0 if a.is_defined() => zero(),
        1 => a.value.sqrt(PRECISION, ROUNDING),
        _ => return None,
    };
    Some(RealValue::result(value, root_magnitude(a)))
}

/// The sine; `None` of an argument that is too large, or too inexact, to be reduced.
pub(super) fn sine(a: &RealValue, constants: &mut Consts) -> Option<RealValue> {
    is_reducible(a).then(|| RealValue::result(a.value.sin(PRECISION, ROUNDING, constants), a.magnitude))
}

/// A whole power; `None` of zero with a negative exponent.
pub(super) fn whole_power(base: &RealValue, exponent: i64) -> Option<RealValue> {
    if exponent == 0 {
        return Some(RealValue::leaf(one()));
    }
    let size = exponent.unsigned_abs();
    let value = base.value.powi(usize::try_from(size).ok()?, PRECISION, ROUNDING);
    let n = size as f64;
    let of_rest = if size == 1 { 0.0 } else { (n - 1.0) * base.log2_size() };
    let smooth = log2_product(base.magnitude + libm::log2(n), of_rest);
    let at_zero = n * base.log2_tolerance() + AGREEMENT;
    let power = RealValue::result(value, if base.is_zero() { smooth.max(at_zero) } else { smooth });
    let res = if exponent > 0 {
        power
    } else {
        if base.is_zero() {
            return None;
        }
        let value = power.value.reciprocal(PRECISION, ROUNDING);
        RealValue::result(value, power.magnitude - 2.0 * power.log2_size())
    };
    res.is_defined().then_some(res)
}

/// Any power; `None` of a negative base with an exponent that is not whole, and of zero with one that is not positive.
pub(super) fn power(base: &RealValue, exponent: &RealValue, constants: &mut Consts) -> Option<RealValue> {
    if exponent.value.is_zero() || exponent.value.is_int() {
        let whole = super::whole::to_integer(exponent);
        if let Some(power) = whole.filter(|_| exponent.magnitude <= exponent.log2_size()) {
            return whole_power(base, power);
        }
    }
    let value = match (base.signum(), exponent.signum()) {
        (1, _) => base.value.pow(&exponent.value, PRECISION, ROUNDING, constants),
        (0, 1) => zero(),
        _ => return None,
    };
    let (size, of_base) = (log2_size(&value), base.log2_size());
    if value.is_zero() {
        // The error of the base, raised.
        let scale = exponent.to_float().min(1.0);
        return Some(RealValue::exactly(value, scale * base.log2_tolerance() + AGREEMENT));
    }
    let by_base = size + exponent.log2_size() - of_base + base.magnitude;
    let logarithm = libm::log2(of_base.abs().max(f64::MIN_POSITIVE) / LOG2_E);
    let by_exponent = log2_product(exponent.magnitude, size + logarithm.max(0.0));
    Some(RealValue::result(value, log2_sum(by_base, by_exponent))).filter(RealValue::is_defined)
}

/// The angle of a point; `None` at the origin. On the negative axis it is pi.
pub(super) fn atan2(y: &RealValue, x: &RealValue, constants: &mut Consts) -> Option<RealValue> {
    let pi = constants.pi(PRECISION, ROUNDING);
    let (above, right) = (y.signum(), x.signum());
    let is_steep = y.log2_size() > x.log2_size();
    let value = match (above, right) {
        (0, 0) => return None,
        _ if is_steep => {
            let slope = x.value.div(&y.value, PRECISION, ROUNDING).atan(PRECISION, ROUNDING, constants);
            let half = pi.div(&BigFloat::from_u8(2, PRECISION), PRECISION, ROUNDING);
            let half = if above < 0 { half.neg() } else { half };
            half.sub(&slope, PRECISION, ROUNDING)
        }
        _ => {
            let slope = y.value.div(&x.value, PRECISION, ROUNDING).atan(PRECISION, ROUNDING, constants);
            match (above, right) {
                (_, 1) => slope,
                (-1, _) => slope.sub(&pi, PRECISION, ROUNDING),
                _ => slope.add(&pi, PRECISION, ROUNDING),
            }
        }
    };
    let distance = x.log2_size().max(y.log2_size());
    Some(RealValue::result(value, log2_sum(x.magnitude, y.magnitude) - distance))
}

/// e^x − 1, with digits enough where the difference cancels.
fn expm1(x: &BigFloat, constants: &mut Consts) -> BigFloat {
    let Some(lost) = lost_beside_one(x) else { return x.clone() };
    x.exp(PRECISION + lost, ROUNDING, constants).sub(&one(), PRECISION, ROUNDING)
}

/// The logarithm of 1 + x, with digits enough where x is small.
fn log1p(x: &BigFloat, constants: &mut Consts) -> BigFloat {
    let Some(lost) = lost_beside_one(x) else { return x.clone() };
    x.add(&one(), PRECISION + lost, ROUNDING).ln(PRECISION, ROUNDING, constants)
}

/// How many bits of x its sum with 1 loses; `None` if all: then e^x − 1 and log(1 + x) are x.
fn lost_beside_one(x: &BigFloat) -> Option<usize> {
    let lost = (-log2_size(x)).max(0.0);
    (lost < PRECISION as f64).then_some(64 + lost as usize)
}

fn is_reducible(a: &RealValue) -> bool {
    a.is_defined() && a.log2_size() < MAX_EXPONENT && a.log2_tolerance() < -16.0
}

/// The magnitude of a value with the derivative 1/√a.
fn root_magnitude(a: &RealValue) -> f64 {
    let smooth = a.magnitude - a.log2_size() / 2.0;
    let at_zero = (a.magnitude + AGREEMENT) / 2.0;
    smooth.min(at_zero)
}

/// 1 − a²; `None` if that is negative.
fn distance_to_one(a: &RealValue) -> Option<RealValue> {
    let square = a.value.mul(&a.value, PRECISION, ROUNDING);
    let magnitude = log2_sum(0.0, 1.0 + a.magnitude + a.log2_size().max(0.0));
    let res = RealValue::exactly(one().sub(&square, PRECISION, ROUNDING), magnitude);
    (res.signum() >= 0).then_some(res)
}

fn clamp_to_one(x: &BigFloat) -> BigFloat {
    x.clamp(&one().neg(), &one())
}

fn plus(a: &RealValue, b: &BigFloat) -> RealValue {
    RealValue::exactly(a.value.add(b, PRECISION, ROUNDING), log2_sum(a.magnitude, log2_size(b)))
}

fn one() -> BigFloat {
    BigFloat::from_u8(1, PRECISION)
}

fn zero() -> BigFloat {
    BigFloat::new(PRECISION)
}

//! The error functions and the gamma function, by series of positive terms.
//!
//! # Method
//! - `erf(x) = 2/√π e^(−x²) Σ 2^n x^(2n+1) / (2n+1)!!`; `erfc` is the difference to 1 with more digits where that cancels, and from [`FAR`] on
//!   the continued fraction `√π e^(x²) erfc(x) = 1/(x + (1/2)/(x + 1/(x + (3/2)/(x + …))))`.
//! - `Γ(z) = N^z e^(−N) Σ N^k / (z (z+1) … (z+k))` for 1 ≤ z < 2, but for a part of e^(−N); the rest follows from `Γ(z+1) = z Γ(z)`.
//! # Source
//! Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.6, 7.1.14, 6.5.29.

use astro_float::{BigFloat, Consts};

use crate::real::value::{AGREEMENT, PRECISION, ROUNDING, RealValue, log2_product, log2_size, log2_sum};

/// From here on the complementary error function is a continued fraction.
const FAR: f64 = 8.0;

/// Beyond this the error function is 1 in all digits, and its complement is less than 2^-(10^12).
const BEYOND: f64 = 1e6;

/// The gamma function of larger arguments is not computed.
const MAX_GAMMA: f64 = 4096.0;

/// The N of the method: e^−N is below 2^-500.
const N: u32 = 350;

/// The error function.
pub(super) fn erf(a: &RealValue, constants: &mut Consts) -> Option<RealValue> {
    if !a.is_defined() {
        return None;
    }
    let value = if a.to_float().abs() < FAR {
        erf_series(&a.value, PRECISION + 64, constants)
    } else {
        let complement = erfc_far(&a.value.abs(), constants)?;
        let value = small(1).sub(&complement, PRECISION, ROUNDING);
        if a.value.is_negative() { value.neg() } else { value }
    };
    Some(RealValue::result(value, log2_product(a.magnitude, 0.2 + gauss_slope(a))))
}

/// Its complement.
pub(super) fn erfc(a: &RealValue, constants: &mut Consts) -> Option<RealValue> {
    if !a.is_defined() {
        return None;
    }
    let float = a.to_float();
    let value = if float.abs() < FAR {
        // erfc(8) has about 95 bits less before its first digit.
        let precision = PRECISION + 192;
        small(1).sub(&erf_series(&a.value, precision, constants), precision, ROUNDING)
    } else {
        let far = erfc_far(&a.value.abs(), constants)?;
        if float < 0.0 { small(2).sub(&far, PRECISION, ROUNDING) } else { far }
    };
    Some(RealValue::result(value, log2_product(a.magnitude, 0.2 + gauss_slope(a))))
}

/// The binary logarithm of e^(−x²).
fn gauss_slope(a: &RealValue) -> f64 {
    let float = a.to_float();
    -float * float * std::f64::consts::LOG2_E
}

pub(super) fn erf_series(x: &BigFloat, precision: usize, constants: &mut Consts) -> BigFloat {
    let square = x.mul(x, precision, ROUNDING);
    let twice = square.add(&square, precision, ROUNDING);
    let (mut term, mut sum) = (x.clone(), x.clone());
    for n in 1_u32.. {
        term = term.mul(&twice, precision, ROUNDING).div(&small(2 * n + 1), precision, ROUNDING);
        sum = sum.add(&term, precision, ROUNDING);
        // Also where x is zero.
        if term.is_zero() || log2_size(&term) < log2_size(&sum) - precision as f64 {
            break;
        }
    }
    let gauss = square.neg().exp(precision, ROUNDING, constants);
    let root = constants.pi(precision, ROUNDING).sqrt(precision, ROUNDING);
    let scale = gauss.add(&gauss, precision, ROUNDING).div(&root, precision, ROUNDING);
    sum.mul(&scale, precision, ROUNDING)
}

/// The complementary error function of x ≥ [`FAR`]; `None` if x is [`BEYOND`] reach.
fn erfc_far(x: &BigFloat, constants: &mut Consts) -> Option<BigFloat> {
    let precision = PRECISION + 64;
    let size = libm::exp2(log2_size(x));
    if size > BEYOND {
        return None;
    }
    // n terms leave an error of about e^(−2x√(2n)).
    let root = 0.7 * precision as f64 / (2.0 * size);
    let n_terms = 20 + (root * root / 2.0) as u32;
    let mut fraction = x.clone();
    for n in (1..=n_terms).rev() {
        let half = small(n).div(&small(2), precision, ROUNDING);
        fraction = x.add(&half.div(&fraction, precision, ROUNDING), precision, ROUNDING);
    }
    let gauss = x.mul(x, precision, ROUNDING).neg().exp(precision, ROUNDING, constants);
    let root = constants.pi(precision, ROUNDING).sqrt(precision, ROUNDING);
    Some(gauss.div(&root.mul(&fraction, precision, ROUNDING), PRECISION, ROUNDING))
}

/// The gamma function; `None` at its poles and beyond [`MAX_GAMMA`].
pub(super) fn gamma(a: &RealValue, constants: &mut Consts) -> Option<RealValue> {
    let value = gamma_value(a, constants)?;
    let slope = log2_size(&value) + log2_digamma(a);
    Some(RealValue::result(value, log2_product(a.magnitude, slope)))
}

/// The logarithm of the gamma function's size.
pub(super) fn log_gamma(a: &RealValue, constants: &mut Consts) -> Option<RealValue> {
    let value = gamma_value(a, constants)?;
    let logarithm = value.abs().ln(PRECISION, ROUNDING, constants);
    // Near 1 and 2 the logarithm is that of a number with an error of its own.
    let magnitude = log2_sum(0.0, log2_product(a.magnitude, log2_digamma(a)));
    Some(RealValue::result(logarithm, magnitude))
}

fn gamma_value(a: &RealValue, constants: &mut Consts) -> Option<BigFloat> {
    let float = a.to_float();
    if !a.is_defined() || float.abs() > MAX_GAMMA || a.log2_tolerance() > -16.0 {
        return None;
    }
    let precision = PRECISION + 64;
    let floor = super::whole::floor(a)?;
    if floor.signum() <= 0 && floor.compare(a) == Some(std::cmp::Ordering::Equal) {
        return None;
    }
    // z + steps = a, with z in [1, 2).
    let steps = super::whole::to_integer(&floor)? - 1;
    let at = |steps: i64| BigFloat::from_i64(steps, precision);
    let z = a.value.sub(&at(steps), precision, ROUNDING);
    let mut value = gamma_near_one(&z, precision, constants);
    for step in 0..steps {
        value = value.mul(&z.add(&at(step), precision, ROUNDING), precision, ROUNDING);
    }
    for step in steps..0 {
        value = value.div(&z.add(&at(step), precision, ROUNDING), precision, ROUNDING);
    }
    Some(value)
}

fn gamma_near_one(z: &BigFloat, precision: usize, constants: &mut Consts) -> BigFloat {
    let n = small(N);
    let mut factor = z.clone();
    let mut term = z.reciprocal(precision, ROUNDING);
    let mut sum = term.clone();
    while log2_size(&term) > log2_size(&sum) - precision as f64 {
        factor = factor.add(&small(1), precision, ROUNDING);
        term = term.mul(&n, precision, ROUNDING).div(&factor, precision, ROUNDING);
        sum = sum.add(&term, precision, ROUNDING);
    }
    let exponent = n.ln(precision, ROUNDING, constants).mul(z, precision, ROUNDING).sub(&n, precision, ROUNDING);
    exponent.exp(precision, ROUNDING, constants).mul(&sum, precision, ROUNDING)
}

/// A bound of the binary logarithm of the size of Γ'/Γ.
fn log2_digamma(a: &RealValue) -> f64 {
    let float = a.to_float();
    let nearest = super::whole::round_to_even(a).filter(|nearest| nearest.signum() <= 0);
    let to_pole =
        nearest.map_or(0.0, |nearest| log2_size(&a.value.sub(&nearest.value, PRECISION, ROUNDING)).max(-AGREEMENT));
    log2_sum(libm::log2(8.0 + float.abs()), 2.0 - to_pole)
}

fn small(n: u32) -> BigFloat {
    BigFloat::from_u32(n, PRECISION)
}

//! Real numbers: exact as long as they are rational and short, else nearly so, with a bound of the error.
//!
//! # Method
//! Rational arithmetic is exact up to [`MAX_BITS`], or up to [`MAX_QUOTIENT_BITS`] if a denominator is not a power of two. Everything else
//! has [`PRECISION`] bits and a bound of its error, which every operation carries on: to first order, with a reserve of [`RESERVE`] bits where two numbers are compared.
//! So a false equality is told from rounding however much cancels.
//! # Not done
//! No bound of what second derivatives add: errors are so small that it is far below the reserve.

use std::cmp::Ordering;
use std::rc::Rc;

use astro_float::{BigFloat, Consts, RoundingMode, Sign};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

use super::gap::Gap;
use crate::rational::Rational;

/// Bits of numbers that are not exact.
pub(super) const PRECISION: usize = 384;
/// Rational numbers of more bits, numerator and denominator together, are no longer exact.
const MAX_BITS: u64 = 2_048;
/// The same limit for denominators that are not powers of two: each operation then computes a greatest common divisor, in quadratic time.
const MAX_QUOTIENT_BITS: u64 = 512;
/// By how many bits a difference exceeds the bound of its error before it counts.
const RESERVE: f64 = 24.0;
/// A bound of the error that is above this part of the larger number is too wide to say that two numbers are equal,
const MIN_BITS: f64 = 64.0;
/// unless it is below this power of a half: data are of the size of 1, and what cancels leaves nothing.
const MIN_DIGITS: f64 = 128.0;

const ROUNDING: RoundingMode = RoundingMode::ToEven;

/// A real number.
#[derive(Clone, Debug)]
pub(super) enum Real {
    /// Exactly this.
    Exact(Rational),
    /// This, but for an error.
    Near(Near),
}

/// A number with a bound of its error.
#[derive(Clone, Debug)]
pub(super) struct Near {
    pub(super) value: Rc<BigFloat>,
    /// The binary logarithm of a bound of the error.
    pub(super) error: f64,
}

/// What a computation needs beside its numbers: digits of constants that were computed before.
pub(super) struct Precise(pub(super) Consts);

impl std::fmt::Debug for Precise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Precise")
    }
}

impl Real {
    pub(super) const ZERO: Self = Self::Exact(Rational::ZERO);
    pub(super) const ONE: Self = Self::Exact(Rational::ONE);

    pub(super) fn int(value: i64) -> Self {
        Self::Exact(Rational::from_int(value))
    }

    pub(super) fn truth(holds: bool) -> Self {
        if holds { Self::ONE } else { Self::ZERO }
    }

    /// The number if it is exact.
    pub(super) fn exact(&self) -> Option<&Rational> {
        match self {
            Self::Exact(value) => Some(value),
            Self::Near(_) => None,
        }
    }

    /// The number as one with an error.
    pub(super) fn near(&self) -> Near {
        match self {
            Self::Near(near) => near.clone(),
            Self::Exact(value) => near_rational(value),
        }
    }

    /// The nearest double, roughly.
    pub(super) fn to_f64(&self) -> f64 {
        match self {
            Self::Exact(value) => value.to_f64(),
            Self::Near(near) => to_f64(&near.value),
        }
    }

    pub(super) fn plus(&self, other: &Self) -> Result<Self, Gap> {
        if let (Self::Exact(a), Self::Exact(b)) = (self, other)
            && are_short(a, b)
        {
            return Ok(shortened(a.plus(b)));
        }
        let (a, b) = (self.near(), other.near());
        let value = a.value.add(&b.value, PRECISION, ROUNDING);
        Near::rounded(value, &[a.error, b.error]).map(Self::Near)
    }

    pub(super) fn times(&self, other: &Self) -> Result<Self, Gap> {
        if let (Self::Exact(a), Self::Exact(b)) = (self, other)
            && are_short(a, b)
        {
            return Ok(shortened(a.times(b)));
        }
        if self.exact().is_some_and(Rational::is_zero) || other.exact().is_some_and(Rational::is_zero) {
            return Ok(Self::ZERO);
        }
        let (a, b) = (self.near(), other.near());
        let value = a.value.mul(&b.value, PRECISION, ROUNDING);
        Near::rounded(value, &[a.error + b.size(), b.error + a.size(), a.error + b.error]).map(Self::Near)
    }

    pub(super) fn minus(&self, other: &Self) -> Result<Self, Gap> {
        self.plus(&other.negated())
    }

    pub(super) fn negated(&self) -> Self {
        match self {
            Self::Exact(value) => Self::Exact(value.negated()),
            Self::Near(near) => Self::Near(Near { value: Rc::new(near.value.neg()), error: near.error }),
        }
    }

    pub(super) fn reciprocal(&self) -> Result<Self, Gap> {
        match self {
            Self::Exact(value) => value.power(-1).map(Self::Exact).ok_or(Gap::ZeroDivisor),
            Self::Near(near) => {
                if near.may_be_zero() {
                    return Err(Gap::Untold);
                }
                let value = near.value.reciprocal(PRECISION, ROUNDING);
                // The size is at most twice the number.
                Near::rounded(value, &[near.error - 2.0 * near.size() + 3.0]).map(Self::Near)
            }
        }
    }

    /// Its power with a whole exponent.
    pub(super) fn power(&self, exponent: i64) -> Result<Self, Gap> {
        if let Self::Exact(value) = self {
            if value.is_zero() {
                return match exponent {
                    ..0 => Err(Gap::ZeroDivisor),
                    0 => Ok(Self::ONE),
                    _ => Ok(Self::ZERO),
                };
            }
            let bits = if value.is_unit() { 1 } else { value.n_bits() };
            let exact = i32::try_from(exponent)
                .ok()
                .filter(|e| bits.saturating_mul(e.unsigned_abs().into()) <= max_bits(value));
            if let Some(power) = exact.and_then(|exponent| value.power(exponent)) {
                return Ok(Self::Exact(power));
            }
        }
        let (mut square, mut rest) = (self.clone(), exponent.unsigned_abs());
        let mut product = Self::ONE;
        while rest > 0 {
            if rest & 1 == 1 {
                product = product.times(&square)?;
            }
            rest >>= 1;
            if rest > 0 {
                square = square.times(&square)?;
            }
        }
        if exponent < 0 { product.reciprocal() } else { Ok(product) }
    }

    /// Which of two numbers is the larger.
    pub(super) fn compare(&self, other: &Self) -> Result<Ordering, Gap> {
        if let (Self::Exact(a), Self::Exact(b)) = (self, other) {
            return Ok(a.cmp(b));
        }
        match self.minus(other)? {
            Self::Exact(difference) => Ok(difference.cmp(&Rational::ZERO)),
            Self::Near(difference) if difference.may_be_zero() => Err(Gap::Untold),
            Self::Near(difference) if difference.value.is_negative() => Ok(Ordering::Less),
            Self::Near(_) => Ok(Ordering::Greater),
        }
    }

    /// Whether two numbers are equal, as far as their errors tell.
    pub(super) fn agrees(&self, other: &Self) -> Result<bool, Gap> {
        if let (Self::Exact(a), Self::Exact(b)) = (self, other) {
            return Ok(a == b);
        }
        let size = self.near().size().max(other.near().size());
        match self.minus(other)? {
            Self::Exact(difference) => Ok(difference.is_zero()),
            Self::Near(difference) if !difference.may_be_zero() => Ok(false),
            Self::Near(difference) if difference.error + RESERVE > (size - MIN_BITS).max(-MIN_DIGITS) => {
                Err(Gap::Untold)
            }
            Self::Near(_) => Ok(true),
        }
    }

    /// The number without its sign.
    pub(super) fn abs(&self) -> Result<Self, Gap> {
        match self.compare(&Self::ZERO) {
            Ok(Ordering::Less) => Ok(self.negated()),
            Ok(_) => Ok(self.clone()),
            Err(gap) => Err(gap),
        }
    }

    /// The greatest whole number that is not above it.
    pub(super) fn floor(&self) -> Result<Self, Gap> {
        match self {
            Self::Exact(value) => Ok(Self::Exact(Rational::from(value.to_big().floor()))),
            Self::Near(near) => {
                let floor = near.value.floor();
                let (below, above) = (near.value.sub(&floor, PRECISION, ROUNDING), BigFloat::from_i64(1, PRECISION));
                let above = above.sub(&below, PRECISION, ROUNDING);
                let limit = near.error + RESERVE;
                if [&below, &above].iter().any(|distance| size(distance) <= limit)
                    || near.size() > PRECISION as f64 / 2.0
                {
                    return Err(Gap::Untold);
                }
                whole(&floor).map(Self::Exact).ok_or(Gap::Untold)
            }
        }
    }

    /// The number as an integer of 64 bits, if it is one.
    pub(super) fn to_int(&self) -> Option<i64> {
        self.exact().and_then(Rational::to_int)
    }
}

impl Near {
    /// A value that an operation rounded, with the errors that its operands brought.
    pub(super) fn rounded(value: BigFloat, errors: &[f64]) -> Result<Self, Gap> {
        if value.is_nan() {
            return Err(Gap::Untold);
        }
        if value.is_inf() {
            return Err(Gap::Infinite);
        }
        let rounding = size(&value) - PRECISION as f64 + 1.0;
        let largest = errors.iter().copied().fold(rounding, f64::max);
        if largest == f64::NEG_INFINITY {
            return Ok(Self { value: Rc::new(value), error: largest });
        }
        let sum: f64 = errors.iter().chain([&rounding]).map(|error| (error - largest).exp2()).sum();
        Ok(Self { value: Rc::new(value), error: largest + sum.log2() })
    }

    /// The binary logarithm of a number that it is below.
    pub(super) fn size(&self) -> f64 {
        size(&self.value)
    }

    /// Whether its error does not tell it from zero.
    pub(super) fn may_be_zero(&self) -> bool {
        self.value.is_zero() || self.size() - 1.0 <= self.error + RESERVE
    }
}

/// The binary logarithm of a number that the value is below.
pub(super) fn size(value: &BigFloat) -> f64 {
    if value.is_zero() { f64::NEG_INFINITY } else { value.exponent().map_or(f64::INFINITY, f64::from) }
}

/// A rational number, rounded if it is long.
fn shortened(value: Rational) -> Real {
    if value.n_bits() > max_bits(&value) { Real::Near(near_rational(&value)) } else { Real::Exact(value) }
}

/// How many bits a number may have and still be exact.
fn max_bits(value: &Rational) -> u64 {
    if value.is_dyadic() { MAX_BITS } else { MAX_QUOTIENT_BITS }
}

/// Whether it is worth knowing exactly what two numbers make together.
fn are_short(a: &Rational, b: &Rational) -> bool {
    (a.is_dyadic() && b.is_dyadic()) || a.n_bits() + b.n_bits() <= 2 * MAX_QUOTIENT_BITS
}

fn near_rational(value: &Rational) -> Near {
    let big = value.to_big();
    let (numer, denom) = (big_float(big.numer()), big_float(big.denom()));
    let quotient = numer.div(&denom, PRECISION, ROUNDING);
    let error = size(&quotient) - PRECISION as f64 + 1.0;
    Near { value: Rc::new(quotient), error }
}

/// A whole number, exactly.
fn big_float(value: &BigInt) -> BigFloat {
    if value.is_zero() {
        return BigFloat::from_i64(0, PRECISION);
    }
    let bits = value.bits();
    let shift = (64 - bits % 64) % 64;
    let words = (value.abs() << shift).to_u64_digits().1;
    let sign = if value.is_negative() { Sign::Neg } else { Sign::Pos };
    match i32::try_from(bits) {
        Ok(exponent) => BigFloat::from_words(&words, sign, exponent),
        Err(_) => BigFloat::nan(None),
    }
}

/// A whole number of moderate size as a rational one.
fn whole(value: &BigFloat) -> Option<Rational> {
    if value.is_zero() {
        return Some(Rational::ZERO);
    }
    let (words, _, sign, exponent, _) = value.as_raw_parts()?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mantissa = BigInt::from_bytes_le(num_bigint::Sign::Plus, &bytes);
    let shift = i64::try_from(words.len()).ok()? * 64 - i64::from(exponent);
    let magnitude = match usize::try_from(shift) {
        Ok(shift) => mantissa >> shift,
        Err(_) => mantissa << usize::try_from(-shift).ok()?,
    };
    let signed = if sign == Sign::Neg { -magnitude } else { magnitude };
    Some(Rational::from(num_rational::BigRational::from_integer(signed)))
}

/// The nearest double, but for its last bit.
fn to_f64(value: &BigFloat) -> f64 {
    let Some((words, _, sign, exponent, _)) = value.as_raw_parts() else { return f64::NAN };
    let Some(&top) = words.last() else { return 0.0 };
    if value.is_zero() {
        return 0.0;
    }
    let magnitude = top.to_f64().unwrap_or(f64::NAN) * (-64.0_f64).exp2();
    // Two steps: the power itself may be no double where the number is one.
    let half = exponent / 2;
    let magnitude = magnitude * f64::from(half).exp2() * f64::from(exponent - half).exp2();
    if sign == Sign::Neg { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenth() -> Rational {
        Rational::from_f64(0.1).unwrap()
    }

    #[test]
    fn rational_numbers_stay_exact() {
        let third = Real::int(3).reciprocal().unwrap();
        let sum = third.plus(&third).unwrap().plus(&third).unwrap();
        assert_eq!(sum.exact(), Some(&Rational::ONE));
        assert!(matches!(Real::ZERO.reciprocal(), Err(Gap::ZeroDivisor)));
    }

    #[test]
    fn long_quotients_are_near_and_long_sums_of_floats_are_exact() {
        let third = Real::int(3).reciprocal().unwrap();
        let long = |base: &Real| (0..12).try_fold(base.clone(), |power, _| power.times(base)).unwrap();
        let dyadic = long(&Real::Exact(tenth()));
        assert!(dyadic.exact().is_some_and(|value| value.n_bits() > MAX_QUOTIENT_BITS));
        let quotient = long(&Real::Exact(tenth()).times(&third).unwrap());
        assert!(quotient.exact().is_none());
        let back = quotient.times(&long(&Real::int(3))).unwrap();
        assert!(back.agrees(&dyadic).unwrap());
        let other = dyadic.times(&Real::ONE.plus(&Real::Exact(Rational::from_f64(1e-90).unwrap())).unwrap()).unwrap();
        assert!(!back.agrees(&other).unwrap(), "90 digits are seen");
    }

    #[test]
    fn near_numbers_agree_with_exact_ones() {
        let near = Real::Near(near_rational(&tenth()));
        assert!((near.to_f64() - 0.1).abs() < 1e-17);
        assert!(near.agrees(&Real::Exact(tenth())).unwrap());
        let other = tenth().plus(&Rational::from_f64(1e-60).unwrap());
        assert!(!near.agrees(&Real::Exact(other)).unwrap(), "60 digits are seen");
        let square = near.times(&near).unwrap().minus(&Real::Exact(tenth().times(&tenth()))).unwrap();
        assert!(square.agrees(&Real::ONE).is_ok_and(|agrees| !agrees));
        assert!(square.compare(&Real::ZERO).is_err(), "nothing is left of it but an error");
    }

    #[test]
    fn floors_of_near_numbers() {
        let near = |value: f64| Real::Near(near_rational(&Rational::from_f64(value).unwrap()));
        assert_eq!(near(-2.5).floor().unwrap().to_int(), Some(-3));
        assert_eq!(near(1e15 + 0.5).floor().unwrap().to_int(), Some(1_000_000_000_000_000));
        assert!(near(3.0).floor().is_err());
        assert_eq!(near(-0.75).to_f64(), -0.75);
    }
}

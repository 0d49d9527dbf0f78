//! Numbers with a power of two as denominator: floats, and what sums and products of floats are.
//!
//! # Method
//! They are reduced by counting zeros where other fractions need a greatest common divisor, and whether a float holds one is seen in its bits.
//! # Complexity
//! Linear in the bits of a sum; that of a product for a product; nothing divides.

use num_bigint::{BigInt, BigUint, Sign};
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};

/// The least power of two that a float holds.
const LEAST: i64 = -1074;

/// The powers of two that floats of full accuracy hold.
const NORMAL: std::ops::RangeInclusive<i64> = -1022..=1023;

/// `numer / 2^shift`, not always reduced.
#[derive(Clone, Debug)]
pub(super) struct Dyadic {
    numer: BigInt,
    shift: u64,
}

/// The power of two that a number is; `None` if it is none.
fn log2(value: &BigUint) -> Option<u64> {
    value.trailing_zeros().filter(|&zeros| value.bits() == zeros + 1)
}

impl Dyadic {
    /// The number as such a one; `None` if its denominator is another.
    pub(super) fn of(value: &BigRational) -> Option<Self> {
        let shift = log2(value.denom().magnitude())?;
        Some(Self { numer: value.numer().clone(), shift })
    }

    /// `numer / denom`, both small.
    pub(super) fn of_small(numer: i64, denom: i64) -> Option<Self> {
        let denom = denom.unsigned_abs();
        denom.is_power_of_two().then(|| Self { numer: numer.into(), shift: denom.trailing_zeros().into() })
    }

    /// The sum.
    pub(super) fn plus(self, other: Self) -> Self {
        let (fine, coarse) = if self.shift >= other.shift { (self, other) } else { (other, self) };
        Self { numer: fine.numer + (coarse.numer << (fine.shift - coarse.shift)), shift: fine.shift }
    }

    /// The product.
    pub(super) fn times(self, other: Self) -> Self {
        Self { numer: self.numer * other.numer, shift: self.shift + other.shift }
    }

    /// The number, reduced.
    pub(super) fn into_big(self) -> BigRational {
        let Some(zeros) = self.numer.trailing_zeros() else { return BigRational::zero() };
        let common = zeros.min(self.shift);
        let denom = BigInt::from_biguint(Sign::Plus, BigUint::one() << (self.shift - common));
        BigRational::new_raw(self.numer >> common, denom)
    }
}

/// The float that is a number with a power of two as denominator; `None` if there is none.
pub(super) fn exact_f64(value: &BigRational) -> Option<f64> {
    let shift = i64::try_from(log2(value.denom().magnitude())?).ok()?;
    let numer = value.numer().magnitude();
    let Some(zeros) = numer.trailing_zeros() else { return Some(0.0) };
    let n_bits = numer.bits();
    let (zeros, top) = (i64::try_from(zeros).ok()?, i64::try_from(n_bits).ok()? - 1 - shift);
    let is_held = n_bits - zeros.unsigned_abs() <= u64::from(f64::MANTISSA_DIGITS);
    if !is_held || zeros - shift < LEAST || top > *NORMAL.end() {
        return None;
    }
    let mantissa = (numer >> zeros.unsigned_abs()).to_u64()?;
    let magnitude = scaled(mantissa as f64, zeros - shift);
    Some(if value.numer().sign() == Sign::Minus { -magnitude } else { magnitude })
}

/// `value * 2^exponent` where a float is that exactly.
fn scaled(value: f64, exponent: i64) -> f64 {
    let (mut value, mut left) = (value, exponent);
    while left != 0 {
        let step = left.clamp(*NORMAL.start(), *NORMAL.end());
        // The bits of 2^step.
        value *= f64::from_bits((step + *NORMAL.end()).unsigned_abs() << (f64::MANTISSA_DIGITS - 1));
        left -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_traits::FromPrimitive;

    #[test]
    fn floats_are_held() {
        for value in [0.1, -0.375, 3e300, f64::MAX, -f64::MIN_POSITIVE, 5e-324, 3.0 * 5e-324, 1e-310, 0.0] {
            let number = BigRational::from_f64(value).unwrap();
            assert_eq!(exact_f64(&number), Some(value), "{value:e}");
        }
    }

    #[test]
    fn what_no_float_holds_is_none() {
        let number = |value: f64| BigRational::from_f64(value).unwrap();
        assert_eq!(exact_f64(&(number(0.1) * number(0.1))), None, "too many bits");
        assert_eq!(exact_f64(&(number(f64::MAX) + number(f64::MAX))), None, "too large");
        assert_eq!(exact_f64(&(number(5e-324) * number(0.5))), None, "too small");
        assert_eq!(exact_f64(&number(3.0).recip()), None, "no power of two");
    }

    #[test]
    fn arithmetic_is_that_of_fractions() {
        let values = [0.1, -0.1, 2.5, 1e300, -3e-300, 6.0, 0.0];
        for a in values {
            for b in values {
                let numbers = [a, b].map(|value| BigRational::from_f64(value).unwrap());
                let [x, y] = [&numbers[0], &numbers[1]].map(|number| Dyadic::of(number).unwrap());
                for (ours, theirs) in [
                    (x.clone().plus(y.clone()).into_big(), &numbers[0] + &numbers[1]),
                    (x.times(y).into_big(), &numbers[0] * &numbers[1]),
                ] {
                    assert_eq!((ours.numer(), ours.denom()), (theirs.numer(), theirs.denom()), "{a} and {b}");
                }
            }
        }
    }
}

//! Exact numbers: coefficients and constants of the e-graph are never rounded.
//!
//! Nearly all come from floats: what has a power of two as denominator is added, multiplied and compared without divisions.

mod dyadic;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{FromPrimitive, One, Signed, ToPrimitive, Zero};

use dyadic::Dyadic;

/// An exact rational number, small ones without allocation.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Rational(Repr);

/// Reduced, the denominator positive; `Big` only where `Small` cannot hold it: equal numbers are equal values, and have equal numerators and denominators.
#[derive(Clone)]
enum Repr {
    Small(i64, i64),
    Big(Arc<BigRational>),
}

impl PartialEq for Repr {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Small(a, b), Self::Small(c, d)) => (a, b) == (c, d),
            (Self::Big(a), Self::Big(b)) => Arc::ptr_eq(a, b) || (a.numer() == b.numer() && a.denom() == b.denom()),
            _ => false,
        }
    }
}

impl Eq for Repr {}

impl Hash for Repr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Small(numer, denom) => (numer, denom).hash(state),
            Self::Big(big) => (big.numer(), big.denom()).hash(state),
        }
    }
}

impl Rational {
    /// The number 0.
    pub const ZERO: Self = Self(Repr::Small(0, 1));
    /// The number 1.
    pub const ONE: Self = Self(Repr::Small(1, 1));
    /// The number −1.
    pub const MINUS_ONE: Self = Self(Repr::Small(-1, 1));

    /// A whole number.
    #[must_use]
    pub fn from_int(value: i64) -> Self {
        match value {
            i64::MIN => Self::from_big(BigRational::from_integer(value.into())),
            _ => Self(Repr::Small(value, 1)),
        }
    }

    /// The value of a finite float, which is a dyadic rational; `None` if it is not finite.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        BigRational::from_f64(value).map(Self::from_big)
    }

    fn from_big(value: BigRational) -> Self {
        match (value.numer().to_i64(), value.denom().to_i64()) {
            (Some(numer), Some(denom)) if numer != i64::MIN => Self(Repr::Small(numer, denom)),
            _ => Self(Repr::Big(Arc::new(value))),
        }
    }

    fn from_i128(numer: i128, denom: i128) -> Self {
        let gcd = numer.gcd(&denom).max(1);
        let (numer, denom) = (numer / gcd, denom / gcd);
        match (i64::try_from(numer), i64::try_from(denom)) {
            (Ok(numer), Ok(denom)) if numer != i64::MIN => Self(Repr::Small(numer, denom)),
            _ => Self::from_big(BigRational::new_raw(numer.into(), denom.into())),
        }
    }

    fn from_whole(value: i128) -> Self {
        match i64::try_from(value) {
            Ok(small) => Self::from_int(small),
            Err(_) => Self::from_big(BigRational::from_integer(value.into())),
        }
    }

    /// The number for arithmetic of any size.
    #[must_use]
    pub fn to_big(&self) -> BigRational {
        match &self.0 {
            Repr::Small(numer, denom) => BigRational::new_raw((*numer).into(), (*denom).into()),
            Repr::Big(big) => big.as_ref().clone(),
        }
    }

    /// The number if its denominator is a power of two.
    fn to_dyadic(&self) -> Option<Dyadic> {
        match &self.0 {
            Repr::Small(numer, denom) => Dyadic::of_small(*numer, *denom),
            Repr::Big(big) => Dyadic::of(big),
        }
    }

    /// Whether its denominator is a power of two.
    #[must_use]
    pub fn is_dyadic(&self) -> bool {
        match &self.0 {
            Repr::Small(_, denom) => denom.unsigned_abs().is_power_of_two(),
            Repr::Big(big) => big.denom().magnitude().count_ones() == 1,
        }
    }

    /// What dyadic numbers are computed by one way, and others by the other.
    fn computed(
        &self,
        other: &Self,
        dyadic: impl Fn(Dyadic, Dyadic) -> Dyadic,
        any: impl Fn(BigRational, BigRational) -> BigRational,
    ) -> Self {
        match (self.to_dyadic(), other.to_dyadic()) {
            (Some(a), Some(b)) => Self::from_big(dyadic(a, b).into_big()),
            _ => Self::from_big(any(self.to_big(), other.to_big())),
        }
    }

    /// Its sum with `other`.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (Repr::Small(a, 1), Repr::Small(b, 1)) => Self::from_whole(i128::from(*a) + i128::from(*b)),
            (Repr::Small(a, b), Repr::Small(c, d)) => {
                let (a, b, c, d) = (i128::from(*a), i128::from(*b), i128::from(*c), i128::from(*d));
                match (a * d).checked_add(c * b) {
                    Some(numer) => Self::from_i128(numer, b * d),
                    None => self.computed(other, Dyadic::plus, |a, b| a + b),
                }
            }
            _ => self.computed(other, Dyadic::plus, |a, b| a + b),
        }
    }

    /// Its product with `other`.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (Repr::Small(a, 1), Repr::Small(b, 1)) => Self::from_whole(i128::from(*a) * i128::from(*b)),
            (Repr::Small(a, b), Repr::Small(c, d)) => {
                Self::from_i128(i128::from(*a) * i128::from(*c), i128::from(*b) * i128::from(*d))
            }
            _ if self.is_one() => other.clone(),
            _ if other.is_one() => self.clone(),
            _ => self.computed(other, Dyadic::times, |a, b| a * b),
        }
    }

    /// Its power; `None` for zero to a negative power or an exponent beyond 1,000.
    #[must_use]
    pub fn power(&self, exponent: i32) -> Option<Self> {
        if exponent.unsigned_abs() > 1_000 || (exponent < 0 && self.is_zero()) {
            return None;
        }
        Some(Self::from_big(self.to_big().pow(exponent)))
    }

    /// Bits of its numerator and denominator.
    #[must_use]
    pub fn n_bits(&self) -> u64 {
        match &self.0 {
            Repr::Small(..) => 128,
            Repr::Big(big) => big.numer().bits() + big.denom().bits(),
        }
    }

    /// The number with the opposite sign.
    #[must_use]
    pub fn negated(&self) -> Self {
        match &self.0 {
            // The least integer is never a small numerator.
            Repr::Small(numer, denom) => Self(Repr::Small(-numer, *denom)),
            Repr::Big(big) => Self::from_big(-big.as_ref().clone()),
        }
    }

    /// The number without its sign.
    #[must_use]
    pub fn abs(&self) -> Self {
        if self.is_negative() { self.negated() } else { self.clone() }
    }

    /// Whether it is 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// Whether it is 1.
    #[must_use]
    pub fn is_one(&self) -> bool {
        *self == Self::ONE
    }

    /// Whether it is 1 or −1.
    #[must_use]
    pub fn is_unit(&self) -> bool {
        self.is_one() || *self == Self::MINUS_ONE
    }

    /// Whether it is below 0.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Small(numer, _) => *numer < 0,
            Repr::Big(big) => big.is_negative(),
        }
    }

    /// The number if it is whole and fits.
    #[must_use]
    pub fn to_int(&self) -> Option<i64> {
        match &self.0 {
            Repr::Small(numer, 1) => Some(*numer),
            Repr::Small(..) => None,
            Repr::Big(big) => big.is_integer().then(|| big.to_integer().to_i64()).flatten(),
        }
    }

    /// The nearest double.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Repr::Small(numer, 1) => *numer as f64,
            _ => self.to_exact_f64().unwrap_or_else(|| self.to_big().to_f64().unwrap_or(f64::NAN)),
        }
    }

    /// Whether the nearest double is finite.
    #[must_use]
    pub fn is_in_range(&self) -> bool {
        match &self.0 {
            Repr::Small(..) => true,
            // A number is below the power of two with its bits as exponent, and not below half of that.
            Repr::Big(big) => {
                let limit = big.denom().bits() + u64::from(f64::MAX_EXP.unsigned_abs());
                big.numer().bits() + 1 < limit || self.to_f64().is_finite()
            }
        }
    }

    /// The double that has exactly this value, if there is one.
    #[must_use]
    pub fn to_exact_f64(&self) -> Option<f64> {
        match &self.0 {
            Repr::Small(numer, denom) => {
                let (magnitude, denom) = (numer.unsigned_abs(), denom.unsigned_abs());
                let odd = magnitude.checked_shr(magnitude.trailing_zeros()).unwrap_or(0);
                (odd < 1 << f64::MANTISSA_DIGITS && denom.is_power_of_two()).then(|| *numer as f64 / denom as f64)
            }
            Repr::Big(big) => dyadic::exact_f64(big),
        }
    }

    /// Numbers of which it is the sum and which doubles hold: the nearest one, the one nearest to what is missing, and so on. What is no sum of doubles, as a
    /// third, is the nearest two of them, and what is less than the smallest double is left out.
    #[must_use]
    pub fn to_doubles(&self) -> Vec<Self> {
        if self.to_exact_f64().is_some() {
            return vec![self.clone()];
        }
        let most = if self.is_dyadic() { usize::MAX } else { 2 };
        let mut res = Vec::new();
        let mut missing = self.clone();
        while res.len() < most {
            match Self::from_f64(missing.to_f64()) {
                Some(nearest) if !nearest.is_zero() => {
                    missing = missing.plus(&nearest.negated());
                    res.push(nearest);
                }
                _ => break,
            }
        }
        if res.is_empty() { vec![self.clone()] } else { res }
    }

    /// Its numerator and denominator as numbers of their own.
    #[must_use]
    pub fn split(&self) -> (Self, Self) {
        let big = self.to_big();
        let whole = |value: &BigInt| Self::from_big(BigRational::from_integer(value.clone()));
        (whole(big.numer()), whole(big.denom()))
    }
}

impl Default for Rational {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Ord for Rational {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Small(a, b), Repr::Small(c, d)) => {
                (i128::from(*a) * i128::from(*d)).cmp(&(i128::from(*c) * i128::from(*b)))
            }
            _ if self.is_negative() != other.is_negative() => other.is_negative().cmp(&self.is_negative()),
            _ => match (self.to_exact_f64(), other.to_exact_f64()) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                _ => self.to_big().cmp(&other.to_big()),
            },
        }
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Small(numer, 1) => write!(f, "{numer}"),
            Repr::Small(numer, denom) => write!(f, "{numer}/{denom}"),
            Repr::Big(big) => write!(f, "{big}"),
        }
    }
}

impl fmt::Debug for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<BigRational> for Rational {
    fn from(value: BigRational) -> Self {
        debug_assert!(!value.denom().is_zero() && (value.denom().is_one() || value.denom().is_positive()));
        Self::from_big(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_exact_at_any_size() {
        let tenth = Rational::from_f64(0.1).unwrap();
        assert_eq!(tenth.to_exact_f64(), Some(0.1));
        let hundredth = tenth.times(&tenth);
        assert_eq!(hundredth.to_exact_f64(), None, "a product of two doubles needs 106 bits");
        assert_eq!(hundredth.times(&tenth.power(-1).unwrap()), tenth);
        assert_eq!(
            Rational::from_int(i64::MAX).plus(&Rational::ONE).plus(&Rational::MINUS_ONE).to_int(),
            Some(i64::MAX)
        );
        assert_eq!(Rational::ZERO.power(-1), None);
    }

    #[test]
    fn equal_numbers_are_equal_values() {
        let third = Rational::from_int(3).power(-1).unwrap();
        assert_eq!(third.plus(&third).plus(&third), Rational::ONE);
        assert!(third < Rational::from_f64(0.34).unwrap());
        assert_eq!(third.split(), (Rational::ONE, Rational::from_int(3)));
    }

    #[test]
    fn numbers_are_sums_of_doubles() {
        let tenth = Rational::from_f64(0.1).unwrap();
        let small = tenth.power(4).unwrap();
        let parts = small.to_doubles();
        assert!(parts.len() > 2 && parts.iter().all(|part| part.to_exact_f64().is_some()));
        assert_eq!(parts.iter().fold(Rational::ZERO, |sum, part| sum.plus(part)), small);
        assert_eq!(Rational::from_int(3).power(-1).unwrap().to_doubles().len(), 2, "a third has no end");
    }
}

//! A real number in high precision, with a bound of its error.

use std::cmp::Ordering;
use std::rc::Rc;

use astro_float::{BigFloat, RoundingMode, Sign};

/// Bits of a mantissa: 134 decimal digits.
pub(crate) const PRECISION: usize = 448;

/// Values that differ by at most 2^-`AGREEMENT` of their magnitude are taken for equal: 115 digits must agree. The bits that remain are for the
/// errors that add up on the way.
pub(crate) const AGREEMENT: f64 = (PRECISION - 64) as f64;

/// Nothing here needs correct rounding: an error of some units in the last place is what magnitudes bound.
pub(super) const ROUNDING: RoundingMode = RoundingMode::None;

/// A number, and how far it may be off. What is not a number is undefined.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RealValue {
    pub(super) value: Rc<BigFloat>,
    /// The binary logarithm of a magnitude m: the value is off by about m·2^-[`PRECISION`] at most. Minus infinity for an exact zero.
    pub(super) magnitude: f64,
}

/// Undefined.
impl Default for RealValue {
    fn default() -> Self {
        Self::exactly(astro_float::NAN, f64::NEG_INFINITY)
    }
}

impl RealValue {
    /// An exact value.
    pub(super) fn leaf(value: BigFloat) -> Self {
        let magnitude = log2_size(&value);
        Self::exactly(value, magnitude)
    }

    /// A value with just this magnitude.
    pub(super) fn exactly(value: BigFloat, magnitude: f64) -> Self {
        Self { value: Rc::new(value), magnitude }
    }

    /// A result with the magnitude that its operands' errors give, and its own rounding.
    pub(super) fn result(value: BigFloat, magnitude: f64) -> Self {
        let own = log2_size(&value);
        Self::exactly(value, if magnitude > own { magnitude } else { own })
    }

    /// Whether it is a finite number.
    pub(crate) fn is_defined(&self) -> bool {
        !self.value.is_nan() && !self.value.is_inf()
    }

    /// The binary logarithm of its size.
    pub(super) fn log2_size(&self) -> f64 {
        log2_size(&self.value)
    }

    /// The binary logarithm of the distance at which other values are taken for equal to this one.
    pub(super) fn log2_tolerance(&self) -> f64 {
        self.magnitude - AGREEMENT
    }

    /// Whether it cannot be told from zero.
    pub(crate) fn is_zero(&self) -> bool {
        self.log2_size() <= self.log2_tolerance()
    }

    /// Its sign; values that cannot be told from zero, and undefined ones, have none.
    pub(super) fn signum(&self) -> i32 {
        match self.value.sign() {
            _ if self.is_zero() => 0,
            Some(Sign::Pos) => 1,
            Some(Sign::Neg) => -1,
            None => 0,
        }
    }

    /// Its order; values that cannot be told apart are equal. `None` if one is undefined.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        let order = self.value.cmp(&other.value)?.cmp(&0);
        if order == Ordering::Equal || self.value.is_inf() || other.value.is_inf() {
            return Some(order);
        }
        let difference = log2_size(&self.value.sub(&other.value, PRECISION, ROUNDING));
        let tolerance = self.log2_tolerance().max(other.log2_tolerance());
        Some(if difference <= tolerance { Ordering::Equal } else { order })
    }

    /// The float64 nearest to it, but for the last bit; infinite beyond the range of float64.
    pub(crate) fn to_float(&self) -> f64 {
        let Some((words, _, sign, exponent, _)) = self.value.as_raw_parts() else {
            return match () {
                () if self.value.is_inf_pos() => f64::INFINITY,
                () if self.value.is_inf_neg() => f64::NEG_INFINITY,
                () => f64::NAN,
            };
        };
        // The mantissa is a fraction in [1/2, 1).
        let top = words.last().map_or(0.0, |&word| word as f64);
        let size = libm::scalbn(top, exponent.saturating_sub(64));
        if sign == Sign::Neg { -size } else { size }
    }

    /// How much larger it is than a float64.
    pub(crate) fn signed_distance(&self, float: f64) -> f64 {
        let float = BigFloat::from_f64(float, PRECISION);
        Self::leaf(self.value.sub(&float, PRECISION, ROUNDING)).to_float()
    }
}

/// The binary logarithm of the size of a number; minus infinity for zero.
pub(super) fn log2_size(value: &BigFloat) -> f64 {
    match value.as_raw_parts() {
        _ if value.is_zero() => f64::NEG_INFINITY,
        Some((words, _, _, exponent, _)) => {
            f64::from(exponent) + words.last().map_or(0.0, |&word| libm::log2(word as f64) - 64.0)
        }
        None if value.is_inf() => f64::INFINITY,
        None => f64::NAN,
    }
}

/// The binary logarithm of 2^a + 2^b.
pub(super) fn log2_sum(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    let difference = small - large;
    // Also where both are infinite.
    if difference > -60.0 { large + libm::log2(1.0 + libm::exp2(difference)) } else { large }
}

/// The binary logarithm of 2^a·2^b, where 0 times infinity is 0.
pub(super) fn log2_product(a: f64, b: f64) -> f64 {
    if a == f64::NEG_INFINITY || b == f64::NEG_INFINITY { f64::NEG_INFINITY } else { a + b }
}

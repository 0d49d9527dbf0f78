//! The world of double-double floats: some 106 bits, which stand for exact real numbers.
//!
//! Nothing is rounded to float32, and the functions of math.h have 20 digits at least, which shows the rounding of float64; those that
//! are not known so precisely (exponentials, logarithms and powers with other exponents than whole numbers among them), and conversions that lose digits, stop the run. Comparisons are of these values: a kernel that chooses by a
//! comparison which rounding decides has no exact meaning here.

use twofloat::TwoFloat;

use crate::world::{Function, World, hash_with, stand_in_weight};

/// A double-double float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Long(pub(crate) TwoFloat);

impl Default for Long {
    fn default() -> Self {
        Self(TwoFloat::from_f64(0.0))
    }
}

/// Double-double arithmetic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubled;

/// `a/b`: a quotient by the leading part of `b`, and what is then missing, once more. The library's own quotient of two long
/// floats has the digits of one float only.
fn quotient(a: TwoFloat, b: TwoFloat) -> TwoFloat {
    let first = a / b.hi();
    if !first.hi().is_finite() || !b.hi().is_finite() {
        return TwoFloat::from_f64(a.hi() / b.hi());
    }
    first + (a - first * b) / b.hi()
}

/// What is not finite has no second part.
fn long(value: TwoFloat) -> Long {
    Long(if value.hi().is_finite() && value.lo().is_finite() { value } else { TwoFloat::from_f64(value.hi()) })
}

impl World for Doubled {
    type Float = Long;

    const ROUNDS: bool = false;

    fn literal(&self, value: f64) -> Long {
        Long(TwoFloat::from_f64(value))
    }

    fn integer(&self, value: i64) -> Long {
        Long(TwoFloat::from(value))
    }

    fn truncate(&self, value: Long) -> Option<i64> {
        let whole = value.0.trunc();
        let (high, low) = (whole.hi(), whole.lo());
        let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&high);
        in_range.then(|| (high as i64).saturating_add(low as i64))
    }

    fn round_single(&self, value: Long) -> Long {
        value
    }

    fn add(&self, a: Long, b: Long) -> Long {
        long(a.0 + b.0)
    }

    fn sub(&self, a: Long, b: Long) -> Long {
        long(a.0 - b.0)
    }

    fn mul(&self, a: Long, b: Long) -> Long {
        long(a.0 * b.0)
    }

    fn neg(&self, a: Long) -> Long {
        Long(-a.0)
    }

    fn quotient(&self, a: Long, b: Long) -> Option<Long> {
        Some(long(quotient(a.0, b.0)))
    }

    fn less(&self, a: Long, b: Long) -> bool {
        a.0 < b.0
    }

    fn equal(&self, a: Long, b: Long) -> bool {
        a.0 == b.0
    }

    fn less_equal(&self, a: Long, b: Long) -> bool {
        a.0 <= b.0
    }

    fn min(&self, a: Long, b: Long) -> Long {
        if b.0 < a.0 { b } else { a }
    }

    fn max(&self, a: Long, b: Long) -> Long {
        if b.0 > a.0 { b } else { a }
    }

    fn infinity(&self, negative: bool) -> Long {
        Long(TwoFloat::from_f64(if negative { f64::NEG_INFINITY } else { f64::INFINITY }))
    }

    fn power(&self, base: Long, exponent: i64) -> Option<Long> {
        let mut res = TwoFloat::from_f64(1.0);
        let (mut square, mut rest) = (base.0, exponent.unsigned_abs());
        while rest > 0 {
            if rest & 1 == 1 {
                res *= square;
            }
            square *= square;
            rest >>= 1;
        }
        Some(long(if exponent < 0 { quotient(TwoFloat::from_f64(1.0), res) } else { res }))
    }

    fn power_any(&self, _base: Long, _exponent: Long) -> Option<Long> {
        None
    }

    fn floor_div(&self, a: Long, b: Long) -> Option<Long> {
        Some(long(quotient(a.0, b.0).floor()))
    }

    fn modulo(&self, a: Long, b: Long) -> Option<Long> {
        Some(long(a.0 - b.0 * quotient(a.0, b.0).floor()))
    }

    fn call(&self, function: &Function, result: u64, arguments: &[Long]) -> Option<Long> {
        if function.math.is_none() || result > 0 {
            let phase = |sum, (idx, x): (usize, &Long)| sum + x.0 * stand_in_weight(function, result, idx as u64 + 1);
            let start = TwoFloat::from_f64(stand_in_weight(function, result, 0));
            let phase = arguments.iter().enumerate().fold(start, phase);
            return function.has_stand_in.then(|| long(phase.sin() + 1.5));
        }
        let value = match (function.name.as_str(), arguments) {
            ("fabs" | "abs", [a]) => a.0.abs(),
            ("sqrt", [a]) => a.0.sqrt(),
            ("sin", [a]) => a.0.sin(),
            ("cos", [a]) => a.0.cos(),
            ("floor", [a]) => a.0.floor(),
            ("ceil", [a]) => a.0.ceil(),
            ("hypot", [a, b]) => (a.0 * a.0 + b.0 * b.0).sqrt(),
            ("fmin", [a, b]) => self.min(*a, *b).0,
            ("fmax", [a, b]) => self.max(*a, *b).0,
            _ => return None,
        };
        Some(long(value))
    }

    fn oracle(&self, _hash: u64) -> Option<Long> {
        None
    }

    fn hash(&self, value: Long) -> u64 {
        hash_with(value.0.hi().to_bits(), value.0.lo().to_bits())
    }

    fn name(&self) -> &'static str {
        "double-double arithmetic"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_has_a_hundred_bits() {
        let third = quotient(TwoFloat::from_f64(1.0), TwoFloat::from_f64(3.0));
        let rest = third * 3.0 - TwoFloat::from_f64(1.0);
        assert!(rest.hi().abs() < 1e-31, "{rest:?}");
        let power = Doubled.power(Long(third), -2).unwrap();
        assert!((power.0 - 9.0).hi().abs() < 1e-30);
    }

    #[test]
    fn quotients_of_long_numbers_are_long() {
        let two = TwoFloat::from_f64(2.0);
        let (a, b) = (two.sqrt() * 3.0, quotient(TwoFloat::from_f64(1.0), TwoFloat::from_f64(7.0)));
        let rest = quotient(a, b) * b - a;
        assert!(rest.hi().abs() < 1e-30, "{rest:?}");
        assert!(quotient(two, TwoFloat::from_f64(0.0)).hi().is_infinite());
    }

    #[test]
    fn functions_are_long() {
        for x in [0.75, -1.3, 1.9, 0.1] {
            let x = quotient(TwoFloat::from_f64(x), TwoFloat::from_f64(3.0));
            let (sine, cosine) = (x.sin(), x.cos());
            let circle = sine * sine + cosine * cosine - TwoFloat::from_f64(1.0);
            assert!(circle.hi().abs() < 1e-20, "{x:?}: {circle:?}");
            let root = x.abs().sqrt();
            assert!((root * root - x.abs()).hi().abs() < 1e-30, "{x:?}");
        }
    }

    #[test]
    fn whole_parts_of_long_numbers_are_exact() {
        let value = TwoFloat::new_add(9_007_199_254_740_992.0, 1.5);
        assert_eq!(Doubled.truncate(Long(value)), Some(9_007_199_254_740_993));
        assert_eq!(Doubled.truncate(Doubled.infinity(false)), None);
    }
}

//! The world of IEEE arithmetic: float64, and float32 by rounding each result of float64 arithmetic.
//!
//! Rounding a float64 sum, difference, product, quotient or square root of float32 values gives the correctly rounded
//! float32 result, because 53 >= 2·24 + 2.

use crate::world::{Function, Operand, World, stand_in};

/// IEEE arithmetic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Floats;

impl World for Floats {
    type Float = f64;

    const ROUNDS: bool = true;

    #[inline(always)]
    fn literal(&self, value: f64) -> f64 {
        value
    }

    #[inline(always)]
    fn integer(&self, value: i64) -> f64 {
        value as f64
    }

    fn truncate(&self, value: f64) -> Option<i64> {
        // 2^63 is the first float64 beyond int64.
        (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value).then_some(value as i64)
    }

    #[inline(always)]
    fn round_single(&self, value: f64) -> f64 {
        f64::from(value as f32)
    }

    #[inline(always)]
    fn add(&self, a: f64, b: f64) -> f64 {
        a + b
    }

    #[inline(always)]
    fn sub(&self, a: f64, b: f64) -> f64 {
        a - b
    }

    #[inline(always)]
    fn mul(&self, a: f64, b: f64) -> f64 {
        a * b
    }

    #[inline(always)]
    fn neg(&self, a: f64) -> f64 {
        -a
    }

    #[inline(always)]
    fn quotient(&self, a: f64, b: f64) -> Option<f64> {
        Some(a / b)
    }

    fn divide(&self, left: &mut [f64], right: Operand<'_, f64>, _undefined: &mut Vec<usize>) {
        match right {
            Operand::One(b) => left.iter_mut().for_each(|a| *a /= b),
            Operand::Each(right) => left.iter_mut().zip(right).for_each(|(a, b)| *a /= b),
        }
    }

    #[inline(always)]
    fn less(&self, a: f64, b: f64) -> bool {
        a < b
    }

    #[inline(always)]
    fn equal(&self, a: f64, b: f64) -> bool {
        a == b
    }

    #[inline(always)]
    fn less_equal(&self, a: f64, b: f64) -> bool {
        a <= b
    }

    #[inline(always)]
    fn min(&self, a: f64, b: f64) -> f64 {
        a.min(b)
    }

    #[inline(always)]
    fn max(&self, a: f64, b: f64) -> f64 {
        a.max(b)
    }

    fn infinity(&self, negative: bool) -> f64 {
        if negative { f64::NEG_INFINITY } else { f64::INFINITY }
    }

    fn power(&self, base: f64, exponent: i64) -> Option<f64> {
        Some(power(base, exponent))
    }

    fn power_any(&self, base: f64, exponent: f64) -> Option<f64> {
        Some(libm::pow(base, exponent))
    }

    fn floor_div(&self, a: f64, b: f64) -> Option<f64> {
        Some((a / b).floor())
    }

    fn modulo(&self, a: f64, b: f64) -> Option<f64> {
        Some(a - b * (a / b).floor())
    }

    fn call(&self, function: &Function, result: u64, arguments: &[f64]) -> Option<f64> {
        match function.math.filter(|_| result == 0) {
            Some(math) => Some(math.evaluate(arguments)),
            None => function.has_stand_in.then(|| stand_in(function, result, arguments)),
        }
    }

    fn oracle(&self, _hash: u64) -> Option<f64> {
        None
    }

    fn hash(&self, value: f64) -> u64 {
        value.to_bits()
    }

    fn name(&self) -> &'static str {
        "floating point"
    }
}

/// A whole power by squaring.
pub(crate) fn power(base: f64, exponent: i64) -> f64 {
    let mut res = 1.0;
    let mut square = base;
    let mut rest = exponent.unsigned_abs();
    while rest > 0 {
        if rest & 1 == 1 {
            res *= square;
        }
        square *= square;
        rest >>= 1;
    }
    if exponent < 0 { 1.0 / res } else { res }
}

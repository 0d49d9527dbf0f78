//! The world of floats with a bound of their condition.
//!
//! A value is a float and a magnitude `m` such that evaluating with unit roundoff u gives an error of at most about m·u:
//! the first-order running error analysis. Sums add magnitudes, so cancellation shows; a product has
//! `m(a)·|b| + |a|·m(b)`, and `m(a)·m(b)·u` of both errors, which is all there is where both values cancel; a quotient and the functions follow from their derivatives. Leaves have `m = |a|`.
//! What may underflow is also off by half the least subnormal number, which is u times the least normal one: products, quotients and powers, and what is rounded to float32, have at least that as `m`.
//!
//! # Source
//! Wilkinson (1986), Error analysis revisited; Higham, Accuracy and Stability of Numerical Algorithms, sections 2.1 and 3.3.

use crate::float::Floats;
use crate::world::{Function, MAX_STAND_IN_SLOPE, World};

/// A float and the bound of its condition.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Scaled {
    pub(crate) value: f64,
    pub(crate) magnitude: f64,
}

impl Scaled {
    fn leaf(value: f64) -> Self {
        Self { value, magnitude: value.abs() }
    }

    /// A result with the magnitude that its operands' errors give, and its own rounding.
    fn result(value: f64, magnitude: f64) -> Self {
        Self { value, magnitude: if magnitude >= value.abs() { magnitude } else { value.abs() } }
    }

    /// The same for a result that may underflow.
    fn beside_underflow(value: f64, magnitude: f64) -> Self {
        Self::result(value, magnitude + f64::MIN_POSITIVE)
    }
}

/// Floats with conditions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditioned;

/// Steps in which a derivative is taken: a part of the argument, and for large arguments one that no period of a function hides in.
fn steps(argument: f64) -> impl Iterator<Item = f64> {
    const PART: f64 = 1e-6;
    const WITHIN_PERIODS: f64 = 1e-3;
    let of_size = argument.abs().max(1e-3) * PART;
    let short = WITHIN_PERIODS.max(16.0 * f64::EPSILON * argument.abs());
    [of_size, short].into_iter().take(if of_size > short { 2 } else { 1 })
}

impl World for Conditioned {
    type Float = Scaled;

    const ROUNDS: bool = true;

    fn literal(&self, value: f64) -> Scaled {
        Scaled::leaf(value)
    }

    fn integer(&self, value: i64) -> Scaled {
        Scaled::leaf(value as f64)
    }

    fn truncate(&self, value: Scaled) -> Option<i64> {
        Floats.truncate(value.value)
    }

    #[inline(always)]
    fn round_single(&self, value: Scaled) -> Scaled {
        Scaled { value: Floats.round_single(value.value), magnitude: value.magnitude.max(f32::MIN_POSITIVE.into()) }
    }

    #[inline(always)]
    fn add(&self, a: Scaled, b: Scaled) -> Scaled {
        Scaled { value: a.value + b.value, magnitude: a.magnitude + b.magnitude }
    }

    #[inline(always)]
    fn sub(&self, a: Scaled, b: Scaled) -> Scaled {
        Scaled { value: a.value - b.value, magnitude: a.magnitude + b.magnitude }
    }

    #[inline(always)]
    fn mul(&self, a: Scaled, b: Scaled) -> Scaled {
        // The product of the errors counts where both values cancel.
        let of_errors = a.magnitude * b.magnitude * f64::EPSILON;
        let magnitude = a.magnitude * b.value.abs() + a.value.abs() * b.magnitude + of_errors;
        Scaled { value: a.value * b.value, magnitude: magnitude + f64::MIN_POSITIVE }
    }

    #[inline(always)]
    fn neg(&self, a: Scaled) -> Scaled {
        Scaled { value: -a.value, ..a }
    }

    fn quotient(&self, a: Scaled, b: Scaled) -> Option<Scaled> {
        let value = a.value / b.value;
        Some(Scaled::beside_underflow(value, (a.magnitude + value.abs() * b.magnitude) / b.value.abs()))
    }

    fn less(&self, a: Scaled, b: Scaled) -> bool {
        a.value < b.value
    }

    fn equal(&self, a: Scaled, b: Scaled) -> bool {
        a.value == b.value
    }

    fn less_equal(&self, a: Scaled, b: Scaled) -> bool {
        a.value <= b.value
    }

    fn min(&self, a: Scaled, b: Scaled) -> Scaled {
        Scaled { value: a.value.min(b.value), magnitude: a.magnitude.max(b.magnitude) }
    }

    fn max(&self, a: Scaled, b: Scaled) -> Scaled {
        Scaled { value: a.value.max(b.value), magnitude: a.magnitude.max(b.magnitude) }
    }

    fn infinity(&self, negative: bool) -> Scaled {
        Scaled { value: Floats.infinity(negative), magnitude: 0.0 }
    }

    fn power(&self, base: Scaled, exponent: i64) -> Option<Scaled> {
        let value = crate::float::power(base.value, exponent);
        let slope = exponent as f64 * crate::float::power(base.value, exponent.saturating_sub(1));
        Some(Scaled::beside_underflow(value, slope.abs() * base.magnitude))
    }

    fn power_any(&self, base: Scaled, exponent: Scaled) -> Option<Scaled> {
        let value = libm::pow(base.value, exponent.value);
        let by_base = exponent.value * libm::pow(base.value, exponent.value - 1.0);
        let by_exponent = value * libm::log(base.value.abs());
        Some(Scaled::beside_underflow(value, by_base.abs() * base.magnitude + by_exponent.abs() * exponent.magnitude))
    }

    fn floor_div(&self, a: Scaled, b: Scaled) -> Option<Scaled> {
        Floats.floor_div(a.value, b.value).map(Scaled::leaf)
    }

    fn modulo(&self, a: Scaled, b: Scaled) -> Option<Scaled> {
        let quotient = Floats.floor_div(a.value, b.value)?.abs();
        Some(Scaled::result(Floats.modulo(a.value, b.value)?, a.magnitude + quotient * b.magnitude))
    }

    /// The derivative is taken numerically: only its size matters.
    fn call(&self, function: &Function, result: u64, arguments: &[Scaled]) -> Option<Scaled> {
        let mut values: Vec<f64> = arguments.iter().map(|argument| argument.value).collect();
        let value = Floats.call(function, result, &values)?;
        if function.math.is_none() || result > 0 {
            let magnitude: f64 = arguments.iter().map(|argument| argument.magnitude).sum();
            return Some(Scaled::result(value, MAX_STAND_IN_SLOPE * magnitude));
        }
        let mut magnitude = 0.0;
        for (idx, argument) in arguments.iter().enumerate() {
            let mut at = |argument: f64| {
                values[idx] = argument;
                Floats.call(function, result, &values)
            };
            let mut steepest: f64 = 0.0;
            for step in steps(argument.value) {
                let (above, below) = (at(argument.value + step)?, at(argument.value - step)?);
                // Beside the end of a domain there is one side only.
                let slopes = [(above - below) / (2.0 * step), (above - value) / step, (value - below) / step];
                steepest = steepest.max(slopes.into_iter().find(|slope| slope.is_finite()).map_or(0.0, f64::abs));
            }
            at(argument.value)?;
            magnitude += steepest * argument.magnitude;
        }
        Some(Scaled::result(value, magnitude))
    }

    fn oracle(&self, _hash: u64) -> Option<Scaled> {
        None
    }

    fn hash(&self, value: Scaled) -> u64 {
        value.value.to_bits()
    }

    fn name(&self) -> &'static str {
        "floating point"
    }
}

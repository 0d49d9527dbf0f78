//! The world of real numbers, in high precision: what functions and roots mean where the prime field has no meaning for them.
//!
//! A value is a [`BigFloat`](astro_float::BigFloat) of 448 bits with a magnitude m such that it is off by about m·2^-448 at most: the first-order running
//! error analysis of [`conditioned`](crate::conditioned), with the logarithms of magnitudes, so that they do not overflow. Two values are equal if they differ by
//! at most 2^-384 of the larger magnitude. Two forms of one value agree so far, and two different functions of random data do not.
//!
//! # Input
//! Float literals, tables and given data are the dyadic rationals that they are; float32 is not rounded.
//! # Output
//! What has no real value is undefined: a quotient by what cannot be told from zero, the root or logarithm of a negative number, a result beyond the exponents
//! (2^31). Functions of math.h whose values are not computed here (the Bessel functions) have no meaning. Functions that only the user knows are
//! the stand-ins of [`stand_in`](crate::world::stand_in).
//! # Method
//! Comparisons, extrema, roundings to whole numbers and the edges of domains take values closer than the tolerance for equal.
//! # Complexity
//! Below 1 µs for a sum or product, some µs for a quotient, 10 to 200 µs for a root or an elementary function, 1 ms for a gamma function; a function is
//! asked but once for the same arguments.
//! # Not done
//! Signed zeros, infinities as results, and what is not a number: validation in floats compares these.
//! # Source
//! Higham, Accuracy and Stability of Numerical Algorithms, section 3.3.

mod elementary;
mod special;
mod value;
mod whole;

use std::cell::RefCell;
use std::cmp::Ordering;

use astro_float::{BigFloat, Consts, Sign};
use rustc_hash::FxHashMap;

use crate::real::value::{AGREEMENT, PRECISION, ROUNDING, log2_product, log2_sum};
use crate::world::{Function, MAX_STAND_IN_SLOPE, World, stand_in_weight};

pub(crate) use crate::real::value::RealValue;

/// Real numbers.
pub(crate) struct Real {
    /// Digits of pi and the like, as many as were needed so far.
    constants: RefCell<Consts>,
    /// Values of functions: both of two kernels ask for many of them.
    known: RefCell<FxHashMap<Vec<u64>, Option<RealValue>>>,
}

/// So many values of functions are kept; then all are forgotten.
const MAX_KNOWN: usize = 1 << 16;

impl Real {
    pub(crate) fn new() -> Self {
        let constants = Consts::new().expect("there is memory for a few constants");
        Self { constants: RefCell::new(constants), known: RefCell::default() }
    }

    /// The stand-in of a function, as in floats.
    fn stand_in(&self, function: &Function, result: u64, arguments: &[RealValue]) -> Option<RealValue> {
        let weight = |position: usize| self.literal(stand_in_weight(function, result, position as u64));
        let phase = arguments
            .iter()
            .enumerate()
            .fold(weight(0), |sum, (idx, argument)| self.add(sum, self.mul(weight(idx + 1), argument.clone())));
        let slope = libm::log2(MAX_STAND_IN_SLOPE);
        let sine = elementary::sine(&phase, &mut self.constants.borrow_mut())?;
        let res = self.add(self.literal(1.5), sine);
        Some(RealValue { magnitude: res.magnitude.max(phase.magnitude + slope), ..res })
    }
}

impl World for Real {
    type Float = RealValue;

    const ROUNDS: bool = false;

    fn literal(&self, value: f64) -> RealValue {
        RealValue::leaf(BigFloat::from_f64(value, PRECISION))
    }

    fn integer(&self, value: i64) -> RealValue {
        RealValue::leaf(BigFloat::from_i64(value, PRECISION))
    }

    fn truncate(&self, value: RealValue) -> Option<i64> {
        whole::to_integer(&whole::trunc(&value)?)
    }

    fn round_single(&self, value: RealValue) -> RealValue {
        value
    }

    fn add(&self, a: RealValue, b: RealValue) -> RealValue {
        let magnitude = log2_sum(a.magnitude, b.magnitude);
        RealValue::exactly(a.value.add(&b.value, PRECISION, ROUNDING), magnitude)
    }

    fn sub(&self, a: RealValue, b: RealValue) -> RealValue {
        let magnitude = log2_sum(a.magnitude, b.magnitude);
        RealValue::exactly(a.value.sub(&b.value, PRECISION, ROUNDING), magnitude)
    }

    fn mul(&self, a: RealValue, b: RealValue) -> RealValue {
        let of_a = log2_product(a.magnitude, b.log2_size());
        let of_b = log2_product(a.log2_size(), b.magnitude);
        // The product of the errors counts where both values cancel.
        let of_both = log2_product(a.magnitude, b.magnitude) - AGREEMENT;
        let magnitude = log2_sum(log2_sum(of_a, of_b), of_both);
        RealValue::exactly(a.value.mul(&b.value, PRECISION, ROUNDING), magnitude)
    }

    fn neg(&self, a: RealValue) -> RealValue {
        RealValue::exactly(a.value.neg(), a.magnitude)
    }

    fn quotient(&self, a: RealValue, b: RealValue) -> Option<RealValue> {
        if b.is_zero() {
            return None;
        }
        let value = a.value.div(&b.value, PRECISION, ROUNDING);
        let of_b = log2_product(value::log2_size(&value), b.magnitude);
        let res = RealValue::result(value, log2_sum(a.magnitude, of_b) - b.log2_size());
        res.is_defined().then_some(res)
    }

    fn less(&self, a: RealValue, b: RealValue) -> bool {
        a.compare(&b) == Some(Ordering::Less)
    }

    fn equal(&self, a: RealValue, b: RealValue) -> bool {
        a.compare(&b) == Some(Ordering::Equal)
    }

    fn less_equal(&self, a: RealValue, b: RealValue) -> bool {
        matches!(a.compare(&b), Some(Ordering::Less | Ordering::Equal))
    }

    fn min(&self, a: RealValue, b: RealValue) -> RealValue {
        let magnitude = a.magnitude.max(b.magnitude);
        let value = if b.compare(&a) == Some(Ordering::Less) { b.value } else { a.value };
        RealValue { value, magnitude }
    }

    fn max(&self, a: RealValue, b: RealValue) -> RealValue {
        let magnitude = a.magnitude.max(b.magnitude);
        let value = if a.compare(&b) == Some(Ordering::Less) { b.value } else { a.value };
        RealValue { value, magnitude }
    }

    fn infinity(&self, negative: bool) -> RealValue {
        let value = if negative { astro_float::INF_NEG } else { astro_float::INF_POS };
        RealValue::exactly(value, f64::NEG_INFINITY)
    }

    fn power(&self, base: RealValue, exponent: i64) -> Option<RealValue> {
        elementary::whole_power(&base, exponent)
    }

    fn power_any(&self, base: RealValue, exponent: RealValue) -> Option<RealValue> {
        elementary::power(&base, &exponent, &mut self.constants.borrow_mut())
    }

    fn floor_div(&self, a: RealValue, b: RealValue) -> Option<RealValue> {
        self.quotient(a, b).and_then(|quotient| whole::floor(&quotient))
    }

    fn modulo(&self, a: RealValue, b: RealValue) -> Option<RealValue> {
        let quotient = self.floor_div(a.clone(), b.clone())?;
        Some(self.sub(a, self.mul(b, quotient)))
    }

    fn call(&self, function: &Function, result: u64, arguments: &[RealValue]) -> Option<RealValue> {
        if arguments.iter().any(|argument| !argument.is_defined()) {
            return None;
        }
        let value = match function.math {
            Some(_) if result == 0 => self.known_math(function, arguments),
            _ if function.has_stand_in => self.stand_in(function, result, arguments),
            _ => None,
        };
        value.filter(RealValue::is_defined)
    }

    fn oracle(&self, _hash: u64) -> Option<RealValue> {
        None
    }

    /// Of the leading digits: values that are equal but for rounding may differ.
    fn hash(&self, value: RealValue) -> u64 {
        value.to_float().to_bits()
    }

    fn name(&self) -> &'static str {
        "real arithmetic"
    }
}

impl Real {
    /// The same as [`Self::math`], which is asked but once for the same arguments.
    fn known_math(&self, function: &Function, arguments: &[RealValue]) -> Option<RealValue> {
        let mut key = vec![function.hash];
        for argument in arguments {
            let (words, _, sign, exponent, _) = argument.value.as_raw_parts()?;
            key.extend([u64::from(sign == Sign::Neg), exponent as u64, argument.magnitude.to_bits()]);
            key.extend(words);
        }
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let value = self.math(&function.name, arguments);
        let mut known = self.known.borrow_mut();
        if known.len() == MAX_KNOWN {
            known.clear();
        }
        known.insert(key, value.clone());
        value
    }

    /// A function of math.h; `None` if it is not computed here, or has no value.
    fn math(&self, name: &str, arguments: &[RealValue]) -> Option<RealValue> {
        match arguments {
            [a] => match name {
                "fabs" | "abs" => Some(RealValue::exactly(a.value.abs(), a.magnitude)),
                "floor" => whole::floor(a),
                "ceil" => whole::ceil(a),
                "round" => whole::round(a),
                "trunc" => whole::trunc(a),
                "rint" | "nearbyint" => whole::round_to_even(a),
                "erf" => special::erf(a, &mut self.constants.borrow_mut()),
                "erfc" => special::erfc(a, &mut self.constants.borrow_mut()),
                "tgamma" => special::gamma(a, &mut self.constants.borrow_mut()),
                "lgamma" => special::log_gamma(a, &mut self.constants.borrow_mut()),
                _ => elementary::unary(name, a, &mut self.constants.borrow_mut()),
            },
            [a, b] => match name {
                "pow" => elementary::power(a, b, &mut self.constants.borrow_mut()),
                "atan2" => elementary::atan2(a, b, &mut self.constants.borrow_mut()),
                "hypot" => {
                    let squares = self.add(self.mul(a.clone(), a.clone()), self.mul(b.clone(), b.clone()));
                    elementary::sqrt(&squares)
                }
                "copysign" => {
                    let size = a.value.abs();
                    Some(RealValue::exactly(if b.signum() < 0 { size.neg() } else { size }, a.magnitude))
                }
                "fdim" => {
                    let difference = self.sub(a.clone(), b.clone());
                    Some(if difference.signum() > 0 {
                        difference
                    } else {
                        RealValue::exactly(BigFloat::new(PRECISION), difference.magnitude)
                    })
                }
                "fmax" => Some(self.max(a.clone(), b.clone())),
                "fmin" => Some(self.min(a.clone(), b.clone())),
                "fmod" | "remainder" => {
                    let quotient = self.quotient(a.clone(), b.clone())?;
                    let whole = if name == "fmod" { whole::trunc(&quotient) } else { whole::round_to_even(&quotient) }?;
                    Some(self.sub(a.clone(), self.mul(b.clone(), whole)))
                }
                _ => None,
            },
            [a, b, c] if name == "fma" => Some(self.add(self.mul(a.clone(), b.clone()), c.clone())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;

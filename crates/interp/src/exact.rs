//! The world of exact evidence: every float is an element of the prime field and, beside it, a float with its condition.
//!
//! The element is the image of the exact rational number that the operations give, so that equal elements mean equal values;
//! the float says where that number lies among the reals. Each half lends the other what it lacks: *decisions*
//! (comparisons, extrema, signs, rounding to whole numbers) are those of real arithmetic: two values are equal where their elements are,
//! and otherwise ordered as their floats are. Quotients by an exact zero have no value, whatever the float has become.
//!
//! Functions that no rational arithmetic computes are random oracles on elements, as in [`Field`], and themselves on
//! floats. A value that an oracle has a part in is *transcendental*: where two such values have the same element they are equal; where
//! they have not, identities of the functions may still make them equal, which real arithmetic must say.
//!
//! A float within rounding of a whole number is that number where it is cast or rounded to one, so that both programs of a comparison
//! decide alike.
//!
//! # Source
//! Schwartz (1980), Zippel (1979) for the field; Wilkinson (1986), Error analysis revisited, for the condition.

use crate::conditioned::{Conditioned, Scaled};
use crate::field::Field;
use crate::float::Floats;
use crate::input::dyadic;
use crate::world::{Function, Operand, World};

/// Floats this close to a whole number, relative to their condition, are taken for it.
const NEAR_WHOLE: f64 = 1e-9;

/// A value: its image in the field, and its place among the reals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Exact {
    /// The element of the field.
    pub(crate) element: u64,
    /// Whether an oracle has a part in it.
    pub(crate) is_transcendental: bool,
    /// The float and its condition.
    pub(crate) float: Scaled,
}

/// Exact arithmetic, with oracles drawn by a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exactly {
    field: Field,
}

impl Exactly {
    pub(crate) fn new(seed: u64) -> Self {
        Self { field: Field { seed } }
    }

    /// A whole number.
    fn whole(&self, value: f64, magnitude: f64) -> Exact {
        Exact {
            element: self.field.literal(value),
            is_transcendental: false,
            float: Scaled { value, magnitude: magnitude.max(value.abs()) },
        }
    }

    /// A float, or the whole number that it is within rounding of.
    fn snapped(&self, a: Exact) -> f64 {
        let nearest = a.float.value.round();
        let is_near = (a.float.value - nearest).abs() <= NEAR_WHOLE * a.float.magnitude.max(1.0);
        if is_near { nearest } else { a.float.value }
    }

    /// Two operands' common mark.
    fn join(element: u64, a: Exact, b: Exact, float: Scaled) -> Exact {
        Exact { element, is_transcendental: a.is_transcendental || b.is_transcendental, float }
    }

    fn with_sign(&self, a: Exact, negative: bool) -> Exact {
        if negative { self.neg(a) } else { a }
    }

    fn fabs(&self, a: Exact) -> Exact {
        self.with_sign(a, a.float.value.is_sign_negative())
    }

    /// The quotient of two floats as it is rounded to a whole number.
    fn whole_quotient(&self, a: Exact, b: Exact, round: fn(f64) -> f64) -> Option<Exact> {
        let quotient = self.quotient(a, b)?;
        let value = round(self.snapped(quotient));
        value.is_finite().then(|| self.whole(value, quotient.float.magnitude))
    }

    /// `a − b·round(a/b)`.
    fn rest(&self, a: Exact, b: Exact, round: fn(f64) -> f64) -> Option<Exact> {
        Some(self.sub(a, self.mul(b, self.whole_quotient(a, b, round)?)))
    }
}

impl World for Exactly {
    type Float = Exact;

    const ROUNDS: bool = true;

    fn literal(&self, value: f64) -> Exact {
        Exact {
            element: self.field.literal(value),
            is_transcendental: !value.is_finite(),
            float: Conditioned.literal(value),
        }
    }

    fn integer(&self, value: i64) -> Exact {
        Exact { element: self.field.integer(value), is_transcendental: false, float: Conditioned.integer(value) }
    }

    fn truncate(&self, value: Exact) -> Option<i64> {
        Floats.truncate(self.snapped(value))
    }

    #[inline(always)]
    fn round_single(&self, a: Exact) -> Exact {
        Exact { float: Conditioned.round_single(a.float), ..a }
    }

    #[inline(always)]
    fn add(&self, a: Exact, b: Exact) -> Exact {
        Self::join(self.field.add(a.element, b.element), a, b, Conditioned.add(a.float, b.float))
    }

    #[inline(always)]
    fn sub(&self, a: Exact, b: Exact) -> Exact {
        Self::join(self.field.sub(a.element, b.element), a, b, Conditioned.sub(a.float, b.float))
    }

    #[inline(always)]
    fn mul(&self, a: Exact, b: Exact) -> Exact {
        let element = self.field.mul(a.element, b.element);
        let mut res = Self::join(element, a, b, Conditioned.mul(a.float, b.float));
        // Zero times anything is zero, and no longer an oracle's.
        res.is_transcendental &= element != 0;
        res
    }

    #[inline(always)]
    fn neg(&self, a: Exact) -> Exact {
        Exact { element: self.field.neg(a.element), float: Conditioned.neg(a.float), ..a }
    }

    fn quotient(&self, a: Exact, b: Exact) -> Option<Exact> {
        let element = self.field.quotient(a.element, b.element)?;
        Some(Self::join(element, a, b, Conditioned.quotient(a.float, b.float)?))
    }

    /// The elements are divided as one batch.
    fn divide(&self, left: &mut [Exact], right: Operand<'_, Exact>, undefined: &mut Vec<usize>) {
        let mut elements: Vec<u64> = left.iter().map(|a| a.element).collect();
        let divisors: Vec<u64>;
        let of_elements = match &right {
            Operand::One(b) => Operand::One(b.element),
            Operand::Each(right) => {
                divisors = right.iter().map(|b| b.element).collect();
                Operand::Each(&divisors)
            }
        };
        self.field.divide(&mut elements, of_elements, &mut Vec::new());
        for (idx, (a, element)) in left.iter_mut().zip(elements).enumerate() {
            let b = right.get(idx);
            let float = if b.element == 0 { None } else { Conditioned.quotient(a.float, b.float) };
            match float {
                Some(float) => *a = Self::join(element, *a, b, float),
                None => undefined.push(idx),
            }
        }
    }

    fn less(&self, a: Exact, b: Exact) -> bool {
        a.element != b.element && a.float.value < b.float.value
    }

    fn equal(&self, a: Exact, b: Exact) -> bool {
        let is_same = a.element == b.element;
        is_same || ((a.is_transcendental || b.is_transcendental) && a.float.value == b.float.value)
    }

    fn less_equal(&self, a: Exact, b: Exact) -> bool {
        self.equal(a, b) || a.float.value <= b.float.value
    }

    fn min(&self, a: Exact, b: Exact) -> Exact {
        let magnitude = a.float.magnitude.max(b.float.magnitude);
        let least = if self.less(b, a) || a.float.value.is_nan() { b } else { a };
        Exact { float: Scaled { magnitude, ..least.float }, ..least }
    }

    fn max(&self, a: Exact, b: Exact) -> Exact {
        let magnitude = a.float.magnitude.max(b.float.magnitude);
        let greatest = if self.less(a, b) || a.float.value.is_nan() { b } else { a };
        Exact { float: Scaled { magnitude, ..greatest.float }, ..greatest }
    }

    fn infinity(&self, negative: bool) -> Exact {
        let element = self.field.infinity(negative);
        Exact { element, is_transcendental: false, float: Conditioned.infinity(negative) }
    }

    fn power(&self, base: Exact, exponent: i64) -> Option<Exact> {
        let element = self.field.power(base.element, exponent)?;
        Some(Exact { element, float: Conditioned.power(base.float, exponent)?, ..base })
    }

    fn power_any(&self, base: Exact, exponent: Exact) -> Option<Exact> {
        if let Some(whole) = self.field.truncate(exponent.element) {
            return self.power(base, whole);
        }
        let element = self.field.power_any(base.element, exponent.element)?;
        let float = Conditioned.power_any(base.float, exponent.float)?;
        Some(Exact { element, is_transcendental: true, float })
    }

    fn floor_div(&self, a: Exact, b: Exact) -> Option<Exact> {
        self.whole_quotient(a, b, f64::floor)
    }

    fn modulo(&self, a: Exact, b: Exact) -> Option<Exact> {
        self.rest(a, b, f64::floor)
    }

    fn call(&self, function: &Function, result: u64, arguments: &[Exact]) -> Option<Exact> {
        let rounded = |a: &Exact, round: fn(f64) -> f64| {
            let value = round(self.snapped(*a));
            value.is_finite().then(|| self.whole(value, a.float.magnitude))
        };
        match (function.name.as_str(), arguments) {
            _ if result > 0 => {}
            ("fabs" | "abs", [a]) => return Some(self.fabs(*a)),
            ("floor", [a]) => return rounded(a, f64::floor),
            ("ceil", [a]) => return rounded(a, f64::ceil),
            ("trunc", [a]) => return rounded(a, f64::trunc),
            ("round", [a]) => return rounded(a, f64::round),
            ("rint" | "nearbyint", [a]) => return rounded(a, libm::rint),
            ("fmod", [a, b]) => return self.rest(*a, *b, f64::trunc),
            ("remainder", [a, b]) => return self.rest(*a, *b, libm::rint),
            ("fmin", [a, b]) => return Some(self.min(*a, *b)),
            ("fmax", [a, b]) => return Some(self.max(*a, *b)),
            ("fdim", [a, b]) => {
                return Some(if self.less(*b, *a) { self.sub(*a, *b) } else { self.literal(0.0) });
            }
            ("copysign", [a, b]) => return Some(self.with_sign(self.fabs(*a), b.float.value.is_sign_negative())),
            ("pow", [a, b]) => return self.power_any(*a, *b),
            ("fma", [a, b, c]) => return Some(self.add(self.mul(*a, *b), *c)),
            _ => {}
        }
        let elements: Vec<u64> = arguments.iter().map(|argument| argument.element).collect();
        let floats: Vec<Scaled> = arguments.iter().map(|argument| argument.float).collect();
        let element = self.field.call(function, result, &elements)?;
        Some(Exact { element, is_transcendental: true, float: Conditioned.call(function, result, &floats)? })
    }

    /// A number that looks random, the same in both halves.
    fn oracle(&self, hash: u64) -> Option<Exact> {
        Some(self.literal(dyadic(self.field.oracle(hash)?, 40)))
    }

    fn hash(&self, value: Exact) -> u64 {
        value.element
    }

    fn name(&self) -> &'static str {
        "exact arithmetic"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_divided_as_its_elements_are() {
        let world = Exactly::new(7);
        let values = [0.0, 0.5, -3.0, 1e300, f64::INFINITY, 2.0].map(|value| world.literal(value));
        let one_by_one: Vec<Option<Exact>> =
            values.iter().zip(values.iter().rev()).map(|(&a, &b)| world.quotient(a, b)).collect();
        let divisors: Vec<Exact> = values.iter().rev().copied().collect();
        let (mut batch, mut undefined) = (values, Vec::new());
        world.divide(&mut batch, Operand::Each(&divisors), &mut undefined);
        for (idx, expected) in one_by_one.into_iter().enumerate() {
            match expected {
                Some(expected) => assert_eq!(batch[idx], expected, "{idx}"),
                None => assert!(undefined.contains(&idx), "{idx}"),
            }
        }
        assert!(!undefined.is_empty());
        let (mut batch, mut undefined) = (values, Vec::new());
        world.divide(&mut batch, Operand::One(values[1]), &mut undefined);
        assert!(undefined.is_empty());
        assert_eq!(Some(batch[2]), world.quotient(values[2], values[1]));
        world.divide(&mut batch, Operand::One(values[0]), &mut undefined);
        assert_eq!(undefined.len(), values.len());
    }
}

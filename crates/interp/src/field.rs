//! The world of the prime field with p = 2^57 − 13 elements: no rounding, so equality is exact.
//!
//! A float literal is its exact dyadic rational. The powers of 2 are all elements but 0 (2 is a primitive root), so no two powers
//! that floats hold meet; modulo the Mersenne prime 2^61 − 1, 2 and 2^-60 are the same. Functions are random oracles: hashes of their arguments and a seed, so
//! that equal arguments give equal results and nothing else is known of them. Oracles keep the laws that rewrite
//! rules use:
//! - order: `a < b` compares hashes of the two values, a total order, with which `min`, `max`, `fmin` and `fmax` agree;
//!   whole numbers of size up to 2^31 keep their own order; the infinities, which extrema of nothing are, stand at its ends;
//! - `fabs(x)` is `x` or `−x`, by a sign drawn for the pair {x, −x}: so `fabs(−x) = fabs(x)` and `fabs(fabs(x)) = fabs(x)`;
//!   it is not negative where `x` is a small whole number;
//! - such a number is itself when it is cast to an integer; the cast of any other element has no meaning;
//! - whole powers, by `**` or `pow`, and `fma`, are exact.
//!
//! # Source
//! Schwartz (1980), Zippel (1979): two different polynomials of degree d agree at a random point with probability at most d/p.

use crate::world::{Function, Operand, World, hash_with, mix};

/// The number of elements.
pub const PRIME: u64 = (1 << BITS) - EXCESS;

/// `2^BITS` is `EXCESS` in the field, which makes reduction cheap.
const BITS: u32 = 57;
const EXCESS: u64 = 13;

/// The powers of 2 from the least float on, up to the last bit of the largest, and of what is not finite.
const LEAST_EXPONENT: i64 = -1074;
const N_POWERS: usize = 2047;
static POWERS_OF_TWO: [u64; N_POWERS] = powers_of_two();

/// Elements up to this size, of either sign, are taken for whole numbers: a random element is one with a chance of 2^-29.
const SMALL: u64 = 1 << 31;

/// The prime field, with oracles drawn by a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) seed: u64,
}

/// Reduces a number below 2^64.
#[inline(always)]
const fn reduce(value: u64) -> u64 {
    let value = (value & ((1 << BITS) - 1)) + EXCESS * (value >> BITS);
    if value >= PRIME { value - PRIME } else { value }
}

#[inline(always)]
fn add(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= PRIME { sum - PRIME } else { sum }
}

#[inline(always)]
fn negate(a: u64) -> u64 {
    if a == 0 { 0 } else { PRIME - a }
}

#[inline(always)]
pub(crate) const fn multiply(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    reduce((product as u64 & ((1 << BITS) - 1)) + EXCESS * (product >> BITS) as u64)
}

const fn raise(base: u64, exponent: u64) -> u64 {
    let (mut res, mut square, mut rest) = (1, base, exponent);
    while rest > 0 {
        if rest & 1 == 1 {
            res = multiply(res, square);
        }
        square = multiply(square, square);
        rest >>= 1;
    }
    res
}

/// `base` squared `n` times, and multiplied by another.
const fn squared(base: u64, n: u32, by: u64) -> u64 {
    let (mut res, mut rest) = (base, n);
    while rest > 0 {
        res = multiply(res, res);
        rest -= 1;
    }
    multiply(res, by)
}

/// The inverse, by Fermat; 0 of 0. The exponent p − 2 is 16·(2^53 − 1) + 1, and a power with exponent 2^(m + n) − 1 is
/// that with 2^m − 1, squared n times, and multiplied by that with 2^n − 1: 65 products instead of 112.
const fn invert(a: u64) -> u64 {
    let of_3 = squared(squared(a, 1, a), 1, a);
    let of_6 = squared(of_3, 3, of_3);
    let of_13 = squared(squared(of_6, 6, of_6), 1, a);
    let of_26 = squared(of_13, 13, of_13);
    squared(squared(squared(of_26, 26, of_26), 1, a), 4, a)
}

const fn powers_of_two() -> [u64; N_POWERS] {
    let mut res = [raise(invert(2), LEAST_EXPONENT.unsigned_abs()); N_POWERS];
    let mut idx = 1;
    while idx < res.len() {
        res[idx] = multiply(2, res[idx - 1]);
        idx += 1;
    }
    res
}

/// The whole number of size at most 2^31 that an element stands for.
fn small(a: u64) -> Option<i64> {
    match a {
        a if a <= SMALL => Some(a as i64),
        a if a >= PRIME - SMALL => Some(a as i64 - PRIME as i64),
        _ => None,
    }
}

impl Field {
    /// Where an element stands in the order of this seed. Small whole numbers keep their own order, n at the place
    /// n/(1 + |n|) between −1 and 1, so that a comparison of literals may be folded and a random element has another sign,
    /// or is less than 1, about as often as not.
    fn rank(&self, a: u64) -> (u64, u64) {
        let infinity = self.infinity(false);
        if a == infinity {
            return (u64::MAX, u64::MAX);
        }
        if a == negate(infinity) {
            return (0, 0);
        }
        let place = match small(a) {
            None => mix(a ^ mix(self.seed)),
            Some(n) => {
                let offset = (i128::from(n) << 63) / (1 + i128::from(n.unsigned_abs()));
                u64::try_from((1_i128 << 63) + offset).unwrap_or(u64::MAX)
            }
        };
        (place, small(a).map_or(a, |n| n.wrapping_add(1 << 62) as u64))
    }

    fn fabs(&self, a: u64) -> u64 {
        if let Some(n) = small(a) {
            return n.unsigned_abs();
        }
        let (small, large) = (a.min(negate(a)), a.max(negate(a)));
        if hash_with(self.seed ^ 0xab5, small) & 1 == 0 { small } else { large }
    }
}

impl World for Field {
    type Float = u64;

    const ROUNDS: bool = false;

    /// `m · 2^e` for the literal's mantissa and exponent.
    fn literal(&self, value: f64) -> u64 {
        let bits = value.to_bits();
        let biased = (bits >> 52) & 0x7ff;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) =
            if biased == 0 { (fraction, LEAST_EXPONENT) } else { (fraction | (1 << 52), biased as i64 - 1075) };
        let power = POWERS_OF_TWO[(exponent - LEAST_EXPONENT) as usize];
        let magnitude = multiply(mantissa, power);
        if value.is_sign_negative() { negate(magnitude) } else { magnitude }
    }

    #[inline(always)]
    fn integer(&self, value: i64) -> u64 {
        let magnitude = reduce(value.unsigned_abs());
        if value < 0 { negate(magnitude) } else { magnitude }
    }

    fn truncate(&self, value: u64) -> Option<i64> {
        small(value)
    }

    #[inline(always)]
    fn round_single(&self, value: u64) -> u64 {
        value
    }

    #[inline(always)]
    fn add(&self, a: u64, b: u64) -> u64 {
        add(a, b)
    }

    #[inline(always)]
    fn sub(&self, a: u64, b: u64) -> u64 {
        let difference = a.wrapping_sub(b);
        if a < b { difference.wrapping_add(PRIME) } else { difference }
    }

    #[inline(always)]
    fn mul(&self, a: u64, b: u64) -> u64 {
        multiply(a, b)
    }

    #[inline(always)]
    fn neg(&self, a: u64) -> u64 {
        negate(a)
    }

    fn quotient(&self, a: u64, b: u64) -> Option<u64> {
        (b != 0).then(|| multiply(a, invert(b)))
    }

    /// One inversion for the whole batch: products up to each element, inverted once, unwound.
    fn divide(&self, left: &mut [u64], right: Operand<'_, u64>, undefined: &mut Vec<usize>) {
        match right {
            Operand::One(0) => undefined.extend(0..left.len()),
            Operand::One(b) => {
                let inverse = invert(b);
                left.iter_mut().for_each(|a| *a = multiply(*a, inverse));
            }
            Operand::Each(right) => {
                let mut products = Vec::with_capacity(right.len());
                let mut product = 1;
                for (idx, &b) in right.iter().enumerate() {
                    products.push(product);
                    if b == 0 {
                        undefined.push(idx);
                    } else {
                        product = multiply(product, b);
                    }
                }
                let mut inverse = invert(product);
                for (idx, &b) in right.iter().enumerate().rev() {
                    if b != 0 {
                        left[idx] = multiply(left[idx], multiply(inverse, products[idx]));
                        inverse = multiply(inverse, b);
                    }
                }
            }
        }
    }

    fn less(&self, a: u64, b: u64) -> bool {
        self.rank(a) < self.rank(b)
    }

    fn equal(&self, a: u64, b: u64) -> bool {
        a == b
    }

    fn min(&self, a: u64, b: u64) -> u64 {
        if self.rank(b) < self.rank(a) { b } else { a }
    }

    fn max(&self, a: u64, b: u64) -> u64 {
        if self.rank(a) < self.rank(b) { b } else { a }
    }

    /// An element of its own, which minima and maxima of nothing give.
    fn infinity(&self, negative: bool) -> u64 {
        let infinity = hash_with(self.seed, 0x1f) % PRIME;
        if negative { negate(infinity) } else { infinity }
    }

    fn power(&self, base: u64, exponent: i64) -> Option<u64> {
        match exponent < 0 {
            true if base == 0 => None,
            true => Some(invert(raise(base, exponent.unsigned_abs()))),
            false => Some(raise(base, exponent.unsigned_abs())),
        }
    }

    /// Exponents may turn out to be whole only when they are computed.
    fn power_any(&self, base: u64, exponent: u64) -> Option<u64> {
        match small(exponent) {
            Some(exponent) => self.power(base, exponent),
            None => Some(hash_with(hash_with(self.seed ^ 0x90, base), exponent) % PRIME),
        }
    }

    fn floor_div(&self, a: u64, b: u64) -> Option<u64> {
        Some(hash_with(hash_with(self.seed ^ 0xf1, a), b) % PRIME)
    }

    /// `a − b·floor(a/b)`.
    fn modulo(&self, a: u64, b: u64) -> Option<u64> {
        Some(self.sub(a, multiply(b, self.floor_div(a, b)?)))
    }

    fn call(&self, function: &Function, result: u64, arguments: &[u64]) -> Option<u64> {
        Some(match (function.name.as_str(), arguments) {
            ("fabs" | "abs", [a]) => self.fabs(*a),
            ("fmin", [a, b]) => self.min(*a, *b),
            ("fmax", [a, b]) => self.max(*a, *b),
            ("pow", [a, b]) => return self.power_any(*a, *b),
            ("fma", [a, b, c]) => add(multiply(*a, *b), *c),
            _ => {
                let start = hash_with(self.seed ^ function.hash, result);
                arguments.iter().fold(start, |hash, &argument| hash_with(hash, argument)) % PRIME
            }
        })
    }

    fn oracle(&self, hash: u64) -> Option<u64> {
        Some(hash_with(self.seed, hash) % PRIME)
    }

    fn hash(&self, value: u64) -> u64 {
        value
    }

    fn name(&self) -> &'static str {
        "the prime field"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_are_powers() {
        for a in [0, 1, 2, 3, 12345, SMALL, SMALL + 1, PRIME / 2, PRIME - 2, PRIME - 1, mix(7) % PRIME, mix(8) % PRIME]
        {
            assert_eq!(invert(a), raise(a, PRIME - 2), "{a}");
            assert_eq!(multiply(a, invert(a)), u64::from(a != 0), "{a}");
        }
    }
}

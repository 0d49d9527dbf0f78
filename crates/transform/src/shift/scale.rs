//! Scale factors of values: a sign and powers of numbers and of scalars that no iname changes.
//!
//! Numbers are kept as powers of two and mantissas, so that a product of numbers is one number only where it is exact. Numbers and [divisors](super::divisors)
//! of the kernel are not zero; of other scalars nobody knows, so that no value may be divided by them ([`Scale::has_pole`]).

use std::collections::BTreeSet;

use indexmap::IndexSet;
use nestegg_ir::ExprId;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::{SmallVec, smallvec};

/// What a scale is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Atom {
    /// 2.
    Two,
    /// A number between 1 and 2, by its bits.
    Mantissa(u64),
    /// A scalar of the kernel that nothing writes, and that it divides by.
    Divisor(ExprId),
    /// Another one.
    Invariant(ExprId),
}

/// `±Π atom^exponent`: atoms increasing, no exponent zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Scale {
    pub(crate) is_negative: bool,
    pub(crate) factors: Factors,
}

/// Powers of atoms: mostly none, one or two.
pub(crate) type Factors = SmallVec<[(Atom, i32); 2]>;

impl Scale {
    /// 1.
    pub(crate) fn one() -> Self {
        Self::default()
    }

    /// -1.
    pub(crate) fn minus_one() -> Self {
        Self { is_negative: true, factors: Factors::new() }
    }

    /// A scalar.
    pub(crate) fn scalar(atom: Atom) -> Self {
        Self { is_negative: false, factors: smallvec![(atom, 1)] }
    }

    /// A number; `None` for zero and for what is not normal.
    pub(crate) fn number(value: f64) -> Option<Self> {
        if !value.is_normal() {
            return None;
        }
        let bits = value.to_bits();
        let exponent = i32::try_from((bits >> 52) & 0x7ff).ok()? - 1023;
        let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
        let mut factors = Factors::new();
        if exponent != 0 {
            factors.push((Atom::Two, exponent));
        }
        if mantissa > 1.0 {
            factors.push((Atom::Mantissa(mantissa.to_bits()), 1));
        }
        Some(Self { is_negative: value < 0.0, factors })
    }

    /// The product.
    pub(crate) fn times(&self, other: &Self) -> Self {
        self.times_power(other, 1)
    }

    /// The quotient.
    pub(crate) fn over(&self, other: &Self) -> Self {
        self.times_power(other, -1)
    }

    /// A power.
    pub(crate) fn power(&self, exponent: i32) -> Self {
        Self::one().times_power(self, exponent)
    }

    fn times_power(&self, other: &Self, exponent: i32) -> Self {
        let is_negative = self.is_negative ^ (other.is_negative && exponent % 2 != 0);
        // Most scales are 1.
        if self.factors.is_empty() && exponent == 1 {
            return Self { is_negative, factors: other.factors.clone() };
        }
        let mut factors = self.factors.clone();
        for &(atom, own) in &other.factors {
            let power = own.saturating_mul(exponent);
            match factors.binary_search_by_key(&atom, |factor| factor.0) {
                Ok(idx) => {
                    factors[idx].1 = factors[idx].1.saturating_add(power);
                    if factors[idx].1 == 0 {
                        factors.remove(idx);
                    }
                }
                Err(idx) if power != 0 => factors.insert(idx, (atom, power)),
                Err(_) => {}
            }
        }
        Self { is_negative, factors }
    }

    /// Without its sign.
    pub(crate) fn abs(self) -> Self {
        Self { is_negative: false, ..self }
    }

    /// Whether it is not a number.
    pub(crate) fn has_scalars(&self) -> bool {
        self.factors.iter().any(|(atom, _)| matches!(atom, Atom::Divisor(_) | Atom::Invariant(_)))
    }

    /// Whether something is divided by a scalar that may be zero.
    pub(crate) fn has_pole(&self) -> bool {
        self.factors.iter().any(|(atom, exponent)| matches!(atom, Atom::Invariant(_)) && *exponent < 0)
    }

    /// The scale with each scalar that may be zero to its least power in `all`, which have no pole without it that they do not
    /// have together.
    pub(crate) fn common(&self, all: &[&Self]) -> Self {
        let is_invariant = |factor: &&(Atom, i32)| matches!(factor.0, Atom::Invariant(_));
        let mut factors: Factors = self.factors.iter().filter(|it| !is_invariant(it)).copied().collect();
        let scalars: BTreeSet<Atom> =
            all.iter().flat_map(|scale| scale.factors.iter().filter(is_invariant)).map(|factor| factor.0).collect();
        for scalar in scalars {
            let power = |scale: &&Self| scale.factors.iter().find(|factor| factor.0 == scalar).map_or(0, |it| it.1);
            let least = all.iter().map(power).min().unwrap_or(0);
            factors.extend((least != 0).then_some((scalar, least)));
        }
        Self { is_negative: self.is_negative, factors }
    }

    /// Whether it is 1 or -1.
    pub(crate) fn is_unit(&self) -> bool {
        self.factors.is_empty()
    }

    /// Its sign as a scale.
    pub(crate) fn sign(&self) -> Self {
        if self.is_negative { Self::minus_one() } else { Self::one() }
    }

    /// The scale with the scalars alone, and the number of the rest if that is one number exactly.
    pub(crate) fn split(&self) -> (Self, Option<f64>) {
        let is_scalar = |factor: &&(Atom, i32)| matches!(factor.0, Atom::Divisor(_) | Atom::Invariant(_));
        let scalars = self.factors.iter().filter(is_scalar).copied().collect();
        let mut number = Some(1.0_f64);
        for &(atom, exponent) in self.factors.iter().filter(|factor| !is_scalar(factor)) {
            let power = match atom {
                Atom::Two => Some(2.0_f64.powi(exponent)),
                Atom::Mantissa(bits) if exponent > 0 => {
                    let mut power = Some(1.0);
                    for _ in 0..exponent {
                        power = power.and_then(|power| exact_product(power, f64::from_bits(bits)));
                    }
                    power
                }
                _ => None,
            };
            number = number.zip(power).and_then(|(a, b)| exact_product(a, b));
        }
        let number = number.map(|number| if self.is_negative { -number } else { number });
        (Self { is_negative: false, factors: scalars }, number)
    }

    /// The sum, if it is again one scale: of multiples of the same scalars whose numbers add up exactly. `Some(None)` is zero.
    pub(crate) fn plus(&self, other: &Self) -> Option<Option<Self>> {
        if self.factors == other.factors {
            return Some(if self.is_negative == other.is_negative {
                Some(self.times(&Self { is_negative: false, factors: smallvec![(Atom::Two, 1)] }))
            } else {
                None
            });
        }
        let (scalars, ratio) = other.over(self).split();
        if let Some(ratio) = ratio.filter(|_| scalars.is_unit())
            && let Some(sum) = exact_sum(1.0, ratio)
        {
            return Some(Self::number(sum).map(|sum| sum.times(self)));
        }
        let ((scalars, a), (others, b)) = (self.split(), other.split());
        let (a, b) = (a?, b?);
        if scalars != others {
            return None;
        }
        exact_sum(a, b).map(|sum| Self::number(sum).map(|sum| sum.times(&scalars)))
    }
}

/// A scale without its sign, by its number among [`Magnitudes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Magnitude(u32);

impl Magnitude {
    /// 1.
    pub(crate) const ONE: Self = Self(0);
}

/// Scales without their signs, each once, with the products and inverses that were asked for.
pub(crate) struct Magnitudes {
    known: IndexSet<Scale, FxBuildHasher>,
    /// For each whether something is divided by a scalar that may be zero.
    poles: Vec<bool>,
    products: FxHashMap<(Magnitude, Magnitude), Magnitude>,
    inverses: FxHashMap<Magnitude, Magnitude>,
}

impl Magnitudes {
    pub(crate) fn new() -> Self {
        let known = IndexSet::from_iter([Scale::one()]);
        Self { known, poles: vec![false], products: FxHashMap::default(), inverses: FxHashMap::default() }
    }

    /// The magnitude of a scale.
    pub(crate) fn of(&mut self, scale: &Scale) -> Magnitude {
        self.insert(scale.clone().abs())
    }

    /// The scale of a magnitude, which is positive.
    pub(crate) fn scale(&self, of: Magnitude) -> &Scale {
        &self.known[of.0 as usize]
    }

    /// Whether something is divided by a scalar that may be zero.
    pub(crate) fn has_pole(&self, of: Magnitude) -> bool {
        self.poles[of.0 as usize]
    }

    /// The same of a quotient.
    pub(crate) fn has_pole_over(&mut self, a: Magnitude, b: Magnitude) -> bool {
        let quotient = self.over(a, b);
        self.has_pole(quotient)
    }

    pub(crate) fn times(&mut self, a: Magnitude, b: Magnitude) -> Magnitude {
        let (a, b) = (a.min(b), a.max(b));
        if a == Magnitude::ONE {
            return b;
        }
        if let Some(&known) = self.products.get(&(a, b)) {
            return known;
        }
        let product = self.scale(a).times(self.scale(b));
        let res = self.insert(product);
        self.products.insert((a, b), res);
        res
    }

    pub(crate) fn inverse(&mut self, of: Magnitude) -> Magnitude {
        if of == Magnitude::ONE {
            return of;
        }
        if let Some(&known) = self.inverses.get(&of) {
            return known;
        }
        let inverse = self.scale(of).power(-1);
        let res = self.insert(inverse);
        self.inverses.insert(of, res);
        self.inverses.insert(res, of);
        res
    }

    pub(crate) fn over(&mut self, a: Magnitude, b: Magnitude) -> Magnitude {
        if a == b {
            return Magnitude::ONE;
        }
        let inverse = self.inverse(b);
        self.times(a, inverse)
    }

    pub(crate) fn power(&mut self, of: Magnitude, exponent: i32) -> Magnitude {
        match exponent {
            _ if of == Magnitude::ONE => of,
            1 => of,
            -1 => self.inverse(of),
            _ => {
                let power = self.scale(of).power(exponent);
                self.insert(power)
            }
        }
    }

    fn insert(&mut self, scale: Scale) -> Magnitude {
        let has_pole = scale.has_pole();
        let (idx, is_new) = self.known.insert_full(scale);
        self.poles.extend(is_new.then_some(has_pole));
        Magnitude(u32::try_from(idx).expect("there are fewer scales than expressions"))
    }
}

/// The sum of two numbers if it is a number or zero.
fn exact_sum(a: f64, b: f64) -> Option<f64> {
    let sum = a + b;
    // The error of a sum, by Knuth.
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    (error == 0.0 && (sum == 0.0 || sum.is_normal())).then_some(sum)
}

/// The product of two numbers if it is a number.
pub(crate) fn exact_product(a: f64, b: f64) -> Option<f64> {
    let product = a * b;
    (product.is_normal() && a.mul_add(b, -product) == 0.0).then_some(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_zero_is_no_common_factor_of_some() {
        let [u, h] = [Atom::Invariant, Atom::Divisor].map(|of| Scale::scalar(of(ExprId::new(1))));
        let one = Scale::one();
        assert_eq!(u.common(&[&u, &one]), one);
        assert_eq!(u.common(&[&u, &u.times(&u)]), u);
        assert_eq!(h.common(&[&h, &one]), h);
        assert_eq!(one.common(&[&u.power(-1), &u]), u.power(-1));
        assert!(one.over(&u).has_pole() && !one.over(&h).has_pole() && !u.has_pole());
    }

    #[test]
    fn numbers_multiply_where_that_is_exact() {
        let half = Scale::number(0.5).unwrap();
        assert_eq!(half.times(&half), Scale::number(0.25).unwrap());
        let tenth = Scale::number(0.1).unwrap();
        assert_eq!(tenth.times(&half).split().1, Some(0.05));
        assert_eq!(tenth.times(&tenth).split().1, None);
        assert!(tenth.over(&tenth).is_unit());
        assert_eq!(tenth.plus(&tenth), Some(Scale::number(0.2)));
        assert_eq!(tenth.plus(&tenth.times(&Scale::minus_one())), Some(None));
    }
}

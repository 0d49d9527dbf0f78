//! Data of a sample: what arrays and unknown functions hold, as functions of where one looks.
//!
//! # Method
//! An element is drawn by a hash of the sample's seed, the array, the state of its memory and the index, so arrays of any size cost
//! nothing. Each sample has a profile: numbers of any sign, positive ones, fractions, zeros and ties, many magnitudes, and a palette
//! of the constants that expressions decide on, next to them, and beyond them on both sides.

use std::collections::BTreeSet;

use crate::rational::Rational;

/// How many constants a palette holds; more are left out.
const MAX_CONSTANTS: usize = 64;

/// What floats are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Profile {
    /// Of both signs, of the size of 1.
    Plain,
    /// Above 0, of the size of 1.
    Positive,
    /// Between -1 and 1.
    Fractions,
    /// Small whole numbers: zeros and ties.
    Ties,
    /// Of both signs, of the size of 1, the same in arrays that expressions compare.
    Tied,
    /// Of both signs and many magnitudes.
    Wide,
    /// Above 0, of many magnitudes.
    WidePositive,
    /// Of both signs and all magnitudes.
    Huge,
    /// What expressions decide on.
    Palette,
    /// Each number from another of these.
    Mixed,
}

/// The profiles of samples, in their order.
pub(super) const PROFILES: [Profile; 14] = [
    Profile::Plain,
    Profile::Positive,
    Profile::Palette,
    Profile::Ties,
    Profile::Wide,
    Profile::Palette,
    Profile::Fractions,
    Profile::Mixed,
    Profile::Palette,
    Profile::WidePositive,
    Profile::Huge,
    Profile::Palette,
    Profile::Tied,
    Profile::Ties,
];

/// Constants that expressions decide on.
#[derive(Clone, Debug, Default)]
pub(super) struct Palette {
    constants: BTreeSet<Rational>,
    floats: Vec<Rational>,
    integers: Vec<i64>,
}

impl Palette {
    /// Takes a constant in; answers whether the palette is another one now.
    pub(super) fn insert(&mut self, constant: &Rational) -> bool {
        if self.constants.len() >= MAX_CONSTANTS || constant.is_zero() || !self.constants.insert(constant.clone()) {
            return false;
        }
        let times = |factor: f64| constant.times(&Rational::from_f64(factor).unwrap_or(Rational::ONE));
        let plus = |term: i64| constant.plus(&Rational::from_int(term));
        let near = 2.0_f64.powi(-20);
        let beside =
            [times(1.0 - near), times(1.0 + near), plus(-1), plus(1), times(2.0), times(0.5), times(-1.0), times(-2.0)];
        // The constant itself is where most goes wrong.
        self.floats.extend([constant.clone(), constant.clone(), constant.clone()]);
        self.floats.extend(beside);
        if let Some(whole) = constant.to_int().filter(|whole| i32::try_from(*whole).is_ok()) {
            self.integers.extend([whole - 1, whole, whole, whole + 1, 2 * whole, -whole]);
        }
        true
    }

    /// Whole numbers beside its constants.
    pub(super) fn integers(&self) -> &[i64] {
        &self.integers
    }
}

/// The data of one sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub(super) seed: u64,
    pub(super) profile: Profile,
}

impl Data {
    /// The hash of what tells one number from others.
    pub(super) fn key(&self, parts: impl IntoIterator<Item = i64>) -> u64 {
        parts.into_iter().fold(mixed(self.seed), |hash, part| mixed(hash ^ part.cast_unsigned()))
    }

    /// A float.
    pub(super) fn float(&self, key: u64, palette: &Palette) -> Rational {
        let fresh = mixed(key ^ 0x5eed);
        let profile = match self.profile {
            Profile::Mixed => PROFILES[below(fresh, PROFILES.len())],
            profile => profile,
        };
        // Never 0, twenty bits.
        let plain = i64::try_from(mixed(key) >> 44).unwrap_or(0) * 2 - (1 << 20) + 1;
        let scaled = |numer: i64, exponent: i32| {
            Rational::from_int(2).power(exponent).map_or(Rational::ONE, |power| power.times(&Rational::from_int(numer)))
        };
        match profile {
            Profile::Plain | Profile::Tied | Profile::Mixed => scaled(plain, -19),
            Profile::Positive => scaled(plain.abs(), -18),
            Profile::Fractions => scaled(plain, -20),
            Profile::Ties => scaled([-1, 0, 1, 2][below(fresh, 4)], 0),
            Profile::Wide => scaled(plain, -32 + span(fresh, 24)),
            Profile::WidePositive => scaled(plain.abs(), -32 + span(fresh, 24)),
            Profile::Huge => scaled(plain, -50 + span(fresh, 120)),
            Profile::Palette => match palette.floats.as_slice() {
                [] => scaled(plain, -36 + span(fresh, 40)),
                floats => floats[below(fresh, floats.len())].clone(),
            },
        }
    }

    /// An integer. Those of some profiles are small and not negative, as indices are.
    pub(super) fn integer(&self, key: u64, palette: &Palette) -> i64 {
        const PLAIN: [i64; 12] = [-7, -3, -2, -1, 0, 1, 2, 3, 5, 8, 13, 100];
        let fresh = mixed(key ^ 0x1e6);
        match self.profile {
            Profile::Plain | Profile::Positive | Profile::Ties | Profile::WidePositive => {
                i64::try_from(below(fresh, 3)).unwrap_or(0)
            }
            _ if !palette.integers.is_empty() => palette.integers[below(fresh, palette.integers.len())],
            Profile::Huge => plain_integer(fresh),
            _ => PLAIN[below(fresh, PLAIN.len())],
        }
    }

    /// A truth value.
    pub(super) fn truth(&self, key: u64) -> bool {
        mixed(key ^ 0xb001) & 1 == 1
    }
}

/// Twenty bits with a sign.
fn plain_integer(hash: u64) -> i64 {
    i64::try_from(hash >> 43).unwrap_or(0) - (1 << 20)
}

fn below(hash: u64, n: usize) -> usize {
    usize::try_from(hash % n.max(1) as u64).unwrap_or(0)
}

fn span(hash: u64, n: u32) -> i32 {
    i32::try_from((hash >> 8) % u64::from(n)).unwrap_or(0)
}

/// A bijection of 64 bits without visible order: the finaliser of `SplitMix64`.
pub(super) fn mixed(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn palettes_reach_both_sides_of_a_constant() {
        let mut palette = Palette::default();
        let limit = Rational::from_int(100_000);
        assert!(palette.insert(&limit));
        assert!(!palette.insert(&limit));
        let data = Data { seed: 1, profile: Profile::Palette };
        let floats: Vec<Rational> = (0..100).map(|idx| data.float(data.key([idx]), &palette)).collect();
        assert!(floats.iter().any(|x| *x > limit) && floats.iter().any(|x| *x < limit) && floats.contains(&limit));
        let integers: Vec<i64> = (0..100).map(|idx| data.integer(data.key([idx]), &palette)).collect();
        assert!(integers.contains(&100_001) && integers.contains(&99_999));
    }

    #[test]
    fn profiles_keep_to_their_signs() {
        let palette = Palette::default();
        for profile in [Profile::Positive, Profile::WidePositive] {
            let data = Data { seed: 7, profile };
            assert!((0..1000).all(|idx| data.float(data.key([idx]), &palette) > Rational::ZERO));
        }
        let data = Data { seed: 7, profile: Profile::Fractions };
        assert!((0..1000).all(|idx| data.float(data.key([idx]), &palette).abs() < Rational::ONE));
    }
}

//! Where decisions come from: a seed, or bytes of a fuzzer or a property test.
//!
//! A source answers questions "a number below n". Zero is the simplest answer everywhere, and a source of bytes that has
//! run out answers zero: fewer and smaller bytes are smaller kernels, which is what shrinking needs.

/// A source of decisions.
pub trait Choices {
    /// A number below `n`; 0 if `n` is 0. Smaller numbers are simpler decisions.
    fn below(&mut self, n: u64) -> u64;
}

/// Decisions of a pseudo-random generator: the same for the same seed, on every machine.
///
/// Source of the generator: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Clone, Debug)]
pub struct Seeded {
    state: u64,
}

impl Seeded {
    /// The decisions of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }
}

impl Choices for Seeded {
    fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        // The high part of the product is uniform up to n / 2^64.
        ((u128::from(z) * u128::from(n)) >> 64) as u64
    }
}

/// Decisions read from bytes; zero when they are used up.
#[derive(Clone, Debug)]
pub struct FromBytes<'a> {
    bytes: &'a [u8],
}

impl<'a> FromBytes<'a> {
    /// The decisions that these bytes hold.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }
}

impl Choices for FromBytes<'_> {
    /// As many bytes as `n - 1` has are one decision.
    fn below(&mut self, n: u64) -> u64 {
        if n <= 1 {
            return 0;
        }
        let mut left = n - 1;
        let mut value = 0_u64;
        while left > 0 {
            let Some((&byte, rest)) = self.bytes.split_first() else { break };
            self.bytes = rest;
            value = (value << 8) | u64::from(byte);
            left >>= 8;
        }
        value % n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_below_their_bound_and_repeat() {
        let mut first = Seeded::new(7);
        let mut second = Seeded::new(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            let value = first.below(5);
            assert_eq!(value, second.below(5));
            seen[value as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(first.below(0), 0);
        assert_eq!(first.below(1), 0);
    }

    #[test]
    fn bytes_run_out_to_zero() {
        let mut choices = FromBytes::new(&[200, 1, 2, 7]);
        assert_eq!(choices.below(256), 200);
        assert_eq!(choices.below(1), 0);
        assert_eq!(choices.below(1000), 258);
        assert_eq!(choices.below(5), 2);
        assert_eq!(choices.below(5), 0);
        assert_eq!(choices.below(u64::MAX), 0);
    }
}

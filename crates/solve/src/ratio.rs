//! Numbers that rounding alone tells apart: one key for each ratio and each value.
//!
//! A ratio of two table entries carries the rounding of both. Its key keeps [`KEPT_BITS`] bits of the mantissa, rounded to
//! nearest, so two ratios of one key differ by less than 2⁻⁴¹ of their size, about 4.5e-13. Equal ratios that fall on
//! different sides of a border keep different keys: a chance missed, never an error.

/// Bits of the mantissa that tell values apart.
pub const KEPT_BITS: u32 = 41;

/// The key of a finite number, with its sign.
pub fn key(value: f64) -> u64 {
    rounded(value, KEPT_BITS)
}

fn rounded(value: f64, kept_bits: u32) -> u64 {
    let dropped = f64::MANTISSA_DIGITS - 1 - kept_bits;
    (value.to_bits() + (1 << (dropped - 1))) >> dropped
}

/// Bits of the mantissa of a [coarse key](coarse_key).
pub const COARSE_BITS: u32 = 38;

/// A key for ratios of table entries that scatter, of 2⁻³⁸ of their size. What has one key must still be compared.
pub fn coarse_key(value: f64) -> u64 {
    rounded(value, COARSE_BITS)
}

/// The key of a finite number without its sign.
pub fn magnitude_key(value: f64) -> u64 {
    key(value.abs())
}

/// Whether a number is 1 or −1 but for rounding.
pub fn is_unit(value: f64) -> bool {
    magnitude_key(value) == key(1.0)
}

/// The number, or 1 or −1 where only rounding tells it apart from them.
pub fn clean_unit(value: f64) -> f64 {
    if is_unit(value) { 1f64.copysign(value) } else { value }
}

#[cfg(test)]
mod tests {
    use super::{clean_unit, is_unit, key, magnitude_key};

    #[test]
    fn rounding_does_not_change_a_key() {
        assert_eq!(key(0.1 / 0.3), key(1.0 / 3.0));
        assert_eq!(key(0.1 + 0.2), key(0.3));
        assert_ne!(key(1.0), key(1.0 + 1e-12));
        assert_ne!(key(1.0), key(-1.0));
        assert_eq!(magnitude_key(-2.5), magnitude_key(2.5));
    }

    #[test]
    fn units_are_cleaned() {
        assert!(is_unit(-(0.1 + 0.2) / 0.3));
        assert_eq!(clean_unit((0.1 + 0.2) / 0.3), 1.0);
        assert_eq!(clean_unit(0.5), 0.5);
    }
}

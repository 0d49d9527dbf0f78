//! Rounding to whole numbers. What cannot be told from a whole number is that number.

use astro_float::{BigFloat, RoundingMode, Sign};

use crate::real::value::{AGREEMENT, PRECISION, ROUNDING, RealValue, log2_size};

/// The greatest whole number that is not greater; `None` if the value is too inexact to have one.
pub(super) fn floor(a: &RealValue) -> Option<RealValue> {
    if !a.is_defined() || a.magnitude > AGREEMENT - 2.0 {
        return None;
    }
    let nearest = a.value.round(0, RoundingMode::ToEven);
    let distance = log2_size(&a.value.sub(&nearest, PRECISION, ROUNDING));
    let whole = if distance <= a.log2_tolerance() { nearest } else { a.value.floor() };
    Some(RealValue::leaf(whole))
}

pub(super) fn ceil(a: &RealValue) -> Option<RealValue> {
    Some(negate(floor(&negate(a.clone()))?))
}

/// Towards zero.
pub(super) fn trunc(a: &RealValue) -> Option<RealValue> {
    if is_negative(a) { ceil(a) } else { floor(a) }
}

/// To the nearest; from the middle between two away from zero.
pub(super) fn round(a: &RealValue) -> Option<RealValue> {
    if is_negative(a) { Some(negate(floor(&plus_half(&negate(a.clone())))?)) } else { floor(&plus_half(a)) }
}

/// To the nearest; from the middle between two to the even one.
pub(super) fn round_to_even(a: &RealValue) -> Option<RealValue> {
    let above = plus_half(a);
    let res = floor(&above)?;
    let is_tie = above.compare(&res) == Some(std::cmp::Ordering::Equal);
    let half = res.value.div(&BigFloat::from_u8(2, PRECISION), PRECISION, ROUNDING);
    let is_odd = !half.is_zero() && !half.is_int();
    let one = BigFloat::from_u8(1, PRECISION);
    Some(if is_tie && is_odd { RealValue::leaf(res.value.sub(&one, PRECISION, ROUNDING)) } else { res })
}

/// A whole number as an integer, if it fits.
pub(super) fn to_integer(whole: &RealValue) -> Option<i64> {
    let (words, _, sign, exponent, _) = whole.value.as_raw_parts()?;
    if whole.value.is_zero() {
        return Some(0);
    }
    let shift = 64_u32.checked_sub(u32::try_from(exponent).ok()?)?;
    let size = i128::from(words.last()?.checked_shr(shift).unwrap_or(0));
    i64::try_from(if sign == Sign::Neg { -size } else { size }).ok()
}

fn negate(a: RealValue) -> RealValue {
    RealValue::exactly(a.value.neg(), a.magnitude)
}

fn is_negative(a: &RealValue) -> bool {
    a.value.is_negative()
}

fn plus_half(a: &RealValue) -> RealValue {
    let half = BigFloat::from_f64(0.5, PRECISION);
    RealValue::exactly(a.value.add(&half, PRECISION, ROUNDING), a.magnitude.max(0.0))
}

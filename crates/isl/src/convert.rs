//! Between isl's values and affine expressions and plain data.

use std::ffi::{CString, c_int, c_long, c_uint};

use num_bigint::BigInt;

use crate::affine::{Affine, Floor};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::ffi;
use crate::handle::Handle;

pub(crate) const CONSTANT: c_int = 0;
pub(crate) const PARAM: c_int = 1;
pub(crate) const IN: c_int = 2;
pub(crate) const SET: c_int = 3;
pub(crate) const DIV: c_int = 4;

/// Converts a position: isl takes signed and unsigned ones.
pub(crate) fn int(n: usize) -> Result<c_int> {
    c_int::try_from(n).map_err(|_| Error::Overflow(n.to_string()))
}

/// Converts a position: isl takes signed and unsigned ones.
pub(crate) fn uint(n: usize) -> Result<c_uint> {
    c_uint::try_from(n).map_err(|_| Error::Overflow(n.to_string()))
}

/// An integer value of isl; `None` for infinity, NaN and fractions.
pub(crate) fn integer(value: &Handle<ffi::isl_val>) -> Result<Option<BigInt>> {
    let context = value.context();
    if !ffi::val_is_int(context, value)? {
        return Ok(None);
    }
    Ok(ffi::val_to_str(context, value)?.parse().ok())
}

/// An integer of 64 bits; an error where it does not fit or is none.
pub(crate) fn integer64(value: &Handle<ffi::isl_val>) -> Result<i64> {
    let overflow =
        || Error::Overflow(value.context().unlimited(|| ffi::val_to_str(value.context(), value)).unwrap_or_default());
    let big = integer(value)?.ok_or_else(overflow)?;
    i64::try_from(&big).map_err(|_| overflow())
}

/// An isl value.
pub(crate) fn value(context: &Context, n: i64) -> Result<Handle<ffi::isl_val>> {
    match c_long::try_from(n) {
        Ok(n) => ffi::val_int_from_si(context, context, n),
        Err(_) => {
            let text = CString::new(n.to_string()).map_err(|_| Error::Overflow(n.to_string()))?;
            ffi::val_read_from_str(context, context, &text)
        }
    }
}

/// An expression of isl times its denominator, and the denominator.
///
/// Names of dimensions inside the domain are taken from the expression, so each used dimension must have one.
pub(crate) fn affine_from(aff: &Handle<ffi::isl_aff>) -> Result<(Affine, i64)> {
    let context = aff.context();
    let denominator = ffi::aff_get_denominator_val(context, aff)?;
    let scaled = ffi::aff_scale_val(context, aff, &denominator)?;
    let denominator = integer64(&denominator)?;
    let mut result = Affine::constant(integer64(&ffi::aff_get_constant_val(context, &scaled)?)?);
    for kind in [PARAM, IN] {
        for at in 0..ffi::aff_dim(context, &scaled, kind)? {
            let coefficient = integer64(&ffi::aff_get_coefficient_val(context, &scaled, kind, int(at)?)?)?;
            if coefficient != 0 {
                let name = ffi::aff_get_dim_name(context, &scaled, kind, uint(at)?)?.ok_or(Error::UnnamedDim(at))?;
                result.terms.push((name, coefficient));
            }
        }
    }
    let mut result = Affine::new(result.constant, result.terms)?;
    for at in 0..ffi::aff_dim(context, &scaled, DIV)? {
        let coefficient = integer64(&ffi::aff_get_coefficient_val(context, &scaled, DIV, int(at)?)?)?;
        if coefficient != 0 {
            let (numerator, denominator) = affine_from(&ffi::aff_get_div(context, &scaled, int(at)?)?)?;
            let floor = match denominator {
                1 => numerator,
                _ => Affine {
                    floors: vec![(Floor { numerator: Box::new(numerator), denominator }, 1)],
                    ..Affine::default()
                },
            };
            result = result.add(&floor.scale(coefficient)?)?;
        }
    }
    Ok((result, denominator))
}

/// An expression on the space of `domain`, whose dimensions are `params` and `dims` in order.
pub(crate) fn affine_to(
    domain: &Handle<ffi::isl_local_space>,
    params: &[String],
    dims: &[String],
    affine: &Affine,
) -> Result<Handle<ffi::isl_aff>> {
    let context = domain.context();
    let mut aff = ffi::aff_zero_on_domain(context, domain)?;
    aff = ffi::aff_set_constant_val(context, &aff, &value(context, affine.constant)?)?;
    for (name, coefficient) in &affine.terms {
        let coefficient = value(context, *coefficient)?;
        let (kind, at) = match (dims.iter().position(|n| n == name), params.iter().position(|n| n == name)) {
            (Some(at), _) => (IN, at),
            (None, Some(at)) => (PARAM, at),
            (None, None) => return Err(Error::UnknownDim(name.clone())),
        };
        aff = ffi::aff_set_coefficient_val(context, &aff, kind, int(at)?, &coefficient)?;
    }
    for (floor, coefficient) in &affine.floors {
        let numerator = affine_to(domain, params, dims, &floor.numerator)?;
        let quotient = ffi::aff_scale_down_val(context, &numerator, &value(context, floor.denominator)?)?;
        let floor = ffi::aff_floor(context, &quotient)?;
        let term = ffi::aff_scale_val(context, &floor, &value(context, *coefficient)?)?;
        aff = ffi::aff_add(context, &aff, &term)?;
    }
    Ok(aff)
}

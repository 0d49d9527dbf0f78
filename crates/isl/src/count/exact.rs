//! The exact interval of each variable of a system, from isl's integer programming.

use crate::context::Context;
use crate::convert::{CONSTANT, DIV, PARAM, SET, int, integer, uint, value};
use crate::count::system::{Intervals, Row, System};
use crate::error::{Error, Result};
use crate::ffi;
use crate::handle::Handle;

/// The least and greatest integer value of each live variable; `None` if the system has no solution.
pub(super) fn intervals(context: &Context, system: &System) -> Result<Option<Intervals>> {
    let live: Vec<usize> = system.live().collect();
    let space = ffi::space_set_alloc(context, context, 0, uint(live.len())?)?;
    let equalities = matrix(context, &system.equalities, &live)?;
    let inequalities = matrix(context, &system.inequalities, &live)?;
    let piece = ffi::basic_set_from_constraint_matrices(
        context,
        &space,
        &equalities,
        &inequalities,
        SET,
        DIV,
        PARAM,
        CONSTANT,
    )?;
    let set = ffi::set_from_basic_set(context, &piece)?;
    if ffi::set_is_empty(context, &set)? {
        return Ok(None);
    }
    let mut intervals: Intervals = vec![(None, None); system.n()];
    for (at, var) in live.iter().enumerate() {
        let least = integer(&ffi::set_dim_min_val(context, &set, int(at)?)?)?;
        let greatest = integer(&ffi::set_dim_max_val(context, &set, int(at)?)?)?;
        intervals[*var] = (least.and_then(|n| i128::try_from(n).ok()), greatest.and_then(|n| i128::try_from(n).ok()));
    }
    Ok(Some(intervals))
}

/// The coefficients of live variables and the constants.
fn matrix(context: &Context, rows: &[Row], live: &[usize]) -> Result<Handle<ffi::isl_mat>> {
    let mut matrix = ffi::mat_alloc(context, context, uint(rows.len())?, uint(live.len() + 1)?)?;
    for (at, row) in rows.iter().enumerate() {
        for (column, number) in live.iter().map(|var| row.coefficients[*var]).chain([row.constant]).enumerate() {
            let number = i64::try_from(number).map_err(|_| Error::Overflow(number.to_string()))?;
            let number = value(context, number)?;
            matrix = ffi::mat_set_element_val(context, matrix, int(at)?, int(column)?, &number)?;
        }
    }
    Ok(matrix)
}

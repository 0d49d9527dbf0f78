//! Enumerating the points of a set, by the one function of isl that calls back.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::ffi::{isl_point, isl_set};
use crate::handle::Handle;

unsafe extern "C" {
    fn isl_set_foreach_point(
        set: *mut isl_set,
        call: unsafe extern "C" fn(*mut isl_point, *mut c_void) -> c_int,
        user: *mut c_void,
    ) -> c_int;
}

struct Collected {
    context: Context,
    points: Vec<Handle<isl_point>>,
    limit: usize,
    exceeded: bool,
}

/// The points of a bounded set, in isl's order; an error beyond `limit`.
pub(crate) fn points(set: &Handle<isl_set>, limit: usize) -> Result<Vec<Handle<isl_point>>> {
    let context = set.context().clone();
    context.begin();
    let mut collected = Collected { context, points: Vec::new(), limit, exceeded: false };
    // SAFETY: the set is live and kept; `collect` gets back the pointer to `collected`, which nothing else uses meanwhile.
    let status = unsafe { isl_set_foreach_point(set.raw(), collect, (&raw mut collected).cast::<c_void>()) };
    if collected.exceeded {
        collected.context.begin();
        return Err(Error::LimitExceeded(format!("more than {limit} points")));
    }
    if status < 0 { Err(collected.context.last_error()) } else { Ok(collected.points) }
}

/// Keeps a point; stops the enumeration with `isl_stat_error` beyond the limit.
unsafe extern "C" fn collect(point: *mut isl_point, user: *mut c_void) -> c_int {
    // SAFETY: `user` is the pointer that `points` passed; `point` is given to us.
    let (collected, point) = unsafe {
        let collected = &mut *user.cast::<Collected>();
        let point = Handle::from_raw(&collected.context, point);
        (collected, point)
    };
    match point {
        Ok(point) if collected.points.len() < collected.limit => {
            collected.points.push(point);
            0
        }
        Ok(_) => {
            collected.exceeded = true;
            -1
        }
        Err(_) => -1,
    }
}

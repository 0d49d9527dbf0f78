//! Sets that were read or made, by what they were made of: passes ask the same of the same domains again and again, and isl is slow.
//!
//! # Invariants
//! A template is used for nothing but copies that share nothing with it: isl changes shared sets in place where that keeps their meaning, and what it
//! writes of them might then depend on what was done before. A set is made anew under another limit, so that a limit strikes where it would have.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem::take;
use std::ptr::NonNull;

use crate::context::Context;
use crate::error::Error;
use crate::ffi::{isl_map, isl_set};
use crate::handle::{Handle, Object};

/// So many sets are kept; then all are forgotten.
const MAX_TEMPLATES: usize = 1_000;

#[repr(C)]
struct isl_basic_map {
    _private: [u8; 0],
}

unsafe extern "C" {
    fn isl_basic_map_dup(basic: *mut isl_basic_map) -> *mut isl_basic_map;
    fn isl_basic_map_free(basic: *mut isl_basic_map) -> *mut isl_basic_map;
    fn isl_map_dup(map: *mut isl_map) -> *mut isl_map;
    fn isl_map_inline_foreach_basic_map(
        map: *mut isl_map,
        f: extern "C" fn(*mut isl_basic_map) -> *mut isl_basic_map,
    ) -> *mut isl_map;
}

/// A copy of the set of a name; it is made if none was under this limit.
pub(crate) fn copy_or_make<E: From<Error>>(
    context: &Context,
    templates: &RefCell<Templates>,
    name: &str,
    make: impl FnOnce() -> Result<Handle<isl_set>, E>,
) -> Result<Handle<isl_set>, E> {
    let limit = context.max_operations();
    let known = context.unlimited(|| templates.borrow().copy(limit, name));
    let copied = match known {
        Some(copied) => copied,
        None => {
            let made = make()?.into_ptr();
            context.unlimited(|| templates.borrow_mut().keep(limit, name, made))
        }
    };
    // SAFETY: the copy is null or owned by us and of this context.
    Ok(unsafe { Handle::from_raw(context, copied) }?)
}

/// The sets that were read or made in one context of isl.
#[derive(Debug, Default)]
pub(crate) struct Templates(BTreeMap<(Option<u64>, Box<str>), NonNull<isl_set>>);

impl Templates {
    /// A copy of the set of a name, if it was kept under this limit; null where there is no memory.
    fn copy(&self, limit: Option<u64>, name: &str) -> Option<*mut isl_set> {
        let template = self.0.get(&(limit, name.into()))?;
        // SAFETY: the template is live.
        Some(unsafe { deep_copy(template.as_ptr()) })
    }

    /// Keeps a set, and answers with a copy; null where there is no memory.
    fn keep(&mut self, limit: Option<u64>, name: &str, set: NonNull<isl_set>) -> *mut isl_set {
        if self.0.len() >= MAX_TEMPLATES {
            self.clear();
        }
        if let Some(old) = self.0.insert((limit, name.into()), set) {
            // SAFETY: the reference is ours.
            unsafe { isl_set::free(old.as_ptr()) };
        }
        // SAFETY: the set is live.
        unsafe { deep_copy(set.as_ptr()) }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        for set in take(&mut self.0).into_values() {
            // SAFETY: the reference is ours.
            unsafe { isl_set::free(set.as_ptr()) };
        }
    }
}

/// A set with the same constraints, in memory of its own; null on failure.
///
/// # Safety
/// The set is live.
unsafe fn deep_copy(set: *mut isl_set) -> *mut isl_set {
    extern "C" fn own(basic: *mut isl_basic_map) -> *mut isl_basic_map {
        // SAFETY: isl gives a reference to a live object, and takes the result.
        unsafe {
            let res = isl_basic_map_dup(basic);
            isl_basic_map_free(basic);
            res
        }
    }
    // SAFETY: to isl a set is a map without a domain (isl's set_to_map.c); what isl_map_dup gives belongs to nobody else, so that it can be
    // changed in place.
    unsafe { isl_map_inline_foreach_basic_map(isl_map_dup(set.cast()), own).cast() }
}

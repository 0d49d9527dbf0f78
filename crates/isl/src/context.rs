//! The library handle: every isl object belongs to one.
//!
//! # Ownership
//! A [`Context`] is a counted reference; every object holds one, so isl's context is freed after the last
//! object. isl is not thread-safe within a context: `Context` is neither `Send` nor `Sync`, and threads make their own.
//! # Limits
//! Each call of isl starts counting operations (allocations and pivots) at zero and fails with
//! [`Error::LimitExceeded`] beyond [`Context::set_max_operations`]. The count bounds one call, not the sum of all.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_ulong};
use std::ptr::NonNull;
use std::rc::Rc;

use crate::error::Error;
use crate::ffi;

/// isl's `ISL_ON_ERROR_CONTINUE`.
const ON_ERROR_CONTINUE: i32 = 1;

/// A handle of the isl library; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context(Rc<Inner>);

#[derive(Debug, PartialEq, Eq)]
struct Inner(NonNull<ffi::isl_ctx>);

impl Context {
    /// A new context, without a limit on operations.
    ///
    /// # Panics
    /// When the machine has no memory left for a few hundred bytes.
    pub fn new() -> Context {
        // SAFETY: isl_ctx_alloc has no preconditions; the options belong to the new context.
        let ptr = unsafe { ffi::isl_ctx_alloc() };
        let ptr = NonNull::new(ptr).expect("isl allocates a context unless memory is exhausted");
        // SAFETY: `ptr` is a live context.
        unsafe { ffi::isl_options_set_on_error(ptr.as_ptr(), ON_ERROR_CONTINUE) };
        Context(Rc::new(Inner(ptr)))
    }

    /// Bounds the operations of each later call; `None` takes the bound away.
    pub fn set_max_operations(&self, limit: Option<u64>) {
        let limit = limit.map_or(0, |n| c_ulong::try_from(n.max(1)).unwrap_or(c_ulong::MAX));
        // SAFETY: the context is live; zero means no limit.
        unsafe { ffi::isl_ctx_set_max_operations(self.raw(), limit) };
    }

    /// The bound set by [`Context::set_max_operations`].
    #[allow(clippy::useless_conversion, reason = "c_ulong has 32 bits on some platforms")]
    pub fn max_operations(&self) -> Option<u64> {
        // SAFETY: the context is live.
        let limit = unsafe { ffi::isl_ctx_get_max_operations(self.raw()) };
        (limit != 0).then_some(u64::from(limit))
    }

    /// Runs `f` without a limit on operations: printing must not fail.
    pub(crate) fn unlimited<T>(&self, f: impl FnOnce() -> T) -> T {
        let limit = self.max_operations();
        self.set_max_operations(None);
        let result = f();
        self.set_max_operations(limit);
        result
    }

    pub(crate) fn raw(&self) -> *mut ffi::isl_ctx {
        self.0.0.as_ptr()
    }

    /// Forgets the last error and starts counting operations anew.
    pub(crate) fn begin(&self) {
        // SAFETY: the context is live.
        unsafe {
            ffi::isl_ctx_reset_error(self.raw());
            ffi::isl_ctx_reset_operations(self.raw());
        }
    }

    /// The error that the last call left behind.
    pub(crate) fn last_error(&self) -> Error {
        // SAFETY: the context is live; the message is null or a string constant of isl.
        let (kind, message) = unsafe {
            let message = ffi::isl_ctx_last_error_msg(self.raw());
            let message = (!message.is_null()).then(|| CStr::from_ptr(message).to_string_lossy().into_owned());
            (ffi::isl_ctx_last_error(self.raw()), message)
        };
        self.begin();
        let message = message.unwrap_or_else(|| "no result, and no reason given".to_string());
        match kind {
            2 => Error::OutOfMemory,
            6 => Error::LimitExceeded(message),
            _ if message == "unbounded optimum" => Error::Unbounded,
            _ => Error::Isl(message),
        }
    }

    /// How many references isl objects hold to this context: zero when no object lives.
    #[cfg(test)]
    pub(crate) fn references(&self) -> i32 {
        // SAFETY: `ref` is the first field of `struct isl_ctx` in the pinned version of isl (isl_ctx_private.h).
        unsafe { self.raw().cast::<i32>().read() }
    }
}

impl Default for Context {
    fn default() -> Context {
        Context::new()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: every handle holds a `Context`, so no object refers to this context any more.
        unsafe { ffi::isl_ctx_free(self.0.as_ptr()) };
    }
}

//! Owned references to isl objects, and how values pass to and from isl's functions.
//!
//! # Invariants
//! A [`Handle`] owns exactly one reference of a live object and a [`Context`] that outlives it.
//! isl's annotations are types here: an argument that isl *takes* is [`Take`] (it is given a new reference), one that it *keeps* is [`Keep`].
//! Results are lifted: null, `isl_bool_error` and `isl_size_error` become [`Error`].
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::ffi;

/// A kind of isl object.
///
/// # Safety
/// `copy` and `free` must be isl's functions for this type.
pub(crate) unsafe trait Object: Sized {
    /// A new reference to the same object.
    unsafe fn copy(ptr: *mut Self) -> *mut Self;
    /// Gives a reference up.
    unsafe fn free(ptr: *mut Self);
}

/// One owned reference to an isl object.
pub(crate) struct Handle<T: Object> {
    ptr: NonNull<T>,
    context: Context,
}

impl<T: Object> Handle<T> {
    /// The context of the object.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// The object, for a call that keeps it.
    pub(crate) fn raw(&self) -> *mut T {
        self.ptr.as_ptr()
    }

    /// Gives the reference up without freeing it; the reference to the context goes.
    fn into_raw(self) -> *mut T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so that its context is dropped once, here.
        unsafe { std::ptr::drop_in_place(&raw mut this.context) };
        this.raw()
    }

    /// Gives the reference up to somebody who frees it while the context lives.
    pub(crate) fn into_ptr(self) -> NonNull<T> {
        let ptr = self.ptr;
        self.into_raw();
        ptr
    }

    /// Takes over a reference that isl gave.
    ///
    /// # Safety
    /// `ptr` is null or an owned reference to an object of `context`.
    pub(crate) unsafe fn from_raw(context: &Context, ptr: *mut T) -> Result<Handle<T>> {
        match NonNull::new(ptr) {
            Some(ptr) => Ok(Handle { ptr, context: context.clone() }),
            None => Err(context.last_error()),
        }
    }
}

impl<T: Object> Clone for Handle<T> {
    fn clone(&self) -> Handle<T> {
        // SAFETY: the object is live; isl's copy functions only count.
        let ptr = unsafe { T::copy(self.raw()) };
        let ptr = NonNull::new(ptr).expect("copying a live isl object only counts a reference");
        Handle { ptr, context: self.context.clone() }
    }
}

impl<T: Object> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: this handle owns the reference, and its context is dropped after it.
        unsafe { T::free(self.raw()) };
    }
}

/// How an argument passes to isl.
pub(crate) trait Argument {
    /// What the caller gives.
    type Safe<'a>;
    /// What isl gets.
    type Raw;
    /// Whether the argument belongs to `context`.
    fn belongs(safe: &Self::Safe<'_>, context: &Context) -> bool;
    /// Converts; for [`Take`] this makes the reference that isl takes.
    fn lower(safe: Self::Safe<'_>) -> Self::Raw;
}

/// How a result passes from isl.
pub(crate) trait Return {
    /// What the caller gets.
    type Safe;
    /// What isl gives.
    type Raw;
    /// Takes over the result.
    ///
    /// # Safety
    /// `raw` is what isl's function returned, called on objects of `context`.
    unsafe fn lift(raw: Self::Raw, context: &Context) -> Result<Self::Safe>;
}

/// An argument whose reference isl takes over; the caller keeps its own.
pub(crate) struct Take<T>(PhantomData<T>);
/// An argument whose reference the caller gives up: isl can then change the object in place.
pub(crate) struct Move<T>(PhantomData<T>);
/// An argument that isl only looks at.
pub(crate) struct Keep<T>(PhantomData<T>);
/// A result whose reference the caller owns.
pub(crate) struct Give<T>(PhantomData<T>);
/// The context itself, as an argument.
pub(crate) struct Ctx;
/// A C string, as an argument.
pub(crate) struct Str;
/// A result that is freed by the caller: text.
pub(crate) struct Text;
/// A name that isl keeps, or null.
pub(crate) struct Name;
/// `isl_bool`.
pub(crate) struct Bool;
/// `isl_size`.
pub(crate) struct Size;
/// A position or −1 for "none"; not an error.
pub(crate) struct Position;

impl<T: Object + 'static> Argument for Take<T> {
    type Safe<'a> = &'a Handle<T>;
    type Raw = *mut T;
    fn belongs(safe: &&Handle<T>, context: &Context) -> bool {
        safe.context == *context
    }
    fn lower(safe: &Handle<T>) -> *mut T {
        // SAFETY: the object is live.
        unsafe { T::copy(safe.raw()) }
    }
}

impl<T: Object + 'static> Argument for Move<T> {
    type Safe<'a> = Handle<T>;
    type Raw = *mut T;
    fn belongs(safe: &Handle<T>, context: &Context) -> bool {
        safe.context == *context
    }
    fn lower(safe: Handle<T>) -> *mut T {
        safe.into_raw()
    }
}

impl<T: Object + 'static> Argument for Keep<T> {
    type Safe<'a> = &'a Handle<T>;
    type Raw = *mut T;
    fn belongs(safe: &&Handle<T>, context: &Context) -> bool {
        safe.context == *context
    }
    fn lower(safe: &Handle<T>) -> *mut T {
        safe.raw()
    }
}

impl Argument for Ctx {
    type Safe<'a> = &'a Context;
    type Raw = *mut ffi::isl_ctx;
    fn belongs(safe: &&Context, context: &Context) -> bool {
        *safe == context
    }
    fn lower(safe: &Context) -> *mut ffi::isl_ctx {
        safe.raw()
    }
}

impl Argument for Str {
    type Safe<'a> = &'a CStr;
    type Raw = *const c_char;
    fn belongs(_: &&CStr, _: &Context) -> bool {
        true
    }
    fn lower(safe: &CStr) -> *const c_char {
        safe.as_ptr()
    }
}

macro_rules! plain_argument {
    ($($t:ty),*) => { $(
        impl Argument for $t {
            type Safe<'a> = $t;
            type Raw = $t;
            fn belongs(_: &$t, _: &Context) -> bool {
                true
            }
            fn lower(safe: $t) -> $t {
                safe
            }
        }
    )* };
}
plain_argument!(c_int, c_uint, c_long);

impl<T: Object> Return for Give<T> {
    type Safe = Handle<T>;
    type Raw = *mut T;
    unsafe fn lift(raw: *mut T, context: &Context) -> Result<Handle<T>> {
        // SAFETY: isl gives an owned reference or null.
        unsafe { Handle::from_raw(context, raw) }
    }
}

impl Return for Bool {
    type Safe = bool;
    type Raw = c_int;
    unsafe fn lift(raw: c_int, context: &Context) -> Result<bool> {
        if raw < 0 { Err(context.last_error()) } else { Ok(raw != 0) }
    }
}

impl Return for Size {
    type Safe = usize;
    type Raw = c_int;
    unsafe fn lift(raw: c_int, context: &Context) -> Result<usize> {
        usize::try_from(raw).map_err(|_| context.last_error())
    }
}

impl Return for Position {
    type Safe = Option<usize>;
    type Raw = c_int;
    unsafe fn lift(raw: c_int, _: &Context) -> Result<Option<usize>> {
        Ok(usize::try_from(raw).ok())
    }
}

impl Return for c_long {
    type Safe = c_long;
    type Raw = c_long;
    unsafe fn lift(raw: c_long, _: &Context) -> Result<c_long> {
        Ok(raw)
    }
}

impl Return for Name {
    type Safe = Option<String>;
    type Raw = *const c_char;
    unsafe fn lift(raw: *const c_char, _: &Context) -> Result<Option<String>> {
        if raw.is_null() {
            return Ok(None);
        }
        // SAFETY: a name is a C string owned by an isl_id that a live object refers to.
        Ok(Some(unsafe { CStr::from_ptr(raw) }.to_string_lossy().into_owned()))
    }
}

impl Return for Text {
    type Safe = String;
    type Raw = *mut c_char;
    unsafe fn lift(raw: *mut c_char, context: &Context) -> Result<String> {
        if raw.is_null() {
            return Err(context.last_error());
        }
        // SAFETY: isl gives a C string allocated by malloc, to be freed by the caller.
        unsafe {
            let text = CStr::from_ptr(raw).to_string_lossy().into_owned();
            ffi::free(raw.cast::<c_void>());
            Ok(text)
        }
    }
}

/// Checks that all arguments are of one context, before any reference is made.
pub(crate) fn same_context(belongs: bool) -> Result<()> {
    if belongs { Ok(()) } else { Err(Error::ContextMismatch) }
}

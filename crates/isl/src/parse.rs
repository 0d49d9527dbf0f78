//! Reading isl's notation by isl's own token stream, which tells where reading stopped.
//!
//! isl reads an object and ignores what follows, and its errors say "syntax error" without a place. Here the rest must be empty, and the place is
//! found by counting tokens: those that are left after a failure, against those of the whole text. It may be one token off,
//! because isl sometimes puts the offending token back.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::NonNull;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::ffi::{isl_ctx, isl_map, isl_set, isl_union_map, isl_union_set};
use crate::handle::{Handle, Object};
use crate::templates::copy_or_make;
use crate::text;

#[repr(C)]
pub(crate) struct isl_stream {
    _private: [u8; 0],
}

unsafe extern "C" {
    fn isl_stream_new_str(ctx: *mut isl_ctx, text: *const c_char) -> *mut isl_stream;
    fn isl_stream_free(stream: *mut isl_stream);
    fn isl_stream_next_token(stream: *mut isl_stream) -> *mut c_void;
    fn isl_stream_is_empty(stream: *mut isl_stream) -> c_int;
    fn isl_token_free(token: *mut c_void);
}

/// What a stream can read.
///
/// # Safety
/// `read` must be isl's function for this type.
pub(crate) unsafe trait Readable: Object {
    /// What isl's parser is asked for.
    const KIND: &'static str;
    /// Reads an object; null on failure.
    unsafe fn read(stream: *mut isl_stream) -> *mut Self;
    /// Reads an object that is the whole text.
    fn parse(context: &Context, input: &str) -> Result<Handle<Self>> {
        parse(context, input)
    }
}

macro_rules! readable {
    ($($name:ident, $read:ident, $kind:literal;)*) => {
        unsafe extern "C" { $( fn $read(stream: *mut isl_stream) -> *mut $name; )* }
        // SAFETY: the functions are isl's for these structs.
        $( unsafe impl Readable for $name {
            const KIND: &'static str = $kind;
            unsafe fn read(stream: *mut isl_stream) -> *mut $name {
                // SAFETY: by the contract of the trait.
                unsafe { $read(stream) }
            }
        } )*
    };
}

unsafe extern "C" {
    fn isl_stream_read_set(stream: *mut isl_stream) -> *mut isl_set;
}

// SAFETY: the function is isl's for this struct.
unsafe impl Readable for isl_set {
    const KIND: &'static str = "set";
    unsafe fn read(stream: *mut isl_stream) -> *mut isl_set {
        // SAFETY: by the contract of the trait.
        unsafe { isl_stream_read_set(stream) }
    }
    /// A set that was read before is copied.
    fn parse(context: &Context, input: &str) -> Result<Handle<isl_set>> {
        copy_or_make(context, context.templates(), input, || parse(context, input))
    }
}

readable! {
    isl_map, isl_stream_read_map, "relation";
    isl_union_set, isl_stream_read_union_set, "union of sets";
    isl_union_map, isl_stream_read_union_map, "union of relations";
}

/// A stream over a text that outlives it.
struct Stream<'a> {
    ptr: NonNull<isl_stream>,
    _text: &'a CStr,
}

impl<'a> Stream<'a> {
    fn new(context: &Context, text: &'a CStr) -> Result<Stream<'a>> {
        context.begin();
        // SAFETY: the context is live; the stream does not outlive the text.
        let ptr = unsafe { isl_stream_new_str(context.raw(), text.as_ptr()) };
        Ok(Stream { ptr: NonNull::new(ptr).ok_or_else(|| context.last_error())?, _text: text })
    }

    fn is_empty(&self) -> bool {
        // SAFETY: the stream is live.
        unsafe { isl_stream_is_empty(self.ptr.as_ptr()) != 0 }
    }

    /// Reads to the end.
    fn count_tokens(&self) -> usize {
        let mut count = 0;
        loop {
            // SAFETY: the stream is live; a token is freed once.
            unsafe {
                let token = isl_stream_next_token(self.ptr.as_ptr());
                if token.is_null() {
                    return count;
                }
                isl_token_free(token);
            }
            count += 1;
        }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // SAFETY: the stream is live and owned.
        unsafe { isl_stream_free(self.ptr.as_ptr()) };
    }
}

/// Reads an object that is the whole text.
fn parse<T: Readable>(context: &Context, input: &str) -> Result<Handle<T>> {
    let text = text::checked(input)?;
    let stream = Stream::new(context, &text)?;
    // SAFETY: the stream is live; the result is null or owned by us and of this context.
    let result = unsafe { Handle::from_raw(context, T::read(stream.ptr.as_ptr())) };
    match result {
        Ok(object) if stream.is_empty() => Ok(object),
        Ok(_) => Err(text::syntax("unexpected text after the end", input, offset(context, input, &stream, 0))),
        Err(Error::Isl(message)) if message.starts_with("Assertion") => {
            Err(text::syntax(&format!("this is no {}", T::KIND), input, None))
        }
        Err(Error::Isl(message)) => Err(text::syntax(&message, input, offset(context, input, &stream, 1))),
        Err(other) => Err(other),
    }
}

/// The offset of the token that is `back` before the next one of a stream over the text.
fn offset(context: &Context, input: &str, stream: &Stream<'_>, back: usize) -> Option<usize> {
    let left = context.unlimited(|| stream.count_tokens()) + back;
    let count = |prefix: &str| -> Option<usize> {
        let prefix = CString::new(prefix).ok()?;
        context.unlimited(|| Stream::new(context, &prefix).ok().map(|stream| stream.count_tokens()))
    };
    let index = count(input)?.checked_sub(left)?;
    let ends: Vec<usize> = input.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    let first = ends.partition_point(|end| count(&input[..*end]).is_some_and(|n| n <= index));
    Some(ends.get(first).map_or(input.len(), |end| input[..*end].char_indices().next_back().map_or(0, |(at, _)| at)))
}

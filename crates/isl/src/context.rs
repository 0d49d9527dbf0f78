//! The library handle: every isl object belongs to one.
//!
//! # Ownership
//! A [`Context`] is a counted reference; every object holds one, so isl's context is freed after the last
//! object. isl is not thread-safe within a context: `Context` is neither `Send` nor `Sync`. All contexts of a
//! thread share one context of isl, so each text is parsed only once ([`crate::templates`]); each `Context` keeps its own limit.
//! # Limits
//! Each call of isl starts counting operations (allocations and pivots) at zero and fails with
//! [`Error::LimitExceeded`] beyond [`Context::set_max_operations`]. The count bounds one call, not the sum of all.
#![allow(unsafe_code)]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_ulong};
use std::ptr::NonNull;
use std::rc::Rc;

use crate::error::Error;
use crate::ffi;
use crate::templates::Templates;

/// isl's `ISL_ON_ERROR_CONTINUE`.
const ON_ERROR_CONTINUE: i32 = 1;

/// A handle of the isl library; cheap to clone.
#[derive(Debug, Clone)]
pub struct Context(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    library: Rc<Library>,
    max_operations: Cell<Option<u64>>,
}

/// So many answers are kept; then all are forgotten.
const MAX_ANSWERS: usize = 1_000;

/// Answers by the limit that they were found under, and by the question.
type Answers = BTreeMap<(Option<u64>, Box<str>), Box<dyn Any>>;

/// A context of isl, and what was parsed, made and answered in it.
#[derive(Debug)]
struct Library {
    ptr: NonNull<ffi::isl_ctx>,
    templates: RefCell<Templates>,
    made: RefCell<Templates>,
    answers: RefCell<Answers>,
}

thread_local! {
    static LIBRARY: Rc<Library> = Rc::new(Library::new());
}

impl Context {
    /// A new context, without a limit on operations.
    ///
    /// # Panics
    /// When the machine has no memory left for a few hundred bytes.
    pub fn new() -> Context {
        // A thread that ends has no library of its own any more.
        let library = LIBRARY.try_with(Rc::clone).unwrap_or_else(|_| Rc::new(Library::new()));
        Context(Rc::new(Inner { library, max_operations: Cell::new(None) }))
    }

    /// Bounds the operations of each later call; `None` takes the bound away.
    pub fn set_max_operations(&self, limit: Option<u64>) {
        self.0.max_operations.set(limit.map(|n| n.max(1)));
    }

    /// The bound set by [`Context::set_max_operations`].
    pub fn max_operations(&self) -> Option<u64> {
        self.0.max_operations.get()
    }

    /// Runs `f` without a limit on operations: printing must not fail.
    pub(crate) fn unlimited<T>(&self, f: impl FnOnce() -> T) -> T {
        let limit = self.max_operations();
        self.set_max_operations(None);
        self.begin();
        let result = f();
        self.set_max_operations(limit);
        self.begin();
        result
    }

    pub(crate) fn raw(&self) -> *mut ffi::isl_ctx {
        self.0.library.ptr.as_ptr()
    }

    /// The sets parsed so far on this thread.
    pub(crate) fn templates(&self) -> &RefCell<Templates> {
        &self.0.library.templates
    }

    /// The sets made so far on this thread.
    pub(crate) fn made(&self) -> &RefCell<Templates> {
        &self.0.library.made
    }

    /// What was found before on this thread, by a question that says all that the answer depends on; if nothing was, `find` finds it.
    /// No object of isl may be part of an answer: it would keep the context alive.
    ///
    /// # Errors
    /// Those of `find`, which are not kept.
    pub fn once<T: Clone + 'static, E>(&self, question: &str, find: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let key = (self.max_operations(), question.into());
        if let Some(known) = self.0.library.answers.borrow().get(&key).and_then(|known| known.downcast_ref::<T>()) {
            return Ok(known.clone());
        }
        let found = find()?;
        let mut answers = self.0.library.answers.borrow_mut();
        if answers.len() >= MAX_ANSWERS {
            answers.clear();
        }
        answers.insert(key, Box::new(found.clone()));
        Ok(found)
    }

    /// Forgets the last error, and starts counting operations anew, up to this context's limit.
    pub(crate) fn begin(&self) {
        let limit = self.max_operations().map_or(0, |n| c_ulong::try_from(n).unwrap_or(c_ulong::MAX));
        // SAFETY: the context is live; zero means no limit.
        unsafe {
            ffi::isl_ctx_reset_error(self.raw());
            ffi::isl_ctx_reset_operations(self.raw());
            ffi::isl_ctx_set_max_operations(self.raw(), limit);
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

    /// How many references isl objects hold to this context: zero when no object lives. Drops the cached sets, which would count.
    #[cfg(test)]
    pub(crate) fn references(&self) -> i32 {
        self.0.library.forget();
        // SAFETY: `ref` is the first field of `struct isl_ctx` in the pinned version of isl (isl_ctx_private.h).
        unsafe { self.raw().cast::<i32>().read() }
    }
}

impl Default for Context {
    fn default() -> Context {
        Context::new()
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Context) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Context {}

impl Library {
    fn new() -> Library {
        // SAFETY: isl_ctx_alloc has no preconditions; the options belong to the new context.
        let ptr = unsafe { ffi::isl_ctx_alloc() };
        let ptr = NonNull::new(ptr).expect("isl allocates a context unless memory is exhausted");
        // SAFETY: `ptr` is a live context.
        unsafe { ffi::isl_options_set_on_error(ptr.as_ptr(), ON_ERROR_CONTINUE) };
        Library { ptr, templates: RefCell::default(), made: RefCell::default(), answers: RefCell::default() }
    }

    fn forget(&self) {
        self.templates.borrow_mut().clear();
        self.made.borrow_mut().clear();
        self.answers.borrow_mut().clear();
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        self.forget();
        // SAFETY: every handle holds a `Context`, so no object refers to this context any more.
        unsafe { ffi::isl_ctx_free(self.ptr.as_ptr()) };
    }
}

//! The form that most methods have: one call of isl on the handles.

/// Declares methods: `name = call(operands) -> Result type;` each with its documentation.
macro_rules! methods {
    ($type:ident: $($(#[$doc:meta])* $name:ident = $call:ident($($arg:ident: $arg_type:ident),*) -> $ret:ident;)*) => {
        impl $type { $(
            $(#[$doc])*
            ///
            /// # Errors
            /// Operands of different contexts or unfitting spaces; the operation limit.
            pub fn $name(&self, $($arg: &$arg_type),*) -> $crate::error::Result<$ret> {
                $crate::ffi::$call(self.context(), &self.handle, $(&$arg.handle),*).map($ret::from)
            }
        )* }
    };
}

/// Declares a wrapper of one handle: conversion, `context`, `parse`, printing.
macro_rules! object {
    ($(#[$doc:meta])* $type:ident, $raw:ident, $print:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $type {
            pub(crate) handle: $crate::handle::Handle<$crate::ffi::$raw>,
        }

        impl From<$crate::handle::Handle<$crate::ffi::$raw>> for $type {
            fn from(handle: $crate::handle::Handle<$crate::ffi::$raw>) -> $type {
                $type { handle }
            }
        }

        impl $type {
            /// Reads isl's notation.
            ///
            /// # Errors
            /// [`Error::Syntax`](crate::Error::Syntax) for text that isl does not accept, which includes text nested beyond reason.
            pub fn parse(context: &$crate::Context, text: &str) -> $crate::error::Result<$type> {
                $crate::parse::Readable::parse(context, text).map($type::from)
            }

            /// The context.
            pub fn context(&self) -> &$crate::Context {
                self.handle.context()
            }
        }

        /// Prints isl's notation, which parses again.
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let context = self.context();
                match context.unlimited(|| $crate::ffi::$print(context, &self.handle)) {
                    Ok(text) => f.write_str(&text),
                    Err(error) => write!(f, "<{error}>"),
                }
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}

pub(crate) use {methods, object};

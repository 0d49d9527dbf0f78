//! Source files and the places in them.
//!
//! Every stage that reads text (kernel dumps, kernel texts, rule files) keeps a [`Source`] and gives each thing it
//! reads a [`Span`] of bytes in it. Diagnostics are built with `miette`, which has types of its own for both;
//! [`Source::named_source`] and `From<Span>` are the only bridge.
//!
//! # Input
//! UTF-8 text that the caller has already read: this crate touches no files. Bytes that may not be UTF-8 enter by
//! [`Source::from_bytes`], which says where they go wrong.
//! # Output
//! Spans, line and column positions, and miette's `SourceSpan` and `NamedSource`.
//! # Complexity
//! A span is eight bytes and copies. Finding a position scans the text up to it; only diagnostics ask.
//! # Not done
//! No global table of files: a span does not know its source, so whoever holds the one holds the other.
//!
//! ```
//! use nestegg_span::{Source, Span};
//!
//! let source = Source::new("axpy.knl", "kernel axpy\nparam n : int32\n");
//! let span = source.span_of("int32").expect("the text is there");
//! assert_eq!(source.slice(span), "int32");
//! assert_eq!(source.position(span.start).to_string(), "2:11");
//! assert_eq!(span.to(Span::new(28, 30)), Span::new(22, 30));
//! ```

mod source;
mod span;

pub use source::{InvalidUtf8, Position, Source};
pub use span::Span;

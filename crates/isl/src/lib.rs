//! Integer sets and relations: the one safe wrapper of isl, and what the project needs on top of it.
//!
//! # The story
//! A [`Context`] is the library handle; [`Set`]s and [`Map`]s are made in it from text, names, or plain data, and keep
//! it alive. A kernel's domain is a `Set` whose dimensions are inames:
//!
//! ```
//! use nestegg_isl::{Context, Set};
//!
//! let context = Context::new();
//! let outer = Set::parse(&context, "[n] -> { [i] : 0 <= i < n }")?;
//! let inner = Set::parse(&context, "[n, i] -> { [j] : i <= j < n }")?;
//!
//! // An iname that is a parameter of another domain becomes one dimension of the whole.
//! let domain = Set::combine(&[outer, inner])?;
//! assert_eq!(domain.dim_names()?, ["i", "j"]);
//!
//! // How many points? Exactly, whatever their number.
//! assert_eq!(domain.fix_params(&[("n", 100_000)])?.count()?.to_string(), "5000050000");
//!
//! // What does the loop over `j` range over, inside that over `i`?
//! let bounds = domain.loop_bounds("j", &["i"])?;
//! assert_eq!(bounds.lower[0][0].ceil()?.to_string(), "i");
//! assert_eq!(bounds.upper[0][0].floor()?.to_string(), "n - 1");
//! assert!(bounds.exact);
//! # Ok::<(), nestegg_isl::Error>(())
//! ```
//!
//! Instances of instructions are named tuples, `S3[i, j]`; a [`UnionSet`] holds many of them at once, a [`UnionMap`]
//! holds accesses and schedules, and [`dataflow()`] says which instance wrote the value that another reads. Results
//! leave isl as plain data: [`Affine`], [`Constraint`], [`Bounds`].
//!
//! # Promises
//! - Methods have isl's names without prefix, take references and never change an object.
//! - Everything that calls isl returns [`Result`]; isl's own errors do not print, abort, or leak. Text is checked
//!   before isl parses it.
//! - [`Context::set_max_operations`] bounds each call of isl.
//! - Output does not depend on addresses or hashes: lists from isl's hash tables are sorted.
//!
//! `unsafe` is confined to `context`, `handle`, `ffi`, `parse`, and `foreach`. The version of isl is pinned by
//! `isl-rs`, which builds the C library; its Rust layer is not used, since it leaks the text it prints and cannot bound
//! operations.
#![warn(missing_docs)]

mod affine;
mod bounds;
mod constraints;
mod context;
mod convert;
mod count;
mod error;
mod ffi;
mod flow;
mod foreach;
mod handle;
#[cfg(test)]
mod leaks;
mod map;
mod parse;
mod set;
mod templates;
mod text;
mod union;
mod wrap;

pub use affine::{Affine, Conjunction, Constraint, Floor, Relation};
pub use bounds::{Bound, Bounds, Stride};
pub use context::Context;
pub use count::MAX_PIECES;
pub use error::{Error, Result};
pub use flow::{Flow, dataflow};
pub use map::Map;
pub use set::{Dim, Set};
pub use union::{UnionMap, UnionSet};

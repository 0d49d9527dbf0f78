//! Integer sets and relations: the one safe wrapper of isl.
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
mod text;
mod union;
mod wrap;

pub use affine::{Affine, Conjunction, Constraint, Floor, Relation};
pub use bounds::{Bound, Bounds, Stride};
pub use context::Context;
pub use error::{Error, Result};
pub use flow::{Flow, dataflow};
pub use map::Map;
pub use set::{Dim, Set};
pub use union::{UnionMap, UnionSet};

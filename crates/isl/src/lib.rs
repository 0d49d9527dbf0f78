//! Integer sets and relations: the one safe wrapper of isl.
#![warn(missing_docs)]

mod affine;
mod constraints;
mod context;
mod convert;
mod count;
mod error;
mod ffi;
mod handle;
mod set;
mod text;

pub use affine::{Affine, Conjunction, Constraint, Floor, Relation};
pub use context::Context;
pub use error::{Error, Result};
pub use set::{Dim, Set};

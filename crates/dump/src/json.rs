//! Kernel dumps in JSON.
//!
//! # Input
//! One JSON object, see the format's documentation. Strictly JSON: no comments, no trailing commas.
//! # Output
//! The syntax tree, and every error of its structure: unknown, missing and doubled fields, wrong JSON types.
//! # Method
//! The scanner is `jsonc-parser`'s; values go to an arena, so that nesting needs no stack.

mod expr;
mod fields;
mod format;
mod kernel;
mod schema;
mod tree;
mod version;
mod write;
mod write_expr;

pub(crate) use expr::{NumberError, arity_text, number, shortened};
pub(crate) use kernel::read;
pub use schema::json_schema;
pub(crate) use tree::{string_at, value_at};
pub use write::write_json;
pub(crate) use write::{quoted, write_table};

//! Kernels as text (`.knl`): declarations, then loopy's instruction language.
//!
//! The grammar stands in `GRAMMAR.md`. Tokens come from a `logos` lexer; statements are read one by one, and after
//! an error reading goes on at the next statement. Nothing recurses on the nesting of the text.

mod exprs;
mod infer;
mod instructions;
mod lexer;
mod names;
mod parser;
mod statements;
mod write;
mod write_expr;

pub(crate) use parser::read;
pub use write::write_text;
pub(crate) use write_expr::access_text;

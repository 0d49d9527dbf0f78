//! The store of forms: a kernel's values in an e-graph.
//!
//! [`encode`](encode::encode) takes the values that the instructions of a kernel in value form compute, and puts them
//! into an e-graph of [`Node`](language::Node)s, annotated with [facts](analysis::Data). Saturation adds equal forms by
//! the rules of a strategy; it removes nothing and decides nothing. Choosing is the job of extraction.

pub mod analysis;
pub mod apply;
pub mod bounds;
pub mod build;
pub mod builtin;
pub mod context;
pub mod coupling;
pub mod defined;
pub mod encode;
pub mod judge;
pub mod language;
pub mod lint;
pub mod pattern;
pub mod proof;
pub mod rational;
pub mod region;
pub mod saturate;
pub mod table;
pub mod vocabulary;

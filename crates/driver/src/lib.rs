//! The order of the passes, and everything that the command line does without touching files.
//!
//! [`optimize`] does the main job: it takes the text of a kernel, and returns a linearized kernel and the story of the
//! run. [`read`], [`read_defined`], [`count()`], and [`Notation`] do the small ones.

pub mod accuracy;
mod arrangement;
pub mod batch;
mod begin;
mod budget;
mod candidates;
pub mod config;
pub mod count;
pub mod emit;
pub mod error;
mod excerpt;
pub mod explain;
pub mod explore;
mod fitted;
mod lineage;
pub mod listing;
pub mod notation;
pub mod parameters;
mod parts;
pub mod pipeline;
mod probabilities;
pub mod problem;
pub mod report;
mod rest;
pub mod rules;
mod same;
mod screen;
mod search;
mod seeds;
mod signature;
pub mod smallest;
pub mod stages;
mod stated;
pub mod temporaries;
mod threads;
mod time;
mod together;
pub mod trace;
mod unrolled;
pub mod validation;

pub use count::count;
pub use error::Error;
pub use notation::{Notation, function, functions, read, read_defined, replaced};
pub use pipeline::{Optimized, optimize, optimize_best};

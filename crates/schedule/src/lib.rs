//! From values to loops: reductions become accumulations, and the loops of a kernel are rebuilt.
//!
//! Two passes, both from a kernel in order to a kernel in order. [`realize_reductions`] replaces `reduce` expressions by
//! instructions that initialise and accumulate. `schedule` takes the order apart into what depends on what, and
//! builds loops anew: fused where that is legal and of use, with arrays of temporaries contracted to what their uses need.

pub mod error;
mod names;
pub mod realize;
mod walk;

pub use error::ScheduleError;
pub use realize::realize_reductions;

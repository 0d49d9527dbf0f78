//! How long a scheduled kernel takes on a machine: an estimate from its text, without compiling it.
//!
//! # Input
//! A [`LinearizedKernel`](nestegg_ir::LinearizedKernel), values of its parameters, and a [`Machine`]: some thirty constants in a text file.
//! # Output
//! An [`Estimate`]: nanoseconds, loop by loop, with what bounds each.
//! # Method
//! [`estimate`] follows what optimizing C compilers do to loops: invariant operations move out, short inner loops are unrolled, the loop that
//! is innermost then runs in vector lanes where its accesses allow that. What is left of each loop costs what its busiest resource does.
//! [`fit`] finds the constants from kernels ([`probes`]) that somebody has timed; this crate runs nothing.
//! # Source
//! The idea of counting by resource, and taking the busiest, is that of the roofline and ECM models (Williams et al. 2009; Stengel et al. 2015) and of Facile (Abel et al. 2023).

mod axes;
mod body;
mod estimate;
mod facts;
mod fit;
mod groups;
mod machine;
mod nest;
mod packing;
mod probes;
mod read;
mod recurrence;
mod reuse;
mod shape;

pub use axes::Axes;
pub use estimate::{Bound, Estimate, EstimateError, LoopEstimate, Profile, estimate};
pub use fit::{Timed, calibrated, descend, fit, misfit};
pub use machine::{Constant, DEFAULT_MACHINE, Machine};
pub use probes::{Probe, probes};

pub use read::MachineError;

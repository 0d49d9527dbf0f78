//! The reference interpreter: it defines the meaning of a kernel, as numbers.
#![warn(missing_docs)]

mod builder;
mod conditioned;
mod conversions;
mod data;
mod demand;
mod domain;
mod doubled;
mod error;
mod evaluate;
mod exact;
mod field;
mod fit;
mod float;
mod hard;
mod input;
mod lanes;
mod machine;
mod math;
mod memory;
mod node;
mod plan;
mod points;
mod real;
mod rounding;
mod run;
mod source;
mod tape;
mod validate;
mod world;

pub use error::{Error, Point, Trap};
pub use field::PRIME;
pub use fit::{Fits, Fitted};
pub use hard::{Family, Hard};
pub use input::{Inputs, Values};
pub use rounding::{Case, Deviation, Reference, Sample, deviations};
pub use run::{FieldValues, Output, Outputs, RunOptions, run, run_field};
pub use validate::{
    Agreement, Difference, Element, Evidence, Outcome, Runnable, Survey, Unreached, ValidateOptions, Verdict, survey,
    validate, validate_runnable,
};

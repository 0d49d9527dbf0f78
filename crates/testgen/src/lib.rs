//! Random well-formed kernels, for property tests, fuzz targets and benchmarks.
//!
//! # Input
//! [`Knobs`], which say how often each feature of the format occurs, and [`Choices`]: a seed, or the bytes of a fuzzer.
//! # Output
//! A [`Generated`] kernel, the same for the same choices. It passes [`verify`](nestegg_ir::verify::verify()). For the
//! parameter values that come with it, and all others that its assumptions allow, it accesses no element out of bounds,
//! reads no temporary without a value, divides no integer by zero and overflows none, whatever floats its arguments
//! hold; and it means the same in every order of the iterations of inames that are not tagged `sequential`. Integer
//! arguments hold small numbers; those read inside indices hold numbers that keep the index within the dimension.
//! # Method
//! The loop tree grows from the outside in, one instruction after the other, in the order in which they run. The state
//! of generation records what may be read at the current place: sizes and ranges as far as they are known for all
//! parameters, the elements of temporaries that have values, the accesses that the open loops admit, bounds of
//! integers. Every decision is a number from the choices, and zero is the simplest, so fewer and smaller bytes give
//! smaller kernels.
//! # Complexity
//! Close to linear in the kernel.
//! # Not done
//! Kernels that are wrong: tests of errors write those by hand.
//!
//! ```
//! use nestegg_testgen::{Knobs, Seeded, generate};
//!
//! let generated = generate(&mut Seeded::new(42), &Knobs::finite_element());
//! assert!(nestegg_ir::verify::verify(&generated.program).is_empty());
//! ```

mod accumulations;
mod arrays;
mod builder;
mod cells;
mod choices;
mod compact;
mod condition;
mod defined;
mod elements;
mod fields;
mod finish;
mod float;
mod fluxes;
mod growth;
mod hazards;
mod inames;
mod index;
mod integer;
mod knobs;
mod lookup;
pub mod mutate;
mod rules;
mod scaling;
mod second;
mod space;
pub mod spell;
mod statements;
mod structure;
mod targets;

use nestegg_ir::{Linearization, Program};

pub use choices::{Choices, FromBytes, Seeded};
pub use knobs::Knobs;
pub use scaling::{Scaling, scaling};
pub use second::second_version;

/// A kernel, and what a run of it needs.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The kernel.
    pub program: Program,
    /// Values for its parameters that keep runs short; zero is among them.
    pub parameters: Vec<(String, i64)>,
    /// The order in which the instructions were made: the linearization, or one that means the same as none.
    pub order: Linearization,
}

/// The kernel that some choices make.
#[must_use]
pub fn generate(choices: &mut dyn Choices, knobs: &Knobs) -> Generated {
    let mut builder = builder::Builder::new(choices, knobs);
    builder.fill();
    builder.finish()
}

/// The kernel of a seed.
#[must_use]
pub fn generate_seed(seed: u64, knobs: &Knobs) -> Generated {
    generate(&mut Seeded::new(seed), knobs)
}

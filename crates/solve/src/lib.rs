//! Numeric solvers that know nothing of kernels: straight-line programs with few operations.
//!
//! Every solver answers with a [`Program`], which counts its own operations and evaluates itself.
//!
//! - [`linear_map`]: a constant matrix times a vector of run-time values.
//! - [`polynomials`]: a system of polynomials in run-time values.
//! - [`cluster`](fn@cluster): equal entries of real tables scatter; one representative for each cluster.
//! - [`basis`](fn@basis): a few independent columns of a matrix, and the others as their combinations.
//!
//! All are deterministic to the byte: limits count work, ties are broken by written rules, and nothing depends on the
//! order of a hash map.

pub mod basis;
pub mod cluster;
pub mod linear;
pub mod polynomial;
pub mod program;
mod ratio;
pub mod terms;

pub use basis::{Basis, basis};
pub use cluster::{Clustered, cluster};
pub use linear::{LinearOptions, linear_map};
pub use polynomial::{Polynomial, PolynomialOptions, Reciprocals, polynomials};
pub use program::{Operand, Program, Step, Term};

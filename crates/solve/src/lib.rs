//! Numeric solvers that know nothing of kernels: straight-line programs with few operations.
//!
//! Every solver answers with a [`Program`], which counts its own operations and evaluates itself.
//!
//! - [`linear_map`]: a constant matrix times a vector of run-time values.
//! - [`polynomials`]: a system of polynomials in run-time values.
//! - [`cluster`](fn@cluster): one representative for each cluster of nearly equal entries in real tables.
//! - [`basis`](fn@basis): a few independent columns of a matrix, and the others as combinations of these.
//! - [`frame`]: vectors as sparse combinations of a few of them.
//!
//! ```
//! use nestegg_solve::{LinearOptions, PolynomialOptions, linear_map, polynomials};
//!
//! // y0 = 0.5 x0 + 0.5 x1, y1 = 0.5 x0 + 0.5 x1 + x2: two additions and one multiplication.
//! let entries = [(0, 0, 0.5), (0, 1, 0.5), (1, 0, 0.5), (1, 1, 0.5), (1, 2, 1.0)];
//! let program = linear_map(2, 3, &entries, &LinearOptions::ALL);
//! assert_eq!(program.operations(), 3);
//! assert_eq!(program.evaluate(&[1.0, 3.0, 4.0]), [2.0, 6.0]);
//!
//! // a b + a c: one addition and one multiplication.
//! let sum = vec![(1.0, vec![(0, 1), (1, 1)]), (1.0, vec![(0, 1), (2, 1)])];
//! assert_eq!(polynomials(&[sum], &PolynomialOptions::ALL).operations(), 2);
//! ```
//!
//! All are deterministic to the byte: limits count work, written rules break ties, and nothing depends on the order of
//! a hash map.

pub mod basis;
pub mod cluster;
pub mod frame;
pub mod linear;
mod memo;
pub mod polynomial;
pub mod program;
pub mod ratio;
pub mod spanned;
pub mod terms;

pub use basis::{Basis, basis};
pub use cluster::{Clustered, cluster, cluster_each};
pub use frame::{Frame, Vectors};
pub use linear::{LinearOptions, linear_map};
pub use polynomial::{Polynomial, PolynomialOptions, Reciprocals, polynomials};
pub use program::{Operand, Program, Step, Term};

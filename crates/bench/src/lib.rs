//! What benchmarks measure and compare with: the fixtures, the figures published for them, kernels of any size, mutants.

pub mod fixtures;
pub mod generate;
pub mod mutation;
pub mod peers;

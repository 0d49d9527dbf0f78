//! What the benchmarks measure and compare with: the fixtures, their published figures, kernels of any size, and
//! mutants.

pub mod fixtures;
pub mod generate;
pub mod mutation;
pub mod peers;

//! Kernels as text for other tools.
//!
//! [`c`] writes a linearized kernel as one C11 function with its header, and programs around such functions that run
//! or time them. Code generation decides nothing about the kernel: the order of the loops, the temporaries and their
//! shapes are those of the [`LinearizedKernel`](nestegg_ir::LinearizedKernel); only the spelling is chosen here.
#![warn(missing_docs)]

pub mod c;

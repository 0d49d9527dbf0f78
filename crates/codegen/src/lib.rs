//! Kernels as text for other tools.
//!
//! [`c`] writes a linearized kernel as one C11 function with its header, and programs that run or time such functions.
//! Code generation decides nothing about the kernel: the loop order, the temporaries and their shapes come from the
//! [`LinearizedKernel`](nestegg_ir::LinearizedKernel); this crate only chooses the spelling.
#![warn(missing_docs)]

pub mod c;

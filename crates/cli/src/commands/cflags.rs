//! `nestegg cflags`: the flags that emitted C is meant for, on standard output for `$(nestegg cflags)`.
//!
//! | flag | why |
//! | --- | --- |
//! | `-O3` | loops that are left are vectorized and unrolled |
//! | `-march=native` | vectors as wide as this machine's, and its fused multiply-add |
//! | `-ffp-contract=fast` | a product and a sum become one instruction; `-std=c11` alone forbids that to gcc |
//! | `-fno-math-errno` | `sqrt` is an instruction, and glibc's functions on vectors are called: nobody reads `errno` |
//! | `-fopenmp-simd` | loops that are marked add up in vector lanes; nothing is linked |
//! | `-fopenmp` | with `--openmp`: loops go to threads |
//!
//! `-ffast-math` is not needed: what reassociation gains, nestegg has already done, and shown to be equal.

use crate::exit::ExitStatus;
use crate::terminal::{self, Failure};

/// The flags.
const FLAGS: &str = "-O3 -march=native -ffp-contract=fast -fno-math-errno -fopenmp-simd";

pub fn run(openmp: bool) -> Result<ExitStatus, Failure> {
    terminal::print(&format!("{FLAGS}{}\n", if openmp { " -fopenmp" } else { "" }))?;
    Ok(ExitStatus::Done)
}

//! What only version 2 of the format has, put into kernels: extents that are not stated, narrow types of arguments.
//!
//! # Input
//! A kernel and a seed.
//! # Output
//! The same kernel, where the first extents of some arguments are left open, and some integer arguments that are only read are unsigned bytes in memory.
//! Whatever the first kernel accesses, the second does: it means the same.

use nestegg_ir::{
    ArgumentAccess, ArrayId, ArrayKind, Dtype, Expr, Kernel, LinearizedKernel, Parameter, ParameterId, Program, Stored,
};

/// What an extent that is left open is taken for.
const ESTIMATE: i64 = 1_000;

/// A kernel of version 2.
#[must_use]
pub fn second_version(program: Program, seed: u64) -> Program {
    match program {
        Program::Unordered(kernel) => Program::Unordered(changed(kernel, seed)),
        Program::Linearized(LinearizedKernel { kernel, linearization }) => {
            Program::Linearized(LinearizedKernel { kernel: changed(kernel, seed), linearization })
        }
    }
}

fn changed(mut kernel: Kernel, seed: u64) -> Kernel {
    let arguments: Vec<ArrayId> = kernel.arguments().collect();
    for (idx, array) in (0..).zip(arguments) {
        let is_chosen = |bit: u64| (seed >> ((idx + bit) % 16)) & 1 == 0;
        if !kernel[array].shape.is_empty() && is_chosen(0) {
            let parameter = ParameterId::new(kernel.parameters.len());
            let name = format!("extent_of_{}", kernel[array].name);
            let estimate = Some(ESTIMATE);
            kernel.parameters.push(Parameter { name, dtype: Dtype::Int64, estimate, is_stated: false });
            let size = kernel.exprs.intern(Expr::Parameter(parameter));
            kernel[array].shape[0] = size;
        }
        let is_only_read = kernel[array].kind == ArrayKind::Argument(ArgumentAccess::Read);
        if is_only_read && kernel[array].dtype == Dtype::Int32 && is_chosen(7) {
            kernel[array].stored = Some(Stored::Uint8);
        }
    }
    kernel
}

//! Several kernels in one.

use nestegg_ir::join::in_sequence;
use nestegg_ir::{ArrayId, Instruction, InstructionKind, Kernel, LinearizedKernel};

use super::plain;

/// What two kernels in one have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// Nothing: all arguments of the second end in `_second`.
    Apart,
    /// What both read: only what the second writes ends in `_second`. Arguments of one name and type are the same.
    Shared,
}

/// One kernel that does what both do, first the one, then the other. `None` if one of them has parameters or opaque code.
#[must_use]
pub fn beside(first: &LinearizedKernel, second: &LinearizedKernel, arguments: Arguments) -> Option<LinearizedKernel> {
    let (first, mut second) = (plain(first)?, plain(second)?);
    let is_plain = |kernel: &Kernel| {
        kernel.parameters.is_empty()
            && kernel.instructions.iter().all(|insn| matches!(insn.kind, InstructionKind::Assignment { .. }))
    };
    if !is_plain(&first.kernel) || !is_plain(&second.kernel) {
        return None;
    }
    let written: Vec<ArrayId> = second.kernel.instructions.iter().flat_map(Instruction::written_arrays).collect();
    for (idx, array) in second.kernel.arrays.iter_mut().enumerate() {
        let is_own = arguments == Arguments::Apart || written.contains(&ArrayId::new(idx));
        if array.is_argument() && is_own {
            array.name.push_str("_second");
        }
    }
    let mut res = in_sequence(&[&first, &second])?;
    res.kernel.name = format!("{}_and_{}", first.kernel.name, second.kernel.name);
    Some(res)
}

//! Several kernels in one.

use nestegg_ir::join::in_sequence;
use nestegg_ir::{InstructionKind, Kernel, LinearizedKernel};

use super::plain;

/// One kernel that does what both do, first the one, then the other. Arguments of the second end in `_second`. `None` if one
/// of them has parameters or opaque code.
#[must_use]
pub fn beside(first: &LinearizedKernel, second: &LinearizedKernel) -> Option<LinearizedKernel> {
    let (first, mut second) = (plain(first)?, plain(second)?);
    let is_plain = |kernel: &Kernel| {
        kernel.parameters.is_empty()
            && kernel.instructions.iter().all(|insn| matches!(insn.kind, InstructionKind::Assignment { .. }))
    };
    if !is_plain(&first.kernel) || !is_plain(&second.kernel) {
        return None;
    }
    for array in second.kernel.arrays.iter_mut().filter(|array| array.is_argument()) {
        array.name.push_str("_second");
    }
    let mut res = in_sequence(&[&first, &second])?;
    res.kernel.name = format!("{}_and_{}", first.kernel.name, second.kernel.name);
    Some(res)
}

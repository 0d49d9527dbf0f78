//! Instructions and their dependences as a linearization orders them.

use nestegg_ir::{InsnId, InstructionKind, Item, Kernel, Linearization, LinearizedKernel};

use crate::dead::eliminate_dead;
use crate::memory::Memory;

/// A kernel whose instructions run like this: they stand in that order, those that do not run are left out, and their dependences are set.
pub(crate) fn in_order(kernel: Kernel, linearization: Linearization) -> LinearizedKernel {
    let mut res = in_program_order(kernel, linearization);
    set_dependences(&mut res.kernel, &res.linearization);
    res
}

/// The same without dead code.
pub(crate) fn in_order_without_dead(kernel: Kernel, linearization: Linearization) -> LinearizedKernel {
    let mut res = eliminate_dead(in_program_order(kernel, linearization));
    set_dependences(&mut res.kernel, &res.linearization);
    res
}

/// Sets `depends_on` to the order of the linearization between instructions that touch a common array, one of them
/// writing: each depends on the last write, and a write on the reads since then too. What is stated of opaque instructions stays.
pub(crate) fn set_dependences(kernel: &mut Kernel, linearization: &Linearization) {
    let memory = Memory::new(kernel);
    let mut last_write: Vec<Option<InsnId>> = vec![None; kernel.arrays.len()];
    let mut reads_since: Vec<Vec<InsnId>> = vec![Vec::new(); kernel.arrays.len()];
    for item in linearization {
        let Item::Run(insn) = *item else { continue };
        let mut before = Vec::new();
        for array in memory.read_by(kernel, insn) {
            before.extend(last_write[array.index()]);
            reads_since[array.index()].push(insn);
        }
        for array in kernel[insn].written_arrays() {
            before.extend(last_write[array.index()]);
            before.append(&mut reads_since[array.index()]);
            last_write[array.index()] = Some(insn);
        }
        let is_opaque = |insn: InsnId| matches!(kernel[insn].kind, InstructionKind::Opaque { .. });
        before.extend(kernel[insn].depends_on.iter().filter(|&&other| is_opaque(insn) || is_opaque(other)));
        before.retain(|&other| other != insn);
        before.sort_unstable();
        before.dedup();
        kernel[insn].depends_on = before;
    }
}

/// The kernel with its instructions in the order in which they run, those that do not run left out.
fn in_program_order(mut kernel: Kernel, mut linearization: Linearization) -> LinearizedKernel {
    let mut instructions = Vec::new();
    for item in &mut linearization {
        if let Item::Run(insn) = item {
            instructions.push(kernel[*insn].clone());
            *insn = InsnId::new(instructions.len() - 1);
        }
    }
    // They number instructions as they were, and are set anew.
    instructions.iter_mut().for_each(|instruction| instruction.depends_on.clear());
    kernel.instructions = instructions;
    LinearizedKernel { kernel, linearization }
}

//! Loops that add to scalars or call functions, and may run in vector lanes.
//!
//! # Why
//! `for q: s += …` runs in lanes only if the compiler may reorder the additions; a flag allows that for a whole file, a pragma for one loop. Short loops that call
//! functions run in lanes only if the compiler does not unroll them first, which the same pragma tells it.
//! # Input
//! A verified kernel in its final order, in which sums may be reordered.
//! # Output
//! The innermost such loops, with the scalars they add to.
//! # Method
//! A loop qualifies if its iterations [share only sums](crate::parallel), and if there are at least [`SummingLoop::MIN_TRIPS`] of them or an unknown number. Its accesses have stride
//! one or none: lanes that are loaded one by one cost more than they save, but not more than a call does. Loops inside it are short enough to be unrolled.

use nestegg_ir::affine::{self, Var};
use nestegg_ir::calls::is_of_vectors;
use nestegg_ir::domains::Domains;
use nestegg_ir::walk::{below, each_with, reads};
use nestegg_ir::{
    Assignee, Expr, ExprId, InameId, InsnId, Instruction, InstructionKind, Kernel, LinearizedKernel, SummingLoop,
};
use nestegg_isl as isl;

use crate::batch::BatchError;
use crate::parallel::{ParallelLoop, apart_but_for_sums};
use crate::ranges::Ranges;

/// Compilers unroll nested loops of up to this many iterations.
const MAX_UNROLLED: i64 = 16;

/// The loops that may run in lanes although they add to scalars or call functions, in the order of the linearization.
///
/// # Errors
/// If loops do not nest, a rule is defined by itself, or isl cannot use a domain.
pub fn summing_loops(program: &LinearizedKernel) -> Result<Vec<SummingLoop>, BatchError> {
    loops_for_lanes(program, Wanted::Hindered)
}

/// All loops that may run in lanes, in the order of the linearization: in the functions that compilers make for threads, they forget that arrays do not overlap.
///
/// # Errors
/// Those of [`summing_loops`].
pub fn loops_in_threads(program: &LinearizedKernel) -> Result<Vec<SummingLoop>, BatchError> {
    loops_for_lanes(program, Wanted::All)
}

/// Which loops are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// Those that compilers do not put into lanes by themselves.
    Hindered,
    All,
}

fn loops_for_lanes(program: &LinearizedKernel, wanted: Wanted) -> Result<Vec<SummingLoop>, BatchError> {
    let kernel = &program.kernel;
    let adds = kernel.instructions.iter().any(|instruction| match &instruction.kind {
        InstructionKind::Assignment { assignee: Assignee { array, indices }, expression } => {
            let is_scalar = indices.is_empty() && kernel[*array].is_temporary();
            is_scalar && !instruction.within.is_empty() && reads(&kernel.exprs, [*expression], *array)
        }
        _ => false,
    });
    let calls = calls_of_vectors(kernel);
    let is_calling = |instruction: &Instruction| instruction.expressions().any(|root| calls[root.index()]);
    let is_hindered = adds || kernel.instructions.iter().any(is_calling);
    if wanted == Wanted::Hindered && !is_hindered || !kernel.substitutions.is_empty() {
        return Ok(Vec::new());
    }
    let ranges = Ranges::new(kernel, &Domains::new(&isl::Context::new(), kernel)?)?;
    let is_such = |found: &ParallelLoop| {
        let has_few = |iname: InameId| ranges.trips(iname).is_some_and(|n| n <= MAX_UNROLLED);
        let is_short = |iname: &InameId| ranges.is_alone(*iname) && has_few(*iname);
        let is_calling = found.insns.iter().any(|&insn| is_calling(&kernel[insn]));
        let is_in_order = |insn: InsnId| {
            let mut assignees = kernel[insn].assignees().iter();
            kernel[insn].expressions().all(|root| goes_along(kernel, root, found.iname))
                && assignees.all(|assignee| is_in_order(kernel, &assignee.indices, found.iname))
        };
        let is_inside = |iname: &InameId| *iname == found.iname || found.outer.contains(iname) || is_short(iname);
        // Longer loops, the compiler does not unroll before it looks for lanes.
        (wanted == Wanted::All || !found.sums.is_empty() || is_calling && has_few(found.iname))
            && ranges.trips(found.iname).is_none_or(|n| n >= SummingLoop::MIN_TRIPS)
            && found
                .insns
                .iter()
                .all(|&insn| kernel[insn].within.iter().all(is_inside) && (is_calling || is_in_order(insn)))
    };
    let mut res: Vec<ParallelLoop> = Vec::new();
    for found in apart_but_for_sums(program)?.into_iter().filter(is_such) {
        // Loops come before those inside of them.
        res.retain(|outer| !outer.insns.contains(&found.insns[0]));
        res.push(found);
    }
    let summing = |found: ParallelLoop| SummingLoop {
        iname: found.iname,
        insn: found.insns[0],
        sums: found.sums,
        private: found.private,
    };
    Ok(res.into_iter().map(summing).collect())
}

/// For each expression whether a call of a [function that vectors have](nestegg_ir::calls::OF_VECTORS) is in it.
fn calls_of_vectors(kernel: &Kernel) -> Vec<bool> {
    each_with(&kernel.exprs, |expr| match expr {
        Expr::Call { function, .. } => is_of_vectors(&kernel[*function]),
        _ => false,
    })
}

/// Whether all accesses below an expression are [in order](is_in_order).
fn goes_along(kernel: &Kernel, root: ExprId, iname: InameId) -> bool {
    below(&kernel.exprs, [root]).into_iter().all(|id| match &kernel.exprs[id] {
        Expr::Access { indices, .. } => is_in_order(kernel, indices, iname),
        Expr::Reduce { .. } => false,
        _ => true,
    })
}

/// Whether an access has stride one or minus one in the iname, or does not move.
pub(crate) fn is_in_order(kernel: &Kernel, indices: &[ExprId], iname: InameId) -> bool {
    indices.iter().rev().enumerate().all(|(from_last, &index)| {
        let coefficient = affine::of(&kernel.exprs, index).map(|index| index.coefficient(Var::Iname(iname)));
        match coefficient {
            Some(coefficient) => coefficient == 0 || from_last == 0 && coefficient.abs() == 1,
            None => false,
        }
    })
}

//! Loops that add to scalars and may run in vector lanes.
//!
//! # Why
//! Compilers put the iterations of `for q: s += …` into lanes only if they may add in another order, which flags allow for a whole file or a mark for one loop.
//! # Input
//! A verified kernel in its final order, in which sums may be reordered.
//! # Output
//! Innermost such loops, with the scalars.
//! # Method
//! Of the loops whose iterations [share only sums](crate::parallel), those that have at least [`MIN_TRIPS`] iterations, or a number of them that is not known. Their
//! accesses go from an element to its neighbour, or stay where they are; in loops that compilers do not unroll they may go farther, for the sums of lanes do not wait
//! for each other. Loops inside are short, so that compilers unroll them.

use nestegg_ir::affine::{self, Var};
use nestegg_ir::domains::Domains;
use nestegg_ir::walk::below;
use nestegg_ir::{ArrayId, Expr, ExprId, InameId, InsnId, Kernel, LinearizedKernel};
use nestegg_isl as isl;

use crate::batch::BatchError;
use crate::parallel::{ParallelLoop, apart_but_for_sums};
use crate::ranges::Ranges;

/// Fewer iterations are not worth adding up the lanes.
pub(crate) const MIN_TRIPS: i64 = 8;

/// Compilers unroll loops inside others of at most so many iterations.
const MAX_UNROLLED: i64 = 16;

/// A loop that may run in lanes although it adds to scalars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummingLoop {
    /// The iname.
    pub iname: InameId,
    /// An instruction in the loop, to tell it from other loops over the iname.
    pub insn: InsnId,
    /// The scalars that it adds to.
    pub sums: Vec<ArrayId>,
    /// Temporaries that each lane needs for itself.
    pub private: Vec<ArrayId>,
}

/// The loops that may run in lanes although they add to scalars, in the order of the linearization.
///
/// # Errors
/// If loops do not nest, a rule is defined by itself, or isl cannot use a domain.
pub fn summing_loops(program: &LinearizedKernel) -> Result<Vec<SummingLoop>, BatchError> {
    let kernel = &program.kernel;
    let adds = kernel.instructions.iter().any(|instruction| {
        instruction
            .assignees()
            .iter()
            .any(|assignee| assignee.indices.is_empty() && kernel[assignee.array].is_temporary())
    });
    if !adds || !kernel.substitutions.is_empty() {
        return Ok(Vec::new());
    }
    let ranges = Ranges::new(kernel, &Domains::new(&isl::Context::new(), kernel)?)?;
    // At most so many, where that is a number.
    let trips = |iname: InameId| match ranges.bounds(iname) {
        (Some(first), Some(last)) => Some(last - first + 1),
        _ => None,
    };
    let is_such = |found: &ParallelLoop| {
        let is_short = |iname: &InameId| ranges.is_alone(*iname) && trips(*iname).is_some_and(|n| n <= MAX_UNROLLED);
        let is_long = trips(found.iname).is_none_or(|n| n > MAX_UNROLLED);
        !found.sums.is_empty()
            && trips(found.iname).is_none_or(|n| n >= MIN_TRIPS)
            && found.insns.iter().all(|&insn| {
                kernel[insn]
                    .within
                    .iter()
                    .all(|iname| *iname == found.iname || found.outer.contains(iname) || is_short(iname))
                    && kernel[insn].expressions().all(|root| goes_along(kernel, root, found.iname, is_long))
                    && kernel[insn]
                        .assignees()
                        .iter()
                        .all(|assignee| is_in_order(kernel, &assignee.indices, found.iname, is_long))
            })
    };
    let mut res: Vec<ParallelLoop> = Vec::new();
    for found in apart_but_for_sums(program)?.into_iter().filter(is_such) {
        // Loops come before those inside of them.
        res.retain(|outer| !outer.insns.contains(&found.insns[0]));
        res.push(found);
    }
    let summing = |ParallelLoop { iname, private, sums, insns, .. }: ParallelLoop| SummingLoop {
        iname,
        insn: insns[0],
        sums,
        private,
    };
    Ok(res.into_iter().map(summing).collect())
}

/// Whether all accesses below an expression go along with an iname or have nothing to do with it.
fn goes_along(kernel: &Kernel, root: ExprId, iname: InameId, may_leap: bool) -> bool {
    below(&kernel.exprs, [root]).into_iter().all(|id| match &kernel.exprs[id] {
        Expr::Access { indices, .. } => is_in_order(kernel, indices, iname, may_leap),
        Expr::Reduce { .. } => false,
        _ => true,
    })
}

/// Whether the last index goes up or down with the iname, one by one, or no index has it; with leaps, whether all are affine.
fn is_in_order(kernel: &Kernel, indices: &[ExprId], iname: InameId, may_leap: bool) -> bool {
    indices.iter().rev().enumerate().all(|(from_last, &index)| {
        let coefficient = affine::of(&kernel.exprs, index).map(|index| index.coefficient(Var::Iname(iname)));
        match coefficient {
            Some(coefficient) => may_leap || coefficient == 0 || from_last == 0 && coefficient.abs() == 1,
            None => false,
        }
    })
}

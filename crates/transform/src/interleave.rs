//! Short loops that add to elements between each other's get one iname, so that a schedule can make them one loop.
//!
//! # Why
//! `for i: A[i, 0] += …` and then `for j: A[j, 1] += …` go over the same memory twice. In lanes, the second loop loads vectors that span elements
//! which the first one has just stored one by one; a processor hands on single stores only, and waits. One loop stores each row as it is.
//! # Input
//! A kernel in its final order.
//! # Output
//! The same instances in the same order; `None` if there are no such loops.
//! # Method
//! Of two loops in one sequence the later gets the iname of the earlier if both run over the same numbers, at most [`MAX_TRIPS`] of them, and each
//! has an instruction of its own that reads and writes one array, such that the elements of both are equally far apart, and those
//! of one lie between those of the other.
//! # Complexity
//! Quadratic in the accumulations of one sequence, linear in what gets another iname.
//! # Not done
//! Inames that bound other loops, and loops around opaque instructions.

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::linearization::to_tree;
use nestegg_ir::walk::below;
use nestegg_ir::{ArrayId, InameId, InstructionKind, LinearizedKernel, LoopTree};

use crate::loop_inames::LoopInames;

/// The stores of a longer loop are done when the next one loads.
const MAX_TRIPS: i64 = 16;

/// The kernel with such loops over one iname.
#[must_use]
pub fn share_interleaved(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut tree = to_tree(&linearized.linearization).ok()?;
    if !has_neighbours(&tree) {
        return None;
    }
    let mut pass = Pass { inames: LoopInames::new(&linearized.kernel)? };
    pass.sequence(&mut tree);
    pass.inames.finish(&tree)
}

/// Whether a sequence somewhere has two loops.
fn has_neighbours(nodes: &[LoopTree]) -> bool {
    let bodies = || {
        nodes.iter().filter_map(|node| match node {
            LoopTree::Loop { body, .. } => Some(body),
            LoopTree::Branch { .. } | LoopTree::Run(_) => None,
        })
    };
    bodies().nth(1).is_some() || bodies().any(|body| has_neighbours(body))
}

struct Pass {
    inames: LoopInames,
}

/// What an instruction adds to: the array, and where its elements are.
struct Sum {
    array: ArrayId,
    place: Affine,
}

impl Pass {
    /// Depth is limited by [`nestegg_ir::linearization::MAX_NESTING`].
    fn sequence(&mut self, nodes: &mut [LoopTree]) {
        let mut earlier: Vec<(InameId, Vec<Sum>)> = Vec::new();
        for node in nodes {
            let LoopTree::Loop { iname, body } = node else { continue };
            self.sequence(body);
            let sums: Vec<Sum> = body.iter().filter_map(|node| self.sum(node)).collect();
            let partner = earlier.iter().find(|(first, others)| {
                self.is_same_range(*first, *iname)
                    && others.iter().any(|a| sums.iter().any(|b| is_between(a, *first, b, *iname)))
                    && self.inames.can_rename(*iname, *first, body)
            });
            match partner {
                Some(&(first, _)) => self.inames.rename(iname, (first, 0), body),
                None if !sums.is_empty() => earlier.push((*iname, sums)),
                None => {}
            }
        }
    }

    /// What a node adds to, if it is an instruction that reads the element that it writes.
    fn sum(&self, node: &LoopTree) -> Option<Sum> {
        let LoopTree::Run(insn) = node else { return None };
        let kernel = &self.inames.kernel;
        let InstructionKind::Assignment { assignee, expression, .. } = &kernel[*insn].kind else { return None };
        let exprs = &kernel.exprs;
        if !below(exprs, [*expression]).into_iter().any(|id| assignee.is_read_by(exprs, id)) {
            return None;
        }
        let mut place = Affine::constant(0);
        for (index, size) in assignee.indices.iter().zip(&kernel[assignee.array].shape) {
            // The extent of the first axis has nothing to say.
            let size = affine::of(exprs, *size).and_then(|size| size.as_constant());
            place = place.times(if place == Affine::constant(0) { 0 } else { size? })?;
            place = place.plus(&affine::of(exprs, *index)?, 1)?;
        }
        Some(Sum { array: assignee.array, place })
    }

    /// Whether loops run over the same numbers, and few of them, whatever is around them.
    fn is_same_range(&self, a: InameId, b: InameId) -> bool {
        let ranges = &self.inames.ranges;
        ranges.trips(a).is_some_and(|n| n <= MAX_TRIPS) && ranges.distance(a, b) == Some(0)
    }
}

/// Whether the elements of one sum lie between those of another as their loops go on.
fn is_between(a: &Sum, outer: InameId, b: &Sum, inner: InameId) -> bool {
    let step = a.place.coefficient(Var::Iname(outer));
    let moved = b.place.substitute(Var::Iname(inner), &Affine::var(Var::Iname(outer)));
    let distance = moved.and_then(|moved| moved.plus(&a.place, -1)?.as_constant());
    a.array == b.array && distance.is_some_and(|distance| distance != 0 && distance.abs() < step.abs())
}

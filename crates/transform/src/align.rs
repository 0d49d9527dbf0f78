//! Loops over ranges of one length get one iname, so that a schedule can make them one loop.
//!
//! # Why
//! A stencil that is stored by a nest of its own is a temporary as large as the grid. As part of the nest that reads it, it is a scalar, a row or a plane, and stays in registers or in cache.
//! Nests that read the same arrays go over them once.
//! # Input
//! A kernel in its final order.
//! # Output
//! The same instances in the same order; `None` if no two loops can have one iname.
//! # Method
//! At each depth, a loop gets the iname of the first one whose range is the same, or the same by a constant further on.
//! # Complexity
//! Linear in loops times the different ranges at their depth, and in what gets another iname.
//! # Not done
//! Inames that bound other loops, and loops around opaque instructions.
//! # Source
//! Kennedy and McKinley, "Maximizing loop parallelism and improving data locality via loop fusion and distribution", LCPC 1993, for what fusion brings.

use nestegg_ir::linearization::to_tree;
use nestegg_ir::{InameId, LinearizedKernel, LoopTree};

use crate::loop_inames::LoopInames;

/// The kernel with loops over equally long ranges over one iname.
#[must_use]
pub fn align_loops(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut tree = to_tree(&linearized.linearization).ok()?;
    let mut pass = Pass { inames: LoopInames::new(&linearized.kernel)?, firsts: Vec::new() };
    pass.visit(&mut tree, 0);
    pass.inames.finish(&tree)
}

struct Pass {
    inames: LoopInames,
    /// For each depth the inames of loops, each with another range.
    firsts: Vec<Vec<InameId>>,
}

impl Pass {
    /// Depth is limited by [`nestegg_ir::linearization::MAX_NESTING`].
    fn visit(&mut self, nodes: &mut [LoopTree], depth: usize) {
        self.firsts.resize_with(self.firsts.len().max(depth + 1), Vec::new);
        for node in nodes {
            match node {
                LoopTree::Loop { iname, body } => {
                    self.align(iname, body, depth);
                    self.visit(body, depth + 1);
                }
                LoopTree::Branch { body, .. } => self.visit(body, depth),
                LoopTree::Run(_) => {}
            }
        }
    }

    fn align(&mut self, iname: &mut InameId, body: &mut [LoopTree], depth: usize) {
        let Self { inames, firsts } = self;
        if firsts[depth].contains(iname) {
            return;
        }
        let first = firsts[depth].iter().find_map(|&first| {
            let distance = inames.ranges.distance(first, *iname)?;
            inames.can_rename(*iname, first, body).then_some((first, distance))
        });
        match first {
            Some(first) => inames.rename(iname, first, body),
            None => firsts[depth].push(*iname),
        }
    }
}

//! Fission: a loop around several loops becomes one loop around each, as far as dependences allow.
//!
//! # Input
//! A loop tree whose order is valid; temporaries have an axis for each loop around them, so that little stands in the way.
//! # Output
//! A tree with the same instances in an order that keeps every dependence, with more [perfect nests](crate::nest), which can be put in an order of their
//! own. [Fusion](crate::fuse) joins again what stays together.
//! # Method
//! From the inside out, a loop is split between two items of its body if whatever both sides touch, and one changes, is touched first by
//! the side that comes first: in the same iteration or an earlier one, as [indices or isl](crate::meet) tell.
//! # Complexity
//! For each item of a body, linear in the accesses of those after it, where these have a constant at some index or are few to each array. A body of more than
//! [`MAX_ITEMS`] items, or without a loop, stays whole.
//! # Source
//! Allen and Kennedy, "Optimizing Compilers for Modern Architectures", 2001, section 5.2.

use nestegg_ir::linearization::LoopTree;
use nestegg_ir::meetings::Distance;
use nestegg_ir::{InameId, InameTag, Kernel, Licence};

use crate::access::{Access, Accesses};
use crate::meet::{Exact, meetings};
use crate::touched::Touched;

/// Bodies of more items stay whole: they are straight-line code.
const MAX_ITEMS: usize = 32;

/// Splits the loops of a tree.
pub(crate) fn split_loops(kernel: &Kernel, tree: Vec<LoopTree>, licence: Licence) -> Vec<LoopTree> {
    let accesses = Accesses::new(kernel, licence);
    let mut pass = Pass { kernel, accesses, exact: Exact::new(kernel), outer: Vec::new() };
    tree.into_iter().flat_map(|node| pass.visit(node)).collect()
}

struct Pass<'a> {
    kernel: &'a Kernel,
    accesses: Accesses<'a>,
    exact: Exact<'a>,
    outer: Vec<InameId>,
}

impl Pass<'_> {
    /// Depth is limited by [`nestegg_ir::linearization::MAX_NESTING`].
    fn visit(&mut self, node: LoopTree) -> Vec<LoopTree> {
        match node {
            LoopTree::Loop { iname, body } => {
                self.outer.push(iname);
                let body: Vec<LoopTree> = body.into_iter().flat_map(|node| self.visit(node)).collect();
                self.outer.pop();
                self.split(iname, body)
            }
            LoopTree::Branch { condition, body } => {
                let body = body.into_iter().flat_map(|node| self.visit(node)).collect();
                vec![LoopTree::Branch { condition, body }]
            }
            run @ LoopTree::Run(_) => vec![run],
        }
    }

    fn split(&mut self, iname: InameId, body: Vec<LoopTree>) -> Vec<LoopTree> {
        let tags = &self.kernel[iname].tags;
        let is_bound = tags.contains(&InameTag::Sequential) || tags.contains(&InameTag::Parallel);
        let holds_loop = body.iter().any(|node| matches!(node, LoopTree::Loop { .. }));
        if is_bound || !holds_loop || body.len() < 2 || body.len() > MAX_ITEMS {
            return vec![LoopTree::Loop { iname, body }];
        }
        let accesses: Vec<Vec<Access>> = body.iter().map(|node| self.accesses.below(node)).collect();
        let mut before = Touched::default();
        let mut res: Vec<LoopTree> = Vec::new();
        let mut whole: Vec<LoopTree> = Vec::new();
        for (idx, node) in body.into_iter().enumerate() {
            let may_split = |later: &Vec<Access>| before.keeps_order(later, |a, b| self.stay_in_order(a, b, iname));
            if idx > 0 && accesses[idx..].iter().all(may_split) {
                res.push(LoopTree::Loop { iname, body: std::mem::take(&mut whole) });
            }
            before.add(&accesses[idx]);
            whole.push(node);
        }
        res.push(LoopTree::Loop { iname, body: whole });
        res
    }

    /// Whether two accesses, the first earlier in the body, keep their order if the first runs for all values of the iname before the second does.
    fn stay_in_order(&self, a: &Access, b: &Access, iname: InameId) -> bool {
        meetings(a, b, iname, |other| other == iname || self.outer.contains(&other))
            .any(|meetings| meetings.only(|distance| distance >= 0))
            || self.exact.meet_only(a, b, &self.outer, (&[iname], Distance::ZeroOrMore))
    }
}

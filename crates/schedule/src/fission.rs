//! Fission: a loop around several loops becomes one loop around each, as far as dependences allow.
//!
//! # Input
//! A loop tree whose order is valid; temporaries have an axis for each loop around them, so that little stands in the way.
//! # Output
//! A tree with the same instances in an order that keeps every dependence, with more [perfect nests](crate::nest), which can be put in an order of their
//! own. [Fusion](crate::fuse) joins again what stays together.
//! # Method
//! From the inside out, a loop is split between two items of its body if whatever both sides touch, and one changes, is touched first by
//! the side that comes first: in the same iteration or an earlier one.
//! # Complexity
//! Linear in the tree; quadratic in the accesses of a body, which is left whole if it has more than [`MAX_ITEMS`] items or holds no loop.
//! # Source
//! Allen and Kennedy, "Optimizing Compilers for Modern Architectures", 2001, section 5.2.

use nestegg_ir::linearization::LoopTree;
use nestegg_ir::{InameId, InameTag, Kernel, Licence};

use crate::access::{Access, Accesses};
use crate::fuse::{Meetings, meet, touches};

/// Bodies of more items stay whole: they are straight-line code.
const MAX_ITEMS: usize = 32;

/// Splits the loops of a tree.
pub(crate) fn split_loops(kernel: &Kernel, tree: Vec<LoopTree>, licence: Licence) -> Vec<LoopTree> {
    let mut pass = Pass { kernel, accesses: Accesses::new(kernel, licence), outer: Vec::new() };
    tree.into_iter().flat_map(|node| pass.visit(node)).collect()
}

struct Pass<'a> {
    kernel: &'a Kernel,
    accesses: Accesses<'a>,
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
        let touched: Vec<Vec<Access>> =
            body.iter().map(|node| touches(&mut self.accesses, self.kernel, node)).collect();
        let mut res: Vec<LoopTree> = Vec::new();
        let mut whole: Vec<LoopTree> = Vec::new();
        for (idx, node) in body.into_iter().enumerate() {
            if idx > 0 && self.may_split(iname, &touched[..idx], &touched[idx..]) {
                res.push(LoopTree::Loop { iname, body: std::mem::take(&mut whole) });
            }
            whole.push(node);
        }
        res.push(LoopTree::Loop { iname, body: whole });
        res
    }

    /// Whether all that comes first may run for all values of an iname before all that comes later.
    fn may_split(&self, iname: InameId, first: &[Vec<Access>], later: &[Vec<Access>]) -> bool {
        let is_fixed = |other: InameId| other == iname || self.outer.contains(&other);
        first.iter().flatten().all(|a| {
            later.iter().flatten().filter(|b| a.array == b.array).all(|b| {
                let has_order = (a.touch.changes() || b.touch.changes()) && !a.touch.commutes(b.touch);
                !has_order
                    || meet(a, b, iname, is_fixed).any(|meetings| match meetings {
                        Meetings::Never => true,
                        Meetings::Later(distance) => distance >= 0,
                    })
            })
        })
    }
}

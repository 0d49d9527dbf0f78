//! Walks over the part of an expression store below some roots, without recursion and in time linear in that part only.
//!
//! A kernel has many instructions over one large store: what is done per instruction must not cost the store's size.
//!
//! [`below`] lists the part, [`as_read`] lists it in the order of its text, [`arrays_below`] and [`reads`] look for what it reads, and [`terms`] opens nothing but sums.
//! [`OperandsFirst`] is for walks that know some nodes already, or open only some: it comes to a node when its operands are known. [`each_with`] is for whole stores.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::expr::{Expr, Exprs, Op};
use crate::ids::{ArrayId, ExprId};

/// The ids below `roots` (roots included), operands before operations.
#[must_use]
pub fn below(exprs: &Exprs, roots: impl IntoIterator<Item = ExprId>) -> Vec<ExprId> {
    let mut seen = FxHashSet::default();
    let mut pending: Vec<ExprId> = roots.into_iter().collect();
    let mut res = Vec::new();
    while let Some(id) = pending.pop() {
        if seen.insert(id) {
            res.push(id);
            pending.extend(exprs[id].children());
        }
    }
    res.sort_unstable();
    res
}

/// The ids below `root` (included), each once, in the order of the written expression: an operation, then its operands from left to right.
#[must_use]
pub fn as_read(exprs: &Exprs, root: ExprId) -> Vec<ExprId> {
    let (mut seen, mut pending, mut res) = (FxHashSet::default(), vec![root], Vec::new());
    while let Some(id) = pending.pop() {
        if seen.insert(id) {
            res.push(id);
            pending.extend(exprs[id].children().iter().rev());
        }
    }
    res
}

/// The arrays with an access below `roots`; what substitution rules read is not among them.
#[must_use]
pub fn arrays_below(exprs: &Exprs, roots: impl IntoIterator<Item = ExprId>) -> BTreeSet<ArrayId> {
    let array = |id: ExprId| match &exprs[id] {
        Expr::Access { array, .. } => Some(*array),
        _ => None,
    };
    below(exprs, roots).into_iter().filter_map(array).collect()
}

/// The ids below `roots`, roots included, with exactly one reader: an expression, or whoever gave the root.
#[must_use]
pub fn read_once(exprs: &Exprs, roots: &[ExprId]) -> FxHashSet<ExprId> {
    let below = below(exprs, roots.iter().copied());
    let (mut once, mut again) = (FxHashSet::default(), FxHashSet::default());
    for &id in below.iter().flat_map(|&id| exprs[id].children()).chain(roots) {
        if !once.insert(id) {
            again.insert(id);
        }
    }
    once.retain(|id| !again.contains(id));
    once
}

/// Whether an access to `array` is below `roots`.
#[must_use]
pub fn reads(exprs: &Exprs, roots: impl IntoIterator<Item = ExprId>, array: ArrayId) -> bool {
    below(exprs, roots).into_iter().any(|id| matches!(&exprs[id], Expr::Access { array: read, .. } if *read == array))
}

/// For each expression of a store, whether it or an expression below it satisfies the predicate.
#[must_use]
pub fn each_with(exprs: &Exprs, is_such: impl Fn(&Expr) -> bool) -> Vec<bool> {
    let mut res: Vec<bool> = Vec::with_capacity(exprs.len());
    for (_, expr) in exprs.iter() {
        res.push(is_such(expr) || expr.children().iter().any(|child| res[child.index()]));
    }
    res
}

/// The terms of a sum with their signs, nested sums taken apart; `None` if there are more than `max`: a shared sum is taken apart at each of its uses.
#[must_use]
pub fn terms(exprs: &Exprs, root: ExprId, max: usize) -> Option<Vec<(ExprId, f64)>> {
    let mut res = Vec::new();
    let mut pending = vec![(root, 1.0)];
    while let Some((id, sign)) = pending.pop() {
        match &exprs[id] {
            Expr::Op { op: Op::Add, operands } => pending.extend(operands.iter().rev().map(|&operand| (operand, sign))),
            Expr::Op { op: Op::Sub, operands } => pending.extend([(operands[1], -sign), (operands[0], sign)]),
            Expr::Op { op: Op::Neg, operands } => pending.push((operands[0], -sign)),
            _ => res.push((id, sign)),
        }
        if res.len() + pending.len() > max {
            return None;
        }
    }
    Some(res)
}

/// A walk over the nodes of a DAG, of type `N`, each when its operands are known: the caller makes it known before it asks for the next.
///
/// What knowing means is the caller's: mostly that a map has the node. Linear in the edges below the root, as far as they are not known already.
#[derive(Clone, Debug)]
pub struct OperandsFirst<N> {
    pending: Vec<N>,
}

impl<N: Clone> OperandsFirst<N> {
    /// A walk that ends when `root` is known.
    #[must_use]
    pub fn new(root: N) -> Self {
        Self { pending: vec![root] }
    }

    /// The next node that is not known; `None` when the root is.
    pub fn next_unknown(&mut self, is_known: impl Fn(&N) -> bool) -> Option<N> {
        while let Some(node) = self.pending.last() {
            if !is_known(node) {
                return Some(node.clone());
            }
            self.pending.pop();
        }
        None
    }

    /// Whether some operands of the node at hand are not known. They come before it then, the last of them first.
    pub fn waits_for(&mut self, operands: impl IntoIterator<Item = N>, is_known: impl Fn(&N) -> bool) -> bool {
        let n_pending = self.pending.len();
        self.pending.extend(operands.into_iter().filter(|operand| !is_known(operand)));
        self.pending.len() > n_pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_come_first_and_once() {
        let operands = |node: usize| (0..node).filter(move |other| node.is_multiple_of(other + 1));
        let mut known = Vec::new();
        let mut walk = OperandsFirst::new(6);
        while let Some(node) = walk.next_unknown(|node| known.contains(node)) {
            if walk.waits_for(operands(node), |node| known.contains(node)) {
                continue;
            }
            assert!(operands(node).all(|operand| known.contains(&operand)), "{node} comes too early");
            known.push(node);
        }
        assert_eq!(known.len(), 7, "{known:?}");
        assert_eq!(known.last(), Some(&6));
    }
}

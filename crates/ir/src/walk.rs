//! A walk that comes to the operands of a node before the node, without recursion.
//!
//! # Input
//! A root; which nodes are known, and for a node that is not, its operands. What knowing means is the caller's: mostly that a map has it.
//! # Output
//! Nodes of a DAG, each when all of its operands are known. The caller makes it known before it asks for the next.
//! # Complexity
//! Linear in the edges below the root, as far as they are not known already.

/// A walk over nodes of type `N`, operands first.
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
        let operands = |node: usize| (0..node).filter(move |other| node % (other + 1) == 0);
        let mut known = Vec::new();
        let mut walk = OperandsFirst::new(6);
        while let Some(node) = walk.next_unknown(|node| known.contains(node)) {
            if walk.waits_for(operands(node), |node| known.contains(node)) {
                continue;
            }
            assert!(operands(node).all(|operand| known.contains(&operand)), "{node} comes too early");
            known.push(node);
        }
        assert_eq!(known.len(), 5, "{known:?}");
        assert_eq!(known.last(), Some(&6));
    }
}

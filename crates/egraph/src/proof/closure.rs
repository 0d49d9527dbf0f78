//! A congruence closure that says why two terms are equal.
//!
//! Terms that are known to be equal form a tree of the equations that united them, so that between two of them there is one path. What a union by
//! congruence rests on is noted when it is made: it was known by then, and the paths between terms never change.

use std::collections::VecDeque;

use egg::{Id, Language};
use rustc_hash::FxHashMap;

use crate::language::Node;

/// Why two terms were united.
#[derive(Clone, Debug)]
pub(super) enum Reason {
    Rule {
        name: String,
        is_instance: bool,
    },
    Normal,
    /// The pairs of operands that are equal.
    Parts(Vec<(Id, Id)>),
}

/// An equation.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) left: Id,
    pub(super) right: Id,
    pub(super) reason: Reason,
}

/// The closure.
#[derive(Debug)]
pub(super) struct Closure {
    /// Terms by id.
    pub(super) nodes: Vec<Node>,
    /// Equations in the order in which they became known.
    pub(super) edges: Vec<Edge>,
    /// For each term one that stands nearer to what stands for all that equal it, itself at the end.
    above: Vec<Id>,
    /// For what stands for others: how many these are, the first, and the terms with an operand among them.
    size: Vec<usize>,
    first: Vec<Id>,
    uses: Vec<Vec<Id>>,
    /// For each term the next one on the way to the root of its tree, and the equation between the two.
    toward: Vec<Option<(Id, usize)>>,
    /// Terms by their node over what stands for the operands.
    known: FxHashMap<Node, Id>,
    pending: VecDeque<(Id, Id)>,
    /// Terms up to here may stand for a value.
    n_first: usize,
}

impl Closure {
    /// All terms, of which the first so many may stand for values.
    pub(super) fn new(nodes: Vec<Node>, n_first: usize) -> Self {
        let mut res = Self {
            nodes: Vec::with_capacity(nodes.len()),
            edges: Vec::new(),
            above: Vec::new(),
            size: Vec::new(),
            first: Vec::new(),
            uses: Vec::new(),
            toward: Vec::new(),
            known: FxHashMap::default(),
            pending: VecDeque::new(),
            n_first,
        };
        for node in nodes {
            res.push(node);
        }
        res.settle();
        res
    }

    fn push(&mut self, node: Node) -> Id {
        let id = Id::from(self.nodes.len());
        self.above.push(id);
        self.size.push(1);
        self.first.push(id);
        self.uses.push(Vec::new());
        self.toward.push(None);
        for &child in node.children() {
            let child = self.find(child);
            self.uses[usize::from(child)].push(id);
        }
        self.nodes.push(node);
        self.sign(id);
        id
    }

    /// Another term.
    pub(super) fn add(&mut self, node: Node) -> Id {
        let id = self.push(node);
        self.settle();
        id
    }

    fn find(&self, id: Id) -> Id {
        let mut at = id;
        while self.above[usize::from(at)] != at {
            at = self.above[usize::from(at)];
        }
        at
    }

    pub(super) fn is_equal(&self, left: Id, right: Id) -> bool {
        self.find(left) == self.find(right)
    }

    /// The oldest term equal to this one, leaving out terms that exist only for proofs.
    pub(super) fn first(&self, id: Id) -> Id {
        let first = self.first[usize::from(self.find(id))];
        if usize::from(first) < self.n_first { first } else { id }
    }

    /// Notes a term by its node; one that is known by the same node is equal.
    fn sign(&mut self, id: Id) {
        let node = self.nodes[usize::from(id)].clone().map_children(|child| self.find(child));
        match self.known.get(&node) {
            Some(&known) => self.pending.push_back((id, known)),
            None => {
                self.known.insert(node, id);
            }
        }
    }

    pub(super) fn unite(&mut self, left: Id, right: Id, reason: Reason) {
        self.join(left, right, reason);
        self.settle();
    }

    /// Follows up what is equal because its operands are.
    pub(super) fn settle(&mut self) {
        while let Some((left, right)) = self.pending.pop_front() {
            if !self.is_equal(left, right) {
                let parts = self.parts(left, right);
                self.join(left, right, Reason::Parts(parts));
            }
        }
    }

    /// The pairs of operands of two terms that are different and equal.
    fn parts(&self, left: Id, right: Id) -> Vec<(Id, Id)> {
        let children = [left, right].map(|id| self.nodes[usize::from(id)].children());
        let mut first: FxHashMap<Id, Id> = FxHashMap::default();
        let mut res = Vec::new();
        for &child in children.into_iter().flatten() {
            let known = *first.entry(self.find(child)).or_insert(child);
            if known != child {
                res.push((known, child));
            }
        }
        res.sort_unstable();
        res.dedup();
        res
    }

    fn join(&mut self, left: Id, right: Id, reason: Reason) {
        let (a, b) = (self.find(left), self.find(right));
        if a == b {
            return;
        }
        let edge = self.edges.len();
        self.edges.push(Edge { left, right, reason });
        let (small, large, from, to) = if self.size[usize::from(a)] <= self.size[usize::from(b)] {
            (a, b, left, right)
        } else {
            (b, a, right, left)
        };
        self.hang(from, to, edge);
        self.above[usize::from(small)] = large;
        self.size[usize::from(large)] += self.size[usize::from(small)];
        self.first[usize::from(large)] = self.first[usize::from(large)].min(self.first[usize::from(small)]);
        let uses = std::mem::take(&mut self.uses[usize::from(small)]);
        for &user in &uses {
            self.sign(user);
        }
        self.uses[usize::from(large)].extend(uses);
    }

    /// Turns the tree of `from` round so that it is its root, and hangs it below `to`.
    fn hang(&mut self, from: Id, to: Id, edge: usize) {
        let (mut at, mut next) = (from, Some((to, edge)));
        while let Some((to, edge)) = next {
            let before = self.toward[usize::from(at)].replace((to, edge));
            next = before.map(|(_, edge)| (at, edge));
            if let Some((above, _)) = before {
                at = above;
            }
        }
    }

    /// The equations between two equal terms, and whether each is read from right to left.
    pub(super) fn path(&self, from: Id, to: Id) -> Vec<(usize, bool)> {
        let way = |id: Id| {
            let mut res = vec![(id, usize::MAX)];
            while let Some((next, edge)) = self.toward[usize::from(res[res.len() - 1].0)] {
                res.push((next, edge));
            }
            res
        };
        let (mut up, mut down) = (way(from), way(to));
        // What both have in common at the root is on neither side of the turning point.
        while up.len() > 1 && down.len() > 1 && up[up.len() - 2].0 == down[down.len() - 2].0 {
            up.pop();
            down.pop();
        }
        let mut res = Vec::with_capacity(up.len() + down.len());
        let mut at = from;
        for &(next, edge) in &up[1..] {
            res.push((edge, self.edges[edge].left != at));
            at = next;
        }
        for &(_, edge) in down[1..].iter().rev() {
            let edge_is_reversed = self.edges[edge].left != at;
            at = if edge_is_reversed { self.edges[edge].left } else { self.edges[edge].right };
            res.push((edge, edge_is_reversed));
        }
        res
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rational::Rational;
    use nestegg_ir::InameId;

    fn leaf(idx: usize) -> Node {
        Node::Iname(InameId::new(idx))
    }

    #[test]
    fn equal_operands_join_and_the_path_says_why() {
        let id = |idx: usize| Id::from(idx);
        // 0, 1, 2: leaves; 3: 0 + 1; 4: 2·0; 5: the product of 3 and 2; 6: the product of 4 and 2.
        let one = || Rational::ONE;
        let nodes = vec![
            leaf(0),
            leaf(1),
            leaf(2),
            Node::sum([(one(), id(0)), (one(), id(1))]),
            Node::sum([(Rational::from_int(2), id(0))]),
            Node::product([(1, id(3)), (1, id(2))]),
            Node::product([(1, id(4)), (1, id(2))]),
        ];
        let mut closure = Closure::new(nodes, 7);
        assert!(!closure.is_equal(id(5), id(6)));
        closure.unite(id(1), id(0), Reason::Normal);
        assert!(closure.is_equal(id(5), id(6)));
        let path = closure.path(id(5), id(6));
        let Reason::Parts(parts) = &closure.edges[path[0].0].reason else { panic!("products of equal parts") };
        assert_eq!((path.len(), parts.as_slice()), (1, [(id(3), id(4))].as_slice()));
        let path = closure.path(id(4), id(3));
        let Reason::Parts(parts) = &closure.edges[path[0].0].reason else { panic!("sums of equal parts") };
        assert_eq!(parts.as_slice(), [(id(0), id(1))]);
        assert_eq!(closure.path(id(0), id(1)), [(0, true)]);
        assert_eq!(closure.path(id(0), id(0)), []);
        assert_eq!(closure.first(id(6)), id(5));
    }

    #[test]
    fn paths_lead_through_trees() {
        let id = |idx: usize| Id::from(idx);
        let mut closure = Closure::new((0..8).map(leaf).collect(), 8);
        for (a, b) in [(0, 1), (2, 3), (1, 3), (4, 5), (5, 2), (6, 7), (7, 4)] {
            closure.unite(id(a), id(b), Reason::Normal);
        }
        for a in 0..8 {
            for b in 0..8 {
                let mut at = id(a);
                for (edge, is_reversed) in closure.path(id(a), id(b)) {
                    let Edge { left, right, .. } = closure.edges[edge];
                    let (from, to) = if is_reversed { (right, left) } else { (left, right) };
                    assert_eq!(at, from);
                    at = to;
                }
                assert_eq!(at, id(b));
            }
        }
    }
}

//! Reference counts of a choice: what a change of one vertex's candidate adds to the cost of the whole, and what it frees.
//!
//! # Invariant
//! A vertex counts the needed vertices, and roots, that need it; what is counted by none costs nothing.
//! # Complexity
//! A change costs the vertices that become needed or are no longer; a test for a cycle visits at most [`CYCLE_LIMIT`].

use std::collections::BTreeSet;

use super::CYCLE_LIMIT;
use crate::cost::Cost;
use crate::product::{ProductGraph, Vertex};

/// How many needed vertices (and roots) need each vertex.
pub(super) struct References {
    pub(super) count: Vec<usize>,
    /// For each vertex that was needed at the start of the round its place, those that it needs before it.
    position: Vec<usize>,
    /// Whether the places still say so after the changes of the round.
    is_ordered: bool,
    /// Whether the candidate that was tested last needs a vertex with a later place.
    is_crossing: bool,
    /// For each vertex the number of the last test that saw it.
    seen: Vec<u32>,
    n_tests: u32,
}

impl References {
    pub(super) fn new(graph: &ProductGraph, choice: &[Option<usize>], order: &[Vertex]) -> Self {
        let mut count = vec![0; graph.len()];
        for &root in &graph.roots {
            count[root] += 1;
        }
        for &vertex in order {
            if let Some(idx) = choice[vertex] {
                for &child in &graph.candidates[vertex][idx].children {
                    count[child] += 1;
                }
            }
        }
        let mut position = vec![usize::MAX; graph.len()];
        for (idx, &vertex) in order.iter().enumerate() {
            position[vertex] = idx;
        }
        Self { count, position, is_ordered: true, is_crossing: false, seen: vec![0; graph.len()], n_tests: 0 }
    }

    /// Notes that the candidate that was tested last is taken.
    pub(super) fn settle(&mut self) {
        self.is_ordered &= !self.is_crossing;
    }

    /// Takes back the candidate of a needed vertex; answers what that saves with all that nothing needs then.
    pub(super) fn release(&mut self, graph: &ProductGraph, choice: &[Option<usize>], vertex: Vertex) -> Cost {
        let mut freed = Cost::ZERO;
        let mut pending = vec![vertex];
        while let Some(vertex) = pending.pop() {
            let Some(idx) = choice[vertex] else { continue };
            let candidate = &graph.candidates[vertex][idx];
            freed = freed + candidate.cost;
            for &child in &candidate.children {
                self.count[child] -= 1;
                if self.count[child] == 0 {
                    pending.push(child);
                }
            }
        }
        freed
    }

    /// Takes the candidate of a needed vertex; answers what that costs with all that was not needed before. Undone by [`Self::release`], also where a value
    /// cannot be computed or is below itself.
    pub(super) fn acquire(&mut self, graph: &ProductGraph, choice: &[Option<usize>], vertex: Vertex) -> Cost {
        let mut paid = Cost::ZERO;
        let mut pending = vec![vertex];
        while let Some(vertex) = pending.pop() {
            let Some(idx) = choice[vertex] else {
                paid = Cost::INFINITE;
                continue;
            };
            let candidate = &graph.candidates[vertex][idx];
            paid = paid + candidate.cost;
            for &child in &candidate.children {
                self.count[child] += 1;
                if self.count[child] == 1 {
                    pending.push(child);
                }
            }
        }
        paid
    }

    /// Whether the candidate can be computed without the vertex itself.
    pub(super) fn can_choose(
        &mut self,
        graph: &ProductGraph,
        choice: &[Option<usize>],
        vertex: Vertex,
        idx: usize,
        limits_hit: &mut BTreeSet<&'static str>,
    ) -> bool {
        self.n_tests += 1;
        let mut n_seen = 0;
        let mut pending = graph.candidates[vertex][idx].children.clone();
        self.is_crossing = false;
        while let Some(below) = pending.pop() {
            if below == vertex {
                return false;
            }
            if self.is_ordered && self.position[below] < self.position[vertex] {
                continue;
            }
            self.is_crossing |= self.position[below] != usize::MAX;
            if std::mem::replace(&mut self.seen[below], self.n_tests) != self.n_tests {
                n_seen += 1;
                if n_seen > CYCLE_LIMIT {
                    limits_hit.insert("cycle test");
                    return false;
                }
                let Some(choice) = choice[below] else { return false };
                pending.extend(&graph.candidates[below][choice].children);
            }
        }
        true
    }
}

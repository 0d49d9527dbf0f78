//! Selection: which e-node computes each value.
//!
//! # Input
//! A product graph.
//! # Output
//! For each vertex that is needed a candidate, without cycles; the cost of the whole, shared values paid once; a lower
//! bound on what any choice costs.
//! # Method
//! The cheaper of a bottom-up choice (shared values paid at each use) and, on graphs up to [`GREEDY_LIMIT`] vertices, a greedy
//! one with sets of what is already paid; then a local search with reference counts: a vertex changes its
//! candidate wherever that lowers the cost of the whole, and all that may use a value take it together where that does. Ties go to the first candidate in the order of (cost, e-node).
//! On small graphs a [certificate](crate::certificate) proves the choice, or mends it.
//! # Complexity
//! Bottom-up O(e-nodes · log); greedy O(e-nodes · vertices / 64) per round; the search O(e-nodes) reference counts
//! per round, at most [`ROUNDS_LIMIT`] rounds.
//! # Not done
//! Optimality: minimal extraction of a DAG is NP-hard. The bound proves it where the two meet.
//! Source: `egraph-study.md`, section 4.

mod references;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use fixedbitset::FixedBitSet;

use crate::certificate::certify;
use crate::cost::Cost;
use crate::product::{ProductGraph, Vertex};
use references::References;

/// The greedy choice keeps a set of vertices for each vertex; beyond so many it is left out.
pub const GREEDY_LIMIT: usize = 6_000;

/// Rounds of the local search.
pub const ROUNDS_LIMIT: usize = 12;

/// A value that more needed values than this may use is not tried for all of them together.
const USERS_LIMIT: usize = 64;

/// Vertices that one test for a cycle may visit; a change that would need more is left out.
pub const CYCLE_LIMIT: usize = 20_000;

/// A choice for every vertex that can be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// For each vertex the position of its candidate.
    pub choice: Vec<Option<usize>>,
    /// What the needed vertices cost together.
    pub cost: Cost,
    /// No choice costs less than this.
    pub bound: Cost,
    /// Limits that were hit.
    pub limits_hit: BTreeSet<&'static str>,
}

impl Selection {
    /// Whether the choice is proved to be the cheapest.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.cost == self.bound
    }
}

/// Some value has no candidate without a cycle: a bug of a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a value of the kernel cannot be computed by any of its forms")]
pub struct NoForm;

/// The first form of each value, as encoding made it: nothing is optimized, equal values are shared.
///
/// # Errors
/// If a value has no form.
pub fn select_first(graph: &ProductGraph) -> Result<Selection, NoForm> {
    finish(graph, bottom_up(graph), BTreeSet::new())
}

/// The cheapest forms that are found. A choice that costs more than `worth_proving` gets no certificate.
///
/// # Errors
/// If a value has no form.
pub fn select(graph: &ProductGraph, worth_proving: Cost) -> Result<Selection, NoForm> {
    let mut limits_hit = BTreeSet::new();
    let mut best = bottom_up(graph);
    if graph.candidates.iter().all(|candidates| candidates.len() < 2) {
        return finish(graph, best, limits_hit);
    }
    search(graph, &mut best, &mut limits_hit);
    if graph.len() <= GREEDY_LIMIT {
        let mut other = greedy(graph);
        search(graph, &mut other, &mut limits_hit);
        // Greedy sets may be out of date for values that the choice did not need before the search.
        let is_cheaper = cost_of(graph, &other).is_some_and(|cost| Some(cost) < cost_of(graph, &best));
        if is_cheaper && is_acyclic(graph, &other) {
            best = other;
        }
    } else {
        limits_hit.insert("greedy selection");
    }
    let found = finish(graph, best, limits_hit)?;
    let certificate = if found.is_optimal() || found.cost > worth_proving { None } else { certify(graph, found.cost) };
    match certificate {
        Some(certificate) => {
            let choice = certificate.choice.unwrap_or(found.choice);
            let cost = cost_of(graph, &choice).ok_or(NoForm)?;
            Ok(Selection { choice, cost, bound: certificate.bound.max(found.bound), limits_hit: found.limits_hit })
        }
        None => Ok(found),
    }
}

fn finish(
    graph: &ProductGraph,
    choice: Vec<Option<usize>>,
    limits_hit: BTreeSet<&'static str>,
) -> Result<Selection, NoForm> {
    let cost = cost_of(graph, &choice).ok_or(NoForm)?;
    let bound = lower_bound(graph).min(cost);
    Ok(Selection { choice, cost, bound, limits_hit })
}

/// The vertices that a choice needs, children before those that need them; `None` if one has no choice.
#[must_use]
pub fn needed(graph: &ProductGraph, choice: &[Option<usize>]) -> Option<Vec<Vertex>> {
    let mut state = vec![0_u8; graph.len()];
    let mut order = Vec::new();
    let mut pending: Vec<Vertex> = graph.roots.iter().rev().copied().collect();
    while let Some(&vertex) = pending.last() {
        match state[vertex] {
            0 => {
                state[vertex] = 1;
                let candidate = &graph.candidates[vertex][choice[vertex]?];
                pending.extend(candidate.children.iter().rev().filter(|&&child| state[child] == 0));
            }
            _ => {
                pending.pop();
                if state[vertex] == 1 {
                    state[vertex] = 2;
                    order.push(vertex);
                }
            }
        }
    }
    Some(order)
}

fn cost_of(graph: &ProductGraph, choice: &[Option<usize>]) -> Option<Cost> {
    let order = needed(graph, choice)?;
    Some(order.into_iter().map(|vertex| graph.candidates[vertex][choice[vertex].unwrap_or(0)].cost).sum())
}

/// The cheapest tree of each vertex, in the order of their costs (Knuth's generalisation of Dijkstra's algorithm).
fn bottom_up(graph: &ProductGraph) -> Vec<Option<usize>> {
    let n = graph.len();
    let mut users: Vec<Vec<(Vertex, usize)>> = vec![Vec::new(); n];
    let mut n_missing: Vec<Vec<usize>> = Vec::with_capacity(n);
    let mut total: Vec<Vec<Cost>> = Vec::with_capacity(n);
    let mut heap: BinaryHeap<Reverse<(Cost, Vertex, usize)>> = BinaryHeap::new();
    for (vertex, candidates) in graph.candidates.iter().enumerate() {
        n_missing.push(candidates.iter().map(|candidate| candidate.children.len()).collect());
        total.push(candidates.iter().map(|candidate| candidate.cost).collect());
        for (idx, candidate) in candidates.iter().enumerate() {
            for &child in &candidate.children {
                users[child].push((vertex, idx));
            }
            if candidate.children.is_empty() {
                heap.push(Reverse((candidate.cost, vertex, idx)));
            }
        }
    }
    let mut choice: Vec<Option<usize>> = vec![None; n];
    while let Some(Reverse((cost, vertex, idx))) = heap.pop() {
        if choice[vertex].is_some() {
            continue;
        }
        choice[vertex] = Some(idx);
        for &(user, user_idx) in &users[vertex] {
            total[user][user_idx] = total[user][user_idx] + cost;
            n_missing[user][user_idx] -= 1;
            if n_missing[user][user_idx] == 0 && choice[user].is_none() {
                heap.push(Reverse((total[user][user_idx], user, user_idx)));
            }
        }
    }
    choice
}

/// A choice by costs of sets: what a candidate's children need is paid once. Rounds until nothing changes.
fn greedy(graph: &ProductGraph) -> Vec<Option<usize>> {
    let n = graph.len();
    let mut choice: Vec<Option<usize>> = vec![None; n];
    let mut sets: Vec<Option<(Cost, FixedBitSet)>> = vec![None; n];
    // The cost of each vertex's own candidate, for the sums over sets.
    let mut own = vec![Cost::ZERO; n];
    let order = bottom_up_order(graph);
    for _ in 0..ROUNDS_LIMIT {
        let mut changed = false;
        for &vertex in &order {
            for (idx, candidate) in graph.candidates[vertex].iter().enumerate() {
                if choice[vertex] == Some(idx) || candidate.children.iter().any(|&child| sets[child].is_none()) {
                    continue;
                }
                let mut set = FixedBitSet::with_capacity(n);
                for &child in &candidate.children {
                    if let Some((_, below)) = &sets[child] {
                        set.union_with(below);
                    }
                }
                if set.contains(vertex) {
                    continue;
                }
                let cost = set.ones().map(|below| own[below]).sum::<Cost>() + candidate.cost;
                if sets[vertex].as_ref().is_none_or(|(known, _)| cost < *known) {
                    set.insert(vertex);
                    sets[vertex] = Some((cost, set));
                    choice[vertex] = Some(idx);
                    own[vertex] = candidate.cost;
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    if is_acyclic(graph, &choice) { choice } else { bottom_up(graph) }
}

/// Vertices with those that some candidate needs first, as far as there are no cycles.
fn bottom_up_order(graph: &ProductGraph) -> Vec<Vertex> {
    let mut state = vec![0_u8; graph.len()];
    let mut order = Vec::with_capacity(graph.len());
    for root in 0..graph.len() {
        let mut pending = vec![root];
        while let Some(&vertex) = pending.last() {
            if state[vertex] == 0 {
                state[vertex] = 1;
                let children = graph.candidates[vertex].iter().flat_map(|candidate| &candidate.children);
                pending.extend(children.filter(|&&child| state[child] == 0));
            } else {
                pending.pop();
                if state[vertex] == 1 {
                    state[vertex] = 2;
                    order.push(vertex);
                }
            }
        }
    }
    order
}

fn is_acyclic(graph: &ProductGraph, choice: &[Option<usize>]) -> bool {
    let Some(order) = needed(graph, choice) else { return false };
    let mut position = vec![usize::MAX; graph.len()];
    for (idx, &vertex) in order.iter().enumerate() {
        position[vertex] = idx;
    }
    order.iter().all(|&vertex| {
        graph.candidates[vertex][choice[vertex].unwrap_or(0)]
            .children
            .iter()
            .all(|&child| position[child] < position[vertex])
    })
}

/// Changes candidates one by one while that lowers the cost of the whole.
fn search(graph: &ProductGraph, choice: &mut [Option<usize>], limits_hit: &mut BTreeSet<&'static str>) {
    for round in 0.. {
        let Some(order) = needed(graph, choice) else { return };
        let mut references = References::new(graph, choice, &order);
        let mut changed = false;
        for &vertex in order.iter().rev() {
            if references.count[vertex] == 0 || graph.candidates[vertex].len() < 2 {
                continue;
            }
            for idx in 0..graph.candidates[vertex].len() {
                let Some(old) = choice[vertex].filter(|&old| old != idx) else { continue };
                // What it costs is known from the few values that change; whether it is below itself is asked of all values below, where it matters.
                let freed = references.release(graph, choice, vertex);
                choice[vertex] = Some(idx);
                let paid = references.acquire(graph, choice, vertex);
                if paid < freed && references.can_choose(graph, choice, vertex, idx, limits_hit) {
                    changed = true;
                    references.settle();
                } else {
                    references.release(graph, choice, vertex);
                    choice[vertex] = Some(old);
                    references.acquire(graph, choice, vertex);
                }
            }
        }
        if !changed && !share(graph, choice, limits_hit) {
            return;
        }
        if round + 1 == ROUNDS_LIMIT {
            limits_hit.insert("search rounds");
            return;
        }
    }
}

/// Takes values that nothing needs yet where that is cheaper for all who may use them together than for none; answers whether there was one.
fn share(graph: &ProductGraph, choice: &mut [Option<usize>], limits_hit: &mut BTreeSet<&'static str>) -> bool {
    let Some(order) = needed(graph, choice) else { return false };
    let mut references = References::new(graph, choice, &order);
    // For each value that nothing needs who may use it, each by its cheapest candidate: these come first.
    let mut users: Vec<Vec<(Vertex, usize)>> = vec![Vec::new(); graph.len()];
    for &vertex in order.iter().rev() {
        for (idx, candidate) in graph.candidates[vertex].iter().enumerate() {
            for &child in candidate.children.iter().filter(|&&child| references.count[child] == 0) {
                if users[child].last().is_none_or(|last| last.0 != vertex) {
                    users[child].push((vertex, idx));
                }
            }
        }
    }
    let mut changed = false;
    for (value, users) in users.iter().enumerate() {
        if references.count[value] > 0 || !(2..=USERS_LIMIT).contains(&users.len()) {
            continue;
        }
        let (mut freed, mut paid) = (Cost::ZERO, Cost::ZERO);
        let mut taken: Vec<(Vertex, usize)> = Vec::new();
        for &(user, idx) in users {
            let Some(old) = choice[user].filter(|_| references.count[user] > 0) else { continue };
            if references.can_choose(graph, choice, user, idx, limits_hit) {
                freed = freed + references.release(graph, choice, user);
                choice[user] = Some(idx);
                paid = paid + references.acquire(graph, choice, user);
                references.settle();
                taken.push((user, old));
            }
        }
        if paid < freed {
            changed = true;
            continue;
        }
        for (user, old) in taken.into_iter().rev() {
            references.release(graph, choice, user);
            choice[user] = Some(old);
            references.acquire(graph, choice, user);
        }
    }
    changed
}

/// What every choice pays: vertices that are needed whatever is chosen, each at its cheapest.
fn lower_bound(graph: &ProductGraph) -> Cost {
    let mut is_forced = vec![false; graph.len()];
    let mut pending = graph.roots.clone();
    let mut bound = Cost::ZERO;
    while let Some(vertex) = pending.pop() {
        if std::mem::replace(&mut is_forced[vertex], true) {
            continue;
        }
        let candidates = &graph.candidates[vertex];
        bound = bound + candidates.iter().map(|candidate| candidate.cost).min().unwrap_or_default();
        if let Some((first, others)) = candidates.split_first() {
            let in_all = |child: &&Vertex| others.iter().all(|other| other.children.binary_search(child).is_ok());
            pending.extend(first.children.iter().filter(in_all));
        }
    }
    bound
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::Candidate;
    use egg::Id;
    use nestegg_egraph::language::Node;

    /// A graph from (cost, children) per candidate per vertex; the last vertex is the root.
    fn graph(candidates: &[&[(u128, &[Vertex])]]) -> ProductGraph {
        let candidates: Vec<Vec<Candidate>> = candidates
            .iter()
            .map(|candidates| {
                candidates
                    .iter()
                    .map(|(cost, children)| Candidate {
                        node: Node::sum([]),
                        accumulated: Vec::new(),
                        children: children.to_vec(),
                        cost: Cost::new(*cost),
                        reach: Default::default(),
                    })
                    .collect()
            })
            .collect();
        let n = candidates.len();
        ProductGraph {
            classes: (0..n).map(Id::from).collect(),
            vertices: Default::default(),
            points: vec![Cost::new(1); n],
            roots: vec![n - 1],
            candidates,
        }
    }

    #[test]
    fn sharing_is_paid_once() {
        // The root needs two values; each is 6 by itself, or 1 on top of a shared value of 9.
        let graph = graph(&[&[(9, &[])], &[(6, &[]), (1, &[0])], &[(6, &[]), (1, &[0])], &[(0, &[1, 2])]]);
        let selection = select(&graph, Cost::INFINITE).unwrap();
        assert!(selection.cost <= Cost::new(12) && selection.cost >= selection.bound);
        let forced =
            super::select(&self::graph(&[&[(9, &[])], &[(1, &[0])], &[(1, &[0])], &[(0, &[1, 2])]]), Cost::INFINITE)
                .unwrap();
        assert_eq!((forced.cost, forced.is_optimal()), (Cost::new(11), true));
    }

    #[test]
    fn a_value_is_taken_by_all_its_users_together() {
        // Three values, each 4 by itself or 1 with a shared value of 5 that no single change pays.
        let own: &[(u128, &[Vertex])] = &[(4, &[]), (1, &[0])];
        let graph = graph(&[&[(5, &[])], own, own, own, &[(0, &[1, 2, 3])]]);
        let mut choice = bottom_up(&graph);
        assert_eq!(cost_of(&graph, &choice), Some(Cost::new(12)));
        search(&graph, &mut choice, &mut BTreeSet::new());
        assert_eq!(cost_of(&graph, &choice), Some(Cost::new(8)));
        let certificate = certify(&graph, Cost::new(12)).unwrap();
        assert_eq!(certificate.bound, Cost::new(8));
        assert!(certificate.choice.is_some());
    }

    #[test]
    fn a_certificate_cuts_off_cycles() {
        let graph = graph(&[&[(0, &[1]), (5, &[])], &[(0, &[0]), (7, &[])], &[(0, &[0, 1])]]);
        let certificate = certify(&graph, Cost::new(9)).unwrap();
        assert_eq!(certificate.bound, Cost::new(5));
    }

    #[test]
    fn cycles_are_never_chosen() {
        let graph = graph(&[&[(0, &[1]), (5, &[])], &[(0, &[0]), (7, &[])], &[(0, &[0, 1])]]);
        let selection = select(&graph, Cost::INFINITE).unwrap();
        assert_eq!(selection.cost, Cost::new(5));
        assert!(is_acyclic(&graph, &selection.choice));
    }

    #[test]
    fn changes_are_undone_whatever_they_need() {
        // The second form of the root needs a value without form, then one that is free, then the root itself.
        let graph = graph(&[&[(0, &[0])], &[(2, &[])], &[(1, &[3])], &[(3, &[]), (1, &[0, 1, 2])]]);
        let mut choice = bottom_up(&graph);
        let order = needed(&graph, &choice).unwrap();
        let mut references = References::new(&graph, &choice, &order);
        let before = references.count.clone();
        assert_eq!(references.release(&graph, &choice, 3), Cost::new(3));
        choice[3] = Some(1);
        assert_eq!(references.acquire(&graph, &choice, 3), Cost::INFINITE);
        references.release(&graph, &choice, 3);
        assert_eq!(references.count, before);
    }

    #[test]
    fn a_value_without_form_is_an_error() {
        assert_eq!(select(&graph(&[&[(0, &[1])], &[(0, &[0])]]), Cost::INFINITE), Err(NoForm));
    }
}

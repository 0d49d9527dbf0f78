//! What of the 0-1 program is decided before it is solved.
//!
//! # Input
//! A program whose candidates that are not worth it are gone.
//! # Output
//! Which vertices need variables of their own, and the inequalities between them.
//! # Method
//! A vertex with one candidate that every choice needs is computed whole; one that costs nothing, and needs nothing that is not, may as well be.
//! A vertex with one candidate that only one other vertex may use is computed to the part that the candidates are which use it. What every choice
//! needs is there whoever uses it, unless some of its candidates need the user back. All this leaves the least cost as it is: costs are not
//! negative, so that nothing is computed to a larger part than it is used.
//! # Complexity
//! Candidates and their operands, times rounds in which more vertices turn out to cost nothing, at most as many as there are vertices.

use fixedbitset::FixedBitSet;

use super::Program;
use crate::product::Vertex;

/// To what part a vertex is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// That is a question of its own.
    Own,
    /// As a whole, whatever is chosen.
    Whole,
    /// The part that these candidates of another vertex are.
    Of(Vertex, Vec<usize>),
}

/// Candidates of a vertex together are at most so large a part as those candidates of a child which may serve them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) user: Vertex,
    pub(super) using: Vec<usize>,
    pub(super) child: Vertex,
    pub(super) used: Vec<usize>,
}

/// The inequalities of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// For each vertex.
    parts: Vec<Part>,
    /// Those that are not true anyway.
    pub(super) all: Vec<Link>,
}

impl Links {
    /// The inequalities between the vertices of a program.
    pub(super) fn new(program: &Program<'_>) -> Self {
        let n = program.graph.len();
        let whole = whole(program);
        let mut all = Vec::new();
        for &user in &program.vertices {
            all.extend(links_of(program, user, &whole));
        }
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); n];
        for (at, link) in all.iter().enumerate() {
            users[link.child].push(at);
        }
        let mut parts: Vec<Part> =
            (0..n).map(|vertex| if whole.contains(vertex) { Part::Whole } else { Part::Own }).collect();
        let mut is_said = vec![false; all.len()];
        for &vertex in &program.vertices {
            let may_be = parts[vertex] == Part::Own && !program.forced.contains(vertex);
            if let ([at], [_]) = (users[vertex].as_slice(), program.candidates[vertex].as_slice())
                && may_be
                && !all[*at].used.is_empty()
            {
                is_said[*at] = true;
                parts[vertex] = Part::Of(all[*at].user, all[*at].using.clone());
            }
        }
        let mut at = 0;
        all.retain(|_| {
            at += 1;
            !is_said[at - 1]
        });
        let mut res = Self { parts, all };
        res.follow(&program.vertices);
        res
    }

    /// To what part a vertex is computed.
    pub(super) fn part(&self, vertex: Vertex) -> &Part {
        &self.parts[vertex]
    }

    /// Lets no part be that of a vertex which is itself said to be a part: users of users come to an end, for roots are there as a whole.
    fn follow(&mut self, vertices: &[Vertex]) {
        for &start in vertices {
            let mut path = Vec::new();
            let mut vertex = start;
            while let Part::Of(user, _) = self.parts[vertex] {
                path.push(vertex);
                if self.parts[user] == Part::Own || path.len() > vertices.len() {
                    break;
                }
                vertex = user;
            }
            while let Some(vertex) = path.pop() {
                if let Part::Of(user, _) = self.parts[vertex]
                    && self.parts[user] != Part::Own
                {
                    self.parts[vertex] = self.parts[user].clone();
                }
            }
        }
    }
}

/// The vertices that are computed as a whole.
fn whole(program: &Program<'_>) -> FixedBitSet {
    let mut res = FixedBitSet::with_capacity(program.graph.len());
    loop {
        let mut is_changed = false;
        for &vertex in program.vertices.iter().filter(|&&vertex| program.candidates[vertex].len() == 1) {
            let candidate = &program.graph.candidates[vertex][program.candidates[vertex][0]];
            let is_free =
                candidate.cost.operations() == 0 && candidate.children.iter().all(|&child| res.contains(child));
            if (program.forced.contains(vertex) || is_free) && !res.put(vertex) {
                is_changed = true;
            }
        }
        if !is_changed {
            return res;
        }
    }
}

/// What a vertex needs of its children.
fn links_of(program: &Program<'_>, user: Vertex, whole: &FixedBitSet) -> Vec<Link> {
    let children = |idx: usize| &program.graph.candidates[user][idx].children;
    let mut below: Vec<Vertex> =
        program.candidates[user].iter().flat_map(|&idx| children(idx).iter().copied()).collect();
    below.sort_unstable();
    below.dedup();
    let mut res = Vec::new();
    for child in below {
        let candidates = &program.candidates[child];
        let used: Vec<usize> = candidates.iter().copied().filter(|&idx| !program.needs(child, idx, user)).collect();
        let is_there = whole.contains(child) || program.forced.contains(child);
        if !is_there || used.len() < candidates.len() {
            let using = program.candidates[user].iter().copied();
            let using = using.filter(|&idx| children(idx).binary_search(&child).is_ok()).collect();
            res.push(Link { user, using, child, used });
        }
    }
    res
}

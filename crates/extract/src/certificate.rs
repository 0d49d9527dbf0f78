//! A certificate of a selection: the same choice as a 0-1 program.
//!
//! # Input
//! A product graph and the cost of the best choice that is known.
//! # Output
//! A bound that no choice is below, and a cheaper choice if there is one.
//! # Method
//! What every way to compute a vertex needs is its *must* set (a greatest fixpoint). Candidates that must need themselves go, and those that
//! another one is no dearer than with nothing but what they need anyway. One variable for each other candidate of what can be needed, but for those
//! that are [decided](links) by others: what must be needed has one candidate, others at most one; what a chosen candidate needs has one that does not need it back. The
//! relaxation to the interval from 0 to 1 is solved exactly but for rounding, and branched on, at most [`NODES_LIMIT`] times; a chosen cycle is cut
//! off where it turns up.
//! Costs are integers, so that a bound is rounded up.
//! # Complexity
//! At most [`NODES_LIMIT`] linear programs with at most [`VARIABLES_LIMIT`] variables.
//! # Not done
//! Larger graphs: the program takes far longer than everything else, and proves what was found already (`egraph-study.md`, section 4).

mod links;

use fixedbitset::FixedBitSet;
use good_lp::{
    Expression, ProblemVariables, ResolutionError, Solution, SolverModel, Variable, constraint, microlp, variable,
};

use crate::cost::Cost;
use crate::product::{ProductGraph, Vertex};
use crate::select::needed;
use links::{Links, Part};

/// Vertices beyond which there is no certificate.
pub(crate) const VERTICES_LIMIT: usize = 1_000;

/// Candidates with a choice beyond which there is no certificate.
pub(crate) const VARIABLES_LIMIT: usize = 150;

/// Linear programs that are solved for one certificate.
pub(crate) const NODES_LIMIT: usize = 32;

/// Costs from which on the program's numbers are not exact.
const COST_LIMIT: u128 = 1 << 40;

/// How far from an integer a value may be that counts as one, and how far a bound is lowered for rounding, relatively.
const INTEGRALITY: f64 = 1e-6;

/// What is proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificate {
    /// No choice costs less.
    pub(crate) bound: Cost,
    /// A choice that costs less than what was known.
    pub(crate) choice: Option<Vec<Option<usize>>>,
}

/// A choice that is fixed in a branch: (vertex, candidate, taken or not).
type Branch = Vec<(Vertex, usize, bool)>;

/// Proves a bound, or finds a cheaper choice; `None` where the graph is too large, or the solver fails.
pub(crate) fn certify(graph: &ProductGraph, known: Cost) -> Option<Certificate> {
    if known.operations() >= COST_LIMIT {
        return None;
    }
    let program = Program::new(graph)?;
    let (mut best, mut choice) = (known, None);
    let mut cycles: Vec<Vec<Vertex>> = Vec::new();
    // Branches with the bound of the one that they come from; the lowest bounds first.
    let mut open: Vec<(Cost, Branch)> = vec![(Cost::ZERO, Branch::new())];
    for _ in 0..NODES_LIMIT {
        let Some(at) = (0..open.len()).min_by_key(|&at| open[at].0) else { break };
        let (inherited, branch) = open.swap_remove(at);
        let relaxed = match program.relaxation(&branch, &cycles) {
            Ok(relaxed) => relaxed,
            Err(ResolutionError::Infeasible) => continue,
            Err(_) => return None,
        };
        let bound = relaxed.bound.max(inherited);
        if bound >= best {
            continue;
        }
        if let Some((vertex, candidate)) = relaxed.fractional {
            for is_taken in [true, false] {
                let mut branch = branch.clone();
                branch.push((vertex, candidate, is_taken));
                open.push((bound, branch));
            }
        } else if let Some(cycle) = cycle(graph, &relaxed.choice) {
            cycles.push(cycle);
            open.push((bound, branch));
        } else {
            let order = needed(graph, &relaxed.choice)?;
            let cost: Cost = order.into_iter().map(|vertex| cost_of(graph, &relaxed.choice, vertex)).sum();
            if cost < best {
                (best, choice) = (cost, Some(relaxed.choice));
            }
        }
    }
    let bound = open.into_iter().map(|(bound, _)| bound).min().map_or(best, |bound| bound.min(best));
    Some(Certificate { bound, choice })
}

fn cost_of(graph: &ProductGraph, choice: &[Option<usize>], vertex: Vertex) -> Cost {
    choice[vertex].map_or(Cost::ZERO, |idx| graph.candidates[vertex][idx].cost)
}

/// What can be needed.
struct Program<'a> {
    graph: &'a ProductGraph,
    /// The vertices, in increasing order.
    vertices: Vec<Vertex>,
    /// For each vertex the candidates that may be worth it.
    candidates: Vec<Vec<usize>>,
    /// For each vertex what every way to compute it needs, itself too.
    must: Vec<FixedBitSet>,
    /// What every choice needs.
    forced: FixedBitSet,
    /// Who needs whom, as far as that is not decided.
    links: Links,
}

impl<'a> Program<'a> {
    /// `None` if it is too large.
    fn new(graph: &'a ProductGraph) -> Option<Self> {
        let n = graph.len();
        if n > VERTICES_LIMIT {
            return None;
        }
        let candidates = graph.candidates.iter().map(|candidates| (0..candidates.len()).collect()).collect();
        let mut all = FixedBitSet::with_capacity(n);
        all.insert_range(..);
        let forced = FixedBitSet::with_capacity(n);
        let mut res =
            Self { graph, vertices: Vec::new(), candidates, must: vec![all; n], forced, links: Links::default() };
        res.find_must();
        for &root in &graph.roots {
            res.forced.union_with(&res.must[root]);
        }
        for vertex in 0..n {
            res.drop_dominated(vertex);
        }
        res.vertices = res.reachable();
        let n_variables: usize =
            res.vertices.iter().map(|&vertex| res.candidates[vertex].len()).filter(|&n| n > 1).sum();
        if n_variables > VARIABLES_LIMIT {
            return None;
        }
        res.links = Links::new(&res);
        Some(res)
    }

    /// What a candidate needs whatever else is chosen.
    fn must_of(&self, vertex: Vertex, idx: usize) -> FixedBitSet {
        let mut res = FixedBitSet::with_capacity(self.graph.len());
        for &child in &self.graph.candidates[vertex][idx].children {
            res.union_with(&self.must[child]);
        }
        res
    }

    /// Whether a candidate needs a vertex whatever else is chosen.
    fn needs(&self, vertex: Vertex, idx: usize, other: Vertex) -> bool {
        self.graph.candidates[vertex][idx].children.iter().any(|&child| self.must[child].contains(other))
    }

    /// The greatest fixpoint: a vertex must have itself, and what all of its candidates must have.
    fn find_must(&mut self) {
        loop {
            let mut is_changed = false;
            for vertex in 0..self.graph.len() {
                let possible = self.candidates[vertex].iter().map(|&idx| self.must_of(vertex, idx));
                let common = possible.reduce(|mut common, other| {
                    common.intersect_with(&other);
                    common
                });
                if let Some(mut common) = common {
                    common.insert(vertex);
                    common.intersect_with(&self.must[vertex]);
                    is_changed |= common != self.must[vertex];
                    self.must[vertex] = common;
                }
            }
            if !is_changed {
                return;
            }
        }
    }

    /// Drops candidates that need their own value, and those that cost no less than another one that needs nothing beyond what they need.
    fn drop_dominated(&mut self, vertex: Vertex) {
        let candidates = &self.graph.candidates[vertex];
        let musts: Vec<FixedBitSet> = (0..candidates.len()).map(|idx| self.must_of(vertex, idx)).collect();
        let mut kept: Vec<usize> = Vec::new();
        // Cheaper candidates come first.
        for (idx, candidate) in candidates.iter().enumerate() {
            let is_dominated = |&other: &usize| {
                let other = &candidates[other];
                other.cost <= candidate.cost && other.children.iter().all(|&child| musts[idx].contains(child))
            };
            if !musts[idx].contains(vertex) && !kept.iter().any(is_dominated) {
                kept.push(idx);
            }
        }
        self.candidates[vertex] = kept;
    }

    /// What some choice needs, in increasing order.
    fn reachable(&self) -> Vec<Vertex> {
        let mut is_seen = FixedBitSet::with_capacity(self.graph.len());
        let mut pending = self.graph.roots.clone();
        while let Some(vertex) = pending.pop() {
            if !is_seen.put(vertex) {
                let candidates = self.candidates[vertex].iter().map(|&idx| &self.graph.candidates[vertex][idx]);
                pending.extend(candidates.flat_map(|candidate| candidate.children.iter().copied()));
            }
        }
        is_seen.ones().collect()
    }

    /// The cheapest choice of parts of candidates.
    fn relaxation(&self, branch: &[(Vertex, usize, bool)], cycles: &[Vec<Vertex>]) -> Result<Relaxed, ResolutionError> {
        let mut program = ProblemVariables::new();
        // For each vertex its candidates: position, variable.
        let mut variables: Vec<Vec<(usize, Variable)>> = vec![Vec::new(); self.graph.len()];
        for &vertex in self.vertices.iter().filter(|&&vertex| *self.links.part(vertex) == Part::Own) {
            for &idx in &self.candidates[vertex] {
                let fixed = branch.iter().find(|fixed| (fixed.0, fixed.1) == (vertex, idx));
                let (min, max) = match fixed {
                    Some((_, _, true)) => (1.0, 1.0),
                    Some((_, _, false)) => (0.0, 0.0),
                    None => (0.0, 1.0),
                };
                variables[vertex].push((idx, program.add(variable().min(min).max(max))));
            }
        }
        // The part of a vertex that is computed by some of its candidates.
        let among = |vertex: Vertex, is_meant: &dyn Fn(usize) -> bool| -> Expression {
            let own = |vertex: Vertex, is_meant: &dyn Fn(usize) -> bool| -> Expression {
                variables[vertex].iter().filter(|(idx, _)| is_meant(*idx)).map(|&(_, var)| var).sum()
            };
            match self.links.part(vertex) {
                Part::Own => own(vertex, is_meant),
                _ if !self.candidates[vertex].iter().any(|&idx| is_meant(idx)) => Expression::from(0.0),
                Part::Whole => Expression::from(1.0),
                Part::Of(user, using) => own(*user, &|idx| using.contains(&idx)),
            }
        };
        let mut total = Expression::from(0.0);
        for &vertex in &self.vertices {
            for &idx in &self.candidates[vertex] {
                // Exact: costs that matter are below 2^40.
                let cost = self.graph.candidates[vertex][idx].cost.operations() as f64;
                total.add_mul(cost, among(vertex, &|other| other == idx));
            }
        }
        let mut model = program.minimise(total.clone()).using(microlp);
        for &vertex in self.vertices.iter().filter(|&&vertex| *self.links.part(vertex) == Part::Own) {
            let whole = among(vertex, &|_| true);
            model.add_constraint(match self.forced.contains(vertex) {
                true => constraint!(whole == 1.0),
                false => constraint!(whole <= 1.0),
            });
        }
        for link in &self.links.all {
            let using = among(link.user, &|idx| link.using.contains(&idx));
            let used = among(link.child, &|idx| link.used.contains(&idx));
            model.add_constraint(constraint!(using <= used));
        }
        let children = |vertex: Vertex, idx: usize| &self.graph.candidates[vertex][idx].children;
        for cycle in cycles {
            let stays = |vertex: Vertex, idx: usize| children(vertex, idx).iter().any(|child| cycle.contains(child));
            let within: Expression = cycle.iter().map(|&vertex| among(vertex, &|idx| stays(vertex, idx))).sum();
            model.add_constraint(constraint!(within <= cycle.len() as f64 - 1.0));
        }
        let solution = model.solve()?;
        let value = solution.eval(total);
        // Never negative, and rounded up to the next integer, as costs are.
        let bound = Cost::new((value - INTEGRALITY * value.max(1.0)).ceil().max(0.0) as u128);
        let mut res = Relaxed { bound, fractional: None, choice: vec![None; self.graph.len()] };
        let mut least_decided = INTEGRALITY;
        for &vertex in &self.vertices {
            if let [only] = self.candidates[vertex].as_slice() {
                res.choice[vertex] = Some(*only);
                continue;
            }
            for &(idx, var) in &variables[vertex] {
                let value = solution.value(var);
                let distance = value.min(1.0 - value);
                if distance > least_decided {
                    (least_decided, res.fractional) = (distance, Some((vertex, idx)));
                }
                if res.choice[vertex].is_none() && value > 1.0 - INTEGRALITY {
                    res.choice[vertex] = Some(idx);
                }
            }
        }
        Ok(res)
    }
}

/// The solution of a relaxed program.
struct Relaxed {
    bound: Cost,
    /// A candidate of several that is taken in part.
    fractional: Option<(Vertex, usize)>,
    /// The candidates that are taken as a whole.
    choice: Vec<Option<usize>>,
}

/// A cycle among the needed vertices of a choice.
fn cycle(graph: &ProductGraph, choice: &[Option<usize>]) -> Option<Vec<Vertex>> {
    let mut state = vec![0_u8; graph.len()];
    for &root in &graph.roots {
        let mut path = vec![(root, 0)];
        while let Some((vertex, next)) = path.last_mut() {
            let vertex = *vertex;
            state[vertex] = 1;
            let children = choice[vertex].map_or(&[][..], |idx| &graph.candidates[vertex][idx].children);
            match children.get(*next) {
                Some(&child) => {
                    *next += 1;
                    if state[child] == 1 {
                        let start = path.iter().position(|(vertex, _)| *vertex == child)?;
                        return Some(path[start..].iter().map(|(vertex, _)| *vertex).collect());
                    }
                    if state[child] == 0 {
                        path.push((child, 0));
                    }
                }
                None => {
                    state[vertex] = 2;
                    path.pop();
                }
            }
        }
    }
    None
}

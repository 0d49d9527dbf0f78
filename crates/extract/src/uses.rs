//! What is known of the uses of chosen values: how often each is expected to run, and under which conditions.
//!
//! # Input
//! A kernel in value form, its values, and the chosen ones; then users before what they use.
//! # Output
//! For each value how often it is expected to run if it is written out at its uses, when it is [needed](Need), and the guard
//! that its definition can have.
//! # Legality of a guard
//! A condition can be tested at the definition of a value if it depends on no iname beyond the value's, cannot trap, and sees
//! there the same state of memory as at the uses: the definition comes before the first user, in the innermost sequence to which memory
//! that the value reads is bound. What conditions are made of is itself always computed, so that they can be tested anywhere.

use egg::Id;
use nestegg_egraph::context::{Reach, Stamp};
use nestegg_egraph::encode::{Encoded, Root};
use nestegg_egraph::language::Node;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::sequences::Sequences;
use nestegg_ir::{ExprId, InameSet, InsnId, Item, Kernel, LinearizedKernel, Op};
use num_traits::ToPrimitive;
use rustc_hash::FxHashSet;

use crate::cost::Cost;
use crate::guard::{Conjunction, Frequencies, Literal, Need};
use crate::product::{Candidate, ProductGraph, Vertex};
use crate::select::Selection;

/// Costs that differ by less are taken to be equal.
const TOLERANCE: f64 = 1e-9;

/// When a value may be computed, and at which part of its points that is.
pub(crate) struct Guard {
    pub(crate) need: Need,
    pub(crate) frequency: f64,
}

impl Guard {
    const NONE: Self = Self { need: Need::Always, frequency: 1.0 };

    /// The conditions that it tests, each once.
    pub(crate) fn conditions(&self) -> Vec<Vertex> {
        let Need::AnyOf(reasons) = &self.need else { return Vec::new() };
        let mut res: Vec<Vertex> = reasons.iter().flatten().map(|literal| literal.condition).collect();
        res.sort_unstable();
        res.dedup();
        res
    }
}

/// The uses of chosen values.
pub(crate) struct Uses<'a> {
    encoded: &'a Encoded,
    product: &'a ProductGraph,
    selection: &'a Selection,
    sequences: Sequences,
    frequencies: Frequencies<'a>,
    /// For each instruction its predicates as literals.
    predicates: Vec<Conjunction>,
    /// For each instruction its place in the order; those that are not run come last.
    positions: Vec<usize>,
    /// For each vertex whether a condition is made of it.
    pub(crate) is_in_condition: Vec<bool>,
    /// For each vertex whether it is needed at all.
    is_needed: Vec<bool>,
    /// Whether there are conditions at all.
    has_conditions: bool,
    /// For each vertex how often it is expected to run: at its uses, or where it is kept.
    expected: Vec<f64>,
    need: Vec<Need>,
    /// For each vertex the first instruction that uses it.
    first: Vec<Option<InsnId>>,
    /// For each vertex how far it may move with all that it is made of.
    pub(crate) reach: Vec<Reach>,
    /// For each vertex how deep the innermost sequence is to which memory that it reads is bound.
    depth: Vec<usize>,
}

impl<'a> Uses<'a> {
    pub(crate) fn new(
        linearized: &'a LinearizedKernel,
        encoded: &'a Encoded,
        domains: &'a Domains,
        (product, selection, order): (&'a ProductGraph, &'a Selection, &[Vertex]),
        probability: &dyn Fn(ExprId) -> Option<f64>,
    ) -> Self {
        let kernel = &linearized.kernel;
        let n = product.len();
        let mut positions = vec![usize::MAX; kernel.instructions.len()];
        for (position, item) in linearized.linearization.iter().enumerate() {
            if let Item::Run(insn) = item {
                positions[insn.index()] = position;
            }
        }
        let mut res = Self {
            encoded,
            product,
            selection,
            sequences: Sequences::new(linearized),
            frequencies: Frequencies::new(kernel, domains),
            predicates: vec![Conjunction::new(); kernel.instructions.len()],
            positions,
            is_in_condition: vec![false; n],
            is_needed: vec![false; n],
            has_conditions: false,
            expected: vec![0.0; n],
            need: vec![Need::NEVER; n],
            first: vec![None; n],
            reach: vec![Reach::Anywhere; n],
            depth: vec![0; n],
        };
        for &vertex in order {
            let candidate = res.candidate(vertex);
            res.is_needed[vertex] = true;
            res.reach[vertex] =
                candidate.children.iter().map(|&child| res.reach[child]).fold(candidate.reach, Reach::max);
        }
        res.note_conditions(kernel, order);
        if res.has_conditions {
            res.note_expressions(probability);
            for &vertex in order {
                res.depth[vertex] = res.own_depth(vertex);
            }
        }
        res
    }

    /// Finds all conditions, and what they are made of.
    fn note_conditions(&mut self, kernel: &Kernel, order: &[Vertex]) {
        let mut conditions: Vec<Vertex> = Vec::new();
        for root in &self.encoded.roots {
            if kernel[root.insn].predicates.contains(&root.expr) {
                let vertex = self.product.vertices[&root.class];
                conditions.push(vertex);
                let literals = self.literals(vertex, true);
                conditions.extend(literals.iter().map(|literal| literal.condition));
                self.predicates[root.insn.index()].extend(literals);
            }
        }
        for &vertex in order {
            if let Node::Op(Op::If, children) = &self.candidate(vertex).node {
                let condition = self.vertex(children[0]);
                conditions.push(condition);
                conditions.extend(self.literals(condition, true).iter().map(|literal| literal.condition));
            }
        }
        self.has_conditions = !conditions.is_empty();
        while let Some(vertex) = conditions.pop() {
            if !std::mem::replace(&mut self.is_in_condition[vertex], true) {
                conditions.extend(&self.candidate(vertex).children);
            }
        }
    }

    /// Finds an expression for each condition, and what is stated of it.
    fn note_expressions(&mut self, probability: &dyn Fn(ExprId) -> Option<f64>) {
        let of_roots = self.encoded.roots.iter().map(|root| (root.expr, root.class));
        let graph = &self.encoded.graph;
        let inside = self.encoded.conditions.iter().map(|&(expr, class)| (expr, graph.find(class)));
        for (expr, class) in of_roots.chain(inside) {
            if let Some(&vertex) = self.product.vertices.get(&class)
                && self.is_in_condition[vertex]
            {
                self.frequencies.exprs.entry(vertex).or_insert(expr);
                if let Some(stated) = probability(expr) {
                    self.frequencies.stated.insert(vertex, stated);
                    let other = self.in_other_words(Literal { condition: vertex, holds: true });
                    let stated = if other.holds { stated } else { 1.0 - stated };
                    self.frequencies.stated.entry(other.condition).or_insert(stated);
                }
            }
        }
    }

    fn candidate(&self, vertex: Vertex) -> &'a Candidate {
        let choice = self.selection.choice[vertex].expect("needed vertices have a choice");
        &self.product.candidates[vertex][choice]
    }

    fn vertex(&self, class: Id) -> Vertex {
        self.product.vertices[&self.encoded.graph.find(class)]
    }

    /// What must hold for a condition to hold, or not to hold.
    fn literals(&self, condition: Vertex, holds: bool) -> Conjunction {
        let mut res = Conjunction::new();
        let mut pending = vec![Literal { condition, holds }];
        while let Some(literal) = pending.pop() {
            match &self.candidate(literal.condition).node {
                Node::Op(Op::Not, children) => {
                    pending.push(Literal { condition: self.vertex(children[0]), holds: !literal.holds });
                }
                Node::Op(op @ (Op::And | Op::Or), children) if (*op == Op::And) == literal.holds => {
                    let operands = children.iter().rev().map(|&child| self.vertex(child));
                    pending.extend(operands.map(|condition| Literal { condition, ..literal }));
                }
                _ => {
                    let literal = self.in_other_words(literal);
                    if !res.contains(&literal) {
                        res.push(literal);
                    }
                }
            }
        }
        res
    }

    /// A comparison by the first of those that say the same, or the opposite: `a <= b` of integers holds where `a > b` does not.
    fn in_other_words(&self, literal: Literal) -> Literal {
        let graph = &self.encoded.graph;
        let Node::Op(op, children) = &self.candidate(literal.condition).node else { return literal };
        let [a, b] = children[..] else { return literal };
        let Some((swapped, opposite, opposite_swapped)) = others(*op) else { return literal };
        let is_total = !graph[a].data.dtype.is_float() && !graph[b].data.dtype.is_float();
        let same = [(swapped, [b, a], true)];
        let opposites = [(opposite, [a, b], false), (opposite_swapped, [b, a], false)];
        let all = same.into_iter().chain(opposites.into_iter().filter(|_| is_total));
        let others = all.filter_map(|(op, children, is_same)| {
            let class = graph.lookup(Node::Op(op, children.into()))?;
            let condition = *self.product.vertices.get(&class)?;
            self.is_needed[condition].then_some(Literal { condition, holds: literal.holds == is_same })
        });
        others.chain([literal]).min().unwrap_or(literal)
    }

    fn own_depth(&self, vertex: Vertex) -> usize {
        let candidate = self.candidate(vertex);
        let own = match &candidate.node {
            Node::Access(access, _) => match self.encoded.graph.analysis.context.access(*access).stamp {
                Stamp::Constant => 0,
                Stamp::Version(version) => self.sequences.list[self.encoded.states[version as usize].1.sequence].depth,
            },
            _ => 0,
        };
        candidate.children.iter().map(|&child| self.depth[child]).fold(own, usize::max)
    }

    /// Notes the use of a vertex by an instruction, at so many points of `context`.
    pub(crate) fn add_root(
        &mut self,
        vertex: Vertex,
        root: &Root,
        context: &InameSet,
        points: Cost,
    ) -> Result<(), DomainError> {
        if !self.has_conditions {
            return Ok(());
        }
        self.note_first(vertex, root.insn);
        let conditions = match self.is_in_condition[vertex] {
            true => Conjunction::new(),
            false => self.predicates[root.insn.index()].clone(),
        };
        self.expected[vertex] += self.frequencies.of_all(context, conditions.clone())? * float(points);
        self.need[vertex].add(conditions);
        Ok(())
    }

    /// Notes the use of an operand at the points of `context`, which are so many for each so many of the user.
    pub(crate) fn add_operand(
        &mut self,
        user: Vertex,
        operand: Vertex,
        context: &InameSet,
        (points, own): (Cost, Cost),
    ) -> Result<(), DomainError> {
        if !self.has_conditions {
            return Ok(());
        }
        if let Some(first) = self.first[user] {
            self.note_first(operand, first);
        }
        let times = self.expected[user] * if own > Cost::ZERO { float(points) / float(own) } else { 1.0 };
        if self.is_in_condition[operand] {
            self.expected[operand] += times;
            self.need[operand] = Need::Always;
            return Ok(());
        }
        let need = self.need[user].clone();
        let uses: Vec<Conjunction> = match &self.candidate(user).node {
            Node::Op(Op::If, children) => {
                let condition = self.vertex(children[0]);
                let branches = children[1..].iter().zip([true, false]);
                let of_operand = branches.filter(|(child, _)| self.vertex(**child) == operand);
                of_operand.map(|(_, holds)| self.literals(condition, holds)).collect()
            }
            _ => vec![Conjunction::new()],
        };
        for literals in uses {
            self.expected[operand] += times * self.frequencies.of_all(context, literals.clone())?;
            self.need[operand].add_all(&need, &literals);
        }
        Ok(())
    }

    fn note_first(&mut self, vertex: Vertex, insn: InsnId) {
        let positions = &self.positions;
        let first = &mut self.first[vertex];
        if first.is_none_or(|known| positions[insn.index()] < positions[known.index()]) {
            *first = Some(insn);
        }
    }

    /// The guard that the definition of a vertex over `inames` can have; `None` if there can be no definition of it.
    pub(crate) fn guard(&mut self, vertex: Vertex, inames: &InameSet) -> Result<Option<Guard>, DomainError> {
        let reach = self.reach[vertex];
        let without = (reach == Reach::Anywhere).then_some(Guard::NONE);
        let is_needed = !matches!(&self.need[vertex], Need::AnyOf(reasons) if reasons.is_empty());
        let Some(first) = self.first[vertex].filter(|_| is_needed && !self.is_in_condition[vertex]) else {
            return Ok(without);
        };
        let need = self.need[vertex].weakened(|literal| self.can_be_tested(literal.condition, vertex, inames, first));
        let is_exact = need != Need::Always && need == self.need[vertex];
        let frequency = self.frequencies.of(inames, &need)?;
        Ok(match reach {
            Reach::Anywhere if frequency >= 1.0 => without,
            Reach::UnderConditions if !is_exact => None,
            Reach::Anywhere | Reach::UnderConditions => Some(Guard { need, frequency }),
            Reach::AtItsUses => None,
        })
    }

    /// Whether a condition can be tested where a value is defined for its first user.
    fn can_be_tested(&self, condition: Vertex, vertex: Vertex, inames: &InameSet, first: InsnId) -> bool {
        let data = &self.encoded.graph[self.product.classes[condition]].data;
        data.inames.is_subset(inames)
            && self.reach[condition] == Reach::Anywhere
            && self.depth[condition] <= self.depth[vertex]
            && self.sees_the_same(condition, first)
    }

    /// Whether all memory below a condition has the state at an instruction that the condition sees.
    fn sees_the_same(&self, condition: Vertex, insn: InsnId) -> bool {
        let mut seen: FxHashSet<Vertex> = FxHashSet::default();
        let mut pending = vec![condition];
        while let Some(vertex) = pending.pop() {
            if !seen.insert(vertex) {
                continue;
            }
            let candidate = self.candidate(vertex);
            if let Node::Access(access, _) = &candidate.node
                && let Stamp::Version(version) = self.encoded.graph.analysis.context.access(*access).stamp
            {
                let (array, state) = &self.encoded.states[version as usize];
                if self.sequences.memory_state(insn, *array).as_ref() != Some(state) {
                    return false;
                }
            }
            pending.extend(&candidate.children);
        }
        true
    }

    /// Whether computing a vertex at `own` points with a guard is expected to cost no more than at its uses.
    pub(crate) fn is_worth(&self, vertex: Vertex, own: Cost, guard: &Guard) -> bool {
        !self.has_conditions || self.expected[vertex] * (1.0 + TOLERANCE) >= float(own) * guard.frequency
    }

    /// Notes that a vertex is computed at `own` points with a guard, which tests its conditions there.
    pub(crate) fn keep(&mut self, vertex: Vertex, own: Cost, guard: Guard) {
        for condition in guard.conditions() {
            self.expected[condition] += float(own);
        }
        self.expected[vertex] = float(own) * guard.frequency;
        self.need[vertex] = guard.need;
    }
}

/// A comparison with its operands swapped, the opposite of it, and the opposite with its operands swapped.
fn others(op: Op) -> Option<(Op, Op, Op)> {
    match op {
        Op::Lt => Some((Op::Gt, Op::Ge, Op::Le)),
        Op::Le => Some((Op::Ge, Op::Gt, Op::Lt)),
        Op::Gt => Some((Op::Lt, Op::Le, Op::Ge)),
        Op::Ge => Some((Op::Le, Op::Lt, Op::Gt)),
        Op::Eq => Some((Op::Eq, Op::Ne, Op::Ne)),
        Op::Ne => Some((Op::Ne, Op::Eq, Op::Eq)),
        _ => None,
    }
}

fn float(cost: Cost) -> f64 {
    cost.operations().to_f64().unwrap_or(f64::MAX)
}

//! Conditions: one around all neighbours that have it, and around loops over which it does not vary.
//!
//! # Input
//! A loop tree in its final order, whose instructions have predicates.
//! # Output
//! The same instances in the same order: a first predicate that neighbours share, or all of a loop, is a condition around them.
//! A loop whose items are under a condition or under its negation becomes two loops, one under each. A single instruction
//! keeps its predicates.
//! # Legality
//! Nothing writes memory that the condition reads before the last item that it encloses, and nothing in a loop that it leaves.
//! Only a first predicate moves, since others may be defined only where it holds. A condition that might be undefined where
//! a loop does not run leaves it only if isl knows that the loop runs.
//! # Complexity
//! Linear in instructions, times the depth of loops and the number of predicates.

use std::cell::OnceCell;

use nestegg_ir::domains::Domains;
use nestegg_ir::linearization::{LoopTree, runs_in};
use nestegg_ir::{Expr, ExprId, InameId, InameSet, InsnId, InstructionKind, Kernel, Op};

use nestegg_ir::walk::{arrays_below, below};

/// Puts conditions around what they are predicates of.
pub(crate) fn enclose(kernel: &mut Kernel, tree: Vec<LoopTree>) -> Vec<LoopTree> {
    if kernel.instructions.iter().all(|instruction| instruction.predicates.is_empty()) {
        return tree;
    }
    let mut pass = Pass { kernel, domains: OnceCell::new(), outer: Vec::new() };
    pass.sequence(tree)
}

struct Pass<'a> {
    kernel: &'a mut Kernel,
    /// Domains, once they are asked for; nothing if isl fails.
    domains: OnceCell<Option<Domains>>,
    /// The loops around the sequence at hand.
    outer: Vec<InameId>,
}

impl Pass<'_> {
    /// Depth is limited by [`nestegg_ir::linearization::MAX_NESTING`].
    fn sequence(&mut self, nodes: Vec<LoopTree>) -> Vec<LoopTree> {
        let mut res = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                LoopTree::Loop { iname, body } => {
                    self.outer.push(iname);
                    let body = self.sequence(body);
                    self.outer.pop();
                    res.extend(self.split(iname, body));
                }
                LoopTree::Branch { condition, body } => {
                    let body = self.sequence(body);
                    res.push(LoopTree::Branch { condition, body });
                }
                run @ LoopTree::Run(_) => res.push(run),
            }
        }
        self.joined(res)
    }

    /// A loop, or two under a condition and its negation if that is what its items are under.
    fn split(&mut self, iname: InameId, body: Vec<LoopTree>) -> Vec<LoopTree> {
        let whole = |body| vec![LoopTree::Loop { iname, body }];
        let Some(condition) = body.first().and_then(|first| self.condition(first)) else { return whole(body) };
        if body.len() < 2 || !self.may_leave(condition, iname, &body) {
            return whole(body);
        }
        let other = self.negation(condition);
        let is_of = |this: &Self, node: &LoopTree, condition| this.condition(node) == Some(condition);
        if !body.iter().all(|node| is_of(self, node, condition) || is_of(self, node, other)) {
            return whole(body);
        }
        let (first, second): (Vec<LoopTree>, Vec<LoopTree>) =
            body.into_iter().partition(|node| is_of(self, node, condition));
        let halves = [(condition, first), (other, second)].into_iter().filter(|(_, body)| !body.is_empty());
        let halves: Vec<(ExprId, Vec<LoopTree>)> = halves.collect();
        let mut res = Vec::with_capacity(halves.len());
        for (condition, nodes) in halves {
            let body = self.without(condition, nodes);
            res.push(LoopTree::Branch { condition, body: vec![LoopTree::Loop { iname, body }] });
        }
        res
    }

    /// The sequence with conditions around neighbours.
    fn joined(&mut self, nodes: Vec<LoopTree>) -> Vec<LoopTree> {
        let mut res = Vec::with_capacity(nodes.len());
        let mut group: Vec<LoopTree> = Vec::new();
        let mut current: Option<ExprId> = None;
        for node in nodes {
            let condition = self.condition(&node);
            let goes_on = condition.is_some()
                && condition == current
                && group.last().is_some_and(|last| !current.is_some_and(|current| self.writes(last, current)));
            if !goes_on {
                let finished = self.enclosed(current, std::mem::take(&mut group));
                res.extend(finished);
                current = condition;
            }
            group.push(node);
        }
        let finished = self.enclosed(current, group);
        res.extend(finished);
        res
    }

    fn enclosed(&mut self, condition: Option<ExprId>, nodes: Vec<LoopTree>) -> Vec<LoopTree> {
        let is_one = matches!(nodes.as_slice(), [] | [LoopTree::Run(_) | LoopTree::Branch { .. }]);
        match condition {
            Some(condition) if !is_one => {
                let body = self.without(condition, nodes);
                vec![LoopTree::Branch { condition, body: self.joined(body) }]
            }
            _ => nodes,
        }
    }

    /// The condition under which all of a node is.
    fn condition(&self, node: &LoopTree) -> Option<ExprId> {
        match node {
            LoopTree::Run(insn) => match self.kernel[*insn].kind {
                InstructionKind::Opaque { .. } => None,
                _ => self.kernel[*insn].predicates.first().copied(),
            },
            LoopTree::Branch { condition, .. } => Some(*condition),
            LoopTree::Loop { iname, body } => {
                let [single] = body.as_slice() else { return None };
                let condition = self.condition(single)?;
                self.may_leave(condition, *iname, body).then_some(condition)
            }
        }
    }

    /// Nodes without the condition that all of each is under.
    fn without(&mut self, condition: ExprId, nodes: Vec<LoopTree>) -> Vec<LoopTree> {
        let mut res = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                LoopTree::Run(insn) => {
                    self.kernel[insn].predicates.retain(|&predicate| predicate != condition);
                    res.push(LoopTree::Run(insn));
                }
                LoopTree::Branch { body, .. } => res.extend(body),
                LoopTree::Loop { iname, body } => {
                    let body = self.without(condition, body);
                    res.push(LoopTree::Loop { iname, body });
                }
            }
        }
        res
    }

    fn negation(&mut self, condition: ExprId) -> ExprId {
        match &self.kernel.exprs[condition] {
            Expr::Op { op: Op::Not, operands } => operands[0],
            _ => self.kernel.exprs.op(Op::Not, [condition]),
        }
    }

    /// Whether a condition may be tested before a loop instead of in it.
    fn may_leave(&self, condition: ExprId, iname: InameId, body: &[LoopTree]) -> bool {
        let exprs = &self.kernel.exprs;
        let varies = below(exprs, [condition]).into_iter().any(|id| match &exprs[id] {
            Expr::Iname(other) => *other == iname,
            // What binds inames stays where they are free.
            Expr::Reduce { .. } | Expr::Substitution { .. } => true,
            _ => false,
        });
        !varies
            && !body.iter().any(|node| self.writes(node, condition))
            && (self.is_harmless(condition) || self.surely_runs(iname))
    }

    /// Whether a node writes memory that a condition reads; an opaque instruction may write anything that it names.
    fn writes(&self, node: &LoopTree, condition: ExprId) -> bool {
        let reads = arrays_below(&self.kernel.exprs, [condition]);
        let writes = |insn: InsnId| self.kernel[insn].written_arrays().iter().any(|array| reads.contains(array));
        runs_in(std::slice::from_ref(node)).into_iter().any(writes)
    }

    /// Whether a condition has a value wherever its inames have one: it has no elements, no divisions of integers and no
    /// conversions to them, and no temporaries, which may not have been written.
    fn is_harmless(&self, condition: ExprId) -> bool {
        let exprs = &self.kernel.exprs;
        below(exprs, [condition]).into_iter().all(|id| match &exprs[id] {
            Expr::Access { array, indices } => indices.is_empty() && self.kernel[*array].is_argument(),
            Expr::Op { op: Op::FloorDiv | Op::Mod, operands } => matches!(exprs[operands[1]], Expr::Number(_)),
            Expr::Cast { dtype, .. } => !dtype.is_integer(),
            _ => true,
        })
    }

    /// Whether a loop inside those around it runs at least once each time.
    fn surely_runs(&self, iname: InameId) -> bool {
        let domains = self.domains.get_or_init(|| Domains::new(&nestegg_isl::Context::new(), self.kernel).ok());
        let Some(domains) = domains else { return false };
        let outer: InameSet = self.outer.iter().copied().filter(|&other| other != iname).collect();
        domains.surely_runs(iname, &outer).unwrap_or(false)
    }
}

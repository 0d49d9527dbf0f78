//! Placement: which chosen values become temporaries, over which inames, and where they are computed.
//!
//! # Input
//! A selection and the kernel's loop tree.
//! # Output
//! For each chosen value: nothing (it is written out where it is used), or a temporary over its iname set.
//! # Method
//! A value is kept if it costs something and would otherwise be computed again: it has several uses, or one inside loops that it does
//! not depend on. A reduction always costs something, for it takes a loop even where its operations are free. In two cases the value
//! is still computed at each use: if the loops around the use may be empty, and if the uses are rare enough for that to be cheaper.
//!
//! A temporary is computed once for each point of its own inames. Where all its uses are under conditions that can be tested there, its
//! definition is under their disjunction ([`crate::uses`]). A value that may trap where the conditions around it do not hold is kept
//! only under all of them. A value that depends on a loop with data-dependent bounds is kept only as a [scalar](crate::open). Expressions nested deeper than [`DEPTH_LIMIT`] are cut by temporaries.

use egg::{Id, Language};
use nestegg_egraph::analysis::{Data, Graph};
use nestegg_egraph::context::Reach;
use nestegg_egraph::encode::{Encoded, Root};
use nestegg_egraph::language::Node;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::types::Type;
use nestegg_ir::{ExprId, InameSet, Kernel, LinearizedKernel, Op};

use crate::cost::Cost;
use crate::guard::Need;
use crate::open::OpenLoops;
use crate::product::{Candidate, ProductGraph, Vertex, bound_by};
use crate::select::{Selection, needed};
use crate::uses::{Guard, Uses};

/// How deep an expression may nest in the result.
pub const DEPTH_LIMIT: usize = 60;

/// The chosen values and what becomes of them.
#[derive(Clone, Debug)]
pub struct Placement<'a> {
    /// What was chosen from.
    pub product: &'a ProductGraph,
    /// What was chosen.
    pub selection: &'a Selection,
    /// The needed vertices, operands first.
    pub order: Vec<Vertex>,
    /// For each vertex whether it is a temporary.
    pub is_kept: Vec<bool>,
    /// For each vertex how many values and instructions use it.
    pub n_uses: Vec<usize>,
    /// For each vertex the points of all its uses together: how often it would run if it were written out.
    pub use_points: Vec<Cost>,
    /// For each temporary when it is computed.
    pub guards: Vec<Need>,
}

impl<'a> Placement<'a> {
    /// Decides for every chosen value.
    ///
    /// # Errors
    /// If a domain cannot be counted.
    pub fn new(
        linearized: &'a LinearizedKernel,
        encoded: &'a Encoded,
        domains: &'a Domains,
        product: &'a ProductGraph,
        selection: &'a Selection,
        probability: &dyn Fn(ExprId) -> Option<f64>,
    ) -> Result<Self, DomainError> {
        let (graph, kernel) = (&encoded.graph, &linearized.kernel);
        let order = needed(product, &selection.choice).unwrap_or_default();
        let n = product.len();
        let res = Self {
            product,
            selection,
            order,
            is_kept: vec![false; n],
            n_uses: vec![0; n],
            use_points: vec![Cost::ZERO; n],
            guards: vec![Need::Always; n],
        };
        let mut uses = Uses::new(linearized, encoded, domains, (product, selection, &res.order), probability);
        let mut placer = Placer {
            graph,
            domains,
            keeps_weak: !kernel.has_single(),
            open: OpenLoops::of(linearized),
            is_hoisted: vec![false; n],
            is_root: vec![false; n],
            around: vec![InameSet::new(); n],
            res,
        };
        placer.note_roots(kernel, &encoded.roots, &mut uses)?;
        // Users first: a value that is written out needs its operands wherever it is itself. What conditions are made of comes
        // last, for guards use it too.
        let order: Vec<Vertex> = placer.res.order.iter().rev().copied().collect();
        for is_condition in [false, true] {
            for &vertex in &order {
                if uses.is_in_condition[vertex] == is_condition {
                    placer.decide(vertex, &mut uses)?;
                }
            }
        }
        placer.cut(&uses.reach);
        Ok(placer.res)
    }

    /// The chosen candidate of a needed vertex.
    ///
    /// # Panics
    /// If the vertex is not needed.
    #[must_use]
    pub fn candidate(&self, vertex: Vertex) -> &'a Candidate {
        let choice = self.selection.choice[vertex].expect("needed vertices have a choice");
        &self.product.candidates[vertex][choice]
    }

    /// The vertex of an e-class.
    #[must_use]
    pub fn vertex(&self, class: Id) -> Vertex {
        self.product.vertices[&class]
    }
}

/// The state of the pass.
struct Placer<'a, 'b> {
    graph: &'b Graph,
    domains: &'b Domains,
    keeps_weak: bool,
    open: OpenLoops,
    /// For each vertex whether a use of it has more inames than it has itself.
    is_hoisted: Vec<bool>,
    is_root: Vec<bool>,
    /// For each vertex the inames of loops and reductions that would be around it if it were written out at its uses.
    around: Vec<InameSet>,
    res: Placement<'a>,
}

impl<'a> Placer<'a, '_> {
    fn note_roots(&mut self, kernel: &Kernel, roots: &[Root], uses: &mut Uses<'_>) -> Result<(), DomainError> {
        for root in roots {
            let vertex = self.res.vertex(root.class);
            let context = kernel[root.insn].within_set();
            self.is_root[vertex] = true;
            self.is_hoisted[vertex] |= context != *self.inames(vertex);
            self.around[vertex] = self.around[vertex].union(&context);
            self.res.n_uses[vertex] += 1;
            let points = self.points(&context)?;
            self.res.use_points[vertex] = self.res.use_points[vertex] + points;
            uses.add_root(vertex, root, &context, points)?;
        }
        Ok(())
    }

    fn inames(&self, vertex: Vertex) -> &InameSet {
        &self.graph[self.res.product.classes[vertex]].data.inames
    }

    fn points(&self, inames: &InameSet) -> Result<Cost, DomainError> {
        Ok(Cost::from_big(&self.domains.count(inames)?))
    }

    /// Decides for a vertex whose users are decided, and passes on what it needs of its operands.
    fn decide(&mut self, vertex: Vertex, uses: &mut Uses<'_>) -> Result<(), DomainError> {
        let (graph, product) = (self.graph, self.res.product);
        let candidate = self.res.candidate(vertex);
        let data = &graph[product.classes[vertex]].data;
        // What is accumulated into must be somewhere: the place of the root, or a temporary.
        let is_target = !candidate.accumulated.is_empty() && !self.is_root[vertex];
        let own = product.points[vertex];
        let is_shared = self.res.n_uses[vertex] > 1 || self.is_hoisted[vertex] || self.res.use_points[vertex] > own;
        let guard = uses.guard(vertex, &data.inames)?;
        let is_cheap = |guard: &Guard| self.res.use_points[vertex] >= own && uses.is_worth(vertex, own, guard);
        let costs = candidate.cost > Cost::ZERO || matches!(candidate.node, Node::Reduce(..));
        let is_worth = costs && (is_target || (is_shared && guard.as_ref().is_some_and(is_cheap)));
        // A reduction cannot be written out inside a loop or reduction over one of its inames.
        let nodes = [&candidate.node].into_iter().chain(candidate.accumulated.iter().map(|(_, node)| node));
        let is_shadowing = nodes.into_iter().any(|node| !bound_by(graph, node).is_disjoint(&self.around[vertex]));
        let is_strong = self.keeps_weak || data.dtype != Type::WeakFloat;
        let is_array = self.open.need_array(&data.inames, &self.around[vertex]);
        let can_be_kept = ((is_worth && !is_array) || is_shadowing) && is_strong && is_operation(candidate, data);
        let guard = guard.filter(|_| can_be_kept);
        let is_kept = guard.is_some();
        self.res.is_kept[vertex] = is_kept;
        if let Some(guard) = guard {
            for condition in guard.conditions() {
                self.is_hoisted[condition] |= *self.inames(condition) != data.inames;
                self.around[condition] = self.around[condition].union(&data.inames);
                self.res.n_uses[condition] += 1;
                self.res.use_points[condition] = self.res.use_points[condition] + own;
            }
            self.res.guards[vertex] = guard.need.clone();
            uses.keep(vertex, own, guard);
        }
        let around = if is_kept { data.inames.clone() } else { self.around[vertex].clone() };
        let times = if is_kept { own } else { self.res.use_points[vertex] };
        for &child in &candidate.children {
            // An operand of an accumulated reduction and of the rest of the sum is in both contexts; the larger counts.
            let of_accumulated = candidate.accumulated.iter().map(|(_, node)| node);
            let mut users = [&candidate.node].into_iter().chain(of_accumulated);
            let user = users.rfind(|node| node.children().contains(&product.classes[child]));
            let context = context(graph, &data.inames, user.unwrap_or(&candidate.node));
            self.is_hoisted[child] |= context != *self.inames(child);
            self.around[child] = self.around[child].union(&around).union(&context);
            self.res.n_uses[child] += 1;
            let points = self.points(&context)?;
            let times = if context == data.inames { times } else { times.scaled(points, own) };
            self.res.use_points[child] = self.res.use_points[child] + times;
            uses.add_operand(vertex, child, &context, (points, own))?;
        }
        Ok(())
    }

    /// Cuts deep expressions that may be computed anywhere.
    fn cut(&mut self, reach: &[Reach]) {
        let (graph, res) = (self.graph, &mut self.res);
        let mut depth = vec![0_usize; res.product.len()];
        let mut is_any_cut = false;
        for idx in 0..res.order.len() {
            let vertex = res.order[idx];
            let candidate = res.candidate(vertex);
            let below = candidate.children.iter().filter(|&&child| !res.is_kept[child]).map(|&child| depth[child]);
            depth[vertex] = below.max().unwrap_or(0) + 1;
            let data = &graph[res.product.classes[vertex]].data;
            // An integer division is kept only where it is worth it, and then it is no division that may trap.
            let is_division = matches!(candidate.node, Node::Op(Op::FloorDiv | Op::Mod, _)) && data.dtype.is_integer();
            let may_be_cut = reach[vertex] == Reach::Anywhere && !is_division && is_operation(candidate, data);
            if may_be_cut && depth[vertex] > DEPTH_LIMIT && !res.is_kept[vertex] {
                res.is_kept[vertex] = true;
                is_any_cut = true;
            }
        }
        if is_any_cut {
            // What it reads must be there wherever it is computed.
            for (guard, reach) in res.guards.iter_mut().zip(reach) {
                if *reach == Reach::Anywhere {
                    *guard = Need::Always;
                }
            }
        }
    }
}

/// Whether a value is an operation that is no constant.
fn is_operation(candidate: &Candidate, data: &Data) -> bool {
    !candidate.node.is_leaf() && !matches!(candidate.node, Node::Access(..)) && data.constant.is_none()
}

/// The inames at whose points the operands of a node are needed.
fn context(graph: &Graph, inames: &InameSet, node: &Node) -> InameSet {
    inames.union(&bound_by(graph, node))
}

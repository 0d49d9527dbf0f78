//! Placement: which chosen values become temporaries, over which inames, and where they are computed.
//!
//! # Input
//! A selection and the kernel's loop tree.
//! # Output
//! For each chosen value: nothing (it is written out where it is used), or a temporary over its iname set.
//! # Method
//! A value that costs something is kept if it is used more than once or in a context with more inames than its own, unless
//! that context has fewer points (a loop that is empty): it is computed once for each point of its own inames. A value that may trap where its instruction does not run is never
//! kept. Expressions nested deeper than [`DEPTH_LIMIT`] are cut by temporaries.

use egg::{Id, Language};
use nestegg_egraph::analysis::{Data, Graph};
use nestegg_egraph::encode::Root;
use nestegg_egraph::language::Node;
use nestegg_ir::types::Type;
use nestegg_ir::{Dtype, Expr, InameSet, Kernel, Op};

use crate::cost::Cost;
use crate::product::{Candidate, ProductGraph, Vertex};
use crate::select::{Selection, needed};

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
}

impl<'a> Placement<'a> {
    /// Decides for every chosen value.
    #[must_use]
    pub fn new(
        graph: &Graph,
        kernel: &Kernel,
        roots: &[Root],
        product: &'a ProductGraph,
        selection: &'a Selection,
        points: impl Fn(&InameSet) -> Cost,
    ) -> Self {
        let order = needed(product, &selection.choice).unwrap_or_default();
        let n = product.len();
        let mut res = Self {
            product,
            selection,
            order,
            is_kept: vec![false; n],
            n_uses: vec![0; n],
            use_points: vec![Cost::ZERO; n],
        };
        let inames = |vertex: Vertex| &graph[product.classes[vertex]].data.inames;
        let mut is_hoisted = vec![false; n];
        let mut is_root = vec![false; n];
        for root in roots {
            let vertex = product.vertices[&root.class];
            let context = kernel[root.insn].within_set();
            is_root[vertex] = true;
            is_hoisted[vertex] |= context != *inames(vertex);
            res.n_uses[vertex] += 1;
            res.use_points[vertex] = res.use_points[vertex] + points(&context);
        }
        let keeps_weak = !has_single(kernel);
        // Users first: a value that is written out needs its operands wherever it is itself.
        for idx in (0..res.order.len()).rev() {
            let vertex = res.order[idx];
            let candidate = res.candidate(vertex);
            let data = &graph[product.classes[vertex]].data;
            // What is accumulated into must be somewhere: the place of the root, or a temporary.
            let is_target = !candidate.accumulated.is_empty() && !is_root[vertex];
            let own = product.points[vertex];
            let is_shared = res.n_uses[vertex] > 1 || is_hoisted[vertex] || res.use_points[vertex] > own;
            let is_worth = candidate.cost > Cost::ZERO && (is_target || (is_shared && res.use_points[vertex] >= own));
            let is_strong = keeps_weak || data.dtype != Type::WeakFloat;
            res.is_kept[vertex] = is_worth && is_strong && can_be_kept(candidate, data);
            let times = if res.is_kept[vertex] { own } else { res.use_points[vertex] };
            for &child in &candidate.children {
                // An operand of an accumulated reduction and of the rest of the sum is in both contexts; the larger counts.
                let of_accumulated = candidate.accumulated.iter().map(|(_, node)| node);
                let mut users = [&candidate.node].into_iter().chain(of_accumulated);
                let user = users.rfind(|node| node.children().contains(&product.classes[child]));
                let context = context(graph, inames(vertex), user.unwrap_or(&candidate.node));
                is_hoisted[child] |= context != *inames(child);
                res.n_uses[child] += 1;
                let uses = if context == *inames(vertex) { times } else { times.scaled(points(&context), own) };
                res.use_points[child] = res.use_points[child] + uses;
            }
        }
        let mut depth = vec![0_usize; n];
        for idx in 0..res.order.len() {
            let vertex = res.order[idx];
            let candidate = res.candidate(vertex);
            let below = candidate.children.iter().filter(|&&child| !res.is_kept[child]).map(|&child| depth[child]);
            depth[vertex] = below.max().unwrap_or(0) + 1;
            let data = &graph[product.classes[vertex]].data;
            // An integer division is kept only where it is worth it, and then it is no division that may trap.
            let is_division = matches!(candidate.node, Node::Op(Op::FloorDiv | Op::Mod, _)) && data.dtype.is_integer();
            res.is_kept[vertex] |= depth[vertex] > DEPTH_LIMIT && !is_division && can_be_kept(candidate, data);
        }
        res
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

/// Whether a value may be a temporary: an operation that is no constant and need not stay with its instruction.
fn can_be_kept(candidate: &Candidate, data: &Data) -> bool {
    let is_operation = !candidate.node.is_leaf() && !matches!(candidate.node, Node::Access(..));
    is_operation && !data.guarded && data.constant.is_none()
}

/// Whether a kernel computes in single precision. Then an operation on float literals alone is written out, for it takes
/// the type that it meets, which a temporary could not.
fn has_single(kernel: &Kernel) -> bool {
    kernel.arrays.iter().any(|array| array.dtype == Dtype::Float32)
        || kernel.exprs.iter().any(|(_, expr)| matches!(expr, Expr::Cast { dtype: Dtype::Float32, .. }))
}

/// The inames at whose points the operands of a node are needed.
fn context(graph: &Graph, inames: &InameSet, node: &Node) -> InameSet {
    match node {
        Node::Reduce(reduction, _) => {
            let bound: InameSet = graph.analysis.context.reduction(*reduction).inames.iter().copied().collect();
            inames.union(&bound)
        }
        _ => inames.clone(),
    }
}

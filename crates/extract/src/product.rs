//! The product graph, dense: what can be chosen for each e-class, and what it costs.
//!
//! Vertices are (e-class, placement). For operations alone each value belongs at exactly its own iname set, so there
//! is one vertex per e-class here, with the number of points of its iname set as weight.
//! Source: `DESIGN.md`, "Selection"; `egraph-study.md`, section 5.

use egg::{Id, Language};
use nestegg_egraph::analysis::Graph;
use nestegg_egraph::context::Reach;
use nestegg_egraph::language::{Node, ReductionId};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{InameSet, ReduceOp};
use rustc_hash::FxHashMap;

use crate::cost::{Cost, operations};

/// How many reductions of one term are tried as accumulations.
pub const FORMS_LIMIT: usize = 6;

/// An e-class, by position.
pub type Vertex = usize;

/// One e-node that an e-class may be computed by.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The e-node, children canonical.
    pub node: Node,
    /// Operands of a sum that are accumulated into it: reductions of its own inames, computed for it alone.
    pub accumulated: Vec<(Id, Node)>,
    /// The distinct e-classes that it needs, in increasing order.
    pub children: Vec<Vertex>,
    /// What it costs beside them.
    pub cost: Cost,
    /// How far it may move, its children aside.
    pub reach: Reach,
}

/// Everything that selection chooses from.
#[derive(Clone, Debug)]
pub struct ProductGraph {
    /// For each vertex its e-class, in increasing order.
    pub classes: Vec<Id>,
    /// For each e-class its vertex.
    pub vertices: FxHashMap<Id, Vertex>,
    /// For each vertex what may be chosen; at least one where the vertex can be computed.
    pub candidates: Vec<Vec<Candidate>>,
    /// For each vertex the number of points of its iname set.
    pub points: Vec<Cost>,
    /// The vertices that must be computed.
    pub roots: Vec<Vertex>,
}

impl ProductGraph {
    /// The product graph of what is reachable from `roots`.
    ///
    /// # Errors
    /// If a domain cannot be counted.
    pub fn new(graph: &Graph, roots: &[Id], domains: &Domains) -> Result<Self, DomainError> {
        let mut classes: Vec<Id> = Vec::new();
        let mut vertices: FxHashMap<Id, Vertex> = FxHashMap::default();
        let mut pending: Vec<Id> = roots.iter().map(|&root| graph.find(root)).collect();
        while let Some(class) = pending.pop() {
            if vertices.insert(class, 0).is_none() {
                classes.push(class);
                for node in &graph[class].nodes {
                    pending.extend(node.children().iter().map(|&child| graph.find(child)));
                }
            }
        }
        classes.sort_unstable();
        for (vertex, class) in classes.iter().enumerate() {
            vertices.insert(*class, vertex);
        }
        let mut res = Self {
            candidates: Vec::with_capacity(classes.len()),
            points: Vec::with_capacity(classes.len()),
            roots: roots.iter().map(|&root| vertices[&graph.find(root)]).collect(),
            classes,
            vertices,
        };
        res.roots.sort_unstable();
        res.roots.dedup();
        for &class in &res.classes {
            res.points.push(Cost::from_big(&domains.count(&graph[class].data.inames)?));
        }
        for (vertex, &class) in res.classes.iter().enumerate() {
            let mut candidates = Vec::new();
            for (node, reach) in graph[class].nodes.iter().flat_map(|node| behind_guard(graph, node)) {
                if let Some(candidate) = res.candidate(graph, vertex, class, node, domains)? {
                    candidates.push(Candidate { reach, ..candidate });
                }
            }
            for node in &graph[class].nodes {
                res.accumulations(graph, vertex, class, node, domains, &mut candidates)?;
            }
            // E-nodes come in an order that depends on the history of unions; theirs is that of the language.
            candidates.sort_by(|a, b| {
                (a.cost, &a.node, &a.accumulated, a.reach).cmp(&(b.cost, &b.node, &b.accumulated, b.reach))
            });
            candidates.dedup_by(|a, b| a.node == b.node && a.accumulated == b.accumulated);
            res.candidates.push(candidates);
        }
        Ok(res)
    }

    /// The number of vertices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// An e-node as a candidate; `None` if it needs itself, or more inames than the value has.
    fn candidate(
        &self,
        graph: &Graph,
        vertex: Vertex,
        class: Id,
        node: &Node,
        domains: &Domains,
    ) -> Result<Option<Candidate>, DomainError> {
        let node = node.clone().map_children(|child| graph.find(child));
        let mut children: Vec<Vertex> = node.children().iter().map(|child| self.vertices[child]).collect();
        children.sort_unstable();
        children.dedup();
        let inames = &graph[class].data.inames;
        let below =
            children.iter().fold(InameSet::new(), |all, &child| all.union(&graph[self.classes[child]].data.inames));
        let (needed, points) = match &node {
            Node::Reduce(reduction, _) => {
                let bound: InameSet = graph.analysis.context.reduction(*reduction).inames.iter().copied().collect();
                let all = inames.union(&bound);
                let needed = graph.analysis.context.free_inames(*reduction, &below);
                (needed, Cost::from_big(&domains.count(&all)?))
            }
            _ => (below, self.points[vertex]),
        };
        if children.contains(&vertex) || !needed.is_subset(inames) {
            return Ok(None);
        }
        let cost = Cost::new(operations(graph, class, &node)) * points;
        Ok(Some(Candidate { node, accumulated: Vec::new(), children, cost, reach: Reach::Anywhere }))
    }

    /// A sum into which reductions among its terms are accumulated: `x = a; for q: x = x + b(q)` has one addition
    /// less than `x = a + sum(q, b(q))`. All reductions together, and each by itself.
    fn accumulations(
        &self,
        graph: &Graph,
        vertex: Vertex,
        class: Id,
        node: &Node,
        domains: &Domains,
        candidates: &mut Vec<Candidate>,
    ) -> Result<(), DomainError> {
        let node = node.clone().map_children(|child| graph.find(child));
        let Some(terms) = node.terms().filter(|terms| terms.len() > 1) else { return Ok(()) };
        let inames = &graph[class].data.inames;
        let mut forms: Vec<(Id, Vec<Node>)> = Vec::new();
        for (coefficient, child) in terms.clone() {
            if coefficient.is_unit() && graph[child].data.inames == *inames {
                let mut own: Vec<Node> = graph[child]
                    .nodes
                    .iter()
                    .filter(|node| matches!(node, Node::Reduce(reduction, _) if is_sum(graph, *reduction)))
                    .map(|node| node.clone().map_children(|child| graph.find(child)))
                    .collect();
                own.sort();
                own.dedup();
                own.truncate(FORMS_LIMIT);
                if !own.is_empty() {
                    forms.push((child, own));
                }
            }
        }
        let n_forms = forms.iter().map(|(_, own)| own.len()).max().unwrap_or(0);
        let mut choices: Vec<Vec<(Id, Node)>> = Vec::new();
        for idx in 0..n_forms {
            choices.push(forms.iter().map(|(child, own)| (*child, own[idx.min(own.len() - 1)].clone())).collect());
        }
        if forms.len() > 1 {
            choices.extend(forms.iter().flat_map(|(child, own)| own.iter().map(|form| vec![(*child, form.clone())])));
        }
        for accumulated in choices {
            let mut children: Vec<Vertex> = Vec::new();
            let mut cost = Cost::ZERO;
            for child in node.children().iter().filter(|child| accumulated.iter().all(|(id, _)| id != *child)) {
                children.push(self.vertices[child]);
            }
            let n_rest = children.len() as u128;
            let mut is_possible = true;
            for (child, form) in &accumulated {
                match self.candidate(graph, self.vertices[child], *child, form, domains)? {
                    Some(reduction) => {
                        cost = cost + reduction.cost;
                        children.extend(reduction.children);
                    }
                    None => is_possible = false,
                }
            }
            children.sort_unstable();
            children.dedup();
            let within = |child: &Vertex| {
                let below = &graph[self.classes[*child]].data.inames;
                let bound = accumulated.iter().fold(inames.clone(), |all, (_, form)| all.union(&bound_by(graph, form)));
                below.is_subset(&bound)
            };
            if !is_possible || children.contains(&vertex) || !children.iter().all(within) {
                continue;
            }
            let joins = operations(graph, class, &node) - (terms.len() as u128 - 1) + n_rest.saturating_sub(1);
            let cost = cost + Cost::new(joins) * self.points[vertex];
            candidates.push(Candidate { node: node.clone(), accumulated, children, cost, reach: Reach::Anywhere });
        }
        Ok(())
    }
}

/// An e-node and how far it may move; of a guard the e-nodes of what it guards, which is computed in its place and nowhere else.
fn behind_guard<'a>(graph: &'a Graph, node: &'a Node) -> impl Iterator<Item = (&'a Node, Reach)> {
    let context = &graph.analysis.context;
    let (nodes, reach) = match node {
        Node::Guard(guard, [operand]) => (graph[*operand].nodes.as_slice(), context.guard(*guard).1),
        _ => (std::slice::from_ref(node), Reach::Anywhere),
    };
    nodes.iter().map(move |node| match node {
        Node::Access(access, _) => (node, reach.max(context.access(*access).reach)),
        _ => (node, reach),
    })
}

fn is_sum(graph: &Graph, reduction: ReductionId) -> bool {
    graph.analysis.context.reduction(reduction).op == ReduceOp::Sum
}

/// The inames that a node binds.
pub(crate) fn bound_by(graph: &Graph, node: &Node) -> InameSet {
    match node {
        Node::Reduce(reduction, _) => graph.analysis.context.reduction(*reduction).inames.iter().copied().collect(),
        _ => InameSet::new(),
    }
}

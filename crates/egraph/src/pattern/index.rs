//! Which e-classes have an e-node that a left side begins with.

use egg::Id;
use nestegg_ir::{FunctionId, Op, ReduceOp};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Operator;
use super::query::Query;
use crate::analysis::Graph;
use crate::language::Node;

/// What e-nodes have in common that one left side may begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Root {
    Sum,
    Multiple,
    Product,
    Reduce(ReduceOp),
    Op(Op),
    Call(FunctionId),
}

/// E-classes by the operators of their e-nodes, each with its place in the order of the pass.
#[derive(Debug)]
pub struct RootIndex(FxHashMap<Root, Vec<(usize, Id)>>);

impl RootIndex {
    /// Looks through all e-nodes once. What `classes` has become is visited in their order: operands were mostly there before
    /// their users, and what a rule finds in an operand it sees in its users in the same pass. Canonical ids have no such order.
    #[must_use]
    pub fn new(graph: &Graph, classes: &[Id]) -> Self {
        let mut res: FxHashMap<Root, Vec<(usize, Id)>> = FxHashMap::default();
        let mut seen: FxHashSet<Id> = FxHashSet::default();
        for (place, &class) in classes.iter().enumerate() {
            let class = graph.find(class);
            if !seen.insert(class) {
                continue;
            }
            for node in &graph[class].nodes {
                let root = match node {
                    Node::Sum { children, .. } if children.len() == 1 => Root::Multiple,
                    Node::Sum { .. } => Root::Sum,
                    Node::Product { .. } => Root::Product,
                    Node::Reduce(reduction, _) => Root::Reduce(graph.analysis.context.reduction(*reduction).op),
                    Node::Op(op, _) | Node::Rounded(op, _) => Root::Op(*op),
                    Node::Call(function, _) => Root::Call(*function),
                    _ => continue,
                };
                let classes = res.entry(root).or_default();
                if classes.last().is_none_or(|&(last, _)| last != place) {
                    classes.push((place, class));
                }
            }
        }
        Self(res)
    }

    /// The e-classes that a query may match.
    pub(super) fn classes(&self, query: &Query) -> impl Iterator<Item = Id> {
        let roots = match query {
            Query::Variable(_) | Query::Number(_) => Vec::new(),
            Query::Reduce(reduce) => vec![Root::Reduce(reduce.op)],
            Query::Apply(apply) => {
                let own = match apply.operator {
                    Operator::Sum | Operator::Difference => vec![Root::Sum, Root::Multiple],
                    Operator::Negation => vec![Root::Multiple],
                    Operator::Product => vec![Root::Product, Root::Multiple],
                    Operator::Quotient | Operator::Power => vec![Root::Product],
                    Operator::Other(_) => Vec::new(),
                    Operator::Call(function) => vec![Root::Call(function)],
                };
                own.into_iter().chain(apply.operator.op().map(Root::Op)).collect()
            }
        };
        let mut all: Vec<(usize, Id)> = roots.iter().filter_map(|root| self.0.get(root)).flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(|(_, class)| class)
    }
}

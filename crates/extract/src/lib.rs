//! The arbiter: chooses forms and temporaries by cost, and builds the kernel of its choice.
//!
//! [`extract`] goes from an e-graph to a [`Constructed`] kernel in four steps: the [product graph](product) of all
//! possible choices, a [selection](select) of the cheapest, its [placement](place) as temporaries, and the
//! [construction](mod@construct) of a valid, naive kernel for the scheduler. [`together`] chooses among whole
//! alternatives. Extraction never rewrites: every value is some e-node of the e-graph.

mod certificate;
pub mod construct;
pub mod cost;
pub mod emit;
pub mod guard;
mod open;
pub mod place;
pub mod product;
pub mod select;
mod together;
mod uses;

use egg::Id;
use nestegg_egraph::encode::Encoded;
use nestegg_egraph::proof::Choice;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{ExprId, InameSet, LinearizedKernel};

pub use construct::{Constructed, Temporary};
pub use cost::Cost;
use place::Placement;
use product::ProductGraph;
use select::{NoForm, Selection};
pub use together::together;

/// How forms are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// The cheapest tree of each value.
    BottomUp,
    /// The cheaper of two greedy choices, then local search; a certificate where the choice costs no more than this.
    Local(Cost),
}

/// What extraction gives.
#[derive(Clone, Debug)]
pub struct Extracted {
    /// The kernel with its new temporaries.
    pub constructed: Constructed,
    /// What was chosen, with its cost and a bound.
    pub selection: Selection,
}

/// Why there is no kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// A domain cannot be counted.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// A value has no form.
    #[error(transparent)]
    NoForm(#[from] NoForm),
}

/// What the cheapest trees of the roots cost together, equal values paid once, and how many times less contraction could make of it: all values of the inames that are
/// reduced together or one inside the other, but for those of the iname with fewest. An estimate of what extraction will find, in a fraction of its time.
///
/// # Errors
/// If a domain cannot be counted, or a value has no form.
pub fn cheapest_trees(encoded: &Encoded, domains: &Domains) -> Result<(Cost, u128), ExtractError> {
    let graph = &encoded.graph;
    let roots: Vec<Id> = encoded.roots.iter().map(|root| graph.find(root.class)).collect();
    let product = ProductGraph::new(graph, &roots, domains)?;
    let selection = select::select_first(&product)?;
    let count = |inames: &InameSet| Ok::<_, DomainError>(Cost::from_big(&domains.count(inames)?).operations());
    let mut reduced: Vec<InameSet> = vec![InameSet::new(); product.len()];
    let mut slack = 1;
    for vertex in select::needed(&product, &selection.choice).ok_or(NoForm)? {
        let candidate = &product.candidates[vertex][selection.choice[vertex].ok_or(NoForm)?];
        let nodes = std::iter::once(&candidate.node).chain(candidate.accumulated.iter().map(|(_, node)| node));
        let own = nodes.fold(InameSet::new(), |own, node| own.union(&product::bound_by(graph, node)));
        let all = candidate.children.iter().fold(own.clone(), |all, &child| all.union(&reduced[child]));
        if !own.is_empty() && all.len() > 1 {
            let mut fewest = u128::MAX;
            for iname in all.iter() {
                fewest = fewest.min(count(&std::iter::once(iname).collect())?);
            }
            slack = slack.max(count(&all)? / fewest.max(1));
        }
        reduced[vertex] = all;
    }
    Ok((selection.cost, slack))
}

/// Chooses and builds. `probability` is what is stated of conditions, by the expressions of predicates and selections.
///
/// # Errors
/// If a domain cannot be counted, or the rules left a value without form.
pub fn extract(
    linearized: &LinearizedKernel,
    mut encoded: Encoded,
    domains: &Domains,
    search: Search,
    probability: &dyn Fn(ExprId) -> Option<f64>,
) -> Result<Extracted, ExtractError> {
    extract_noting(linearized, &mut encoded, domains, search, probability, |_| ())
}

/// The same, letting somebody note what was placed where before the kernel is built.
///
/// # Errors
/// Those of [`extract`].
pub fn extract_noting(
    linearized: &LinearizedKernel,
    encoded: &mut Encoded,
    domains: &Domains,
    search: Search,
    probability: &dyn Fn(ExprId) -> Option<f64>,
    note: impl FnOnce(&Placement<'_>),
) -> Result<Extracted, ExtractError> {
    let graph = &encoded.graph;
    for root in &mut encoded.roots {
        root.class = graph.find(root.class);
    }
    let roots: Vec<Id> = encoded.roots.iter().map(|root| root.class).collect();
    let product = ProductGraph::new(graph, &roots, domains)?;
    let selection = match search {
        Search::BottomUp => select::select_first(&product)?,
        Search::Local(worth_proving) => select::select(&product, worth_proving)?,
    };
    let placement = Placement::new(linearized, encoded, domains, &product, &selection, probability)?;
    note(&placement);
    let constructed = construct::construct(linearized, encoded, &placement, domains)?;
    Ok(Extracted { constructed, selection })
}

/// What was chosen, for proofs: the values that become temporaries and those of instructions are kept.
#[must_use]
pub fn choices(placement: &Placement<'_>) -> Vec<Choice> {
    let product = placement.product;
    let choice = |&vertex: &usize| {
        let candidate = placement.candidate(vertex);
        Choice {
            class: product.classes[vertex],
            node: candidate.node.clone(),
            accumulated: candidate.accumulated.clone(),
            is_kept: placement.is_kept[vertex] || product.roots.binary_search(&vertex).is_ok(),
        }
    };
    placement.order.iter().map(choice).collect()
}

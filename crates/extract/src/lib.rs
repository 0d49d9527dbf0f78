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
pub mod place;
pub mod product;
pub mod select;
mod together;
mod uses;

use egg::Id;
use nestegg_egraph::encode::Encoded;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{ExprId, LinearizedKernel};

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
    let placement = Placement::new(linearized, &encoded, domains, &product, &selection, probability)?;
    let constructed = construct::construct(linearized, &encoded, &placement, domains)?;
    Ok(Extracted { constructed, selection })
}

//! What a result was made of: value forms, and seeds that rules worked on.
//!
//! Kept only where somebody will ask ([`crate::explain`]): every seed's kernel stays in memory then. What was made of a seed can be made again, step by
//! step, because nothing in the search depends on anything but what is noted here.

use std::sync::Arc;

use nestegg_extract::Cost;
use nestegg_ir::LinearizedKernel;
use nestegg_rules::ResolvedStrategy;

use crate::seeds::Seed;

/// The kernels that something was made of, in the order of their instructions.
pub(crate) type Lineages = Vec<Arc<Lineage>>;

/// A kernel on the way to a result.
#[derive(Debug)]
pub(crate) enum Lineage {
    /// A value form, or a part of one.
    Form(Box<LinearizedKernel>),
    /// A seed on which rules worked.
    Searched(Box<Searched>),
}

/// What is needed to search again.
#[derive(Debug)]
pub(crate) struct Searched {
    /// The seed and what it was made of.
    pub(crate) seed: Seed,
    /// The strategy.
    pub(crate) strategy: String,
    /// For each phase that ran, how many e-nodes it was allowed.
    pub(crate) nodes: Vec<u32>,
    /// Up to what cost a choice was worth a proof.
    pub(crate) worth_proving: Cost,
}

/// Seeds that remember the value form that they were made of.
pub(crate) fn from_form(seeds: Vec<Seed>, form: &LinearizedKernel) -> Vec<Seed> {
    let form = Arc::new(Lineage::Form(Box::new(form.clone())));
    seeds
        .into_iter()
        .map(|seed| if seed.from.is_empty() { Seed { from: vec![form.clone()], ..seed } } else { seed })
        .collect()
}

/// What is made of a seed by a strategy.
pub(crate) fn searched(seed: &Seed, strategy: &ResolvedStrategy<'_>, worth_proving: Cost) -> Lineages {
    vec![Arc::new(Lineage::Searched(Box::new(Searched {
        seed: seed.clone(),
        strategy: strategy.name.to_string(),
        nodes: strategy.phases.iter().map(|phase| phase.nodes).collect(),
        worth_proving,
    })))]
}

impl Searched {
    /// The strategy as it ran.
    pub(crate) fn limit<'b>(&self, mut strategy: ResolvedStrategy<'b>) -> ResolvedStrategy<'b> {
        strategy.phases.truncate(self.nodes.len());
        for (phase, &nodes) in strategy.phases.iter_mut().zip(&self.nodes) {
            phase.nodes = nodes;
        }
        strategy
    }
}

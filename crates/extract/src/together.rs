//! Selection of alternatives: which way to compute each group of a kernel, where all ways are in one e-graph.
//!
//! # Input
//! The values of a kernel that does everything in every way, one after the other; and for each group its alternatives, each the instructions
//! that it consists of.
//! # Output
//! For each group the position of an alternative, so that all chosen ones together cost little: a value that several of them need is paid once.
//! # Method
//! Forms are selected for all alternatives at once. Each alternative then needs a set of values; what a choice costs is the cost of the union of its sets. A
//! descent from the alternatives that cost least by themselves changes one group at a time. Ties go to the first alternative.
//! # Complexity
//! Values × alternatives for each round, of which there are at most [`ROUNDS_LIMIT`].
//! # Not done
//! Forms that are worth it for one choice of alternatives only: what is chosen can be selected from anew.

use egg::Id;
use fixedbitset::FixedBitSet;
use nestegg_egraph::encode::Encoded;
use nestegg_ir::InsnId;
use nestegg_ir::domains::Domains;

use crate::ExtractError;
use crate::cost::Cost;
use crate::product::{ProductGraph, Vertex};
use crate::select::{NoForm, Selection, select};

/// Rounds of the descent.
pub const ROUNDS_LIMIT: usize = 8;

/// Chooses an alternative of each group; none of a group has no instruction twice.
///
/// # Errors
/// If a domain cannot be counted, or a value has no form.
pub fn together(encoded: &Encoded, domains: &Domains, groups: &[Vec<Vec<InsnId>>]) -> Result<Vec<usize>, ExtractError> {
    let graph = &encoded.graph;
    let roots: Vec<Id> = encoded.roots.iter().map(|root| graph.find(root.class)).collect();
    let product = ProductGraph::new(graph, &roots, domains)?;
    let selection = select(&product, Cost::ZERO)?;
    let roots_of = |alternative: &Vec<InsnId>| -> Vec<Vertex> {
        let own = encoded.roots.iter().filter(|root| alternative.contains(&root.insn));
        own.map(|root| product.vertices[&graph.find(root.class)]).collect()
    };
    let needs: Vec<Vec<FixedBitSet>> = groups
        .iter()
        .map(|group| group.iter().map(|alternative| needs(&product, &selection, roots_of(alternative))).collect())
        .collect::<Result<_, NoForm>>()?;
    let costs: Vec<Cost> = (0..product.len())
        .map(|vertex| selection.choice[vertex].map_or(Cost::ZERO, |idx| product.candidates[vertex][idx].cost))
        .collect();
    Ok(descend(&needs, &costs))
}

/// The values that some roots need.
fn needs(product: &ProductGraph, selection: &Selection, roots: Vec<Vertex>) -> Result<FixedBitSet, NoForm> {
    let mut res = FixedBitSet::with_capacity(product.len());
    let mut pending = roots;
    while let Some(vertex) = pending.pop() {
        if !res.put(vertex) {
            let choice = selection.choice[vertex].ok_or(NoForm)?;
            pending.extend(&product.candidates[vertex][choice].children);
        }
    }
    Ok(res)
}

/// A choice that no change of one group makes cheaper, or the last of [`ROUNDS_LIMIT`].
fn descend(needs: &[Vec<FixedBitSet>], costs: &[Cost]) -> Vec<usize> {
    let cost_of = |values: &FixedBitSet| values.ones().map(|value| costs[value]).sum::<Cost>();
    let cheapest = |costs: Vec<Cost>| {
        (0..costs.len()).reduce(|best, idx| if costs[idx] < costs[best] { idx } else { best }).unwrap_or(0)
    };
    let mut choice: Vec<usize> = needs.iter().map(|group| cheapest(group.iter().map(cost_of).collect())).collect();
    for _ in 0..ROUNDS_LIMIT {
        let mut is_changed = false;
        for group in 0..needs.len() {
            let mut others = FixedBitSet::with_capacity(costs.len());
            for other in (0..needs.len()).filter(|&other| other != group) {
                others.union_with(&needs[other][choice[other]]);
            }
            let added = |own: &FixedBitSet| own.difference(&others).map(|value| costs[value]).sum::<Cost>();
            let added: Vec<Cost> = needs[group].iter().map(added).collect();
            let best = cheapest(added.clone());
            if added[best] < added[choice[group]] {
                choice[group] = best;
                is_changed = true;
            }
        }
        if !is_changed {
            break;
        }
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: &[usize]) -> FixedBitSet {
        of.iter().copied().collect()
    }

    /// Each group has a way of its own that is cheaper than the one that shares value 0, but not cheaper than both together.
    #[test]
    fn what_is_shared_is_paid_once() {
        let costs = [10, 6, 7, 2, 2].map(Cost::new);
        let needs = vec![vec![values(&[0, 3]), values(&[0, 3, 1])], vec![values(&[2]), values(&[0, 4])]];
        assert_eq!(descend(&needs, &costs), [0, 1]);
    }

    #[test]
    fn what_is_not_shared_is_chosen_alone() {
        let costs = [5, 6, 7, 4].map(Cost::new);
        let needs = [vec![values(&[1]), values(&[0])], vec![values(&[2]), values(&[3])], Vec::new()];
        assert_eq!(descend(&needs[..2], &costs), [1, 1]);
    }
}

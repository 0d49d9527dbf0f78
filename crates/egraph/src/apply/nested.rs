//! Reductions inside products inside reductions as one reduction: `Σ_j v_j·Σ_c A_ic·B_cj` is `Σ_{j,c} v_j·A_ic·B_cj`.
//!
//! # Method
//! In each product the one factor that is a sum over other inames, that varies over those reduced already, and that nothing else uses, gives its body to the product and
//! its inames to the reduction; then the same again, up to [`MAX_INAMES`]. Products that are then reduced over the same inames stay together. What is made of it is one more
//! form: [`contract`](super::contract) finds the best order for all of the inames.
//! # Not done
//! Products of several such sums, and inames whose domains have to do with others.

use std::collections::BTreeMap;

use egg::Id;
use nestegg_ir::{InameSet, ReduceOp};

use super::Pass;
use super::contract::Term;
use super::linear::Origin;
use crate::language::Node;

/// Reductions over more inames are not made.
const MAX_INAMES: usize = 5;

/// Terms that are summed over the same inames.
pub type Group = (InameSet, Vec<Term>);

/// The terms of a reduction over `inames` without reductions among their factors; `None` where none has one.
pub fn unnested(pass: &mut Pass<'_>, origin: &Origin, terms: &[Term], inames: &InameSet) -> Option<Vec<Group>> {
    let mut groups: BTreeMap<InameSet, Vec<Term>> = BTreeMap::new();
    let mut is_changed = false;
    for term in terms {
        let (mut term, mut all) = (term.clone(), inames.clone());
        while let Some((at, inner, body)) = inner(pass, origin, &term, &all) {
            let mut factors = term.factors.clone();
            factors[at].1 = body;
            term = Term::of(pass.graph, term.coefficient, factors);
            all = all.union(&inner);
            is_changed = true;
        }
        groups.entry(all).or_default().push(term);
    }
    is_changed.then(|| groups.into_iter().collect())
}

/// The one factor that is a sum without other use and varies over `inames`, what it is summed over, and its body.
fn inner(pass: &Pass<'_>, origin: &Origin, term: &Term, inames: &InameSet) -> Option<(usize, InameSet, Id)> {
    let context = &pass.graph.analysis.context;
    let sum = |&(exponent, class): &(i32, Id)| {
        let has_one_use = pass.uses.get(&pass.graph.find(class)) == Some(&1);
        let Some(Node::Reduce(reduction, [body])) = origin.node(pass, class).filter(|_| has_one_use) else {
            return None;
        };
        let reduction = context.reduction(reduction);
        let varies = !pass.graph[class].data.inames.is_disjoint(inames);
        let bound: InameSet = reduction.inames.iter().copied().collect();
        (exponent == 1 && varies && reduction.op == ReduceOp::Sum && reduction.pinned.is_empty())
            .then_some((bound, body))
    };
    let mut sums = term.factors.iter().enumerate().filter_map(|(at, factor)| Some((at, sum(factor)?)));
    let (Some((at, (bound, body))), None) = (sums.next(), sums.next()) else { return None };
    let is_alone = |inames: &InameSet| {
        context.coupled_with(inames).is_empty() && inames.iter().all(|iname| context.enclosing(iname).is_empty())
    };
    let is_captured = term.factors.iter().any(|(_, class)| !pass.graph[*class].data.inames.is_disjoint(&bound));
    let is_within = inames.is_disjoint(&bound) && inames.len() + bound.len() <= MAX_INAMES;
    (is_within && is_alone(inames) && is_alone(&bound) && !is_captured).then_some((at, bound, body))
}

//! Seeds that get no e-graph: those that cost many times what others cost before any rule has run.
//!
//! # Input
//! The seeds of a kernel.
//! # Output
//! Those worth an e-graph, in their order, and a limit that says how many were left out.
//! # Method
//! The [cheapest trees](nestegg_extract::cheapest_trees) of a seed as it was encoded estimate what becomes of it: rules win factors within a seed, and mostly the same ones in all of them.
//! What they win beyond that is contraction: the seed's estimate is divided by what it could win. A seed whose estimate is more than [`LIMIT`] times
//! that of the cheapest is left out. Seeds that are exact are compared with exact ones only, for those that compute with tables may be refused by the accuracy guard.
//! A seed that cannot be estimated stays.
//! # Complexity
//! Encoding and one bottom-up selection for each seed, about a hundredth of what saturation takes.

use nestegg_egraph::encode;
use nestegg_extract::cheapest_trees;
use nestegg_ir::Semantics;
use nestegg_ir::domains::Domains;
use rayon::prelude::*;

use crate::report::LimitHit;
use crate::seeds::Seed;

/// Seeds that cost more than so many times the cheapest before any rule has run are left out.
/// Among the seeds of 103 kernels of finite elements of order 1 and 2 the best cost at most 1.31 times the cheapest, without what contraction won.
pub(crate) const LIMIT: u128 = 8;

/// What a seed costs before any rule has run, and how many times less it may cost after contraction.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    cost: u128,
    slack: u128,
    is_exact: bool,
}

/// The seeds that are worth an e-graph, and the limit that left others out.
pub(crate) fn worth_trying(
    seeds: Vec<Seed>,
    semantics: Semantics,
    values: &[(String, i64)],
) -> (Vec<Seed>, Option<LimitHit>) {
    if seeds.len() < 2 {
        return (seeds, None);
    }
    let estimates: Vec<Option<Estimate>> = seeds.par_iter().map(|seed| estimate(seed, semantics, values)).collect();
    let is_worth = worth(&estimates);
    let n_seeds = seeds.len();
    let kept: Vec<Seed> =
        seeds.into_iter().zip(is_worth).filter_map(|(seed, is_worth)| is_worth.then_some(seed)).collect();
    let n_left_out = n_seeds - kept.len();
    let limit = (n_left_out > 0).then(|| LimitHit {
        place: format!("seeds, {n_left_out} of {n_seeds} left out"),
        limit: "cost before rules over the least".to_owned(),
        value: u64::try_from(LIMIT).ok(),
    });
    (kept, limit)
}

/// For each seed whether it is worth an e-graph.
fn worth(estimates: &[Option<Estimate>]) -> Vec<bool> {
    let least = |only_exact: bool| {
        let known = estimates.iter().flatten().filter(|estimate| estimate.is_exact || !only_exact);
        known.map(|estimate| estimate.cost).min().unwrap_or(u128::MAX)
    };
    let (least_exact, least_of_all) = (least(true), least(false));
    let is_worth = |estimate: &Estimate| {
        let least = if estimate.is_exact { least_exact } else { least_of_all };
        estimate.cost <= least.saturating_mul(LIMIT).saturating_mul(estimate.slack)
    };
    estimates.iter().map(|estimate| estimate.as_ref().is_none_or(is_worth)).collect()
}

/// `None` where a pass refuses the seed: what comes of it says why.
fn estimate(seed: &Seed, semantics: Semantics, values: &[(String, i64)]) -> Option<Estimate> {
    let form = nestegg_transform::name_bound_inames(seed.linearized.clone()).ok()?;
    if crate::search::violations(&form.kernel, Some(&form.linearization)).is_some() {
        return None;
    }
    let context = nestegg_isl::Context::new();
    let domains = Domains::new(&context, &form.kernel).ok()?.with_values(values);
    let encoded = encode::encode(&form, &domains, semantics).ok()?;
    let (cost, slack) = cheapest_trees(&encoded, &domains).ok()?;
    Some(Estimate { cost: cost.operations(), slack, is_exact: seed.tolerance.is_none() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(cost: u128, slack: u128, is_exact: bool) -> Option<Estimate> {
        Some(Estimate { cost, slack, is_exact })
    }

    #[test]
    fn dear_seeds_are_left_out() {
        let seeds =
            [estimate(1000, 1, true), estimate(100, 1, false), estimate(800, 1, false), estimate(801, 1, false)];
        assert_eq!(worth(&seeds), [true, true, true, false]);
    }

    #[test]
    fn what_contraction_may_win_counts() {
        let seeds = [estimate(100, 1, true), estimate(7200, 9, true), estimate(7201, 9, true)];
        assert_eq!(worth(&seeds), [true, true, false]);
    }

    #[test]
    fn exact_seeds_are_compared_with_exact_ones() {
        let seeds = [estimate(1, 1, false), estimate(1000, 1, true), estimate(8001, 1, true), None];
        assert_eq!(worth(&seeds), [true, true, false, true]);
    }
}

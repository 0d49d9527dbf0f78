//! Seeds that are too dear before any rule has run, which get no e-graph.
//!
//! # Input
//! The seeds of a kernel.
//! # Output
//! The seeds worth an e-graph, in their order, and a limit that counts those left out; or so many of the cheapest.
//! # Method
//! The [cheapest trees](nestegg_extract::cheapest_trees) of an encoded seed estimate its cost after the rules: rules save factors within a seed, and mostly the
//! same factors in all of them. What they save beyond that is contraction, so each estimate is divided by what contraction could save.
//! A seed whose estimate exceeds the cheapest by the [ratio](crate::budget) of the strategy is left out. Exact seeds are compared with exact seeds only, because
//! the accuracy guard may refuse those that compute tables; where these are cheaper by that ratio, only the cheapest exact one stays.
//! Seeds in loops are compared with seeds in loops only, because loops have more for the rules to save than their copies. A seed without an estimate stays,
//! and one that was made for the sake of time.
//! # Complexity
//! Each seed is encoded and selected from bottom-up once, which takes about a hundredth of its saturation.

use nestegg_egraph::encode;
use nestegg_extract::cheapest_trees;
use nestegg_ir::domains::Domains;
use nestegg_ir::{LinearizedKernel, Semantics};
use rayon::prelude::*;

use crate::budget::{self, SEED_RATIO};
use crate::report::LimitHit;
use crate::seeds::Seed;

/// The cost of a seed before any rule, and the factor that contraction may save.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    cost: u128,
    slack: u128,
    is_exact: bool,
    is_unrolled: bool,
}

/// The seeds that are worth an e-graph, and the limit that left others out.
pub(crate) fn worth_trying(
    seeds: Vec<Seed>,
    ratio: u128,
    semantics: Semantics,
    values: &[(String, i64)],
) -> (Vec<Seed>, Option<LimitHit>) {
    if seeds.len() < 2 {
        return (seeds, None);
    }
    let mut estimates = estimates(&seeds, semantics, values);
    let for_time = std::iter::zip(&seeds, &mut estimates).filter(|(seed, _)| seed.is_for_time);
    for_time.for_each(|(_, estimate)| *estimate = None);
    let is_worth = worth(&estimates, ratio);
    let n_seeds = seeds.len();
    let kept: Vec<Seed> =
        seeds.into_iter().zip(is_worth).filter_map(|(seed, is_worth)| is_worth.then_some(seed)).collect();
    let ratio = u64::try_from(ratio).unwrap_or(u64::MAX);
    let limit = budget::hit(SEED_RATIO, ratio, "the choice of seeds before any rule", n_seeds - kept.len(), n_seeds);
    (kept, limit)
}

/// The `n` seeds that cost least before any rule, in their order; those without an estimate are left out.
pub(crate) fn cheapest(seeds: Vec<Seed>, n: usize, semantics: Semantics, values: &[(String, i64)]) -> Vec<Seed> {
    if seeds.len() <= n {
        return seeds;
    }
    let estimates = estimates(&seeds, semantics, values);
    let mut costs: Vec<(u128, usize)> =
        estimates.iter().enumerate().filter_map(|(idx, estimate)| Some((estimate.as_ref()?.cost, idx))).collect();
    costs.sort_unstable();
    costs.truncate(n);
    let is_kept = |idx: usize| costs.iter().any(|(_, kept)| *kept == idx);
    seeds.into_iter().enumerate().filter_map(|(idx, seed)| is_kept(idx).then_some(seed)).collect()
}

/// For each seed whether it is worth an e-graph.
fn worth(estimates: &[Option<Estimate>], ratio: u128) -> Vec<bool> {
    let known = || estimates.iter().flatten();
    let least = known().map(|estimate| estimate.cost).min().unwrap_or(u128::MAX);
    let exact =
        estimates.iter().zip(0..).filter_map(|(estimate, idx)| estimate.filter(|one| one.is_exact).zip(Some(idx)));
    let cheapest_exact = exact.map(|(estimate, idx)| (estimate.cost, idx)).min();
    // The first of the cheapest exact seeds, if exact seeds win only where the others are refused.
    let spare = cheapest_exact.filter(|(cost, _)| *cost > least.saturating_mul(ratio)).map(|(_, idx)| idx);
    let is_worth = |idx: usize, estimate: &Estimate| {
        let rivals = known().filter(|rival| {
            let is_rival = rival.is_exact || !estimate.is_exact || spare.is_some();
            is_rival && (!rival.is_unrolled || estimate.is_unrolled)
        });
        let least = rivals.map(|rival| rival.cost).min().unwrap_or(u128::MAX);
        spare == Some(idx) || estimate.cost <= least.saturating_mul(ratio).saturating_mul(estimate.slack)
    };
    let is_worth = |(idx, estimate): (usize, &Option<Estimate>)| estimate.as_ref().is_none_or(|one| is_worth(idx, one));
    estimates.iter().enumerate().map(is_worth).collect()
}

fn estimates(seeds: &[Seed], semantics: Semantics, values: &[(String, i64)]) -> Vec<Option<Estimate>> {
    seeds.par_iter().map(|seed| estimate(seed, semantics, values)).collect()
}

/// `None` where a pass refuses the seed: what comes of it says why.
fn estimate(seed: &Seed, semantics: Semantics, values: &[(String, i64)]) -> Option<Estimate> {
    let (cost, slack) = before_rules(&seed.linearized, semantics, values)?;
    Some(Estimate { cost, slack, is_exact: seed.tolerance.is_none(), is_unrolled: !seed.unrolled.is_empty() })
}

/// What a kernel in value form costs before any rule, and the factor that contraction may save; `None` where a pass refuses it.
pub(crate) fn before_rules(
    linearized: &LinearizedKernel,
    semantics: Semantics,
    values: &[(String, i64)],
) -> Option<(u128, u128)> {
    let form = nestegg_transform::name_bound_inames(linearized.clone()).ok()?;
    if crate::search::violations(&form.kernel, Some(&form.linearization)).is_some() {
        return None;
    }
    let context = nestegg_isl::Context::new();
    let domains = Domains::new(&context, &form.kernel).ok()?.with_values(values);
    let encoded = encode::encode(&form, &domains, semantics).ok()?;
    let (cost, slack) = cheapest_trees(&encoded, &domains).ok()?;
    Some((cost.operations(), slack))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(cost: u128, slack: u128, is_exact: bool) -> Option<Estimate> {
        Some(Estimate { cost, slack, is_exact, is_unrolled: false })
    }

    #[test]
    fn loops_are_not_compared_with_their_copies() {
        let copies = estimate(1, 1, true).map(|estimate| Estimate { is_unrolled: true, ..estimate });
        let dear = estimate(9, 1, true).map(|estimate| Estimate { is_unrolled: true, ..estimate });
        let estimates = [copies, dear, estimate(100, 1, true), estimate(801, 1, true)];
        assert_eq!(worth(&estimates, 8), [true, false, true, false]);
    }

    #[test]
    fn dear_seeds_are_left_out() {
        let seeds =
            [estimate(1000, 1, true), estimate(100, 1, false), estimate(800, 1, false), estimate(801, 1, false)];
        assert_eq!(worth(&seeds, 8), [true, true, true, false]);
    }

    #[test]
    fn what_contraction_may_win_counts() {
        let seeds = [estimate(100, 1, true), estimate(7200, 9, true), estimate(7201, 9, true)];
        assert_eq!(worth(&seeds, 8), [true, true, false]);
    }

    #[test]
    fn exact_seeds_are_compared_with_exact_ones() {
        let seeds = [estimate(200, 1, false), estimate(1000, 1, true), estimate(8000, 1, true), None];
        assert_eq!(worth(&seeds, 8), [true, true, true, true]);
    }

    #[test]
    fn of_exact_seeds_that_cannot_win_one_is_kept() {
        let seeds = [estimate(1, 1, false), estimate(1001, 1, true), estimate(1000, 1, true), None];
        assert_eq!(worth(&seeds, 8), [true, false, true, true]);
    }
}

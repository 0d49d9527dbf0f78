//! Seeds that are too dear before any rule has run, which get no e-graph.
//!
//! # Input
//! The seeds of a kernel.
//! # Output
//! The seeds worth an e-graph, in their order, and a limit that counts those left out; or so many of the cheapest.
//! # Method
//! The [cheapest trees](nestegg_extract::cheapest_trees) of an encoded seed estimate its cost after the rules: rules save factors within a seed, and mostly the
//! same factors in all of them. What they save beyond that is contraction, so each estimate is divided by what contraction could save.
//! A seed whose estimate exceeds [`LIMIT`] times the cheapest is left out. Exact seeds are compared with exact seeds only, because the accuracy guard may refuse
//! those that compute tables; seeds in loops with seeds in loops only, because loops have more for the rules to save than their copies. A seed without an estimate stays.
//! # Complexity
//! Each seed is encoded and selected from bottom-up once, which takes about a hundredth of its saturation.

use nestegg_egraph::encode;
use nestegg_extract::cheapest_trees;
use nestegg_ir::Semantics;
use nestegg_ir::domains::Domains;
use rayon::prelude::*;

use crate::report::LimitHit;
use crate::seeds::Seed;

/// Seeds whose cost before any rule exceeds the cheapest by this factor are left out.
/// In 103 finite-element kernels of order 1 and 2, the winning seed cost at most 1.31 times the cheapest, contraction aside.
pub(crate) const LIMIT: u128 = 8;

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
    semantics: Semantics,
    values: &[(String, i64)],
) -> (Vec<Seed>, Option<LimitHit>) {
    if seeds.len() < 2 {
        return (seeds, None);
    }
    let estimates = estimates(&seeds, semantics, values);
    let is_worth = worth(&estimates);
    let n_seeds = seeds.len();
    let kept: Vec<Seed> =
        seeds.into_iter().zip(is_worth).filter_map(|(seed, is_worth)| is_worth.then_some(seed)).collect();
    let n_left_out = n_seeds - kept.len();
    let limit = (n_left_out > 0).then(|| LimitHit {
        place: format!("the choice of seeds before any rule ({n_left_out} of {n_seeds} left out)"),
        limit: "cost ratio".to_owned(),
        value: u64::try_from(LIMIT).ok(),
    });
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
fn worth(estimates: &[Option<Estimate>]) -> Vec<bool> {
    let is_worth = |estimate: &Estimate| {
        let rivals = estimates
            .iter()
            .flatten()
            .filter(|rival| (rival.is_exact || !estimate.is_exact) && (!rival.is_unrolled || estimate.is_unrolled));
        let least = rivals.map(|rival| rival.cost).min().unwrap_or(u128::MAX);
        estimate.cost <= least.saturating_mul(LIMIT).saturating_mul(estimate.slack)
    };
    estimates.iter().map(|estimate| estimate.as_ref().is_none_or(is_worth)).collect()
}

fn estimates(seeds: &[Seed], semantics: Semantics, values: &[(String, i64)]) -> Vec<Option<Estimate>> {
    seeds.par_iter().map(|seed| estimate(seed, semantics, values)).collect()
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
    let (is_exact, is_unrolled) = (seed.tolerance.is_none(), !seed.unrolled.is_empty());
    Some(Estimate { cost: cost.operations(), slack, is_exact, is_unrolled })
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
        assert_eq!(worth(&[copies, dear, estimate(100, 1, true), estimate(801, 1, true)]), [true, false, true, false]);
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

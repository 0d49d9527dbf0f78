//! How many seeds and results a strategy pays for.
//!
//! # Input
//! The options `seed-ratio`, `first-try`, `promising-ratio`, `full-seeds` and `shifted-seeds` of a strategy.
//! # Output
//! The same as numbers, and the limits that were hit, for the report.
//! # Method
//! Counts and ratios of costs only: the same kernel gets the same budget on every machine.

use nestegg_rules::{OptionValue, ResolvedStrategy};

use crate::config::CostModel;
use crate::report::LimitHit;

/// The options, by their names.
pub(crate) const SEED_RATIO: &str = "seed-ratio";
const FIRST_TRY: &str = "first-try";
const PROMISING_RATIO: &str = "promising-ratio";
pub(crate) const FULL_SEEDS: &str = "full-seeds";
const SHIFTED_SEEDS: &str = "shifted-seeds";

/// With `--cost time`, the ratio before any rule and the number of shifted seeds are multiplied by this.
const TIME_IS_WIDER: u64 = 2;

/// What a strategy allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Seeds that cost more than so many times the cheapest before any rule get no e-graph.
    pub(crate) seed_ratio: u128,
    /// Where there are several seeds, each is tried with one over so many of the e-nodes first.
    pub(crate) first_try: u32,
    /// Seeds that hit that limit are tried with all e-nodes, and seeds are made of results, if they cost at most so many times the best then.
    pub(crate) promising_ratio: u128,
    /// How many seeds that hit the first limit of e-nodes are tried with all of them.
    pub(crate) full_seeds: usize,
    /// How many seeds with recurring values in arrays are tried.
    pub(crate) shifted_seeds: usize,
}

impl Budget {
    /// What a strategy allows when this cost is minimized.
    pub(crate) fn of(strategy: &ResolvedStrategy<'_>, cost: CostModel) -> Self {
        // Operations predict time less well, so fewer seeds are left out by them.
        let wider = if cost == CostModel::Time { TIME_IS_WIDER } else { 1 };
        let option = |option| match strategy.options.get(option) {
            Some(OptionValue::Integer(value)) => *value,
            _ => u64::MAX,
        };
        let count = |name| usize::try_from(option(name)).unwrap_or(usize::MAX);
        let wider_count = |name| usize::try_from(option(name).saturating_mul(wider)).unwrap_or(usize::MAX);
        Self {
            seed_ratio: u128::from(option(SEED_RATIO)) * u128::from(wider),
            first_try: u32::try_from(option(FIRST_TRY)).unwrap_or(u32::MAX),
            promising_ratio: u128::from(option(PROMISING_RATIO)),
            full_seeds: count(FULL_SEEDS),
            shifted_seeds: wider_count(SHIFTED_SEEDS),
        }
    }
}

/// The limit of an option that leaves so many out, if it does.
pub(crate) fn hit(option: &str, limit: u64, what: &str, n_left_out: usize, n_all: usize) -> Option<LimitHit> {
    (n_left_out > 0).then(|| LimitHit {
        place: format!("{what} ({n_left_out} of {n_all} left out)"),
        limit: option.to_owned(),
        value: Some(limit),
    })
}

/// Leaves out all but the first of some; the limit if that is any.
pub(crate) fn truncate<T>(of: &mut Vec<T>, (option, limit): (&str, usize), what: &str) -> Option<LimitHit> {
    let n_all = of.len();
    of.truncate(limit);
    hit(option, u64::try_from(limit).unwrap_or(u64::MAX), what, n_all - of.len(), n_all)
}

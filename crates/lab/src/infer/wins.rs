//! What rules win on kernels: operations with each of them and without.

use nestegg_driver::config::{Config, Validation};
use nestegg_driver::{Error, optimize};
use nestegg_span::Source;
use rayon::prelude::*;
use serde::Serialize;

use super::{Inferred, InferredRule, Status};

/// A kernel on which a rule makes a difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Win {
    /// The kernel.
    pub kernel: String,
    /// Operations without the rule.
    pub without: u128,
    /// Operations with it.
    pub with: u128,
}

/// Tries each rule that is not known on each kernel, and puts those that win most first in their themes.
///
/// # Errors
/// What is wrong with a kernel.
pub fn rank(
    inferred: &mut [Inferred],
    kernels: &[Source],
    config: &Config,
    done: impl Fn() + Sync,
) -> Result<(), Error> {
    let config = Config { validation: Validation::Off, ..config.clone() };
    let operations = |source: &Source, rules: Vec<Source>| {
        let with = Config { rules: [config.rules.clone(), rules].concat(), ..config.clone() };
        optimize(source, &with).map(|optimized| (optimized.report.kernel.clone(), optimized.report.after.total))
    };
    let without: Vec<_> = kernels.par_iter().map(|source| operations(source, Vec::new())).collect();
    let without = without.into_iter().collect::<Result<Vec<_>, _>>()?;
    let rules = inferred.iter_mut().flat_map(|found| &mut found.rules);
    for rule in rules.filter(|rule| !matches!(rule.status, Status::Known(_))) {
        let own = Source::new(format!("{}.rules", rule.name), format!(";; Inferred.\n\n{}", rule.text));
        let with: Vec<_> = kernels.par_iter().map(|source| operations(source, vec![own.clone()])).collect();
        let with = with.into_iter().collect::<Result<Vec<_>, _>>()?;
        let pairs = without.iter().zip(with).filter(|((_, without), (_, with))| without != with);
        rule.wins = pairs
            .map(|((kernel, without), (_, with))| Win { kernel: kernel.clone(), without: *without, with })
            .collect();
        done();
    }
    // Stable: rules that win alike stay in the order in which they were found.
    for found in inferred {
        found.rules.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    }
    Ok(())
}

impl InferredRule {
    /// The product of operations with the rule over those without, over all kernels: below 1 if it wins.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.wins.iter().map(|win| win.with as f64 / (win.without as f64).max(1.0)).product()
    }
}

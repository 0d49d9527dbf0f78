//! Ablation: each rule, seed and form of a strategy is left out in turn.
//!
//! # Input
//! Kernels, and a configuration whose strategy has a name.
//! # Output
//! For each part of the strategy on how many kernels the result is worse without it, on how many it is better, and the geometric mean of operations
//! without over operations with it.
//! # Method
//! A strategy that extends the given one takes the part out; everything else stays. Kernels and parts run in parallel, and the answers are in the
//! order of the strategy, whatever the number of threads.
//! # Complexity
//! One run for each kernel and part.

use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_driver::rules::rule_book;
use nestegg_driver::{Error, optimize};
use nestegg_rules::{OptionValue, Rule, RuleBook};
use nestegg_span::Source;
use rayon::prelude::*;
use serde::Serialize;

/// A part of a strategy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// `rule`, or the option whose word it is: `seeds`, `forms`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// What leaving a part out does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ablated {
    /// The part.
    #[serde(flatten)]
    pub part: Part,
    /// Kernels whose result has more operations without it.
    pub worse: usize,
    /// Kernels whose result has fewer.
    pub better: usize,
    /// The geometric mean of operations without it over operations with it.
    pub ratio: f64,
    /// The kernel that loses most, and how many times the operations it then has.
    pub most: Option<(String, f64)>,
}

/// The parts of a strategy, in its order, after the rules of the caller's files that it does not name, which run before it; `None` if
/// nothing has that name.
#[must_use]
pub fn parts(book: &RuleBook, level: &str, given: &[Source]) -> Option<Vec<Part>> {
    let strategy = book.resolve(level).ok()?;
    let mut res: Vec<Part> = Vec::new();
    let is_given = |rule: &&Rule| given.iter().any(|file| file.name == rule.source.name);
    let of_files = book.rules.values().filter(is_given);
    for rule in of_files.chain(strategy.phases.iter().flat_map(|phase| phase.rules.iter().copied())) {
        let part = Part { kind: "rule".to_owned(), name: rule.name.to_string() };
        if !res.contains(&part) {
            res.push(part);
        }
    }
    for option in ["seeds", "forms"] {
        // The only seed cannot be left out: nothing would be left to start from. Without seeds that are made with forms, forms are idle.
        if let Some(OptionValue::Words(words)) = strategy.options.get(option)
            && words.len() > 1
            && book.option_needs.get(option).is_none_or(|need| need.is_met(&strategy.options))
        {
            res.extend(words.iter().map(|word| Part { kind: option.to_owned(), name: word.to_string() }));
        }
    }
    Some(res)
}

/// Leaves each of these parts out in turn. `done` hears after each run.
///
/// # Errors
/// The first kernel, in their order, that cannot be optimized with the whole strategy; a part without which the rules or the strategy are wrong.
/// Without a part a kernel may fail: then it counts as worse.
pub fn ablate(
    sources: &[Source],
    config: &Config,
    (level, parts): (&str, &[Part]),
    done: impl Fn() + Sync,
) -> Result<Vec<Ablated>, Error> {
    let config = Config { validation: Validation::On, ..config.clone() };
    let whole: Vec<Result<u128, Error>> = sources
        .par_iter()
        .map(|source| {
            let res = optimize(source, &config).map(|optimized| optimized.report.after.total);
            done();
            res
        })
        .collect();
    let whole: Vec<u128> = whole.into_iter().collect::<Result<_, _>>()?;
    let book = rule_book(&config.rules)?;
    let one = |part: &Part| {
        let config = without(&config, &book, level, part);
        nestegg_driver::rules::check(&config)?;
        let after: Vec<Option<u128>> = sources
            .par_iter()
            .map(|source| {
                let res = optimize(source, &config).ok().map(|optimized| optimized.report.after.total);
                done();
                res
            })
            .collect();
        Ok(summary(part, sources, &whole, &after))
    };
    parts.par_iter().map(one).collect::<Vec<Result<Ablated, Error>>>().into_iter().collect()
}

/// The configuration without a part.
fn without(config: &Config, book: &RuleBook, level: &str, part: &Part) -> Config {
    let strategy = book.resolve(level).ok();
    let is_named = |name: &str| {
        let mut phases = strategy.iter().flat_map(|strategy| &strategy.phases);
        phases.any(|phase| phase.rules.iter().any(|rule| *rule.name == *name))
    };
    let change = match (part.kind.as_str(), book.rules.get(part.name.as_str())) {
        // A rule that no phase names runs because its file is given.
        ("rule", Some(rule)) if !is_named(&part.name) => {
            let rules = config
                .rules
                .iter()
                .map(|file| if file.name == rule.source.name { cut(file, rule) } else { file.clone() });
            return Config { rules: rules.collect(), ..config.clone() };
        }
        ("rule", _) => format!(":off ({})", part.name),
        (option, _) => {
            let words = strategy.as_ref().and_then(|strategy| strategy.options.get(option));
            let left: Vec<String> = match words {
                Some(OptionValue::Words(words)) => {
                    words.iter().map(ToString::to_string).filter(|word| *word != part.name).collect()
                }
                _ => Vec::new(),
            };
            format!(":option ({option} {})", left.join(" "))
        }
    };
    let text =
        format!(";; A strategy without one part.\n\n;; Without it.\n(strategy ablated :extends {level} {change})\n");
    Config { strategy: Strategy::InFile(Source::new("ablated.rules", text)), ..config.clone() }
}

/// A rule file without one rule.
fn cut(file: &Source, rule: &Rule) -> Source {
    let range = rule.span.start as usize..rule.span.end as usize;
    let mut text = file.text.to_string();
    if text.get(range.clone()).is_some() {
        text.replace_range(range, "");
    }
    Source::new(file.name.to_string(), text)
}

fn summary(part: &Part, sources: &[Source], whole: &[u128], after: &[Option<u128>]) -> Ablated {
    let ratio = |with: u128, without: Option<u128>| match (with, without) {
        (0, Some(0)) => 1.0,
        (_, None) => f64::INFINITY,
        (with, Some(without)) => without.max(1) as f64 / with.max(1) as f64,
    };
    let ratios: Vec<f64> = whole.iter().zip(after).map(|(&with, &without)| ratio(with, without)).collect();
    let finite: Vec<f64> = ratios.iter().copied().filter(|ratio| ratio.is_finite()).collect();
    let mean = finite.iter().map(|ratio| ratio.ln()).sum::<f64>() / finite.len().max(1) as f64;
    let mut most: Option<(String, f64)> = None;
    for (source, &ratio) in sources.iter().zip(&ratios) {
        if ratio > most.as_ref().map_or(1.0, |most| most.1) {
            most = Some((source.name.to_string(), ratio));
        }
    }
    Ablated {
        part: part.clone(),
        worse: ratios.iter().filter(|ratio| **ratio > 1.0).count(),
        better: ratios.iter().filter(|ratio| **ratio < 1.0).count(),
        ratio: mean.exp(),
        most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_every_level_can_be_left_out() {
        let book = rule_book(&[]).unwrap();
        for level in book.strategies.keys() {
            let config = Config { strategy: Strategy::Named(level.to_string()), ..Config::of_operations() };
            for part in parts(&book, level.as_str(), &[]).unwrap() {
                let res = nestegg_driver::rules::check(&without(&config, &book, level.as_str(), &part));
                assert!(res.is_ok(), "{level} without {part:?}: {res:?}");
            }
        }
    }
}

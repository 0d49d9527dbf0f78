//! Ablation: each rule, seed and form of a strategy is left out in turn.
//!
//! # Input
//! Kernels, and a configuration whose strategy has a name.
//! # Output
//! For each part of the strategy on how many kernels the result is worse without it, on how many it is better, and the geometric mean of operations
//! without over operations with it.
//! # Method
//! A strategy that extends the given one takes the part out; everything else stays. Kernels and parts run in parallel, and the answers are in the
//! order of the strategy, whatever the number of threads. A pattern rule that equated nothing in any e-graph of a kernel is not left out there: the run
//! would be the same.
//! # Complexity
//! One run for each kernel, and one for each kernel and part that has something to do there.

use std::collections::BTreeSet;

use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_driver::rules::rule_book;
use nestegg_driver::trace::Event;
use nestegg_driver::{Error, optimize};
use nestegg_egraph::pattern::take_turns;
use nestegg_rules::{OptionValue, Rule, RuleBook, RuleKind};
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
    let traced = Config { traces: true, ..config.clone() };
    let whole: Vec<Result<Whole, Error>> = sources
        .par_iter()
        .map(|source| {
            let res = optimize(source, &traced)
                .map(|optimized| Whole { operations: optimized.report.after.total, active: active(&optimized.events) });
            done();
            res
        })
        .collect();
    let whole: Vec<Whole> = whole.into_iter().collect::<Result<_, _>>()?;
    let book = rule_book(&config.rules)?;
    let one = |part: &Part| {
        let config = without(&config, &book, level, part);
        nestegg_driver::rules::check(&config)?;
        let needs_action = is_idle_where_silent(&book, level, part);
        let after: Vec<Option<u128>> = sources
            .par_iter()
            .zip(&whole)
            .map(|(source, whole)| {
                let is_silent = whole.active.as_ref().is_some_and(|active| !active.contains(&part.name));
                let res = if needs_action && is_silent {
                    Some(whole.operations)
                } else {
                    optimize(source, &config).ok().map(|optimized| optimized.report.after.total)
                };
                done();
                res
            })
            .collect();
        let whole: Vec<u128> = whole.iter().map(|whole| whole.operations).collect();
        Ok(summary(part, sources, &whole, &after))
    };
    parts.par_iter().map(one).collect::<Vec<Result<Ablated, Error>>>().into_iter().collect()
}

/// A kernel with the whole strategy.
struct Whole {
    operations: u128,
    /// The rules that equated something in one of its e-graphs; `None` if a seed failed, of whose rules nothing is told.
    active: Option<BTreeSet<String>>,
}

fn active(events: &[Event]) -> Option<BTreeSet<String>> {
    let mut res = BTreeSet::new();
    for event in events {
        match event {
            Event::Failed { .. } => return None,
            Event::Pass { rules, .. } => res.extend(rules.iter().map(|rule| rule.rule.clone())),
            _ => {}
        }
    }
    Some(res)
}

/// Whether a part can be left out of a run in which it equated nothing without another effect: a pattern rule of the strategy, unless its neighbours in a
/// phase take turns once it is gone.
fn is_idle_where_silent(book: &RuleBook, level: &str, part: &Part) -> bool {
    let Ok(strategy) = book.resolve(level) else { return false };
    let is_it = |rule: &&Rule| part.kind == "rule" && *rule.name == *part.name;
    let is_pattern = |rule: &&Rule| matches!(rule.kind, RuleKind::Pattern { .. });
    let mut phases = strategy.phases.iter().filter(|phase| phase.rules.iter().any(is_it)).peekable();
    phases.peek().is_some()
        && phases.all(|phase| {
            phase.rules.iter().filter(|rule| is_it(rule)).all(is_pattern)
                && !phase
                    .rules
                    .windows(3)
                    .any(|rules| is_it(&rules[1]) && take_turns(rules[0], rules[2]) && !take_turns(rules[0], rules[1]))
        })
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
    fn rules_that_do_nothing_are_not_left_out() {
        let book = rule_book(&[]).unwrap();
        let is_idle = |name: &str| {
            let part = Part { kind: "rule".to_owned(), name: name.to_owned() };
            is_idle_where_silent(&book, "O2", &part)
        };
        assert!(is_idle("pull-invariant") && is_idle("pythagoras"));
        assert!(!is_idle("group-sum"), "code may have effects that no event tells");
        assert!(!is_idle("nobody"));
        let pass = |rule: &str| Event::Pass {
            seed: "rolled".to_owned(),
            phase: "hoist".to_owned(),
            pass: 1,
            rules: vec![nestegg_driver::trace::RuleInPass { rule: rule.to_owned(), equated: 1, new: 0 }],
            nodes: 1,
            classes: 1,
        };
        let found = active(&[pass("a"), pass("b"), pass("a")]).unwrap();
        assert_eq!(found.into_iter().collect::<Vec<String>>(), ["a", "b"]);
        let failed = Event::Failed { seed: "split".to_owned(), reason: "of size".to_owned() };
        assert!(active(&[pass("a"), failed]).is_none());
    }

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

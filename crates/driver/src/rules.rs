//! The rules and strategies of a run: the built-in ones with those of the caller's files.

use nestegg_rules::{ResolvedPhase, ResolvedStrategy, Rule, RuleBook, Vocabulary};
use nestegg_span::Source;

use crate::config::{Config, Strategy};
use crate::error::Error;

/// The most passes of a phase for rules that no strategy names.
const GIVEN_PASSES: u32 = 4;

/// The most e-nodes of such a phase.
const GIVEN_NODES: u32 = 1_000_000;

/// The built-in rules and strategies with those of further files.
///
/// # Errors
/// All that is wrong with the files.
pub fn rule_book(files: &[Source]) -> Result<RuleBook, Error> {
    nestegg_egraph::builtin::rule_book(files).map_err(|errors| Error::Rules(Box::new(errors)))
}

/// What rule files may use.
#[must_use]
pub fn vocabulary() -> Vocabulary {
    nestegg_egraph::vocabulary::vocabulary()
}

/// The rules and strategies that a configuration asks for, and the name of the strategy that runs.
pub(crate) fn of_config(config: &Config) -> Result<(RuleBook, String), Error> {
    let mut files = config.rules.clone();
    if let Strategy::InFile(source) = &config.strategy
        && !files.contains(source)
    {
        files.push(source.clone());
    }
    let book = rule_book(&files)?;
    let name = match &config.strategy {
        Strategy::Named(name) => name.clone(),
        Strategy::InFile(source) => {
            let last = book.strategies.values().rev().find(|strategy| strategy.source.name == source.name);
            last.ok_or_else(|| Error::NoStrategy { file: source.name.to_string() })?.name.to_string()
        }
    };
    Ok((book, name))
}

/// The strategy of that name, with a phase before its own for the rules of the caller's files that it does not name: who
/// gives a rule wants it to run. A strategy without phases stays without.
pub(crate) fn resolved<'b>(book: &'b RuleBook, name: &str, given: &[Source]) -> Result<ResolvedStrategy<'b>, Error> {
    let mut strategy = book.resolve(name).map_err(|_| {
        let known: Vec<String> = book.strategies.keys().map(|name| format!("`{name}`")).collect();
        Error::UnknownStrategy { name: name.to_owned(), help: format!("there are {}", known.join(", ")) }
    })?;
    let is_named =
        |rule: &Rule| strategy.phases.iter().any(|phase| phase.rules.iter().any(|named| named.name == rule.name));
    let is_given = |rule: &&Rule| given.iter().any(|source| source.name == rule.source.name);
    let rules: Vec<&Rule> = book.rules.values().filter(is_given).filter(|rule| !is_named(rule)).collect();
    if let (Some(first), false) = (rules.first(), strategy.phases.is_empty()) {
        let phase = ResolvedPhase { name: &first.name, rules, passes: GIVEN_PASSES, nodes: GIVEN_NODES };
        strategy.phases.insert(0, phase);
    }
    Ok(strategy)
}

//! The rules and strategies of a run: the built-in ones and those of the caller's files.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::OnceLock;

use nestegg_egraph::lint::{Warning, lint};
use nestegg_ir::Licence;
use nestegg_rules::{Grant, OptionValue, ResolvedPhase, ResolvedStrategy, Rule, RuleBook, Vocabulary};
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

/// What is worth a warning about the rules of files that are right; none if one is wrong.
#[must_use]
pub fn warnings(files: &[Source]) -> Vec<Warning> {
    let is_given = |rule: &Rule| files.contains(&rule.source);
    rule_book(files).map(|book| lint(&book, is_given)).unwrap_or_default()
}

/// What rule files may use.
#[must_use]
pub fn vocabulary() -> Vocabulary {
    nestegg_egraph::vocabulary::vocabulary()
}

/// The names of the built-in strategies, each with the first sentence of its documentation.
#[must_use]
pub fn built_in_strategies() -> Vec<(String, String)> {
    let book = rule_book(&[]).unwrap_or_default();
    let sentence = |doc: &str| {
        let end = doc.find('.').unwrap_or(doc.len());
        doc[..end].split_whitespace().collect::<Vec<_>>().join(" ")
    };
    book.strategies.values().map(|strategy| (strategy.name.to_string(), sentence(&strategy.doc))).collect()
}

/// Whether a configuration's rules and strategy can run at all, before any kernel is read.
///
/// # Errors
/// All that is wrong with the rule files; a strategy that nothing defines or that asks for what is not granted.
pub fn check(config: &Config) -> Result<(), Error> {
    let (book, name) = of_config(config)?;
    licensed(&book, &name, config).map(drop)
}

/// The built-in rules and strategies, which are read once.
static BUILT_IN: OnceLock<Option<RuleBook>> = OnceLock::new();

/// The rules and strategies that a configuration asks for, and the name of the strategy that runs.
pub(crate) fn of_config(config: &Config) -> Result<(Cow<'static, RuleBook>, String), Error> {
    let mut files = config.rules.clone();
    if let Strategy::InFile(source) | Strategy::NamedInFile(source, _) = &config.strategy
        && !files.contains(source)
    {
        files.push(source.clone());
    }
    let built_in = if files.is_empty() { BUILT_IN.get_or_init(|| rule_book(&[]).ok()).as_ref() } else { None };
    let book = match built_in {
        Some(book) => Cow::Borrowed(book),
        None => Cow::Owned(rule_book(&files)?),
    };
    let name = match &config.strategy {
        Strategy::Named(name) => name.clone(),
        Strategy::InFile(source) => in_file(&book, source, None)?,
        Strategy::NamedInFile(source, name) => in_file(&book, source, Some(name))?,
    };
    Ok((book, name))
}

/// The strategy of that name in a file, or the only one.
fn in_file(book: &RuleBook, source: &Source, wanted: Option<&str>) -> Result<String, Error> {
    let of_file = book.strategies.values().filter(|strategy| strategy.source.name == source.name);
    let names: Vec<String> = of_file.map(|strategy| strategy.name.to_string()).collect();
    let file = source.name.to_string();
    let quoted = || names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match (wanted, names.as_slice()) {
        (_, []) => Err(Error::NoStrategy { file }),
        (Some(wanted), _) if names.iter().any(|name| name == wanted) => Ok(wanted.to_owned()),
        (Some(wanted), _) => {
            let help = format!("it defines {}", quoted());
            Err(Error::UnknownStrategyOfFile { file, name: wanted.to_owned(), help })
        }
        (None, [only]) => Ok(only.clone()),
        (None, [first, ..]) => {
            let help = format!("choose one of them, as in `--level {file}#{first}`");
            Err(Error::SeveralStrategies { names: quoted(), file, help })
        }
    }
}

/// The names of the rules that are not built in.
pub(crate) fn of_caller(book: &RuleBook) -> BTreeSet<String> {
    let built_in = nestegg_egraph::builtin::sources();
    let rules = book.rules.values().filter(|rule| !built_in.contains(&rule.source));
    rules.map(|rule| rule.name.to_string()).collect()
}

/// A strategy that may run, and under which licence.
#[derive(Clone, Debug)]
pub(crate) struct Licensed<'b> {
    /// The strategy, without what the licence does not grant.
    pub(crate) strategy: ResolvedStrategy<'b>,
    /// What may be done to floats.
    pub(crate) licence: Licence,
    /// Rules, seeds and forms that the licence does not grant.
    pub(crate) left_out: Vec<String>,
}

/// The strategy of that name under the licence that the configuration grants, or it does itself. What the caller's own files ask for
/// and cannot have is refused; of what is built in it is left out.
pub(crate) fn licensed<'b>(book: &'b RuleBook, name: &str, config: &Config) -> Result<Licensed<'b>, Error> {
    let mut strategy = resolved(book, name, &config.rules)?;
    let of_strategy = match strategy.options.get("float") {
        Some(OptionValue::Word(word)) => Licence::from_name(word).unwrap_or_default(),
        _ => Licence::default(),
    };
    let licence = config.float.unwrap_or(of_strategy);
    let way_out = |tag: &str| {
        let wider = Licence::needed([tag]).name();
        format!("`--float {wider}` grants it, or `:option (float {wider})`")
    };
    let grant = Grant { name: licence.name(), grants: &|tag| licence.grants(tag), way_out: &way_out };
    let built_in = nestegg_egraph::builtin::sources();
    book.check_lawful(name, grant, |strategy| !built_in.contains(&strategy.source))
        .map_err(|errors| Error::Rules(Box::new(errors)))?;
    let left_out = strategy.restrict(book, grant);
    Ok(Licensed { strategy, licence, left_out })
}

/// The strategy of that name, with a phase before its own for the rules of the caller's files that it does not name: who
/// gives a rule wants it to run. A strategy without phases stays without.
fn resolved<'b>(book: &'b RuleBook, name: &str, given: &[Source]) -> Result<ResolvedStrategy<'b>, Error> {
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

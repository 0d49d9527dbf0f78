//! From a strategy's name to the phases that run, with what it extends added and what it leaves out taken away.
//!
//! # Method
//! The line of ancestors, the oldest first: each takes out inherited phases (`without`), adds its own, then takes rules
//! out of all phases so far (`:off`), and sets options. A phase runs each of its rules once, in the order in
//! which they are first named; a set stands for its members in their order.

use indexmap::{IndexMap, IndexSet};
use nestegg_span::Span;

use crate::book::{Mention, Phase, Rule, RuleBook, Strategy};
use crate::error::RuleError;
use crate::name::Name;
use crate::suggest;
use crate::vocabulary::OptionValue;

/// A strategy, ready to run.
#[derive(Clone, Debug)]
pub struct ResolvedStrategy<'a> {
    /// The strategy's name.
    pub name: &'a Name,
    /// Its documentation.
    pub doc: &'a str,
    /// Its phases, inherited ones first.
    pub phases: Vec<ResolvedPhase<'a>>,
    /// All options of the vocabulary with their values.
    pub options: IndexMap<Name, OptionValue>,
}

/// A phase, ready to run.
#[derive(Clone, Debug)]
pub struct ResolvedPhase<'a> {
    /// The phase's name.
    pub name: &'a Name,
    /// Its rules, each once; none if all of them were switched off.
    pub rules: Vec<&'a Rule>,
    /// The most passes.
    pub passes: u32,
    /// The most e-nodes.
    pub nodes: u32,
}

impl RuleBook {
    /// The strategy `name` with all that it inherits.
    ///
    /// # Errors
    /// [`RuleError::UnknownStrategy`] if there is none of this name.
    pub fn resolve(&self, name: &str) -> Result<ResolvedStrategy<'_>, RuleError> {
        let found = self.strategies.get(name).and_then(|strategy| Some((strategy, ancestors(self, strategy)?)));
        let (strategy, line) = found.ok_or_else(|| unknown_strategy(&name.into(), None, self.strategies.keys()))?;
        let mut composition = Composition::default();
        let mut options = self.default_options.clone();
        for ancestor in line {
            // A checked book composes without errors.
            composition.add(self, ancestor);
            options.extend(ancestor.options.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        let phases = composition.phases.into_iter().map(|ComposedPhase { phase, rules, .. }| ResolvedPhase {
            name: &phase.name,
            rules: rules.into_iter().filter_map(|name| self.rules.get(name)).collect(),
            passes: phase.passes,
            nodes: phase.nodes,
        });
        Ok(ResolvedStrategy { name: &strategy.name, doc: &strategy.doc, phases: phases.collect(), options })
    }

    /// The rules that `name` stands for: itself, or the members of the set, each once; none if it is not known.
    pub fn rules_of(&self, name: &str) -> Vec<&Rule> {
        let name = match (self.sets.get_key_value(name), self.rules.get_key_value(name)) {
            (Some((name, _)), _) | (None, Some((name, _))) => name,
            (None, None) => return Vec::new(),
        };
        expand(self, [name]).into_iter().filter_map(|name| self.rules.get(name)).collect()
    }
}

/// The error for a strategy that is not among the `known` ones.
pub(crate) fn unknown_strategy<'a>(name: &Name, at: Option<Span>, known: impl Iterator<Item = &'a Name>) -> RuleError {
    let help = suggest::help(name, "strategies", known.map(Name::as_str));
    RuleError::UnknownStrategy { name: name.clone(), at, help }
}

/// The strategies that `strategy` extends, the oldest first, and itself; `None` if one is missing or there is a cycle.
pub(crate) fn ancestors<'a>(book: &'a RuleBook, strategy: &'a Strategy) -> Option<Vec<&'a Strategy>> {
    let mut line: IndexMap<&Name, &Strategy> = IndexMap::new();
    let mut next = strategy;
    loop {
        if line.insert(&next.name, next).is_some() {
            return None;
        }
        let Some(extends) = &next.extends else {
            break;
        };
        next = book.strategies.get(&extends.name)?;
    }
    Some(line.into_values().rev().collect())
}

/// The names that are no sets among `names` and the members of sets, each once, in order of first mention.
pub(crate) fn expand<'a>(book: &'a RuleBook, names: impl IntoIterator<Item = &'a Name>) -> IndexSet<&'a Name> {
    let mut rules = IndexSet::new();
    let mut expanded: IndexSet<&Name> = IndexSet::new();
    let mut pending: Vec<&Name> = names.into_iter().collect();
    pending.reverse();
    while let Some(name) = pending.pop() {
        match book.sets.get(name) {
            Some(set) if expanded.insert(name) => {
                pending.extend(set.members.iter().rev().map(|member| &member.name));
            }
            Some(_) => {}
            None => {
                rules.insert(name);
            }
        }
    }
    rules
}

/// Phases, while ancestors are added.
#[derive(Default)]
pub(crate) struct Composition<'a> {
    phases: Vec<ComposedPhase<'a>>,
}

struct ComposedPhase<'a> {
    phase: &'a Phase,
    owner: &'a Name,
    rules: IndexSet<&'a Name>,
}

impl<'a> Composition<'a> {
    /// Adds what `strategy` says to what it inherits, and returns what of it does not fit.
    pub(crate) fn add(&mut self, book: &'a RuleBook, strategy: &'a Strategy) -> Vec<RuleError> {
        let mut errors = Vec::new();
        self.leave_out(strategy, &mut errors);
        for phase in &strategy.phases {
            self.add_phase(book, strategy, phase, &mut errors);
        }
        for off in &strategy.off {
            switch_off(book, strategy, off, &mut self.phases, &mut errors);
        }
        errors
    }

    fn leave_out(&mut self, strategy: &'a Strategy, errors: &mut Vec<RuleError>) {
        let inherited: Vec<&Name> = self.phases.iter().map(|phase| &phase.phase.name).collect();
        for without in &strategy.without {
            if !inherited.contains(&&without.name) {
                let known = inherited.iter().map(|name| name.as_str());
                errors.push(RuleError::UnknownPhase {
                    strategy: strategy.name.clone(),
                    name: without.name.clone(),
                    at: without.span,
                    help: suggest::help(&without.name, "inherited phases", known),
                });
            }
        }
        self.phases.retain(|phase| strategy.without.iter().all(|without| without.name != phase.phase.name));
    }

    fn add_phase(&mut self, book: &'a RuleBook, strategy: &'a Strategy, phase: &'a Phase, errors: &mut Vec<RuleError>) {
        if let Some(first) = self.phases.iter().find(|first| first.phase.name == phase.name) {
            let help = match first.owner {
                owner if *owner == strategy.name => "rename one of them".into(),
                owner => format!(
                    "it is inherited from `{owner}`: rename this one, or leave that out with `(without {})`",
                    phase.name
                ),
            };
            errors.push(RuleError::DuplicatePhase {
                strategy: strategy.name.clone(),
                name: phase.name.clone(),
                at: phase.span,
                help: Some(help),
            });
        }
        let rules = expand(book, phase.rules.iter().map(|rule| &rule.name));
        let mut added = [ComposedPhase { phase, owner: &strategy.name, rules }];
        for off in &phase.off {
            switch_off(book, strategy, off, &mut added, errors);
        }
        self.phases.extend(added);
    }
}

/// Takes the rules of `off` out of `phases`.
fn switch_off<'a>(
    book: &'a RuleBook,
    strategy: &Strategy,
    off: &'a Mention,
    phases: &mut [ComposedPhase<'a>],
    errors: &mut Vec<RuleError>,
) {
    let rules = expand(book, [&off.name]);
    let mut n_removed = 0;
    for phase in phases {
        let n_before = phase.rules.len();
        phase.rules.retain(|rule| !rules.contains(rule));
        n_removed += n_before - phase.rules.len();
    }
    if n_removed == 0 {
        errors.push(RuleError::OffUnused { strategy: strategy.name.clone(), name: off.name.clone(), at: off.span });
    }
}

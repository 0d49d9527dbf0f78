//! Checks what names refer to, when all files are read.
//!
//! # Input
//! A book as read, and the names that forms define even where the forms are wrong.
//! # Output
//! Errors: unknown rules, sets, strategies and phases; sets that contain themselves, strategies that extend themselves;
//! phases twice; rules switched off that are not on.
//! # Complexity
//! Linear in the names for sets. For each strategy, linear in its phases and rules, inherited ones included.

use indexmap::{IndexMap, IndexSet};
use nestegg_span::Source;

use crate::book::{Mention, RuleBook, RuleSet};
use crate::error::RuleError;
use crate::name::Name;
use crate::read::{Declaration, Declared};
use crate::report::{File, Sink};
use crate::resolve::{self, Composition};
use crate::suggest;

/// Checks all references of `book`.
pub(crate) fn check(book: &RuleBook, declared: &Declared, sources: &[Source], sink: &mut Sink) {
    let mut linker = Linker { book, declared, sources, sink };
    linker.check_members();
    linker.check_set_cycles();
    linker.check_strategy_names();
    linker.check_extends_cycles();
    linker.check_phases();
}

struct Linker<'a> {
    book: &'a RuleBook,
    declared: &'a Declared,
    sources: &'a [Source],
    sink: &'a mut Sink,
}

impl<'a> Linker<'a> {
    /// The file in which `name` is defined; every name of the book is.
    fn file(&self, names: &IndexMap<Name, Declaration>, name: &Name) -> File<'a> {
        let idx = names.get(name).map_or(0, |declaration| declaration.file_idx);
        File { source: &self.sources[idx], idx }
    }

    fn check_members(&mut self) {
        for set in self.book.sets.values() {
            let file = self.file(&self.declared.rules, &set.name);
            self.check_rules(file, &set.members);
        }
    }

    fn check_rules(&mut self, file: File<'_>, mentions: &[Mention]) {
        for mention in mentions {
            if !self.declared.rules.contains_key(&mention.name) {
                self.sink.push_with(&file, || {
                    let known = self.declared.rules.keys().map(Name::as_str);
                    let help = suggest::help(&mention.name, "rules and rule sets", known);
                    RuleError::UnknownRule { name: mention.name.clone(), at: mention.span, help }
                });
            }
        }
    }

    /// Depth-first over the sets, with a path instead of recursion.
    fn check_set_cycles(&mut self) {
        let mut finished: IndexSet<&Name> = IndexSet::new();
        for root in self.book.sets.values() {
            let mut path: IndexMap<&Name, (&RuleSet, usize)> = IndexMap::new();
            if !finished.contains(&root.name) {
                path.insert(&root.name, (root, 0));
            }
            while let Some((name, (set, next))) = path.last_mut().map(|(name, state)| (*name, state)) {
                let Some(member) = set.members.get(*next) else {
                    path.pop();
                    finished.insert(name);
                    continue;
                };
                *next += 1;
                let Some(inner) = self.book.sets.get(&member.name) else {
                    continue;
                };
                if let Some(start) = path.get_index_of(&inner.name) {
                    let cycle = path.keys().skip(start).copied().chain([&inner.name]);
                    let error =
                        RuleError::CyclicSet { name: inner.name.clone(), cycle: arrows(cycle), at: member.span };
                    self.sink.push(&self.file(&self.declared.rules, name), error);
                } else if !finished.contains(&inner.name) {
                    path.insert(&inner.name, (inner, 0));
                }
            }
        }
    }

    fn check_strategy_names(&mut self) {
        for strategy in self.book.strategies.values() {
            let file = self.file(&self.declared.strategies, &strategy.name);
            if let Some(extends) = &strategy.extends
                && !self.declared.strategies.contains_key(&extends.name)
            {
                self.sink.push_with(&file, || {
                    let known = self.declared.strategies.keys().filter(|known| **known != strategy.name);
                    resolve::unknown_strategy(&extends.name, Some(extends.span), known)
                });
            }
            self.check_rules(file, &strategy.off);
            for phase in &strategy.phases {
                self.check_rules(file, &phase.rules);
                self.check_rules(file, &phase.off);
            }
        }
    }

    /// Reports each cycle once, at the strategy of it that is read first.
    fn check_extends_cycles(&mut self) {
        let strategies = &self.book.strategies;
        let mut seen: IndexSet<&Name> = IndexSet::new();
        for start in strategies.values() {
            let mut path: IndexSet<&Name> = IndexSet::new();
            let mut next = Some(start);
            while let Some(strategy) = next {
                if seen.contains(&strategy.name) {
                    break;
                }
                path.insert(&strategy.name);
                let extends = strategy.extends.as_ref();
                next = extends.and_then(|extends| strategies.get(&extends.name));
                if let (Some(extends), Some(position)) = (extends, next.and_then(|next| path.get_index_of(&next.name)))
                {
                    let cycle = path.iter().skip(position).copied().chain([&extends.name]);
                    let error =
                        RuleError::CyclicExtends { name: extends.name.clone(), cycle: arrows(cycle), at: extends.span };
                    self.sink.push(&self.file(&self.declared.strategies, &strategy.name), error);
                    break;
                }
            }
            seen.extend(path);
        }
    }

    /// Composes each strategy that has a complete line of ancestors, and reports what does not fit.
    fn check_phases(&mut self) {
        for strategy in self.book.strategies.values() {
            let Some(line) = resolve::ancestors(self.book, strategy) else {
                continue;
            };
            let mut composition = Composition::default();
            let mut errors = Vec::new();
            for ancestor in line {
                errors = composition.add(self.book, ancestor);
            }
            // Those of the ancestors are reported when it is their turn.
            errors.retain(|error| !self.is_unknown_rule(error));
            let file = self.file(&self.declared.strategies, &strategy.name);
            for error in errors {
                self.sink.push(&file, error);
            }
        }
    }

    /// Whether the error only follows from a name that was reported as unknown.
    fn is_unknown_rule(&self, error: &RuleError) -> bool {
        matches!(error, RuleError::OffUnused { name, .. } if !self.declared.rules.contains_key(name))
    }
}

/// The names of a cycle.
fn arrows<'a>(names: impl Iterator<Item = &'a Name>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" → ")
}

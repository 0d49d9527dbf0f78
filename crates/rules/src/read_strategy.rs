//! Reading `(ruleset …)` and `(strategy …)` with its `(phase …)` and `(without …)`.
//!
//! What the names refer to is checked later, in [`link`](crate::link), when all files are read.

use indexmap::IndexMap;
use nestegg_span::Span;

use crate::book::{Mention, Phase, Strategy};
use crate::error::RuleError;
use crate::form::{FormSpec, KeySpec, Parts, Reader, Times};
use crate::name::Name;
use crate::sexpr::{NodeId, NodeKind};
use crate::suggest;
use crate::vocabulary::{OptionKind, OptionValue};

/// The most passes that a phase may ask for.
pub const MAX_PASSES: u32 = 10_000;

/// The most e-nodes that a phase may ask for.
pub const MAX_NODES: u32 = 1_000_000_000;

const OFF: KeySpec = KeySpec { name: "off", example: "`:off (rule-or-set …)`", times: Times::Many };

pub(crate) static RULESET: FormSpec = FormSpec { head: "ruleset", shape: "(ruleset name rule-or-set …)", keys: &[] };

pub(crate) static STRATEGY: FormSpec = FormSpec {
    head: "strategy",
    shape: "(strategy name :extends strategy :option (name value) :off (rule-or-set …) (without phase …) (phase …) …)",
    keys: &[
        KeySpec { name: "extends", example: "`:extends O0`", times: Times::Once },
        KeySpec { name: "option", example: "`:option (name value)`", times: Times::Many },
        OFF,
    ],
};

static PHASE: FormSpec = FormSpec {
    head: "phase",
    shape: "(phase name :rules (rule-or-set …) :passes number :nodes number :off (rule-or-set …))",
    keys: &[
        KeySpec { name: "rules", example: "`:rules (identities constants)`", times: Times::Once },
        KeySpec { name: "passes", example: "`:passes 4`", times: Times::Once },
        KeySpec { name: "nodes", example: "`:nodes 200000`", times: Times::Once },
        OFF,
    ],
};

static WITHOUT: FormSpec = FormSpec { head: "without", shape: "(without phase …)", keys: &[] };

impl Reader<'_> {
    /// The members of a rule set.
    pub(crate) fn members(&mut self, parts: &Parts) -> Vec<Mention> {
        if parts.positional.len() < 2 {
            self.missing(parts, "member");
        }
        self.mentions(&parts.positional[1.min(parts.positional.len())..], "rule or rule set")
    }

    /// The strategy `name`, as far as it could be read.
    pub(crate) fn strategy(&mut self, name: &Name, doc: &str, parts: &Parts) -> Strategy {
        let document = self.document;
        let extends = parts.value("extends").and_then(|value| {
            let name = self.name(value, "strategy")?;
            Some(Mention { name, span: document.span(value) })
        });
        let (options, option_spans) = self.options(parts);
        let mut strategy = Strategy {
            name: name.clone(),
            doc: doc.into(),
            extends,
            options,
            option_spans,
            without: Vec::new(),
            off: self.off(parts),
            phases: Vec::new(),
            span: parts.span,
            source: self.file.source.clone(),
        };
        for &part in parts.positional.iter().skip(1) {
            let head = document.items(part).and_then(|items| items.first()).and_then(|&head| document.word(head));
            match head.map(Name::as_str) {
                Some("phase") => {
                    let parts = self.parts(part, &PHASE);
                    strategy.phases.extend(self.phase(&parts));
                }
                Some("without") => {
                    let parts = self.parts(part, &WITHOUT);
                    if parts.positional.is_empty() {
                        self.missing(&parts, "phase");
                    }
                    strategy.without.extend(self.mentions(&parts.positional, "phase"));
                }
                _ => self.unexpected(part, "`(phase …)` or `(without …)`"),
            }
        }
        strategy
    }

    fn phase(&mut self, parts: &Parts) -> Option<Phase> {
        self.no_more_than(parts, 1);
        let Some(&name) = parts.positional.first() else {
            self.missing(parts, "name");
            return None;
        };
        let name = self.name(name, "phase");
        let rules = self.required(parts, "rules", "`:rules`");
        let rules = rules.map(|rules| self.rule_list(rules)).unwrap_or_default();
        let passes = self.limit(parts, "passes", "`:passes`", MAX_PASSES);
        let nodes = self.limit(parts, "nodes", "`:nodes`", MAX_NODES);
        let off = self.off(parts);
        // A phase with wrong limits still has its name, for what refers to it.
        Some(Phase {
            name: name?,
            rules,
            off,
            passes: passes.unwrap_or(1),
            nodes: nodes.unwrap_or(1),
            span: parts.span,
        })
    }

    fn limit(&mut self, parts: &Parts, key: &str, part: &'static str, max: u32) -> Option<u32> {
        let value = self.required(parts, key, part)?;
        let limit = self.integer(value, part, 1, max.into())?;
        u32::try_from(limit).ok()
    }

    fn off(&mut self, parts: &Parts) -> Vec<Mention> {
        let mut off = Vec::new();
        for (_, value) in parts.values("off") {
            off.extend(self.rule_list(value));
        }
        off
    }

    fn rule_list(&mut self, value: NodeId) -> Vec<Mention> {
        let words = self.words(value, "rules and rule sets");
        words.into_iter().map(|(name, span)| Mention { name, span }).collect()
    }

    /// The names at `ids`; a name twice is an error.
    fn mentions(&mut self, ids: &[NodeId], what: &'static str) -> Vec<Mention> {
        let mut names: IndexMap<Name, Span> = IndexMap::new();
        for &id in ids {
            let Some(name) = self.name(id, what) else {
                continue;
            };
            let at = self.document.span(id);
            match names.get(&name) {
                Some(&first) => self.report(RuleError::Repeated { name: name.to_string(), at, first }),
                None => {
                    names.insert(name, at);
                }
            }
        }
        names.into_iter().map(|(name, span)| Mention { name, span }).collect()
    }

    /// The options with their values, and where they stand.
    fn options(&mut self, parts: &Parts) -> (IndexMap<Name, OptionValue>, IndexMap<Name, Span>) {
        let mut options = IndexMap::new();
        let mut given: IndexMap<Name, Span> = IndexMap::new();
        for (_, option_at) in parts.values("option") {
            let Some((name, at, values)) = self.setting(option_at, "an option") else {
                continue;
            };
            let Some(form) = self.vocabulary.options.get(&name) else {
                let help = suggest::help(&name, "options", self.vocabulary.options.keys().map(Name::as_str));
                self.report(RuleError::UnknownOption { name, at, help });
                continue;
            };
            if let Some(first) = given.insert(name.clone(), at) {
                self.report(RuleError::Repeated { name: name.to_string(), at, first });
            }
            if let Some(value) = self.option_value(&name, &form.kind, &values, option_at) {
                options.insert(name, value);
            }
        }
        (options, given)
    }

    fn option_value(&mut self, option: &Name, kind: &OptionKind, values: &[NodeId], at: NodeId) -> Option<OptionValue> {
        let document = self.document;
        let choice = |value: NodeId, choices: &[Name]| {
            let word = document.word(value)?;
            (choices.is_empty() || choices.contains(word)).then(|| word.clone())
        };
        let (value, wrong) = match (kind, values) {
            (OptionKind::Word(choices), &[value]) => (choice(value, choices).map(OptionValue::Word), value),
            (OptionKind::Words(choices), &[_, ..]) => {
                let wrong = values.iter().find(|&&value| choice(value, choices).is_none());
                let words = values.iter().map_while(|&value| choice(value, choices)).collect();
                (wrong.is_none().then_some(OptionValue::Words(words)), *wrong.unwrap_or(&at))
            }
            (OptionKind::Integer(range), &[value]) => {
                let what = format!("option `{option}`");
                return self.integer(value, &what, *range.start(), *range.end()).map(OptionValue::Integer);
            }
            (OptionKind::Number, &[value]) => match &document.node(value).kind {
                NodeKind::Number(number) => (Some(OptionValue::Number(number.clone())), value),
                _ => (None, value),
            },
            _ => (None, at),
        };
        if value.is_none() && !document.is_broken(wrong) {
            let found = match values.len() {
                1 => document.describe(wrong),
                n if wrong == at => format!("{n} values"),
                _ => document.describe(wrong),
            };
            self.report(RuleError::WrongOptionValue {
                option: option.clone(),
                expected: kind.to_string(),
                found,
                at: document.span(wrong),
            });
        }
        value
    }
}

//! Reading `(rule …)` and `(guided …)`.

use indexmap::IndexMap;
use nestegg_span::Span;

use crate::book::RuleKind;
use crate::condition::Condition;
use crate::error::RuleError;
use crate::form::{FormSpec, KeySpec, Parts, Reader, Times};
use crate::name::Name;
use crate::pattern::{Pattern, PatternNode};
use crate::read_pattern::{Scope, Side};
use crate::sexpr::NodeId;
use crate::suggest;

const TAG: KeySpec = KeySpec { name: "tag", example: "`:tag reassociate`", times: Times::Many };

pub(crate) static RULE: FormSpec = FormSpec {
    head: "rule",
    shape: "(rule name left-side right-side :when condition :tag tag), or (rule name side <-> side …)",
    keys: &[KeySpec { name: "when", example: "`:when (nonzero ?x)`", times: Times::Once }, TAG],
};

pub(crate) static GUIDED: FormSpec = FormSpec {
    head: "guided",
    shape: "(guided name :apply applier :limit (name number) :tag tag)",
    keys: &[
        KeySpec { name: "apply", example: "`:apply group-product`", times: Times::Once },
        KeySpec { name: "limit", example: "`:limit (sets 64)`", times: Times::Many },
        TAG,
    ],
};

impl Reader<'_> {
    /// What the rule `name` does; `None` if something in it was reported.
    pub(crate) fn pattern_rule(&mut self, name: &Name, parts: &Parts) -> Option<RuleKind> {
        let arrow = parts.positional.get(2).and_then(|&id| self.document.word(id));
        let is_two_way = arrow.is_some_and(|word| word.as_str() == "<->");
        let rhs_at = parts.positional.get(if is_two_way { 3 } else { 2 }).copied();
        self.no_more_than(parts, if is_two_way { 4 } else { 3 });
        let Some(&lhs_at) = parts.positional.get(1) else {
            self.missing(parts, "left side");
            return None;
        };
        let mut scope = Scope::new(name.clone(), self.document.span(lhs_at));
        let lhs = self.pattern(lhs_at, Side::Left, &mut scope);
        let lhs = lhs.filter(|lhs| self.has_operator(name, lhs, lhs_at));
        let rhs = match rhs_at {
            Some(rhs) => self.pattern(rhs, Side::Right, &mut scope),
            None => {
                self.missing(parts, "right side");
                None
            }
        };
        let when = parts.value("when").map(|when| self.condition(when, &mut scope));
        let (lhs, rhs) = (lhs?, rhs?);
        if lhs == rhs {
            let at = rhs.span(rhs.root());
            self.report(RuleError::SameSides { rule: name.clone(), at });
        }
        let when: Option<Condition> = match when {
            Some(condition) => Some(condition?),
            None => None,
        };
        if let Some(rhs_at) = rhs_at.filter(|_| is_two_way) {
            // What binds the variables is the right side now.
            let mut scope = Scope::new(name.clone(), self.document.span(rhs_at));
            let turned = self.pattern(rhs_at, Side::Left, &mut scope)?;
            if !self.has_operator(name, &turned, rhs_at) {
                return None;
            }
            self.pattern(lhs_at, Side::Right, &mut scope)?;
            if let Some(when) = parts.value("when") {
                self.condition(when, &mut scope)?;
            }
        }
        Some(RuleKind::Pattern { lhs, rhs, when, is_two_way })
    }

    fn has_operator(&mut self, rule: &Name, lhs: &Pattern, at: NodeId) -> bool {
        let is_operator = matches!(lhs.node(lhs.root()), PatternNode::Apply { .. } | PatternNode::Reduce { .. });
        if !is_operator {
            self.report(RuleError::BareLeftSide {
                rule: rule.clone(),
                found: self.document.describe(at),
                at: self.document.span(at),
            });
        }
        is_operator
    }

    /// What the guided rule does; `None` if something in it was reported.
    pub(crate) fn guided_rule(&mut self, parts: &Parts) -> Option<RuleKind> {
        self.no_more_than(parts, 1);
        let apply_at = self.required(parts, "apply", "`:apply`")?;
        let Some(apply) = self.document.word(apply_at).cloned() else {
            self.unexpected(apply_at, "the name of an applier");
            return None;
        };
        let Some(applier) = self.vocabulary.appliers.get(&apply) else {
            let help = suggest::help(&apply, "appliers", self.vocabulary.appliers.keys().map(Name::as_str));
            let at = self.document.span(apply_at);
            self.report(RuleError::UnknownApplier { name: apply, at, help });
            return None;
        };
        let mut limits: IndexMap<Name, u64> =
            applier.limits.iter().map(|(name, limit)| (name.clone(), limit.default)).collect();
        let mut given: IndexMap<Name, Span> = IndexMap::new();
        for (_, limit_at) in parts.values("limit") {
            let Some((name, at, values)) = self.setting(limit_at, "a limit") else {
                continue;
            };
            let Some(limit) = applier.limits.get(&name) else {
                let help = suggest::help(&name, "limits", applier.limits.keys().map(Name::as_str));
                self.report(RuleError::UnknownLimit { applier: apply.clone(), name, at, help });
                continue;
            };
            if let Some(first) = given.insert(name.clone(), at) {
                self.report(RuleError::Repeated { name: name.to_string(), at, first });
            }
            let [value] = values[..] else {
                self.unexpected(limit_at, format!("one number after `{name}`"));
                continue;
            };
            let (low, high) = (*limit.range.start(), *limit.range.end());
            if let Some(value) = self.integer(value, &format!("limit `{name}`"), low, high) {
                limits.insert(name, value);
            }
        }
        Some(RuleKind::Guided { apply, limits })
    }

    /// The tags of a rule: each `:tag` gives one, or a list.
    pub(crate) fn tags(&mut self, parts: &Parts) -> Vec<Name> {
        let document = self.document;
        let mut tags: IndexMap<Name, Span> = IndexMap::new();
        for (_, value) in parts.values("tag") {
            let words = match document.word(value) {
                Some(word) => vec![(word.clone(), document.span(value))],
                None => self.words(value, "tags"),
            };
            for (tag, at) in words {
                if !self.vocabulary.tags.contains_key(&tag) {
                    let help = suggest::help(&tag, "tags", self.vocabulary.tags.keys().map(Name::as_str));
                    self.report(RuleError::UnknownTag { name: tag, at, help });
                } else if let Some(&first) = tags.get(&tag) {
                    self.report(RuleError::Repeated { name: tag.to_string(), at, first });
                } else {
                    tags.insert(tag, at);
                }
            }
        }
        tags.into_keys().collect()
    }
}

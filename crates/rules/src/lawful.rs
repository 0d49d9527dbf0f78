//! What a strategy may ask for: rules and words that are licensed, options that have what they need.
//!
//! # Input
//! A book, the strategy that runs, and which tags are granted.
//! # Output
//! [`RuleBook::check_lawful`] refuses what the caller's own strategies say and cannot have, each at its place;
//! [`ResolvedStrategy::restrict`] leaves out what is not granted, and says what that was.
//! # Method
//! Rules carry tags; words of options do so in the vocabulary. What a strategy inherits is not its own word: it is left out, not
//! refused.

use indexmap::{IndexMap, IndexSet};

use crate::book::{Phase, Rule, RuleBook, Strategy};
use crate::error::RuleError;
use crate::name::Name;
use crate::report::{File, RuleErrors, Sink};
use crate::resolve::{ResolvedStrategy, ancestors, expand};
use crate::vocabulary::{Need, OptionValue};

/// Which tags are granted.
#[derive(Clone, Copy)]
pub struct Grant<'a> {
    /// What grants them, for messages: a name.
    pub name: &'a str,
    /// Whether it grants a tag.
    pub grants: &'a dyn Fn(&str) -> bool,
    /// What grants a tag that it does not, for help: a sentence.
    pub way_out: &'a dyn Fn(&str) -> String,
}

impl RuleBook {
    /// Checks what `strategy`, and those that it extends, say themselves, where `is_own` says that they are the caller's.
    ///
    /// # Errors
    /// Rules and words of options with tags that are not granted; options and phases without what they need.
    pub fn check_lawful(
        &self,
        strategy: &str,
        grant: Grant<'_>,
        is_own: impl Fn(&Strategy) -> bool,
    ) -> Result<(), RuleErrors> {
        let mut sink = Sink::default();
        let line = self.strategies.get(strategy).and_then(|strategy| ancestors(self, strategy)).unwrap_or_default();
        let mut options = self.default_options.clone();
        for ancestor in line {
            options.extend(ancestor.options.iter().map(|(name, value)| (name.clone(), value.clone())));
            if !is_own(ancestor) {
                continue;
            }
            let position = self.files.iter().enumerate().find(|(_, file)| file.source == ancestor.source);
            let file = File { source: &ancestor.source, idx: position.map_or(0, |(idx, _)| idx) };
            for error in self.unlawful(ancestor, &options, grant) {
                sink.push(&file, error);
            }
        }
        sink.finish()
    }

    fn unlawful(&self, strategy: &Strategy, options: &IndexMap<Name, OptionValue>, grant: Grant<'_>) -> Vec<RuleError> {
        let mut errors = Vec::new();
        for phase in &strategy.phases {
            errors.extend(self.unlicensed_rules(strategy, phase, grant));
            if let Some(need) = self.phases_need.as_ref().filter(|need| !need.is_met(options)) {
                errors.push(unmet(&format!("phase `{}`", phase.name), need, phase.span));
            }
        }
        for (option, value) in &strategy.options {
            let at = strategy.option_spans.get(option).copied().unwrap_or(strategy.span);
            for (word, tag) in self.tagged_words(option, value) {
                if !(grant.grants)(tag) {
                    let what = format!("`{word}` of option `{option}`");
                    errors.push(not_licensed(what, tag, at, grant));
                }
            }
            if let Some(need) = self.option_needs.get(option).filter(|need| !need.is_met(options)) {
                errors.push(unmet(&format!("option `{option}`"), need, at));
            }
        }
        errors
    }

    fn unlicensed_rules(&self, strategy: &Strategy, phase: &Phase, grant: Grant<'_>) -> Vec<RuleError> {
        let off = expand(self, phase.off.iter().chain(&strategy.off).map(|off| &off.name));
        let mut seen: IndexSet<&Name> = IndexSet::new();
        let mut errors = Vec::new();
        for mention in &phase.rules {
            for rule in self.rules_of(&mention.name) {
                if off.contains(&rule.name) || !seen.insert(&rule.name) {
                    continue;
                }
                if let Some(tag) = missing(rule, grant) {
                    errors.push(not_licensed(format!("rule `{}`", rule.name), tag, mention.span, grant));
                }
            }
        }
        errors
    }

    /// The words of an option's value that have a tag, with it.
    fn tagged_words<'a>(&'a self, option: &Name, value: &'a OptionValue) -> Vec<(&'a Name, &'a Name)> {
        let Some(tags) = self.word_tags.get(option) else { return Vec::new() };
        let words = match value {
            OptionValue::Words(words) => words.as_slice(),
            OptionValue::Word(word) => std::slice::from_ref(word),
            OptionValue::Integer(_) | OptionValue::Number(_) => &[],
        };
        words.iter().filter_map(|word| Some((word, tags.get(word)?))).collect()
    }
}

impl ResolvedStrategy<'_> {
    /// Leaves out what needs a tag that is not granted; answers what that is: rules, then words of options.
    pub fn restrict(&mut self, book: &RuleBook, grant: Grant<'_>) -> Vec<String> {
        let mut left_out: IndexSet<String> = IndexSet::new();
        for phase in &mut self.phases {
            phase.rules.retain(|rule| {
                let is_granted = missing(rule, grant).is_none();
                if !is_granted {
                    left_out.insert(rule.name.to_string());
                }
                is_granted
            });
        }
        for (option, value) in &mut self.options {
            let refused: Vec<Name> = book
                .tagged_words(option, value)
                .into_iter()
                .filter(|(_, tag)| !(grant.grants)(tag))
                .map(|(word, _)| word.clone())
                .collect();
            if let OptionValue::Words(words) = value {
                words.retain(|word| !refused.contains(word));
            }
            left_out.extend(refused.iter().map(ToString::to_string));
        }
        left_out.into_iter().collect()
    }
}

/// A tag of a rule that is not granted.
fn missing<'a>(rule: &'a Rule, grant: Grant<'_>) -> Option<&'a Name> {
    rule.tags.iter().find(|tag| !(grant.grants)(tag))
}

fn not_licensed(what: String, tag: &Name, at: nestegg_span::Span, grant: Grant<'_>) -> RuleError {
    RuleError::NotLicensed { what, tag: tag.clone(), licence: grant.name.to_owned(), at, help: (grant.way_out)(tag) }
}

fn unmet(what: &str, need: &Need, at: nestegg_span::Span) -> RuleError {
    let words: Vec<String> = need.words.iter().map(|word| format!("`{word}`")).collect();
    RuleError::Unmet {
        what: what.to_owned(),
        why: need.why.clone(),
        at,
        help: format!("add {} to `:option ({} …)`, or leave this out", words.join(" or "), need.option),
    }
}

//! Forms: a head, parts by position, parts by key.
//!
//! A key takes exactly one value; a key that may be given several times says so in its [`KeySpec`].

use nestegg_span::Span;

use crate::error::RuleError;
use crate::name::Name;
use crate::report::{File, Sink};
use crate::sexpr::{Document, NodeId, NodeKind};
use crate::suggest;
use crate::vocabulary::Vocabulary;

/// What readers of forms read from and report to.
pub(crate) struct Reader<'a> {
    pub(crate) file: File<'a>,
    pub(crate) document: &'a Document,
    pub(crate) vocabulary: &'a Vocabulary,
    pub(crate) sink: &'a mut Sink,
}

/// A kind of form.
pub(crate) struct FormSpec {
    /// The head.
    pub(crate) head: &'static str,
    /// The form by example, for help.
    pub(crate) shape: &'static str,
    /// The keys.
    pub(crate) keys: &'static [KeySpec],
}

/// A key of a form.
pub(crate) struct KeySpec {
    /// The name without its colon.
    pub(crate) name: &'static str,
    /// The key with a value, for help.
    pub(crate) example: &'static str,
    /// How often it may be given.
    pub(crate) times: Times,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    Once,
    Many,
}

/// The parts of a form.
pub(crate) struct Parts {
    pub(crate) spec: &'static FormSpec,
    pub(crate) span: Span,
    /// What follows the head, without the keys and their values.
    pub(crate) positional: Vec<NodeId>,
    keyed: Vec<(&'static str, Span, NodeId)>,
    /// The keys that have no value; they were reported.
    valueless: Vec<&'static str>,
}

impl Parts {
    /// The values of a key, in order, each with the key's span.
    pub(crate) fn values(&self, key: &str) -> impl Iterator<Item = (Span, NodeId)> {
        self.keyed.iter().filter(move |(name, ..)| *name == key).map(|(_, at, value)| (*at, *value))
    }

    /// The value of a key that may be given once.
    pub(crate) fn value(&self, key: &str) -> Option<NodeId> {
        self.values(key).next().map(|(_, value)| value)
    }
}

impl Reader<'_> {
    pub(crate) fn report(&mut self, error: RuleError) {
        self.sink.push(&self.file, error);
    }

    /// Reports that `id` is not what was `expected`, unless that was reported in other words before.
    pub(crate) fn unexpected(&mut self, id: NodeId, expected: impl Into<String>) {
        if !self.document.is_broken(id) {
            self.report(RuleError::Unexpected {
                expected: expected.into(),
                found: self.document.describe(id),
                at: self.document.span(id),
            });
        }
    }

    /// Sorts the parts of `list`, which is a list with a head.
    pub(crate) fn parts(&mut self, list: NodeId, spec: &'static FormSpec) -> Parts {
        let document = self.document;
        let mut parts =
            Parts { spec, span: document.span(list), positional: Vec::new(), keyed: Vec::new(), valueless: Vec::new() };
        let mut rest = document.items(list).unwrap_or_default().iter().skip(1).copied().peekable();
        while let Some(id) = rest.next() {
            let NodeKind::Key(key) = &document.node(id).kind else {
                parts.positional.push(id);
                continue;
            };
            let at = document.span(id);
            let is_value = |next: &NodeId| !matches!(document.node(*next).kind, NodeKind::Key(_));
            let value = rest.next_if(is_value);
            self.add_key(&mut parts, key, at, value);
        }
        parts
    }

    fn add_key(&mut self, parts: &mut Parts, key: &Name, at: Span, value: Option<NodeId>) {
        let Some(spec) = parts.spec.keys.iter().find(|spec| *key == spec.name) else {
            let keys: Vec<String> = parts.spec.keys.iter().map(|spec| format!(":{}", spec.name)).collect();
            let help = suggest::help(&format!(":{key}"), "keys", keys.iter().map(String::as_str));
            return self.report(RuleError::UnknownKey { form: parts.spec.head, key: key.clone(), at, help });
        };
        let first = parts.values(spec.name).next();
        if let (Some((first, _)), Times::Once) = (first, spec.times) {
            return self.report(RuleError::Repeated { name: format!(":{key}"), at, first });
        }
        match value {
            Some(value) => parts.keyed.push((spec.name, at, value)),
            None => {
                parts.valueless.push(spec.name);
                self.report(RuleError::MissingValue { key: key.clone(), value: spec.example, at });
            }
        }
    }

    /// The value of a key that the form cannot do without. `part` is the key in backticks.
    pub(crate) fn required(&mut self, parts: &Parts, key: &str, part: &'static str) -> Option<NodeId> {
        let value = parts.value(key);
        if value.is_none() && !parts.valueless.contains(&key) {
            self.missing(parts, part);
        }
        value
    }

    /// Reports a part that the form lacks.
    pub(crate) fn missing(&mut self, parts: &Parts, part: &'static str) {
        let FormSpec { head, shape, .. } = *parts.spec;
        self.report(RuleError::MissingPart { form: head, part, shape, at: parts.span });
    }

    /// Reports the parts from position `n` on.
    pub(crate) fn no_more_than(&mut self, parts: &Parts, n: usize) {
        let FormSpec { head, shape, .. } = *parts.spec;
        if let Some(&extra) = parts.positional.get(n)
            && !self.document.is_broken(extra)
        {
            let (found, at) = (self.document.describe(extra), self.document.span(extra));
            self.report(RuleError::ExtraPart { form: head, found, shape, at });
        }
    }

    /// The name at `id`, which should name a `what`.
    pub(crate) fn name(&mut self, id: NodeId, what: &'static str) -> Option<Name> {
        let Some(name) = self.document.word(id) else {
            self.unexpected(id, format!("the name of a {what}"));
            return None;
        };
        if !Name::is_valid(name) {
            let at = self.document.span(id);
            self.report(RuleError::BadName { what, name: name.clone(), at });
            return None;
        }
        Some(name.clone())
    }

    /// The words of the list at `id`, with their places; a word twice is an error.
    pub(crate) fn words(&mut self, id: NodeId, what: &'static str) -> Vec<(Name, Span)> {
        let document = self.document;
        let Some(items) = document.items(id) else {
            self.unexpected(id, format!("a list of {what}"));
            return Vec::new();
        };
        if items.is_empty() {
            self.report(RuleError::EmptyList { what, at: document.span(id) });
        }
        let mut words = indexmap::IndexMap::new();
        for &item in items {
            let at = document.span(item);
            let Some(word) = document.word(item) else {
                self.unexpected(item, format!("one of the {what}"));
                continue;
            };
            match words.get(word) {
                Some(&first) => self.report(RuleError::Repeated { name: word.to_string(), at, first }),
                None => {
                    words.insert(word.clone(), at);
                }
            }
        }
        words.into_iter().collect()
    }

    /// The whole number at `id`, from `min` to `max`.
    pub(crate) fn integer(&mut self, id: NodeId, what: &str, min: u64, max: u64) -> Option<u64> {
        let NodeKind::Number(value) = &self.document.node(id).kind else {
            self.unexpected(id, format!("a whole number for {what}"));
            return None;
        };
        let whole = value.is_integer().then(|| u64::try_from(value.numer()).ok()).flatten();
        let in_range = whole.filter(|whole| (min..=max).contains(whole));
        if in_range.is_none() {
            self.report(RuleError::NumberOutOfRange {
                what: what.into(),
                value: value.to_string(),
                min,
                max,
                at: self.document.span(id),
            });
        }
        in_range
    }

    /// The key and values of a list like `(sets 64)`.
    pub(crate) fn setting(&mut self, id: NodeId, what: &'static str) -> Option<(Name, Span, Vec<NodeId>)> {
        let document = self.document;
        let setting = document.items(id).and_then(|items| {
            let (&key, values) = items.split_first()?;
            Some((document.word(key)?.clone(), document.span(key), values.to_vec()))
        });
        if setting.is_none() {
            self.unexpected(id, format!("a list of a name and a value for {what}"));
        }
        setting
    }
}

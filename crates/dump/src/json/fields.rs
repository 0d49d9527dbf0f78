//! Typed access to the fields of JSON objects, with errors.

use std::borrow::Cow;

use nestegg_span::Span;
use rustc_hash::FxHashMap;

use super::tree::{Tree, Value, ValueId};
use crate::error::{Errors, Mismatch, ReadError, nearest};
use crate::syntax::Name;

/// Reads values of a tree and collects what is wrong with them.
pub(crate) struct Reader<'t, 's> {
    pub tree: &'t Tree<'s>,
    pub errors: Errors,
    /// Whether something that defines a name was given up.
    pub has_lost_names: bool,
    /// Whether an instruction was given up.
    pub has_lost_ids: bool,
}

/// The fields of one object, each taken once.
pub(crate) struct Fields<'t, 's> {
    /// What the object is, for messages.
    what: &'static str,
    span: Span,
    by_name: FxHashMap<&'t str, (Span, ValueId)>,
    /// In the order written.
    names: Vec<&'t Name<'s>>,
    asked: Vec<&'static str>,
}

impl<'t, 's> Fields<'t, 's> {
    fn get(&mut self, field: &'static str) -> Option<ValueId> {
        self.asked.push(field);
        self.by_name.get(field).map(|&(_, value)| value)
    }

    /// The object.
    pub(crate) fn span(&self) -> Span {
        self.span
    }
}

impl<'t, 's> Reader<'t, 's> {
    fn wrong(&mut self, what: impl Into<String>, expected: &str, id: ValueId) {
        let mismatch = Mismatch { expected: expected.to_owned(), found: self.tree.value(id).kind().to_owned() };
        self.errors.push(ReadError::WrongJsonType { what: what.into(), mismatch, at: self.tree.span(id) });
    }

    /// The fields of an object; reports other values and doubled fields.
    pub(crate) fn object(&mut self, id: ValueId, what: &'static str) -> Option<Fields<'t, 's>> {
        let tree = self.tree;
        if !matches!(tree.value(id), Value::Object(_)) {
            self.wrong(what, "an object", id);
            return None;
        }
        let mut fields =
            Fields { what, span: tree.span(id), by_name: FxHashMap::default(), names: Vec::new(), asked: Vec::new() };
        for (name, value) in tree.members(id) {
            if let Some(&(first, _)) = fields.by_name.get(&*name.text) {
                self.errors.push(ReadError::DuplicateField { field: name.text.to_string(), at: name.span, first });
            } else {
                fields.by_name.insert(&name.text, (name.span, *value));
                fields.names.push(name);
            }
        }
        Some(fields)
    }

    /// Reports the fields that nobody asked for.
    pub(crate) fn finish(&mut self, fields: &Fields<'t, 's>) {
        for name in &fields.names {
            if !fields.asked.contains(&&*name.text) {
                let help = nearest(&name.text, fields.asked.iter().copied())
                    .unwrap_or_else(|| format!("its fields are `{}`", fields.asked.join("`, `")));
                self.errors.push(ReadError::UnknownField {
                    field: name.text.to_string(),
                    what: fields.what,
                    at: name.span,
                    help: Some(help),
                });
            }
        }
    }

    /// A field that may be absent.
    pub(crate) fn optional(&mut self, fields: &mut Fields<'t, 's>, field: &'static str) -> Option<ValueId> {
        fields.get(field)
    }

    /// A field that may be absent or null.
    pub(crate) fn nullable(&mut self, fields: &mut Fields<'t, 's>, field: &'static str) -> Option<ValueId> {
        fields.get(field).filter(|&id| !matches!(self.tree.value(id), Value::Null))
    }

    /// A field that must be there.
    pub(crate) fn required(&mut self, fields: &mut Fields<'t, 's>, field: &'static str) -> Option<ValueId> {
        let value = fields.get(field);
        if value.is_none() {
            let Span { start, .. } = fields.span;
            let at = Span::new(start, start + 1);
            self.errors.push(ReadError::MissingField { field, what: fields.what, at });
        }
        value
    }

    /// A string.
    pub(crate) fn string(&mut self, id: ValueId, what: &str) -> Option<Name<'s>> {
        match self.tree.value(id) {
            Value::String(text) => Some(Name { text: text.clone(), span: self.tree.span(id) }),
            _ => {
                self.wrong(what, "a string", id);
                None
            }
        }
    }

    /// A list.
    pub(crate) fn list(&mut self, id: ValueId, what: &str) -> Option<&'t [ValueId]> {
        match self.tree.value(id) {
            Value::Array(_) => Some(self.tree.items(id)),
            _ => {
                self.wrong(what, "a list", id);
                None
            }
        }
    }

    /// A list of strings.
    pub(crate) fn strings(&mut self, id: ValueId, what: &str, item: &str) -> Vec<Name<'s>> {
        let items = self.list(id, what).unwrap_or_default();
        items.iter().filter_map(|&id| self.string(id, item)).collect()
    }

    /// A required field that is a string.
    pub(crate) fn string_field(&mut self, fields: &mut Fields<'t, 's>, field: &'static str) -> Option<Name<'s>> {
        let id = self.required(fields, field)?;
        self.string(id, &format!("`{field}`"))
    }

    /// A required field that is a list.
    pub(crate) fn list_field(&mut self, fields: &mut Fields<'t, 's>, field: &'static str) -> &'t [ValueId] {
        let id = self.required(fields, field);
        id.and_then(|id| self.list(id, &format!("`{field}`"))).unwrap_or_default()
    }

    /// A field that is a list or absent or null.
    pub(crate) fn optional_list(&mut self, fields: &mut Fields<'t, 's>, field: &'static str) -> &'t [ValueId] {
        let id = self.nullable(fields, field);
        id.and_then(|id| self.list(id, &format!("`{field}`"))).unwrap_or_default()
    }

    /// A required field that is a list of strings.
    pub(crate) fn strings_field(
        &mut self,
        fields: &mut Fields<'t, 's>,
        field: &'static str,
        item: &str,
    ) -> Vec<Name<'s>> {
        let id = self.required(fields, field);
        id.map(|id| self.strings(id, &format!("`{field}`"), item)).unwrap_or_default()
    }

    /// Reports a value that is none of what is allowed.
    pub(crate) fn report_wrong(&mut self, what: &str, expected: &str, id: ValueId) {
        self.wrong(what, expected, id);
    }
}

/// A word that stands for nothing, so that reading goes on after an error.
pub(crate) fn nameless<'s>(span: Span) -> Name<'s> {
    Name { text: Cow::Borrowed(""), span }
}

//! Typed access to the fields of JSON objects, with errors.

use std::borrow::Cow;

use nestegg_span::Span;
use rustc_hash::FxHashMap;

use super::format::{Field, Object};
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

/// The fields of one object.
pub(crate) struct Fields<'t, 's> {
    object: &'static Object,
    /// The fields of its kind, once that is known.
    of_kind: &'static [Field],
    span: Span,
    by_name: FxHashMap<&'t str, (Span, ValueId)>,
    /// In the order written.
    names: Vec<&'t Name<'s>>,
}

impl<'t, 's> Fields<'t, 's> {
    /// The object.
    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// Says which kind of object it is; `false` if there is no such kind.
    pub(crate) fn is_of_kind(&mut self, kind: &str) -> bool {
        let fields = self.object.fields_of_kind(kind);
        self.of_kind = fields.unwrap_or_default();
        fields.is_some()
    }

    /// The fields that there may be.
    fn known(&self) -> impl Iterator<Item = &'static Field> + use<> {
        self.object.fields.iter().chain(self.of_kind)
    }
}

impl<'t, 's> Reader<'t, 's> {
    fn wrong(&mut self, what: impl Into<String>, expected: &str, id: ValueId) {
        let mismatch = Mismatch { expected: expected.to_owned(), found: self.tree.value(id).kind().to_owned() };
        self.errors.push(ReadError::WrongJsonType { what: what.into(), mismatch, at: self.tree.span(id) });
    }

    /// The fields of an object; reports other values and doubled fields.
    pub(crate) fn object(&mut self, id: ValueId, object: &'static Object) -> Option<Fields<'t, 's>> {
        let tree = self.tree;
        if !matches!(tree.value(id), Value::Object(_)) {
            self.wrong(object.what, "an object", id);
            return None;
        }
        let mut fields =
            Fields { object, of_kind: &[], span: tree.span(id), by_name: FxHashMap::default(), names: Vec::new() };
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

    /// Reports the fields that the format does not have.
    pub(crate) fn finish(&mut self, fields: &Fields<'t, 's>) {
        let known: Vec<&'static str> = fields.known().map(|field| field.name).collect();
        for name in &fields.names {
            if !known.contains(&&*name.text) {
                let help = nearest(&name.text, known.iter().copied())
                    .unwrap_or_else(|| format!("its fields are `{}`", known.join("`, `")));
                self.errors.push(ReadError::UnknownField {
                    field: name.text.to_string(),
                    what: fields.object.what,
                    at: name.span,
                    help: Some(help),
                });
            }
        }
    }

    /// The value of a field, if there is one; reports a field that must be there and is not.
    pub(crate) fn field(&mut self, fields: &Fields<'t, 's>, name: &'static str) -> Option<ValueId> {
        let field = fields.known().find(|field| field.name == name).expect("the reader takes fields of the table only");
        match fields.by_name.get(name) {
            Some(&(_, value)) => {
                Some(value).filter(|&id| !(field.may_be_null && matches!(self.tree.value(id), Value::Null)))
            }
            None if field.is_required => {
                let Span { start, .. } = fields.span;
                let at = Span::new(start, start + 1);
                self.errors.push(ReadError::MissingField { field: name, what: fields.object.what, at });
                None
            }
            None => None,
        }
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

    /// A field that is a string.
    pub(crate) fn string_field(&mut self, fields: &Fields<'t, 's>, field: &'static str) -> Option<Name<'s>> {
        let id = self.field(fields, field)?;
        self.string(id, &format!("`{field}`"))
    }

    /// A field that is a list; empty where there is none.
    pub(crate) fn list_field(&mut self, fields: &Fields<'t, 's>, field: &'static str) -> &'t [ValueId] {
        let id = self.field(fields, field);
        id.and_then(|id| self.list(id, &format!("`{field}`"))).unwrap_or_default()
    }

    /// A field that is a list of strings; empty where there is none.
    pub(crate) fn strings_field(&mut self, fields: &Fields<'t, 's>, field: &'static str, item: &str) -> Vec<Name<'s>> {
        let id = self.field(fields, field);
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

//! The JSON schema of kernel dumps, made of the table that the reader takes fields from.
//!
//! # Output
//! A schema in the dialect of 2020-12: every field with its presence and type, every operator with the number of its operands.
//! # Method
//! [`super::format`] has the objects, `nestegg-ir` the operators, reductions and dtypes, lowering the words that cannot be names. Nothing is
//! listed here a second time.
//! # Not done
//! What depends on other parts of the dump (defined names, ranks, types, domains, the nesting of loops) and doubled fields: a schema cannot say
//! it, the reader does.

use nestegg_ir::{Arity, Dtype, Op};
use serde_json::{Map, Value, json};

use super::format::{FORMATS, Field, Holds, KERNEL, Object};
use crate::lower::{FUNCTION_WORDS, RESERVED_WORDS};
use crate::syntax::Fold;

/// The JSON schema of `nestegg-kernel/1` and `nestegg-kernel/2`, as text that ends with a line break; the same bytes on every machine.
#[must_use]
pub fn json_schema() -> String {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "nestegg-kernel",
        "description": "A kernel: instructions over loop variables (inames), each run once for every point of its domain.",
    });
    let (Some(schema), Value::Object(kernel)) = (schema.as_object_mut(), object(&KERNEL)) else {
        unreachable!("objects were written above")
    };
    schema.extend(kernel);
    schema.insert("$defs".to_owned(), definitions());
    serde_json::to_string_pretty(schema).expect("a schema is plain data with text keys") + "\n"
}

/// What refers to itself, or stands in many places.
fn definitions() -> Value {
    json!({
        "name": name(&RESERVED_WORDS.concat()),
        "function": name(&[RESERVED_WORDS.concat(), FUNCTION_WORDS.to_vec(), Dtype::ALL.map(Dtype::name).to_vec()].concat()),
        "expression": expression(),
        "table": {
            "description": "A number, or nested lists of numbers that fit the shape.",
            "anyOf": [{ "type": "number" }, { "type": "array", "items": reference("table") }],
        },
        "item": item(),
    })
}

fn reference(definition: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{definition}") })
}

fn name(reserved: &[&str]) -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "not": { "enum": reserved } })
}

/// An object; one of several where a field says which further fields there are.
fn object(object: &Object) -> Value {
    if object.kinds.is_empty() {
        return with_fields(object.fields.iter(), None);
    }
    let kinds = object.kinds.iter().map(|(kind, fields)| with_fields(object.fields.iter().chain(*fields), Some(kind)));
    json!({ "anyOf": kinds.collect::<Vec<_>>() })
}

fn with_fields(fields: impl Iterator<Item = &'static Field> + Clone, kind: Option<&str>) -> Value {
    let properties: Map<String, Value> =
        fields.clone().map(|field| (field.name.to_owned(), property(field, kind))).collect();
    let required: Vec<&str> = fields.filter(|field| field.is_required).map(|field| field.name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn property(field: &Field, kind: Option<&str>) -> Value {
    let held = match (&field.holds, kind) {
        (Holds::Kind, Some(kind)) => json!({ "const": kind }),
        (holds, _) => value(holds),
    };
    let mut property = match field.may_be_null {
        true => json!({ "anyOf": [held, { "type": "null" }] }),
        false => held,
    };
    if let Some(property) = property.as_object_mut() {
        property.insert("description".to_owned(), field.doc.into());
    }
    property
}

fn value(holds: &Holds) -> Value {
    match holds {
        Holds::Anything => json!({}),
        Holds::Format => json!({ "enum": FORMATS }),
        Holds::Kind | Holds::Text => json!({ "type": "string" }),
        Holds::Name => reference("name"),
        Holds::FunctionName => reference("function"),
        Holds::Integer => json!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX }),
        Holds::Words(words) => json!({ "enum": words() }),
        Holds::Expression => reference("expression"),
        Holds::OpenShape => json!({
            "type": "array",
            "prefixItems": [{ "anyOf": [reference("expression"), { "type": "null" }] }],
            "items": reference("expression"),
        }),
        Holds::Table => reference("table"),
        Holds::Item => reference("item"),
        Holds::List(items) => json!({ "type": "array", "items": value(items) }),
        Holds::Object(inner) => object(inner),
    }
}

/// A list of these parts and nothing more.
fn sequence(parts: &[Value]) -> Value {
    json!({ "type": "array", "prefixItems": parts, "minItems": parts.len(), "maxItems": parts.len() })
}

/// A list of these parts, and any number of expressions after them.
fn with_operands(parts: &[Value], at_least: usize) -> Value {
    json!({
        "type": "array",
        "prefixItems": parts,
        "items": reference("expression"),
        "minItems": parts.len() + at_least,
    })
}

fn expression() -> Value {
    let text = || json!({ "type": "string" });
    let word = |word: &str| json!({ "const": word });
    let dtypes = Dtype::ALL.map(Dtype::name);
    let reductions = Fold::ALL.map(Fold::spelling);
    let inames = json!({ "type": "array", "items": text(), "minItems": 1 });
    let mut forms = vec![text(), json!({ "type": "number" })];
    forms.extend(operators());
    forms.extend(["[]", "subst"].map(|head| with_operands(&[word(head), text()], 0)));
    forms.push(sequence(&[word("[[]]"), text(), reference("expression")]));
    forms.push(with_operands(&[word("call"), reference("function")], 0));
    forms.push(sequence(&[word("reduce"), json!({ "enum": reductions }), inames, reference("expression")]));
    forms.push(sequence(&[word("cast"), json!({ "enum": dtypes }), reference("expression")]));
    json!({ "description": "A name, a number, or a list that begins with an operator.", "anyOf": forms })
}

/// The operators, those of equal arity together.
fn operators() -> Vec<Value> {
    let mut groups: Vec<(Arity, Vec<&str>)> = Vec::new();
    for op in Op::ALL {
        match groups.iter_mut().find(|(arity, _)| *arity == op.arity()) {
            Some((_, words)) => words.push(op.spelling()),
            None => groups.push((op.arity(), vec![op.spelling()])),
        }
    }
    let group = |(arity, words): (Arity, Vec<&str>)| match arity {
        Arity::Exactly(n) => {
            let operands = std::iter::repeat_n(reference("expression"), n);
            sequence(&std::iter::once(json!({ "enum": words })).chain(operands).collect::<Vec<_>>())
        }
        Arity::AtLeast(n) => with_operands(&[json!({ "enum": words })], n),
    };
    groups.into_iter().map(group).collect()
}

fn item() -> Value {
    let with_text = sequence(&[json!({ "enum": ["for", "end", "run"] }), json!({ "type": "string" })]);
    let condition = sequence(&[json!({ "const": "if" }), reference("expression")]);
    json!({ "anyOf": [with_text, condition, sequence(&[json!({ "const": "endif" })])] })
}

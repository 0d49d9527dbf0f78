//! Expressions: `["+", a, b]` to nodes.
//!
//! A list of what is still to do instead of recursion: linear in the text at any depth.

use nestegg_ir::{Arity, Dtype, Float, Number, Op, Stored};
use nestegg_span::Span;

use super::fields::Reader;
use super::tree::{Value, ValueId};
use crate::error::{ReadError, nearest};
use crate::syntax::{Fold, NodeId, NodeKind, Nodes};

/// The heads of expressions that are no operators.
const FORMS: [&str; 6] = ["[]", "[[]]", "call", "reduce", "subst", "cast"];

enum Task<'s> {
    Visit(ValueId),
    Build { kind: NodeKind<'s>, span: Span, n_operands: usize },
}

/// What a list stands for, and which of its items are operands.
struct Form<'t, 's> {
    kind: NodeKind<'s>,
    operands: &'t [ValueId],
}

impl<'t, 's> Reader<'t, 's> {
    /// Reads one expression.
    pub(crate) fn expression(&mut self, root: ValueId, nodes: &mut Nodes<'s>) -> NodeId {
        let mut tasks = vec![Task::Visit(root)];
        let mut done: Vec<NodeId> = Vec::new();
        while let Some(task) = tasks.pop() {
            let (kind, span, n_operands) = match task {
                Task::Build { kind, span, n_operands } => (kind, span, n_operands),
                Task::Visit(id) => {
                    let span = self.tree.span(id);
                    let kind = match self.tree.value(id) {
                        Value::Array(_) => match self.form(id) {
                            Some(Form { kind, operands }) => {
                                tasks.push(Task::Build { kind, span, n_operands: operands.len() });
                                tasks.extend(operands.iter().rev().map(|&operand| Task::Visit(operand)));
                                continue;
                            }
                            None => NodeKind::Error,
                        },
                        Value::String(text) => NodeKind::Name(text.clone()),
                        Value::Number(text) => self.number(text, span).map_or(NodeKind::Error, NodeKind::Number),
                        _ => {
                            self.report_wrong("an expression", "a name, a number or a list", id);
                            NodeKind::Error
                        }
                    };
                    (kind, span, 0)
                }
            };
            let operands = done.split_off(done.len() - n_operands);
            done.push(nodes.push(kind, span, &operands));
        }
        done.pop().expect("the root leaves one node")
    }

    /// A number, if it is finite and fits.
    pub(crate) fn number(&mut self, text: &str, span: Span) -> Option<Number> {
        match number(text) {
            Ok(number) => Some(number),
            Err(NumberError::TooLarge) => {
                self.errors.push(ReadError::IntegerTooLarge { text: shortened(text), at: span });
                None
            }
            Err(NumberError::NonFinite) => {
                self.errors.push(ReadError::NonFinite { text: shortened(text), at: span });
                None
            }
        }
    }

    fn form(&mut self, id: ValueId) -> Option<Form<'t, 's>> {
        let items = self.tree.items(id);
        let Some((&head, rest)) = items.split_first() else {
            self.report_wrong("an expression", "a name, a number or a list that begins with an operator", id);
            return None;
        };
        let head_span = self.tree.span(head);
        let head = self.string(head, "an operator")?;
        match &*head.text {
            "[]" => self.named(id, rest, "a subscript", NodeKind::Subscript),
            "[[]]" => {
                if rest.len() != 2 {
                    return self.arity(id, "a linear subscript", "a name and one index", rest.len());
                }
                self.named(id, rest, "a linear subscript", NodeKind::Linear)
            }
            "call" => self.named(id, rest, "a call", NodeKind::Call),
            "subst" => self.named(id, rest, "a substitution", NodeKind::Substitution),
            "cast" => {
                let &[dtype, _] = rest else {
                    return self.arity(id, "`cast`", "a dtype and an operand", rest.len());
                };
                let dtype = self.dtype(dtype)?;
                Some(Form { kind: NodeKind::Cast(dtype), operands: &rest[1..] })
            }
            "reduce" => {
                let &[op, inames, _] = rest else {
                    return self.arity(id, "`reduce`", "an operation, a list of inames and an operand", rest.len());
                };
                let op_span = self.tree.span(op);
                let word = self.string(op, "a reduction")?.text;
                let op = Fold::from_spelling(&word);
                let at = self.tree.span(inames);
                let inames = self.strings(inames, "the inames of a reduction", "an iname");
                if op.is_none() {
                    self.errors.push(ReadError::UnknownReduction { word: shortened(&word), at: op_span });
                }
                if inames.is_empty() {
                    self.errors.push(ReadError::WrongArity {
                        what: "`reduce`".to_owned(),
                        expected: "at least one iname".to_owned(),
                        found: 0,
                        at,
                    });
                    return None;
                }
                Some(Form { kind: NodeKind::Reduce(op?, inames), operands: &rest[2..] })
            }
            word => match Op::from_spelling(word, rest.len()) {
                Some(op) => Some(Form { kind: NodeKind::Op(op), operands: rest }),
                None => {
                    match Op::ALL.into_iter().find(|op| op.spelling() == word) {
                        Some(op) => return self.arity(id, &format!("`{word}`"), &arity_text(op), rest.len()),
                        None => {
                            let known = Op::ALL.into_iter().map(Op::spelling).chain(FORMS);
                            let help = nearest(word, known);
                            let word = shortened(word);
                            self.errors.push(ReadError::UnknownOperator { word, at: head_span, help });
                        }
                    }
                    None
                }
            },
        }
    }

    fn named(
        &mut self,
        id: ValueId,
        rest: &'t [ValueId],
        what: &str,
        kind: fn(crate::syntax::Name<'s>) -> NodeKind<'s>,
    ) -> Option<Form<'t, 's>> {
        let Some((&name, operands)) = rest.split_first() else {
            return self.arity(id, what, "a name and its operands", 0);
        };
        let name = self.string(name, &format!("the name in {what}"))?;
        Some(Form { kind: kind(name), operands })
    }

    fn arity(&mut self, id: ValueId, what: &str, expected: &str, found: usize) -> Option<Form<'t, 's>> {
        let at = self.tree.span(id);
        self.errors.push(ReadError::WrongArity { what: what.to_owned(), expected: expected.to_owned(), found, at });
        None
    }

    /// The type of an array's elements: the dtype to compute in, and the type in memory if it is another.
    pub(crate) fn element_type(&mut self, id: ValueId) -> Option<(Dtype, Option<Stored>)> {
        let stored = match self.tree.value(id) {
            Value::String(word) => Stored::from_name(word),
            _ => None,
        };
        match stored {
            Some(stored) => Some((stored.dtype(), Some(stored))),
            None => Some((self.dtype(id)?, None)),
        }
    }

    /// A dtype.
    pub(crate) fn dtype(&mut self, id: ValueId) -> Option<Dtype> {
        let word = self.string(id, "a dtype")?;
        let dtype = Dtype::from_name(&word.text);
        if dtype.is_none() {
            self.errors.push(ReadError::UnknownDtype { word: shortened(&word.text), at: word.span });
        }
        dtype
    }
}

/// How many operands an operator takes, in words.
pub(crate) fn arity_text(op: Op) -> String {
    match op.arity() {
        _ if op.spelling() == "-" => "one or two operands".to_owned(),
        Arity::Exactly(1) => "one operand".to_owned(),
        Arity::Exactly(n) => format!("{n} operands"),
        Arity::AtLeast(n) => format!("at least {n} operands"),
    }
}

/// The beginning of a text that a message quotes.
pub(crate) fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum NumberError {
    TooLarge,
    NonFinite,
}

/// The number that a text in JSON's or Python's notation stands for.
pub(crate) fn number(text: &str) -> Result<Number, NumberError> {
    if text.contains(['.', 'e', 'E']) {
        let value = text.parse().ok().and_then(Float::new);
        value.map(Number::Float).ok_or(NumberError::NonFinite)
    } else {
        text.parse().map(Number::Int).map_err(|_| NumberError::TooLarge)
    }
}

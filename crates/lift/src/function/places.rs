//! Elements of arrays: what a chain of subscripts means, and what it says of extents.

use std::rc::Rc;

use nestegg_dump::syntax::TableItem;
use nestegg_ir::{Dtype, Number};
use nestegg_isl::Affine;
use nestegg_span::Span;
use tree_sitter::Node;

use super::{ArrayInfo, Lift, Pointer, Role, Size, Symbol, bare, operator};
use crate::extents::{Access, ENTRY};
use crate::problem::{self, Lifted};
use crate::term::{Kind, Term, Value};
use crate::types::Base;

/// An array with the indices that were given so far.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) array: usize,
    pub(super) indices: Vec<Rc<Term>>,
}

/// A subscript without conversions between integers: no integer overflows.
fn without_conversions(term: &Rc<Term>) -> Rc<Term> {
    match &term.kind {
        Kind::Cast(_, inside) if term.affine().is_some() => without_conversions(inside),
        Kind::Op(op, operands) if term.affine().is_some() => {
            Term::op(*op, operands.iter().map(without_conversions).collect(), term.span)
        }
        _ => term.clone(),
    }
}

/// An element.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) array: usize,
    pub(super) term: Rc<Term>,
}

impl<'f> Lift<'f> {
    /// What stands left of an assignment.
    pub(super) fn target(&mut self, node: Node<'f>) -> Lifted<Element> {
        let place = self.place(node)?;
        if matches!(self.arrays[place.array].role, Role::Table(_)) {
            let what = format!("an assignment to the constant `{}`", self.slice(node));
            return Err(problem::unsupported(&what, self.span(node), ""));
        }
        if place.indices.is_empty()
            && matches!(self.arrays[place.array].role, Role::Argument(_))
            && self.arrays[place.array].shape.is_empty()
        {
            let what = format!("an assignment to the parameter `{}`", self.slice(node));
            return Err(problem::unsupported(&what, self.span(node), "copy it into a local variable, and change that"));
        }
        self.complete(place, node)
    }

    /// The element that a place is, with all its indices.
    pub(super) fn complete(&mut self, place: Place, node: Node<'f>) -> Lifted<Element> {
        let at = self.span(node);
        let (rank, n) = (self.arrays[place.array].shape.len(), place.indices.len());
        if n != rank {
            let what = format!("`{}` with {n} of {rank} subscripts", self.slice(node));
            return Err(problem::unsupported(&what, at, "give it a subscript for each dimension"));
        }
        self.note_access(&place, at);
        Ok(Element { array: place.array, term: Term::new(Kind::Element(place.array, place.indices), at) })
    }

    /// Notes what an access says of an extent that is not declared.
    fn note_access(&mut self, place: &Place, at: Span) {
        let (Some(Size::Unknown), Some(index)) = (self.arrays[place.array].shape.first(), place.indices.first()) else {
            return;
        };
        let mut context = match index.as_int() {
            Some(_) => String::new(),
            None => self.context_text(),
        };
        let mut names = self.known_names(&context);
        let n_names = names.len();
        let index = index.affine_with(&mut |element| {
            let (least, greatest) = self.entries(element)?;
            let name = format!("{ENTRY}_{}", names.len() - n_names);
            context.push_str(&format!(" and {least} <= {name} <= {greatest}"));
            names.push(name.clone());
            Some(Affine::var(&name))
        });
        self.accesses.push(Access { array: place.array, index, names, context, at });
    }

    /// The least and the greatest entry of the table of integers that an element is of.
    fn entries(&self, element: &Term) -> Option<(i64, i64)> {
        let Kind::Element(array, _) = &element.kind else { return None };
        let ArrayInfo { role: Role::Table(items), shape, .. } = &self.arrays[*array] else { return None };
        let entries = items.iter().filter_map(|item| match item {
            TableItem::Number(Number::Int(entry), _) => Some(Some(*entry)),
            TableItem::Number(..) | TableItem::Error => Some(None),
            TableItem::Open(_) | TableItem::Close => None,
        });
        let entries = entries.collect::<Option<Vec<i64>>>()?;
        let size = shape.iter().try_fold(1, |size: i64, extent| match extent {
            Size::Known(extent) => size.checked_mul(extent.as_int()?),
            Size::Unknown => None,
        });
        // Entries that are not written are zero.
        let is_full = size.and_then(|size| usize::try_from(size).ok()) == Some(entries.len());
        let all = || entries.iter().copied().chain((!is_full).then_some(0));
        Some((all().min()?, all().max()?))
    }

    /// An array with its indices, as far as they are given.
    pub(super) fn place(&mut self, node: Node<'f>) -> Lifted<Place> {
        self.nested(node, |lift| lift.place_of(bare(node)))
    }

    fn place_of(&mut self, node: Node<'f>) -> Lifted<Place> {
        let at = self.span(node);
        match node.kind() {
            "identifier" => self.base(node),
            "subscript_expression" => {
                let (Some(array), Some(index)) =
                    (node.child_by_field_name("argument"), node.child_by_field_name("index"))
                else {
                    return Err(problem::syntax("a subscript lacks a part", at));
                };
                let mut place = self.place(array)?;
                let index = self.index(index)?;
                place.indices.push(index);
                Ok(place)
            }
            "pointer_expression" if operator(node, self.text) == "*" => {
                let Some(argument) = node.child_by_field_name("argument").map(bare) else {
                    return Err(problem::syntax("`*` lacks its operand", at));
                };
                let sides = (argument.child_by_field_name("left"), argument.child_by_field_name("right"));
                match sides {
                    (Some(array), Some(offset)) if operator(argument, self.text) == "+" => {
                        let mut place = self.place(array)?;
                        let index = self.index(offset)?;
                        place.indices.push(index);
                        Ok(place)
                    }
                    _ => {
                        let mut place = self.place(argument)?;
                        place.indices.push(Term::int(0, at));
                        Ok(place)
                    }
                }
            }
            "call_expression" => {
                let name = node.child_by_field_name("function").map(|name| self.slice(name)).unwrap_or_default();
                let expanded = self.expanded_call(name, node, |lift, inside| lift.place(inside))?;
                expanded.ok_or_else(|| problem::unsupported("the result of a call as an array", at, ""))
            }
            "field_expression" => {
                let help = "name the array by a local pointer: `double (*u)[n] = (double (*)[n]) s->data;`";
                Err(problem::unsupported("a member of a structure as an array", at, help))
            }
            _ => Err(problem::unsupported("this as an array", at, "arrays are accessed by their names: `A[i][j]`")),
        }
    }

    fn index(&mut self, node: Node<'f>) -> Lifted<Rc<Term>> {
        let value = self.expression(node)?.number();
        if value.dtype.is_float() {
            return Err(problem::wrong_type("the subscript", value.dtype.name(), self.span(node)));
        }
        Ok(without_conversions(&value.term))
    }

    /// The array of a name.
    fn base(&mut self, node: Node<'f>) -> Lifted<Place> {
        let (name, at) = (self.slice(node), self.span(node));
        if let Some(place) = self.expanded(name, at, |lift, inside| lift.place(inside))? {
            return Ok(place);
        }
        let array = match self.symbol(name).cloned() {
            Some(Symbol::Array(array)) => array,
            Some(Symbol::Pointer(pointer)) => self.pointed_array(pointer, at)?,
            Some(Symbol::Integer(dtype)) => {
                let array = self.array(name, dtype, Vec::new(), Role::Temporary, at);
                self.redeclare(name, Symbol::Array(array));
                array
            }
            Some(Symbol::Value(_)) => {
                let help =
                    "loop variables, integer parameters and constants keep their values; copy it into another variable";
                return Err(problem::unsupported(&format!("a change of `{name}`"), at, help));
            }
            Some(Symbol::Past) => {
                let help = "declare loop variables in their loops";
                return Err(problem::unsupported(
                    &format!("a change of `{name}`, which is a loop variable elsewhere,"),
                    at,
                    help,
                ));
            }
            Some(Symbol::Structure) => return Err(problem::unsupported("a structure as an array", at, "")),
            Some(Symbol::Block) => {
                return Err(problem::unsupported(
                    "memory as an array of `char`",
                    at,
                    "let a pointer to numbers point to it",
                ));
            }
            Some(Symbol::Other(words)) => return Err(problem::wrong_type(&format!("`{name}`"), &words, at)),
            None => match self.file.variable(name) {
                Some((declaration, declarator)) => {
                    self.file_variable(declaration, declarator)?;
                    return self.nested(node, |lift| lift.base(node));
                }
                None => return Err(problem::unknown_name(name, at)),
            },
        };
        Ok(Place { array, indices: Vec::new() })
    }

    /// The array that a pointer parameter points to.
    pub(super) fn pointed_array(&mut self, pointer: usize, at: Span) -> Lifted<usize> {
        let Pointer { name, text, base, shape, is_flat, array, span } = &self.pointers[pointer];
        if let Some(array) = array {
            return Ok(*array);
        }
        let dtype = match base {
            Base::Number(dtype) => *dtype,
            // Its elements are handed over as a copy.
            Base::Held(dtype) if shape.len() == 1 => *dtype,
            Base::Held(_) => return Err(problem::wrong_type(&format!("`{name}`"), "an integer of another size", at)),
            Base::Void => return Err(problem::wrong_type(&format!("`{name}`"), "void", at)),
            Base::Other(words) => return Err(problem::wrong_type(&format!("`{name}`"), words, at)),
        };
        let text = if *is_flat { text.clone() } else { format!("({} *)(void *){text}", dtype.c_name()) };
        let (name, shape, span) = (name.clone(), shape.clone(), *span);
        let array = self.array(&name, dtype, shape, Role::Argument(text), span);
        self.pointers[pointer].array = Some(array);
        Ok(array)
    }

    /// A member of a structure that is a size: a parameter of the kernel.
    pub(super) fn member(&mut self, node: Node<'f>) -> Lifted<Option<Value>> {
        let field = match node.kind() {
            "field_expression" => Some(node),
            "subscript_expression" => {
                node.child_by_field_name("argument").filter(|inside| inside.kind() == "field_expression")
            }
            _ => None,
        };
        let Some(argument) = field.and_then(|field| field.child_by_field_name("argument")) else { return Ok(None) };
        if !matches!(self.symbol(self.slice(argument)), Some(Symbol::Structure)) {
            return Ok(None);
        }
        if let Some(index) = node.child_by_field_name("index").filter(|_| node.kind() == "subscript_expression")
            && crate::constants::value(&self.expression(index)?.term).is_none()
        {
            let help = "sizes are members of structures, or elements of such with a number as subscript";
            return Err(problem::unsupported("this member of a structure", self.span(node), help));
        }
        let text: String = self.slice(node).split_whitespace().collect();
        if let Some(known) = self.parameters.iter().find(|known| known.text == text) {
            let term = Term::new(Kind::Name(known.name.clone()), self.span(node));
            return Ok(Some(Value::new(term, known.dtype)));
        }
        let words: Vec<&str> =
            text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty()).collect();
        Ok(Some(self.size_parameter(&words.join("_"), &text, Dtype::Int32, self.span(node))))
    }
}

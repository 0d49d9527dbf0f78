//! Expressions: values, with the types and the order of C.

use std::rc::Rc;

use nestegg_ir::{Dtype, Float, Number, Op};
use tree_sitter::Node;

use super::{Lift, MAX_SIZE, Symbol, bare, operator};
use crate::constants;
use crate::math;
use crate::problem::{self, Lifted};
use crate::term::{Kind, Term, Value};
use crate::text::children;
use crate::types::{Base, declared};

impl<'f> Lift<'f> {
    /// The value of an expression.
    pub(super) fn expression(&mut self, node: Node<'f>) -> Lifted<Value> {
        let value = self.nested(node, |lift| lift.expression_of(node))?;
        let value = folded(value);
        if value.term.size > MAX_SIZE || value.term.depth > nestegg_dump::MAX_EXPRESSION_DEPTH {
            return Err(problem::unsupported(
                "an expression of this size",
                self.span(node),
                "name parts of it by local variables",
            ));
        }
        Ok(value)
    }

    fn expression_of(&mut self, node: Node<'f>) -> Lifted<Value> {
        let at = self.span(node);
        match node.kind() {
            "number_literal" => self.literal(node),
            "true" => Ok(Value::int(1, at)),
            "false" => Ok(Value::int(0, at)),
            "identifier" => self.variable(node),
            "parenthesized_expression" => match children(node)[..] {
                [inside] => self.expression(inside),
                _ => Err(problem::syntax("empty parentheses", at)),
            },
            "unary_expression" => self.unary(node),
            "binary_expression" => self.binary(node),
            "conditional_expression" => self.selection(node),
            "cast_expression" => self.cast(node),
            "call_expression" => self.call(node),
            "subscript_expression" | "pointer_expression" | "field_expression" => self.element(node),
            "assignment_expression" | "update_expression" | "comma_expression" => {
                let help = "make it a statement of its own";
                Err(problem::unsupported("a side effect inside of an expression", at, help))
            }
            kind => Err(problem::unsupported(&format!("this ({})", kind.replace('_', " ")), at, "")),
        }
    }

    fn literal(&mut self, node: Node<'f>) -> Lifted<Value> {
        let at = self.span(node);
        let Some((number, dtype)) = constants::literal(self.slice(node)) else {
            return Err(problem::unsupported(
                "this number",
                at,
                "numbers are decimal floats that are finite, and integers of 64 bits",
            ));
        };
        Ok(number_value(number, dtype, at))
    }

    fn variable(&mut self, node: Node<'f>) -> Lifted<Value> {
        let (name, at) = (self.slice(node), self.span(node));
        if let Some(value) = self.expanded(name, at, |lift, inside| lift.expression(inside))? {
            return Ok(value);
        }
        match self.symbol(name) {
            Some(Symbol::Value(value)) => {
                let value = value.clone();
                let term = match &value.term.kind {
                    Kind::Name(name) => Term::new(Kind::Name(name.clone()), at),
                    _ => value.term,
                };
                Ok(Value::new(term, value.dtype))
            }
            Some(Symbol::Array(array)) => {
                let array = *array;
                if !self.arrays[array].shape.is_empty() {
                    let help = "give it a subscript for each dimension";
                    return Err(problem::unsupported(&format!("the array `{name}` as a value"), at, help));
                }
                self.arrays[array].is_read = true;
                Ok(Value::new(Term::new(Kind::Element(array, Vec::new()), at), self.arrays[array].dtype))
            }
            Some(Symbol::Pointer(_) | Symbol::Block) => {
                let help = "give it a subscript";
                Err(problem::unsupported(&format!("the pointer `{name}` as a value"), at, help))
            }
            Some(Symbol::Structure) => {
                Err(problem::unsupported(&format!("the structure `{name}` as a value"), at, "pass its members"))
            }
            Some(Symbol::Integer(_)) => {
                Err(problem::unsupported(&format!("`{name}`, which has no value,"), at, "give it one first"))
            }
            Some(Symbol::Past) => {
                let help = "declare loop variables in their loops, and name what is needed later by another variable";
                Err(problem::unsupported(&format!("the value of `{name}` outside of its loop"), at, help))
            }
            Some(Symbol::Other(words)) => {
                let words = words.clone();
                Err(problem::wrong_type(&format!("`{name}`"), &words, at))
            }
            None => match self.file.variable(name) {
                Some((declaration, declarator)) => {
                    self.file_variable(declaration, declarator)?;
                    self.nested(node, |lift| lift.variable(node))
                }
                None => match math::constant(name).and_then(Float::new) {
                    Some(value) => Ok(number_value(Number::Float(value), Dtype::Float64, at)),
                    None => Err(problem::unknown_name(name, at)),
                },
            },
        }
    }

    /// An element of an array, or a member of a structure.
    fn element(&mut self, node: Node<'f>) -> Lifted<Value> {
        if let Some(value) = self.member(node)? {
            return Ok(value);
        }
        let place = self.place(node)?;
        let place = self.complete(place, node)?;
        self.arrays[place.array].is_read = true;
        Ok(Value::new(place.term, self.arrays[place.array].dtype))
    }

    fn unary(&mut self, node: Node<'f>) -> Lifted<Value> {
        let at = self.span(node);
        let Some(argument) = node.child_by_field_name("argument") else {
            return Err(problem::syntax("an operator lacks its operand", at));
        };
        let value = self.expression(argument)?;
        match operator(node, self.text) {
            "+" => Ok(value.number()),
            "-" => Ok(negated(value.number(), at)),
            "!" => Ok(Value::new(Term::op(Op::Not, vec![value.truth()], at), Dtype::Bool)),
            "~" if !value.dtype.is_float() => {
                let value = value.number();
                Ok(Value::new(Term::op(Op::BitNot, vec![value.term], at), value.dtype))
            }
            other => Err(problem::unsupported(&format!("the operator `{other}` here"), at, "")),
        }
    }

    fn binary(&mut self, node: Node<'f>) -> Lifted<Value> {
        match operator(node, self.text) {
            "+" | "-" => self.sum(node),
            "*" | "/" | "%" => self.product(node),
            word @ ("&&" | "||") => self.logic(node, word),
            word => {
                let at = self.span(node);
                let (left, right) = (node.child_by_field_name("left"), node.child_by_field_name("right"));
                let (Some(left), Some(right)) = (left, right) else {
                    return Err(problem::syntax("an operator lacks an operand", at));
                };
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                self.operation(word, left, right, at)
            }
        }
    }

    /// The operands of a chain of operators of one precedence from the left, each with the operator before it.
    fn chain(&self, node: Node<'f>, operators: &[&str]) -> (Node<'f>, Vec<(&'f str, Node<'f>)>) {
        let mut operands = Vec::new();
        let mut at = node;
        loop {
            let inside = bare(at);
            let word = operator(inside, self.text);
            let sides = (inside.child_by_field_name("left"), inside.child_by_field_name("right"));
            match sides {
                (Some(left), Some(right)) if inside.kind() == "binary_expression" && operators.contains(&word) => {
                    operands.push((word, right));
                    at = left;
                }
                _ => break,
            }
        }
        operands.reverse();
        (at, operands)
    }

    /// `a + b - c`, which is one sum as long as C computes in one type.
    fn sum(&mut self, node: Node<'f>) -> Lifted<Value> {
        let at = self.span(node);
        let (first, rest) = self.chain(node, &["+", "-"]);
        let is_single = rest.len() == 1;
        let first = self.expression(first)?.number();
        let (mut terms, mut dtype) = (vec![first.term], first.dtype);
        for (word, operand) in rest {
            let value = self.expression(operand)?.number();
            if value.dtype > dtype {
                let sum = Value::new(joined(Op::Add, terms, at), dtype).into_dtype(value.dtype);
                (terms, dtype) = (vec![sum.term], value.dtype);
            }
            let value = value.into_dtype(dtype);
            terms.push(match word {
                "-" if is_single => {
                    terms.push(value.term);
                    return Ok(Value::new(Term::op(Op::Sub, terms, at), dtype));
                }
                "-" => negated(value, at).term,
                _ => value.term,
            });
        }
        Ok(Value::new(joined(Op::Add, terms, at), dtype))
    }

    /// `a * b / c % d`.
    fn product(&mut self, node: Node<'f>) -> Lifted<Value> {
        let at = self.span(node);
        let (first, rest) = self.chain(node, &["*", "/", "%"]);
        let first = self.expression(first)?.number();
        let (mut factors, mut dtype) = (vec![first.term], first.dtype);
        for (word, operand) in rest {
            let value = self.expression(operand)?.number();
            if word != "*" || value.dtype > dtype {
                let product = Value::new(joined(Op::Mul, factors, at), dtype);
                let done = if word == "*" {
                    product.into_dtype(value.dtype)
                } else {
                    self.operation(word, product, value.clone(), at)?
                };
                (factors, dtype) = (vec![done.term], done.dtype);
            }
            if word == "*" {
                factors.push(value.into_dtype(dtype).term);
            }
        }
        Ok(Value::new(joined(Op::Mul, factors, at), dtype))
    }

    /// `a && b` or `a || b`: what comes later is evaluated only where it matters.
    fn logic(&mut self, node: Node<'f>, word: &str) -> Lifted<Value> {
        let at = self.span(node);
        let (first, rest) = self.chain(node, &[word]);
        let mut operands = vec![self.expression(first)?.truth()];
        let n_guards = self.guards.len();
        for (_, operand) in rest {
            let before = operands.last().and_then(|before: &Rc<Term>| before.condition());
            let holds = before.map(|before| if word == "&&" { before } else { format!("not ({before})") });
            self.guards.extend(holds.map(Rc::from));
            match self.expression(operand) {
                Ok(value) => operands.push(value.truth()),
                Err(error) => {
                    self.guards.truncate(n_guards);
                    return Err(error);
                }
            }
        }
        self.guards.truncate(n_guards);
        let op = if word == "&&" { Op::And } else { Op::Or };
        Ok(Value::new(joined(op, operands, at), Dtype::Bool))
    }

    fn selection(&mut self, node: Node<'f>) -> Lifted<Value> {
        let at = self.span(node);
        let part = |name| node.child_by_field_name(name);
        let (Some(condition), Some(first), Some(second)) =
            (part("condition"), part("consequence"), part("alternative"))
        else {
            return Err(problem::unsupported("this selection", at, "write all three parts of `c ? a : b`"));
        };
        let condition = self.expression(condition)?.truth();
        let affine = condition.condition();
        let negated = affine.as_ref().map(|affine| format!("not ({affine})"));
        let first = self.guarded(affine, |lift| lift.expression(first))?;
        let second = self.guarded(negated, |lift| lift.expression(second))?;
        let (first, second) = first.joined(second);
        let dtype = first.dtype;
        Ok(Value::new(Term::op(Op::If, vec![condition, first.term, second.term], at), dtype))
    }

    fn cast(&mut self, node: Node<'f>) -> Lifted<Value> {
        let at = self.span(node);
        let (Some(ty), Some(value)) = (node.child_by_field_name("type"), node.child_by_field_name("value")) else {
            return Err(problem::syntax("a conversion lacks a part", at));
        };
        let wraps = ty.child_by_field_name("declarator").map(|declarator| declared(declarator).1).unwrap_or_default();
        match (wraps.as_slice(), self.file.types.of_node(ty, self.text)) {
            ([], Base::Number(dtype) | Base::Held(dtype)) => {
                let value = self.expression(value)?;
                // A conversion to a float is an operation, also of a literal.
                let is_single = dtype == Dtype::Float32 && value.dtype != dtype;
                let value = value.into_dtype(dtype);
                let is_cast = matches!(value.term.kind, Kind::Cast(..));
                let term =
                    if is_single && !is_cast { Term::new(Kind::Cast(dtype, value.term), at) } else { value.term };
                Ok(Value::new(term, dtype))
            }
            ([], Base::Other(words)) => Err(problem::wrong_type("this conversion", &words, at)),
            _ => Err(problem::unsupported(
                "a conversion of pointers",
                at,
                "declare what the pointer points to where it is declared",
            )),
        }
    }
}

/// A literal of that type: literals of `float` are converted, for a literal of a kernel takes the type that it meets.
pub(super) fn number_value(number: Number, dtype: Dtype, at: nestegg_span::Span) -> Value {
    let term = Term::new(Kind::Number(number), at);
    let term = if dtype == Dtype::Float32 { Term::new(Kind::Cast(dtype, term), at) } else { term };
    Value::new(term, dtype)
}

/// An integer that is computed from literals is a literal.
fn folded(value: Value) -> Value {
    if !value.dtype.is_integer() || !matches!(value.term.kind, Kind::Op(..)) {
        return value;
    }
    match constants::value(&value.term) {
        Some(number @ Number::Int(_)) => Value::new(Term::new(Kind::Number(number), value.term.span), value.dtype),
        _ => value,
    }
}

/// One operation on several operands; of one, that one.
fn joined(op: Op, mut operands: Vec<Rc<Term>>, at: nestegg_span::Span) -> Rc<Term> {
    if operands.len() == 1
        && let Some(only) = operands.pop()
    {
        return only;
    }
    Term::op(op, operands, at)
}

/// The negative; of a literal, the negative literal.
fn negated(value: Value, at: nestegg_span::Span) -> Value {
    let negative = |number: Number| match number {
        Number::Int(value) => value.checked_neg().map(Number::Int),
        Number::Float(value) => Float::new(-value.get()).map(Number::Float),
    };
    let number = match &value.term.kind {
        Kind::Number(number) => negative(*number),
        Kind::Cast(Dtype::Float32, inside) => match inside.kind {
            Kind::Number(number) => negative(number),
            _ => None,
        },
        _ => None,
    };
    match number {
        // An integer zero has no sign.
        Some(number) => number_value(number, value.dtype, at),
        None => Value::new(Term::op(Op::Neg, vec![value.term], at), value.dtype),
    }
}

//! Loops: the values that a `for` runs over, as a domain.

use std::rc::Rc;

use nestegg_ir::{Dtype, Op};
use nestegg_isl::Affine;
use nestegg_span::Span;
use rustc_hash::FxHashMap;
use tree_sitter::Node;

use super::{ISL_WORDS, Lift, Open, Step, Symbol, bare, declared_name, operator};
use crate::bounds;
use crate::constants;
use crate::problem::{self, Lifted};
use crate::term::{Kind, Term, Value};
use crate::text::fields;
use crate::types::Base;

/// A variable that the head of a loop gives a value.
struct Start<'f> {
    name: Node<'f>,
    value: Node<'f>,
    dtype: Option<Dtype>,
}

impl<'f> Lift<'f> {
    pub(super) fn for_loop(&mut self, node: Node<'f>) -> Lifted<()> {
        let head = self.head_span(node);
        let help = "write `for (int i = 0; i < n; ++i)`, with any start, end and constant step";
        let refused = || problem::unsupported("a loop of this form", head, help);
        let part = |name| node.child_by_field_name(name);
        let (Some(first), Some(condition), Some(update), Some(body)) =
            (part("initializer"), part("condition"), part("update"), part("body"))
        else {
            return Err(refused());
        };
        let starts = self.starts(first)?;
        let (mut counted, mut renewed) = (Vec::new(), Vec::new());
        for update in commas(update) {
            match self.step(update)? {
                Some(step) => counted.push(step),
                None => renewed.push(update),
            }
        }
        let [(name, step)] = counted[..] else { return Err(refused()) };
        let Some(start) = starts.iter().find(|start| self.slice(start.name) == name) else { return Err(refused()) };
        self.check_renewed(&starts, &renewed, name)?;

        let before = self.loop_dtype(start, head)?;
        let from = self.expression(start.value)?.number();
        if from.dtype.is_float() {
            return Err(problem::unsupported("a loop over floats", head, help));
        }
        let dtype = before.unwrap_or(from.dtype);
        let at = self.span(start.name);
        let planned = self.free(name, &ISL_WORDS);
        let (value, mut constraints) = self.counted(&planned, &from.term, step, at, self.span(start.value))?;
        let value = Value::new(value, dtype);

        let mut scope = FxHashMap::default();
        scope.insert(name.to_owned(), Symbol::Value(value.clone()));
        self.scopes.push(scope);
        self.open.push(Open { iname: planned.clone(), constraint: Rc::from(constraints.as_str()) });
        let goes_on = self.expression(condition);
        self.open.pop();
        self.scopes.pop();
        let goes_on = goes_on?.truth();
        let Some(text) = bounds::condition(&goes_on, &planned) else {
            return Err(problem::not_affine("the condition of the loop", self.span(condition)));
        };
        constraints = format!("{constraints} and {text}");

        let iname = self.domain(name, &planned, &constraints, at);
        let value = Value::new(renamed(&value.term, &planned, &iname), dtype);
        let constraint: Rc<str> = Rc::from(replace_word(&constraints, &planned, &iname));
        let mut scope = FxHashMap::default();
        scope.insert(name.to_owned(), Symbol::Value(value));
        self.scopes.push(scope);
        self.open.push(Open { iname: iname.clone(), constraint });
        let res = self.renew(&starts, name).and_then(|()| {
            self.steps.push(Step::For(iname.clone(), at));
            let res = self.statement(body);
            self.steps.push(Step::End(iname, at));
            res
        });
        self.open.pop();
        self.scopes.pop();
        if before.is_none() {
            self.pass(name);
        }
        res
    }

    /// The head of a loop.
    fn head_span(&self, node: Node<'f>) -> Span {
        let whole = self.span(node);
        match node.child_by_field_name("body") {
            Some(body) if self.used_at.is_none() => Span::from_range(node.start_byte()..body.start_byte()),
            _ => whole,
        }
    }

    fn starts(&self, node: Node<'f>) -> Lifted<Vec<Start<'f>>> {
        let mut res = Vec::new();
        if node.kind() == "declaration" {
            let base = self.file.types.of_node(node, self.text);
            let (Base::Number(dtype) | Base::Held(dtype)) = base else { return Ok(res) };
            for declarator in fields(node, "declarator") {
                if let (Some(name), Some(value)) = (declared_name(declarator), declarator.child_by_field_name("value"))
                {
                    res.push(Start { name, value, dtype: Some(dtype) });
                }
            }
            return Ok(res);
        }
        for part in commas(node) {
            let sides = (part.child_by_field_name("left"), part.child_by_field_name("right"));
            let (Some(name), Some(value)) = sides else { continue };
            if part.kind() == "assignment_expression" && name.kind() == "identifier" && operator(part, self.text) == "="
            {
                res.push(Start { name, value, dtype: None });
            }
        }
        Ok(res)
    }

    /// The variable that an update counts, and its step; nothing for other updates.
    fn step(&mut self, node: Node<'f>) -> Lifted<Option<(&'f str, i64)>> {
        let node = bare(node);
        if node.kind() == "update_expression" {
            let Some(name) = node.child_by_field_name("argument") else { return Ok(None) };
            return Ok(Some((self.slice(name), if operator(node, self.text) == "++" { 1 } else { -1 })));
        }
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
            return Ok(None);
        };
        if node.kind() != "assignment_expression" {
            return Ok(None);
        }
        let name = self.slice(left);
        let (word, amount) = match operator(node, self.text) {
            word @ ("+=" | "-=") => (word, right),
            "=" => {
                let right = bare(right);
                let sides = (right.child_by_field_name("left"), right.child_by_field_name("right"));
                match (operator(right, self.text), sides) {
                    ("+", (Some(a), Some(b))) if self.slice(a) == name => ("+=", b),
                    ("+", (Some(a), Some(b))) if self.slice(b) == name => ("+=", a),
                    ("-", (Some(a), Some(b))) if self.slice(a) == name => ("-=", b),
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        let at = self.span(amount);
        let value = self.expression(amount)?;
        let amount = match constants::value(&value.term) {
            Some(nestegg_ir::Number::Int(amount)) if amount != 0 => amount,
            _ => {
                return Err(problem::unsupported(
                    "a step that is not a number",
                    at,
                    "steps are integers other than zero",
                ));
            }
        };
        let amount = if word == "+=" { Some(amount) } else { amount.checked_neg() };
        match amount {
            Some(amount) => Ok(Some((name, amount))),
            None => Err(problem::unsupported("a step of this size", at, "")),
        }
    }

    /// Whether everything else in the head is set anew in each iteration, to the same expression as at the start.
    fn check_renewed(&self, starts: &[Start<'f>], renewed: &[Node<'f>], counted: &str) -> Lifted<()> {
        let words = |node: Node<'f>| self.slice(node).split_whitespace().collect::<String>();
        for start in starts.iter().filter(|start| self.slice(start.name) != counted) {
            let name = self.slice(start.name);
            let is_same = renewed.iter().any(|update| {
                let sides = (update.child_by_field_name("left"), update.child_by_field_name("right"));
                matches!(sides, (Some(left), Some(right)) if self.slice(left) == name && words(right) == words(start.value))
            });
            let is_declared = start.dtype.is_some();
            if !is_same || !is_declared {
                let what = format!("the variable `{name}` in the head of a loop");
                let help = "compute it inside of the loop";
                return Err(problem::unsupported(&what, self.span(start.name), help));
            }
        }
        for update in renewed {
            let name = update.child_by_field_name("left").map(|left| self.slice(left)).unwrap_or_default();
            if !starts.iter().any(|start| self.slice(start.name) == name) {
                return Err(problem::unsupported(
                    "this in the head of a loop",
                    self.span(*update),
                    "move it into the loop",
                ));
            }
        }
        Ok(())
    }

    /// The variables beside the counted one, as values.
    fn renew(&mut self, starts: &[Start<'f>], counted: &str) -> Lifted<()> {
        for start in starts {
            let name = self.slice(start.name);
            if name == counted {
                continue;
            }
            let value = self.expression(start.value)?;
            let value = start.dtype.map_or(value.clone(), |dtype| value.into_dtype(dtype));
            self.declare(name, Symbol::Value(value));
        }
        Ok(())
    }

    /// The type of a loop variable that its loop declares; nothing for one that was declared before, which may be used for loops only.
    fn loop_dtype(&self, start: &Start<'f>, head: Span) -> Lifted<Option<Dtype>> {
        if start.dtype.is_some() {
            return Ok(start.dtype);
        }
        let name = self.slice(start.name);
        let help = "let the loop declare its variable: `for (int i = 0; …)`";
        match self.symbol(name) {
            Some(Symbol::Integer(_) | Symbol::Past) => Ok(None),
            Some(Symbol::Array(array)) if !self.arrays[*array].is_read && self.arrays[*array].dtype.is_integer() => {
                Ok(None)
            }
            Some(_) => {
                Err(problem::unsupported(&format!("a loop over `{name}`, which is used otherwise, too,"), head, help))
            }
            None => Err(problem::unknown_name(name, self.span(start.name))),
        }
    }

    /// The value of a loop variable by its iname, and what the iname's values begin with.
    fn counted(&self, iname: &str, from: &Rc<Term>, step: i64, at: Span, place: Span) -> Lifted<(Rc<Term>, String)> {
        let variable = Term::new(Kind::Name(iname.to_owned()), at);
        let not_affine = || problem::not_affine("the start of the loop", place);
        if step == 1 {
            let text = bounds::from(iname, from).ok_or_else(not_affine)?;
            return Ok((variable, text));
        }
        let start = from.affine().ok_or_else(not_affine)?;
        if step > 1 {
            let offset = Affine::var(iname).sub(&start).map_err(|_| not_affine())?;
            return Ok((variable, format!("{start} <= {iname} and ({offset}) mod {step} = 0")));
        }
        // The iname counts the iterations of a loop that runs down.
        let scaled = if step == -1 { variable } else { Term::op(Op::Mul, vec![Term::int(-step, at), variable], at) };
        let value = match from.as_int() {
            Some(0) => Term::op(Op::Neg, vec![scaled], at),
            _ => Term::op(Op::Sub, vec![from.clone(), scaled], at),
        };
        Ok((value, format!("0 <= {iname}")))
    }

    /// The iname with these values: one that is there and not open, or a new one with its domain.
    fn domain(&mut self, name: &str, planned: &str, constraints: &str, at: Span) -> String {
        let key = (name.to_owned(), replace_word(constraints, planned, "_"));
        if let Some(known) = self.inames.get(&key)
            && !self.open.iter().any(|open| open.iname == *known)
        {
            return known.clone();
        }
        let iname = self.fresh_in_sets(name);
        let constraints = replace_word(constraints, planned, &iname);
        let outer = self.known_names(&constraints).join(", ");
        let outer = if outer.is_empty() { String::new() } else { format!("[{outer}] -> ") };
        self.domains.push((format!("{outer}{{ [{iname}] : {constraints} }}"), at));
        self.inames.insert(key, iname.clone());
        iname
    }
}

/// The parts of a list with commas.
fn commas(node: Node<'_>) -> Vec<Node<'_>> {
    let mut res = Vec::new();
    let mut at = bare(node);
    while at.kind() == "comma_expression" {
        // The grammar nests these to the right.
        let (Some(left), Some(right)) = (at.child_by_field_name("left"), at.child_by_field_name("right")) else {
            break;
        };
        res.push(bare(left));
        at = bare(right);
    }
    res.push(at);
    res
}

/// A text with another word in place of one.
fn replace_word(text: &str, word: &str, other: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut res = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        res.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        // A coefficient stands before its name without a space: `2i`.
        let digits = rest[..end].find(|c: char| !c.is_ascii_digit()).unwrap_or(end);
        res.push_str(&rest[..digits]);
        res.push_str(if &rest[digits..end] == word { other } else { &rest[digits..end] });
        rest = &rest[end..];
    }
    res.push_str(rest);
    res
}

/// The value of a loop variable with another iname.
fn renamed(term: &Rc<Term>, iname: &str, other: &str) -> Rc<Term> {
    if iname == other {
        return term.clone();
    }
    let kind = match &term.kind {
        Kind::Name(name) if name == iname => Kind::Name(other.to_owned()),
        Kind::Op(op, operands) => {
            Kind::Op(*op, operands.iter().map(|operand| renamed(operand, iname, other)).collect())
        }
        _ => return term.clone(),
    };
    Term::new(kind, term.span)
}

//! Statements: what runs, and in what order.

use std::rc::Rc;

use nestegg_dump::ReadError;
use nestegg_ir::{Dtype, Op};
use nestegg_span::Span;
use rustc_hash::FxHashMap;
use tree_sitter::Node;

use super::{Lift, Role, Step, Symbol, bare, operator};
use crate::problem::{self, Lifted};
use crate::term::{Kind, Term, Value};
use crate::text::{children, fields};

impl<'f> Lift<'f> {
    /// The body of the function.
    pub(super) fn body(&mut self, node: Node<'f>) {
        let statements = children(node);
        let last = statements.iter().rposition(|statement| statement.kind() == "return_statement");
        for (idx, statement) in statements.iter().enumerate() {
            let is_last = Some(idx) == last && idx + 1 == statements.len();
            let res = if is_last { self.returned(*statement) } else { self.statement(*statement) };
            if let Err(error) = res {
                self.report(error);
            }
        }
    }

    fn returned(&mut self, node: Node<'f>) -> Lifted<()> {
        let [value] = children(node)[..] else { return Ok(()) };
        let term = self.expression(value)?.term;
        match crate::constants::value(&term) {
            Some(number) => {
                self.returned = Some(number.to_string());
                Ok(())
            }
            None => {
                let help = "write the result through a pointer, and return nothing or 0";
                Err(problem::unsupported("a returned value", self.span(value), help))
            }
        }
    }

    /// A statement; of those in a block each may have an error of its own.
    pub(super) fn statement(&mut self, node: Node<'f>) -> Lifted<()> {
        self.nested(node, |lift| lift.statement_of(node))
    }

    fn statement_of(&mut self, node: Node<'f>) -> Lifted<()> {
        match node.kind() {
            "compound_statement" => {
                self.scopes.push(FxHashMap::default());
                for statement in children(node) {
                    if let Err(error) = self.statement(statement) {
                        self.report(error);
                    }
                }
                self.scopes.pop();
                Ok(())
            }
            "expression_statement" => match children(node)[..] {
                [] => Ok(()),
                [expression, ..] => self.effect(expression),
            },
            "declaration" => self.declaration(node),
            "for_statement" => self.for_loop(node),
            "if_statement" => self.condition(node),
            "preproc_call" | "comment" => Ok(()),
            "preproc_def" | "preproc_function_def" | "type_definition" => Ok(()),
            "return_statement" => {
                let help = "let the function end with its only `return`; conditions go around what is left";
                Err(problem::unsupported("a `return` before the end", self.span(node), help))
            }
            "while_statement" | "do_statement" => {
                let help = "write `for (int i = 0; i < n; ++i)`: how often a loop runs must be known before";
                Err(problem::unsupported("this loop", self.span(node), help))
            }
            "break_statement" | "continue_statement" | "goto_statement" | "labeled_statement" | "switch_statement" => {
                Err(problem::unsupported("a jump", self.span(node), "write it with `if` and `else`"))
            }
            kind => Err(problem::unsupported(&format!("this ({})", kind.replace('_', " ")), self.span(node), "")),
        }
    }

    /// An expression that stands for its effect.
    fn effect(&mut self, node: Node<'f>) -> Lifted<()> {
        let node = bare(node);
        match node.kind() {
            "comma_expression" => {
                for part in [node.child_by_field_name("left"), node.child_by_field_name("right")].into_iter().flatten()
                {
                    self.nested(part, |lift| lift.effect(part))?;
                }
                Ok(())
            }
            "assignment_expression" => self.assignment(node),
            "update_expression" => self.update(node),
            "call_expression" => {
                if self.is_of_heap(node) {
                    return Ok(());
                }
                let name = node.child_by_field_name("function").map(|name| self.slice(name)).unwrap_or_default();
                let what = format!("a call of `{name}` for its effect");
                let help = "only functions that compute numbers can be called; write out what it does";
                Err(problem::unsupported(&what, self.span(node), help))
            }
            "identifier" => Ok(()),
            // A cast to `void` silences compilers.
            "cast_expression"
                if node.child_by_field_name("value").map(bare).is_some_and(|value| value.kind() == "identifier") =>
            {
                Ok(())
            }
            _ => Err(problem::unsupported("a statement without effect", self.span(node), "remove it")),
        }
    }

    fn assignment(&mut self, node: Node<'f>) -> Lifted<()> {
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
            return Err(problem::syntax("an assignment lacks a side", self.span(node)));
        };
        let operator = operator(node, self.text);
        let value = self.expression(right)?;
        self.assign(left, operator, value, self.span(node))
    }

    fn update(&mut self, node: Node<'f>) -> Lifted<()> {
        let Some(argument) = node.child_by_field_name("argument") else {
            return Err(problem::syntax("nothing is counted", self.span(node)));
        };
        let operator = if operator(node, self.text) == "++" { "+=" } else { "-=" };
        let at = self.span(node);
        self.assign(argument, operator, Value::int(1, at), at)
    }

    /// Stores a value, or what an operator makes of the old value and it.
    fn assign(&mut self, left: Node<'f>, operator: &str, value: Value, at: Span) -> Lifted<()> {
        let place = self.target(left)?;
        let value = match operator {
            "=" => value,
            _ => {
                self.arrays[place.array].is_read = true;
                let old = Value::new(place.term.clone(), self.arrays[place.array].dtype);
                self.operation(operator.trim_end_matches('='), old, value, at)?
            }
        };
        self.store(place.array, place.term, value, at);
        Ok(())
    }

    /// Adds the instruction that stores a value.
    pub(super) fn store(&mut self, array: usize, target: Rc<Term>, value: Value, span: Span) {
        self.arrays[array].is_written = true;
        let value = value.into_dtype(self.arrays[array].dtype).term;
        let within = self.open.iter().map(|open| open.iname.clone()).collect();
        self.steps.push(Step::Run { array, target, value, within, span });
    }

    fn condition(&mut self, node: Node<'f>) -> Lifted<()> {
        let (Some(condition), Some(consequence)) =
            (node.child_by_field_name("condition"), node.child_by_field_name("consequence"))
        else {
            return Err(problem::syntax("an `if` lacks a part", self.span(node)));
        };
        if self.tests_heap(condition) {
            let other =
                fields(node, "alternative").into_iter().next().and_then(|other| children(other).into_iter().next());
            return other.map_or(Ok(()), |other| self.branch(None, other));
        }
        let at = self.span(condition);
        let term = self.expression(condition)?.truth();
        let affine = term.condition();
        let start = self.steps.len();
        self.steps.push(Step::If { condition: term.clone(), is_negated: false });
        let first = self.branch(affine.clone(), consequence);
        self.steps.push(Step::EndIf(at));
        let alternative = fields(node, "alternative").into_iter().next();
        let second = match alternative {
            None => Ok(()),
            Some(alternative) => {
                let kept = self.kept(term, start, at);
                self.steps.push(Step::If { condition: kept, is_negated: true });
                let negated = affine.map(|affine| format!("not ({affine})"));
                let inside = children(alternative).into_iter().next().unwrap_or(alternative);
                let res = self.branch(negated, inside);
                self.steps.push(Step::EndIf(at));
                res
            }
        };
        first.and(second)
    }

    fn branch(&mut self, condition: Option<String>, node: Node<'f>) -> Lifted<()> {
        self.guarded(condition, |lift| {
            lift.scopes.push(FxHashMap::default());
            let res = lift.statement(node);
            lift.scopes.pop();
            res
        })
    }

    /// A condition whose first branch began at step `start`, for use after that branch: if the branch writes what the condition reads, its value is kept.
    fn kept(&mut self, condition: Rc<Term>, start: usize, at: Span) -> Rc<Term> {
        let mut read = Vec::new();
        condition.arrays(&mut read);
        let is_changed =
            self.steps[start..].iter().any(|step| matches!(step, Step::Run { array, .. } if read.contains(array)));
        if !is_changed {
            return condition;
        }
        let array = self.array("holds", Dtype::Bool, Vec::new(), Role::Temporary, at);
        self.arrays[array].is_read = true;
        self.arrays[array].is_written = true;
        let kept = Term::new(Kind::Element(array, Vec::new()), at);
        let within = self.open.iter().map(|open| open.iname.clone()).collect();
        let run = Step::Run { array, target: kept.clone(), value: condition, within, span: at };
        self.steps.insert(start, run);
        self.steps[start + 1] = Step::If { condition: kept.clone(), is_negated: false };
        kept
    }

    /// An operation of C on two values, by its operator.
    pub(super) fn operation(&mut self, operator: &str, a: Value, b: Value, at: Span) -> Result<Value, Box<ReadError>> {
        let integers = |a: Value, b: Value| {
            let (a, b) = a.joined(b);
            if a.dtype.is_float() {
                let help = "bits and remainders are of integers; `fmod` is for floats";
                return Err(problem::unsupported(&format!("`{operator}` of floats"), at, help));
            }
            Ok((a, b))
        };
        let bits = |op: Op, a: Value, b: Value| integers(a, b).map(|(a, b)| Value::arithmetic(op, a, b, at));
        Ok(match operator {
            "+" => Value::arithmetic(Op::Add, a, b, at),
            "-" => Value::arithmetic(Op::Sub, a, b, at),
            "*" => Value::arithmetic(Op::Mul, a, b, at),
            "/" => self.quotient(a, b, at),
            "%" => {
                let (a, b) = integers(a, b)?;
                self.remainder(a, b, at)
            }
            "&" => bits(Op::BitAnd, a, b)?,
            "|" => bits(Op::BitOr, a, b)?,
            "^" => bits(Op::BitXor, a, b)?,
            "<<" | ">>" => {
                let op = if operator == "<<" { Op::Shl } else { Op::Shr };
                // The type is that of the left operand.
                let (a, b) = (a.number(), b.number());
                let dtype = a.dtype;
                Value::new(bits(op, a, b)?.term, dtype)
            }
            "<" => compared(Op::Lt, a, b, at),
            "<=" => compared(Op::Le, a, b, at),
            ">" => compared(Op::Gt, a, b, at),
            ">=" => compared(Op::Ge, a, b, at),
            "==" => compared(Op::Eq, a, b, at),
            "!=" => compared(Op::Ne, a, b, at),
            _ => return Err(problem::unsupported(&format!("the operator `{operator}`"), at, "")),
        })
    }

    /// C's quotient: of integers, rounded towards zero.
    fn quotient(&self, a: Value, b: Value, at: Span) -> Value {
        let (a, b) = a.joined(b);
        let dtype = a.dtype;
        if dtype.is_float() {
            return Value::arithmetic(Op::Div, a, b, at);
        }
        if let (Some(a), Some(b)) = (a.term.as_int(), b.term.as_int())
            && let Some(quotient) = a.checked_div(b)
        {
            return Value::new(Term::int(quotient, at), dtype);
        }
        let floor = Term::op(Op::FloorDiv, vec![a.term.clone(), b.term.clone()], at);
        let next = Term::op(Op::Add, vec![floor.clone(), Term::int(1, at)], at);
        Value::new(self.towards_zero((&a.term, &b.term), floor, next, at), dtype)
    }

    /// C's remainder of integers, with the sign of the dividend.
    fn remainder(&self, a: Value, b: Value, at: Span) -> Value {
        let dtype = a.dtype;
        if let (Some(a), Some(b)) = (a.term.as_int(), b.term.as_int())
            && let Some(rest) = a.checked_rem(b)
        {
            return Value::new(Term::int(rest, at), dtype);
        }
        let floor = Term::op(Op::Mod, vec![a.term.clone(), b.term.clone()], at);
        let next = Term::op(Op::Sub, vec![floor.clone(), b.term.clone()], at);
        Value::new(self.towards_zero((&a.term, &b.term), floor, next, at), dtype)
    }

    /// What belongs to the quotient of two integers: `next` where it is rounded up, else `floor`.
    fn towards_zero(&self, (a, b): (&Rc<Term>, &Rc<Term>), floor: Rc<Term>, next: Rc<Term>, at: Span) -> Rc<Term> {
        match self.rounds_up(a, b, at) {
            None => floor,
            Some(condition) => Term::op(Op::If, vec![condition, next, floor], at),
        }
    }

    /// Where the quotient of integers is rounded up, not down; `None` for nowhere.
    fn rounds_up(&self, a: &Rc<Term>, b: &Rc<Term>, at: Span) -> Option<Rc<Term>> {
        let zero = || Term::int(0, at);
        let positive = b.as_int().is_some_and(|divisor| divisor > 0);
        if positive && self.is_non_negative(a) {
            return None;
        }
        let rest = Term::op(Op::Mod, vec![a.clone(), b.clone()], at);
        let leaves = Term::op(Op::Ne, vec![rest, zero()], at);
        let below = |term: &Rc<Term>| Term::op(Op::Lt, vec![term.clone(), zero()], at);
        let above = |term: &Rc<Term>| Term::op(Op::Gt, vec![term.clone(), zero()], at);
        let differs = if positive {
            below(a)
        } else {
            let one = Term::op(Op::And, vec![below(a), above(b)], at);
            let other = Term::op(Op::And, vec![above(a), below(b)], at);
            Term::op(Op::Or, vec![one, other], at)
        };
        Some(Term::op(Op::And, vec![differs, leaves], at))
    }

    /// Forgets the value of a loop variable that was declared before its loop.
    pub(super) fn pass(&mut self, name: &str) {
        if self.symbol(name).is_some() {
            self.redeclare(name, Symbol::Past);
        }
    }
}

/// A comparison of numbers.
fn compared(op: Op, a: Value, b: Value, at: Span) -> Value {
    let res = Value::arithmetic(op, a, b, at);
    Value::new(res.term, Dtype::Bool)
}

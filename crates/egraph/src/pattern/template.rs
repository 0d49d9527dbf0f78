//! Right sides, compiled, and the forms that they give.
//!
//! What a right side gives is in normal form as everything else: constants are gathered, a number that an operand has leaves a sum over inames with it, a reduction over no inames is
//! what is reduced. Nothing is given if a reduction would run over other points than the left side does (see [bound](super::bound)),
//! or if the size of a domain is not one number.

use std::rc::Rc;

use egg::Id;
use nestegg_ir::{Op, ReduceOp};
use nestegg_rules::{Pattern, PatternId, PatternNode};
use rustc_hash::{FxHashMap, FxHashSet};

use super::bound::{self, Bound};
use super::fact::{self, is_reciprocal, opened};
use super::{Bindings, Functions, Operand, Operator, Slot, Slots, Value};
use crate::analysis::Graph;
use crate::build;
use crate::language::{Kind, Node};
use crate::rational::Rational;

/// A right side, or a part of one.
#[derive(Clone, Debug)]
pub(super) enum Template {
    Variable(Slot),
    Number(Rational),
    Size(Vec<Slot>),
    Apply(Operator, Vec<Part>),
    Reduce(ReduceOp, Vec<Slot>, Box<Template>),
}

/// What stands among the children of an operator.
#[derive(Clone, Debug)]
pub(super) enum Part {
    One(Template),
    Rest(Slot),
    Each(Slot, Template),
    Spread(Spread, Slot),
}

/// A function of rest variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    Open,
    Reciprocals,
    Inverse,
}

/// The template of a right side; `None` if it calls a function that the kernel has no name for.
pub(super) fn compile(pattern: &Pattern, slots: &mut Slots, functions: &Functions) -> Option<Template> {
    template(pattern, pattern.root(), slots, functions)
}

/// Recursion is as deep as the pattern.
fn template(pattern: &Pattern, id: PatternId, slots: &mut Slots, functions: &Functions) -> Option<Template> {
    Some(match pattern.node(id) {
        PatternNode::Variable(name) => Template::Variable(slots.of(name)),
        PatternNode::Number(value) => Template::Number(Rational::from(value.clone())),
        PatternNode::Size(inames) => Template::Size(inames.iter().map(|iname| slots.of(iname.name())).collect()),
        PatternNode::Reduce { operator, inames, body } => {
            let inames = inames.iter().map(|iname| slots.of(iname.name())).collect();
            let body = template(pattern, *body, slots, functions)?;
            Template::Reduce(super::reduce_op(operator)?, inames, Box::new(body))
        }
        PatternNode::Apply { operator, children } => {
            let operator = Operator::new(operator, children.len(), functions)?;
            let parts = children.iter().map(|&child| match pattern.node(child) {
                PatternNode::Rest(name) | PatternNode::Filtered { rest: name, .. } => Some(Part::Rest(slots.of(name))),
                PatternNode::Each { rest, body } => {
                    let slot = slots.of(rest);
                    Some(Part::Each(slot, template(pattern, *body, slots, functions)?))
                }
                PatternNode::Spread { function, rest } => {
                    let function = match function.as_str() {
                        "open" => Spread::Open,
                        "reciprocals" => Spread::Reciprocals,
                        "inverse" => Spread::Inverse,
                        _ => return None,
                    };
                    Some(Part::Spread(function, slots.of(rest)))
                }
                _ => template(pattern, child, slots, functions).map(Part::One),
            });
            Template::Apply(operator, parts.collect::<Option<Vec<Part>>>()?)
        }
        PatternNode::Rest(_) | PatternNode::Filtered { .. } | PatternNode::Each { .. } | PatternNode::Spread { .. } => {
            return None;
        }
    })
}

/// Adds a template with its variables bound, and returns its e-class. Numbers get the kind of the matched value. `None` if the template is undefined for these bindings.
pub(super) fn instantiate(
    graph: &mut Graph,
    uses: &FxHashMap<Id, usize>,
    template: &Template,
    bindings: &Bindings,
    kind: Kind,
) -> Option<Id> {
    let mut maker = Maker { graph, uses, bindings, kind, elements: Vec::new(), outer: Vec::new() };
    let value = maker.make(template)?;
    Some(maker.class(value))
}

struct Maker<'a> {
    graph: &'a mut Graph,
    uses: &'a FxHashMap<Id, usize>,
    bindings: &'a Bindings,
    kind: Kind,
    /// What `each` goes through at the moment.
    elements: Vec<(Slot, Operand)>,
    /// The inames of the reductions around.
    outer: Vec<Rc<Bound>>,
}

impl Maker<'_> {
    /// An operand that is the template's value. Recursion is as deep as the pattern.
    fn make(&mut self, template: &Template) -> Option<Operand> {
        match template {
            Template::Variable(slot) => {
                if let Some((_, element)) = self.elements.iter().rev().find(|(known, _)| known == slot) {
                    return Some(element.clone());
                }
                match &self.bindings[*slot] {
                    Value::One(class) => Some(Operand::plain(*class)),
                    _ => None,
                }
            }
            Template::Number(value) => Some(Operand::plain(fact::number(self.graph, value.clone(), self.kind))),
            Template::Size(slots) => {
                let n = fact::size(self.graph, slots, self.bindings)?;
                Some(Operand::plain(fact::number(self.graph, Rational::from_int(n), self.kind)))
            }
            Template::Reduce(op, slots, body) => self.reduce(*op, slots, body),
            Template::Apply(operator, parts) => {
                let mut operands = Vec::with_capacity(parts.len());
                for part in parts {
                    self.part(*operator, part, &mut operands)?;
                }
                self.apply(*operator, operands).map(Operand::plain)
            }
        }
    }

    fn part(&mut self, operator: Operator, part: &Part, operands: &mut Vec<Operand>) -> Option<()> {
        let rest = |slot: Slot, bindings: &Bindings| match &bindings[slot] {
            Value::Rest(operands) => Some(Rc::clone(operands)),
            _ => None,
        };
        match part {
            Part::One(template) => operands.push(self.make(template)?),
            Part::Rest(slot) => operands.extend(rest(*slot, self.bindings)?.iter().cloned()),
            Part::Each(slot, template) => {
                for element in rest(*slot, self.bindings)?.iter() {
                    self.elements.push((*slot, element.clone()));
                    let made = self.make(template);
                    self.elements.pop();
                    operands.push(made?);
                }
            }
            Part::Spread(Spread::Open, slot) => self.open(operator, &rest(*slot, self.bindings)?, operands),
            Part::Spread(Spread::Inverse, slot) => {
                let all = rest(*slot, self.bindings)?;
                operands.extend(all.iter().flat_map(|operand| self.divisors(operand)));
            }
            Part::Spread(Spread::Reciprocals, slot) => {
                let all = rest(*slot, self.bindings)?;
                let divisors: Vec<Operand> = all.iter().flat_map(|operand| self.divisors(operand)).collect();
                for divisor in divisors {
                    let reciprocal = build::product(self.graph, [(-1, divisor.class)]);
                    operands.push(Operand { class: reciprocal, ..divisor });
                }
            }
        }
        Some(())
    }

    /// The operands of sums in a sum, or products in a product, that nothing else uses, to any depth, and of reciprocals in a product among `all`. A value may be among its own
    /// operands' operands (`b == a + (b - a)`): each is taken apart once, and is an operand like any other where it comes again.
    fn open(&self, operator: Operator, all: &[Operand], operands: &mut Vec<Operand>) {
        let mut taken: FxHashSet<Id> = FxHashSet::default();
        let mut pending: Vec<Operand> = all.iter().rev().cloned().collect();
        let mut n_outer = pending.len();
        while let Some(operand) = pending.pop() {
            let is_outer = pending.len() < n_outer;
            n_outer = n_outer.min(pending.len());
            let class = self.graph.find(operand.class);
            let is_plain = operand.coefficient.is_unit() && operand.exponent.abs() == 1;
            let may_open = is_plain && !taken.contains(&class);
            let n_uses = self.uses.get(&class).copied();
            let inside = may_open.then(|| opened(self.graph, n_uses, operator, class)).flatten();
            let Some(inside) = inside.filter(|node| is_outer || !is_reciprocal(node)) else {
                operands.push(operand);
                continue;
            };
            taken.insert(class);
            let n_before = pending.len();
            match inside {
                Node::Sum { coefficients, children } => {
                    pending.extend(coefficients.iter().zip(children.iter()).map(|(coefficient, &class)| Operand {
                        coefficient: match operand.coefficient.is_one() {
                            true => coefficient.clone(),
                            false => coefficient.times(&operand.coefficient),
                        },
                        exponent: operand.exponent,
                        class,
                    }));
                }
                _ => pending.extend(inside.factors().into_iter().flatten().map(|(exponent, class)| Operand {
                    coefficient: operand.coefficient.clone(),
                    exponent: exponent * operand.exponent,
                    class,
                })),
            }
            pending[n_before..].reverse();
        }
    }

    /// A divisor as a factor, a product taken apart.
    fn divisors(&self, operand: &Operand) -> Vec<Operand> {
        let (exponent, class) = (operand.exponent.saturating_neg(), operand.class);
        let inner = self.graph[class].nodes.iter().find_map(Node::factors);
        match inner {
            Some(inner) if inner.clone().all(|(inner, _)| inner > 0) => inner
                .map(|(inner, class)| Operand { exponent: exponent.saturating_mul(inner), ..Operand::plain(class) })
                .collect(),
            _ => vec![Operand { exponent, ..Operand::plain(class) }],
        }
    }

    /// An operand as a class of its own.
    fn class(&mut self, operand: Operand) -> Id {
        let class = match operand.exponent {
            1 => operand.class,
            exponent => build::product(self.graph, [(exponent, operand.class)]),
        };
        if operand.coefficient.is_one() { class } else { build::scale(self.graph, operand.coefficient, class) }
    }

    fn reduce(&mut self, op: ReduceOp, slots: &[Slot], body: &Template) -> Option<Operand> {
        let bounds = slots.iter().map(|&slot| match &self.bindings[slot] {
            Value::Inames(bound) => Some(Rc::clone(bound)),
            _ => None,
        });
        let bounds: Vec<Rc<Bound>> = bounds.collect::<Option<Vec<_>>>()?;
        let n_outer = self.outer.len();
        let parts: Vec<Rc<Bound>> = bounds.into_iter().filter(|bound| !bound.inames.is_empty()).collect();
        self.outer.extend(parts.iter().cloned());
        let body = self.make(body);
        self.outer.truncate(n_outer);
        let body = body?;
        if parts.is_empty() {
            return Some(body);
        }
        let (mut coefficient, mut class) = (Rational::ONE, body.class);
        if op == ReduceOp::Sum && body.exponent == 1 && !self.graph.analysis.context.is_strict() {
            coefficient = body.coefficient;
            if self.graph[class].data.constant.as_ref().is_some_and(Rational::is_zero) {
                return Some(Operand::plain(class));
            }
        } else {
            class = self.class(body);
        }
        let parts: Vec<&Bound> = parts.iter().map(Rc::as_ref).collect();
        let outer: Vec<&Bound> = self.outer.iter().map(Rc::as_ref).collect();
        let reduction = bound::reduction(self.graph, op, &parts, &outer)?;
        let class = self.graph.add(Node::Reduce(reduction, [class]));
        Some(Operand { coefficient, exponent: 1, class })
    }

    fn apply(&mut self, operator: Operator, operands: Vec<Operand>) -> Option<Id> {
        let is_strict = self.graph.analysis.context.is_strict();
        if operator == Operator::Sum && operands.is_empty() {
            return Some(build::number(self.graph, Rational::ZERO, self.kind));
        }
        if !is_strict && operator == Operator::Sum && operands.iter().all(|operand| operand.exponent == 1) {
            return Some(build::sum(self.graph, operands.into_iter().map(|o| (o.coefficient, o.class))));
        }
        if !is_strict && operator == Operator::Product {
            let mut factors = Vec::with_capacity(operands.len());
            for operand in operands {
                let class = match operand.coefficient.is_one() {
                    true => operand.class,
                    false if operand.exponent == 1 => build::scale(self.graph, operand.coefficient, operand.class),
                    false => return None,
                };
                factors.push((operand.exponent, class));
            }
            return Some(build::product(self.graph, factors));
        }
        let mut classes: Vec<Id> = Vec::with_capacity(operands.len());
        for operand in operands {
            classes.push(self.class(operand));
        }
        let graph = &mut *self.graph;
        let is_float = classes.iter().any(|&class| graph[class].data.dtype.is_float());
        if is_strict
            && (is_float || operator == Operator::Quotient)
            && let Some(op) = operator.op().filter(|&op| build::is_rounded(op))
        {
            return (!classes.is_empty()).then(|| build::rounded(graph, op, &classes));
        }
        Some(match (operator, classes.as_slice()) {
            (Operator::Sum, _) => build::sum(graph, classes.iter().map(|&class| (Rational::ONE, class))),
            (Operator::Product, _) => build::product(graph, classes.iter().map(|&class| (1, class))),
            (Operator::Negation, &[a]) => build::scale(graph, Rational::MINUS_ONE, a),
            (Operator::Difference, &[a, b]) => build::sum(graph, [(Rational::ONE, a), (Rational::MINUS_ONE, b)]),
            (Operator::Quotient, &[a, b]) => build::product(graph, [(1, a), (-1, b)]),
            (Operator::Power, &[a, b]) => {
                let exponent = graph[b].data.constant.as_ref().and_then(Rational::to_int);
                match exponent.and_then(|exponent| i32::try_from(exponent).ok()) {
                    Some(exponent) => build::product(graph, [(exponent, a)]),
                    None => graph.add(Node::Op(Op::Pow, classes.into())),
                }
            }
            // Extrema of one value are it; of none they have no value here.
            (Operator::Other(Op::Min | Op::Max), &[single]) => single,
            (Operator::Other(Op::Min | Op::Max), &[]) => return None,
            (Operator::Other(op), _) if op.arity().allows(classes.len()) => graph.add(Node::Op(op, classes.into())),
            (Operator::Call(function), _) => graph.add(Node::Call(function, classes.into())),
            _ => return None,
        })
    }
}

//! Conditions: what the e-graph knows of the values of variables.
//!
//! Tests read the [analysis](crate::analysis) and the [tables](crate::table) of the kernel; only `uses`, `opens` and tables look at the forms
//! of a value. What is not known does not hold.

use egg::Id;
use nestegg_ir::InameSet;
use nestegg_ir::types::Type;
use nestegg_rules::{Argument, Condition, ConditionId, ConditionNode, InameVariable, Test};

use super::query::Matcher;
use super::{Bindings, Operand, Operator, Slot, Slots, Value};
use crate::analysis::{Data, Graph, Range};
use crate::language::{Kind, Node};
use crate::rational::Rational;
use crate::{build, table};

/// A test with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ask {
    pub(super) fact: Fact,
    arguments: Vec<Arg>,
}

/// What a test tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    Constant,
    Nonzero,
    Nonnegative,
    Float,
    Integer,
    OfType,
    Invariant,
    FreeOf,
    Within,
    FewerInames,
    SameInames,
    HasFactorFreeOf,
    Some,
    Several,
    Sized,
    UsedOnce,
    Opens,
    Divisor,
    Zero,
    Table,
    Total,
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    /// A name of the vocabulary that has no meaning here.
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
enum Arg {
    /// The child that is asked about.
    Child,
    Slot(Slot),
    Number(Rational),
    Word(String),
    Size(Vec<Slot>),
}

impl Ask {
    fn new(test: &Test, slots: &mut Slots, child: Option<Arg>) -> Self {
        let slots_of = |inames: &[InameVariable], slots: &mut Slots| {
            inames.iter().map(|iname| slots.of(iname.name())).collect::<Vec<Slot>>()
        };
        let own = test.arguments.iter().map(|argument| match argument {
            Argument::Variable(name) | Argument::Rest(name) => Arg::Slot(slots.of(name)),
            Argument::Number(value) => Arg::Number(Rational::from(value.clone())),
            Argument::Word(word) => Arg::Word(word.to_string()),
            Argument::Size(inames) => Arg::Size(slots_of(inames, slots)),
        });
        let mut arguments: Vec<Arg> = own.collect();
        if let Some(child) = child {
            arguments.insert(0, child);
        }
        let fact = match test.name.as_str() {
            "constant" => Fact::Constant,
            "nonzero" => Fact::Nonzero,
            "nonnegative" => Fact::Nonnegative,
            "float" => Fact::Float,
            "integer" => Fact::Integer,
            "type" => Fact::OfType,
            "invariant" => Fact::Invariant,
            "free-of" => Fact::FreeOf,
            "within" => Fact::Within,
            "fewer-inames" => Fact::FewerInames,
            "same-inames" => Fact::SameInames,
            "has-factor-free-of" => Fact::HasFactorFreeOf,
            "some" => Fact::Some,
            "several" => Fact::Several,
            "sized" => Fact::Sized,
            "used-once" => Fact::UsedOnce,
            "opens" => Fact::Opens,
            "divisor" => Fact::Divisor,
            "zero" => Fact::Zero,
            "table" => Fact::Table,
            "total" => Fact::Total,
            "<" | ">" => Fact::Less,
            "<=" | ">=" => Fact::LessOrEqual,
            "==" => Fact::Equal,
            "!=" => Fact::NotEqual,
            _ => Fact::Unknown,
        };
        if matches!(test.name.as_str(), ">" | ">=") {
            arguments.reverse();
        }
        Self { fact, arguments }
    }

    /// The inames that a child must not depend on.
    pub(super) fn others(&self, graph: &Graph, bindings: &Bindings) -> InameSet {
        match (self.fact, self.arguments.as_slice()) {
            (Fact::FreeOf, [_, others @ ..]) => {
                let inames = others.iter().map(|other| inames(graph, Some(other), None, bindings));
                inames.fold(InameSet::new(), |all, own| all.union(&own))
            }
            _ => InameSet::new(),
        }
    }

    /// A test that is asked about each child.
    pub(super) fn of_each(test: &Test, slots: &mut Slots) -> Self {
        Self::new(test, slots, Some(Arg::Child))
    }
}

/// A condition with its tests, in the order in which they are written.
#[derive(Clone, Debug)]
pub(super) struct When<'a> {
    condition: &'a Condition,
    asks: Vec<Ask>,
}

impl When<'_> {
    /// The rest variables without whose children the condition cannot hold.
    pub(super) fn required(&self) -> Vec<Slot> {
        let of_rest = |ask: &Ask| match (ask.fact, ask.arguments.as_slice()) {
            (Fact::Some, [Arg::Slot(slot)]) => Some(*slot),
            _ => None,
        };
        self.needed().filter_map(of_rest).collect()
    }

    /// Whether the condition holds only where something is zero everywhere.
    pub(super) fn needs_zeros(&self) -> bool {
        self.needed().any(|ask| ask.fact == Fact::Zero)
    }

    /// The tests without which the condition cannot hold.
    fn needed(&self) -> impl Iterator<Item = &Ask> {
        let root = self.condition.root();
        let is_needed = move |id: ConditionId| match self.condition.node(root) {
            ConditionNode::And(parts) => parts.contains(&id),
            _ => id == root,
        };
        let tests = self.condition.nodes().filter(|(_, node)| matches!(node, ConditionNode::Test(_)));
        tests.zip(&self.asks).filter(move |((id, _), _)| is_needed(*id)).map(|(_, ask)| ask)
    }
}

pub(super) fn compile<'a>(condition: &'a Condition, slots: &mut Slots) -> When<'a> {
    let asks = condition.tests().map(|test| Ask::new(test, slots, None)).collect();
    When { condition, asks }
}

impl Matcher<'_> {
    /// Whether a condition holds for what the variables stand for.
    pub(super) fn fulfils(&mut self, when: &When<'_>, bindings: &Bindings) -> bool {
        let mut asks = when.asks.iter();
        when.condition.holds(|_| asks.next().is_some_and(|ask| self.holds(ask, None, bindings)))
    }

    /// The tests of a condition as they are written, and whether each holds for what the variables stand for.
    pub(super) fn verdicts(&mut self, when: &When<'_>, bindings: &Bindings) -> Vec<(String, bool)> {
        let asked = when.condition.tests().zip(&when.asks);
        asked.map(|(test, ask)| (test.to_string(), self.holds(ask, None, bindings))).collect()
    }

    /// Whether a child of an operator passes a test, where its e-class alone tells. A child is a class with an exponent and a
    /// coefficient, of which it matters whether that is 1 or -1; `others` are [those](Ask::others) that the test speaks of.
    pub(super) fn quickly(
        &self,
        ask: &Ask,
        operator: Operator,
        is_unit: bool,
        exponent: i32,
        class: Id,
        others: &InameSet,
    ) -> Option<bool> {
        let data = &self.graph[class].data;
        match ask.fact {
            Fact::Divisor => Some(operator == Operator::Product && exponent < 0),
            Fact::Opens => {
                let is_plain = is_unit && exponent.abs() == 1;
                let opened = opened(self.graph, self.uses.get(&class).copied(), operator, class);
                // A reciprocal that leaves loops of the product stays one: quotients take longer than products.
                let stays = |node: &Node| !is_reciprocal(node) || others.is_subset(&data.inames);
                Some(is_plain && opened.is_some_and(stays))
            }
            Fact::FreeOf => Some(data.inames.is_disjoint(others)),
            Fact::Zero if exponent > 0 && ask.arguments.len() == 1 => Some(data.is_zero()),
            _ => None,
        }
    }

    /// Whether an operand passes a test.
    pub(super) fn passes(
        &mut self,
        ask: &Ask,
        operator: Operator,
        operand: &Operand,
        others: &InameSet,
        bindings: &Bindings,
    ) -> bool {
        let is_unit = operand.coefficient.is_unit();
        if let Some(passes) = self.quickly(ask, operator, is_unit, operand.exponent, operand.class, others) {
            return passes;
        }
        // The iname sets of an operand and of its value are the same, and so is where they are zero.
        let needs_value = !matches!(
            ask.fact,
            Fact::FreeOf
                | Fact::Within
                | Fact::FewerInames
                | Fact::SameInames
                | Fact::HasFactorFreeOf
                | Fact::Invariant
        );
        let class = if needs_value { self.value_of(operator, operand) } else { operand.class };
        self.holds(ask, Some(class), bindings)
    }

    fn holds(&mut self, ask: &Ask, child: Option<Id>, bindings: &Bindings) -> bool {
        let arguments = ask.arguments.as_slice();
        // Terms count with their coefficients, factors with their exponents.
        let is_of_values = matches!(
            ask.fact,
            Fact::Constant
                | Fact::Nonzero
                | Fact::Nonnegative
                | Fact::Float
                | Fact::Integer
                | Fact::OfType
                | Fact::Table
        );
        let mut lists: Vec<Vec<Id>> = Vec::with_capacity(arguments.len());
        for argument in arguments {
            lists.push(match argument {
                Arg::Slot(slot) if is_of_values => self.values(&bindings[*slot]),
                Arg::Slot(slot) if ask.fact == Fact::Zero => multiplied(&bindings[*slot]),
                _ => classes(Some(argument), child, bindings),
            });
        }
        let graph = &*self.graph;
        let classes = |idx: usize| lists.get(idx).cloned().unwrap_or_default();
        let all =
            |test: &dyn Fn(&Data) -> bool| (0..arguments.len()).flat_map(classes).all(|class| test(&graph[class].data));
        let inames = |idx: usize| inames(graph, arguments.get(idx), child, bindings);
        let others = || (1..arguments.len()).fold(InameSet::new(), |all, idx| all.union(&inames(idx)));
        match ask.fact {
            Fact::Constant => all(&|data| data.constant.is_some()),
            Fact::Nonzero => all(&|data| data.nonzero),
            Fact::Nonnegative => all(&|data| data.range.is_nonnegative()),
            Fact::Float => all(&|data| data.dtype.is_float()),
            Fact::Integer => all(&|data| data.dtype.is_integer()),
            Fact::OfType => match arguments.get(1) {
                Some(Arg::Word(word)) => all(&|data| data.dtype == named(word)),
                _ => false,
            },
            Fact::Invariant => all(&|data| data.inames.is_empty()),
            Fact::FreeOf => {
                let others = others();
                match (arguments.first(), child) {
                    (Some(Arg::Child), Some(class)) => graph[class].data.inames.is_disjoint(&others),
                    _ => inames(0).is_disjoint(&others),
                }
            }
            Fact::Within => inames(0).is_subset(&others()),
            Fact::FewerInames => inames(0).is_subset(&inames(1)) && inames(0).len() < inames(1).len(),
            Fact::SameInames => inames(0) == inames(1),
            Fact::HasFactorFreeOf => {
                let others = others();
                classes(0).iter().all(|&class| has_factor_free_of(graph, class, &others))
            }
            Fact::Some => count(arguments.first(), bindings) >= 1,
            Fact::Several => count(arguments.first(), bindings) >= 2,
            Fact::Sized => match arguments.first() {
                Some(Arg::Slot(slot)) => size(graph, &[*slot], bindings).is_some(),
                _ => false,
            },
            Fact::UsedOnce => (0..arguments.len())
                .flat_map(classes)
                .all(|class| self.uses.get(&graph.find(class)).copied() == Some(1)),
            Fact::Opens | Fact::Divisor | Fact::Unknown => false,
            Fact::Zero => {
                let all: Vec<Id> = (0..arguments.len()).flat_map(classes).collect();
                let regions = all.iter().map(|&class| graph[class].data.region.clone());
                all.iter().any(|&class| graph[class].data.constant.as_ref().is_some_and(Rational::is_zero))
                    || regions.reduce(|a, b| a.intersection(&b)).is_some_and(|region| region.is_empty())
            }
            Fact::Table => (0..arguments.len()).flat_map(classes).all(|class| table::element(graph, class).is_some()),
            Fact::Total => match (classes(0).as_slice(), arguments.get(2)) {
                ([class], Some(Arg::Number(total))) => table::total(graph, *class, &inames(1)).as_ref() == Some(total),
                _ => false,
            },
            Fact::Less | Fact::LessOrEqual | Fact::Equal | Fact::NotEqual => {
                let range = |idx: usize| self.range(arguments.get(idx), child, bindings);
                let (Some(a), Some(b)) = (range(0), range(1)) else { return false };
                let is_same = || {
                    let (a, b) = (classes(0), classes(1));
                    a.len() == 1 && b.len() == 1 && graph.find(a[0]) == graph.find(b[0])
                };
                let below = |a: &Range, b: &Range, or_equal: bool| match (&a.upper, &b.lower) {
                    (Some(a), Some(b)) => a < b || (or_equal && a == b),
                    _ => false,
                };
                let is_point = |range: &Range| range.lower.is_some() && range.lower == range.upper;
                match ask.fact {
                    Fact::Less => below(&a, &b, false),
                    Fact::LessOrEqual => below(&a, &b, true) || is_same(),
                    Fact::Equal => (is_point(&a) && a == b) || is_same(),
                    _ => {
                        let is_zero =
                            |range: &Range| range.lower.as_ref().is_some_and(Rational::is_zero) && is_point(range);
                        let nonzero = |idx: usize| classes(idx).iter().all(|&class| graph[class].data.nonzero);
                        below(&a, &b, false)
                            || below(&b, &a, false)
                            || (is_zero(&b) && !classes(0).is_empty() && nonzero(0))
                            || (is_zero(&a) && !classes(1).is_empty() && nonzero(1))
                    }
                }
            }
        }
    }

    /// The values that a variable stands for, as classes.
    fn values(&mut self, value: &Value) -> Vec<Id> {
        match value {
            Value::Rest(operands) => operands
                .iter()
                .map(|operand| {
                    let class = match operand.exponent {
                        1 => operand.class,
                        exponent => build::product(self.graph, [(exponent, operand.class)]),
                    };
                    build::scale(self.graph, operand.coefficient.clone(), class)
                })
                .collect(),
            Value::One(class) => vec![*class],
            Value::Nothing | Value::Inames(_) => Vec::new(),
        }
    }

    /// Between which numbers a term of a comparison lies.
    fn range(&self, argument: Option<&Arg>, child: Option<Id>, bindings: &Bindings) -> Option<Range> {
        let point = |value: Rational| Range { lower: Some(value.clone()), upper: Some(value) };
        match argument? {
            Arg::Number(value) => Some(point(value.clone())),
            Arg::Size(slots) => size(self.graph, slots, bindings).map(|n| point(Rational::from_int(n))),
            Arg::Word(_) => None,
            argument => match classes(Some(argument), child, bindings).as_slice() {
                [class] => {
                    let data = &self.graph[*class].data;
                    Some(data.constant.clone().map_or_else(|| data.range.clone(), point))
                }
                _ => None,
            },
        }
    }
}

/// The number of points of inames, if it is one.
pub(super) fn size(graph: &Graph, slots: &[Slot], bindings: &Bindings) -> Option<i64> {
    slots.iter().try_fold(1_i64, |n, &slot| match &bindings[slot] {
        Value::Inames(bound) => n.checked_mul(bound.size(&graph.analysis.context)?),
        _ => None,
    })
}

fn classes(argument: Option<&Arg>, child: Option<Id>, bindings: &Bindings) -> Vec<Id> {
    match argument {
        Some(Arg::Child) => child.into_iter().collect(),
        Some(Arg::Slot(slot)) => match &bindings[*slot] {
            Value::One(class) => vec![*class],
            Value::Rest(operands) => operands.iter().map(|operand| operand.class).collect(),
            Value::Nothing | Value::Inames(_) => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn inames(graph: &Graph, argument: Option<&Arg>, child: Option<Id>, bindings: &Bindings) -> InameSet {
    if let Some(Arg::Slot(slot)) = argument
        && let Value::Inames(bound) = &bindings[*slot]
    {
        return bound.inames.clone();
    }
    let classes = classes(argument, child, bindings);
    classes.iter().fold(InameSet::new(), |all, &class| all.union(&graph[class].data.inames))
}

/// The classes that are zero where the values of a variable are: coefficients are not zero, and divisors are left out.
fn multiplied(value: &Value) -> Vec<Id> {
    match value {
        Value::One(class) => vec![*class],
        Value::Rest(operands) => operands.iter().filter(|o| o.exponent > 0).map(|o| o.class).collect(),
        Value::Nothing | Value::Inames(_) => Vec::new(),
    }
}

/// How many values or inames a variable stands for.
fn count(argument: Option<&Arg>, bindings: &Bindings) -> usize {
    match argument {
        Some(Arg::Slot(slot)) => match &bindings[*slot] {
            Value::Nothing => 0,
            Value::One(_) => 1,
            Value::Rest(operands) => operands.len(),
            Value::Inames(bound) => bound.inames.len(),
        },
        _ => 0,
    }
}

fn named(word: &str) -> Type {
    match word {
        "bool" => Type::Bool,
        "int32" => Type::Int32,
        "int64" => Type::Int64,
        "float32" => Type::Float32,
        _ => Type::Float64,
    }
}

/// Whether a value, or a factor of one of its forms as a product or multiple, depends on none of the inames.
fn has_factor_free_of(graph: &Graph, class: Id, inames: &InameSet) -> bool {
    let is_free = |id: Id| graph[id].data.inames.is_disjoint(inames);
    is_free(class)
        || graph[class].nodes.iter().any(|node| match node {
            Node::Product { children, .. } => {
                children.iter().any(|&child| is_free(child)) && !graph.analysis.grouped.contains(node)
            }
            Node::Sum { coefficients, children } => children.len() == 1 && coefficients[0].to_exact_f64().is_some(),
            _ => false,
        })
}

/// The form of a value as a sum or product of several, as its user is, that nothing else uses, or as a reciprocal in a product, whoever uses it.
pub(super) fn opened(graph: &Graph, n_uses: Option<usize>, operator: Operator, class: Id) -> Option<&Node> {
    graph[class].nodes.iter().find(|node| match (operator, node) {
        (Operator::Sum, Node::Sum { children, .. }) => n_uses == Some(1) && children.len() > 1,
        (Operator::Product, Node::Product { children, .. }) => {
            is_reciprocal(node) || (n_uses == Some(1) && children.len() > 1)
        }
        _ => false,
    })
}

/// `1/x**n`.
pub(super) fn is_reciprocal(node: &Node) -> bool {
    matches!(node, Node::Product { exponents, .. } if matches!(**exponents, [exponent] if exponent < 0))
}

/// The class of a number of a kind.
pub(super) fn number(graph: &mut Graph, value: Rational, kind: Kind) -> Id {
    build::number(graph, value, kind)
}

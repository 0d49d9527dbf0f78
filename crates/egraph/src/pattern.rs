//! Pattern rules on n-ary e-nodes: matching modulo associativity of what is flat, and commutativity.
//!
//! # Method
//! The sides of a rule are compiled: the left one to a [query](query), the right one to a [template](template), variables to slots. A
//! [root index](index) gives the e-classes that have an e-node with the left side's operator; only these are searched. What the
//! variables stand for then answers to the [condition](fact), and the template gives the equal form.
//! Forms of sums and products that only group the operands of another form are not searched for rest variables.
//! # Complexity
//! n!/(n−k)! orders of k plain operands per e-node at worst; [`MATCHES_LIMIT`] per e-node, [`CLASS_LIMIT`] per e-class and rule, reported
//! where they are hit. Tests of children cost one test each and never branch.
//! # Source
//! `DESIGN.md`, "Rules": egg's own patterns have no variables for the rest of the children, and none for bound inames.

mod bound;
mod fact;
mod index;
pub mod near;
mod query;
mod template;

use std::collections::BTreeSet;
use std::rc::Rc;

use egg::Id;
use nestegg_ir::{FunctionId, Kernel, Op, ReduceOp};
use nestegg_rules::{Condition, Name, Pattern, PatternNode, Rule, RuleKind};
use rustc_hash::FxHashMap;

use crate::analysis::Graph;
use crate::apply::Pass;
use crate::judge::Meaning;
use crate::language::{Kind, Node};
use crate::proof::Matched;
use crate::rational::Rational;
use bound::Bound;
pub use index::RootIndex;
use query::{Matcher, Query};
use template::Template;

/// How many matches of one rule one e-node may have; more are left out and reported.
pub const MATCHES_LIMIT: usize = 400;
/// How many one e-class may have.
pub const CLASS_LIMIT: usize = 20_000;

/// A position among the values of a rule's variables.
type Slot = usize;

/// What a variable stands for.
#[derive(Clone, Debug, Default)]
pub(crate) enum Value {
    #[default]
    Nothing,
    One(Id),
    Rest(Rc<[Operand]>),
    Inames(Rc<Bound>),
}

/// What the variables of a rule stand for, by slot.
pub(crate) type Bindings = Vec<Value>;

/// An operand with its coefficient (of a sum) or exponent (of a product); both 1 in other operators.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operand {
    coefficient: Rational,
    exponent: i32,
    class: Id,
}

impl Operand {
    fn plain(class: Id) -> Self {
        Self { coefficient: Rational::ONE, exponent: 1, class }
    }
}

/// An operator as e-nodes have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Sum,
    Negation,
    Difference,
    Product,
    Quotient,
    Power,
    Other(Op),
    Call(FunctionId),
}

impl Operator {
    /// `None` for a function that the kernel has no name for.
    fn new(name: &str, n_children: usize, functions: &Functions) -> Option<Self> {
        Some(match (name, n_children) {
            ("+", _) => Self::Sum,
            ("*", _) => Self::Product,
            ("-", 1) => Self::Negation,
            ("-", _) => Self::Difference,
            ("/", _) => Self::Quotient,
            ("**", _) => Self::Power,
            _ => match Op::from_spelling(name, n_children).or_else(|| Op::from_spelling(name, 2)) {
                Some(op) => Self::Other(op),
                None => Self::Call(*functions.get(name)?),
            },
        })
    }

    /// The operation of floats that are rounded as they are.
    fn op(self) -> Option<Op> {
        match self {
            Self::Sum => Some(Op::Add),
            Self::Negation => Some(Op::Neg),
            Self::Difference => Some(Op::Sub),
            Self::Product => Some(Op::Mul),
            Self::Quotient => Some(Op::Div),
            Self::Power => Some(Op::Pow),
            Self::Other(op) => Some(op),
            Self::Call(_) => None,
        }
    }

    fn is_unordered(self) -> bool {
        matches!(self, Self::Sum | Self::Product | Self::Other(Op::Min | Op::Max))
    }
}

/// The functions that an e-graph of a kernel may have, by name, for patterns with calls.
pub type Functions = FxHashMap<String, FunctionId>;

/// The slots of a rule's variables.
#[derive(Debug, Default)]
struct Slots(Vec<Name>);

impl Slots {
    fn of(&mut self, name: &Name) -> Slot {
        self.0.iter().position(|known| known == name).unwrap_or_else(|| {
            self.0.push(name.clone());
            self.0.len() - 1
        })
    }

    /// The variables as they are written, in their order, with what they stand for.
    fn meanings(&self, bindings: &Bindings) -> Vec<(String, Meaning)> {
        let meaning = |(name, value): (&Name, &Value)| match value {
            Value::Nothing => None,
            Value::One(class) => Some((format!("?{name}"), Meaning::Values(vec![*class]))),
            Value::Rest(operands) => {
                let classes = operands.iter().map(|operand| operand.class).collect();
                Some((format!("?{name}..."), Meaning::Values(classes)))
            }
            Value::Inames(bound) => Some((format!("?{name}"), Meaning::Inames(bound.inames.clone()))),
        };
        let mut all: Vec<(String, Meaning)> = self.0.iter().zip(bindings).filter_map(meaning).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}

/// A pattern rule, in one direction.
#[derive(Clone, Copy, Debug)]
pub struct PatternRule<'a> {
    /// What is looked for.
    pub lhs: &'a Pattern,
    /// What it equals.
    pub rhs: &'a Pattern,
    /// Where that holds.
    pub when: Option<&'a Condition>,
    /// The kernel's functions.
    pub functions: &'a Functions,
    /// Whether it is read as it is written.
    pub is_forward: bool,
}

impl PatternRule<'_> {
    /// The rule ready for use; `None` if a side calls a function that the kernel has no name for.
    fn compile(&self) -> Option<Compiled<'_>> {
        let mut slots = Slots::default();
        let mut query = query::compile(self.lhs, &mut slots, self.functions)?;
        let template = template::compile(self.rhs, &mut slots, self.functions)?;
        let when = self.when.map(|when| fact::compile(when, &mut slots));
        query.require(&when.as_ref().map(fact::When::required).unwrap_or_default());
        let needs_zeros = query.needs_zeros() || when.as_ref().is_some_and(fact::When::needs_zeros);
        Some(Compiled { slots, query, template, when, needs_zeros, is_forward: self.is_forward })
    }
}

/// Applies a rule to every e-class that the index has for its left side. Several rules take turns: all come to one e-class before the
/// next, and to an e-class that several have become during the pass at the place of each, as its operands may have new forms by then.
/// `note` hears after each rule which one it was, and takes what it did from the pass.
pub fn apply(
    rules: &[PatternRule<'_>],
    pass: &mut Pass<'_>,
    index: &RootIndex,
    mut note: impl FnMut(usize, &mut Pass<'_>),
) {
    let compiled: Vec<(usize, Compiled<'_>)> =
        rules.iter().enumerate().filter_map(|(idx, rule)| Some((idx, rule.compile()?))).collect();
    let Some((_, first)) = compiled.first() else { return };
    let classes: Vec<Id> =
        if compiled.len() > 1 { pass.classes.to_vec() } else { index.classes(&first.query).collect() };
    for class in classes {
        for (idx, rule) in &compiled {
            pass.turn = *idx;
            rule.apply(pass, class);
            note(*idx, pass);
        }
    }
}

/// Whether two rules, one next to the other, take turns at each e-class: both look at the same reductions of the same operations, such
/// as sums of products. What one of them makes of a reduction the other then sees in the same pass, where a reduction over many inames
/// would take a pass for each.
#[must_use]
pub fn take_turns(one: &Rule, other: &Rule) -> bool {
    let loops = |rule: &Rule| match &rule.kind {
        RuleKind::Pattern { lhs, is_two_way: false, .. } => match lhs.node(lhs.root()) {
            PatternNode::Reduce { operator, body, .. } => match lhs.node(*body) {
                PatternNode::Apply { operator: inner, .. } => Some((operator.to_string(), inner.to_string())),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    loops(one).is_some_and(|loops_of_one| loops(other) == Some(loops_of_one))
}

/// A rule whose sides and condition are compiled.
struct Compiled<'a> {
    slots: Slots,
    query: Query,
    template: Template,
    when: Option<fact::When<'a>>,
    /// Whether it applies only where some value is zero everywhere: then there must be one.
    needs_zeros: bool,
    is_forward: bool,
}

impl Compiled<'_> {
    fn apply(&self, pass: &mut Pass<'_>, class: Id) {
        if pass.is_full() || (self.needs_zeros && !pass.graph.analysis.has_zeros) {
            return;
        }
        let mut matcher = Matcher::new(pass.graph, pass.uses);
        let found = matcher.search(&self.query, class, self.slots.0.len());
        if matcher.hit_limit {
            pass.limits_hit.insert("matches".into());
        }
        for bindings in found {
            if pass.is_full() {
                return;
            }
            let mut matcher = Matcher::new(pass.graph, pass.uses);
            if !self.when.as_ref().is_none_or(|when| matcher.fulfils(when, &bindings)) {
                continue;
            }
            let kind = Kind::of(pass.graph[class].data.dtype);
            if let Some(form) = template::instantiate(pass.graph, pass.uses, &self.template, &bindings, kind) {
                let matched = || Some(Matched { is_forward: self.is_forward, bindings: bindings.clone() });
                pass.equate_where(class, form, || self.slots.meanings(&bindings), matched);
            }
        }
    }
}

/// Both sides of a rule with what its variables stood for, as terms of an e-graph. `None` if the rule does not run in that direction, or a side cannot
/// be made.
pub(crate) fn instance(
    graph: &mut Graph,
    rule: &PatternRule<'_>,
    (bindings, kind): (&Bindings, Kind),
) -> Option<(Id, Id)> {
    let mut slots = Slots::default();
    query::compile(rule.lhs, &mut slots, rule.functions)?;
    let lhs = template::compile(rule.lhs, &mut slots, rule.functions)?;
    let rhs = template::compile(rule.rhs, &mut slots, rule.functions)?;
    let uses = FxHashMap::default();
    let left = template::instantiate(graph, &uses, &lhs, bindings, kind)?;
    Some((left, template::instantiate(graph, &uses, &rhs, bindings, kind)?))
}

/// The left side alone.
pub(crate) fn left_side(graph: &mut Graph, rule: &PatternRule<'_>, (bindings, kind): (&Bindings, Kind)) -> Option<Id> {
    let mut slots = Slots::default();
    query::compile(rule.lhs, &mut slots, rule.functions)?;
    let lhs = template::compile(rule.lhs, &mut slots, rule.functions)?;
    template::instantiate(graph, &FxHashMap::default(), &lhs, bindings, kind)
}

/// What variables stand for, with other ids.
pub(crate) fn renamed(bindings: &Bindings, to: impl Fn(Id) -> Id) -> Bindings {
    let value = |value: &Value| match value {
        Value::One(id) => Value::One(to(*id)),
        Value::Rest(operands) => Value::Rest(
            operands.iter().map(|operand| Operand { class: to(operand.class), ..operand.clone() }).collect(),
        ),
        other => other.clone(),
    };
    bindings.iter().map(value).collect()
}

/// The functions that rules may call: those that the kernel calls, and those of math.h that right sides call. These are added to the
/// kernel, unless it means something else by that name.
pub fn functions(kernel: &mut Kernel, rules: &[&Rule]) -> Functions {
    for name in introduced(rules, &named(kernel)) {
        if !is_taken(kernel, &name) {
            kernel.function(&name);
        }
    }
    named(kernel)
}

fn named(kernel: &Kernel) -> Functions {
    kernel.functions.iter().enumerate().map(|(idx, name)| (name.clone(), FunctionId::new(idx))).collect()
}

/// Whether the kernel uses this name for anything but a function.
fn is_taken(kernel: &Kernel, name: &str) -> bool {
    kernel.name == name
        || kernel.arrays.iter().any(|array| array.name == name)
        || kernel.inames.iter().any(|iname| iname.name == name)
        || kernel.parameters.iter().any(|parameter| parameter.name == name)
        || kernel.substitutions.iter().any(|rule| rule.name == name)
}

/// The functions of right sides that a kernel has no name for, of rules whose left sides call only functions that the kernel has or
/// another rule brings along.
fn introduced(rules: &[&Rule], functions: &Functions) -> Vec<String> {
    let mut res: Vec<String> = Vec::new();
    loop {
        let n_known = res.len();
        for rule in rules {
            let RuleKind::Pattern { lhs, rhs, is_two_way, .. } = &rule.kind else { continue };
            let sides = if *is_two_way { vec![(lhs, rhs), (rhs, lhs)] } else { vec![(lhs, rhs)] };
            for (from, to) in sides {
                let is_known =
                    |name: &str, res: &[String]| functions.contains_key(name) || res.iter().any(|known| known == name);
                if calls(from).all(|name| is_known(name, &res)) {
                    let new =
                        calls(to).filter(|name| !is_known(name, &res)).map(str::to_owned).collect::<BTreeSet<_>>();
                    res.extend(new);
                }
            }
        }
        if res.len() == n_known {
            return res;
        }
    }
}

/// The functions that a pattern calls.
fn calls(pattern: &Pattern) -> impl Iterator<Item = &str> {
    pattern.nodes().filter_map(|(_, node)| match node {
        PatternNode::Apply { operator, children } => {
            let is_op = |n: usize| Op::from_spelling(operator, n).is_some();
            let is_operator = is_op(children.len()) || is_op(2) || matches!(operator.as_str(), "+" | "*" | "-");
            (!is_operator).then_some(operator.as_str())
        }
        _ => None,
    })
}

/// The reduction that a binder of patterns names.
fn reduce_op(name: &str) -> Option<ReduceOp> {
    ReduceOp::from_spelling(name)
}

fn terms(node: &Node) -> Vec<Operand> {
    let operand =
        |(coefficient, class): (&Rational, Id)| Operand { coefficient: coefficient.clone(), exponent: 1, class };
    node.terms().map(|terms| terms.map(operand).collect()).unwrap_or_default()
}

fn factors(node: &Node) -> Vec<Operand> {
    let operand = |(exponent, class)| Operand { coefficient: Rational::ONE, exponent, class };
    node.factors().map(|factors| factors.map(operand).collect()).unwrap_or_default()
}

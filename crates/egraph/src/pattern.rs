//! Pattern rules on n-ary e-nodes: matching modulo associativity of what is flat, and commutativity.
//!
//! # Method
//! A sum pattern of k operands matches k distinct terms of a sum e-node, in any order, and a rest variable takes what is
//! left (none may be left without one). A term with a coefficient matches as the multiple that it is; `-` and `/` in
//! patterns are coefficients −1 and exponents −1. Two searches of one e-class never mix e-nodes: what one
//! operand matched is bound for the others.
//! # Complexity
//! n!/(n−k)! orders per e-node at worst; [`MATCHES_LIMIT`] per e-class and rule, reported where it is hit.
//! # Source
//! `DESIGN.md`, "Rules": egg's own patterns have no variables for the rest of the children.

use egg::Id;
use nestegg_ir::Op;
use nestegg_rules::{Argument, Condition, Name, Pattern, PatternId, PatternNode, Test};
use num_rational::BigRational;
use rustc_hash::FxHashMap;

use crate::analysis::Graph;
use crate::apply::Pass;
use crate::build;
use crate::language::{Kind, Node};
use crate::rational::Rational;

/// How many matches of one rule one e-class may have; more are left out and reported.
pub const MATCHES_LIMIT: usize = 400;

/// What the variables of a rule stand for.
#[derive(Clone, Debug, Default)]
struct Bindings {
    variables: FxHashMap<Name, Id>,
    rests: FxHashMap<Name, Vec<Operand>>,
}

impl Bindings {
    /// The variables as they are written, in their order, with what they stand for.
    fn to_sorted(&self) -> Vec<(String, Vec<Id>)> {
        let single = self.variables.iter().map(|(name, &class)| (format!("?{name}"), vec![class]));
        let rests = self
            .rests
            .iter()
            .map(|(name, operands)| (format!("?{name}..."), operands.iter().map(|operand| operand.class).collect()));
        let mut all: Vec<(String, Vec<Id>)> = single.chain(rests).collect();
        all.sort();
        all
    }
}

/// An operand with its coefficient (of a sum) or exponent (of a product); both 1 in other operators.
#[derive(Clone, Debug, PartialEq)]
struct Operand {
    coefficient: Rational,
    exponent: i32,
    class: Id,
}

impl Operand {
    fn plain(class: Id) -> Self {
        Self { coefficient: Rational::ONE, exponent: 1, class }
    }
}

/// The functions that an e-graph of a kernel may have, by name, for patterns with calls.
pub type Functions = FxHashMap<String, nestegg_ir::FunctionId>;

/// A pattern rule.
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
}

impl PatternRule<'_> {
    /// Applies the rule to every e-class.
    pub fn apply(&self, pass: &mut Pass<'_>) {
        for &class in pass.classes {
            if pass.is_full() {
                return;
            }
            let mut matcher = Matcher { graph: pass.graph, functions: self.functions, hit_limit: false };
            let found = matcher.matches(self.lhs, self.lhs.root(), class, vec![Bindings::default()]);
            if matcher.hit_limit {
                pass.limits_hit.insert("matches".into());
            }
            for bindings in found {
                let holds = self.when.is_none_or(|when| when.holds(|test| holds(pass.graph, test, &bindings)));
                if !holds {
                    continue;
                }
                let kind = Kind::of(pass.graph[class].data.dtype);
                if let Some(form) = instantiate(pass.graph, self.functions, self.rhs, &bindings, kind) {
                    pass.equate_where(class, form, || bindings.to_sorted());
                }
            }
        }
    }
}

struct Matcher<'a> {
    graph: &'a mut Graph,
    functions: &'a Functions,
    hit_limit: bool,
}

impl Matcher<'_> {
    /// Every way to extend `bindings` so that the pattern at `id` is `class`. Recursion is as deep as the pattern.
    fn matches(&mut self, pattern: &Pattern, id: PatternId, class: Id, bindings: Vec<Bindings>) -> Vec<Bindings> {
        let class = self.graph.find(class);
        match pattern.node(id) {
            PatternNode::Variable(name) => {
                bindings.into_iter().filter_map(|b| bind(self.graph, b, name, class)).collect()
            }
            PatternNode::Rest(_) => Vec::new(),
            PatternNode::Number(value) => {
                let value = Rational::from(value.clone());
                if self.graph[class].data.constant.as_ref() == Some(&value) { bindings } else { Vec::new() }
            }
            PatternNode::Apply { operator, children } => {
                let mut res = Vec::new();
                for operands in self.operand_lists(pattern, operator, children, class) {
                    res.extend(self.match_operands(pattern, operator, children, operands, bindings.clone()));
                    if res.len() > MATCHES_LIMIT {
                        self.hit_limit = true;
                        res.truncate(MATCHES_LIMIT);
                        break;
                    }
                }
                res
            }
        }
    }

    /// The operands of every e-node of the class that has the operator.
    fn operand_lists(
        &mut self,
        pattern: &Pattern,
        operator: &str,
        children: &[PatternId],
        class: Id,
    ) -> Vec<Vec<Operand>> {
        let nodes: Vec<Node> = self.graph[class].nodes.clone();
        let mut res = Vec::new();
        for node in nodes {
            match (operator, &node) {
                ("+", Node::Sum { children, .. }) if children.len() > 1 => res.push(terms(&node)),
                ("-", Node::Sum { coefficients, children: terms }) => match (children.len(), terms.len()) {
                    (1, 1) if coefficients[0] == Rational::MINUS_ONE => res.push(vec![Operand::plain(terms[0])]),
                    (2, 2) if coefficients[0].is_negative() != coefficients[1].is_negative() => {
                        let (plus, minus) = if coefficients[0].is_negative() { (1, 0) } else { (0, 1) };
                        let first = build::scale(self.graph, coefficients[plus].clone(), terms[plus]);
                        let second = build::scale(self.graph, coefficients[minus].abs(), terms[minus]);
                        res.push(vec![Operand::plain(first), Operand::plain(second)]);
                    }
                    _ => {}
                },
                ("*", Node::Product { children, .. }) if children.len() > 1 => res.push(factors(&node)),
                // A coefficient that is no double is no literal.
                ("*", Node::Sum { coefficients, children })
                    if children.len() == 1 && coefficients[0].to_exact_f64().is_some() =>
                {
                    let kind = Kind::of(self.graph[class].data.dtype);
                    let factor = build::number(self.graph, coefficients[0].clone(), kind);
                    res.push(vec![Operand::plain(factor), Operand::plain(children[0])]);
                    for inner in self.graph[children[0]].nodes.clone() {
                        if matches!(inner, Node::Product { .. }) {
                            res.push([Operand::plain(factor)].into_iter().chain(factors(&inner)).collect());
                        }
                    }
                }
                ("/", Node::Product { .. }) => {
                    let (above, below): (Vec<Operand>, Vec<Operand>) =
                        factors(&node).into_iter().partition(|factor| factor.exponent > 0);
                    if !below.is_empty() {
                        let above = build::product(self.graph, above.iter().map(|f| (f.exponent, f.class)));
                        let below = build::product(self.graph, below.iter().map(|f| (-f.exponent, f.class)));
                        res.push(vec![Operand::plain(above), Operand::plain(below)]);
                    }
                }
                ("**", Node::Product { exponents, children: bases }) if bases.len() == 1 && exponents[0] != 1 => {
                    let exponent = build::number(self.graph, Rational::from_int(exponents[0].into()), Kind::Integer);
                    res.push(vec![Operand::plain(bases[0]), Operand::plain(exponent)]);
                }
                (_, Node::Op(op, operands) | Node::Rounded(op, operands)) if op.spelling() == operator => {
                    res.push(operands.iter().copied().map(Operand::plain).collect());
                }
                (_, Node::Call(function, arguments)) if self.functions.get(operator) == Some(function) => {
                    res.push(arguments.iter().copied().map(Operand::plain).collect());
                }
                _ => {}
            }
        }
        let has_rest = children.iter().any(|&child| matches!(pattern.node(child), PatternNode::Rest(_)));
        let n_fixed = children.len() - usize::from(has_rest);
        res.retain(|operands| operands.len() == n_fixed || (has_rest && operands.len() > n_fixed));
        res
    }

    /// Every way to match the pattern's operands with those of one e-node.
    fn match_operands(
        &mut self,
        pattern: &Pattern,
        operator: &str,
        children: &[PatternId],
        operands: Vec<Operand>,
        bindings: Vec<Bindings>,
    ) -> Vec<Bindings> {
        let is_unordered = matches!(operator, "+" | "*" | "min" | "max");
        // Each state: bindings and which operands are taken.
        let mut states: Vec<(Bindings, Vec<bool>)> =
            bindings.into_iter().map(|bindings| (bindings, vec![false; operands.len()])).collect();
        let mut rest = None;
        for (position, &child) in children.iter().enumerate() {
            if let PatternNode::Rest(name) = pattern.node(child) {
                rest = Some(name);
                continue;
            }
            let mut next = Vec::new();
            for (bindings, taken) in states {
                for (idx, operand) in operands.iter().enumerate() {
                    if taken[idx] || (!is_unordered && idx != position) {
                        continue;
                    }
                    let class = self.operand_class(operator, operand);
                    for extended in self.matches(pattern, child, class, vec![bindings.clone()]) {
                        let mut taken = taken.clone();
                        taken[idx] = true;
                        next.push((extended, taken));
                        if next.len() > MATCHES_LIMIT {
                            self.hit_limit = true;
                            break;
                        }
                    }
                }
            }
            next.truncate(MATCHES_LIMIT);
            states = next;
        }
        states
            .into_iter()
            .filter_map(|(mut bindings, taken)| {
                if let Some(name) = rest {
                    let left: Vec<Operand> =
                        operands.iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(o, _)| o.clone()).collect();
                    match bindings.rests.get(name) {
                        Some(known) if *known != left => return None,
                        _ => bindings.rests.insert(name.clone(), left),
                    };
                }
                Some(bindings)
            })
            .collect()
    }

    /// The value that an operand contributes, as a class.
    fn operand_class(&mut self, operator: &str, operand: &Operand) -> Id {
        match operator {
            "+" => build::scale(self.graph, operand.coefficient.clone(), operand.class),
            "*" if operand.exponent != 1 => build::product(self.graph, [(operand.exponent, operand.class)]),
            _ => operand.class,
        }
    }
}

fn bind(graph: &Graph, mut bindings: Bindings, name: &Name, class: Id) -> Option<Bindings> {
    match bindings.variables.get(name) {
        Some(&known) if graph.find(known) != class => None,
        Some(_) => Some(bindings),
        None => {
            bindings.variables.insert(name.clone(), class);
            Some(bindings)
        }
    }
}

fn terms(node: &Node) -> Vec<Operand> {
    node.terms()
        .into_iter()
        .flatten()
        .map(|(coefficient, class)| Operand { coefficient: coefficient.clone(), exponent: 1, class })
        .collect()
}

fn factors(node: &Node) -> Vec<Operand> {
    node.factors()
        .into_iter()
        .flatten()
        .map(|(exponent, class)| Operand { coefficient: Rational::ONE, exponent, class })
        .collect()
}

/// Whether a test of a condition holds for what its variables stand for.
fn holds(graph: &Graph, test: &Test, bindings: &Bindings) -> bool {
    let classes: Vec<Id> = test
        .arguments
        .iter()
        .flat_map(|argument| match argument {
            Argument::Variable(name) => vec![bindings.variables[name]],
            Argument::Rest(name) => bindings.rests[name].iter().map(|operand| operand.class).collect(),
            Argument::Number(_) | Argument::Word(_) => Vec::new(),
        })
        .collect();
    let data = |idx: usize| &graph[classes[idx]].data;
    let all = |test: fn(&crate::analysis::Data) -> bool| classes.iter().all(|&class| test(&graph[class].data));
    match test.name.as_str() {
        "constant" => all(|data| data.constant.is_some()),
        "nonzero" => all(|data| data.nonzero),
        "nonnegative" => all(|data| data.range.is_nonnegative()),
        "float" => all(|data| data.dtype.is_float()),
        "integer" => all(|data| data.dtype.is_integer()),
        "invariant" => all(|data| data.inames.is_empty()),
        "fewer-inames" => data(0).inames.is_subset(&data(1).inames) && data(0).inames.len() < data(1).inames.len(),
        "same-inames" => data(0).inames == data(1).inames,
        _ => false,
    }
}

/// The class of a pattern with its variables replaced, its numbers of the kind of what it equals; `None` if it calls a function that the kernel has no name for.
fn instantiate(
    graph: &mut Graph,
    functions: &Functions,
    pattern: &Pattern,
    bindings: &Bindings,
    kind: Kind,
) -> Option<Id> {
    let mut values: Vec<Vec<Operand>> = Vec::with_capacity(pattern.n_nodes());
    for (_, node) in pattern.nodes() {
        let value = match node {
            PatternNode::Variable(name) => vec![Operand::plain(bindings.variables[name])],
            PatternNode::Rest(name) => bindings.rests[name].clone(),
            PatternNode::Number(value) => vec![Operand::plain(number(graph, value, kind))],
            PatternNode::Apply { operator, children } => {
                let operands: Vec<Operand> =
                    children.iter().flat_map(|child| values[child.index()].iter().cloned()).collect();
                vec![Operand::plain(apply(graph, functions, operator, &operands)?)]
            }
        };
        values.push(value);
    }
    values.last().map(|root| root[0].class)
}

fn number(graph: &mut Graph, value: &BigRational, kind: Kind) -> Id {
    build::number(graph, Rational::from(value.clone()), kind)
}

fn apply(graph: &mut Graph, functions: &Functions, operator: &str, operands: &[Operand]) -> Option<Id> {
    let classes: Box<[Id]> = operands.iter().map(|operand| operand.class).collect();
    let is_float = classes.iter().any(|&class| graph[class].data.dtype.is_float());
    if graph.analysis.context.is_strict() && (is_float || operator == "/") {
        match Op::from_spelling(operator, operands.len()) {
            Some(op) if build::is_rounded(op) => return Some(build::rounded(graph, op, &classes)),
            _ => {}
        }
    }
    Some(match (operator, operands) {
        ("+", _) => build::sum(graph, operands.iter().map(|o| (o.coefficient.clone(), o.class))),
        ("*", _) => build::product(graph, operands.iter().map(|o| (o.exponent, o.class))),
        ("-", [a]) => build::scale(graph, Rational::MINUS_ONE, a.class),
        ("-", [a, b]) => build::sum(graph, [(Rational::ONE, a.class), (Rational::MINUS_ONE, b.class)]),
        ("/", [a, b]) => build::product(graph, [(1, a.class), (-1, b.class)]),
        ("**", [a, b]) => {
            let exponent = graph[b.class].data.constant.as_ref().and_then(Rational::to_int);
            match exponent.and_then(|exponent| i32::try_from(exponent).ok()) {
                Some(exponent) => build::product(graph, [(exponent, a.class)]),
                None => graph.add(Node::Op(Op::Pow, classes)),
            }
        }
        ("min" | "max", [single]) => single.class,
        _ => match (Op::from_spelling(operator, operands.len()), functions.get(operator)) {
            (Some(op), _) => graph.add(Node::Op(op, classes)),
            (None, Some(&function)) => graph.add(Node::Call(function, classes)),
            (None, None) => return None,
        },
    })
}

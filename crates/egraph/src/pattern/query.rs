//! Left sides, compiled, and the search for what they match.
//!
//! Two equal plain operands of a product are a power, as e-nodes have no others; two equal terms are a multiple. All else is
//! searched for as it is written.

use std::rc::Rc;

use egg::Id;
use nestegg_ir::{InameSet, ReduceOp};
use nestegg_rules::{InameVariable, Pattern, PatternId, PatternNode};
use rustc_hash::FxHashMap;

use super::bound::Bound;
use super::fact::{Ask, Fact};
use super::{Bindings, CLASS_LIMIT, Functions, MATCHES_LIMIT, Operand, Operator, Slot, Slots, Value, factors, terms};
use crate::analysis::Graph;
use crate::build;
use crate::language::{Kind, Node};
use crate::rational::Rational;

/// A left side, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Query {
    Variable(Slot),
    Number(Rational),
    Apply(Box<Apply>),
    Reduce(Box<Reduce>),
}

/// An operator with its children, in the order in which they are matched.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Apply {
    pub(super) operator: Operator,
    pub(super) plain: Vec<Query>,
    filtered: Vec<Filtered>,
    rest: Option<Slot>,
}

/// A rest variable whose children pass a test.
#[derive(Clone, Debug, PartialEq)]
struct Filtered {
    slot: Slot,
    ask: Ask,
    /// Whether the rule applies only where there are some.
    is_required: bool,
}

/// A reduction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reduce {
    pub(super) op: ReduceOp,
    /// Its number among the reductions of the left side, and those around it.
    number: usize,
    within: Vec<usize>,
    blocks: Vec<Slot>,
    rest: Option<Slot>,
    pub(super) body: Query,
}

impl Apply {
    /// Whether it takes operands beside those that it names.
    pub(super) fn takes_rest(&self) -> bool {
        self.rest.is_some() || !self.filtered.is_empty()
    }
}

impl Reduce {
    /// How many inames it names, apart from the rest.
    pub(super) fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Whether it takes inames beside those.
    pub(super) fn takes_rest(&self) -> bool {
        self.rest.is_some()
    }
}

/// Which lists of operands are of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    /// Those of as many operands as the pattern takes.
    Fitting,
    /// All.
    Any,
}

/// The query of a left side; `None` if it calls a function that the kernel has no name for.
pub(super) fn compile(pattern: &Pattern, slots: &mut Slots, functions: &Functions) -> Option<Query> {
    let mut compiler = Compiler { pattern, slots, functions, n_reductions: 0 };
    compiler.query(pattern.root(), &mut Vec::new())
}

impl Query {
    /// How many operations, reductions, numbers and variables it has, without rest variables. Recursion is as deep as the pattern.
    pub(super) fn n_parts(&self) -> usize {
        match self {
            Self::Variable(_) | Self::Number(_) => 1,
            Self::Reduce(reduce) => 1 + reduce.body.n_parts(),
            Self::Apply(apply) => 1 + apply.plain.iter().map(Self::n_parts).sum::<usize>(),
        }
    }

    /// It as rule files have it, without tests of children. Recursion is as deep as the pattern.
    pub(super) fn written(&self, name: &dyn Fn(Slot) -> String, function: &dyn Fn(Operator) -> String) -> String {
        match self {
            Self::Variable(slot) => format!("?{}", name(*slot)),
            Self::Number(value) => value.to_string(),
            Self::Reduce(reduce) => {
                let blocks = reduce.blocks.iter().map(|&slot| format!("?{}", name(slot)));
                let rest = reduce.rest.map(|slot| format!("?{}...", name(slot)));
                let inames = blocks.chain(rest).collect::<Vec<_>>().join(" ");
                format!("({} ({inames}) {})", reduce.op.spelling(), reduce.body.written(name, function))
            }
            Self::Apply(apply) => {
                let mut parts = vec![function(apply.operator)];
                parts.extend(apply.plain.iter().map(|part| part.written(name, function)));
                let rest = apply.filtered.iter().map(|filtered| filtered.slot).chain(apply.rest);
                parts.extend(rest.map(|slot| format!("?{}...", name(slot))));
                format!("({})", parts.join(" "))
            }
        }
    }

    /// Says which rest variables must have children for the rule to apply: forms without are not taken apart.
    pub(super) fn require(&mut self, slots: &[Slot]) {
        match self {
            Self::Variable(_) | Self::Number(_) => {}
            Self::Reduce(reduce) => reduce.body.require(slots),
            Self::Apply(apply) => {
                for filtered in &mut apply.filtered {
                    filtered.is_required = slots.contains(&filtered.slot);
                }
                for child in &mut apply.plain {
                    child.require(slots);
                }
            }
        }
    }
}

impl Query {
    /// Whether there is a match only where something is zero everywhere.
    pub(super) fn needs_zeros(&self) -> bool {
        match self {
            Self::Variable(_) | Self::Number(_) => false,
            Self::Reduce(reduce) => reduce.body.needs_zeros(),
            Self::Apply(apply) => {
                let is_zero = |filtered: &Filtered| filtered.is_required && filtered.ask.fact == Fact::Zero;
                apply.filtered.iter().any(is_zero) || apply.plain.iter().any(Self::needs_zeros)
            }
        }
    }
}

struct Compiler<'a> {
    pattern: &'a Pattern,
    slots: &'a mut Slots,
    functions: &'a Functions,
    n_reductions: usize,
}

impl Compiler<'_> {
    /// Recursion is as deep as the pattern.
    fn query(&mut self, id: PatternId, within: &mut Vec<usize>) -> Option<Query> {
        Some(match self.pattern.node(id) {
            PatternNode::Variable(name) => Query::Variable(self.slots.of(name)),
            PatternNode::Number(value) => Query::Number(Rational::from(value.clone())),
            PatternNode::Reduce { operator, inames, body } => {
                let (mut blocks, mut rest) = (Vec::new(), None);
                for iname in inames {
                    match iname {
                        InameVariable::One(name) => blocks.push(self.slots.of(name)),
                        InameVariable::Rest(name) => rest = Some(self.slots.of(name)),
                    }
                }
                let number = self.n_reductions;
                self.n_reductions += 1;
                let around = within.clone();
                within.push(number);
                let body = self.query(*body, within)?;
                within.pop();
                let op = super::reduce_op(operator)?;
                Query::Reduce(Box::new(Reduce { op, number, within: around, blocks, rest, body }))
            }
            PatternNode::Apply { operator, children } => {
                let operator = Operator::new(operator, children.len(), self.functions)?;
                let mut res = Apply { operator, plain: Vec::new(), filtered: Vec::new(), rest: None };
                for &child in children {
                    match self.pattern.node(child) {
                        PatternNode::Rest(name) => res.rest = Some(self.slots.of(name)),
                        PatternNode::Filtered { rest, test } => {
                            let slot = self.slots.of(rest);
                            let ask = Ask::of_each(test, self.slots);
                            res.filtered.push(Filtered { slot, ask, is_required: false });
                        }
                        _ => {
                            let query = self.query(child, within)?;
                            res.plain.push(query);
                        }
                    }
                }
                repeated(res)
            }
            PatternNode::Rest(_)
            | PatternNode::Filtered { .. }
            | PatternNode::Each { .. }
            | PatternNode::Spread { .. }
            | PatternNode::Size(_) => return None,
        })
    }
}

/// Equal plain factors as one power, equal plain terms as one multiple.
fn repeated(mut apply: Apply) -> Query {
    if matches!(apply.operator, Operator::Sum | Operator::Product) {
        let mut distinct: Vec<(Query, i64)> = Vec::new();
        for query in std::mem::take(&mut apply.plain) {
            match distinct.iter_mut().find(|(known, _)| *known == query && !matches!(known, Query::Number(_))) {
                Some((_, n)) => *n += 1,
                None => distinct.push((query, 1)),
            }
        }
        let of = |operator, plain| Query::Apply(Box::new(Apply { operator, plain, filtered: Vec::new(), rest: None }));
        for (query, n) in distinct {
            let n = Rational::from_int(n);
            apply.plain.push(match apply.operator {
                _ if n.is_one() => query,
                Operator::Sum => of(Operator::Product, vec![Query::Number(n), query]),
                _ => of(Operator::Power, vec![query, Query::Number(n)]),
            });
        }
        if apply.plain.len() == 1 && apply.filtered.is_empty() && apply.rest.is_none() {
            return apply.plain.remove(0);
        }
    }
    Query::Apply(Box::new(apply))
}

/// An e-node as its operands, or one that gives operands only after more work.
enum Form {
    Apart(Vec<Operand>),
    Whole(Node),
}

/// The operands of one e-node.
pub(super) struct Operands {
    pub(super) all: Vec<Operand>,
    /// Whether they are a number and what it multiplies, or a power: no product of its own.
    is_multiple: bool,
}

/// One search of one rule.
pub(super) struct Matcher<'a> {
    pub(super) graph: &'a mut Graph,
    /// For each e-class how many e-classes use it.
    pub(super) uses: &'a FxHashMap<Id, usize>,
    pub(super) hit_limit: bool,
}

impl<'a> Matcher<'a> {
    pub(super) fn new(graph: &'a mut Graph, uses: &'a FxHashMap<Id, usize>) -> Self {
        Self { graph, uses, hit_limit: false }
    }

    /// Every way in which a class is what a query says.
    pub(super) fn search(&mut self, query: &Query, class: Id, n_slots: usize) -> Vec<Bindings> {
        if let Query::Reduce(reduce) = query
            && !self.is_reduction(reduce.op, class)
        {
            return Vec::new();
        }
        self.matches(query, class, vec![Value::Nothing; n_slots])
    }

    /// Every way to extend `bindings` so that `class` is what the query says. Recursion is as deep as the pattern.
    fn matches(&mut self, query: &Query, class: Id, bindings: Bindings) -> Vec<Bindings> {
        let class = self.graph.find(class);
        match query {
            Query::Variable(slot) => self.bind(bindings, *slot, class).into_iter().collect(),
            Query::Number(value) => {
                if self.graph[class].data.constant.as_ref() == Some(value) {
                    vec![bindings]
                } else {
                    Vec::new()
                }
            }
            Query::Apply(apply) => {
                let mut res = Vec::new();
                for operands in self.operand_lists(apply, class, &bindings, Lengths::Fitting) {
                    res.extend(self.match_operands(apply, &operands, bindings.clone()));
                    if res.len() > CLASS_LIMIT {
                        self.hit_limit = true;
                        res.truncate(CLASS_LIMIT);
                        break;
                    }
                }
                res
            }
            Query::Reduce(reduce) => {
                let mut res = Vec::new();
                for (bound, body) in self.reductions(reduce, class) {
                    for bindings in self.bind_inames(reduce, &bound, &bindings) {
                        res.extend(self.matches(&reduce.body, body, bindings));
                    }
                }
                res
            }
        }
    }

    /// Whether a class has a reduction of this operation.
    fn is_reduction(&self, op: ReduceOp, class: Id) -> bool {
        let context = &self.graph.analysis.context;
        let is_one = |node: &Node| matches!(node, Node::Reduce(id, _) if context.reduction(*id).op == op);
        self.graph[class].nodes.iter().any(is_one)
    }

    fn bind(&self, mut bindings: Bindings, slot: Slot, class: Id) -> Option<Bindings> {
        match &bindings[slot] {
            Value::One(known) => (self.graph.find(*known) == class).then_some(bindings),
            Value::Nothing => {
                bindings[slot] = Value::One(class);
                Some(bindings)
            }
            Value::Rest(_) | Value::Inames(_) => None,
        }
    }

    /// The reductions that a class is, with their bodies. One whose body is its own value (`x == Σ_q x` over one point) says nothing
    /// that its other forms do not: each form of `x` would give another one.
    pub(super) fn reductions(&self, reduce: &Reduce, class: Id) -> Vec<(Bound, Id)> {
        let context = &self.graph.analysis.context;
        let form = |node: &Node| match node {
            Node::Reduce(id, [body]) if context.reduction(*id).op == reduce.op => {
                let body = self.graph.find(*body);
                (body != class).then(|| (Bound::new(context, *id, reduce.number, &reduce.within), body))
            }
            _ => None,
        };
        self.graph[class].nodes.iter().filter_map(form).collect()
    }

    /// Every way to share the inames of a reduction out among its variables: blocks that may be reduced innermost, then the rest.
    fn bind_inames(&self, reduce: &Reduce, all: &Bound, bindings: &Bindings) -> Vec<Bindings> {
        let context = &self.graph.analysis.context;
        let mut states: Vec<(Bindings, InameSet)> = vec![(bindings.clone(), all.inames.clone())];
        for &slot in &reduce.blocks {
            let mut next = Vec::new();
            for (bindings, left) in states {
                for iname in left.iter() {
                    let block = context.block(iname, &left);
                    if block.iter().next() != Some(iname) || !context.can_be_inner(&block, &all.inames) {
                        continue;
                    }
                    let left = left.difference(&block);
                    let value = Rc::new(all.part(&block));
                    next.extend(bind_bound(bindings.clone(), slot, value).map(|bindings| (bindings, left)));
                }
            }
            states = next;
        }
        let finish = |(bindings, left): (Bindings, InameSet)| match reduce.rest {
            None => left.is_empty().then_some(bindings),
            Some(slot) if left == all.inames => bind_bound(bindings, slot, Rc::new(all.clone())),
            Some(slot) => bind_bound(bindings, slot, Rc::new(all.part(&left))),
        };
        states.into_iter().filter_map(finish).collect()
    }

    /// The operands of every e-node of the class that has the operator, however many there are.
    pub(super) fn lists_of_any_length(&mut self, apply: &Apply, class: Id) -> Vec<Operands> {
        // Without bindings no test can be asked, and none is: those are for lists without named operands.
        let open = Apply { filtered: Vec::new(), ..apply.clone() };
        self.operand_lists(&open, class, &Bindings::new(), Lengths::Any)
    }

    /// The operands of every e-node of the class that has the operator.
    fn operand_lists(&mut self, apply: &Apply, class: Id, bindings: &Bindings, lengths: Lengths) -> Vec<Operands> {
        let operator = apply.operator;
        let has_many = apply.rest.is_some() || !apply.filtered.is_empty();
        let analysis = &self.graph.analysis;
        // Operands that were only grouped are searched in the form with all of them, unless it is groups that are to be opened.
        let opens = apply.filtered.iter().any(|filtered| filtered.ask.fact == Fact::Opens);
        let skips_grouped = has_many && !opens && !analysis.grouped.is_empty();
        let is_grouped = |node: &Node| skips_grouped && analysis.grouped.contains(node);
        let may_be = |node: &&Node| match node {
            Node::Sum { children, .. } => match operator {
                Operator::Sum => children.len() > 1 && !is_grouped(node),
                Operator::Negation | Operator::Product => children.len() == 1,
                Operator::Difference => children.len() == 2,
                _ => false,
            },
            Node::Product { children, exponents } => match operator {
                // A power is a product of one factor, where that may be told apart.
                Operator::Product => (children.len() > 1 || !apply.filtered.is_empty()) && !is_grouped(node),
                Operator::Quotient => exponents.iter().any(|&exponent| exponent < 0),
                Operator::Power => exponents.iter().all(|&exponent| exponent != 1 && exponent != 0),
                _ => false,
            },
            Node::Op(op, _) | Node::Rounded(op, _) => operator.op() == Some(*op),
            Node::Call(function, _) => operator == Operator::Call(*function),
            _ => false,
        };
        let n_plain = apply.plain.len();
        let fits = |n: usize| lengths == Lengths::Any || n == n_plain || (has_many && n > n_plain);
        // Most forms have no child that passes the tests, and need not be taken apart.
        let required: Vec<(&Ask, InameSet)> = if n_plain == 0 {
            let required = apply.filtered.iter().filter(|filtered| filtered.is_required);
            required.map(|filtered| (&filtered.ask, filtered.ask.others(self.graph, bindings))).collect()
        } else {
            Vec::new()
        };
        let has_required = |node: &Node| {
            required.iter().all(|(ask, others)| {
                let may_pass = |is_unit, exponent, class| {
                    self.quickly(ask, operator, is_unit, exponent, class, others) != Some(false)
                };
                match node {
                    Node::Sum { coefficients, children } => {
                        coefficients.iter().zip(children.iter()).any(|(c, &child)| may_pass(c.is_unit(), 1, child))
                    }
                    Node::Product { exponents, children } => {
                        exponents.iter().zip(children.iter()).any(|(&exponent, &child)| may_pass(true, exponent, child))
                    }
                    _ => true,
                }
            })
        };
        let form = |node: &Node| match (node, operator) {
            (Node::Sum { children, .. }, Operator::Sum) => {
                (fits(children.len()) && has_required(node)).then(|| Form::Apart(terms(node)))
            }
            (Node::Product { children, .. }, Operator::Product) => {
                (fits(children.len()) && has_required(node)).then(|| Form::Apart(factors(node)))
            }
            _ => Some(Form::Whole(node.clone())),
        };
        let forms: Vec<Form> = self.graph[class].nodes.iter().filter(may_be).filter_map(form).collect();
        let mut res: Vec<Operands> = Vec::with_capacity(forms.len());
        let plain = |classes: &[Id]| classes.iter().copied().map(Operand::plain).collect::<Vec<Operand>>();
        for form in forms {
            let node = match form {
                Form::Apart(all) => {
                    let is_multiple = all.len() == 1;
                    res.push(Operands { all, is_multiple });
                    continue;
                }
                Form::Whole(node) => node,
            };
            let own = match (&node, operator) {
                (Node::Sum { coefficients, children }, Operator::Negation) => {
                    if coefficients[0] != Rational::MINUS_ONE {
                        continue;
                    }
                    plain(children)
                }
                (Node::Sum { coefficients, children }, Operator::Difference) => {
                    if coefficients[0].is_negative() == coefficients[1].is_negative() {
                        continue;
                    }
                    let (plus, minus) = if coefficients[0].is_negative() { (1, 0) } else { (0, 1) };
                    let first = build::scale(self.graph, coefficients[plus].clone(), children[plus]);
                    let second = build::scale(self.graph, coefficients[minus].abs(), children[minus]);
                    plain(&[first, second])
                }
                (Node::Sum { coefficients, children }, _) => {
                    res.extend(self.multiple(apply, class, &coefficients[0], children[0]));
                    continue;
                }
                (Node::Product { .. }, Operator::Quotient) => {
                    let (above, below): (Vec<Operand>, Vec<Operand>) =
                        factors(&node).into_iter().partition(|factor| factor.exponent > 0);
                    let above = build::product(self.graph, above.iter().map(|f| (f.exponent, f.class)));
                    let below = build::product(self.graph, below.iter().map(|f| (-f.exponent, f.class)));
                    plain(&[above, below])
                }
                (Node::Product { exponents, children }, _) => {
                    res.extend(self.powers(exponents, children));
                    continue;
                }
                (Node::Op(_, children) | Node::Rounded(_, children) | Node::Call(_, children), _) => plain(children),
                _ => continue,
            };
            let is_multiple = own.len() == 1;
            res.push(Operands { all: own, is_multiple });
        }
        res.retain(|operands| fits(operands.all.len()));
        res
    }

    /// A multiple as a product of its coefficient and its base; nothing if the coefficient is not exactly a double. A pattern without tests also matches the factors of the base.
    fn multiple(&mut self, apply: &Apply, class: Id, coefficient: &Rational, base: Id) -> Vec<Operands> {
        if coefficient.to_exact_f64().is_none() {
            return Vec::new();
        }
        let kind = Kind::of(self.graph[class].data.dtype);
        let factor = Operand::plain(build::number(self.graph, coefficient.clone(), kind));
        let mut res = vec![Operands { all: vec![factor.clone(), Operand::plain(base)], is_multiple: true }];
        if apply.filtered.is_empty() {
            let inner = self.graph[base].nodes.iter().filter(|node| matches!(node, Node::Product { .. }));
            let inner = inner.map(|node| [factor.clone()].into_iter().chain(factors(node)).collect());
            res.extend(inner.map(|all| Operands { all, is_multiple: true }));
        }
        res
    }

    /// A product as a power, in every way.
    fn powers(&mut self, exponents: &[i32], children: &[Id]) -> Vec<Operands> {
        let common = exponents.iter().fold(0, |common, &exponent| num_integer::gcd(common, exponent.unsigned_abs()));
        let mut res = Vec::new();
        for n in 1..=common {
            let is_root = n == 1 && !(children.len() == 1 && exponents[0] < 0);
            if common % n != 0 || is_root {
                continue;
            }
            let n = i32::try_from(n).unwrap_or(1);
            // The sign goes to the exponent where all have it.
            let n = if exponents.iter().all(|&exponent| exponent < 0) { -n } else { n };
            let base = build::product(self.graph, exponents.iter().map(|e| e / n).zip(children.iter().copied()));
            let exponent = build::number(self.graph, Rational::from_int(n.into()), Kind::Integer);
            res.push(Operands { all: vec![Operand::plain(base), Operand::plain(exponent)], is_multiple: false });
        }
        res
    }

    /// Every way to match the operands of one e-node.
    fn match_operands(&mut self, apply: &Apply, operands: &Operands, bindings: Bindings) -> Vec<Bindings> {
        // Each state: bindings and which operands are taken.
        let mut states: Vec<(Bindings, Vec<bool>)> = vec![(bindings, vec![false; operands.all.len()])];
        for (position, query) in apply.plain.iter().enumerate() {
            let mut next = Vec::new();
            for (bindings, taken) in states {
                for (idx, operand) in operands.all.iter().enumerate() {
                    if taken[idx] || (!apply.operator.is_unordered() && idx != position) {
                        continue;
                    }
                    let class = self.value_of(apply.operator, operand);
                    for extended in self.matches(query, class, bindings.clone()) {
                        let mut taken = taken.clone();
                        taken[idx] = true;
                        next.push((extended, taken));
                    }
                    if next.len() > MATCHES_LIMIT {
                        self.hit_limit = true;
                        break;
                    }
                }
            }
            next.truncate(MATCHES_LIMIT);
            states = next;
        }
        states.into_iter().filter_map(|(bindings, taken)| self.share_out(apply, operands, bindings, taken)).collect()
    }

    /// The inames that operands depend on together.
    fn inames_of(&self, operands: &Operands) -> InameSet {
        operands.all.iter().fold(InameSet::new(), |all, operand| all.union(&self.graph[operand.class].data.inames))
    }

    /// Gives the operands that are left to the rest variables: each to the first whose test it passes.
    fn share_out(
        &mut self,
        apply: &Apply,
        operands: &Operands,
        mut bindings: Bindings,
        mut taken: Vec<bool>,
    ) -> Option<Bindings> {
        for Filtered { slot, ask, is_required } in &apply.filtered {
            let others = match ask.fact {
                Fact::Opens => self.inames_of(operands),
                _ => ask.others(self.graph, &bindings),
            };
            let is_opened = ask.fact == Fact::Opens && operands.is_multiple;
            let mut own = Vec::new();
            for (idx, operand) in operands.all.iter().enumerate() {
                if !taken[idx] && !is_opened && self.passes(ask, apply.operator, operand, &others, &bindings) {
                    taken[idx] = true;
                    own.push(operand.clone());
                }
            }
            if *is_required && own.is_empty() {
                return None;
            }
            bindings = bind_rest(bindings, *slot, own)?;
        }
        let left = operands.all.iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(operand, _)| operand);
        match apply.rest {
            Some(slot) => {
                let mut own = Vec::with_capacity(operands.all.len());
                own.extend(left.cloned());
                bind_rest(bindings, slot, own)
            }
            None => (left.count() == 0).then_some(bindings),
        }
    }

    /// The value that an operand contributes, as a class.
    pub(super) fn value_of(&mut self, operator: Operator, operand: &Operand) -> Id {
        match operator {
            Operator::Sum => build::scale(self.graph, operand.coefficient.clone(), operand.class),
            Operator::Product if operand.exponent != 1 => {
                build::product(self.graph, [(operand.exponent, operand.class)])
            }
            _ => operand.class,
        }
    }
}

fn bind_rest(mut bindings: Bindings, slot: Slot, operands: Vec<Operand>) -> Option<Bindings> {
    match &bindings[slot] {
        Value::Rest(known) => (**known == *operands).then_some(bindings),
        Value::Nothing => {
            bindings[slot] = Value::Rest(operands.into());
            Some(bindings)
        }
        Value::One(_) | Value::Inames(_) => None,
    }
}

fn bind_bound(mut bindings: Bindings, slot: Slot, bound: Rc<Bound>) -> Option<Bindings> {
    match &bindings[slot] {
        Value::Inames(known) => (known.inames == bound.inames).then_some(bindings),
        Value::Nothing => {
            bindings[slot] = Value::Inames(bound);
            Some(bindings)
        }
        Value::One(_) | Value::Rest(_) => None,
    }
}

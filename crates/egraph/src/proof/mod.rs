//! Proofs: why a chosen form equals what the kernel computes, as a chain of named rules.
//!
//! # Input
//! A saturated e-graph, the [log](Log) of its unions with their reasons, and the [choices](Choice) that selection made.
//! # Output
//! For each kept value a [`Lemma`]: steps from the term that the value has in the kernel, or was born with, to the chosen form. A step is an
//! equation of a rule, of the normal form, or of two nodes whose parts are equal by earlier lemmas.
//! # Method
//! Every id of an e-graph stands for the term that it was made for ([`crate::judge`]), which no union changes. The log is replayed on
//! these terms in a [congruence closure](closure) that keeps a forest of proofs; the e-graph's own unions are not looked at. Both sides of each
//! rule are made again from what its variables stood for, so that a step is an instance of its rule, and what leads to it
//! is steps of its own. A step uses only what was known before it, so no proof goes in a circle.
//! # Complexity
//! Nothing where nobody asks: the log is off. Else one closure over all terms, O(n log n) signatures, and steps in proportion to the chains.
//! # Source
//! Nieuwenhuis, Oliveras, "Proof-producing congruence closure", RTA 2005. egg's own explanations compare operands by position, which fails where
//! equal operands of sums join.

mod check;
mod closure;
mod log;

use std::collections::BTreeMap;

use egg::{Id, Language};
use nestegg_rules::Rule;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{Facts, Graph};
use crate::language::{Kind, Node};
use crate::pattern::{self, Functions};
use crate::saturate::direction;
pub use check::{Checked, check};
use closure::{Closure, Reason};
pub use log::Log;
pub(crate) use log::Matched;

/// What selection chose for a value; operands come before those that need them.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The e-class.
    pub class: Id,
    /// The e-node, children canonical.
    pub node: Node,
    /// Operands that are added up in place, each with the reduction that computes it.
    pub accumulated: Vec<(Id, Node)>,
    /// Whether it is a value of its own: a temporary, or what an instruction stores.
    pub is_kept: bool,
}

/// Why two terms are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A rule says so.
    Rule {
        /// Its name.
        name: String,
        /// Whether the left side is an instance of the rule's; what guided rules look at is code's to know.
        is_instance: bool,
    },
    /// The normal form does: a constant was computed, or an operation of one operand is that operand.
    Normal,
    /// They are the same operation, and their operands are equal by these lemmas.
    Parts(Vec<usize>),
}

/// One equation of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// A term.
    pub left: Id,
    /// An equal one.
    pub right: Id,
    /// Why. Of a rule, `left` is an instance of its left side unless the step is reversed.
    pub why: Why,
    /// Whether the rule says it the other way round.
    pub is_reversed: bool,
    /// What the closure calls the equation; the same where it is the same.
    pub equation: usize,
}

/// Two equal terms, and the chain between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lemma {
    /// Where the chain begins.
    pub left: Id,
    /// Where it ends.
    pub right: Id,
    /// Each begins where the one before ended.
    pub steps: Vec<Step>,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Birth {
    /// The kernel computes it.
    Kernel,
    /// It is a part of a form that a rule made.
    Rule {
        /// The rule.
        name: String,
        /// What it looked at.
        left: Id,
        /// The form.
        right: Id,
    },
    /// It is a part of a form that turned out to be known.
    Form,
}

/// A kept value and how it came to its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its e-class.
    pub class: Id,
    /// The term that stands for it wherever other values use it.
    pub start: Id,
    /// Where that comes from.
    pub birth: Birth,
    /// The lemma that it equals the chosen form; `None` if no proof was found.
    pub lemma: Option<usize>,
    /// Whether the chosen form is that term itself.
    pub is_unchanged: bool,
}

/// The proofs of a kernel's values.
#[derive(Debug)]
pub struct Proofs {
    /// The values that are kept, operands first.
    pub values: Vec<Value>,
    /// What they rest on; a lemma rests on those before it.
    pub lemmas: Vec<Lemma>,
    /// The terms: those of the e-graph, and instances of rules.
    pub terms: Graph,
    /// For each term the e-class that it belongs to, as far as that is known.
    classes: Vec<Option<Id>>,
    /// For each id of the e-graph its term.
    place: Vec<Id>,
    /// All nodes by id: those of the terms, then the chosen forms.
    nodes: Vec<Node>,
}

impl Proofs {
    /// Proves what was chosen. `n_encoded` is how many ids the e-graph had before any rule ran.
    pub fn new<'r>(
        graph: &mut Graph,
        n_encoded: usize,
        choices: &[Choice],
        rule: impl Fn(&str) -> Option<&'r Rule>,
        functions: &Functions,
    ) -> Self {
        let log = graph.analysis.log.take().unwrap_or_default();
        let n_saturated = graph.nodes().len();
        let left_sides = left_sides(graph, &log, &rule, functions);
        let mut terms = Terms::new(graph, n_encoded, n_saturated);
        let instances: Vec<Option<Instance>> =
            log.entries.iter().map(|entry| terms.instance(entry, &rule, functions)).collect();
        let Terms { graph: mut all, place, mut classes, first, n_encoded, n_saturated, .. } = terms;
        classes.resize(all.nodes().len(), None);
        let mut closure = Closure::new(all.nodes().to_vec(), n_saturated);
        if let Some(folds) = all.analysis.log.take() {
            folds.entries.iter().for_each(|entry| closure.unite(entry.left, entry.right, Reason::Normal));
        }
        let stand = |id: Id| place[usize::from(id)];
        replay(&mut closure, &log, (&instances, &left_sides), &mut classes, stand);
        let forms = forms(&mut closure, graph, choices, stand);
        let mut prover = Prover { closure: &closure, lemmas: BTreeMap::new(), pending: Vec::new() };
        let mut pairs = Vec::with_capacity(forms.len());
        for &(class, form) in &forms {
            let start = closure.first(stand(class));
            let is_proved = closure.is_equal(start, form);
            if is_proved {
                prover.prove(start, form);
            }
            pairs.push((class, start, form, is_proved));
        }
        let (lemmas, at) = prover.finish();
        let values = pairs.into_iter().map(|(class, start, form, is_proved)| {
            let lemma = is_proved.then(|| at.get(&pair(start, form)).copied()).flatten();
            let is_unchanged = closure.nodes[usize::from(form)] == closure.nodes[usize::from(start)];
            let birth = if usize::from(start) < n_encoded {
                Birth::Kernel
            } else {
                birth(graph, (&log, &instances), first[usize::from(start)], stand)
            };
            Value { class, start, birth, lemma, is_unchanged }
        });
        let values = values.collect();
        Self { values, lemmas, terms: all, classes, place, nodes: closure.nodes }
    }

    /// Whether a term can be written and evaluated; the others are chosen forms.
    #[must_use]
    pub fn is_term(&self, id: Id) -> bool {
        usize::from(id) < self.terms.nodes().len()
    }

    /// The steps of rules and of the normal form that a lemma rests on, each equation once, those that others rest on first.
    #[must_use]
    pub fn equations(&self, lemma: usize) -> Vec<&Step> {
        let mut res: Vec<&Step> = self.steps(lemma).filter(|step| !matches!(step.why, Why::Parts(_))).collect();
        res.sort_by_key(|step| step.equation);
        res.dedup_by_key(|step| step.equation);
        res
    }

    /// How many of the steps that a lemma rests on are those of equal operands.
    #[must_use]
    pub fn n_congruences(&self, lemma: usize) -> usize {
        self.steps(lemma).filter(|step| matches!(step.why, Why::Parts(_))).count()
    }

    /// All steps that a lemma rests on.
    fn steps(&self, lemma: usize) -> impl Iterator<Item = &Step> {
        let mut needed: FxHashSet<usize> = FxHashSet::from_iter([lemma]);
        let mut pending = vec![lemma];
        while let Some(idx) = pending.pop() {
            for step in &self.lemmas[idx].steps {
                if let Why::Parts(parts) = &step.why {
                    pending.extend(parts.iter().copied().filter(|&part| needed.insert(part)));
                }
            }
        }
        let mut needed: Vec<usize> = needed.into_iter().collect();
        needed.sort_unstable();
        needed.into_iter().flat_map(|idx| &self.lemmas[idx].steps)
    }
}

/// The two ends of a lemma, in one order.
fn pair(left: Id, right: Id) -> (Id, Id) {
    (left.min(right), left.max(right))
}

/// The terms of an e-graph without its unions, so that what is made of them is what it says.
struct Terms<'a> {
    of: &'a Graph,
    graph: Graph,
    /// For each id of the e-graph its term.
    place: Vec<Id>,
    classes: Vec<Option<Id>>,
    /// For each of these terms the first id that it was made for.
    first: Vec<Id>,
    /// How many terms there were before any rule ran.
    n_encoded: usize,
    /// How many there were when all had run.
    n_saturated: usize,
}

/// What a rule says, as terms: the left side that it matched, and what it made of that.
#[derive(Clone, Copy, Debug)]
struct Instance {
    left: Id,
    right: Id,
}

impl<'a> Terms<'a> {
    fn new(of: &'a Graph, n_encoded: usize, n_saturated: usize) -> Self {
        let mut graph = Graph::new(Facts::new(of.analysis.context.clone()));
        graph.analysis.log = Some(Log::default());
        let place = Vec::with_capacity(of.nodes().len());
        let mut res = Self { of, graph, place, classes: Vec::new(), first: Vec::new(), n_encoded: 0, n_saturated: 0 };
        for (idx, node) in of.nodes().iter().enumerate() {
            if idx == n_encoded {
                res.n_encoded = res.graph.nodes().len();
            }
            if idx == n_saturated {
                res.n_saturated = res.graph.nodes().len();
            }
            let node = node.clone().map_children(|child| res.place[usize::from(child)]);
            let term = res.graph.add(node);
            res.classes.resize(res.graph.nodes().len(), None);
            res.first.resize(res.graph.nodes().len(), Id::from(idx));
            res.classes[usize::from(term)].get_or_insert(of.find(Id::from(idx)));
            res.place.push(term);
        }
        // Where nothing came after it, all terms came before it.
        let n = res.graph.nodes().len();
        res.n_encoded = if n_encoded >= of.nodes().len() { n } else { res.n_encoded };
        res.n_saturated = if n_saturated >= of.nodes().len() { n } else { res.n_saturated };
        res
    }

    /// What the rule of an entry said, if it can be said again.
    fn instance<'r>(
        &mut self,
        entry: &log::Entry,
        rule: impl Fn(&str) -> Option<&'r Rule>,
        functions: &Functions,
    ) -> Option<Instance> {
        let (name, matched) = entry.rule()?;
        let matched = matched?;
        let rule = direction(rule(name)?, matched.is_forward, functions)?;
        let kind = Kind::of(self.of[entry.left].data.dtype);
        let bindings = pattern::renamed(&matched.bindings, |id| self.place[usize::from(id)]);
        let (left, right) = pattern::instance(&mut self.graph, &rule, (&bindings, kind))?;
        Some(Instance { left, right })
    }
}

/// For each entry of a log the left side that its rule matched, over what the e-graph knows to be equal now.
fn left_sides<'r>(
    graph: &mut Graph,
    log: &Log,
    rule: impl Fn(&str) -> Option<&'r Rule>,
    functions: &Functions,
) -> Vec<Option<Id>> {
    let make = |entry: &log::Entry| {
        let (name, matched) = entry.rule()?;
        let matched = matched?;
        let rule = direction(rule(name)?, matched.is_forward, functions)?;
        let kind = Kind::of(graph[entry.left].data.dtype);
        pattern::left_side(graph, &rule, (&matched.bindings, kind))
    };
    log.entries.iter().map(make).collect()
}

fn replay(
    closure: &mut Closure,
    log: &Log,
    (instances, left_sides): (&[Option<Instance>], &[Option<Id>]),
    classes: &mut [Option<Id>],
    stand: impl Fn(Id) -> Id,
) {
    for (entry, (instance, left_side)) in log.entries.iter().zip(instances.iter().zip(left_sides)) {
        let (mut left, mut right) = (stand(entry.left), stand(entry.right));
        let Some((name, _)) = entry.rule() else {
            closure.unite(left, right, Reason::Normal);
            continue;
        };
        let mut is_instance = false;
        if let Some(instance) = instance.filter(|instance| closure.is_equal(instance.left, left)) {
            (left, is_instance) = (instance.left, true);
            classes[usize::from(left)].get_or_insert(entry.left);
            if closure.is_equal(instance.right, right) {
                right = instance.right;
                classes[usize::from(right)].get_or_insert(entry.right);
            }
        } else if let Some(known) = left_side.map(&stand).filter(|&known| closure.is_equal(known, left)) {
            (left, is_instance) = (known, true);
        }
        closure.unite(left, right, Reason::Rule { name: name.to_owned(), is_instance });
    }
}

/// The forms of the kept choices as terms, in which other kept values are the terms that stand for them.
fn forms(closure: &mut Closure, graph: &Graph, choices: &[Choice], stand: impl Fn(Id) -> Id) -> Vec<(Id, Id)> {
    let mut written: FxHashMap<Id, Id> = FxHashMap::default();
    let mut res = Vec::new();
    for choice in choices {
        let operand = |closure: &Closure, child: Id| {
            let child = graph.find(child);
            written.get(&child).copied().unwrap_or_else(|| closure.first(stand(child)))
        };
        let mut accumulated: FxHashMap<Id, Id> = FxHashMap::default();
        for (child, node) in &choice.accumulated {
            let node = node.clone().map_children(|child| operand(closure, child));
            accumulated.insert(graph.find(*child), closure.add(node));
        }
        let node = choice.node.clone().map_children(|child| {
            let known = accumulated.get(&graph.find(child)).copied();
            known.unwrap_or_else(|| operand(closure, child))
        });
        let mut form = closure.add(node);
        // What stands behind a guard is its form.
        let is_own = graph[choice.class].nodes.iter().any(|node| is_same(graph, node, &choice.node));
        let guard = graph[choice.class].nodes.iter().find_map(|node| match node {
            Node::Guard(guard, [inner]) if !is_own => {
                let has = graph[*inner].nodes.iter().any(|node| is_same(graph, node, &choice.node));
                has.then_some(*guard)
            }
            _ => None,
        });
        if let Some(guard) = guard {
            form = closure.add(Node::Guard(guard, [form]));
        }
        if choice.is_kept {
            res.push((choice.class, form));
        } else {
            written.insert(graph.find(choice.class), form);
        }
    }
    closure.settle();
    res
}

fn is_same(graph: &Graph, node: &Node, other: &Node) -> bool {
    let canonical = |node: &Node| node.clone().map_children(|child| graph.find(child));
    canonical(node) == canonical(other)
}

fn birth(graph: &Graph, (log, instances): (&Log, &[Option<Instance>]), start: Id, stand: impl Fn(Id) -> Id) -> Birth {
    let entries = std::iter::zip(&log.entries, instances);
    let mut made = entries.filter_map(|(entry, instance)| Some((entry, instance, entry.rule()?.0)));
    match made.find(|(entry, ..)| entry.n_nodes > usize::from(start)) {
        Some((entry, instance, name)) if is_part(graph, start, entry.right) => {
            let sides = instance.map_or((stand(entry.left), stand(entry.right)), |made| (made.left, made.right));
            Birth::Rule { name: name.to_owned(), left: sides.0, right: sides.1 }
        }
        _ => Birth::Form,
    }
}

/// Whether a term is a part of another one. Parts have smaller ids, so the walk ends at that of the term.
fn is_part(graph: &Graph, part: Id, whole: Id) -> bool {
    let mut pending = vec![whole];
    let mut seen = FxHashSet::default();
    while let Some(id) = pending.pop() {
        if id == part {
            return true;
        }
        if id > part && seen.insert(id) {
            pending.extend(graph.id_to_node(id).children());
        }
    }
    false
}

/// Collects lemmas.
struct Prover<'a> {
    closure: &'a Closure,
    lemmas: BTreeMap<Ends, Chain>,
    pending: Vec<Ends>,
}

/// The ends of a lemma.
type Ends = (Id, Id);

/// The steps between two terms, and the last equation among them.
type Chain = (Vec<Step>, usize);

impl Prover<'_> {
    fn prove(&mut self, left: Id, right: Id) {
        self.pending.push(pair(left, right));
        while let Some(ends) = self.pending.pop() {
            if self.lemmas.contains_key(&ends) {
                continue;
            }
            let path = self.closure.path(ends.0, ends.1);
            let last = path.iter().map(|(edge, _)| *edge + 1).max().unwrap_or(0);
            let mut at = ends.0;
            let mut steps = Vec::with_capacity(path.len());
            for (equation, is_reversed) in path {
                let edge = &self.closure.edges[equation];
                let right = if is_reversed { edge.left } else { edge.right };
                let why = match &edge.reason {
                    Reason::Rule { name, is_instance } => Why::Rule { name: name.clone(), is_instance: *is_instance },
                    Reason::Normal => Why::Normal,
                    Reason::Parts(parts) => {
                        self.pending.extend(parts.iter().map(|&(a, b)| pair(a, b)));
                        Why::Parts(Vec::new())
                    }
                };
                steps.push(Step { left: at, right, why, is_reversed, equation });
                at = right;
            }
            self.lemmas.insert(ends, (steps, last));
        }
    }

    /// The lemmas in an order in which each rests on those before it, and the place of each.
    fn finish(self) -> (Vec<Lemma>, BTreeMap<(Id, Id), usize>) {
        let mut all: Vec<(Ends, Chain)> = self.lemmas.into_iter().collect();
        all.sort_by_key(|(ends, (_, last))| (*last, *ends));
        let place: BTreeMap<(Id, Id), usize> = all.iter().enumerate().map(|(idx, (ends, _))| (*ends, idx)).collect();
        let lemmas = all.into_iter().map(|((left, right), (mut steps, _))| {
            for step in &mut steps {
                if let Reason::Parts(parts) = &self.closure.edges[step.equation].reason {
                    step.why = Why::Parts(parts.iter().map(|&(a, b)| place[&pair(a, b)]).collect());
                }
            }
            Lemma { left, right, steps }
        });
        (lemmas.collect(), place)
    }
}

//! Proofs are checked by other means than those that found them.
//!
//! # Method
//! Chains must be without gaps, and rest on earlier lemmas only; operations of equal parts must be the same once these lemmas are taken for granted. Each
//! equation of a rule or of the normal form is evaluated on both sides by the [judge](crate::judge). Each rule is run once more, alone, on its
//! left sides, with nothing but what was known of their values: it must make the right sides again. Where it does not, because a side was written with
//! one form of an operand and the rule saw another, it runs with all forms of the operands, but none of the value itself. What it does not make even
//! then rests on its values alone; it is told, and no error: a right side may have been made with a constant that another rule found. Guided rules look at
//! whole e-graphs, so of those only the values are checked.

use std::collections::BTreeMap;

use egg::{Id, Language};
use nestegg_ir::{Kernel, ReduceOp};
use nestegg_rules::{Rule, RuleKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Proofs, Step, Why};
use crate::analysis::{Data, Facts, Graph};
use crate::build;
use crate::judge::{Agreement, Judge, term};
use crate::language::{Node, ReductionId};
use crate::pattern::Functions;
use crate::rational::Rational;
use crate::saturate::equations;

/// How many operations of numbers one equation may take.
const MAX_STEPS: u64 = 2_000_000;
/// How far below the root of a left side operands have all their forms.
const DEPTH: usize = 4;
/// How many problems are kept as text.
const MAX_SHOWN: usize = 20;

/// What checking found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Steps of all kinds.
    pub n_steps: usize,
    /// Equations of rules and of the normal form, each once.
    pub n_equations: usize,
    /// Those whose sides were found equal on all data.
    pub n_evaluated: usize,
    /// Those of which evaluation can say nothing, by reason.
    pub unjudged: BTreeMap<String, usize>,
    /// Instances of pattern rules.
    pub n_instances: usize,
    /// Those that the rule makes again.
    pub n_rematched: usize,
    /// The others, in words.
    pub not_made: Vec<String>,
    /// How many things are wrong.
    pub n_wrong: usize,
    /// The first of them, in words.
    pub wrong: Vec<String>,
}

impl Checked {
    fn wrong(&mut self, what: String) {
        self.n_wrong += 1;
        if self.wrong.len() < MAX_SHOWN {
            self.wrong.push(what);
        }
    }
}

/// Checks the proofs of a kernel's values.
pub fn check<'r>(
    proofs: &Proofs,
    egraph: &Graph,
    kernel: &Kernel,
    judge: &mut Judge<'_>,
    rule: impl Fn(&str) -> Option<&'r Rule>,
    functions: &Functions,
) -> Checked {
    let mut res = Checked::default();
    let graph = &proofs.terms;
    let text = |id: Id| if proofs.is_term(id) { term(graph, kernel, id) } else { "the chosen form".to_owned() };
    for value in proofs.values.iter().filter(|value| value.lemma.is_none()) {
        res.wrong(format!("there is no proof for `{}`", text(value.start)));
    }
    for idx in 0..proofs.lemmas.len() {
        if let Some(gap) = gap(proofs, idx) {
            res.wrong(gap);
        }
    }
    let mut all: BTreeMap<usize, &Step> = BTreeMap::new();
    for step in proofs.lemmas.iter().flat_map(|lemma| &lemma.steps) {
        res.n_steps += 1;
        if !matches!(step.why, Why::Parts(_)) {
            all.insert(step.equation, step);
        }
    }
    res.n_equations = all.len();
    for step in all.values() {
        if !proofs.is_term(step.left) || !proofs.is_term(step.right) {
            res.wrong("a rule made a form that it cannot have seen".to_owned());
            continue;
        }
        match judge.agree(graph, step.left, step.right, &mut MAX_STEPS.clone()) {
            Agreement::Equal => res.n_evaluated += 1,
            Agreement::Unknown(gap) => *res.unjudged.entry(gap.to_string()).or_default() += 1,
            Agreement::Different(finding) => res.wrong(format!("{}: {finding}", name(step))),
        }
    }
    let mut of_rules: BTreeMap<&str, Vec<(Id, Id)>> = BTreeMap::new();
    for step in all.values() {
        if let Why::Rule { name, is_instance } = &step.why
            && rule(name).is_some_and(|rule| matches!(rule.kind, RuleKind::Pattern { .. }))
        {
            if *is_instance {
                let (left, right) = if step.is_reversed { (step.right, step.left) } else { (step.left, step.right) };
                of_rules.entry(name).or_default().push((left, right));
            } else {
                res.n_instances += 1;
                res.not_made.push(format!("`{name}`: `{}` = `{}`", text(step.left), text(step.right)));
            }
        }
    }
    for (name, pairs) in of_rules {
        let Some(rule) = rule(name) else { continue };
        res.n_instances += pairs.len();
        let left = missed((proofs, egraph), rule, functions, &pairs);
        res.n_rematched += pairs.len() - left.len();
        for (from, to) in left {
            res.not_made.push(format!("`{name}`: `{}` = `{}`", text(from), text(to)));
        }
    }
    res
}

fn name(step: &Step) -> String {
    match &step.why {
        Why::Rule { name, .. } => format!("`{name}`"),
        _ => "the normal form".to_owned(),
    }
}

/// What is wrong with the chain of a lemma, if something is.
fn gap(proofs: &Proofs, idx: usize) -> Option<String> {
    let lemma = &proofs.lemmas[idx];
    let mut at = lemma.left;
    for step in &lemma.steps {
        if step.left != at {
            return Some(format!("the chain of lemma {idx} has a gap"));
        }
        at = step.right;
        if let Why::Parts(parts) = &step.why {
            if parts.iter().any(|&part| part >= idx) {
                return Some(format!("lemma {idx} rests on a later one"));
            }
            let mut stands: FxHashMap<Id, Id> = FxHashMap::default();
            let find = |stands: &FxHashMap<Id, Id>, id: Id| {
                let mut at = id;
                while let Some(&next) = stands.get(&at) {
                    at = next;
                }
                at
            };
            for &part in parts {
                let ends = [proofs.lemmas[part].left, proofs.lemmas[part].right].map(|id| find(&stands, id));
                if ends[0] != ends[1] {
                    stands.insert(ends[0], ends[1]);
                }
            }
            let canonical = |id: Id| proofs.nodes[usize::from(id)].clone().map_children(|child| find(&stands, child));
            if canonical(step.left) != canonical(step.right) {
                return Some(format!("two operations of lemma {idx} are not the same"));
            }
        }
    }
    (at != lemma.right).then(|| format!("the chain of lemma {idx} does not end where it should"))
}

/// The pairs of which a rule, run alone on the left sides, does not make the right sides.
fn missed(
    (proofs, egraph): (&Proofs, &Graph),
    rule: &Rule,
    functions: &Functions,
    pairs: &[(Id, Id)],
) -> Vec<(Id, Id)> {
    let mut left = pairs.to_vec();
    for knows_facts in [false, true] {
        if left.is_empty() {
            break;
        }
        let mut scratch = Graph::new(Facts::new(proofs.terms.analysis.context.clone()));
        scratch.analysis.has_zeros = egraph.analysis.has_zeros;
        let data = |id: Id| Some(egraph[proofs.classes[usize::from(id)].filter(|_| knows_facts)?].data.clone());
        let mut copy = Copy { graph: &proofs.terms, known: FxHashMap::default(), data };
        for (from, _) in &left {
            copy.term(&mut scratch, *from);
        }
        scratch.rebuild();
        equations(&mut scratch, rule, functions, usize::MAX);
        scratch.rebuild();
        let made: Vec<(Id, Id)> =
            left.iter().map(|&(from, to)| (copy.known[&from], copy.term(&mut scratch, to))).collect();
        scratch.rebuild();
        let mut made = made.into_iter();
        left.retain(|_| made.next().is_some_and(|(from, to)| scratch.find(from) != scratch.find(to)));
    }
    left.retain(|&pair| !is_made_of_equals((proofs, egraph), rule, functions, pair));
    left
}

/// Whether a rule makes the right side of the left one where it sees all forms of its operands, and none of the value itself.
fn is_made_of_equals(
    (proofs, egraph): (&Proofs, &Graph),
    rule: &Rule,
    functions: &Functions,
    (from, to): (Id, Id),
) -> bool {
    let class = |id: Id| proofs.classes[usize::from(id)].map(|class| egraph.find(class));
    let Some(own) = class(from).or_else(|| class(to)) else { return false };
    let mut scratch = Graph::new(Facts::new(proofs.terms.analysis.context.clone()));
    scratch.analysis.has_zeros = egraph.analysis.has_zeros;
    let data = |id: Id| Some(egraph[class(id)?].data.clone());
    let mut copy = Copy { graph: &proofs.terms, known: FxHashMap::default(), data };
    let (first, last) = (copy.term(&mut scratch, from), copy.term(&mut scratch, to));
    let mut level: Vec<Id> =
        [from, to].iter().flat_map(|&id| proofs.terms.id_to_node(id).children()).copied().collect();
    // For each e-class the term that all its forms are united with.
    let mut kept: BTreeMap<Id, Id> = BTreeMap::new();
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for id in level {
            match class(id) {
                Some(class) if class == own || kept.contains_key(&class) => {}
                Some(class) => {
                    let term = copy.term(&mut scratch, proofs.place[usize::from(class)]);
                    kept.insert(class, term);
                    for node in &egraph[class].nodes {
                        let node = node.clone().map_children(|child| {
                            let child = proofs.place[usize::from(egraph.find(child))];
                            next.push(child);
                            copy.term(&mut scratch, child)
                        });
                        let form = scratch.add(node);
                        scratch.union(term, form);
                    }
                }
                None => next.extend(proofs.terms.id_to_node(id).children()),
            }
        }
        level = next;
    }
    let mut known: Vec<(Id, Id)> = copy.known.iter().map(|(&id, &copy)| (id, copy)).collect();
    known.sort_unstable();
    for (id, copied) in known {
        if let Some(class) = class(id).filter(|&class| class != own) {
            let kept = *kept.entry(class).or_insert(copied);
            scratch.union(kept, copied);
        }
    }
    scratch.rebuild();
    if scratch.find(first) == scratch.find(last) {
        return false;
    }
    equations(&mut scratch, rule, functions, usize::MAX);
    scratch.rebuild();
    normalise(&mut scratch);
    scratch.find(first) == scratch.find(last)
}

/// Normalises the e-graph again: numbers leave sums over inames, and sums and products around them absorb the factor. Rules build right sides
/// in this form wherever they can see the number.
fn normalise(graph: &mut Graph) {
    let mut found: Vec<(Id, ReductionId, Rational, Id)> = Vec::new();
    for class in graph.classes() {
        for node in &class.nodes {
            let Node::Reduce(reduction, [body]) = node else { continue };
            if graph.analysis.context.reduction(*reduction).op != ReduceOp::Sum {
                continue;
            }
            for node in &graph[*body].nodes {
                if let Node::Sum { coefficients, children } = node
                    && children.len() == 1
                {
                    found.push((class.id, *reduction, coefficients[0].clone(), children[0]));
                }
            }
        }
    }
    for (class, reduction, number, body) in found {
        let sum = graph.add(Node::Reduce(reduction, [body]));
        let form = build::scale(graph, number, sum);
        graph.union(class, form);
    }
    graph.rebuild();
    let nodes: Vec<(Id, Node)> =
        graph.classes().flat_map(|class| class.nodes.iter().map(|node| (class.id, node.clone()))).collect();
    for (class, node) in nodes {
        let form = match &node {
            Node::Sum { coefficients, children } => {
                build::sum(graph, coefficients.iter().cloned().zip(children.iter().copied()))
            }
            Node::Product { exponents, children } => {
                build::product(graph, exponents.iter().copied().zip(children.iter().copied()))
            }
            _ => continue,
        };
        graph.union(class, form);
    }
    graph.rebuild();
}

/// Terms of one e-graph in another one.
struct Copy<'a, F> {
    graph: &'a Graph,
    known: FxHashMap<Id, Id>,
    /// What is known of a value beside what its term says.
    data: F,
}

impl<F: Fn(Id) -> Option<Data>> Copy<'_, F> {
    fn term(&mut self, to: &mut Graph, root: Id) -> Id {
        let mut needed: FxHashSet<Id> = FxHashSet::default();
        let mut pending = vec![root];
        while let Some(id) = pending.pop() {
            if !self.known.contains_key(&id) && needed.insert(id) {
                pending.extend(self.graph.id_to_node(id).children());
            }
        }
        // Operands have smaller ids than what they are operands of.
        let mut order: Vec<Id> = needed.into_iter().collect();
        order.sort_unstable();
        for id in order {
            let node = self.graph.id_to_node(id).clone().map_children(|child| self.known[&child]);
            let copy = to.add(node);
            if let Some(data) = (self.data)(id) {
                to.set_analysis_data(copy, data);
            }
            self.known.insert(id, copy);
        }
        self.known[&root]
    }
}

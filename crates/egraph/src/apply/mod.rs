//! Guided rules: searches and applications that patterns cannot say, one per file.
//!
//! Each is registered here under the name that rule files give after `:apply`, with its limits. It is called once a
//! pass with all e-classes as they were at its start, adds forms by [`Pass::equate`], and never weighs: it may
//! leave out forms only under a limit of its own, which it reports.

pub mod contract;
pub mod factor;
pub mod group;
pub mod linear;
pub mod multiple;
pub mod nested;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use egg::{Id, Language};
use indexmap::IndexMap;
use nestegg_rules::Name;
use rustc_hash::FxHashMap;

use crate::analysis::Graph;
use crate::judge::{Equation, Meaning};
use crate::language::{Kind, Node};
use crate::proof::Matched;

/// One application of one rule to the whole e-graph.
#[derive(Debug)]
pub struct Pass<'a> {
    /// The e-graph; rebuilt when the pass starts.
    pub graph: &'a mut Graph,
    /// The canonical e-classes at the start, in increasing order.
    pub classes: &'a [Id],
    /// For each e-class how many e-classes use it, at the start.
    pub uses: &'a FxHashMap<Id, usize>,
    /// The rule's limits.
    pub limits: &'a IndexMap<Name, u64>,
    /// How many e-nodes the phase allows.
    pub nodes: usize,
    /// How many forms were equated, new or not.
    pub steps: usize,
    /// How many equations were new.
    pub fired: usize,
    /// Limits that were hit, by name.
    pub limits_hit: BTreeSet<String>,
    /// The new equations, where they are to be judged.
    pub equations: Option<Vec<Equation>>,
    /// Which of the rules that take turns is at work.
    pub turn: usize,
}

impl Pass<'_> {
    /// Says that two classes are equal; counts it if it is news. An integer and a float are never one value, whatever
    /// a rule says: operations on them differ.
    pub fn equate(&mut self, class: Id, form: Id) {
        self.equate_where(class, form, Vec::new, || None);
    }

    /// The same for a pattern whose variables stand for these classes.
    pub(crate) fn equate_where(
        &mut self,
        class: Id,
        form: Id,
        bindings: impl FnOnce() -> Vec<(String, Meaning)>,
        matched: impl FnOnce() -> Option<Matched>,
    ) {
        self.steps += 1;
        let kind = |id: Id| Kind::of(self.graph[id].data.dtype);
        if kind(class) != kind(form) {
            return;
        }
        let is_news = self.graph.analysis.log.is_some() && self.graph.find(class) != self.graph.find(form);
        let n_nodes = self.graph.nodes().len();
        if let Some(log) = self.graph.analysis.log.as_mut().filter(|_| is_news) {
            log.equated(class, form, (self.turn, matched()), n_nodes);
        }
        if self.graph.union(class, form) {
            self.fired += 1;
            if let Some(equations) = &mut self.equations {
                equations.push(Equation { class, form, bindings: bindings() });
            }
        }
    }

    /// Equates a form that only groups the operands of another form of its value; one that the value has already groups nothing.
    pub fn equate_grouped(&mut self, class: Id, form: Id) {
        let is_new = self.graph.find(form) != self.graph.find(class);
        if let [node] = self.graph[form].nodes.as_slice()
            && is_new
        {
            let node = node.clone().map_children(|child| self.graph.find(child));
            self.graph.analysis.grouped.insert(node);
        }
        self.equate(class, form);
    }

    /// Whether a form only groups operands: they stand in another form of the same value, ungrouped, and a search
    /// that looks at both finds everything twice (and at every grouping of everything, without end).
    #[must_use]
    pub fn is_grouped(&self, node: &Node) -> bool {
        self.graph.analysis.grouped.contains(node)
    }

    /// The value of one of the rule's limits.
    ///
    /// # Panics
    /// If the rule has no such limit, which the vocabulary excludes.
    #[must_use]
    pub fn limit(&self, name: &str) -> usize {
        usize::try_from(self.limits[name]).unwrap_or(usize::MAX)
    }

    /// Whether the phase's e-nodes are used up, or the rule equated as many forms as it allows e-nodes: forms that
    /// turn out to be known cost time, but no e-node. Reported once.
    pub fn is_full(&mut self) -> bool {
        let limit = if self.graph.total_size() >= self.nodes {
            "nodes"
        } else if self.steps >= self.nodes {
            "steps"
        } else {
            return false;
        };
        self.limits_hit.insert(limit.into());
        true
    }
}

/// For each e-class how many e-classes use it.
#[must_use]
pub fn count_uses(graph: &Graph) -> FxHashMap<Id, usize> {
    let mut uses: FxHashMap<Id, usize> = FxHashMap::default();
    for class in graph.classes() {
        let mut children: Vec<Id> =
            class.nodes.iter().flat_map(|node| node.children().iter().map(|&child| graph.find(child))).collect();
        children.sort_unstable();
        children.dedup();
        for child in children {
            *uses.entry(child).or_default() += 1;
        }
    }
    uses
}

/// Brings the e-nodes that grouping made up to date with the unions since.
pub fn refresh_grouped(graph: &mut Graph) {
    let is_stale = |node: &Node| node.children().iter().any(|&child| graph.find(child) != child);
    // The order in which a set is walked cannot be seen in the set that comes out.
    #[allow(clippy::iter_over_hash_type)]
    let stale: Vec<Node> = graph.analysis.grouped.iter().filter(|node| is_stale(node)).cloned().collect();
    for node in stale {
        graph.analysis.grouped.remove(&node);
        let node = node.map_children(|child| graph.find(child));
        graph.analysis.grouped.insert(node);
    }
}

/// A guided rule's code and what rule files may say of it.
#[derive(Clone, Debug)]
pub struct Applier {
    /// The name after `:apply`.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// Its limits: name, default, allowed values.
    pub limits: &'static [(&'static str, u64, RangeInclusive<u64>)],
    /// The code.
    pub apply: fn(&mut Pass<'_>),
}

/// Every guided rule's code.
pub static APPLIERS: &[Applier] = &[
    Applier {
        name: "group-sum",
        doc: "Terms of a sum with inames in a common set become a sum of their own, for every union of the terms' iname sets.",
        limits: &[("sets", 64, 1..=4096)],
        apply: group::sums,
    },
    Applier {
        name: "group-product",
        doc: "Factors of a product with inames in a common set become a product of their own, for every union of the factors' iname sets.",
        limits: &[("sets", 64, 1..=4096)],
        apply: group::products,
    },
    Applier {
        name: "common-factor",
        doc: "Terms of a sum with a common factor, a value or a number, become one product; the most profitable factors first, and after one another.",
        limits: &[("terms", 64, 2..=4096), ("factors", 4, 1..=64)],
        apply: factor::common_factor,
    },
    Applier {
        name: "shared-multiple",
        doc: "Products that have a number and a factor in common multiply the factor by the number once.",
        limits: &[],
        apply: multiple::shared_multiple,
    },
    Applier {
        name: "linear-form",
        doc: "A sum reduction as monomials in what depends on its free inames, contracted in every order and factorised by every iname.",
        limits: &[("monomials", 400, 1..=100_000)],
        apply: linear::linear_form,
    },
];

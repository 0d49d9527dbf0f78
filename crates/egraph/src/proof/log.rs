//! What was united and why.

use egg::Id;
use nestegg_rules::Rule;

use crate::analysis::Graph;
use crate::pattern::Bindings;

/// The unions of an e-graph in their order, but those that follow by congruence.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub(super) entries: Vec<Entry>,
    /// Entries from here on know their rule only by its place among those that take turns.
    n_named: usize,
}

/// What a pattern found.
#[derive(Clone, Debug)]
pub(crate) struct Matched {
    /// Whether the rule was read as it is written.
    pub(crate) is_forward: bool,
    /// What its variables stand for.
    pub(crate) bindings: Bindings,
}

/// One union.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) left: Id,
    pub(super) right: Id,
    /// How many terms there were.
    pub(super) n_nodes: usize,
    of_rule: Option<OfRule>,
}

#[derive(Clone, Debug)]
struct OfRule {
    turn: usize,
    name: String,
    matched: Option<Matched>,
}

impl Log {
    /// The log of an e-graph to which no rule has been applied: encoding has computed its constants.
    #[must_use]
    pub fn new(graph: &Graph) -> Self {
        let ids = (0..graph.nodes().len()).map(Id::from);
        let n_nodes = graph.nodes().len();
        let united = ids.filter(|&id| graph.find(id) != id);
        let entries = united.map(|id| Entry { left: id, right: graph.find(id), n_nodes, of_rule: None });
        Self { entries: entries.collect(), n_named: 0 }
    }

    /// The rules in the order in which they united something, each with how many ids there were.
    pub fn makers(&self) -> impl Iterator<Item = (usize, &str)> {
        self.entries.iter().filter_map(|entry| Some((entry.n_nodes, entry.rule()?.0)))
    }

    pub(crate) fn equated(&mut self, left: Id, right: Id, (turn, matched): (usize, Option<Matched>), n_nodes: usize) {
        let of_rule = Some(OfRule { turn, name: String::new(), matched });
        self.entries.push(Entry { left, right, n_nodes, of_rule });
    }

    pub(crate) fn folded(&mut self, left: Id, right: Id) {
        self.entries.push(Entry { left, right, n_nodes: 0, of_rule: None });
    }

    /// Gives the entries since the last call the names of the rules that took turns.
    pub(crate) fn name(&mut self, turns: &[&Rule]) {
        for entry in &mut self.entries[self.n_named..] {
            if let Some(of_rule) = &mut entry.of_rule {
                of_rule.name = turns[of_rule.turn].name.to_string();
            }
        }
        self.n_named = self.entries.len();
    }
}

impl Entry {
    /// The rule and what it matched; `None` if the normal form united the two.
    pub(super) fn rule(&self) -> Option<(&str, Option<&Matched>)> {
        self.of_rule.as_ref().map(|of_rule| (of_rule.name.as_str(), of_rule.matched.as_ref()))
    }
}

//! The e-graph around the values of a result, to be drawn.
//!
//! # Output
//! E-classes within a few steps of a kept value, each with its e-nodes: what is written there, which rule made it, whether it was chosen.
//! Ids are numbers of the picture.
//! # Complexity
//! One run of the search; the picture itself is limited ([`MAX_CLASSES`], [`MAX_NODES`]).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use egg::{Id, Language};
use nestegg_egraph::judge::{operation, term};
use nestegg_egraph::language::Node;
use nestegg_span::Source;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{Again, Explainer, Verify, named};
use crate::begin::{Begun, begin};
use crate::config::Config;
use crate::error::Error;
use crate::lineage::Lineage;
use crate::pipeline::Optimized;

/// How many e-classes a picture has of one search.
pub const MAX_CLASSES: usize = 600;
/// How many e-nodes are shown of one e-class; those that were chosen come first.
pub const MAX_NODES: usize = 12;

/// The e-graphs of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Picture {
    /// The kept values: names, and e-classes.
    pub values: Vec<(String, usize)>,
    /// The e-classes by number.
    pub classes: Vec<Class>,
}

/// An e-class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Class {
    /// Its value, as the kernel has it.
    pub text: String,
    /// Its e-nodes.
    pub nodes: Vec<Drawn>,
    /// How many more there are.
    pub more: usize,
}

/// An e-node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Drawn {
    /// What is written there.
    pub text: String,
    /// The rule that made it; none if the kernel has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Whether the result computes it.
    pub chosen: bool,
    /// The e-classes of its operands, as far as they are in the picture.
    pub children: Vec<usize>,
}

/// Draws the e-graphs that a result was chosen from; the result must remember what it was made of ([`Config::keeps_lineage`]).
///
/// # Errors
/// What is wrong with the kernel or the rules.
pub fn draw(source: &Source, config: &Config, optimized: &Optimized) -> Result<Picture, Error> {
    begin(source, config, |Begun { book, semantics, values, pass, .. }| {
        let explainer = Explainer {
            config,
            book,
            pass,
            semantics,
            values,
            verify: Verify::No,
            known: FxHashMap::default(),
            stages: Vec::new(),
        };
        let mut res = Picture::default();
        let mut seen: Vec<*const Lineage> = Vec::new();
        for lineage in &optimized.from {
            let Lineage::Searched(searched) = &**lineage else { continue };
            if !seen.contains(&Arc::as_ptr(lineage)) {
                seen.push(Arc::as_ptr(lineage));
                explainer.again(searched, |again| add(&mut res, &again))?;
            }
        }
        Ok(res)
    })
}

impl Picture {
    /// The picture for Graphviz.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut dot =
            "digraph egraph {\n  compound=true\n  node [shape=box, fontname=monospace, fontsize=10]\n".to_owned();
        for (idx, class) in self.classes.iter().enumerate() {
            let names: Vec<&str> =
                self.values.iter().filter(|(_, own)| *own == idx).map(|(name, _)| name.as_str()).collect();
            let label =
                if names.is_empty() { class.text.clone() } else { format!("{} = {}", names.join(", "), class.text) };
            dot += &format!("  subgraph cluster_{idx} {{\n    label=\"{}\"\n", quoted(&label));
            for (at, node) in class.nodes.iter().enumerate() {
                let by = node.rule.as_ref().map(|rule| format!("\\n{}", quoted(rule))).unwrap_or_default();
                let bold = if node.chosen { ", style=bold" } else { "" };
                dot += &format!("    n{idx}_{at} [label=\"{}{by}\"{bold}]\n", quoted(&node.text));
            }
            dot += "  }\n";
        }
        for (idx, class) in self.classes.iter().enumerate() {
            for (at, node) in class.nodes.iter().enumerate() {
                for child in node.children.iter().filter(|&&child| !self.classes[child].nodes.is_empty()) {
                    let bold = if node.chosen { ", style=bold" } else { "" };
                    dot += &format!("  n{idx}_{at} -> n{child}_0 [lhead=cluster_{child}{bold}]\n");
                }
            }
        }
        dot + "}\n"
    }
}

/// A key by which numbers in names are in their order.
fn natural(name: &str) -> Vec<(String, Option<u64>)> {
    let mut res: Vec<(String, Option<u64>)> = Vec::new();
    for part in name.chars() {
        match (part.to_digit(10), res.last_mut()) {
            (Some(digit), Some((_, number))) => {
                *number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(u64::from(digit)));
            }
            (None, Some((text, None))) => text.push(part),
            (digit, _) => res.push(digit.map_or((part.to_string(), None), |digit| (String::new(), Some(digit.into())))),
        }
    }
    res
}

/// Adds the e-graph of a search.
fn add(picture: &mut Picture, again: &Again<'_, '_>) {
    let Again { kernel, encoded, n_encoded, chosen, constructed, .. } = again;
    let graph = &encoded.graph;
    let canonical = |node: &Node| node.clone().map_children(|child| graph.find(child));
    let is_chosen: BTreeMap<Id, Vec<Node>> = chosen.iter().fold(BTreeMap::new(), |mut all, choice| {
        let nodes: &mut Vec<Node> = all.entry(graph.find(choice.class)).or_default();
        nodes.push(canonical(&choice.node));
        for (child, node) in &choice.accumulated {
            all.entry(graph.find(*child)).or_default().push(canonical(node));
        }
        all
    });
    let makers: Vec<(usize, &str)> = graph.analysis.log.as_ref().map(|log| log.makers().collect()).unwrap_or_default();
    let mut first: FxHashMap<Node, usize> = FxHashMap::default();
    for (idx, node) in graph.nodes().iter().enumerate() {
        first.entry(canonical(node)).or_insert(idx);
    }
    let rule = |node: &Node| {
        let idx = *first.get(node)?;
        let at = makers.partition_point(|(n_nodes, _)| *n_nodes <= idx);
        (idx >= *n_encoded).then(|| makers.get(at).map(|(_, rule)| (*rule).to_owned())).flatten()
    };
    // Values and what they are chosen of come first, then the other forms.
    let mut order: Vec<Id> = Vec::new();
    let mut place: FxHashMap<Id, usize> = FxHashMap::default();
    let base = picture.classes.len();
    let mut queue: VecDeque<Id> = chosen.iter().rev().map(|choice| graph.find(choice.class)).collect();
    while let Some(class) = queue.pop_front() {
        if order.len() >= MAX_CLASSES {
            break;
        }
        if place.contains_key(&class) {
            continue;
        }
        place.insert(class, base + order.len());
        order.push(class);
        queue.extend(graph[class].nodes.iter().flat_map(|node| node.children()).map(|&child| graph.find(child)));
    }
    for &class in &order {
        let own = is_chosen.get(&class).map(Vec::as_slice).unwrap_or_default();
        let mut nodes: Vec<(bool, usize, Node)> = graph[class]
            .nodes
            .iter()
            .map(canonical)
            .map(|node| (!own.contains(&node), first.get(&node).copied().unwrap_or(usize::MAX), node))
            .collect();
        nodes.sort();
        nodes.dedup();
        let more = nodes.len().saturating_sub(MAX_NODES);
        nodes.truncate(MAX_NODES);
        let drawn = nodes.into_iter().map(|(is_other, _, node)| Drawn {
            text: operation(graph, kernel, &node, class),
            rule: rule(&node),
            chosen: !is_other,
            children: node.children().iter().filter_map(|child| place.get(&graph.find(*child)).copied()).collect(),
        });
        picture.classes.push(Class { text: term(graph, kernel, class), nodes: drawn.collect(), more });
    }
    let named = named(encoded, (kernel, constructed));
    let mut values: Vec<(String, usize)> =
        named.into_iter().filter_map(|(class, (names, _))| Some((names.join(" and "), *place.get(&class)?))).collect();
    let is_temporary =
        |class: usize| constructed.temporaries.iter().any(|own| place.get(&graph.find(own.class)) == Some(&class));
    values.sort_by_cached_key(|(name, class)| (is_temporary(*class), natural(name), *class));
    picture.values.extend(values);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_in_their_order() {
        let mut names = ["A[10, 2]", "A[2, 10]", "A[2, 9]", "v1", "A[2, 0]"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["A[2, 0]", "A[2, 9]", "A[2, 10]", "A[10, 2]", "v1"]);
    }

    #[test]
    fn graphviz_gets_its_quotes() {
        let node = Drawn { text: "\"a\"".to_owned(), rule: None, chosen: true, children: vec![0] };
        let class = Class { text: "a\\b".to_owned(), nodes: vec![node], more: 0 };
        let dot = Picture { values: vec![("y".to_owned(), 0)], classes: vec![class] }.to_dot();
        assert!(dot.contains(r#"label="y = a\\b""#) && dot.contains(r#"[label="\"a\"", style=bold]"#), "{dot}");
        assert!(dot.contains("n0_0 -> n0_0 [lhead=cluster_0, style=bold]"), "{dot}");
    }
}

//! Numbers that multiply a factor once: `c·(a·x)` and `c·(a·y)` are `(c·a)·x` and `(c·a)·y`.
//!
//! # Method
//! Multiples of products are listed by the magnitude of their number and each of their factors. Where two or more have both in common, the number goes to the
//! factor, one form for each multiple and factor.
//! # Complexity
//! Linear in the factors of such products.
//! Source: Hosangadi, Fallah and Kastner, "Optimizing polynomial expressions by algebraic factorization and common subexpression
//! elimination", IEEE TCAD 2006 (numbers as factors like others).

use egg::Id;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::Pass;
use crate::analysis::Graph;
use crate::build;
use crate::language::{Kind, Node};
use crate::rational::Rational;

/// A number times a product.
#[derive(Clone, Debug)]
struct Multiple {
    /// Its e-class.
    class: Id,
    /// The number.
    number: Rational,
    /// The factors of the product.
    factors: Vec<(i32, Id)>,
}

/// The number of a multiple, without its sign, and one of its factors.
type Key = (Rational, (i32, Id));

/// Products by their factors: the e-class of the multiple, and whether its number is negative.
type Products = IndexMap<Vec<(i32, Id)>, (Id, bool), FxBuildHasher>;

/// `c·(a·x) == (c·a)·x` where other values are `c·(a·y)`.
pub fn shared_multiple(pass: &mut Pass<'_>) {
    let mut multiples: IndexMap<Key, Products, FxBuildHasher> = IndexMap::default();
    for &class in pass.classes {
        if Kind::of(pass.graph[class].data.dtype) != Kind::Float {
            continue;
        }
        for multiple in of_class(pass.graph, class) {
            for &factor in &multiple.factors {
                let products = multiples.entry((multiple.number.abs(), factor)).or_default();
                products.entry(multiple.factors.clone()).or_insert((multiple.class, multiple.number.is_negative()));
            }
        }
    }
    for ((magnitude, factor), multiples) in multiples {
        if multiples.len() < 2 {
            continue;
        }
        for (factors, (class, is_negative)) in multiples {
            if pass.is_full() {
                return;
            }
            let magnitude = build::number(pass.graph, magnitude.clone(), Kind::Float);
            let multiplied = build::product(pass.graph, [(1, magnitude), factor]);
            let others = factors.into_iter().filter(|other| *other != factor);
            let product = build::product(pass.graph, others.chain([(1, multiplied)]));
            let sign = if is_negative { Rational::MINUS_ONE } else { Rational::ONE };
            let form = build::scale(pass.graph, sign, product);
            pass.equate(class, form);
        }
    }
}

/// The multiples of products of several factors that an e-class is.
fn of_class(graph: &Graph, class: Id) -> Vec<Multiple> {
    let mut res = Vec::new();
    for node in &graph[class].nodes {
        match node {
            Node::Sum { coefficients, children } if children.len() == 1 && !coefficients[0].is_unit() => {
                let products = graph[children[0]].nodes.iter().filter_map(Node::factors);
                for factors in products {
                    let factors: Vec<(i32, Id)> = factors.map(|(power, child)| (power, graph.find(child))).collect();
                    let is_plain = factors.iter().all(|(_, child)| graph[*child].data.constant.is_none());
                    if factors.len() > 1 && is_plain {
                        res.push(Multiple { class, number: coefficients[0].clone(), factors });
                    }
                }
            }
            Node::Product { .. } => {
                let factors = node.factors().into_iter().flatten().map(|(power, child)| (power, graph.find(child)));
                let (numbers, factors): (Vec<_>, Vec<_>) =
                    factors.partition(|(_, child)| graph[*child].data.constant.is_some());
                if let [(1, number)] = numbers.as_slice()
                    && factors.len() > 1
                    && let Some(number) = graph[*number].data.constant.clone()
                {
                    res.push(Multiple { class, number, factors });
                }
            }
            _ => {}
        }
    }
    res
}

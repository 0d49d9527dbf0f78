//! Grouping by iname sets: the code motion of sums and products.
//!
//! The iname sets of the operands need not be nested: factors in {q, j} and in {q, k} give one group each, and a factor
//! in {q} may join either. Every set of the family closed under union gives one form; extraction chooses.
//! Source: reference 000 (the grouping of the predecessor, for nested sets only); `DESIGN.md`, "Rules".

use std::collections::BTreeSet;

use egg::Id;
use nestegg_ir::InameSet;

use super::Pass;
use crate::build;
use crate::language::Node;
use crate::rational::Rational;

/// `a + b + c == (a + b) + c` where the inames of `a` and `b` are in a common set that those of `c` exceed.
pub fn sums(pass: &mut Pass<'_>) {
    let limit = pass.limit("sets");
    for &class in pass.classes {
        if pass.is_full() {
            return;
        }
        let forms: Vec<Vec<(Rational, Id)>> = pass.graph[class]
            .nodes
            .iter()
            .filter_map(Node::terms)
            .filter(|terms| terms.len() > 2)
            .map(|terms| terms.map(|(coefficient, child)| (coefficient.clone(), child)).collect())
            .collect();
        for terms in forms {
            let sets: Vec<InameSet> = terms.iter().map(|(_, id)| pass.graph[*id].data.inames.clone()).collect();
            for union in family(pass, &sets, limit) {
                let (inside, outside) = partition(&terms, &sets, &union);
                if inside.len() > 1 && !outside.is_empty() {
                    // The group's sign is that of its first term, so that a - b and b - a meet.
                    let sign = inside[0].0.clone();
                    let sign = if sign.is_negative() { Rational::MINUS_ONE } else { Rational::ONE };
                    let group = inside.into_iter().map(|(coefficient, id)| (coefficient.times(&sign), id));
                    let group = build::sum(pass.graph, group);
                    let form = build::sum(pass.graph, outside.into_iter().chain([(sign, group)]));
                    pass.equate(class, form);
                }
            }
        }
    }
}

/// `a·b·c == (a·b)·c` where the inames of `a` and `b` are in a common set that those of `c` exceed.
pub fn products(pass: &mut Pass<'_>) {
    let limit = pass.limit("sets");
    for &class in pass.classes {
        if pass.is_full() {
            return;
        }
        let forms: Vec<Vec<(i32, Id)>> = pass.graph[class]
            .nodes
            .iter()
            .filter_map(Node::factors)
            .filter(|factors| factors.len() > 2)
            .map(Iterator::collect)
            .collect();
        for factors in forms {
            let sets: Vec<InameSet> = factors.iter().map(|(_, id)| pass.graph[*id].data.inames.clone()).collect();
            for union in family(pass, &sets, limit) {
                let (inside, outside) = partition(&factors, &sets, &union);
                if inside.len() > 1 && !outside.is_empty() {
                    let group = build::product(pass.graph, inside);
                    let form = build::product(pass.graph, outside.into_iter().chain([(1, group)]));
                    pass.equate(class, form);
                }
            }
        }
    }
}

/// All unions of the sets, at most `limit` of them, smaller families first.
fn family(pass: &mut Pass<'_>, sets: &[InameSet], limit: usize) -> BTreeSet<InameSet> {
    let distinct: BTreeSet<&InameSet> = sets.iter().collect();
    let mut family: BTreeSet<InameSet> = BTreeSet::new();
    for set in distinct {
        let unions: Vec<InameSet> = family.iter().map(|union| union.union(set)).collect();
        for union in unions.into_iter().chain([set.clone()]) {
            if family.len() >= limit && !family.contains(&union) {
                pass.limits_hit.insert("sets".into());
                return family;
            }
            family.insert(union);
        }
    }
    family
}

fn partition<T: Clone>(operands: &[T], sets: &[InameSet], union: &InameSet) -> (Vec<T>, Vec<T>) {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for (operand, set) in operands.iter().zip(sets) {
        if set.is_subset(union) { &mut inside } else { &mut outside }.push(operand.clone());
    }
    (inside, outside)
}

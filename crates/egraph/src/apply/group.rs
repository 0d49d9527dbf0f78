//! Grouping by iname sets: the code motion of sums and products.
//!
//! The iname sets of the operands need not be nested: factors in {q, j} and in {q, k} give one group each, and a factor
//! in {q} may join either. Every set of the family closed under union gives one form; extraction chooses.
//! A pass leaves out products that an earlier pass grouped and whose factors have not changed since. What has changed below a group alone may give one more form of it;
//! over 169 real kernels none of these made any seed cheaper.
//! Source: reference 000 (the grouping of the predecessor, for nested sets only); `DESIGN.md`, "Rules".

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use egg::Id;
use nestegg_ir::InameSet;
use rustc_hash::FxHashMap;

use super::Pass;
use crate::analysis::Graph;
use crate::build;
use crate::language::Node;
use crate::rational::Rational;

/// A product that was grouped.
#[derive(Clone, Debug)]
pub struct Grouped {
    /// The inames of its e-class.
    of_all: InameSet,
    operands: Vec<Operand>,
    /// How many forms were equated.
    steps: usize,
}

/// What grouping looks at in an operand.
#[derive(Clone, Debug, PartialEq)]
struct Operand {
    inames: InameSet,
    is_constant: bool,
    /// Its e-class without a sign, and the sign.
    base: (Rational, Id),
    /// The e-class that stands for it in even powers.
    even: Option<Id>,
}

impl Operand {
    fn of(graph: &Graph, &(exponent, class): &(i32, Id)) -> Self {
        let data = &graph[class].data;
        let base = build::unscaled(graph, class, Rational::is_unit);
        let even = (exponent % 2 == 0).then(|| build::either_sign(graph, base.1));
        Self { inames: data.inames.clone(), is_constant: data.constant.is_some(), base, even }
    }
}

/// For sets of operands the unions of these, each with the operands inside it.
struct Unions {
    limit: usize,
    known: FxHashMap<Vec<InameSet>, Rc<Vec<Vec<bool>>>>,
}

impl Unions {
    fn new(limit: usize) -> Self {
        Self { limit, known: FxHashMap::default() }
    }

    fn of(&mut self, pass: &mut Pass<'_>, sets: Vec<InameSet>) -> Rc<Vec<Vec<bool>>> {
        if let Some(known) = self.known.get(&sets) {
            return Rc::clone(known);
        }
        let inside = |union: InameSet| sets.iter().map(|set| set.is_subset(&union)).collect();
        let res = Rc::new(family(pass, &sets, self.limit).into_iter().map(inside).collect());
        self.known.insert(sets, Rc::clone(&res));
        res
    }
}

/// `a + b + c == (a + b) + c` where the inames of `a` and `b` are in a common set that those of `c` exceed.
pub fn sums(pass: &mut Pass<'_>) {
    let mut unions = Unions::new(pass.limit("sets"));
    for &class in pass.classes {
        if pass.is_full() {
            return;
        }
        let forms: Vec<Vec<(Rational, Id)>> = pass.graph[class]
            .nodes
            .iter()
            .filter(|node| !pass.is_grouped(node))
            .filter_map(Node::terms)
            .filter(|terms| terms.len() > 2)
            .map(|terms| terms.map(|(coefficient, child)| (coefficient.clone(), child)).collect())
            .collect();
        for terms in forms {
            let terms = by_set(pass, terms, |pass, terms| {
                // The group's sign is that of its first term, so that a - b and b - a meet.
                let negative = terms[0].0.is_negative();
                let sign = if negative { Rational::MINUS_ONE } else { Rational::ONE };
                let group = terms.into_iter().map(|(coefficient, id)| (coefficient.times(&sign), id));
                (sign.clone(), build::sum(pass.graph, group))
            });
            let sets: Vec<InameSet> = terms.iter().map(|(_, id)| pass.graph[*id].data.inames.clone()).collect();
            for is_inside in unions.of(pass, sets).iter() {
                if pass.is_full() {
                    return;
                }
                let (inside, outside) = partition(&terms, is_inside);
                if !outside.is_empty() {
                    let group = build::sum(pass.graph, inside);
                    let form = build::sum(pass.graph, outside.into_iter().chain([(Rational::ONE, group)]));
                    pass.equate_grouped(class, form);
                }
            }
        }
    }
}

/// `a·b·c == (a·b)·c` where the inames of `a` and `b` are in a common set that those of `c` exceed.
pub fn products(pass: &mut Pass<'_>) {
    let mut unions = Unions::new(pass.limit("sets"));
    for &class in pass.classes {
        if pass.is_full() {
            return;
        }
        let forms: Vec<Vec<(i32, Id)>> = pass.graph[class]
            .nodes
            .iter()
            .filter(|node| !pass.is_grouped(node))
            .filter_map(Node::factors)
            .map(Iterator::collect)
            .filter(|factors: &Vec<(i32, Id)>| {
                factors.len() > 2 || (factors.len() == 2 && factors.iter().any(is_power))
            })
            .collect();
        for factors in forms {
            let place = (pass.graph.find(class), factors.clone());
            let of_all = pass.graph[class].data.inames.clone();
            let operands: Vec<Operand> = factors.iter().map(|factor| Operand::of(pass.graph, factor)).collect();
            if let Some(known) = pass.graph.analysis.grouped_products.get(&place)
                && known.of_all == of_all
                && known.operands == operands
            {
                pass.steps += known.steps;
                continue;
            }
            let before = pass.steps;
            let factors = by_set(pass, factors, |pass, factors| (1, build::product(pass.graph, factors)));
            // A power of fewer inames is such a product, too: g*h*h == g*(h*h).
            let factors: Vec<(i32, Id)> = factors
                .into_iter()
                .map(|factor| {
                    let is_part = is_power(&factor) && pass.graph[factor.1].data.inames != of_all;
                    if is_part { power(pass, factor) } else { factor }
                })
                .collect();
            let sets: Vec<InameSet> = factors.iter().map(|(_, id)| pass.graph[*id].data.inames.clone()).collect();
            for is_inside in unions.of(pass, sets).iter() {
                if pass.is_full() {
                    return;
                }
                let (inside, outside) = partition(&factors, is_inside);
                if !outside.is_empty() {
                    let group = build::product(pass.graph, inside);
                    let form = build::product(pass.graph, outside.into_iter().chain([(1, group)]));
                    pass.equate_grouped(class, form);
                }
            }
            let grouped = Grouped { of_all, operands, steps: pass.steps - before };
            pass.graph.analysis.grouped_products.insert(place, grouped);
        }
    }
}

/// Whether a factor is multiplied with itself.
fn is_power((exponent, _): &(i32, Id)) -> bool {
    exponent.unsigned_abs() > 1
}

/// A power as a factor or divisor.
fn power(pass: &mut Pass<'_>, (exponent, class): (i32, Id)) -> (i32, Id) {
    (exponent.signum(), build::product(pass.graph, [(exponent.saturating_abs(), class)]))
}

/// One operand for each iname set: operands with equal sets are joined, which loses no placement.
fn by_set<W>(
    pass: &mut Pass<'_>,
    operands: Vec<(W, Id)>,
    join: impl Fn(&mut Pass<'_>, Vec<(W, Id)>) -> (W, Id),
) -> Vec<(W, Id)> {
    let mut groups: BTreeMap<InameSet, Vec<(W, Id)>> = BTreeMap::new();
    for operand in operands {
        groups.entry(pass.graph[operand.1].data.inames.clone()).or_default().push(operand);
    }
    if groups.len() == 1 {
        return groups.into_values().flatten().collect();
    }
    groups
        .into_values()
        .map(|mut operands| {
            if operands.len() == 1 {
                return operands.remove(0);
            }
            join(pass, operands)
        })
        .collect()
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

fn partition<T: Clone>(operands: &[T], is_inside: &[bool]) -> (Vec<T>, Vec<T>) {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for (operand, &is_inside) in operands.iter().zip(is_inside) {
        if is_inside { &mut inside } else { &mut outside }.push(operand.clone());
    }
    (inside, outside)
}

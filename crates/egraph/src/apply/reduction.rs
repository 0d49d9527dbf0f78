//! What can leave a reduction, and reductions of reductions.
//!
//! All but [`merge`] speak of sum reductions. An iname may only become the innermost one if the domains of the others
//! do not depend on it; [coupled](crate::coupling) inames stay together.
//!
//! A reduction whose body is its own value (`x == Σ_q x` over one point) says nothing that its other forms do not, and is no form to
//! search: each form of `x` would give another one. For the same reason [`split`] looks at all forms of a value before it adds one.

use egg::Id;
use nestegg_ir::{InameId, InameSet, ReduceOp};

use super::Pass;
use crate::analysis::Graph;
use crate::build;
use crate::language::{Kind, Node, ReductionId};
use crate::rational::Rational;

/// A reduction e-node: its operation, inames, those around it that these are coupled with, and body.
#[derive(Clone)]
struct Form {
    op: ReduceOp,
    inames: InameSet,
    pinned: InameSet,
    body: Id,
}

fn forms(graph: &Graph, class: Id) -> Vec<Form> {
    let class = graph.find(class);
    graph[class]
        .nodes
        .iter()
        .filter_map(|node| match node {
            Node::Reduce(reduction, [body]) => Some((*reduction, *body)),
            _ => None,
        })
        .map(|(reduction, body): (ReductionId, Id)| {
            let reduction = graph.analysis.context.reduction(reduction);
            Form {
                op: reduction.op,
                inames: reduction.inames.iter().copied().collect(),
                pinned: reduction.pinned.clone(),
                body: graph.find(body),
            }
        })
        .filter(|form| form.body != class)
        .collect()
}

/// The reduction of `body` over `inames`, which take their place in `form`'s surroundings.
fn reduce(graph: &mut Graph, form: &Form, inames: &InameSet, body: Id) -> Id {
    if inames.is_empty() {
        return body;
    }
    let reduction = graph.analysis.context.intern_reduction(form.op, inames, &form.pinned);
    graph.add(Node::Reduce(reduction, [body]))
}

/// Whether a value depends on an iname of a set.
fn depends(graph: &Graph, class: Id, inames: &InameSet) -> bool {
    !graph[class].data.inames.is_disjoint(inames)
}

/// Products (with exponents) that a class is, a multiple of a value counting as a product with a constant if that is
/// a double: as a coefficient it is written as a sum of doubles.
fn products(pass: &mut Pass<'_>, class: Id) -> Vec<Vec<(i32, Id)>> {
    let mut res: Vec<Vec<(i32, Id)>> = Vec::new();
    let mut multiples: Vec<(Rational, Id)> = Vec::new();
    for node in &pass.graph[class].nodes {
        match node {
            Node::Product { .. } if pass.is_grouped(node) => {}
            Node::Product { .. } => res.extend(node.factors().map(Iterator::collect)),
            Node::Sum { coefficients, children } if children.len() == 1 && coefficients[0].to_exact_f64().is_some() => {
                multiples.push((coefficients[0].clone(), children[0]));
            }
            _ => {}
        }
    }
    let kind = Kind::of(pass.graph[class].data.dtype);
    for (factor, base) in multiples {
        let factor = build::number(pass.graph, factor, kind);
        res.push(vec![(1, factor), (1, base)]);
    }
    res
}

/// `Σ_q a·b(q) == a·Σ_q b(q)`, and `Σ_{q,r} a(q)·b(q, r) == Σ_q a(q)·Σ_r b(q, r)`.
pub fn pull_invariant(pass: &mut Pass<'_>) {
    for &class in pass.classes {
        if pass.is_full() {
            return;
        }
        for form in forms(pass.graph, class) {
            if form.op != ReduceOp::Sum {
                continue;
            }
            for factors in products(pass, form.body) {
                if pass.is_full() {
                    return;
                }
                let (bound, free): (Vec<_>, Vec<_>) =
                    factors.iter().copied().partition(|&(_, id)| depends(pass.graph, id, &form.inames));
                if !free.is_empty() {
                    let body = build::product(pass.graph, bound);
                    let sum = reduce(pass.graph, &form, &form.inames, body);
                    let form = build::product(pass.graph, free.into_iter().chain([(1, sum)]));
                    pass.equate(class, form);
                    continue;
                }
                for iname in form.inames.iter().filter(|_| form.inames.len() > 1) {
                    let context = &pass.graph.analysis.context;
                    let inner = context.block(iname, &form.inames);
                    if inner.iter().next() != Some(iname) || !context.can_be_inner(&inner, &form.inames) {
                        continue;
                    }
                    let (with, without): (Vec<_>, Vec<_>) =
                        factors.iter().copied().partition(|&(_, id)| depends(pass.graph, id, &inner));
                    if !without.is_empty() {
                        let body = build::product(pass.graph, with);
                        let sum = reduce(pass.graph, &form, &inner, body);
                        let body = build::product(pass.graph, without.into_iter().chain([(1, sum)]));
                        let form = reduce(pass.graph, &form, &form.inames.difference(&inner), body);
                        pass.equate(class, form);
                    }
                }
            }
        }
    }
}

/// `Σ_q (a·b(q) + c(q)) == Σ_q a·b(q) + Σ_q c(q)`.
pub fn split(pass: &mut Pass<'_>) {
    for &class in pass.classes {
        let mut found: Vec<(Form, Terms)> = Vec::new();
        for form in forms(pass.graph, class).into_iter().filter(|form| form.op == ReduceOp::Sum) {
            let sums = pass.graph[form.body].nodes.iter().filter(|node| !pass.is_grouped(node)).filter_map(Node::terms);
            for terms in sums.filter(|terms| terms.len() > 1) {
                found.push((form.clone(), terms.map(|(coefficient, child)| (coefficient.clone(), child)).collect()));
            }
        }
        for (form, terms) in found {
            if pass.is_full() {
                return;
            }
            if let Some(parts) = parts(pass, &form, terms) {
                let form = build::sum(pass.graph, parts);
                pass.equate(class, form);
            }
        }
    }
}

/// A sum of classes.
type Terms = Vec<(Rational, Id)>;

/// A reduction of terms as a sum of reductions: of each term that a factor can leave, and of the others together.
fn parts(pass: &mut Pass<'_>, form: &Form, terms: Terms) -> Option<Terms> {
    let mut gains = Vec::new();
    let mut rest = Vec::new();
    for (coefficient, id) in terms {
        let can_pull = !depends(pass.graph, id, &form.inames)
            || products(pass, id).iter().flatten().any(|&(_, factor)| !depends(pass.graph, factor, &form.inames));
        if can_pull { &mut gains } else { &mut rest }.push((coefficient, id));
    }
    if gains.is_empty() {
        return None;
    }
    let mut parts = Vec::with_capacity(gains.len() + 1);
    for (coefficient, id) in gains {
        parts.push((coefficient, reduce(pass.graph, form, &form.inames, id)));
    }
    if !rest.is_empty() {
        let body = build::sum(pass.graph, rest);
        parts.push((Rational::ONE, reduce(pass.graph, form, &form.inames, body)));
    }
    Some(parts)
}

/// `Σ_{q,r} a(q) == n·Σ_q a(q)` where `r` has `n` values.
pub fn invariant(pass: &mut Pass<'_>) {
    for &class in pass.classes {
        if pass.is_full() {
            return;
        }
        for form in forms(pass.graph, class) {
            let context = &pass.graph.analysis.context;
            let body = &pass.graph[form.body].data.inames;
            let can_leave = |iname: InameId| {
                let own: InameSet = [iname].into_iter().collect();
                !body.contains(iname)
                    && context.coupled_with(&own).is_empty()
                    && context.can_be_inner(&own, &form.inames)
            };
            let free: InameSet = form.inames.iter().filter(|&iname| can_leave(iname)).collect();
            let n = free.iter().try_fold(1_i64, |n, iname| n.checked_mul(context.extent(iname)?));
            if let Some(n) = n.filter(|_| form.op == ReduceOp::Sum && !free.is_empty()) {
                let sum = reduce(pass.graph, &form, &form.inames.difference(&free), form.body);
                let form = build::scale(pass.graph, Rational::from_int(n), sum);
                pass.equate(class, form);
            }
        }
    }
}

/// `Σ_q Σ_r a == Σ_{q,r} a`, and the same of other operations.
///
/// Where the values of `q` depend on a free `r` (`[r] -> { [q] : 0 <= q < r }`), that is another `r` than the bound one, which would
/// capture it: a number like `n == Σ_r 1` has forms with bound inames anywhere.
pub fn merge(pass: &mut Pass<'_>) {
    for &class in pass.classes {
        for form in forms(pass.graph, class) {
            for inner in forms(pass.graph, form.body) {
                if pass.is_full() {
                    return;
                }
                // An inner reduction that is coupled with the outer one must be over the points that belong to its values.
                let coupled = pass.graph.analysis.context.coupled_with(&inner.inames).intersection(&form.inames);
                let is_same = inner.op == form.op && inner.inames.is_disjoint(&form.inames);
                let free = pass.graph.analysis.context.free_in_range(&form.inames, &form.pinned);
                let is_captured = !inner.inames.is_disjoint(&free);
                if is_same && !is_captured && coupled.is_subset(&inner.pinned) {
                    let all = form.inames.union(&inner.inames);
                    let both = Form { pinned: form.pinned.union(&inner.pinned), ..inner };
                    let form = reduce(pass.graph, &both, &all, both.body);
                    pass.equate(class, form);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use indexmap::IndexMap;
    use rustc_hash::FxHashMap;

    use super::*;
    use crate::analysis::Facts;

    #[test]
    fn coefficients_that_are_no_doubles_are_no_factors() {
        let check = |factor: Rational, n: usize| {
            let mut graph = Graph::new(Facts::default());
            let x = graph.add(Node::Iname(InameId::new(0)));
            let class = graph.add(Node::sum([(factor, x)]));
            graph.rebuild();
            let (uses, limits) = (FxHashMap::default(), IndexMap::new());
            let mut pass = Pass {
                graph: &mut graph,
                classes: &[],
                uses: &uses,
                limits: &limits,
                nodes: 100,
                steps: 0,
                fired: 0,
                limits_hit: BTreeSet::new(),
                equations: None,
            };
            assert_eq!(products(&mut pass, class).len(), n);
        };
        let twentieth = Rational::from_f64(0.05).unwrap();
        check(twentieth.clone(), 1);
        check(twentieth.times(&twentieth), 0);
    }
}

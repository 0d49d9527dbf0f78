//! Sums in sums and products in products, where the inner one has no other use.
//!
//! A value may be among its own operands' operands (`b == a + (b - a)`): each class is taken apart once for each form,
//! and is an operand like any other where it comes again.

use egg::Id;
use rustc_hash::FxHashSet;

use super::Pass;
use crate::build;
use crate::language::Node;
use crate::rational::Rational;

/// `(a + b) + c == a + b + c`, to any depth at once.
pub fn sums(pass: &mut Pass<'_>) {
    for &class in pass.classes {
        if pass.is_full() {
            return;
        }
        for terms in sums_of(pass, class) {
            let mut flat: Vec<(Rational, Id)> = Vec::with_capacity(terms.len());
            let mut pending: Vec<(Rational, Id)> = terms.iter().rev().cloned().collect();
            let mut taken: FxHashSet<Id> = [pass.graph.find(class)].into_iter().collect();
            while let Some((coefficient, child)) = pending.pop() {
                let inner = if coefficient.is_unit() { inner(pass, child, &mut taken, sums_of) } else { None };
                match inner {
                    Some(inner) => {
                        pending.extend(inner.into_iter().rev().map(|(c, id)| (coefficient.times(&c), id)));
                    }
                    None => flat.push((coefficient, child)),
                }
            }
            if flat.len() > terms.len() {
                let form = build::sum(pass.graph, flat);
                pass.equate(class, form);
            }
        }
    }
}

/// `(a·b)·c == a·b·c`, to any depth at once.
pub fn products(pass: &mut Pass<'_>) {
    for &class in pass.classes {
        if pass.is_full() {
            return;
        }
        for factors in products_of(pass, class) {
            let mut flat: Vec<(i32, Id)> = Vec::with_capacity(factors.len());
            let mut pending: Vec<(i32, Id)> = factors.iter().rev().copied().collect();
            let mut taken: FxHashSet<Id> = [pass.graph.find(class)].into_iter().collect();
            while let Some((exponent, child)) = pending.pop() {
                let inner = if exponent.abs() == 1 { inner(pass, child, &mut taken, products_of) } else { None };
                match inner {
                    Some(inner) => {
                        pending.extend(inner.into_iter().rev().map(|(e, id)| (exponent * e, id)));
                    }
                    None => flat.push((exponent, child)),
                }
            }
            if flat.len() > factors.len() {
                let form = build::product(pass.graph, flat);
                pass.equate(class, form);
            }
        }
    }
}

/// The operands of `child` if it is an inner node with one use that was not taken apart before.
fn inner<T>(
    pass: &Pass<'_>,
    child: Id,
    taken: &mut FxHashSet<Id>,
    forms: impl Fn(&Pass<'_>, Id) -> Vec<Vec<T>>,
) -> Option<Vec<T>> {
    let child = pass.graph.find(child);
    if pass.uses.get(&child) != Some(&1) || taken.contains(&child) {
        return None;
    }
    let operands = forms(pass, child).into_iter().next()?;
    taken.insert(child);
    Some(operands)
}

fn sums_of(pass: &Pass<'_>, class: Id) -> Vec<Vec<(Rational, Id)>> {
    pass.graph[class]
        .nodes
        .iter()
        .filter_map(Node::terms)
        .filter(|terms| terms.len() > 1)
        .map(|terms| terms.map(|(coefficient, child)| (coefficient.clone(), child)).collect())
        .collect()
}

fn products_of(pass: &Pass<'_>, class: Id) -> Vec<Vec<(i32, Id)>> {
    pass.graph[class]
        .nodes
        .iter()
        .filter_map(Node::factors)
        .filter(|factors| factors.len() > 1)
        .map(Iterator::collect)
        .collect()
}

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
                let inner = if coefficient.is_unit() { inner(pass, child, &mut taken, first_sum_of) } else { None };
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
                let inner = if exponent.abs() == 1 { inner(pass, child, &mut taken, first_product_of) } else { None };
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
    first_form: impl Fn(&Pass<'_>, Id) -> Option<Vec<T>>,
) -> Option<Vec<T>> {
    let child = pass.graph.find(child);
    if pass.uses.get(&child) != Some(&1) || taken.contains(&child) {
        return None;
    }
    let operands = first_form(pass, child)?;
    taken.insert(child);
    Some(operands)
}

/// The terms of each form of a class that is a sum of several.
fn sums_in<'a>(pass: &'a Pass<'_>, class: Id) -> impl Iterator<Item = Vec<(Rational, Id)>> + 'a {
    let sums = pass.graph[class].nodes.iter().filter_map(Node::terms).filter(|terms| terms.len() > 1);
    sums.map(|terms| terms.map(|(coefficient, child)| (coefficient.clone(), child)).collect())
}

fn sums_of(pass: &Pass<'_>, class: Id) -> Vec<Vec<(Rational, Id)>> {
    sums_in(pass, class).collect()
}

fn first_sum_of(pass: &Pass<'_>, class: Id) -> Option<Vec<(Rational, Id)>> {
    sums_in(pass, class).next()
}

/// The factors of each form of a class that is a product of several.
fn products_in<'a>(pass: &'a Pass<'_>, class: Id) -> impl Iterator<Item = Vec<(i32, Id)>> + 'a {
    let products = pass.graph[class].nodes.iter().filter_map(Node::factors).filter(|factors| factors.len() > 1);
    products.map(Iterator::collect)
}

fn products_of(pass: &Pass<'_>, class: Id) -> Vec<Vec<(i32, Id)>> {
    products_in(pass, class).collect()
}

fn first_product_of(pass: &Pass<'_>, class: Id) -> Option<Vec<(i32, Id)>> {
    products_in(pass, class).next()
}

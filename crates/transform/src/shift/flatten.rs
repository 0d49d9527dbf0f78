//! Sums of sums as one sum, and terms with a common factor as one multiple of a sum.

use nestegg_ir::ReduceOp;

use crate::shift::divide::divided;
use crate::shift::scale::Scale;
use crate::shift::translate::Root;
use crate::shift::values::{Body, Ref, Term, ValueId, Values, compose, merged};

/// The values anew: a sum that one other sum uses once and nothing else joins it, and in each sum terms with a number in common
/// are added up before they are multiplied. `None` if what is stored, or an operand of a function, cancels altogether: there is no value that is zero.
pub(crate) fn flatten(old: &Values, roots: &mut [Root]) -> Option<Values> {
    let terms: Vec<Term> = roots.iter().map(|root| root.value.clone()).collect();
    let mut order = old.users_first(&terms);
    order.reverse();
    let joins = joins(old, &order, &terms);
    let mut new = Values::new();
    // For each old value what it is, over its formals: one term, or several where it joins a sum.
    let mut made: Vec<Vec<Term>> = vec![Vec::new(); old.values.len()];
    for value in order {
        let res = match &old.values[value.index()].body {
            Body::Sum(terms) => {
                let flat = terms.iter().flat_map(|term| placed(&made, &term.of, &term.scale)).collect();
                if joins[value.index()] { flat } else { grouped(&mut new, flat).into_iter().collect() }
            }
            Body::Product(factors) => {
                let factors: Vec<Vec<(Term, i32)>> = factors
                    .iter()
                    .map(|(of, exponent)| {
                        placed(&made, of, &Scale::one()).into_iter().map(|term| (term, *exponent)).collect()
                    })
                    .collect();
                // A factor that cancelled is zero; so is the product.
                if factors.iter().any(Vec::is_empty) {
                    Vec::new()
                } else {
                    let factors: Vec<(Term, i32)> = factors.into_iter().flatten().collect();
                    let quotient = match factors.as_slice() {
                        [(dividend, 1), (divisor, -1)] | [(divisor, -1), (dividend, 1)] => {
                            divided(&mut new, dividend, divisor)
                        }
                        _ => None,
                    };
                    vec![quotient.unwrap_or_else(|| new.product(factors))]
                }
            }
            Body::Apply(operation, operands) => {
                let operands: Option<Vec<Term>> =
                    operands.iter().map(|term| single(placed(&made, &term.of, &term.scale))).collect();
                vec![new.apply(*operation, &operands?)]
            }
            Body::Reduce(op, inames, term) => match single(placed(&made, &term.of, &term.scale)) {
                Some(term) => vec![new.reduce(*op, inames, &term)],
                None if *op == ReduceOp::Sum => Vec::new(),
                None => return None,
            },
            Body::Leaf { array, indices, version } => vec![new.leaf(*array, indices, *version)],
            Body::Exact(expr) => vec![new.exact(*expr)],
            Body::One => vec![Values::number(Scale::one())],
        };
        made[value.index()] = res;
    }
    for root in roots {
        root.value = single(placed(&made, &root.value.of, &root.value.scale))?;
    }
    Some(new)
}

/// The term where there is one.
fn single(terms: Vec<Term>) -> Option<Term> {
    <[Term; 1]>::try_from(terms).ok().map(|[term]| term)
}

/// For each value whether it is a sum with one use, in a sum.
fn joins(old: &Values, order: &[ValueId], roots: &[Term]) -> Vec<bool> {
    let mut n_uses = vec![0_usize; old.values.len()];
    let mut is_operand = vec![false; old.values.len()];
    for root in roots {
        n_uses[root.of.value.index()] += 1;
        is_operand[root.of.value.index()] = true;
    }
    for &value in order {
        let is_sum = matches!(old.values[value.index()].body, Body::Sum(_));
        for child in old.children(value) {
            n_uses[child.value.index()] += 1;
            is_operand[child.value.index()] |= !is_sum;
        }
    }
    let joins = |(idx, value): (usize, &crate::shift::values::Value)| {
        n_uses[idx] == 1 && !is_operand[idx] && matches!(value.body, Body::Sum(_))
    };
    old.values.iter().enumerate().map(joins).collect()
}

/// What stands for a multiple of an old value.
fn placed(made: &[Vec<Term>], of: &Ref, scale: &Scale) -> Vec<Term> {
    let place = |term: &Term| Term {
        of: Ref { value: term.of.value, at: compose(&term.of.at, &of.at) },
        scale: term.scale.times(scale),
    };
    made[of.value.index()].iter().map(place).collect()
}

/// The sum of terms, those with the same magnitude of their factors in sums of their own.
fn grouped(new: &mut Values, terms: Vec<Term>) -> Option<Term> {
    let terms = merged(terms);
    let mut groups: Vec<(Scale, Vec<Term>)> = Vec::new();
    for term in terms {
        match groups.iter_mut().find(|group| group.0.factors == term.scale.factors) {
            Some(group) => group.1.push(term),
            None => groups.push((term.scale.clone().abs(), vec![term])),
        }
    }
    if groups.len() == 1 {
        return groups.pop().and_then(|(_, terms)| new.sum(terms));
    }
    let mut outer = Vec::new();
    for (scale, terms) in groups {
        if scale.is_unit() || terms.len() == 1 {
            outer.extend(terms);
        } else {
            outer.extend(new.sum(terms));
        }
    }
    new.sum(outer)
}

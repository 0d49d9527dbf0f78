//! Quotients of sums as a whole part and a rest: `(a*f + b*f + c)/(a + b) == f + c/(a + b)`.
//!
//! # Method
//! The dividend is taken as monomials, products with one sum distributed. A factor that every monomial of the divisor has beside it in
//! the dividend is the whole part, if that leaves fewer operations.

use crate::shift::scale::Scale;
use crate::shift::values::{Body, Ref, Term, Values, compose};

/// How many terms a dividend or divisor may have.
const MAX_TERMS: usize = 64;

/// A product of powers.
type Powers = Vec<(Ref, i32)>;

/// `scale·Π cofactor·Σ inner`.
#[derive(Clone, Debug)]
struct Item {
    scale: Scale,
    cofactor: Powers,
    inner: Vec<Term>,
}

/// The quotient of two sums with its whole part taken out; `None` if there is none.
pub(crate) fn divided(values: &mut Values, dividend: &Term, divisor: &Term) -> Option<Term> {
    let mut items = items(values, dividend)?;
    let divisors: Vec<(Scale, Powers)> =
        terms_of(values, divisor)?.into_iter().map(|term| (term.scale.clone(), powers(values, &term.of))).collect();
    let (whole, rest) = whole_part(values, &items, &divisors)?;
    items = rest;
    let mut terms = vec![whole];
    let mut remainder = Vec::new();
    for item in items {
        let Some(inner) = values.sum(item.inner) else { continue };
        let factors = item.cofactor.into_iter().map(|(of, exponent)| (Term { of, scale: Scale::one() }, exponent));
        let product = values.product(factors.chain([(inner, 1)]));
        remainder.push(Term { scale: product.scale.times(&item.scale), of: product.of });
    }
    if let Some(remainder) = values.sum(remainder) {
        terms.push(values.product([(remainder, 1), (divisor.clone(), -1)]));
    }
    values.sum(terms)
}

/// The terms of a multiple of a sum, where the multiple stands.
fn terms_of(values: &Values, sum: &Term) -> Option<Vec<Term>> {
    let Body::Sum(terms) = &values.values[sum.of.value.index()].body else { return None };
    let place = |term: &Term| Term {
        of: Ref { value: term.of.value, at: compose(&term.of.at, &sum.of.at) },
        scale: term.scale.times(&sum.scale),
    };
    (terms.len() <= MAX_TERMS).then(|| terms.iter().map(place).collect())
}

/// The factors of a value, sorted.
fn powers(values: &Values, of: &Ref) -> Powers {
    let mut res: Powers = match &values.values[of.value.index()].body {
        Body::One => Vec::new(),
        // A power is a factor by itself.
        Body::Product(factors) if factors.len() > 1 => factors
            .iter()
            .map(|(factor, exponent)| (Ref { value: factor.value, at: compose(&factor.at, &of.at) }, *exponent))
            .collect(),
        _ => vec![(of.clone(), 1)],
    };
    res.sort();
    res
}

/// The product of two products.
fn joined(a: &Powers, b: &Powers) -> Powers {
    let mut res = a.clone();
    for (of, exponent) in b {
        match res.iter_mut().find(|known| known.0 == *of) {
            Some(known) => known.1 += exponent,
            None => res.push((of.clone(), *exponent)),
        }
    }
    res.retain(|factor| factor.1 != 0);
    res.sort();
    res
}

fn items(values: &Values, dividend: &Term) -> Option<Vec<Item>> {
    let one = || vec![Values::number(Scale::one())];
    let item = |term: Term| {
        let cofactor = powers(values, &term.of);
        let is_sum =
            |factor: &&(Ref, i32)| factor.1 == 1 && matches!(values.values[factor.0.value.index()].body, Body::Sum(_));
        let mut sums = cofactor.iter().filter(is_sum);
        if cofactor.len() > 1
            && let (Some(sum), None) = (sums.next().cloned(), sums.next())
            && let Some(inner) = terms_of(values, &Term { of: sum.0.clone(), scale: Scale::one() })
        {
            let cofactor = cofactor.into_iter().filter(|factor| *factor != sum).collect();
            return Item { scale: term.scale, cofactor, inner };
        }
        Item { scale: term.scale, cofactor, inner: one() }
    };
    Some(terms_of(values, dividend)?.into_iter().map(item).collect())
}

/// A factor and what the dividend is without its multiple of the divisor.
fn whole_part(values: &Values, items: &[Item], divisors: &[(Scale, Powers)]) -> Option<(Term, Vec<Item>)> {
    let (first_scale, first) = divisors.first()?;
    let inverse: Powers = first.iter().map(|(of, exponent)| (of.clone(), -exponent)).collect();
    let mut best: Option<(usize, Term, Vec<Item>)> = None;
    for item in items {
        for term in &item.inner {
            let monomial = joined(&item.cofactor, &powers(values, &term.of));
            let quotient = joined(&monomial, &inverse);
            let [(factor, 1)] = quotient.as_slice() else { continue };
            // The multiple that takes this monomial away, and those that take another away.
            let mut multiples = vec![item.scale.times(&term.scale).over(first_scale)];
            for (scale, divisor) in &divisors[1..] {
                let target = joined(divisor, &vec![(factor.clone(), 1)]);
                if let Some((of, inner)) = find(values, items, &target) {
                    multiples.push(items[of].scale.times(&items[of].inner[inner].scale).over(scale));
                }
            }
            if multiples.len() < divisors.len() {
                continue;
            }
            for multiple in multiples.into_iter().filter(|multiple| !multiple.has_pole()) {
                let Some(rest) = without(values, items, divisors, factor, &multiple) else { continue };
                let cost = cost(&rest) + usize::from(!multiple.is_unit());
                if best.as_ref().is_none_or(|known| cost < known.0) {
                    best = Some((cost, Term { of: factor.clone(), scale: multiple }, rest));
                }
            }
        }
    }
    let (cost_of_best, whole, rest) = best?;
    // Adding the whole part is one operation more.
    (cost_of_best + 1 < cost(items)).then_some((whole, rest))
}

/// Operations, about.
fn cost(items: &[Item]) -> usize {
    items.iter().map(|item| item.cofactor.len() + item.inner.len()).sum()
}

/// Where a monomial is.
fn find(values: &Values, items: &[Item], target: &Powers) -> Option<(usize, usize)> {
    items.iter().enumerate().find_map(|(idx, item)| {
        let is_target = |term: &Term| joined(&item.cofactor, &powers(values, &term.of)) == *target;
        Some((idx, item.inner.iter().position(is_target)?))
    })
}

/// The items without `multiple·factor·divisor`; `None` if that is no change of the monomials that are there.
fn without(
    values: &Values,
    items: &[Item],
    divisors: &[(Scale, Powers)],
    factor: &Ref,
    multiple: &Scale,
) -> Option<Vec<Item>> {
    let mut res = items.to_vec();
    for (scale, divisor) in divisors {
        let target = joined(divisor, &vec![(factor.clone(), 1)]);
        let (idx, inner) = find(values, &res, &target)?;
        let known = res[idx].inner[inner].scale.clone();
        let taken = multiple.times(scale).over(&res[idx].scale).times(&Scale::minus_one());
        match known.plus(&taken)? {
            Some(left) => res[idx].inner[inner].scale = left,
            None => {
                res[idx].inner.remove(inner);
            }
        }
    }
    res.retain(|item| !item.inner.is_empty());
    Some(res)
}

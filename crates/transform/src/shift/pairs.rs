//! Pairs of terms and of factors that occur more than once, modulo renaming, shift and scale.
//!
//! # Method
//! Greedy: the pair with the most occurrences that do not overlap becomes a value of its own, of equals the one whose
//! operands are nearest to each other, then the first; until no pair occurs twice. What has more inames counts first.
//! Source: Kronawitter, Kuckuk and Lengauer, "Redundancy elimination in the ExaStencils code generator", 2016.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::shift::scale::Scale;
use crate::shift::values::{At, Body, Frame, Ref, Term, ValueId, Values};

/// How many pairs may be looked at in one round.
const MAX_CANDIDATES: usize = 100_000;

/// How many pairs may be looked at altogether.
const MAX_ALL_CANDIDATES: usize = 3_000_000;

/// How many pairs may become values.
const MAX_PAIRS: usize = 400;

/// A pair modulo renaming, shift and scale.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Pair {
    Sum([Ref; 2], [Scale; 2]),
    Product(Ref, i32, Ref, i32),
}

/// Where a pair occurs.
#[derive(Clone, Debug)]
struct Occurrence {
    value: ValueId,
    first: usize,
    second: usize,
    at: At,
    scale: Scale,
}

/// Which pairs are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    /// Pairs of sums in sums.
    Sums,
    /// All pairs.
    All,
}

/// Makes values of pairs that occur more than once; answers how many.
pub(crate) fn share_pairs(values: &mut Values, roots: &[Term], among: Among) -> usize {
    let mut left = MAX_ALL_CANDIDATES;
    for n_pairs in 0..MAX_PAIRS {
        let Some((pair, occurrences)) = best(values, roots, among, &mut left) else { return n_pairs };
        take_out(values, &pair, &occurrences);
    }
    MAX_PAIRS
}

/// The pair that saves most, with occurrences that do not overlap.
fn best(values: &Values, roots: &[Term], among: Among, left: &mut usize) -> Option<(Pair, Vec<Occurrence>)> {
    let mut found: IndexMap<Pair, Vec<Occurrence>, FxBuildHasher> = IndexMap::default();
    let mut order = values.users_first(roots);
    order.reverse();
    let mut n_candidates = 0;
    for value in order {
        let n = match &values.values[value.index()].body {
            Body::Sum(terms) => terms.len(),
            Body::Product(factors) => factors.len(),
            _ => continue,
        };
        n_candidates += n * n / 2;
        if n_candidates > MAX_CANDIDATES.min(*left) {
            return None;
        }
        for first in 0..n {
            for second in first + 1..n {
                let (pair, at, scale) = pair_of(values, value, first, second);
                let occurrences = found.entry(pair).or_default();
                let overlaps = |other: &Occurrence| {
                    other.value == value
                        && [other.first, other.second].iter().any(|idx| *idx == first || *idx == second)
                };
                if !occurrences.iter().any(overlaps) {
                    occurrences.push(Occurrence { value, first, second, at, scale });
                }
            }
        }
    }
    *left -= n_candidates;
    let is_good = |pair: &Pair| {
        let (a, b) = operands(pair);
        let is_sum = |of: &Ref| matches!(values.values[of.value.index()].body, Body::Sum(_));
        let is_looked_for = among == Among::All || (matches!(pair, Pair::Sum(..)) && is_sum(a) && is_sum(b));
        is_looked_for && values.values[a.value.index()].is_movable && values.values[b.value.index()].is_movable
    };
    let gain = |(pair, occurrences): &(Pair, Vec<Occurrence>)| {
        let n_inames = occurrences[0].at.len();
        // Occurrences at the same place in one value or where nothing moves are nothing for arrays, but shared all the same.
        (n_inames, occurrences.len() - 1, std::cmp::Reverse(distance(pair)))
    };
    let mut res: Option<(Pair, Vec<Occurrence>)> = None;
    for candidate in found.into_iter().filter(|(pair, occurrences)| occurrences.len() > 1 && is_good(pair)) {
        if res.as_ref().is_none_or(|known| gain(&candidate) > gain(known)) {
            res = Some(candidate);
        }
    }
    res
}

fn operands(pair: &Pair) -> (&Ref, &Ref) {
    match pair {
        Pair::Sum([a, b], _) | Pair::Product(a, _, b, _) => (a, b),
    }
}

/// How far apart the operands are.
fn distance(pair: &Pair) -> u64 {
    let (a, b) = operands(pair);
    let of = |var: u32| a.at.iter().find(|entry| entry.0 == var).map_or(0, |entry| entry.1);
    b.at.iter().map(|&(var, offset)| offset.abs_diff(of(var))).sum()
}

/// Two operands of a value as a pair, with where it is in the value and how often.
fn pair_of(values: &Values, value: ValueId, first: usize, second: usize) -> (Pair, At, Scale) {
    let mut frame = Frame::default();
    match &values.values[value.index()].body {
        Body::Sum(terms) => {
            let (a, b) = if terms[first].of <= terms[second].of {
                (&terms[first], &terms[second])
            } else {
                (&terms[second], &terms[first])
            };
            let left = Ref { value: a.of.value, at: frame.local(&a.of.at) };
            let right = Ref { value: b.of.value, at: frame.local(&b.of.at) };
            let unit = a.scale.common(&[&a.scale, &b.scale]);
            (Pair::Sum([left, right], [a.scale.over(&unit), b.scale.over(&unit)]), frame.vars, unit)
        }
        Body::Product(factors) => {
            let (a, b) = if factors[first].0 <= factors[second].0 {
                (&factors[first], &factors[second])
            } else {
                (&factors[second], &factors[first])
            };
            let left = Ref { value: a.0.value, at: frame.local(&a.0.at) };
            let right = Ref { value: b.0.value, at: frame.local(&b.0.at) };
            (Pair::Product(left, a.1, right, b.1), frame.vars, Scale::one())
        }
        _ => unreachable!("pairs are of sums and products"),
    }
}

/// A value for the pair, in the place of its occurrences.
fn take_out(values: &mut Values, pair: &Pair, occurrences: &[Occurrence]) {
    let body = match pair {
        Pair::Sum(operands, scales) => {
            let terms = operands.iter().zip(scales);
            Body::Sum(terms.map(|(of, scale)| Term { of: of.clone(), scale: scale.clone() }).collect())
        }
        Pair::Product(a, p, b, q) => Body::Product(vec![(a.clone(), *p), (b.clone(), *q)]),
    };
    let new = values.push(body, occurrences[0].at.len());
    for occurrence in occurrences {
        let of = Ref { value: new, at: occurrence.at.clone() };
        let (low, high) = (occurrence.first.min(occurrence.second), occurrence.first.max(occurrence.second));
        match &mut values.values[occurrence.value.index()].body {
            Body::Sum(terms) => {
                terms[low] = Term { of, scale: occurrence.scale.clone() };
                mark_gone(terms, high);
            }
            Body::Product(factors) => {
                factors[low] = (of, 1);
                factors[high].1 = 0;
            }
            _ => {}
        }
    }
    for occurrence in occurrences {
        match &mut values.values[occurrence.value.index()].body {
            Body::Sum(terms) => terms.retain(|term| term.of.at.first().is_none_or(|entry| entry.0 != GONE)),
            Body::Product(factors) => factors.retain(|factor| factor.1 != 0),
            _ => {}
        }
    }
}

/// An iname that there is none of.
const GONE: u32 = u32::MAX;

fn mark_gone(terms: &mut [Term], idx: usize) {
    terms[idx].of.at = vec![(GONE, 0)];
}

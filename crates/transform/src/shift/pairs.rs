//! Pairs of terms and of factors that occur more than once, modulo renaming, shift and scale.
//!
//! # Method
//! Greedy: the pair with the most occurrences that do not overlap becomes a value of its own, of equals the one whose
//! operands are nearest to each other, then the first; until no pair occurs twice. What has more inames counts first.
//! Source: Kronawitter, Kuckuk and Lengauer, "Redundancy elimination in the ExaStencils code generator", 2016.

use indexmap::IndexSet;
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

impl Occurrence {
    /// Whether it has an operand of another one.
    fn overlaps(&self, other: &Self) -> bool {
        let operands = [self.first, self.second];
        self.value == other.value && (operands.contains(&other.first) || operands.contains(&other.second))
    }
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
    let mut pairs = Pairs::default();
    for n_pairs in 0..MAX_PAIRS {
        let Some((pair, occurrences)) = pairs.best(values, roots, among, &mut left) else { return n_pairs };
        take_out(values, &pair, &occurrences);
        occurrences.iter().for_each(|occurrence| pairs.forget(occurrence.value));
    }
    MAX_PAIRS
}

/// The pairs of each value, kept from one round to the next.
#[derive(Default)]
struct Pairs {
    /// Pairs, known by their position.
    known: IndexSet<Pair, FxBuildHasher>,
    /// For each value its pairs; `None` before they were asked for, and after the value changed.
    of_values: Vec<Option<Vec<(usize, Occurrence)>>>,
}

impl Pairs {
    /// The pair that saves most, with occurrences that do not overlap.
    fn best(
        &mut self,
        values: &Values,
        roots: &[Term],
        among: Among,
        left: &mut usize,
    ) -> Option<(Pair, Vec<Occurrence>)> {
        let mut order = values.users_first(roots);
        order.reverse();
        let mut n_candidates = 0;
        for &value in &order {
            let n = n_operands(values, value);
            n_candidates += n * n / 2;
            if n_candidates > MAX_CANDIDATES.min(*left) {
                return None;
            }
            self.look_at(values, value);
        }
        *left -= n_candidates;
        let mut found: Vec<Vec<&Occurrence>> = vec![Vec::new(); self.known.len()];
        let mut met = Vec::new();
        for (pair, occurrence) in order.iter().filter_map(|value| self.of_values[value.index()].as_ref()).flatten() {
            let occurrences = &mut found[*pair];
            if occurrences.is_empty() {
                met.push(*pair);
            }
            let of_value = occurrences.iter().rev().take_while(|known| known.value == occurrence.value);
            if !of_value.into_iter().any(|known| known.overlaps(occurrence)) {
                occurrences.push(occurrence);
            }
        }
        let is_good = |pair: &Pair| {
            let (a, b) = operands(pair);
            let is_sum = |of: &Ref| matches!(values.values[of.value.index()].body, Body::Sum(_));
            let is_looked_for = among == Among::All || (matches!(pair, Pair::Sum(..)) && is_sum(a) && is_sum(b));
            is_looked_for && values.values[a.value.index()].is_movable && values.values[b.value.index()].is_movable
        };
        let mut res = None;
        for idx in met.into_iter().filter(|&idx| found[idx].len() > 1) {
            let (pair, n_inames) = (&self.known[idx], found[idx][0].at.len());
            // Occurrences at the same place in one value or where nothing moves are nothing for arrays, but shared all the same.
            let gain = (n_inames, found[idx].len() - 1, std::cmp::Reverse(distance(pair)));
            if res.is_none_or(|(known, _)| gain > known) && is_good(pair) {
                res = Some((gain, idx));
            }
        }
        let (_, idx) = res?;
        Some((self.known[idx].clone(), found[idx].iter().map(|&occurrence| occurrence.clone()).collect()))
    }

    /// Finds the pairs of a value, if they are not known.
    fn look_at(&mut self, values: &Values, value: ValueId) {
        if self.of_values.len() <= value.index() {
            self.of_values.resize_with(values.values.len(), || None);
        }
        if self.of_values[value.index()].is_some() {
            return;
        }
        let n = n_operands(values, value);
        let mut res = Vec::with_capacity(n * n / 2);
        for first in 0..n {
            for second in first + 1..n {
                let (pair, at, scale) = pair_of(values, value, first, second);
                let pair = self.known.insert_full(pair).0;
                res.push((pair, Occurrence { value, first, second, at, scale }));
            }
        }
        self.of_values[value.index()] = Some(res);
    }

    /// The value changed.
    fn forget(&mut self, value: ValueId) {
        self.of_values[value.index()] = None;
    }
}

/// How many operands of a value may be in pairs.
fn n_operands(values: &Values, value: ValueId) -> usize {
    match &values.values[value.index()].body {
        Body::Sum(terms) => terms.len(),
        Body::Product(factors) => factors.len(),
        _ => 0,
    }
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

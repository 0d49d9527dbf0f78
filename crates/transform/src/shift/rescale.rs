//! Which multiple of each value is computed, so that few multiplications by factors are left.
//!
//! # Method
//! A value may stand for any multiple of itself: its operands and users take the factor. A multiplication is paid for each operand of a sum
//! that has a factor other than ±1, for each product with one (unless it is the numerator of a quotient that has none), and where a
//! factor meets an operation of another kind or a store; each counts as often as the value is computed; a division by a scalar that may be zero costs more than all. From all factors 1, a move multiplies one
//! value by a factor and lets its users and operands follow where that costs nothing; moves that lower the cost of the whole are kept.
//! # Complexity
//! At most [`MAX_MOVES`] moves are tried, each linear in the values that follow.

use std::collections::VecDeque;

use crate::shift::place::Placement;
use crate::shift::scale::Scale;
use crate::shift::translate::Root;
use crate::shift::values::{Body, Term, ValueId, Values};

/// What each division by a scalar that may be zero costs: more than any move wins.
const POLE: u128 = 1 << 48;

/// How many moves are tried.
const MAX_MOVES: usize = 4_000;

/// For each value the multiple of what is computed that it is.
pub(crate) type Multiples = Vec<Scale>;

struct Search<'a> {
    values: &'a Values,
    runs: &'a [u128],
    order: Vec<ValueId>,
    /// For each value its users, and the multiples of it that are stored, with how often.
    users: Vec<Vec<ValueId>>,
    stored: Vec<Vec<(Scale, u128)>>,
}

/// Chooses a multiple for each value.
pub(crate) fn rescale(values: &Values, placement: &Placement, roots: &[Root]) -> Multiples {
    let terms: Vec<Term> = roots.iter().map(|root| root.value.clone()).collect();
    let order = values.users_first(&terms);
    let n = values.values.len();
    let mut search =
        Search { values, runs: &placement.runs, users: vec![Vec::new(); n], stored: vec![Vec::new(); n], order };
    for &value in &search.order {
        for child in values.children(value) {
            let users = &mut search.users[child.value.index()];
            if !users.contains(&value) {
                users.push(value);
            }
        }
    }
    for root in roots {
        let value = root.value.of.value.index();
        search.stored[value].push((root.value.scale.clone(), placement.runs[value]));
    }
    search.run()
}

impl Search<'_> {
    fn run(&self) -> Multiples {
        let mut multiples = vec![Scale::one(); self.values.values.len()];
        let mut n_moves = 0;
        loop {
            let mut changed = false;
            for &value in &self.order {
                for (target, ratio) in self.moves(value, &multiples) {
                    n_moves += 1;
                    if n_moves > MAX_MOVES {
                        return multiples;
                    }
                    if let Some(better) = self.moved(&multiples, target, &ratio) {
                        multiples = better;
                        changed = true;
                        break;
                    }
                }
            }
            if !changed {
                return multiples;
            }
        }
    }

    fn is_free(&self, value: ValueId) -> bool {
        matches!(self.values.values[value.index()].body, Body::Sum(_) | Body::Product(_) | Body::Apply(..))
    }

    /// Moves that make one multiplication in a value go away.
    fn moves(&self, value: ValueId, multiples: &Multiples) -> Vec<(ValueId, Scale)> {
        let mut res: Vec<(ValueId, Scale)> = Vec::new();
        let own = &multiples[value.index()];
        let mut push = |target: ValueId, ratio: Scale| {
            if !ratio.is_unit() && self.is_free(target) && !res.contains(&(target, ratio.clone())) {
                res.push((target, ratio));
            }
        };
        match &self.values.values[value.index()].body {
            Body::Sum(terms) => {
                for term in terms {
                    let factor = term.scale.times(&multiples[term.of.value.index()]).over(own).abs();
                    push(value, factor.clone());
                    push(term.of.value, factor.power(-1));
                }
            }
            Body::Product(factors) => {
                let factor = self.factor(factors, own, multiples).abs();
                push(value, factor.clone());
                for (of, exponent) in factors.iter().filter(|factor| factor.1.abs() == 1) {
                    push(of.value, factor.power(-exponent));
                }
            }
            Body::Reduce(_, _, term) => {
                push(term.of.value, term.scale.times(&multiples[term.of.value.index()]).abs().power(-1));
            }
            Body::Apply(_, operands) => {
                for term in operands {
                    push(term.of.value, term.scale.times(&multiples[term.of.value.index()]).abs().power(-1));
                }
            }
            _ => {}
        }
        for (scale, _) in &self.stored[value.index()] {
            push(value, scale.times(own).abs().power(-1));
        }
        res
    }

    fn factor(&self, factors: &[(crate::shift::values::Ref, i32)], own: &Scale, multiples: &Multiples) -> Scale {
        let all = factors
            .iter()
            .fold(Scale::one(), |all, (of, exponent)| all.times(&multiples[of.value.index()].power(*exponent)));
        all.over(own)
    }

    /// Multiplications by factors in one value.
    fn cost(&self, value: ValueId, multiples: &Multiples) -> u128 {
        let own = &multiples[value.index()];
        let of = |term: &Term| {
            let is_number = self.values.values[term.of.value.index()].body == Body::One;
            let factor = term.scale.times(&multiples[term.of.value.index()]);
            (factor, is_number)
        };
        let poles = self.factors(value, multiples).iter().filter(|factor| factor.has_pole()).count() as u128 * POLE;
        let n = match &self.values.values[value.index()].body {
            Body::Sum(terms) => {
                // Terms with the same factor are added up first.
                let factors = terms.iter().map(of).filter(|(_, is_number)| !is_number);
                let mut factors: Vec<Scale> =
                    factors.map(|(factor, _)| factor.over(own).abs()).filter(|factor| !factor.is_unit()).collect();
                factors.sort();
                factors.dedup();
                factors.len()
            }
            Body::Product(factors) => {
                let is_numerator_free = factors.iter().all(|factor| factor.1 < 0);
                usize::from(!is_numerator_free && !self.factor(factors, own, multiples).is_unit())
            }
            Body::Apply(_, operands) => {
                let of_operands =
                    operands.iter().map(of).filter(|(factor, is_number)| !is_number && !factor.is_unit()).count();
                of_operands + usize::from(!own.is_unit())
            }
            _ => 0,
        };
        // Within a reduction a factor is multiplied at each point.
        let within = match &self.values.values[value.index()].body {
            Body::Reduce(_, _, term) if !of(term).1 && !of(term).0.is_unit() => self.runs[term.of.value.index()],
            _ => 0,
        };
        let stores = self.stored[value.index()].iter().filter(|(scale, _)| !scale.times(own).is_unit());
        let of_stores: u128 = stores.map(|(_, runs)| *runs).sum();
        let of_value = self.runs[value.index()].saturating_mul(n as u128);
        of_value.saturating_add(within).saturating_add(of_stores).saturating_add(poles)
    }

    /// All factors in one value, and where it is stored.
    fn factors(&self, value: ValueId, multiples: &Multiples) -> Vec<Scale> {
        let own = &multiples[value.index()];
        let of = |term: &Term| term.scale.times(&multiples[term.of.value.index()]);
        let mut res: Vec<Scale> = match &self.values.values[value.index()].body {
            Body::Sum(terms) => terms.iter().map(|term| of(term).over(own)).collect(),
            Body::Product(factors) => vec![self.factor(factors, own, multiples)],
            Body::Apply(_, operands) => operands.iter().map(of).chain([own.power(-1)]).collect(),
            Body::Reduce(_, _, term) => vec![of(term)],
            _ => Vec::new(),
        };
        res.extend(self.stored[value.index()].iter().map(|(scale, _)| scale.times(own)));
        res
    }

    /// What a change of one value's multiple costs in it and its users.
    fn local(&self, value: ValueId, multiples: &Multiples) -> u128 {
        let of_users: u128 = self.users[value.index()].iter().map(|&user| self.cost(user, multiples)).sum();
        self.cost(value, multiples) + of_users
    }

    /// The multiples after a move, if they cost less.
    fn moved(&self, multiples: &Multiples, target: ValueId, ratio: &Scale) -> Option<Multiples> {
        let mut res = multiples.clone();
        let mut gain = 0_i128;
        let mut is_moved = vec![false; res.len()];
        let mut pending = VecDeque::from([target]);
        while let Some(value) = pending.pop_front() {
            if is_moved[value.index()] || !self.is_free(value) {
                continue;
            }
            let before = self.local(value, &res) as i128;
            let old = res[value.index()].clone();
            let mut difference = i128::MAX;
            // A divisor moves the other way.
            for ratio in [ratio.clone(), ratio.power(-1)] {
                let known = res[value.index()].clone();
                res[value.index()] = old.times(&ratio).abs();
                let new = self.local(value, &res) as i128 - before;
                if new < difference {
                    difference = new;
                } else {
                    res[value.index()] = known;
                }
                if value == target {
                    break;
                }
            }
            if value != target && difference > 0 {
                res[value.index()] = old;
                continue;
            }
            gain -= difference;
            is_moved[value.index()] = true;
            pending.extend(&self.users[value.index()]);
            pending.extend(self.values.children(value).iter().map(|child| child.value));
        }
        (gain > 0).then_some(res)
    }
}

//! Which multiple of each value is computed, so that few multiplications by factors are left.
//!
//! # Method
//! A value may stand for any multiple of itself: its operands and users take the factor. A multiplication is paid for each operand of a sum
//! that has a factor other than ±1, for each product with one (unless it is the numerator of a quotient that has none), and where a
//! factor meets an operation of another kind or a store; each counts as often as the value is computed; a division by a scalar that may be zero costs more than all. From all factors 1, a move multiplies one
//! value by a factor and lets its users and operands follow where that costs nothing; moves that lower the cost of the whole are kept.
//! Signs cost nothing, so factors have none here.
//! # Complexity
//! At most [`MAX_MOVES`] moves are tried, each linear in the values that follow and their users.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::shift::place::Placement;
use crate::shift::scale::{Magnitude, Magnitudes, Scale};
use crate::shift::translate::Root;
use crate::shift::values::{Body, Term, ValueId, Values};

/// What each division by a scalar that may be zero costs: more than any move wins.
const POLE: u128 = 1 << 48;

/// How many moves are tried.
const MAX_MOVES: usize = 4_000;

/// For each value the multiple of what is computed that it is.
pub(crate) type Multiples = Vec<Scale>;

/// A multiple of a value.
#[derive(Clone, Copy)]
struct Operand {
    value: ValueId,
    factor: Magnitude,
    /// Whether the value is 1.
    is_number: bool,
}

/// What factors do to a value.
enum Kind {
    /// They are of terms.
    Sum(Vec<Operand>),
    /// Those of all powers are one.
    Product(Vec<(ValueId, i32)>),
    /// They are multiplied in before an operation.
    Operation(Vec<Operand>),
    /// What a reduction goes over is multiplied at each point.
    Reduction(Operand),
    /// There are none.
    Fixed,
}

impl Kind {
    fn of(body: &Body, magnitudes: &mut Magnitudes) -> Self {
        let mut operand = |term: &Term| Operand {
            value: term.of.value,
            factor: magnitudes.of(&term.scale),
            is_number: term.of.value == Values::ONE,
        };
        match body {
            Body::Sum(terms) => Self::Sum(terms.iter().map(operand).collect()),
            Body::Product(factors) => Self::Product(factors.iter().map(|(of, power)| (of.value, *power)).collect()),
            Body::Apply(_, terms) => Self::Operation(terms.iter().map(operand).collect()),
            Body::Reduce(_, _, term) => Self::Reduction(operand(term)),
            Body::One | Body::Leaf { .. } | Body::Exact(_) => Self::Fixed,
        }
    }

    /// The multiples before an operation.
    fn operands(&self) -> &[Operand] {
        match self {
            Self::Sum(operands) | Self::Operation(operands) => operands,
            Self::Reduction(operand) => std::slice::from_ref(operand),
            Self::Product(_) | Self::Fixed => &[],
        }
    }
}

struct Search<'a> {
    values: &'a Values,
    runs: &'a [u128],
    order: Vec<ValueId>,
    kinds: Vec<Kind>,
    /// For each value its users, and the multiples of it that are stored, with how often.
    users: Vec<Vec<ValueId>>,
    stored: Vec<Vec<(Magnitude, u128)>>,
    /// Whether factors are numbers only, so that none may be zero.
    are_numbers: bool,
    magnitudes: Magnitudes,
    multiples: Vec<Magnitude>,
}

/// Chooses a multiple for each value.
pub(crate) fn rescale(values: &Values, placement: &Placement, roots: &[Root]) -> Multiples {
    let terms: Vec<Term> = roots.iter().map(|root| root.value.clone()).collect();
    let order = values.users_first(&terms);
    let n = values.values.len();
    let (mut users, mut stored) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    for &value in &order {
        for child in values.children(value) {
            let users: &mut Vec<ValueId> = &mut users[child.value.index()];
            // Those of one user come one after the other.
            if users.last() != Some(&value) {
                users.push(value);
            }
        }
    }
    let mut magnitudes = Magnitudes::new();
    for root in roots {
        let value = root.value.of.value.index();
        stored[value].push((magnitudes.of(&root.value.scale), placement.runs[value]));
    }
    let inside = order.iter().flat_map(|value| values.values[value.index()].body.terms());
    let are_numbers = inside.chain(&terms).all(|term| !term.scale.has_scalars());
    let kinds = values.values.iter().map(|value| Kind::of(&value.body, &mut magnitudes)).collect();
    let multiples = vec![Magnitude::ONE; n];
    Search { values, runs: &placement.runs, order, kinds, users, stored, are_numbers, magnitudes, multiples }.run()
}

impl Search<'_> {
    fn run(mut self) -> Multiples {
        self.improve();
        self.multiples.iter().map(|multiple| self.magnitudes.scale(*multiple).clone()).collect()
    }

    fn improve(&mut self) {
        let mut n_moves = 0;
        let order = std::mem::take(&mut self.order);
        loop {
            let mut changed = false;
            for &value in &order {
                for (target, ratio) in self.moves(value) {
                    n_moves += 1;
                    if n_moves > MAX_MOVES {
                        return;
                    }
                    if self.makes(target, ratio) {
                        changed = true;
                        break;
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn is_free(&self, value: ValueId) -> bool {
        matches!(self.kinds[value.index()], Kind::Sum(_) | Kind::Product(_) | Kind::Operation(_))
    }

    /// Moves that make one multiplication in a value go away.
    fn moves(&mut self, value: ValueId) -> Vec<(ValueId, Magnitude)> {
        let own = self.multiples[value.index()];
        let mut found: Vec<(ValueId, Magnitude)> = Vec::new();
        match &self.kinds[value.index()] {
            Kind::Sum(terms) => {
                for term in terms {
                    let product = self.magnitudes.times(term.factor, self.multiples[term.value.index()]);
                    let factor = self.magnitudes.over(product, own);
                    found.extend([(value, factor), (term.value, self.magnitudes.inverse(factor))]);
                }
            }
            Kind::Product(factors) => {
                let factor = of_product(factors, own, &self.multiples, &mut self.magnitudes);
                found.push((value, factor));
                let inverse = self.magnitudes.inverse(factor);
                let once = factors.iter().filter(|factor| factor.1.abs() == 1);
                found.extend(once.map(|&(of, power)| (of, if power == 1 { inverse } else { factor })));
            }
            kind @ (Kind::Operation(_) | Kind::Reduction(_)) => {
                for term in kind.operands() {
                    let factor = self.magnitudes.times(term.factor, self.multiples[term.value.index()]);
                    found.push((term.value, self.magnitudes.inverse(factor)));
                }
            }
            Kind::Fixed => {}
        }
        for &(scale, _) in &self.stored[value.index()] {
            let factor = self.magnitudes.times(scale, own);
            found.push((value, self.magnitudes.inverse(factor)));
        }
        let mut res: Vec<(ValueId, Magnitude)> = Vec::new();
        for (target, ratio) in found {
            if ratio != Magnitude::ONE && self.is_free(target) && !res.contains(&(target, ratio)) {
                res.push((target, ratio));
            }
        }
        res
    }

    /// Multiplications by factors in one value.
    fn cost(&mut self, value: ValueId) -> u128 {
        let own = self.multiples[value.index()];
        let poles = if self.are_numbers { 0 } else { self.poles(value) as u128 * POLE };
        let (magnitudes, multiples) = (&mut self.magnitudes, &self.multiples);
        let is_one = |operand: &Operand, magnitudes: &mut Magnitudes| {
            operand.is_number
                || magnitudes.times(operand.factor, multiples[operand.value.index()]) == Magnitude::ONE
        };
        let mut place = value;
        let n = match &self.kinds[value.index()] {
            Kind::Sum(terms) => {
                // Terms with the same factor are added up first.
                let mut factors: Vec<Magnitude> = Vec::with_capacity(terms.len());
                for term in terms.iter().filter(|term| !term.is_number) {
                    let product = magnitudes.times(term.factor, multiples[term.value.index()]);
                    let factor = magnitudes.over(product, own);
                    factors.extend((factor != Magnitude::ONE).then_some(factor));
                }
                factors.sort_unstable();
                factors.dedup();
                factors.len()
            }
            Kind::Product(factors) => {
                let is_numerator_free = factors.iter().all(|factor| factor.1 < 0);
                usize::from(!is_numerator_free && of_product(factors, own, multiples, magnitudes) != Magnitude::ONE)
            }
            Kind::Operation(operands) => {
                let of_operands = operands.iter().filter(|operand| !is_one(operand, magnitudes)).count();
                of_operands + usize::from(own != Magnitude::ONE)
            }
            Kind::Reduction(operand) => {
                place = operand.value;
                usize::from(!is_one(operand, magnitudes)) + usize::from(own != Magnitude::ONE)
            }
            Kind::Fixed => 0,
        };
        let mut of_stores = 0;
        for &(scale, runs) in &self.stored[value.index()] {
            of_stores += if magnitudes.times(scale, own) == Magnitude::ONE { 0 } else { runs };
        }
        self.runs[place.index()].saturating_mul(n as u128).saturating_add(of_stores).saturating_add(poles)
    }

    /// How many factors in one value, and where it is stored, divide by a scalar that may be zero.
    fn poles(&mut self, value: ValueId) -> usize {
        let own = self.multiples[value.index()];
        let (magnitudes, multiples) = (&mut self.magnitudes, &self.multiples);
        let mut factors: Vec<Magnitude> = Vec::new();
        match &self.kinds[value.index()] {
            Kind::Product(powers) => factors.push(of_product(powers, own, multiples, magnitudes)),
            kind => {
                for operand in kind.operands() {
                    factors.push(magnitudes.times(operand.factor, multiples[operand.value.index()]));
                }
                match kind {
                    Kind::Sum(_) => factors.iter_mut().for_each(|factor| *factor = magnitudes.over(*factor, own)),
                    Kind::Operation(_) | Kind::Reduction(_) => factors.push(magnitudes.inverse(own)),
                    Kind::Product(_) | Kind::Fixed => {}
                }
            }
        }
        for &(scale, _) in &self.stored[value.index()] {
            factors.push(magnitudes.times(scale, own));
        }
        factors.into_iter().filter(|factor| magnitudes.scale(*factor).has_pole()).count()
    }

    /// What a change of one value's multiple costs in it and its users.
    fn local(&mut self, value: ValueId) -> u128 {
        let of_users: u128 = (0..self.users[value.index()].len())
            .map(|idx| {
                let user = self.users[value.index()][idx];
                self.cost(user)
            })
            .sum();
        self.cost(value) + of_users
    }

    /// Makes a move if the multiples cost less after it; answers whether they do.
    fn makes(&mut self, target: ValueId, ratio: Magnitude) -> bool {
        let mut gain = 0_i128;
        let mut before_move: FxHashMap<ValueId, Magnitude> = FxHashMap::default();
        let mut pending = VecDeque::from([target]);
        while let Some(value) = pending.pop_front() {
            if before_move.contains_key(&value) || !self.is_free(value) {
                continue;
            }
            let before = self.local(value) as i128;
            let old = self.multiples[value.index()];
            let mut difference = i128::MAX;
            // A divisor moves the other way.
            for ratio in [ratio, self.magnitudes.inverse(ratio)] {
                let moved = self.magnitudes.times(old, ratio);
                let known = std::mem::replace(&mut self.multiples[value.index()], moved);
                let new = self.local(value) as i128 - before;
                if new < difference {
                    difference = new;
                } else {
                    self.multiples[value.index()] = known;
                }
                if value == target {
                    break;
                }
            }
            if value != target && difference > 0 {
                self.multiples[value.index()] = old;
                continue;
            }
            gain -= difference;
            before_move.insert(value, old);
            pending.extend(&self.users[value.index()]);
            pending.extend(self.values.children(value).iter().map(|child| child.value));
        }
        if gain <= 0 {
            before_move.into_iter().for_each(|(value, old)| self.multiples[value.index()] = old);
        }
        gain > 0
    }
}

/// The factor of a product of which this multiple is computed.
fn of_product(
    factors: &[(ValueId, i32)],
    own: Magnitude,
    multiples: &[Magnitude],
    magnitudes: &mut Magnitudes,
) -> Magnitude {
    let all = factors.iter().fold(Magnitude::ONE, |all, &(of, power)| {
        let power = magnitudes.power(multiples[of.index()], power);
        magnitudes.times(all, power)
    });
    magnitudes.over(all, own)
}

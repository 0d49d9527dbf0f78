//! Which multiple of each value is computed, so that few multiplications by factors are left.
//!
//! # Method
//! A value may stand for any multiple of itself: its operands and users take the factor. A multiplication is paid for each operand of a sum
//! that has a factor other than ±1, for each product with one (unless it is the numerator of a quotient that has none), and where a
//! factor meets an operation of another kind or a store; each counts as often as the value is computed; a division by a scalar that may be zero costs more than all. From all factors 1, a move multiplies one
//! value by a factor and lets its users and operands follow where that costs nothing; moves that lower the cost of the whole are kept.
//! Signs cost nothing, so factors have none here.
//! # Complexity
//! At most [`MAX_MOVES`] moves are tried, none twice if nothing has changed that it depends on. Each is linear in the values that follow and their users: of sums the
//! factors are counted, and only what a move changes is counted anew. Where scalars may be zero, all factors of a value that is moved are looked at, altogether at most [`MAX_FACTORS`].

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::shift::place::Placement;
use crate::shift::scale::{Magnitude, Magnitudes, Scale};
use crate::shift::translate::Root;
use crate::shift::values::{Body, Term, ValueId, Values};

/// What each division by a scalar that may be zero costs: more than any move wins.
const POLE: u128 = 1 << 48;

/// How many moves are tried.
const MAX_MOVES: usize = 4_000;

/// How many factors may be looked at for poles.
const MAX_FACTORS: usize = 500_000;

/// For each value the multiple of what is computed that it is.
pub(crate) type Multiples = Vec<Scale>;

/// A multiple of a value.
#[derive(Clone, Copy)]
struct Operand {
    value: ValueId,
    factor: Magnitude,
}

impl Operand {
    fn of(term: &Term, magnitudes: &mut Magnitudes) -> Self {
        Self { value: term.of.value, factor: magnitudes.of(&term.scale) }
    }

    fn is_number(&self) -> bool {
        self.value == Values::ONE
    }
}

/// What factors do to a value.
enum Kind {
    /// They are of terms. So many divide by a scalar that may be zero.
    Sum { terms: Vec<Operand>, counts: Counts, n_poles: usize },
    /// Those of all powers are one.
    Product(Vec<(ValueId, i32)>),
    /// They are multiplied in before an operation.
    Operation(Vec<Operand>),
    /// What a reduction goes over is multiplied at each point.
    Reduction(Operand),
    /// There are none.
    Fixed,
}

/// How many terms of a sum, numbers aside, have each factor.
type Counts = FxHashMap<Magnitude, usize>;

impl Kind {
    /// The kind of a value where all multiples are 1.
    fn of(body: &Body, magnitudes: &mut Magnitudes) -> Self {
        let mut operands = |terms: &[Term]| terms.iter().map(|term| Operand::of(term, magnitudes)).collect();
        match body {
            Body::Sum(terms) => {
                let terms: Vec<Operand> = operands(terms);
                let mut counts = Counts::default();
                terms
                    .iter()
                    .filter(|term| !term.is_number())
                    .for_each(|term| *counts.entry(term.factor).or_default() += 1);
                Self::Sum { terms, counts, n_poles: 0 }
            }
            Body::Product(factors) => Self::Product(factors.iter().map(|(of, power)| (of.value, *power)).collect()),
            Body::Apply(_, terms) => Self::Operation(operands(terms)),
            Body::Reduce(_, _, term) => Self::Reduction(Operand::of(term, magnitudes)),
            Body::One | Body::Leaf { .. } | Body::Exact(_) => Self::Fixed,
        }
    }

    /// The multiples before an operation.
    fn operands(&self) -> &[Operand] {
        match self {
            Self::Sum { terms: operands, .. } | Self::Operation(operands) => operands,
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
    /// For each value the sums that it is a term of, with its factor.
    sums: Vec<Vec<(ValueId, Magnitude)>>,
    /// Whether factors are numbers only, so that none may be zero.
    are_numbers: bool,
    /// How many factors were looked at for poles.
    n_factors: usize,
    magnitudes: Magnitudes,
    multiples: Vec<Magnitude>,
    /// How many moves were made.
    n_made: usize,
    /// For each value how many had been made when what it or one of its users costs last changed.
    changed_at: Vec<usize>,
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
    let kinds: Vec<Kind> = values.values.iter().map(|value| Kind::of(&value.body, &mut magnitudes)).collect();
    let mut sums = vec![Vec::new(); n];
    for &value in &order {
        if let Kind::Sum { terms, .. } = &kinds[value.index()] {
            terms.iter().for_each(|term| sums[term.value.index()].push((value, term.factor)));
        }
    }
    let mut search = Search {
        values,
        runs: &placement.runs,
        order,
        kinds,
        users,
        stored,
        sums,
        are_numbers,
        n_factors: 0,
        magnitudes,
        multiples: vec![Magnitude::ONE; n],
        n_made: 0,
        changed_at: vec![0; n],
    };
    if !are_numbers {
        (0..n).for_each(|value| search.count_poles(ValueId::new(value)));
    }
    search.run()
}

impl Search<'_> {
    fn run(mut self) -> Multiples {
        self.improve();
        self.multiples.iter().map(|multiple| self.magnitudes.scale(*multiple).clone()).collect()
    }

    fn improve(&mut self) {
        let mut n_moves = 0;
        let order = std::mem::take(&mut self.order);
        // Values all of whose moves have failed: how many moves had been made then, and the values that this depended on.
        let mut failed: Vec<Option<(usize, Vec<ValueId>)>> = vec![None; self.multiples.len()];
        loop {
            let n_before = self.n_made;
            for &value in &order {
                if let Some((then, looked_at)) = &failed[value.index()]
                    && looked_at.iter().all(|at| self.changed_at[at.index()] <= *then)
                {
                    continue;
                }
                let mut looked_at = vec![value];
                let mut is_made = false;
                for (target, ratio) in self.moves(value) {
                    n_moves += 1;
                    if n_moves > MAX_MOVES || self.n_factors > MAX_FACTORS {
                        return;
                    }
                    is_made = self.makes(target, ratio, &mut looked_at);
                    if is_made {
                        break;
                    }
                }
                failed[value.index()] = (!is_made).then(|| {
                    looked_at.sort_unstable();
                    looked_at.dedup();
                    (self.n_made, looked_at)
                });
            }
            if self.n_made == n_before {
                return;
            }
        }
    }

    fn is_free(&self, value: ValueId) -> bool {
        matches!(self.kinds[value.index()], Kind::Sum { .. } | Kind::Product(_) | Kind::Operation(_))
    }

    /// Moves that make one multiplication in a value go away.
    fn moves(&mut self, value: ValueId) -> Vec<(ValueId, Magnitude)> {
        let own = self.multiples[value.index()];
        let mut found: Vec<(ValueId, Magnitude)> = Vec::new();
        match &self.kinds[value.index()] {
            Kind::Sum { terms, .. } => {
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
        let mut is_known = FxHashSet::default();
        found.retain(|(target, ratio)| {
            *ratio != Magnitude::ONE && self.is_free(*target) && is_known.insert((*target, *ratio))
        });
        found
    }

    /// Multiplications by factors in one value.
    fn cost(&mut self, value: ValueId) -> u128 {
        let own = self.multiples[value.index()];
        let poles = if self.are_numbers { 0 } else { self.poles(value) as u128 * POLE };
        let (magnitudes, multiples) = (&mut self.magnitudes, &self.multiples);
        let is_one = |operand: &Operand, magnitudes: &mut Magnitudes| {
            operand.is_number() || magnitudes.times(operand.factor, multiples[operand.value.index()]) == Magnitude::ONE
        };
        let mut place = value;
        let n = match &self.kinds[value.index()] {
            // Terms with the same factor are added up first.
            Kind::Sum { counts, .. } => counts.len() - usize::from(counts.contains_key(&own)),
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
        let mut of_terms = 0;
        let mut factors: Vec<Magnitude> = Vec::new();
        match &self.kinds[value.index()] {
            Kind::Sum { n_poles, .. } => of_terms = *n_poles,
            Kind::Product(powers) => factors.push(of_product(powers, own, multiples, magnitudes)),
            kind @ (Kind::Operation(_) | Kind::Reduction(_)) => {
                let of = |operand: &Operand| magnitudes.times(operand.factor, multiples[operand.value.index()]);
                factors.extend(kind.operands().iter().map(of));
                factors.push(magnitudes.inverse(own));
            }
            Kind::Fixed => {}
        }
        factors.extend(self.stored[value.index()].iter().map(|&(scale, _)| magnitudes.times(scale, own)));
        self.n_factors += factors.len();
        of_terms + factors.into_iter().filter(|&factor| magnitudes.has_pole(factor)).count()
    }

    /// Counts the factors of a sum that divide by a scalar that may be zero.
    fn count_poles(&mut self, value: ValueId) {
        let own = self.multiples[value.index()];
        let Kind::Sum { terms, counts, n_poles } = &mut self.kinds[value.index()] else { return };
        let numbers = terms.iter().filter(|term| term.is_number()).map(|term| (term.factor, 1));
        let all = numbers.chain(counts.iter().map(|(&factor, &n)| (factor, n)));
        *n_poles = 0;
        for (factor, n) in all {
            self.n_factors += 1;
            *n_poles += if self.magnitudes.has_pole_over(factor, own) { n } else { 0 };
        }
    }

    /// Takes another multiple of a value.
    fn set(&mut self, value: ValueId, multiple: Magnitude) {
        let before = std::mem::replace(&mut self.multiples[value.index()], multiple);
        if before == multiple {
            return;
        }
        for &(sum, factor) in &self.sums[value.index()] {
            let own = self.multiples[sum.index()];
            let [old, new] = [before, multiple].map(|multiple| self.magnitudes.times(factor, multiple));
            let Kind::Sum { counts, n_poles, .. } = &mut self.kinds[sum.index()] else { continue };
            if let Some(n) = counts.get_mut(&old) {
                *n -= 1;
                if *n == 0 {
                    counts.remove(&old);
                }
            }
            *counts.entry(new).or_default() += 1;
            if !self.are_numbers {
                self.n_factors += 2;
                let [was, is] = [old, new].map(|factor| usize::from(self.magnitudes.has_pole_over(factor, own)));
                *n_poles = *n_poles + is - was;
            }
        }
        if !self.are_numbers {
            self.count_poles(value);
        }
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

    /// Makes a move if the multiples cost less after it; answers whether they do. Notes the values whose costs, and those of whose users, it looked at.
    fn makes(&mut self, target: ValueId, ratio: Magnitude, looked_at: &mut Vec<ValueId>) -> bool {
        let mut gain = 0_i128;
        let mut before_move: FxHashMap<ValueId, Magnitude> = FxHashMap::default();
        let mut pending = VecDeque::from([target]);
        while let Some(value) = pending.pop_front() {
            if before_move.contains_key(&value) || !self.is_free(value) {
                continue;
            }
            looked_at.push(value);
            let before = self.local(value) as i128;
            let old = self.multiples[value.index()];
            let mut difference = i128::MAX;
            // A divisor moves the other way.
            for ratio in [ratio, self.magnitudes.inverse(ratio)] {
                let moved = self.magnitudes.times(old, ratio);
                let known = self.multiples[value.index()];
                self.set(value, moved);
                let new = self.local(value) as i128 - before;
                if new < difference {
                    difference = new;
                } else {
                    self.set(value, known);
                }
                if value == target {
                    break;
                }
            }
            if value != target && difference > 0 {
                self.set(value, old);
                continue;
            }
            gain -= difference;
            before_move.insert(value, old);
            pending.extend(&self.users[value.index()]);
            pending.extend(self.values.children(value).iter().map(|child| child.value));
        }
        if gain <= 0 {
            before_move.into_iter().for_each(|(value, old)| self.set(value, old));
            return false;
        }
        self.n_made += 1;
        before_move.into_keys().for_each(|value| self.note_change(value));
        true
    }

    /// Notes which values' costs, or those of their users, depend on the multiple of this one.
    fn note_change(&mut self, value: ValueId) {
        let users = std::iter::once(&value).chain(&self.users[value.index()]);
        for &user in users {
            self.changed_at[user.index()] = self.n_made;
            for child in self.values.children(user) {
                self.changed_at[child.value.index()] = self.n_made;
            }
        }
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

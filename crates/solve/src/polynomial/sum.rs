//! Common sums and distribution: terms of a system regrouped.
//!
//! # Input
//! A system.
//! # Output
//! The system with sums that read new sums, and fewer operations by the estimate below.
//! # Method
//! Three moves, the one of the largest gain first:
//! - A *divisor* is a sum of two terms p + r·q without common power. Where sums contain c·g·p + c·r·g·q they read c·g·v
//!   instead, v being the symbol of the divisor. Overlapping places are used in the order in which they were found.
//! - *Distribution*: the terms of one sum that contain a symbol are their common powers times the symbol of what is left of
//!   them.
//! - A *quotient* is what is left of several such groups of terms, the same but for a factor: all of them at once. One alone may
//!   gain nothing. Sums over components that came written out are contracted by this one: with X_ij = Σ_k a_ik·b_kl·c_lj multiplied
//!   out, Σ_l b_kl·c_lj is the quotient of all X_ij by a_ik.
//!
//! The gain is counted in operations: additions, coefficients, and the multiplications of monomials that only the
//! regrouped terms read. Gains are put right when they reach the top of the heap. Ties go by the [`Preference`], then by the
//! ids of the monomials, the sum and the symbol.
//! # Complexity
//! Quadratic in the terms of a sum; sums of more than [`DIVISOR_TERMS_LIMIT`] terms are only distributed. Each pair of terms
//! that is looked at is one unit of work. Quotients are looked for as long as they take no more units than the work allows.
//! Source: Rajski, Vasudevamurthy, "The testability-preserving concurrent decomposition and factorization of Boolean
//! expressions", IEEE Trans. CAD 1992 (divisors of two cubes), with coefficients in place of complements.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::monomial::{MonomialId, Symbol};
use super::system::{Normal, Scaled, System, Terms};
use crate::ratio;

/// Sums of more terms have no divisors.
pub const DIVISOR_TERMS_LIMIT: usize = 200;

/// Units of work of a term that may be distributed.
pub const DISTRIBUTION_WORK: u64 = 4;

/// Which moves come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// Divisors among equal gains.
    Divisors,
    /// Distribution among equal gains.
    Distribution,
    /// Distribution, its gain doubled.
    DistributionFirst,
    /// Divisors, their gain doubled.
    DivisorsFirst,
}

/// Two monomials without common power, the smaller id first, and the key of the second coefficient over the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Divisor {
    left: MonomialId,
    right: MonomialId,
    ratio: u64,
}

/// Two terms of a sum: a multiple of a divisor.
#[derive(Clone, Copy, Debug)]
struct Place {
    sum_idx: u32,
    left: MonomialId,
    right: MonomialId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Move {
    Divisor(Divisor),
    Distribution(usize, Symbol),
    /// By position among the quotients.
    Quotient(usize),
}

/// A move as it would be made now.
struct Plan {
    gain: i64,
    /// The new sum.
    terms: Terms,
    /// The same without its content.
    normal: Normal,
    /// For each sum the terms that go, what they are divided by, and the coefficient of the new sum in their place.
    places: Vec<(usize, Vec<MonomialId>, MonomialId, f64)>,
}

/// The moves of a system before one was made: the same for all preferences.
#[derive(Clone)]
pub struct Start {
    places: Places,
    quotients: Quotients,
    /// Moves and their gains.
    weighed: Vec<(Move, i64)>,
    /// Quotients of several groups of terms.
    repeated: BTreeSet<Move>,
    n_looked_at: u64,
}

/// Where each divisor was found; places may be gone.
#[derive(Clone, Default)]
struct Places {
    /// Those found more than once, or later than the others.
    known: FxHashMap<Divisor, SmallVec<[Place; 2]>>,
    /// Those found once before any move was made, which are most.
    once: Arc<Once>,
}

/// Divisors with one place each, sorted.
#[derive(Default)]
struct Once {
    found: Vec<(Divisor, Place)>,
    /// For each position of a monomial where the divisors begin that have it on the left.
    begin: Vec<u32>,
}

impl Places {
    /// Sorts places by their divisors, those of one in the order in which they came; answers the divisors with several.
    fn of(mut found: Vec<(Divisor, Place)>) -> (Self, Vec<Divisor>) {
        found.sort_by_key(|(divisor, _)| *divisor);
        let mut known: FxHashMap<Divisor, SmallVec<[Place; 2]>> = FxHashMap::default();
        let (mut once, mut repeated) = (Vec::new(), Vec::new());
        for run in found.chunk_by(|one, other| one.0 == other.0) {
            if let [single] = run {
                once.push(*single);
            } else {
                known.insert(run[0].0, run.iter().map(|(_, place)| *place).collect());
                repeated.push(run[0].0);
            }
        }
        (Self { known, once: Arc::new(Once::of(once)) }, repeated)
    }

    /// Adds a place; answers whether there are several.
    fn add(&mut self, divisor: Divisor, place: Place) -> bool {
        let places = self.known.entry(divisor).or_insert_with(|| self.once.get(divisor).into_iter().collect());
        places.push(place);
        places.len() > 1
    }
}

impl Once {
    fn of(found: Vec<(Divisor, Place)>) -> Self {
        let n_lefts = found.last().map_or(0, |(divisor, _)| divisor.left.position() as usize + 1);
        let mut begin = vec![0_u32; n_lefts + 1];
        found.iter().for_each(|(divisor, _)| begin[divisor.left.position() as usize + 1] += 1);
        (1..begin.len()).for_each(|at| begin[at] += begin[at - 1]);
        Self { found, begin }
    }

    fn get(&self, divisor: Divisor) -> Option<Place> {
        let left = divisor.left.position() as usize;
        let (first, end) = (*self.begin.get(left)?, *self.begin.get(left + 1)?);
        let of_left = &self.found[first as usize..end as usize];
        let idx = of_left.binary_search_by_key(&divisor, |(divisor, _)| *divisor).ok()?;
        Some(of_left[idx].1)
    }
}

/// Finds and weighs the moves of a system.
#[must_use]
pub fn start(system: &mut System) -> Start {
    let mut search = Search {
        system,
        preference: Preference::Divisors,
        places: Places::default(),
        quotients: IndexMap::default(),
        heap: BinaryHeap::new(),
        touched: BTreeSet::new(),
        n_looked_at: 0,
        limit: 0,
        n_of_quotients: 0,
        max_of_quotients: 0,
    };
    let mut found = Vec::new();
    for sum_idx in 0..search.system.sums.len() {
        search.for_each_term(sum_idx, |search, id, others| search.find_places(sum_idx, id, others, &mut found));
    }
    let (places, repeated) = Places::of(found);
    search.places = places;
    search.touched.extend(repeated.into_iter().map(Move::Divisor));
    let (weighed, repeated) = search.weigh();
    let Search { places, quotients, n_looked_at, .. } = search;
    Start { places, quotients, weighed, repeated, n_looked_at }
}

/// Makes moves from the start of this system until none gains, or the work is used up; quotients are among them if asked for. Returns whether one was made.
pub fn regroup(system: &mut System, start: Start, preference: Preference, has_quotients: bool, work: &mut u64) -> bool {
    let Start { places, quotients, weighed, repeated, n_looked_at } = start;
    let mut search = Search {
        system,
        preference,
        places,
        quotients,
        heap: BinaryHeap::new(),
        touched: BTreeSet::new(),
        n_looked_at,
        limit: *work,
        n_of_quotients: 0,
        max_of_quotients: if has_quotients { *work } else { 0 },
    };
    search.push_all(weighed, repeated);
    let mut is_changed = false;
    while search.n_looked_at < search.limit {
        let Some(plan) = search.best() else { break };
        search.apply(plan);
        search.settle();
        is_changed = true;
    }
    *work = work.saturating_sub(search.n_looked_at);
    is_changed
}

/// By the key of their terms, sums and symbols.
type Quotients = IndexMap<Vec<(MonomialId, u64)>, BTreeSet<(usize, Symbol)>, FxBuildHasher>;

/// Terms of sums that a plan uses: few in most.
#[derive(Default)]
struct Taken {
    few: SmallVec<[(usize, MonomialId); 16]>,
    many: FxHashSet<(usize, MonomialId)>,
}

impl Taken {
    fn contains(&self, term: &(usize, MonomialId)) -> bool {
        self.few.contains(term) || self.many.contains(term)
    }

    fn extend(&mut self, terms: impl IntoIterator<Item = (usize, MonomialId)>) {
        for term in terms {
            if self.few.len() < self.few.inline_size() {
                self.few.push(term);
            } else {
                self.many.insert(term);
            }
        }
    }
}

struct Search<'a> {
    system: &'a mut System,
    preference: Preference,
    places: Places,
    /// What is left of terms that contain a symbol, with all sums and symbols of which it was left; some may be gone.
    quotients: Quotients,
    heap: BinaryHeap<(i64, Reverse<(bool, Move)>)>,
    /// Moves whose gain may have grown.
    touched: BTreeSet<Move>,
    n_looked_at: u64,
    limit: u64,
    /// Units of work spent on quotients, and how many that may be.
    n_of_quotients: u64,
    max_of_quotients: u64,
}

impl Search<'_> {
    fn enter_sum(&mut self, sum_idx: usize) {
        self.for_each_term(sum_idx, |search, id, others| search.enter_term(sum_idx, id, others));
    }

    /// Goes through the terms of a sum, each with those before it.
    fn for_each_term(&mut self, sum_idx: usize, mut visit: impl FnMut(&mut Self, MonomialId, &[MonomialId])) {
        let ids: Vec<MonomialId> = self.system.sums[sum_idx].keys().copied().collect();
        for (position, &id) in ids.iter().enumerate() {
            visit(self, id, &ids[..position]);
        }
    }

    /// Takes in a term and its pairs with others.
    fn enter_term(&mut self, sum_idx: usize, id: MonomialId, others: &[MonomialId]) {
        let mut found = Vec::new();
        self.find_places(sum_idx, id, others, &mut found);
        for (divisor, place) in found {
            if self.places.add(divisor, place) {
                self.touched.insert(Move::Divisor(divisor));
            }
        }
    }

    /// The divisors of a term and others.
    fn find_places(
        &mut self,
        sum_idx: usize,
        id: MonomialId,
        others: &[MonomialId],
        found: &mut Vec<(Divisor, Place)>,
    ) {
        for &(symbol, _) in self.system.monomial(id) {
            self.touched.insert(Move::Distribution(sum_idx, symbol));
        }
        if others.len() >= DIVISOR_TERMS_LIMIT {
            return;
        }
        self.n_looked_at += others.len() as u64;
        let of_place = u32::try_from(sum_idx).expect("there are fewer than 2^32 sums");
        for &other in others {
            found.push(match self.divisor(sum_idx, other, id) {
                (divisor, false) => (divisor, Place { sum_idx: of_place, left: other, right: id }),
                (divisor, true) => (divisor, Place { sum_idx: of_place, left: id, right: other }),
            });
        }
    }

    /// The divisor of two terms, and whether they stand in it the other way round.
    fn divisor(&mut self, sum_idx: usize, one: MonomialId, other: MonomialId) -> (Divisor, bool) {
        let monomials = &mut self.system.monomials;
        let content = monomials.common([one, other]);
        let (left, right) = (monomials.divided(one, content), monomials.divided(other, content));
        let terms = &self.system.sums[sum_idx];
        if left < right {
            (Divisor { left, right, ratio: ratio::key(terms[&other] / terms[&one]) }, false)
        } else {
            (Divisor { left: right, right: left, ratio: ratio::key(terms[&one] / terms[&other]) }, true)
        }
    }

    /// Takes in the moves whose gain may have grown.
    fn settle(&mut self) {
        let (weighed, repeated) = self.weigh();
        self.push_all(weighed, repeated);
    }

    /// The moves whose gain may have grown, with their gains, and the quotients of several groups of terms that came up.
    fn weigh(&mut self) -> (Vec<(Move, i64)>, BTreeSet<Move>) {
        let mut weighed = Vec::new();
        let mut repeated: BTreeSet<Move> = BTreeSet::new();
        for touched in std::mem::take(&mut self.touched) {
            let Some(plan) = self.plan(touched) else { continue };
            if let Move::Distribution(sum_idx, symbol) = touched {
                repeated.extend(self.note_quotient(&plan, sum_idx, symbol));
            }
            weighed.push((touched, self.gain(&plan)));
        }
        (weighed, repeated)
    }

    /// Takes in moves with their gains, and quotients as long as there is work for them.
    fn push_all(&mut self, weighed: Vec<(Move, i64)>, repeated: BTreeSet<Move>) {
        weighed.into_iter().for_each(|(chosen, gain)| self.push(chosen, gain));
        if self.n_of_quotients >= self.max_of_quotients {
            return;
        }
        for quotient in repeated {
            if let Some(mut plan) = self.plan(quotient) {
                plan.gain = self.gain(&plan);
                self.push(quotient, plan.gain);
            }
        }
    }

    /// Takes in what is left of terms of a sum that contain a symbol; answers the quotient if there are several such groups of terms.
    fn note_quotient(&mut self, plan: &Plan, sum_idx: usize, symbol: Symbol) -> Option<Move> {
        let entry = self.quotients.entry(plan.normal.key().to_vec());
        let idx = entry.index();
        let groups = entry.or_default();
        groups.insert((sum_idx, symbol));
        (groups.len() > 1).then_some(Move::Quotient(idx))
    }

    fn push(&mut self, chosen: Move, gain: i64) {
        if gain <= 0 {
            return;
        }
        self.heap.push((self.weight(chosen, gain), Reverse((self.is_second(chosen), chosen))));
    }

    fn weight(&self, chosen: Move, gain: i64) -> i64 {
        match (self.preference, chosen) {
            (Preference::DistributionFirst, Move::Distribution(..) | Move::Quotient(_))
            | (Preference::DivisorsFirst, Move::Divisor(_)) => 2 * gain,
            _ => gain,
        }
    }

    fn is_second(&self, chosen: Move) -> bool {
        let is_divisor = matches!(chosen, Move::Divisor(_));
        is_divisor == matches!(self.preference, Preference::Distribution | Preference::DistributionFirst)
    }

    fn best(&mut self) -> Option<Plan> {
        while let Some((weight, Reverse((_, chosen)))) = self.heap.pop() {
            let Some(mut plan) = self.plan(chosen) else { continue };
            plan.gain = self.gain(&plan);
            if plan.gain <= 0 {
                continue;
            }
            if self.weight(chosen, plan.gain) >= weight {
                return Some(plan);
            }
            self.push(chosen, plan.gain);
        }
        None
    }

    /// A move as it would be made now, if it can be; its gain is still to be weighed.
    fn plan(&mut self, chosen: Move) -> Option<Plan> {
        match chosen {
            Move::Divisor(divisor) => self.plan_divisor(divisor),
            Move::Distribution(sum_idx, symbol) => self.plan_distribution(sum_idx, symbol),
            Move::Quotient(idx) => self.plan_quotient(idx),
        }
    }

    fn plan_divisor(&mut self, divisor: Divisor) -> Option<Plan> {
        let mut places = self.places.known.remove(&divisor)?;
        let mut taken = Taken::default();
        let mut chosen = Vec::new();
        let mut terms = Terms::new();
        self.n_looked_at += places.len() as u64;
        places.retain(|place| {
            let sum_idx = place.sum_idx as usize;
            let of_sum = &self.system.sums[sum_idx];
            let (Some(&left), Some(&right)) = (of_sum.get(&place.left), of_sum.get(&place.right)) else { return false };
            if ratio::key(right / left) != divisor.ratio {
                return false;
            }
            if terms.is_empty() {
                terms.extend([(divisor.left, 1.0), (divisor.right, ratio::clean_unit(right / left))]);
            }
            let own = [(sum_idx, place.left), (sum_idx, place.right)];
            if own.iter().all(|term| !taken.contains(term)) {
                taken.extend(own);
                chosen.push((*place, left));
            }
            true
        });
        self.places.known.insert(divisor, places);
        if terms.is_empty() {
            return None;
        }
        let normal = self.system.normal(&terms);
        let own = self.own_sum(&normal);
        let mut plan = Plan { gain: 0, terms, normal, places: Vec::new() };
        for (place, coefficient) in chosen {
            let sum_idx = place.sum_idx as usize;
            if Some(sum_idx) != own {
                let content = self.system.monomials.divided(place.left, divisor.left);
                plan.places.push((sum_idx, vec![place.left, place.right], content, coefficient));
            }
        }
        Some(plan)
    }

    fn plan_distribution(&mut self, sum_idx: usize, symbol: Symbol) -> Option<Plan> {
        let contains =
            |id: MonomialId| self.system.monomial(id).binary_search_by_key(&symbol, |factor| factor.0).is_ok();
        let removed: Vec<MonomialId> = self.system.sums[sum_idx].keys().copied().filter(|&id| contains(id)).collect();
        self.n_looked_at += DISTRIBUTION_WORK * self.system.sums[sum_idx].len() as u64;
        if removed.len() < 2 {
            return None;
        }
        let content = self.system.monomials.common(removed.iter().copied());
        let of_content = removed.iter().map(|id| (*id, self.system.sums[sum_idx][id])).collect();
        let terms = self.system.divided(&of_content, content);
        let normal = self.system.normal(&terms);
        if self.own_sum(&normal) == Some(sum_idx) {
            return None;
        }
        Some(Plan { gain: 0, terms, normal, places: vec![(sum_idx, removed, content, 1.0)] })
    }

    fn plan_quotient(&mut self, idx: usize) -> Option<Plan> {
        let n_before = self.n_looked_at;
        let groups: Vec<(usize, Symbol)> = self.quotients[idx].iter().copied().collect();
        let mut res: Option<Plan> = None;
        let mut taken: BTreeSet<(usize, MonomialId)> = BTreeSet::new();
        for (sum_idx, symbol) in groups {
            let plan = self
                .plan_distribution(sum_idx, symbol)
                .filter(|plan| self.quotients.get_index_of(plan.normal.key()) == Some(idx));
            let Some(Plan { terms, normal, places, .. }) = plan else {
                self.quotients[idx].remove(&(sum_idx, symbol));
                continue;
            };
            let is_free =
                places.iter().all(|(sum_idx, removed, ..)| removed.iter().all(|&id| !taken.contains(&(*sum_idx, id))));
            if !is_free {
                continue;
            }
            taken.extend(places.iter().flat_map(|(sum_idx, removed, ..)| removed.iter().map(|&id| (*sum_idx, id))));
            match &mut res {
                None => res = Some(Plan { gain: 0, terms, normal, places }),
                Some(res) => {
                    let first = |terms: &Terms| terms.values().next().copied().unwrap_or(1.0);
                    let factor = ratio::clean_unit(first(&terms) / first(&res.terms));
                    let places =
                        places.into_iter().map(|(sum_idx, removed, content, _)| (sum_idx, removed, content, factor));
                    res.places.extend(places);
                }
            }
        }
        self.n_of_quotients += self.n_looked_at - n_before;
        self.n_looked_at = n_before;
        res.filter(|plan| plan.places.len() > 1)
    }

    /// The sum that some terms already are.
    fn own_sum(&self, normal: &Normal) -> Option<usize> {
        let (_, symbol) = self.system.find(normal)?;
        match self.system.kinds[symbol as usize] {
            super::system::Kind::Sum(sum_idx) => Some(sum_idx),
            _ => None,
        }
    }

    /// Operations that a plan saves.
    fn gain(&mut self, plan: &Plan) -> i64 {
        let system = &*self.system;
        let monomials = &system.monomials;
        let normal = &plan.normal;
        let found = system.find(normal);
        let scale = found.map_or(normal.scale, |(scale, _)| scale);
        let n_products = |terms: &mut dyn Iterator<Item = (MonomialId, f64)>| {
            terms.filter(|&(id, value)| !monomials.is_one(id) && !ratio::is_unit(value)).count() as i64
        };
        let mut gain = 0;
        let mut all_removed: SmallVec<[MonomialId; 16]> = SmallVec::new();
        let mut contents: SmallVec<[MonomialId; 8]> = SmallVec::new();
        for (sum_idx, removed, content, coefficient) in &plan.places {
            gain += removed.len() as i64 - 1;
            gain += n_products(&mut removed.iter().map(|id| (*id, system.sums[*sum_idx][id])));
            gain -= i64::from(!ratio::is_unit(coefficient * scale));
            all_removed.extend_from_slice(removed);
            if !monomials.is_one(*content) {
                contents.push(*content);
            }
        }
        contents.sort_unstable();
        contents.dedup();
        gain -= contents.iter().map(|&content| monomials.operations(content) + 1).sum::<i64>();
        if found.is_none() {
            gain -= normal.terms.len() as i64 - 1;
            gain -= n_products(&mut normal.terms.iter().map(|(id, value)| (*id, *value)));
            let unread = normal.terms.keys().filter(|&&id| monomials.n_uses(id) == 0);
            gain -= unread.map(|&id| monomials.operations(id)).sum::<i64>();
        }
        all_removed.sort_unstable();
        for run in all_removed.chunk_by(|one, other| one == other) {
            let is_needed = found.is_none() && normal.terms.contains_key(&run[0]);
            if monomials.n_uses(run[0]) as usize == run.len() && !is_needed {
                gain += monomials.operations(run[0]);
            }
        }
        gain
    }

    fn apply(&mut self, plan: Plan) {
        let (scale, symbol, is_new) = self.system.symbol(plan.normal);
        for (sum_idx, removed, content, coefficient) in plan.places {
            let id = self.system.monomials.times(content, symbol);
            let added: Scaled = (ratio::clean_unit(coefficient * scale), id);
            if self.system.replace(sum_idx, removed, added) {
                let others: Vec<MonomialId> =
                    self.system.sums[sum_idx].keys().copied().filter(|&other| other != id).collect();
                self.enter_term(sum_idx, id, &others);
            }
        }
        if is_new {
            self.enter_sum(self.system.sums.len() - 1);
        }
    }
}

//! A system of polynomials over symbols, each symbol an input or a polynomial of earlier symbols.
//!
//! # Input
//! Polynomials over inputs.
//! # Output
//! A [`System`], changed in place by the steps of [`polynomials`](crate::polynomials); the values of its outputs never change.
//! # Method
//! Monomials are interned. A sum of several terms is stored without its content: the common powers of its terms, its sign,
//! and the most frequent magnitude of its coefficients where that saves multiplications. Sums that are equal up to a factor
//! are one symbol.
//!
//! A symbol may be found again where it once was defined, though its definition was rewritten since. This makes no
//! cycle: every step regroups terms and none cancels, so what reads a symbol has more terms or factors than the symbol when all is
//! multiplied out.
//! # Complexity
//! O(length · log) for each term that is stored.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::Polynomial;
use super::monomial::{Monomial, MonomialId, Monomials, Symbol};
use crate::ratio;

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An input.
    Input(usize),
    /// The reciprocal of an input.
    Inverse(usize),
    /// A monomial that others contain.
    Product(MonomialId),
    /// A polynomial, by position.
    Sum(usize),
}

/// Terms by monomial, without zeros.
pub type Terms = BTreeMap<MonomialId, f64>;

/// A coefficient times a monomial.
pub type Scaled = (f64, MonomialId);

/// Polynomials that read each other.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// What the symbols are.
    pub kinds: Vec<Kind>,
    /// All monomials.
    pub monomials: Monomials,
    /// The sums, each of two terms or more when made.
    pub sums: Vec<Terms>,
    /// The symbols of the sums.
    pub symbols: Vec<Symbol>,
    /// The outputs; none for zero.
    pub outputs: Vec<Option<Scaled>>,
    /// Sums as they were when made: ratios to the first coefficient, and that coefficient.
    known: FxHashMap<Vec<(MonomialId, u64)>, (Symbol, f64)>,
}

/// A sum without its content.
pub struct Normal {
    /// The coefficient of the content.
    pub scale: f64,
    /// The terms that are left.
    pub terms: Terms,
    key: Vec<(MonomialId, u64)>,
    first: f64,
}

impl Normal {
    /// What sums that are equal up to a factor have in common: their terms, with the ratios to the first coefficient.
    #[must_use]
    pub fn key(&self) -> &[(MonomialId, u64)] {
        &self.key
    }
}

impl System {
    /// The system of some polynomials.
    #[must_use]
    pub fn new(polynomials: &[Polynomial]) -> Self {
        let mut system = Self::default();
        let mut inputs: BTreeMap<(usize, bool), Symbol> = BTreeMap::new();
        for polynomial in polynomials {
            let terms = system.terms(polynomial, &mut inputs);
            let output = system.value(&terms);
            if let Some((_, id)) = output {
                system.monomials.add_use(id);
            }
            system.outputs.push(output);
        }
        system
    }

    /// The terms of a polynomial; `inputs` are the symbols of inputs and reciprocals so far.
    pub fn terms(&mut self, polynomial: &Polynomial, inputs: &mut BTreeMap<(usize, bool), Symbol>) -> Terms {
        let mut terms = Terms::new();
        for (coefficient, factors) in polynomial {
            let mut exponents: BTreeMap<Symbol, u32> = BTreeMap::new();
            for &(input, exponent) in factors.iter().filter(|factor| factor.1 != 0) {
                let is_inverse = exponent < 0;
                let symbol = *inputs.entry((input, is_inverse)).or_insert_with(|| {
                    self.push_symbol(if is_inverse { Kind::Inverse(input) } else { Kind::Input(input) })
                });
                *exponents.entry(symbol).or_insert(0) += exponent.unsigned_abs();
            }
            let monomial: Monomial = exponents.into_iter().collect();
            let id = self.monomials.intern(&monomial);
            *terms.entry(id).or_insert(0.0) += coefficient;
        }
        terms.retain(|_, coefficient| *coefficient != 0.0);
        terms
    }

    /// Adds a symbol.
    pub fn push_symbol(&mut self, kind: Kind) -> Symbol {
        self.kinds.push(kind);
        Symbol::try_from(self.kinds.len() - 1).expect("there are fewer than 2^32 symbols")
    }

    /// The value of some terms as one term: their content times the symbol of what is left. None for zero.
    pub fn value(&mut self, terms: &Terms) -> Option<Scaled> {
        match terms.len() {
            0 => None,
            1 => terms.iter().next().map(|(&id, &coefficient)| (coefficient, id)),
            _ => {
                let content = self.monomials.common(terms.keys().copied());
                let rest = self.divided(terms, content);
                let normal = self.normal(&rest);
                let (scale, symbol, _) = self.symbol(normal);
                let id = self.monomials.times(content, symbol);
                Some((scale, id))
            }
        }
    }

    /// Terms divided by a monomial that divides each.
    pub fn divided(&mut self, terms: &Terms, divisor: MonomialId) -> Terms {
        terms.iter().map(|(&id, &coefficient)| (self.monomials.divided(id, divisor), coefficient)).collect()
    }

    /// The normal form of two terms or more that have no common power.
    #[must_use]
    pub fn normal(&self, terms: &Terms) -> Normal {
        let scale = scale(&self.monomials, terms);
        let terms: Terms = terms.iter().map(|(&id, &value)| (id, ratio::clean_unit(value / scale))).collect();
        let first = terms.values().next().copied().unwrap_or(1.0);
        let key = terms.iter().map(|(&id, &value)| (id, ratio::key(value / first))).collect();
        Normal { scale, terms, key, first }
    }

    /// The symbol of a normal form, if there is one, and the factor it is to be multiplied by.
    #[must_use]
    pub fn find(&self, normal: &Normal) -> Option<(f64, Symbol)> {
        let (symbol, first) = self.known.get(&normal.key)?;
        Some((ratio::clean_unit(normal.scale * normal.first / first), *symbol))
    }

    /// The symbol of a normal form, the factor it is to be multiplied by, and whether it is new.
    pub fn symbol(&mut self, normal: Normal) -> (f64, Symbol, bool) {
        if let Some((scale, symbol)) = self.find(&normal) {
            return (scale, symbol, false);
        }
        let symbol = self.push_symbol(Kind::Sum(self.sums.len()));
        for &id in normal.terms.keys() {
            self.monomials.add_use(id);
        }
        self.known.insert(normal.key, (symbol, normal.first));
        self.sums.push(normal.terms);
        self.symbols.push(symbol);
        (normal.scale, symbol, true)
    }

    /// Replaces terms of a sum, which it must have, by one term. Returns whether the term is new to the sum.
    pub fn replace(&mut self, sum_idx: usize, removed: impl IntoIterator<Item = MonomialId>, added: Scaled) -> bool {
        for id in removed {
            self.sums[sum_idx].remove(&id);
            self.monomials.remove_use(id);
        }
        let (coefficient, id) = added;
        let terms = &mut self.sums[sum_idx];
        if let Some(value) = terms.get_mut(&id) {
            *value += coefficient;
            if *value == 0.0 {
                terms.remove(&id);
                self.monomials.remove_use(id);
            }
            return false;
        }
        terms.insert(id, coefficient);
        self.monomials.add_use(id);
        true
    }

    /// Changes monomials to others of the same value; those that define products stay readable under their ids.
    pub fn rewrite_products(&mut self, changes: Vec<(MonomialId, Monomial)>, defined: &BTreeSet<MonomialId>) {
        self.monomials.rewrite(changes.into_iter().filter(|(id, _)| !defined.contains(id)).collect());
    }

    /// A monomial.
    #[must_use]
    pub fn monomial(&self, id: MonomialId) -> &Monomial {
        self.monomials.get(id)
    }
}

/// The factor to take out of coefficients: the sign of the first, and the most frequent magnitude where that saves
/// multiplications.
fn scale(monomials: &Monomials, terms: &Terms) -> f64 {
    let mut counts: BTreeMap<u64, (i64, f64)> = BTreeMap::new();
    for (&id, &value) in terms {
        counts.entry(ratio::magnitude_key(value)).or_insert((0, value.abs())).0 += i64::from(!monomials.is_one(id));
    }
    let n_units = counts.get(&ratio::key(1.0)).map_or(0, |(count, _)| *count);
    let most = counts.values().rev().max_by_key(|(count, _)| *count).copied().unwrap_or((0, 1.0));
    let sign = terms.values().next().map_or(1.0, |first| 1f64.copysign(*first));
    if most.0 > n_units + 1 { sign * most.1 } else { sign }
}

//! Scalars of a kernel: atoms, and monomials of them.
//!
//! An *atom* is a value that no table iname moves: an element of an argument, a sum of monomials, or an operation that is no
//! polynomial. Equal atoms are one [`AtomId`]: sums are interned with a canonical sign, and where all their coefficients have one magnitude
//! with that taken out, so that `a - b` and `b - a` meet. A [`MonomialId`] is a product of whole powers of atoms.

use indexmap::{IndexMap, IndexSet};
use nestegg_ir::{Expr, ExprId, Float, FunctionId};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

/// The most terms that a sum may have once the sums in it are flattened.
const MAX_FLAT: usize = 256;

/// An interned atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AtomId(u32);

impl AtomId {
    /// Position among the atoms.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// An interned monomial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MonomialId(u32);

impl MonomialId {
    /// The product of no atoms.
    pub(crate) const ONE: Self = Self(0);
}

/// A number times a monomial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scalar {
    /// The number.
    pub(crate) coefficient: Float,
    /// The monomial.
    pub(crate) monomial: MonomialId,
}

/// A value without table inames.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Atom {
    /// An expression that is left as it is.
    Leaf(ExprId),
    /// A sum of at least two terms.
    Sum(Vec<Scalar>),
    /// An operation of scalars, none of its own operands meaning anything.
    Operation(Expr, Vec<Operand>),
}

/// An operand of an operation that is no polynomial.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operand {
    /// An expression that is left as it is.
    Given(ExprId),
    /// A scalar.
    Scalar(Scalar),
}

/// The atoms and monomials of a kernel.
#[derive(Debug)]
pub(crate) struct Atoms {
    atoms: IndexSet<Atom, FxBuildHasher>,
    monomials: IndexSet<Vec<(AtomId, i32)>, FxBuildHasher>,
    absolute_value: Option<FunctionId>,
}

impl Atoms {
    /// None yet; `absolute_value` is the kernel's `fabs`.
    pub(crate) fn new(absolute_value: Option<FunctionId>) -> Self {
        Self { atoms: IndexSet::default(), monomials: std::iter::once(Vec::new()).collect(), absolute_value }
    }

    /// How many atoms there are.
    pub(crate) fn len(&self) -> usize {
        self.atoms.len()
    }

    /// What an atom is.
    pub(crate) fn atom(&self, id: AtomId) -> &Atom {
        &self.atoms[id.index()]
    }

    /// The atom at a position.
    pub(crate) fn id(idx: usize) -> AtomId {
        AtomId(u32::try_from(idx).expect("work is limited far below 2^32 atoms"))
    }

    /// The factors of a monomial with their exponents.
    pub(crate) fn factors(&self, monomial: MonomialId) -> &[(AtomId, i32)] {
        &self.monomials[monomial.0 as usize]
    }

    /// An atom as a monomial.
    pub(crate) fn intern(&mut self, atom: Atom) -> MonomialId {
        let (idx, _) = self.atoms.insert_full(atom);
        self.monomial(vec![(Self::id(idx), 1)])
    }

    fn monomial(&mut self, factors: Vec<(AtomId, i32)>) -> MonomialId {
        let (idx, _) = self.monomials.insert_full(factors);
        MonomialId(u32::try_from(idx).expect("work is limited far below 2^32 monomials"))
    }

    /// `a*b**exponent`.
    pub(crate) fn multiply(&mut self, a: MonomialId, b: MonomialId, exponent: i32) -> MonomialId {
        if b == MonomialId::ONE {
            return a;
        }
        let mut factors = self.factors(a).to_vec();
        for &(atom, power) in self.factors(b).to_vec().iter() {
            match factors.binary_search_by_key(&atom, |factor| factor.0) {
                Ok(idx) => factors[idx].1 += power * exponent,
                Err(idx) => factors.insert(idx, (atom, power * exponent)),
            }
        }
        factors.retain(|factor| factor.1 != 0);
        self.fold_absolute_values(&mut factors);
        self.monomial(factors)
    }

    /// A monomial as the product of its factors that are so, and of the others.
    pub(crate) fn parted(
        &mut self,
        monomial: MonomialId,
        is_first: impl Fn(AtomId, &Atom) -> bool,
    ) -> (MonomialId, MonomialId) {
        let (first, second) = self.factors(monomial).iter().partition(|factor| is_first(factor.0, self.atom(factor.0)));
        (self.monomial(first), self.monomial(second))
    }

    /// A sum as a number times a monomial: one term itself, several as an atom; `None` if a coefficient is not finite.
    pub(crate) fn sum(&mut self, terms: &[(MonomialId, f64)]) -> Option<(f64, MonomialId)> {
        if let [(monomial, coefficient)] = terms {
            return Some((*coefficient, *monomial));
        }
        let mut terms = terms.to_vec();
        terms.sort_by_key(|term| term.0);
        let (sign, magnitude) = terms.first().map_or((1.0, 1.0), |first| (first.1.signum(), first.1.abs()));
        let scale = if terms.iter().all(|term| term.1.abs() == magnitude) { sign * magnitude } else { sign };
        let scalar = |&(monomial, coefficient): &(MonomialId, f64)| {
            Some(Scalar { coefficient: Float::new(coefficient / scale)?, monomial })
        };
        let scalars: Option<Vec<Scalar>> = terms.iter().map(scalar).collect();
        Some((scale, self.intern(Atom::Sum(scalars?))))
    }

    /// A sum as a number times a monomial, with what its terms have in common taken out; `None` if a coefficient is not finite.
    pub(crate) fn factored(&mut self, terms: &[(MonomialId, f64)]) -> Option<(f64, MonomialId)> {
        let common = self.common(terms.iter().map(|term| term.0));
        let divided: Vec<(MonomialId, f64)> =
            terms.iter().map(|&(monomial, value)| (self.multiply(monomial, common, -1), value)).collect();
        let (scale, sum) = self.sum(&divided)?;
        Some((scale, self.multiply(sum, common, 1)))
    }

    /// A power of an atom.
    pub(crate) fn power(&mut self, atom: AtomId, exponent: i32) -> MonomialId {
        self.monomial(vec![(atom, exponent)])
    }

    /// The terms of a sum, the sums in it flattened; `None` if the atom is no sum, or has too many terms.
    pub(crate) fn terms(&self, atom: AtomId) -> Option<Vec<(MonomialId, f64)>> {
        let Atom::Sum(_) = self.atom(atom) else { return None };
        let mut res: IndexMap<MonomialId, f64, FxBuildHasher> = IndexMap::default();
        let mut pending = vec![(atom, 1.0)];
        let mut n_left = MAX_FLAT;
        while let Some((atom, factor)) = pending.pop() {
            let Atom::Sum(terms) = self.atom(atom) else { continue };
            // Nested sums that share sums have exponentially many paths.
            n_left = n_left.checked_sub(terms.len())?;
            for term in terms {
                let value = factor * term.coefficient.get();
                match self.factors(term.monomial) {
                    [(inner, 1)] if matches!(self.atom(*inner), Atom::Sum(_)) => pending.push((*inner, value)),
                    _ => *res.entry(term.monomial).or_default() += value,
                }
            }
        }
        Some(res.into_iter().collect())
    }

    /// The sums among some atoms that have the same values as another of them; `value_of` says what of a term counts as its value.
    pub(crate) fn sums_of_the_same(
        &mut self,
        atoms: IndexSet<AtomId, FxBuildHasher>,
        value_of: impl Fn(&mut Self, MonomialId) -> MonomialId,
    ) -> FxHashSet<AtomId> {
        let mut by_values: FxHashMap<Vec<MonomialId>, Vec<AtomId>> = FxHashMap::default();
        for atom in atoms {
            let Some(terms) = self.terms(atom) else { continue };
            let mut values: Vec<MonomialId> = terms.into_iter().map(|term| value_of(self, term.0)).collect();
            values.sort_unstable();
            by_values.entry(values).or_default().push(atom);
        }
        by_values.into_values().filter(|sums| sums.len() > 1).flatten().collect()
    }

    /// What monomials have in common: of each atom that all have, with powers of one sign, the least power.
    fn common(&mut self, mut monomials: impl Iterator<Item = MonomialId>) -> MonomialId {
        let Some(first) = monomials.next() else { return MonomialId::ONE };
        let mut res = self.factors(first).to_vec();
        for next in monomials {
            let factors = self.factors(next);
            res.retain_mut(|(atom, power)| {
                let Ok(at) = factors.binary_search_by_key(atom, |factor| factor.0) else { return false };
                let other = factors[at].1;
                if other.abs() < power.abs() {
                    *power = other;
                }
                other.signum() == power.signum()
            });
        }
        self.monomial(res)
    }

    /// `|d|**a * d**b` with the fewest factors: `|d|**2 == d**2`.
    fn fold_absolute_values(&self, factors: &mut Vec<(AtomId, i32)>) {
        for idx in 0..factors.len() {
            let (outer, a) = factors[idx];
            let Some(inner) = self.absolute_value_of(outer) else { continue };
            let at = factors.binary_search_by_key(&inner, |factor| factor.0);
            let b = at.map_or(0, |at| factors[at].1);
            // Even parts move to the side that they cancel on.
            let even = a - a.rem_euclid(2);
            let (mut best, mut cost) = ((a, b), (a.abs() + b.abs(), a.abs()));
            for moved in [even, even + 2, -(b - b.rem_euclid(2)), -(b - b.rem_euclid(2)) - 2] {
                let candidate = (a - moved, b + moved);
                let candidate_cost = (candidate.0.abs() + candidate.1.abs(), candidate.0.abs());
                if candidate_cost < cost {
                    (best, cost) = (candidate, candidate_cost);
                }
            }
            factors[idx].1 = best.0;
            match at {
                Ok(at) => factors[at].1 = best.1,
                Err(at) if best.1 != 0 => {
                    factors.insert(at, (inner, best.1));
                    return self.fold_absolute_values(factors);
                }
                Err(_) => {}
            }
        }
        factors.retain(|factor| factor.1 != 0);
    }

    /// The atom whose absolute value, but for its scale, an atom is.
    fn absolute_value_of(&self, atom: AtomId) -> Option<AtomId> {
        let Atom::Operation(Expr::Call { function, .. }, operands) = self.atom(atom) else { return None };
        let [Operand::Scalar(scalar)] = operands.as_slice() else { return None };
        match self.factors(scalar.monomial) {
            [(inner, 1)] if Some(*function) == self.absolute_value && scalar.coefficient.get() == 1.0 => Some(*inner),
            _ => None,
        }
    }

    /// The function is the kernel's `fabs`.
    pub(crate) fn is_absolute_value(&self, function: FunctionId) -> bool {
        Some(function) == self.absolute_value
    }
}

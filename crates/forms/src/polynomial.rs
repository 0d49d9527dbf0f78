//! Polynomials in scalar atoms whose coefficients are tables: the multilinear normal form.
//!
//! A [`Polynomial`] is a map from (monomial of atoms, product of tables) to a number. [`Algebra`] holds what they are made of and
//! counts the work; where a limit is exceeded, results are `None` and [`Algebra::is_exceeded`] says so.

use std::borrow::Cow;
use std::collections::hash_map::Entry;

use indexmap::IndexMap;
use nestegg_ir::{Float, InameSet, Kernel};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::Sums;
use crate::atoms::{Atoms, MonomialId, Scalar};
use crate::table::{ProductId, TableStore};

/// How many terms one polynomial may have.
pub(crate) const MAX_TERMS: usize = 20_000;

/// How many multiplications and additions of numbers a kernel may take.
pub(crate) const MAX_WORK: u64 = 500_000_000;

/// A sum of numbers times monomials times products of tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Polynomial {
    /// Terms in the order in which they came to be; `None` where one has cancelled.
    terms: Vec<Option<Term>>,
    /// Where each term is.
    places: FxHashMap<(MonomialId, ProductId), usize>,
}

type Term = (MonomialId, ProductId, f64);

/// The order of terms does not matter.
impl PartialEq for Polynomial {
    fn eq(&self, other: &Self) -> bool {
        let is_in_other = |(monomial, product, coefficient): Term| {
            let place = other.places.get(&(monomial, product));
            place.and_then(|&place| other.terms[place]).is_some_and(|term| term.2 == coefficient)
        };
        self.len() == other.len() && self.terms().all(is_in_other)
    }
}

impl Polynomial {
    /// Zero.
    pub(crate) fn zero() -> Self {
        Self::default()
    }

    /// One term.
    pub(crate) fn term(coefficient: f64, monomial: MonomialId, product: ProductId) -> Self {
        let mut res = Self::default();
        res.add_term(coefficient, monomial, product);
        res
    }

    /// A number.
    pub(crate) fn number(value: f64) -> Self {
        Self::term(value, MonomialId::ONE, ProductId::ONE)
    }

    /// The terms, in the order in which they came to be.
    pub(crate) fn terms(&self) -> impl Iterator<Item = Term> + '_ {
        self.terms.iter().flatten().copied()
    }

    /// How many terms there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Adds one term.
    pub(crate) fn add_term(&mut self, coefficient: f64, monomial: MonomialId, product: ProductId) {
        if coefficient == 0.0 {
            return;
        }
        let place = match self.places.entry((monomial, product)) {
            Entry::Vacant(entry) => {
                entry.insert(self.terms.len());
                self.terms.push(Some((monomial, product, coefficient)));
                return;
            }
            Entry::Occupied(entry) => entry,
        };
        let term = &mut self.terms[*place.get()];
        let sum = term.map_or(0.0, |(_, _, known)| known) + coefficient;
        // What rounding leaves of a difference of equals is nothing.
        if sum.abs() > 4.0 * f64::EPSILON * coefficient.abs() {
            *term = Some((monomial, product, sum));
            return;
        }
        *term = None;
        place.remove();
        if self.terms.len() > 2 * self.places.len() {
            self.terms.retain(Option::is_some);
            self.places =
                self.terms().enumerate().map(|(at, (monomial, product, _))| ((monomial, product), at)).collect();
        }
    }

    /// Adds `factor*other`.
    pub(crate) fn add(&mut self, other: &Self, factor: f64) {
        for (monomial, product, coefficient) in other.terms() {
            self.add_term(coefficient * factor, monomial, product);
        }
    }

    /// The one term, if there is just one and it has no table; zero is the number zero.
    pub(crate) fn as_scalar(&self) -> Option<Scalar> {
        let mut terms = self.terms();
        let (first, second) = (terms.next(), terms.next());
        match (first, second) {
            (None, _) => Some(Scalar { coefficient: Float::new(0.0)?, monomial: MonomialId::ONE }),
            (Some((monomial, ProductId::ONE, coefficient)), None) => {
                Some(Scalar { coefficient: Float::new(coefficient)?, monomial })
            }
            _ => None,
        }
    }
}

/// What polynomials are made of.
#[derive(Debug)]
pub(crate) struct Algebra {
    pub(crate) atoms: Atoms,
    pub(crate) tables: TableStore,
    /// What becomes of sums that are multiplied.
    pub(crate) sums: Sums,
    /// How many sums were kept.
    n_kept: usize,
}

impl Algebra {
    /// Of a kernel, over tables.
    pub(crate) fn new(kernel: &Kernel, tables: TableStore) -> Self {
        let absolute_value = kernel.function_ids().find(|&function| kernel[function] == "fabs");
        Self { atoms: Atoms::new(absolute_value), tables, sums: Sums::Expanded, n_kept: 0 }
    }

    /// Other atoms and tables, with the sums of this one.
    pub(crate) fn renewed(&self, kernel: &Kernel, tables: TableStore) -> Self {
        Self { sums: self.sums, n_kept: self.n_kept, ..Self::new(kernel, tables) }
    }

    /// Whether sums are expanded, or some were kept.
    pub(crate) fn has_form(&self) -> bool {
        self.sums == Sums::Expanded || self.n_kept > 0
    }

    /// Whether a limit is exceeded: nothing that is computed then is of use.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.tables.work > MAX_WORK
    }

    /// `a*b`; `None` beyond a limit.
    pub(crate) fn multiply(&mut self, a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
        if a.len().saturating_mul(b.len()) > MAX_TERMS * 16 {
            return None;
        }
        let (a, b) = (self.factor(a), self.factor(b));
        let mut res = Polynomial::zero();
        for (left, left_tables, x) in a.terms() {
            for (right, right_tables, y) in b.terms() {
                if let Some((factor, product)) = self.tables.multiply(left_tables, right_tables) {
                    let monomial = self.atoms.multiply(left, right, 1);
                    res.add_term(x * y * factor, monomial, product);
                }
            }
            self.tables.work += 50 * b.len() as u64;
            if res.len() > MAX_TERMS || self.is_exceeded() {
                return None;
            }
        }
        Some(res)
    }

    /// A factor of a product: its scalars that have the same tables are one atom, if sums are kept.
    fn factor<'a>(&mut self, factor: &'a Polynomial) -> Cow<'a, Polynomial> {
        if self.sums == Sums::Expanded || factor.len() < 2 {
            return Cow::Borrowed(factor);
        }
        let mut groups: IndexMap<ProductId, Vec<(MonomialId, f64)>, FxBuildHasher> = IndexMap::default();
        for (monomial, product, coefficient) in factor.terms() {
            groups.entry(product).or_default().push((monomial, coefficient));
        }
        if groups.len() == factor.len() {
            return Cow::Borrowed(factor);
        }
        let mut res = Polynomial::zero();
        for (product, terms) in groups {
            self.n_kept += usize::from(terms.len() > 1);
            match self.atoms.sum(terms.clone()) {
                Some((scale, sum)) => res.add_term(scale, sum, product),
                // A coefficient that is not finite cannot be written down; the terms stay as they are.
                None => terms.iter().for_each(|&(monomial, value)| res.add_term(value, monomial, product)),
            }
        }
        Cow::Owned(res)
    }

    /// The sum over reduction inames; `None` beyond a limit.
    pub(crate) fn sum(&mut self, body: &Polynomial, inames: &InameSet) -> Option<Polynomial> {
        let mut res = Polynomial::zero();
        for (monomial, product, coefficient) in body.terms() {
            if let Some((factor, product)) = self.tables.sum(product, inames) {
                res.add_term(coefficient * factor, monomial, product);
            }
            if self.is_exceeded() {
                return None;
            }
        }
        Some(res)
    }

    /// A polynomial without tables as one term: a sum of several becomes an atom.
    pub(crate) fn collapsed(&mut self, polynomial: Polynomial) -> Polynomial {
        if polynomial.len() < 2 || polynomial.terms().any(|(_, product, _)| product != ProductId::ONE) {
            return polynomial;
        }
        let terms = polynomial.terms().map(|(monomial, _, coefficient)| (monomial, coefficient)).collect();
        // A coefficient that is not finite cannot be written down; the terms stay as they are.
        match self.atoms.sum(terms) {
            Some((scale, sum)) => Polynomial::term(scale, sum, ProductId::ONE),
            None => polynomial,
        }
    }
}

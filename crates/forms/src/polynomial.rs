//! Polynomials in scalar atoms whose coefficients are tables: the multilinear normal form.
//!
//! A [`Polynomial`] is a map from (monomial of atoms, product of tables) to a number. [`Algebra`] holds what they are made of and
//! counts the work; where a limit is exceeded, results are `None` and [`Algebra::is_exceeded`] says so.

use std::borrow::Cow;
use std::collections::hash_map::Entry;

use indexmap::{IndexMap, IndexSet};
use nestegg_ir::{Float, InameSet, Kernel};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::Sums;
use crate::atoms::{AtomId, Atoms, MonomialId, Scalar};
use crate::scalars::Terms;
use crate::table::{ProductId, TableStore};

/// How many terms one polynomial may have.
pub(crate) const MAX_TERMS: usize = 20_000;

/// How many multiplications and additions of numbers a kernel may take.
pub(crate) const MAX_WORK: u64 = 500_000_000;

/// How many products a sum may be multiplied out to before equal ones meet.
const MAX_PRODUCTS: usize = 4_096;

/// A sum of numbers times monomials times products of tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Polynomial {
    /// Terms in the order in which they came to be; `None` where one has cancelled.
    terms: Vec<Option<Term>>,
    /// Where each term is.
    places: FxHashMap<(MonomialId, ProductId), usize>,
}

type Term = (MonomialId, ProductId, f64);

/// What atoms that are sums become, as a number times a monomial, where their products are [multiplied out](Algebra::multiplied_out).
pub(crate) type MultipliedOut = FxHashMap<AtomId, Option<(f64, MonomialId)>>;

/// What makes a number times a monomial of a sum.
type SumOf = fn(&mut Atoms, &[(MonomialId, f64)]) -> Option<(f64, MonomialId)>;

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
        self.with_one_scalar(factor, Atoms::sum).map_or(Cow::Borrowed(factor), Cow::Owned)
    }

    /// The scalars that have the same tables as one term, if sums are kept: what they have in common times an atom. `None` if that changes nothing.
    pub(crate) fn gathered(&mut self, polynomial: &Polynomial) -> Option<Polynomial> {
        self.with_one_scalar(polynomial, Atoms::factored)
    }

    /// One term for each product of tables, its scalar made by `sum`; `None` where sums are expanded or nothing changes.
    fn with_one_scalar(&mut self, polynomial: &Polynomial, sum: SumOf) -> Option<Polynomial> {
        if self.sums == Sums::Expanded || polynomial.len() < 2 {
            return None;
        }
        let mut groups: IndexMap<ProductId, Vec<(MonomialId, f64)>, FxBuildHasher> = IndexMap::default();
        for (monomial, product, coefficient) in polynomial.terms() {
            groups.entry(product).or_default().push((monomial, coefficient));
        }
        if groups.len() == polynomial.len() {
            return None;
        }
        let mut res = Polynomial::zero();
        for (product, terms) in groups {
            let gathered = if terms.len() > 1 { sum(&mut self.atoms, &terms) } else { None };
            match gathered {
                Some((scale, monomial)) => {
                    self.n_kept += 1;
                    res.add_term(scale, monomial, product);
                }
                // A coefficient that is not finite cannot be written down; the terms stay as they are.
                None => terms.iter().for_each(|&(monomial, value)| res.add_term(value, monomial, product)),
            }
        }
        Some(res)
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
        let terms: Terms = polynomial.terms().map(|(monomial, _, coefficient)| (monomial, coefficient)).collect();
        // A coefficient that is not finite cannot be written down; the terms stay as they are.
        match self.atoms.sum(&terms) {
            Some((scale, sum)) => Polynomial::term(scale, sum, ProductId::ONE),
            None => polynomial,
        }
    }

    /// A sum of scalars, and the sums in it, with [products multiplied out](Self::products_multiplied_out); `None` if there are none.
    pub(crate) fn multiplied_out(&mut self, terms: &[(MonomialId, f64)], known: &mut MultipliedOut) -> Option<Terms> {
        let (mut res, mut is_changed) = (Vec::with_capacity(terms.len()), false);
        for &(monomial, coefficient) in terms {
            let mut next = (monomial, coefficient);
            for (atom, power) in self.atoms.factors(monomial).to_vec() {
                if let Some((scale, sum)) = self.sum_multiplied_out(atom, known) {
                    is_changed = true;
                    let before = self.atoms.power(atom, -power);
                    next.0 = self.atoms.multiply(next.0, before, 1);
                    next = (self.atoms.multiply(next.0, sum, power), next.1 * scale.powi(power));
                }
            }
            res.push(next);
        }
        match self.products_multiplied_out(&res) {
            Some(terms) => Some(terms),
            None => is_changed.then_some(res),
        }
    }

    /// The same of a sum that is an atom, as a number times a monomial.
    fn sum_multiplied_out(&mut self, atom: AtomId, known: &mut MultipliedOut) -> Option<(f64, MonomialId)> {
        if let Some(&found) = known.get(&atom) {
            return found;
        }
        let terms = self.atoms.terms(atom).and_then(|terms| self.products_multiplied_out(&terms));
        let found = terms.and_then(|terms| self.atoms.sum(&terms));
        known.insert(atom, found);
        found
    }

    /// A sum in which products of sums of the same values are multiplied out, each such sum of products an atom, where that pays: sums over
    /// points that were written out multiply the same values at each point. `None` if it pays nowhere.
    fn products_multiplied_out(&mut self, terms: &[(MonomialId, f64)]) -> Option<Terms> {
        let alike = self.sums_of_the_same(terms);
        if alike.is_empty() {
            return None;
        }
        let mut groups: IndexMap<MonomialId, Terms, FxBuildHasher> = IndexMap::default();
        for &(monomial, coefficient) in terms {
            let (products, rest) = self.atoms.parted(monomial, |atom, _| alike.contains(&atom));
            groups.entry(rest).or_default().push((products, coefficient));
        }
        let (mut res, mut is_changed) = (Vec::new(), false);
        for (rest, products) in groups {
            let multiplied_out = self.expanded(&products).and_then(|terms| self.atoms.sum(&terms));
            is_changed |= multiplied_out.is_some();
            let terms = multiplied_out.map_or(products, |(scale, sum)| vec![(sum, scale)]);
            res.extend(terms.into_iter().map(|(monomial, value)| (self.atoms.multiply(monomial, rest, 1), value)));
        }
        is_changed.then_some(res)
    }

    /// The sums in the terms that have the same values as another of them.
    fn sums_of_the_same(&mut self, terms: &[(MonomialId, f64)]) -> FxHashSet<AtomId> {
        let factors = terms.iter().flat_map(|&(monomial, _)| self.atoms.factors(monomial));
        let sums: IndexSet<AtomId, FxBuildHasher> =
            factors.filter(|factor| factor.1 > 0).map(|factor| factor.0).collect();
        self.atoms.sums_of_the_same(sums, |_, value| value)
    }

    /// A sum of products of sums multiplied out; `None` if that makes more terms than there are, or if fewer than half of the products meet another.
    fn expanded(&mut self, terms: &[(MonomialId, f64)]) -> Option<Terms> {
        let mut res = Polynomial::zero();
        let mut seen: FxHashSet<AtomId> = FxHashSet::default();
        let (mut n_products, mut n_terms) = (0, terms.len());
        for &(monomial, coefficient) in terms {
            let mut products = vec![(MonomialId::ONE, coefficient)];
            for (atom, power) in self.atoms.factors(monomial).to_vec() {
                let terms = self.atoms.terms(atom).filter(|_| power > 0)?;
                n_terms += if seen.insert(atom) { terms.len() } else { 0 };
                for _ in 0..power {
                    if products.len() * terms.len() > MAX_PRODUCTS {
                        return None;
                    }
                    products = std::mem::take(&mut products)
                        .into_iter()
                        .flat_map(|(left, x)| terms.iter().map(move |&(right, y)| (left, right, x * y)))
                        .map(|(left, right, value)| (self.atoms.multiply(left, right, 1), value))
                        .collect();
                }
            }
            n_products += products.len();
            if n_products > MAX_PRODUCTS {
                return None;
            }
            products.into_iter().for_each(|(monomial, value)| res.add_term(value, monomial, ProductId::ONE));
        }
        let pays = res.len() > 1 && 2 * res.len() <= n_products && res.len() <= n_terms;
        pays.then(|| res.terms().map(|(monomial, _, coefficient)| (monomial, coefficient)).collect())
    }
}

//! Families of tables: `T[f[0], q, j]`, where a run-time number selects the table.
//!
//! # Input
//! A kernel in value form. A *selector* is what an index of a table adds to affine functions of table inames: an integer
//! expression of memory that the kernel does not write, such as the number of a facet.
//! # Output
//! [`with_inames`]: the kernel with an iname in the place of each selector, so that tables of a family multiply and add up as numbers;
//! [`split`]: polynomials over such tables as polynomials over the tables of single members; [`at_members`]: these with numbers in the place of elements that
//! the members select; [`restored`]: selectors in the place of the inames.
//! # Method
//! For any numbers, `T[s, …] = Σ d[c, s]*T[c, …]`, where `c` are the members and `d` is the identity table. The elements `d[c, s]` are
//! *indicators*, atoms of scalar features like any other run-time value; `moments` later puts one element of a table in the place of their sums.
//! Reductions are done before tables are split, so that no product of indicators ever has to be computed.
//!
//! An iname takes the values that keep all accesses inside. A table is read where the input reads it, so a selector is one of these.
//! # Complexity
//! One term for each term and combination of members, [`MAX_COMBINATIONS`] at most.
//! # Not done
//! Selectors that different tables bound differently stay as they are.
//! Source: Kirby and Logg, "A compiler for variational forms", ACM TOMS 2006, section 5 (one reference tensor for each facet).

use indexmap::{IndexMap, IndexSet};
use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::names::{Names, add_iname};
use nestegg_ir::walk::{arrays_below, terms};
use nestegg_ir::{Expr, ExprId, InameId, InameSet, Kernel, LinearizedKernel, Op};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::FormError;
use crate::atoms::{Atom, AtomId, Atoms, MonomialId};
use crate::elements::{constant_shape, hull, position};
use crate::evaluate::Evaluator;
use crate::nests::{NewTables, free_inames};
use crate::polynomial::{MAX_TERMS, Polynomial};
use crate::scalars::Terms;
use crate::stores::{self, Found};

/// How many members a family may have, and how many combinations the selectors of one term.
const MAX_COMBINATIONS: usize = 256;

/// How many terms an index may have.
const MAX_INDEX_TERMS: usize = 16;

/// An iname that stands for a run-time number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selector {
    pub(crate) iname: InameId,
    /// What it stands for.
    value: ExprId,
    /// How many values it takes, from zero.
    extent: usize,
}

/// The kernel with inames in the place of selectors; `None` if it has no families.
pub(crate) fn with_inames(
    linearized: &LinearizedKernel,
) -> Result<Option<(LinearizedKernel, Vec<Selector>)>, FormError> {
    let extents = stores::extents(&linearized.kernel)?;
    let mut linearized = linearized.clone();
    let kernel = &mut linearized.kernel;
    let table_inames = stores::table_inames(kernel, &extents);
    let mut indices = Indices::new(kernel, extents, &table_inames);
    let accesses: Vec<ExprId> = kernel.exprs.iter().map(|(id, _)| id).collect();
    accesses.into_iter().for_each(|access| indices.note(kernel, access));
    let Some(after) = kernel.iname_ids().next() else { return Ok(None) };
    let mut names = Names::new(kernel);
    let mut selectors = Vec::new();
    for (value, extent) in std::mem::take(&mut indices.extents_of) {
        if let Some(extent) = extent.filter(|extent| (2..=MAX_COMBINATIONS).contains(extent)) {
            selectors.push(Selector { iname: add_iname(kernel, &mut names, after, extent), value, extent });
        }
    }
    if selectors.is_empty() {
        return Ok(None);
    }
    let stands_for = |value: ExprId| selectors.iter().find(|selector| selector.value == value);
    let tables: Vec<bool> = kernel.arrays.iter().map(|array| array.table().is_some()).collect();
    kernel.rewrite(|exprs, old, expr| match expr {
        Expr::Access { array, indices: new } if tables[array.index()] => {
            let Expr::Access { indices: before, .. } = exprs[old].clone() else { return exprs.access(array, new) };
            let new: Vec<ExprId> = std::iter::zip(&before, new)
                .map(|(before, new)| {
                    let split = indices.split.get(before);
                    let Some((moving, selector)) =
                        split.and_then(|&(moving, value)| Some((moving, stands_for(value)?)))
                    else {
                        return new;
                    };
                    let iname = exprs.iname(selector.iname);
                    moving.map_or(iname, |moving| exprs.op(Op::Add, [moving, iname]))
                })
                .collect();
            exprs.access(array, new)
        }
        expr => exprs.intern(expr),
    });
    Ok(Some((linearized, selectors)))
}

/// The kernel with the selectors in the place of their inames, which nothing uses then.
pub(crate) fn restored(mut linearized: LinearizedKernel, selectors: &[Selector]) -> LinearizedKernel {
    linearized.kernel.rewrite(|exprs, _, expr| match expr {
        Expr::Iname(iname) => match selectors.iter().find(|selector| selector.iname == iname) {
            Some(selector) => selector.value,
            None => exprs.iname(iname),
        },
        expr => exprs.intern(expr),
    });
    linearized
}

/// The indices of tables, taken apart.
struct Indices {
    extents: Vec<Option<usize>>,
    /// Table inames, and inames that a reduction binds: a selector does not depend on them.
    moving: InameSet,
    is_written: Vec<bool>,
    /// For each index with a selector what is added to it, and the selector.
    split: FxHashMap<ExprId, (Option<ExprId>, ExprId)>,
    /// For each selector how many values it takes; `None` if that differs.
    extents_of: IndexMap<ExprId, Option<usize>, FxBuildHasher>,
}

impl Indices {
    fn new(kernel: &Kernel, extents: Vec<Option<usize>>, table_inames: &InameSet) -> Self {
        let is_written = kernel.written();
        let mut moving = table_inames.clone();
        for (_, expr) in kernel.exprs.iter() {
            if let Expr::Reduce { inames, .. } = expr {
                moving.extend(inames.iter().copied());
            }
        }
        Self { extents, moving, is_written, split: FxHashMap::default(), extents_of: IndexMap::default() }
    }

    /// Notes the selectors of an expression, if it is an element of a table.
    fn note(&mut self, kernel: &mut Kernel, access: ExprId) {
        let Expr::Access { array, indices } = kernel.exprs[access].clone() else { return };
        if kernel[array].table().is_none() {
            return;
        }
        let Some(shape) = constant_shape(kernel, array) else { return };
        for (&index, size) in indices.iter().zip(shape) {
            let Some((moving, selector)) = self.parts(kernel, index) else { continue };
            let extent = self.n_values(kernel, moving, size);
            self.split.insert(index, (moving, selector));
            let known = self.extents_of.entry(selector).or_insert(extent);
            if *known != extent {
                *known = None;
            }
        }
    }

    /// What is added to the selector of an index, and the selector; `None` if it has none.
    fn parts(&self, kernel: &mut Kernel, index: ExprId) -> Option<(Option<ExprId>, ExprId)> {
        let moves = |&(term, _): &(ExprId, f64)| {
            free_inames(&kernel.exprs, term).iter().any(|iname| self.moving.contains(iname))
        };
        let terms = terms(&kernel.exprs, index, MAX_INDEX_TERMS)?;
        let (moving, fixed): (Vec<_>, Vec<_>) = terms.into_iter().partition(moves);
        let read = arrays_below(&kernel.exprs, fixed.iter().map(|term| term.0));
        if read.is_empty() || read.iter().any(|array| self.is_written[array.index()]) {
            return None;
        }
        let mut sum = |terms: Vec<(ExprId, f64)>| {
            let mut signed = Vec::with_capacity(terms.len());
            for (term, sign) in terms {
                signed.push(if sign < 0.0 { kernel.exprs.op(Op::Neg, [term]) } else { term });
            }
            crate::nests::sum(&mut kernel.exprs, signed)
        };
        Some((sum(moving), sum(fixed)?))
    }

    /// How many values a selector takes beside what is added to it, in an axis of this size; `None` if these do not begin at zero.
    fn n_values(&self, kernel: &Kernel, moving: Option<ExprId>, size: i64) -> Option<usize> {
        let (low, high) = match moving {
            Some(moving) => hull(&affine::of(&kernel.exprs, moving)?, |iname| self.extents[iname.index()])?,
            None => (0, 0),
        };
        (low == 0).then(|| usize::try_from(size.checked_sub(high)?).ok())?
    }
}

/// What indicators stand for: for each the values of its selectors.
pub(crate) type Indicators = FxHashMap<AtomId, Vec<(InameId, usize)>>;

/// Splits the tables of polynomials into those of single members, each term times the indicator of its members; answers the indicators. What has too many terms then
/// becomes `None`.
pub(crate) fn split(found: &mut Found, values: &mut Values) -> Indicators {
    let mut res = Indicators::default();
    let mut names = Names::new(&found.evaluator.kernel);
    for (store_idx, value) in values {
        let Some(dtype) = found.dtype(*store_idx) else { continue };
        let mut writer = Writer {
            selectors: &found.selectors,
            arrays: NewTables::new(dtype),
            known: FxHashMap::default(),
            indicators: &mut res,
            names: &mut names,
        };
        *value = value.as_ref().and_then(|value| writer.split(&mut found.evaluator, value));
    }
    res
}

struct Writer<'a> {
    selectors: &'a [Selector],
    arrays: NewTables,
    known: FxHashMap<Vec<(InameId, usize)>, MonomialId>,
    indicators: &'a mut Indicators,
    names: &'a mut Names,
}

impl Writer<'_> {
    fn split(&mut self, evaluator: &mut Evaluator, value: &Polynomial) -> Option<Polynomial> {
        let mut res = Polynomial::zero();
        for (monomial, product, coefficient) in value.terms() {
            let axes = evaluator.algebra.tables.axes(product);
            let selectors: Vec<Selector> =
                self.selectors.iter().copied().filter(|selector| axes.contains(selector.iname)).collect();
            for members in combinations(&selectors)? {
                let Some((factor, of_members)) = evaluator.algebra.tables.at(product, &members) else { continue };
                let indicator = self.indicator(evaluator, &selectors, members)?;
                let monomial = evaluator.algebra.atoms.multiply(monomial, indicator, 1);
                res.add_term(coefficient * factor, monomial, of_members);
            }
            if res.len() > MAX_TERMS {
                return None;
            }
        }
        Some(res)
    }

    /// One where the selectors have these values, else zero.
    fn indicator(
        &mut self,
        evaluator: &mut Evaluator,
        selectors: &[Selector],
        members: Vec<(InameId, usize)>,
    ) -> Option<MonomialId> {
        if members.is_empty() {
            return Some(MonomialId::ONE);
        }
        if let Some(&known) = self.known.get(&members) {
            return Some(known);
        }
        let is_met = |point: &[usize]| std::iter::zip(&members, point).all(|(member, at)| member.1 == *at);
        let value = |point: &[usize]| f64::from(u8::from(is_met(point)));
        let element = element(&mut evaluator.kernel, self.names, &mut self.arrays, selectors, value)?;
        evaluator.extend();
        let atom = evaluator.algebra.atoms.intern(Atom::Leaf(element));
        for &(atom, _) in evaluator.algebra.atoms.factors(atom) {
            self.indicators.insert(atom, members.clone());
        }
        self.known.insert(members, atom);
        Some(atom)
    }
}

/// All values of selectors, the last one fastest; `None` if there are too many.
fn combinations(selectors: &[Selector]) -> Option<Vec<Vec<(InameId, usize)>>> {
    let mut res = vec![Vec::new()];
    for selector in selectors {
        if res.len() * selector.extent > MAX_COMBINATIONS {
            return None;
        }
        res = res
            .iter()
            .flat_map(|members: &Vec<(InameId, usize)>| {
                (0..selector.extent).map(|at| members.iter().copied().chain([(selector.iname, at)]).collect())
            })
            .collect();
    }
    Some(res)
}

/// The element of a new table of numbers at the selectors.
fn element(
    kernel: &mut Kernel,
    names: &mut Names,
    arrays: &mut NewTables,
    selectors: &[Selector],
    value: impl Fn(&[usize]) -> f64,
) -> Option<ExprId> {
    let points = combinations(selectors)?;
    let values: Vec<f64> =
        points.iter().map(|point| value(&point.iter().map(|member| member.1).collect::<Vec<usize>>())).collect();
    let shape: Vec<usize> = selectors.iter().map(|selector| selector.extent).collect();
    let array = arrays.table(kernel, names, &shape, &values)?;
    let indices: Vec<ExprId> = selectors.iter().map(|selector| kernel.exprs.iname(selector.iname)).collect();
    Some(kernel.exprs.access(array, indices))
}

/// The values of stores, by position, as far as they have any.
type Values = [(usize, Option<Polynomial>)];

/// Split polynomials with members in the place of selectors: what is multiplied with the indicator of members is read at these, and sums of
/// the same values times such elements are multiplied out, so that values at points that were written out are what they are in a sum over
/// points. `None` if nothing is read so, or if that makes too many terms.
pub(crate) fn at_members(
    evaluator: &mut Evaluator,
    values: &Values,
    indicators: &Indicators,
) -> Option<Vec<(usize, Option<Polynomial>)>> {
    let Evaluator { kernel, algebra, .. } = evaluator;
    let mut reader =
        Reader { kernel, atoms: &mut algebra.atoms, indicators, sums: FxHashSet::default(), n_left: MAX_TERMS };
    reader.sums = reader.sums_of_the_same(values.iter().filter_map(|value| value.1.as_ref()));
    let mut is_changed = false;
    let mut res = Vec::with_capacity(values.len());
    for (store_idx, value) in values {
        let Some(value) = value else {
            res.push((*store_idx, None));
            continue;
        };
        let mut read = Polynomial::zero();
        for (monomial, product, coefficient) in value.terms() {
            let factors = reader.atoms.factors(monomial).iter();
            let members = factors.filter_map(|factor| indicators.get(&factor.0)).next();
            let terms = match members {
                Some(members) => reader.product(monomial, members)?,
                None => None,
            };
            match terms {
                Some(terms) => {
                    is_changed = true;
                    terms
                        .into_iter()
                        .for_each(|(monomial, value)| read.add_term(coefficient * value, monomial, product));
                }
                None => read.add_term(coefficient, monomial, product),
            }
        }
        res.push((*store_idx, Some(read)));
    }
    is_changed.then_some(res)
}

/// Reads elements of tables at members.
struct Reader<'a> {
    kernel: &'a Kernel,
    atoms: &'a mut Atoms,
    indicators: &'a Indicators,
    /// The sums that are multiplied out.
    sums: FxHashSet<AtomId>,
    /// How many terms may still be made.
    n_left: usize,
}

impl Reader<'_> {
    /// The sums that are those of the same values as another one, but for elements of tables.
    fn sums_of_the_same<'b>(&mut self, values: impl Iterator<Item = &'b Polynomial>) -> FxHashSet<AtomId> {
        let monomials: IndexSet<MonomialId, FxBuildHasher> =
            values.flat_map(Polynomial::terms).map(|(monomial, _, _)| monomial).collect();
        let factors = monomials.iter().flat_map(|&monomial| self.atoms.factors(monomial));
        let atoms: IndexSet<AtomId, FxBuildHasher> = factors.map(|factor| factor.0).collect();
        let kernel = self.kernel;
        let is_of_table = |_: AtomId, factor: &Atom| match factor {
            Atom::Leaf(element) => {
                matches!(kernel.exprs[*element], Expr::Access { array, .. } if kernel[array].table().is_some())
            }
            _ => false,
        };
        self.atoms.sums_of_the_same(atoms, |atoms, term| atoms.parted(term, is_of_table).1)
    }

    /// A monomial multiplied out; `Some(None)` if nothing in it is read at members, `None` if it has too many terms.
    fn product(&mut self, monomial: MonomialId, members: &[(InameId, usize)]) -> Option<Option<Terms>> {
        let mut res: Terms = vec![(MonomialId::ONE, 1.0)];
        let mut is_changed = false;
        for (atom, power) in self.atoms.factors(monomial).to_vec() {
            let may_be_read = power > 0 && !self.indicators.contains_key(&atom);
            let read = if may_be_read { self.value(atom, members)? } else { None };
            let Some(terms) = read else {
                let factor = self.atoms.power(atom, power);
                res.iter_mut().for_each(|term| term.0 = self.atoms.multiply(term.0, factor, 1));
                continue;
            };
            is_changed = true;
            for _ in 0..power {
                let mut product = Terms::with_capacity(res.len() * terms.len());
                self.n_left = self.n_left.checked_sub(product.capacity())?;
                for &(left, x) in &res {
                    product.extend(terms.iter().map(|&(right, y)| (self.atoms.multiply(left, right, 1), x * y)));
                }
                res = product;
            }
        }
        Some(is_changed.then_some(res))
    }

    /// An atom in the same way.
    fn value(&mut self, atom: AtomId, members: &[(InameId, usize)]) -> Option<Option<Terms>> {
        if let Atom::Leaf(element) = *self.atoms.atom(atom) {
            return Some(self.number(element, members).map(|number| vec![(MonomialId::ONE, number)]));
        }
        let Some(terms) = self.atoms.terms(atom).filter(|_| self.sums.contains(&atom)) else { return Some(None) };
        let (mut res, mut is_changed) = (Terms::new(), false);
        for (monomial, coefficient) in terms {
            let read = self.product(monomial, members)?;
            is_changed |= read.is_some();
            let terms = read.unwrap_or_else(|| vec![(monomial, 1.0)]);
            res.extend(terms.into_iter().map(|(monomial, value)| (monomial, coefficient * value)));
        }
        Some(is_changed.then_some(res))
    }

    /// An element of a table that members alone select.
    fn number(&self, element: ExprId, members: &[(InameId, usize)]) -> Option<f64> {
        let Expr::Access { array, indices } = &self.kernel.exprs[element] else { return None };
        let data = self.kernel[*array].table()?;
        let shape = constant_shape(self.kernel, *array)?;
        let indices: Option<Vec<Affine>> = indices.iter().map(|&index| affine::of(&self.kernel.exprs, index)).collect();
        let value = |var: Var| {
            let at = members.iter().find(|member| Var::Iname(member.0) == var)?;
            i64::try_from(at.1).ok()
        };
        let indices = indices?;
        let is_read = indices.iter().all(|index| index.terms.iter().all(|&(var, _)| value(var).is_some()));
        if !is_read {
            return None;
        }
        Some(data.get(position(&indices, &shape, &value)?)?.to_f64())
    }
}

/// Sums of indicators as elements of tables.
pub(crate) struct Directions<'a> {
    kernel: &'a mut Kernel,
    names: Names,
    arrays: NewTables,
    selectors: &'a [Selector],
    indicators: &'a Indicators,
}

impl<'a> Directions<'a> {
    /// Of stores of a kernel, whose new tables have this type.
    pub(crate) fn new(
        kernel: &'a mut Kernel,
        dtype: nestegg_ir::Dtype,
        selectors: &'a [Selector],
        indicators: &'a Indicators,
    ) -> Self {
        let names = Names::new(kernel);
        Self { kernel, names, arrays: NewTables::new(dtype), selectors, indicators }
    }

    /// Whether an atom is an indicator.
    pub(crate) fn contains(&self, atom: AtomId) -> bool {
        self.indicators.contains_key(&atom)
    }

    /// The sum of indicators times numbers as a number times a monomial; `None` if it cannot be written down.
    pub(crate) fn sum(&mut self, atoms: &mut Atoms, terms: &[(MonomialId, f64)]) -> Option<(f64, MonomialId)> {
        let mut members: Vec<(&[(InameId, usize)], f64)> = Vec::with_capacity(terms.len());
        for &(monomial, coefficient) in terms {
            members.push(match atoms.factors(monomial) {
                [] => (&[], coefficient),
                &[(atom, 1)] => (self.indicators.get(&atom)?, coefficient),
                _ => return None,
            });
        }
        let used: InameSet = members.iter().flat_map(|(members, _)| members.iter().map(|member| member.0)).collect();
        let selectors: Vec<Selector> =
            self.selectors.iter().copied().filter(|selector| used.contains(selector.iname)).collect();
        let values: Vec<f64> = combinations(&selectors)?
            .iter()
            .map(|point| {
                let is_met = |members: &[(InameId, usize)]| members.iter().all(|member| point.contains(member));
                let met = members.iter().filter(|(members, _)| is_met(members));
                met.fold(0.0, |sum, (_, coefficient)| sum + coefficient)
            })
            .collect();
        let &first = values.first()?;
        if values.iter().all(|&value| value == first) {
            return Some((first, MonomialId::ONE));
        }
        let shape: Vec<usize> = selectors.iter().map(|selector| selector.extent).collect();
        let array = self.arrays.table(self.kernel, &mut self.names, &shape, &values)?;
        let indices: Vec<ExprId> = selectors.iter().map(|selector| self.kernel.exprs.iname(selector.iname)).collect();
        let element = self.kernel.exprs.access(array, indices);
        Some((1.0, atoms.intern(Atom::Leaf(element))))
    }
}

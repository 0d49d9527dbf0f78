//! Bilinear stores over tensor-product cells: one table for each dimension and pair of test and trial inames.
//!
//! # Input
//! Stores `A[f(j), g(k)] = A[f(j), g(k)] + sum(q, e)`, whose inames and reduction inames fall apart into *dimensions*, such that each table has axes in one dimension,
//! and each dimension has one test iname, one trial iname of the same extent, and any reduction inames.
//! # Output
//! The same sums over unordered pairs: in each dimension the diagonal, `j = k`, and the pairs `j < k` have loops of their own, and each value found there is
//! added to all elements of `A` that are made from it.
//! # Method
//! `e` is a sum of products of tables times values that do not depend on `j` and `k`. The tables of one dimension multiply to a pair table `B[q, j, k]`, which is the
//! sum of its symmetric part `S` and its antisymmetric part `W`; products are expanded in these, and terms with the same parts are merged, which is where the
//! symmetry of the form makes the antisymmetric ones cancel. The reductions are then done one dimension at a time, in the order that takes
//! the fewest operations, terms with the same tables in the dimensions that are left being summed first. Swapping `j` and `k` in a dimension changes the sign of
//! what has `W` there: all orders of the pairs are sums and differences of the same few values. A table with one entry for each diagonal
//! element needs no reduction.
//! Entries of parts are halves of sums of products, in floats: what of them is rounded, and by how much at most, is reported.
//! # Complexity
//! Exponential in the number of dimensions, at most [`MAX_DIMENSIONS`].
//! Source: even and odd parts as in Kronbichler and Kormann, "Fast matrix-free evaluation of discontinuous Galerkin finite element operators", ACM TOMS 2019.

mod write;

use indexmap::{IndexMap, IndexSet};
use nestegg_ir::linearization::{LoopTree, from_tree};
use nestegg_ir::{Assignee, ExprId, Float, InameId, InameSet, InstructionKind, Kernel, LinearizedKernel};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::atoms::{Atoms, MonomialId};
use crate::evaluate::Evaluator;
use crate::nests::{in_loops, rounding_of_sum, with_replaced};
use crate::points::{PointSum, no_tables};
use crate::polynomial::{Algebra, Polynomial};
use crate::scalars;
use crate::stores::{self, Store};
use crate::table::TableStore;
use crate::{FormError, LinearMaps, Options, Tolerance};
use nestegg_ir::names::Names;
use write::{PairInames, Writer};

/// How many times as large as an entry the one with its inames swapped may be: beyond it, what rounds in their sum and difference would be
/// much of the smaller one.
const LARGER: f64 = 1e5;

/// How many dimensions a cell may have.
const MAX_DIMENSIONS: usize = 4;

/// How many different products of pair tables a store may have.
const MAX_PRODUCTS: usize = 2_000;

/// The kernel with its bilinear stores over unordered pairs; `None` if it has none.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn paired_tables(linearized: &LinearizedKernel, options: &Options) -> Result<Option<LinearMaps>, FormError> {
    let Some(found) = stores::find(linearized)? else { return Ok(None) };
    let extents = stores::extents(&linearized.kernel)?;
    let mut kernel = linearized.kernel.clone();
    let mut names = Names::new(&kernel);
    let mut replaced: FxHashMap<usize, Vec<LoopTree>> = FxHashMap::default();
    let mut tolerance = Tolerance::default();
    for store in &found.stores {
        let Some((form, after)) = Bilinear::of(&kernel, store, &extents) else { continue };
        let mut before = std::mem::replace(&mut kernel, after);
        let of_form = form.tolerance;
        match form.write(&mut kernel, &mut names, store, options) {
            Some(trees) => {
                tolerance.n_changed += of_form.n_changed;
                tolerance.largest_change = tolerance.largest_change.max(of_form.largest_change);
                replaced.insert(store.position, trees);
            }
            None => std::mem::swap(&mut kernel, &mut before),
        }
    }
    if replaced.is_empty() {
        return Ok(None);
    }
    let n_stores = replaced.len();
    let linearized = LinearizedKernel { linearization: from_tree(&with_replaced(found.trees, replaced)), kernel };
    Ok(Some(LinearMaps { linearized, n_stores, n_features: 0, tolerance }))
}

/// Inames that tables connect.
#[derive(Clone, Debug)]
struct Dimension {
    test: InameId,
    trial: InameId,
    reduced: Vec<InameId>,
    extent: usize,
    /// The extents of the reduction inames.
    shape: Vec<usize>,
    /// The product of these.
    n_points: usize,
    /// For each value of the test iname and of the trial iname whether some product of tables is not zero there.
    is_something: Vec<bool>,
}

impl Dimension {
    /// Whether what is not zero is not zero the other way round, too: where it is, half the sum less half the difference leaves what rounds in both.
    fn is_even(&self) -> bool {
        let at = |j: usize, k: usize| self.is_something.get(j * self.extent + k);
        (0..self.extent).all(|j| (0..j).all(|k| at(j, k) == at(k, j)))
    }
}

/// One part of a pair table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct PartId(usize);

/// A part of a pair table: axes are the reduction inames, the test iname, the trial iname.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Part {
    dimension: usize,
    is_antisymmetric: bool,
    data: Vec<Float>,
}

/// A bilinear store as a sum of products of parts.
struct Bilinear {
    dimensions: Vec<Dimension>,
    parts: IndexSet<Part, FxBuildHasher>,
    /// For each product, one part a dimension, what it is multiplied with.
    terms: IndexMap<Vec<PartId>, IndexMap<MonomialId, f64, FxBuildHasher>, FxBuildHasher>,
    atoms: Atoms,
    /// The entries of parts that were rounded.
    tolerance: Tolerance,
}

impl Bilinear {
    /// The form of a store, and the kernel with the expressions that were made on the way.
    fn of(kernel: &Kernel, store: &Store, extents: &[Option<usize>]) -> Option<(Self, Kernel)> {
        let axes: InameSet = store.axes.iter().copied().collect();
        let [tests, trials] = store.sides()?.map(InameSet::from_iter);
        if !store.is_accumulation {
            return None;
        }
        let tables = || TableStore::new(extents.to_vec());
        let algebra = Algebra::new(kernel, tables());
        let mut evaluator = Evaluator::new(kernel.clone(), algebra, InameSet::new(), InameSet::new());
        let mut atoms = evaluator.algebra.renewed(&evaluator.kernel, no_tables()).atoms;
        let points = PointSum::points(&evaluator.kernel, store, extents)?;
        let PointSum { value, tables, reduced } =
            PointSum::of(&mut evaluator, (store, &axes), points, tables(), &mut atoms)?;
        let dimensions = dimensions(&tables, &value, &tests, &trials, &reduced)?;
        let mut res = Self {
            dimensions,
            parts: IndexSet::default(),
            terms: IndexMap::default(),
            atoms,
            tolerance: Tolerance::default(),
        };
        for (monomial, product, coefficient) in value.terms() {
            let parts: Option<Vec<Vec<(PartId, f64)>>> =
                (0..res.dimensions.len()).map(|dimension| res.parts_of(&tables, product, dimension)).collect();
            let mut products: Vec<(Vec<PartId>, f64)> = vec![(Vec::new(), coefficient)];
            for parts in parts? {
                products = products
                    .iter()
                    .flat_map(|(so_far, scale)| {
                        parts.iter().map(move |&(part, factor)| {
                            (so_far.iter().copied().chain([part]).collect::<Vec<PartId>>(), scale * factor)
                        })
                    })
                    .collect();
            }
            for (parts, coefficient) in products {
                let feature = res.terms.entry(parts).or_default();
                let sum = feature.entry(monomial).or_insert(0.0);
                *sum += coefficient;
                if *sum == 0.0 {
                    feature.shift_remove(&monomial);
                }
            }
            if res.terms.len() > MAX_PRODUCTS {
                return None;
            }
        }
        if !res.dimensions.iter().all(Dimension::is_even) {
            return None;
        }
        res.terms.retain(|_, feature| !feature.is_empty());
        Some((res, evaluator.kernel))
    }

    /// The parts of the pair table that a product of tables has in a dimension; none where it is zero.
    fn parts_of(
        &mut self,
        tables: &TableStore,
        product: crate::table::ProductId,
        dimension: usize,
    ) -> Option<Vec<(PartId, f64)>> {
        let Dimension { test, trial, reduced, extent, n_points, .. } = &self.dimensions[dimension];
        let (extent, n_points) = (*extent, *n_points);
        let axes: Vec<InameId> = reduced.iter().copied().chain([*test, *trial]).collect();
        let values = tables.values(product, &axes);
        let n_factors =
            tables.factors(product).filter(|table| table.axes.iter().all(|axis| axes.contains(axis))).count();
        let at = |point: usize, j: usize, k: usize| values[(point * extent + j) * extent + k];
        let size = |j: usize, k: usize| -> f64 { (0..n_points).map(|point| at(point, j, k).abs()).sum() };
        let is_uneven = |j: usize, k: usize| size(j, k) > LARGER * size(k, j) && size(k, j) > 0.0;
        if (0..extent).any(|j| (0..extent).any(|k| is_uneven(j, k))) {
            return None;
        }
        let is_something = &mut self.dimensions[dimension].is_something;
        is_something.resize(extent * extent, false);
        for (idx, is_something) in is_something.iter_mut().enumerate() {
            *is_something |= size(idx / extent, idx % extent) > 0.0;
        }
        let mut res = Vec::new();
        for is_antisymmetric in [false, true] {
            let mut data = Vec::with_capacity(values.len());
            let mut errors = Vec::with_capacity(values.len());
            for point in 0..n_points {
                for j in 0..extent {
                    for k in 0..extent {
                        let other = if is_antisymmetric { -at(point, k, j) } else { at(point, k, j) };
                        let sum = at(point, j, k) + other;
                        data.push(sum / 2.0);
                        errors.push(rounding_of_sum(at(point, j, k), other) / 2.0);
                    }
                }
            }
            let Some(&first) = data.iter().find(|&&value| value != 0.0) else { continue };
            let sign = first.signum();
            let data: Option<Vec<Float>> = data.iter().map(|&value| Float::new(value * sign + 0.0)).collect();
            let (idx, is_new) = self.parts.insert_full(Part { dimension, is_antisymmetric, data: data? });
            if is_new {
                self.note_rounding(&self.parts[idx].data.clone(), &errors, n_factors);
            }
            res.push((PartId(idx), sign));
        }
        Some(res)
    }

    /// Notes the entries of a part that are not exact: halves of sums of products of `n_factors` tables.
    fn note_rounding(&mut self, data: &[Float], errors: &[f64], n_factors: usize) {
        let largest = data.iter().map(|value| value.get().abs()).fold(0.0, f64::max);
        for (value, error) in data.iter().zip(errors) {
            let of_products = n_factors.saturating_sub(1) as f64 * value.get().abs() * f64::EPSILON / 2.0;
            let change = error.abs() + of_products;
            if change > 0.0 {
                self.tolerance.n_changed += 1;
                self.tolerance.largest_change = self.tolerance.largest_change.max(change / largest);
            }
        }
    }

    /// The instructions over unordered pairs; `None` if they would be no better.
    fn write(
        mut self,
        kernel: &mut Kernel,
        names: &mut Names,
        store: &Store,
        options: &Options,
    ) -> Option<Vec<LoopTree>> {
        let InstructionKind::Assignment { assignee: Assignee { array, .. }, .. } = kernel[store.insn].kind else {
            return None;
        };
        let polynomials = self.terms.values().map(|feature| feature.iter().map(|(&m, &c)| (m, c)).collect()).collect();
        let features = scalars::polynomials(kernel, &self.atoms, polynomials, options);
        let terms: Vec<(Vec<PartId>, ExprId)> =
            std::mem::take(&mut self.terms).into_keys().zip(features).filter_map(|(p, f)| Some((p, f?))).collect();
        let n_dimensions = self.dimensions.len();
        let mut writer = Writer::new(&self, kernel, names, kernel[array].dtype);
        let order = self.best_order(&terms);
        let mut trees = Vec::new();
        for region in 0..1usize << n_dimensions {
            let is_pair = |dimension: usize| region >> dimension & 1 == 1;
            // One test function makes no pairs.
            if (0..n_dimensions).any(|dimension| is_pair(dimension) && self.dimensions[dimension].extent < 2) {
                continue;
            }
            // For each set of dimensions with antisymmetric parts the sum of the products that have them there.
            let mut by_pattern: IndexMap<usize, Vec<(Vec<PartId>, ExprId)>, FxBuildHasher> = IndexMap::default();
            for (parts, feature) in &terms {
                let pattern = parts
                    .iter()
                    .enumerate()
                    .filter(|(_, part)| self.parts[part.0].is_antisymmetric)
                    .map(|(d, _)| 1 << d)
                    .sum();
                by_pattern.entry(pattern).or_default().push((parts.clone(), *feature));
            }
            let mut values: IndexMap<usize, ExprId, FxBuildHasher> = IndexMap::default();
            for (pattern, products) in by_pattern {
                if pattern & !region != 0 {
                    continue;
                }
                if let Some(value) = writer.contracted(&products, &order, region) {
                    values.insert(pattern, value);
                }
            }
            if values.is_empty() {
                continue;
            }
            let pairs: Vec<usize> = (0..n_dimensions).filter(|&dimension| is_pair(dimension)).collect();
            let mut body = Vec::new();
            for swaps in 0..1usize << pairs.len() {
                let swapped: usize =
                    pairs.iter().enumerate().map(|(idx, &dimension)| (swaps >> idx & 1) << dimension).sum();
                let Some((is_negative, value)) = writer.signed_sum(&values, swapped, n_dimensions) else { continue };
                body.push(LoopTree::Run(writer.accumulation(store, region, swapped, is_negative, value)?));
            }
            let mut loops: Vec<InameId> = store.outer.clone();
            for dimension in 0..n_dimensions {
                let PairInames { diagonal, first, second } = writer.inames(dimension);
                if is_pair(dimension) { loops.extend([first, second]) } else { loops.push(diagonal) }
            }
            trees.extend(in_loops(body, &loops));
        }
        Some(trees)
    }

    /// The order of the dimensions in which reductions take the fewest operations, the first of equals.
    fn best_order(&self, terms: &[(Vec<PartId>, ExprId)]) -> Vec<usize> {
        let n_dimensions = self.dimensions.len();
        let mut orders = vec![Vec::new()];
        for _ in 0..n_dimensions {
            orders = orders
                .into_iter()
                .flat_map(|order: Vec<usize>| {
                    let free: Vec<usize> = (0..n_dimensions).filter(|dimension| !order.contains(dimension)).collect();
                    free.into_iter().map(move |next| order.iter().copied().chain([next]).collect::<Vec<usize>>())
                })
                .collect();
        }
        let cost = |order: &Vec<usize>| -> usize {
            let mut states: IndexSet<Vec<PartId>> = terms.iter().map(|term| term.0.clone()).collect();
            let mut n_points: usize = self.dimensions.iter().map(|dimension| dimension.n_points).product();
            let mut n_pairs = 1;
            let mut res = 0;
            for &next in order {
                let Dimension { n_points: reduced, extent, .. } = self.dimensions[next];
                n_points /= reduced.max(1);
                n_pairs *= extent * (extent + 1) / 2;
                res += states.len() * n_points * n_pairs * 2 * reduced;
                states = states
                    .into_iter()
                    .map(|mut state| {
                        state[next] = PartId(usize::MAX - usize::from(self.parts[state[next].0].is_antisymmetric));
                        state
                    })
                    .collect();
            }
            res
        };
        orders.into_iter().min_by_key(cost).unwrap_or_default()
    }
}

/// The dimensions that the tables of a polynomial make of inames; `None` if one has not one test and one trial iname of the same extent.
fn dimensions(
    tables: &TableStore,
    value: &Polynomial,
    tests: &InameSet,
    trials: &InameSet,
    reduced: &InameSet,
) -> Option<Vec<Dimension>> {
    let mut groups: Vec<InameSet> = Vec::new();
    let mut join = |inames: InameSet| {
        let mut joined = inames;
        groups.retain(|group| {
            let is_apart = group.is_disjoint(&joined);
            if !is_apart {
                joined = joined.union(group);
            }
            is_apart
        });
        groups.push(joined);
    };
    for (_, product, _) in value.terms() {
        for table in tables.factors(product) {
            join(table.axes.iter().copied().collect());
        }
    }
    // Test and trial inames of the same dimension need not be in one table: they meet in the order in which they stand.
    let known = tests.union(trials).union(reduced);
    for iname in known.iter() {
        join(InameSet::from_iter([iname]));
    }
    let mut lone_tests = Vec::new();
    let mut lone_trials = Vec::new();
    for group in &groups {
        match (group.intersection(tests).len(), group.intersection(trials).len()) {
            (1, 0) => lone_tests.push(group.clone()),
            (0, 1) => lone_trials.push(group.clone()),
            _ => {}
        }
    }
    if lone_tests.len() != lone_trials.len() {
        return None;
    }
    lone_tests.sort_by_key(|group| group.intersection(tests).as_slice().to_vec());
    lone_trials.sort_by_key(|group| group.intersection(trials).as_slice().to_vec());
    for (test, trial) in lone_tests.iter().zip(&lone_trials) {
        groups.retain(|group| group != test && group != trial);
        groups.push(test.union(trial));
    }
    groups.sort_by_key(|group| group.as_slice().to_vec());
    if groups.len() > MAX_DIMENSIONS {
        return None;
    }
    groups
        .iter()
        .map(|group| {
            let (test, trial) = (group.intersection(tests), group.intersection(trials));
            let ([test], [trial]) = (test.as_slice(), trial.as_slice()) else { return None };
            let extent = tables.extent(*test)?;
            let reduced: Vec<InameId> = group.intersection(reduced).iter().collect();
            let shape: Option<Vec<usize>> = reduced.iter().map(|&iname| tables.extent(iname)).collect();
            let shape = shape?;
            (tables.extent(*trial)? == extent).then(|| Dimension {
                test: *test,
                trial: *trial,
                n_points: shape.iter().product(),
                shape,
                reduced,
                extent,
                is_something: Vec::new(),
            })
        })
        .collect()
}

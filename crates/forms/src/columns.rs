//! The matrix of a linear map: one column for each feature.
//!
//! # Input
//! Stores and their values as polynomials.
//! # Output
//! For stores with the same outer loops one [`Map`]: sparse columns over all their elements, and for each column its feature, a polynomial
//! in scalar atoms.
//! # Method
//! The coefficients of one monomial are a column. In each column values closer than the tolerance are made equal
//! (`nestegg_solve::cluster`, whose policy it is). Monomials with proportional columns are merged into one feature. The magnitude of a row is the sum of
//! the magnitudes of all terms that its entries were added up from: what cancels is small in it, what was small is not.
//! # Complexity
//! Limit: [`MAX_ENTRIES`] numbers.

use std::hash::Hash;

use indexmap::IndexMap;
use nestegg_ir::InameId;
use nestegg_solve::cluster::{self, cluster_each};
use nestegg_solve::{Basis, basis};
use rustc_hash::FxBuildHasher;

use crate::atoms::MonomialId;
use crate::evaluate::Evaluator;
use crate::families::{self, Directions, Indicators};
use crate::moments;
use crate::polynomial::{Algebra, MultipliedOut, Polynomial};
use crate::scalars::Terms;
use crate::stores::Found;
use crate::{Options, Shape, Tolerance};

/// How many numbers a matrix may have.
pub(crate) const MAX_ENTRIES: usize = 30_000_000;

/// Two columns are proportional if no entry differs by more than this part of the largest.
const PROPORTIONAL: f64 = 1e-12;

/// A column of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Column<M = MonomialId> {
    /// The numbers at all rows.
    pub(crate) values: Vec<f64>,
    /// What it is multiplied with: a sum of numbers times monomials.
    pub(crate) feature: Vec<(M, f64)>,
}

/// The linear map of stores with the same outer loops.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    /// The stores, by position, with the first row of each.
    pub(crate) stores: Vec<(usize, usize)>,
    /// The columns.
    pub(crate) columns: Vec<Column>,
    /// The number of rows.
    pub(crate) n_rows: usize,
    /// For each row how far an entry may be moved.
    pub(crate) limits: Vec<f64>,
    /// How many terms the moments have that are in its features.
    pub(crate) n_moment_terms: usize,
}

impl Map {
    /// How many elements it changes.
    pub(crate) fn n_statements(&self) -> usize {
        (0..self.n_rows).filter(|&row| self.columns.iter().any(|column| column.values[row] != 0.0)).count()
    }

    /// How many numbers other than zero it has, those of its features included.
    pub(crate) fn n_entries(&self) -> usize {
        let of_column = |column: &Column| column.values.iter().filter(|value| **value != 0.0).count();
        let entries: usize = self.columns.iter().map(|column| of_column(column) + column.feature.len()).sum();
        entries + self.n_moment_terms
    }
}

/// All maps of a kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    pub(crate) maps: Vec<Map>,
    /// For each map the same with other features: moments of coefficients, where that has fewer entries, and products of sums multiplied out.
    pub(crate) others: Vec<Vec<Map>>,
    pub(crate) tolerance: Tolerance,
}

impl Columns {
    /// How many stores are in the maps.
    pub(crate) fn n_stores(&self) -> usize {
        self.maps.iter().map(|map| map.stores.len()).sum()
    }

    /// The maps of stores with the same outer loops that differ in their features, the first one for all shapes; none above the limits.
    fn features(&mut self, found: &mut Found, stores: &Valued, indicators: &Indicators, options: &Options) -> Vec<Map> {
        let Some(mut map) = matrix(found, stores) else { return Vec::new() };
        self.cluster(&mut map);
        let mut others = Vec::new();
        if let Some(in_directions) = in_directions(found, &map, indicators) {
            others.push(std::mem::replace(&mut map, in_directions));
        }
        if options.moments && options.shape == Shape::StraightLine && map.n_statements() <= options.max_statements {
            others.extend(moments::in_moments(&map, &mut found.evaluator.algebra.atoms, &found.evaluator.kernel));
        }
        map.columns = merged(map.columns, &map.limits);
        for map in &mut others {
            self.cluster(map);
            map.columns = merged(std::mem::take(&mut map.columns), &map.limits);
        }
        std::iter::once(map).chain(others).collect()
    }

    /// Makes values that are closer than the tolerance equal in each column.
    fn cluster(&mut self, map: &mut Map) {
        for column in &mut map.columns {
            let largest = column.values.iter().fold(0.0_f64, |max, value| max.max(value.abs()));
            let tolerance = |row: usize| map.limits[row].min(cluster::TOLERANCE * largest);
            let clustered = cluster_each(&mut column.values, tolerance);
            self.tolerance.n_changed += clustered.n_changed;
            if largest > 0.0 {
                self.tolerance.largest_change = self.tolerance.largest_change.max(clustered.largest_change / largest);
            }
        }
    }
}

/// The maps of the stores whose values are polynomials within the limits.
pub(crate) fn of_stores(found: &mut Found, options: &Options) -> Columns {
    let mut values: Vec<(usize, Option<Polynomial>)> = Vec::new();
    for (store_idx, store) in found.stores.iter().enumerate() {
        let mut value = Some(Polynomial::zero());
        for &(term, sign) in &store.terms {
            value = value.and_then(|mut so_far| {
                so_far.add(&found.evaluator.evaluate(term)?, sign);
                Some(so_far)
            });
        }
        values.push((store_idx, value));
    }
    if !found.evaluator.algebra.has_form() {
        // No product kept a sum, so the scalars of each product of tables are gathered here.
        for value in values.iter_mut().filter_map(|(_, value)| value.as_mut()) {
            if let Some(gathered) = found.evaluator.algebra.gathered(value) {
                *value = gathered;
            }
        }
    }
    let indicators = families::split(found, &mut values);
    let at_members = match options.shape {
        Shape::StraightLine => families::at_members(&mut found.evaluator, &values, &indicators),
        _ => None,
    };
    let at_members = at_members.map(|values| grouped(found, values)).unwrap_or_default();
    let (mut res, mut known) = (Columns::default(), MultipliedOut::default());
    for (outer, stores) in grouped(found, values) {
        let mut maps = res.features(found, &stores, &indicators, options);
        if let Some(stores) = at_members.get(&outer) {
            maps.extend(res.features(found, stores, &indicators, options));
        }
        if options.scalars && options.shape == Shape::StraightLine {
            let algebra = &mut found.evaluator.algebra;
            let multiplied: Vec<Map> = maps.iter().filter_map(|map| multiplied_out(map, algebra, &mut known)).collect();
            maps.extend(multiplied);
        }
        let mut maps = maps.into_iter();
        if let Some(first) = maps.next() {
            res.maps.push(first);
            res.others.push(maps.collect());
        }
    }
    res
}

/// Stores with their values.
type Valued = Vec<(usize, Polynomial)>;

/// The stores that have values, by their outer loops.
fn grouped(found: &Found, values: Vec<(usize, Option<Polynomial>)>) -> IndexMap<Vec<InameId>, Valued> {
    let mut res: IndexMap<Vec<InameId>, Valued> = IndexMap::new();
    for (store_idx, value) in values {
        if let Some(value) = value {
            res.entry(found.stores[store_idx].outer.clone()).or_default().push((store_idx, value));
        }
    }
    res
}

/// A map with products of sums in its features multiplied out; `None` if there are none.
fn multiplied_out(map: &Map, algebra: &mut Algebra, known: &mut MultipliedOut) -> Option<Map> {
    let features: Vec<Option<Terms>> =
        map.columns.iter().map(|column| algebra.multiplied_out(&column.feature, known)).collect();
    if features.iter().all(Option::is_none) {
        return None;
    }
    let mut res = map.clone();
    for (column, feature) in std::iter::zip(&mut res.columns, features) {
        column.feature = feature.unwrap_or_else(|| std::mem::take(&mut column.feature));
    }
    Some(res)
}

/// A map with indicators summed up in tables; `None` if it has none.
fn in_directions(found: &mut Found, map: &Map, indicators: &Indicators) -> Option<Map> {
    if indicators.is_empty() {
        return None;
    }
    let dtype = found.dtype(map.stores.first()?.0)?;
    let Evaluator { kernel, algebra, .. } = &mut found.evaluator;
    moments::in_directions(map, &mut algebra.atoms, &mut Directions::new(kernel, dtype, &found.selectors, indicators))
}

fn matrix(found: &Found, stores: &[(usize, Polynomial)]) -> Option<Map> {
    let tables = &found.evaluator.algebra.tables;
    let extent = |axes: &[InameId]| -> Option<usize> { axes.iter().map(|&axis| tables.extent(axis)).product() };
    let mut n_rows = 0;
    let mut rows = Vec::new();
    for (store_idx, _) in stores {
        rows.push((*store_idx, n_rows));
        n_rows += extent(&found.stores[*store_idx].axes)?;
    }
    let mut columns: IndexMap<MonomialId, Vec<f64>, FxBuildHasher> = IndexMap::default();
    let mut limits = vec![0.0; n_rows];
    let (mut values, mut magnitudes) = (Vec::new(), Vec::new());
    for ((store_idx, value), &(_, first_row)) in stores.iter().zip(&rows) {
        let axes = &found.stores[*store_idx].axes;
        for (monomial, product, coefficient) in value.terms() {
            if !tables.axes(product).iter().all(|axis| axes.contains(&axis)) {
                return None;
            }
            if (columns.len() + 1).saturating_mul(n_rows) > MAX_ENTRIES {
                return None;
            }
            let column = columns.entry(monomial).or_insert_with(|| vec![0.0; n_rows]);
            tables.values_into(product, axes, &mut values);
            for (entry, value) in column[first_row..].iter_mut().zip(&values) {
                *entry += coefficient * value;
            }
            let limits = &mut limits[first_row..];
            let part = cluster::PART * coefficient.abs();
            if tables.has_magnitudes(product) {
                tables.magnitudes_into(product, axes, &mut magnitudes);
                limits.iter_mut().zip(&magnitudes).for_each(|(limit, magnitude)| *limit += part * magnitude);
            } else {
                limits.iter_mut().zip(&values).for_each(|(limit, value)| *limit += part * value.abs());
            }
        }
    }
    let columns = columns.into_iter().map(|(monomial, values)| Column { values, feature: vec![(monomial, 1.0)] });
    Some(Map { stores: rows, columns: columns.collect(), n_rows, limits, n_moment_terms: 0 })
}

/// The map with columns that depend on others made from them; `None` if no column does.
pub(crate) fn in_basis(map: &Map) -> Option<Map> {
    let columns = made_from_basis(&map.columns, &map.limits)?;
    Some(Map { stores: map.stores.clone(), columns, limits: map.limits.clone(), ..*map })
}

/// Columns with those that depend on others made from these; `None` if no column does. The limits say of each row how far an entry may be moved.
pub(crate) fn made_from_basis<M: Copy + Eq + Hash>(columns: &[Column<M>], limits: &[f64]) -> Option<Vec<Column<M>>> {
    let values: Vec<Vec<f64>> = columns.iter().map(|column| column.values.clone()).collect();
    let Basis { columns: kept, features } = basis(&values, limits)?;
    let made = kept.into_iter().zip(features).map(|(idx, read)| {
        let mut terms: IndexMap<M, f64, FxBuildHasher> = IndexMap::default();
        for (column, factor) in read {
            for &(monomial, coefficient) in &columns[column].feature {
                *terms.entry(monomial).or_insert(0.0) += factor * coefficient;
            }
        }
        Column { values: columns[idx].values.clone(), feature: terms.into_iter().collect() }
    });
    Some(made.collect())
}

/// Columns of which no two are proportional; none is zero. The limits say of each row how far an entry may be moved.
pub(crate) fn merged<M: Copy>(columns: Vec<Column<M>>, limits: &[f64]) -> Vec<Column<M>> {
    let mut res: Vec<Column<M>> = Vec::new();
    // For each of them where its largest number stands.
    let mut largest: Vec<usize> = Vec::new();
    // Columns with the same places of entries may be proportional.
    let mut by_shape: IndexMap<Vec<u32>, Vec<usize>, FxBuildHasher> = IndexMap::default();
    for column in columns {
        let shape: Vec<u32> =
            (0u32..).zip(&column.values).filter(|(_, value)| **value != 0.0).map(|(row, _)| row).collect();
        if shape.is_empty() {
            continue;
        }
        let alike = by_shape.entry(shape).or_default();
        let same =
            alike.iter().find_map(|&idx| Some((idx, ratio(&column.values, (&res[idx].values, largest[idx]), limits)?)));
        match same {
            Some((idx, ratio)) => {
                let terms = column.feature.iter().map(|&(monomial, coefficient)| (monomial, coefficient * ratio));
                res[idx].feature.extend(terms);
            }
            None => {
                alike.push(res.len());
                largest.push(at_largest(&column.values));
                res.push(column);
            }
        }
    }
    res
}

/// Where the number of the largest magnitude stands, the first of several.
fn at_largest(values: &[f64]) -> usize {
    let larger = |best: (usize, f64), (row, value): (usize, &f64)| {
        if value.abs() > best.1 { (row, value.abs()) } else { best }
    };
    values.iter().enumerate().fold((0, 0.0), larger).0
}

/// `a / b` if that is the same at all rows, within the tolerance and the limits; the largest number of `b` stands there.
fn ratio(a: &[f64], (b, at): (&[f64], usize), limits: &[f64]) -> Option<f64> {
    let largest = b[at].abs();
    let ratio = a[at] / b[at];
    let tolerance = PROPORTIONAL * largest * ratio.abs();
    let is_proportional =
        a.iter().zip(b).zip(limits).all(|((x, y), &limit)| (x - ratio * y).abs() <= tolerance.min(limit));
    // What is a whole number, or one over it, but for rounding, is meant to be.
    let (whole, inverse) = (ratio.round(), (1.0 / ratio).round());
    let is_close = |value: f64| (value - ratio).abs() <= PROPORTIONAL * ratio.abs();
    is_proportional.then(|| {
        if whole != 0.0 && is_close(whole) {
            whole
        } else if inverse != 0.0 && is_close(1.0 / inverse) {
            1.0 / inverse
        } else {
            ratio
        }
    })
}

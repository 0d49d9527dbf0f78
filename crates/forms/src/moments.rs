//! Coefficients that enter a linear map by few of their moments.
//!
//! # Input
//! The matrix of a linear map with one column for each monomial.
//! # Output
//! Maps of fewer entries whose features are products `x*m`, the *moments* `m` sums of numbers times monomials of coefficients; none if that has no fewer.
//! # Method
//! Monomials are products `x*f` of an outer part and an inner part, the elements of some of the arrays. Row by row and `x` by `x` the matrix is a
//! vector over the `f`; vectors that are multiples of each other are one. Of all these a sparse frame is chosen ([`nestegg_solve::frame`]): its
//! members times `f` are the moments, `Σ x*(C[x]*f) = Σ x*(B[x]*(R*f))`. So the test and the trial function of a weighted bilinear form
//! need a coefficient only by its moments against products of few functions, whatever their own number.
//! Which arrays are inner is tried, and estimated by the number of entries and features. Then the same is done with what the moments are multiplied with.
//! # Complexity
//! Entries · rank, and that of the frame, for each choice of arrays.
//! # Not done
//! Inner atoms other than elements of arrays, at first.
//! Source: the mode product of Tucker, "Some mathematical notes on three-mode factor analysis", Psychometrika 1966; Kirby, Logg, "A compiler for variational forms",
//! ACM TOMS 2006 (coefficients in the reference tensor).

use indexmap::{IndexMap, IndexSet};
use nestegg_ir::{ArrayId, Expr, Kernel};
use nestegg_solve::{Frame, Vectors};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::atoms::{Atom, AtomId, Atoms, MonomialId};
use crate::columns::{Column, MAX_ENTRIES, Map, merged};
use crate::families::Directions;
use crate::scalars::Terms;

/// Of so many arrays all choices are tried, of more each alone and all others.
const MAX_ARRAYS: usize = 3;

/// How far a vector over the inner parts may be off, as a part of its largest entry.
const TOLERANCE: f64 = 1e-12;

/// The outer parts get moments of their own where that leaves less than this part of the entries.
const WINS: (u64, u64) = (9, 10);

/// Digits by which vectors are told apart before they are compared.
const DIGITS: f64 = 1e8;

/// The map with moments as features, in ways that have fewer entries each.
pub(crate) fn in_moments(map: &Map, atoms: &mut Atoms, kernel: &Kernel) -> Vec<Map> {
    let rows = UniqueRows::of(map);
    let mut best: Option<(u64, Unfolding, Frame)> = None;
    for inner in choices(map, atoms, kernel) {
        let is_inner = |_: AtomId, atom: &Atom| array_of(atom, kernel).is_some_and(|array| inner.contains(&array));
        let unfolding = Unfolding::of(map, &rows, atoms, is_inner);
        let Some(unfolding) = unfolding else { continue };
        let Some(found) = unfolding.vectors.frame() else { continue };
        let cost = unfolding.cost_in(&found);
        if cost < unfolding.cost() && best.as_ref().is_none_or(|known| cost < known.0) {
            best = Some((cost, unfolding, found));
        }
    }
    let Some((_, unfolding, found)) = best else { return Vec::new() };
    let mut res = Vec::new();
    for (map, moments) in unfolding.in_frames(map, &rows, found, atoms) {
        let rows = UniqueRows::of(&map);
        if let Some(unfolding) = Unfolding::of(&map, &rows, atoms, |id, _| !moments.contains(&id))
            && let Some(found) = unfolding.vectors.frame()
            && unfolding.cost_in(&found) * WINS.1 < unfolding.cost() * WINS.0
        {
            res.extend(unfolding.in_frames(&map, &rows, found, atoms).into_iter().map(|found| found.0));
        }
        res.push(map);
    }
    res
}

/// The map with sums of indicators as elements of tables; `None` if it has none.
pub(crate) fn in_directions(map: &Map, atoms: &mut Atoms, directions: &mut Directions<'_>) -> Option<Map> {
    let rows = UniqueRows::of(map);
    let unfolding = Unfolding::of(map, &rows, atoms, |atom, _| directions.contains(atom))?;
    let mut moments = Vec::with_capacity(unfolding.vectors.entries.len());
    let mut alone = Vec::with_capacity(unfolding.vectors.entries.len());
    let scales = unfolding.most_frequent();
    for (idx, (vector, scale)) in std::iter::zip(&unfolding.vectors.entries, scales).enumerate() {
        let terms: Terms = std::iter::zip(&unfolding.inners, vector)
            .filter(|(_, entry)| **entry != 0.0)
            .flat_map(|(inner, entry)| {
                inner.iter().map(move |&(monomial, coefficient)| (monomial, coefficient * entry * scale))
            })
            .collect();
        moments.push(directions.sum(atoms, &terms)?);
        alone.push(vec![(idx, 1.0 / scale)]);
    }
    let columns = unfolding.columns(map, &rows, &alone, &moments, atoms);
    Some(Map { columns, stores: map.stores.clone(), limits: map.limits.clone(), ..*map })
}

/// The array that an atom is an element of.
fn array_of(atom: &Atom, kernel: &Kernel) -> Option<ArrayId> {
    match atom {
        Atom::Leaf(expr) => match &kernel.exprs[*expr] {
            Expr::Access { array, .. } => Some(*array),
            _ => None,
        },
        _ => None,
    }
}

/// Sets of arrays whose elements are tried as inner parts.
fn choices(map: &Map, atoms: &Atoms, kernel: &Kernel) -> Vec<Vec<ArrayId>> {
    let mut arrays: IndexMap<ArrayId, IndexSet<AtomId, FxBuildHasher>, FxBuildHasher> = IndexMap::default();
    for &(monomial, _) in map.columns.iter().flat_map(|column| &column.feature) {
        for &(atom, _) in atoms.factors(monomial) {
            if let Some(array) = array_of(atoms.atom(atom), kernel) {
                arrays.entry(array).or_default().insert(atom);
            }
        }
    }
    let arrays: Vec<ArrayId> =
        arrays.into_iter().filter(|(_, found)| found.len() > 1).map(|(array, _)| array).collect();
    if arrays.len() <= MAX_ARRAYS {
        let chosen =
            |mask: usize| (0..arrays.len()).filter(|idx| mask >> idx & 1 == 1).map(|idx| arrays[idx]).collect();
        return (1..1usize << arrays.len()).map(chosen).collect();
    }
    let alone = arrays.iter().map(|&array| vec![array]);
    let others = arrays.iter().map(|&array| arrays.iter().copied().filter(|&other| other != array).collect());
    alone.chain(others).chain([arrays.clone()]).collect()
}

/// The rows of a map without those that are equal to another.
struct UniqueRows {
    /// For each row of the map its position among these.
    of_row: Vec<usize>,
    /// A row of the map for each of these.
    first: Vec<usize>,
    /// How far entries may be moved.
    limits: Vec<f64>,
}

impl UniqueRows {
    fn of(map: &Map) -> Self {
        let mut known: FxHashMap<Vec<u64>, usize> = FxHashMap::default();
        let mut res = Self { of_row: Vec::new(), first: Vec::new(), limits: Vec::new() };
        for row in 0..map.n_rows {
            // Zeros of both signs are one.
            let key = map.columns.iter().map(|column| (column.values[row] + 0.0).to_bits()).collect();
            let unique = *known.entry(key).or_insert(res.first.len());
            if unique == res.first.len() {
                res.first.push(row);
                res.limits.push(map.limits[row]);
            }
            res.limits[unique] = res.limits[unique].min(map.limits[row]);
            res.of_row.push(unique);
        }
        res
    }
}

/// A matrix as vectors over the inner parts of its monomials.
struct Unfolding {
    /// What vectors are multiplied with.
    outers: Vec<(f64, MonomialId)>,
    /// What the entries of vectors are multiplied with.
    inners: Vec<Terms>,
    /// For each outer part and unique row the vector and the number that it is multiplied with; `None` for zero.
    at: Vec<Option<(usize, f64)>>,
    vectors: Vectors,
}

impl Unfolding {
    fn of(map: &Map, rows: &UniqueRows, atoms: &mut Atoms, is_inner: impl Fn(AtomId, &Atom) -> bool) -> Option<Self> {
        let mut outers: IndexMap<MonomialId, Vec<(usize, usize)>, FxBuildHasher> = IndexMap::default();
        let mut inners: IndexSet<MonomialId, FxBuildHasher> = IndexSet::default();
        for (column_idx, column) in map.columns.iter().enumerate() {
            for &(monomial, _) in &column.feature {
                let (inner, outer) = atoms.parted(monomial, &is_inner);
                outers.entry(outer).or_default().push((inners.insert_full(inner).0, column_idx));
            }
        }
        let n_rows = rows.first.len();
        if outers.len().saturating_mul(inners.len()).saturating_mul(n_rows) > MAX_ENTRIES {
            return None;
        }
        let by_outer = outers.into_iter().map(|(outer, columns)| {
            let mut values = vec![0.0; inners.len() * n_rows];
            for (inner_idx, column_idx) in columns {
                let of_inner = &mut values[inner_idx * n_rows..][..n_rows];
                of_inner
                    .iter_mut()
                    .zip(&rows.first)
                    .for_each(|(value, &row)| *value = map.columns[column_idx].values[row]);
            }
            Column { values, feature: vec![(outer, 1.0)] }
        });
        let by_outer = merged(by_outer.collect(), &rows.limits.repeat(inners.len()));
        let by_inner = inners.iter().enumerate().map(|(inner_idx, &inner)| {
            let of_outer = |column: &Column| column.values[inner_idx * n_rows..][..n_rows].to_vec();
            Column { values: by_outer.iter().flat_map(of_outer).collect(), feature: vec![(inner, 1.0)] }
        });
        let limits = rows.limits.repeat(by_outer.len());
        let by_inner = merged(by_inner.collect(), &limits);
        let mut res = Self {
            outers: by_outer.into_iter().map(|column| atoms.sum(&column.feature)).collect::<Option<_>>()?,
            inners: by_inner.iter().map(|column| column.feature.clone()).collect(),
            at: Vec::with_capacity(limits.len()),
            vectors: Vectors::default(),
        };
        let mut known: FxHashMap<Vec<i64>, Vec<usize>> = FxHashMap::default();
        for (position, &limit) in limits.iter().enumerate() {
            let vector: Vec<f64> = by_inner.iter().map(|column| column.values[position]).collect();
            let at = res.vector(vector, limit, &mut known);
            res.at.push(at);
        }
        Some(res)
    }

    /// The multiple of a vector so far, or of a new one, that a vector is; `None` for zero.
    fn vector(
        &mut self,
        mut vector: Vec<f64>,
        limit: f64,
        known: &mut FxHashMap<Vec<i64>, Vec<usize>>,
    ) -> Option<(usize, f64)> {
        let largest = vector.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let scale = *vector.iter().find(|value| value.abs() >= largest * (1.0 - 1.0 / DIGITS) && largest > 0.0)?;
        vector.iter_mut().for_each(|value| *value /= scale);
        let tolerance = TOLERANCE.min(limit / scale.abs());
        let alike = known.entry(vector.iter().map(|value| (value * DIGITS).round() as i64).collect()).or_default();
        let Vectors { entries, needs, tolerances } = &mut self.vectors;
        let is_met = |idx: usize| entries[idx].iter().zip(&vector).all(|(x, y)| (x - y).abs() <= tolerance);
        let idx = alike.iter().copied().find(|&idx| is_met(idx)).unwrap_or_else(|| {
            alike.push(entries.len());
            entries.push(vector);
            needs.push(0);
            tolerances.push(tolerance);
            entries.len() - 1
        });
        needs[idx] += 1;
        tolerances[idx] = tolerances[idx].min(tolerance);
        Some((idx, scale))
    }

    /// For each vector the magnitude of most numbers that it is multiplied with, the first of several; elements of tables then need no coefficient.
    fn most_frequent(&self) -> Vec<f64> {
        let mut counts: Vec<IndexMap<u64, usize, FxBuildHasher>> =
            vec![IndexMap::default(); self.vectors.entries.len()];
        let n_rows = self.at.len() / self.outers.len().max(1);
        for (&(of_outer, _), at) in std::iter::zip(&self.outers, self.at.chunks(n_rows.max(1))) {
            for &(vector, factor) in at.iter().flatten() {
                *counts[vector].entry((factor * of_outer).abs().to_bits()).or_insert(0) += 1;
            }
        }
        let most = |counts: IndexMap<u64, usize, FxBuildHasher>| {
            let best = counts.into_iter().rev().max_by_key(|&(_, count)| count);
            best.map_or(1.0, |(bits, _)| f64::from_bits(bits))
        };
        counts.into_iter().map(most).collect()
    }

    /// Entries and features of the map as it is.
    fn cost(&self) -> u64 {
        let entries: u64 =
            self.vectors.entries.iter().zip(&self.vectors.needs).map(|(vector, need)| need * n_nonzeros(vector)).sum();
        let read = |idx: usize| {
            self.vectors.entries[idx]
                .iter()
                .enumerate()
                .filter(|(_, value)| **value != 0.0)
                .map(|(inner, _)| inner)
                .collect()
        };
        entries + self.n_features(&read)
    }

    /// Entries, features, and entries of moments of the map in a frame.
    fn cost_in(&self, frame: &Frame) -> u64 {
        let entries: u64 =
            frame.combinations.iter().zip(&self.vectors.needs).map(|(terms, need)| need * terms.len() as u64).sum();
        let read = |idx: usize| frame.combinations[idx].iter().map(|term| term.0).collect();
        entries + self.n_moment_terms(frame) + self.n_features(&read)
    }

    /// How many terms the moments have.
    fn n_moment_terms(&self, frame: &Frame) -> u64 {
        std::iter::zip(&frame.members, &frame.definitions)
            .map(|(&member, definition)| match definition {
                Some(terms) => terms.len() as u64,
                None => n_nonzeros(&self.vectors.entries[member]),
            })
            .sum()
    }

    /// How many products of an outer part and what vectors read there are.
    fn n_features(&self, read: &dyn Fn(usize) -> Vec<usize>) -> u64 {
        let n_rows = self.at.len() / self.outers.len().max(1);
        let of_outer = |at: &[Option<(usize, f64)>]| {
            let mut vectors: Vec<usize> = at.iter().flatten().map(|found| found.0).collect();
            vectors.sort_unstable();
            vectors.dedup();
            let mut features: Vec<usize> = vectors.into_iter().flat_map(read).collect();
            features.sort_unstable();
            features.dedup();
            features.len() as u64
        };
        self.at.chunks(n_rows.max(1)).map(of_outer).sum()
    }

    /// The map in a frame, and in one with more members, each with the atoms of its moments.
    fn in_frames(
        &self,
        map: &Map,
        rows: &UniqueRows,
        found: Frame,
        atoms: &mut Atoms,
    ) -> Vec<(Map, FxHashSet<AtomId>)> {
        let extended = self.vectors.extended(&found, self.outers.len() as u64);
        std::iter::once(found).chain(extended).filter_map(|frame| self.write(map, rows, &frame, atoms)).collect()
    }

    fn write(
        &self,
        map: &Map,
        rows: &UniqueRows,
        frame: &Frame,
        atoms: &mut Atoms,
    ) -> Option<(Map, FxHashSet<AtomId>)> {
        let mut moments: Vec<(f64, MonomialId)> = Vec::new();
        for (&member, definition) in std::iter::zip(&frame.members, &frame.definitions) {
            let mut terms: IndexMap<MonomialId, f64, FxBuildHasher> = IndexMap::default();
            match definition {
                Some(definition) => {
                    for &(other, coefficient) in definition {
                        let (scale, moment) = moments[other];
                        *terms.entry(moment).or_insert(0.0) += coefficient * scale;
                    }
                }
                None => {
                    for (inner, &entry) in
                        self.inners.iter().zip(&self.vectors.entries[member]).filter(|(_, entry)| **entry != 0.0)
                    {
                        for &(monomial, coefficient) in inner {
                            *terms.entry(monomial).or_insert(0.0) += coefficient * entry;
                        }
                    }
                }
            }
            moments.push(atoms.sum(&terms.into_iter().collect::<Vec<_>>())?);
        }
        let columns = self.columns(map, rows, &frame.combinations, &moments, atoms);
        let map = Map {
            columns,
            stores: map.stores.clone(),
            limits: map.limits.clone(),
            n_moment_terms: map.n_moment_terms + usize::try_from(self.n_moment_terms(frame)).unwrap_or(usize::MAX),
            ..*map
        };
        let of_moments = moments.iter().flat_map(|&(_, moment)| atoms.factors(moment).iter().map(|factor| factor.0));
        Some((map, of_moments.collect()))
    }

    /// The map with products of outer parts and moments as features; of each vector the moments it is a combination of.
    fn columns(
        &self,
        map: &Map,
        rows: &UniqueRows,
        combinations: &[Vec<(usize, f64)>],
        moments: &[(f64, MonomialId)],
        atoms: &mut Atoms,
    ) -> Vec<Column> {
        let n_rows = rows.first.len();
        let mut columns: IndexMap<MonomialId, Vec<f64>, FxBuildHasher> = IndexMap::default();
        for (outer_idx, &(of_outer, outer)) in self.outers.iter().enumerate() {
            let at = &self.at[outer_idx * n_rows..][..n_rows];
            for (row, &unique) in rows.of_row.iter().enumerate() {
                let Some((vector, factor)) = at[unique] else { continue };
                for &(member, coefficient) in &combinations[vector] {
                    let (scale, moment) = moments[member];
                    let column =
                        columns.entry(atoms.multiply(outer, moment, 1)).or_insert_with(|| vec![0.0; map.n_rows]);
                    column[row] += factor * coefficient * scale * of_outer;
                }
            }
        }
        let columns = columns.into_iter().map(|(monomial, values)| Column { values, feature: vec![(monomial, 1.0)] });
        columns.collect()
    }
}

fn n_nonzeros(vector: &[f64]) -> u64 {
    vector.iter().filter(|&&value| value != 0.0).count() as u64
}

//! Linear maps as loops over blocks of elements.
//!
//! # Input
//! A map, and its stores.
//! # Output
//! For each store its loops anew: one nest for each block of elements in which the same features count, whose value is a sum of tables times features.
//! A store that is symmetric, `A[j, k]` and `A[k, j]` being changed by the same, is computed for `j < k` and on the diagonal, and stored twice.
//! With [`whole`] each store is one block instead, and with [`by_components`] one for each choice of its components: a vector-valued element's store has
//! elements `[j, a, k, b]`, and for each `a` and `b` other features count, but sums of the same tables over `j` and `k`. These blocks share their loops.
//! # Method
//! Each axis is cut where the set of features with entries changes, blocks are products of the segments. In a block columns that are proportional or depend
//! on others there are merged anew. Components are the short axes for which all blocks together take the fewest operations; their tables are a basis of those
//! of all blocks. If there would be more than [`MAX_SEGMENTS`] segments, neighbours that differ least are joined.
//! # Complexity
//! Linear in the entries of the map, times the number of features in joining segments, and times the number of tables in finding a basis.

use std::cmp::Ordering;

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::linearization::LoopTree;
use nestegg_ir::{Array, ArrayId, ArrayKind, Dtype, ExprId, Float, InameId, InstructionKind, Kernel, Number, Op};
use nestegg_solve::cluster::TOLERANCE;

use crate::atoms::MonomialId;
use crate::columns::{Column, Map, made_from_basis, merged};
use crate::nests::{add_store, in_loops};
use crate::scalars::{self, Terms};
use crate::stores::Store;
use crate::table::TableStore;
use nestegg_ir::names::{Names, add_iname, add_inames};

/// How many segments an axis may have.
const MAX_SEGMENTS: usize = 16;

/// The most components that a vector-valued element may have.
const MAX_COMPONENTS: usize = 4;

/// At most this many short axes are tried as components: two vector-valued linear elements on cells have four.
const MAX_SHORT: usize = 4;

/// At most this many choices of components: each takes a statement.
const MAX_PLACES: usize = 16;

/// A block must have at least this many elements: loops over fewer do not pay.
const MIN_POINTS: usize = 16;

/// A statement sums at most this many tables; more do not fit in registers.
const MAX_SUMMANDS: usize = 16;

/// Maps with more numbers than this are left whole.
const MAX_CUT_ENTRIES: usize = 2_000_000;

/// Elements of a store that are computed alike.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The store.
    pub(crate) store_idx: usize,
    /// For each of its axes the first value and the number of values.
    ranges: Vec<(usize, usize)>,
    /// For each axis the one that it is swapped with.
    partners: Vec<usize>,
    shape: BlockShape,
    /// How far from the ranges the elements are that are computed from the tables: one place, or several with features of their own.
    places: Vec<Vec<usize>>,
    /// The tables, over the ranges, row-major.
    tables: Vec<Vec<f64>>,
    /// For each place, what each table is multiplied with; nothing where it is not read.
    pub(crate) features: Vec<Terms>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockShape {
    /// Every element, stored once.
    Plain,
    /// Every element, stored at `[j, k]` and `[k, j]`.
    Mirrored,
    /// The elements with `j < k`, stored twice.
    Triangle,
    /// The elements with `j = k`.
    Diagonal,
}

impl Block {
    /// Multiplications and additions of the sums.
    pub(crate) fn operations(&self) -> u64 {
        let n_points: usize = self.ranges.iter().map(|range| range.1).product();
        let side = self.triangle().map_or(1, |axes| self.ranges[axes.0].1);
        let n_points = match self.shape {
            BlockShape::Plain | BlockShape::Mirrored => n_points,
            BlockShape::Triangle => side * (side - 1) / 2,
            BlockShape::Diagonal => side,
        };
        let n_read = self.features.iter().filter(|feature| !feature.is_empty()).count();
        (2 * n_read * n_points) as u64
    }

    /// The two axes of a block on the diagonal that have more than one value.
    fn triangle(&self) -> Option<(usize, usize)> {
        triangle(&self.ranges, &self.partners)
    }
}

/// The only axis with more than one value among those that come before their partners, and its partner; `None` if there are several. Where
/// there is no such axis, the first.
fn triangle(ranges: &[(usize, usize)], partners: &[usize]) -> Option<(usize, usize)> {
    let pairs = || partners.iter().copied().enumerate().filter(|(axis, partner)| axis < partner);
    let mut long = pairs().filter(|&(axis, _)| ranges[axis].1 > 1);
    match (long.next(), long.next()) {
        (Some(pair), None) => Some(pair),
        (None, _) => pairs().next(),
        _ => None,
    }
}

/// The blocks of the stores of a map.
pub(crate) fn blocks(map: &Map, stores: &[Store], tables: &TableStore, use_basis: bool) -> Vec<Block> {
    let mut res = Vec::new();
    for &(store_idx, first_row) in &map.stores {
        let store = &stores[store_idx];
        let (shape, columns) = of_store(map, store, first_row, tables);
        let n_rows: usize = shape.iter().product();
        let segments: Vec<Vec<(usize, usize)>> =
            (0..shape.len()).map(|axis| segments(&columns, &shape, axis)).collect();
        let limits = &map.limits[first_row..first_row + n_rows];
        let partners = partners(store, &shape, &columns, limits)
            .filter(|partners| (0..shape.len()).all(|axis| segments[axis] == segments[partners[axis]]));
        let mut all_ranges = vec![Vec::new()];
        for of_axis in &segments {
            all_ranges = all_ranges
                .iter()
                .flat_map(|ranges: &Vec<(usize, usize)>| {
                    of_axis.iter().map(move |&range| ranges.iter().copied().chain([range]).collect::<Vec<_>>())
                })
                .collect();
        }
        for ranges in all_ranges {
            let mut shapes: &[BlockShape] = &[BlockShape::Plain];
            if let Some(partners) = &partners {
                let swapped: Vec<(usize, usize)> = partners.iter().map(|&partner| ranges[partner]).collect();
                shapes = match ranges.cmp(&swapped) {
                    Ordering::Less => &[BlockShape::Mirrored],
                    Ordering::Greater => continue,
                    Ordering::Equal if triangle(&ranges, partners).is_none() => &[BlockShape::Plain],
                    Ordering::Equal => &[BlockShape::Diagonal, BlockShape::Triangle],
                };
            }
            let partners = partners.clone().unwrap_or_else(|| (0..shape.len()).collect());
            for &block_shape in shapes {
                let empty = Block {
                    store_idx,
                    ranges: ranges.clone(),
                    partners: partners.clone(),
                    shape: block_shape,
                    places: vec![vec![0; shape.len()]],
                    tables: Vec::new(),
                    features: Vec::new(),
                };
                res.extend(filled(empty, store, (&columns, limits), &shape, use_basis));
            }
        }
    }
    res
}

/// The stores of a map, each as one block of all its elements.
pub(crate) fn whole(map: &Map, stores: &[Store], tables: &TableStore) -> Vec<Block> {
    let of_store = |&(store_idx, first_row): &(usize, usize)| {
        let store = &stores[store_idx];
        let (shape, columns) = of_store(map, store, first_row, tables);
        let block = Block {
            store_idx,
            ranges: shape.iter().map(|&extent| (0, extent)).collect(),
            partners: (0..shape.len()).collect(),
            shape: BlockShape::Plain,
            places: vec![vec![0; shape.len()]],
            tables: Vec::new(),
            features: Vec::new(),
        };
        let n_rows: usize = shape.iter().product();
        filled(block, store, (&columns, &map.limits[first_row..first_row + n_rows]), &shape, true)
    };
    map.stores.iter().filter_map(of_store).collect()
}

/// The stores of a map, each as one block for each choice of its components, with the fewest operations; `None` if no store has components for which there are fewer
/// tables than for all of its elements.
pub(crate) fn by_components(map: &Map, stores: &[Store], tables: &TableStore) -> Option<Vec<Block>> {
    let all = whole(map, stores, tables);
    let mut is_better = false;
    let res = all.into_iter().map(|block| {
        let store = &stores[block.store_idx];
        let first_row = map.stores.iter().find(|of_map| of_map.0 == block.store_idx).map_or(0, |of_map| of_map.1);
        let (shape, columns) = of_store(map, store, first_row, tables);
        let n_rows: usize = shape.iter().product();
        let limits = &map.limits[first_row..first_row + n_rows];
        let short: Vec<usize> = (0..shape.len()).filter(|&axis| (2..=MAX_COMPONENTS).contains(&shape[axis])).collect();
        let choices = (1_usize..1 << short.len().min(MAX_SHORT)).map(|choice| -> Vec<usize> {
            short.iter().enumerate().filter(|(at, _)| choice >> at & 1 == 1).map(|(_, &axis)| axis).collect()
        });
        let cut = choices.filter_map(|components| cut(&block, &components, (&columns, limits), &shape));
        let best = cut.min_by_key(Block::operations).filter(|cut| cut.operations() < block.operations());
        is_better |= best.is_some();
        best.unwrap_or(block)
    });
    let res: Vec<Block> = res.collect();
    is_better.then_some(res)
}

/// A block of all elements of a store as one for each choice of components, from tables that they share; `None` if they are too many or too small.
fn cut(whole: &Block, components: &[usize], (columns, limits): (&[Column], &[f64]), shape: &[usize]) -> Option<Block> {
    let n_rows: usize = shape.iter().product();
    let n_places: usize = components.iter().map(|&axis| shape[axis]).product();
    let n_points = n_rows / n_places;
    if n_places > MAX_PLACES || n_points < MIN_POINTS || n_rows.saturating_mul(columns.len()) > MAX_CUT_ENTRIES {
        return None;
    }
    // The place of each row, and its point there.
    let strides: Vec<usize> = (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect();
    let number = |row: usize, axes: &mut dyn Iterator<Item = usize>| {
        axes.fold(0, |res, axis| res * shape[axis] + row / strides[axis] % shape[axis])
    };
    let place = |row: usize| number(row, &mut components.iter().copied());
    let point = |row: usize| number(row, &mut (0..shape.len()).filter(|axis| !components.contains(axis)));
    let at: Vec<(usize, usize)> = (0..n_rows).map(|row| (place(row), point(row))).collect();
    // A number of a table is as exact as the most exact one that is made of it.
    let mut exact = vec![f64::INFINITY; n_points];
    for (&(_, point), &limit) in at.iter().zip(limits).filter(|(_, limit)| **limit > 0.0) {
        exact[point] = exact[point].min(limit);
    }
    exact.iter_mut().filter(|limit| limit.is_infinite()).for_each(|limit| *limit = 0.0);
    let mut parts: Vec<Column<(usize, MonomialId)>> = Vec::new();
    for column in columns {
        let mut values = vec![vec![0.0; n_points]; n_places];
        for (&(place, point), &value) in at.iter().zip(&column.values) {
            values[place][point] = value;
        }
        parts.extend(values.into_iter().enumerate().map(|(place, values)| Column {
            values,
            feature: column.feature.iter().map(|&(monomial, factor)| ((place, monomial), factor)).collect(),
        }));
    }
    let mut columns = merged(parts, &exact);
    if let Some(made) = made_from_basis(&columns, &exact) {
        columns = made;
    }
    if columns.len() > MAX_SUMMANDS {
        return None;
    }
    let features = (0..n_places).flat_map(|place| {
        columns.iter().map(move |column| {
            let own = column.feature.iter().filter(|((of, _), factor)| *of == place && *factor != 0.0);
            own.map(|&((_, monomial), factor)| (monomial, factor)).collect::<Terms>()
        })
    });
    let features = features.collect();
    let places = (0..n_places).map(|place| {
        let (mut rest, mut res) = (place, vec![0; shape.len()]);
        for &axis in components.iter().rev() {
            res[axis] = rest % shape[axis];
            rest /= shape[axis];
        }
        res
    });
    let length = |axis: usize| if components.contains(&axis) { 1 } else { shape[axis] };
    Some(Block {
        ranges: (0..shape.len()).map(|axis| (0, length(axis))).collect(),
        places: places.collect(),
        tables: columns.into_iter().map(|column| column.values).collect(),
        features,
        ..whole.clone()
    })
}

/// The extents of a store's axes, and its part of the columns of a map.
fn of_store(map: &Map, store: &Store, first_row: usize, tables: &TableStore) -> (Vec<usize>, Vec<Column>) {
    let shape: Vec<usize> = store.axes.iter().map(|&axis| tables.extent(axis).unwrap_or(1)).collect();
    let n_rows: usize = shape.iter().product();
    let of_column = |column: &Column| Column {
        values: column.values[first_row..first_row + n_rows].to_vec(),
        feature: column.feature.clone(),
    };
    let columns = map.columns.iter().map(of_column);
    (shape, columns.filter(|column| column.values.iter().any(|&value| value != 0.0)).collect())
}

/// For each axis the one that it can be swapped with, all at once: half of them stand in each index, and all columns are symmetric within the
/// tolerance for tables. `None` if they cannot be.
pub(crate) fn partners(store: &Store, shape: &[usize], columns: &[Column], limits: &[f64]) -> Option<Vec<usize>> {
    let places = |axes: Vec<InameId>| -> Vec<usize> {
        axes.iter().filter_map(|axis| store.axes.iter().position(|own| own == axis)).collect()
    };
    let [tests, trials] = store.sides()?.map(places);
    if tests.len() != trials.len() || tests.iter().zip(&trials).any(|(&j, &k)| shape[j] != shape[k]) {
        return None;
    }
    let mut partners: Vec<usize> = vec![0; shape.len()];
    for (&j, &k) in tests.iter().zip(&trials) {
        (partners[j], partners[k]) = (k, j);
    }
    let n_rows: usize = shape.iter().product();
    let strides: Vec<usize> = (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect();
    let swapped = |row: usize| -> usize {
        (0..shape.len()).map(|axis| row / strides[axis] % shape[axis] * strides[partners[axis]]).sum()
    };
    let is_symmetric = columns.iter().all(|column| {
        let largest = column.values.iter().fold(0.0_f64, |max, value| max.max(value.abs()));
        (0..n_rows).all(|row| {
            let tolerance = limits[row].min(TOLERANCE * largest);
            (column.values[row] - column.values[swapped(row)]).abs() <= tolerance
        })
    });
    is_symmetric.then_some(partners)
}

/// The segments of an axis on which the same columns have entries.
fn segments(columns: &[Column], shape: &[usize], axis: usize) -> Vec<(usize, usize)> {
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    let extent = shape[axis];
    let signature = |at: usize| -> Vec<bool> {
        columns
            .iter()
            .map(|column| {
                (0..outer).any(|block| {
                    let start = (block * extent + at) * inner;
                    column.values[start..start + inner].iter().any(|&value| value != 0.0)
                })
            })
            .collect()
    };
    let mut res: Vec<(usize, usize, Vec<bool>)> = Vec::new();
    for at in 0..extent {
        let signature = signature(at);
        match res.last_mut() {
            Some((_, length, last)) if *last == signature => *length += 1,
            _ => res.push((at, 1, signature)),
        }
    }
    while res.len() > MAX_SEGMENTS {
        let difference = |pair: &[(usize, usize, Vec<bool>)]| -> usize {
            let only = |a: &[bool], b: &[bool]| a.iter().zip(b).filter(|&(&a, &b)| a && !b).count();
            pair[0].1 * only(&pair[1].2, &pair[0].2) + pair[1].1 * only(&pair[0].2, &pair[1].2)
        };
        let Some(at) = (0..res.len() - 1).min_by_key(|&at| difference(&res[at..at + 2])) else { break };
        let (_, length, signature) = res.remove(at + 1);
        res[at].1 += length;
        res[at].2.iter_mut().zip(signature).for_each(|(known, other)| *known |= other);
    }
    res.into_iter().map(|(start, length, _)| (start, length)).collect()
}

/// A block with its tables; `None` if nothing is added there.
fn filled(
    block: Block,
    store: &Store,
    (columns, limits): (&[Column], &[f64]),
    shape: &[usize],
    use_basis: bool,
) -> Option<Block> {
    let n_points: usize = block.ranges.iter().map(|range| range.1).product();
    let mut rows = Vec::with_capacity(n_points);
    for point in 0..n_points {
        let (mut rest, mut row, mut stride) = (point, 0, 1);
        let mut at = vec![0; shape.len()];
        for axis in (0..shape.len()).rev() {
            let (start, length) = block.ranges[axis];
            at[axis] = rest % length;
            row += (start + rest % length) * stride;
            stride *= shape[axis];
            rest /= length;
        }
        let counts = match (block.shape, block.triangle()) {
            (BlockShape::Triangle, Some((j, k))) => at[j] < at[k],
            (BlockShape::Diagonal, Some((j, k))) => at[j] == at[k],
            _ => true,
        };
        rows.push(counts.then_some(row));
    }
    if rows.iter().all(Option::is_none) {
        return None;
    }
    let restricted = columns.iter().map(|column| Column {
        values: rows.iter().map(|row| row.map_or(0.0, |row| column.values[row])).collect(),
        feature: column.feature.clone(),
    });
    let limits: Vec<f64> = rows.iter().map(|row| row.map_or(0.0, |row| limits[row])).collect();
    let mut columns = merged(restricted.collect(), &limits);
    if columns.is_empty() && store.is_accumulation {
        return None;
    }
    if use_basis
        && let Some(made) = made_from_basis(&columns, &limits)
        && made.len() < columns.len()
    {
        columns = made;
    }
    let (tables, features) = columns.into_iter().map(|column| (column.values, column.feature)).unzip();
    Some(Block { tables, features, ..block })
}

/// Writes blocks as loops; `features` has the expressions of theirs.
pub(crate) fn write(
    kernel: &mut Kernel,
    names: &mut Names,
    stores: &[Store],
    block: &Block,
    features: &[Option<ExprId>],
) -> Vec<LoopTree> {
    let store = &stores[block.store_idx];
    let InstructionKind::Assignment { assignee, .. } = &kernel[store.insn].kind else { return Vec::new() };
    let dtype = kernel[assignee.array].dtype;
    let inames = block_inames(kernel, names, store, block);
    let factors: Vec<Option<ExprId>> = block
        .tables
        .iter()
        .map(|table| {
            let is_one = block.shape != BlockShape::Diagonal && table.iter().all(|&value| value == table[0]);
            if is_one {
                return Some(scalars::number(kernel, table[0]));
            }
            let (array, indices) = block_table(kernel, names, block, table, dtype, &inames)?;
            Some(kernel.exprs.access(array, indices))
        })
        .collect();
    let orders: &[bool] = match block.shape {
        BlockShape::Plain | BlockShape::Diagonal => &[false],
        BlockShape::Mirrored | BlockShape::Triangle => &[false, true],
    };
    let mut within = store.outer.clone();
    for iname in inames.iter().flatten() {
        if !within.contains(iname) {
            within.push(*iname);
        }
    }
    let mut body = Vec::new();
    for (place, features) in
        block.places.iter().zip(features.chunks(block.tables.len().max(1)).chain(std::iter::repeat(&[][..])))
    {
        let terms: Vec<ExprId> = std::iter::zip(&factors, features)
            .filter_map(|(factor, feature)| Some(kernel.exprs.op(Op::Mul, [(*factor)?, (*feature)?])))
            .collect();
        let value = match terms.as_slice() {
            [] if store.is_accumulation => continue,
            [] => scalars::number(kernel, 0.0),
            [single] => *single,
            _ => kernel.exprs.op(Op::Add, terms),
        };
        for &is_swapped in orders {
            let at = |axis: usize| -> Affine {
                let axis = if is_swapped { block.partners[axis] } else { axis };
                let terms = inames[axis].map(|iname| (Var::Iname(iname), 1)).into_iter().collect();
                Affine { constant: (block.ranges[axis].0 + place[axis]) as i64, terms }
            };
            let indices = store.indices.iter().map(|index| {
                store.axes.iter().enumerate().fold(index.clone(), |index, (axis, &iname)| {
                    // Extents are far below where an index could overflow, and it did not before.
                    index.substitute(Var::Iname(iname), &at(axis)).unwrap_or_default()
                })
            });
            let indices: Vec<ExprId> =
                indices.collect::<Vec<Affine>>().iter().map(|index| index.to_expr(&mut kernel.exprs)).collect();
            let insn = add_store(kernel, names, store, indices, (Op::Add, value), within.clone());
            body.extend(insn.map(LoopTree::Run));
        }
    }
    in_loops(body, &within)
}

/// For each axis of a block a new iname over its range, from zero; none where it has one value. The two axes of a diagonal have one iname.
fn block_inames(kernel: &mut Kernel, names: &mut Names, store: &Store, block: &Block) -> Vec<Option<InameId>> {
    let mut res = vec![None; block.ranges.len()];
    match (block.shape, block.triangle()) {
        (BlockShape::Triangle, Some((j, k))) => {
            let inames = add_inames(kernel, names, &[store.axes[j], store.axes[k]], |names| {
                format!("0 <= {} < {} and {} < {}", names[0], names[1], names[1], block.ranges[j].1)
            });
            (res[j], res[k]) = (Some(inames[0]), Some(inames[1]));
        }
        (BlockShape::Diagonal, Some((j, k))) => {
            if block.ranges[j].1 > 1 {
                let iname = add_iname(kernel, names, store.axes[j], block.ranges[j].1);
                (res[j], res[k]) = (Some(iname), Some(iname));
            }
        }
        _ => {
            for (axis, &(_, length)) in block.ranges.iter().enumerate().filter(|(_, range)| range.1 > 1) {
                res[axis] = Some(add_iname(kernel, names, store.axes[axis], length));
            }
        }
    }
    res
}

/// The array of a table and the indices of its element at the inames of a block.
fn block_table(
    kernel: &mut Kernel,
    names: &mut Names,
    block: &Block,
    table: &[f64],
    dtype: Dtype,
    inames: &[Option<InameId>],
) -> Option<(ArrayId, Vec<ExprId>)> {
    let (values, axes): (Vec<f64>, Vec<usize>) = match (block.shape, block.triangle()) {
        (BlockShape::Diagonal, Some((j, _))) => {
            let side = block.ranges[j].1;
            ((0..side).map(|at| table[at * side + at]).collect(), vec![j])
        }
        _ => (table.to_vec(), (0..inames.len()).collect()),
    };
    let axes: Vec<usize> = axes.into_iter().filter(|&axis| inames[axis].is_some()).collect();
    let numbers: Option<Vec<Number>> = values.into_iter().map(|value| Float::new(value).map(Number::Float)).collect();
    let numbers: std::sync::Arc<[Number]> = numbers?.into();
    let shape: Vec<ExprId> = axes.iter().map(|&axis| kernel.exprs.int(block.ranges[axis].1 as i64)).collect();
    let point: Vec<ExprId> =
        axes.iter().filter_map(|&axis| inames[axis]).map(|iname| kernel.exprs.iname(iname)).collect();
    // Blocks of one component often have the tables of another.
    let known = kernel.array_ids().find(|&array| {
        kernel[array].shape == shape && kernel[array].dtype == dtype && kernel[array].table() == Some(&numbers)
    });
    let array = known.unwrap_or_else(|| {
        kernel.arrays.push(Array {
            name: names.new_name("C"),
            dtype,
            stored: None,
            shape,
            kind: ArrayKind::Table(numbers),
        });
        ArrayId::new(kernel.arrays.len() - 1)
    });
    Some((array, point))
}

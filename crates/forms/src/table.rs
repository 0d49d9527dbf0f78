//! Constant tables over inames: products, and sums over reduction inames.
//!
//! A [`Table`] is a dense array of numbers, one axis an iname, the axes in increasing order. Tables are interned by content, so that equal
//! tables are one [`TableId`]; products and sums are computed once. A [`Tables`] value holds at most one table for each set of axes: the product of
//! tables with different axes is left as it is, which keeps it separable.

use indexmap::IndexSet;
use nestegg_ir::{InameId, InameSet};
use rustc_hash::{FxBuildHasher, FxHashMap};

/// An interned table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TableId(u32);

/// An interned product of tables with different axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ProductId(u32);

impl ProductId {
    /// The product of no tables: one.
    pub(crate) const ONE: Self = Self(0);
}

/// A number times a product of tables; nothing for zero.
pub(crate) type Scaled = Option<(f64, ProductId)>;

/// Numbers over inames.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// The axes, in increasing order.
    pub(crate) axes: Vec<InameId>,
    /// The numbers, row-major.
    pub(crate) data: Vec<f64>,
    /// For each number the sum of the magnitudes of the terms that it was added up from; absent where none of them cancelled to little.
    magnitudes: Option<Vec<f64>>,
}

impl Table {
    fn new(axes: Vec<InameId>, data: Vec<f64>) -> Self {
        Self { axes, data, magnitudes: None }
    }

    /// The magnitudes of the terms of an entry.
    fn magnitude(&self, offset: usize) -> f64 {
        self.magnitudes.as_ref().map_or_else(|| self.data[offset].abs(), |magnitudes| magnitudes[offset])
    }

    /// The table of these magnitudes.
    fn of_magnitudes(&self) -> Self {
        Self::new(self.axes.clone(), (0..self.data.len()).map(|offset| self.magnitude(offset)).collect())
    }
}

/// Entries of a sum over a reduction iname below this fraction of the magnitudes of its terms, for each term, are what rounding left of zero.
pub(crate) const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// Entries of a sum below this fraction of what it could be are looked at: their terms may have cancelled.
const SUSPECT: f64 = 1e-9;

/// The tables of a kernel and those made from them.
#[derive(Debug)]
pub(crate) struct TableStore {
    /// For each iname its number of values; `None` if it has no constant number of them.
    extents: Vec<Option<usize>>,
    interned: IndexSet<(Vec<InameId>, Vec<u64>), FxBuildHasher>,
    tables: Vec<Table>,
    products: IndexSet<Vec<TableId>, FxBuildHasher>,
    multiplied: FxHashMap<(TableId, TableId), Scaled>,
    /// The same for products, whose tables are then not looked at again.
    multiplied_products: FxHashMap<(ProductId, ProductId), Scaled>,
    summed: FxHashMap<(ProductId, InameSet), Scaled>,
    /// Tables of the same axes are not multiplied.
    is_symbolic: bool,
    /// Multiplications and additions of numbers so far.
    pub(crate) work: u64,
}

impl TableStore {
    /// No tables, over inames with those numbers of values.
    pub(crate) fn new(extents: Vec<Option<usize>>) -> Self {
        Self {
            extents,
            interned: IndexSet::default(),
            tables: Vec::new(),
            products: std::iter::once(Vec::new()).collect(),
            multiplied: FxHashMap::default(),
            multiplied_products: FxHashMap::default(),
            summed: FxHashMap::default(),
            is_symbolic: false,
            work: 0,
        }
    }

    /// The same for products that stay products: nothing is multiplied as numbers, and a product may have several tables of the same axes.
    pub(crate) fn symbolic(extents: Vec<Option<usize>>) -> Self {
        Self { is_symbolic: true, ..Self::new(extents) }
    }

    /// How many values an iname takes; `None` if that is no constant.
    pub(crate) fn extent(&self, iname: InameId) -> Option<usize> {
        self.extents.get(iname.index()).copied().flatten()
    }

    /// The tables of a product.
    pub(crate) fn factors(&self, product: ProductId) -> impl Iterator<Item = &Table> + '_ {
        self.products[product.0 as usize].iter().map(|&table| &self.tables[table.0 as usize])
    }

    /// The axes of all tables of a product.
    pub(crate) fn axes(&self, product: ProductId) -> InameSet {
        self.factors(product).flat_map(|table| table.axes.iter().copied()).collect()
    }

    /// The product that is one table: a number where all entries are equal, nothing where they are all zero.
    pub(crate) fn table(&mut self, axes: Vec<InameId>, data: Vec<f64>) -> Scaled {
        self.scaled(Table::new(axes, data))
    }

    /// A product where some axes have these values.
    pub(crate) fn at(&mut self, product: ProductId, values: &[(InameId, usize)]) -> Scaled {
        let mut res = (1.0, ProductId::ONE);
        for table in self.factors(product).cloned().collect::<Vec<Table>>() {
            let (factor, sliced) = self.sliced(table, values)?;
            let (of_both, both) = self.multiply(res.1, sliced)?;
            res = (res.0 * factor * of_both, both);
        }
        Some(res)
    }

    fn sliced(&mut self, table: Table, values: &[(InameId, usize)]) -> Scaled {
        let value = |axis: InameId| values.iter().find(|value| value.0 == axis).map(|value| value.1);
        let mut offsets = vec![0];
        for &axis in &table.axes {
            let extent = self.extent(axis)?;
            let at = value(axis).map_or(0..extent, |at| at..at + 1);
            offsets = offsets.iter().flat_map(|&offset| at.clone().map(move |at| offset * extent + at)).collect();
        }
        let chosen = |data: &[f64]| -> Vec<f64> { offsets.iter().map(|&offset| data[offset]).collect() };
        let axes = table.axes.iter().copied().filter(|&axis| value(axis).is_none()).collect();
        let magnitudes = table.magnitudes.as_deref().map(chosen);
        self.scaled(Table { axes, data: chosen(&table.data), magnitudes })
    }

    fn scaled(&mut self, table: Table) -> Scaled {
        self.work += table.data.len() as u64;
        let first = table.data.first().copied().unwrap_or(0.0);
        if table.data.iter().all(|&value| value == first) {
            return (first != 0.0).then_some((first, ProductId::ONE));
        }
        let table = self.intern(table);
        Some((1.0, self.product(vec![table])))
    }

    fn intern(&mut self, table: Table) -> TableId {
        // Zeros of both signs are one.
        let bits = table.data.iter().map(|value| (value + 0.0).to_bits()).collect();
        let (idx, is_new) = self.interned.insert_full((table.axes.clone(), bits));
        if is_new {
            self.tables.push(table);
        } else {
            // Equal numbers that came to be in several ways are only as much noise as each of them.
            let known = &mut self.tables[idx].magnitudes;
            *known = known
                .take()
                .zip(table.magnitudes)
                .map(|(known, new)| known.iter().zip(new).map(|(known, new)| known.min(new)).collect());
        }
        TableId(u32::try_from(idx).expect("work is limited far below 2^32 tables"))
    }

    fn product(&mut self, mut tables: Vec<TableId>) -> ProductId {
        tables.sort_unstable();
        let (idx, _) = self.products.insert_full(tables);
        ProductId(u32::try_from(idx).expect("work is limited far below 2^32 products"))
    }

    /// `a*b`.
    pub(crate) fn multiply(&mut self, a: ProductId, b: ProductId) -> Scaled {
        if a == ProductId::ONE || b == ProductId::ONE {
            return Some((1.0, if a == ProductId::ONE { b } else { a }));
        }
        if let Some(&known) = self.multiplied_products.get(&(a, b)) {
            return known;
        }
        let res = self.multiply_tables(a, b);
        self.multiplied_products.insert((a, b), res);
        res
    }

    fn multiply_tables(&mut self, a: ProductId, b: ProductId) -> Scaled {
        let mut coefficient = 1.0;
        let mut res = self.products[a.0 as usize].clone();
        if self.is_symbolic {
            res.extend(&self.products[b.0 as usize]);
            return Some((1.0, self.product(res)));
        }
        for table in self.products[b.0 as usize].clone() {
            let axes = &self.tables[table.0 as usize].axes;
            match res.iter().position(|&other| self.tables[other.0 as usize].axes == *axes) {
                None => res.push(table),
                Some(idx) => {
                    let (factor, product) = self.multiply_entries(res[idx], table)?;
                    coefficient *= factor;
                    match self.products[product.0 as usize].first() {
                        Some(&merged) => res[idx] = merged,
                        None => {
                            res.remove(idx);
                        }
                    }
                }
            }
        }
        Some((coefficient, self.product(res)))
    }

    fn multiply_entries(&mut self, a: TableId, b: TableId) -> Scaled {
        let key = (a.min(b), a.max(b));
        if let Some(&known) = self.multiplied.get(&key) {
            return known;
        }
        let (left, right) = (&self.tables[key.0.0 as usize], &self.tables[key.1.0 as usize]);
        let product = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(x, y)| x * y).collect() };
        let mut table = Table::new(left.axes.clone(), product(&left.data, &right.data));
        if left.magnitudes.is_some() || right.magnitudes.is_some() {
            table.magnitudes = Some(product(&left.of_magnitudes().data, &right.of_magnitudes().data));
        }
        let res = self.scaled(table);
        self.multiplied.insert(key, res);
        res
    }

    /// The sum of a product over reduction inames.
    pub(crate) fn sum(&mut self, product: ProductId, inames: &InameSet) -> Scaled {
        if let Some(&known) = self.summed.get(&(product, inames.clone())) {
            return known;
        }
        let mut coefficient = 1.0;
        let mut result = Some(ProductId::ONE);
        let (mut pending, free): (Vec<TableId>, Vec<TableId>) = self.products[product.0 as usize]
            .iter()
            .partition(|table| self.tables[table.0 as usize].axes.iter().any(|&axis| inames.contains(axis)));
        let touched: InameSet =
            pending.iter().flat_map(|table| self.tables[table.0 as usize].axes.iter().copied()).collect();
        for iname in inames.difference(&touched).iter() {
            coefficient *= self.extent(iname).unwrap_or(0) as f64;
        }
        // Tables that reduction inames do not connect are summed apart.
        while let Some(first) = pending.pop() {
            let mut group = vec![first];
            let mut connected: InameSet = self.reduced_axes(first, inames);
            while let Some(idx) =
                pending.iter().position(|&table| !self.reduced_axes(table, inames).is_disjoint(&connected))
            {
                let table = pending.remove(idx);
                connected = connected.union(&self.reduced_axes(table, inames));
                group.push(table);
            }
            group.sort_unstable();
            result = result.and_then(|so_far| {
                let (factor, part) = self.sum_group(&group, &connected)?;
                coefficient *= factor;
                let (factor, res) = self.multiply(so_far, part)?;
                coefficient *= factor;
                Some(res)
            });
        }
        let free = self.product(free);
        let res = result.and_then(|so_far| {
            let (factor, res) = self.multiply(so_far, free)?;
            Some((coefficient * factor, res))
        });
        self.summed.insert((product, inames.clone()), res);
        res
    }

    fn reduced_axes(&self, table: TableId, inames: &InameSet) -> InameSet {
        self.tables[table.0 as usize].axes.iter().copied().filter(|&axis| inames.contains(axis)).collect()
    }

    fn sum_group(&mut self, group: &[TableId], inames: &InameSet) -> Scaled {
        let tables: Vec<Table> = group.iter().map(|table| self.tables[table.0 as usize].clone()).collect();
        let largest: f64 =
            tables.iter().map(|table| table.data.iter().fold(0.0_f64, |max, x| max.max(x.abs()))).product();
        let n_points: usize = inames.iter().filter_map(|iname| self.extent(iname)).product();
        let bound = largest * n_points as f64;
        let magnitudes: Vec<Table> = tables.iter().map(Table::of_magnitudes).collect();
        let has_magnitudes = tables.iter().any(|table| table.magnitudes.is_some());
        let mut res = self.sum_tables(tables, inames);
        if has_magnitudes || res.data.iter().any(|&value| value != 0.0 && value.abs() < SUSPECT * bound) {
            // The same once more, which is no more work than was allowed.
            let work = self.work;
            let magnitudes = self.sum_tables(magnitudes, inames).data;
            self.work = work;
            for (value, &magnitude) in res.data.iter_mut().zip(&magnitudes) {
                if value.abs() <= ROUNDING * bound.min(magnitude * n_points as f64) {
                    *value = 0.0;
                }
            }
            res.magnitudes = Some(magnitudes);
        }
        self.scaled(res)
    }

    /// The sum of a product over `inames`.
    fn sum_tables(&mut self, mut tables: Vec<Table>, inames: &InameSet) -> Table {
        while tables.len() > 2 {
            tables.sort_by_key(|table| table.data.len());
            let (a, b) = (tables.remove(0), tables.remove(0));
            let merged = self.combine(&a, &b, &InameSet::new());
            tables.push(merged);
        }
        let one = Table::new(Vec::new(), vec![1.0]);
        let last = tables.pop().unwrap_or_else(|| one.clone());
        let other = tables.pop().unwrap_or(one);
        self.combine(&other, &last, inames)
    }

    /// `a*b` summed over `inames`.
    fn combine(&mut self, a: &Table, b: &Table, inames: &InameSet) -> Table {
        // Axes in three groups: of `a` alone, of both or summed, of `b` alone; the innermost loop runs over those of `b` alone.
        let of_both: Vec<InameId> = a.axes.iter().chain(&b.axes).copied().collect::<InameSet>().iter().collect();
        let shape: Vec<usize> = of_both.iter().map(|&axis| self.extent(axis).unwrap_or(1)).collect();
        let kept: Vec<InameId> = of_both.iter().copied().filter(|&axis| !inames.contains(axis)).collect();
        let strides = |axes: &[InameId]| -> Vec<usize> {
            let mut stride = 1;
            let mut by_axis: Vec<(InameId, usize)> = Vec::new();
            for &axis in axes.iter().rev() {
                by_axis.push((axis, stride));
                stride *= self.extent(axis).unwrap_or(1);
            }
            let of = |axis: InameId| by_axis.iter().find(|(known, _)| *known == axis).map_or(0, |known| known.1);
            of_both.iter().map(|&axis| of(axis)).collect()
        };
        let (of_a, of_b, of_result) = (strides(&a.axes), strides(&b.axes), strides(&kept));
        let mut res = vec![0.0; kept.iter().map(|&axis| self.extent(axis).unwrap_or(1)).product()];
        // Axes of `b` alone innermost: zeros of `a` then skip whole rows.
        let mut order: Vec<usize> = (0..of_both.len()).collect();
        order.sort_by_key(|&idx| (of_a[idx] == 0, idx));
        let n_outer = order.iter().filter(|&&idx| of_a[idx] != 0).count();
        let (outer, inner) = order.split_at(n_outer);
        let inner_points = points(inner, &shape, &of_b, &of_result);
        let inner_runs = runs(&inner_points);
        let mut index = vec![0usize; outer.len()];
        let (mut at_a, mut at_b, mut at_result) = (0, 0, 0);
        loop {
            let factor = a.data[at_a];
            if factor != 0.0 {
                self.work += inner_points.len() as u64;
                for &(offset_b, offset_result, length) in &inner_runs {
                    let from = &b.data[at_b + offset_b..][..length];
                    let to = &mut res[at_result + offset_result..][..length];
                    to.iter_mut().zip(from).for_each(|(sum, value)| *sum += factor * value);
                }
            }
            let mut position = outer.len();
            loop {
                if position == 0 {
                    return Table::new(kept, res);
                }
                position -= 1;
                let axis = outer[position];
                index[position] += 1;
                (at_a, at_b, at_result) = (at_a + of_a[axis], at_b + of_b[axis], at_result + of_result[axis]);
                if index[position] < shape[axis] {
                    break;
                }
                at_a -= index[position] * of_a[axis];
                at_b -= index[position] * of_b[axis];
                at_result -= index[position] * of_result[axis];
                index[position] = 0;
            }
        }
    }

    /// The entries of the product of those tables that have all their axes in `axes`, at all points of these, row-major.
    pub(crate) fn values(&self, product: ProductId, axes: &[InameId]) -> Vec<f64> {
        let mut res = Vec::new();
        self.values_into(product, axes, &mut res);
        res
    }

    /// The same in the place of what a vector holds.
    pub(crate) fn values_into(&self, product: ProductId, axes: &[InameId], res: &mut Vec<f64>) {
        self.entries(product, axes, res, |table, offset| table.data[offset]);
    }

    /// The same of the magnitudes of the terms from which the entries were added up.
    pub(crate) fn magnitudes_into(&self, product: ProductId, axes: &[InameId], res: &mut Vec<f64>) {
        self.entries(product, axes, res, Table::magnitude);
    }

    /// Whether the magnitudes of a product are not just those of its values.
    pub(crate) fn has_magnitudes(&self, product: ProductId) -> bool {
        self.factors(product).any(|table| table.magnitudes.is_some())
    }

    fn entries(&self, product: ProductId, axes: &[InameId], res: &mut Vec<f64>, entry: impl Fn(&Table, usize) -> f64) {
        let shape: Vec<usize> = axes.iter().map(|&axis| self.extent(axis).unwrap_or(1)).collect();
        res.clear();
        res.resize(shape.iter().product(), 1.0);
        if res.is_empty() {
            return;
        }
        // The last axis is the inner loop, the others count like digits.
        let (n_inner, outer) = shape.split_last().map_or((1, shape.as_slice()), |(last, outer)| (*last, outer));
        for table in self.factors(product).filter(|table| table.axes.iter().all(|axis| axes.contains(axis))) {
            let mut stride = 1;
            let mut strides = vec![0; axes.len()];
            for &axis in table.axes.iter().rev() {
                if let Some(idx) = axes.iter().position(|&other| other == axis) {
                    strides[idx] = stride;
                }
                stride *= self.extent(axis).unwrap_or(1);
            }
            let of_inner = strides.last().copied().unwrap_or(0);
            let (mut index, mut at) = (vec![0usize; outer.len()], 0);
            for row in res.chunks_exact_mut(n_inner) {
                let mut offset = at;
                for value in row {
                    *value *= entry(table, offset);
                    offset += of_inner;
                }
                for position in (0..outer.len()).rev() {
                    index[position] += 1;
                    at += strides[position];
                    if index[position] < outer[position] {
                        break;
                    }
                    at -= index[position] * strides[position];
                    index[position] = 0;
                }
            }
        }
    }
}

/// Points that follow each other in both arrays: the first of each run, and their number.
fn runs(points: &[(usize, usize)]) -> Vec<(usize, usize, usize)> {
    let follows = |before: &(usize, usize), next: &(usize, usize)| (before.0 + 1, before.1 + 1) == *next;
    points.chunk_by(follows).map(|run| (run[0].0, run[0].1, run.len())).collect()
}

/// Offsets in two arrays of all points of some axes, row-major.
fn points(axes: &[usize], shape: &[usize], first: &[usize], second: &[usize]) -> Vec<(usize, usize)> {
    let mut res = vec![(0, 0)];
    for &axis in axes {
        res = res
            .iter()
            .flat_map(|&(a, b)| (0..shape[axis]).map(move |idx| (a + idx * first[axis], b + idx * second[axis])))
            .collect();
    }
    res
}

//! Writes bilinear stores over unordered pairs: tables of parts, the reductions one dimension at a time, and the stores at all orders of the pairs.

use indexmap::IndexMap;
use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::{ArrayId, Dtype, Expr, ExprId, InameId, InsnId, Kernel, Op, ReduceOp};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::{Bilinear, Dimension, PartId};
use crate::nests::{NewTables, add_store, renamed};
use crate::scalars;
use crate::stores::Store;
use nestegg_ir::names::{Names, add_iname, add_inames};

/// The inames of a dimension's pairs.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairInames {
    pub(super) diagonal: InameId,
    pub(super) first: InameId,
    pub(super) second: InameId,
}

/// The kernel at work.
pub(super) struct Writer<'a> {
    form: &'a Bilinear,
    kernel: &'a mut Kernel,
    names: &'a mut Names,
    inames: Vec<PairInames>,
    /// The arrays of parts: on the diagonal, and for pairs.
    tables: FxHashMap<(PartId, bool), Option<ArrayId>>,
    made: NewTables,
}

impl<'a> Writer<'a> {
    /// The writer of tables of that type, with the inames of all pairs.
    pub(super) fn new(form: &'a Bilinear, kernel: &'a mut Kernel, names: &'a mut Names, dtype: Dtype) -> Self {
        let made = NewTables::new(dtype);
        let mut res = Self { form, kernel, names, inames: Vec::new(), tables: FxHashMap::default(), made };
        res.inames = (0..form.dimensions.len()).map(|dimension| res.pair_inames(dimension)).collect();
        res
    }

    /// The inames of a dimension's pairs.
    pub(super) fn inames(&self, dimension: usize) -> PairInames {
        self.inames[dimension]
    }

    fn pair_inames(&mut self, dimension: usize) -> PairInames {
        let Dimension { test, trial, extent, .. } = self.form.dimensions[dimension];
        let diagonal = add_iname(self.kernel, self.names, test, extent);
        let pair = add_inames(self.kernel, self.names, &[test, trial], |names| {
            format!("0 <= {} < {} and {} < {extent}", names[0], names[1], names[1])
        });
        PairInames { diagonal, first: pair[0], second: pair[1] }
    }

    /// The sum of products over all reduction inames, at the points of a region; `None` for zero.
    pub(super) fn contracted(
        &mut self,
        products: &[(Vec<PartId>, ExprId)],
        order: &[usize],
        region: usize,
    ) -> Option<ExprId> {
        let mut states: IndexMap<Vec<Option<PartId>>, Vec<ExprId>, FxBuildHasher> = IndexMap::default();
        for (parts, feature) in products {
            states.entry(parts.iter().copied().map(Some).collect()).or_default().push(*feature);
        }
        for &dimension in order {
            let mut next: IndexMap<Vec<Option<PartId>>, Vec<(PartId, ExprId)>, FxBuildHasher> = IndexMap::default();
            for (mut state, values) in states {
                let Some(part) = state[dimension].take() else { continue };
                let value = self.sum(values);
                next.entry(state).or_default().push((part, value));
            }
            states = IndexMap::default();
            for (state, terms) in next {
                let is_pair = region >> dimension & 1 == 1;
                let (mut reduced, mut direct) = (Vec::new(), Vec::new());
                for (part, value) in terms {
                    if !is_pair && let Some(at_point) = self.point_value(part, dimension, value) {
                        direct.extend(at_point);
                        continue;
                    }
                    if let Some(entry) = self.entry(part, dimension, is_pair) {
                        reduced.push(self.kernel.exprs.op(Op::Mul, [entry, value]));
                    }
                }
                if !reduced.is_empty() {
                    let mut body = self.sum(reduced);
                    let inames = &self.form.dimensions[dimension].reduced;
                    if !inames.is_empty() {
                        body = self.kernel.exprs.intern(Expr::Reduce {
                            op: ReduceOp::Sum,
                            inames: inames.clone().into(),
                            body,
                        });
                    }
                    direct.push(body);
                }
                if !direct.is_empty() {
                    states.insert(state, direct);
                }
            }
        }
        let values = states.into_values().next()?;
        Some(self.sum(values))
    }

    fn sum(&mut self, mut values: Vec<ExprId>) -> ExprId {
        match values.len() {
            1 => values.remove(0),
            _ => self.kernel.exprs.op(Op::Add, values),
        }
    }

    /// On the diagonal, a reduction over one iname of a table with entries at equal values only: the value there. Nothing if all entries are
    /// zero; `None` if the table is another.
    fn point_value(&mut self, part: PartId, dimension: usize, value: ExprId) -> Option<Option<ExprId>> {
        let Dimension { reduced, extent, n_points, .. } = &self.form.dimensions[dimension];
        let [reduced] = reduced.as_slice() else { return None };
        if n_points != extent {
            return None;
        }
        let data = &self.form.parts[part.0].data;
        let at = |point: usize, j: usize| data[(point * extent + j) * extent + j].get();
        let is_delta = (0..*extent).all(|point| (0..*extent).all(|j| point == j || at(point, j) == 0.0));
        if !is_delta {
            return None;
        }
        let weights: Vec<f64> = (0..*extent).map(|j| at(j, j)).collect();
        if weights.iter().all(|&weight| weight == 0.0) {
            return Some(None);
        }
        let (reduced, diagonal) = (*reduced, self.inames[dimension].diagonal);
        let at_point = renamed(&mut self.kernel.exprs, value, &[(reduced, diagonal)]);
        if weights.iter().all(|&weight| weight == weights[0]) {
            return Some(Some(scalars::scaled(self.kernel, weights[0], at_point)));
        }
        let table = self.table(&weights, &[*extent])?;
        let index = self.kernel.exprs.iname(diagonal);
        let weight = self.kernel.exprs.access(table, [index]);
        Some(Some(self.kernel.exprs.op(Op::Mul, [weight, at_point])))
    }

    /// The entry of a part at the point of a region; `None` if all are zero there.
    fn entry(&mut self, part: PartId, dimension: usize, is_pair: bool) -> Option<ExprId> {
        let table = match self.tables.get(&(part, is_pair)) {
            Some(known) => *known,
            None => {
                let made = self.part_table(part, dimension, is_pair);
                self.tables.insert((part, is_pair), made);
                made
            }
        }?;
        let PairInames { diagonal, first, second } = self.inames[dimension];
        let mut inames = self.form.dimensions[dimension].reduced.clone();
        if is_pair {
            inames.extend([first, second])
        } else {
            inames.push(diagonal)
        }
        let indices: Vec<ExprId> = inames.into_iter().map(|iname| self.kernel.exprs.iname(iname)).collect();
        Some(self.kernel.exprs.access(table, indices))
    }

    fn part_table(&mut self, part: PartId, dimension: usize, is_pair: bool) -> Option<ArrayId> {
        let Dimension { mut shape, extent, n_points, .. } = self.form.dimensions[dimension].clone();
        let data = &self.form.parts[part.0].data;
        let mut values = Vec::new();
        for point in 0..n_points {
            for j in 0..extent {
                for k in 0..extent {
                    let value = data[(point * extent + j) * extent + k].get();
                    if is_pair {
                        // Only pairs in increasing order are read.
                        values.push(if j < k { value } else { 0.0 });
                    } else if j == k {
                        values.push(value);
                    }
                }
            }
        }
        if values.iter().all(|&value| value == 0.0) {
            return None;
        }
        shape.extend(if is_pair { vec![extent, extent] } else { vec![extent] });
        self.table(&values, &shape)
    }

    fn table(&mut self, values: &[f64], shape: &[usize]) -> Option<ArrayId> {
        self.made.table(self.kernel, self.names, shape, values)
    }

    /// The value at an order of the pairs: what has an antisymmetric part in a swapped dimension is subtracted. Whether the whole is
    /// negative, so that what differs in sign alone is one expression.
    pub(super) fn signed_sum(
        &mut self,
        values: &IndexMap<usize, ExprId, FxBuildHasher>,
        swapped: usize,
        n_dimensions: usize,
    ) -> Option<(bool, ExprId)> {
        let mut parts: Vec<(usize, bool, ExprId)> = values
            .iter()
            .map(|(&pattern, &value)| (pattern, (pattern & swapped).count_ones() % 2 == 1, value))
            .collect();
        parts.sort_by_key(|part| part.0);
        // Pairwise, in the last dimension first: the sums of one level are shared by the orders that agree below.
        for dimension in (0..n_dimensions).rev() {
            let mut next: IndexMap<usize, Vec<(bool, ExprId)>> = IndexMap::new();
            for (pattern, is_negative, value) in parts {
                next.entry(pattern & !(1 << dimension)).or_default().push((is_negative, value));
            }
            parts = next
                .into_iter()
                .map(|(pattern, terms)| {
                    let (is_negative, first) = terms[0];
                    let value = terms[1..].iter().fold(first, |so_far, &(sign, value)| {
                        let op = if sign == is_negative { Op::Add } else { Op::Sub };
                        self.kernel.exprs.op(op, [so_far, value])
                    });
                    (pattern, is_negative, value)
                })
                .collect();
        }
        parts.first().map(|&(_, is_negative, value)| (is_negative, value))
    }

    /// `A[f(j), g(k)] = A[f(j), g(k)] + value` at an order of the pairs of a region.
    pub(super) fn accumulation(
        &mut self,
        store: &Store,
        region: usize,
        swapped: usize,
        is_negative: bool,
        value: ExprId,
    ) -> Option<InsnId> {
        let mut indices = store.indices.clone();
        let mut within = store.outer.clone();
        for (dimension, inames) in self.inames.iter().enumerate() {
            let PairInames { diagonal, first, second } = *inames;
            let Dimension { test, trial, .. } = self.form.dimensions[dimension];
            let (at_test, at_trial) = match (region >> dimension & 1, swapped >> dimension & 1) {
                (0, _) => (diagonal, diagonal),
                (_, 0) => (first, second),
                _ => (second, first),
            };
            within.extend(if region >> dimension & 1 == 1 { vec![first, second] } else { vec![diagonal] });
            for index in &mut indices {
                for (from, to) in [(test, at_test), (trial, at_trial)] {
                    *index = index.substitute(Var::Iname(from), &Affine::var(Var::Iname(to)))?;
                }
            }
        }
        let indices: Vec<ExprId> = indices.iter().map(|index| index.to_expr(&mut self.kernel.exprs)).collect();
        let op = if is_negative { Op::Sub } else { Op::Add };
        add_store(self.kernel, self.names, store, indices, (op, value), within)
    }
}

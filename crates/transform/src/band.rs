//! Sums over the band of a matrix.
//!
//! # Output
//! If the table `T` is zero outside `-w <= j - i <= w`, then `sum(j, T[i, j]*x[j])` runs over these `j` only: the same
//! sum over a domain that `i` encloses. Triangles, blocks beside a diagonal of slope 2, and sums of such tables work
//! likewise.
//! # Method
//! The tables of a body show at which pairs `(i, j)` it is nonzero: products intersect, sums unite. Among a few slopes
//! `p`, the band `low <= j - p*i <= high` with the fewest pairs is taken, if that is at most [`WORTH`] of all.
//! # Legality
//! Where `T` is zero, the product is zero: as for all tables, `0*x` is 0 even where `x` is not finite.
//! # Complexity
//! The table entries, for each reduction and each other iname that indexes the same tables; at most a million pairs, or
//! as many as the tables have entries.
//! # Not done
//! Rows of different widths: a band holds the widest. Bands whose slope is not an integer; bands of stores.

use std::ops::RangeInclusive;

use fixedbitset::FixedBitSet;
use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::names::Names;
use nestegg_ir::walk::below;
use nestegg_ir::{
    ArrayId, Domain, DomainId, Expr, ExprId, Exprs, Iname, InameId, Kernel, LinearizedKernel, Op, ReduceOp,
};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::ranges::Ranges;
use crate::split_at_zeros::tables::{Content, Tables};
use crate::substitute::with_inames;

/// Among fewer pairs of values no band is looked for: small matrices have forms of their own.
const MIN_PAIRS: usize = 256;

/// Among more pairs of values no band is looked for, unless the tables of the kernel hold as many entries.
const MAX_PAIRS: usize = 1 << 20;

/// The part of all pairs that a band has at most, as a fraction.
const WORTH: (usize, usize) = (3, 4);

/// The slopes that are tried, the first of equals taken.
const SLOPES: [i64; 8] = [1, -1, 2, -2, 3, -3, 4, -4];

/// A kernel in value form whose sums run over bands of their tables; `None` if there is no band.
///
/// # Errors
/// If a domain cannot be used.
pub fn restrict_to_bands(linearized: &LinearizedKernel) -> Result<Option<LinearizedKernel>, DomainError> {
    let tables = Tables::new(&linearized.kernel);
    if !linearized.kernel.array_ids().any(|array| tables.has_zero(array)) {
        return Ok(None);
    }
    let LinearizedKernel { mut kernel, linearization } = linearized.clone();
    let domains = Domains::new(&isl::Context::new(), &kernel)?;
    let ranges = Ranges::new(&kernel, &domains)?;
    let values = kernel.iname_ids().map(|iname| values(&kernel, &ranges, iname)).collect();
    let n_entries = kernel.arrays.iter().filter_map(|array| array.table()).map(|values| values.len()).sum();
    let bands = Bands { tables, values, pairs: MIN_PAIRS..=MAX_PAIRS.max(n_entries) };
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    let mut found: FxHashMap<(InameId, Band), InameId> = FxHashMap::default();
    let (mut names, mut new_inames) = (Names::new(&kernel), Vec::new());
    let n_inames = kernel.inames.len();
    let rewritten = kernel.exprs.rewrite(roots, |exprs, _, expr| {
        let Expr::Reduce { op: ReduceOp::Sum, inames, mut body } = expr else { return exprs.intern(expr) };
        let mut restricted = inames.to_vec();
        for iname in &mut restricted {
            let Some(columns) = bands.values[iname.index()].clone() else { continue };
            let Some(band) = bands.band(exprs, body, (*iname, columns.clone()), &inames) else { continue };
            let within = *found.entry((*iname, band)).or_insert_with(|| {
                new_inames.push((*iname, columns, band));
                InameId::new(n_inames + new_inames.len() - 1)
            });
            let image = |other| (other == *iname).then(|| Affine::var(Var::Iname(within)));
            body = with_inames(exprs, [body], image).get(body);
            *iname = within;
        }
        exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames: restricted.into(), body })
    });
    if new_inames.is_empty() {
        return Ok(None);
    }
    kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| rewritten.get(id)));
    for (iname, columns, band) in new_inames {
        let name = names.new_name(&kernel[iname].name);
        let (first, last) = columns.into_inner();
        let Band { row, slope, low, high } = band;
        let row_name = &kernel[row].name;
        let times_row = match slope {
            1 => format!("- {row_name}"),
            -1 => format!("+ {row_name}"),
            _ if slope < 0 => format!("+ {}*{row_name}", -slope),
            _ => format!("- {slope}*{row_name}"),
        };
        let text = format!(
            "[{row_name}] -> {{ [{name}] : {first} <= {name} <= {last} and {low} <= {name} {times_row} <= {high} }}"
        );
        let domain = DomainId::new(kernel.domains.len());
        let inames = vec![InameId::new(kernel.inames.len())];
        kernel.domains.push(Domain { text, inames, enclosing: vec![row], parameters: Vec::new() });
        kernel.inames.push(Iname { name, tags: Vec::new(), domain });
    }
    Ok(Some(LinearizedKernel { kernel, linearization }))
}

/// The values of an iname, if they are the same whatever others are, and none is left out.
fn values(kernel: &Kernel, ranges: &Ranges, iname: InameId) -> Option<RangeInclusive<i64>> {
    let (Some(first), Some(last)) = ranges.bounds(iname) else { return None };
    let is_box = ranges.is_independent(iname) && ranges.is_interval(iname) && !kernel.is_sequential(iname);
    is_box.then_some(first..=last)
}

/// `slope*row + low <= column <= slope*row + high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Band {
    row: InameId,
    slope: i64,
    low: i64,
    high: i64,
}

struct Bands {
    tables: Tables,
    /// Of each iname that can be a row or a column.
    values: Vec<Option<RangeInclusive<i64>>>,
    /// How many pairs of values a band is looked for among.
    pairs: RangeInclusive<usize>,
}

/// The pairs of a row and a column where an expression may be other than zero; `None` for all.
type Mask = Option<FixedBitSet>;

impl Bands {
    /// The narrowest band of a body along one of its columns.
    fn band(
        &self,
        exprs: &Exprs,
        body: ExprId,
        (column, columns): (InameId, RangeInclusive<i64>),
        bound: &[InameId],
    ) -> Option<Band> {
        let rows = rows(exprs, body, column, &self.tables);
        let free = rows.into_iter().filter(|row| !bound.contains(row));
        let mut best: Option<(usize, usize, Band)> = None;
        for row in free {
            let Some(values) = self.values.get(row.index()).cloned().flatten() else { continue };
            let n_pairs = length(&values).saturating_mul(length(&columns));
            if !self.pairs.contains(&n_pairs) {
                continue;
            }
            let pairs = Pairs { row, rows: values, column, columns: columns.clone() };
            let Some(mask) = self.mask(exprs, body, &pairs) else { continue };
            for slope in SLOPES {
                let Some((band, n_within)) = pairs.band(&mask, slope) else { continue };
                let is_worth = n_within.saturating_mul(WORTH.1) <= n_pairs.saturating_mul(WORTH.0);
                // Parts of different totals: n/total against the best one's.
                let is_narrower = best.is_none_or(|(n, total, _)| n_within * total < n * n_pairs);
                if is_worth && is_narrower {
                    best = Some((n_within, n_pairs, band));
                }
            }
        }
        best.map(|best| best.2)
    }

    fn mask(&self, exprs: &Exprs, root: ExprId, pairs: &Pairs) -> Mask {
        let mut known: FxHashMap<ExprId, Mask> = FxHashMap::default();
        for id in exprs.reachable([root]) {
            let of = |id: &ExprId| known.get(id).cloned().flatten();
            let mask = match &exprs[id] {
                Expr::Access { array, indices } => self.of_table(exprs, *array, indices, pairs),
                Expr::Op { op: Op::Mul, operands } => operands.iter().filter_map(of).reduce(|a, b| &a & &b),
                Expr::Op { op: Op::Add | Op::Sub, operands } => {
                    let masks: Option<Vec<FixedBitSet>> = operands.iter().map(of).collect();
                    masks.and_then(|masks| masks.into_iter().reduce(|a, b| &a | &b))
                }
                Expr::Op { op: Op::Neg, operands } => operands.first().and_then(of),
                Expr::Op { op: Op::Div, operands } => operands.first().and_then(of),
                Expr::Reduce { op: ReduceOp::Sum, inames, body } => {
                    let is_other = !inames.contains(&pairs.row) && !inames.contains(&pairs.column);
                    if is_other { of(body) } else { None }
                }
                _ => None,
            };
            known.insert(id, mask);
        }
        known.remove(&root).flatten()
    }

    /// Where a table is not zero; `None` if that says nothing of the pairs, or it is read outside of its shape.
    fn of_table(&self, exprs: &Exprs, array: ArrayId, indices: &[ExprId], pairs: &Pairs) -> Mask {
        let shape = self.tables.shape(array).filter(|_| self.tables.has_zero(array))?;
        let mut reads = Vec::with_capacity(indices.len());
        for (&index, &size) in indices.iter().zip(shape) {
            let index = affine::of(exprs, index);
            let of = |iname| index.as_ref().map_or(0, |index| index.coefficient(Var::Iname(iname)));
            let (by_row, by_column) = (of(pairs.row), of(pairs.column));
            let is_of_pair = |index: &Affine| {
                index.terms.iter().all(|(var, _)| *var == Var::Iname(pairs.row) || *var == Var::Iname(pairs.column))
            };
            reads.push(match index {
                Some(index) if is_of_pair(&index) => (by_row, by_column, Some(index.constant), size),
                // Some entry along this dimension, whichever.
                _ if by_row == 0 && by_column == 0 => (0, 0, None, size),
                _ => return None,
            });
        }
        let reads_both = reads.iter().any(|read| read.0 != 0) && reads.iter().any(|read| read.1 != 0);
        if !reads_both {
            return None;
        }
        let mut mask = FixedBitSet::with_capacity(length(&pairs.rows) * length(&pairs.columns));
        let mut part = vec![(0, 0); reads.len()];
        let mut position = 0;
        for row in pairs.rows.clone() {
            for column in pairs.columns.clone() {
                for (part, &(by_row, by_column, constant, size)) in part.iter_mut().zip(&reads) {
                    *part = match constant {
                        Some(constant) => {
                            let index = by_row.checked_mul(row)?.checked_add(by_column.checked_mul(column)?)?;
                            let index = index.checked_add(constant).filter(|index| (0..size).contains(index))?;
                            (index, index + 1)
                        }
                        None => (0, size),
                    };
                }
                mask.set(position, self.tables.content(array, &part) != Content::Zero);
                position += 1;
            }
        }
        Some(mask)
    }
}

/// The inames that index tables with zeros together with a column.
fn rows(exprs: &Exprs, body: ExprId, column: InameId, tables: &Tables) -> Vec<InameId> {
    let mut res: Vec<InameId> = Vec::new();
    for id in below(exprs, [body]) {
        let Expr::Access { array, indices } = &exprs[id] else { continue };
        let inames: Vec<InameId> = below(exprs, indices.iter().copied())
            .into_iter()
            .filter_map(|id| if let Expr::Iname(iname) = exprs[id] { Some(iname) } else { None })
            .collect();
        if tables.has_zero(*array) && inames.contains(&column) {
            res.extend(inames.into_iter().filter(|&iname| iname != column));
        }
    }
    res.sort_unstable();
    res.dedup();
    res
}

/// The pairs of values of two inames, rows outside.
struct Pairs {
    row: InameId,
    rows: RangeInclusive<i64>,
    column: InameId,
    columns: RangeInclusive<i64>,
}

impl Pairs {
    /// The narrowest band of a slope around what is set, and how many pairs are within.
    fn band(&self, mask: &FixedBitSet, slope: i64) -> Option<(Band, usize)> {
        let n_columns = length(&self.columns);
        let offset = |row: i64, column: i64| column - slope * row;
        let at = |position: usize| {
            (self.rows.start() + (position / n_columns) as i64, self.columns.start() + (position % n_columns) as i64)
        };
        let mut ends: Option<(i64, i64)> = None;
        for (row, column) in mask.ones().map(at) {
            let offset = offset(row, column);
            ends = Some(ends.map_or((offset, offset), |(low, high)| (low.min(offset), high.max(offset))));
        }
        let (low, high) = ends?;
        let within = self.rows.clone().map(|row| {
            let first = (slope * row + low).max(*self.columns.start());
            let last = (slope * row + high).min(*self.columns.end());
            length(&(first..=last))
        });
        Some((Band { row: self.row, slope, low, high }, within.sum()))
    }
}

/// How many values a range has.
fn length(values: &RangeInclusive<i64>) -> usize {
    usize::try_from(values.end() - values.start() + 1).unwrap_or_default()
}

//! Interpolation by fewer products: columns of a table that are made of others, and of a constant.
//!
//! # Input
//! A kernel in value form.
//! # Output
//! An equal kernel in which `T[q, 0]*x + T[q, 1]*y` is `x + T[q, 1]*(y - x)`, where `T[q, 0] + T[q, 1]` is 1 for all `q`; and likewise wherever columns of a table are sums of
//! multiples of others and of a constant, as the derivatives of quadratic functions, which are linear. `None` if there is no such sum.
//! # Method
//! Bottom-up over sums: terms that are products with an element of one table, at the same indices but for one that is each of its values once, are taken
//! together; a reduction over that index is written out if it has few values. Columns are taken into a basis in their order, the constant first and the first
//! column last, by elimination; those within the tolerance for tables of what the basis makes (and zero where they are zero, if they are multiplied with other tables) are left out, and what they are multiplied with is added to the factors of the
//! basis. These sums depend on fewer inames than the products that go.
//! # Complexity
//! Linear in the expressions; for each table cubic in the columns and linear in the rows.
//! Source: the barycentric frame; Kirby and Logg, "Benchmarking domain-specific compiler optimizations for variational forms", ACM TOMS 2008.

use indexmap::{IndexMap, IndexSet};
use nestegg_ir::affine::{self, Affine};
use nestegg_ir::walk::{below, terms};
use nestegg_ir::{ArrayId, Expr, ExprId, Exprs, Float, InameSet, InsnId, Kernel, LinearizedKernel, Op, ReduceOp};
use nestegg_solve::cluster::{PART, TOLERANCE};
use rustc_hash::FxHashMap;

use crate::nests::{factors, free_inames, substituted};
use crate::{FormError, LinearMaps, Tolerance};

/// How many terms of a sum are looked at together.
const MAX_TERMS: usize = 64;

/// How many values the iname of a reduction has that is written out.
const MAX_COLUMNS: usize = 32;

/// How near a whole number a coefficient is one.
const COEFFICIENT_TOLERANCE: f64 = 1e-10;

/// Reductions over more columns are not written out for one product less.
const FEW_COLUMNS: usize = 4;

/// How many entries a table has that is looked at.
const MAX_ENTRIES: usize = 100_000;

/// The kernel with interpolation by fewer products; `None` if it has nothing of the kind.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn interpolate(linearized: &LinearizedKernel) -> Result<Option<LinearMaps>, FormError> {
    let mut kernel = linearized.kernel.clone();
    let mut exprs: Exprs = std::mem::take(&mut kernel.exprs);
    let extents = crate::stores::extents(&linearized.kernel)?;
    let mut search = Search { kernel: &kernel, extents, bases: FxHashMap::default(), used: IndexSet::new() };
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    let rewritten = exprs.rewrite(roots, |exprs, _, expr| match &expr {
        Expr::Op { op: Op::Add | Op::Sub, .. } => {
            let plain = exprs.intern(expr);
            search.sum(exprs, plain).unwrap_or(plain)
        }
        Expr::Reduce { op: ReduceOp::Sum, .. } => {
            let plain = exprs.intern(expr);
            search.reduction(exprs, plain).unwrap_or(plain)
        }
        _ => exprs.intern(expr),
    });
    if search.used.is_empty() {
        return Ok(None);
    }
    let tolerance = search.tolerance();
    for insn in 0..kernel.instructions.len() {
        kernel[InsnId::new(insn)].map_expressions(|expr| rewritten.get(expr));
    }
    kernel.exprs = exprs;
    let linearized = LinearizedKernel { kernel, linearization: linearized.linearization.clone() };
    Ok(Some(LinearMaps { linearized, n_stores: 0, n_features: 0, tolerance }))
}

/// Elements of a table that differ in one index.
type Family = (ArrayId, usize, Vec<ExprId>);

/// The columns of a table as sums of others.
#[derive(Clone, Debug)]
struct Basis {
    /// The columns that others are made of.
    columns: Vec<usize>,
    /// For each column what of the constant and of each column of the basis it is made of.
    coefficients: Vec<(f64, Vec<f64>)>,
    /// What is nothing in a column is nothing where it is made of others, whatever rounding does.
    keeps_zeros: bool,
    /// What the numbers that the basis makes differ by from those of the table.
    tolerance: Tolerance,
}

struct Search<'a> {
    /// The kernel without its expressions.
    kernel: &'a Kernel,
    /// For each iname the number of its values, if it has values of its own from zero on.
    extents: Vec<Option<usize>>,
    /// For each table and position the basis of its columns, if it is smaller than they are.
    bases: FxHashMap<(ArrayId, usize), Option<Basis>>,
    /// The tables and positions whose columns some sum is made of.
    used: IndexSet<(ArrayId, usize)>,
}

impl Search<'_> {
    /// What the bases that sums are made of change, each once.
    fn tolerance(&self) -> Tolerance {
        let bases = self.used.iter().filter_map(|used| self.bases.get(used)?.as_ref());
        bases.fold(Tolerance::default(), |all, basis| all.and(basis.tolerance))
    }

    /// A written-out sum by fewer products; `None` if there is nothing of the kind in it.
    fn sum(&mut self, exprs: &mut Exprs, sum: ExprId) -> Option<ExprId> {
        let terms = terms(exprs, sum, MAX_TERMS)?;
        let mut families: IndexMap<Family, Vec<(i64, usize, ExprId)>> = IndexMap::new();
        for (idx, &(term, _)) in terms.iter().enumerate() {
            for (array, indices, rest) in elements(exprs, term) {
                if self.kernel[array].table().is_none() {
                    continue;
                }
                for position in 0..indices.len() {
                    let Some(value) = affine::of(exprs, indices[position]).and_then(|index| index.as_constant()) else {
                        continue;
                    };
                    let mut others = indices.to_vec();
                    others.remove(position);
                    families.entry((array, position, others)).or_default().push((value, idx, rest));
                }
            }
        }
        for ((array, position, others), mut members) in families {
            let extent = self.extent(exprs, array, position)?;
            members.sort_unstable();
            members.dedup_by_key(|member| member.1);
            let is_complete =
                members.len() == extent && members.iter().zip(0..).all(|(member, value)| member.0 == value);
            let Some(basis) = is_complete.then(|| self.basis(exprs, array, position)).flatten() else { continue };
            let values: Vec<ExprId> = members
                .iter()
                .map(|&(_, idx, value)| if terms[idx].1 < 0.0 { exprs.op(Op::Neg, [value]) } else { value })
                .collect();
            if !is_apart(exprs, &others, &values) || !self.may_move(exprs, &basis, &values) {
                continue;
            }
            self.used.insert((array, position));
            let mut res = interpolated(exprs, (array, position, &others), &basis, &values);
            for (idx, &(term, sign)) in terms.iter().enumerate() {
                if members.iter().all(|member| member.1 != idx) {
                    res.push(if sign < 0.0 { exprs.op(Op::Neg, [term]) } else { term });
                }
            }
            return crate::nests::sum(exprs, res);
        }
        None
    }

    /// A reduction over the columns of a table by fewer products, written out; `None` if it is another.
    fn reduction(&mut self, exprs: &mut Exprs, reduction: ExprId) -> Option<ExprId> {
        let Expr::Reduce { inames, body, .. } = &exprs[reduction] else { return None };
        let [iname] = inames.as_ref() else { return None };
        let (iname, body) = (*iname, *body);
        let extent = self.extents.get(iname.index()).copied().flatten().filter(|&extent| extent <= MAX_COLUMNS)?;
        let factors = factors(exprs, body);
        let (at, array, position, others) = factors.iter().enumerate().find_map(|(at, &factor)| {
            let Expr::Access { array, indices } = &exprs[factor] else { return None };
            self.kernel[*array].table()?;
            let is_column = |index: ExprId| affine::of(exprs, index).and_then(|index| index.as_iname()) == Some(iname);
            let position = indices.iter().position(|&index| is_column(index))?;
            let mut others = indices.to_vec();
            others.remove(position);
            let is_single = others.iter().all(|&index| !free_inames(exprs, index).contains(iname));
            (is_single && !others.is_empty()).then_some((at, *array, position, others))
        })?;
        if self.extent(exprs, array, position) != Some(extent) {
            return None;
        }
        let basis = self.basis(exprs, array, position)?;
        if extent > FEW_COLUMNS && basis.columns.len() + 1 == extent {
            return None;
        }
        let rest: Vec<ExprId> =
            factors.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, &factor)| factor).collect();
        let mut values = Vec::new();
        for column in 0..extent {
            let mapping = [(iname, Affine::constant(i64::try_from(column).ok()?))];
            let mut value = Vec::new();
            for &factor in &rest {
                value.push(substituted(exprs, factor, &mapping, &FxHashMap::default()));
            }
            values.push(match value.as_slice() {
                [] => return None,
                [single] => *single,
                _ => exprs.op(Op::Mul, value),
            });
        }
        if !is_apart(exprs, &others, &values) || !self.may_move(exprs, &basis, &values) {
            return None;
        }
        self.used.insert((array, position));
        let terms = interpolated(exprs, (array, position, &others), &basis, &values);
        crate::nests::sum(exprs, terms)
    }

    /// Whether what columns are multiplied with may be multiplied with the basis: where tables in it are nothing, elements may be sums of nothing but of what rounding
    /// leaves of zeros.
    fn may_move(&self, exprs: &Exprs, basis: &Basis, values: &[ExprId]) -> bool {
        let is_table =
            |id: ExprId| matches!(&exprs[id], Expr::Access { array, .. } if self.kernel[*array].table().is_some());
        basis.keeps_zeros || !below(exprs, values.iter().copied()).into_iter().any(is_table)
    }

    fn extent(&self, exprs: &Exprs, array: ArrayId, position: usize) -> Option<usize> {
        let size = affine::of(exprs, *self.kernel[array].shape.get(position)?)?.as_constant()?;
        usize::try_from(size).ok()
    }

    /// The basis of the columns of a table over one index, if it is smaller than they are.
    fn basis(&mut self, exprs: &Exprs, array: ArrayId, position: usize) -> Option<Basis> {
        if let Some(known) = self.bases.get(&(array, position)) {
            return known.clone();
        }
        let res = self.columns(exprs, array, position).and_then(|columns| Basis::of(&columns));
        self.bases.insert((array, position), res.clone());
        res
    }

    /// The columns of a table over one index.
    fn columns(&self, exprs: &Exprs, array: ArrayId, position: usize) -> Option<Vec<Vec<f64>>> {
        let values = self.kernel[array].table().filter(|values| values.len() <= MAX_ENTRIES)?;
        let shape: Option<Vec<usize>> =
            (0..self.kernel[array].shape.len()).map(|at| self.extent(exprs, array, at)).collect();
        let shape = shape?;
        let inner: usize = shape[position + 1..].iter().product();
        let mut res = vec![Vec::new(); shape[position]];
        for (at, value) in values.iter().enumerate() {
            res[at / inner % shape[position]].push(value.to_f64());
        }
        Some(res)
    }
}

impl Basis {
    /// `None` if all columns are needed.
    fn of(columns: &[Vec<f64>]) -> Option<Self> {
        let n_rows = columns.first()?.len();
        let largest = columns.iter().flatten().map(|value| value.abs()).fold(0.0, f64::max);
        if n_rows < 2 || columns.len() < 2 || largest == 0.0 || !largest.is_finite() {
            return None;
        }
        let mut res = Self {
            columns: Vec::new(),
            coefficients: vec![(0.0, Vec::new()); columns.len()],
            keeps_zeros: true,
            tolerance: Tolerance::default(),
        };
        // What is in the basis, made zero at the rows of those before it; for each its row, and what of the constant and the columns it is made of.
        let mut reduced: Vec<(usize, Vec<f64>, Vec<f64>)> = Vec::new();
        let constant = vec![largest; n_rows];
        let order = (1..columns.len()).chain([0]);
        for column in std::iter::once(None).chain(order.map(Some)) {
            let mut left = column.map_or_else(|| constant.clone(), |column| columns[column].clone());
            // What is left is the column, and so much of each in the basis: the constant, then the columns.
            let mut made = vec![0.0; reduced.len()];
            for (row, values, of_basis) in &reduced {
                let by = left[*row] / values[*row];
                left.iter_mut().zip(values).for_each(|(left, value)| *left -= by * value);
                left[*row] = 0.0;
                made.iter_mut().zip(of_basis).for_each(|(made, of_basis)| *made += by * of_basis);
            }
            let (row, pivot) = left
                .iter()
                .enumerate()
                .map(|(row, value)| (row, value.abs()))
                .fold((0, 0.0), |best, next| if next.1 > best.1 { next } else { best });
            match column {
                Some(column) if pivot <= TOLERANCE * largest => {
                    // What should be a whole number is one.
                    let rounded = |value: f64| {
                        let whole = value.round();
                        if (whole - value).abs() <= COEFFICIENT_TOLERANCE { whole } else { value }
                    };
                    let made: Vec<f64> = made.into_iter().map(rounded).collect();
                    res.coefficients[column] = (made[0] * largest, made[1..].to_vec());
                    if made[0] != 0.0 {
                        res.coefficients[column].0 = rounded(made[0] * largest);
                    }
                }
                _ => {
                    if let Some(column) = column {
                        res.columns.push(column);
                    }
                    let mut of_basis: Vec<f64> = made.iter().map(|value| -value).collect();
                    of_basis.push(1.0);
                    reduced.push((row, left, of_basis));
                }
            }
        }
        for (at, &column) in res.columns.iter().enumerate() {
            res.coefficients[column].1 = (0..=at).map(|of| f64::from(u8::from(of == at))).collect();
        }
        // How far the numbers of a row may move: what is a row of nothing stays one, whatever rounding does.
        let limits: Vec<f64> = (0..n_rows)
            .map(|row| PART * columns.iter().map(|column| column[row].abs()).sum::<f64>())
            .map(|limit| limit.min(TOLERANCE * largest))
            .collect();
        let mut keeps_zeros = true;
        let mut tolerance = Tolerance::default();
        for (values, (constant, of_basis)) in columns.iter().zip(&res.coefficients) {
            let largest_of_column = values.iter().map(|value| value.abs()).fold(0.0, f64::max);
            for (row, &value) in values.iter().enumerate() {
                let sum: f64 = of_basis.iter().zip(&res.columns).map(|(by, &column)| by * columns[column][row]).sum();
                let made = constant + sum;
                if (made - value).abs() > limits[row] {
                    return None;
                }
                keeps_zeros &= value != 0.0 || made == 0.0;
                if made != value {
                    // A column of zeros has no magnitude of its own.
                    let magnitude = if largest_of_column > 0.0 { largest_of_column } else { largest };
                    tolerance =
                        tolerance.and(Tolerance { n_changed: 1, largest_change: (made - value).abs() / magnitude });
                }
            }
        }
        res.keeps_zeros = keeps_zeros;
        res.tolerance = tolerance;
        (res.columns.len() < columns.len()).then_some(res)
    }
}

/// Whether values do not depend on the rows of the table that they are multiplied with.
fn is_apart(exprs: &Exprs, others: &[ExprId], values: &[ExprId]) -> bool {
    let rows = others.iter().fold(InameSet::new(), |all, &index| all.union(&free_inames(exprs, index)));
    values.iter().all(|&value| free_inames(exprs, value).is_disjoint(&rows))
}

/// The terms of the sum of columns times values: what the constant is multiplied with, and each column of the basis times what it is multiplied with.
fn interpolated(
    exprs: &mut Exprs,
    (array, position, others): (ArrayId, usize, &[ExprId]),
    basis: &Basis,
    values: &[ExprId],
) -> Vec<ExprId> {
    let mut combined = |coefficient: &dyn Fn(usize) -> f64| {
        let mut terms = Vec::new();
        for (column, &value) in values.iter().enumerate() {
            terms.push(match Float::new(coefficient(column)) {
                Some(one) if one.get() == 1.0 => value,
                Some(one) if one.get() == -1.0 => exprs.op(Op::Neg, [value]),
                Some(by) if by.get() != 0.0 => {
                    let by = exprs.float(by);
                    exprs.op(Op::Mul, [by, value])
                }
                _ => continue,
            });
        }
        crate::nests::sum(exprs, terms)
    };
    let of_constant = combined(&|column| basis.coefficients[column].0);
    let mut factors = Vec::new();
    for at in 0..basis.columns.len() {
        factors.push(combined(&|column| basis.coefficients[column].1.get(at).copied().unwrap_or(0.0)));
    }
    let mut res: Vec<ExprId> = of_constant.into_iter().collect();
    for (&column, factor) in basis.columns.iter().zip(factors) {
        let Some(factor) = factor else { continue };
        let mut indices = others.to_vec();
        indices.insert(position, exprs.int(column as i64));
        let element = exprs.access(array, indices);
        res.push(exprs.op(Op::Mul, [element, factor]));
    }
    res
}

/// The elements that a term is a product with, each with the other factor. Only products of two.
fn elements(exprs: &Exprs, term: ExprId) -> Vec<(ArrayId, Box<[ExprId]>, ExprId)> {
    let Expr::Op { op: Op::Mul, operands } = &exprs[term] else { return Vec::new() };
    let [a, b] = operands.as_ref() else { return Vec::new() };
    [(*a, *b), (*b, *a)]
        .into_iter()
        .filter_map(|(element, rest)| match &exprs[element] {
            Expr::Access { array, indices } => Some((*array, indices.clone(), rest)),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Basis;

    #[test]
    fn linear_functions_are_made_of_a_constant_and_one_of_them() {
        let basis = Basis::of(&[vec![1.0, 0.5, 0.0], vec![0.0, 0.5, 1.0], vec![2.0, 1.0, 0.0]]).unwrap();
        assert_eq!(basis.columns, [1]);
        assert_eq!(basis.coefficients, [(1.0, vec![-1.0]), (0.0, vec![1.0]), (2.0, vec![-2.0])]);
    }

    #[test]
    fn the_tolerance_counts_numbers_and_measures_them() {
        let exact = Basis::of(&[vec![1.0, 0.5, 0.0], vec![0.0, 0.5, 1.0], vec![2.0, 1.0, 0.0]]).unwrap();
        assert_eq!((exact.tolerance.n_changed, exact.tolerance.largest_change), (0, 0.0));
        let off = 1.0 + 2.0_f64.powi(-45);
        let moved = Basis::of(&[vec![1.0, 0.5, 0.25], vec![0.0, 0.5, 0.75], vec![2.0, off, 0.5]]).unwrap();
        assert_eq!((moved.tolerance.n_changed, moved.tolerance.largest_change), (1, 2.0_f64.powi(-46)));
    }

    #[test]
    fn independent_columns_have_no_smaller_basis() {
        assert!(Basis::of(&[vec![1.0, 0.0, 0.0, 0.5], vec![0.0, 1.0, 0.0, 0.25]]).is_none());
        assert!(Basis::of(&[vec![0.0, 0.3, 0.7, 0.2], vec![0.1, 0.3, 0.0, 0.4], vec![0.7, 0.0, 0.1, 0.9]]).is_none());
    }

    #[test]
    fn rows_of_nothing_stay_so() {
        // The third column is a tenth of the first and two tenths of the second, but not in the last bit.
        let columns = |last: f64| [vec![1.0, 2.0, 0.5, last], vec![0.5, 3.0, 1.0, last], vec![0.2, 0.8, 0.25, 1e-18]];
        assert!(Basis::of(&columns(0.0)).is_none());
        assert!(Basis::of(&columns(1e-17)).is_none());
    }

    #[test]
    fn columns_that_are_nearly_dependent_stay() {
        assert!(Basis::of(&[vec![1.0, 2.0, 3.0], vec![3.0, 2.0, 1.0 + 1e-9]]).is_none());
    }
}

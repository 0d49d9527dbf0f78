//! Where the elements of an array lie, and how the row-major arrays of the format hold them.
//!
//! The same as the Python package does: axes that are only permuted stand in the order of their strides; rows that are longer in memory than
//! their extent become longer rows; elements that do not lie side by side get one more axis. Any other array becomes a flat one, and so does
//! one that is read by linear subscripts.

use std::collections::BTreeMap;

use nestegg_ir::Op;

use crate::arrays::{Array, ArrayKind, Stride};
use crate::expr::{E, Expr, Kind, times};
use crate::problem::{self, Known};

/// How an array of the format holds one of loopy's.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// For each axis of the format's array, that of loopy's; `None` for a flat array.
    axes: Option<Vec<usize>>,
    strides: Vec<E>,
    /// The shape in the format.
    pub(crate) shape: Vec<E>,
}

impl Layout {
    /// How the format holds an array.
    pub(crate) fn of(array: &Array, is_linear: bool) -> Known<Self> {
        let rank = array.shape.len();
        if rank == 0 {
            return Ok(Self { axes: Some(Vec::new()), strides: Vec::new(), shape: Vec::new() });
        }
        let owns_memory = array.kind == ArrayKind::Temporary;
        let mut strides = Vec::new();
        for stride in &array.strides {
            match stride {
                Stride::Elements(stride) => strides.push(stride.clone()),
                Stride::Other(_) if owns_memory => break,
                Stride::Other(tag) => {
                    let what = format!("an axis that is laid out as `{tag}`");
                    return Err(problem::unsupported(&what, array.at, ""));
                }
            }
        }
        if strides.len() != rank || (owns_memory && !is_linear) {
            strides = row_major(&array.shape)?;
        }
        if !is_linear {
            if let Some(axes) = permutation(&array.shape, &strides)? {
                let shape = axes.iter().map(|&axis| array.shape[axis].clone()).collect();
                return Ok(Self { axes: Some(axes), strides, shape });
            }
            if let Some((axes, shape)) = padded(&array.shape, &strides, array) {
                return Ok(Self { axes: Some(axes), strides, shape });
            }
        }
        if strides.iter().any(|stride| stride.as_int().is_some_and(|stride| stride < 0)) {
            return Err(problem::unsupported("an array with a negative stride", array.at, ""));
        }
        let (mut constant, mut terms) = (1_i64, Vec::new());
        for (extent, stride) in array.shape.iter().zip(&strides) {
            match (extent.as_int(), stride.as_int()) {
                (Some(extent), Some(stride)) => {
                    constant = constant.saturating_add((extent.saturating_sub(1)).saturating_mul(stride));
                }
                _ => {
                    let last = Expr::new(Kind::Op(Op::Add), vec![extent.clone(), Expr::int(-1, array.at)], array.at)?;
                    terms.push(Expr::new(Kind::Op(Op::Mul), vec![last, stride.clone()], array.at)?);
                }
            }
        }
        let size = if terms.is_empty() {
            Expr::int(constant, array.at)
        } else {
            terms.insert(0, Expr::int(constant, array.at));
            Expr::new(Kind::Op(Op::Add), terms, array.at)?
        };
        Ok(Self { axes: None, strides, shape: vec![size] })
    }

    /// Whether it is the same array, in rows as they are.
    pub(crate) fn is_plain(&self) -> bool {
        self.axes
            .as_ref()
            .is_some_and(|axes| axes.len() == self.shape.len() && axes.iter().enumerate().all(|(at, &axis)| at == axis))
    }

    /// The indices in the format of an element.
    pub(crate) fn indices(&self, indices: &[E], element: &E) -> Known<Vec<E>> {
        let n_axes = self.axes.as_ref().map_or(self.strides.len(), Vec::len);
        if indices.len() != n_axes {
            let expected = format!("as many indices as the array has axes: {n_axes}");
            return Err(problem::syntax(&expected, element.at));
        }
        let zero = || Expr::int(0, element.at);
        if let Some(axes) = &self.axes {
            let mut res: Vec<E> = axes.iter().map(|&axis| indices[axis].clone()).collect();
            res.resize_with(self.shape.len(), zero);
            return Ok(res);
        }
        let mut terms = Vec::new();
        for (index, stride) in indices.iter().zip(&self.strides) {
            match stride.as_int() {
                Some(0) => {}
                Some(1) => terms.push(index.clone()),
                _ => terms.push(Expr::new(Kind::Op(Op::Mul), vec![index.clone(), stride.clone()], index.at)?),
            }
        }
        Ok(vec![match terms.as_slice() {
            [] => zero(),
            [only] => only.clone(),
            _ => Expr::new(Kind::Op(Op::Add), terms, element.at)?,
        }])
    }
}

/// How far apart elements are along each axis; none where that is said in another way.
pub(crate) fn strides(array: &Array) -> Known<Vec<E>> {
    if array.kind == ArrayKind::Temporary || array.strides.is_empty() {
        return row_major(&array.shape);
    }
    let strides = array.strides.iter().map(|stride| match stride {
        Stride::Elements(stride) => Some(stride.clone()),
        Stride::Other(_) => None,
    });
    Ok(strides.collect::<Option<_>>().unwrap_or_default())
}

/// Strides of rows without gaps.
fn row_major(shape: &[E]) -> Known<Vec<E>> {
    let mut res = Vec::new();
    let mut stride = shape.last().map(|extent| Expr::int(1, extent.at));
    for extent in shape.iter().rev() {
        let Some(now) = stride else { break };
        stride = Some(times(extent, &now)?);
        res.push(now);
    }
    res.reverse();
    Ok(res)
}

/// The axes, outermost first, if each stride is the product of the extents inside it.
fn permutation(shape: &[E], strides: &[E]) -> Known<Option<Vec<usize>>> {
    let mut rest: Vec<usize> = (0..shape.len()).collect();
    let mut axes = Vec::new();
    let Some(first) = shape.first() else { return Ok(Some(axes)) };
    let one = Expr::int(1, first.at);
    let mut stride = one.clone();
    while !rest.is_empty() {
        // Of axes with the same stride those of extent 1 are inside: they move nothing.
        let fits: Vec<usize> = rest.iter().rev().copied().filter(|&axis| is_same(&strides[axis], &stride)).collect();
        let of_one = fits.iter().copied().find(|&axis| is_same(&shape[axis], &one));
        let Some(axis) = of_one.or(fits.first().copied()) else { return Ok(None) };
        axes.push(axis);
        rest.retain(|&other| other != axis);
        stride = times(&shape[axis], &stride)?;
    }
    axes.reverse();
    Ok(Some(axes))
}

/// The axes and extents of an array with rows that are longer than their extent.
fn padded(shape: &[E], strides: &[E], array: &Array) -> Option<(Vec<usize>, Vec<E>)> {
    if let ([rows, _], [outer, inner]) = (shape, strides)
        && inner.as_int() == Some(1)
        && outer.as_int().is_none()
    {
        return Some((vec![0, 1], vec![rows.clone(), outer.clone()]));
    }
    let numbers: Vec<i64> =
        strides.iter().map(|stride| stride.as_int().filter(|&stride| stride > 0)).collect::<Option<_>>()?;
    let mut axes: Vec<usize> = (0..shape.len()).collect();
    axes.sort_by_key(|&axis| std::cmp::Reverse(numbers[axis]));
    let mut extents = vec![shape[*axes.first()?].clone()];
    for pair in axes.windows(2) {
        let &[outer, inner] = pair else { return None };
        let extent = numbers[outer] / numbers[inner];
        if numbers[outer] % numbers[inner] != 0 || shape[inner].as_int().is_none_or(|own| own > extent) {
            return None;
        }
        extents.push(Expr::int(extent, array.at));
    }
    let last = numbers[*axes.last()?];
    if last != 1 {
        extents.push(Expr::int(last, array.at));
    }
    Some((axes, extents))
}

/// Whether two sizes are equal as polynomials.
pub(crate) fn is_same(a: &E, b: &E) -> bool {
    match (polynomial(a), polynomial(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// The coefficient of each product of names; `None` for what is no small polynomial.
fn polynomial(expr: &E) -> Option<BTreeMap<Vec<String>, i64>> {
    /// Monomials of a size.
    const MAX_TERMS: usize = 100;
    match &expr.kind {
        Kind::Name(name) => Some(BTreeMap::from([(vec![name.clone()], 1)])),
        Kind::Op(Op::Add) => {
            let mut res = BTreeMap::new();
            for operand in &expr.of {
                for (names, factor) in polynomial(operand)? {
                    let sum: &mut i64 = res.entry(names).or_default();
                    *sum = sum.checked_add(factor)?;
                }
            }
            res.retain(|_, factor| *factor != 0);
            Some(res)
        }
        Kind::Op(Op::Mul) => {
            let mut res = BTreeMap::from([(Vec::new(), 1_i64)]);
            for operand in &expr.of {
                let mut product = BTreeMap::new();
                let right = polynomial(operand)?;
                if res.len().saturating_mul(right.len()) > MAX_TERMS {
                    return None;
                }
                for (a, x) in &res {
                    for (b, y) in &right {
                        let mut names = [a.as_slice(), b.as_slice()].concat();
                        names.sort();
                        let sum: &mut i64 = product.entry(names).or_default();
                        *sum = sum.checked_add(x.checked_mul(*y)?)?;
                    }
                }
                res = product;
            }
            Some(res)
        }
        _ => {
            expr.as_int().map(|value| if value == 0 { BTreeMap::new() } else { BTreeMap::from([(Vec::new(), value)]) })
        }
    }
}

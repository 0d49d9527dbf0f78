//! Elements of tables that a run-time number selects, for which an iname stands.

use nestegg_ir::affine;
use nestegg_ir::{ArrayId, Dtype, Expr, ExprId, InameId, InameSet, Kernel};

use super::MAX_ENTRIES;

/// An index of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Index {
    Constant(usize),
    /// An iname that runs over the whole axis.
    Iname(InameId),
}

/// An element of a table: constants, inames each of which runs over the whole axis, and one iname that selects a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) array: ArrayId,
    pub(super) indices: Vec<Index>,
    pub(super) selector: InameId,
}

impl Element {
    /// The element that an expression is; `None` if it is no such element, or of a table with too many numbers.
    pub(super) fn of(kernel: &Kernel, id: ExprId, extents: &[Option<usize>], selecting: &InameSet) -> Option<Self> {
        let Expr::Access { array, indices } = &kernel.exprs[id] else { return None };
        let numbers = kernel[*array].table()?;
        if !kernel[*array].dtype.is_float() || numbers.len() > MAX_ENTRIES {
            return None;
        }
        let shape = kernel.constant_shape(*array)?;
        let mut seen = InameSet::new();
        let index = |(&index, &size): (&ExprId, &usize)| {
            let index = affine::of(&kernel.exprs, index)?;
            if let Some(constant) = index.as_constant() {
                return usize::try_from(constant).ok().filter(|&at| at < size).map(Index::Constant);
            }
            let iname = index.as_iname()?;
            let is_whole = extents[iname.index()] == Some(size) && !seen.contains(iname);
            seen.extend([iname]);
            is_whole.then_some(Index::Iname(iname))
        };
        let indices: Vec<Index> = indices.iter().zip(&shape).map(index).collect::<Option<_>>()?;
        let mut selectors = seen.iter().filter(|&iname| selecting.contains(iname));
        let selector = selectors.next()?;
        selectors.next().is_none().then_some(Self { array: *array, indices, selector })
    }

    /// The inames of its axes in their order, without the one that selects.
    pub(super) fn inames(&self) -> Vec<InameId> {
        let iname = |index: &Index| match *index {
            Index::Iname(iname) if iname != self.selector => Some(iname),
            _ => None,
        };
        self.indices.iter().filter_map(iname).collect()
    }

    pub(super) fn dtype(&self, kernel: &Kernel) -> Dtype {
        kernel[self.array].dtype
    }

    /// Its values over inames, row-major, for each member along those that it has; `None` if there are too many.
    pub(super) fn values(&self, kernel: &Kernel, axes: &[InameId], extents: &[Option<usize>]) -> Option<Vec<f64>> {
        let numbers = kernel[self.array].table()?;
        let shape = kernel.constant_shape(self.array)?;
        let (mut base, mut stride) = (0, 1);
        let mut strides = vec![0; axes.len()];
        for (index, size) in self.indices.iter().zip(&shape).rev() {
            match index {
                Index::Constant(at) => base += at * stride,
                Index::Iname(iname) => strides[axes.iter().position(|axis| axis == iname)?] = stride,
            }
            stride *= size;
        }
        let mut offsets = vec![base];
        for (axis, stride) in axes.iter().zip(strides) {
            let extent = extents[axis.index()]?;
            if offsets.len().checked_mul(extent)? > MAX_ENTRIES {
                return None;
            }
            offsets = offsets.iter().flat_map(|&at| (0..extent).map(move |idx| at + idx * stride)).collect();
        }
        Some(offsets.into_iter().map(|at| numbers[at].to_f64()).collect())
    }
}

//! Which elements of a temporary have a value.
//!
//! A temporary is defined by an assignment under no condition that its readers are not under. While the loops around
//! that are open, the element with the same indices is defined; when a loop over `i` closes, a dimension with index
//! `i` is defined at every value that `i` took.

use nestegg_ir::{ArrayId, Expr, ExprId, InameId};

use crate::builder::{Builder, ScopeKind};

/// What is defined of a temporary.
#[derive(Clone, Debug)]
pub(crate) struct Defined {
    /// One per dimension.
    pub(crate) dims: Vec<Cover>,
    /// How many scopes were open that are needed for it.
    pub(crate) depth: usize,
}

/// Which indices of a dimension are defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// This one.
    Exact(ExprId),
    /// All.
    Whole,
    /// Those in the range of an iname, given the other dimensions.
    Range(InameId),
}

impl Builder<'_> {
    /// The assignment to these indices defines a temporary.
    pub(crate) fn define(&mut self, array: ArrayId, indices: &[ExprId]) {
        let dims = indices.iter().map(|&index| Cover::Exact(index)).collect();
        self.arrays[array.index()].defined = Some(Defined { dims, depth: self.scopes.len() });
        self.live.push(array);
    }

    /// Whether an element that was read before in the same way still has a value.
    pub(crate) fn is_defined(&self, array: ArrayId, indices: &[ExprId]) -> bool {
        let info = &self.arrays[array.index()];
        if info.role != crate::builder::Role::Temporary {
            return true;
        }
        info.defined.as_ref().is_some_and(|defined| {
            defined.dims.iter().zip(indices).all(|(cover, index)| match cover {
                Cover::Exact(exact) => exact == index,
                Cover::Whole => true,
                Cover::Range(_) => false,
            })
        })
    }

    /// What is still defined after the innermost scope, which was just taken off.
    pub(crate) fn leave(&mut self, kind: ScopeKind) {
        let depth = self.scopes.len();
        for array in std::mem::take(&mut self.live) {
            let Some(mut defined) = self.arrays[array.index()].defined.take() else { continue };
            let survives = defined.depth <= depth
                || match kind {
                    ScopeKind::Kernel => true,
                    ScopeKind::Branch(_) => false,
                    ScopeKind::Loop { iname, is_sequential } => {
                        self.leave_loop(array, &mut defined, iname, is_sequential)
                    }
                };
            if survives {
                defined.depth = defined.depth.min(depth);
                self.arrays[array.index()].defined = Some(defined);
                self.live.push(array);
            }
        }
    }

    fn leave_loop(&self, array: ArrayId, defined: &mut Defined, iname: InameId, is_sequential: bool) -> bool {
        let range = self.ranges[iname.index()];
        // A range that no dimension pins down is unknown from now on; one that `iname` bounds ties its dimension.
        let bounds_another = defined.dims.iter().any(|cover| match *cover {
            Cover::Range(inner) => self.ranges[inner.index()].outers().any(|outer| outer == iname),
            Cover::Exact(_) | Cover::Whole => false,
        });
        let mut is_covered = false;
        for (dim, cover) in defined.dims.iter_mut().enumerate() {
            let Cover::Exact(index) = *cover else { continue };
            if self.kernel.exprs[index] == Expr::Iname(iname) {
                if is_covered {
                    // A diagonal.
                    return false;
                }
                let is_whole = range.is_whole() && range.size == self.arrays[array.index()].shape[dim];
                *cover = if is_whole && !bounds_another { Cover::Whole } else { Cover::Range(iname) };
                is_covered = true;
            } else if self.mentions(index, iname) {
                return false;
            }
        }
        is_covered || (is_sequential && range.least_points(&self.parameters) > 0 && !bounds_another)
    }

    fn mentions(&self, expr: ExprId, iname: InameId) -> bool {
        self.kernel.exprs.reachable([expr]).iter().any(|&id| self.kernel.exprs[id] == Expr::Iname(iname))
    }

    /// Whether the values of `iname` are those of `covered`, where `same` says which inames stand for which.
    pub(crate) fn stays_in(&self, iname: InameId, covered: InameId, same: &[(InameId, InameId)]) -> bool {
        if iname == covered {
            return self.ranges[iname.index()]
                .outers()
                .all(|outer| same.iter().all(|&(old, new)| old != outer || new == outer));
        }
        let (own, wanted) = (self.ranges[iname.index()], self.ranges[covered.index()]);
        let renamed = |outer: InameId| same.iter().find(|pair| pair.0 == outer).map_or(outer, |pair| pair.1);
        own == wanted.renamed(renamed)
    }
}

//! Where an iname is to be cut: the values at which a table that it indexes changes its set of non-zero entries, or, if those
//! are too many, at which a table's block of non-zero entries begins or ends.

use std::collections::BTreeSet;

use nestegg_ir::affine::{self, Var};
use nestegg_ir::{ArrayId, Expr, ExprId, InameId};
use rustc_hash::FxHashSet;

use crate::split_at_zeros::boxes::Interval;
use crate::split_at_zeros::rewrite::Rewriter;
use crate::split_at_zeros::tables::Along;

impl Rewriter {
    /// The intervals of `iname` on which every table that `root` reads at it has the same non-zero entries. If they are too
    /// many, those that begin or end where a table's block of non-zero entries does. Nothing if that is all one interval, if they are
    /// too many too, or if the iname may not be cut.
    pub(crate) fn segments(&self, iname: InameId, root: ExprId) -> Option<Vec<Interval>> {
        let (start, end) = self.boxes.cuttable(iname)?;
        let (mut changes, mut blocks) = (BTreeSet::new(), BTreeSet::new());
        let mut seen: FxHashSet<ExprId> = FxHashSet::default();
        let mut pending = vec![root];
        while let Some(id) = pending.pop() {
            if !self.facts.reads_zeros(id) || !self.facts.is_free(id, iname) || !seen.insert(id) {
                continue;
            }
            let expr = &self.kernel.exprs[id];
            if let Expr::Access { array, indices } = expr
                && self.tables.has_zero(*array)
                && let Some(dims) = self.along(iname, *array, indices)
                && let Some(found) = self.tables.changes(*array, &dims, (start, end))
            {
                changes.extend(found.all);
                blocks.extend(found.block.iter().flat_map(|block| [block.0, block.1]));
            }
            pending.extend(expr.children());
        }
        blocks.retain(|&value| start < value && value < end);
        let changes = if changes.len() < self.max_pieces { changes } else { blocks };
        if changes.is_empty() || changes.len() >= self.max_pieces {
            return None;
        }
        let starts = std::iter::once(start).chain(changes.iter().copied());
        let ends = changes.iter().copied().chain(std::iter::once(end));
        Some(starts.zip(ends).collect())
    }

    /// What an access to a table reads along each dimension, as `iname` goes on; nothing if the iname is in an index with
    /// anything but a constant, or in none.
    fn along(&self, iname: InameId, array: ArrayId, indices: &[ExprId]) -> Option<Vec<Along>> {
        let shape = self.tables.shape(array)?;
        let mut has_iname = false;
        let mut res = Vec::with_capacity(indices.len());
        for (&index, &size) in indices.iter().zip(shape) {
            if !self.facts.is_free(index, iname) {
                res.push(Along::Within(self.index_interval(index, size)));
                continue;
            }
            let affine = affine::of(&self.kernel.exprs, index)?;
            if affine.terms.as_slice() != [(Var::Iname(iname), 1)] {
                return None;
            }
            has_iname = true;
            res.push(Along::Shifted(affine.constant));
        }
        has_iname.then_some(res)
    }

    /// An interval around the values of an index into a dimension of that size.
    pub(crate) fn index_interval(&self, index: ExprId, size: i64) -> Interval {
        let affine = affine::of(&self.kernel.exprs, index);
        affine.and_then(|affine| self.boxes.interval(&affine)).unwrap_or((0, size))
    }
}

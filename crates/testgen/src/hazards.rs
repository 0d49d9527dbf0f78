//! Which accesses keep a kernel's meaning when the iterations of a loop run in any order.
//!
//! Inames without the tag `sequential` may be reordered, so a generated kernel must mean the same in every order. Inside
//! such a loop, an array is either only read; or every access has one index that tells the loop's iterations apart, the same
//! for all accesses (to the same block, where the first index is a literal in all of them); or it is only accumulated into, by one operation; or it is a temporary that each iteration
//! defines before it uses it.

use nestegg_ir::affine::{self, Var};
use nestegg_ir::{ArrayId, ExprId, InameId, ReduceOp};

use crate::builder::{Builder, ScopeKind};

/// How an instruction uses an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
    /// `a = a op e`: both, by one operation.
    Accumulate(ReduceOp),
}

/// The accesses to one array inside one loop.
#[derive(Clone, Debug)]
pub(crate) struct Uses {
    is_written: bool,
    /// The operation if all accesses accumulate by it.
    operation: Option<ReduceOp>,
    /// Dimensions and indices, the same in all accesses, that tell the iterations apart.
    aligned: Vec<(usize, ExprId)>,
}

impl Uses {
    fn of(access: Use, aligned: Vec<(usize, ExprId)>) -> Self {
        let operation = match access {
            Use::Accumulate(op) => Some(op),
            Use::Read | Use::Write => None,
        };
        Self { is_written: access != Use::Read, operation, aligned }
    }

    fn join(&self, other: &Self) -> Self {
        Self {
            is_written: self.is_written || other.is_written,
            operation: self.operation.filter(|_| self.operation == other.operation),
            aligned: self.aligned.iter().filter(|pair| other.aligned.contains(pair)).copied().collect(),
        }
    }

    fn is_legal(&self) -> bool {
        !self.is_written || self.operation.is_some() || !self.aligned.is_empty()
    }
}

impl Builder<'_> {
    /// Whether the access may be added here.
    pub(crate) fn admits(&self, array: ArrayId, indices: &[ExprId], access: Use) -> bool {
        (0..self.scopes.len()).all(|idx| self.joined(idx, array, indices, access).is_none_or(|uses| uses.is_legal()))
    }

    /// Adds an access that is admitted.
    pub(crate) fn record(&mut self, array: ArrayId, indices: &[ExprId], access: Use) {
        for idx in 0..self.scopes.len() {
            if let Some(uses) = self.joined(idx, array, indices, access) {
                let block = self.block(array, indices);
                self.scopes[idx].uses.insert((array, block), uses);
            }
        }
    }

    /// The accesses to the array in a scope with this one; absent where any order of accesses will do.
    fn joined(&self, scope_idx: usize, array: ArrayId, indices: &[ExprId], access: Use) -> Option<Uses> {
        let scope = &self.scopes[scope_idx];
        let ScopeKind::Loop { iname, is_sequential: false } = scope.kind else { return None };
        let info = &self.arrays[array.index()];
        if info.defined.as_ref().is_some_and(|defined| defined.depth > scope_idx) {
            return None;
        }
        let aligned = (0..indices.len())
            .filter(|&dim| self.tells_apart(indices[dim], iname, scope_idx))
            .map(|dim| (dim, indices[dim]))
            .collect();
        let uses = Uses::of(access, aligned);
        Some(match scope.uses.get(&(array, self.block(array, indices))) {
            Some(old) => old.join(&uses),
            None => uses,
        })
    }

    /// The literal that tells the elements of a block from others.
    fn block(&self, array: ArrayId, indices: &[ExprId]) -> Option<ExprId> {
        indices.first().copied().filter(|_| self.arrays[array.index()].is_blocked)
    }

    /// Whether an index has different values in different iterations of a loop, and depends on nothing inside it.
    fn tells_apart(&self, index: ExprId, iname: InameId, scope_idx: usize) -> bool {
        let Some(affine) = affine::of(&self.kernel.exprs, index) else { return false };
        let is_outer = |other: InameId| {
            self.scopes[..scope_idx]
                .iter()
                .any(|scope| matches!(scope.kind, ScopeKind::Loop { iname, .. } if iname == other))
        };
        affine.coefficient(Var::Iname(iname)) != 0 && affine.inames().all(|other| other == iname || is_outer(other))
    }
}

//! Values that could be squared again and again.
//!
//! In a loop whose iterations keep their order, `u = u*u + e` grows beyond all floats after a few iterations, and what is infinite has
//! no place in the real numbers that most licences are about. Where a product of two values that the kernel writes is written in such
//! a loop, or a product over loops is multiplied with in others, its hyperbolic tangent is written instead, unless [`Knobs::exceptional`](crate::Knobs::exceptional) says otherwise.

use nestegg_ir::{Expr, ExprId, Op, ReduceOp};
use rustc_hash::FxHashMap;

use crate::builder::{Builder, Role, ScopeKind};

/// How a value grows with what the kernel writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Growth {
    /// Not at all.
    None,
    /// At most in proportion.
    Linear,
    /// As a product.
    Squared,
}

impl Builder<'_> {
    /// The value, or one that stays small if it grows more than `most` and iterations are in order here.
    pub(crate) fn tamed(&mut self, value: ExprId, most: Growth) -> ExprId {
        let is_sequential =
            self.scopes.iter().any(|scope| matches!(scope.kind, ScopeKind::Loop { is_sequential: true, .. }));
        if is_sequential && self.growth(value) > most && !self.is_exceptional() {
            self.call("tanh", vec![value])
        } else {
            value
        }
    }

    /// The value, or one that stays small if products over loops are in it: multiplied together in another order than the kernel's they
    /// may be beyond all floats where the kernel multiplies zero by them.
    pub(crate) fn tamed_product(&mut self, value: ExprId) -> ExprId {
        let exprs = &self.kernel.exprs;
        let is_product = |&id: &ExprId| matches!(exprs[id], Expr::Reduce { op: ReduceOp::Product, .. });
        let has_product = exprs.reachable([value]).iter().any(is_product);
        if has_product && !self.is_exceptional() { self.call("tanh", vec![value]) } else { value }
    }

    fn growth(&self, root: ExprId) -> Growth {
        let mut known: FxHashMap<ExprId, Growth> = FxHashMap::default();
        for id in self.kernel.exprs.reachable([root]) {
            let expr = &self.kernel.exprs[id];
            let most = expr.children().iter().map(|child| known[child]).max().unwrap_or(Growth::None);
            let own = match expr {
                Expr::Access { array, .. } => match self.arrays[array.index()].role {
                    Role::InOut | Role::Output | Role::Temporary => Growth::Linear,
                    Role::Input | Role::Index(_) | Role::Table => Growth::None,
                },
                Expr::Op { op: Op::Mul, operands } => {
                    let n_growing = operands.iter().filter(|operand| known[operand] > Growth::None).count();
                    if n_growing > 1 { Growth::Squared } else { most }
                }
                Expr::Op { op: Op::Pow, .. } | Expr::Reduce { op: ReduceOp::Product, .. } if most > Growth::None => {
                    Growth::Squared
                }
                // What a rule does with its arguments and what it reads is not looked at.
                Expr::Substitution { .. } => Growth::Squared,
                _ => most,
            };
            known.insert(id, own);
        }
        known[&root]
    }
}

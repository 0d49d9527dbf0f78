//! Sums that were written out are rolled up again.
//!
//! # Input
//! A kernel in value form.
//! # Output
//! `f[0]*T[0, i] + f[1]*T[1, i] + f[2]*T[2, i]` is `sum(q, f[q]*T[q, i])`.
//! # Method
//! Terms of one skeleton are the members of a [family](super::family) along one axis, in the order in which they are added.
//! # Legality
//! Addition may be reordered. Terms that read arrays the kernel writes stay as they are.
//! # Complexity
//! Linear in the expressions.
//! # Not done
//! Sums inside calls and powers, inside sums that were rolled up, and inside reductions unless they are the whole body: they mostly run over components, and
//! other forms handle those written out.

use indexmap::IndexMap;
use nestegg_ir::types::Types;
use nestegg_ir::walk::{OperandsFirst, arrays_below, terms};
use nestegg_ir::{Expr, ExprId, InstructionKind, Kernel, LinearizedKernel, Op, ReduceOp};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::digits::Grid;
use super::family::{Tuple, Unifier};
use super::skeleton::Skeletons;
use super::write::{Writer, holes};
use super::{add_inames, inames_of};
use crate::dead::eliminate_dead;
use crate::table_pool::TablePool;

/// Sums of fewer terms stay as they are.
const MIN_TERMS: usize = 3;

/// Sums of more terms stay as they are.
const MAX_TERMS: usize = 4096;

/// A kernel in value form with sums that were written out rolled up; `None` if there are none.
#[must_use]
pub fn roll_up_sums(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    if linearized.kernel.has_single() || !linearized.kernel.substitutions.is_empty() {
        return None;
    }
    let before = &linearized.kernel;
    let (types, skeletons) = (Types::infer(before), Skeletons::new(before));
    let mut roller = Roller {
        before,
        types: &types,
        skeletons: &skeletons,
        written: before.written(),
        kernel: before.clone(),
        tables: TablePool::new(before),
        tried: FxHashSet::default(),
        done: FxHashMap::default(),
    };
    let mut is_rolled = false;
    for at in 0..before.instructions.len() {
        let InstructionKind::Assignment { expression, .. } = before.instructions[at].kind else { continue };
        let rolled = roller.rolled(expression);
        is_rolled |= rolled != expression;
        if let InstructionKind::Assignment { expression, .. } = &mut roller.kernel.instructions[at].kind {
            *expression = rolled;
        }
    }
    if !is_rolled {
        return None;
    }
    let Roller { mut kernel, tables, .. } = roller;
    tables.finish(&mut kernel);
    Some(eliminate_dead(LinearizedKernel { kernel, linearization: linearized.linearization.clone() }))
}

/// Terms of a sum, by whether they are taken away and by their skeletons.
type BySkeleton = IndexMap<(bool, u64), Vec<ExprId>, FxBuildHasher>;

struct Roller<'a> {
    before: &'a Kernel,
    types: &'a Types,
    skeletons: &'a Skeletons,
    written: Vec<bool>,
    kernel: Kernel,
    tables: TablePool,
    /// Expressions that were looked at as sums.
    tried: FxHashSet<ExprId>,
    /// What became of expressions.
    done: FxHashMap<ExprId, ExprId>,
}

impl Roller<'_> {
    /// An expression with its outermost sums rolled up, those that are the body of a reduction included.
    fn rolled(&mut self, root: ExprId) -> ExprId {
        let before = self.before;
        let mut walk = OperandsFirst::new(root);
        while let Some(id) = walk.next_unknown(|id| self.done.contains_key(id)) {
            if self.tried.insert(id)
                && let Some(sum) = self.sum(id)
            {
                self.done.insert(id, sum);
                continue;
            }
            let mut expr = before.exprs[id].clone();
            if let Expr::Reduce { op: ReduceOp::Sum, body, .. } = &mut expr
                && let Some(sum) = self.whole_sum(*body)
            {
                *body = sum;
                let new = self.kernel.exprs.intern(expr);
                self.done.insert(id, new);
                continue;
            }
            if !matches!(expr, Expr::Op { op: Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::Div, .. }) {
                self.done.insert(id, id);
                continue;
            }
            if walk.waits_for(expr.children().iter().copied(), |child| self.done.contains_key(child)) {
                continue;
            }
            expr.children_mut().iter_mut().for_each(|child| *child = self.done[child]);
            let new = self.kernel.exprs.intern(expr);
            self.done.insert(id, new);
        }
        self.done[&root]
    }

    /// A sum with terms of one skeleton in sums over inames; `None` if it has none.
    fn sum(&mut self, id: ExprId) -> Option<ExprId> {
        let (mut all, mut is_rolled) = (Vec::new(), false);
        for ((is_negative, _), terms) in self.by_skeleton(id)? {
            let reduction = if terms.len() >= MIN_TERMS { self.reduction(&terms) } else { None };
            is_rolled |= reduction.is_some();
            for term in reduction.map_or(terms, |reduction| vec![reduction]) {
                all.push(if is_negative { self.kernel.exprs.op(Op::Neg, [term]) } else { term });
            }
        }
        is_rolled.then(|| if all.len() == 1 { all[0] } else { self.kernel.exprs.op(Op::Add, all) })
    }

    /// A sum that is one sum over inames; `None` if it is not.
    fn whole_sum(&mut self, id: ExprId) -> Option<ExprId> {
        let mut by_skeleton = self.by_skeleton(id)?;
        let ((is_negative, _), terms) = by_skeleton.pop()?;
        (by_skeleton.is_empty() && !is_negative && terms.len() >= MIN_TERMS).then(|| self.reduction(&terms))?
    }

    /// The terms of a sum; `None` if it is no sum of floats.
    fn by_skeleton(&self, id: ExprId) -> Option<BySkeleton> {
        if !self.types.of(id).is_float() || !matches!(self.before.exprs[id], Expr::Op { op: Op::Add | Op::Sub, .. }) {
            return None;
        }
        let mut res = BySkeleton::default();
        for (term, sign) in terms(&self.before.exprs, id, MAX_TERMS)? {
            res.entry((sign < 0.0, self.skeletons.of(term))).or_default().push(term);
        }
        Some(res)
    }

    /// The sum of terms that differ in numbers alone.
    fn reduction(&mut self, terms: &[ExprId]) -> Option<ExprId> {
        if arrays_below(&self.before.exprs, terms.iter().copied()).iter().any(|array| self.written[array.index()]) {
            return None;
        }
        let values: Tuple = terms.iter().copied().map(Some).collect();
        let Self { before, types, skeletons, .. } = *self;
        let (family, roots) = Unifier { kernel: before, types, skeletons, tables: &self.tables }.family(&[values])?;
        let grid = Grid { extents: vec![terms.len()] };
        let digits = grid.digits(&holes(&family, &self.tables));
        let inames = inames_of(&self.kernel, &digits);
        let (kernel, tables) = (&mut self.kernel, &mut self.tables);
        let body = Writer { kernel, tables, grid: &grid, digits: &digits, inames: &inames }.write(&family)?[roots[0]];
        add_inames(&mut self.kernel, &mut self.tables, &digits);
        Some(self.kernel.exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames: inames.into(), body }))
    }
}

//! The accesses of a kernel, and at which instances each is evaluated for certain.
//!
//! # Method
//! A *context* is a set of inames and affine conditions on them: the access is evaluated at every point of the inames' domain at which the conditions hold.
//! Contexts go down the expressions, operations before operands, so that shared expressions are visited once. Selections add their condition to the
//! context of a branch, `and` and `or` that of the operands before, reductions their inames. What stands under any other condition has no context.
//! # Complexity
//! Linear: an expression keeps at most [`MAX_CONTEXTS`] contexts. Fewer contexts make fewer findings, never wrong ones.

use std::collections::BTreeMap;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::Accessed;
use crate::domains::Domains;
use crate::expr::{Expr, Op};
use crate::ids::{ExprId, InameId, InameSet};
use crate::kernel::Kernel;
use crate::linearization::Item;
use crate::verify::Place;

/// In how many contexts an expression is looked at.
const MAX_CONTEXTS: usize = 8;

/// Position of a context in [`Sites`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ContextId(usize);

/// A set of instances.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Context {
    pub(super) inames: InameSet,
    /// Affine conditions and whether they hold; sorted.
    pub(super) conditions: Vec<(ExprId, bool)>,
}

impl Context {
    /// Whether every instance of the other is one of these, as far as the inames of this one say.
    fn contains(&self, other: &Self) -> bool {
        self.inames.is_subset(&other.inames) && self.conditions.iter().all(|own| other.conditions.contains(own))
    }
}

/// An open loop: the position at which it begins tells loops over one iname apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    pub(super) start: usize,
    pub(super) iname: InameId,
}

/// An instruction or a condition of the linearization.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) place: Place,
    /// Position in the linearization.
    pub(super) position: usize,
    /// The loops around it, outermost first.
    pub(super) loops: Vec<Loop>,
    /// Its accesses, each in the contexts in which it is evaluated for certain, the largest first.
    pub(super) accesses: Vec<(Accessed, Vec<ContextId>)>,
}

/// The contexts of a kernel.
#[derive(Debug)]
pub(super) struct Sites<'k> {
    kernel: &'k Kernel,
    contexts: IndexSet<Context, FxBuildHasher>,
    is_affine: FxHashMap<ExprId, bool>,
}

impl<'k> Sites<'k> {
    pub(super) fn new(kernel: &'k Kernel) -> Self {
        Self { kernel, contexts: IndexSet::default(), is_affine: FxHashMap::default() }
    }

    pub(super) fn context(&self, id: ContextId) -> &Context {
        &self.contexts[id.0]
    }

    pub(super) fn intern(&mut self, mut context: Context) -> ContextId {
        context.conditions.sort_unstable();
        context.conditions.dedup();
        ContextId(self.contexts.insert_full(context).0)
    }

    pub(super) fn is_affine(&mut self, condition: ExprId) -> bool {
        let kernel = self.kernel;
        *self.is_affine.entry(condition).or_insert_with(|| Domains::is_affine(kernel, condition))
    }

    /// All sites, in order.
    pub(super) fn of(&mut self, linearization: &[Item]) -> Vec<Site> {
        let kernel = self.kernel;
        let mut res = Vec::new();
        let mut loops: Vec<Loop> = Vec::new();
        let mut conditions: Vec<ExprId> = Vec::new();
        for (position, item) in linearization.iter().enumerate() {
            match *item {
                Item::For(iname) => loops.push(Loop { start: position, iname }),
                Item::End(_) => {
                    loops.pop();
                }
                Item::If(condition) => {
                    let around = self.around(&loops, &conditions);
                    let accesses = around.map(|around| self.below(&[(condition, around)])).unwrap_or_default();
                    res.push(Site { place: Place::Item(position), position, loops: loops.clone(), accesses });
                    conditions.push(condition);
                }
                Item::EndIf => {
                    conditions.pop();
                }
                Item::Run(insn) => {
                    let mut around = self.around(&loops, &conditions);
                    let mut roots = Vec::new();
                    for &predicate in &kernel[insn].predicates {
                        let Some(here) = around else { break };
                        roots.push((predicate, here));
                        around = self.under(here, predicate, true);
                    }
                    let mut writes = Vec::new();
                    if let Some(here) = around {
                        let n_values = kernel[insn].expressions().count() - kernel[insn].predicates.len();
                        roots.extend(kernel[insn].expressions().take(n_values).map(|value| (value, here)));
                        writes
                            .extend((0..kernel[insn].assignees().len()).map(|idx| (Accessed::Write(idx), vec![here])));
                    }
                    let mut accesses = self.below(&roots);
                    accesses.extend(writes);
                    res.push(Site { place: Place::Instruction(insn), position, loops: loops.clone(), accesses });
                }
            }
        }
        res
    }

    /// What is inside these loops and conditions; `None` if one of these is not affine.
    fn around(&mut self, loops: &[Loop], conditions: &[ExprId]) -> Option<ContextId> {
        if !conditions.iter().all(|&condition| self.is_affine(condition)) {
            return None;
        }
        let inames = loops.iter().map(|open| open.iname).collect();
        Some(self.intern(Context { inames, conditions: conditions.iter().map(|&id| (id, true)).collect() }))
    }

    /// The part of a context where a condition holds, or where it does not; `None` if it is not affine.
    fn under(&mut self, context: ContextId, condition: ExprId, holds: bool) -> Option<ContextId> {
        if !self.is_affine(condition) {
            return None;
        }
        let mut res = self.context(context).clone();
        res.conditions.push((condition, holds));
        Some(self.intern(res))
    }

    /// The accesses below some roots, in increasing order of id.
    fn below(&mut self, roots: &[(ExprId, ContextId)]) -> Vec<(Accessed, Vec<ContextId>)> {
        let kernel = self.kernel;
        let mut pending: BTreeMap<ExprId, Vec<ContextId>> = BTreeMap::new();
        for &(root, context) in roots {
            pending.entry(root).or_default().push(context);
        }
        let mut res = Vec::new();
        // Operands have smaller ids than what they are operands of: an expression comes when it has all its contexts.
        while let Some((id, contexts)) = pending.pop_last() {
            let expr = &kernel.exprs[id];
            let contexts = self.largest(contexts);
            for &context in &contexts {
                let mut inside = Some(context);
                if let Expr::Reduce { inames, .. } = expr {
                    let mut around = self.context(context).clone();
                    around.inames.extend(inames.iter().copied());
                    inside = Some(self.intern(around));
                }
                for (idx, &child) in expr.children().iter().enumerate() {
                    let of_child = match expr {
                        Expr::Op { op: Op::If, operands } if idx > 0 => self.under(context, operands[0], idx == 1),
                        _ => inside,
                    };
                    if let Some(of_child) = of_child {
                        pending.entry(child).or_default().push(of_child);
                    }
                    if let Expr::Op { op: op @ (Op::And | Op::Or), .. } = expr {
                        inside = inside.and_then(|inside| self.under(inside, child, *op == Op::And));
                    }
                }
            }
            if matches!(expr, Expr::Access { .. }) {
                res.push((Accessed::Read(id), contexts));
            }
        }
        res.reverse();
        res
    }

    /// The contexts that no other contains, the first [`MAX_CONTEXTS`] of them.
    fn largest(&self, mut contexts: Vec<ContextId>) -> Vec<ContextId> {
        contexts.sort_unstable_by_key(|&id| {
            let context = self.context(id);
            (context.conditions.len(), context.inames.len(), id)
        });
        let mut res: Vec<ContextId> = Vec::new();
        for id in contexts {
            if res.len() < MAX_CONTEXTS && !res.iter().any(|&known| self.context(known).contains(self.context(id))) {
                res.push(id);
            }
        }
        res
    }
}

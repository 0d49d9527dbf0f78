//! Sums of reductions become one reduction of a sum.
//!
//! # Output
//! `sum(q, a[q, j]) - sum(q, b[q, j])` becomes `sum(q, a[q, j] - b[q, j])`: an integrand is one value, however its
//! terms were summed.
//! # Why
//! Contractions are found for the body of one reduction. Code motion separates terms again that need one loop less.
//! # Legality
//! Sums of real numbers have no order. The reductions bind the same inames, depend on the same ones, are of one type,
//! and are read nowhere else, so no shared value is computed twice.
//! # Complexity
//! Linear in the DAG.

use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::types::Type;
use nestegg_ir::walk::read_once;
use nestegg_ir::{Expr, ExprId, Exprs, InameId, Licence, LinearizedKernel, Op, ReduceOp};
use nestegg_isl as isl;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bound::name_bound_inames;
use crate::facts::Facts;
use crate::ranges::Ranges;

/// Joins the reductions that are added up, which bind inames by their ranges and heights.
///
/// # Errors
/// If a domain cannot be used.
pub fn join_reductions(linearized: LinearizedKernel, licence: Licence) -> Result<LinearizedKernel, DomainError> {
    if licence == Licence::Strict || !adds_reductions(&linearized.kernel.exprs) {
        return Ok(linearized);
    }
    let LinearizedKernel { mut kernel, linearization } = name_bound_inames(linearized)?;
    let domains = Domains::new(&isl::Context::new(), &kernel)?;
    let facts = Facts::new(&kernel, &Ranges::new(&kernel, &domains)?);
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    let mut joiner = Joiner::new(&kernel.exprs, &roots, &facts);
    let joined = kernel.exprs.rewrite(roots, |exprs, old, expr| joiner.visit(exprs, old, expr));
    kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| joined.get(id)));
    Ok(LinearizedKernel { kernel, linearization })
}

fn adds_reductions(exprs: &Exprs) -> bool {
    let is_reduction = |id: &ExprId| matches!(&exprs[*id], Expr::Reduce { op: ReduceOp::Sum, .. });
    exprs
        .iter()
        .filter(|(_, expr)| is_sum(expr))
        .flat_map(|(_, expr)| expr.children())
        .filter(|id| is_reduction(id))
        .count()
        > 1
}

fn is_sum(expr: &Expr) -> bool {
    matches!(expr, Expr::Op { op: Op::Add | Op::Sub | Op::Neg, .. })
}

/// What a sum reduction binds, what it depends on, and its type. Those that agree in all may be joined.
#[derive(Clone, PartialEq)]
struct Reduced {
    bound: Vec<InameId>,
    free: Vec<InameId>,
    ty: Type,
}

struct Joiner {
    /// Expressions of the input that one other reads, or one instruction.
    is_read_once: FxHashSet<ExprId>,
    /// Of each sum reduction of the input.
    reduced: FxHashMap<ExprId, Reduced>,
    /// Of each new expression: the sum reductions that may be joined to others.
    open: FxHashMap<ExprId, Reduced>,
    /// New sums that may be joined to the sums that read them.
    sums: FxHashSet<ExprId>,
    /// What came of several expressions is read by all that read these.
    made: FxHashSet<ExprId>,
}

impl Joiner {
    fn new(exprs: &Exprs, roots: &[ExprId], facts: &Facts) -> Self {
        let reachable = exprs.reachable(roots.iter().copied());
        let reduced = reachable.iter().filter_map(|&id| match &exprs[id] {
            Expr::Reduce { op: ReduceOp::Sum, inames, .. } => {
                let mut bound = inames.to_vec();
                bound.sort_unstable();
                Some((id, Reduced { bound, free: facts.free(id).to_vec(), ty: facts.ty(id) }))
            }
            _ => None,
        });
        Self {
            reduced: reduced.collect(),
            is_read_once: read_once(exprs, roots),
            open: FxHashMap::default(),
            sums: FxHashSet::default(),
            made: FxHashSet::default(),
        }
    }

    fn visit(&mut self, exprs: &mut Exprs, old: ExprId, expr: Expr) -> ExprId {
        let is_sum = is_sum(&expr);
        let new = if is_sum { self.joined(exprs, &expr) } else { None };
        let new = new.unwrap_or_else(|| exprs.intern(expr));
        if !self.made.insert(new) || !self.is_read_once.contains(&old) {
            self.open.remove(&new);
            self.sums.remove(&new);
            return new;
        }
        if let Some(reduced) = self.reduced.remove(&old) {
            self.open.insert(new, reduced);
        }
        // What was a sum may be one reduction now.
        if is_sum && self::is_sum(&exprs[new]) {
            self.sums.insert(new);
        }
        new
    }

    /// A sum with its reductions joined; `None` if there are no two.
    fn joined(&mut self, exprs: &mut Exprs, sum: &Expr) -> Option<ExprId> {
        let mut terms = Vec::new();
        self.terms(exprs, sum, false, &mut terms);
        let mut groups: Vec<(&Reduced, Vec<(ExprId, bool)>)> = Vec::new();
        let mut rest = Vec::new();
        for (term, is_negative) in terms {
            let (Some(reduced), Expr::Reduce { body, .. }) = (self.open.get(&term), &exprs[term]) else {
                rest.push((term, is_negative));
                continue;
            };
            match groups.iter_mut().find(|group| group.0 == reduced) {
                Some((_, bodies)) => bodies.push((*body, is_negative)),
                None => groups.push((reduced, vec![(*body, is_negative)])),
            }
        }
        if groups.iter().all(|(_, bodies)| bodies.len() < 2) {
            return None;
        }
        let groups: Vec<(Reduced, Vec<(ExprId, bool)>)> =
            groups.into_iter().map(|(reduced, bodies)| (reduced.clone(), bodies)).collect();
        for (reduced, bodies) in groups {
            let body = sum_of(exprs, bodies);
            let inames = reduced.bound.clone().into();
            let reduction = exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames, body });
            self.open.insert(reduction, reduced);
            rest.push((reduction, false));
        }
        Some(sum_of(exprs, rest))
    }

    /// The terms of a sum, those of the sums in it that nothing else reads included; with each, whether it is subtracted.
    fn terms(&self, exprs: &Exprs, sum: &Expr, is_negative: bool, terms: &mut Vec<(ExprId, bool)>) {
        let Expr::Op { op, operands } = sum else { return };
        for (position, &operand) in operands.iter().enumerate() {
            let is_negative = is_negative ^ (*op == Op::Neg || (*op == Op::Sub && position > 0));
            if self.sums.contains(&operand) {
                self.terms(exprs, &exprs[operand].clone(), is_negative, terms);
            } else {
                terms.push((operand, is_negative));
            }
        }
    }
}

fn sum_of(exprs: &mut Exprs, terms: Vec<(ExprId, bool)>) -> ExprId {
    let terms: Vec<ExprId> = terms
        .into_iter()
        .map(|(term, is_negative)| if is_negative { exprs.op(Op::Neg, [term]) } else { term })
        .collect();
    if let [single] = terms[..] { single } else { exprs.op(Op::Add, terms) }
}

//! Chains from one iteration to the next through memory: `A[j] = A[j - 1]*b[j] + c[j]`.
//!
//! # Input
//! A store in a loop.
//! # Output
//! The longest chain of operations that each iteration waits for, from the store of an earlier iteration to its own.
//! # Method
//! The depth of the stored value over the reads of such elements. A sum adds its terms in their order; a product that is added takes no time of its own. Scalars that
//! the loop computes stand for their values. From the store to the read it takes about as long as an operation.
//! # Complexity
//! Linear in the expressions below the value.

use nestegg_ir::meetings::stored_before;
use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{Assignee, Expr, ExprId, InameId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::nest::Builder;

/// A quotient takes as long as so many other operations.
const QUOTIENT: f64 = 3.0;

/// A store in the innermost loop around it.
pub(crate) struct Recurrence<'b, 'a> {
    pub(crate) builder: &'b Builder<'a>,
    pub(crate) store: &'b Assignee,
    /// The loop, by its place among the loops.
    pub(crate) at: usize,
    pub(crate) iname: InameId,
}

/// Operations from what was stored some iterations ago.
#[derive(Clone, Copy)]
struct Chain {
    length: f64,
    distance: i64,
}

impl Chain {
    fn of_iteration(self) -> f64 {
        self.length / self.distance as f64
    }
}

impl Recurrence<'_, '_> {
    /// How many operations, one after the other, each iteration waits for until it can store this value; `None` if it waits for no earlier iteration.
    pub(crate) fn chain(&self, value: ExprId) -> Option<f64> {
        let exprs = &self.builder.kernel.exprs;
        let mut known: FxHashMap<ExprId, Option<Chain>> = FxHashMap::default();
        let mut seen: FxHashSet<ExprId> = FxHashSet::default();
        let mut walk = OperandsFirst::new(value);
        while let Some(id) = walk.next_unknown(|id| known.contains_key(id)) {
            let operands: Vec<ExprId> = match &exprs[id] {
                Expr::Access { array, indices } if indices.is_empty() => {
                    let definition = self.builder.definitions.get(array).filter(|(at, _)| *at == self.at);
                    definition.map(|(_, value)| *value).into_iter().collect()
                }
                Expr::Access { .. } => Vec::new(),
                expr => expr.children().to_vec(),
            };
            // A scalar that is made of itself has no chain but its own.
            if seen.insert(id) && walk.waits_for(operands.iter().copied(), |id| known.contains_key(id)) {
                continue;
            }
            let chain = match stored_before(exprs, self.store, id, self.iname) {
                Some(distance) => Some(Chain { length: 1.0, distance }),
                None => self.longest(id, &operands, &known),
            };
            known.insert(id, chain);
        }
        known[&value].map(Chain::of_iteration)
    }

    /// The longest chain through the operands of an expression.
    fn longest(&self, id: ExprId, operands: &[ExprId], known: &FxHashMap<ExprId, Option<Chain>>) -> Option<Chain> {
        let (exprs, n) = (&self.builder.kernel.exprs, operands.len());
        let (is_sum, is_product) = match &exprs[id] {
            Expr::Op { op: Op::Add | Op::Sub, .. } => (true, false),
            Expr::Op { op: Op::Mul, .. } => (false, true),
            _ => (false, false),
        };
        let steps = |at: usize| match &exprs[id] {
            _ if is_sum || is_product => (n - at.max(1)) as f64,
            Expr::Op { op: Op::Div, .. } if at == 0 && self.is_by_number(operands[1]) => 1.0,
            Expr::Op { op: Op::Div, .. } => QUOTIENT,
            Expr::Op { .. } | Expr::Call { .. } => 1.0,
            _ => 0.0,
        };
        let is_fused =
            |operand: ExprId| is_sum && self.builder.fuses && matches!(&exprs[operand], Expr::Op { op: Op::Mul, .. });
        let chains = operands.iter().enumerate().filter_map(|(at, &operand)| {
            let chain = known.get(&operand).copied().flatten()?;
            let own = if is_fused(operand) { steps(at) - 1.0 } else { steps(at) };
            Some(Chain { length: chain.length + own, ..chain })
        });
        chains.max_by(|a, b| a.of_iteration().total_cmp(&b.of_iteration()))
    }

    /// Whether C has a product for a quotient by this.
    fn is_by_number(&self, divisor: ExprId) -> bool {
        matches!(self.builder.kernel.exprs[divisor], Expr::Number(_))
    }
}

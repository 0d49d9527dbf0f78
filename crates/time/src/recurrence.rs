//! Chains from one iteration to the next through memory: `A[j] = A[j - 1]*b[j] + c[j]`.
//!
//! # Input
//! A store in a loop.
//! # Output
//! How many operations, one after the other, lie between an element that an earlier iteration has stored and the store, for each iteration.
//! # Method
//! The depth of the stored value over the reads of such elements. A sum adds its terms in their order; a product that is added takes no time of its own. Scalars stand for their values. From the store to the read it takes about as long as an operation.
//! # Complexity
//! Linear in the expressions below the value.

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{ArrayId, Assignee, Expr, ExprId, InameId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::nest::{Builder, Path};

/// What was stored more iterations ago has arrived.
const MAX_DISTANCE: i64 = 4;

/// Operations that a quotient takes the time of.
const QUOTIENT: f64 = 3.0;

/// A store that moves along in the innermost loop around it.
pub(crate) struct Recurrence<'b, 'a> {
    builder: &'b Builder<'a>,
    array: ArrayId,
    place: Affine,
    iname: InameId,
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

impl<'b, 'a> Recurrence<'b, 'a> {
    /// Of a store; `None` if it stays where it is, or nobody knows where it goes.
    pub(crate) fn of(builder: &'b Builder<'a>, assignee: &Assignee, path: &Path) -> Option<Self> {
        let iname = path.last()?.1?;
        let place = builder.position(assignee.array, &assignee.indices)?;
        (place.coefficient(Var::Iname(iname)) != 0).then_some(Self { builder, array: assignee.array, place, iname })
    }

    /// Operations on the chain for each iteration, from one store to the next; `None` if no earlier iteration has stored what is read.
    pub(crate) fn length(&self, value: ExprId) -> Option<f64> {
        let exprs = &self.builder.kernel.exprs;
        let mut known: FxHashMap<ExprId, Option<Chain>> = FxHashMap::default();
        let mut seen: FxHashSet<ExprId> = FxHashSet::default();
        let mut walk = OperandsFirst::new(value);
        while let Some(id) = walk.next_unknown(|id| known.contains_key(id)) {
            let operands: Vec<ExprId> = match &exprs[id] {
                Expr::Access { array, indices } if indices.is_empty() => {
                    self.builder.definitions.get(array).map(|definition| definition.1).into_iter().collect()
                }
                Expr::Access { .. } => Vec::new(),
                expr => expr.children().to_vec(),
            };
            // A scalar that is made of itself has no chain but its own.
            if seen.insert(id) && walk.waits_for(operands.iter().copied(), |id| known.contains_key(id)) {
                continue;
            }
            let chain = match self.stored_before(id) {
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

    /// Whether a quotient by this is a product.
    fn is_by_number(&self, divisor: ExprId) -> bool {
        self.builder.reassociates && matches!(self.builder.kernel.exprs[divisor], Expr::Number(_))
    }

    /// How many iterations ago the element that an expression reads was stored.
    fn stored_before(&self, id: ExprId) -> Option<i64> {
        let Expr::Access { array, indices } = &self.builder.kernel.exprs[id] else { return None };
        if *array != self.array {
            return None;
        }
        let difference = self.place.plus(&self.builder.position(*array, indices)?, -1)?.as_constant()?;
        let step = self.place.coefficient(Var::Iname(self.iname));
        let distance = difference.checked_div(step)?;
        (distance.checked_mul(step)? == difference && (1..=MAX_DISTANCE).contains(&distance)).then_some(distance)
    }
}

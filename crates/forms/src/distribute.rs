//! The body of a reduction as a sum of products, as far as that frees factors.
//!
//! # Output
//! Products of factors, each an expression or a divisor; their sum is the body.
//! # Method
//! Products and quotients are taken apart. A sum is distributed if that can take something out of the reduction: if it depends
//! on other inames than those of the reduction, or if its terms have factors that the reduction does not move, other than a mere
//! element of an argument in each (then it is the value of a function at a point, and is best kept together).

use nestegg_ir::{Expr, ExprId, InameSet, Kernel, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// A factor of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    /// The factor.
    pub(crate) expr: ExprId,
    /// It divides.
    pub(crate) is_divisor: bool,
}

/// A product of factors with a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    /// The product is subtracted.
    pub(crate) is_negative: bool,
    /// What is multiplied and divided by.
    pub(crate) factors: Vec<Factor>,
}

/// How many products a body may become.
const MAX_PRODUCTS: usize = 4_096;

/// The products of a body, or nothing if there are too many. `free` gives the free table inames of an expression.
pub(crate) fn distribute(
    kernel: &Kernel,
    body: ExprId,
    inames: &InameSet,
    free: &dyn Fn(ExprId) -> InameSet,
) -> Option<Vec<Product>> {
    let mut spine: FxHashSet<ExprId> = FxHashSet::default();
    let mut pending = vec![body];
    while let Some(id) = pending.pop() {
        if free(id).is_disjoint(inames) || !spine.insert(id) {
            continue;
        }
        match &kernel.exprs[id] {
            Expr::Op { op: Op::Mul | Op::Add | Op::Sub | Op::Neg, operands } => pending.extend(operands),
            Expr::Op { op: Op::Div, operands } => pending.push(operands[0]),
            _ => {}
        }
    }
    let mut order: Vec<ExprId> = spine.into_iter().collect();
    order.sort_unstable();
    let mut known: FxHashMap<ExprId, Vec<Product>> = FxHashMap::default();
    for id in order {
        let of = |id: ExprId| known.get(&id).cloned().unwrap_or_else(|| vec![Product::of(id)]);
        let products = match &kernel.exprs[id] {
            Expr::Op { op: Op::Mul, operands } => {
                let mut res = vec![Product { is_negative: false, factors: Vec::new() }];
                for &operand in operands {
                    let right = of(operand);
                    if res.len() * right.len() > MAX_PRODUCTS {
                        return None;
                    }
                    res = res.iter().flat_map(|left| right.iter().map(|right| left.times(right))).collect();
                }
                res
            }
            Expr::Op { op: Op::Div, operands } => {
                let divisor =
                    Product { is_negative: false, factors: vec![Factor { expr: operands[1], is_divisor: true }] };
                of(operands[0]).iter().map(|product| product.times(&divisor)).collect()
            }
            Expr::Op { op: op @ (Op::Add | Op::Sub | Op::Neg), operands } => {
                let mut terms = Vec::new();
                for (idx, &operand) in operands.iter().enumerate() {
                    let is_negative = *op == Op::Neg || *op == Op::Sub && idx == 1;
                    terms.extend(of(operand).into_iter().map(|mut product| {
                        product.is_negative ^= is_negative;
                        product
                    }));
                }
                if terms.len() > MAX_PRODUCTS {
                    return None;
                }
                let is_wide = !free(id).is_subset(inames);
                if is_wide || !terms.iter().all(|term| term.is_function_value(kernel, inames, free)) {
                    terms
                } else {
                    vec![Product::of(id)]
                }
            }
            _ => vec![Product::of(id)],
        };
        known.insert(id, products);
    }
    Some(known.remove(&body).unwrap_or_else(|| vec![Product::of(body)]))
}

impl Product {
    fn of(expr: ExprId) -> Self {
        Self { is_negative: false, factors: vec![Factor { expr, is_divisor: false }] }
    }

    fn times(&self, other: &Self) -> Self {
        let factors = self.factors.iter().chain(&other.factors).copied().collect();
        Self { is_negative: self.is_negative != other.is_negative, factors }
    }

    /// Whether no more than one element of an argument can be taken out of the reduction.
    fn is_function_value(&self, kernel: &Kernel, inames: &InameSet, free: &dyn Fn(ExprId) -> InameSet) -> bool {
        let invariant = self.factors.iter().filter(|factor| free(factor.expr).is_disjoint(inames));
        let mut others = invariant.filter(|factor| !matches!(kernel.exprs[factor.expr], Expr::Number(_)));
        let first = others.next();
        let is_element =
            first.is_none_or(|factor| !factor.is_divisor && matches!(kernel.exprs[factor.expr], Expr::Access { .. }));
        is_element && others.next().is_none()
    }
}

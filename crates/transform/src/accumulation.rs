//! Accumulations: `t = t + e` and its kin.

use nestegg_ir::{ArrayId, Dtype, Expr, ExprId, Licence, Op, ReduceOp, affine};

use crate::workspace::Workspace;

/// What is joined to an element's old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accumulation {
    /// How it is joined.
    pub(crate) op: ReduceOp,
    /// What is joined; does not read the array.
    pub(crate) term: ExprId,
}

impl Workspace {
    /// Reads `value`, which is stored in `array[indices]`, as that element joined with something that does not
    /// read the array: along sums, differences, products, minima or maxima, down to the one read of the element. What is joined
    /// to an element first is rounded differently, so that floats that must be equal to the bit have no accumulations.
    pub(crate) fn accumulation(&mut self, array: ArrayId, indices: &[ExprId], value: ExprId) -> Option<Accumulation> {
        if self.licence == Licence::Strict && self.kernel[array].dtype.is_float() {
            return None;
        }
        let mut op: Option<ReduceOp> = None;
        let mut terms: Vec<(Op, ExprId)> = Vec::new();
        let mut spine = value;
        loop {
            match &self.kernel.exprs[spine] {
                Expr::Access { array: read, indices: at } if *read == array => {
                    let is_same = at.iter().zip(indices).all(|(&a, &b)| self.is_same_index(a, b));
                    let reads_itself = at.iter().any(|&index| self.reads(index, array));
                    if !is_same || reads_itself {
                        return None;
                    }
                    break;
                }
                Expr::Op { op: operator, operands } => {
                    let own = match operator {
                        Op::Add | Op::Sub => ReduceOp::Sum,
                        Op::Mul => ReduceOp::Product,
                        Op::Min => ReduceOp::Min,
                        Op::Max => ReduceOp::Max,
                        _ => return None,
                    };
                    if op.is_some_and(|op| op != own) {
                        return None;
                    }
                    op = Some(own);
                    let mut next = None;
                    for (idx, &operand) in operands.iter().enumerate().rev() {
                        if !self.reads(operand, array) {
                            terms.push((if idx > 0 { *operator } else { Op::Add }, operand));
                        } else if next.replace(operand).is_some() || (*operator == Op::Sub && idx > 0) {
                            return None;
                        }
                    }
                    spine = next?;
                }
                _ => return None,
            }
        }
        let op = op?;
        let dtype = self.kernel[array].dtype;
        terms.reverse();
        let mut operands = Vec::with_capacity(terms.len());
        for (operator, term) in terms {
            let ty = self.facts.ty(term);
            if dtype == Dtype::Bool || (dtype.is_integer() && !ty.is_integer()) {
                return None;
            }
            // Sums of narrower values are taken in the type of the array.
            let term = if ty.join(dtype.into()) == dtype.into() { self.coerce(term, dtype) } else { term };
            operands.push(if operator == Op::Sub {
                self.intern(Expr::Op { op: Op::Neg, operands: [term].into() })
            } else {
                term
            });
        }
        let term = match operands.as_slice() {
            [] => return None,
            [single] => *single,
            _ => self.intern(Expr::Op { op: op.operator(), operands: operands.into() }),
        };
        Some(Accumulation { op, term })
    }

    /// Whether two index expressions are one, or affine and equal.
    pub(crate) fn is_same_index(&self, a: ExprId, b: ExprId) -> bool {
        a == b
            || affine::of(&self.kernel.exprs, a)
                .is_some_and(|a| affine::of(&self.kernel.exprs, b).is_some_and(|b| a == b))
    }
}

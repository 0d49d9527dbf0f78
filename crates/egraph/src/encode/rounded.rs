//! Operations of floats that keep their rounding.
//!
//! The operands of sums and products are joined from the left, as the format evaluates them; what such a chain begins with is a
//! value of its own, which may leave loops and be shared. A literal -0.0 is the negation of 0.0: exact numbers have no sign there.

use egg::Id;
use nestegg_ir::types::Type;
use nestegg_ir::{ExprId, Op};

use super::{Encoder, whole_exponent};
use crate::build;
use crate::language::{Kind, Node};
use crate::rational::Rational;

impl Encoder<'_> {
    /// An operation of floats, of type `ty`.
    pub(super) fn rounded(&mut self, op: Op, operands: &[ExprId], ty: Type) -> Id {
        let mut classes: Vec<Id> = match op {
            Op::Pow if whole_exponent(self.kernel, operands[1]).is_some() => {
                vec![self.operand_as(operands[0], ty), self.operand(operands[1])]
            }
            Op::Pow => operands.iter().map(|&operand| self.operand(operand)).collect(),
            _ => operands.iter().map(|&operand| self.operand_as(operand, ty)).collect(),
        };
        // A chain that begins with two literals begins in its own type, not in the one that these have alone.
        if let (Op::Add | Op::Mul, Type::Float32, [first, second, _, ..]) = (op, ty, classes.as_mut_slice())
            && [*first, *second].iter().all(|&class| self.graph[class].data.dtype != ty)
        {
            *first = self.graph.add(Node::Cast(ty.dtype(), [*first]));
        }
        build::rounded(&mut self.graph, op, &classes)
    }

    /// The class of a float literal.
    pub(super) fn rounded_literal(&mut self, value: f64) -> Option<Id> {
        let exact = build::number(&mut self.graph, Rational::from_f64(value)?, Kind::Float);
        let is_negative_zero = value == 0.0 && value.is_sign_negative();
        Some(if is_negative_zero { build::rounded(&mut self.graph, Op::Neg, &[exact]) } else { exact })
    }
}

//! Operations to nodes: the types of operands, and the conversions that C would make.

use nestegg_ir::types::Type;

use crate::builder::{Builder, Typed};
use crate::conversions;
use crate::error::Error;
use crate::node::{Binary, NodeId, Op, SCALAR, SetId, Unary};

impl Builder<'_, '_, '_> {
    pub(super) fn operation(
        &mut self,
        op: nestegg_ir::Op,
        operands: &[Typed],
        exponent: Option<i64>,
    ) -> Result<NodeId, Error> {
        use nestegg_ir::Op as Ir;
        let joined = operands.iter().fold(Type::WeakInt, |ty, operand| ty.join(operand.ty));
        let mut nodes = Vec::with_capacity(operands.len());
        for &operand in operands {
            nodes.push(self.materialise(operand)?);
        }
        match op {
            Ir::Neg => {
                let node = self.convert(nodes[0], joined);
                return Ok(self.unary(Unary::Neg, node, joined));
            }
            Ir::Not => {
                let node = self.convert(nodes[0], Type::Bool);
                return Ok(self.unary(Unary::Not, node, Type::Bool));
            }
            Ir::BitNot => return Ok(self.unary(Unary::BitNot, nodes[0], joined)),
            Ir::If => {
                let condition = self.convert(nodes[0], Type::Bool);
                let ty = conversions::of_selection(operands[1].ty, operands[2].ty);
                let mut nodes = [condition, self.convert(nodes[1], ty), self.convert(nodes[2], ty)];
                let set = self.join_sets(&mut nodes)?;
                return Ok(self.node(Op::Select(nodes[0], nodes[1], nodes[2]), ty, set));
            }
            Ir::Pow => {
                if let Some(exponent) = exponent {
                    let ty = conversions::of_power(operands[0].ty, exponent);
                    let base = self.convert(nodes[0], ty);
                    return Ok(self.node(Op::Power(base, exponent), ty, self.set_of(base)));
                }
            }
            _ => {}
        }
        let (binary, ty) = conversions::joining(op, joined).expect("the other operators were done above");
        for node in &mut nodes {
            *node = self.convert(*node, ty);
        }
        if matches!(op, Ir::Gt | Ir::Ge) {
            nodes.reverse();
        }
        let ty = if op.is_comparison() { Type::Bool } else { ty };
        let mut res = nodes[0];
        for &node in &nodes[1..] {
            res = self.binary(binary, res, node, ty)?;
        }
        Ok(res)
    }

    pub(super) fn convert(&mut self, node: NodeId, to: Type) -> NodeId {
        let from = self.type_of(node);
        if conversions::is_same(from, to) {
            return node;
        }
        if let (Op::Affine { constant, outer }, true) = (&self.nodes[node.index()].op, to.is_float())
            && outer.is_empty()
            && constant.unsigned_abs() < 1 << 53
        {
            let literal = self.float(*constant as f64);
            return self.convert(literal, to);
        }
        self.unary(Unary::Convert, node, to)
    }

    pub(super) fn float(&mut self, value: f64) -> NodeId {
        self.node(Op::Float(value.to_bits()), Type::WeakFloat, SetId::new(SCALAR))
    }

    pub(super) fn unary(&mut self, op: Unary, operand: NodeId, ty: Type) -> NodeId {
        self.node(Op::Unary(op, operand), ty, self.set_of(operand))
    }

    pub(super) fn binary(&mut self, op: Binary, a: NodeId, b: NodeId, ty: Type) -> Result<NodeId, Error> {
        let mut operands = [a, b];
        let set = self.join_sets(&mut operands)?;
        Ok(self.node(Op::Binary(op, operands[0], operands[1]), ty, set))
    }
}

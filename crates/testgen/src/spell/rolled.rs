//! Written-out sums rolled up again.

use std::sync::Arc;

use nestegg_ir::types::{Type, Types};
use nestegg_ir::{
    Array, ArrayId, ArrayKind, Assignee, Dtype, Expr, ExprId, Float, InsnId, Instruction, InstructionKind, Item,
    Kernel, LinearizedKernel, Number, Op, ReduceOp,
};
use rustc_hash::FxHashMap;

use super::scope::{free_inames, is_fixed};
use super::{add_iname, fresh};

/// `a*T0[q, j] + b*T1[q, j]` is `sum(c, x[c]*T[c, q, j])`, where `x` holds `a` and `b`, and `T` both tables.
pub(super) fn rolled(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    let kernel = &linearized.kernel;
    let view = View { kernel, free: free_inames(kernel), types: Types::infer(kernel), written: kernel.written() };
    let all = kernel.exprs.reachable(crate::compact::roots(linearized));
    let mut rolled: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    let mut before = Vec::new();
    let mut known: Vec<(Stack, ExprId)> = Vec::new();
    // The outermost sums first: what is inside of them is then part of one stack.
    let mut inner: Vec<ExprId> = Vec::new();
    for &id in all.iter().rev() {
        if inner.contains(&id) {
            continue;
        }
        let Some(stack) = view.stack(id) else { continue };
        inner.extend(view.sums_inside(id));
        let value = match known.iter().find(|(other, _)| *other == stack) {
            Some((_, value)) => *value,
            None => stack.write(&mut res, &mut before),
        };
        known.push((stack, value));
        rolled.insert(id, value);
    }
    if rolled.is_empty() {
        return None;
    }
    let old = crate::compact::roots(linearized);
    let rewritten = res
        .kernel
        .exprs
        .rewrite(old, |exprs, old, expr| rolled.get(&old).copied().unwrap_or_else(|| exprs.intern(expr)));
    for insn in kernel.insn_ids() {
        res.kernel[insn].map_expressions(|id| rewritten.get(id));
    }
    before.extend(res.linearization);
    res.linearization = before;
    Some(res)
}

/// Coefficients without inames, and the tables that they multiply, all read at the same place.
#[derive(Clone, Debug, PartialEq)]
struct Stack {
    /// Each with whether it is subtracted; no factors at all are a 1.
    coefficients: Vec<(bool, Vec<ExprId>)>,
    tables: Vec<ArrayId>,
    indices: Box<[ExprId]>,
}

struct View<'a> {
    kernel: &'a Kernel,
    free: Vec<nestegg_ir::InameSet>,
    types: Types,
    written: Vec<bool>,
}

impl View<'_> {
    /// The sums that are terms of this one.
    fn sums_inside(&self, id: ExprId) -> Vec<ExprId> {
        match &self.kernel.exprs[id] {
            Expr::Op { op: Op::Add | Op::Sub, operands } => {
                operands.iter().flat_map(|&operand| std::iter::once(operand).chain(self.sums_inside(operand))).collect()
            }
            _ => Vec::new(),
        }
    }

    fn terms(&self, id: ExprId, is_negative: bool, all: &mut Vec<(bool, ExprId)>) {
        match &self.kernel.exprs[id] {
            Expr::Op { op: Op::Add, operands } => operands.iter().for_each(|&term| self.terms(term, is_negative, all)),
            Expr::Op { op: Op::Sub, operands } => {
                self.terms(operands[0], is_negative, all);
                self.terms(operands[1], !is_negative, all);
            }
            _ => all.push((is_negative, id)),
        }
    }

    fn stack(&self, id: ExprId) -> Option<Stack> {
        if !matches!(&self.kernel.exprs[id], Expr::Op { op: Op::Add | Op::Sub, .. })
            || self.types.of(id) != Type::Float64
        {
            return None;
        }
        let mut terms = Vec::new();
        self.terms(id, false, &mut terms);
        let mut res = Stack { coefficients: Vec::new(), tables: Vec::new(), indices: Box::new([]) };
        for (is_negative, term) in terms {
            let (coefficient, table, indices) = self.scaled_table(term)?;
            let is_alike = res
                .tables
                .first()
                .is_none_or(|first| self.kernel[*first].shape == self.kernel[table].shape && *res.indices == *indices);
            if !is_alike {
                return None;
            }
            res.coefficients.push((is_negative, coefficient));
            res.tables.push(table);
            res.indices = indices.into();
        }
        let has_inames = res.indices.iter().any(|index| !self.free[index.index()].is_empty());
        (res.tables.len() > 1 && has_inames).then_some(res)
    }

    fn scaled_table(&self, term: ExprId) -> Option<(Vec<ExprId>, ArrayId, &[ExprId])> {
        let factors: &[ExprId] = match &self.kernel.exprs[term] {
            Expr::Op { op: Op::Mul, operands } => operands,
            _ => std::slice::from_ref(&term),
        };
        let mut found = None;
        let mut coefficient = Vec::new();
        for &factor in factors {
            match &self.kernel.exprs[factor] {
                Expr::Access { array, indices }
                    if self.kernel[*array].table().is_some()
                        && self.kernel[*array].dtype == Dtype::Float64
                        && !indices.is_empty() =>
                {
                    if found.replace((*array, &**indices)).is_some() {
                        return None;
                    }
                }
                _ if self.free[factor.index()].is_empty() && is_fixed(self.kernel, &self.written, factor) => {
                    coefficient.push(factor);
                }
                _ => return None,
            }
        }
        found.map(|(table, indices)| (coefficient, table, indices))
    }
}

impl Stack {
    fn write(&self, res: &mut LinearizedKernel, before: &mut Vec<Item>) -> ExprId {
        let kernel = &mut res.kernel;
        let n = self.tables.len();
        let iname = add_iname(kernel, "c", n as i64);
        let coefficients = self.write_coefficients(kernel, before);
        let mut values: Vec<Number> = Vec::new();
        for &table in &self.tables {
            values.extend(kernel[table].table().into_iter().flat_map(|values| values.iter().copied()));
        }
        let extent = kernel.exprs.int(n as i64);
        let shape = std::iter::once(extent).chain(kernel[self.tables[0]].shape.iter().copied()).collect();
        let stack = ArrayId::new(kernel.arrays.len());
        let name = fresh(kernel, "stack");
        kernel.arrays.push(Array {
            name,
            dtype: Dtype::Float64,
            stored: None,
            shape,
            kind: ArrayKind::Table(Arc::from(values)),
        });
        let exprs = &mut kernel.exprs;
        let at = exprs.iname(iname);
        let coefficient = exprs.access(coefficients, [at]);
        let indices: Vec<ExprId> = std::iter::once(at).chain(self.indices.iter().copied()).collect();
        let entry = exprs.access(stack, indices);
        let body = exprs.op(Op::Mul, [coefficient, entry]);
        exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames: [iname].into(), body })
    }

    fn write_coefficients(&self, kernel: &mut Kernel, before: &mut Vec<Item>) -> ArrayId {
        let array = ArrayId::new(kernel.arrays.len());
        let name = fresh(kernel, "coefficients");
        let extent = kernel.exprs.int(self.tables.len() as i64);
        let id = name.clone();
        kernel.arrays.push(Array {
            name,
            dtype: Dtype::Float64,
            stored: None,
            shape: vec![extent],
            kind: ArrayKind::Temporary,
        });
        for (idx, (is_negative, factors)) in self.coefficients.iter().enumerate() {
            let exprs = &mut kernel.exprs;
            let value = match factors.as_slice() {
                [] => exprs.float(Float::new(1.0).expect("1 is finite")),
                [single] => *single,
                _ => exprs.op(Op::Mul, factors.as_slice()),
            };
            let expression = if *is_negative { exprs.op(Op::Neg, [value]) } else { value };
            let at = exprs.int(idx as i64);
            let kind = InstructionKind::Assignment { assignee: Assignee { array, indices: [at].into() }, expression };
            let id = format!("{id}_{idx}");
            let (within, depends_on, predicates) = (Vec::new(), Vec::new(), Vec::new());
            kernel.instructions.push(Instruction { id, kind, within, depends_on, predicates });
            before.push(Item::Run(InsnId::new(kernel.instructions.len() - 1)));
        }
        array
    }
}

//! Facts about every expression: free inames, bound inames, memory read.
//!
//! # Input
//! A kernel to which expressions are only added.
//! # Output
//! A row per expression, computed from its operands' rows: the inames on whose values it depends (including those in
//! the domains of its reductions), the inames that its reductions bind, the arrays that it reads and some instruction
//! writes, and its type.
//! # Complexity
//! Linear in the expressions: sets are interned, and the union of two is computed once.

use nestegg_ir::types::Type;
use nestegg_ir::{ArrayId, Expr, ExprId, InameId, Kernel, Number, Op};

use crate::memory::Memory;
use crate::ranges::Ranges;
use nestegg_ir::sets::{EMPTY, SetId, SetPool};

#[derive(Clone, Copy, Debug)]
struct Row {
    free: SetId,
    bound: SetId,
    ty: Type,
}

/// Facts on all expressions of a kernel.
#[derive(Debug)]
pub(crate) struct Facts {
    memory: Memory,
    rows: Vec<Row>,
    inames: SetPool<InameId>,
}

impl Facts {
    /// Facts on the expressions that are there.
    pub(crate) fn new(kernel: &Kernel, ranges: &Ranges) -> Self {
        let mut res = Self { memory: Memory::empty(kernel), rows: Vec::new(), inames: SetPool::new() };
        res.extend(kernel, ranges);
        res
    }

    /// Facts on the expressions that were added since.
    pub(crate) fn extend(&mut self, kernel: &Kernel, ranges: &Ranges) {
        self.memory.extend(kernel);
        for idx in self.rows.len()..kernel.exprs.len() {
            let expr = &kernel.exprs[ExprId::new(idx)];
            let ty = self.type_of(kernel, expr);
            let mut row = Row { free: EMPTY, bound: EMPTY, ty };
            for child in expr.children() {
                let child = self.rows[child.index()];
                row.free = self.inames.union(row.free, child.free);
                row.bound = self.inames.union(row.bound, child.bound);
            }
            match expr {
                Expr::Iname(iname) => row.free = self.inames.intern(vec![*iname]),
                Expr::Reduce { inames, .. } => {
                    let mut free = self.inames.get(row.free).to_vec();
                    free.extend(inames.iter().flat_map(|&iname| ranges.dependencies(iname).iter()));
                    free.retain(|iname| !inames.contains(iname));
                    row.free = self.inames.intern(free);
                    let own = self.inames.intern(inames.to_vec());
                    row.bound = self.inames.union(row.bound, own);
                }
                _ => {}
            }
            self.rows.push(row);
        }
    }

    /// The inames on whose values it depends, sorted.
    pub(crate) fn free(&self, expr: ExprId) -> &[InameId] {
        self.inames.get(self.rows[expr.index()].free)
    }

    /// The inames that reductions in it bind, sorted.
    pub(crate) fn bound(&self, expr: ExprId) -> &[InameId] {
        self.inames.get(self.rows[expr.index()].bound)
    }

    /// The arrays that it reads and that some instruction writes, sorted.
    pub(crate) fn memory(&self, expr: ExprId) -> &[ArrayId] {
        self.memory.of(expr)
    }

    /// Its type; that of the operands of a substitution rule's use.
    pub(crate) fn ty(&self, expr: ExprId) -> Type {
        self.rows[expr.index()].ty
    }

    /// As [`nestegg_ir::types::Types`] says, for one more expression at a time.
    fn type_of(&self, kernel: &Kernel, expr: &Expr) -> Type {
        let join = |children: &[ExprId]| children.iter().map(|&child| self.ty(child)).fold(Type::WeakInt, Type::join);
        let float = |ty: Type| match ty {
            Type::WeakInt => Type::WeakFloat,
            ty if ty.is_float() => ty,
            _ => Type::Float64,
        };
        match expr {
            Expr::Number(Number::Int(value)) if i32::try_from(*value).is_err() => Type::Int64,
            Expr::Number(Number::Int(_)) | Expr::Formal(_) => Type::WeakInt,
            Expr::Number(Number::Float(_)) => Type::WeakFloat,
            Expr::Iname(_) => Type::Int32,
            Expr::Parameter(parameter) => kernel[*parameter].dtype.into(),
            Expr::Access { array, .. } => kernel[*array].dtype.into(),
            Expr::Op { op, .. } if op.is_comparison() || op.is_logic() => Type::Bool,
            Expr::Op { op: Op::If, operands } => match (self.ty(operands[1]), self.ty(operands[2])) {
                (Type::Bool, Type::Bool) => Type::Bool,
                (a, b) => a.join(b),
            },
            Expr::Op { op: Op::Div, operands } => float(join(operands)),
            Expr::Op { op: Op::Pow, operands } => match kernel.exprs[operands[1]] {
                Expr::Number(Number::Int(value)) if value >= 0 => self.ty(operands[0]).join(Type::WeakInt),
                _ => float(join(operands)),
            },
            Expr::Op { operands, .. } | Expr::Substitution { arguments: operands, .. } => join(operands),
            Expr::Call { arguments, .. } => match join(arguments) {
                ty if ty.is_float() => ty,
                _ => Type::Float64,
            },
            Expr::Reduce { body, .. } => self.ty(*body).join(Type::WeakInt),
            Expr::Cast { dtype, .. } => (*dtype).into(),
        }
    }
}

//! What an expression depends on and is: for each its free inames, whether it is a float, whether it reads a table with zeros.
//!
//! Linear in the expressions: sets of inames are interned, and the union of two is computed once.

use nestegg_ir::{Expr, ExprId, InameId, Kernel, Number, Op};

use crate::split_at_zeros::tables::Tables;
use nestegg_ir::sets::{EMPTY, SetId, SetPool};

#[derive(Clone, Copy, Debug)]
struct Row {
    free: SetId,
    is_float: bool,
    reads_zeros: bool,
}

/// Facts on the expressions of a kernel.
#[derive(Debug)]
pub(crate) struct Facts {
    rows: Vec<Row>,
    inames: SetPool<InameId>,
}

impl Facts {
    /// Nothing known yet.
    pub(crate) fn new() -> Self {
        Self { rows: Vec::new(), inames: SetPool::new() }
    }

    /// Facts on the expressions that were added since.
    pub(crate) fn extend(&mut self, kernel: &Kernel, tables: &Tables) {
        for idx in self.rows.len()..kernel.exprs.len() {
            let expr = &kernel.exprs[ExprId::new(idx)];
            let mut row = Row { free: EMPTY, is_float: self.is_float_op(kernel, expr), reads_zeros: false };
            for child in expr.children() {
                let child = self.rows[child.index()];
                row.free = self.inames.union(row.free, child.free);
                row.reads_zeros |= child.reads_zeros;
            }
            match expr {
                Expr::Iname(iname) => row.free = self.inames.intern(vec![*iname]),
                Expr::Access { array, .. } => row.reads_zeros |= tables.has_zero(*array),
                Expr::Reduce { inames, .. } => {
                    let free = self.inames.get(row.free).iter().copied().filter(|iname| !inames.contains(iname));
                    let free = free.collect();
                    row.free = self.inames.intern(free);
                }
                _ => {}
            }
            self.rows.push(row);
        }
    }

    /// The inames on whose values the expression depends, interned.
    pub(crate) fn free_set(&self, expr: ExprId) -> SetId {
        self.rows[expr.index()].free
    }

    /// The members of an interned set, sorted.
    pub(crate) fn members(&self, set: SetId) -> &[InameId] {
        self.inames.get(set)
    }

    /// Whether the expression depends on the value of an iname.
    pub(crate) fn is_free(&self, expr: ExprId, iname: InameId) -> bool {
        self.members(self.free_set(expr)).binary_search(&iname).is_ok()
    }

    /// Whether its value is a float, weak or not.
    pub(crate) fn is_float(&self, expr: ExprId) -> bool {
        self.rows[expr.index()].is_float
    }

    /// Whether it reads a float table with an entry that is zero.
    pub(crate) fn reads_zeros(&self, expr: ExprId) -> bool {
        self.rows[expr.index()].reads_zeros
    }

    fn is_float_op(&self, kernel: &Kernel, expr: &Expr) -> bool {
        let any = |children: &[ExprId]| children.iter().any(|&child| self.is_float(child));
        match expr {
            Expr::Number(Number::Float(_)) | Expr::Call { .. } => true,
            Expr::Number(Number::Int(_)) | Expr::Iname(_) | Expr::Parameter(_) | Expr::Formal(_) => false,
            Expr::Access { array, .. } => kernel[*array].dtype.is_float(),
            Expr::Op { op, .. } if op.is_comparison() || op.is_logic() || op.is_bitwise() => false,
            Expr::Op { op: Op::Div, .. } => true,
            Expr::Op { op: Op::Pow, operands } => match kernel.exprs[operands[1]] {
                Expr::Number(Number::Int(value)) if value >= 0 => any(operands),
                _ => true,
            },
            Expr::Op { op: Op::If, operands } => any(&operands[1..]),
            Expr::Op { operands, .. } => any(operands),
            Expr::Reduce { body, .. } => self.is_float(*body),
            Expr::Substitution { .. } => false,
            Expr::Cast { dtype, .. } => dtype.is_float(),
        }
    }
}

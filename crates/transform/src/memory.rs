//! The arrays that an expression reads and some instruction writes.
//!
//! # Complexity
//! Linear in the expressions: sets are interned.

use nestegg_ir::{ArrayId, Expr, ExprId, InsnId, InstructionKind, Kernel};

use nestegg_ir::sets::{EMPTY, SetId, SetPool};

/// For each expression the arrays that it reads and that some instruction writes.
#[derive(Debug)]
pub(crate) struct Memory {
    is_written: Vec<bool>,
    rows: Vec<SetId>,
    arrays: SetPool<ArrayId>,
}

impl Memory {
    /// Nothing known of any expression yet.
    pub(crate) fn empty(kernel: &Kernel) -> Self {
        Self { is_written: kernel.written(), rows: Vec::new(), arrays: SetPool::new() }
    }

    /// The memory that all expressions of a kernel without substitution rules read.
    pub(crate) fn new(kernel: &Kernel) -> Self {
        let mut res = Self::empty(kernel);
        res.extend(kernel);
        res
    }

    /// Adds the expressions that were added since.
    pub(crate) fn extend(&mut self, kernel: &Kernel) {
        for idx in self.rows.len()..kernel.exprs.len() {
            let expr = &kernel.exprs[ExprId::new(idx)];
            let mut row = EMPTY;
            for child in expr.children() {
                row = self.arrays.union(row, self.rows[child.index()]);
            }
            if let Expr::Access { array, .. } = expr
                && self.is_written[array.index()]
            {
                let own = self.arrays.intern(vec![*array]);
                row = self.arrays.union(row, own);
            }
            self.rows.push(row);
        }
    }

    /// The arrays that the expression reads and that some instruction writes, sorted.
    pub(crate) fn of(&self, expr: ExprId) -> &[ArrayId] {
        self.arrays.get(self.rows[expr.index()])
    }

    /// The arrays that the instruction reads and that some instruction writes, sorted.
    pub(crate) fn read_by(&self, kernel: &Kernel, insn: InsnId) -> Vec<ArrayId> {
        let mut res: Vec<ArrayId> = kernel[insn].expressions().flat_map(|expr| self.of(expr).iter().copied()).collect();
        if let InstructionKind::Opaque { reads, .. } = &kernel[insn].kind {
            res.extend(reads.iter().copied().filter(|array| self.is_written[array.index()]));
        }
        res.sort_unstable();
        res.dedup();
        res
    }
}

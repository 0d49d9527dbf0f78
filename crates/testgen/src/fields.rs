//! What element tensors are made of: fields at points, elements of tables, scalars of a cell.

use nestegg_ir::{ArrayId, Expr, ExprId, InameId, Op, ReduceOp};

use crate::builder::{Builder, Role};
use crate::cells::Cell;
use crate::hazards::Use;
use crate::space::Size;
use crate::targets::Target;

/// How many arrays a field may be made of, the newest ones.
const N_RECENT: usize = 12;

impl Builder<'_> {
    /// A field at a point: the sum of a table's functions times the elements of an array, written out or not.
    pub(crate) fn field(&mut self, cell: &Cell, point: InameId, target: Option<&Target>) -> ExprId {
        let table = self.pick(&cell.tables);
        let array = self.coefficients(cell, target);
        if self.chance(25) {
            let Some((mut indices, dim)) = self.indices_along(array, cell.n_functions) else { return self.scalar() };
            let mut terms = Vec::new();
            for function in 0..cell.n_functions {
                indices[dim] = self.kernel.exprs.int(function);
                if !self.admits(array, &indices, Use::Read) {
                    return self.scalar();
                }
                let at = [self.kernel.exprs.iname(point), indices[dim]];
                let value = self.of_cell(cell, table, at, false);
                let coefficient = self.read(array, indices.clone());
                terms.push(self.op(Op::Mul, [value, coefficient]));
            }
            return self.sum(terms);
        }
        let iname = self.whole_iname(cell.n_functions, false);
        let body = self.within(&[iname], |builder| {
            let value = builder.function_at_point(cell, table, (point, iname), false);
            let coefficient = match builder.indices_along(array, cell.n_functions) {
                Some((mut indices, dim)) => {
                    indices[dim] = builder.kernel.exprs.iname(iname);
                    match builder.admits(array, &indices, Use::Read) {
                        true => builder.read(array, indices),
                        false => builder.scalar(),
                    }
                }
                None => builder.scalar(),
            };
            builder.op(Op::Mul, [value, coefficient])
        });
        self.kernel.exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames: [iname].into(), body })
    }

    /// An array with an element for each function: the one that is written, an old one, or a new one.
    fn coefficients(&mut self, cell: &Cell, target: Option<&Target>) -> ArrayId {
        let is_fit = |builder: &Self, array: ArrayId| {
            let info = &builder.arrays[array.index()];
            matches!(info.role, Role::Input | Role::InOut)
                && builder.kernel[array].dtype.is_float()
                && info.shape.contains(&Size::Const(cell.n_functions))
        };
        if let Some(&(array, _)) = target
            && is_fit(self, array)
            && self.chance(30)
        {
            return array;
        }
        let n = self.readable.len();
        let old: Vec<ArrayId> = self.readable[n.saturating_sub(N_RECENT)..].to_vec();
        let old: Vec<ArrayId> = old.into_iter().filter(|&array| is_fit(self, array)).collect();
        if !old.is_empty() && !self.chance(25) {
            return self.pick(&old);
        }
        let dtype = self.float_dtype();
        let outer = self.free_loops().first().map(|iname| self.ranges[iname.index()].size);
        let outer = outer.filter(|_| self.chance(40));
        let role = if self.chance(self.knobs.update / 2) { Role::InOut } else { Role::Input };
        self.declare(role, dtype, outer.into_iter().chain([Size::Const(cell.n_functions)]).collect())
    }

    /// Indices of an array, and which of its dimensions has so many elements that may all be read.
    fn indices_along(&mut self, array: ArrayId, n: i64) -> Option<(Box<[ExprId]>, usize)> {
        let shape = self.arrays[array.index()].shape.clone();
        let is_blocked = self.arrays[array.index()].is_blocked;
        let dim = (usize::from(is_blocked)..shape.len()).rev().find(|&dim| shape[dim] == Size::Const(n))?;
        Some((self.old_indices(array)?, dim))
    }

    /// The weight of a point.
    pub(crate) fn weight(&mut self, cell: &Cell, point: InameId) -> ExprId {
        let point = self.kernel.exprs.iname(point);
        self.read(cell.weights, [point].into())
    }

    /// An element of a table at a point, as [`Self::of_cell`].
    pub(crate) fn function_at_point(
        &mut self,
        cell: &Cell,
        table: ArrayId,
        (point, function): (InameId, InameId),
        is_first: bool,
    ) -> ExprId {
        let at = [point, function].map(|iname| self.kernel.exprs.iname(iname));
        self.of_cell(cell, table, at, is_first)
    }

    /// An element of a table at one point.
    pub(crate) fn column(&mut self, cell: &Cell, function: InameId) -> ExprId {
        let (table, point) = (self.pick(&cell.tables), self.between(0, cell.n_points - 1));
        let at = [self.kernel.exprs.int(point), self.kernel.exprs.iname(function)];
        self.of_cell(cell, table, at, false)
    }

    /// A number, an element of the cell's geometry, or something that is there.
    pub(crate) fn scalar(&mut self) -> ExprId {
        if self.chance(20) {
            return self.float_literal();
        }
        if self.chance(40)
            && let Some(element) = self.old_element(nestegg_ir::Dtype::is_float)
        {
            return element;
        }
        let array = match self.geometry {
            Some(array) => array,
            None => {
                let dtype = self.float;
                let array = self.declare(Role::Input, dtype, vec![Size::Const(4)]);
                *self.geometry.insert(array)
            }
        };
        let at = self.between(0, 3);
        let index = self.kernel.exprs.int(at);
        self.read(array, [index].into())
    }

    pub(crate) fn sum(&mut self, terms: Vec<ExprId>) -> ExprId {
        match terms.as_slice() {
            [term] => *term,
            _ => self.op(Op::Add, terms),
        }
    }
}

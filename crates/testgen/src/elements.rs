//! Element tensors: stores of sums over points of products of tables and values at the points.
//!
//! Several stores share tables. They set elements, add to them or scale them first, and their values may read what was stored before, also in the array that they
//! write, where the order of iterations does not matter: the element itself, elements of another block, and all of them if no loop is open.

use nestegg_ir::{ArrayId, Expr, ExprId, InameId, Op, ReduceOp};

use crate::builder::{Builder, Role};
use crate::cells::Cell;
use crate::growth::Growth;
use crate::hazards::Use;
use crate::space::Size;
use crate::targets::Target;

/// What a store does with what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Store {
    /// Adds to it.
    Add,
    /// Scales it, and adds to that.
    Scale,
    /// Overwrites it.
    Set,
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct Place<'c> {
    cell: &'c Cell,
    point: InameId,
    /// Test and trial inames.
    axes: &'c [InameId],
    target: &'c Target,
    /// All of its terms have the same table at each of the axes.
    is_symmetric: bool,
}

/// A value that was stored, and its test and trial inames.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    value: ExprId,
    axes: Vec<InameId>,
}

impl Builder<'_> {
    /// A few stores of one cell, with values at its points before them.
    pub(crate) fn element_tensors(&mut self) {
        let cell = self.cell();
        let n = 1 + self.weighted(&[5, 3, 2]);
        for idx in 0..n {
            if idx > 0 && self.n_instructions == 0 {
                break;
            }
            if self.chance(self.knobs.temporary / 2) {
                self.values_at_points(&cell);
            }
            self.stored = None;
            self.element_store(&cell);
            if let Some(stored) = self.stored.take()
                && self.chance(15)
            {
                self.store_again(&cell, &stored);
            }
        }
    }

    /// A value that was stored, in another element under other names of its inames.
    fn store_again(&mut self, cell: &Cell, stored: &Stored) {
        let mut inames = self.free_loops();
        let axes: Vec<InameId> = stored.axes.iter().map(|axis| self.declare_iname(self.ranges[axis.index()])).collect();
        for &axis in &axes {
            self.opened.insert(axis);
            self.open_unordered(axis);
        }
        self.begin();
        inames.extend(&axes);
        let mut exprs = std::mem::take(&mut self.kernel.exprs);
        let renamed = exprs.rewrite([stored.value], |exprs, _, expr| match expr {
            Expr::Iname(iname) => {
                let at = stored.axes.iter().position(|&axis| axis == iname);
                exprs.iname(at.map_or(iname, |at| axes[at]))
            }
            expr => exprs.intern(expr),
        });
        let value = renamed.get(stored.value);
        self.kernel.exprs = exprs;
        let store = if self.chance(70) { Use::Accumulate(ReduceOp::Sum) } else { Use::Write };
        match self.tensor(&inames, store, cell) {
            Some((array, indices)) if self.may_read_again(value) && self.admits(array, &indices, store) => {
                self.record(array, &indices, store);
                let old = self.kernel.exprs.access(array, indices.clone());
                let value = if store == Use::Write { value } else { self.op(Op::Add, [old, value]) };
                self.emit_assignment((array, indices), value, Vec::new());
            }
            _ => self.assign_argument(),
        }
        self.close(axes.len());
    }

    /// Whether all that a value reads may be read here; it is then recorded.
    fn may_read_again(&mut self, value: ExprId) -> bool {
        let mut reads = Vec::new();
        for id in self.kernel.exprs.reachable([value]) {
            match &self.kernel.exprs[id] {
                Expr::Substitution { .. } => return false,
                Expr::Access { array, indices } => reads.push((*array, indices.clone())),
                _ => {}
            }
        }
        // An iname that bounds a reduction keeps its name.
        let has_values = self.inames_of(value).0.iter().all(|iname| self.has_value(iname));
        let may_read = |(array, indices): &(ArrayId, Box<[ExprId]>)| {
            self.is_defined(*array, indices) && self.admits(*array, indices, Use::Read)
        };
        let is_lawful = has_values && reads.iter().all(may_read);
        if is_lawful {
            reads.iter().for_each(|(array, indices)| self.record(*array, indices, Use::Read));
        }
        is_lawful
    }

    /// `t[q] = sum(i, T[q, i]*v[i])`.
    fn values_at_points(&mut self, cell: &Cell) {
        let point = self.open_whole(cell.n_points);
        self.begin();
        let dtype = self.float_dtype();
        let (array, indices) = self.new_target(Role::Temporary, dtype, &[point]);
        let value = self.field(cell, point, None);
        let value = self.function_of(value);
        let value = self.tamed(value, Growth::Linear);
        self.emit_assignment((array, indices.clone()), value, Vec::new());
        self.define(array, &indices);
        self.close(1);
    }

    /// `A[j, k] = A[j, k] + sum(q, w[q]*T[q, j]*T[q, k]*…)`, or with a loop over the points.
    fn element_store(&mut self, cell: &Cell) {
        let rank = self.weighted(&[2, 4, 4]);
        let mut inames = self.free_loops();
        let has_loop = self.chance(25);
        let is_outermost = has_loop && self.chance(50);
        let mut point = is_outermost.then(|| self.open_whole(cell.n_points));
        let axes: Vec<InameId> = (0..rank).map(|_| self.open_whole(cell.n_functions)).collect();
        if has_loop && !is_outermost {
            point = Some(self.open_whole(cell.n_points));
        }
        self.begin();
        let store = match if has_loop { 0 } else { self.weighted(&[5, 2, 2]) } {
            0 => Store::Add,
            1 => Store::Scale,
            _ => Store::Set,
        };
        if store == Store::Add {
            inames.retain(|_| !self.chance(15));
        }
        inames.extend(&axes);
        if rank == 2 && self.chance(20) {
            let n = inames.len();
            inames.swap(n - 1, n - 2);
        }
        let access = if store == Store::Add { Use::Accumulate(ReduceOp::Sum) } else { Use::Write };
        match self.tensor(&inames, access, cell) {
            Some(target) => self.store_tensor(cell, store, (point, &axes), target),
            None => self.assign_argument(),
        }
        self.close(rank + usize::from(has_loop));
    }

    fn store_tensor(
        &mut self,
        cell: &Cell,
        store: Store,
        (point, axes): (Option<InameId>, &[InameId]),
        target: Target,
    ) {
        let access = if store == Store::Add { Use::Accumulate(ReduceOp::Sum) } else { Use::Write };
        self.record(target.0, &target.1, access);
        let (predicates, facts) = self.predicates();
        let n = if point.is_some() { 1 } else { 1 + self.weighted(&[6, 2, 1]) };
        let mut terms = self.under(&facts, |builder| {
            (0..n).map(|_| builder.integral(cell, (point, axes), &target)).collect::<Vec<ExprId>>()
        });
        if let &[first, second] = axes
            && cell.n_points == cell.n_functions
            && self.chance(25)
        {
            // Only the diagonal counts where this is an identity.
            let diagonal = self.function_at_point(cell, cell.tables[0], (first, second), true);
            terms[0] = self.op(Op::Mul, [diagonal, terms[0]]);
        }
        if point.is_none() && predicates.is_empty() {
            self.stored = Some(Stored { value: terms[0], axes: axes.to_vec() });
        }
        let last = terms.len() - 1;
        terms[last] = self.tamed(terms[last], Growth::Linear);
        let old = self.kernel.exprs.access(target.0, target.1.clone());
        let expression = match store {
            Store::Set => self.sum(terms),
            Store::Add if terms.len() == 1 && self.chance(20) => self.op(Op::Sub, [old, terms[0]]),
            Store::Add => {
                let at = if self.chance(20) { terms.len() } else { 0 };
                terms.insert(at, old);
                self.sum(terms)
            }
            Store::Scale if self.admits(target.0, &target.1, Use::Read) => {
                self.record(target.0, &target.1, Use::Read);
                let factor = match axes.first() {
                    Some(&axis) if self.chance(50) => self.column(cell, axis),
                    _ => self.scalar(),
                };
                let scaled = self.op(Op::Mul, [old, factor]);
                terms.insert(0, scaled);
                self.sum(terms)
            }
            Store::Scale => self.sum(terms),
        };
        self.emit_assignment(target, expression, predicates);
    }

    /// An element of a tensor to write: of one that is there or of a new one, which may have blocks of elements, or several elements for no iname.
    fn tensor(&mut self, inames: &[InameId], access: Use, cell: &Cell) -> Option<Target> {
        let sizes: Vec<Size> = inames.iter().map(|iname| self.ranges[iname.index()].size).collect();
        let own: Vec<ExprId> = inames.iter().map(|&iname| self.kernel.exprs.iname(iname)).collect();
        if self.chance(60) {
            let n = self.writable.len();
            for array in (n.saturating_sub(6)..n).rev().map(|at| self.writable[at]).collect::<Vec<_>>() {
                let info = &self.arrays[array.index()];
                let n_more = info.shape.len().checked_sub(sizes.len());
                if info.role != Role::InOut || !self.kernel[array].dtype.is_float() || n_more.is_none_or(|n| n > 1) {
                    continue;
                }
                if info.is_blocked && n_more != Some(1) {
                    continue;
                }
                let (first, rest) = info.shape.split_at(n_more.unwrap_or(0));
                let Some(count) = first.first().map_or(Some(1), |size| size.as_const()) else { continue };
                if rest != sizes {
                    continue;
                }
                let literal = (n_more == Some(1)).then(|| self.between(0, count - 1));
                let first = literal.map(|literal| self.kernel.exprs.int(literal));
                let indices: Box<[ExprId]> = first.into_iter().chain(own.iter().copied()).collect();
                if self.admits(array, &indices, access) {
                    return Some((array, indices));
                }
            }
        }
        let dtype = self.float_dtype();
        let more = match self.weighted(&[6, 2, u32::from(inames.is_empty()) * 5]) {
            0 => None,
            1 => Some(self.between(2, 3)),
            _ => Some(cell.n_functions),
        };
        let shape = more.map(Size::Const).into_iter().chain(sizes).collect();
        let array = self.declare(Role::InOut, dtype, shape);
        self.arrays[array.index()].is_blocked = more.is_some_and(|more| !inames.is_empty() || more != cell.n_functions);
        let literal = more.map(|more| self.between(0, more - 1));
        let first = literal.map(|literal| self.kernel.exprs.int(literal));
        let indices: Box<[ExprId]> = first.into_iter().chain(own).collect();
        self.admits(array, &indices, access).then_some((array, indices))
    }

    /// `sum(q, …)`, or the same without the sum if the points have a loop.
    fn integral(&mut self, cell: &Cell, (point, axes): (Option<InameId>, &[InameId]), target: &Target) -> ExprId {
        let is_symmetric = axes.len() == 2 && self.chance(20);
        if let Some(point) = point {
            return self.integrand(Place { cell, point, axes, target, is_symmetric });
        }
        let point = self.whole_iname(cell.n_points, false);
        let place = Place { cell, point, axes, target, is_symmetric };
        let body = self.within(&[point], |builder| builder.integrand(place));
        self.kernel.exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames: [point].into(), body })
    }

    fn integrand(&mut self, place: Place<'_>) -> ExprId {
        let n = 1 + self.weighted(&[4, 4, 2]);
        let terms: Vec<ExprId> = (0..n).map(|_| self.integrand_term(place)).collect();
        let sum = match terms.as_slice() {
            [first, second] if self.chance(30) => self.op(Op::Sub, [*first, *second]),
            _ => self.sum(terms),
        };
        if self.chance(50) {
            let weight = self.weight(place.cell, place.point);
            return self.op(Op::Mul, [weight, sum]);
        }
        sum
    }

    fn integrand_term(&mut self, place: Place<'_>) -> ExprId {
        let mut factors = Vec::new();
        if self.chance(30) {
            factors.push(self.weight(place.cell, place.point));
        }
        let has_same = place.is_symmetric || self.chance(30);
        let same = has_same.then(|| self.pick(&place.cell.tables));
        for &axis in place.axes {
            if place.is_symmetric || !self.chance(12) {
                factors.push(self.basis(place, axis, same));
            }
        }
        for _ in 0..self.weighted(&[3, 4, 2]) {
            let factor = self.coefficient(place);
            let at = self.position(factors.len() + 1);
            factors.insert(at, factor);
        }
        match factors.as_slice() {
            [] => self.float_literal(),
            [factor] => *factor,
            _ => self.op(Op::Mul, factors),
        }
    }

    /// What stands for a test or trial function: a table, or a derivative made of two.
    fn basis(&mut self, place: Place<'_>, axis: InameId, same: Option<ArrayId>) -> ExprId {
        let table = same.unwrap_or_else(|| self.pick(&place.cell.tables));
        let value = self.function_at_point(place.cell, table, (place.point, axis), same.is_some());
        let kind = if same.is_some() { 0 } else { self.weighted(&[6, 3, 1]) };
        if kind == 0 {
            return value;
        }
        let other = self.pick(&place.cell.tables);
        let other = self.function_at_point(place.cell, other, (place.point, axis), false);
        let (a, b) = match kind {
            1 => (self.scalar(), self.scalar()),
            _ => (self.field(place.cell, place.point, Some(place.target)), self.scalar()),
        };
        let terms = [self.op(Op::Mul, [a, value]), self.op(Op::Mul, [b, other])];
        self.op(Op::Add, terms)
    }

    fn coefficient(&mut self, place: Place<'_>) -> ExprId {
        let (array, indices) = place.target;
        match self.weighted(&[3, 4, 2, 1, 2, 2, 2]) {
            0 => self.scalar(),
            1 => self.field(place.cell, place.point, Some(place.target)),
            2 => {
                let field = self.field(place.cell, place.point, Some(place.target));
                self.function_of(field)
            }
            3 => {
                let field = self.field(place.cell, place.point, Some(place.target));
                let exponent = self.kernel.exprs.int(2);
                self.op(Op::Pow, [field, exponent])
            }
            4 => self.float(1),
            5 => self.float(2),
            _ => {
                let other = if self.chance(40) { self.old_indices(*array) } else { None };
                let indices = other.unwrap_or_else(|| indices.clone());
                if self.admits(*array, &indices, Use::Read) { self.read(*array, indices) } else { self.scalar() }
            }
        }
    }

    /// A value that is no polynomial of another one, or is that itself.
    fn function_of(&mut self, value: ExprId) -> ExprId {
        match self.weighted(&[2, 3, 1, 1]) {
            0 => value,
            1 => {
                let function = self.pick(&["sin", "cos", "tanh", "fabs"]);
                self.call(function, vec![value])
            }
            2 => {
                let (one, square) = (self.number(1.5), self.op(Op::Mul, [value, value]));
                let sum = self.op(Op::Add, [one, square]);
                self.call("sqrt", vec![sum])
            }
            _ => {
                let condition = self.condition(1);
                let otherwise = self.scalar();
                self.op(Op::If, [condition, value, otherwise])
            }
        }
    }
}

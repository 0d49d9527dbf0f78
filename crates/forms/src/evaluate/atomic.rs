//! Expressions that are no polynomials of their operands: atoms, another one for each value of the table inames that they depend on.
//!
//! What reads memory that the kernel writes has no value of its own and is no atom. At most [`MAX_POINTS`](super::MAX_POINTS) atoms are made of one expression.

use nestegg_ir::affine;
use nestegg_ir::{ArrayId, ArrayKind, Expr, ExprId, Float, InameId, InameSet, Op};
use rustc_hash::FxHashSet;

use super::Evaluator;
use crate::atoms::{Atom, Operand};
use crate::elements::{constant_shape, hull};
use crate::polynomial::Polynomial;
use crate::table::ProductId;

impl Evaluator {
    /// An expression that is an atom, at each value of its table inames another.
    pub(super) fn as_it_is(&mut self, id: ExprId) -> Option<Polynomial> {
        self.note_free(id);
        let axes = self.free.get(&id).cloned()?;
        if self.reads_written(id) {
            return None;
        }
        let mut res = Polynomial::zero();
        // Elements that are read at several points are one atom with one table.
        let mut by_value: indexmap::IndexMap<ExprId, Vec<Vec<usize>>> = indexmap::IndexMap::new();
        for point in self.points(&axes)? {
            let values: Vec<(InameId, i64)> = axes.iter().zip(&point).map(|(axis, &at)| (axis, at as i64)).collect();
            let expr = self.substitute(id, &values);
            by_value.entry(expr).or_default().push(point);
        }
        for (expr, points) in by_value {
            let atom = self.algebra.atoms.intern(Atom::Leaf(expr));
            for point in points {
                let indicator = self.indicator(&axes, &point);
                for (_, product, coefficient) in indicator.terms() {
                    res.add_term(coefficient, atom, product);
                }
            }
        }
        Some(res)
    }

    /// An operation that is no polynomial.
    pub(super) fn operation(&mut self, id: ExprId, operands: &[ExprId]) -> Option<Polynomial> {
        if !self.types.of(id).is_float() {
            return self.as_it_is(id);
        }
        let node = self.kernel.exprs[id].clone();
        let mut axes = InameSet::new();
        for &operand in operands {
            match self.done.get(&operand) {
                Some(value) => axes = axes.union(&self.axes(value.as_ref()?)),
                None => {
                    self.note_free(operand);
                    axes = axes.union(self.free.get(&operand)?);
                    if self.reads_written(operand) {
                        return None;
                    }
                }
            }
        }
        if !axes.is_disjoint(&self.selectors) {
            return self.as_it_is(id);
        }
        if let Expr::Op { op: Op::If | Op::And | Op::Or, .. } = &node
            && !axes.is_disjoint(&self.points)
            && operands[1..].iter().any(|&operand| self.varies_with_points(operand))
        {
            // The condition of one point would guard what is read at all of them.
            return None;
        }
        let mut res = Polynomial::zero();
        for point in self.points(&axes)? {
            let values: Vec<(InameId, i64)> = axes.iter().zip(&point).map(|(axis, &at)| (axis, at as i64)).collect();
            let mut scalars = Vec::with_capacity(operands.len());
            for &operand in operands {
                scalars.push(match self.done.get(&operand).cloned() {
                    Some(value) => Operand::Scalar(self.at(&value?, &axes, &point)?),
                    None => Operand::Given(self.substitute(operand, &values)),
                });
            }
            let value = self.atom_of(&node, scalars)?;
            let indicator = self.indicator(&axes, &point);
            res.add(&self.algebra.multiply(&value, &indicator)?, 1.0);
        }
        Some(res)
    }

    /// Whether anything but elements of tables, all of which there are, depends on inames that stay loops.
    fn varies_with_points(&self, root: ExprId) -> bool {
        let kernel = &self.kernel;
        let (mut pending, mut seen) = (vec![root], FxHashSet::default());
        while let Some(id) = pending.pop() {
            match &kernel.exprs[id] {
                Expr::Iname(iname) if self.points.contains(*iname) => return true,
                Expr::Access { array, indices }
                    if matches!(kernel[*array].kind, ArrayKind::Table(_)) && self.is_inside(*array, indices) => {}
                expr if seen.insert(id) => pending.extend(expr.children()),
                _ => {}
            }
        }
        false
    }

    /// Whether these are indices of a table for all values of inames.
    fn is_inside(&self, table: ArrayId, indices: &[ExprId]) -> bool {
        let kernel = &self.kernel;
        let Some(shape) = constant_shape(kernel, table) else { return false };
        let is_in_dim = |(&index, extent): (&ExprId, i64)| -> Option<bool> {
            let index = affine::of(&kernel.exprs, index)?;
            let (low, high) = hull(&index, |iname| self.algebra.tables.extent(iname))?;
            Some(low >= 0 && high < extent)
        };
        indices.iter().zip(shape).all(|dim| is_in_dim(dim).unwrap_or(false))
    }

    fn atom_of(&mut self, node: &Expr, mut operands: Vec<Operand>) -> Option<Polynomial> {
        let mut scale = 1.0;
        if let (Expr::Call { function, .. }, [Operand::Scalar(scalar)]) = (node, operands.as_mut_slice())
            && self.algebra.atoms.is_absolute_value(*function)
        {
            // |c*x| == |c|*|x|.
            scale = scalar.coefficient.get().abs();
            scalar.coefficient = Float::new(1.0)?;
            if scale == 0.0 {
                return Some(Polynomial::zero());
            }
        }
        let mut shape = node.clone();
        for child in shape.children_mut() {
            *child = ExprId::new(0);
        }
        let atom = self.algebra.atoms.intern(Atom::Operation(shape, operands));
        Some(Polynomial::term(scale, atom, ProductId::ONE))
    }
}

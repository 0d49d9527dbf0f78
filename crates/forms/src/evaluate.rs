//! Expressions as polynomials.
//!
//! # Input
//! An expression of a kernel in value form.
//! # Output
//! Its multilinear normal form over the *table inames*, those with a constant number of values that index a constant table; `None` where it
//! has none within the limits.
//! # Method
//! Bottom-up over the expressions that are needed. Tables multiply as numbers; elements of arguments at table inames are one atom for each
//! element, with a table that is one where it is read; operations that are no polynomials are atoms, one for each value of the table inames
//! that they depend on. The body of a sum is distributed over its factors first, so that what does not depend on the reduction
//! inames is taken out before anything is multiplied (`distribute`).
//! # Complexity
//! Limits: [`MAX_POINTS`] atoms for one operation, [`crate::polynomial::MAX_TERMS`] and [`crate::polynomial::MAX_WORK`].
//! Source: Kirby and Logg, "A compiler for variational forms", TOMS 2006 (tensor representation); Luporini et al., TOMS 2017.

mod atomic;

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::types::Types;
use nestegg_ir::walk::{OperandsFirst, arrays_below};
use nestegg_ir::{ArgumentAccess, ArrayId, ArrayKind, Expr, ExprId, InameId, InameSet, Kernel, Number, Op, ReduceOp};
use rustc_hash::FxHashMap;

use crate::atoms::Scalar;
use crate::distribute::{Factor, Product, distribute};
use crate::elements::constant_shape;
use crate::polynomial::{Algebra, Polynomial};
use crate::table::ProductId;

/// For how many values of table inames an operation that is no polynomial may be taken apart.
pub(crate) const MAX_POINTS: usize = 256;

/// A kernel whose expressions become polynomials.
#[derive(Debug)]
pub(crate) struct Evaluator {
    pub(crate) kernel: Kernel,
    pub(crate) algebra: Algebra,
    types: Types,
    table_inames: InameSet,
    /// Inames that stay loops, and index tables together with table inames.
    points: InameSet,
    /// Inames that stand for run-time numbers, and index tables in the same way. No operation is taken apart over their values.
    selectors: InameSet,
    /// Free table inames of each expression, as far as they were asked for.
    free: FxHashMap<ExprId, InameSet>,
    done: FxHashMap<ExprId, Option<Polynomial>>,
    products: FxHashMap<ExprId, Option<Vec<Product>>>,
    written: Vec<bool>,
    substituted: FxHashMap<(ExprId, Vec<(InameId, i64)>), ExprId>,
}

impl Evaluator {
    /// Of a kernel whose table inames are those. A table that is indexed by one of them may have axes in `selectors` too; what
    /// depends on `selectors` alone is an atom.
    pub(crate) fn new(kernel: Kernel, algebra: Algebra, table_inames: InameSet, selectors: InameSet) -> Self {
        Self {
            types: Types::infer(&kernel),
            written: kernel.written(),
            kernel,
            algebra,
            table_inames,
            points: InameSet::new(),
            selectors,
            free: FxHashMap::default(),
            done: FxHashMap::default(),
            products: FxHashMap::default(),
            substituted: FxHashMap::default(),
        }
    }

    /// Begins anew with other table inames, at other points, without selectors; answers what was computed with. What was added to the kernel since is taken notice of.
    pub(crate) fn restart(&mut self, algebra: Algebra, table_inames: InameSet, points: InameSet) -> Algebra {
        self.extend();
        self.written.resize(self.kernel.arrays.len(), false);
        (self.table_inames, self.points, self.selectors) = (table_inames, points, InameSet::new());
        self.free.clear();
        self.done.clear();
        self.products.clear();
        std::mem::replace(&mut self.algebra, algebra)
    }

    /// Takes notice of expressions that were added to the kernel.
    pub(crate) fn extend(&mut self) {
        self.types.extend(&self.kernel);
    }

    /// The polynomial of an expression, if it has one within the limits.
    pub(crate) fn evaluate(&mut self, root: ExprId) -> Option<Polynomial> {
        let mut walk = OperandsFirst::new(root);
        while let Some(id) = walk.next_unknown(|id| self.done.contains_key(id)) {
            if walk.waits_for(self.needed(id), |needed| self.done.contains_key(needed)) {
                continue;
            }
            let res = if self.algebra.is_exceeded() { None } else { self.combine(id) };
            self.done.insert(id, res);
        }
        self.done.get(&root).cloned().flatten()
    }

    /// Which expressions must have polynomials before this one can have one.
    fn needed(&mut self, id: ExprId) -> Vec<ExprId> {
        match &self.kernel.exprs[id] {
            Expr::Op { op: Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::Div, operands } => operands.to_vec(),
            Expr::Op { op: Op::Pow, operands } => vec![operands[0]],
            Expr::Op { operands, .. } | Expr::Call { arguments: operands, .. } => {
                operands.iter().copied().filter(|&operand| self.types.of(operand).is_float()).collect()
            }
            Expr::Reduce { op: ReduceOp::Sum, inames, body } if self.types.of(*body).is_float() => {
                let inames: InameSet = inames.iter().copied().collect();
                if !inames.is_subset(&self.table_inames) {
                    return Vec::new();
                }
                let body = *body;
                if !self.products.contains_key(&id) {
                    self.note_free(body);
                    let free = |expr: ExprId| self.free.get(&expr).cloned().unwrap_or_default();
                    let products = distribute(&self.kernel, body, &inames, &free);
                    self.products.insert(id, products);
                }
                self.products[&id]
                    .iter()
                    .flatten()
                    .flat_map(|product| &product.factors)
                    .map(|factor| factor.expr)
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn combine(&mut self, id: ExprId) -> Option<Polynomial> {
        match self.kernel.exprs[id].clone() {
            Expr::Number(number) => Some(Polynomial::number(number.to_f64())),
            Expr::Access { array, indices } => self.access(id, array, &indices),
            Expr::Op { op: Op::Add, operands } => {
                let signed: Vec<(ExprId, f64)> = operands.iter().map(|&operand| (operand, 1.0)).collect();
                self.sum(&signed)
            }
            Expr::Op { op: Op::Sub, operands } => self.sum(&[(operands[0], 1.0), (operands[1], -1.0)]),
            Expr::Op { op: Op::Neg, operands } => self.sum(&[(operands[0], -1.0)]),
            Expr::Op { op: Op::Mul, operands } => {
                let mut res = Polynomial::number(1.0);
                for operand in operands {
                    let factor = self.done[&operand].clone()?;
                    res = self.algebra.multiply(&res, &factor)?;
                }
                Some(res)
            }
            Expr::Op { op: Op::Div, operands } => {
                let (dividend, divisor) = (self.done[&operands[0]].clone()?, self.done[&operands[1]].clone()?);
                let divisor = self.without_selectors(operands[1], divisor)?;
                let inverse = self.power(&divisor, -1)?;
                self.algebra.multiply(&dividend, &inverse)
            }
            Expr::Op { op: Op::Pow, operands } if self.whole(operands[1]).is_some() => {
                let exponent = self.whole(operands[1])?;
                let mut base = self.done[&operands[0]].clone()?;
                if exponent < 0 {
                    base = self.without_selectors(operands[0], base)?;
                }
                self.power(&base, exponent)
            }
            Expr::Reduce { op: ReduceOp::Sum, inames, .. } if self.products.contains_key(&id) => {
                self.reduction(id, &inames.iter().copied().collect())
            }
            Expr::Cast { .. } | Expr::Reduce { .. } | Expr::Iname(_) | Expr::Parameter(_) => self.as_it_is(id),
            Expr::Op { operands, .. } | Expr::Call { arguments: operands, .. } => self.operation(id, &operands),
            Expr::Formal(_) | Expr::Substitution { .. } => None,
        }
    }

    fn sum(&mut self, terms: &[(ExprId, f64)]) -> Option<Polynomial> {
        let mut res = Polynomial::zero();
        for &(operand, factor) in terms {
            res.add(self.done[&operand].as_ref()?, factor);
        }
        Some(self.algebra.collapsed(res))
    }

    /// A literal whole exponent.
    fn whole(&self, exponent: ExprId) -> Option<i32> {
        match self.kernel.exprs[exponent] {
            Expr::Number(Number::Int(value)) => i32::try_from(value).ok().filter(|value| value.abs() <= 64),
            Expr::Op { op: Op::Neg, ref operands } => self.whole_literal(operands[0]).map(|value| -value),
            Expr::Number(Number::Float(value)) if value.get().fract() == 0.0 && value.get().abs() <= 64.0 => {
                Some(value.get() as i32)
            }
            _ => None,
        }
    }

    fn whole_literal(&self, exponent: ExprId) -> Option<i32> {
        match self.kernel.exprs[exponent] {
            Expr::Number(Number::Int(value)) => i32::try_from(value).ok().filter(|value| value.abs() <= 64),
            _ => None,
        }
    }

    /// `base**exponent`; a base with tables is taken apart for negative exponents.
    fn power(&mut self, base: &Polynomial, exponent: i32) -> Option<Polynomial> {
        if let Some(scalar) = base.as_scalar() {
            return self.scalar_power(scalar, exponent);
        }
        if exponent >= 0 {
            let mut res = Polynomial::number(1.0);
            for _ in 0..exponent {
                res = self.algebra.multiply(&res, base)?;
            }
            return Some(res);
        }
        let axes = self.axes(base);
        let mut res = Polynomial::zero();
        for point in self.points(&axes)? {
            let value = self.at(base, &axes, &point)?;
            let inverse = self.scalar_power(value, exponent)?;
            let indicator = self.indicator(&axes, &point);
            res.add(&self.algebra.multiply(&inverse, &indicator)?, 1.0);
        }
        Some(res)
    }

    fn scalar_power(&mut self, scalar: Scalar, exponent: i32) -> Option<Polynomial> {
        let coefficient = scalar.coefficient.get().powi(exponent);
        if !coefficient.is_finite() {
            return None;
        }
        let one = crate::atoms::MonomialId::ONE;
        let monomial = self.algebra.atoms.multiply(one, scalar.monomial, exponent);
        Some(Polynomial::term(coefficient, monomial, ProductId::ONE))
    }

    /// The value of an expression without tables that run-time numbers select: what has some is an atom for each value of its table inames.
    fn without_selectors(&mut self, id: ExprId, value: Polynomial) -> Option<Polynomial> {
        if self.axes(&value).is_disjoint(&self.selectors) { Some(value) } else { self.as_it_is(id) }
    }

    /// The table inames of a polynomial.
    fn axes(&self, polynomial: &Polynomial) -> InameSet {
        let mut res = InameSet::new();
        for (_, product, _) in polynomial.terms() {
            res = res.union(&self.algebra.tables.axes(product));
        }
        res
    }

    /// All points of some axes, row-major; `None` if there are too many.
    fn points(&self, axes: &InameSet) -> Option<Vec<Vec<usize>>> {
        let mut res = vec![Vec::new()];
        for axis in axes.iter() {
            let extent = self.algebra.tables.extent(axis)?;
            if res.len().saturating_mul(extent) > MAX_POINTS {
                return None;
            }
            res = res
                .iter()
                .flat_map(|point: &Vec<usize>| {
                    (0..extent).map(move |idx| point.iter().copied().chain([idx]).collect::<Vec<usize>>())
                })
                .collect();
        }
        Some(res)
    }

    /// The value of a polynomial at a point of axes that include its own.
    fn at(&mut self, polynomial: &Polynomial, axes: &InameSet, point: &[usize]) -> Option<Scalar> {
        let mut res = Polynomial::zero();
        for (monomial, product, coefficient) in polynomial.terms() {
            let mut value = coefficient;
            for table in self.algebra.tables.factors(product) {
                let mut offset = 0;
                for &axis in &table.axes {
                    let idx = axes.as_slice().binary_search(&axis).ok()?;
                    offset = offset * self.algebra.tables.extent(axis)? + point[idx];
                }
                value *= table.data[offset];
            }
            res.add_term(value, monomial, ProductId::ONE);
        }
        self.algebra.collapsed(res).as_scalar()
    }

    /// The table that is one at a point and zero elsewhere.
    fn indicator(&mut self, axes: &InameSet, point: &[usize]) -> Polynomial {
        let mut res = Polynomial::number(1.0);
        // One table for each axis, so that it stays separable.
        for (axis, &value) in axes.iter().zip(point) {
            let extent = self.algebra.tables.extent(axis).unwrap_or(0);
            let data = (0..extent).map(|idx| if idx == value { 1.0 } else { 0.0 }).collect();
            let table = self.algebra.tables.table(vec![axis], data);
            let factor = table.map_or_else(Polynomial::zero, |(coefficient, product)| {
                Polynomial::term(coefficient, crate::atoms::MonomialId::ONE, product)
            });
            res = self.algebra.multiply(&res, &factor).unwrap_or_else(Polynomial::zero);
        }
        res
    }

    fn reduction(&mut self, id: ExprId, inames: &InameSet) -> Option<Polynomial> {
        let products = self.products[&id].clone()?;
        let mut res = Polynomial::zero();
        for Product { is_negative, factors } in products {
            let sign = if is_negative { -1.0 } else { 1.0 };
            let (mut inside, mut outside) = (Polynomial::number(1.0), Polynomial::number(sign));
            // What depends on fewest axes is multiplied first.
            let mut factors: Vec<(usize, Factor)> = factors
                .into_iter()
                .map(|factor| (self.done[&factor.expr].as_ref().map_or(0, |known| self.axes(known).len()), factor))
                .collect();
            factors.sort_by_key(|factor| factor.0);
            for (_, factor) in factors {
                let mut value = self.done[&factor.expr].clone()?;
                if factor.is_divisor {
                    value = self.without_selectors(factor.expr, value)?;
                    value = self.power(&value, -1)?;
                }
                if self.axes(&value).is_disjoint(inames) {
                    outside = self.algebra.multiply(&outside, &value)?;
                } else {
                    inside = self.algebra.multiply(&inside, &value)?;
                }
            }
            let sum = self.algebra.sum(&inside, inames)?;
            let sum = self.algebra.collapsed(sum);
            res.add(&self.algebra.multiply(&outside, &sum)?, 1.0);
        }
        Some(self.algebra.collapsed(res))
    }

    fn access(&mut self, id: ExprId, array: ArrayId, indices: &[ExprId]) -> Option<Polynomial> {
        let affine: Option<Vec<Affine>> = indices.iter().map(|&index| affine::of(&self.kernel.exprs, index)).collect();
        self.note_free(id);
        let axes = self.free.get(&id).cloned()?;
        match &self.kernel[array].kind {
            ArrayKind::Table(data) => {
                let Some(affine) = affine else { return self.as_it_is(id) };
                if axes.is_empty() && !indices.is_empty() && affine.iter().any(|index| index.as_constant().is_none()) {
                    return self.as_it_is(id);
                }
                let at_points = affine.iter().flat_map(|index| index.inames().collect::<Vec<_>>());
                let axes: InameSet = axes
                    .iter()
                    .chain(at_points.filter(|&iname| self.points.contains(iname) || self.selectors.contains(iname)))
                    .collect();
                let is_constant = affine.iter().all(|index| {
                    index.terms.iter().all(|(var, _)| matches!(var, Var::Iname(iname) if axes.contains(*iname)))
                });
                if !is_constant {
                    return self.as_it_is(id);
                }
                let data = data.clone();
                let shape: Vec<i64> = constant_shape(&self.kernel, array)?;
                let n_points = axes
                    .iter()
                    .map(|axis| self.algebra.tables.extent(axis))
                    .try_fold(1usize, |n, extent| n.checked_mul(extent?))?;
                if n_points > 4_000_000 {
                    return None;
                }
                let mut res = Vec::with_capacity(n_points);
                let mut point = vec![0i64; axes.len()];
                for _ in 0..n_points {
                    let mut offset = 0;
                    for (index, &extent) in affine.iter().zip(&shape) {
                        let value = index.constant
                            + axes
                                .iter()
                                .zip(&point)
                                .map(|(axis, &at)| index.coefficient(Var::Iname(axis)) * at)
                                .sum::<i64>();
                        if value < 0 || value >= extent {
                            return None;
                        }
                        offset = offset * extent + value;
                    }
                    res.push(data.get(usize::try_from(offset).ok()?)?.to_f64());
                    for (axis, at) in axes.iter().zip(&mut point).rev() {
                        *at += 1;
                        if (*at as usize) < self.algebra.tables.extent(axis)? {
                            break;
                        }
                        *at = 0;
                    }
                }
                let axes: Vec<InameId> = axes.iter().collect();
                let table = self.algebra.tables.table(axes, res);
                Some(table.map_or_else(Polynomial::zero, |(coefficient, product)| {
                    Polynomial::term(coefficient, crate::atoms::MonomialId::ONE, product)
                }))
            }
            ArrayKind::Argument(ArgumentAccess::Write) => None,
            // What is written somewhere may be another value at each place.
            _ if self.written[array.index()] => None,
            _ => self.as_it_is(id),
        }
    }

    /// Whether an expression reads memory that the kernel writes.
    fn reads_written(&self, root: ExprId) -> bool {
        arrays_below(&self.kernel.exprs, [root]).into_iter().any(|array| self.written[array.index()])
    }

    /// An expression with values in the place of inames.
    fn substitute(&mut self, root: ExprId, values: &[(InameId, i64)]) -> ExprId {
        if values.is_empty() {
            return root;
        }
        let key = (root, values.to_vec());
        if let Some(&known) = self.substituted.get(&key) {
            return known;
        }
        let rewritten = self.kernel.exprs.rewrite([root], |exprs, _, expr| match expr {
            Expr::Iname(iname) => match values.iter().find(|value| value.0 == iname) {
                Some(&(_, value)) => exprs.int(value),
                None => exprs.intern(expr),
            },
            Expr::Access { array, indices } => {
                let indices: Vec<ExprId> = indices
                    .iter()
                    .map(|&index| match affine::of(exprs, index).and_then(|affine| affine.as_constant()) {
                        Some(value) => exprs.int(value),
                        None => index,
                    })
                    .collect();
                exprs.access(array, indices)
            }
            expr => exprs.intern(expr),
        });
        let res = rewritten.get(root);
        self.types.extend(&self.kernel);
        self.substituted.insert(key, res);
        res
    }

    /// Notes the free table inames of an expression and of all below it.
    fn note_free(&mut self, root: ExprId) {
        let mut walk = OperandsFirst::new(root);
        while let Some(id) = walk.next_unknown(|id| self.free.contains_key(id)) {
            let expr = &self.kernel.exprs[id];
            if walk.waits_for(expr.children().iter().copied(), |child| self.free.contains_key(child)) {
                continue;
            }
            let mut free = expr.children().iter().fold(InameSet::new(), |free, child| free.union(&self.free[child]));
            match expr {
                Expr::Iname(iname) if self.table_inames.contains(*iname) => {
                    free.insert(*iname);
                }
                Expr::Reduce { inames, .. } => inames.iter().for_each(|&iname| {
                    free.remove(iname);
                }),
                _ => {}
            }
            self.free.insert(id, free);
        }
    }
}

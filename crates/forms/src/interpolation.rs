//! Interpolation by fewer products: the entries of a table row that add up to a constant.
//!
//! # Input
//! A kernel in value form.
//! # Output
//! An equal kernel in which `T[q, 0]*x + T[q, 1]*y` is `x + T[q, 1]*(y - x)`, where `T[q, 0] + T[q, 1]` is 1 for all `q`; and likewise for more entries and other
//! constants, zero among them. `None` if there is no such sum.
//! # Method
//! Bottom-up over sums: terms that are products with an element of one table, at the same indices but for one that is each of its values once, are taken
//! together. The differences depend on fewer inames than the products that go. Rows must add up to the constant within the tolerance for tables.
//! # Complexity
//! Linear in the expressions and the tables.
//! Source: the barycentric frame; Kirby and Logg, "Benchmarking domain-specific compiler optimizations for variational forms", ACM TOMS 2008.

use indexmap::IndexMap;
use nestegg_ir::affine;
use nestegg_ir::{ArrayId, Expr, ExprId, Exprs, Float, InsnId, Kernel, LinearizedKernel, Number, Op};
use nestegg_solve::cluster::TOLERANCE;
use rustc_hash::FxHashMap;

use crate::{LinearMaps, Tolerance};

/// How many terms of a sum are looked at together.
const MAX_TERMS: usize = 64;

/// The kernel with interpolation by differences; `None` if it has nothing of the kind.
#[must_use]
pub fn interpolate(linearized: &LinearizedKernel) -> Option<LinearMaps> {
    let mut kernel = linearized.kernel.clone();
    let mut exprs: Exprs = std::mem::take(&mut kernel.exprs);
    let mut search = Search { kernel: &kernel, constants: FxHashMap::default(), n_found: 0 };
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    let rewritten = exprs.rewrite(roots, |exprs, _, expr| match &expr {
        Expr::Op { op: Op::Add | Op::Sub, .. } => {
            let plain = exprs.intern(expr);
            search.rewritten(exprs, plain).unwrap_or(plain)
        }
        _ => exprs.intern(expr),
    });
    let Search { n_found, .. } = search;
    if n_found == 0 {
        return None;
    }
    for insn in 0..kernel.instructions.len() {
        kernel[InsnId::new(insn)].map_expressions(|expr| rewritten.get(expr));
    }
    kernel.exprs = exprs;
    let linearized = LinearizedKernel { kernel, linearization: linearized.linearization.clone() };
    let tolerance = Tolerance { n_changed: n_found, largest_change: TOLERANCE };
    Some(LinearMaps { linearized, n_stores: 0, n_features: 0, tolerance })
}

/// Elements of a table that differ in one index.
type Family = (ArrayId, usize, Vec<ExprId>);

struct Search<'a> {
    /// The kernel without its expressions.
    kernel: &'a Kernel,
    /// For each table and position the constant that its elements add up to over that index, if there is one.
    constants: FxHashMap<(ArrayId, usize), Option<f64>>,
    n_found: usize,
}

impl Search<'_> {
    /// A sum with interpolation by differences; `None` if there is nothing of the kind in it.
    fn rewritten(&mut self, exprs: &mut Exprs, sum: ExprId) -> Option<ExprId> {
        let terms = terms(exprs, sum)?;
        let mut families: IndexMap<Family, Vec<(i64, usize, ExprId)>> = IndexMap::new();
        for (idx, &(term, _)) in terms.iter().enumerate() {
            for (array, indices, rest) in elements(exprs, term) {
                if self.kernel[array].table().is_none() {
                    continue;
                }
                for position in 0..indices.len() {
                    let Some(value) = affine::of(exprs, indices[position]).and_then(|index| index.as_constant()) else {
                        continue;
                    };
                    let mut others = indices.to_vec();
                    others.remove(position);
                    families.entry((array, position, others)).or_default().push((value, idx, rest));
                }
            }
        }
        for ((array, position, _), mut members) in families {
            let extent = self.extent(exprs, array, position)?;
            members.sort_unstable();
            members.dedup_by_key(|member| member.1);
            let is_complete = members.len() == extent
                && members.iter().zip(0..).all(|(member, value)| member.0 == value)
                && extent > 1;
            if !is_complete {
                continue;
            }
            let Some(constant) = self.constant(exprs, array, position) else { continue };
            self.n_found += 1;
            return Some(self.by_differences(exprs, &terms, &members, constant));
        }
        None
    }

    /// The sum with the first member's element replaced by the constant less the others.
    fn by_differences(
        &self,
        exprs: &mut Exprs,
        terms: &[(ExprId, bool)],
        members: &[(i64, usize, ExprId)],
        constant: f64,
    ) -> ExprId {
        let signed = |exprs: &mut Exprs, idx: usize, value: ExprId| {
            if terms[idx].1 { exprs.op(Op::Neg, [value]) } else { value }
        };
        let (_, first_idx, first) = members[0];
        let first = signed(exprs, first_idx, first);
        let mut res = Vec::new();
        if constant == 1.0 {
            res.push(first);
        } else if let Some(literal) = Float::new(constant).filter(|literal| literal.get() != 0.0) {
            let literal = exprs.float(literal);
            res.push(exprs.op(Op::Mul, [literal, first]));
        }
        for &(_, idx, value) in &members[1..] {
            let value = signed(exprs, idx, value);
            let difference = exprs.op(Op::Sub, [value, first]);
            let (array, indices) = element_of(exprs, terms[idx].0, members, idx);
            let element = exprs.access(array, indices);
            res.push(exprs.op(Op::Mul, [element, difference]));
        }
        for (idx, &(term, is_negative)) in terms.iter().enumerate() {
            if members.iter().all(|member| member.1 != idx) {
                res.push(if is_negative { exprs.op(Op::Neg, [term]) } else { term });
            }
        }
        match res.as_slice() {
            [single] => *single,
            _ => exprs.op(Op::Add, res),
        }
    }

    fn extent(&self, exprs: &Exprs, array: ArrayId, position: usize) -> Option<usize> {
        let size = affine::of(exprs, *self.kernel[array].shape.get(position)?)?.as_constant()?;
        usize::try_from(size).ok()
    }

    /// What the elements of a table add up to over one index, if that is the same everywhere.
    fn constant(&mut self, exprs: &Exprs, array: ArrayId, position: usize) -> Option<f64> {
        if let Some(&known) = self.constants.get(&(array, position)) {
            return known;
        }
        let res = self.sum_over(exprs, array, position);
        self.constants.insert((array, position), res);
        res
    }

    fn sum_over(&self, exprs: &Exprs, array: ArrayId, position: usize) -> Option<f64> {
        let values = self.kernel[array].table()?;
        let shape: Option<Vec<usize>> =
            (0..self.kernel[array].shape.len()).map(|at| self.extent(exprs, array, at)).collect();
        let shape = shape?;
        let inner: usize = shape[position + 1..].iter().product();
        let outer: usize = shape[..position].iter().product();
        let largest = values.iter().map(|value: &Number| value.to_f64().abs()).fold(0.0_f64, f64::max);
        let sum = |block: usize, column: usize| -> f64 {
            (0..shape[position]).map(|at| values[(block * shape[position] + at) * inner + column].to_f64()).sum()
        };
        let constant = sum(0, 0);
        let is_same = (0..outer)
            .all(|block| (0..inner).all(|column| (sum(block, column) - constant).abs() <= TOLERANCE * largest));
        // What should be a whole number is one.
        let whole = constant.round();
        let constant = if (whole - constant).abs() <= TOLERANCE * largest { whole } else { constant };
        is_same.then_some(constant)
    }
}

/// The terms of a sum, and whether each is subtracted; `None` if there are too many.
fn terms(exprs: &Exprs, sum: ExprId) -> Option<Vec<(ExprId, bool)>> {
    let mut res = Vec::new();
    let mut pending = vec![(sum, false)];
    while let Some((id, is_negative)) = pending.pop() {
        match &exprs[id] {
            Expr::Op { op: Op::Add, operands } => {
                pending.extend(operands.iter().rev().map(|&operand| (operand, is_negative)));
            }
            Expr::Op { op: Op::Sub, operands } => {
                pending.push((operands[1], !is_negative));
                pending.push((operands[0], is_negative));
            }
            Expr::Op { op: Op::Neg, operands } => pending.push((operands[0], !is_negative)),
            _ => res.push((id, is_negative)),
        }
        if res.len() + pending.len() > MAX_TERMS {
            return None;
        }
    }
    Some(res)
}

/// The elements that a term is a product with, each with the other factor. Only products of two.
fn elements(exprs: &Exprs, term: ExprId) -> Vec<(ArrayId, Box<[ExprId]>, ExprId)> {
    let Expr::Op { op: Op::Mul, operands } = &exprs[term] else { return Vec::new() };
    let [a, b] = operands.as_ref() else { return Vec::new() };
    [(*a, *b), (*b, *a)]
        .into_iter()
        .filter_map(|(element, rest)| match &exprs[element] {
            Expr::Access { array, indices } => Some((*array, indices.clone(), rest)),
            _ => None,
        })
        .collect()
}

/// The element of a member: the factor of its term that is not the other one.
fn element_of(exprs: &Exprs, term: ExprId, members: &[(i64, usize, ExprId)], idx: usize) -> (ArrayId, Box<[ExprId]>) {
    let rest = members.iter().find(|member| member.1 == idx).map(|member| member.2);
    let found = elements(exprs, term).into_iter().find(|element| Some(element.2) == rest);
    let (array, indices, _) = found.expect("members are made of the elements of their terms");
    (array, indices)
}

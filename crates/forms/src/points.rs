//! Stores as sums over points of tables times features of the points.
//!
//! # Input
//! Stores `A[…] = A[…] + sum(q, e)`.
//! # Output
//! The same stores with `e` as a sum of products of tables times *features*, which depend on the points `q` but not on the store's own inames; the features are
//! written with few operations by the solver of polynomial systems.
//! # Method
//! `e` is evaluated as a polynomial over the store's table inames; at the points, everything that does not depend on these is an atom or a polynomial of atoms.
//! In which order the reductions are done is left to the rules of the e-graph.

use indexmap::IndexMap;
use nestegg_ir::linearization::from_tree;
use nestegg_ir::{Expr, ExprId, InameSet, InstructionKind, Kernel, LinearizedKernel, Op, ReduceOp};
use rustc_hash::FxBuildHasher;

use crate::atoms::Atoms;
use crate::evaluate::Evaluator;
use crate::nests::NewTables;
use crate::polynomial::{Algebra, Polynomial};
use crate::scalars::{self, Terms};
use crate::stores::{self, Store};
use crate::table::{ProductId, TableStore};
use crate::{FormError, LinearMaps, Options, Tolerance};
use nestegg_ir::names::Names;

/// The kernel with features at points; `None` if no store is such a sum.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn point_features(linearized: &LinearizedKernel, options: &Options) -> Result<Option<LinearMaps>, FormError> {
    let Some(found) = stores::find(linearized)? else { return Ok(None) };
    let extents = stores::extents(&linearized.kernel)?;
    let mut names = Names::new(&linearized.kernel);
    let mut evaluator = found.evaluator;
    evaluator.algebra.sums = options.sums;
    let (mut n_stores, mut n_features) = (0, 0);
    for store in &found.stores {
        let axes: InameSet = store.axes.iter().copied().collect();
        let Some(sum) = PointSum::of(&mut evaluator, store, &axes, TableStore::symbolic(extents.clone()), &extents)
        else {
            continue;
        };
        n_stores += 1;
        n_features += sum.write(&mut evaluator.kernel, &mut names, store, options);
    }
    if n_stores == 0 || !evaluator.algebra.has_form() {
        return Ok(None);
    }
    let linearized = LinearizedKernel { linearization: from_tree(&found.trees), kernel: evaluator.kernel };
    Ok(Some(LinearMaps { linearized, n_stores, n_features, tolerance: Tolerance::default() }))
}

/// The value of a store before it is summed over points.
#[derive(Debug)]
pub(crate) struct PointSum {
    /// What is summed.
    pub(crate) value: Polynomial,
    pub(crate) tables: TableStore,
    pub(crate) atoms: Atoms,
    /// The inames of the points.
    pub(crate) reduced: InameSet,
}

impl PointSum {
    /// The sum over points that a store adds; `None` if it adds something else. The evaluator begins anew; expressions that are made on the way are added to its kernel.
    pub(crate) fn of(
        evaluator: &mut Evaluator,
        store: &Store,
        axes: &InameSet,
        tables: TableStore,
        extents: &[Option<usize>],
    ) -> Option<Self> {
        // What is no sum is one over no points.
        let bodies: Vec<(InameSet, ExprId, f64)> = store
            .terms
            .iter()
            .map(|&(term, sign)| match &evaluator.kernel.exprs[term] {
                Expr::Reduce { op: ReduceOp::Sum, inames, body } => (inames.iter().copied().collect(), *body, sign),
                _ => (InameSet::new(), term, sign),
            })
            .collect();
        let reduced = bodies.first()?.0.clone();
        let is_constant = reduced.iter().all(|iname| extents.get(iname.index()).copied().flatten().is_some());
        if !is_constant || bodies.iter().any(|body| body.0 != reduced) {
            return None;
        }
        let algebra = evaluator.algebra.renewed(&evaluator.kernel, tables);
        evaluator.restart(algebra, axes.clone(), reduced.clone());
        let mut value = Polynomial::zero();
        for (_, body, sign) in bodies {
            value.add(&evaluator.evaluate(body)?, sign);
        }
        let nothing = evaluator.algebra.renewed(&evaluator.kernel, TableStore::symbolic(Vec::new()));
        let Algebra { atoms, tables, .. } = evaluator.restart(nothing, InameSet::new(), InameSet::new());
        Some(Self { value, tables, atoms, reduced })
    }

    /// Writes the sum as the store's value; answers how many features it has.
    fn write(self, kernel: &mut Kernel, names: &mut Names, store: &Store, options: &Options) -> usize {
        let Self { value, tables, atoms, reduced } = self;
        let mut features: IndexMap<ProductId, Terms, FxBuildHasher> = IndexMap::default();
        for (monomial, product, coefficient) in value.terms() {
            features.entry(product).or_default().push((monomial, coefficient));
        }
        let n_features = features.len();
        let (products, polynomials): (Vec<ProductId>, Vec<Terms>) = features.into_iter().unzip();
        let values = scalars::polynomials(kernel, &atoms, polynomials, options);
        let InstructionKind::Assignment { assignee, .. } = kernel[store.insn].kind.clone() else { return 0 };
        let dtype = kernel[assignee.array].dtype;
        let mut arrays = NewTables::new(dtype);
        let mut terms = Vec::new();
        for (product, value) in products.into_iter().zip(values) {
            let Some(value) = value else { continue };
            let mut factors = Vec::new();
            for table in tables.factors(product) {
                let shape: Vec<usize> = table.axes.iter().map(|&axis| tables.extent(axis).unwrap_or(1)).collect();
                let array =
                    arrays.table(kernel, names, &shape, &table.data).expect("products within the limits are finite");
                let indices: Vec<ExprId> = table.axes.iter().map(|&axis| kernel.exprs.iname(axis)).collect();
                factors.push(kernel.exprs.access(array, indices));
            }
            factors.push(value);
            terms.push(match factors.as_slice() {
                [single] => *single,
                _ => kernel.exprs.op(Op::Mul, factors),
            });
        }
        let body = match terms.as_slice() {
            [] => scalars::number(kernel, 0.0),
            [single] => *single,
            _ => kernel.exprs.op(Op::Add, terms),
        };
        let mut sum = body;
        if !reduced.is_empty() {
            sum = kernel.exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames: reduced.iter().collect(), body });
        }
        if store.is_accumulation {
            let element = kernel.exprs.access(assignee.array, assignee.indices.clone());
            sum = kernel.exprs.op(Op::Add, [element, sum]);
        }
        if let InstructionKind::Assignment { expression, .. } = &mut kernel[store.insn].kind {
            *expression = sum;
        }
        n_features
    }
}

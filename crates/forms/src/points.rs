//! Stores as sums over points of tables times features of the points.
//!
//! # Input
//! Stores `A[…] = A[…] + sum(q, e)`.
//! # Output
//! The same stores with `e` as a sum of products of tables times *features*, which depend on the points `q` but not on the store's own inames; the features are
//! written with few operations by the solver of polynomial systems.
//! # Method
//! `e` is evaluated as a polynomial over the store's table inames; at the points, everything that does not depend on these is an atom or a polynomial of atoms.
//! In which order the reductions are done is left to the rules of the e-graph. [`Stores`] says whether the features of several stores are one system.

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
use crate::{FormError, LinearMaps, Options, Stores, Tolerance};
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
    let mut groups: IndexMap<InameSet, Group<'_>, FxBuildHasher> = IndexMap::default();
    for store in &found.stores {
        let axes: InameSet = store.axes.iter().copied().collect();
        let Some(reduced) = PointSum::points(&evaluator.kernel, store, &extents) else { continue };
        let new = || Group { atoms: evaluator.algebra.renewed(&evaluator.kernel, no_tables()).atoms, sums: Vec::new() };
        let group = groups.entry(reduced.clone()).or_insert_with(new);
        let tables = TableStore::symbolic(extents.clone());
        if let Some(sum) = PointSum::of(&mut evaluator, (store, &axes), reduced, tables, &mut group.atoms) {
            group.sums.push((store, sum));
        }
    }
    if options.stores == Stores::Apart && groups.values().all(|group| group.sums.len() < 2) {
        return Ok(None);
    }
    let (mut n_stores, mut n_features) = (0, 0);
    for group in groups.into_values() {
        n_stores += group.sums.len();
        n_features += group.write(&mut evaluator.kernel, &mut names, options);
    }
    if n_stores == 0 || !evaluator.algebra.has_form() {
        return Ok(None);
    }
    let linearized = LinearizedKernel { linearization: from_tree(&found.trees), kernel: evaluator.kernel };
    Ok(Some(LinearMaps { linearized, n_stores, n_features, tolerance: Tolerance::default() }))
}

/// Stores that are summed over the same points: what their features have in common is computed alike.
struct Group<'a> {
    atoms: Atoms,
    sums: Vec<(&'a Store, PointSum)>,
}

/// The value of a store before it is summed over points.
#[derive(Debug)]
pub(crate) struct PointSum {
    /// What is summed.
    pub(crate) value: Polynomial,
    pub(crate) tables: TableStore,
    /// The inames of the points.
    pub(crate) reduced: InameSet,
}

/// Tables of nothing.
pub(crate) fn no_tables() -> TableStore {
    TableStore::symbolic(Vec::new())
}

impl PointSum {
    /// The inames of the points over which a store sums; `None` if its terms have several, or not a constant number of points. What is no sum is one over no points.
    pub(crate) fn points(kernel: &Kernel, store: &Store, extents: &[Option<usize>]) -> Option<InameSet> {
        let reduced = |&(term, _): &(ExprId, f64)| match &kernel.exprs[term] {
            Expr::Reduce { op: ReduceOp::Sum, inames, .. } => inames.iter().copied().collect(),
            _ => InameSet::new(),
        };
        let res = reduced(store.terms.first()?);
        let is_constant = res.iter().all(|iname| extents.get(iname.index()).copied().flatten().is_some());
        (is_constant && store.terms.iter().all(|term| reduced(term) == res)).then_some(res)
    }

    /// The sum that a store adds over [its points](Self::points); `None` if it is no polynomial. The evaluator begins anew but for the atoms, to which those of the store are added;
    /// expressions that are made on the way are added to its kernel.
    pub(crate) fn of(
        evaluator: &mut Evaluator,
        (store, axes): (&Store, &InameSet),
        reduced: InameSet,
        tables: TableStore,
        atoms: &mut Atoms,
    ) -> Option<Self> {
        let mut algebra = evaluator.algebra.renewed(&evaluator.kernel, tables);
        std::mem::swap(&mut algebra.atoms, atoms);
        evaluator.restart(algebra, axes.clone(), reduced.clone());
        let mut value = Some(Polynomial::zero());
        for &(term, sign) in &store.terms {
            let body = match evaluator.kernel.exprs[term] {
                Expr::Reduce { op: ReduceOp::Sum, body, .. } => body,
                _ => term,
            };
            value = value.and_then(|mut sum| {
                sum.add(&evaluator.evaluate(body)?, sign);
                Some(sum)
            });
        }
        let nothing = evaluator.algebra.renewed(&evaluator.kernel, no_tables());
        let Algebra { atoms: found, tables, .. } = evaluator.restart(nothing, InameSet::new(), InameSet::new());
        *atoms = found;
        Some(Self { value: value?, tables, reduced })
    }

    /// The products of tables in the sum, and their features.
    fn features(&self) -> (Vec<ProductId>, Vec<Terms>) {
        let mut features: IndexMap<ProductId, Terms, FxBuildHasher> = IndexMap::default();
        for (monomial, product, coefficient) in self.value.terms() {
            features.entry(product).or_default().push((monomial, coefficient));
        }
        features.into_iter().unzip()
    }

    /// Writes the sum as the store's value: products of tables times features.
    fn write(
        self,
        kernel: &mut Kernel,
        names: &mut Names,
        store: &Store,
        features: impl Iterator<Item = (ProductId, Option<ExprId>)>,
    ) {
        let Self { tables, reduced, .. } = self;
        let InstructionKind::Assignment { assignee, .. } = kernel[store.insn].kind.clone() else { return };
        let dtype = kernel[assignee.array].dtype;
        let mut arrays = NewTables::new(dtype);
        let mut terms = Vec::new();
        for (product, value) in features {
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
    }
}

impl Group<'_> {
    /// Writes the sums as the values of their stores; answers how many features they have.
    fn write(self, kernel: &mut Kernel, names: &mut Names, options: &Options) -> usize {
        let (products, polynomials): (Vec<Vec<ProductId>>, Vec<Vec<Terms>>) =
            self.sums.iter().map(|(_, sum)| sum.features()).unzip();
        let n_features = polynomials.iter().map(Vec::len).sum();
        let systems = match options.stores {
            Stores::Together => vec![polynomials.concat()],
            Stores::Apart => polynomials,
        };
        let mut values = Vec::with_capacity(n_features);
        for system in systems {
            values.extend(scalars::polynomials(kernel, &self.atoms, system, options));
        }
        let mut values = values.into_iter();
        for ((store, sum), products) in self.sums.into_iter().zip(products) {
            let features: Vec<(ProductId, Option<ExprId>)> = products.into_iter().zip(values.by_ref()).collect();
            sum.write(kernel, names, store, features.into_iter());
        }
        n_features
    }
}

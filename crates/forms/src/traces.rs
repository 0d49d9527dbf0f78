//! Tables whose columns are zero but for a few, which a run-time number tells: basis functions on the facets of a cell.
//!
//! # Input
//! A kernel in value form, stores in loops of their own where that is lawful.
//! # Output
//! An equal kernel. Where `T[f, q, i]` is zero for all `i` but some `S[f, s]`, a sum over `i` goes over `s`, and a store that adds to `A[i]` computes a temporary `t[s]` and adds that to
//! `A[S[f, s]]`; `T'[f, q, s] = T[f, q, S[f, s]]` is a new table. If its members are alike for all `f`, it is one table `T'[q, s]`, to which all other forms apply.
//! `None` if there is nothing to leave out or to merge.
//! # Method
//! 1. [`merge`]: products and sums of tables that the same number selects become one table, as the derivatives along a facet do.
//! 2. [`supports`]: for each value, where it is zero whatever else is read. Sums over an iname that has such zeros run over the rest.
//! 3. Integrands are taken apart into terms with the same zeros, and each becomes a store over the rest. A store that sets elements sets them to zero first.
//!
//! [`columns`] orders the rest of each member so that as many tables as possible are alike for all members.
//! As for other zeros of tables, `0*x` counts as 0 also where `x` is not finite.
//! # Complexity
//! Linear in the expressions, times the entries of their tables, of which each has at most [`MAX_ENTRIES`].
//! # Not done
//! Tables of which an index is a sum of a selector and something else.
//! Source: Kirby and Logg, "A compiler for variational forms", ACM TOMS 2006 (one reference tensor for each facet); the zero columns are those of FFC, Ølgaard and Wells, "Optimizations for quadrature representations of finite element tensors through automated code generation", ACM TOMS 2010.

mod columns;
mod members;
mod merge;
mod supports;

use nestegg_ir::linearization::{LoopTree, from_tree, to_tree};
use nestegg_ir::names::{Names, add_iname};
use nestegg_ir::{
    ArrayId, ArrayKind, Assignee, Dtype, Expr, ExprId, Float, InameId, InameSet, InsnId, Instruction, InstructionKind,
    Kernel, LinearizedKernel, Number, Op, ReduceOp,
};
use rustc_hash::FxHashMap;

use crate::families;
use crate::nests::{NewTables, add_array, in_loops, signed_sum, with_replaced};
use crate::stores::{self, Store};
use crate::{FormError, LinearMaps, Tolerance};
use columns::Trace;
use members::{Element, Index};
use supports::{Supported, Supports};

/// How many numbers a table has that is looked at, or made.
const MAX_ENTRIES: usize = 200_000;

/// The kernel without the zero columns of tables that run-time numbers select; `None` if there are none.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn traces(linearized: &LinearizedKernel) -> Result<Option<LinearMaps>, FormError> {
    if !linearized.kernel.substitutions.is_empty() {
        return Ok(None);
    }
    let Some((with_inames, selectors)) = families::with_inames(linearized)? else { return Ok(None) };
    let trees = to_tree(&with_inames.linearization)?;
    let extents = stores::extents(&with_inames.kernel)?;
    let selecting: InameSet = selectors.iter().map(|selector| selector.iname).collect();
    let mut pass = merge::merged(|| Pass::new(with_inames.kernel.clone(), extents.clone(), &selecting));
    pass.shorten_sums();
    let n_sums = pass.traces.len();
    let (n_stores, trees) = pass.shorten_stores(trees);
    if pass.n_merged + n_sums + n_stores == 0 {
        return Ok(None);
    }
    let linearized = LinearizedKernel { kernel: pass.kernel, linearization: from_tree(&trees) };
    let linearized = families::restored(linearized, &selectors);
    Ok(Some(LinearMaps { linearized, n_stores, n_features: 0, tolerance: pass.tolerance }))
}

/// What the steps share.
struct Pass {
    kernel: Kernel,
    names: Names,
    /// For each iname the number of its values, if that is constant.
    extents: Vec<Option<usize>>,
    /// The inames that stand for run-time numbers.
    selecting: InameSet,
    supports: Supports,
    tables: FxHashMap<Dtype, NewTables>,
    /// How many sums were merged.
    n_merged: usize,
    traces: Vec<Trace>,
    tolerance: Tolerance,
}

impl Pass {
    fn new(kernel: Kernel, extents: Vec<Option<usize>>, selecting: &InameSet) -> Self {
        Self {
            names: Names::new(&kernel),
            kernel,
            extents,
            selecting: selecting.clone(),
            supports: Supports::default(),
            tables: FxHashMap::default(),
            n_merged: 0,
            traces: Vec::new(),
            tolerance: Tolerance::default(),
        }
    }

    /// The element of a family that an expression is.
    fn element(&self, id: ExprId) -> Option<Element> {
        Element::of(&self.kernel, id, &self.extents, &self.selecting)
    }

    fn roots(&self) -> Vec<ExprId> {
        self.kernel.instructions.iter().flat_map(Instruction::expressions).collect()
    }

    /// A table of numbers; `None` if one is not finite.
    fn add_table(&mut self, dtype: Dtype, shape: &[usize], values: &[f64]) -> Option<ArrayId> {
        let tables = self.tables.entry(dtype).or_insert_with(|| NewTables::new(dtype));
        tables.table(&mut self.kernel, &mut self.names, shape, values)
    }

    fn add_array(&mut self, stem: &str, of: (Dtype, &[usize], ArrayKind)) -> ArrayId {
        add_array(&mut self.kernel, &mut self.names, stem, of)
    }

    fn add_iname(&mut self, after: InameId, extent: usize) -> InameId {
        let res = add_iname(&mut self.kernel, &mut self.names, after, extent);
        self.extents.resize(self.kernel.inames.len(), None);
        self.extents[res.index()] = Some(extent);
        res
    }

    /// Rebuilds the expressions of all instructions, operands first; `rewrite` answers what stands in the place of each, rebuilt on its operands.
    fn rewrite(&mut self, mut rewrite: impl FnMut(&mut Self, ExprId) -> ExprId) {
        let mut new: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for old in self.kernel.exprs.reachable(self.roots()) {
            let mut expr = self.kernel.exprs[old].clone();
            expr.children_mut().iter_mut().for_each(|child| *child = new[child]);
            let rebuilt = self.kernel.exprs.intern(expr);
            let rewritten = rewrite(self, rebuilt);
            new.insert(old, rewritten);
        }
        self.kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| new[&id]));
    }

    /// Sums over inames with zeros go over the rest.
    fn shorten_sums(&mut self) {
        self.rewrite(|pass, id| {
            let Expr::Reduce { op: ReduceOp::Sum, inames, body } = pass.kernel.exprs[id].clone() else { return id };
            let supported = pass.supported(body);
            let (mut inames, mut body) = (inames.to_vec(), body);
            for place in &mut inames {
                let Some((iname, support)) = supported.iter().find(|(iname, _)| iname == place) else { continue };
                let Some(trace) = pass.trace(*iname, support) else { continue };
                body = pass.traced(body, &[trace]);
                *place = pass.traces[trace].iname;
            }
            pass.kernel.exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames: inames.into(), body })
        });
    }

    /// Stores whose values have zeros add the rest; answers how many did.
    fn shorten_stores(&mut self, trees: Vec<LoopTree>) -> (usize, Vec<LoopTree>) {
        let stores = stores::adding(&self.kernel, &trees, &self.extents);
        let mut replaced: FxHashMap<usize, Vec<LoopTree>> = FxHashMap::default();
        for store in &stores {
            if stores::reads_itself(&self.kernel, store) {
                continue;
            }
            let parts = self.parts_of(store);
            if parts.iter().any(|(supported, _)| !supported.is_empty()) {
                let trees = self.stored(store, parts);
                replaced.extend(trees.map(|trees| (store.position, trees)));
            }
        }
        (replaced.len(), with_replaced(trees, replaced))
    }

    /// The value of a store as sums of terms with the same zeros along its axes.
    fn parts_of(&mut self, store: &Store) -> Vec<(Supported, ExprId)> {
        let mut all: Vec<(Supported, Vec<(ExprId, f64)>)> = Vec::new();
        for &(term, sign) in &store.terms {
            for (supported, part) in supports::parts(self, term, &store.axes) {
                match all.iter_mut().find(|(known, _)| *known == supported) {
                    Some((_, terms)) => terms.push((part, sign)),
                    None => all.push((supported, vec![(part, sign)])),
                }
            }
        }
        let sums = all.into_iter().map(|(supported, terms)| (supported, signed_sum(&mut self.kernel.exprs, &terms)));
        sums.collect()
    }

    /// A store for each part; `None` if none has columns that can be left out.
    fn stored(&mut self, store: &Store, parts: Vec<(Supported, ExprId)>) -> Option<Vec<LoopTree>> {
        let InstructionKind::Assignment { assignee, .. } = self.kernel[store.insn].kind.clone() else { return None };
        let mut body = Vec::new();
        let mut rest = Vec::new();
        for (supported, value) in parts {
            let found: Option<Vec<usize>> =
                supported.iter().map(|(iname, support)| self.trace(*iname, support)).collect();
            match found.filter(|traces| !traces.is_empty()) {
                Some(traces) => body.extend(self.scattered(store, &assignee, value, &traces)),
                None => rest.push((value, 1.0)),
            }
        }
        if body.is_empty() {
            return None;
        }
        // What is set is set before anything is added.
        if !rest.is_empty() || !store.is_accumulation {
            let exprs = &mut self.kernel.exprs;
            let rest = if rest.is_empty() { exprs.float(Float::new(0.0)?) } else { signed_sum(exprs, &rest) };
            let expression = if store.is_accumulation {
                let element = exprs.access(assignee.array, assignee.indices.clone());
                exprs.op(Op::Add, [element, rest])
            } else {
                rest
            };
            self.kernel[store.insn].kind = InstructionKind::Assignment { assignee, expression };
            body.splice(0..0, in_loops(vec![LoopTree::Run(store.insn)], &store.axes));
        }
        Some(in_loops(body, &store.outer))
    }

    /// A part of a store over what traces leave of its axes: to a temporary, and from there to the elements.
    fn scattered(&mut self, store: &Store, assignee: &Assignee, value: ExprId, traces: &[usize]) -> Vec<LoopTree> {
        let value = self.traced(value, traces);
        // The loops that compute and those that add are over other inames: only the first are over functions at points.
        let (mut loops, mut copying, mut to, mut from) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut places: FxHashMap<InameId, ExprId> = FxHashMap::default();
        for &axis in &store.axes {
            let trace = traces.iter().map(|&trace| &self.traces[trace]).find(|trace| trace.of == axis).cloned();
            let own = trace.as_ref().map_or(axis, |trace| trace.iname);
            let copied = self.add_iname(axis, self.extents[own.index()].unwrap_or(1));
            loops.push(own);
            copying.push(copied);
            let exprs = &mut self.kernel.exprs;
            to.push(exprs.iname(own));
            let copied = exprs.iname(copied);
            from.push(copied);
            places.insert(axis, trace.map_or(copied, |trace| trace.function(exprs, copied)));
        }
        let shape: Vec<usize> = loops.iter().map(|iname| self.extents[iname.index()].unwrap_or(1)).collect();
        let temporary = self.add_array("t", (self.kernel[assignee.array].dtype, &shape, ArrayKind::Temporary));
        let exprs = &mut self.kernel.exprs;
        let rewritten = exprs.rewrite(assignee.indices.iter().copied(), |exprs, _, expr| match expr {
            Expr::Iname(iname) => places.get(&iname).copied().unwrap_or_else(|| exprs.iname(iname)),
            expr => exprs.intern(expr),
        });
        let indices: Box<[ExprId]> = assignee.indices.iter().map(|&index| rewritten.get(index)).collect();
        let element = exprs.access(assignee.array, indices.clone());
        let computed = exprs.access(temporary, from);
        let sum = exprs.op(Op::Add, [element, computed]);
        let inames = |own: &[InameId]| -> Vec<InameId> { store.outer.iter().chain(own).copied().collect() };
        let compute = Assignee { array: temporary, indices: to.into() };
        let computing = self.add_instruction(store, (compute, value), inames(&loops), None);
        let add = Assignee { array: assignee.array, indices };
        let adding = self.add_instruction(store, (add, sum), inames(&copying), Some(computing));
        let mut res = in_loops(vec![LoopTree::Run(computing)], &loops);
        res.extend(in_loops(vec![LoopTree::Run(adding)], &copying));
        res
    }

    /// A new instruction under the predicates of a store, and after another one.
    fn add_instruction(
        &mut self,
        store: &Store,
        (assignee, expression): (Assignee, ExprId),
        within: Vec<InameId>,
        after: Option<InsnId>,
    ) -> InsnId {
        let original = &self.kernel[store.insn];
        let res = InsnId::new(self.kernel.instructions.len());
        self.kernel.instructions.push(Instruction {
            id: self.names.new_name(&original.id),
            kind: InstructionKind::Assignment { assignee, expression },
            within,
            depends_on: original.depends_on.iter().copied().chain(after).collect(),
            predicates: original.predicates.clone(),
        });
        res
    }

    /// The inames along which an expression has zeros that a number tells.
    fn supported(&mut self, id: ExprId) -> Supported {
        let mut supports = std::mem::take(&mut self.supports);
        let res = supports.of(self, id);
        self.supports = supports;
        res
    }

    /// An expression with what traces leave of their inames.
    fn traced(&mut self, root: ExprId, traces: &[usize]) -> ExprId {
        let mut new: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for old in self.kernel.exprs.reachable([root]) {
            let table = self.element(old).and_then(|element| {
                let is_of = |&&trace: &&usize| {
                    let Trace { of, selector, .. } = self.traces[trace];
                    selector == element.selector && element.indices.contains(&Index::Iname(of))
                };
                traces
                    .iter()
                    .find(is_of)
                    .and_then(|&trace| self.shortened(&element, trace))
                    .map(|table| (element, table))
            });
            let place = |pass: &mut Self, iname: InameId| {
                let trace = traces.iter().map(|&trace| pass.traces[trace].clone()).find(|trace| trace.of == iname);
                let own = pass.kernel.exprs.iname(trace.as_ref().map_or(iname, |trace| trace.iname));
                trace.map_or(own, |trace| trace.function(&mut pass.kernel.exprs, own))
            };
            let res = match (table, self.kernel.exprs[old].clone()) {
                (Some((element, table)), _) => {
                    let own = table.selector.into_iter().chain(element.inames());
                    let indices: Vec<ExprId> =
                        own.map(|iname| {
                            if iname == table.of { self.kernel.exprs.iname(table.iname) } else { place(self, iname) }
                        })
                        .collect();
                    self.kernel.exprs.access(table.array, indices)
                }
                (None, Expr::Iname(iname)) => place(self, iname),
                (None, mut expr) => {
                    expr.children_mut().iter_mut().for_each(|child| *child = new[child]);
                    self.kernel.exprs.intern(expr)
                }
            };
            new.insert(old, res);
        }
        new[&root]
    }

    /// A table of whole numbers, row by row.
    fn add_numbers(&mut self, rows: &[Vec<usize>]) -> ArrayId {
        let shape = [rows.len(), rows.first().map_or(0, Vec::len)];
        let values: Vec<Number> = rows.iter().flatten().map(|&number| Number::Int(number as i64)).collect();
        self.add_array("S", (Dtype::Int32, &shape, ArrayKind::Table(values.into())))
    }
}

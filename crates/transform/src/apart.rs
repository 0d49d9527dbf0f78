//! Stores that can be searched apart, although they share values.
//!
//! # Input
//! A kernel in value form, whose stores are in loops of their own ([`isolate_stores`](crate::isolate_stores)).
//! # Output
//! Kernels that together do the same, in any order: none touches an array that another writes, except to add to the
//! same elements. Each kernel computes what one array needs. If that is the whole kernel, each takes the stores in
//! loops over the same inames, and of these one integral: a store that adds several reductions with different bound
//! inames becomes one store for each. [`in_sequence`](nestegg_ir::join::in_sequence) puts their results together again.
//! # Legality
//! Sums are those of real numbers: the terms added to an element may be added in parts, and in any order.
//! # Complexity
//! Linear in the DAG, times the number of kernels, of which there are at most [`MAX_GROUPS`].
//! # Not done
//! Kernels with opaque code, with conditions around instructions, or with two types of floats; nests of loops around
//! several instructions.

use indexmap::{IndexMap, IndexSet};
use nestegg_ir::domains::DomainError;
use nestegg_ir::linearization::{LoopTree, from_tree, only_run, to_tree};
use nestegg_ir::names::Names;
use nestegg_ir::{
    ArrayId, Expr, ExprId, InameId, InsnId, Instruction, InstructionKind, Licence, LinearizedKernel, Op, ReduceOp,
};
use rustc_hash::FxHashMap;

use crate::accumulation::Accumulation;
use crate::dead::eliminate_dead;
use crate::parts::root;
use crate::workspace::Workspace;

/// Kernels that would come apart into more groups stay whole.
pub const MAX_GROUPS: usize = 6;

/// The groups of a kernel; none if there are not two.
///
/// # Errors
/// If a domain cannot be used.
pub fn apart(linearized: &LinearizedKernel, licence: Licence) -> Result<Vec<LinearizedKernel>, DomainError> {
    let LinearizedKernel { kernel, linearization } = linearized;
    let is_assignment = |insn: &Instruction| matches!(insn.kind, InstructionKind::Assignment { .. });
    let nests = match to_tree(linearization) {
        Ok(tree) if licence != Licence::Strict && kernel.instructions.iter().all(is_assignment) => tree,
        _ => return Ok(Vec::new()),
    };
    let mut work = Workspace::new(kernel.clone())?;
    if work.has_two_float_types {
        return Ok(Vec::new());
    }
    work.licence = licence;
    let names = Names::new(&work.kernel);
    let mut sorter = Sorter { work, names, stores: Vec::new() };
    for nest in nests {
        if sorter.add(nest).is_none() {
            return Ok(Vec::new());
        }
    }
    Ok(sorter.groups())
}

/// A store in a nest of its own.
struct Store {
    nest: LoopTree,
    /// What it writes, and whether it only adds to it.
    array: ArrayId,
    is_addition: bool,
    /// The arrays that it reads, of those that are written, but to add to them.
    reads: Vec<ArrayId>,
    /// The loops around it, and what its reductions bind.
    loops: Vec<InameId>,
    bound: Vec<InameId>,
}

/// What alike stores have in common: the array, the loops, what reductions bind, and whether they only add.
type Likeness<'a> = (ArrayId, &'a [InameId], &'a [InameId], bool);

struct Sorter {
    work: Workspace,
    names: Names,
    stores: Vec<Store>,
}

impl Sorter {
    /// Adds the stores that a nest becomes; `None` if it has several.
    fn add(&mut self, nest: LoopTree) -> Option<()> {
        let (loops, insn) = only_run(&nest)?;
        let instruction = self.work.kernel[insn].clone();
        let InstructionKind::Assignment { assignee, expression } = instruction.kind.clone() else { return None };
        let array = assignee.array;
        let others: Vec<ExprId> = assignee.indices.iter().chain(&instruction.predicates).copied().collect();
        let added = self.work.accumulation(array, &assignee.indices, expression);
        let store = |sorter: &Self, insn: InsnId, value: ExprId, is_addition: bool, bound: Vec<InameId>| {
            let read = others.iter().chain([&value]).flat_map(|&expr| sorter.work.facts.memory(expr).iter().copied());
            let reads: IndexSet<ArrayId> = read.collect();
            let nest = with_run(&nest, insn);
            let reads = reads.into_iter().collect();
            Store { nest, array, is_addition, reads, loops: loops.clone(), bound }
        };
        let Some(Accumulation { op: ReduceOp::Sum, term }) = added.filter(|_| self.work.kernel[array].dtype.is_float())
        else {
            self.stores.push(store(self, insn, expression, false, Vec::new()));
            return Some(());
        };
        let integrals = self.integrals(term);
        for (idx, (bound, term)) in integrals.into_iter().enumerate() {
            let exprs = &mut self.work.kernel.exprs;
            let old = exprs.access(array, assignee.indices.clone());
            let expression = exprs.op(Op::Add, [old, term]);
            self.work.facts.extend(&self.work.kernel, &self.work.ranges);
            let kind = InstructionKind::Assignment { assignee: assignee.clone(), expression };
            let own = if idx == 0 { insn } else { InsnId::new(self.work.kernel.instructions.len()) };
            if idx == 0 {
                self.work.kernel[insn].kind = kind;
            } else {
                let id = self.names.new_name_like(&format!("{}_{idx}", instruction.id));
                self.work.kernel.instructions.push(Instruction { id, kind, ..instruction.clone() });
            }
            self.stores.push(store(self, own, term, true, bound));
        }
        Some(())
    }

    /// The terms of a sum by what their outermost reductions bind, in the order of the first of each; terms without any go to the first.
    fn integrals(&mut self, sum: ExprId) -> Vec<(Vec<InameId>, ExprId)> {
        let mut terms: Vec<(ExprId, bool)> = Vec::new();
        let mut pending = vec![(sum, false)];
        while let Some((id, is_negative)) = pending.pop() {
            match &self.work.kernel.exprs[id] {
                Expr::Op { op: Op::Add, operands } => {
                    pending.extend(operands.iter().rev().map(|&operand| (operand, is_negative)));
                }
                Expr::Op { op: Op::Sub, operands } => {
                    pending.push((operands[1], !is_negative));
                    pending.push((operands[0], is_negative));
                }
                Expr::Op { op: Op::Neg, operands } => pending.push((operands[0], !is_negative)),
                _ => terms.push((id, is_negative)),
            }
        }
        let mut by_bound: IndexMap<Vec<InameId>, Vec<(ExprId, bool)>> = IndexMap::new();
        let mut rest = Vec::new();
        for (term, is_negative) in terms {
            match self.outermost(term) {
                bound if bound.is_empty() => rest.push((term, is_negative)),
                bound => by_bound.entry(bound).or_default().push((term, is_negative)),
            }
        }
        if by_bound.len() < 2 {
            return vec![(by_bound.into_keys().next().unwrap_or_default(), sum)];
        }
        by_bound[0].extend(rest);
        let exprs = &mut self.work.kernel.exprs;
        let summed = |terms: Vec<(ExprId, bool)>| {
            let signed: Vec<ExprId> = terms
                .into_iter()
                .map(|(term, is_negative)| if is_negative { exprs.op(Op::Neg, [term]) } else { term })
                .collect();
            if let [single] = signed[..] { single } else { exprs.op(Op::Add, signed) }
        };
        let (bounds, terms): (Vec<_>, Vec<_>) = by_bound.into_iter().unzip();
        bounds.into_iter().zip(terms.into_iter().map(summed).collect::<Vec<_>>()).collect()
    }

    /// What the reductions bind that a term has as factors, sorted.
    fn outermost(&self, term: ExprId) -> Vec<InameId> {
        let mut res: Vec<InameId> = Vec::new();
        let mut pending = vec![term];
        while let Some(id) = pending.pop() {
            match &self.work.kernel.exprs[id] {
                Expr::Reduce { inames, .. } => res.extend(inames.iter().copied()),
                Expr::Op { op: Op::Mul | Op::Neg, operands } => pending.extend(operands.iter().copied()),
                Expr::Op { op: Op::Div, operands } => pending.push(operands[0]),
                _ => {}
            }
        }
        res.sort_unstable();
        res.dedup();
        res
    }

    /// Stores that may run in any order, as kernels: by what they write, or else by their loops and reductions too.
    fn groups(self) -> Vec<LinearizedKernel> {
        match self.groups_by(|store| (store.array, [].as_slice(), [].as_slice(), false)) {
            groups if groups.is_empty() => {
                self.groups_by(|store| (store.array, &store.loops, &store.bound, store.is_addition))
            }
            groups => groups,
        }
    }

    /// Groups in which all stores are that are alike; none if there are not two, or too many.
    fn groups_by(&self, likeness: impl Fn(&Store) -> Likeness<'_>) -> Vec<LinearizedKernel> {
        let stores = &self.stores;
        let mut parents: Vec<usize> = (0..stores.len()).collect();
        let mut join = |a: usize, b: usize| {
            let (a, b) = (root(&mut parents, a), root(&mut parents, b));
            parents[a.max(b)] = a.min(b);
        };
        let mut first: FxHashMap<Likeness<'_>, usize> = FxHashMap::default();
        let mut writers: FxHashMap<ArrayId, Vec<usize>> = FxHashMap::default();
        for (at, store) in stores.iter().enumerate() {
            join(*first.entry(likeness(store)).or_insert(at), at);
            writers.entry(store.array).or_default().push(at);
        }
        for (at, store) in stores.iter().enumerate() {
            for array in &store.reads {
                writers.get(array).into_iter().flatten().for_each(|&writer| join(writer, at));
            }
            let others = writers[&store.array].iter();
            others
                .filter(|&&other| !store.is_addition || !stores[other].is_addition)
                .for_each(|&other| join(other, at));
        }
        let mut groups: IndexMap<usize, Vec<&Store>> = IndexMap::new();
        for (at, store) in stores.iter().enumerate() {
            groups.entry(root(&mut parents, at)).or_default().push(store);
        }
        if !(2..=MAX_GROUPS).contains(&groups.len()) {
            return Vec::new();
        }
        let kernel = &self.work.kernel;
        let own = |stores: &Vec<&Store>| {
            let nests: Vec<LoopTree> = stores.iter().map(|store| store.nest.clone()).collect();
            let mut kernel = kernel.clone();
            kernel.instructions.iter_mut().for_each(|instruction| instruction.depends_on.clear());
            eliminate_dead(LinearizedKernel { kernel, linearization: from_tree(&nests) })
        };
        groups.values().map(own).collect()
    }
}

/// The nest with another instruction in it.
fn with_run(nest: &LoopTree, insn: InsnId) -> LoopTree {
    match nest {
        LoopTree::Loop { iname, body } => {
            LoopTree::Loop { iname: *iname, body: body.iter().map(|nest| with_run(nest, insn)).collect() }
        }
        LoopTree::Branch { condition, body } => {
            LoopTree::Branch { condition: *condition, body: body.iter().map(|nest| with_run(nest, insn)).collect() }
        }
        LoopTree::Run(_) => LoopTree::Run(insn),
    }
}

//! The meaning of a kernel that comes without a linearization.
//!
//! # Input
//! A kernel whose dependences (`depends_on`) have no cycle.
//! # Output
//! A linearization: instructions in an order that respects `depends_on`, ties by list order, and instructions that
//! touch a common array (one of them writing) in list order; loops shared as loopy shares them: instructions
//! with common inames are in one loop over each, as far as each iname can be a single loop.
//! # Method
//! Recursively over the open inames: instructions connected by remaining inames form a group; groups are put in an
//! order that respects the dependences, or cut into runs of neighbours where none does. In each group the iname that
//! most instructions share (the first written among equals, after the inames that enclose its domain) is opened
//! around those that have it.
//! # Complexity
//! O((instructions + dependences) × inames of an instruction).
//! # Source
//! The format's contract; loopy's `linearize` for shared loops.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::ids::{ArrayId, InameId, InsnId};
use crate::kernel::{Kernel, LinearizedKernel, Program};
use crate::linearization::{LoopTree, from_tree};
use crate::walk::below;
use crate::{Expr, Linearization};

/// Why a kernel has no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// `depends_on` has a cycle.
    #[error("the dependences of instruction {insn:?} form a cycle")]
    Cycle {
        /// An instruction on the cycle.
        insn: InsnId,
    },
}

/// The order that a kernel without linearization means.
///
/// # Errors
/// If `depends_on` has a cycle.
pub fn default_order(kernel: &Kernel) -> Result<Linearization, OrderError> {
    let (order, followers) = sort(kernel)?;
    let mut position = vec![0; order.len()];
    for (idx, insn) in order.iter().enumerate() {
        position[insn.index()] = idx;
    }
    let nesting = Nesting { kernel, followers, position };
    Ok(from_tree(&nesting.nest(&order, &mut Vec::new())))
}

impl Program {
    /// The kernel in its order: the linearization that it has, or the one that it means.
    ///
    /// # Errors
    /// If it has none and `depends_on` has a cycle.
    pub fn into_linearized(self) -> Result<LinearizedKernel, OrderError> {
        match self {
            Self::Linearized(linearized) => Ok(linearized),
            Self::Unordered(kernel) => {
                let linearization = default_order(&kernel)?;
                Ok(LinearizedKernel { kernel, linearization })
            }
        }
    }
}

/// Instructions in an order that respects `depends_on` and conflicts in list order; the earliest in the list first.
fn sort(kernel: &Kernel) -> Result<(Vec<InsnId>, Vec<Vec<InsnId>>), OrderError> {
    let n = kernel.instructions.len();
    let mut followers: Vec<Vec<InsnId>> = vec![Vec::new(); n];
    let mut n_missing = vec![0_usize; n];
    for insn in kernel.insn_ids() {
        for &before in &kernel[insn].depends_on {
            followers[before.index()].push(insn);
            n_missing[insn.index()] += 1;
        }
    }
    let stated = topological(kernel, &followers, n_missing.clone())?;
    let mut position = vec![0; n];
    for (idx, insn) in stated.iter().enumerate() {
        position[insn.index()] = idx;
    }
    // Conflicting pairs without a stated order run in list order. Where a chain of stated orders says the
    // opposite, `position` tells: only pairs in the order of both lists get an edge.
    for (before, after) in conflicts(kernel) {
        if position[before.index()] < position[after.index()] {
            followers[before.index()].push(after);
            n_missing[after.index()] += 1;
        }
    }
    let order = topological(kernel, &followers, n_missing)?;
    Ok((order, followers))
}

fn topological(
    kernel: &Kernel,
    followers: &[Vec<InsnId>],
    mut n_missing: Vec<usize>,
) -> Result<Vec<InsnId>, OrderError> {
    let mut ready: BTreeSet<InsnId> = kernel.insn_ids().filter(|insn| n_missing[insn.index()] == 0).collect();
    let mut order = Vec::with_capacity(n_missing.len());
    while let Some(insn) = ready.pop_first() {
        order.push(insn);
        for &follower in &followers[insn.index()] {
            n_missing[follower.index()] -= 1;
            if n_missing[follower.index()] == 0 {
                ready.insert(follower);
            }
        }
    }
    match kernel.insn_ids().find(|insn| n_missing[insn.index()] > 0) {
        Some(insn) => Err(OrderError::Cycle { insn }),
        None => Ok(order),
    }
}

/// Pairs (earlier, later) of the list that touch a common array, one of them writing; neighbours only, which is enough
/// for a transitive order: a write after the reads since the last write and after that write, a read after it.
fn conflicts(kernel: &Kernel) -> Vec<(InsnId, InsnId)> {
    let mut res = Vec::new();
    let mut last_write: FxHashMap<ArrayId, InsnId> = FxHashMap::default();
    let mut reads_since: FxHashMap<ArrayId, Vec<InsnId>> = FxHashMap::default();
    let reads = arrays_read(kernel);
    for insn in kernel.insn_ids() {
        for &array in &reads[insn.index()] {
            if let Some(&write) = last_write.get(&array) {
                res.push((write, insn));
            }
            reads_since.entry(array).or_default().push(insn);
        }
        for array in kernel[insn].written_arrays() {
            if let Some(&write) = last_write.get(&array).filter(|&&write| write != insn) {
                res.push((write, insn));
            }
            res.extend(reads_since.remove(&array).into_iter().flatten().filter(|&r| r != insn).map(|r| (r, insn)));
            last_write.insert(array, insn);
        }
    }
    res
}

/// The arrays that each instruction reads, in increasing order: in its expressions, through substitution rules
/// too, or as an opaque instruction says. Tables and arguments included.
#[must_use]
pub fn arrays_read(kernel: &Kernel) -> Vec<Vec<ArrayId>> {
    let of_rules = rule_reads(kernel);
    kernel
        .instructions
        .iter()
        .map(|instruction| {
            let mut arrays = reads_below(kernel, instruction.expressions(), &of_rules);
            if let crate::InstructionKind::Opaque { reads, .. } = &instruction.kind {
                arrays.extend(reads);
            }
            arrays.into_iter().collect()
        })
        .collect()
}

/// The arrays that each substitution rule reads, by itself or through other rules.
#[must_use]
pub fn rule_reads(kernel: &Kernel) -> Vec<BTreeSet<ArrayId>> {
    let mut res: Vec<BTreeSet<ArrayId>> = vec![BTreeSet::new(); kernel.substitutions.len()];
    loop {
        let mut changed = false;
        for rule in kernel.substitution_ids() {
            let reads = reads_below(kernel, [kernel[rule].expression], &res);
            changed |= reads.len() > res[rule.index()].len();
            res[rule.index()] = reads;
        }
        if !changed {
            return res;
        }
    }
}

fn reads_below(
    kernel: &Kernel,
    roots: impl IntoIterator<Item = crate::ExprId>,
    of_rules: &[BTreeSet<ArrayId>],
) -> BTreeSet<ArrayId> {
    let mut arrays = BTreeSet::new();
    for id in below(&kernel.exprs, roots) {
        match &kernel.exprs[id] {
            Expr::Access { array, .. } => {
                arrays.insert(*array);
            }
            Expr::Substitution { rule, .. } => arrays.extend(&of_rules[rule.index()]),
            _ => {}
        }
    }
    arrays
}

struct Nesting<'a> {
    kernel: &'a Kernel,
    /// For each instruction those that must come after it.
    followers: Vec<Vec<InsnId>>,
    /// For each instruction its place in the order of all.
    position: Vec<usize>,
}

impl Nesting<'_> {
    /// The loop tree of instructions in order, inside the open loops.
    fn nest(&self, order: &[InsnId], open: &mut Vec<InameId>) -> Vec<LoopTree> {
        let mut res = Vec::new();
        for group in self.groups(order, open) {
            let Some(iname) = self.choose_iname(&group, open) else {
                res.extend(group.into_iter().map(LoopTree::Run));
                continue;
            };
            for part in self.around_loop(group, iname) {
                if self.has(part[0], iname) {
                    open.push(iname);
                    res.push(LoopTree::Loop { iname, body: self.nest(&part, open) });
                    open.pop();
                } else {
                    res.extend(self.nest(&part, open));
                }
            }
        }
        res
    }

    fn has(&self, insn: InsnId, iname: InameId) -> bool {
        self.kernel[insn].within.contains(&iname)
    }

    /// Instructions connected by inames that are not open, in an order that respects the dependences.
    fn groups(&self, order: &[InsnId], open: &[InameId]) -> Vec<Vec<InsnId>> {
        let inames_of = |insn: InsnId| self.kernel[insn].within.iter().copied().filter(|iname| !open.contains(iname));
        let mut group_of_iname: FxHashMap<InameId, usize> = FxHashMap::default();
        // Disjoint sets over groups; `parent[g] <= g`.
        let mut parent: Vec<usize> = Vec::new();
        let mut own: Vec<usize> = Vec::with_capacity(order.len());
        for &insn in order {
            let mut group = parent.len();
            parent.push(group);
            for iname in inames_of(insn) {
                let other = find(&mut parent, *group_of_iname.entry(iname).or_insert(group));
                let (low, high) = (group.min(other), group.max(other));
                parent[high] = low;
                group = low;
            }
            own.push(group);
        }
        let mut members: FxHashMap<usize, usize> = FxHashMap::default();
        let mut groups: Vec<Vec<InsnId>> = Vec::new();
        for (idx, &insn) in order.iter().enumerate() {
            let root = find(&mut parent, own[idx]);
            let group_idx = *members.entry(root).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[group_idx].push(insn);
        }
        self.arrange(groups).unwrap_or_else(|| {
            let mut runs: Vec<Vec<InsnId>> = Vec::new();
            for (idx, &insn) in order.iter().enumerate() {
                let root = find(&mut parent, own[idx]);
                match runs.last_mut() {
                    Some(run) if idx > 0 && find(&mut parent, own[idx - 1]) == root => run.push(insn),
                    _ => runs.push(vec![insn]),
                }
            }
            runs
        })
    }

    /// One part of all instructions that have the iname and single others around it; runs of neighbours where the
    /// dependences forbid that.
    fn around_loop(&self, group: Vec<InsnId>, iname: InameId) -> Vec<Vec<InsnId>> {
        let (inside, outside): (Vec<InsnId>, Vec<InsnId>) =
            group.iter().copied().partition(|&insn| self.has(insn, iname));
        let mut parts = vec![inside];
        parts.extend(outside.into_iter().map(|insn| vec![insn]));
        self.arrange(parts).unwrap_or_else(|| {
            group.chunk_by(|&a, &b| self.has(a, iname) && self.has(b, iname)).map(<[InsnId]>::to_vec).collect()
        })
    }

    /// The groups in an order that respects the dependences between them, by their first instruction among
    /// those that may come next; `None` if two need each other.
    fn arrange(&self, groups: Vec<Vec<InsnId>>) -> Option<Vec<Vec<InsnId>>> {
        let mut group_of: FxHashMap<InsnId, usize> = FxHashMap::default();
        for (idx, group) in groups.iter().enumerate() {
            group_of.extend(group.iter().map(|&insn| (insn, idx)));
        }
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
        let mut n_missing = vec![0_usize; groups.len()];
        for (idx, group) in groups.iter().enumerate() {
            for follower in group.iter().flat_map(|insn| &self.followers[insn.index()]) {
                if let Some(&other) = group_of.get(follower).filter(|&&other| other != idx) {
                    after[idx].push(other);
                    n_missing[other] += 1;
                }
            }
        }
        let first = |idx: usize| self.position[groups[idx][0].index()];
        let mut ready: BTreeSet<(usize, usize)> =
            (0..groups.len()).filter(|&idx| n_missing[idx] == 0).map(|idx| (first(idx), idx)).collect();
        let mut res = Vec::with_capacity(groups.len());
        while let Some((_, idx)) = ready.pop_first() {
            res.push(idx);
            for &other in &after[idx] {
                n_missing[other] -= 1;
                if n_missing[other] == 0 {
                    ready.insert((first(other), other));
                }
            }
        }
        (res.len() == groups.len()).then(|| res.into_iter().map(|idx| groups[idx].clone()).collect())
    }

    /// The iname to open around a group: one whose domain's enclosing inames are open, shared by most
    /// instructions; the first written among equals.
    fn choose_iname(&self, group: &[InsnId], open: &[InameId]) -> Option<InameId> {
        let mut counts: IndexMap<InameId, usize, FxBuildHasher> = IndexMap::default();
        for &insn in group {
            for &iname in self.kernel[insn].within.iter().filter(|iname| !open.contains(iname)) {
                *counts.entry(iname).or_default() += 1;
            }
        }
        let is_openable =
            |iname: InameId| self.kernel[self.kernel[iname].domain].enclosing.iter().all(|outer| open.contains(outer));
        let mut best: Option<(InameId, usize)> = None;
        for (iname, count) in counts.into_iter().filter(|&(iname, _)| is_openable(iname)) {
            if best.is_none_or(|(_, most)| count > most) {
                best = Some((iname, count));
            }
        }
        best.map(|(iname, _)| iname)
    }
}

fn find(parent: &mut [usize], mut group: usize) -> usize {
    while parent[group] != group {
        parent[group] = parent[parent[group]];
        group = parent[group];
    }
    group
}

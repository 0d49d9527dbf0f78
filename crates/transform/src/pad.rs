//! Padding: short loops run as often as a vector has lanes, along rows that are as long.
//!
//! # Why
//! Three iterations fill no vector of four lanes, so compilers do them one after the other. Four fill it.
//! # Input
//! A kernel in its final order, and the bytes of a vector.
//! # Output
//! Loops of three iterations have four, and rows of temporaries and tables four elements; seven become eight, and so on. What each of the new iterations does is what
//! the last one does, to the bit: their rows repeat the last element. So nothing is computed that would not be computed otherwise, nothing else is divided by, and nobody reads
//! the new elements but the new iterations.
//! # Method
//! A loop is padded if all that it writes are rows of temporaries, scalars of the iteration, and sums, and if it reads along rows of temporaries and tables.
//! Terms of sums go into rows, and are added up in a loop of the old length. All other writes to a row must leave its last element alone, or are repeated for the new
//! ones. Loops whose rows cannot be padded stay, and with them the rows that only they write, until nothing changes.
//! # Complexity
//! Linear in the expressions of each loop, times the rounds.
//! # Not done
//! Loops along rows of arguments, around conditions, or with values that the iname itself is part of.
//! # Source
//! Luporini et al., "Cross-loop optimization of arithmetic intensity for finite element local assembly", 2015, where new iterations compute zeros.

use std::collections::{BTreeMap, BTreeSet};

use nestegg_ir::affine;
use nestegg_ir::domains::Domains;
use nestegg_ir::linearization::{conditions_in, direct_runs, from_tree, loops_in, runs_in, to_tree};
use nestegg_ir::names::{Names, add_iname, add_row};
use nestegg_ir::types::Types;
use nestegg_ir::walk::{arrays_below, below, reads};
use nestegg_ir::{
    ArrayId, Assignee, Expr, ExprId, InameId, InameTag, InsnId, Instruction, InstructionKind, Kernel, LinearizedKernel,
    LoopTree, Op,
};

use crate::depends::in_order_without_dead;
use crate::find::in_loops;
use crate::independent::MAX_ISL_OPERATIONS;
use crate::ranges::Ranges;
use crate::table_pool::{Contents, TablePool};
use crate::updates::set_stored;

/// Longer loops stay: what they leave over is little.
const MAX_TRIPS: i64 = 31;

/// A loop is padded if it does so many operations for each term of a sum, which is stored and loaded again.
const OPERATIONS_OF_TERM: usize = 3;

/// The kernel with short loops as long as vectors of so many bytes, or halves of them; `None` if there are none.
#[must_use]
pub fn pad_rows(linearized: &LinearizedKernel, vector_bytes: u64) -> Option<LinearizedKernel> {
    let kernel = &linearized.kernel;
    let tree = to_tree(&linearized.linearization).ok()?;
    if !kernel.substitutions.is_empty() || loops_in(&tree).is_empty() {
        return None;
    }
    let domains = Domains::bounded(kernel, MAX_ISL_OPERATIONS).ok()?;
    let ranges = Ranges::new(kernel, &domains).ok()?;
    let in_conditions = arrays_below(&kernel.exprs, conditions_in(&tree));
    let finder = Finder { kernel, ranges: &ranges, vector_bytes, touching: touching(kernel), in_conditions };
    let rows = in_loops(&tree, |_, iname, body| finder.rows_of(iname, body));
    let plan = Plan::of(kernel, finder.in_conditions, rows)?;
    Some(plan.carried_out(kernel.clone(), &tree))
}

/// How many iterations a loop of `n` gets, given the lanes of a vector: fewer vectors, those of one, two or four lanes included, than before.
fn padded(n: i64, n_lanes: i64) -> Option<i64> {
    let n_vectors = |n: i64| n / n_lanes + i64::from((n % n_lanes).count_ones());
    let width = n_lanes.min(n.unsigned_abs().next_power_of_two().cast_signed());
    let to = n.unsigned_abs().next_multiple_of(width.unsigned_abs()).cast_signed();
    ((2..=MAX_TRIPS).contains(&n) && n_vectors(to) < n_vectors(n)).then_some(to)
}

/// A loop along rows.
struct Rows {
    iname: InameId,
    /// The first instruction in it: no other loop over the iname has it.
    first: InsnId,
    n: i64,
    to: i64,
    /// What each instruction in it does.
    steps: BTreeMap<InsnId, Step>,
    /// The temporaries whose rows it reads or writes.
    arrays: BTreeSet<ArrayId>,
}

/// What an instruction does in each iteration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Writes an element of a row.
    Row(ArrayId),
    /// Writes a scalar that no other iteration sees.
    Scalar,
    /// Adds this to an element, or takes it away.
    Sum(ExprId),
}

/// Finds loops along rows.
struct Finder<'a> {
    kernel: &'a Kernel,
    ranges: &'a Ranges,
    vector_bytes: u64,
    /// For each array the instructions that access it.
    touching: Vec<Vec<InsnId>>,
    /// The arrays that decide whether something runs.
    in_conditions: BTreeSet<ArrayId>,
}

impl Finder<'_> {
    /// What is known of a loop along rows; `None` of all others.
    fn rows_of(&self, iname: InameId, body: &[LoopTree]) -> Option<Rows> {
        let (kernel, ranges) = (self.kernel, self.ranges);
        let is_free = kernel[iname].tags.iter().all(|&tag| tag == InameTag::Unroll);
        let bounds_inner = loops_in(body).into_iter().any(|inner| ranges.dependencies(inner).contains(iname));
        let (Some(0), Some(last)) = ranges.bounds(iname) else { return None };
        let is_plain = is_free && ranges.is_alone(iname) && ranges.is_interval(iname) && !bounds_inner;
        if !is_plain || !conditions_in(body).is_empty() {
            return None;
        }
        let n = last + 1;
        let insns = runs_in(body);
        let inside = Inside {
            direct: direct_runs(body).into_iter().collect(),
            places: insns.iter().copied().zip(0..).collect(),
        };
        let along = Along { kernel, iname, n };
        let (mut steps, mut arrays) = (BTreeMap::new(), BTreeSet::new());
        for &insn in &insns {
            let step = self.step(&along, insn, &inside)?;
            arrays.extend(along.rows_read(insn, step)?);
            if let Step::Row(array) = step {
                arrays.insert(array);
            }
            steps.insert(insn, step);
        }
        let dtype = kernel[*arrays.first()?].dtype;
        let n_lanes = (self.vector_bytes / dtype.size().max(1)).cast_signed();
        let to = padded(n, n_lanes)?;
        let is_same_type = arrays.iter().all(|&array| kernel[array].dtype == dtype);
        let n_sums = steps.values().filter(|step| matches!(step, Step::Sum(_))).count();
        let is_worth = n_sums == 0 || along.n_operations(&insns) >= n_sums * (OPERATIONS_OF_TERM + 1);
        let first = *insns.first()?;
        (dtype.is_float() && is_same_type && is_worth).then_some(Rows { iname, first, n, to, steps, arrays })
    }

    /// What an instruction does; `None` if that is something else.
    fn step(&self, along: &Along<'_>, insn: InsnId, inside: &Inside) -> Option<Step> {
        let (kernel, exprs) = (self.kernel, &self.kernel.exprs);
        let instruction = &kernel[insn];
        let InstructionKind::Assignment { assignee, .. } = &instruction.kind else { return None };
        if !instruction.predicates.is_empty() {
            return None;
        }
        let array = &kernel[assignee.array];
        if along.moves(assignee.indices.iter().copied()) {
            let is_row = array.is_temporary() && along.is_row(assignee.array, &assignee.indices);
            return is_row.then_some(Step::Row(assignee.array));
        }
        if array.is_temporary() && assignee.indices.is_empty() && self.is_private(assignee.array, inside) {
            return Some(Step::Scalar);
        }
        let (Op::Add | Op::Sub, term) = instruction.update(exprs)? else { return None };
        let is_only_here = |insn: &InsnId, array: ArrayId| {
            self.touching[array.index()].iter().all(|other| other == insn || !inside.places.contains_key(other))
        };
        let of_indices = arrays_below(exprs, assignee.indices.iter().copied());
        let changes = |insn: &InsnId| kernel[*insn].written_arrays().iter().any(|array| of_indices.contains(array));
        let is_sum = inside.direct.contains(&insn)
            && is_only_here(&insn, assignee.array)
            && !reads(exprs, [term], assignee.array)
            && (of_indices.is_empty() || !inside.places.keys().any(changes));
        is_sum.then_some(Step::Sum(term))
    }

    /// Whether a scalar is written in each iteration before it is read, and touched nowhere else.
    fn is_private(&self, array: ArrayId, inside: &Inside) -> bool {
        let (kernel, touching) = (self.kernel, &self.touching[array.index()]);
        let first = touching.iter().min_by_key(|insn| inside.places.get(insn));
        !self.in_conditions.contains(&array)
            && touching.iter().all(|insn| inside.places.contains_key(insn))
            && first.is_some_and(|first| {
                inside.direct.contains(first) && !reads(&kernel.exprs, kernel[*first].expressions(), array)
            })
    }
}

/// The instructions inside a loop.
struct Inside {
    /// Those that are in no loop inside it.
    direct: BTreeSet<InsnId>,
    /// Where each comes in program order.
    places: BTreeMap<InsnId, usize>,
}

/// For each array the instructions that access it.
fn touching(kernel: &Kernel) -> Vec<Vec<InsnId>> {
    let mut res = vec![Vec::new(); kernel.arrays.len()];
    for insn in kernel.insn_ids() {
        let instruction = &kernel[insn];
        let mut arrays = arrays_below(&kernel.exprs, instruction.expressions());
        arrays.extend(instruction.written_arrays());
        if let InstructionKind::Opaque { reads, .. } = &instruction.kind {
            arrays.extend(reads);
        }
        arrays.into_iter().for_each(|array| res[array.index()].push(insn));
    }
    res
}

/// A loop, to ask whether accesses go along it.
struct Along<'a> {
    kernel: &'a Kernel,
    iname: InameId,
    n: i64,
}

impl Along<'_> {
    fn is_iname(&self, id: ExprId) -> bool {
        self.kernel.exprs[id] == Expr::Iname(self.iname)
    }

    /// Whether expressions depend on the iname themselves.
    fn moves(&self, roots: impl IntoIterator<Item = ExprId>) -> bool {
        below(&self.kernel.exprs, roots).into_iter().any(|id| self.is_iname(id))
    }

    /// Whether an access goes from one element of a row to the next, and through all of it.
    fn is_row(&self, array: ArrayId, indices: &[ExprId]) -> bool {
        let Some((&last, others)) = indices.split_last() else { return false };
        let extent = self.kernel.constant_shape(array).and_then(|shape| shape.last().copied());
        self.is_iname(last) && extent == usize::try_from(self.n).ok() && !self.moves(others.iter().copied())
    }

    /// The temporaries whose rows an instruction reads; `None` if it depends on the iname in another way.
    fn rows_read(&self, insn: InsnId, step: Step) -> Option<Vec<ArrayId>> {
        let (kernel, exprs) = (self.kernel, &self.kernel.exprs);
        let InstructionKind::Assignment { assignee, expression } = &kernel[insn].kind else { return None };
        let roots: Vec<ExprId> = match step {
            Step::Row(_) => assignee.indices.iter().copied().rev().skip(1).chain([*expression]).collect(),
            Step::Scalar => vec![*expression],
            Step::Sum(term) => assignee.indices.iter().copied().chain([term]).collect(),
        };
        let mut res = Vec::new();
        for id in below(exprs, roots.iter().copied()) {
            match &exprs[id] {
                Expr::Reduce { .. } => return None,
                Expr::Access { array, indices } if indices.iter().any(|&index| self.is_iname(index)) => {
                    let n_moving = indices.iter().filter(|&&index| self.moves([index])).count();
                    if kernel[*array].table().is_some() {
                        let is_whole =
                            |(&index, size): (&ExprId, usize)| !self.is_iname(index) || self.n <= size as i64;
                        let shape = kernel.constant_shape(*array)?;
                        if n_moving > 1 || !indices.iter().zip(shape).all(is_whole) {
                            return None;
                        }
                    } else if kernel[*array].is_temporary() && self.is_row(*array, indices) {
                        res.push(*array);
                    } else {
                        return None;
                    }
                }
                expr if expr.children().iter().any(|&child| self.is_iname(child)) => return None,
                _ => {}
            }
        }
        (!roots.iter().any(|&root| self.is_iname(root))).then_some(res)
    }

    /// How many operations some instructions do that are others in other iterations.
    fn n_operations(&self, insns: &[InsnId]) -> usize {
        let roots = insns.iter().flat_map(|&insn| self.kernel[insn].expressions());
        let is_operation = |&id: &ExprId| matches!(self.kernel.exprs[id], Expr::Op { .. } | Expr::Call { .. });
        below(&self.kernel.exprs, roots).into_iter().filter(is_operation).count()
    }
}

/// What is to be done.
struct Plan {
    loops: Vec<Rows>,
    /// The new extents of temporaries.
    extents: BTreeMap<ArrayId, (i64, i64)>,
    /// Instructions outside of these loops that write the last element of a row.
    repeated: BTreeSet<InsnId>,
}

impl Plan {
    /// What can be done of this; `None` if that is nothing.
    fn of(kernel: &Kernel, in_conditions: BTreeSet<ArrayId>, mut loops: Vec<Rows>) -> Option<Self> {
        let mut refused = in_conditions;
        for instruction in &kernel.instructions {
            match &instruction.kind {
                InstructionKind::Opaque { reads, writes, .. } => refused.extend(reads.iter().chain(writes)),
                InstructionKind::Call { .. } => refused.extend(instruction.written_arrays()),
                InstructionKind::Assignment { .. } => {}
            }
        }
        let elements: Vec<(InsnId, Element)> = kernel.insn_ids().map(|insn| (insn, of_last(kernel, insn))).collect();
        loop {
            let of_rows = loops.iter().flat_map(|one| &one.steps).filter(|(_, step)| matches!(step, Step::Row(_)));
            let of_rows: BTreeSet<InsnId> = of_rows.map(|(&insn, _)| insn).collect();
            let mut repeated = BTreeSet::new();
            for (insn, element) in elements.iter().filter(|(insn, _)| !of_rows.contains(insn)) {
                match element {
                    Element::Other => {}
                    Element::Last => _ = repeated.insert(*insn),
                    Element::Unknown(array) => _ = refused.insert(*array),
                }
            }
            let n_loops = loops.len();
            loops.retain(|one| one.arrays.is_disjoint(&refused));
            if loops.len() == n_loops {
                let extents: BTreeMap<ArrayId, (i64, i64)> =
                    loops.iter().flat_map(|one| one.arrays.iter().map(|&array| (array, (one.n, one.to)))).collect();
                repeated.retain(|&insn| extents.contains_key(&kernel[insn].written_arrays()[0]));
                return (!loops.is_empty()).then_some(Self { loops, extents, repeated });
            }
        }
    }

    fn carried_out(&self, mut kernel: Kernel, tree: &[LoopTree]) -> LinearizedKernel {
        let mut names = Names::new(&kernel);
        let types = Types::infer(&kernel);
        // The row of the terms that an instruction adds up.
        let mut terms: BTreeMap<InsnId, ArrayId> = BTreeMap::new();
        for one in &self.loops {
            for (&insn, step) in &one.steps {
                let Step::Sum(term) = step else { continue };
                let (name, dtype) = (names.new_name("terms"), types.of(*term).dtype());
                terms.insert(insn, add_row(&mut kernel, name, dtype, one.to));
            }
        }
        for (&array, &(_, to)) in &self.extents {
            let extent = kernel.exprs.int(to);
            if let Some(last) = kernel[array].shape.last_mut() {
                *last = extent;
            }
        }
        let inames: Vec<InameId> = self
            .loops
            .iter()
            .map(|one| add_iname(&mut kernel, &mut names, one.iname, usize::try_from(one.to).unwrap_or(0)))
            .collect();
        let tables = TablePool::new(&kernel);
        let mut writer = Writer { plan: self, kernel, names, tables, terms, inames };
        let tree = writer.all(tree);
        let Writer { mut kernel, tables, .. } = writer;
        tables.finish(&mut kernel);
        in_order_without_dead(kernel, from_tree(&tree))
    }
}

/// Which element of a temporary's row an instruction writes.
enum Element {
    /// Not the last one, or nothing of a temporary with rows.
    Other,
    Last,
    /// It may be the last.
    Unknown(ArrayId),
}

fn of_last(kernel: &Kernel, insn: InsnId) -> Element {
    let InstructionKind::Assignment { assignee, expression } = &kernel[insn].kind else { return Element::Other };
    let Some(&last) = assignee.indices.last().filter(|_| kernel[assignee.array].is_temporary()) else {
        return Element::Other;
    };
    let extent = kernel.constant_shape(assignee.array).and_then(|shape| shape.last().copied());
    let index = affine::of(&kernel.exprs, last).and_then(|index| index.as_constant());
    match (index, extent) {
        (Some(index), Some(extent)) if index + 1 < extent as i64 => Element::Other,
        (Some(_), Some(_))
            if kernel[insn].predicates.is_empty() && !reads(&kernel.exprs, [*expression], assignee.array) =>
        {
            Element::Last
        }
        _ => Element::Unknown(assignee.array),
    }
}

/// Writes the kernel.
struct Writer<'a> {
    plan: &'a Plan,
    kernel: Kernel,
    names: Names,
    tables: TablePool,
    terms: BTreeMap<InsnId, ArrayId>,
    /// The iname of each loop.
    inames: Vec<InameId>,
}

impl Writer<'_> {
    /// Depth is limited by [`nestegg_ir::linearization::MAX_NESTING`].
    fn all(&mut self, nodes: &[LoopTree]) -> Vec<LoopTree> {
        let mut res = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                LoopTree::Loop { iname, body } => match self.padded_of(*iname, body) {
                    Some(idx) => res.extend(self.padded(idx, body)),
                    None => res.push(LoopTree::Loop { iname: *iname, body: self.all(body) }),
                },
                LoopTree::Branch { condition, body } => {
                    res.push(LoopTree::Branch { condition: *condition, body: self.all(body) });
                }
                LoopTree::Run(insn) => {
                    res.push(LoopTree::Run(*insn));
                    if self.plan.repeated.contains(insn) {
                        res.extend(self.repeated(*insn).into_iter().map(LoopTree::Run));
                    }
                }
            }
        }
        res
    }

    fn padded_of(&self, iname: InameId, body: &[LoopTree]) -> Option<usize> {
        let first = runs_in(body).first().copied()?;
        self.plan.loops.iter().position(|one| one.iname == iname && one.first == first)
    }

    /// A padded loop, and one that adds up its terms, if it has any.
    fn padded(&mut self, idx: usize, body: &[LoopTree]) -> Vec<LoopTree> {
        let mut sums = Vec::new();
        let body = self.inside(idx, body, &mut sums);
        let mut res = vec![LoopTree::Loop { iname: self.inames[idx], body }];
        if !sums.is_empty() {
            res.push(LoopTree::Loop { iname: self.plan.loops[idx].iname, body: sums });
        }
        res
    }

    fn inside(&mut self, idx: usize, nodes: &[LoopTree], sums: &mut Vec<LoopTree>) -> Vec<LoopTree> {
        let mut res = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                LoopTree::Loop { iname, body } => {
                    res.push(LoopTree::Loop { iname: *iname, body: self.inside(idx, body, sums) });
                }
                LoopTree::Branch { .. } => unreachable!("padded loops are around no conditions"),
                LoopTree::Run(insn) => match self.plan.loops[idx].steps[insn] {
                    Step::Row(_) | Step::Scalar => {
                        self.rewrite(idx, *insn);
                        res.push(LoopTree::Run(*insn));
                    }
                    Step::Sum(term) => {
                        res.push(LoopTree::Run(self.store_term(idx, *insn, term)));
                        self.add_term(idx, *insn);
                        sums.push(LoopTree::Run(*insn));
                    }
                },
            }
        }
        res
    }

    /// Rewrites an instruction for the new iname.
    fn rewrite(&mut self, idx: usize, insn: InsnId) {
        let roots: Vec<ExprId> = self.kernel[insn].expressions().collect();
        let new = self.rewritten(idx, &roots);
        let image = |id: ExprId| roots.iter().position(|&root| root == id).map_or(id, |at| new[at]);
        self.kernel[insn].map_expressions(image);
        self.kernel[insn].within = self.within(idx, insn);
    }

    /// The inames around an instruction, with the new one.
    fn within(&self, idx: usize, insn: InsnId) -> Vec<InameId> {
        let image = |&iname: &InameId| if iname == self.plan.loops[idx].iname { self.inames[idx] } else { iname };
        self.kernel[insn].within.iter().map(image).collect()
    }

    /// Expressions for the new iname, tables with padded rows.
    fn rewritten(&mut self, idx: usize, roots: &[ExprId]) -> Vec<ExprId> {
        let Self { plan, kernel, tables, inames, .. } = self;
        let Rows { iname, n, to, .. } = plan.loops[idx];
        let own = Expr::Iname(iname);
        let known = kernel.exprs.rewrite(roots.iter().copied(), |exprs, old, expr| match (exprs[old].clone(), expr) {
            (Expr::Iname(other), _) if other == iname => exprs.iname(inames[idx]),
            (Expr::Access { array, indices: old }, Expr::Access { indices, .. }) => {
                let axis = old.iter().position(|&index| exprs[index] == own);
                match axis.zip(tables.contents(array)) {
                    Some((axis, contents)) => {
                        let contents = rows_of_table(contents, axis, (n as usize, to as usize));
                        let table = tables.get(exprs, "padded", contents);
                        let mut indices = indices.to_vec();
                        let index = indices.remove(axis);
                        indices.push(index);
                        exprs.access(table, indices)
                    }
                    None => exprs.access(array, indices),
                }
            }
            (_, expr) => exprs.intern(expr),
        });
        roots.iter().map(|&root| known.get(root)).collect()
    }

    /// An instruction that stores a term.
    fn store_term(&mut self, idx: usize, insn: InsnId, term: ExprId) -> InsnId {
        let array = self.terms[&insn];
        let expression = self.rewritten(idx, &[term])[0];
        let index = self.kernel.exprs.iname(self.inames[idx]);
        let kind = InstructionKind::Assignment { assignee: Assignee { array, indices: Box::new([index]) }, expression };
        let within = self.within(idx, insn);
        self.push("keep", array, kind, within)
    }

    /// Makes an instruction add what is stored.
    fn add_term(&mut self, idx: usize, insn: InsnId) {
        let array = self.terms[&insn];
        let index = self.kernel.exprs.iname(self.plan.loops[idx].iname);
        let term = self.kernel.exprs.access(array, [index]);
        set_stored(&mut self.kernel, insn, term);
    }

    /// Instructions that repeat the last element of a row.
    fn repeated(&mut self, insn: InsnId) -> Vec<InsnId> {
        let InstructionKind::Assignment { assignee, .. } = self.kernel[insn].kind.clone() else { return Vec::new() };
        let (n, to) = self.plan.extents[&assignee.array];
        let within = self.kernel[insn].within.clone();
        let expression = self.kernel.exprs.access(assignee.array, assignee.indices.clone());
        let mut res = Vec::new();
        for at in n..to {
            let mut indices = assignee.indices.to_vec();
            indices.pop();
            indices.push(self.kernel.exprs.int(at));
            let assignee = Assignee { array: assignee.array, indices: indices.into() };
            let kind = InstructionKind::Assignment { assignee, expression };
            res.push(self.push("repeat", self.kernel[insn].written_arrays()[0], kind, within.clone()));
        }
        res
    }

    fn push(&mut self, verb: &str, array: ArrayId, kind: InstructionKind, within: Vec<InameId>) -> InsnId {
        let id = self.names.new_name_like(&format!("{verb}_{}", self.kernel[array].name));
        let (depends_on, predicates) = (Vec::new(), Vec::new());
        self.kernel.instructions.push(Instruction { id, kind, within, depends_on, predicates });
        InsnId::new(self.kernel.instructions.len() - 1)
    }
}

/// A table with the first `n` entries along an axis as rows, the last of which is repeated until they are `to`.
fn rows_of_table(table: &Contents, axis: usize, (n, to): (usize, usize)) -> Contents {
    let (outer, inner) = (&table.shape[..axis], &table.shape[axis + 1..]);
    let [n_outer, n_inner] = [outer, inner].map(|sizes| sizes.iter().product::<usize>());
    let size = table.shape[axis];
    let mut values = Vec::with_capacity(n_outer * n_inner * to);
    for before in 0..n_outer {
        for after in 0..n_inner {
            let entry = |at: usize| table.values[(before * size + at.min(n - 1)) * n_inner + after];
            values.extend((0..to).map(entry));
        }
    }
    let shape = outer.iter().chain(inner).copied().chain([to]).collect();
    Contents { dtype: table.dtype, shape, values: values.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_become_as_long_as_vectors() {
        let of_four: Vec<Option<i64>> = (0..=12).map(|n| padded(n, 4)).collect();
        let expected = [None, None, None, Some(4), None, None, None, Some(8), None, None, None, Some(12), None];
        assert_eq!(of_four, expected);
        assert_eq!([3, 5, 6, 7, 9].map(|n| padded(n, 8)), [Some(4), Some(8), Some(8), Some(8), None]);
        assert_eq!([padded(3, 1), padded(3, 2), padded(35, 4)], [None, None, None]);
    }

    #[test]
    fn rows_repeat_their_last_entry() {
        use nestegg_ir::{Dtype, Number};
        let values: Vec<Number> = (0..12).map(Number::Int).collect();
        let table = Contents { dtype: Dtype::Int64, shape: vec![2, 3, 2], values: values.into() };
        let rows = rows_of_table(&table, 1, (3, 4));
        assert_eq!(rows.shape, [2, 2, 4]);
        let expected = [0, 2, 4, 4, 1, 3, 5, 5, 6, 8, 10, 10, 7, 9, 11, 11].map(Number::Int);
        assert_eq!(rows.values.to_vec(), expected);
        assert_eq!(rows_of_table(&table, 1, (2, 3)).values[..3], [0, 2, 2].map(Number::Int));
    }
}

//! The loops of a kernel, and what compilers leave in each of them.
//!
//! # Input
//! A kernel without substitution rules, its order, values of parameters.
//! # Output
//! A tree of loops, reductions among them. Each operation stands in the innermost loop on which its value depends: operations that do not change
//! from one iteration to the next are computed outside. Equal operations in one loop are one. A product that is added is one operation
//! with the sum. A value that every iteration of a loop adds to stays in a register, as far as nothing else reads or writes its array there.
//! # Complexity
//! Linear in the operations of each instruction; one isl count for each loop.

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::calls::is_inline;
use nestegg_ir::data_bounds::end_of;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::types::Types;
use nestegg_ir::{
    ArrayId, Assignee, Expr, ExprId, InameId, InameSet, InameTag, InsnId, InstructionKind, Kernel, LoopTree, Op,
    SummingLoop,
};
use num_traits::ToPrimitive;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::body::{CallKind, Counts, Mark, Reference, Work};
use crate::facts::AllFacts;
use crate::groups::{Blocks, Stored};
use crate::recurrence::Recurrence;

/// A condition that says nothing of its inames holds this often.
const PROBABILITY: f64 = 0.5;

/// A loop, or the kernel as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// `None` of the whole.
    pub(crate) iname: Option<InameId>,
    pub(crate) name: String,
    /// Whether the kernel says that its iterations are lanes of vectors.
    pub(crate) is_lanes: bool,
    /// Whether how often it runs depends on the loops around it.
    pub(crate) is_varying: bool,
    /// Iterations each time it is entered, on average.
    pub(crate) trips: f64,
    /// How often it is entered each time the loop around it does an iteration.
    pub(crate) entries: f64,
    pub(crate) children: Vec<usize>,
    /// What an iteration does besides the loops inside.
    pub(crate) work: Work,
    /// Arrays that are written in it, with the one place that all accesses in it have; `None` if there are several.
    accessed: FxHashMap<ArrayId, Option<Vec<ExprId>>>,
    written: FxHashSet<ArrayId>,
}

/// The loops, the whole first, each before those inside it.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    pub(crate) loops: Vec<Loop>,
    /// For each instruction what it adds to an iteration of a loop: what an instruction before it does already is not in it.
    pub(crate) parts: Vec<(InsnId, usize, Counts)>,
    /// What instructions read of tables.
    pub(crate) reads: Vec<Read>,
}

/// An element of a table that an instruction reads.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) insn: InsnId,
    pub(crate) access: ExprId,
    /// The loop in which it is read.
    pub(crate) at: usize,
    pub(crate) of: Reference,
}

/// A loop around an instruction: its place among the loops and what it runs over.
type Path = Vec<(usize, Option<InameId>)>;

pub(crate) struct Builder<'a> {
    pub(crate) kernel: &'a Kernel,
    domains: &'a Domains,
    values: &'a [(String, i64)],
    pub(crate) reassociates: bool,
    pub(crate) fuses: bool,
    vector_bytes: u64,
    types: Types,
    facts: AllFacts,
    n_writers: Vec<u32>,
    loops: Vec<Loop>,
    placed: FxHashSet<(ExprId, usize)>,
    reciprocals: FxHashSet<(ExprId, usize)>,
    stored: FxHashSet<(ArrayId, Vec<ExprId>, usize)>,
    reduced: FxHashSet<(ExprId, usize)>,
    /// Instructions that have run, and at which of them each scalar was last used.
    n_run: f64,
    last_use: FxHashMap<ArrayId, f64>,
    /// Scalars that are assigned once, with the loop and the value.
    pub(crate) definitions: FxHashMap<ArrayId, (usize, ExprId)>,
    /// Stores that may be parts of vectors.
    straight: Vec<Stored>,
    /// Values of which something else is made.
    roots: Vec<ExprId>,
    reads: Vec<Read>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(
        kernel: &'a Kernel,
        domains: &'a Domains,
        values: &'a [(String, i64)],
        (reassociates, fuses, vector_bytes): (bool, bool, u64),
    ) -> Self {
        let mut n_writers = vec![0; kernel.arrays.len()];
        for array in kernel.instructions.iter().flat_map(nestegg_ir::Instruction::written_arrays) {
            n_writers[array.index()] += 1;
        }
        Self {
            kernel,
            domains,
            values,
            reassociates,
            fuses,
            vector_bytes,
            types: Types::infer(kernel),
            facts: AllFacts::new(kernel),
            n_writers,
            loops: Vec::new(),
            placed: FxHashSet::default(),
            reciprocals: FxHashSet::default(),
            stored: FxHashSet::default(),
            reduced: FxHashSet::default(),
            n_run: 0.0,
            last_use: FxHashMap::default(),
            definitions: FxHashMap::default(),
            straight: Vec::new(),
            roots: Vec::new(),
            reads: Vec::new(),
        }
    }

    pub(crate) fn nest(mut self, tree: &[LoopTree]) -> Result<Nest, DomainError> {
        let root = self.open(None, "", 1.0, 1.0);
        let mut path = vec![(root, None)];
        let mut runs = Vec::new();
        self.skeleton(tree, &mut path, 1.0, &mut runs)?;
        let mut parts = Vec::new();
        for (insn, path, weight) in runs {
            let n_loops = self.loops.len();
            let marks: Vec<(usize, Mark)> = path.iter().map(|&(at, _)| (at, self.loops[at].work.mark())).collect();
            self.run(insn, &path, weight)?;
            let new = (n_loops..self.loops.len()).map(|at| (at, Work::default().mark()));
            let added = marks.into_iter().chain(new).map(|(at, mark)| (insn, at, self.loops[at].work.since(&mark)));
            parts.extend(added.filter(|(.., counts)| *counts != Counts::default()));
        }
        self.group();
        Ok(Nest { loops: self.loops, parts, reads: self.reads })
    }

    /// Straight-line code becomes vectors where that saves something.
    fn group(&mut self) {
        let (kernel, vector_bytes) = (self.kernel, self.vector_bytes);
        let blocks = Blocks {
            kernel,
            definitions: std::mem::take(&mut self.definitions),
            stores: std::mem::take(&mut self.straight),
            roots: std::mem::take(&mut self.roots),
            positions: &|array, indices| self.position(array, indices),
            lanes: &|array| usize::try_from(vector_bytes / kernel[array].dtype.size().max(1)).unwrap_or(1),
            fuses: self.fuses,
        };
        for (at, saved) in blocks.saved() {
            let work = &mut self.loops[at].work;
            work.arithmetic = (work.arithmetic - saved.arithmetic).max(0.0);
            work.moved += saved.moved;
            work.numbers += saved.numbers;
            work.at_once.extend(saved.at_once.into_iter().map(|n_vectors| (n_vectors, 1.0)));
            for (references, grouped) in [(&mut work.stores, saved.stores), (&mut work.loads, saved.loads)] {
                for (array, position, lanes) in grouped {
                    let is_it = |one: &&mut Reference| one.array == array && one.position.as_ref() == Some(&position);
                    references.iter_mut().filter(is_it).for_each(|one| one.times = one.times.min(1.0 / lanes));
                }
            }
        }
    }

    fn open(&mut self, iname: Option<InameId>, name: &str, trips: f64, entries: f64) -> usize {
        self.loops.push(Loop {
            iname,
            name: name.to_owned(),
            is_lanes: iname.is_some_and(|iname| self.kernel[iname].tags.contains(&InameTag::Vec)),
            is_varying: false,
            trips,
            entries,
            children: Vec::new(),
            work: Work::default(),
            accessed: FxHashMap::default(),
            written: FxHashSet::default(),
        });
        self.loops.len() - 1
    }

    /// The loops, with what is accessed in each, before any operation is placed.
    fn skeleton(
        &mut self,
        tree: &[LoopTree],
        path: &mut Path,
        weight: f64,
        runs: &mut Vec<(InsnId, Path, f64)>,
    ) -> Result<(), DomainError> {
        for node in tree {
            match node {
                LoopTree::Loop { iname, body } => {
                    let id = self.inner(*iname, path, weight)?;
                    path.push((id, Some(*iname)));
                    self.skeleton(body, path, 1.0, runs)?;
                    path.pop();
                }
                LoopTree::Branch { condition, body } => {
                    let at = path.last().map_or(0, |last| last.0);
                    self.loops[at].work.branches += weight;
                    self.skeleton(body, path, weight * self.probability(*condition, path), runs)?;
                }
                LoopTree::Run(insn) => {
                    self.note(*insn, path);
                    runs.push((*insn, path.clone(), weight));
                }
            }
        }
        Ok(())
    }

    /// A loop inside others.
    fn inner(&mut self, iname: InameId, path: &Path, entries: f64) -> Result<usize, DomainError> {
        let outer: InameSet = path.iter().filter_map(|level| level.1).collect();
        let mut all = outer.clone();
        all.insert(iname);
        let points = |set| self.domains.count(set).map(|n| n.to_f64().unwrap_or(f64::MAX));
        let (around, inside) = (points(&outer)?, points(&all)?);
        let trips = if around > 0.0 { inside / around } else { 0.0 };
        let name = self.kernel[iname].name.clone();
        let id = self.open(Some(iname), &name, trips, entries);
        self.loops[id].is_varying = inside < around * points(&std::iter::once(iname).collect())?;
        let parent = path.last().map_or(0, |last| last.0);
        self.loops[parent].children.push(id);
        Ok(id)
    }

    fn probability(&self, condition: ExprId, path: &Path) -> f64 {
        let open: InameSet = path.iter().filter_map(|level| level.1).collect();
        let share = || {
            let set = self.domains.of(&open).ok()?;
            let part = self.domains.restrict(&set, self.kernel, condition).ok()??;
            let [all, some] = [&set, &part].map(|set| self.domains.count_set(set).ok().and_then(|n| n.to_f64()));
            let (all, some) = (all?, some?);
            (all > 0.0).then(|| (some / all).min(1.0))
        };
        share().unwrap_or(PROBABILITY)
    }

    /// Notes what an instruction accesses in all loops around it.
    fn note(&mut self, insn: InsnId, path: &Path) {
        let kernel = self.kernel;
        let instruction = &kernel[insn];
        let written = instruction.written_arrays();
        let mut accesses: Vec<(ArrayId, Option<Vec<ExprId>>)> =
            instruction.assignees().iter().map(|to| (to.array, Some(to.indices.to_vec()))).collect();
        for id in nestegg_ir::walk::below(&kernel.exprs, instruction.expressions()) {
            if let Expr::Access { array, indices } = &kernel.exprs[id]
                && self.n_writers[array.index()] > 0
            {
                accesses.push((*array, Some(indices.to_vec())));
            }
        }
        if let InstructionKind::Opaque { reads, writes, .. } = &instruction.kind {
            accesses.extend(reads.iter().chain(writes).map(|array| (*array, None)));
        }
        for &(at, _) in path {
            let one = &mut self.loops[at];
            one.written.extend(&written);
            for (array, place) in &accesses {
                let known = one.accessed.entry(*array).or_insert_with(|| place.clone());
                if known != place {
                    *known = None;
                }
            }
        }
    }

    /// Places what an instruction does.
    fn run(&mut self, insn: InsnId, path: &Path, weight: f64) -> Result<(), DomainError> {
        let kernel = self.kernel;
        let instruction = &kernel[insn];
        let at = path.last().map_or(0, |last| last.0);
        self.n_run += 1.0;
        let mut weight = weight;
        for &predicate in &instruction.predicates {
            self.place(insn, predicate, path, weight)?;
            self.roots.push(predicate);
            self.loops[at].work.branches += weight;
            weight *= self.probability(predicate, path);
        }
        match &instruction.kind {
            InstructionKind::Assignment { assignee, expression } => {
                self.place(insn, *expression, path, weight)?;
                self.store(insn, assignee, Some(*expression), path, weight)?;
            }
            InstructionKind::Call { assignees, arguments, .. } => {
                for argument in arguments {
                    self.place(insn, *argument, path, weight)?;
                    self.roots.push(*argument);
                }
                let work = &mut self.loops[at].work;
                work.calls[CallKind::Other as usize] += weight;
                work.is_scalar = true;
                for assignee in assignees {
                    self.store(insn, assignee, None, path, weight)?;
                }
            }
            InstructionKind::Opaque { .. } => {
                let work = &mut self.loops[at].work;
                work.calls[CallKind::Other as usize] += weight;
                work.is_scalar = true;
            }
        }
        Ok(())
    }

    fn store(
        &mut self,
        insn: InsnId,
        assignee: &Assignee,
        value: Option<ExprId>,
        path: &Path,
        weight: f64,
    ) -> Result<(), DomainError> {
        let array = assignee.array;
        for &index in &assignee.indices {
            self.place(insn, index, path, weight)?;
        }
        let kernel = self.kernel;
        let is_scalar = kernel[array].shape.is_empty() && kernel[array].is_temporary();
        let once = self.n_writers[array.index()] == 1;
        if is_scalar
            && once
            && let Some(value) = value
        {
            self.facts.of(kernel, value);
            self.facts.assign(array, value);
            self.definitions.insert(array, (path[path.len() - 1].0, value));
            self.last_use.insert(array, self.n_run);
            return Ok(());
        }
        self.note_store(assignee, value, path, weight);
        if once && self.is_vector(array, &assignee.indices) {
            self.last_use.insert(array, self.n_run);
            return Ok(());
        }
        // Where the element is the same in all iterations and nobody else looks, it stays in a register.
        let mut level = path.len() - 1;
        while level > 0 && self.stays(path, level, array, &assignee.indices) {
            level -= 1;
        }
        let adds_up = value.is_some_and(|value| self.adds_up(value, assignee));
        if level + 1 < path.len() && adds_up {
            let innermost = path[path.len() - 1].0;
            let one = &mut self.loops[innermost];
            one.work.reductions += 1.0;
            one.work.adds_to_elements |= !is_scalar && one.trips >= SummingLoop::MIN_TRIPS as f64;
            if let Some(value) = value {
                let bound = path[level + 1..].iter().filter_map(|level| level.1).collect();
                self.collapse(value, innermost, &bound);
            }
        }
        // An element that others in the loop may be is stored and loaded each time; the sum waits all the same.
        if level + 1 == path.len() && adds_up && self.is_same_in(path[level], &assignee.indices) {
            let work = &mut self.loops[path[level].0].work;
            work.reductions_in_memory += 1.0;
            work.is_scalar = true;
        }
        if let (Some(value), (at, Some(iname))) = (value, path[path.len() - 1])
            && self.loops[at].accessed.get(&array) == Some(&None)
            && let Some(chain) = (Recurrence { builder: self, store: assignee, at, iname }).chain(value)
        {
            let work = &mut self.loops[at].work;
            work.recurrence = work.recurrence.max(chain);
        }
        if !is_scalar && self.stored.insert((array, assignee.indices.to_vec(), path[level].0)) {
            let reference = self.reference(array, &assignee.indices, weight);
            self.loops[path[level].0].work.stores.push(reference);
        }
        Ok(())
    }

    /// Notes a store for [`Blocks`], if it may be part of a vector there.
    fn note_store(&mut self, assignee: &Assignee, value: Option<ExprId>, path: &Path, weight: f64) {
        let Some(value) = value else { return };
        let (at, iname) = path[path.len() - 1];
        let position = self.position(assignee.array, &assignee.indices).filter(|position| {
            let along = |iname| position.coefficient(Var::Iname(iname)).unsigned_abs() == 1;
            weight == 1.0 && !assignee.indices.is_empty() && !self.loops[at].is_lanes && !iname.is_some_and(along)
        });
        match position {
            Some(position) => self.straight.push(Stored { at, array: assignee.array, position, value }),
            None => self.roots.push(value),
        }
    }

    /// Whether these elements are the lanes of one temporary vector.
    fn is_vector(&self, array: ArrayId, indices: &[ExprId]) -> bool {
        let is_lane = |index: &ExprId| matches!(self.kernel.exprs[*index], Expr::Iname(iname) if self.kernel[iname].tags.contains(&InameTag::Vec));
        self.kernel[array].is_temporary() && !indices.is_empty() && indices.iter().all(is_lane)
    }

    /// Whether indices are the same in all iterations of a loop.
    fn is_same_in(&mut self, (_, iname): (usize, Option<InameId>), indices: &[ExprId]) -> bool {
        let kernel = self.kernel;
        iname.is_some_and(|iname| indices.iter().all(|&index| !self.facts.of(kernel, index).inames.contains(iname)))
    }

    /// Whether an element that instructions of a loop access is the same in all its iterations, and the only one of its array there.
    fn stays(&mut self, path: &Path, level: usize, array: ArrayId, indices: &[ExprId]) -> bool {
        let (at, Some(iname)) = path[level] else { return false };
        let is_only = self.loops[at].accessed.get(&array).is_some_and(|place| place.as_deref() == Some(indices));
        is_only && self.is_same_in((at, Some(iname)), indices)
    }

    /// Whether a value is that of the assignee and something more.
    fn adds_up(&self, value: ExprId, assignee: &Assignee) -> bool {
        let is_it = |&id: &ExprId| assignee.is_read_by(&self.kernel.exprs, id);
        matches!(&self.kernel.exprs[value], Expr::Op { op: Op::Add | Op::Sub | Op::Mul | Op::Min | Op::Max, operands } if operands.iter().any(is_it))
    }

    /// The place on the path of the innermost loop on which an expression depends.
    fn level(&mut self, id: ExprId, path: &Path) -> usize {
        let kernel = self.kernel;
        let facts = self.facts.of(kernel, id).clone();
        let mut res =
            path.iter().rposition(|(_, iname)| iname.is_some_and(|iname| facts.inames.contains(iname))).unwrap_or(0);
        for array in facts.arrays {
            let mut level = path.iter().rposition(|(at, _)| self.loops[*at].written.contains(&array)).unwrap_or(0);
            if let Expr::Access { array: read, indices } = &kernel.exprs[id]
                && *read == array
            {
                while level > 0 && self.stays(path, level, array, indices) {
                    level -= 1;
                }
            }
            res = res.max(level);
        }
        res
    }

    /// Places all operations of an instruction's expression that are not placed yet.
    fn place(&mut self, insn: InsnId, root: ExprId, path: &Path, weight: f64) -> Result<(), DomainError> {
        let kernel = self.kernel;
        let mut pending = vec![root];
        let mut seen = FxHashSet::default();
        while let Some(id) = pending.pop() {
            if !seen.insert(id) {
                continue;
            }
            let expr = &kernel.exprs[id];
            if expr.children().is_empty() && !matches!(expr, Expr::Access { .. }) {
                continue;
            }
            let level = self.level(id, path);
            let at = path[level].0;
            let weight = if level + 1 == path.len() { weight } else { 1.0 };
            if let Expr::Reduce { inames, body, .. } = expr {
                if self.reduced.insert((id, at)) {
                    let mut inner: Path = path[..=level].to_vec();
                    for iname in kernel.enclosing_first(inames) {
                        let one = self.inner(iname, &inner, if inner.len() == level + 1 { weight } else { 1.0 })?;
                        inner.push((one, Some(iname)));
                    }
                    self.place(insn, *body, &inner, 1.0)?;
                    let innermost = inner[inner.len() - 1].0;
                    let is_fused = self.fuses && matches!(kernel.exprs[*body], Expr::Op { op: Op::Mul, .. });
                    let work = &mut self.loops[innermost].work;
                    work.reductions += 1.0;
                    work.arithmetic += if is_fused { 0.0 } else { 1.0 };
                    self.collapse(*body, innermost, &inames.iter().copied().collect());
                }
                continue;
            }
            if let Expr::Access { array, indices } = expr {
                if indices.len() > 1 && kernel[*array].table().is_some() {
                    let of = self.reference(*array, indices, weight);
                    self.reads.push(Read { insn, access: id, at, of });
                }
                pending.extend(indices.iter().filter(|index| affine::of(&kernel.exprs, **index).is_none()));
            } else {
                pending.extend(expr.children());
            }
            if self.placed.insert((id, at)) {
                self.operation(id, path, level, weight);
            }
        }
        Ok(())
    }

    /// Counts one operation at its place.
    fn operation(&mut self, id: ExprId, path: &Path, level: usize, weight: f64) {
        let kernel = self.kernel;
        let at = path[level].0;
        let expr = &kernel.exprs[id];
        let is_float = self.types.of(id).is_float();
        match expr {
            Expr::Access { array, indices } => {
                let is_scalar = kernel[*array].shape.is_empty() && kernel[*array].is_temporary();
                if is_scalar || self.n_writers[array.index()] == 1 && self.is_vector(*array, indices) {
                    if let Some(last) = self.last_use.insert(*array, self.n_run) {
                        self.loops[at].work.spilled.push((self.n_run - last, weight));
                    }
                    return;
                }
                let reference = self.reference(*array, indices, weight);
                self.loops[at].work.loads.push(reference);
            }
            Expr::Op { op: Op::Add | Op::Sub | Op::Mul | Op::Min | Op::Max, operands } if is_float => {
                let mut levels: Vec<(usize, ExprId)> = Vec::with_capacity(operands.len());
                for &operand in operands {
                    let is_unit =
                        matches!(&kernel.exprs[operand], Expr::Number(number) if number.to_f64().abs() == 1.0);
                    if !(is_unit && matches!(expr, Expr::Op { op: Op::Mul, .. })) {
                        levels.push((self.level(operand, path), operand));
                    }
                }
                if self.reassociates {
                    levels.sort_unstable();
                }
                let is_sum = matches!(expr, Expr::Op { op: Op::Add | Op::Sub, .. });
                self.fold(&levels, at, weight);
                let mut around = 0;
                for (idx, (operand_level, operand)) in levels.into_iter().enumerate() {
                    around = around.max(operand_level);
                    let is_product = matches!(&kernel.exprs[operand], Expr::Op { op: Op::Mul, .. });
                    let is_fused = self.fuses && is_sum && is_product && operand_level == around;
                    if idx > 0 && !is_fused {
                        let weight = if around == level { weight } else { 1.0 };
                        self.loops[path[around].0].work.arithmetic += weight;
                    }
                }
            }
            Expr::Op { op: Op::Div, operands } => {
                let divisor = self.level(operands[1], path);
                let is_number = matches!(kernel.exprs[operands[1]], Expr::Number(_));
                // The C back end multiplies by the reciprocal of a number.
                if is_number {
                    self.loops[at].work.arithmetic += weight;
                } else if self.reassociates {
                    let of_divisor = path[divisor].0;
                    if self.reciprocals.insert((operands[1], of_divisor)) {
                        self.loops[of_divisor].work.quotients += if divisor == level { weight } else { 1.0 };
                    }
                    self.loops[at].work.arithmetic += weight;
                } else {
                    self.loops[at].work.quotients += weight;
                }
            }
            Expr::Op { op: Op::Pow, operands } => self.power(operands[1], at, weight),
            Expr::Op { op: Op::FloorDiv | Op::Mod, .. } => {
                let work = &mut self.loops[at].work;
                if is_float { work.calls[CallKind::Other as usize] += weight } else { work.integers += 4.0 * weight }
            }
            Expr::Op { op: Op::Neg, .. } => {}
            Expr::Op { op, operands } if op.is_comparison() && self.types.of(operands[0]).is_float() => {
                self.loops[at].work.arithmetic += weight;
            }
            Expr::Op { op: Op::If, .. } if is_float => self.loops[at].work.arithmetic += weight,
            Expr::Op { operands, .. } => {
                self.loops[at].work.integers += weight * (operands.len() as f64 - 1.0).max(1.0)
            }
            Expr::Cast { .. } => self.loops[at].work.integers += weight,
            Expr::Call { function, .. } => self.call(&kernel[*function], at, weight),
            _ => {}
        }
    }

    /// Operands that are numbers once loops are unrolled become one.
    fn fold(&mut self, operands: &[(usize, ExprId)], at: usize, weight: f64) {
        let kernel = self.kernel;
        let (mut inames, mut n_constant) = (InameSet::new(), 0_usize);
        for (_, operand) in operands {
            let facts = self.facts.of(kernel, *operand);
            if facts.is_constant {
                inames = inames.union(&facts.inames);
                n_constant += 1;
            }
        }
        if n_constant > 1 && (self.reassociates || n_constant == operands.len()) {
            self.loops[at].work.folded.push((inames, weight * (n_constant - 1) as f64));
        }
    }

    /// A sum over products of numbers with a value that stays the same is one product, once its loops are unrolled.
    fn collapse(&mut self, body: ExprId, at: usize, bound: &InameSet) {
        if !self.reassociates {
            return;
        }
        let kernel = self.kernel;
        let terms: &[ExprId] = match &kernel.exprs[body] {
            Expr::Op { op: Op::Add | Op::Sub, operands } => operands,
            _ => std::slice::from_ref(&body),
        };
        for &term in terms {
            let Expr::Op { op: Op::Mul, operands } = &kernel.exprs[term] else { continue };
            let (mut inames, mut has_constant, mut is_same) = (InameSet::new(), false, true);
            for &operand in operands {
                let facts = self.facts.of(kernel, operand);
                if facts.is_constant {
                    inames = inames.union(&facts.inames);
                    has_constant = true;
                } else {
                    is_same &= facts.inames.is_disjoint(bound) && facts.arrays.is_empty();
                }
            }
            if has_constant && is_same {
                self.loops[at].work.folded.push((inames, 1.0));
            }
        }
    }

    fn power(&mut self, exponent: ExprId, at: usize, weight: f64) {
        let exponent = match &self.kernel.exprs[exponent] {
            Expr::Number(number) => Some(number.to_f64()),
            Expr::Op { op: Op::Neg, operands } => match &self.kernel.exprs[operands[0]] {
                Expr::Number(number) => Some(-number.to_f64()),
                _ => None,
            },
            _ => None,
        };
        let work = &mut self.loops[at].work;
        match exponent {
            Some(whole) if whole.fract() == 0.0 && whole.abs() <= 64.0 => {
                let magnitude = whole.abs().max(1.0) as u64;
                work.arithmetic += weight * (f64::from(magnitude.ilog2()) + f64::from(magnitude.count_ones()) - 1.0);
                work.quotients += if whole < 0.0 { weight } else { 0.0 };
            }
            Some(half) if half.abs() == 0.5 => {
                work.roots += weight;
                work.quotients += if half < 0.0 { weight } else { 0.0 };
            }
            _ => work.calls[CallKind::Power as usize] += weight,
        }
    }

    fn call(&mut self, function: &str, at: usize, weight: f64) {
        let work = &mut self.loops[at].work;
        match function {
            "sqrt" => work.roots += weight,
            _ if is_inline(function) => work.arithmetic += weight,
            "exp" | "log" | "exp2" | "log2" | "log10" | "expm1" | "log1p" => {
                work.calls[CallKind::Exponential as usize] += weight
            }
            "sin" | "cos" => work.calls[CallKind::Trigonometric as usize] += weight,
            "pow" => work.calls[CallKind::Power as usize] += weight,
            _ => {
                work.calls[CallKind::Other as usize] += weight;
                work.is_scalar = true;
            }
        }
    }

    /// An element, with its position in the array.
    fn reference(&self, array: ArrayId, indices: &[ExprId], times: f64) -> Reference {
        Reference { array, position: self.position(array, indices), times }
    }

    fn position(&self, array: ArrayId, indices: &[ExprId]) -> Option<Affine> {
        let kernel = self.kernel;
        let mut res = Affine::default();
        for (&index, &extent) in indices.iter().zip(&kernel[array].shape) {
            let extent = self.value(&affine::of(&kernel.exprs, extent)?)?;
            let index = affine::of(&kernel.exprs, index)?;
            res = res.times(extent)?.plus(&index, 1)?;
        }
        Some(res)
    }

    fn value(&self, size: &Affine) -> Option<i64> {
        value(self.kernel, size, self.values)
    }
}

/// The value of an affine function of parameters.
pub(crate) fn value(kernel: &Kernel, size: &Affine, values: &[(String, i64)]) -> Option<i64> {
    size.terms.iter().try_fold(size.constant, |sum, (var, coefficient)| {
        let Var::Parameter(parameter) = var else { return None };
        let given = values.iter().find(|(name, _)| *name == kernel[*parameter].name).map(|(_, value)| *value);
        // Values of unstated extents hold what a run accesses; an estimate is more.
        let is_end = || kernel.domain_ids().any(|domain| end_of(kernel, domain) == Some(*parameter));
        let given = given.filter(|_| kernel[*parameter].is_stated || is_end());
        sum.checked_add(given.or(kernel[*parameter].estimate)?.checked_mul(*coefficient)?)
    })
}

//! Loops around sums in vectors: `for j: { s = 0; for q: s += a[q]*T[q, j]; x[j] = s }` for four `j` at a time.
//!
//! # Why
//! Compilers put the outer loop into lanes only once they have unrolled the inner one, and then keep one vector of sums, each addition of which waits for the one before.
//! # Input
//! A loop around loops that add up: it runs at least twice, or an unknown number of times. A loop of exactly one vector need not be around others. What they do is
//! assignments of sums, products, quotients, absolute values and square roots. Stores go from an element to its neighbour, forwards or backwards, or stay where they are;
//! loads may have any constant stride, but only a third of the statements in inner loops may load elements that are not neighbours. Iterations share nothing that they
//! write: where one writes several elements of an array, as at both ends of a row, isl says that no other iteration writes these.
//! # Output
//! The loop for compilers that have the vectors of gcc. All others get it as it is. Each element is the same operations in the same order.
//! # Method
//! A block of up to [`MAX_VECTORS`] vectors goes through the body together, one assignment after the other, so that inner loops have as many sums that do not wait
//! for each other, and load what is the same in all lanes once. The last vector of a loop of seven iterations begins at the fourth: what it computes twice is
//! the same, since each assignment loads all vectors of a block before it stores the first. What inner loops read and write again and again is in vectors of its own meanwhile.
//! # Complexity
//! Linear in the operations, times the vectors of a block.
//! # Not done
//! Other functions, conditions, and longer loops without sums inside: these, compilers put into lanes themselves.
//! # Source
//! Nuzman, Zaks, "Outer-loop vectorization: revisited for short SIMD architectures", 2008.

use nestegg_ir::affine::{self, Var};
use nestegg_ir::walk::{arrays_below, below};
use nestegg_ir::{ArrayId, ArrayKind, Assignee, Dtype, Expr, ExprId, InameId, InsnId, InstructionKind, LoopTree, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use super::error::CodegenError;
use super::layout::Code;
use super::loops::{Header, Loop};
use super::plan::{ROOT, RegionId};
use super::statements::Temporaries;
use super::strips::{MAX_LANES, Strip, Strips, Texts, address, vector_function};
use super::temporaries::Place;
use super::text::{Precedence, Text};
use super::writer::Writer;

/// The most vectors of a block.
const MAX_VECTORS: usize = 4;
/// The most sums of an inner loop that are in vectors at once: processors with AVX2 have sixteen registers.
const MAX_SUMS: usize = 12;
/// So many operations for each assignment, at least, make a loop worth a vector that compilers would find as well.
const OPERATIONS: usize = 2;
/// So many blocks are written one after the other; more become a loop.
const MAX_BLOCKS: usize = 2;

/// A loop that can be written so.
pub(super) struct Across {
    pub(super) iname: InameId,
    /// The vectors.
    pub(super) strip: Strip,
    /// Temporaries of one iteration, and elements that inner loops access and that stay the same in these.
    pub(super) held: Vec<Held>,
    /// The most sums of an inner loop.
    pub(super) n_sums: usize,
    /// Whether columns of tables are read.
    pub(super) has_columns: bool,
}

/// A value that is in vectors while a block runs.
pub(super) struct Held {
    pub(super) at: Assignee,
    /// Whether it is loaded before.
    pub(super) is_read: bool,
}

/// A loop in vectors.
pub(crate) enum InVectors {
    /// All its iterations.
    All(Vec<Code>),
    /// Its first iterations, after which the iname is at the first of the others.
    Begun(Vec<Code>),
}

/// Vectors that go through the body together.
pub(super) struct Block {
    /// The iname's value in the first lane, if that is a number.
    pub(super) first: Option<i64>,
    /// How far from the iname's value each begins.
    pub(super) offsets: Vec<usize>,
    /// The vector variables that stand for each array while the block runs.
    pub(super) names: FxHashMap<ArrayId, Vec<Text>>,
}

/// Where an instruction is.
pub(super) struct Visit {
    pub(super) insn: InsnId,
    /// Loops inside the loop that is written in vectors, around the instruction.
    pub(super) inner: Vec<InameId>,
}

impl Writer<'_> {
    /// How often a loop runs, if vectors may be written for it: 0 if that is not a number.
    pub(super) fn trips_in_vectors(&self, one: &Loop) -> Option<usize> {
        let is_plain = one.guard.is_none() && one.entry.is_none() && one.header.step == 1 && one.mark.is_none();
        let may_be = is_plain && self.neighbours && self.lanes.is_none() && self.threads.is_empty();
        may_be.then(|| one.trip_count.and_then(|n| usize::try_from(n).ok()).unwrap_or(0))
    }

    /// The iterations of a loop, in vectors; `None` if it does something else, or is short.
    pub(crate) fn across(
        &mut self,
        one: &Loop,
        (iname, body): (InameId, &[LoopTree]),
        temporaries: &Temporaries,
        open: &mut Vec<InameId>,
    ) -> Result<Option<InVectors>, CodegenError> {
        let Some(known) = self.trips_in_vectors(one) else { return Ok(None) };
        let n = if known == 0 { usize::MAX } else { known };
        let n_around = open.len();
        let Some(visits) = self.visits(iname, body, open, n_around)? else { return Ok(None) };
        // Straight-line code is long at times: it is not looked at in vain.
        if n > MAX_LANES && visits.iter().all(|visit| visit.inner.is_empty()) {
            return Ok(None);
        }
        let Some(across) = self.found_across((iname, n), open, &visits, temporaries) else { return Ok(None) };
        let n_lanes = across.strip.n_lanes();
        if across.n_sums == 0 && !(n == n_lanes && self.is_one_vector(&across, &visits)) {
            return Ok(None);
        }
        let most = (MAX_SUMS / across.n_sums.max(1)).clamp(1, MAX_VECTORS);
        if known == 0 {
            let begun = !across.has_columns;
            return begun.then(|| self.begun_across(one, (iname, body), (&across, most), open)).transpose();
        }
        let blocks = blocks(n, n_lanes, most);
        let at_once = most * n_lanes;
        let first: Option<i64> = one.header.first.parse().ok();
        if across.has_columns && (blocks.len() > MAX_BLOCKS || first.is_none()) {
            return Ok(None);
        }
        let is_whole = |block: &&(usize, Vec<usize>)| block.1.last() == Some(&(at_once - n_lanes));
        let n_whole = blocks.iter().take_while(is_whole).count();
        let n_looped = if blocks.len() > MAX_BLOCKS { n_whole } else { 0 };
        let Header { ty, name, first: start, .. } = &one.header;
        let plus = |more: usize| match first {
            Some(first) => (first + more as i64).to_string(),
            None => format!("{start} + {more}"),
        };
        let mut code = Vec::new();
        open.push(iname);
        if n_looped > 0 {
            let body = self.block(&across, (None, blocks[0].1.clone()), body, open)?;
            let head = format!(
                "for ({}; {name} < {}; {name} += {at_once})",
                one.header.declaration(),
                plus(n_looped * at_once)
            );
            code.push(Code::Block { head, body });
        }
        for (done, offsets) in blocks.into_iter().skip(n_looped) {
            let first = first.map(|first| first + done as i64);
            let mut body = self.block(&across, (first, offsets), body, open)?;
            body.insert(0, Code::line(format!("const {ty} {name} = {};", plus(done))));
            code.push(Code::Block { head: String::new(), body });
        }
        open.pop();
        Ok(Some(InVectors::All(code)))
    }

    /// The iterations that fill vectors, where the number of iterations is unknown.
    fn begun_across(
        &mut self,
        one: &Loop,
        (iname, body): (InameId, &[LoopTree]),
        (across, most): (&Across, usize),
        open: &mut Vec<InameId>,
    ) -> Result<InVectors, CodegenError> {
        let n_lanes = across.strip.n_lanes();
        let mut code = Vec::new();
        open.push(iname);
        for n in if most > 1 { vec![most, 1] } else { vec![1] } {
            let offsets = (0..n).map(|at| at * n_lanes).collect();
            let body = self.block(across, (None, offsets), body, open)?;
            code.push(Code::Block { head: one.header.in_steps(n * n_lanes), body });
        }
        open.pop();
        Ok(InVectors::Begun(code))
    }

    /// Where the instructions of a loop are; `None` unless the loops inside are plain, and run as often in all iterations. `open` are the loops around the body, without
    /// the loop itself, the first `n_around` of which are around that.
    fn visits(
        &mut self,
        iname: InameId,
        body: &[LoopTree],
        open: &mut Vec<InameId>,
        n_around: usize,
    ) -> Result<Option<Vec<Visit>>, CodegenError> {
        let mut res = Vec::new();
        for node in body {
            match node {
                LoopTree::Run(insn) => res.push(Visit { insn: *insn, inner: open[n_around..].to_vec() }),
                LoopTree::Branch { .. } => return Ok(None),
                LoopTree::Loop { iname: own, body } => {
                    let without = self.loop_over(*own, open)?;
                    open.push(iname);
                    let with = self.loop_over(*own, open)?;
                    open.pop();
                    let is_plain = with.guard.is_none() && with.entry.is_none() && with.mark.is_none();
                    if !is_plain || with.header.head() != without.header.head() {
                        return Ok(None);
                    }
                    open.push(*own);
                    let inside = self.visits(iname, body, open, n_around)?;
                    open.pop();
                    let Some(inside) = inside else { return Ok(None) };
                    res.extend(inside);
                }
            }
        }
        Ok(Some(res))
    }

    /// What is known of a loop of so many iterations, inside these others, if it can be written so.
    fn found_across(
        &self,
        (iname, n_iterations): (InameId, usize),
        around: &[InameId],
        visits: &[Visit],
        temporaries: &Temporaries,
    ) -> Option<Across> {
        let kernel = self.kernel;
        let dtype = kernel[kernel[visits.first()?.insn].assignees().first()?.array].dtype;
        let strip = Strip::within(dtype, n_iterations)?;
        if !kernel[iname].tags.is_empty() || !dtype.is_float() {
            return None;
        }
        let is_here = |insn: InsnId| visits.iter().any(|visit| visit.insn == insn);
        let mut written: FxHashMap<ArrayId, Vec<&Assignee>> = FxHashMap::default();
        for visit in visits {
            let instruction = &kernel[visit.insn];
            let InstructionKind::Assignment { assignee, .. } = &instruction.kind else { return None };
            let array = &kernel[assignee.array];
            let is_paired = self.pairs.as_ref().is_some_and(|pairs| pairs.roles.contains_key(&visit.insn));
            let is_plain = array.dtype == dtype && array.stored.is_none() && !self.arrays.is_held(assignee.array);
            if !instruction.predicates.is_empty() || is_paired || !is_plain {
                return None;
            }
            let known = written.entry(assignee.array).or_default();
            if !known.contains(&assignee) {
                let is_apart =
                    |other: &&Assignee| self.loops.are_different(kernel, &assignee.indices, &other.indices, around);
                if !known.iter().all(is_apart) {
                    return None;
                }
                known.push(assignee);
            }
            let is_inside = || {
                let declared = temporaries.declarations.get(&assignee.array);
                declared.is_some_and(|declared| matches!(declared.place, Place::At { insn, .. } if is_here(insn)))
            };
            let moves = |&last: &ExprId| {
                let is_fixed =
                    |last: affine::Affine| visit.inner.iter().all(|&inner| last.coefficient(Var::Iname(inner)) == 0);
                affine::of(&kernel.exprs, last).is_some_and(is_fixed)
                    && self.step_of(assignee.array, &assignee.indices, iname).is_some()
            };
            if !assignee.indices.last().map_or_else(is_inside, moves) {
                return None;
            }
        }
        // Vectors stand for one element of an array.
        let is_alone = |visit: &Visit| written[&kernel[visit.insn].assignees()[0].array].len() == 1;
        if !visits.iter().all(|visit| visit.inner.is_empty() || is_alone(visit)) {
            return None;
        }
        let mut held: Vec<Held> = Vec::new();
        for visit in visits {
            let at = &kernel[visit.insn].assignees()[0];
            let stays = |&index: &ExprId| {
                !below(&kernel.exprs, [index])
                    .into_iter()
                    .any(|id| matches!(&kernel.exprs[id], Expr::Iname(other) if visit.inner.contains(other)))
            };
            let is_known = held.iter().any(|known| known.at.array == at.array);
            if !is_known && (at.indices.is_empty() || !visit.inner.is_empty() && at.indices.iter().all(stays)) {
                let is_read = !at.indices.is_empty() && self.is_read_first(at, visits);
                held.push(Held { at: at.clone(), is_read });
            }
        }
        let mut n_sums: FxHashMap<InameId, FxHashSet<ArrayId>> = FxHashMap::default();
        for visit in visits {
            let at = &kernel[visit.insn].assignees()[0];
            if !self.is_written_across(visit, &written, (iname, dtype)) {
                return None;
            }
            if let Some(&innermost) = visit.inner.last()
                && held.iter().any(|known| known.at == *at)
                && arrays_below(&kernel.exprs, kernel[visit.insn].expressions()).contains(&at.array)
            {
                n_sums.entry(innermost).or_default().insert(at.array);
            }
        }
        let n_sums = n_sums.values().map(FxHashSet::len).max().unwrap_or(0);
        // Vectors that inner loops put together lane by lane cost as much as what two others save.
        let (apart, along): (Vec<&Visit>, Vec<&Visit>) = visits
            .iter()
            .filter(|visit| !visit.inner.is_empty())
            .partition(|visit| self.reads_apart(visit.insn, iname));
        if 2 * apart.len() > along.len() {
            return None;
        }
        let has_columns = visits.iter().any(|visit| self.has_columns(visit.insn, iname));
        Some(Across { iname, strip, held, n_sums, has_columns })
    }

    /// Whether a loop of as many iterations as a vector has lanes, without sums inside, is better written as one vector: if it has no loops inside, and computes more than it stores.
    /// Compilers see through several loops that do little else than to store, and do as well elsewhere.
    fn is_one_vector(&self, across: &Across, visits: &[Visit]) -> bool {
        let kernel = self.kernel;
        let written: FxHashSet<ArrayId> = visits.iter().map(|visit| kernel[visit.insn].assignees()[0].array).collect();
        let n_operations = |visit: &Visit| {
            let varying =
                self.varying(kernel[visit.insn].expressions(), across.iname, |array| written.contains(&array));
            let is_operation =
                |id: &&ExprId| self.facts.dtype(**id).is_float() && matches!(kernel.exprs[**id], Expr::Op { .. });
            varying.iter().filter(is_operation).count()
        };
        !across.strip.is_half
            && visits.iter().all(|visit| visit.inner.is_empty())
            && visits.iter().map(n_operations).sum::<usize>() >= OPERATIONS * visits.len()
    }

    /// Whether an element may be read in an iteration before it is written.
    pub(super) fn is_read_first(&self, at: &Assignee, visits: &[Visit]) -> bool {
        let kernel = self.kernel;
        let touches = |visit: &&Visit| {
            let instruction = &kernel[visit.insn];
            instruction.assignees()[0].array == at.array
                || arrays_below(&kernel.exprs, instruction.expressions()).contains(&at.array)
        };
        visits.iter().find(touches).is_none_or(|visit| {
            !visit.inner.is_empty() || arrays_below(&kernel.exprs, kernel[visit.insn].expressions()).contains(&at.array)
        })
    }

    /// Whether vectors can do what an instruction does.
    pub(super) fn is_written_across(
        &self,
        visit: &Visit,
        written: &FxHashMap<ArrayId, Vec<&Assignee>>,
        (iname, dtype): (InameId, Dtype),
    ) -> bool {
        let exprs = &self.kernel.exprs;
        let InstructionKind::Assignment { assignee, expression } = &self.kernel[visit.insn].kind else { return false };
        // Indices read nothing that changes.
        let of_indices = assignee.indices.iter().copied();
        if arrays_below(exprs, of_indices).iter().any(|array| written.contains_key(array)) {
            return false;
        }
        let varying = self.varying([*expression], iname, |array| written.contains_key(&array));
        below(exprs, [*expression]).into_iter().all(|id| {
            match &exprs[id] {
                Expr::Reduce { .. } => false,
                _ if !varying.contains(&id) => true,
                // What indices are made of is no value.
                Expr::Iname(_) => true,
                Expr::Op { .. } if !self.facts.dtype(id).is_float() => affine::of(exprs, id).is_some(),
                Expr::Op { op: Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg, operands } => {
                    self.facts.dtype(id) == dtype
                        && operands
                            .iter()
                            .all(|&operand| !varying.contains(&operand) || self.facts.dtype(operand) == dtype)
                }
                Expr::Call { function, arguments } => {
                    vector_function(&self.kernel[*function]).is_some()
                        && [id].iter().chain(arguments).all(|&value| self.facts.dtype(value) == dtype)
                }
                Expr::Access { array, indices } => {
                    self.facts.dtype(id) == dtype
                        && match written.get(array) {
                            Some(own) => own.iter().any(|own| own.indices == *indices),
                            None => self.stride_of(*array, indices, iname).is_some() || self.is_column(id, iname),
                        }
                }
                _ => false,
            }
        })
    }

    /// Whether an expression goes along a column of a table whose place does not change otherwise, so that a vector of it is made of numbers.
    fn is_column(&self, id: ExprId, iname: InameId) -> bool {
        let Expr::Access { array, indices } = &self.kernel.exprs[id] else { return false };
        matches!(self.kernel[*array].kind, ArrayKind::Table(_))
            && self.step_of(*array, indices, iname).is_none()
            && self.places(indices, (iname, 0)).is_some()
    }

    /// Indices as numbers, where the iname has a value; `None` if they depend on anything else.
    fn places(&self, indices: &[ExprId], (iname, value): (InameId, i64)) -> Option<Vec<Text>> {
        let place = |&index: &ExprId| {
            let index = affine::of(&self.kernel.exprs, index)?;
            let index = index.substitute(Var::Iname(iname), &affine::Affine::constant(value))?;
            Some(Text::primary(index.as_constant()?.to_string()))
        };
        indices.iter().map(place).collect()
    }

    /// Whether an instruction reads elements that lie apart in memory.
    fn reads_apart(&self, insn: InsnId, iname: InameId) -> bool {
        let exprs = &self.kernel.exprs;
        let varying = self.varying(self.kernel[insn].expressions(), iname, |_| false);
        varying.iter().any(|&id| match &exprs[id] {
            Expr::Access { array, indices } => {
                self.stride_of(*array, indices, iname).is_some_and(|stride| stride.abs() > 1)
                    && !self.is_column(id, iname)
            }
            _ => false,
        })
    }

    /// Whether an instruction reads such a column.
    pub(super) fn has_columns(&self, insn: InsnId, iname: InameId) -> bool {
        let kernel = self.kernel;
        let varying = self.varying(kernel[insn].expressions(), iname, |_| false);
        varying.iter().any(|&id| self.is_column(id, iname))
    }

    /// The vectors that begin at these offsets, and declarations of the variables that hold values in them.
    pub(super) fn declare_held(
        &mut self,
        across: &Across,
        first: Option<i64>,
        offsets: Vec<usize>,
    ) -> (Block, Vec<Code>) {
        let ty = self.strip_type(across.strip);
        let mut code = Vec::new();
        let mut names = FxHashMap::default();
        for held in &across.held {
            let stem = format!("{}_", self.kernel[held.at.array].name);
            let of_vectors: Vec<String> = offsets.iter().map(|_| self.symbols.names.fresh(&stem)).collect();
            code.push(Code::line(format!("{ty} {};", of_vectors.join(", "))));
            names.insert(held.at.array, of_vectors.into_iter().map(Text::primary).collect());
        }
        (Block { first, offsets, names }, code)
    }

    /// The body for the vectors that begin at these offsets.
    fn block(
        &mut self,
        across: &Across,
        (first, offsets): (Option<i64>, Vec<usize>),
        body: &[LoopTree],
        open: &mut Vec<InameId>,
    ) -> Result<Vec<Code>, CodegenError> {
        let (block, mut code) = self.declare_held(across, first, offsets);
        for held in across.held.iter().filter(|held| held.is_read) {
            let (before, elements, is_back) = self.addresses(across, &held.at, &block.offsets, open)?;
            code.extend(before);
            let load = self.load(across.strip, is_back);
            for (name, element) in block.names[&held.at.array].iter().zip(elements) {
                code.push(Code::line(format!("{} = {load}({element});", name.text)));
            }
        }
        code.extend(self.through(across, &block, body, open)?);
        for held in across.held.iter().filter(|held| !held.at.indices.is_empty()) {
            let (before, elements, is_back) = self.addresses(across, &held.at, &block.offsets, open)?;
            code.extend(before);
            let store = self.store(across.strip, is_back);
            for (name, element) in block.names[&held.at.array].iter().zip(elements) {
                code.push(Code::line(format!("{store}({element}, {});", name.text)));
            }
        }
        Ok(code)
    }

    /// The addresses of an element in the first lane of each vector, what is computed before, and whether lanes go backwards.
    fn addresses(
        &mut self,
        across: &Across,
        at: &Assignee,
        offsets: &[usize],
        open: &[InameId],
    ) -> Result<(Vec<Code>, Vec<String>, bool), CodegenError> {
        let (before, element) = self.element_at(at, open)?;
        let (addresses, is_back) = self.along(across, (at.array, &at.indices), &element, offsets);
        Ok((before, addresses, is_back))
    }

    /// What is computed before an element can be named, and its name.
    pub(super) fn element_at(&mut self, at: &Assignee, open: &[InameId]) -> Result<(Vec<Code>, Text), CodegenError> {
        let roots: Vec<(ExprId, RegionId)> = at.indices.iter().map(|&index| (index, ROOT)).collect();
        let mut evaluated = self.evaluate(&roots, 0, open, &|| "a loop in vectors".to_owned())?;
        let element = super::facts::element(&self.symbols, &self.arrays, at.array, &evaluated.roots);
        Ok((std::mem::take(&mut evaluated.regions[ROOT]), element))
    }

    /// The addresses of an element of this name in the first lane of each vector, and whether lanes go backwards.
    fn along(
        &self,
        across: &Across,
        (array, indices): (ArrayId, &[ExprId]),
        element: &Text,
        offsets: &[usize],
    ) -> (Vec<String>, bool) {
        let step = self.step_of(array, indices, across.iname).unwrap_or(1);
        (offsets.iter().map(|&offset| address(element, step * offset as i64)).collect(), step < 0)
    }

    fn through(
        &mut self,
        across: &Across,
        block: &Block,
        body: &[LoopTree],
        open: &mut Vec<InameId>,
    ) -> Result<Vec<Code>, CodegenError> {
        let mut code = Vec::new();
        for node in body {
            match node {
                LoopTree::Loop { iname, body } => {
                    let one = self.loop_over(*iname, open)?;
                    open.push(*iname);
                    let body = self.through(across, block, body, open)?;
                    open.pop();
                    code.push(Code::Block { head: one.header.head(), body });
                }
                LoopTree::Run(insn) => code.extend(self.assign_across(across, block, *insn, open)?),
                LoopTree::Branch { .. } => {}
            }
        }
        Ok(code)
    }

    /// One assignment, for all vectors.
    pub(super) fn assign_across(
        &mut self,
        across: &Across,
        block: &Block,
        insn: InsnId,
        open: &[InameId],
    ) -> Result<Vec<Code>, CodegenError> {
        let kernel = self.kernel;
        let instruction = &kernel[insn];
        let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return Ok(Vec::new()) };
        let names = block.names.get(&assignee.array);
        let update = instruction.update(&kernel.exprs).filter(|_| names.is_some());
        let (mut code, values) =
            self.values_across(across, block, update.map_or(*expression, |update| update.1), open)?;
        let ty = self.strip_type(across.strip);
        let Some(names) = names else {
            let (before, elements, is_back) = self.addresses(across, assignee, &block.offsets, open)?;
            code.extend(before);
            let store = self.store(across.strip, is_back);
            // Nothing is stored before all is loaded.
            let values: Vec<String> = values
                .into_iter()
                .map(|value| {
                    if value.height == 0 {
                        return value.text;
                    }
                    let name = self.symbols.names.fresh("s");
                    code.push(Code::line(format!("const {ty} {name} = {};", value.text)));
                    name
                })
                .collect();
            let stores = elements.iter().zip(values).map(|(at, value)| Code::line(format!("{store}({at}, {value});")));
            code.extend(stores);
            return Ok(code);
        };
        let operator = match update {
            Some((Op::Add, _)) => "+=",
            Some((Op::Sub, _)) => "-=",
            Some(_) => "*=",
            None => "=",
        };
        let lines = names
            .iter()
            .zip(values)
            .map(|(name, value)| Code::line(format!("{} {operator} {};", name.text, value.text)));
        code.extend(lines);
        Ok(code)
    }

    /// The values of an expression in all vectors, and what is computed before.
    pub(super) fn values_across(
        &mut self,
        across: &Across,
        block: &Block,
        root: ExprId,
        open: &[InameId],
    ) -> Result<(Vec<Code>, Vec<Text>), CodegenError> {
        let kernel = self.kernel;
        let exprs = &kernel.exprs;
        let n = block.offsets.len();
        let ty = self.strip_type(across.strip);
        let varying = self.varying([root], across.iname, |array| block.names.contains_key(&array));
        // Elements that move, what stays the same, and how often each is used.
        let (mut accesses, mut constants): (Vec<ExprId>, Vec<ExprId>) = (Vec::new(), Vec::new());
        let mut n_uses: FxHashMap<ExprId, u32> = FxHashMap::default();
        let mut pending = vec![root];
        while let Some(id) = pending.pop() {
            let uses = n_uses.entry(id).or_default();
            *uses += 1;
            if *uses > 1 {
                continue;
            }
            match &exprs[id] {
                _ if !varying.contains(&id) => constants.push(id),
                Expr::Access { array, .. } if !block.names.contains_key(array) => accesses.push(id),
                Expr::Op { operands: inputs, .. } | Expr::Call { arguments: inputs, .. } => {
                    pending.extend(inputs.iter().copied());
                }
                _ => {}
            }
        }
        accesses.sort_unstable();
        let (columns, accesses): (Vec<ExprId>, Vec<ExprId>) =
            accesses.into_iter().partition(|&id| self.is_column(id, across.iname));
        constants.sort_unstable();
        let indices = |id: &ExprId| exprs[*id].children().iter().map(|&index| (index, ROOT));
        let mut roots: Vec<(ExprId, RegionId)> = constants.iter().map(|&id| (id, ROOT)).collect();
        roots.extend(accesses.iter().flat_map(indices));
        let mut evaluated = self.evaluate(&roots, 0, open, &|| "a loop in vectors".to_owned())?;
        let mut code = std::mem::take(&mut evaluated.regions[ROOT]);
        let mut of_roots = evaluated.roots.into_iter();
        let mut texts = Texts::default();
        for &id in &constants {
            let text = of_roots.next().unwrap_or_else(|| Text::primary("0"));
            let text = self.convert(id, text, across.strip.dtype);
            let text = match text.text.as_str() {
                "0.0" | "0.0f" if id == root => format!("({ty}){{0}}"),
                // What is taken away is +0, which changes nothing, not even the sign of a zero.
                _ if id == root => format!("{} - ({ty}){{0}}", text.at_least(Precedence::Sum)),
                _ => text.at_least(Precedence::Primary),
            };
            texts.insert(id, vec![Text::primary(text); n]);
        }
        for &id in &accesses {
            let Expr::Access { array, indices } = &exprs[id] else { continue };
            let places: Vec<Text> = of_roots.by_ref().take(indices.len()).collect();
            let element = super::facts::element(&self.symbols, &self.arrays, *array, &places);
            let step = self.stride_of(*array, indices, across.iname).unwrap_or(1);
            let of = |&offset: &usize| {
                let address = address(&element, step * offset as i64);
                Text::primary(self.load_in_steps(across.strip, step, &address))
            };
            texts.insert(id, block.offsets.iter().map(of).collect());
        }
        for id in columns {
            let Expr::Access { array, indices } = &exprs[id] else { continue };
            let of = |&offset: &usize| {
                let first = block.first? + offset as i64;
                let of_lane = |lane| {
                    let places = self.places(indices, (across.iname, first + lane))?;
                    Some(super::facts::element(&self.symbols, &self.arrays, *array, &places).text)
                };
                let lanes = (0..across.strip.n_lanes() as i64).map(of_lane).collect::<Option<Vec<String>>>()?;
                Some(Text::primary(format!("({ty}){{{}}}", lanes.join(", "))))
            };
            texts.insert(id, block.offsets.iter().filter_map(of).collect());
        }
        let shared = n_uses.into_iter().filter(|&(_, n)| n > 1).map(|(id, _)| id).collect();
        let strips = Strips { strip: across.strip, n, shared: &shared, named: &block.names };
        self.operate(root, &strips, &mut texts, &mut code);
        let values = texts.remove(&root).unwrap_or_default();
        Ok((code, values))
    }
}

/// Where blocks of at most so many vectors begin that cover `n` elements, and where their vectors begin in them. No vector reaches into a block before.
fn blocks(n: usize, n_lanes: usize, most: usize) -> Vec<(usize, Vec<usize>)> {
    let mut res = Vec::new();
    let mut first = 0;
    while first < n {
        let left = n - first;
        let whole = most * n_lanes;
        // What is left over for a further block fills a vector.
        let size = match left {
            _ if left <= whole => left,
            _ if left >= whole + n_lanes => whole,
            _ if most > 1 => whole - n_lanes,
            _ => left,
        };
        let mut offsets: Vec<usize> = (0..size.div_ceil(n_lanes)).map(|at| at * n_lanes).collect();
        if let Some(last) = offsets.last_mut() {
            *last = size - n_lanes;
        }
        res.push((first, offsets));
        first += size;
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_all_elements_and_do_not_overlap() {
        for n_lanes in [4, 8] {
            for most in 1..=MAX_VECTORS {
                for n in n_lanes..100 {
                    let mut next = 0;
                    for (first, offsets) in blocks(n, n_lanes, most) {
                        assert_eq!(first, next);
                        assert!(offsets.len() <= most.max(2) && offsets[0] == 0);
                        assert!(offsets.windows(2).all(|pair| pair[0] < pair[1] && pair[1] - pair[0] <= n_lanes));
                        next = first + offsets.last().unwrap() + n_lanes;
                    }
                    assert_eq!(next, n);
                }
            }
        }
    }

    #[test]
    fn the_last_vector_of_a_block_overlaps_the_one_before() {
        assert_eq!(blocks(7, 4, 4), [(0, vec![0, 3])]);
        assert_eq!(blocks(15, 4, 4), [(0, vec![0, 4, 8, 11])]);
        assert_eq!(blocks(18, 4, 4), [(0, vec![0, 4, 8]), (12, vec![0, 2])]);
        assert_eq!(blocks(5, 4, 1), [(0, vec![0, 1])]);
    }
}

//! Index-set splitting: a loop that changes an element which its other iterations read becomes one before, one after, and the iteration between.
//!
//! # Why
//! `for j: D[i, j] = min(D[i, j], D[i, k] + D[k, j])` changes `D[i, k]` where `j = k`, so that compilers load it again in each iteration, and use no lanes.
//! Before and after that iteration it is a scalar.
//! # Input
//! A kernel in its final order, without reductions.
//! # Output
//! The same operations in the same order.
//! # Method
//! In an innermost loop of assignments, an element qualifies that every iteration reads and that is the same in all of them, if indices tell in which one iteration the loop
//! writes it. The loop must run at least once, as isl knows, so that loading the element touches nothing new, and not be short.
//! # Complexity
//! Linear in the instructions, and a few questions to isl for each such loop.
//! # Source
//! Griebl, Feautrier, Lengauer, "Index set splitting", 2000.

use std::cell::OnceCell;

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::linearization::{from_tree, to_tree};
use nestegg_ir::names::{Names, add_iname_inside};
use nestegg_ir::{
    Array, ArrayId, ArrayKind, Assignee, Expr, ExprId, InameId, InameSet, InameTag, InsnId, Instruction,
    InstructionKind, Kernel, LinearizedKernel, LoopTree,
};
use nestegg_isl as isl;

use crate::depends::set_dependences;
use crate::independent::MAX_ISL_OPERATIONS;
use crate::innermost::Innermost;
use crate::split_at_zeros::in_program_order;
use crate::substitute::with_inames;
use crate::summing::MIN_TRIPS;

/// The kernel with such loops split; `None` if it has none.
#[must_use]
pub fn split_index_sets(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let tree = to_tree(&linearized.linearization).ok()?;
    let kernel = linearized.kernel.clone();
    if !kernel.substitutions.is_empty() {
        return None;
    }
    let (names, domains) = (Names::new(&kernel), OnceCell::new());
    let mut pass = Pass { input: linearized, kernel, names, domains, open: Vec::new(), is_changed: false };
    let tree = pass.all(tree).ok()?;
    if !pass.is_changed {
        return None;
    }
    let (kernel, linearization) = in_program_order(pass.kernel, from_tree(&tree));
    let mut res = LinearizedKernel { kernel, linearization };
    set_dependences(&mut res.kernel, &res.linearization);
    Some(crate::eliminate_dead(res))
}

/// What a loop reads in all its iterations, and in which it writes that.
struct Meeting {
    element: Assignee,
    /// A value of the iname, which the loop need not have.
    at: Affine,
    /// How far from there an iteration is.
    distance: Affine,
}

/// How a part of the loop is written.
enum Iterations {
    /// Not at all, since it has none.
    None,
    /// Without a loop, since it has one.
    One,
    /// As a loop over an iname.
    Over(InameId),
}

/// The iterations of a part of the loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Before,
    At,
    After,
}

struct Pass<'a> {
    input: &'a LinearizedKernel,
    kernel: Kernel,
    names: Names,
    /// Domains, once they are asked for; nothing if isl fails.
    domains: OnceCell<Option<Domains>>,
    /// The loops around what is visited.
    open: Vec<InameId>,
    is_changed: bool,
}

impl Pass<'_> {
    /// Nested at most [`MAX_NESTING`](nestegg_ir::linearization::MAX_NESTING) deep.
    fn all(&mut self, nodes: Vec<LoopTree>) -> Result<Vec<LoopTree>, DomainError> {
        let mut res = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                LoopTree::Loop { iname, body } => match self.meeting(iname, &body) {
                    Some(meeting) => res.extend(self.split(iname, &body, &meeting)?),
                    None => {
                        self.open.push(iname);
                        let body = self.all(body)?;
                        self.open.pop();
                        res.push(LoopTree::Loop { iname, body });
                    }
                },
                LoopTree::Branch { condition, body } => {
                    res.push(LoopTree::Branch { condition, body: self.all(body)? });
                }
                run @ LoopTree::Run(_) => res.push(run),
            }
        }
        Ok(res)
    }

    /// The first element that a loop is split at.
    fn meeting(&self, iname: InameId, body: &[LoopTree]) -> Option<Meeting> {
        let kernel = &self.input.kernel;
        let tags = &kernel[iname].tags;
        if [InameTag::Sequential, InameTag::Parallel].iter().any(|tag| tags.contains(tag)) {
            return None;
        }
        let innermost = Innermost::of(kernel, iname, body)?;
        let is_stored = |array: ArrayId| {
            let Array { dtype, stored, shape, .. } = &kernel[array];
            dtype.is_float() && stored.is_none() && !shape.is_empty()
        };
        let reads = innermost.certain_reads().into_iter().filter(|read| is_stored(read.array) && innermost.stays(read));
        let reads: Vec<(Assignee, Affine)> =
            reads.filter_map(|read| Some((read.clone(), self.written_at(&innermost, &read, iname)?))).collect();
        if reads.is_empty() {
            return None;
        }
        let domains = self.domains()?;
        let may_meet = |(read, _): &(Assignee, Affine)| !innermost.is_unwritten(read, domains, &self.open);
        let (element, at) = reads.into_iter().find(may_meet)?;
        let distance = Affine::var(Var::Iname(iname)).plus(&at, -1)?;
        self.is_long(domains, iname).then_some(Meeting { element, at, distance })
    }

    /// The only iteration in which the loop can write an element, as its indices tell.
    fn written_at(&self, innermost: &Innermost<'_>, read: &Assignee, iname: InameId) -> Option<Affine> {
        let exprs = &self.input.kernel.exprs;
        let at_write = |write: &Assignee| {
            let of_axis = |(&written, &read): (&ExprId, &ExprId)| {
                let (written, read) = (affine::of(exprs, written)?, affine::of(exprs, read)?);
                let step = written.coefficient(Var::Iname(iname));
                if step.abs() != 1 {
                    return None;
                }
                let rest = written.plus(&Affine::var(Var::Iname(iname)).times(step)?, -1)?;
                let at = read.plus(&rest, -1)?.times(step)?;
                let is_outside = at.inames().all(|other| self.open.contains(&other));
                is_outside.then_some(at)
            };
            write.indices.iter().zip(&read.indices).find_map(of_axis)
        };
        let mut found: Option<Affine> = None;
        for write in innermost.writes().filter(|write| write.array == read.array) {
            let at = at_write(write)?;
            if found.as_ref().is_some_and(|known| *known != at) {
                return None;
            }
            found = Some(at);
        }
        found
    }

    /// Whether a loop surely runs, and is not known to be short.
    fn is_long(&self, domains: &Domains, iname: InameId) -> bool {
        let outer: InameSet = self.open.iter().copied().collect();
        let answer = || {
            let (set, name) = (domains.projection(iname)?, &self.input.kernel[iname].name);
            let ends = (set.dim_min_val(name)?, set.dim_max_val(name)?);
            let is_short = matches!(ends, (Some(first), Some(last)) if last - first < 2 * MIN_TRIPS);
            Ok::<_, DomainError>(!is_short && domains.surely_runs(iname, &outer)?)
        };
        answer().unwrap_or(false)
    }

    fn domains(&self) -> Option<&Domains> {
        self.domains.get_or_init(|| Domains::bounded(&self.input.kernel, MAX_ISL_OPERATIONS).ok()).as_ref()
    }

    /// The parts of a loop.
    fn split(&mut self, iname: InameId, body: &[LoopTree], meeting: &Meeting) -> Result<Vec<LoopTree>, DomainError> {
        let input = self.input;
        let Some(innermost) = Innermost::of(&input.kernel, iname, body) else { return Ok(Vec::new()) };
        let own = self.own_scalars(&innermost);
        let mut res = Vec::new();
        for part in [Part::Before, Part::At, Part::After] {
            let new = match self.iterations(iname, &meeting.distance, part)? {
                Iterations::None => continue,
                Iterations::One => None,
                Iterations::Over(new) => Some(new),
            };
            let value = new.map_or_else(|| meeting.at.clone(), |new| Affine::var(Var::Iname(new)));
            let scalar = (part != Part::At).then(|| self.load(&meeting.element, &mut res));
            let of_part: Vec<(ArrayId, ArrayId)> = own.iter().map(|&array| (array, self.copy_of(array))).collect();
            let mut runs = Vec::new();
            for &insn in innermost.insns() {
                let mut instruction = input.kernel[insn].clone();
                let exprs = &mut self.kernel.exprs;
                let roots: Vec<ExprId> = instruction.expressions().collect();
                let image = |array: ArrayId| of_part.iter().find(|pair| pair.0 == array).map_or(array, |pair| pair.1);
                let known = exprs.rewrite(roots.iter().copied(), |exprs, _, new| match (&new, scalar) {
                    (Expr::Access { array, indices }, Some(scalar))
                        if *array == meeting.element.array && *indices == meeting.element.indices =>
                    {
                        exprs.access(scalar, [])
                    }
                    (Expr::Access { array, indices }, _) => exprs.access(image(*array), indices.clone()),
                    _ => exprs.intern(new),
                });
                let values: Vec<ExprId> = roots.iter().map(|&root| known.get(root)).collect();
                let moved = with_inames(exprs, values, |other| (other == iname).then(|| value.clone()));
                instruction.map_expressions(|id| moved.get(known.get(id)));
                if let InstructionKind::Assignment { assignee, .. } = &mut instruction.kind {
                    assignee.array = image(assignee.array);
                }
                let around =
                    instruction.within.iter().filter_map(|&other| if other == iname { new } else { Some(other) });
                instruction.within = around.collect();
                instruction.id = self.names.new_name(&instruction.id);
                runs.push(LoopTree::Run(InsnId::new(self.kernel.instructions.len())));
                self.kernel.instructions.push(instruction);
            }
            match new {
                Some(iname) => res.push(LoopTree::Loop { iname, body: runs }),
                None => res.extend(runs),
            }
        }
        self.is_changed = true;
        Ok(res)
    }

    /// The scalars that nothing but the loop knows.
    fn own_scalars(&self, innermost: &Innermost<'_>) -> Vec<ArrayId> {
        let kernel = &self.input.kernel;
        let is_known = |array: ArrayId| {
            let others = kernel.insn_ids().filter(|insn| !innermost.insns().contains(insn));
            others.into_iter().any(|insn| {
                let instruction = &kernel[insn];
                instruction.written_arrays().contains(&array)
                    || nestegg_ir::walk::reads(&kernel.exprs, instruction.expressions(), array)
            })
        };
        let mut own: Vec<ArrayId> = innermost.writes().map(|write| write.array).collect();
        own.sort_unstable();
        own.dedup();
        own.retain(|&array| kernel[array].is_temporary() && kernel[array].shape.is_empty() && !is_known(array));
        own
    }

    fn copy_of(&mut self, array: ArrayId) -> ArrayId {
        let array = Array { name: self.names.new_name(&self.kernel[array].name), ..self.kernel[array].clone() };
        self.kernel.arrays.push(array);
        ArrayId::new(self.kernel.arrays.len() - 1)
    }

    /// A new scalar that gets the element here.
    fn load(&mut self, element: &Assignee, nodes: &mut Vec<LoopTree>) -> ArrayId {
        let Array { name, dtype, .. } = &self.kernel[element.array];
        let (name, dtype) = (self.names.new_name(&format!("{name}_element")), *dtype);
        let id = self.names.new_name_like(&format!("load_{name}"));
        let (shape, kind) = (Vec::new(), ArrayKind::Temporary);
        self.kernel.arrays.push(Array { name, dtype, stored: None, shape, kind });
        let scalar = ArrayId::new(self.kernel.arrays.len() - 1);
        let expression = self.kernel.exprs.access(element.array, element.indices.clone());
        let kind =
            InstructionKind::Assignment { assignee: Assignee { array: scalar, indices: Box::new([]) }, expression };
        let within = self.open.clone();
        nodes.push(LoopTree::Run(InsnId::new(self.kernel.instructions.len())));
        self.kernel.instructions.push(Instruction { id, kind, within, depends_on: Vec::new(), predicates: Vec::new() });
        scalar
    }

    /// How a part is written.
    fn iterations(&mut self, iname: InameId, distance: &Affine, part: Part) -> Result<Iterations, DomainError> {
        let Some(Some(domains)) = self.domains.get() else { return Ok(Iterations::None) };
        let old = &self.input.kernel[iname];
        let distance = domains.affine(distance)?;
        let one_less = |distance: isl::Affine| distance.add(&isl::Affine::constant(-1));
        let constraint = match part {
            Part::Before => isl::Constraint::inequality(one_less(distance.scale(-1)?)?),
            Part::At => isl::Constraint::equality(distance),
            Part::After => isl::Constraint::inequality(one_less(distance)?),
        };
        let set = domains.of(&self.open.iter().copied().chain([iname]).collect())?.constrain(&[constraint])?;
        if set.is_empty()? {
            return Ok(Iterations::None);
        }
        let outer = domains.of(&self.open.iter().copied().collect())?;
        if part == Part::At && outer.is_subset(&set.project_out(&[&old.name])?)? {
            return Ok(Iterations::One);
        }
        let name = self.names.new_name(&old.name);
        let set = set.rename_dim(&old.name, &name)?;
        add_iname_inside(&mut self.kernel, domains, (name, old.tags.clone()), set, &self.open).map(Iterations::Over)
    }
}

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

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::linearization::{from_tree, to_tree};
use nestegg_ir::names::{Names, add_iname_inside, add_scalar};
use nestegg_ir::{
    Array, ArrayId, Assignee, Expr, ExprId, Exprs, InameId, InameTag, InsnId, Instruction, InstructionKind, Kernel,
    LinearizedKernel, LoopTree, SummingLoop,
};
use nestegg_isl as isl;

use crate::depends::in_order_without_dead;
use crate::find::in_loops;
use crate::independent::MAX_ISL_OPERATIONS;
use crate::innermost::Innermost;
use crate::substitute::with_inames;

/// The kernel with such loops split; `None` if it has none.
#[must_use]
pub fn split_index_sets(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let tree = to_tree(&linearized.linearization).ok()?;
    let kernel = &linearized.kernel;
    if !kernel.substitutions.is_empty() {
        return None;
    }
    let found = in_loops(&tree, |open, iname, body| Candidate::of(kernel, open, iname, body));
    if found.is_empty() {
        return None;
    }
    let domains = Domains::bounded(kernel, MAX_ISL_OPERATIONS).ok()?;
    let meetings: Vec<Meeting> = found.into_iter().filter_map(|loops| loops.meeting(&domains)).collect();
    if meetings.is_empty() {
        return None;
    }
    let (names, kernel) = (Names::new(kernel), kernel.clone());
    let mut pass = Pass { input: &linearized.kernel, domains: &domains, kernel, names };
    // What is too hard for isl stays as it is.
    let split: Vec<Split> = meetings.iter().map(|meeting| pass.split(meeting)).collect::<Result<_, _>>().ok()?;
    let tree = rebuilt(tree, &split);
    Some(in_order_without_dead(pass.kernel, from_tree(&tree)))
}

/// An innermost loop, with the elements that each of its iterations reads and at most one writes: which, as indices tell, a value of the iname that the loop need not have.
struct Candidate<'a> {
    /// The loops around it.
    open: Vec<InameId>,
    iname: InameId,
    innermost: Innermost<'a>,
    reads: Vec<(Assignee, Affine)>,
}

impl<'a> Candidate<'a> {
    fn of(kernel: &'a Kernel, open: &[InameId], iname: InameId, body: &[LoopTree]) -> Option<Self> {
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
        let reads: Vec<(Assignee, Affine)> = reads
            .filter_map(|read| Some((read.clone(), written_at(&kernel.exprs, &innermost, &read, (iname, open))?)))
            .collect();
        (!reads.is_empty()).then(|| Self { open: open.to_vec(), iname, innermost, reads })
    }

    /// The first element that the loop is split at, if there is one.
    fn meeting(self, domains: &Domains) -> Option<Meeting> {
        let Self { open, iname, innermost, reads } = self;
        let may_meet = |(read, _): &(Assignee, Affine)| !innermost.is_unwritten(read, domains, &open);
        let (element, at) = reads.into_iter().find(may_meet)?;
        let distance = Affine::var(Var::Iname(iname)).plus(&at, -1)?;
        let is_long = innermost.runs(domains, &open, 2 * SummingLoop::MIN_TRIPS + 1) == Some(true);
        is_long.then(|| Meeting { insns: innermost.insns().to_vec(), open, iname, element, at, distance })
    }
}

/// The only iteration of a loop inside others in which it can write an element, as its indices tell.
fn written_at(
    exprs: &Exprs,
    innermost: &Innermost<'_>,
    read: &Assignee,
    (iname, open): (InameId, &[InameId]),
) -> Option<Affine> {
    let at_write = |write: &Assignee| {
        let of_axis = |(&written, &read): (&ExprId, &ExprId)| {
            let (written, read) = (affine::of(exprs, written)?, affine::of(exprs, read)?);
            let step = written.coefficient(Var::Iname(iname));
            if step.abs() != 1 {
                return None;
            }
            let rest = written.plus(&Affine::var(Var::Iname(iname)).times(step)?, -1)?;
            let at = read.plus(&rest, -1)?.times(step)?;
            let is_outside = at.inames().all(|other| open.contains(&other));
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

/// A loop to be split: what all its iterations read, and in which of them it writes that.
struct Meeting {
    /// The loops around it.
    open: Vec<InameId>,
    iname: InameId,
    insns: Vec<InsnId>,
    element: Assignee,
    /// A value of the iname, which the loop need not have.
    at: Affine,
    /// How far from there an iteration is.
    distance: Affine,
}

/// The parts of a loop in its place; its first instruction tells it from other loops over the iname.
struct Split {
    iname: InameId,
    first: Option<InsnId>,
    nodes: Vec<LoopTree>,
}

/// The tree with the loops split.
fn rebuilt(nodes: Vec<LoopTree>, split: &[Split]) -> Vec<LoopTree> {
    let of_node = |node| match node {
        LoopTree::Loop { iname, body } => {
            let is_it = |one: &&Split| {
                one.iname == iname && matches!(body.first(), Some(LoopTree::Run(insn)) if Some(*insn) == one.first)
            };
            match split.iter().find(is_it) {
                Some(one) => one.nodes.clone(),
                None => vec![LoopTree::Loop { iname, body: rebuilt(body, split) }],
            }
        }
        LoopTree::Branch { condition, body } => vec![LoopTree::Branch { condition, body: rebuilt(body, split) }],
        run @ LoopTree::Run(_) => vec![run],
    };
    nodes.into_iter().flat_map(of_node).collect()
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
    input: &'a Kernel,
    domains: &'a Domains,
    kernel: Kernel,
    names: Names,
}

impl Pass<'_> {
    /// The parts of a loop.
    fn split(&mut self, meeting: &Meeting) -> Result<Split, DomainError> {
        let (input, iname) = (self.input, meeting.iname);
        let own = self.own_scalars(&meeting.insns);
        let mut res = Vec::new();
        for part in [Part::Before, Part::At, Part::After] {
            let new = match self.iterations(meeting, part)? {
                Iterations::None => continue,
                Iterations::One => None,
                Iterations::Over(new) => Some(new),
            };
            let value = new.map_or_else(|| meeting.at.clone(), |new| Affine::var(Var::Iname(new)));
            let scalar = (part != Part::At).then(|| self.load(meeting, &mut res));
            let of_part: Vec<(ArrayId, ArrayId)> = own.iter().map(|&array| (array, self.copy_of(array))).collect();
            let mut runs = Vec::new();
            for &insn in &meeting.insns {
                let mut instruction = input[insn].clone();
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
        Ok(Split { iname, first: meeting.insns.first().copied(), nodes: res })
    }

    /// The scalars that nothing but the loop knows.
    fn own_scalars(&self, insns: &[InsnId]) -> Vec<ArrayId> {
        let kernel = self.input;
        let is_known = |array: ArrayId| {
            let others = kernel.insn_ids().filter(|insn| !insns.contains(insn));
            others.into_iter().any(|insn| {
                let instruction = &kernel[insn];
                instruction.written_arrays().contains(&array)
                    || nestegg_ir::walk::reads(&kernel.exprs, instruction.expressions(), array)
            })
        };
        let mut own: Vec<ArrayId> = insns.iter().flat_map(|&insn| kernel[insn].written_arrays()).collect();
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
    fn load(&mut self, Meeting { element, open, .. }: &Meeting, nodes: &mut Vec<LoopTree>) -> ArrayId {
        let Array { name, dtype, .. } = &self.kernel[element.array];
        let (name, dtype) = (self.names.new_name(&format!("{name}_element")), *dtype);
        let id = self.names.new_name_like(&format!("load_{name}"));
        let scalar = add_scalar(&mut self.kernel, name, dtype);
        let expression = self.kernel.exprs.access(element.array, element.indices.clone());
        let assignee = Assignee { array: scalar, indices: Box::new([]) };
        let kind = InstructionKind::Assignment { assignee, expression };
        let (within, depends_on, predicates) = (open.clone(), Vec::new(), Vec::new());
        nodes.push(LoopTree::Run(InsnId::new(self.kernel.instructions.len())));
        self.kernel.instructions.push(Instruction { id, kind, within, depends_on, predicates });
        scalar
    }

    /// How a part is written.
    fn iterations(&mut self, meeting: &Meeting, part: Part) -> Result<Iterations, DomainError> {
        let (domains, old, open) = (self.domains, &self.input[meeting.iname], &meeting.open);
        let distance = domains.affine(&meeting.distance)?;
        let one_less = |distance: isl::Affine| distance.add(&isl::Affine::constant(-1));
        let constraint = match part {
            Part::Before => isl::Constraint::inequality(one_less(distance.scale(-1)?)?),
            Part::At => isl::Constraint::equality(distance),
            Part::After => isl::Constraint::inequality(one_less(distance)?),
        };
        let set = domains.of(&open.iter().copied().chain([meeting.iname]).collect())?.constrain(&[constraint])?;
        if set.is_empty()? {
            return Ok(Iterations::None);
        }
        let outer = domains.of(&open.iter().copied().collect())?;
        if part == Part::At && outer.is_subset(&set.project_out(&[&old.name])?)? {
            return Ok(Iterations::One);
        }
        let name = self.names.new_name(&old.name);
        let set = set.rename_dim(&old.name, &name)?;
        add_iname_inside(&mut self.kernel, domains, (name, old.tags.clone()), set, open).map(Iterations::Over)
    }
}

//! Scalar replacement: an element that an innermost loop writes or reads again and again is a scalar while the loop runs.
//!
//! # Why
//! `for k: C[i, j] += …` loads and stores the element in each iteration unless the compiler can tell that nothing else touches it. And only scalars are
//! [summed in lanes](crate::summing). `for j: A[i, j] -= A[i, k]*A[k, j]` loads `A[i, k]` each time, for only isl knows that it is none of `A[i, j]`.
//! # Input
//! A kernel in its final order, without reductions.
//! # Output
//! The same operations in the same order. The element is loaded before the loop, and stored after it if the loop writes it.
//! # Method
//! In an innermost loop without conditions, an array qualifies if the loop writes one of its elements, the same in every iteration, and isl knows that it reads others
//! only. Of another array that the loop writes, elements that are read in every iteration qualify if isl knows that they are not written. The loop must write or
//! read the element unconditionally, and run at least once or read what an instruction beside it writes, so that loading and storing it touches nothing
//! new. Short loops are left to the compiler, which unrolls them; loops over lanes stay as they are.
//! # Complexity
//! Linear in the instructions, and a question to isl for each loop with such an element, and for each write of an array with such reads.
//! # Source
//! Callahan, Carr, Kennedy, "Improving register allocation for subscripted variables", 1990.

use std::cell::OnceCell;

use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::linearization::{from_tree, to_tree};
use nestegg_ir::names::Names;
use nestegg_ir::walk::{arrays_below, below};
use nestegg_ir::{
    ArgumentAccess, Array, ArrayId, ArrayKind, Assignee, Expr, ExprId, InameId, InameSet, InameTag, InsnId,
    Instruction, InstructionKind, Kernel, LinearizedKernel, LoopTree, Op, affine,
};

use crate::depends::set_dependences;
use crate::independent::MAX_ISL_OPERATIONS;
use crate::split_at_zeros::in_program_order;
use crate::summing::MIN_TRIPS;

/// The kernel with scalars for such elements; `None` if it has none.
#[must_use]
pub fn replace_by_scalars(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let tree = to_tree(&linearized.linearization).ok()?;
    let kernel = linearized.kernel.clone();
    let is_opaque = |insn: &Instruction| matches!(insn.kind, InstructionKind::Opaque { .. });
    if kernel.instructions.iter().any(is_opaque) || !kernel.substitutions.is_empty() {
        return None;
    }
    let (names, domains) = (Names::new(&kernel), OnceCell::new());
    let mut pass = Pass { kernel, names, domains, open: Vec::new(), is_changed: false };
    let tree = pass.all(tree);
    if !pass.is_changed {
        return None;
    }
    let (kernel, linearization) = in_program_order(pass.kernel, from_tree(&tree));
    let mut res = LinearizedKernel { kernel, linearization };
    set_dependences(&mut res.kernel, &res.linearization);
    Some(res)
}

/// An element that is a scalar while a loop runs.
struct Element {
    at: Assignee,
    /// Whether the loop reads the value from before.
    is_read: bool,
    is_written: bool,
}

/// Elements that instructions beside a loop write whenever it is reached.
struct Beside {
    before: Vec<Assignee>,
    anywhere: Vec<Assignee>,
}

struct Pass {
    kernel: Kernel,
    names: Names,
    /// Domains, once they are asked for; nothing if isl fails.
    domains: OnceCell<Option<Domains>>,
    /// The loops around what is visited.
    open: Vec<InameId>,
    is_changed: bool,
}

impl Pass {
    /// Nested at most [`MAX_NESTING`](nestegg_ir::linearization::MAX_NESTING) deep.
    fn all(&mut self, nodes: Vec<LoopTree>) -> Vec<LoopTree> {
        let mut res = Vec::with_capacity(nodes.len());
        let anywhere = nodes.iter().filter_map(|node| self.written_by(node)).collect();
        let mut beside = Beside { before: Vec::new(), anywhere };
        for node in nodes {
            let written = self.written_by(&node);
            match node {
                LoopTree::Loop { iname, body } => {
                    let (mut before, mut after) = (Vec::new(), Vec::new());
                    if let Some(insns) = only_runs(&body) {
                        for element in self.elements(iname, &insns, &beside) {
                            self.replace(&element, &insns, &mut before, &mut after);
                        }
                    }
                    self.open.push(iname);
                    let body = self.all(body);
                    self.open.pop();
                    res.extend(before);
                    res.push(LoopTree::Loop { iname, body });
                    res.extend(after);
                }
                LoopTree::Branch { condition, body } => {
                    let body = self.all(body);
                    res.push(LoopTree::Branch { condition, body });
                }
                LoopTree::Run(insn) => res.push(LoopTree::Run(insn)),
            }
            beside.before.extend(written);
        }
        res
    }

    /// The element that a node writes whenever it is reached, if it is an instruction.
    fn written_by(&self, node: &LoopTree) -> Option<Assignee> {
        let LoopTree::Run(insn) = node else { return None };
        match &self.kernel[*insn] {
            Instruction { kind: InstructionKind::Assignment { assignee, .. }, predicates, .. }
                if predicates.is_empty() =>
            {
                Some(assignee.clone())
            }
            _ => None,
        }
    }

    /// The elements that become scalars, in a loop beside instructions that write others.
    fn elements(&self, iname: InameId, insns: &[InsnId], beside: &Beside) -> Vec<Element> {
        let kernel = &self.kernel;
        let is_assignment = |insn: &InsnId| matches!(kernel[*insn].kind, InstructionKind::Assignment { .. });
        if kernel[iname].tags.contains(&InameTag::Vec) || !insns.iter().all(is_assignment) {
            return Vec::new();
        }
        let writes: Vec<&Assignee> = insns.iter().map(|&insn| &kernel[insn].assignees()[0]).collect();
        let is_fit = |at: &Assignee| {
            let Array { dtype, stored, shape, kind, .. } = &kernel[at.array];
            let is_scalar = shape.is_empty() && matches!(kind, ArrayKind::Temporary);
            !is_scalar && dtype.is_float() && stored.is_none() && self.stays(at, iname, &writes)
        };
        let mut res: Vec<Element> = Vec::new();
        for &insn in insns.iter().filter(|&&insn| kernel[insn].predicates.is_empty()) {
            let at = &kernel[insn].assignees()[0];
            if !res.iter().any(|known| known.at.array == at.array)
                && is_fit(at)
                && let Some(is_read) = self.loads(at, insns)
            {
                res.push(Element { at: at.clone(), is_read, is_written: true });
            }
        }
        for read in self.certain_reads(insns, &writes) {
            let is_known =
                res.iter().any(|known| known.at.array == read.array && (known.is_written || known.at == read));
            if !is_known && is_fit(&read) && self.is_unwritten(&read, &writes) {
                res.push(Element { at: read, is_read: true, is_written: false });
            }
        }
        if res.is_empty() {
            return res;
        }
        match self.runs(iname) {
            Some(true) => {}
            Some(false) => res.retain(|element| element.is_read && self.may_be_read(&element.at, beside)),
            None => res.clear(),
        }
        res
    }

    /// Whether an element is the same in all iterations of a loop that writes these.
    fn stays(&self, element: &Assignee, iname: InameId, writes: &[&Assignee]) -> bool {
        let exprs = &self.kernel.exprs;
        element.indices.iter().all(|&index| {
            let varies = |id: ExprId| matches!(exprs[id], Expr::Iname(other) if other == iname);
            affine::of(exprs, index).is_some()
                && !below(exprs, [index]).into_iter().any(varies)
                && arrays_below(exprs, [index]).iter().all(|array| !writes.iter().any(|write| write.array == *array))
        })
    }

    /// What every iteration of a loop reads of the arrays that it writes.
    fn certain_reads(&self, insns: &[InsnId], writes: &[&Assignee]) -> Vec<Assignee> {
        let kernel = &self.kernel;
        let certain = insns.iter().filter(|&&insn| kernel[insn].predicates.is_empty());
        let roots = certain.flat_map(|&insn| kernel[insn].expressions());
        let found: Vec<ExprId> = below(&kernel.exprs, roots);
        let is_choice = |&id: &ExprId| {
            matches!(kernel.exprs[id], Expr::Reduce { .. } | Expr::Op { op: Op::If | Op::And | Op::Or, .. })
        };
        if found.iter().any(is_choice) {
            return Vec::new();
        }
        let accesses = found.into_iter().filter_map(|id| match &kernel.exprs[id] {
            Expr::Access { array, indices } if writes.iter().any(|write| write.array == *array) => {
                Some(Assignee { array: *array, indices: indices.clone() })
            }
            _ => None,
        });
        accesses.collect()
    }

    /// Whether an element is none of those that a loop writes, as isl knows.
    fn is_unwritten(&self, element: &Assignee, writes: &[&Assignee]) -> bool {
        let Some(domains) = self.domains() else { return false };
        writes
            .iter()
            .filter(|write| write.array == element.array)
            .all(|write| domains.are_different(&self.kernel.exprs, &element.indices, &write.indices, &self.open))
    }

    /// Whether the old value of an element is read; `None` if the loop writes the array elsewhere, too, or may read it there under another name.
    fn loads(&self, element: &Assignee, insns: &[InsnId]) -> Option<bool> {
        let kernel = &self.kernel;
        let (mut loads, mut is_set) = (false, false);
        for &insn in insns {
            let instruction = &kernel[insn];
            for id in below(&kernel.exprs, instruction.expressions()) {
                match &kernel.exprs[id] {
                    Expr::Access { array, indices } if *array == element.array => {
                        if *indices == element.indices {
                            loads |= !is_set;
                        } else if !self.is_unwritten(&Assignee { array: *array, indices: indices.clone() }, &[element])
                        {
                            return None;
                        }
                    }
                    Expr::Reduce { .. } => return None,
                    _ => {}
                }
            }
            let writes = &instruction.assignees()[0];
            if writes.array == element.array {
                if writes.indices != element.indices {
                    return None;
                }
                loads |= !instruction.predicates.is_empty() && !is_set;
                is_set |= instruction.predicates.is_empty();
            }
        }
        Some(loads)
    }

    /// Whether an element may be read before a loop although the loop does not: it has been written, or it is the caller's, and somebody writes it.
    fn may_be_read(&self, element: &Assignee, beside: &Beside) -> bool {
        let is_of_caller = self.kernel[element.array].kind == ArrayKind::Argument(ArgumentAccess::ReadWrite);
        beside.before.contains(element) || is_of_caller && beside.anywhere.contains(element)
    }

    /// Whether a loop runs at least once inside of those around it; `None` if it never runs often enough for [lanes](MIN_TRIPS), or nobody knows.
    fn runs(&self, iname: InameId) -> Option<bool> {
        let domains = self.domains()?;
        let outer: InameSet = self.open.iter().copied().collect();
        let answer = || {
            let (set, name) = (domains.projection(iname)?, &self.kernel[iname].name);
            let ends = (set.dim_min_val(name)?, set.dim_max_val(name)?);
            let is_short = matches!(ends, (Some(first), Some(last)) if last - first < MIN_TRIPS - 1);
            Ok::<_, DomainError>((!is_short).then_some(domains.surely_runs(iname, &outer)?))
        };
        answer().ok().flatten()
    }

    fn domains(&self) -> Option<&Domains> {
        self.domains.get_or_init(|| Domains::bounded(&self.kernel, MAX_ISL_OPERATIONS).ok()).as_ref()
    }

    fn replace(
        &mut self,
        Element { at: element, is_read, is_written }: &Element,
        insns: &[InsnId],
        before: &mut Vec<LoopTree>,
        after: &mut Vec<LoopTree>,
    ) {
        self.is_changed = true;
        let Array { name, dtype, .. } = self.kernel[element.array].clone();
        let scalar = ArrayId::new(self.kernel.arrays.len());
        let name = self.names.new_name(&format!("{name}_element"));
        let kind = ArrayKind::Temporary;
        self.kernel.arrays.push(Array { name: name.clone(), dtype, stored: None, shape: Vec::new(), kind });
        let of_scalar = Assignee { array: scalar, indices: Box::new([]) };
        for &insn in insns {
            let Kernel { exprs, instructions, .. } = &mut self.kernel;
            let instruction = &mut instructions[insn.index()];
            let roots: Vec<ExprId> = instruction.expressions().collect();
            let map = exprs.rewrite(roots, |exprs, _, new| match &new {
                Expr::Access { array, indices } if *array == element.array && *indices == element.indices => {
                    exprs.access(scalar, [])
                }
                _ => exprs.intern(new),
            });
            instruction.map_expressions(|id| map.get(id));
            if let InstructionKind::Assignment { assignee, .. } = &mut instruction.kind
                && assignee == element
            {
                *assignee = of_scalar.clone();
            }
        }
        if *is_read {
            let value = self.kernel.exprs.access(element.array, element.indices.clone());
            before.push(self.new_instruction("load", &name, of_scalar, value));
        }
        if *is_written {
            let value = self.kernel.exprs.access(scalar, []);
            after.push(self.new_instruction("store", &name, element.clone(), value));
        }
    }

    fn new_instruction(&mut self, verb: &str, of: &str, assignee: Assignee, expression: ExprId) -> LoopTree {
        let id = self.names.new_name_like(&format!("{verb}_{of}"));
        let kind = InstructionKind::Assignment { assignee, expression };
        let insn = InsnId::new(self.kernel.instructions.len());
        let (within, depends_on, predicates) = (self.open.clone(), Vec::new(), Vec::new());
        self.kernel.instructions.push(Instruction { id, kind, within, depends_on, predicates });
        LoopTree::Run(insn)
    }
}

/// The instructions of a body that is nothing else.
fn only_runs(body: &[LoopTree]) -> Option<Vec<InsnId>> {
    body.iter()
        .map(|node| match node {
            LoopTree::Run(insn) => Some(*insn),
            _ => None,
        })
        .collect()
}

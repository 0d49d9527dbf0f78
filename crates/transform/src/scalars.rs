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
//! In an innermost loop without conditions, an element qualifies if the loop writes it, the same in every iteration, and isl knows that it reads and writes others
//! of the array only. Of another array that the loop writes, elements that are read in every iteration qualify if isl knows that they are not written. The loop must write or
//! read the element unconditionally, and run at least once or read what an instruction beside it writes, so that loading and storing it touches nothing
//! new. Short loops are left to the compiler, which unrolls them; loops over lanes stay as they are.
//! # Complexity
//! Linear in the instructions, and a question to isl for each loop with such an element, for each write of an array with such reads, and for each pair of places where a loop
//! writes an array, of which there are at most [`MAX_WRITES`], unless constants tell.
//! # Source
//! Callahan, Carr, Kennedy, "Improving register allocation for subscripted variables", 1990.

use std::cell::OnceCell;

use nestegg_ir::domains::Domains;
use nestegg_ir::linearization::{from_tree, to_tree};
use nestegg_ir::names::{Names, add_scalar};
use nestegg_ir::walk::below;
use nestegg_ir::{
    ArgumentAccess, Array, ArrayKind, Assignee, Expr, ExprId, InameId, InsnId, Instruction, InstructionKind, Kernel,
    LinearizedKernel, LoopTree, SummingLoop, affine,
};

use crate::depends::in_order;
use crate::independent::MAX_ISL_OPERATIONS;
use crate::innermost::Innermost;

/// An array that a loop writes at more places stays as it is: its elements would find no registers, and each pair of them is a question.
const MAX_WRITES: usize = 64;

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
    Some(in_order(pass.kernel, from_tree(&tree)))
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
                    for (element, insns) in self.elements(iname, &body, &beside) {
                        self.replace(&element, &insns, &mut before, &mut after);
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

    /// The elements that become scalars, in a loop beside instructions that write others, and the instructions of the loop.
    fn elements(&self, iname: InameId, body: &[LoopTree], beside: &Beside) -> Vec<(Element, Vec<InsnId>)> {
        let kernel = &self.kernel;
        let Some(innermost) = Innermost::of(kernel, iname, body) else { return Vec::new() };
        let is_fit = |at: &Assignee| {
            let Array { dtype, stored, shape, kind, .. } = &kernel[at.array];
            let is_scalar = shape.is_empty() && matches!(kind, ArrayKind::Temporary);
            let n_writes = innermost.writes().filter(|write| write.array == at.array).count();
            !is_scalar && dtype.is_float() && stored.is_none() && n_writes <= MAX_WRITES && innermost.stays(at)
        };
        let mut res: Vec<Element> = Vec::new();
        for instruction in innermost.certain() {
            let at = &instruction.assignees()[0];
            if !res.iter().any(|known| known.at == *at)
                && is_fit(at)
                && let Some(is_read) = self.loads(at, innermost.insns())
            {
                res.push(Element { at: at.clone(), is_read, is_written: true });
            }
        }
        for read in innermost.certain_reads() {
            let is_known =
                res.iter().any(|known| known.at.array == read.array && (known.is_written || known.at == read));
            let is_unwritten =
                || self.domains().is_some_and(|domains| innermost.is_unwritten(&read, domains, &self.open));
            if !is_known && is_fit(&read) && is_unwritten() {
                res.push(Element { at: read, is_read: true, is_written: false });
            }
        }
        if res.is_empty() {
            return Vec::new();
        }
        match self.domains().and_then(|domains| innermost.runs(domains, &self.open, SummingLoop::MIN_TRIPS)) {
            Some(true) => {}
            Some(false) => res.retain(|element| element.is_read && self.may_be_read(&element.at, beside)),
            None => res.clear(),
        }
        res.into_iter().map(|element| (element, innermost.insns().to_vec())).collect()
    }

    /// Whether indices are those of another element, as isl knows.
    fn is_different(&self, indices: &[ExprId], element: &Assignee) -> bool {
        let exprs = &self.kernel.exprs;
        let difference =
            |(&a, &b): (&ExprId, &ExprId)| affine::of(exprs, a)?.plus(&affine::of(exprs, b)?, -1)?.as_constant();
        if indices.iter().zip(&element.indices).any(|pair| difference(pair).is_some_and(|difference| difference != 0)) {
            return true;
        }
        self.domains()
            .is_some_and(|domains| domains.are_different(&self.kernel.exprs, indices, &element.indices, &self.open))
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
                        } else if !self.is_different(indices, element) {
                            return None;
                        }
                    }
                    Expr::Reduce { .. } => return None,
                    _ => {}
                }
            }
            let writes = &instruction.assignees()[0];
            if writes.array == element.array && writes.indices != element.indices {
                if !self.is_different(&writes.indices, element) {
                    return None;
                }
            } else if writes.array == element.array {
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
        let name = self.names.new_name(&format!("{name}_element"));
        let scalar = add_scalar(&mut self.kernel, name.clone(), dtype);
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

//! Loops that become two, the first of which keeps values for the second.
//!
//! # Input
//! A kernel in its final order; what leaves a loop, and how.
//! # Output
//! The kernel with such loops in two. Values are kept in rows of temporaries, an element for each iteration.
//! # Complexity
//! Each loop is looked at twice at most, and isl computes the range of each iname once.
//! # Not done
//! Loops whose number of iterations is unknown or large.

use nestegg_ir::domains::Domains;
use nestegg_ir::linearization::{from_tree, to_tree};
use nestegg_ir::names::{Names, add_row};
use nestegg_ir::types::Types;
use nestegg_ir::{
    Assignee, Expr, ExprId, InameId, InameTag, InsnId, Instruction, InstructionKind, Kernel, LinearizedKernel, LoopTree,
};

use crate::depends::in_order_without_dead;
use crate::find::in_loops;
use crate::independent::MAX_ISL_OPERATIONS;
use crate::ranges::Ranges;

/// What leaves a loop: nothing if it stays as it is.
pub(crate) type Find<T> = fn(&Kernel, InameId, &[LoopTree]) -> Vec<T>;

/// A loop over an iname, whose values end there, and what leaves it, as two loops.
pub(crate) type Split<T> = fn(&mut Splitter, (InameId, i64), Vec<LoopTree>, &[T]) -> [LoopTree; 2];

/// The kernel with loops in two; `None` if nothing leaves any.
pub(crate) fn in_two<T>(linearized: &LinearizedKernel, find: Find<T>, split: Split<T>) -> Option<LinearizedKernel> {
    let tree = to_tree(&linearized.linearization).ok()?;
    let kernel = &linearized.kernel;
    let has_some =
        |_: &[InameId], iname, body: &[LoopTree]| (!found(kernel, find, iname, body).is_empty()).then_some(());
    if !kernel.substitutions.is_empty() || in_loops(&tree, has_some).is_empty() {
        return None;
    }
    let domains = Domains::bounded(kernel, MAX_ISL_OPERATIONS).ok()?;
    let ranges = Ranges::new(kernel, &domains).ok()?;
    let ends = kernel.iname_ids().map(|iname| ranges.end_of_row(iname)).collect();
    let (kernel, names, types) = (kernel.clone(), Names::new(kernel), Types::infer(kernel));
    let mut splitter = Splitter { kernel, names, types, ends, is_split: false };
    let tree = splitter.all(tree, (find, split));
    splitter.is_split.then(|| in_order_without_dead(splitter.kernel, from_tree(&tree)))
}

/// What leaves a loop that may become two.
fn found<T>(kernel: &Kernel, find: Find<T>, iname: InameId, body: &[LoopTree]) -> Vec<T> {
    let may_be = kernel[iname].tags.iter().all(|&tag| tag == InameTag::Unroll);
    if may_be { find(kernel, iname, body) } else { Vec::new() }
}

/// A kernel some of whose loops become two.
pub(crate) struct Splitter {
    pub(crate) kernel: Kernel,
    names: Names,
    /// Of the expressions that the kernel came with.
    types: Types,
    /// The end of the values of each iname, if they are few and not negative.
    ends: Vec<Option<i64>>,
    is_split: bool,
}

impl Splitter {
    /// Depth is limited by [`nestegg_ir::linearization::MAX_NESTING`].
    fn all<T>(&mut self, nodes: Vec<LoopTree>, how: (Find<T>, Split<T>)) -> Vec<LoopTree> {
        let mut res = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                LoopTree::Loop { iname, body } => {
                    let found = found(&self.kernel, how.0, iname, &body);
                    match self.ends[iname.index()] {
                        Some(end) if !found.is_empty() => {
                            self.is_split = true;
                            res.extend(how.1(self, (iname, end), body, &found));
                        }
                        _ => res.push(LoopTree::Loop { iname, body: self.all(body, how) }),
                    }
                }
                LoopTree::Branch { condition, body } => {
                    res.push(LoopTree::Branch { condition, body: self.all(body, how) });
                }
                run @ LoopTree::Run(_) => res.push(run),
            }
        }
        res
    }

    /// An instruction that keeps a value, as this expression now computes it, where another instruction ran; and the element in which it is.
    pub(crate) fn keep(
        &mut self,
        (iname, end): (InameId, i64),
        name: &str,
        insn: InsnId,
        (value, expression): (ExprId, ExprId),
    ) -> (InsnId, ExprId) {
        let Self { kernel, names, types, .. } = self;
        let name = names.new_name(name);
        let id = names.new_name_like(&format!("keep_{name}"));
        let array = add_row(kernel, name, types.of(value).dtype(), end);
        let index = kernel.exprs.intern(Expr::Iname(iname));
        let element = kernel.exprs.access(array, [index]);
        let assignee = Assignee { array, indices: Box::new([index]) };
        let kind = InstructionKind::Assignment { assignee, expression };
        let (within, depends_on, predicates) = (kernel[insn].within.clone(), Vec::new(), Vec::new());
        kernel.instructions.push(Instruction { id, kind, within, depends_on, predicates });
        (InsnId::new(kernel.instructions.len() - 1), element)
    }
}

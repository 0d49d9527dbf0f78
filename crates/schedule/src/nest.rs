//! Order of the loops in perfect nests: so that loops of different nests can be shared, or so that memory is read and written in its order.
//!
//! # Method
//! A nest of loops around one instruction whose instances may run in any order is sorted by an [`Order`].
//! [`Order::Shared`] is one order of all inames: those tagged `parallel` first, then those that most instructions are within, then
//! in the order of the kernel. Reduction inames, which nearly everything depends on, come out
//! outermost that way, so temporaries lose them when loops are fused.
//! [`Order::Consecutive`] then moves the iname along which most accesses go from one element to the next to the inside, and
//! [`Order::Axes`] also puts the others in the order of the axes that are written, reductions after them.
//! In these two an iname tagged `vec` goes inside. In all, an iname that encloses another's domain stays outside it.
//! # Legality
//! Instances may be reordered if no two of them touch an element that one of them writes, as [isl](crate::meet) tells; accumulations may meet each other.
//! Loops over `sequential` inames stay as they are.

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::linearization::LoopTree;
use nestegg_ir::meetings::Distance;
use nestegg_ir::{InameId, InameSet, InameTag, InsnId, Kernel, Licence};

use crate::access::{Access, Accesses};
use crate::meet::Exact;

/// What the loops of a nest are sorted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Temporaries lose as many axes as they can.
    Shared,
    /// As shared, but for the innermost loop, in which elements follow each other in memory.
    Consecutive,
    /// Loops go as the axes of what is written.
    Axes,
    /// Loops stay in the order in which they are.
    Kept,
}

/// By how much an access that jumps in the innermost loop is worse than one that goes to the next element: that is worth one to read and two to write.
const JUMP: i64 = 4;

/// Sorts the perfect nests of a tree.
pub(crate) fn sort_nests(kernel: &Kernel, tree: Vec<LoopTree>, licence: Licence, order: Order) -> Vec<LoopTree> {
    if order == Order::Kept {
        return tree;
    }
    let mut n_within = vec![0_usize; kernel.inames.len()];
    for instruction in &kernel.instructions {
        for iname in &instruction.within {
            n_within[iname.index()] += 1;
        }
    }
    let accesses = Accesses::new(kernel, licence);
    let mut pass = Pass { kernel, accesses, exact: Exact::new(kernel), outer: Vec::new(), n_within, order };
    tree.into_iter().map(|node| pass.visit(node)).collect()
}

struct Pass<'a> {
    kernel: &'a Kernel,
    accesses: Accesses<'a>,
    exact: Exact<'a>,
    outer: Vec<InameId>,
    n_within: Vec<usize>,
    order: Order,
}

impl Pass<'_> {
    /// Depth is limited by [`nestegg_ir::linearization::MAX_NESTING`].
    fn visit(&mut self, node: LoopTree) -> LoopTree {
        if let Some((inames, insn)) = perfect(&node)
            && inames.len() > 1
            && !inames.iter().any(|&iname| self.kernel.is_sequential(iname))
            && self.is_free(insn, &inames)
        {
            let sorted = self.sorted(&inames, insn);
            return sorted
                .into_iter()
                .rev()
                .fold(LoopTree::Run(insn), |body, iname| LoopTree::Loop { iname, body: vec![body] });
        }
        match node {
            LoopTree::Loop { iname, body } => {
                self.outer.push(iname);
                let body = body.into_iter().map(|node| self.visit(node)).collect();
                self.outer.pop();
                LoopTree::Loop { iname, body }
            }
            LoopTree::Branch { condition, body } => {
                LoopTree::Branch { condition, body: body.into_iter().map(|node| self.visit(node)).collect() }
            }
            run @ LoopTree::Run(_) => run,
        }
    }

    /// Whether the instances in these loops may run in any order.
    fn is_free(&mut self, insn: InsnId, loops: &[InameId]) -> bool {
        let accesses = self.accesses.of(insn);
        let keep_apart = |a: &Access, b: &Access| self.exact.meet_only(a, b, &self.outer, (loops, Distance::Zero));
        accesses.iter().filter(|access| access.touch.changes()).all(|write| {
            let others =
                accesses.iter().filter(|other| other.array == write.array && !other.touch.commutes(write.touch));
            let (of_element, elsewhere): (Vec<&Access>, Vec<&Access>) =
                others.partition(|other| other.indices == write.indices);
            let is_alone = of_element.is_empty() || covers(write, loops) || keep_apart(write, write);
            is_alone && elsewhere.into_iter().all(|other| keep_apart(write, other))
        })
    }

    fn sorted(&mut self, inames: &[InameId], insn: InsnId) -> Vec<InameId> {
        let kernel = self.kernel;
        let rank = |iname: InameId| {
            let is_parallel = kernel[iname].tags.contains(&InameTag::Parallel);
            (std::cmp::Reverse(is_parallel), std::cmp::Reverse(self.n_within[iname.index()]), iname)
        };
        let mut left: Vec<InameId> = inames.to_vec();
        left.sort_by_key(|&iname| rank(iname));
        if self.order != Order::Shared {
            let accesses = self.accesses.of(insn);
            if self.order == Order::Axes {
                left.sort_by_key(|&iname| axis_written(&accesses, iname));
            }
            let worth = |&(idx, iname): &(usize, InameId)| {
                (kernel[iname].tags.contains(&InameTag::Vec), consecutive(&accesses, iname), idx)
            };
            if let Some((idx, _)) = left.iter().copied().enumerate().max_by_key(worth) {
                let innermost = left.remove(idx);
                left.push(innermost);
            }
        }
        let mut res = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let is_outermost =
                |iname: InameId| kernel[kernel[iname].domain].enclosing.iter().all(|outer| !left.contains(outer));
            match left.iter().position(|&iname| is_outermost(iname)) {
                Some(idx) => res.push(left.remove(idx)),
                None => return inames.to_vec(),
            }
        }
        res
    }
}

/// How well accesses run through memory in a loop over an iname: more is better.
fn consecutive(accesses: &[Access], iname: InameId) -> i64 {
    let of_access = |access: &Access| {
        let Some(indices) = &access.indices else { return 0 };
        let steps = indices.iter().enumerate().filter_map(|(axis, index)| {
            let step = index.as_ref()?.coefficient(affine::Var::Iname(iname));
            (step != 0).then_some((axis, step))
        });
        let worth = 1 + i64::from(access.touch.changes());
        match steps.collect::<Vec<_>>().as_slice() {
            [] => 0,
            [(axis, 1 | -1)] if axis + 1 == indices.len() => worth,
            _ => worth - JUMP,
        }
    };
    accesses.iter().map(of_access).sum()
}

/// The first axis that an iname has a part in where an instruction writes; the last of all for a reduction.
fn axis_written(accesses: &[Access], iname: InameId) -> usize {
    let of_access = |access: &Access| {
        let indices = access.indices.as_ref()?;
        indices
            .iter()
            .position(|index| index.as_ref().is_some_and(|index| index.coefficient(affine::Var::Iname(iname)) != 0))
    };
    accesses.iter().filter(|access| access.touch.changes()).filter_map(of_access).min().unwrap_or(usize::MAX)
}

/// The loops and the instruction of a perfect nest.
fn perfect(node: &LoopTree) -> Option<(Vec<InameId>, InsnId)> {
    let mut inames = Vec::new();
    let mut current = node;
    loop {
        match current {
            LoopTree::Run(insn) => return Some((inames, *insn)),
            LoopTree::Loop { iname, body } => match body.as_slice() {
                [single] => {
                    inames.push(*iname);
                    current = single;
                }
                _ => return None,
            },
            LoopTree::Branch { .. } => return None,
        }
    }
}

/// Whether each loop's iname is, up to something that no loop changes, an index by itself: then every instance writes
/// another element.
fn covers(write: &Access, loops: &[InameId]) -> bool {
    let Some(indices) = &write.indices else { return false };
    let of_loops = |affine: &Affine| affine.inames().filter(|iname| loops.contains(iname)).collect::<InameSet>();
    loops.iter().all(|&iname| {
        indices.iter().flatten().any(|affine| {
            let own = of_loops(affine);
            own.len() == 1 && own.contains(iname) && affine.coefficient(affine::Var::Iname(iname)) != 0
        })
    })
}

//! Values that are stored for whole nests are computed again where they are read.
//!
//! # Why
//! An array as large as a grid goes to memory and back. The sum of two neighbours takes less time than that.
//! # Input
//! A kernel in its final order, and the name of a temporary.
//! # Output
//! The kernel without that temporary: what reads an element computes it; `None` if that may be another value.
//! # Method
//! One assignment stores the array, each of whose indices is another iname of the loops around it, shifted by a constant. Readers are in nests behind it, and from its nest to theirs nothing
//! changes what it reads.
//! # Complexity
//! Linear in the kernel.
//! # Not done
//! Arrays that are read in the nest that stores them.
//! # Source
//! Briggs, Cooper and Torczon, "Rematerialization", PLDI 1992, for registers; stencil compilers call it inlining, as Ragan-Kelley et al., "Halide", PLDI 2013.

use std::collections::BTreeMap;

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::linearization::{conditions_in, runs_in, to_tree};
use nestegg_ir::types::Types;
use nestegg_ir::walk::{arrays_below, below, reads};
use nestegg_ir::{ArrayId, Expr, ExprId, InameId, InsnId, InstructionKind, Kernel, LinearizedKernel, LoopTree};

use crate::depends::in_order_without_dead;
use crate::substitute::with_inames;

/// The kernel that computes the elements of this temporary again wherever it reads them.
#[must_use]
pub fn recompute(linearized: &LinearizedKernel, name: &str) -> Option<LinearizedKernel> {
    let kernel = &linearized.kernel;
    let array = kernel.array_ids().find(|&array| kernel[array].name == name)?;
    if !kernel[array].is_temporary() || !kernel.substitutions.is_empty() {
        return None;
    }
    let tree = to_tree(&linearized.linearization).ok()?;
    let (at, store) = only_store(kernel, &tree, array)?;
    let stored = Stored::of(kernel, array, store)?;
    let mut readers: Vec<InsnId> = Vec::new();
    let mut last = at;
    for (idx, node) in tree.iter().enumerate() {
        let nodes = std::slice::from_ref(node);
        let of_node: Vec<InsnId> = runs_in(nodes)
            .into_iter()
            .filter(|&insn| reads(&kernel.exprs, kernel[insn].expressions(), array))
            .collect();
        if reads(&kernel.exprs, conditions_in(nodes), array) || !of_node.is_empty() && idx <= at {
            return None;
        }
        last = if of_node.is_empty() { last } else { idx };
        readers.extend(of_node);
    }
    let needed = arrays_below(&kernel.exprs, [stored.value]);
    let changes = |insn: &InsnId| match &kernel[*insn].kind {
        InstructionKind::Opaque { .. } => true,
        _ => kernel[*insn].written_arrays().iter().any(|array| needed.contains(array)),
    };
    if readers.is_empty() || runs_in(&tree[at..=last]).iter().any(changes) {
        return None;
    }
    let mut kernel = kernel.clone();
    for insn in readers {
        stored.replace_in(&mut kernel, array, insn)?;
    }
    Some(in_order_without_dead(kernel, linearized.linearization.clone()))
}

/// The only instruction that stores an array, which no condition guards, and its nest.
fn only_store(kernel: &Kernel, tree: &[LoopTree], array: ArrayId) -> Option<(usize, InsnId)> {
    let writes = |insn: &InsnId| kernel[*insn].written_arrays().contains(&array);
    let mut stores = tree.iter().enumerate().flat_map(|(idx, node)| {
        runs_in(std::slice::from_ref(node)).into_iter().filter(writes).map(move |insn| (idx, insn))
    });
    let store = stores.next().filter(|_| stores.next().is_none())?;
    is_unconditional(&tree[store.0], store.1).then_some(store)
}

/// Whether an instruction runs in all iterations of the loops around it.
fn is_unconditional(node: &LoopTree, insn: InsnId) -> bool {
    match node {
        LoopTree::Run(run) => *run == insn,
        LoopTree::Loop { body, .. } => body.iter().any(|node| is_unconditional(node, insn)),
        LoopTree::Branch { .. } => false,
    }
}

/// What an element of an array is.
struct Stored {
    value: ExprId,
    /// For each index the iname, and the constant that is added to it.
    indices: Vec<(InameId, i64)>,
}

impl Stored {
    fn of(kernel: &Kernel, array: ArrayId, store: InsnId) -> Option<Self> {
        let instruction = &kernel[store];
        let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return None };
        let exprs = &kernel.exprs;
        let is_reduction = |id: ExprId| matches!(exprs[id], Expr::Reduce { .. });
        if !instruction.predicates.is_empty()
            || reads(exprs, [*expression], array)
            || Types::infer(kernel).of(*expression).dtype() != kernel[array].dtype
            || kernel[array].stored.is_some()
            || below(exprs, [*expression]).into_iter().any(is_reduction)
        {
            return None;
        }
        let mut indices: Vec<(InameId, i64)> = Vec::new();
        for &index in &assignee.indices {
            let index = affine::of(exprs, index)?;
            let iname = Affine { constant: 0, ..index.clone() }.as_iname()?;
            indices.push((iname, index.constant));
        }
        let mut inames: Vec<InameId> = indices.iter().map(|index| index.0).collect();
        let mut within = instruction.within.clone();
        inames.sort_unstable();
        within.sort_unstable();
        (inames == within).then_some(Self { value: *expression, indices })
    }

    /// Lets an instruction compute the elements that it reads; `None` if an index is not affine.
    fn replace_in(&self, kernel: &mut Kernel, array: ArrayId, insn: InsnId) -> Option<()> {
        let roots: Vec<ExprId> = kernel[insn].expressions().collect();
        let mut values: BTreeMap<ExprId, ExprId> = BTreeMap::new();
        for id in below(&kernel.exprs, roots.iter().copied()) {
            let Expr::Access { array: read, indices } = &kernel.exprs[id] else { continue };
            if *read != array {
                continue;
            }
            let mut images: BTreeMap<InameId, Affine> = BTreeMap::new();
            for (&index, &(iname, shift)) in indices.iter().zip(&self.indices) {
                images.insert(iname, affine::of(&kernel.exprs, index)?.plus(&Affine::constant(shift), -1)?);
            }
            let image = |iname: InameId| images.get(&iname).cloned();
            values.insert(id, with_inames(&mut kernel.exprs, [self.value], image).get(self.value));
        }
        let map = kernel
            .exprs
            .rewrite(roots, |exprs, old, expr| values.get(&old).copied().unwrap_or_else(|| exprs.intern(expr)));
        kernel[insn].map_expressions(|id| map.get(id));
        Some(())
    }
}

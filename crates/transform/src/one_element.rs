//! What a loop over elements does for one of them, and the loop again.
//!
//! # Input
//! A kernel in value form, all of which is in one loop.
//! # Output
//! [`OneElement::of`]: the kernel without the loop, and without the axis of each array that its iname indexes; [`OneElement::in_loop`]: a form of that
//! kernel with the loop and the axes. A form that knows scalars finds them so: in each element `dt[e]` is one.
//! # Legality
//! The iname is nothing but one whole index, the same one wherever an array is accessed. All that is accessed at an index depends on the element, but tables, so that
//! nothing is computed in each element that one computation would do for all.
//! # Complexity
//! Linear in the DAG.
//! # Not done
//! Loops with tags, loops that bound others, opaque code, and values that all elements share.

use nestegg_ir::linearization::{LoopTree, NestingError, to_tree};
use nestegg_ir::walk::below;
use nestegg_ir::{ArrayId, Assignee, Expr, ExprId, InameId, InstructionKind, Item, Kernel, LinearizedKernel};

/// A loop over elements that was taken off a kernel.
#[derive(Clone, Debug)]
pub(crate) struct OneElement {
    iname: InameId,
    /// For each array the position and the size of its axis of elements, if it has one.
    axes: Vec<Option<(usize, ExprId)>>,
}

impl OneElement {
    /// The kernel of one element, and the loop; `None` if there is no such loop. Ids stay as they are.
    ///
    /// # Errors
    /// If loops and conditions do not nest.
    pub(crate) fn of(linearized: &LinearizedKernel) -> Result<Option<(LinearizedKernel, Self)>, NestingError> {
        let trees = to_tree(&linearized.linearization)?;
        let &[LoopTree::Loop { iname, .. }] = &trees[..] else { return Ok(None) };
        let LinearizedKernel { mut kernel, mut linearization } = linearized.clone();
        let Some(axes) = axes(&mut kernel, iname, &linearization) else { return Ok(None) };
        kernel.rewrite_all(&mut linearization, |exprs, _, expr| match expr {
            Expr::Access { array, indices } if let Some((axis, _)) = axes[array.index()] => {
                let mut indices = indices.to_vec();
                indices.remove(axis);
                exprs.access(array, indices)
            }
            expr => exprs.intern(expr),
        });
        for instruction in &mut kernel.instructions {
            instruction.within.retain(|&other| other != iname);
            if let InstructionKind::Assignment { assignee: Assignee { array, indices }, .. } = &mut instruction.kind
                && let Some((axis, _)) = axes[array.index()]
            {
                let mut rest = indices.to_vec();
                rest.remove(axis);
                *indices = rest.into();
            }
        }
        for (array, axis) in std::iter::zip(&mut kernel.arrays, &axes) {
            if let Some((axis, _)) = *axis {
                array.shape.remove(axis);
            }
        }
        linearization.retain(|item| !matches!(item, Item::For(other) | Item::End(other) if *other == iname));
        Ok(Some((LinearizedKernel { kernel, linearization }, Self { iname, axes })))
    }

    /// A form of the kernel of one element in the loop. What the form added comes after what was there.
    pub(crate) fn in_loop(&self, form: LinearizedKernel) -> LinearizedKernel {
        let LinearizedKernel { mut kernel, mut linearization } = form;
        let axis_of = |array: ArrayId| self.axes.get(array.index()).copied().flatten();
        kernel.rewrite_all(&mut linearization, |exprs, _, expr| match expr {
            Expr::Access { array, indices } if let Some((axis, _)) = axis_of(array) => {
                let mut indices = indices.to_vec();
                indices.insert(axis, exprs.iname(self.iname));
                exprs.access(array, indices)
            }
            expr => exprs.intern(expr),
        });
        let index = kernel.exprs.iname(self.iname);
        for instruction in &mut kernel.instructions {
            instruction.within.insert(0, self.iname);
            if let InstructionKind::Assignment { assignee: Assignee { array, indices }, .. } = &mut instruction.kind
                && let Some((axis, _)) = axis_of(*array)
            {
                let mut all = indices.to_vec();
                all.insert(axis, index);
                *indices = all.into();
            }
        }
        for (array, axis) in std::iter::zip(&mut kernel.arrays, &self.axes) {
            if let Some((axis, size)) = *axis {
                array.shape.insert(axis, size);
            }
        }
        linearization.insert(0, Item::For(self.iname));
        linearization.push(Item::End(self.iname));
        LinearizedKernel { kernel, linearization }
    }
}

/// For each array the position and the size of the axis that an iname indexes; `None` if the iname is anything else, or not all accesses depend on it.
fn axes(kernel: &Kernel, iname: InameId, linearization: &[Item]) -> Option<Vec<Option<(usize, ExprId)>>> {
    let bounds_others = kernel.domains.iter().any(|domain| domain.enclosing.contains(&iname));
    if bounds_others || kernel[kernel[iname].domain].inames.len() > 1 || !kernel[iname].tags.is_empty() {
        return None;
    }
    let is_iname = |&id: &ExprId| kernel.exprs[id] == Expr::Iname(iname);
    let mut accesses: Vec<(ArrayId, &[ExprId])> = Vec::new();
    let mut roots: Vec<ExprId> = Vec::new();
    for instruction in &kernel.instructions {
        let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return None };
        accesses.push((assignee.array, &assignee.indices));
        roots.extend(instruction.predicates.iter().chain([expression]));
    }
    roots.extend(linearization.iter().filter_map(|item| match item {
        Item::If(condition) => Some(*condition),
        _ => None,
    }));
    if roots.iter().any(is_iname) {
        return None;
    }
    let of_assignees: Vec<ExprId> = accesses.iter().flat_map(|access| access.1).copied().collect();
    let others = of_assignees.iter().copied().filter(|id| !is_iname(id));
    let reachable = below(&kernel.exprs, roots.iter().copied().chain(others));
    for &id in &reachable {
        match &kernel.exprs[id] {
            Expr::Access { array, indices } => accesses.push((*array, indices)),
            expr if expr.children().iter().any(is_iname) => return None,
            _ => {}
        }
    }
    let mut found: Vec<Option<Option<usize>>> = vec![None; kernel.arrays.len()];
    for (array, indices) in accesses {
        let mut positions = indices.iter().enumerate().filter(|(_, id)| is_iname(id)).map(|(at, _)| at);
        let axis = positions.next();
        let known = found[array.index()].get_or_insert(axis);
        if *known != axis || positions.next().is_some() {
            return None;
        }
        let depends = || below(&kernel.exprs, indices.iter().copied()).iter().any(is_iname);
        if axis.is_none() && kernel[array].table().is_none() && !depends() {
            return None;
        }
    }
    let with_size = |(array, axis): (ArrayId, Option<Option<usize>>)| axis.flatten().map(|axis| (axis, kernel[array].shape[axis]));
    Some(std::iter::zip(kernel.array_ids(), found).map(with_size).collect())
}

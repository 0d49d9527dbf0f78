//! What a loop over elements does for one of them, and the loop again.
//!
//! # Input
//! A kernel in value form, all of which is in one loop.
//! # Output
//! [`OneElement::of`]: the kernel without the loop, and without the axis of each array that its iname indexes;
//! [`OneElement::in_loop`]: a kernel made of that one, with the loop and the axes. Inside one element, `dt[e]` is just the
//! scalar `dt`, so forms that gather scalars apply to it.
//! # Legality
//! The iname is only ever a whole index, at the same position in every access of an array, so elements do not touch each other's data.
//! Every access depends on the element, constant tables aside, so no value that all elements share is computed again for each.
//! # Complexity
//! Linear in the DAG.
//! # Not done
//! Loops with tags, loops that bound others, opaque code, temporaries, and arguments that all elements read.

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::linearization::{LoopTree, NestingError, to_tree};
use nestegg_ir::names::Names;
use nestegg_ir::walk::below;
use nestegg_ir::{
    Array, ArrayId, Assignee, Domain, DomainId, Expr, ExprId, Exprs, Iname, InameId, InstructionKind, Item, Kernel,
    LinearizedKernel,
};
use rustc_hash::FxHashMap;

use crate::depends::set_dependences;
use crate::eliminate_dead;

/// A loop over elements, taken off a kernel.
#[derive(Clone, Debug)]
pub struct OneElement {
    /// The kernel of one element.
    pub linearized: LinearizedKernel,
    iname: Iname,
    domain: Domain,
    /// The arguments with an axis of elements, by name, with its position and its size.
    axes: FxHashMap<String, (usize, Affine)>,
}

impl OneElement {
    /// The kernel of one element; `None` if not all of the kernel is in one loop over elements that share nothing.
    ///
    /// # Errors
    /// If loops and conditions do not nest.
    pub fn of(linearized: &LinearizedKernel) -> Result<Option<Self>, NestingError> {
        let trees = to_tree(&linearized.linearization)?;
        let &[LoopTree::Loop { iname, .. }] = &trees[..] else { return Ok(None) };
        Ok(axes(&linearized.kernel, iname, &linearized.linearization)
            .map(|axes| Self::without(linearized, iname, &axes)))
    }

    fn without(linearized: &LinearizedKernel, iname: InameId, axes: &[Option<(usize, Affine)>]) -> Self {
        let LinearizedKernel { mut kernel, mut linearization } = linearized.clone();
        let axis_of = |array: ArrayId| axes[array.index()].as_ref().map(|axis| axis.0);
        change_indices(&mut kernel, &mut linearization, axis_of, |_, indices, axis| {
            indices.remove(axis);
        });
        kernel.instructions.iter_mut().for_each(|instruction| instruction.within.retain(|&other| other != iname));
        let mut by_name = FxHashMap::default();
        for (array, axis) in std::iter::zip(&mut kernel.arrays, axes) {
            if let Some(axis) = axis {
                array.shape.remove(axis.0);
                by_name.insert(array.name.clone(), axis.clone());
            }
        }
        linearization.retain(|item| !matches!(item, Item::For(other) | Item::End(other) if *other == iname));
        let (iname, domain) = (kernel[iname].clone(), kernel[kernel[iname].domain].clone());
        Self { linearized: eliminate_dead(LinearizedKernel { kernel, linearization }), iname, domain, axes: by_name }
    }

    /// A kernel that was made of the one of an element, in the loop; `None` if it has given the name of the iname away.
    #[must_use]
    pub fn in_loop(&self, made: LinearizedKernel) -> Option<LinearizedKernel> {
        let LinearizedKernel { mut kernel, mut linearization } = made;
        if Names::new(&kernel).new_name_like(&self.iname.name) != self.iname.name {
            return None;
        }
        let (iname, domain) = (InameId::new(kernel.inames.len()), DomainId::new(kernel.domains.len()));
        kernel.inames.push(Iname { domain, ..self.iname.clone() });
        kernel.domains.push(Domain { inames: vec![iname], ..self.domain.clone() });
        let axes: Vec<Option<(usize, Affine)>> =
            kernel.arrays.iter().map(|array| self.axes.get(&array.name).cloned()).collect();
        let axis_of = |array: ArrayId| axes[array.index()].as_ref().map(|axis| axis.0);
        change_indices(&mut kernel, &mut linearization, axis_of, |exprs, indices, axis| {
            indices.insert(axis, exprs.iname(iname));
        });
        kernel.instructions.iter_mut().for_each(|instruction| instruction.within.insert(0, iname));
        for (array, axis) in std::iter::zip(&mut kernel.arrays, &axes) {
            if let Some((axis, size)) = axis {
                array.shape.insert(*axis, size.to_expr(&mut kernel.exprs));
            }
        }
        linearization.insert(0, Item::For(iname));
        linearization.push(Item::End(iname));
        set_dependences(&mut kernel, &linearization);
        Some(LinearizedKernel { kernel, linearization })
    }
}

/// Changes the indices of all accesses and assignments of the arrays with an axis.
fn change_indices(
    kernel: &mut Kernel,
    linearization: &mut [Item],
    axis_of: impl Fn(ArrayId) -> Option<usize>,
    change: impl Fn(&mut Exprs, &mut Vec<ExprId>, usize),
) {
    let changed = |exprs: &mut Exprs, indices: &[ExprId], axis: usize| {
        let mut indices = indices.to_vec();
        change(exprs, &mut indices, axis);
        indices
    };
    kernel.rewrite_all(linearization, |exprs, _, expr| match expr {
        Expr::Access { array, indices } if let Some(axis) = axis_of(array) => {
            let indices = changed(exprs, &indices, axis);
            exprs.access(array, indices)
        }
        expr => exprs.intern(expr),
    });
    for instruction in &mut kernel.instructions {
        if let InstructionKind::Assignment { assignee: Assignee { array, indices }, .. } = &mut instruction.kind
            && let Some(axis) = axis_of(*array)
        {
            *indices = changed(&mut kernel.exprs, indices, axis).into();
        }
    }
}

/// For each array the position and the size of the axis that an iname indexes; `None` if the iname is used in any other way, or an access does not depend on it.
fn axes(kernel: &Kernel, iname: InameId, linearization: &[Item]) -> Option<Vec<Option<(usize, Affine)>>> {
    let domain = &kernel[kernel[iname].domain];
    let bounds_others = kernel.domains.iter().any(|domain| domain.enclosing.contains(&iname));
    let is_plain = domain.inames.len() == 1 && domain.enclosing.is_empty() && kernel[iname].tags.is_empty();
    if bounds_others || !is_plain || kernel.arrays.iter().any(Array::is_temporary) || !kernel.substitutions.is_empty() {
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
    let others = of_assignees.into_iter().filter(|id| !is_iname(id));
    for id in below(&kernel.exprs, roots.into_iter().chain(others)) {
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
        let depends = || below(&kernel.exprs, indices.iter().copied()).iter().any(is_iname);
        let is_of_element = kernel[array].table().is_some() || axis.is_some() || depends();
        if *found[array.index()].get_or_insert(axis) != axis || positions.next().is_some() || !is_of_element {
            return None;
        }
    }
    let with_size = |(array, found): (&Array, Option<Option<usize>>)| match found.flatten() {
        Some(axis) => Some(Some((axis, affine::of(&kernel.exprs, array.shape[axis])?))),
        None => Some(None),
    };
    std::iter::zip(&kernel.arrays, found).map(with_size).collect()
}

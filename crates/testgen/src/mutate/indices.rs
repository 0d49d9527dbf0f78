//! Accesses: other elements, other arrays.

use nestegg_ir::{ArrayId, Expr, ExprId, Exprs, InameId, InsnId, InstructionKind, Kernel, Op};

use super::Sites;
use super::view::{Place, View, without};

fn shifted(exprs: &mut Exprs, index: ExprId, by: i64) -> ExprId {
    let by = exprs.int(by);
    exprs.op(Op::Add, [index, by])
}

/// The reads of arrays with dimensions, with their places.
fn reads<'v, 'a>(view: &'v View<'a>) -> impl Iterator<Item = (&'v super::Node, ArrayId, &'a [ExprId])> {
    view.nodes.iter().filter_map(|node| match view.expr(node.id) {
        Expr::Access { array, indices } => Some((node, *array, &**indices)),
        _ => None,
    })
}

/// One index of a read is one more or less.
pub(super) fn read(view: &View<'_>, sites: &mut Sites<'_>) {
    for (node, array, indices) in reads(view) {
        for (dim, by) in (0..indices.len()).flat_map(|dim| [(dim, 1), (dim, -1)]) {
            let indices = indices.to_vec();
            let what = format!("index {dim} of `{}` off by {by}", view.kernel()[array].name);
            sites.expression(node, what, move |kernel| {
                let mut indices = indices.clone();
                indices[dim] = shifted(&mut kernel.exprs, indices[dim], by);
                kernel.exprs.access(array, indices)
            });
        }
    }
}

/// One index of a store is one more or less.
pub(super) fn store(view: &View<'_>, sites: &mut Sites<'_>) {
    for insn in view.kernel().insn_ids() {
        let Some(first) = view.kernel()[insn].assignees().first() else { continue };
        for (dim, by) in (0..first.indices.len()).flat_map(|dim| [(dim, 1), (dim, -1)]) {
            sites.kernel(
                format!("index {dim} of what `{}` writes off by {by}", view.kernel()[insn].id),
                move |mutant| {
                    with_target(&mut mutant.kernel, insn, |exprs, indices| {
                        indices[dim] = shifted(exprs, indices[dim], by);
                    });
                },
            );
        }
    }
}

fn with_target(kernel: &mut Kernel, insn: InsnId, change: impl Fn(&mut Exprs, &mut [ExprId])) {
    let Kernel { instructions, exprs, .. } = kernel;
    match &mut instructions[insn.index()].kind {
        InstructionKind::Assignment { assignee, .. } => change(exprs, &mut assignee.indices),
        InstructionKind::Call { assignees, .. } => {
            if let Some(first) = assignees.first_mut() {
                change(exprs, &mut first.indices);
            }
        }
        InstructionKind::Opaque { .. } => {}
    }
}

/// Two indices of a read or a store change places.
pub(super) fn transposed(view: &View<'_>, sites: &mut Sites<'_>) {
    for (node, array, indices) in reads(view) {
        for dim in 1..indices.len() {
            let mut indices = indices.to_vec();
            indices.swap(dim - 1, dim);
            let what = format!("indices {} and {dim} of `{}` exchanged", dim - 1, view.kernel()[array].name);
            sites.put(node, what, Expr::Access { array, indices: indices.into() });
        }
    }
    for insn in view.kernel().insn_ids() {
        let Some(first) = view.kernel()[insn].assignees().first() else { continue };
        for dim in 1..first.indices.len() {
            sites.kernel(
                format!("indices {} and {dim} of what `{}` writes exchanged", dim - 1, view.kernel()[insn].id),
                move |mutant| {
                    with_target(&mut mutant.kernel, insn, |_, indices| indices.swap(dim - 1, dim));
                },
            );
        }
    }
}

/// Two inames change places in a read, or in all that an instruction computes.
pub(super) fn swapped(view: &View<'_>, sites: &mut Sites<'_>) {
    let kernel = view.kernel();
    for node in &view.nodes {
        let Place::Value(insn) = node.place else { continue };
        let is_whole =
            matches!(&kernel[insn].kind, InstructionKind::Assignment { expression, .. } if *expression == node.id);
        if !is_whole && !matches!(view.expr(node.id), Expr::Access { .. }) {
            continue;
        }
        let within = &kernel[insn].within;
        for (at, &a) in within.iter().enumerate() {
            for &b in &within[at + 1..] {
                let id = node.id;
                let what = format!("`{}` and `{}` exchanged", kernel[a].name, kernel[b].name);
                sites.expression(node, what, move |kernel| exchanged(&mut kernel.exprs, id, a, b));
            }
        }
    }
}

fn exchanged(exprs: &mut Exprs, root: ExprId, a: InameId, b: InameId) -> ExprId {
    let swap = |exprs: &mut Exprs, _, expr: Expr| match expr {
        Expr::Iname(iname) if iname == a => exprs.iname(b),
        Expr::Iname(iname) if iname == b => exprs.iname(a),
        other => exprs.intern(other),
    };
    exprs.rewrite([root], swap).get(root)
}

/// A term or factor of an index is gone.
pub(super) fn term_lost(view: &View<'_>, sites: &mut Sites<'_>) {
    for (node, op, operands) in view.operations().filter(|(node, ..)| node.is_index) {
        for at in 0..operands.len() {
            let operands = operands.to_vec();
            match op {
                Op::Add | Op::Mul => {
                    let what = format!("operand {at} of `{}` in an index lost", op.spelling());
                    sites.expression(node, what, move |kernel| without(kernel, op, &operands, at));
                }
                Op::Sub | Op::Neg | Op::FloorDiv | Op::Mod if at == 0 => {
                    sites.expression(node, format!("`{}` in an index lost", op.spelling()), move |_| operands[0]);
                }
                _ => {}
            }
        }
    }
}

/// A read of another array of the same type and rank.
pub(super) fn array(view: &View<'_>, sites: &mut Sites<'_>) {
    let kernel = view.kernel();
    let written = kernel.written();
    for (node, array, indices) in reads(view) {
        let is_fit = |other: &ArrayId| {
            let (own, array) = (&kernel[array], &kernel[*other]);
            let is_readable = !array.is_temporary() || written[other.index()];
            own.name != array.name && own.dtype == array.dtype && own.shape == array.shape && is_readable
        };
        for other in kernel.array_ids().filter(is_fit).take(8) {
            let what = format!("`{}` read for `{}`", kernel[other].name, kernel[array].name);
            sites.put(node, what, Expr::Access { array: other, indices: indices.into() });
        }
    }
}

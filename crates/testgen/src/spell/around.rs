//! Kernels under conditions and inside loops.

use nestegg_ir::{
    ArgumentAccess, Array, ArrayId, ArrayKind, Assignee, Dtype, Expr, ExprId, InameId, InstructionKind, Item,
    LinearizedKernel, Op,
};
use nestegg_isl::{Context, Set};

use super::{add_iname, fresh, rewrite};

/// The elements of the outer loop.
pub const N_ELEMENTS: u64 = 8;

/// Each instruction in loops is under `i >= first value`.
pub(super) fn under_true(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    let mut is_changed = false;
    for insn in linearized.kernel.insn_ids() {
        let kernel = &linearized.kernel;
        let first = |iname: InameId| {
            let domain = &kernel[kernel[iname].domain];
            Set::parse(&Context::new(), &domain.text).ok()?.dim_min_val(&kernel[iname].name).ok()?
        };
        let Some((iname, first)) = kernel[insn].within.iter().find_map(|&iname| Some((iname, first(iname)?))) else {
            continue;
        };
        let exprs = &mut res.kernel.exprs;
        let (value, first) = (exprs.iname(iname), exprs.int(first));
        let condition = exprs.op(Op::Ge, [value, first]);
        res.kernel[insn].predicates.push(condition);
        is_changed = true;
    }
    is_changed.then_some(res)
}

/// Each instruction is under `active > 0`, an integer argument.
pub(super) fn under_flag(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    let name = fresh(&res.kernel, "active");
    let flag = Array {
        name,
        dtype: Dtype::Int32,
        stored: None,
        shape: Vec::new(),
        kind: ArrayKind::Argument(ArgumentAccess::Read),
    };
    let array = add_argument(&mut res, flag);
    let exprs = &mut res.kernel.exprs;
    let (value, zero) = (exprs.access(array, []), exprs.int(0));
    let condition = exprs.op(Op::Gt, [value, zero]);
    for instruction in &mut res.kernel.instructions {
        instruction.predicates.push(condition);
    }
    Some(res)
}

/// Puts an argument after all others; the arrays behind it move by one.
fn add_argument(linearized: &mut LinearizedKernel, array: Array) -> ArrayId {
    let at = linearized.kernel.arguments().count();
    let moved = |id: ArrayId| if id.index() >= at { ArrayId::new(id.index() + 1) } else { id };
    rewrite(linearized, |exprs, expr| match expr {
        Expr::Access { array, indices } => exprs.access(moved(array), indices),
        expr => exprs.intern(expr),
    });
    let kernel = &mut linearized.kernel;
    kernel.arrays.insert(at, array);
    for instruction in &mut kernel.instructions {
        match &mut instruction.kind {
            InstructionKind::Assignment { assignee, .. } => assignee.array = moved(assignee.array),
            InstructionKind::Call { assignees, .. } => {
                assignees.iter_mut().for_each(|assignee| assignee.array = moved(assignee.array));
            }
            InstructionKind::Opaque { reads, writes, .. } => {
                reads.iter_mut().chain(writes).for_each(|array| *array = moved(*array));
            }
        }
    }
    ArrayId::new(at)
}

/// A loop over elements is around everything; every argument has one more dimension, the first.
pub(super) fn over_elements(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    let kernel = &mut res.kernel;
    if kernel.instructions.iter().any(|instruction| matches!(instruction.kind, InstructionKind::Opaque { .. })) {
        return None;
    }
    let iname = add_iname(kernel, "element", N_ELEMENTS as i64);
    let n_elements = kernel.exprs.int(N_ELEMENTS as i64);
    let is_argument: Vec<bool> = kernel.arrays.iter().map(Array::is_argument).collect();
    for array in kernel.arrays.iter_mut().filter(|array| array.is_argument()) {
        array.shape.insert(0, n_elements);
    }
    let element = kernel.exprs.iname(iname);
    rewrite(&mut res, |exprs, expr| match expr {
        Expr::Access { array, indices } if is_argument[array.index()] => {
            let element = exprs.iname(iname);
            let indices: Vec<ExprId> = std::iter::once(element).chain(indices.iter().copied()).collect();
            exprs.access(array, indices)
        }
        expr => exprs.intern(expr),
    });
    for instruction in &mut res.kernel.instructions {
        instruction.within.insert(0, iname);
        let written = |assignee: &mut Assignee| {
            if is_argument[assignee.array.index()] {
                assignee.indices = std::iter::once(element).chain(assignee.indices.iter().copied()).collect();
            }
        };
        match &mut instruction.kind {
            InstructionKind::Assignment { assignee, .. } => written(assignee),
            InstructionKind::Call { assignees, .. } => assignees.iter_mut().for_each(written),
            InstructionKind::Opaque { .. } => {}
        }
    }
    res.linearization.insert(0, Item::For(iname));
    res.linearization.push(Item::End(iname));
    Some(res)
}

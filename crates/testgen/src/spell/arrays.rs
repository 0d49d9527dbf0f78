//! Values kept in temporaries.

use nestegg_ir::types::{Type, Types};
use nestegg_ir::{
    Array, ArrayId, ArrayKind, Assignee, Dtype, Expr, ExprId, InameId, InameSet, InsnId, Instruction, InstructionKind,
    Item, Kernel, LinearizedKernel, Op,
};
use nestegg_isl::{Context, Set};
use rustc_hash::FxHashMap;

use super::fresh;
use super::scope::{free_inames, is_fixed};

/// At most so many values are kept.
const MAX_VALUES: usize = 24;

/// Sums of values without inames are computed before everything else, into scalars.
pub(super) fn in_scalars(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    kept(linearized, InameSet::is_empty)
}

/// Sums of values with inames that do not depend on what the kernel writes are computed before everything else, into arrays.
pub(super) fn in_arrays(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    kept(linearized, |free| !free.is_empty())
}

fn kept(linearized: &LinearizedKernel, is_wanted: impl Fn(&InameSet) -> bool) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    let kernel = &linearized.kernel;
    let (free, types, written) = (free_inames(kernel), Types::infer(kernel), kernel.written());
    let guarded = guarded(linearized);
    let is_sum = |id: ExprId| matches!(&kernel.exprs[id], Expr::Op { op: Op::Add | Op::Sub, .. });
    let dtype = |id: ExprId| match types.of(id) {
        Type::Float32 => Some(Dtype::Float32),
        Type::Float64 => Some(Dtype::Float64),
        _ => None,
    };
    let all = kernel.exprs.reachable(crate::compact::roots(linearized));
    let mut stored: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    let mut before = Vec::new();
    for id in all {
        let (Some(dtype), own) = (dtype(id), &free[id.index()]) else { continue };
        let is_kept = is_sum(id) && is_wanted(own) && is_fixed(kernel, &written, id) && !guarded.contains(&id);
        if !is_kept || stored.len() == MAX_VALUES {
            continue;
        }
        let inames: Vec<InameId> = own.iter().collect();
        let Some(extents) = inames.iter().map(|&iname| extent(kernel, iname)).collect::<Option<Vec<i64>>>() else {
            continue;
        };
        let name = fresh(&res.kernel, "kept");
        let exprs = &mut res.kernel.exprs;
        // What was kept before is read.
        let rewritten =
            exprs.rewrite([id], |exprs, old, expr| stored.get(&old).copied().unwrap_or_else(|| exprs.intern(expr)));
        let expression = rewritten.get(id);
        let shape = extents.into_iter().map(|extent| exprs.int(extent)).collect();
        let indices: Box<[ExprId]> = inames.iter().map(|&iname| exprs.iname(iname)).collect();
        let array = ArrayId::new(res.kernel.arrays.len());
        let access = exprs.access(array, indices.clone());
        res.kernel.arrays.push(Array { name: name.clone(), dtype, stored: None, shape, kind: ArrayKind::Temporary });
        let kind = InstructionKind::Assignment { assignee: Assignee { array, indices }, expression };
        let id_of = format!("store_{name}");
        let within = inames.clone();
        res.kernel.instructions.push(Instruction {
            id: id_of,
            kind,
            within,
            depends_on: Vec::new(),
            predicates: Vec::new(),
        });
        before.extend(inames.iter().map(|&iname| Item::For(iname)));
        before.push(Item::Run(InsnId::new(res.kernel.instructions.len() - 1)));
        before.extend(inames.iter().rev().map(|&iname| Item::End(iname)));
        stored.insert(id, access);
    }
    if stored.is_empty() {
        return None;
    }
    let old = crate::compact::roots(linearized);
    let rewritten = res
        .kernel
        .exprs
        .rewrite(old, |exprs, old, expr| stored.get(&old).copied().unwrap_or_else(|| exprs.intern(expr)));
    for insn in kernel.insn_ids() {
        res.kernel[insn].map_expressions(|id| rewritten.get(id));
    }
    before.extend(res.linearization);
    res.linearization = before;
    Some(res)
}

/// Expressions that are only evaluated where a condition holds.
fn guarded(linearized: &LinearizedKernel) -> Vec<ExprId> {
    let kernel = &linearized.kernel;
    let under_condition = linearized.linearization.iter().any(|item| matches!(item, Item::If(_)));
    let of_instructions = kernel.instructions.iter().filter(|insn| under_condition || !insn.predicates.is_empty());
    let roots = of_instructions.flat_map(Instruction::expressions);
    let of_selections = kernel.exprs.iter().filter_map(|(_, expr)| match expr {
        Expr::Op { op: Op::If, operands } => Some([operands[1], operands[2]]),
        _ => None,
    });
    nestegg_ir::walk::below(&kernel.exprs, roots.chain(of_selections.flatten()))
}

/// The size of an array that an iname indexes, if its values are numbers, none below zero.
pub(super) fn extent(kernel: &Kernel, iname: InameId) -> Option<i64> {
    let domain = &kernel[kernel[iname].domain];
    if !domain.enclosing.is_empty() || !domain.parameters.is_empty() {
        return None;
    }
    let set = Set::parse(&Context::new(), &domain.text).ok()?;
    let name = &kernel[iname].name;
    let (first, last) = set.dim_min_val(name).ok()?.zip(set.dim_max_val(name).ok()?)?;
    (first >= 0).then_some(last + 1)
}

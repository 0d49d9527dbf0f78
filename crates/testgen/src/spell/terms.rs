//! Terms in instructions of their own.

use nestegg_ir::{Expr, ExprId, Exprs, InsnId, Instruction, InstructionKind, Item, LinearizedKernel, Op, ReduceOp};

use super::reductions::addends;

/// `A[i] = A[i] + a + b` is `A[i] = A[i] + a` and `A[i] = A[i] + b`; sums inside reductions likewise.
pub(super) fn apart(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    let mut replaced: Vec<Vec<InsnId>> = Vec::new();
    for insn in linearized.kernel.insn_ids() {
        let mut all = vec![insn];
        if let Some(parts) = parts(&mut res, insn) {
            let whole = res.kernel[insn].clone();
            for (number, expression) in parts.into_iter().enumerate() {
                let InstructionKind::Assignment { assignee, .. } = &whole.kind else { continue };
                let kind = InstructionKind::Assignment { assignee: assignee.clone(), expression };
                let id = format!("{}_term{number}", whole.id);
                let instruction = Instruction { id, kind, ..whole.clone() };
                if number == 0 {
                    res.kernel[insn] = Instruction { id: whole.id.clone(), ..instruction };
                } else {
                    res.kernel.instructions.push(instruction);
                    all.push(InsnId::new(res.kernel.instructions.len() - 1));
                }
            }
        }
        replaced.push(all);
    }
    if replaced.iter().all(|all| all.len() == 1) {
        return None;
    }
    let runs = |item: &Item| match item {
        Item::Run(insn) => replaced[insn.index()].iter().map(|&insn| Item::Run(insn)).collect(),
        item => vec![*item],
    };
    res.linearization = res.linearization.iter().flat_map(runs).collect();
    Some(res)
}

/// The values that the instructions store one after the other instead; `None` if there is only one.
fn parts(linearized: &mut LinearizedKernel, insn: InsnId) -> Option<Vec<ExprId>> {
    let InstructionKind::Assignment { assignee, expression } = linearized.kernel[insn].kind.clone() else {
        return None;
    };
    let exprs = &mut linearized.kernel.exprs;
    let old = exprs.access(assignee.array, assignee.indices);
    let Expr::Op { op: Op::Add, operands } = &exprs[expression] else { return None };
    let (own, added): (Vec<ExprId>, Vec<ExprId>) = operands.iter().copied().partition(|&operand| operand == old);
    // Later terms must not read what the first of them wrote.
    let is_accumulation = own.len() == 1 && !nestegg_ir::walk::reads(exprs, added.iter().copied(), assignee.array);
    if !is_accumulation {
        return None;
    }
    let terms: Vec<ExprId> = added.into_iter().flat_map(|term| of_reduction(exprs, term)).collect();
    (terms.len() > 1).then(|| terms.into_iter().map(|term| exprs.op(Op::Add, [old, term])).collect())
}

fn of_reduction(exprs: &mut Exprs, id: ExprId) -> Vec<ExprId> {
    match exprs[id].clone() {
        Expr::Reduce { op: op @ ReduceOp::Sum, inames, body } => {
            let terms = addends(exprs, body);
            terms.into_iter().map(|body| exprs.intern(Expr::Reduce { op, inames: inames.clone(), body })).collect()
        }
        _ => addends(exprs, id),
    }
}

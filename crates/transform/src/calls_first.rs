//! Calls that compilers cannot put into lanes get a loop of their own, before the loop that needs them.
//!
//! # Why
//! One call of a function that has no vector form keeps a whole loop out of vector lanes, and values have to be saved around it.
//! # Input
//! A kernel in its final order.
//! # Output
//! The loop becomes two: the first keeps what the calls return in rows of temporaries, the second reads these. Calls are pure, so nothing else changes.
//! # Method
//! A call moves if it happens in every iteration, and reads nothing that its loop changes. Loops with others inside, and loops that do nothing but call, stay.
//! # Complexity
//! Linear in the expressions of a loop.

use nestegg_ir::calls::has_vectors;
use nestegg_ir::linearization::direct_runs;
use nestegg_ir::walk::arrays_below;
use nestegg_ir::{ArrayId, Expr, ExprId, InameId, InsnId, InstructionKind, Kernel, LinearizedKernel, LoopTree, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::in_two::{Splitter, in_two};

/// The kernel with such calls in loops of their own; `None` if it has none.
#[must_use]
pub fn call_first(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    in_two(linearized, calls, split)
}

/// The loop of the calls, and the rest, which reads what they return.
fn split(
    splitter: &mut Splitter,
    over: (InameId, i64),
    body: Vec<LoopTree>,
    calls: &[(InsnId, ExprId)],
) -> [LoopTree; 2] {
    let mut kept: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    let mut first = Vec::with_capacity(calls.len());
    for &(insn, call) in calls {
        let expression = with_kept(&mut splitter.kernel, &kept, vec![call])[0];
        let (keep, element) = splitter.keep(over, "called", insn, (call, expression));
        kept.insert(call, element);
        first.push(LoopTree::Run(keep));
    }
    for insn in direct_runs(&body) {
        let roots: Vec<ExprId> = splitter.kernel[insn].expressions().collect();
        let rewritten = with_kept(&mut splitter.kernel, &kept, roots.clone());
        let images: FxHashMap<ExprId, ExprId> = roots.into_iter().zip(rewritten).collect();
        splitter.kernel[insn].map_expressions(|id| images[&id]);
    }
    [first, body].map(|body| LoopTree::Loop { iname: over.0, body })
}

/// Expressions that read kept values instead of calling.
fn with_kept(kernel: &mut Kernel, kept: &FxHashMap<ExprId, ExprId>, roots: Vec<ExprId>) -> Vec<ExprId> {
    let rewritten = kernel.exprs.rewrite(roots.iter().copied(), |exprs, old, expr| {
        kept.get(&old).copied().unwrap_or_else(|| exprs.intern(expr))
    });
    roots.into_iter().map(|root| rewritten.get(root)).collect()
}

/// The calls of a loop that come first, each once, with an instruction that needs it, operands before operations: none if they are all that there is.
fn calls(kernel: &Kernel, _: InameId, body: &[LoopTree]) -> Vec<(InsnId, ExprId)> {
    let insns = direct_runs(body);
    let is_assignment = |&insn: &InsnId| matches!(kernel[insn].kind, InstructionKind::Assignment { .. });
    if insns.len() < body.len() || !insns.iter().all(is_assignment) {
        return Vec::new();
    }
    let changed: Vec<ArrayId> = insns.iter().flat_map(|&insn| kernel[insn].written_arrays()).collect();
    let stays = |call: ExprId| !arrays_below(&kernel.exprs, [call]).iter().any(|array| changed.contains(array));
    let mut seen: FxHashSet<ExprId> = FxHashSet::default();
    let mut res = Vec::new();
    for &insn in insns.iter().filter(|&&insn| kernel[insn].predicates.is_empty()) {
        for root in kernel[insn].expressions() {
            let found = calls_below(kernel, root).into_iter().filter(|&call| stays(call) && seen.insert(call));
            res.extend(found.map(|call| (insn, call)));
        }
    }
    let is_call = |&insn: &InsnId| match &kernel[insn].kind {
        InstructionKind::Assignment { expression, .. } => seen.contains(expression),
        _ => false,
    };
    if insns.iter().all(is_call) { Vec::new() } else { res }
}

/// The calls without vector form that happen whenever an expression is evaluated, operands before operations.
fn calls_below(kernel: &Kernel, root: ExprId) -> Vec<ExprId> {
    let exprs = &kernel.exprs;
    let mut seen: FxHashSet<ExprId> = FxHashSet::default();
    let (mut pending, mut res) = (vec![root], Vec::new());
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        match &exprs[id] {
            Expr::Op { op: Op::If | Op::And | Op::Or, operands } => pending.push(operands[0]),
            Expr::Reduce { .. } => {}
            expr => {
                if let Expr::Call { function, .. } = expr
                    && !has_vectors(&kernel[*function])
                {
                    res.push(id);
                }
                pending.extend(expr.children());
            }
        }
    }
    // Operands are made before what is made of them.
    res.sort_unstable();
    res
}

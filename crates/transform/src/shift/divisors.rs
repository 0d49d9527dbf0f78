//! Scalars that a kernel divides by whatever its data are: none of them is zero, or the kernel has no meaning in real numbers.
//!
//! # Input
//! A kernel with its loops.
//! # Output
//! The accesses of scalars that are factors of divisors, of quotients that are computed at least once: under no condition, in no branch of a selection,
//! and in loops that have iterations for all values of parameters.
//! # Method
//! From what instructions store down to what is always evaluated; from divisors down to their factors.
//! # Complexity
//! Linear in the expressions.

use nestegg_ir::domains::DomainError;
use nestegg_ir::linearization::LoopTree;
use nestegg_ir::{Expr, ExprId, InsnId, Kernel, Number, Op};
use rustc_hash::FxHashSet;

use crate::workspace::Workspace;

/// The accesses among the factors of divisors.
pub(crate) fn divisors(workspace: &Workspace, trees: &[LoopTree]) -> Result<FxHashSet<ExprId>, DomainError> {
    let kernel = &workspace.kernel;
    let mut pending = Vec::new();
    for insn in unconditional(kernel, trees) {
        if always_runs(workspace, insn)? {
            pending.extend(kernel[insn].expressions().map(|id| (id, Role::Value)));
        }
    }
    let mut seen = FxHashSet::default();
    let mut res = FxHashSet::default();
    while let Some((id, role)) = pending.pop() {
        if !seen.insert((id, role)) {
            continue;
        }
        let value = |id: &ExprId| (*id, Role::Value);
        match &kernel.exprs[id] {
            Expr::Access { .. } if role == Role::Divisor => {
                res.insert(id);
            }
            Expr::Op { op: Op::Div, operands } => pending.extend([(operands[0], role), (operands[1], Role::Divisor)]),
            Expr::Op { op: Op::Pow, operands } if is_negative(kernel, operands[1]) => {
                pending.push((operands[0], Role::Divisor));
            }
            Expr::Op { op: Op::Pow, operands } => pending.push((operands[0], role)),
            Expr::Op { op: Op::Mul | Op::Neg, operands } => pending.extend(operands.iter().map(|&id| (id, role))),
            Expr::Op { op: Op::If, operands } => pending.push((operands[0], Role::Value)),
            Expr::Op { op, .. } if op.is_logic() => {}
            Expr::Op { operands, .. } => pending.extend(operands.iter().map(value)),
            Expr::Call { arguments, .. } => pending.extend(arguments.iter().map(value)),
            _ => {}
        }
    }
    Ok(res)
}

/// Whether a value is a factor of a divisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Role {
    Value,
    Divisor,
}

fn is_negative(kernel: &Kernel, exponent: ExprId) -> bool {
    matches!(kernel.exprs[exponent], Expr::Number(Number::Int(n)) if n < 0)
}

/// The instructions under no condition.
fn unconditional(kernel: &Kernel, trees: &[LoopTree]) -> Vec<InsnId> {
    let mut pending: Vec<&LoopTree> = trees.iter().collect();
    let mut res = Vec::new();
    while let Some(tree) = pending.pop() {
        match tree {
            LoopTree::Loop { body, .. } => pending.extend(body),
            LoopTree::Run(insn) if kernel[*insn].predicates.is_empty() => res.push(*insn),
            LoopTree::Run(_) | LoopTree::Branch { .. } => {}
        }
    }
    res
}

/// Whether an instruction runs at least once, whatever the parameters are.
fn always_runs(workspace: &Workspace, insn: InsnId) -> Result<bool, DomainError> {
    let kernel = &workspace.kernel;
    for &iname in &kernel[insn].within {
        let domain = kernel[iname].domain;
        let is_closed = kernel[domain].enclosing.is_empty() && kernel[domain].parameters.is_empty();
        if !is_closed || workspace.domains.set(domain).is_empty()? {
            return Ok(false);
        }
    }
    Ok(true)
}

//! Inlines substitution rules as sharing.
//!
//! # Input
//! A kernel.
//! # Output
//! The same kernel without substitution rules and without [`Expr::Substitution`] and [`Expr::Formal`] in what
//! instructions evaluate. Uses of a rule with the same arguments are one expression.
//! # Method
//! One walk over the DAG with a work list in which a rule's body is one more operand of its uses; a rule with parameters is
//! instantiated once for each list of arguments.
//! # Complexity
//! Linear in the DAG plus, for each distinct use of a rule with parameters, its body.
//! # Not done
//! Inames that a rule's body binds in a reduction are not renamed.

use rustc_hash::FxHashMap;

use crate::expr::{Expr, Exprs};
use crate::ids::{ExprId, SubstitutionId};
use crate::kernel::Kernel;
use crate::walk::OperandsFirst;

/// A rule that needs itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("substitution rule {rule:?} needs itself")]
pub struct RecursiveRule {
    /// A rule on the cycle.
    pub rule: SubstitutionId,
}

/// Inlines all substitution rules; `roots` (linearization conditions, say) are rewritten along.
///
/// # Errors
/// If a rule is recursive.
pub fn inline_substitutions(kernel: &mut Kernel, roots: &mut [&mut ExprId]) -> Result<(), RecursiveRule> {
    expand_substitutions(kernel, roots)?;
    // What the rules were made of goes with them: no expression of the result speaks of a rule.
    let sizes = kernel.arrays.iter().flat_map(|array| array.shape.iter().copied());
    let of_instructions = kernel.instructions.iter().flat_map(|instruction| instruction.expressions());
    let all: Vec<ExprId> = of_instructions.chain(roots.iter().map(|root| **root)).chain(sizes).collect();
    let (exprs, kept) = kernel.exprs.compacted(all);
    for array in &mut kernel.arrays {
        for size in &mut array.shape {
            *size = kept.get(*size);
        }
    }
    for instruction in &mut kernel.instructions {
        instruction.map_expressions(|id| kept.get(id));
    }
    for root in roots {
        **root = kept.get(**root);
    }
    kernel.exprs = exprs;
    Ok(())
}

/// The same, but every expression of the kernel keeps its id; new ones come after them.
///
/// # Errors
/// If a rule is recursive.
pub fn expand_substitutions(kernel: &mut Kernel, roots: &mut [&mut ExprId]) -> Result<(), RecursiveRule> {
    let mut all: Vec<ExprId> = kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    all.extend(roots.iter().map(|root| **root));
    let bodies: Vec<ExprId> = kernel.substitutions.iter().map(|substitution| substitution.expression).collect();
    let closed = close(&mut kernel.exprs, &bodies, all)?;
    kernel.substitutions.clear();
    for instruction in &mut kernel.instructions {
        instruction.map_expressions(|id| closed[&id]);
    }
    for root in roots {
        **root = closed[&**root];
    }
    Ok(())
}

/// Every expression below the roots without substitution rules.
fn close(exprs: &mut Exprs, bodies: &[ExprId], roots: Vec<ExprId>) -> Result<FxHashMap<ExprId, ExprId>, RecursiveRule> {
    let mut closed: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    let mut instances: FxHashMap<(ExprId, Box<[ExprId]>), ExprId> = FxHashMap::default();
    let mut opened = vec![false; bodies.len()];
    let mut pending = roots;
    while let Some(&id) = pending.last() {
        if closed.contains_key(&id) {
            pending.pop();
            continue;
        }
        let mut expr = exprs[id].clone();
        let n_pending = pending.len();
        pending.extend(expr.children().iter().filter(|child| !closed.contains_key(child)));
        if let Expr::Substitution { rule, .. } = expr {
            let body = bodies[rule.index()];
            if !closed.contains_key(&body) {
                // The body is pushed once; needing it again before it is closed means that it needs itself.
                if pending.len() == n_pending && std::mem::replace(&mut opened[rule.index()], true) {
                    return Err(RecursiveRule { rule });
                }
                if pending.len() == n_pending {
                    pending.push(body);
                }
            }
        }
        if pending.len() > n_pending {
            continue;
        }
        for child in expr.children_mut() {
            *child = closed[child];
        }
        let res = match expr {
            Expr::Substitution { rule, arguments } => {
                let body = closed[&bodies[rule.index()]];
                if arguments.is_empty() {
                    body
                } else {
                    match instances.get(&(body, arguments.clone())) {
                        Some(&instance) => instance,
                        None => {
                            let instance = instantiate(exprs, body, &arguments);
                            instances.insert((body, arguments), instance);
                            instance
                        }
                    }
                }
            }
            expr => exprs.intern(expr),
        };
        closed.insert(id, res);
        pending.pop();
    }
    Ok(closed)
}

/// `body` with its formal parameters replaced.
fn instantiate(exprs: &mut Exprs, body: ExprId, arguments: &[ExprId]) -> ExprId {
    let mut done: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    let mut walk = OperandsFirst::new(body);
    while let Some(id) = walk.next_unknown(|id| done.contains_key(id)) {
        let mut expr = exprs[id].clone();
        if walk.waits_for(expr.children().iter().copied(), |child| done.contains_key(child)) {
            continue;
        }
        let res = match expr {
            Expr::Formal(idx) => arguments.get(idx as usize).copied().unwrap_or(id),
            _ => {
                for child in expr.children_mut() {
                    *child = done[child];
                }
                exprs.intern(expr)
            }
        };
        done.insert(id, res);
    }
    done[&body]
}

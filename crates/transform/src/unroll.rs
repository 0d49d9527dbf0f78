//! Short loops and reductions as straight-line code.
//!
//! # Input
//! A kernel in value form.
//! # Output
//! `for j … A[j] = sum(q, T[q, j]*x)` becomes `A[0] = T[0, 0]*x + T[1, 0]*x` and so on: what people and compilers write who unroll loops.
//! Elements of tables become numbers, which [fold](crate::fold_constants); long loops stay around the copies.
//! # Legality
//! Instructions run in the order in which they ran.
//! # Complexity
//! Linear in the expressions that come out, of which there are at most [`MAX_EXPRESSIONS`].
//! # Not done
//! Loops whose range depends on another.

use nestegg_ir::affine::Affine;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::linearization::{LoopTree, from_tree, to_tree};
use nestegg_ir::{Expr, ExprId, InameId, InsnId, Instruction, InstructionKind, Kernel, LinearizedKernel};
use nestegg_isl as isl;

use crate::dead::eliminate_dead;
use crate::depends::set_dependences;
use crate::ranges::Ranges;
use crate::substitute::with_inames;
use crate::write_out::{values, without_loops};

/// Longer loops stay loops.
const MAX_VALUES: i64 = 4;

/// No kernel gets more instructions,
const MAX_INSTRUCTIONS: usize = 64;

/// or more expressions.
const MAX_EXPRESSIONS: usize = 5_000;

/// A kernel in value form without its short loops and reductions; `None` if it has none, or would be too large without them.
///
/// # Errors
/// If a domain cannot be used.
pub fn unroll(linearized: &LinearizedKernel) -> Result<Option<LinearizedKernel>, DomainError> {
    let kernel = &linearized.kernel;
    let is_opaque = |instruction: &Instruction| matches!(instruction.kind, InstructionKind::Opaque { .. });
    let Ok(trees) = to_tree(&linearized.linearization) else { return Ok(None) };
    if !kernel.substitutions.is_empty() || kernel.instructions.iter().any(is_opaque) {
        return Ok(None);
    }
    let domains = Domains::new(&isl::Context::new(), kernel)?;
    let ranges = Ranges::new(kernel, &domains)?;
    let mut kernel = kernel.clone();
    let instructions = std::mem::take(&mut kernel.instructions);
    let mut unroller = Unroller { kernel, ranges: &ranges, instructions: &instructions, n_unrolled: 0 };
    let Some(trees) = unroller.all(&trees, &mut Vec::new()) else { return Ok(None) };
    let Unroller { kernel, n_unrolled, .. } = unroller;
    if n_unrolled == 0 {
        return Ok(None);
    }
    let mut res = eliminate_dead(LinearizedKernel { kernel, linearization: from_tree(&trees) });
    set_dependences(&mut res.kernel, &res.linearization);
    Ok(Some(res))
}

/// Copies loop bodies, one copy for each value of an iname.
struct Unroller<'a> {
    /// With the copies so far as its instructions.
    kernel: Kernel,
    ranges: &'a Ranges,
    /// The instructions as they came.
    instructions: &'a [Instruction],
    /// Loops and reductions that are gone.
    n_unrolled: usize,
}

impl Unroller<'_> {
    /// These nodes at fixed values of the inames around them; `None` where that is too much.
    fn all(&mut self, nodes: &[LoopTree], fixed: &mut Vec<(InameId, i64)>) -> Option<Vec<LoopTree>> {
        let mut res = Vec::new();
        for node in nodes {
            match node {
                LoopTree::Loop { iname, body } => match values(self.ranges, *iname, MAX_VALUES) {
                    Some(values) => {
                        self.n_unrolled += 1;
                        for value in values {
                            fixed.push((*iname, value));
                            res.extend(self.all(body, fixed)?);
                            fixed.pop();
                        }
                    }
                    None => res.push(LoopTree::Loop { iname: *iname, body: self.all(body, fixed)? }),
                },
                LoopTree::Branch { condition, body } => {
                    let body = self.all(body, fixed)?;
                    let condition = self.at(*condition, fixed)?;
                    res.push(LoopTree::Branch { condition, body });
                }
                LoopTree::Run(insn) => res.push(LoopTree::Run(self.copy(*insn, fixed)?)),
            }
        }
        Some(res)
    }

    fn copy(&mut self, insn: InsnId, fixed: &[(InameId, i64)]) -> Option<InsnId> {
        let number = self.kernel.instructions.len();
        let mut copy = self.instructions[insn.index()].clone();
        let mut is_done = number < MAX_INSTRUCTIONS;
        copy.map_expressions(|id| {
            let new = self.at(id, fixed);
            is_done &= new.is_some();
            new.unwrap_or(id)
        });
        copy.id = format!("{}_{number}", copy.id);
        copy.within.retain(|iname| fixed.iter().all(|(other, _)| other != iname));
        copy.depends_on.clear();
        self.kernel.instructions.push(copy);
        is_done.then(|| InsnId::new(number))
    }

    /// An expression at fixed values of inames, its short reductions written out; `None` where that is too much.
    fn at(&mut self, id: ExprId, fixed: &[(InameId, i64)]) -> Option<ExprId> {
        let image =
            |iname: InameId| fixed.iter().find(|(other, _)| *other == iname).map(|(_, value)| Affine::constant(*value));
        let id = with_inames(&mut self.kernel.exprs, [id], image).get(id);
        let (ranges, n_unrolled) = (self.ranges, &mut self.n_unrolled);
        let written = self.kernel.exprs.rewrite([id], |exprs, _, expr| {
            let Expr::Reduce { op, inames, body } = expr else { return exprs.intern(expr) };
            without_loops(exprs, (op, &inames, body), |exprs, _, iname| {
                let few = values(ranges, iname, MAX_VALUES).filter(|_| exprs.len() < MAX_EXPRESSIONS);
                *n_unrolled += usize::from(few.is_some());
                few
            })
        });
        (self.kernel.exprs.len() < MAX_EXPRESSIONS).then(|| written.get(id))
    }
}

//! Splits inames where tables change their set of nonzero entries.
//!
//! # Input
//! A kernel in value form: no substitution rules, reductions in expressions.
//! # Output
//! An equal kernel. Its loops around stores and its sum reductions are cut into intervals of an iname on which each
//! table indexed by it has the same nonzero entries. The answer is [`None`] if there is nothing to cut or a limit is
//! exceeded. A store becomes one store for each combination of intervals, with inames of its own; an interval of one
//! value becomes that value, not a loop. Everything that a zero table entry then makes zero is removed: products, terms
//! of sums, and whole stores `A = A + 0`, throughout the kernel. A table that has the same value wherever it is read
//! becomes that value.
//! # Method
//! Entries count as zero only if they are exactly zero, so no value changes, except that `0*x` is 0 where `x` is not
//! finite, and that sums are added up in another order. The pass cuts stores first (`stores` decides which may leave
//! their loops, `clones` takes them out), then the reductions in them, once the tables that are zero in a store are
//! gone. It cuts an iname only if its domain is a box without parameters, no other domain depends on it, and it is not
//! tagged `sequential`. An iname that would get more than [`SplitOptions::max_pieces_per_iname`] pieces is cut only
//! where a table's block of nonzero entries (from the first to the last) begins or ends; if those are too many pieces
//! too, it stays whole. The same interval of an iname is the same new iname everywhere, so equal reductions stay equal.
//! # Complexity
//! Each expression is rewritten once for each combination of intervals of those cut inames that it depends on; an
//! output of more than [`MAX_GROWTH`] times the expressions of the input (and more than 20,000) is refused. Tables are
//! scanned once for each access and iname.
//! # Not done
//! Kernels in which two float types meet are left alone, since a literal zero has no size, and so are those with
//! substitution rules. Indices other than `j`, or `j` plus a constant, cut nothing. Nested reductions are cut inner
//! first, each over all values of the others.

mod boxes;
mod clones;
mod facts;
mod isolate;
mod rewrite;
mod segments;
mod stores;
pub(crate) mod tables;
mod touches;

pub use isolate::isolate_stores;
use nestegg_ir::domains::DomainError;
use nestegg_ir::types::Types;
use nestegg_ir::{ExprId, InsnId, InstructionKind, Item, LinearizedKernel};

use crate::depends::in_order_without_dead;
use crate::nest::{Nest, NestError};
use crate::split_at_zeros::clones::clone_stores;
use crate::split_at_zeros::rewrite::Rewriter;
use crate::split_at_zeros::stores::plan_stores;

/// How many times more expressions than it was given the pass may make.
pub const MAX_GROWTH: usize = 8;

/// How many expressions the pass may make for a small kernel.
const MIN_EXPRESSIONS: usize = 20_000;

/// How far a kernel may be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitOptions {
    /// A kernel that would have more instructions is not split at all.
    pub max_instructions: usize,
    /// An iname that would be cut into more pieces is cut less, or stays whole.
    pub max_pieces_per_iname: usize,
}

impl SplitOptions {
    /// The number of instructions that is allowed where nothing else is asked for.
    pub const DEFAULT_MAX_INSTRUCTIONS: usize = 400;
    /// The number of pieces that is allowed where nothing else is asked for.
    pub const DEFAULT_MAX_PIECES_PER_INAME: usize = 16;
}

/// Why a kernel could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// The linearization is not that of the kernel.
    #[error(transparent)]
    Nest(#[from] NestError),
    /// A domain cannot be used.
    #[error(transparent)]
    Domain(#[from] DomainError),
}

/// Splits inames where tables change their set of non-zero entries; `None` if the kernel stays as it is.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn split_at_zeros(
    linearized: LinearizedKernel,
    options: &SplitOptions,
) -> Result<Option<LinearizedKernel>, SplitError> {
    let LinearizedKernel { kernel, linearization } = linearized;
    let nest = Nest::new(&kernel, &linearization)?;
    if Types::infer(&kernel).has_both_floats() || !kernel.substitutions.is_empty() {
        return Ok(None);
    }
    let max_exprs = kernel.exprs.len().saturating_mul(MAX_GROWTH).max(MIN_EXPRESSIONS);
    let mut rewriter = Rewriter::new(kernel, options.max_pieces_per_iname, max_exprs)?;
    let Some(stores) = plan_stores(&mut rewriter, &nest, options)? else { return Ok(None) };
    let (linearization, origins) = clone_stores(&mut rewriter, &linearization, &stores);
    for item in &linearization {
        if let Item::Run(insn) = *item {
            cut_reductions(&mut rewriter, insn);
        }
    }
    if rewriter.is_exceeded() || !rewriter.has_cut() {
        return Ok(None);
    }
    let linearization = without_idle(&rewriter, linearization, &origins);
    Ok(Some(in_order_without_dead(rewriter.into_kernel(), linearization)))
}

/// Cuts the reductions in what an instruction computes.
fn cut_reductions(rewriter: &mut Rewriter, insn: InsnId) {
    if let InstructionKind::Assignment { expression, .. } = rewriter.kernel[insn].kind {
        let value = rewriter.cut_reductions(expression);
        if let InstructionKind::Assignment { expression, .. } = &mut rewriter.kernel[insn].kind {
            *expression = value;
        }
    }
}

/// The order without stores of an element to itself that stored something else before.
fn without_idle(rewriter: &Rewriter, linearization: Vec<Item>, origins: &[ExprId]) -> Vec<Item> {
    let kernel = &rewriter.kernel;
    let is_idle = |insn: InsnId| match &kernel[insn].kind {
        InstructionKind::Assignment { assignee, expression } => {
            origins[insn.index()] != *expression && touches::is_element(&kernel.exprs, *expression, assignee)
        }
        _ => false,
    };
    linearization.into_iter().filter(|item| !matches!(item, Item::Run(insn) if is_idle(*insn))).collect()
}

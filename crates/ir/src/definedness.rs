//! Accesses that certainly go wrong: outside of their array, or to elements that nothing has written.
//!
//! # Input
//! A kernel with its order, and values for parameters.
//! # Output
//! One [`Undefined`] for each access at which every run fails, with the first instance at which it does.
//! # Method
//! Each access is evaluated at a set of instances: the domain of the inames around it, where the affine conditions around it hold ([`sites`]).
//! It is outside where an affine index is below zero or not below the extent ([`bounds`]). It is uninitialised where no instance of a write that runs
//! earlier can have written the element ([`reaching`]). Intervals decide most accesses; isl decides the others.
//!
//! A parameter with a value, given or estimated, has that value. Without one, the access must fail for all values at which it is evaluated at all.
//! # Complexity
//! Linear in the expressions for plain boxes; the sets that isl looks at are bounded in number and in work.
//! # Not done
//! What depends on data: accesses with indices that are not affine, and accesses under conditions that are not affine, are never reported; a write
//! under such a condition counts as a write, and one with such an index as a write of all elements. Opaque code may read what it likes.
//! What isl cannot decide within its limits is not reported either: the interpreter tells at run time.

mod bounds;
mod reaching;
mod sites;
mod space;

use nestegg_isl as isl;

use crate::domains::DomainError;
use crate::expr::Expr;
use crate::ids::{ArrayId, ExprId, InameId, InsnId, ParameterId};
use crate::inline::{RecursiveRule, expand_substitutions};
use crate::kernel::LinearizedKernel;
use crate::linearization::conditions_mut;
use crate::verify::Place;

use bounds::Extents;
use reaching::Writers;
use sites::Sites;
use space::Space;

/// What isl may spend on one call; honest kernels need thousands.
const MAX_ISL_OPERATIONS: u64 = 200_000;

/// An access that fails in every run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undefined {
    /// The instruction, or the condition of the linearization.
    pub place: Place,
    /// The access.
    pub access: Accessed,
    /// What it accesses.
    pub array: ArrayId,
    /// The first instance at which it fails: values of the inames around it, in increasing order.
    pub instance: Vec<(InameId, i64)>,
    /// The values of the kernel's parameters there, in order.
    pub parameters: Vec<(ParameterId, i64)>,
    /// What is wrong.
    pub fault: Fault,
}

/// Which access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accessed {
    /// An expression. Those of the kernel keep their ids; one with another id was made from a substitution rule with parameters.
    Read(ExprId),
    /// What the instruction writes, by position among its assignees.
    Write(usize),
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An index is outside of the shape.
    OutOfBounds {
        /// The dimension.
        dim: usize,
        /// The index.
        index: i64,
        /// The number of elements in that dimension.
        extent: i64,
    },
    /// Nothing has written the element.
    Uninitialised {
        /// An instruction that writes the array, at other instances or later; `None` if there is none.
        writer: Option<InsnId>,
    },
}

/// Why the accesses of a kernel cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinednessError {
    /// A domain that isl refuses.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// A substitution rule that needs itself.
    #[error(transparent)]
    Rule(#[from] RecursiveRule),
}

/// The accesses that certainly go wrong, in the order in which they run. `given` are values of parameters, before the kernel's estimates.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn undefined(linearized: &LinearizedKernel, given: &[(String, i64)]) -> Result<Vec<Undefined>, DefinednessError> {
    let LinearizedKernel { mut kernel, mut linearization } = linearized.clone();
    let mut conditions = conditions_mut(&mut linearization);
    expand_substitutions(&mut kernel, &mut conditions)?;
    let context = isl::Context::new();
    let space = Space::new(&context, &kernel, given)?;
    context.set_max_operations(Some(MAX_ISL_OPERATIONS));
    let mut sites = Sites::new(&kernel);
    let found = sites.of(&linearization);
    let extents = Extents::new(&space);
    let writers = Writers::new(&space, &mut sites, &linearization);
    let mut res = Vec::new();
    for site in &found {
        for (access, contexts) in &site.accesses {
            let (array, indices) = match (*access, &site.place) {
                (Accessed::Read(id), _) => match &kernel.exprs[id] {
                    Expr::Access { array, indices } => (*array, indices),
                    _ => continue,
                },
                (Accessed::Write(idx), Place::Instruction(insn)) => {
                    let assignee = &kernel[*insn].assignees()[idx];
                    (assignee.array, &assignee.indices)
                }
                (Accessed::Write(_), _) => continue,
            };
            let indices = space.element(indices);
            let is_read = matches!(access, Accessed::Read(_));
            let failure = contexts.iter().find_map(|&id| {
                let around = sites.context(id);
                let outside = extents.outside(&space, array, &indices, id, around);
                outside.or_else(|| match &indices {
                    _ if !is_read => None,
                    indices => writers.unwritten(&space, &sites, array, indices, (site, id)),
                })
            });
            if let Some((fault, witness)) = failure {
                let (place, access) = (site.place, *access);
                let space::Witness { instance, parameters } = witness;
                res.push(Undefined { place, access, array, instance, parameters, fault });
            }
        }
    }
    Ok(res)
}

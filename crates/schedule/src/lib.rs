//! From values to loops: turns reductions into accumulations, and rebuilds the loops of a kernel.
//!
//! All passes go from a kernel in order to a kernel in order. [`realize_reductions`] replaces `reduce` expressions by
//! instructions that initialise and accumulate. [`schedule`] rebuilds the loops: it puts the loops of each nest in one
//! [`Order`], fuses them where dependences allow, as [`fuse()`] does alone, and drops the dimensions of temporaries that a common loop makes
//! needless. [`lay_out`] puts the axes of arrays in another order in memory. None of them changes a value.

mod access;
mod conditions;
mod contract;
pub mod error;
mod fission;
mod fuse;
mod layout;
mod meet;
mod names;
mod nest;
pub mod realize;
mod reindex;
mod replace;
mod selections;
mod touched;

use nestegg_ir::linearization::{from_tree, to_tree};
use nestegg_ir::{Licence, LinearizedKernel};

pub use error::ScheduleError;
pub use fuse::Fusion;
pub use layout::lay_out;
pub use nest::Order;
pub use realize::{realize_reductions, realize_reductions_under};

/// Rebuilds the loops of a kernel.
///
/// # Errors
/// If the linearization is not well nested.
pub fn schedule(linearized: LinearizedKernel) -> Result<LinearizedKernel, ScheduleError> {
    schedule_under(linearized, Licence::default(), Order::Shared)
}

/// Rebuilds the loops of a kernel, nests in some order. Under a strict licence accumulations into one element keep their order.
///
/// # Errors
/// If the linearization is not well nested.
pub fn schedule_under(
    linearized: LinearizedKernel,
    licence: Licence,
    order: Order,
) -> Result<LinearizedKernel, ScheduleError> {
    rebuild(linearized, licence, order, Fusion::Early)
}

/// Fuses loops as they stand.
///
/// # Errors
/// If the linearization is not well nested.
pub fn fuse(linearized: LinearizedKernel, licence: Licence, fusion: Fusion) -> Result<LinearizedKernel, ScheduleError> {
    rebuild(linearized, licence, Order::Kept, fusion)
}

fn rebuild(
    linearized: LinearizedKernel,
    licence: Licence,
    order: Order,
    fusion: Fusion,
) -> Result<LinearizedKernel, ScheduleError> {
    let LinearizedKernel { mut kernel, linearization } = linearized;
    let tree = to_tree(&linearization)?;
    let tree = selections::split_selections(&mut kernel, tree);
    // Only perfect nests can be sorted.
    let tree = match order {
        Order::Consecutive | Order::Axes => fission::split_loops(&kernel, tree, licence),
        Order::Shared | Order::Kept => tree,
    };
    let tree = nest::sort_nests(&kernel, tree, licence, order);
    let tree = fuse::fuse(&kernel, tree, licence, fusion);
    let tree = conditions::enclose(&mut kernel, tree);
    // The old dependences named the old order.
    for instruction in &mut kernel.instructions {
        instruction.depends_on.clear();
    }
    Ok(contract::contract(LinearizedKernel { kernel, linearization: from_tree(&tree) }))
}

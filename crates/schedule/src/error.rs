//! Why a kernel cannot be scheduled.

use nestegg_ir::linearization::NestingError;

/// Why a pass of this crate refuses a kernel.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// The linearization of the input is not a tree.
    #[error("the linearization of the kernel is not well nested: {0}")]
    Nesting(#[from] NestingError),
    /// isl failed.
    #[error(transparent)]
    Isl(#[from] nestegg_isl::Error),
}

//! What the process answers to its caller.

use std::process::ExitCode;

/// The exit status; the worse one is the larger one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitStatus {
    /// Done.
    #[default]
    Done,
    /// A negative answer.
    Negative,
    /// Bad input or usage.
    BadInput,
    /// No result that holds.
    FailedValidation,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

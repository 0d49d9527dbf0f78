//! What can go wrong in a call of isl.
//!
//! isl is set to *continue*: a failing call returns nothing, prints nothing, and leaves a message in its context,
//! which [`Error`] carries. Errors of this crate's own (an unknown name, a count of an unbounded set) are variants of the same enum.

/// Why an isl operation gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not in isl's notation.
    #[error("{message} in `{text}`")]
    Syntax {
        /// What isl, or the check in front of it, says.
        message: String,
        /// The text, cut to its first 200 characters.
        text: String,
        /// Byte offset in the text near which parsing stopped, where it is known.
        offset: Option<usize>,
    },
    /// isl refused: operands in different spaces, a position out of range, and the like.
    #[error("isl: {0}")]
    Isl(String),
    /// The operation needed more steps than [`Context::set_max_operations`](crate::Context::set_max_operations)
    /// or a limit named by the function allows.
    #[error("limit exceeded: {0}")]
    LimitExceeded(String),
    /// isl ran out of memory.
    #[error("isl: out of memory")]
    OutOfMemory,
    /// Two objects of different contexts met.
    #[error("objects of different isl contexts cannot be combined")]
    ContextMismatch,
    /// No dimension has this name.
    #[error("no dimension is called `{0}`")]
    UnknownDim(String),
    /// Two dimensions would have this name.
    #[error("the name `{0}` is used for two dimensions")]
    DuplicateDim(String),
    /// A dimension has no name where one is needed.
    #[error("dimension {0} has no name")]
    UnnamedDim(usize),
    /// The text holds a zero byte or is otherwise not a name that isl can hold.
    #[error("`{0}` cannot be a name in isl")]
    BadName(String),
    /// A number does not fit the type it is asked for in.
    #[error("the number {0} does not fit 64 bits")]
    Overflow(String),
    /// The set has no bound where one is needed.
    #[error("the set is not bounded")]
    Unbounded,
    /// The set depends on a parameter where a number is needed.
    #[error("the set depends on the parameter `{0}`")]
    Parametric(String),
}

/// The result of everything in this crate that calls isl.
pub type Result<T, E = Error> = std::result::Result<T, E>;

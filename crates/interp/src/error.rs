//! What can go wrong when a kernel is run: each error names the instruction and the point.

use std::fmt;

use nestegg_ir::order::OrderError;

/// Why one operation at one point has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Trap {
    /// An index outside the shape.
    #[error("index {} of `{array}` is out of bounds", Point::list(index))]
    OutOfBounds {
        /// The array's name.
        array: String,
        /// The index of each dimension.
        index: Vec<i64>,
    },
    /// A read of an element that nothing has written.
    #[error("element {} of `{array}` is read before it is written", Point::list(index))]
    Uninitialised {
        /// The array's name.
        array: String,
        /// The index of each dimension.
        index: Vec<i64>,
    },
    /// Floor division or modulo of integers by zero.
    #[error("integer division by zero")]
    IntegerDivisionByZero,
    /// An integer result that does not fit its dtype, or a float that does not fit the integer it is cast to.
    #[error("integer overflow")]
    IntegerOverflow,
    /// A shift by a negative amount or by at least the width.
    #[error("shift by an amount outside the width")]
    ShiftOutOfRange,
    /// In exact arithmetic: zero was divided by.
    #[error("division by zero")]
    NoInverse,
    /// The world has no meaning for this operation.
    #[error("{0}")]
    Unsupported(String),
}

impl Trap {
    /// Whether this is no failure of a run but a gap in the world: C would go on with some value.
    pub(crate) fn is_gap(&self) -> bool {
        matches!(self, Self::NoInverse | Self::Unsupported(_))
    }
}

/// Values of the inames around an operation, by name, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point(pub Vec<(String, i64)>);

impl Point {
    fn list(values: &[i64]) -> String {
        let values: Vec<String> = values.iter().map(i64::to_string).collect();
        format!("[{}]", values.join(", "))
    }
}

/// Prints `j = 3, k = 0`.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (idx, (name, value)) in self.0.iter().enumerate() {
            if idx > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{name} = {value}")?;
        }
        Ok(())
    }
}

fn place(instruction: &str, point: &Point) -> String {
    match point.0.is_empty() {
        true => format!("instruction `{instruction}`"),
        false => format!("instruction `{instruction}` at {point}"),
    }
}

/// Why a kernel could not be run to its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation had no value where one was needed.
    #[error("{}: {trap}", place(instruction, point))]
    Trap {
        /// The instruction's id; `if` for a condition of the linearization.
        instruction: String,
        /// Where it happened.
        point: Point,
        /// What happened.
        trap: Trap,
    },
    /// A construct that cannot be run.
    #[error("instruction `{instruction}`: {reason}")]
    Unsupported {
        /// The instruction's id.
        instruction: String,
        /// What cannot be run.
        reason: String,
    },
    /// The kernel has no order.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// isl could not tell a domain's points.
    #[error("domain of iname `{iname}`: {source}")]
    Domain {
        /// The iname.
        iname: String,
        /// What isl says.
        source: nestegg_isl::Error,
    },
    /// A domain without bounds.
    #[error("iname `{iname}` is not bounded")]
    Unbounded {
        /// The iname.
        iname: String,
    },
    /// The linearization does not nest.
    #[error(transparent)]
    Nesting(#[from] nestegg_ir::linearization::NestingError),
    /// A parameter without value and without estimate.
    #[error("parameter `{name}` has no value")]
    MissingParameter {
        /// Its name.
        name: String,
    },
    /// Parameter values that the kernel's assumptions exclude.
    #[error("the parameter values do not satisfy the assumptions `{assumptions}`")]
    Assumptions {
        /// The assumptions as written.
        assumptions: String,
    },
    /// A given array that does not fit the kernel.
    #[error("argument `{name}`: {reason}")]
    Input {
        /// The argument.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A size that is negative or too large to hold.
    #[error("array `{name}` has no usable size: {reason}")]
    Size {
        /// The array.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// Substitution rules that use each other in a circle, or expand beyond the limit.
    #[error("substitution rule `{name}` {reason}")]
    Substitution {
        /// The rule.
        name: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// More operations than the limit allows.
    #[error("more than {limit} steps: the run was stopped")]
    StepLimit {
        /// The limit.
        limit: u64,
    },
}

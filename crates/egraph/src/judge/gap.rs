//! Why an expression has no value at a point, or none that can be told.

use std::fmt;

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gap {
    /// A divisor is zero, or a logarithm is taken of it.
    ZeroDivisor,
    /// A function is not defined for its argument.
    Argument,
    /// A number beyond all that are computed with.
    Infinite,
    /// An index outside of a table.
    Outside,
    /// Errors do not tell on which side of a decision a number lies.
    Untold,
    /// A function of which nothing is known, or not there.
    Function,
    /// An integer that its type does not hold.
    Overflow,
    /// An iname has no value there, or too many.
    Domain,
    /// The steps that may be spent on a rule are spent.
    Steps,
}

impl Gap {
    /// Whether the expression has no value there, as opposed to one that is not known here.
    pub(super) fn is_undefined(self) -> bool {
        matches!(self, Self::ZeroDivisor | Self::Argument)
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroDivisor => "a divisor is zero",
            Self::Argument => "a function is not defined for its argument",
            Self::Infinite => "numbers are too large",
            Self::Outside => "an index is outside of a table",
            Self::Untold => "errors are too large to tell",
            Self::Function => "a function is not known",
            Self::Overflow => "an integer is too large for its type",
            Self::Domain => "a loop has no points, or too many",
            Self::Steps => "they take too many steps",
        })
    }
}

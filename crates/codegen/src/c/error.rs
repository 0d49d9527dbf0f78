//! Why a kernel has no C.

use nestegg_ir::domains::DomainError;
use nestegg_ir::inline::RecursiveRule;
use nestegg_ir::linearization::NestingError;
use nestegg_isl as isl;

/// Why a kernel cannot be written as C.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// A substitution rule needs itself.
    #[error(transparent)]
    Recursive(#[from] RecursiveRule),
    /// The linearization is no tree.
    #[error("the linearization does not nest: {0}")]
    Nesting(#[from] NestingError),
    /// A domain cannot be used.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// The loop over an iname has no bounds in C.
    #[error("the loop over `{iname}` cannot be written: {error}")]
    Bounds {
        /// The iname.
        iname: String,
        /// What isl says.
        error: isl::Error,
    },
    /// A name that must be a C identifier is not one.
    #[error("`{name}` is not a C identifier")]
    Name {
        /// The name.
        name: String,
    },
    /// A function that nobody can define under its name in C, or that takes what kernels do not have.
    #[error("`{function}` cannot be called from C as the kernel does: the name means something else there")]
    Function {
        /// The function.
        function: String,
    },
    /// A function is called with different numbers of arguments or results.
    #[error("function `{function}` is called with {first} and with {second}, which is no C function")]
    Arity {
        /// The function.
        function: String,
        /// What one call has.
        first: String,
        /// What another has.
        second: String,
    },
    /// A function of `math.h` is called with the wrong number of arguments.
    #[error("`{function}` of math.h is called with {found} arguments instead of {expected}")]
    MathArity {
        /// The function.
        function: String,
        /// How many it takes.
        expected: usize,
        /// How many it is given.
        found: usize,
    },
    /// Selections, reductions or loops nest more deeply than C compilers accept.
    #[error("{place} nests blocks more deeply than C compilers accept ({limit})")]
    TooDeep {
        /// The instruction, condition or kernel.
        place: String,
        /// The limit.
        limit: usize,
    },
    /// Reductions over shared operands need more statements than the limit allows.
    #[error("{place} needs more than {limit} operations in C, because reductions share their operands")]
    TooLarge {
        /// The instruction or condition.
        place: String,
        /// The limit.
        limit: usize,
    },
    /// Data end a loop whose body they do not guard.
    #[error("the bounds of `{iname}` depend on data that does not guard everything inside")]
    Unbounded {
        /// The iname.
        iname: String,
    },
    /// A parameter has no value where one is needed.
    #[error("parameter `{parameter}` has no value: give it an `estimate` or a value")]
    NoValue {
        /// The parameter.
        parameter: String,
    },
    /// A size is negative, is not an integer, or exceeds 64 bits.
    #[error("the size of `{array}` is no size that an array can have")]
    Size {
        /// The array.
        array: String,
    },
}

//! What can be wrong with a program, and where.

use crate::ids::{ArrayId, DomainId, InsnId, SubstitutionId};
use crate::linearization::NestingError;
use crate::types::TypeError;

/// Where in a program something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The kernel as a whole.
    Kernel,
    /// A domain.
    Domain(DomainId),
    /// An argument, temporary or table.
    Array(ArrayId),
    /// A substitution rule.
    Substitution(SubstitutionId),
    /// An instruction.
    Instruction(InsnId),
    /// An item of the linearization, by position.
    Item(usize),
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// An access with the wrong number of indices.
    #[error("`{array}` has {rank} dimensions but is accessed with {n_indices} indices")]
    Rank {
        /// The array's name.
        array: String,
        /// Its number of dimensions.
        rank: usize,
        /// The number of indices given.
        n_indices: usize,
    },
    /// A rule with the wrong number of arguments.
    #[error("substitution `{rule}` takes {n_parameters} arguments, not {n_arguments}")]
    Arguments {
        /// The rule's name.
        rule: String,
        /// How many it takes.
        n_parameters: usize,
        /// How many it was given.
        n_arguments: usize,
    },
    /// An operator with the wrong number of operands.
    #[error("`{operator}` does not take {n_operands} operands")]
    Arity {
        /// Its spelling.
        operator: &'static str,
        /// How many it was given.
        n_operands: usize,
    },
    /// An operand of the wrong type.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// A bool assigned to a number or the reverse, or a float to an integer.
    #[error("a value of type {value} cannot be assigned to `{array}` of dtype {dtype}")]
    Assignment {
        /// The array's name.
        array: String,
        /// Its dtype.
        dtype: crate::Dtype,
        /// The dtype of the value.
        value: crate::Dtype,
    },
    /// A write to a table or a read-only argument.
    #[error("`{array}` is {what} and cannot be written")]
    ReadOnly {
        /// The array's name.
        array: String,
        /// `a table` or `a read-only argument`.
        what: &'static str,
    },
    /// An iname used where it has no value.
    #[error("iname `{iname}` is used here but the instruction is not within it")]
    UnboundIname {
        /// Its name.
        iname: String,
    },
    /// A reduction over an iname that has a value already.
    #[error("the reduction over `{iname}` is within a loop or reduction over the same iname")]
    Rebound {
        /// Its name.
        iname: String,
    },
    /// A reduction over nothing.
    #[error("a reduction takes at least one iname")]
    NoIname,
    /// A formal parameter outside a rule.
    #[error("a formal parameter stands outside its substitution rule")]
    Formal,
    /// An instruction within an iname but not within one that encloses its domain.
    #[error("iname `{iname}` needs `{outer}`, whose value its domain depends on, around it")]
    NotEnclosed {
        /// The iname.
        iname: String,
        /// The one that encloses it.
        outer: String,
    },
    /// Loops and conditions that do not nest.
    #[error(transparent)]
    Nesting(#[from] NestingError),
    /// An instruction that the linearization does not run, or runs more than once.
    #[error("the linearization runs instruction `{id}` {times} times, not once")]
    Runs {
        /// Its id.
        id: String,
        /// How often it is run.
        times: usize,
    },
    /// An instruction run inside other loops than its inames.
    #[error("instruction `{id}` is within {{{within}}} but is run inside loops over {{{loops}}}")]
    Loops {
        /// Its id.
        id: String,
        /// Its inames.
        within: String,
        /// The loops around it.
        loops: String,
    },
    /// A shape with anything but integers and parameters in it.
    #[error("sizes of `{array}` may only depend on parameters")]
    Shape {
        /// The array's name.
        array: String,
    },
}

/// A violation at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// Where.
    pub place: Place,
    /// What.
    pub violation: Violation,
}

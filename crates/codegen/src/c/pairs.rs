//! Pairs: values that are computed alike, as those of real and imaginary parts are, in the two lanes of one vector.
//!
//! # Input
//! A linearized kernel, with its loops as a tree. An argument whose last axis has two elements holds pairs, such as complex numbers.
//! # Output
//! [`Pairs`]: couples of assignments that become one statement on vectors of two, and couples of scalar temporaries that become one vector. All
//! other instructions stay as they are, and read such a temporary as a lane. `None` if nothing is won.
//! # Correctness
//! Both lanes compute what the kernel says, to the bit: only the two operands of a sum or product change places, and signs go to factors.
//! The statement stands where one of the couple stood, and [`order`] proves that what lies between touches nothing that is moved.
//! # Method
//! The couples begin at stores to the two elements of a pair. What both read is compared from the root down ([`nodes`]); where one reads a
//! scalar temporary in the place of another, their assignments become couples too ([`find`]). What belongs together stays if it is estimated to
//! take fewer instructions than one value after the other.
//! # Complexity
//! Linear in the operations of the couples, and quadratic in the instructions of a block, of which there are at most [`MAX_BLOCK`](order::MAX_BLOCK).
//! # Not done
//! Other vectors than of two; temporaries with axes.

mod find;
mod lists;
mod nodes;
mod order;
mod write;

use nestegg_ir::{ArrayId, InsnId};
use rustc_hash::FxHashMap;

use nodes::Node;
pub(crate) use order::conditions_in;

/// What an instruction is in pairs.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// The couple's statement stands here.
    Leads(Couple),
    /// Its couple stands elsewhere.
    Follows,
}

/// Two assignments that are one statement.
#[derive(Clone, Debug)]
pub(crate) struct Couple {
    /// The assignments to the first and to the second lane.
    pub(crate) insns: [InsnId; 2],
    /// What is assigned.
    node: Node,
    /// Whether it declares its temporaries, and whether nothing else writes them.
    declares: Option<bool>,
}

/// What is known of pairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    /// Instructions that are no longer what they were.
    pub(crate) roles: FxHashMap<InsnId, Role>,
    /// Temporaries in lanes: both of a pair, the lane, and the name of the vector.
    pub(crate) temporaries: FxHashMap<ArrayId, ([ArrayId; 2], usize, String)>,
}

//! Values of a kernel as a DAG of typed operations, each with the inames that it depends on.
//!
//! Equal nodes are one node, in whatever instruction they stand. A read of an array that the kernel writes names the [`Place`] whose state of the array it
//! sees: reads of one state are one node too.

use nestegg_ir::sequences::SequenceIdx;
use nestegg_ir::types::Type;
use nestegg_ir::{ArrayId, InameId, InameSet, ReduceOp};

use crate::node::Binary;
use crate::source::Form;

/// A node, by position; operands come before operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(u32);

impl NodeId {
    pub(super) fn new(idx: usize) -> Self {
        Self(u32::try_from(idx).expect("a kernel holds fewer than 2^32 nodes"))
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A moment of each iteration of the loops around a sequence: just before an item of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(super) sequence: SequenceIdx,
    pub(super) item: usize,
}

/// One index of an access.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Dim {
    Affine(Form),
    Computed(NodeId),
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// A float literal, by its bits.
    Float(u64),
    /// An affine integer.
    Form(Form),
    /// An element of an array that the kernel does not write.
    Read {
        array: ArrayId,
        dims: Vec<Dim>,
    },
    /// An element of an array as it is at a place.
    Load {
        array: ArrayId,
        dims: Vec<Dim>,
        place: Place,
    },
    Neg(NodeId),
    Not(NodeId),
    BitNot(NodeId),
    /// Conversion to the type of the node.
    Convert(NodeId),
    /// An operation on two operands of one type, but no logic and no extremum.
    Binary(Binary, NodeId, NodeId),
    /// A power with a literal whole exponent.
    Power(NodeId, i64),
    Select(NodeId, NodeId, NodeId),
    /// `and`, or `or`.
    Logic {
        is_or: bool,
        operands: Vec<NodeId>,
    },
    /// `min`, or `max`.
    Extremum {
        is_max: bool,
        operands: Vec<NodeId>,
    },
    /// Result `result` of a function, by its position in the plan's list.
    Call {
        function: usize,
        result: u64,
        arguments: Vec<NodeId>,
    },
    /// A reduction; `around` are the loops and reductions around it with which its inames may share constraints.
    Reduce {
        op: ReduceOp,
        inames: Vec<InameId>,
        around: Vec<InameId>,
        body: NodeId,
    },
}

impl Op {
    pub(super) fn for_each_operand(&self, mut visit: impl FnMut(NodeId)) {
        match self {
            Self::Float(_) | Self::Form(_) => {}
            Self::Read { dims, .. } | Self::Load { dims, .. } => {
                for dim in dims {
                    if let Dim::Computed(node) = dim {
                        visit(*node);
                    }
                }
            }
            Self::Neg(a) | Self::Not(a) | Self::BitNot(a) | Self::Convert(a) | Self::Power(a, _) => visit(*a),
            Self::Reduce { body, .. } => visit(*body),
            Self::Binary(_, a, b) => [*a, *b].into_iter().for_each(visit),
            Self::Select(a, b, c) => [*a, *b, *c].into_iter().for_each(visit),
            Self::Logic { operands, .. } | Self::Extremum { operands, .. } | Self::Call { arguments: operands, .. } => {
                operands.iter().copied().for_each(visit);
            }
        }
    }
}

/// An operation with its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(super) op: Op,
    pub(super) ty: Type,
}

/// What is known of a node.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// The inames that its value depends on.
    pub(super) deps: InameSet,
    /// Whether it costs so little that it is computed wherever it is used.
    pub(super) is_cheap: bool,
    /// Operations below it, up to a few.
    pub(super) cost: u8,
    /// Whether a world may have no value for it where C has one.
    pub(super) may_gap: bool,
}

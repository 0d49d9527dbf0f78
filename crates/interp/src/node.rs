//! The flat program that a block of instructions is compiled to.
//!
//! A *block* is a part of the loop nest that runs instruction by instruction over all its points at once. Its expressions are
//! [`Node`]s, operands before operations. Each node has a *set*: the inames of the block, reduction inames included,
//! that it depends on; it has one value for each point of that set's domain, and no more. Loops around the block are *outer*: a
//! node is evaluated again only when something in its [`Dep`]s has changed.

use std::sync::Arc;

use nestegg_ir::types::Type;
use nestegg_ir::{ArrayId, InameId, InsnId, ReduceOp};

use crate::domain::Bounds;

macro_rules! define_id {
    ($(#[$doc:meta] $name:ident;)+) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(u32);

        impl $name {
            pub(crate) fn new(idx: usize) -> Self {
                Self(u32::try_from(idx).expect("a block holds fewer than 2^32 nodes and sets"))
            }

            pub(crate) fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

define_id! {
    /// A node of a block.
    NodeId;
    /// A set of inames of a block.
    SetId;
}

/// The set without inames: always the first of a block.
pub(crate) const SCALAR: usize = 0;

/// An operation on one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unary {
    Neg,
    Not,
    BitNot,
    /// Conversion to the type of the node.
    Convert,
}

/// An operation on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Power,
    FloorDiv,
    Mod,
    Min,
    Max,
    Lt,
    Le,
    Eq,
    Ne,
    And,
    Or,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
}

/// One index: `constant + Σ outer + Σ inner`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Index {
    pub(crate) constant: i64,
    pub(crate) outer: Vec<(InameId, i64)>,
    pub(crate) inner: Vec<(InameId, i64)>,
}

/// Where an array is accessed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Address {
    /// All indices are affine.
    Affine {
        /// One per dimension.
        indices: Vec<Index>,
        /// The position in the array, row-major, without `linear`.
        flat: Index,
        /// The part of `flat` that varies over the set.
        linear: Option<NodeId>,
    },
    /// Indices are integer nodes, each on the set of the access or scalar.
    Computed(Vec<NodeId>),
}

/// What a node computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// A float literal, by its bits.
    Float(u64),
    /// An integer: `constant + Σ outer`, scalar.
    Affine {
        constant: i64,
        outer: Vec<(InameId, i64)>,
    },
    /// An integer: Σ over inames of the set.
    Linear(Vec<(InameId, i64)>),
    /// An element of an array. `version` tells reads between which the block writes the array.
    Load {
        array: ArrayId,
        address: Address,
        version: u32,
    },
    /// The operand's values on a larger set.
    Expand(NodeId),
    Unary(Unary, NodeId),
    Binary(Binary, NodeId, NodeId),
    /// A power with a literal whole exponent.
    Power(NodeId, i64),
    Select(NodeId, NodeId, NodeId),
    /// A function, by its position in the code's list.
    Call {
        function: usize,
        arguments: Vec<NodeId>,
    },
    /// A reduction of the operand over the inames that its set has more.
    Reduce(ReduceOp, NodeId),
}

impl Op {
    /// Calls `visit` with each operand.
    pub(crate) fn for_each_operand(&self, mut visit: impl FnMut(NodeId)) {
        match self {
            Self::Float(_) | Self::Affine { .. } | Self::Linear(_) => {}
            Self::Load { address, .. } => address.for_each_operand(visit),
            Self::Expand(a) | Self::Unary(_, a) | Self::Power(a, _) | Self::Reduce(_, a) => visit(*a),
            Self::Binary(_, a, b) => [*a, *b].into_iter().for_each(visit),
            Self::Select(a, b, c) => [*a, *b, *c].into_iter().for_each(visit),
            Self::Call { arguments, .. } => arguments.iter().copied().for_each(visit),
        }
    }
}

impl Address {
    pub(crate) fn for_each_operand(&self, visit: impl FnMut(NodeId)) {
        match self {
            Self::Affine { linear, .. } => linear.iter().copied().for_each(visit),
            Self::Computed(indices) => indices.iter().copied().for_each(visit),
        }
    }
}

/// One value per point of a set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) ty: Type,
    pub(crate) set: SetId,
}

/// What a node's values depend on, beside constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Dep {
    /// The value of an outer iname.
    Iname(InameId),
    /// The contents of an array.
    Array(ArrayId),
    /// The points of a set.
    Points(SetId),
}

/// Nodes with the same dependences, in the order of evaluation.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) deps: Vec<Dep>,
    pub(crate) nodes: Vec<NodeId>,
    /// Position in the block's list of evaluation times.
    pub(crate) clock: usize,
}

/// A set of inames and how its points are enumerated.
#[derive(Clone, Debug)]
pub(crate) struct SetCode {
    /// In the order of the block.
    pub(crate) inames: Vec<InameId>,
    /// The bounds of each, given the inames before it and the outer ones.
    pub(crate) bounds: Vec<Arc<Bounds>>,
    /// The outer inames that the points depend on.
    pub(crate) outer: Vec<InameId>,
    /// Whether the block's chunked iname is in it.
    pub(crate) is_chunked: bool,
}

/// What a unit does with its values.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Stores `value` at each point in turn. `chain` holds the nodes that read what earlier points have stored: they are
    /// evaluated point by point.
    Store { array: ArrayId, address: Address, value: NodeId, chain: Vec<NodeId> },
    /// Only computes them; the machine reads them.
    Values(Vec<NodeId>),
}

/// One instruction of a block.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// The instruction; absent for a condition of the linearization.
    pub(crate) insn: Option<InsnId>,
    /// The inames of the block at whose points it runs.
    pub(crate) set: SetId,
    /// The points at which it runs, if not all.
    pub(crate) mask: Option<NodeId>,
    pub(crate) mask_groups: Vec<Group>,
    pub(crate) groups: Vec<Group>,
    pub(crate) action: Action,
    pub(crate) skip: Skip,
}

/// A group of an earlier unit: the position of the unit, and that of the group in it.
pub(crate) type GroupAt = (usize, usize);

/// What a unit needs where units with masks leave out points at which they do not run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skip {
    /// Groups of other units with masks that its mask needs, in the order of evaluation.
    pub(crate) before_mask: Vec<GroupAt>,
    /// The same for all else.
    pub(crate) before: Vec<GroupAt>,
    /// For each of its groups whether others need it: then it is evaluated at all points or none.
    pub(crate) is_shared: Vec<bool>,
    /// For each set of the block whether its points follow those of the unit's, so that points of the unit next to one another have
    /// points next to one another there. Empty if the unit is evaluated at all points or none.
    pub(crate) follows: Vec<bool>,
}

/// The outermost loop of a block, cut into pieces.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub(crate) iname: InameId,
    pub(crate) bounds: Arc<Bounds>,
    pub(crate) len: usize,
}

/// Instructions that run one after the other over all points.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) chunk: Option<Chunk>,
    pub(crate) sets: Vec<SetCode>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) units: Vec<Unit>,
    pub(crate) n_clocks: usize,
}

/// The loop nest around blocks.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Loop {
        iname: InameId,
        bounds: Arc<Bounds>,
        body: Vec<Step>,
    },
    /// The block has one unit with one value: the condition.
    Branch {
        block: usize,
        body: Vec<Step>,
    },
    Block(usize),
    /// The block's first unit has the arguments as values; then come the indices of each assignee in turn.
    Call {
        insn: InsnId,
        block: usize,
    },
    Opaque {
        insn: InsnId,
    },
}

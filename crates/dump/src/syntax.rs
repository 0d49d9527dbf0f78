//! The syntax tree of a kernel, the same for all notations, with spans.
//!
//! A reader of a notation makes a [`KernelSyntax`], and [`build`](crate::build) checks it and makes the kernel.
//!
//! Expressions are nodes of one arena, operands before operations, so that nothing recurses on their depth. The
//! nodes of one expression are contiguous: from [`Node::first`] to the node itself.

use std::borrow::Cow;
use std::ops::Range;

use nestegg_ir::{ArgumentAccess, Dtype, InameTag, Number, Op, ReduceOp, Stored};
use nestegg_span::Span;

/// A word and where it stands.
#[derive(Clone, Debug)]
pub struct Name<'s> {
    /// The word.
    pub text: Cow<'s, str>,
    /// Its place.
    pub span: Span,
}

/// Position of an expression in [`Nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// The position.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn new(idx: usize) -> Self {
        Self(u32::try_from(idx).expect("a source of at most 4 GiB holds fewer than 2^32 expressions"))
    }
}

/// What an expression is, without its operands.
#[derive(Clone, Debug)]
pub enum NodeKind<'s> {
    /// A literal.
    Number(Number),
    /// Variable: iname, parameter, scalar, formal parameter or a substitution rule without parameters.
    Name(Cow<'s, str>),
    /// An operator.
    Op(Op),
    /// An array element. Operands are the indices.
    Subscript(Name<'s>),
    /// An array element by its number: the array is seen flat, in row-major order. The operand is the number.
    Linear(Name<'s>),
    /// A function or a substitution rule: the text form does not tell.
    Apply(Name<'s>),
    /// A function.
    Call(Name<'s>),
    /// A substitution rule.
    Substitution(Name<'s>),
    /// A reduction over inames; the operand is what is reduced.
    Reduce(Fold, Vec<Name<'s>>),
    /// A conversion.
    Cast(Dtype),
    /// In a shape: an extent that is not stated.
    Unstated,
    /// Stands for what has been reported.
    Error,
}

/// What a reduction makes of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// A number.
    Number(ReduceOp),
    /// Whether any condition holds; of none, none does.
    Any,
    /// Whether all conditions hold; of none, all do.
    All,
}

impl Fold {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Number(ReduceOp::Sum),
        Self::Number(ReduceOp::Product),
        Self::Number(ReduceOp::Min),
        Self::Number(ReduceOp::Max),
        Self::Any,
        Self::All,
    ];

    /// Its spelling.
    #[must_use]
    pub fn spelling(self) -> &'static str {
        match self {
            Self::Number(op) => op.spelling(),
            Self::Any => "any",
            Self::All => "all",
        }
    }

    /// The one with that spelling.
    #[must_use]
    pub fn from_spelling(spelling: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fold| fold.spelling() == spelling)
    }
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Node<'s> {
    /// What it is.
    pub kind: NodeKind<'s>,
    /// Its place.
    pub span: Span,
    /// The first node of this expression.
    pub first: u32,
    /// Levels of operations, 0 for a name or number.
    pub depth: u32,
    children: Range<u32>,
}

/// All expressions of a source.
#[derive(Debug, Default)]
pub struct Nodes<'s> {
    nodes: Vec<Node<'s>>,
    children: Vec<NodeId>,
}

impl<'s> Nodes<'s> {
    /// Adds an expression with its operands, which come before it.
    pub fn push(&mut self, kind: NodeKind<'s>, span: Span, children: &[NodeId]) -> NodeId {
        let id = NodeId::new(self.nodes.len());
        let (mut first, mut depth) = (id.0, 0);
        for child in children {
            let child = &self.nodes[child.index()];
            first = first.min(child.first);
            depth = depth.max(child.depth + 1);
        }
        let start = NodeId::new(self.children.len()).0;
        self.children.extend_from_slice(children);
        let children = start..NodeId::new(self.children.len()).0;
        self.nodes.push(Node { kind, span, first, depth, children });
        id
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Node<'s>> {
        self.nodes.iter()
    }

    pub(crate) fn children(&self, id: NodeId) -> &[NodeId] {
        let Range { start, end } = self.nodes[id.index()].children;
        &self.children[start as usize..end as usize]
    }

    pub(crate) fn span(&self, id: NodeId) -> Span {
        self.nodes[id.index()].span
    }

    /// The nodes that came later.
    pub(crate) fn after(&self, id: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        (id.0 + 1..NodeId::new(self.nodes.len()).0).map(NodeId)
    }

    /// The nodes of one expression, operands before operations, itself last.
    pub(crate) fn subtree(&self, id: NodeId) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (self.nodes[id.index()].first..id.0 + 1).map(NodeId)
    }
}

impl<'s> std::ops::Index<NodeId> for Nodes<'s> {
    type Output = Node<'s>;

    fn index(&self, id: NodeId) -> &Node<'s> {
        &self.nodes[id.index()]
    }
}

/// A kernel as written. What is absent because it was reported is `None`; lowering says no more of it.
#[derive(Debug, Default)]
pub struct KernelSyntax<'s> {
    /// All expressions.
    pub nodes: Nodes<'s>,
    /// The kernel's name.
    pub name: Option<Name<'s>>,
    /// What is carried through, as JSON.
    pub meta: Option<String>,
    /// The parameters.
    pub parameters: Vec<ParameterSyntax<'s>>,
    /// What is assumed of parameters, in isl's notation.
    pub assumptions: Option<Name<'s>>,
    /// The domains, in isl's notation.
    pub domains: Vec<Name<'s>>,
    /// The tags of inames.
    pub tags: Vec<TagsSyntax<'s>>,
    /// Arguments, then temporaries and tables.
    pub arrays: Vec<ArraySyntax<'s>>,
    /// The substitution rules.
    pub substitutions: Vec<SubstitutionSyntax<'s>>,
    /// The instructions.
    pub instructions: Vec<InstructionSyntax<'s>>,
    /// The order in which they run, if they have one.
    pub linearization: Option<Vec<ItemSyntax<'s>>>,
    /// Whether something that defines a name was given up, so that an unknown name may be defined.
    pub has_lost_names: bool,
    /// Whether an instruction was given up, so that an unknown id may be its.
    pub has_lost_ids: bool,
    /// Where errors about the whole kernel go.
    pub span: Span,
}

/// A parameter.
#[derive(Debug)]
pub struct ParameterSyntax<'s> {
    /// Its name.
    pub name: Name<'s>,
    /// Its dtype, and where that stands.
    pub dtype: Option<(Dtype, Span)>,
    /// The value that costs assume.
    pub estimate: Option<i64>,
}

/// An iname with tags.
#[derive(Debug)]
pub struct TagsSyntax<'s> {
    /// The iname.
    pub name: Name<'s>,
    /// Its tags.
    pub tags: Vec<(InameTag, Span)>,
}

/// An argument, a temporary or a table.
#[derive(Debug)]
pub struct ArraySyntax<'s> {
    /// Its name.
    pub name: Name<'s>,
    /// The dtype of its elements where they are computed with.
    pub dtype: Option<Dtype>,
    /// Their type in memory, if it is another.
    pub stored: Option<Stored>,
    /// Its sizes.
    pub shape: Option<Vec<NodeId>>,
    /// What it is.
    pub kind: ArrayKindSyntax,
}

/// What an array is.
#[derive(Debug)]
pub enum ArrayKindSyntax {
    /// An argument.
    Argument(ArgumentAccess),
    /// A temporary.
    Temporary,
    /// A table.
    Table(TableSyntax),
}

/// Nested lists, flat.
#[derive(Debug, Default)]
pub struct TableSyntax {
    /// What opens, closes and fills the lists, in order.
    pub items: Vec<TableItem>,
}

/// A part of the values of a table.
#[derive(Clone, Copy, Debug)]
pub enum TableItem {
    /// A list begins.
    Open(Span),
    /// A list ends.
    Close,
    /// A value.
    Number(Number, Span),
    /// Stands for what has been reported.
    Error,
}

/// A substitution rule.
#[derive(Debug)]
pub struct SubstitutionSyntax<'s> {
    /// Its name.
    pub name: Name<'s>,
    /// Its formal parameters.
    pub parameters: Vec<Name<'s>>,
    /// Its value.
    pub expression: NodeId,
}

/// A condition; the text form's `else` negates it.
#[derive(Clone, Copy, Debug)]
pub struct ConditionSyntax {
    /// The condition.
    pub node: NodeId,
    /// Whether it must not hold.
    pub is_negated: bool,
}

/// An instruction.
#[derive(Debug)]
pub struct InstructionSyntax<'s> {
    /// Its id.
    pub id: Name<'s>,
    /// What it does.
    pub kind: InstructionKindSyntax<'s>,
    /// The inames that it runs for.
    pub within: Vec<Name<'s>>,
    /// The ids of instructions that come before.
    pub depends_on: Vec<Name<'s>>,
    /// What must hold.
    pub predicates: Vec<ConditionSyntax>,
}

/// What an instruction does.
#[derive(Debug)]
pub enum InstructionKindSyntax<'s> {
    /// Stores a value.
    Assignment {
        /// Where.
        assignee: NodeId,
        /// The value.
        expression: NodeId,
    },
    /// Stores several results of one function.
    Call {
        /// Where.
        assignees: Vec<NodeId>,
        /// The function.
        function: Name<'s>,
        /// What it is given.
        arguments: Vec<NodeId>,
    },
    /// Runs text of C.
    Opaque {
        /// The text.
        code: String,
        /// What it reads.
        reads: Vec<Name<'s>>,
        /// What it writes.
        writes: Vec<Name<'s>>,
    },
    /// Stands for what has been reported.
    Error,
}

/// An item of the linearization.
#[derive(Debug)]
pub struct ItemSyntax<'s> {
    /// Its place.
    pub span: Span,
    /// What it is.
    pub kind: ItemKindSyntax<'s>,
}

/// What an item of the linearization is.
#[derive(Debug)]
pub enum ItemKindSyntax<'s> {
    /// A loop begins.
    For(Name<'s>),
    /// A loop ends.
    End(Name<'s>),
    /// A condition begins.
    If(ConditionSyntax),
    /// A condition ends.
    EndIf,
    /// An instruction runs.
    Run(Name<'s>),
}

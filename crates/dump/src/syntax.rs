//! The syntax tree of a kernel, the same for both notations, with spans.
//!
//! Expressions are nodes of one arena, operands before operations, so that nothing recurses on their depth. The
//! nodes of one expression are contiguous: from [`Node::first`] to the node itself.

use std::borrow::Cow;
use std::ops::Range;

use nestegg_ir::{ArgumentAccess, Dtype, InameTag, Number, Op, ReduceOp};
use nestegg_span::Span;

/// A word and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Name<'s> {
    pub text: Cow<'s, str>,
    pub span: Span,
}

/// Position of an expression in [`Nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(u32);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn new(idx: usize) -> Self {
        Self(u32::try_from(idx).expect("a source of at most 4 GiB holds fewer than 2^32 expressions"))
    }
}

/// What an expression is, without its operands.
#[derive(Clone, Debug)]
pub(crate) enum NodeKind<'s> {
    Number(Number),
    /// Variable: iname, parameter, scalar, formal parameter or a substitution rule without parameters.
    Name(Cow<'s, str>),
    Op(Op),
    /// Operands are the indices.
    Subscript(Name<'s>),
    /// A function or a substitution rule: the text form does not tell.
    Apply(Name<'s>),
    Call(Name<'s>),
    Substitution(Name<'s>),
    Reduce(ReduceOp, Vec<Name<'s>>),
    Cast(Dtype),
    /// Stands for what has been reported.
    Error,
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Node<'s> {
    pub kind: NodeKind<'s>,
    pub span: Span,
    /// The first node of this expression.
    pub first: u32,
    /// Levels of operations, 0 for a name or number.
    pub depth: u32,
    children: Range<u32>,
}

/// All expressions of a source.
#[derive(Debug, Default)]
pub(crate) struct Nodes<'s> {
    nodes: Vec<Node<'s>>,
    children: Vec<NodeId>,
}

impl<'s> Nodes<'s> {
    pub(crate) fn push(&mut self, kind: NodeKind<'s>, span: Span, children: &[NodeId]) -> NodeId {
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
pub(crate) struct KernelSyntax<'s> {
    pub nodes: Nodes<'s>,
    pub name: Option<Name<'s>>,
    pub meta: Option<String>,
    pub parameters: Vec<ParameterSyntax<'s>>,
    pub assumptions: Option<Name<'s>>,
    pub domains: Vec<Name<'s>>,
    pub tags: Vec<TagsSyntax<'s>>,
    /// Arguments, then temporaries and tables.
    pub arrays: Vec<ArraySyntax<'s>>,
    pub substitutions: Vec<SubstitutionSyntax<'s>>,
    pub instructions: Vec<InstructionSyntax<'s>>,
    pub linearization: Option<Vec<ItemSyntax<'s>>>,
    /// Whether something that defines a name was given up, so that an unknown name may be defined.
    pub has_lost_names: bool,
    /// Whether an instruction was given up, so that an unknown id may be its.
    pub has_lost_ids: bool,
    /// Where errors about the whole kernel go.
    pub span: Span,
}

#[derive(Debug)]
pub(crate) struct ParameterSyntax<'s> {
    pub name: Name<'s>,
    pub dtype: Option<(Dtype, Span)>,
    pub estimate: Option<i64>,
}

#[derive(Debug)]
pub(crate) struct TagsSyntax<'s> {
    pub name: Name<'s>,
    pub tags: Vec<(InameTag, Span)>,
}

#[derive(Debug)]
pub(crate) struct ArraySyntax<'s> {
    pub name: Name<'s>,
    pub dtype: Option<Dtype>,
    pub shape: Option<Vec<NodeId>>,
    pub kind: ArrayKindSyntax,
}

#[derive(Debug)]
pub(crate) enum ArrayKindSyntax {
    Argument(ArgumentAccess),
    Temporary,
    Table(TableSyntax),
}

/// Nested lists, flat.
#[derive(Debug, Default)]
pub(crate) struct TableSyntax {
    pub items: Vec<TableItem>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum TableItem {
    Open(Span),
    Close,
    Number(Number, Span),
    /// Stands for what has been reported.
    Error,
}

#[derive(Debug)]
pub(crate) struct SubstitutionSyntax<'s> {
    pub name: Name<'s>,
    pub parameters: Vec<Name<'s>>,
    pub expression: NodeId,
}

/// A condition; the text form's `else` negates it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConditionSyntax {
    pub node: NodeId,
    pub is_negated: bool,
}

#[derive(Debug)]
pub(crate) struct InstructionSyntax<'s> {
    pub id: Name<'s>,
    pub kind: InstructionKindSyntax<'s>,
    pub within: Vec<Name<'s>>,
    pub depends_on: Vec<Name<'s>>,
    pub predicates: Vec<ConditionSyntax>,
}

#[derive(Debug)]
pub(crate) enum InstructionKindSyntax<'s> {
    Assignment {
        assignee: NodeId,
        expression: NodeId,
    },
    Call {
        assignees: Vec<NodeId>,
        function: Name<'s>,
        arguments: Vec<NodeId>,
    },
    Opaque {
        code: String,
        reads: Vec<Name<'s>>,
        writes: Vec<Name<'s>>,
    },
    /// Stands for what has been reported.
    Error,
}

#[derive(Debug)]
pub(crate) struct ItemSyntax<'s> {
    pub span: Span,
    pub kind: ItemKindSyntax<'s>,
}

#[derive(Debug)]
pub(crate) enum ItemKindSyntax<'s> {
    For(Name<'s>),
    End(Name<'s>),
    If(ConditionSyntax),
    EndIf,
    Run(Name<'s>),
}

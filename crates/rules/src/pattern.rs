//! Patterns: the two sides of a rule.
//!
//! A pattern is an arena of nodes in which children stand before their parents and the root is the last one, so that a
//! loop over [`Pattern::nodes`] sees everything a node is made of before the node. Nodes are not shared.

use std::fmt;
use std::hash::{Hash, Hasher};

use nestegg_span::Span;
use num_rational::BigRational;

use crate::condition::Test;
use crate::name::Name;

/// A position in the nodes of one pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PatternId(u32);

/// A checked pattern. Equality and hashing ignore the spans.
#[derive(Clone, Debug)]
pub struct Pattern {
    nodes: Vec<PatternNode>,
    spans: Vec<Span>,
}

/// A node of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PatternNode {
    /// `?x`: any expression, the same one at each occurrence.
    Variable(Name),
    /// `?xs...`: all other children of the n-ary operator it is a child of, possibly none.
    Rest(Name),
    /// An exact number.
    Number(BigRational),
    /// An operator or function with its children, which may be none.
    Apply {
        /// The operator, as the vocabulary names it.
        operator: Name,
        /// The children, all before this node.
        children: Vec<PatternId>,
    },
    /// `(sum (?q ?rest...) body)`: a reduction.
    Reduce {
        /// The operation, as the vocabulary names it.
        operator: Name,
        /// What is bound, in parts.
        inames: Vec<InameVariable>,
        /// What is reduced.
        body: PatternId,
    },
    /// `(?xs... test argument …)`, on left sides: all children that pass the test, which is asked about each of them first.
    Filtered {
        /// The rest variable that holds them.
        rest: Name,
        /// The test; its arguments without the child itself.
        test: Test,
    },
    /// `(each ?xs... body)`, on right sides: `body` for each child that `?xs...` holds, which is `?xs` there.
    Each {
        /// The rest variable.
        rest: Name,
        /// What stands for each of them.
        body: PatternId,
    },
    /// `(function ?xs...)`, on right sides: other children in place of those that `?xs...` holds.
    Spread {
        /// The function, as the vocabulary names it.
        function: Name,
        /// The rest variable.
        rest: Name,
    },
    /// `(size ?q...)`, on right sides: how many points these inames have.
    Size(Vec<InameVariable>),
}

/// A variable that stands for inames which a reduction binds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InameVariable {
    /// `?q`: an iname that may be reduced innermost, with those of the reduction that it is coupled with.
    One(Name),
    /// `?qs...`: all others.
    Rest(Name),
}

impl InameVariable {
    /// The name, without dots.
    pub fn name(&self) -> &Name {
        match self {
            Self::One(name) | Self::Rest(name) => name,
        }
    }
}

impl fmt::Display for InameVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(name) => write!(f, "?{name}"),
            Self::Rest(name) => write!(f, "?{name}..."),
        }
    }
}

/// Iname variables as a list, without parentheses.
pub(crate) fn join(inames: &[InameVariable]) -> String {
    inames.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

impl PatternId {
    /// The position, to index tables beside the pattern with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Pattern {
    pub(crate) fn new() -> Self {
        Self { nodes: Vec::new(), spans: Vec::new() }
    }

    /// Adds a node whose children are in the pattern.
    pub(crate) fn push(&mut self, node: PatternNode, span: Span) -> PatternId {
        // A text has fewer nodes than bytes, and sources are limited to 32-bit offsets.
        let id = PatternId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        self.spans.push(span);
        id
    }

    /// The nodes, children before parents.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (PatternId, &PatternNode)> + ExactSizeIterator {
        self.nodes.iter().enumerate().map(|(idx, node)| (PatternId(idx as u32), node))
    }

    /// The number of nodes, at least one.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The node at `id`.
    pub fn node(&self, id: PatternId) -> &PatternNode {
        &self.nodes[id.index()]
    }

    /// The place of the node at `id` in the rule's source.
    pub fn span(&self, id: PatternId) -> Span {
        self.spans[id.index()]
    }

    /// The node that the others are below.
    pub fn root(&self) -> PatternId {
        PatternId((self.nodes.len() - 1) as u32)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
    }
}

impl Eq for Pattern {}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nodes.hash(state);
    }
}

/// Prints the pattern as rule files have it, on one line; reading that gives an equal pattern.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pending = vec![Print::Node(self.root())];
        while let Some(next) = pending.pop() {
            match next {
                Print::Text(text) => f.write_str(text)?,
                Print::Node(id) => match self.node(id) {
                    PatternNode::Variable(name) => write!(f, "?{name}")?,
                    PatternNode::Rest(name) => write!(f, "?{name}...")?,
                    PatternNode::Number(value) => write!(f, "{value}")?,
                    PatternNode::Apply { operator, children } => {
                        write!(f, "({operator}")?;
                        pending.push(Print::Text(")"));
                        for &child in children.iter().rev() {
                            pending.extend([Print::Node(child), Print::Text(" ")]);
                        }
                    }
                    PatternNode::Reduce { operator, inames, body } => {
                        write!(f, "({operator} ({}) ", join(inames))?;
                        pending.extend([Print::Text(")"), Print::Node(*body)]);
                    }
                    PatternNode::Filtered { rest, test } => {
                        write!(f, "(?{rest}... {}", test.name)?;
                        test.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))?;
                        f.write_str(")")?;
                    }
                    PatternNode::Each { rest, body } => {
                        write!(f, "(each ?{rest}... ")?;
                        pending.extend([Print::Text(")"), Print::Node(*body)]);
                    }
                    PatternNode::Spread { function, rest } => write!(f, "({function} ?{rest}...)")?,
                    PatternNode::Size(inames) => write!(f, "(size {})", join(inames))?,
                },
            }
        }
        Ok(())
    }
}

/// What is left to print.
enum Print {
    Node(PatternId),
    Text(&'static str),
}

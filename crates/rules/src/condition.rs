//! Conditions: what must hold of the variables for a rule to apply.
//!
//! Like a pattern, a condition is an arena in which the parts of a node stand before it and the root is the last node.

use std::fmt;

use num_rational::BigRational;

use crate::name::Name;
use crate::pattern::{InameVariable, join};

/// A position in the nodes of one condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConditionId(u32);

/// A checked condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    nodes: Vec<ConditionNode>,
}

/// A node of a condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConditionNode {
    /// All parts hold; there is at least one.
    And(Vec<ConditionId>),
    /// Some part holds; there is at least one.
    Or(Vec<ConditionId>),
    /// The part does not hold.
    Not(ConditionId),
    /// A test of the vocabulary.
    Test(Test),
}

/// A named test with its arguments, as many and of the kinds that the vocabulary says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Test {
    /// The condition's name.
    pub name: Name,
    /// What it is asked about.
    pub arguments: Vec<Argument>,
}

/// An argument of a test.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Argument {
    /// A variable that the left side binds.
    Variable(Name),
    /// A rest variable that the left side binds.
    Rest(Name),
    /// An exact number.
    Number(BigRational),
    /// A word.
    Word(Name),
    /// `(size ?q...)`: how many points these inames have.
    Size(Vec<InameVariable>),
}

impl Test {
    /// The variables that it asks about.
    pub fn variables(&self) -> impl Iterator<Item = &Name> {
        self.arguments.iter().flat_map(|argument| match argument {
            Argument::Variable(name) | Argument::Rest(name) => vec![name],
            Argument::Size(inames) => inames.iter().map(InameVariable::name).collect(),
            Argument::Number(_) | Argument::Word(_) => Vec::new(),
        })
    }
}

impl Condition {
    pub(crate) fn new() -> Self {
        Self { nodes: Vec::new() }
    }

    /// Adds a node whose parts are in the condition.
    pub(crate) fn push(&mut self, node: ConditionNode) -> ConditionId {
        // A text has fewer nodes than bytes, and sources are limited to 32-bit offsets.
        let id = ConditionId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        id
    }

    /// The nodes, parts before the whole.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (ConditionId, &ConditionNode)> + ExactSizeIterator {
        self.nodes.iter().enumerate().map(|(idx, node)| (ConditionId(idx as u32), node))
    }

    /// The node at `id`.
    pub fn node(&self, id: ConditionId) -> &ConditionNode {
        &self.nodes[id.0 as usize]
    }

    /// The node that the others are below.
    pub fn root(&self) -> ConditionId {
        ConditionId((self.nodes.len() - 1) as u32)
    }

    /// All tests, in the order in which they are written.
    pub fn tests(&self) -> impl Iterator<Item = &Test> {
        self.nodes.iter().filter_map(|node| match node {
            ConditionNode::Test(test) => Some(test),
            _ => None,
        })
    }

    /// Whether the condition holds, where `test` says which tests do. Every test is asked once, in order.
    pub fn holds(&self, mut test: impl FnMut(&Test) -> bool) -> bool {
        let mut values = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let value = |id: &ConditionId| values[id.0 as usize];
            let holds = match node {
                ConditionNode::And(parts) => parts.iter().all(value),
                ConditionNode::Or(parts) => parts.iter().any(value),
                ConditionNode::Not(part) => !value(part),
                ConditionNode::Test(named) => test(named),
            };
            values.push(holds);
        }
        values.last().copied().unwrap_or(true)
    }
}

/// Prints the condition as rule files have it, on one line; reading that gives an equal condition.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pending = vec![Print::Node(self.root())];
        while let Some(next) = pending.pop() {
            let (head, parts) = match next {
                Print::Text(text) => {
                    f.write_str(text)?;
                    continue;
                }
                Print::Node(id) => match self.node(id) {
                    ConditionNode::Test(test) => {
                        write!(f, "{test}")?;
                        continue;
                    }
                    ConditionNode::And(parts) => ("(and", parts.as_slice()),
                    ConditionNode::Or(parts) => ("(or", parts.as_slice()),
                    ConditionNode::Not(part) => ("(not", std::slice::from_ref(part)),
                },
            };
            f.write_str(head)?;
            pending.push(Print::Text(")"));
            for &part in parts.iter().rev() {
                pending.extend([Print::Node(part), Print::Text(" ")]);
            }
        }
        Ok(())
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}", self.name)?;
        for argument in &self.arguments {
            write!(f, " {argument}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "?{name}"),
            Self::Rest(name) => write!(f, "?{name}..."),
            Self::Number(value) => write!(f, "{value}"),
            Self::Word(word) => write!(f, "{word}"),
            Self::Size(inames) => write!(f, "(size {})", join(inames)),
        }
    }
}

/// What is left to print.
enum Print {
    Node(ConditionId),
    Text(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(or (and (a) (b)) (not (c)))`, where the named tests hold.
    fn check(holding: &[&str], expected: bool) {
        let mut condition = Condition::new();
        let test = |condition: &mut Condition, name: &str| {
            condition.push(ConditionNode::Test(Test { name: name.into(), arguments: Vec::new() }))
        };
        let (a, b) = (test(&mut condition, "a"), test(&mut condition, "b"));
        let and = condition.push(ConditionNode::And(vec![a, b]));
        let c = test(&mut condition, "c");
        let not = condition.push(ConditionNode::Not(c));
        condition.push(ConditionNode::Or(vec![and, not]));
        assert_eq!(condition.to_string(), "(or (and (a) (b)) (not (c)))");
        assert_eq!(condition.holds(|test| holding.contains(&test.name.as_str())), expected);
    }

    #[test]
    fn connectives() {
        check(&[], true);
        check(&["c"], false);
        check(&["a", "c"], false);
        check(&["a", "b", "c"], true);
    }
}

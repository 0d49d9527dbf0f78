//! Reading patterns: operators and arities from the vocabulary, variables bound before they are used.

use indexmap::IndexMap;
use nestegg_span::Span;

use crate::error::RuleError;
use crate::form::Reader;
use crate::name::Name;
use crate::pattern::{Pattern, PatternId, PatternNode};
use crate::sexpr::{NodeId, NodeKind};
use crate::suggest;
use crate::vocabulary::Arity;

/// The two sides of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Binds variables.
    Left,
    /// Uses them.
    Right,
}

/// The variables of a rule.
pub(crate) struct Scope {
    rule: Name,
    lhs: Span,
    variables: IndexMap<Name, Binding>,
    /// Whether something on the left side could not be read and may have been meant to bind a variable.
    incomplete: bool,
}

/// Where a variable first stands, and in which operator if it is a rest variable.
struct Binding {
    at: Span,
    kind: VariableKind,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum VariableKind {
    /// `?x`.
    One,
    /// `?xs...` among the children of the operator, if one is known.
    Rest { operator: Option<Name> },
}

impl Scope {
    /// The scope of `rule`, whose left side is at `lhs`, before anything is bound.
    pub(crate) fn new(rule: Name, lhs: Span) -> Self {
        Self { rule, lhs, variables: IndexMap::new(), incomplete: false }
    }
}

impl Reader<'_> {
    /// The pattern at `root`; `None` if something in it was reported.
    pub(crate) fn pattern(&mut self, root: NodeId, side: Side, scope: &mut Scope) -> Option<Pattern> {
        let document = self.document;
        let subtree = document.subtree(root);
        let mut pattern = Pattern::new();
        let mut read: Vec<Option<PatternId>> = Vec::with_capacity(subtree.len());
        let mut complete = true;
        for id in subtree.ids() {
            let at = document.span(id);
            let node = match &document.node(id).kind {
                NodeKind::Variable(name) => {
                    self.variable(name, VariableKind::One, at, side, scope);
                    Some(PatternNode::Variable(name.clone()))
                }
                NodeKind::Number(value) => Some(PatternNode::Number(value.clone())),
                // The list that it is in knows the operator.
                NodeKind::Rest(name) => Some(PatternNode::Rest(name.clone())),
                NodeKind::List { items, .. } => {
                    scope.incomplete |= side == Side::Left && self.may_lack_variables(items);
                    let operator = self.operator(id, items);
                    if let Some((_, children)) = items.split_first() {
                        self.rests(operator.as_ref(), children, side, scope);
                    }
                    let children: Vec<_> = items.iter().skip(1).filter_map(|&item| read[subtree.index(item)]).collect();
                    let whole = children.len() + 1 == items.len();
                    operator.filter(|_| whole).map(|operator| PatternNode::Apply { operator, children })
                }
                // Words are heads; a word elsewhere is found by the list it is in, or below.
                NodeKind::Word(_) => {
                    read.push(None);
                    continue;
                }
                NodeKind::Key(_) | NodeKind::Broken => {
                    self.unexpected(id, "a pattern");
                    scope.incomplete |= side == Side::Left;
                    None
                }
            };
            complete &= node.is_some();
            read.push(node.map(|node| pattern.push(node, at)));
        }
        match &document.node(root).kind {
            NodeKind::Word(_) => {
                complete = self.child_is_pattern(root);
                scope.incomplete |= side == Side::Left;
            }
            NodeKind::Rest(name) => {
                let variable = name.clone();
                self.report(RuleError::RestOutsideNary { variable, at: document.span(root) });
                complete = false;
            }
            _ => {}
        }
        complete.then_some(pattern)
    }

    /// The operator of a list; checks it, the number of its children, and that none of them is a word.
    fn operator(&mut self, list: NodeId, items: &[NodeId]) -> Option<Name> {
        let document = self.document;
        let Some((&head, children)) = items.split_first() else {
            self.unexpected(list, "a pattern: an operator and its children in parentheses");
            return None;
        };
        let mut valid = true;
        for &child in children {
            valid &= self.child_is_pattern(child);
        }
        let Some(name) = document.word(head) else {
            self.unexpected(head, "an operator");
            return None;
        };
        let Some(operator) = self.vocabulary.operators.get(name) else {
            let help = suggest::help(name, "operators", self.vocabulary.operators.keys().map(Name::as_str));
            self.report(RuleError::UnknownOperator { name: name.clone(), at: document.span(head), help });
            return None;
        };
        let has_rest = children.iter().any(|&child| matches!(document.node(child).kind, NodeKind::Rest(_)));
        let (fits, help) = match operator.arity {
            Arity::Exactly(n) => (has_rest || children.len() == n, None),
            Arity::Between(least, most) => (has_rest || (least..=most).contains(&children.len()), None),
            Arity::AtLeast(n) => (
                has_rest || children.len() >= n,
                Some("a rest variable `?xs...` stands for any number of children".into()),
            ),
        };
        if !fits {
            self.report(RuleError::WrongArity {
                operator: name.clone(),
                expected: operator.arity.to_string(),
                n_children: children.len(),
                at: document.span(list),
                help,
            });
            valid = false;
        }
        valid.then(|| name.clone())
    }

    /// Whether a list is empty or a word stands among its children, where a variable may have been meant.
    fn may_lack_variables(&self, items: &[NodeId]) -> bool {
        items.is_empty() || items.iter().skip(1).any(|&item| self.document.word(item).is_some())
    }

    /// Whether a child can be a pattern at all: reports it if it is a word.
    fn child_is_pattern(&mut self, id: NodeId) -> bool {
        let word = self.document.word(id).cloned();
        if let Some(word) = word.clone() {
            self.report(RuleError::BareWord { word, at: self.document.span(id) });
        }
        word.is_none()
    }

    /// Checks the rest variables among the children of a list.
    fn rests(&mut self, operator: Option<&Name>, children: &[NodeId], side: Side, scope: &mut Scope) {
        let document = self.document;
        let known = operator.and_then(|name| self.vocabulary.operators.get(name));
        let is_nary = known.is_none_or(|operator| matches!(operator.arity, Arity::AtLeast(_)));
        let mut first_rest = None;
        for &child in children {
            let NodeKind::Rest(name) = &document.node(child).kind else {
                continue;
            };
            let at = document.span(child);
            if !is_nary {
                self.report(RuleError::RestOutsideNary { variable: name.clone(), at });
                continue;
            }
            let first = *first_rest.get_or_insert(at);
            if first != at && side == Side::Left {
                self.report(RuleError::SecondRest { at, first });
            }
            let operator = operator.cloned();
            self.variable(name, VariableKind::Rest { operator }, at, side, scope);
        }
    }

    /// Binds a variable on the left, and checks that it is bound, and as the same kind, elsewhere.
    pub(crate) fn variable(&mut self, name: &Name, kind: VariableKind, at: Span, side: Side, scope: &mut Scope) {
        let dots = if kind == VariableKind::One { "" } else { "..." };
        let Some(binding) = scope.variables.get(name) else {
            if side == Side::Left {
                scope.variables.insert(name.clone(), Binding { at, kind });
            } else if !scope.incomplete {
                let variable = format!("?{name}{dots}");
                self.report(RuleError::UnboundVariable { rule: scope.rule.clone(), variable, at, lhs: scope.lhs });
            }
            return;
        };
        let first = binding.at;
        match (&binding.kind, &kind) {
            (VariableKind::One, VariableKind::One) => {}
            (VariableKind::Rest { operator: bound_in }, VariableKind::Rest { operator: used_in }) => {
                if let (Some(bound_in), Some(used_in)) = (bound_in, used_in)
                    && bound_in != used_in
                {
                    self.report(RuleError::RestInOtherOperator {
                        variable: name.clone(),
                        bound_in: bound_in.clone(),
                        used_in: used_in.clone(),
                        at,
                        first,
                    });
                }
            }
            _ => self.report(RuleError::MixedVariable { name: name.clone(), at, first }),
        }
    }
}

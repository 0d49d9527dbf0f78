//! Reading conditions: `and`, `or`, `not` between tests of the vocabulary.

use crate::condition::{Argument, Condition, ConditionId, ConditionNode, Test};
use crate::error::RuleError;
use crate::form::Reader;
use crate::name::Name;
use crate::pattern::InameVariable;
use crate::read_pattern::{Scope, Side};
use crate::sexpr::{NodeId, NodeKind};
use crate::suggest;
use crate::vocabulary::{ArgumentKind, CONNECTIVES, ConditionForm};

/// Whether a test can be asked about each child of a list: whether its first argument is a value.
fn can_ask_each(form: &ConditionForm) -> bool {
    matches!(
        form.arguments.first(),
        Some(ArgumentKind::Variable | ArgumentKind::AnyVariable | ArgumentKind::Inames | ArgumentKind::Term)
    )
}

impl Reader<'_> {
    /// The condition at `root`; `None` if something in it was reported.
    pub(crate) fn condition(&mut self, root: NodeId, scope: &mut Scope) -> Option<Condition> {
        let document = self.document;
        let subtree = document.subtree(root);
        // From the root down: which nodes are conditions. All else is read by the test that it is an argument of.
        let mut is_condition = vec![false; subtree.len()];
        is_condition[subtree.index(root)] = true;
        for id in subtree.ids().rev() {
            if is_condition[subtree.index(id)]
                && let Some((&head, parts)) = document.items(id).and_then(<[_]>::split_first)
                && document.word(head).is_some_and(|head| CONNECTIVES.contains(&head.as_str()))
            {
                for &part in parts {
                    is_condition[subtree.index(part)] = true;
                }
            }
        }
        let mut condition = Condition::new();
        let mut read: Vec<Option<ConditionId>> = vec![None; subtree.len()];
        let mut complete = true;
        for id in subtree.ids() {
            if !is_condition[subtree.index(id)] {
                continue;
            }
            let part = |part: &NodeId| read[subtree.index(*part)];
            let node = self.condition_node(id, part, scope);
            complete &= node.is_some();
            read[subtree.index(id)] = node.map(|node| condition.push(node));
        }
        complete.then_some(condition)
    }

    /// The condition at `id`, the parts of which were read before.
    fn condition_node(
        &mut self,
        id: NodeId,
        read: impl Fn(&NodeId) -> Option<ConditionId>,
        scope: &mut Scope,
    ) -> Option<ConditionNode> {
        let document = self.document;
        let Some((&head, rest)) = document.items(id).and_then(<[_]>::split_first) else {
            self.unexpected(id, "a condition: a name and its arguments in parentheses");
            return None;
        };
        let Some(name) = document.word(head) else {
            self.unexpected(head, "the name of a condition");
            return None;
        };
        let parts = || rest.iter().map(&read).collect::<Option<Vec<_>>>();
        match name.as_str() {
            "not" if rest.len() != 1 => self.condition_arity(id, name, "1 condition", rest.len()),
            "not" => Some(ConditionNode::Not(read(&rest[0])?)),
            "and" | "or" if rest.is_empty() => self.condition_arity(id, name, "at least 1 condition", 0),
            "and" => Some(ConditionNode::And(parts()?)),
            "or" => Some(ConditionNode::Or(parts()?)),
            _ => {
                let Some(form) = self.vocabulary.conditions.get(name) else {
                    let known = self.vocabulary.conditions.keys().map(Name::as_str).chain(CONNECTIVES);
                    let help = suggest::help(name, "conditions", known);
                    let at = document.span(head);
                    self.report(RuleError::UnknownCondition { name: name.clone(), at, help });
                    self.use_variables(rest, scope);
                    return None;
                };
                self.test(id, name, form, rest, scope)
            }
        }
    }

    fn test(
        &mut self,
        id: NodeId,
        name: &Name,
        form: &ConditionForm,
        arguments: &[NodeId],
        scope: &mut Scope,
    ) -> Option<ConditionNode> {
        self.use_variables(arguments, scope);
        let n = form.arguments.len();
        let plural = if n == 1 { "" } else { "s" };
        match form.more {
            None if arguments.len() != n => {
                return self.condition_arity(id, name, &format!("{n} argument{plural}"), arguments.len());
            }
            Some(_) if arguments.len() < n => {
                return self.condition_arity(id, name, &format!("at least {n} argument{plural}"), arguments.len());
            }
            _ => {}
        }
        let kinds = form.arguments.iter().chain(form.more.iter().cycle());
        let mut read = Vec::with_capacity(arguments.len());
        for (&argument, kind) in arguments.iter().zip(kinds) {
            let known = self.argument(name, argument, kind);
            let variable = match &known {
                Some(Argument::Variable(name) | Argument::Rest(name)) => Some(name),
                _ => None,
            };
            let is_bound = variable.and_then(|variable| scope.is_of_inames(variable));
            let fits = match (kind, is_bound) {
                (_, None) | (ArgumentKind::Inames | ArgumentKind::Some, _) => true,
                (ArgumentKind::Bound, Some(is_bound)) => is_bound,
                (_, Some(is_bound)) => !is_bound,
            };
            if !fits {
                let found = if kind == &ArgumentKind::Bound { "one for values" } else { "one for inames" };
                let at = self.document.span(argument);
                let (condition, expected) = (name.clone(), kind.to_string());
                self.report(RuleError::WrongArgument { condition, expected, found: found.into(), at });
            }
            read.push(known.filter(|_| fits));
        }
        let arguments = read.into_iter().collect::<Option<Vec<_>>>()?;
        Some(ConditionNode::Test(Test { name: name.clone(), arguments }))
    }

    /// A test that is asked about each child of a list: its arguments but the first. The caller checks that their variables are bound.
    pub(crate) fn test_of_each(&mut self, id: NodeId, name: &Name, arguments: &[NodeId]) -> Option<Test> {
        let Some(form) = self.vocabulary.conditions.get(name).filter(|form| can_ask_each(form)) else {
            let known = self.vocabulary.conditions.iter().filter(|(_, form)| can_ask_each(form));
            let help = suggest::help(name, "tests of a child", known.map(|(name, _)| name.as_str()));
            self.report(RuleError::UnknownCondition { name: name.clone(), at: self.document.span(id), help });
            return None;
        };
        let n = form.arguments.len() - 1;
        if arguments.len() != n && !(form.more.is_some() && arguments.len() > n) {
            let plural = if n == 1 { "" } else { "s" };
            self.condition_arity(id, name, &format!("{n} argument{plural} after the child"), arguments.len());
            return None;
        }
        let kinds = form.arguments.iter().skip(1).chain(form.more.iter().cycle());
        let read: Vec<Option<Argument>> =
            arguments.iter().zip(kinds).map(|(&argument, kind)| self.argument(name, argument, kind)).collect();
        Some(Test { name: name.clone(), arguments: read.into_iter().collect::<Option<Vec<_>>>()? })
    }

    /// Checks that the variables among `arguments` are bound.
    pub(crate) fn use_variables(&mut self, arguments: &[NodeId], scope: &mut Scope) {
        let document = self.document;
        for &argument in arguments {
            match &document.node(argument).kind {
                NodeKind::Variable(name) => {
                    let kind = scope.kind(name, false);
                    self.variable(name, kind, document.span(argument), Side::Right, scope);
                }
                NodeKind::Rest(name) => {
                    let kind = scope.kind(name, true);
                    self.variable(name, kind, document.span(argument), Side::Right, scope);
                }
                NodeKind::List { items, .. } if self.is_size(items) => {
                    self.inames(&items[1..], Side::Right, scope);
                }
                _ => {}
            }
        }
    }

    /// Whether a list is `(size ?q...)`.
    fn is_size(&self, items: &[NodeId]) -> bool {
        items.len() > 1 && self.document.word(items[0]).is_some_and(|head| head.as_str() == "size")
    }

    fn argument(&mut self, condition: &Name, id: NodeId, kind: &ArgumentKind) -> Option<Argument> {
        let found = &self.document.node(id).kind;
        let argument = match (kind, found) {
            (ArgumentKind::Variable | ArgumentKind::AnyVariable, NodeKind::Variable(name)) => {
                Some(Argument::Variable(name.clone()))
            }
            (ArgumentKind::Rest | ArgumentKind::AnyVariable, NodeKind::Rest(name)) => {
                Some(Argument::Rest(name.clone()))
            }
            (ArgumentKind::Inames | ArgumentKind::Bound | ArgumentKind::Term, NodeKind::Variable(name)) => {
                Some(Argument::Variable(name.clone()))
            }
            (ArgumentKind::Inames | ArgumentKind::Bound | ArgumentKind::Some, NodeKind::Rest(name)) => {
                Some(Argument::Rest(name.clone()))
            }
            (ArgumentKind::Number | ArgumentKind::Term, NodeKind::Number(value)) => {
                Some(Argument::Number(value.clone()))
            }
            (ArgumentKind::Term, NodeKind::List { items, .. }) if self.is_size(items) => {
                let variable = |&id: &NodeId| match &self.document.node(id).kind {
                    NodeKind::Variable(name) => Some(InameVariable::One(name.clone())),
                    NodeKind::Rest(name) => Some(InameVariable::Rest(name.clone())),
                    _ => None,
                };
                items[1..].iter().map(variable).collect::<Option<Vec<_>>>().map(Argument::Size)
            }
            (ArgumentKind::Word(choices), NodeKind::Word(word)) if choices.is_empty() || choices.contains(word) => {
                Some(Argument::Word(word.clone()))
            }
            _ => None,
        };
        if argument.is_none() && !self.document.is_broken(id) {
            self.report(RuleError::WrongArgument {
                condition: condition.clone(),
                expected: kind.to_string(),
                found: self.document.describe(id),
                at: self.document.span(id),
            });
        }
        argument
    }

    fn condition_arity(
        &mut self,
        id: NodeId,
        name: &Name,
        expected: &str,
        n_arguments: usize,
    ) -> Option<ConditionNode> {
        self.report(RuleError::WrongConditionArity {
            condition: name.clone(),
            expected: expected.into(),
            n_arguments,
            at: self.document.span(id),
        });
        None
    }
}

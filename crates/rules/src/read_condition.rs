//! Reading conditions: `and`, `or`, `not` between tests of the vocabulary.

use crate::condition::{Argument, Condition, ConditionId, ConditionNode, Test};
use crate::error::RuleError;
use crate::form::Reader;
use crate::name::Name;
use crate::read_pattern::{Scope, Side, VariableKind};
use crate::sexpr::{NodeId, NodeKind};
use crate::suggest;
use crate::vocabulary::{ArgumentKind, CONNECTIVES, ConditionForm};

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
            read.push(self.argument(name, argument, kind));
        }
        let arguments = read.into_iter().collect::<Option<Vec<_>>>()?;
        Some(ConditionNode::Test(Test { name: name.clone(), arguments }))
    }

    /// Checks that the variables among `arguments` are bound.
    fn use_variables(&mut self, arguments: &[NodeId], scope: &mut Scope) {
        let document = self.document;
        for &argument in arguments {
            let (name, kind) = match &document.node(argument).kind {
                NodeKind::Variable(name) => (name, VariableKind::One),
                NodeKind::Rest(name) => (name, VariableKind::Rest { operator: None }),
                _ => continue,
            };
            self.variable(name, kind, document.span(argument), Side::Right, scope);
        }
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
            (ArgumentKind::Number, NodeKind::Number(value)) => Some(Argument::Number(value.clone())),
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

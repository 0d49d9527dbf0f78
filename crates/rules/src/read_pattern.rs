//! Reading patterns: operators and arities from the vocabulary, variables bound before they are used.

use indexmap::IndexMap;
use nestegg_span::Span;

use crate::error::RuleError;
use crate::form::Reader;
use crate::name::Name;
use crate::pattern::{InameVariable, Pattern, PatternId, PatternNode};
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
    /// `?q` for inames.
    Iname,
    /// `?qs...` for inames.
    Inames,
}

/// What a list of a pattern is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Apply,
    Reduce,
    Filtered,
    Each,
    Spread,
    Size,
}

impl Scope {
    /// The scope of `rule`, whose left side is at `lhs`, before anything is bound.
    pub(crate) fn new(rule: Name, lhs: Span) -> Self {
        Self { rule, lhs, variables: IndexMap::new(), incomplete: false }
    }

    /// Whether a variable stands for inames; `None` if it is not bound.
    pub(crate) fn is_of_inames(&self, name: &Name) -> Option<bool> {
        let is_bound = |kind: &VariableKind| matches!(kind, VariableKind::Iname | VariableKind::Inames);
        self.variables.get(name).map(|binding| is_bound(&binding.kind))
    }

    /// As what a variable outside patterns is meant: those that stand for inames look like others.
    pub(crate) fn kind(&self, name: &Name, has_dots: bool) -> VariableKind {
        match (self.is_of_inames(name).unwrap_or(false), has_dots) {
            (true, true) => VariableKind::Inames,
            (true, false) => VariableKind::Iname,
            (false, true) => VariableKind::Rest { operator: None },
            (false, false) => VariableKind::One,
        }
    }
}

impl Reader<'_> {
    /// The pattern at `root`; `None` if something in it was reported.
    pub(crate) fn pattern(&mut self, root: NodeId, side: Side, scope: &mut Scope) -> Option<Pattern> {
        let document = self.document;
        let subtree = document.subtree(root);
        // From the root down: what no pattern is, because the list that it is in says something else of it, and what `each` names.
        let mut is_pattern = vec![true; subtree.len()];
        let mut elements: Vec<Vec<Name>> = vec![Vec::new(); subtree.len()];
        for id in subtree.ids().rev() {
            let Some(items) = document.items(id) else { continue };
            let own = elements[subtree.index(id)].clone();
            let (is_inside, shape) = (!is_pattern[subtree.index(id)], self.shape(items));
            for (idx, &item) in items.iter().enumerate() {
                is_pattern[subtree.index(item)] = !is_inside
                    && match shape {
                        Shape::Apply => true,
                        Shape::Reduce | Shape::Each => idx != 1,
                        Shape::Filtered | Shape::Spread | Shape::Size => false,
                    };
                elements[subtree.index(item)].clone_from(&own);
                if let (Shape::Each, Some(NodeKind::Rest(name))) =
                    (shape, items.get(1).map(|&id| &document.node(id).kind))
                {
                    elements[subtree.index(item)].push(name.clone());
                }
            }
        }
        let mut pattern = Pattern::new();
        let mut read: Vec<Option<PatternId>> = Vec::with_capacity(subtree.len());
        let mut complete = true;
        // Arguments of tests on the left side, which may be bound later in it.
        let mut asked: Vec<NodeId> = Vec::new();
        for id in subtree.ids() {
            let at = document.span(id);
            if !is_pattern[subtree.index(id)] {
                read.push(None);
                continue;
            }
            let node = match &document.node(id).kind {
                NodeKind::Variable(name) => {
                    if !elements[subtree.index(id)].contains(name) {
                        self.variable(name, VariableKind::One, at, side, scope);
                    }
                    Some(PatternNode::Variable(name.clone()))
                }
                NodeKind::Number(value) => Some(PatternNode::Number(value.clone())),
                // The list that it is in knows the operator.
                NodeKind::Rest(name) => Some(PatternNode::Rest(name.clone())),
                NodeKind::List { items, .. } => {
                    let child = |item: &NodeId| read[subtree.index(*item)];
                    match self.shape(items) {
                        Shape::Apply => {
                            scope.incomplete |= side == Side::Left && self.may_lack_variables(items);
                            let operator = self.operator(id, items);
                            if let Some((_, children)) = items.split_first() {
                                self.rests(operator.as_ref(), children, side, scope);
                            }
                            let children: Vec<_> = items.iter().skip(1).filter_map(child).collect();
                            let whole = children.len() + 1 == items.len();
                            operator.filter(|_| whole).map(|operator| PatternNode::Apply { operator, children })
                        }
                        Shape::Reduce => self.reduction(id, items, child, side, scope),
                        Shape::Filtered => {
                            let node = self.filtered(id, items, side);
                            asked.extend(items.iter().skip(2));
                            node
                        }
                        Shape::Each => self.each(id, items, child, side),
                        Shape::Spread => self.spread(id, items, side),
                        Shape::Size if side == Side::Left => {
                            self.unexpected(id, "a pattern that a left side can have");
                            None
                        }
                        Shape::Size => self.inames(&items[1..], side, scope).map(PatternNode::Size),
                    }
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
        self.use_variables(&asked, scope);
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
            NodeKind::List { items, .. }
                if matches!(self.shape(items), Shape::Filtered | Shape::Each | Shape::Spread) =>
            {
                self.unexpected(root, "one value");
                complete = false;
            }
            _ => {}
        }
        if !complete {
            return None;
        }
        if side == Side::Left && !scope.incomplete {
            self.check_order(&pattern);
        }
        Some(pattern)
    }

    /// Checks that tests of children only ask for what is bound when they are asked: inames before what is reduced, plain children from
    /// left to right, then those with tests, then the rest.
    fn check_order(&mut self, pattern: &Pattern) {
        let mut bound: Vec<Name> = Vec::new();
        let mut pending = vec![pattern.root()];
        while let Some(id) = pending.pop() {
            match pattern.node(id) {
                PatternNode::Variable(name) | PatternNode::Rest(name) => bound.push(name.clone()),
                PatternNode::Reduce { inames, body, .. } => {
                    bound.extend(inames.iter().map(InameVariable::name).cloned());
                    pending.push(*body);
                }
                PatternNode::Apply { children, .. } => {
                    let turn = |&&id: &&PatternId| match pattern.node(id) {
                        PatternNode::Rest(_) => 2,
                        PatternNode::Filtered { .. } => 1,
                        _ => 0,
                    };
                    let mut children: Vec<&PatternId> = children.iter().collect();
                    children.sort_by_key(turn);
                    pending.extend(children.into_iter().rev());
                }
                PatternNode::Filtered { rest, test } => {
                    let unbound = test.variables().find(|name| !bound.contains(name)).cloned();
                    if let Some(variable) = unbound {
                        self.report(RuleError::AskedTooEarly { variable, at: pattern.span(id) });
                    }
                    bound.push(rest.clone());
                }
                _ => {}
            }
        }
    }

    /// What a list of a pattern is, by its head.
    fn shape(&self, items: &[NodeId]) -> Shape {
        let document = self.document;
        let Some(&head) = items.first() else { return Shape::Apply };
        if matches!(document.node(head).kind, NodeKind::Rest(_)) {
            return Shape::Filtered;
        }
        let is_variable = |&id: &NodeId| matches!(document.node(id).kind, NodeKind::Variable(_) | NodeKind::Rest(_));
        let binds = || items.get(1).and_then(|&id| document.items(id)).is_some_and(|list| list.iter().all(is_variable));
        match document.word(head) {
            Some(name) if self.vocabulary.binders.contains_key(name) && binds() => Shape::Reduce,
            Some(name) if self.vocabulary.spreads.contains_key(name) => Shape::Spread,
            Some(name) if name.as_str() == "each" => Shape::Each,
            Some(name) if name.as_str() == "size" => Shape::Size,
            _ => Shape::Apply,
        }
    }

    /// Variables for inames, bound on the left.
    pub(crate) fn inames(&mut self, list: &[NodeId], side: Side, scope: &mut Scope) -> Option<Vec<InameVariable>> {
        let document = self.document;
        let mut res = Vec::with_capacity(list.len());
        let mut first_rest = None;
        for &id in list {
            let at = document.span(id);
            match &document.node(id).kind {
                NodeKind::Variable(name) => {
                    self.variable(name, VariableKind::Iname, at, side, scope);
                    res.push(InameVariable::One(name.clone()));
                }
                NodeKind::Rest(name) => {
                    self.variable(name, VariableKind::Inames, at, side, scope);
                    let first = *first_rest.get_or_insert(at);
                    if first != at && side == Side::Left {
                        self.report(RuleError::SecondRest { at, first });
                    }
                    res.push(InameVariable::Rest(name.clone()));
                }
                _ => {
                    self.unexpected(id, "a variable for inames");
                    return None;
                }
            }
        }
        Some(res)
    }

    fn reduction(
        &mut self,
        list: NodeId,
        items: &[NodeId],
        child: impl Fn(&NodeId) -> Option<PatternId>,
        side: Side,
        scope: &mut Scope,
    ) -> Option<PatternNode> {
        let document = self.document;
        let at = document.span(list);
        let [head, binder, body] = items else {
            let operator = document.word(items[0])?.clone();
            let help =
                Some("a reduction is `(sum (?q...) ?x)`: its inames in parentheses, then what is reduced".into());
            let n_children = items.len() - 1;
            self.report(RuleError::WrongArity {
                operator,
                expected: "inames and 1 child".into(),
                n_children,
                at,
                help,
            });
            return None;
        };
        if !self.child_is_pattern(*body) || self.is_many(*body) {
            if self.is_many(*body) {
                self.unexpected(*body, "one value");
            }
            return None;
        }
        let list = document.items(*binder).unwrap_or_default();
        if list.is_empty() {
            self.report(RuleError::EmptyList { what: "inames", at: document.span(*binder) });
            return None;
        }
        let inames = self.inames(list, side, scope)?;
        Some(PatternNode::Reduce { operator: document.word(*head)?.clone(), inames, body: child(body)? })
    }

    /// Whether something stands for any number of children.
    fn is_many(&self, id: NodeId) -> bool {
        match &self.document.node(id).kind {
            NodeKind::Rest(_) => true,
            NodeKind::List { items, .. } => {
                matches!(self.shape(items), Shape::Filtered | Shape::Each | Shape::Spread)
            }
            _ => false,
        }
    }

    /// `(?xs... test argument …)`; what the arguments are is checked when the whole side is read.
    fn filtered(&mut self, list: NodeId, items: &[NodeId], side: Side) -> Option<PatternNode> {
        let document = self.document;
        let NodeKind::Rest(rest) = &document.node(items[0]).kind else { return None };
        if side == Side::Right {
            self.unexpected(list, "a rest variable alone on a right side");
            return None;
        }
        let Some(name) = items.get(1).and_then(|&id| document.word(id)) else {
            self.unexpected(*items.get(1).unwrap_or(&list), "a test after the rest variable");
            return None;
        };
        let test = self.test_of_each(list, name, &items[2..])?;
        Some(PatternNode::Filtered { rest: rest.clone(), test })
    }

    fn each(
        &mut self,
        list: NodeId,
        items: &[NodeId],
        child: impl Fn(&NodeId) -> Option<PatternId>,
        side: Side,
    ) -> Option<PatternNode> {
        let document = self.document;
        match items {
            [_, rest, body] if side == Side::Right && !self.is_many(*body) => {
                let NodeKind::Rest(rest) = &document.node(*rest).kind else {
                    self.unexpected(*rest, "a rest variable");
                    return None;
                };
                self.child_is_pattern(*body).then_some(())?;
                Some(PatternNode::Each { rest: rest.clone(), body: child(body)? })
            }
            _ => {
                self.unexpected(list, "`(each ?xs... pattern)` on a right side");
                None
            }
        }
    }

    fn spread(&mut self, list: NodeId, items: &[NodeId], side: Side) -> Option<PatternNode> {
        let document = self.document;
        match items {
            [head, rest] if side == Side::Right => {
                let NodeKind::Rest(rest) = &document.node(*rest).kind else {
                    self.unexpected(*rest, "a rest variable");
                    return None;
                };
                Some(PatternNode::Spread { function: document.word(*head)?.clone(), rest: rest.clone() })
            }
            _ => {
                self.unexpected(list, "a function of one rest variable on a right side");
                None
            }
        }
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
        let has_rest = children.iter().any(|&child| self.is_many(child));
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
            // Where the variable stands, and in which operator its children must be.
            let (name_at, operator) = match &document.node(child).kind {
                NodeKind::Rest(_) => (child, operator.cloned()),
                NodeKind::List { items, .. } => match self.shape(items) {
                    Shape::Filtered => (items[0], operator.cloned()),
                    Shape::Spread => (*items.get(1).unwrap_or(&child), operator.cloned()),
                    Shape::Each => (*items.get(1).unwrap_or(&child), None),
                    _ => continue,
                },
                _ => continue,
            };
            let NodeKind::Rest(name) = &document.node(name_at).kind else { continue };
            let at = document.span(name_at);
            if !is_nary {
                self.report(RuleError::RestOutsideNary { variable: name.clone(), at });
                continue;
            }
            if name_at == child {
                let first = *first_rest.get_or_insert(at);
                if first != at && side == Side::Left {
                    self.report(RuleError::SecondRest { at, first });
                }
            }
            self.variable(name, VariableKind::Rest { operator }, at, side, scope);
        }
    }

    /// Binds a variable on the left, and checks that it is bound, and as the same kind, elsewhere.
    pub(crate) fn variable(&mut self, name: &Name, kind: VariableKind, at: Span, side: Side, scope: &mut Scope) {
        let dots = if matches!(kind, VariableKind::One | VariableKind::Iname) { "" } else { "..." };
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
            (VariableKind::One, VariableKind::One)
            | (VariableKind::Iname, VariableKind::Iname)
            | (VariableKind::Inames, VariableKind::Inames) => {}
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

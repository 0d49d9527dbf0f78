//! Expressions: names, ranks, arities, types, and which inames have a value where.
//!
//! # Method
//! Top-down over the nodes of one expression: what reductions are around each. Then bottom-up: the DAG.

use nestegg_ir::{Expr, ExprId, InameId, InameSet, Number, Op, ReduceOp, SubstitutionId};

use rustc_hash::FxHashMap;

use super::names::wrong_kind;
use super::types::{self, Need, Type};
use super::{Entity, Lowering};
use crate::MAX_EXPRESSION_DEPTH;
use crate::error::{Mismatch, ReadError};
use crate::syntax::{Fold, Name, NodeId, NodeKind};

/// What has a value where an expression stands.
pub(super) struct Scope<'a> {
    place: Place<'a>,
    /// The positions of a rule's formal parameters.
    formals: FxHashMap<&'a str, u32>,
}

enum Place<'a> {
    /// In an instruction or a condition of the linearization. Of an incomplete list nothing is said.
    Within { inames: &'a InameSet, is_complete: bool },
    /// In the body of a rule, which may stand anywhere: collects what it needs.
    Rule { free: InameSet, reduced: InameSet },
    /// In a shape: only parameters.
    Size,
}

impl<'a> Scope<'a> {
    pub(super) fn within(inames: &'a InameSet, is_complete: bool) -> Self {
        Self { place: Place::Within { inames, is_complete }, formals: FxHashMap::default() }
    }

    pub(super) fn rule(parameters: &'a [Name<'_>]) -> Self {
        let formals = parameters.iter().zip(0..).map(|(formal, idx)| (&*formal.text, idx)).collect();
        Self { place: Place::Rule { free: InameSet::new(), reduced: InameSet::new() }, formals }
    }

    pub(super) fn size() -> Self {
        Self { place: Place::Size, formals: FxHashMap::default() }
    }

    /// The free and the reduced inames of a rule's body.
    pub(super) fn into_rule(self) -> (InameSet, InameSet) {
        match self.place {
            Place::Rule { free, reduced } => (free, reduced),
            Place::Within { .. } | Place::Size => (InameSet::new(), InameSet::new()),
        }
    }

    /// Whether an iname has a value outside of all reductions; a rule then needs that it has.
    fn needs(&mut self, iname: InameId) -> bool {
        match &mut self.place {
            Place::Within { inames, is_complete } => !*is_complete || inames.contains(iname),
            Place::Rule { free, .. } => {
                free.insert(iname);
                true
            }
            Place::Size => false,
        }
    }

    /// Whether a reduction over an iname is wrong where this is.
    fn forbids_reduction(&mut self, iname: InameId) -> bool {
        match &mut self.place {
            Place::Within { inames, .. } => inames.contains(iname),
            Place::Rule { reduced, .. } => {
                reduced.insert(iname);
                false
            }
            Place::Size => false,
        }
    }
}

/// The inames of a reduction and the reduction around it.
struct Bound {
    inames: Vec<InameId>,
    outer: Option<usize>,
}

/// The reductions of one expression.
#[derive(Default)]
struct Reductions {
    first: usize,
    bounds: Vec<Bound>,
    /// The innermost reduction around each node, by position from `first`; empty if there is no reduction.
    around: Vec<Option<usize>>,
    /// The reduction that each node is.
    own: Vec<Option<usize>>,
}

impl Reductions {
    fn around(&self, node: NodeId) -> Option<usize> {
        self.around.get(node.index() - self.first).copied().flatten()
    }

    fn binds(&self, mut at: Option<usize>, iname: InameId) -> bool {
        while let Some(bound) = at.map(|at| &self.bounds[at]) {
            if bound.inames.contains(&iname) {
                return true;
            }
            at = bound.outer;
        }
        false
    }
}

impl<'k, 's> Lowering<'k, 's> {
    /// Lowers one expression.
    pub(super) fn expression(&mut self, root: NodeId, scope: &mut Scope<'_>) -> (ExprId, Type) {
        let syntax = self.syntax;
        let too_deep = u32::try_from(MAX_EXPRESSION_DEPTH + 1).unwrap_or(u32::MAX);
        if syntax.nodes[root].depth >= too_deep {
            let at = syntax.nodes.subtree(root).rev().find(|&node| syntax.nodes[node].depth == too_deep);
            let at = syntax.nodes.span(at.unwrap_or(root));
            self.errors.push(ReadError::NestedTooDeep { limit: MAX_EXPRESSION_DEPTH, at });
            return (self.kernel.exprs.int(0), Type::Unknown);
        }
        let reductions = self.reductions(root, scope);
        for node in syntax.nodes.subtree(root) {
            let (expr, ty) = match self.node(node, scope, &reductions) {
                Some(lowered) => lowered,
                None => (self.kernel.exprs.int(0), Type::Unknown),
            };
            self.exprs[node.index()] = expr;
            self.types[node.index()] = ty;
            if !matches!(
                self.kernel.exprs[expr],
                Expr::Number(_) | Expr::Iname(_) | Expr::Parameter(_) | Expr::Formal(_)
            ) {
                self.spans.note(self.place, expr, syntax.nodes.span(node));
            }
        }
        (self.exprs[root.index()], self.types[root.index()])
    }

    fn reductions(&mut self, root: NodeId, scope: &mut Scope<'_>) -> Reductions {
        let syntax = self.syntax;
        let nodes = &syntax.nodes;
        let mut res = Reductions { first: nodes[root].first as usize, ..Reductions::default() };
        if !nodes.subtree(root).any(|node| matches!(nodes[node].kind, NodeKind::Reduce(..))) {
            return res;
        }
        res.around = vec![None; root.index() + 1 - res.first];
        res.own = res.around.clone();
        for node in nodes.subtree(root).rev() {
            let mut inside = res.around(node);
            if let NodeKind::Reduce(_, names) = &nodes[node].kind {
                if matches!(scope.place, Place::Size) {
                    let reason = "a size holds no reductions".to_owned();
                    self.errors.push(ReadError::WrongSize { reason, at: nodes.span(node) });
                }
                let (inames, _) = self.inames(names);
                for name in names {
                    let Some(&(Entity::Iname(iname), _)) = self.names.get(&*name.text) else { continue };
                    if res.binds(inside, iname) || scope.forbids_reduction(iname) {
                        let (at, name) = (name.span, name.text.to_string());
                        self.errors.push(ReadError::ReductionOverOuterIname { name, at });
                        continue;
                    }
                    let domain = self.kernel[iname].domain;
                    for outer in self.kernel[domain].enclosing.clone() {
                        if !inames.contains(&outer) && !res.binds(inside, outer) && !scope.needs(outer) {
                            self.errors.push(ReadError::EnclosingInameMissing {
                                name: name.text.to_string(),
                                outer: self.kernel[outer].name.clone(),
                                at: name.span,
                            });
                        }
                    }
                }
                res.own[node.index() - res.first] = Some(res.bounds.len());
                res.bounds.push(Bound { inames, outer: inside });
                inside = res.own[node.index() - res.first];
            }
            for child in nodes.children(node) {
                res.around[child.index() - res.first] = inside;
            }
        }
        res
    }

    /// Lowers one node whose operands are lowered; `None` if something was reported.
    fn node(&mut self, node: NodeId, scope: &mut Scope<'_>, reductions: &Reductions) -> Option<(ExprId, Type)> {
        let syntax = self.syntax;
        let (kind, at) = (&syntax.nodes[node].kind, syntax.nodes.span(node));
        let children = syntax.nodes.children(node);
        let operands = || -> Box<[ExprId]> { children.iter().map(|child| self.exprs[child.index()]).collect() };
        let (expr, ty) = match kind {
            NodeKind::Error => return None,
            NodeKind::Unstated => {
                let reason = "only the first size of an argument may be left open".to_owned();
                self.errors.push(ReadError::WrongSize { reason, at });
                return None;
            }
            NodeKind::Number(number) => {
                let ty = if matches!(number, Number::Int(_)) { Type::Int } else { Type::Float };
                (Expr::Number(*number), ty)
            }
            NodeKind::Name(text) => {
                let name = Name { text: text.clone(), span: at };
                return self.variable(&name, node, scope, reductions);
            }
            NodeKind::Op(op) => {
                let operands = operands();
                self.check_operands(*op, children);
                let types: Vec<Type> = children.iter().map(|child| self.types[child.index()]).collect();
                let exponent = operands.get(1).and_then(|&exponent| match self.kernel.exprs[exponent] {
                    Expr::Number(number) => Some(number),
                    _ => None,
                });
                (Expr::Op { op: *op, operands }, types::result(*op, &types, exponent))
            }
            NodeKind::Subscript(name) | NodeKind::Linear(name) => {
                let indices = operands();
                if matches!(scope.place, Place::Size) {
                    let reason = "a size holds no array elements".to_owned();
                    self.errors.push(ReadError::WrongSize { reason, at });
                    return None;
                }
                let array = self.array(name)?;
                let ty = if self.has_dtype[array.index()] { Type::of(self.kernel[array].dtype) } else { Type::Unknown };
                let rank = self.ranks[array.index()];
                let indices = if matches!(kind, NodeKind::Linear(_)) {
                    self.check_linear(array, name, children);
                    (rank != Some(0)).then_some(indices)
                } else {
                    self.check_indices(array, name, children);
                    rank.is_none_or(|rank| rank == children.len()).then(|| self.element(array, indices))
                };
                (Expr::Access { array, indices: indices? }, ty)
            }
            NodeKind::Apply(name) => match self.names.get(&*name.text) {
                Some(&(Entity::Substitution(_), _)) => return self.application(name, node, scope, reductions),
                Some(&(other, _)) => {
                    self.errors.push(wrong_kind(name, other, "a function or a substitution"));
                    return None;
                }
                None => return self.call(name, children),
            },
            NodeKind::Call(name) => match self.names.get(&*name.text) {
                Some(&(other, _)) => {
                    self.errors.push(wrong_kind(name, other, "a function"));
                    return None;
                }
                None => return self.call(name, children),
            },
            NodeKind::Substitution(name) => return self.application(name, node, scope, reductions),
            NodeKind::Reduce(fold, _) => {
                let own = reductions.own.get(node.index() - reductions.first).copied().flatten();
                let inames: Box<[InameId]> = own.map_or([].into(), |own| reductions.bounds[own].inames.clone().into());
                let body = operands()[0];
                let ty = self.types[children[0].index()];
                let need = if matches!(fold, Fold::Number(_)) { Need::Number } else { Need::Bool };
                self.check(children[0], need, || format!("the reduction `{}` takes", fold.spelling()));
                if inames.is_empty() {
                    return None;
                }
                match fold {
                    Fold::Number(op) => (Expr::Reduce { op: *op, inames, body }, ty),
                    Fold::Any => (self.number_of(inames, body, (1, 0), Op::Ne), Type::Bool),
                    Fold::All => (self.number_of(inames, body, (0, 1), Op::Eq), Type::Bool),
                }
            }
            NodeKind::Cast(dtype) => (Expr::Cast { dtype: *dtype, operand: operands()[0] }, Type::of(*dtype)),
        };
        Some((self.kernel.exprs.intern(expr), ty))
    }

    /// How the number of points compares with zero, where each counts as the first number if the condition holds there, else as the second.
    fn number_of(&mut self, inames: Box<[InameId]>, condition: ExprId, numbers: (i64, i64), op: Op) -> Expr {
        let exprs = &mut self.kernel.exprs;
        let (first, second, zero) = (exprs.int(numbers.0), exprs.int(numbers.1), exprs.int(0));
        let body = exprs.op(Op::If, [condition, first, second]);
        let number = exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames, body });
        Expr::Op { op, operands: [number, zero].into() }
    }

    fn variable(
        &mut self,
        name: &Name<'s>,
        node: NodeId,
        scope: &mut Scope<'_>,
        reductions: &Reductions,
    ) -> Option<(ExprId, Type)> {
        if let Some(&idx) = scope.formals.get(&*name.text) {
            return Some((self.kernel.exprs.intern(Expr::Formal(idx)), Type::Unknown));
        }
        let entity = self.entity(name)?;
        if matches!(scope.place, Place::Size) && !matches!(entity, Entity::Parameter(_)) {
            let reason = format!("a size holds {}", entity.describe());
            self.errors.push(ReadError::WrongSize { reason, at: name.span });
            return None;
        }
        let (expr, ty) = match entity {
            Entity::Parameter(parameter) => (Expr::Parameter(parameter), Type::Int),
            Entity::Iname(iname) => {
                if !reductions.binds(reductions.around(node), iname) && !scope.needs(iname) {
                    self.errors.push(match self.extremum_of(node) {
                        Some(op) => ReadError::ReductionOrExtremum {
                            op: op.spelling(),
                            name: name.text.to_string(),
                            at: name.span,
                        },
                        None => ReadError::InameOutOfScope { name: name.text.to_string(), at: name.span },
                    });
                }
                (Expr::Iname(iname), Type::Int)
            }
            Entity::Array(array) => {
                self.check_indices(array, name, &[]);
                if self.ranks[array.index()].is_some_and(|rank| rank != 0) {
                    return None;
                }
                let ty = if self.has_dtype[array.index()] { Type::of(self.kernel[array].dtype) } else { Type::Unknown };
                (Expr::Access { array, indices: [].into() }, ty)
            }
            Entity::Substitution(_) => return self.application(name, node, scope, reductions),
        };
        Some((self.kernel.exprs.intern(expr), ty))
    }

    /// The extremum of two operands of which a node is the first: what loopy takes for a reduction. Only errors ask.
    fn extremum_of(&self, node: NodeId) -> Option<Op> {
        let nodes = &self.syntax.nodes;
        // The first node that came later and holds this one is its operation.
        let parent = nodes.after(node).find(|&later| nodes[later].first as usize <= node.index())?;
        match nodes[parent].kind {
            NodeKind::Op(op @ (Op::Min | Op::Max)) if matches!(nodes.children(parent), &[first, _] if first == node) => {
                Some(op)
            }
            _ => None,
        }
    }

    /// A substitution rule applied to the node's operands.
    fn application(
        &mut self,
        name: &Name<'s>,
        node: NodeId,
        scope: &mut Scope<'_>,
        reductions: &Reductions,
    ) -> Option<(ExprId, Type)> {
        let rule = match self.entity(name)? {
            Entity::Substitution(rule) => rule,
            other => {
                self.errors.push(wrong_kind(name, other, "a substitution"));
                return None;
            }
        };
        let at = self.syntax.nodes.span(node);
        if matches!(scope.place, Place::Size) {
            let reason = "a size holds no substitutions".to_owned();
            self.errors.push(ReadError::WrongSize { reason, at });
            return None;
        }
        let children = self.syntax.nodes.children(node);
        let n_formals = self.kernel[rule].parameters.len();
        if n_formals != children.len() {
            let expected = match n_formals {
                0 => "no arguments".to_owned(),
                1 => "1 argument".to_owned(),
                n => format!("{n} arguments"),
            };
            let what = format!("the substitution `{}`", name.text);
            self.errors.push(ReadError::WrongArity { what, expected, found: children.len(), at });
            return None;
        }
        self.check_rule_inames(rule, name, reductions.around(node), scope, reductions);
        let arguments = children.iter().map(|child| self.exprs[child.index()]).collect();
        let ty = self.rules[rule.index()].ty;
        Some((self.kernel.exprs.intern(Expr::Substitution { rule, arguments }), ty))
    }

    /// Checks that the inames a rule needs have values, and that those it reduces over have none.
    fn check_rule_inames(
        &mut self,
        rule: SubstitutionId,
        name: &Name<'_>,
        around: Option<usize>,
        scope: &mut Scope<'_>,
        reductions: &Reductions,
    ) {
        let (free, reduced) = (self.rules[rule.index()].free.clone(), self.rules[rule.index()].reduced.clone());
        for iname in free.iter() {
            if !reductions.binds(around, iname) && !scope.needs(iname) {
                let name_text = self.kernel[iname].name.clone();
                self.errors.push(ReadError::InameOutOfScope { name: name_text, at: name.span });
            }
        }
        for iname in reduced.iter() {
            if reductions.binds(around, iname) || scope.forbids_reduction(iname) {
                let name_text = self.kernel[iname].name.clone();
                self.errors.push(ReadError::ReductionOverOuterIname { name: name_text, at: name.span });
            }
        }
    }

    fn call(&mut self, name: &'k Name<'s>, children: &[NodeId]) -> Option<(ExprId, Type)> {
        for &child in children {
            self.check(child, Need::Number, || format!("the function `{}` takes", name.text));
        }
        let function = self.function(name);
        let arguments = children.iter().map(|child| self.exprs[child.index()]).collect();
        Some((self.kernel.exprs.intern(Expr::Call { function, arguments }), Type::Float))
    }

    pub(super) fn function(&mut self, name: &'k Name<'s>) -> nestegg_ir::FunctionId {
        if let Some(&function) = self.functions.get(&*name.text) {
            return function;
        }
        self.check_function_name(name);
        let function = nestegg_ir::FunctionId::new(self.kernel.functions.len());
        self.kernel.functions.push(name.text.to_string());
        self.functions.insert(&name.text, function);
        function
    }

    /// Reports an operand that does not fit.
    pub(super) fn check(&mut self, node: NodeId, need: Need, what: impl FnOnce() -> String) {
        let ty = self.types[node.index()];
        if !ty.fits(need) {
            let mismatch = Mismatch { expected: need.name().to_owned(), found: ty.name().to_owned() };
            let at = self.syntax.nodes.span(node);
            self.errors.push(ReadError::WrongType { what: what(), mismatch, at });
        }
    }

    fn check_operands(&mut self, op: Op, children: &[NodeId]) {
        if op != Op::If {
            for &child in children {
                self.check(child, types::need(op), || format!("`{}` takes", op.spelling()));
            }
            return;
        }
        if let &[condition, first, second] = children {
            self.check(condition, Need::Bool, || "`if` takes".to_owned());
            match self.types[first.index()] {
                Type::Bool => self.check(second, Need::Bool, || "the other value of the `if` is".to_owned()),
                Type::Int | Type::Float => {
                    self.check(second, Need::Number, || "the other value of the `if` is".to_owned())
                }
                Type::Unknown => {}
            }
        }
    }
}

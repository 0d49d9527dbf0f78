//! Instructions: ids, inames, dependences, what they write and what they compute.

use nestegg_ir::verify::Place;
use nestegg_ir::{
    ArgumentAccess, ArrayId, ArrayKind, Assignee, ExprId, InameSet, InsnId, Instruction, InstructionKind, Op,
};
use nestegg_span::Span;
use rustc_hash::FxHashMap;

use super::cycles::{describe, successors_first};
use super::exprs::Scope;
use super::types::{Need, Type};
use super::{Entity, Lowering};
use crate::error::ReadError;
use crate::syntax::{ConditionSyntax, InstructionKindSyntax, InstructionSyntax, Name, NodeId, NodeKind};

impl<'k, 's> Lowering<'k, 's> {
    pub(super) fn instructions(&mut self) {
        let syntax = self.syntax;
        let mut ids: FxHashMap<&str, (InsnId, Span)> = FxHashMap::default();
        for (idx, insn) in syntax.instructions.iter().enumerate() {
            let id = &insn.id;
            if id.text.is_empty() {
                let reason = "an instruction's id is not empty";
                self.errors.push(ReadError::InvalidName { name: String::new(), reason, at: id.span });
            } else if let Some(&(_, first)) = ids.get(&*id.text) {
                self.errors.push(ReadError::DuplicateId { id: id.text.to_string(), at: id.span, first });
            } else {
                ids.insert(&id.text, (InsnId::new(idx), id.span));
            }
            self.spans.instructions.push(id.span);
        }
        for (idx, insn) in syntax.instructions.iter().enumerate() {
            self.place = Place::Instruction(InsnId::new(idx));
            let assignees: &[NodeId] = match &insn.kind {
                InstructionKindSyntax::Assignment { assignee, .. } => std::slice::from_ref(assignee),
                InstructionKindSyntax::Call { assignees, .. } => assignees,
                InstructionKindSyntax::Opaque { .. } | InstructionKindSyntax::Error => &[],
            };
            self.spans.assignees.push(assignees.iter().map(|&node| syntax.nodes.span(node)).collect());
            let lowered = self.instruction(insn, &ids);
            self.kernel.instructions.push(lowered);
        }
        let insns = &self.kernel.instructions;
        let (_, cycles) =
            successors_first(insns.len(), |idx| insns[idx].depends_on.iter().map(|insn| insn.index()).collect());
        for cycle in &cycles {
            let name = |idx: usize| self.kernel.instructions[idx].id.as_str();
            let (id, cycle, at) = (name(cycle[0]).to_owned(), describe(cycle, name), self.spans.instructions[cycle[0]]);
            self.errors.push(ReadError::DependenceCycle { id, cycle, at });
        }
    }

    fn instruction(&mut self, insn: &'k InstructionSyntax<'s>, ids: &FxHashMap<&str, (InsnId, Span)>) -> Instruction {
        let (within, is_complete) = self.inames(&insn.within);
        let set: InameSet = within.iter().copied().collect();
        for name in &insn.within {
            if let Some(&(Entity::Iname(iname), _)) = self.names.get(&*name.text) {
                self.check_enclosing(iname, name, |outer| set.contains(outer) || !is_complete);
            }
        }
        let depends_on = self.dependences(insn, ids);
        let predicates =
            insn.predicates.iter().map(|&predicate| self.condition(predicate, &set, is_complete)).collect();
        let mut scope = Scope::within(&set, is_complete);
        let kind = match &insn.kind {
            InstructionKindSyntax::Assignment { assignee, expression } => {
                let (value, ty) = self.expression(*expression, &mut scope);
                match self.assignee(*assignee, &mut scope) {
                    Some(assignee) => {
                        self.check_assigned(assignee.array, ty, self.syntax.nodes.span(*expression));
                        InstructionKind::Assignment { assignee, expression: value }
                    }
                    None => nothing(),
                }
            }
            InstructionKindSyntax::Call { assignees, function, arguments } => {
                let assignees: Vec<Assignee> =
                    assignees.iter().filter_map(|&assignee| self.assignee(assignee, &mut scope)).collect();
                let mut values = Vec::with_capacity(arguments.len());
                for &argument in arguments {
                    values.push(self.expression(argument, &mut scope).0);
                    self.check(argument, Need::Number, || format!("the function `{}` takes", function.text));
                }
                let narrow = assignees.iter().position(|assignee| self.kernel[assignee.array].stored.is_some());
                if let Some(idx) = narrow {
                    let (name, at) = (self.kernel[assignees[idx].array].name.clone(), insn.id.span);
                    self.errors.push(ReadError::NarrowResult { name, at });
                }
                if assignees.is_empty() {
                    self.errors.push(ReadError::NoAssignee { at: insn.id.span });
                }
                if let Some(&(entity, _)) = self.names.get(&*function.text) {
                    self.errors.push(super::names::wrong_kind(function, entity, "a function"));
                }
                InstructionKind::Call { assignees, function: self.function(function), arguments: values }
            }
            InstructionKindSyntax::Opaque { code, reads, writes } => {
                let reads = reads.iter().filter_map(|name| self.read_array(name)).collect();
                let mut written = Vec::new();
                for name in writes {
                    let Some(array) = self.array(name) else { continue };
                    self.check_writable(array, name);
                    written.push(array);
                }
                InstructionKind::Opaque { code: code.clone(), reads, writes: written }
            }
            InstructionKindSyntax::Error => nothing(),
        };
        Instruction { id: insn.id.text.to_string(), kind, within, depends_on, predicates }
    }

    fn dependences(&mut self, insn: &InstructionSyntax<'s>, ids: &FxHashMap<&str, (InsnId, Span)>) -> Vec<InsnId> {
        let mut res: Vec<InsnId> = Vec::with_capacity(insn.depends_on.len());
        let mut seen = rustc_hash::FxHashSet::default();
        for name in &insn.depends_on {
            let Some(&(other, _)) = ids.get(&*name.text) else {
                self.report_unknown_instruction(name);
                continue;
            };
            if seen.insert(other) {
                res.push(other);
            } else {
                self.errors.push(ReadError::RepeatedDependence { id: name.text.to_string(), at: name.span });
            }
        }
        res
    }

    pub(super) fn report_unknown_instruction(&mut self, name: &Name<'_>) {
        if self.syntax.has_lost_ids {
            return;
        }
        let known = self.syntax.instructions.iter().map(|insn| &*insn.id.text);
        let help = self.errors.suggest(&name.text, known);
        let id = crate::json::shortened(&name.text);
        self.errors.push(ReadError::UnknownInstruction { id, at: name.span, help });
    }

    /// A condition inside loops over `within`, negated if it stands for an `else`. In the text form many
    /// instructions share one: it is lowered once for each run of instructions inside the same loops.
    pub(super) fn condition(&mut self, condition: ConditionSyntax, within: &InameSet, is_complete: bool) -> ExprId {
        let expr = match self.conditions.get(&condition.node) {
            Some((known_within, expr)) if known_within == within => *expr,
            _ => {
                let (expr, _) = self.expression(condition.node, &mut Scope::within(within, is_complete));
                self.check(condition.node, Need::Bool, || "a predicate is".to_owned());
                self.conditions.insert(condition.node, (within.clone(), expr));
                expr
            }
        };
        if condition.is_negated { self.kernel.exprs.op(Op::Not, [expr]) } else { expr }
    }

    fn assignee(&mut self, node: NodeId, scope: &mut Scope<'_>) -> Option<Assignee> {
        let syntax = self.syntax;
        let name = match &syntax.nodes[node].kind {
            NodeKind::Name(text) => Name { text: text.clone(), span: syntax.nodes.span(node) },
            NodeKind::Subscript(name) | NodeKind::Linear(name) => name.clone(),
            NodeKind::Error => return None,
            _ => {
                let what = "this expression".to_owned();
                self.errors.push(ReadError::NotAssignable { what, at: syntax.nodes.span(node) });
                return None;
            }
        };
        let indices = syntax.nodes.children(node);
        let lowered: Box<[ExprId]> = indices.iter().map(|&index| self.expression(index, scope).0).collect();
        let array = match self.entity(&name)? {
            Entity::Array(array) => array,
            other => {
                let what = format!("`{}`, {},", name.text, other.describe());
                self.errors.push(ReadError::NotAssignable { what, at: name.span });
                return None;
            }
        };
        self.check_writable(array, &name);
        let indices = match syntax.nodes[node].kind {
            NodeKind::Linear(_) => {
                self.check_linear(array, &name, indices);
                lowered
            }
            _ => {
                self.check_indices(array, &name, indices);
                self.element(array, lowered)
            }
        };
        Some(Assignee { array, indices })
    }

    fn check_writable(&mut self, array: ArrayId, name: &Name<'_>) {
        let what = match self.kernel[array].kind {
            ArrayKind::Argument(ArgumentAccess::Read) => "a read-only argument",
            ArrayKind::Table(_) => "a table",
            ArrayKind::Argument(_) | ArrayKind::Temporary => return,
        };
        self.errors.push(ReadError::NotWritable { name: name.text.to_string(), what, at: name.span });
    }

    /// Reports a value that does not fit the array it goes to.
    fn check_assigned(&mut self, array: ArrayId, ty: Type, at: Span) {
        if !self.has_dtype[array.index()] {
            return;
        }
        let need = match Type::of(self.kernel[array].dtype) {
            Type::Bool => Need::Bool,
            Type::Int => Need::Int,
            Type::Float | Type::Unknown => Need::Number,
        };
        if !ty.fits(need) {
            let what = format!("`{}` holds", self.kernel[array].name);
            let mismatch = crate::error::Mismatch { expected: need.name().to_owned(), found: ty.name().to_owned() };
            self.errors.push(ReadError::WrongType { what, mismatch, at });
        }
    }

    /// Reports a wrong number of indices, and indices that are no integers. The indices are lowered.
    pub(super) fn check_indices(&mut self, array: ArrayId, name: &Name<'_>, indices: &[NodeId]) {
        let Some(rank) = self.ranks[array.index()] else { return };
        if rank != indices.len() {
            let rank = match rank {
                0 => "no dimensions".to_owned(),
                1 => "1 dimension".to_owned(),
                n => format!("{n} dimensions"),
            };
            let found = match indices.len() {
                0 => "no index".to_owned(),
                1 => "1 index".to_owned(),
                n => format!("{n} indices"),
            };
            self.errors.push(ReadError::WrongRank { name: name.text.to_string(), rank, found, at: name.span });
            return;
        }
        for &index in indices {
            self.check(index, Need::Int, || format!("an index of `{}` is", name.text));
        }
    }

    /// Checks the number of an element.
    pub(super) fn check_linear(&mut self, array: ArrayId, name: &Name<'_>, index: &[NodeId]) {
        if self.ranks[array.index()] == Some(0) {
            let (rank, found) = ("no dimensions".to_owned(), "a linear subscript".to_owned());
            self.errors.push(ReadError::WrongRank { name: name.text.to_string(), rank, found, at: name.span });
        }
        for &index in index {
            self.check(index, Need::Int, || format!("an index of `{}` is", name.text));
        }
    }

    /// An array that an opaque instruction reads. Inames and parameters may be listed and need not be: they do not
    /// change while it runs.
    fn read_array(&mut self, name: &Name<'_>) -> Option<ArrayId> {
        match self.names.get(&*name.text) {
            Some((Entity::Iname(_) | Entity::Parameter(_), _)) => None,
            _ => self.array(name),
        }
    }
}

/// Stands for an instruction that was reported.
fn nothing() -> InstructionKind {
    InstructionKind::Opaque { code: String::new(), reads: Vec::new(), writes: Vec::new() }
}

//! The end: extents, accesses, and the syntax tree of the kernel.

use std::rc::Rc;

use nestegg_dump::Errors;
use nestegg_dump::syntax::{
    ArrayKindSyntax, ArraySyntax, ConditionSyntax, InstructionKindSyntax, InstructionSyntax, ItemKindSyntax,
    ItemSyntax, KernelSyntax, Name, NodeId, Nodes, ParameterSyntax, TableSyntax,
};
use nestegg_ir::ArgumentAccess;
use nestegg_span::Span;

use super::{ArrayInfo, ESTIMATE, Lift, Pointer, Role, Size, Step};
use crate::extents::{self, Access};
use crate::file::Definition;
use crate::problem::{self, Lifted};
use crate::signature;
use crate::term::{Term, emit};
use crate::types::Base;

/// So many integers of another size are handed over as a copy.
const MAX_COPIED: i64 = 64;

impl<'f> Lift<'f> {
    /// The kernel, when all statements have been walked.
    pub(super) fn finish(mut self, function: Definition<'f>) -> Result<KernelSyntax<'static>, Errors> {
        let mut extents = vec![None; self.arrays.len()];
        for (idx, extent) in extents.iter_mut().enumerate() {
            if !matches!(self.arrays[idx].shape.first(), Some(Size::Unknown)) {
                continue;
            }
            let accesses: Vec<&Access> = self.accesses.iter().filter(|access| access.array == idx).collect();
            match extents::extent(&self.context, &self.arrays[idx].name, &accesses, &|name| self.is_parameter(name)) {
                Ok(found) => *extent = Some(found),
                Err(error) => self.errors.push(*error),
            }
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        for pointer in &self.pointers {
            if let Err(error) = copy(pointer, &mut self.arrays, &extents) {
                self.errors.push(*error);
            }
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let names: Vec<String> = self.arrays.iter().map(|array| array.name.clone()).collect();
        let mut kernel = KernelSyntax { span: function.name_span, ..KernelSyntax::default() };
        kernel.name = Some(name(function.name, function.name_span));
        let passed = self.passed_to();
        kernel.meta = Some(signature::meta(self.file, function, &passed, self.returned.as_deref()));
        for parameter in &self.parameters {
            kernel.parameters.push(ParameterSyntax {
                name: name(&parameter.name, parameter.span),
                dtype: Some((parameter.dtype, parameter.span)),
                estimate: Some(ESTIMATE),
            });
        }
        if !self.assumptions.is_empty() {
            let text = self.assumptions.join(" and ");
            let parameters = self.known_names(&text).join(", ");
            kernel.assumptions = Some(name(&format!("[{parameters}] -> {{ : {text} }}"), function.name_span));
        }
        kernel.domains = self.domains.iter().map(|(text, at)| name(text, *at)).collect();
        let mut extents = extents.into_iter();
        let (mut arguments, mut locals) = (Vec::new(), Vec::new());
        for array in self.arrays {
            let ArrayInfo { name: array_name, dtype, shape, role, is_read, is_written, span } = array;
            let mut extent = extents.next().flatten();
            let mut sizes: Vec<NodeId> = Vec::with_capacity(shape.len());
            for size in shape {
                let term = match size {
                    Size::Known(term) => Some(term),
                    Size::Unknown => extent.take(),
                };
                let term = term.unwrap_or_else(|| Term::int(1, span));
                sizes.push(emit(&term, &names, &mut kernel.nodes));
            }
            let is_argument = matches!(role, Role::Argument(_));
            let kind = match role {
                Role::Argument(_) => ArrayKindSyntax::Argument(match (is_read, is_written) {
                    (true, true) => ArgumentAccess::ReadWrite,
                    (false, true) => ArgumentAccess::Write,
                    (_, false) => ArgumentAccess::Read,
                }),
                Role::Temporary => ArrayKindSyntax::Temporary,
                Role::Table(items) => ArrayKindSyntax::Table(TableSyntax { items }),
            };
            // A name that nothing reads and nothing writes says nothing.
            if !is_argument && !is_read && !is_written && !matches!(kind, ArrayKindSyntax::Table(_)) {
                continue;
            }
            let syntax = ArraySyntax {
                name: name(&array_name, span),
                dtype: Some(dtype),
                stored: None,
                shape: Some(sizes),
                kind,
            };
            if is_argument { arguments.push((span, syntax)) } else { locals.push(syntax) }
        }
        // In the order of the function's parameters.
        arguments.sort_by_key(|(span, _)| *span);
        kernel.arrays = arguments.into_iter().map(|(_, array)| array).chain(locals).collect();
        let mut items = Vec::with_capacity(self.steps.len());
        for step in self.steps {
            items.push(item(step, &names, &mut kernel.nodes, &mut kernel.instructions));
        }
        kernel.linearization = Some(items);
        Ok(kernel)
    }

    /// What stands in C for each parameter and argument of the kernel.
    fn passed_to(&self) -> Vec<(String, String)> {
        let mut res: Vec<(String, String)> =
            self.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.text.clone())).collect();
        for array in &self.arrays {
            if let Role::Argument(text) = &array.role {
                res.push((array.name.clone(), text.clone()));
            }
        }
        res
    }
}

/// Hands a copy over where the elements have another size in C than in the kernel: of a few that are only read.
fn copy(pointer: &Pointer, arrays: &mut [ArrayInfo], extents: &[Option<Rc<Term>>]) -> Lifted<()> {
    let (Base::Held(dtype), Some(array)) = (&pointer.base, pointer.array) else { return Ok(()) };
    let size = match &arrays[array].shape[..] {
        [Size::Known(size)] => size.as_int(),
        _ => extents[array].as_ref().and_then(|size| size.as_int()),
    };
    match size {
        Some(size @ 1..=MAX_COPIED) if !arrays[array].is_written => {
            let elements: Vec<String> = (0..size).map(|index| format!("{}[{index}]", pointer.text)).collect();
            let ty = dtype.c_name();
            let text = format!("(const {ty}[{size}]){{{}}}", elements.join(", "));
            arrays[array].role = Role::Argument(text);
            Ok(())
        }
        _ => {
            let ty = format!("array of integers that are not `{}`", dtype.c_name());
            Err(problem::wrong_type(&format!("`{}`", pointer.name), &ty, pointer.span))
        }
    }
}

fn name(text: &str, span: Span) -> Name<'static> {
    Name { text: text.to_owned().into(), span }
}

fn item(
    step: Step,
    names: &[String],
    nodes: &mut Nodes<'static>,
    instructions: &mut Vec<InstructionSyntax<'static>>,
) -> ItemSyntax<'static> {
    match step {
        Step::For(iname, span) => ItemSyntax { span, kind: ItemKindSyntax::For(name(&iname, span)) },
        Step::End(iname, span) => ItemSyntax { span, kind: ItemKindSyntax::End(name(&iname, span)) },
        Step::If { condition, is_negated } => {
            let span = condition.span;
            let node = emit(&condition, names, nodes);
            ItemSyntax { span, kind: ItemKindSyntax::If(ConditionSyntax { node, is_negated }) }
        }
        Step::EndIf(span) => ItemSyntax { span, kind: ItemKindSyntax::EndIf },
        Step::Run { target, value, within, span, .. } => {
            let id = name(&format!("insn{}", instructions.len()), span);
            let expression = emit(&value, names, nodes);
            let assignee = emit(&target, names, nodes);
            instructions.push(InstructionSyntax {
                id: id.clone(),
                kind: InstructionKindSyntax::Assignment { assignee, expression },
                within: within.iter().map(|iname| name(iname, span)).collect(),
                depends_on: Vec::new(),
                predicates: Vec::new(),
            });
            ItemSyntax { span, kind: ItemKindSyntax::Run(id) }
        }
    }
}

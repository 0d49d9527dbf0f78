//! The fields of a kernel: JSON values to the syntax tree.

use nestegg_ir::{ArgumentAccess, InameTag};
use nestegg_span::Source;

use super::expr::shortened;
use super::fields::{Fields, Reader, nameless};
use super::format::{ARGUMENT, FORMATS, INAME, INSTRUCTION, KERNEL, PARAMETER, SUBSTITUTION, TEMPORARY};
use super::tree::{self, Value, ValueId, minified};
use super::version::newer;
use crate::error::{Errors, ReadError};
use crate::syntax::{
    ArrayKindSyntax, ArraySyntax, ConditionSyntax, InstructionKindSyntax, InstructionSyntax, ItemKindSyntax,
    ItemSyntax, KernelSyntax, Name, NodeId, NodeKind, Nodes, ParameterSyntax, SubstitutionSyntax, TableItem,
    TableSyntax, TagsSyntax,
};

/// Reads a dump; what is wrong goes to `errors`.
pub(crate) fn read<'s>(source: &'s Source, errors: &mut Errors) -> Option<KernelSyntax<'s>> {
    let (tree, root) = match tree::parse(&source.text) {
        Ok(parsed) => parsed,
        Err(error) => {
            errors.push(error);
            return None;
        }
    };
    let mut reader = Reader { tree: &tree, errors: std::mem::take(errors), has_lost_names: false, has_lost_ids: false };
    let res = reader.kernel(root, source);
    *errors = reader.errors;
    res
}

impl<'t, 's> Reader<'t, 's> {
    fn kernel(&mut self, root: ValueId, source: &'s Source) -> Option<KernelSyntax<'s>> {
        let fields = self.object(root, &KERNEL)?;
        let format = self.string_field(&fields, "format");
        if let Some(format) = format.as_ref().filter(|format| !FORMATS.contains(&&*format.text)) {
            self.errors.push(ReadError::WrongFormat { format: shortened(&format.text), at: format.span });
            return None;
        }
        let mut kernel = KernelSyntax { span: fields.span(), ..KernelSyntax::default() };
        kernel.name = self.string_field(&fields, "name");
        kernel.meta = self.field(&fields, "meta").map(|id| minified(source.slice(self.tree.span(id))));
        for &id in self.list_field(&fields, "parameters") {
            let parameter = self.parameter(id);
            self.has_lost_names |= parameter.is_none();
            kernel.parameters.extend(parameter);
        }
        let assumptions = self.field(&fields, "assumptions");
        kernel.assumptions = assumptions.and_then(|id| self.string(id, "`assumptions`"));
        let domains = self.list_field(&fields, "domains");
        kernel.domains = domains.iter().filter_map(|&id| self.string(id, "a domain")).collect();
        self.has_lost_names |= kernel.domains.len() < domains.len();
        for &id in self.list_field(&fields, "inames") {
            kernel.tags.extend(self.tags(id));
        }
        for &id in self.list_field(&fields, "arguments") {
            let argument = self.argument(id, &mut kernel.nodes);
            self.has_lost_names |= argument.is_none();
            kernel.arrays.extend(argument);
        }
        for &id in self.list_field(&fields, "temporaries") {
            let temporary = self.temporary(id, &mut kernel.nodes);
            self.has_lost_names |= temporary.is_none();
            kernel.arrays.extend(temporary);
        }
        for &id in self.list_field(&fields, "substitutions") {
            let substitution = self.substitution(id, &mut kernel.nodes);
            self.has_lost_names |= substitution.is_none();
            kernel.substitutions.extend(substitution);
        }
        for &id in self.list_field(&fields, "instructions") {
            let instruction = self.instruction(id, &mut kernel.nodes);
            self.has_lost_ids |= instruction.is_none();
            kernel.instructions.extend(instruction);
        }
        if let Some(id) = self.field(&fields, "linearization") {
            let n_errors = self.errors.len();
            let items = self.list(id, "`linearization`").unwrap_or_default();
            let items = items.iter().filter_map(|&id| self.item(id, &mut kernel.nodes)).collect();
            // Of a list with gaps nothing more can be said.
            kernel.linearization = (self.errors.len() == n_errors).then_some(items);
        }
        self.finish(&fields);
        if let Some(format) = format.filter(|format| *format.text == *FORMATS[0])
            && let Some((what, at)) = newer(&kernel)
        {
            self.errors.push(ReadError::NeedsVersion { what, at, format: format.span });
        }
        kernel.has_lost_names = self.has_lost_names;
        kernel.has_lost_ids = self.has_lost_ids;
        Some(kernel)
    }

    fn parameter(&mut self, id: ValueId) -> Option<ParameterSyntax<'s>> {
        let fields = self.object(id, &PARAMETER)?;
        let name = self.string_field(&fields, "name");
        let dtype = self.field(&fields, "dtype");
        let dtype = dtype.and_then(|id| Some((self.dtype(id)?, self.tree.span(id))));
        let mut estimate = None;
        if let Some(id) = self.field(&fields, "estimate") {
            match self.tree.value(id) {
                Value::Number(text) if !text.contains(['.', 'e', 'E']) => {
                    estimate = self.number(text, self.tree.span(id)).map(|number| match number {
                        nestegg_ir::Number::Int(value) => value,
                        nestegg_ir::Number::Float(_) => {
                            unreachable!("a number without point or exponent is an integer")
                        }
                    });
                }
                _ => self.report_wrong("`estimate`", "an integer", id),
            }
        }
        self.finish(&fields);
        Some(ParameterSyntax { name: name?, dtype, estimate })
    }

    fn tags(&mut self, id: ValueId) -> Option<TagsSyntax<'s>> {
        let fields = self.object(id, &INAME)?;
        let name = self.string_field(&fields, "name");
        let mut tags = Vec::new();
        for word in self.strings_field(&fields, "tags", "a tag") {
            match InameTag::from_spelling(&word.text) {
                Some(tag) => tags.push((tag, word.span)),
                None => self.errors.push(ReadError::UnknownTag { word: shortened(&word.text), at: word.span }),
            }
        }
        self.finish(&fields);
        Some(TagsSyntax { name: name?, tags })
    }

    /// `may_be_open` says whether `null` may stand for the first size.
    fn array(
        &mut self,
        fields: &Fields<'t, 's>,
        nodes: &mut Nodes<'s>,
        may_be_open: bool,
    ) -> (Option<Name<'s>>, ArraySyntax<'s>) {
        let name = self.string_field(fields, "name");
        let (dtype, stored) = self
            .field(fields, "dtype")
            .and_then(|id| self.element_type(id))
            .map_or((None, None), |(a, b)| (Some(a), b));
        let shape = self.field(fields, "shape").and_then(|id| self.list(id, "`shape`"));
        let mut size = |(dim, &size): (usize, &ValueId)| match self.tree.value(size) {
            Value::Null if may_be_open && dim == 0 => nodes.push(NodeKind::Unstated, self.tree.span(size), &[]),
            _ => self.expression(size, nodes),
        };
        let shape = shape.map(|sizes| sizes.iter().enumerate().map(&mut size).collect());
        let placeholder = nameless(fields.span());
        (name, ArraySyntax { name: placeholder, dtype, stored, shape, kind: ArrayKindSyntax::Temporary })
    }

    fn argument(&mut self, id: ValueId, nodes: &mut Nodes<'s>) -> Option<ArraySyntax<'s>> {
        let fields = self.object(id, &ARGUMENT)?;
        let (name, array) = self.array(&fields, nodes, true);
        // What the access is matters to no other check than those of writes, which `readwrite` passes.
        let mut access = ArgumentAccess::ReadWrite;
        if let Some(word) = self.string_field(&fields, "access") {
            match ArgumentAccess::from_spelling(&word.text) {
                Some(known) => access = known,
                None => self.errors.push(ReadError::UnknownAccess { word: shortened(&word.text), at: word.span }),
            }
        }
        self.finish(&fields);
        Some(ArraySyntax { name: name?, kind: ArrayKindSyntax::Argument(access), ..array })
    }

    fn temporary(&mut self, id: ValueId, nodes: &mut Nodes<'s>) -> Option<ArraySyntax<'s>> {
        let fields = self.object(id, &TEMPORARY)?;
        let (name, mut array) = self.array(&fields, nodes, false);
        if let Some(id) = self.field(&fields, "initializer") {
            array.kind = ArrayKindSyntax::Table(self.table(id));
        }
        self.finish(&fields);
        Some(ArraySyntax { name: name?, ..array })
    }

    fn table(&mut self, root: ValueId) -> TableSyntax {
        let mut table = TableSyntax::default();
        let mut tasks = vec![Some(root)];
        while let Some(task) = tasks.pop() {
            let Some(id) = task else {
                table.items.push(TableItem::Close);
                continue;
            };
            let span = self.tree.span(id);
            let item = match self.tree.value(id) {
                Value::Array(_) => {
                    tasks.push(None);
                    tasks.extend(self.tree.items(id).iter().rev().map(|&item| Some(item)));
                    TableItem::Open(span)
                }
                Value::Number(text) => {
                    self.number(text, span).map_or(TableItem::Error, |number| TableItem::Number(number, span))
                }
                _ => {
                    self.report_wrong("an initializer", "nested lists of numbers", id);
                    TableItem::Error
                }
            };
            table.items.push(item);
        }
        table
    }

    fn substitution(&mut self, id: ValueId, nodes: &mut Nodes<'s>) -> Option<SubstitutionSyntax<'s>> {
        let fields = self.object(id, &SUBSTITUTION)?;
        let name = self.string_field(&fields, "name");
        let parameters = self.strings_field(&fields, "parameters", "a formal parameter");
        let expression = self.field(&fields, "expression").map(|id| self.expression(id, nodes));
        self.finish(&fields);
        let expression = expression.unwrap_or_else(|| missing(nodes, &fields));
        Some(SubstitutionSyntax { name: name?, parameters, expression })
    }

    fn instruction(&mut self, id: ValueId, nodes: &mut Nodes<'s>) -> Option<InstructionSyntax<'s>> {
        let mut fields = self.object(id, &INSTRUCTION)?;
        let id = self.string_field(&fields, "id");
        let kind_word = self.string_field(&fields, "kind");
        let within = self.strings_field(&fields, "within_inames", "an iname");
        let depends_on = self.strings_field(&fields, "depends_on", "an instruction id");
        let mut predicates = Vec::new();
        for &id in self.list_field(&fields, "predicates") {
            predicates.push(ConditionSyntax { node: self.expression(id, nodes), is_negated: false });
        }
        let kind = kind_word.map(|word| {
            if !fields.is_of_kind(&word.text) {
                self.errors.push(ReadError::UnknownKind { word: shortened(&word.text), at: word.span });
                return None;
            }
            self.kind(&word, &fields, nodes)
        });
        // Which fields an instruction of unknown kind has is unknown.
        if let Some(Some(_)) = kind {
            self.finish(&fields);
        }
        let kind = kind.flatten().unwrap_or(InstructionKindSyntax::Error);
        Some(InstructionSyntax { id: id?, kind, within, depends_on, predicates })
    }

    fn kind(
        &mut self,
        word: &Name<'s>,
        fields: &Fields<'t, 's>,
        nodes: &mut Nodes<'s>,
    ) -> Option<InstructionKindSyntax<'s>> {
        Some(match &*word.text {
            "assignment" => {
                let assignee = self.field(fields, "assignee").map(|id| self.expression(id, nodes));
                let expression = self.field(fields, "expression").map(|id| self.expression(id, nodes));
                InstructionKindSyntax::Assignment {
                    assignee: assignee.unwrap_or_else(|| missing(nodes, fields)),
                    expression: expression.unwrap_or_else(|| missing(nodes, fields)),
                }
            }
            "call" => {
                let assignees = self.list_field(fields, "assignees");
                let assignees = assignees.iter().map(|&id| self.expression(id, nodes)).collect();
                let function = self.string_field(fields, "function");
                let arguments = self.list_field(fields, "arguments");
                let arguments = arguments.iter().map(|&id| self.expression(id, nodes)).collect();
                match function {
                    Some(function) => InstructionKindSyntax::Call { assignees, function, arguments },
                    None => InstructionKindSyntax::Error,
                }
            }
            "opaque" => {
                let code = self.string_field(fields, "code").map(|code| code.text.into_owned()).unwrap_or_default();
                let reads = self.strings_field(fields, "reads", "a name");
                let writes = self.strings_field(fields, "writes", "a name");
                InstructionKindSyntax::Opaque { code, reads, writes }
            }
            _ => return None,
        })
    }

    fn item(&mut self, id: ValueId, nodes: &mut Nodes<'s>) -> Option<ItemSyntax<'s>> {
        let span = self.tree.span(id);
        let items = self.list(id, "an item of the linearization")?;
        let Some((&head, rest)) = items.split_first() else {
            self.report_wrong("an item of the linearization", "a list that begins with its kind", id);
            return None;
        };
        let word = self.string(head, "the kind of an item")?;
        let expected = match &*word.text {
            "for" | "end" => "one iname",
            "if" => "one condition",
            "run" => "one instruction id",
            "endif" => "nothing",
            _ => {
                self.errors.push(ReadError::UnknownItem { word: shortened(&word.text), at: word.span });
                return None;
            }
        };
        let kind = match (&*word.text, rest) {
            ("for", &[iname]) => ItemKindSyntax::For(self.string(iname, "an iname")?),
            ("end", &[iname]) => ItemKindSyntax::End(self.string(iname, "an iname")?),
            ("if", &[condition]) => {
                ItemKindSyntax::If(ConditionSyntax { node: self.expression(condition, nodes), is_negated: false })
            }
            ("endif", &[]) => ItemKindSyntax::EndIf,
            ("run", &[insn]) => ItemKindSyntax::Run(self.string(insn, "an instruction id")?),
            _ => {
                let what = format!("`{}`", word.text);
                let expected = expected.to_owned();
                self.errors.push(ReadError::WrongArity { what, expected, found: rest.len(), at: span });
                return None;
            }
        };
        Some(ItemSyntax { span, kind })
    }
}

/// Stands for a missing expression, which has been reported.
fn missing<'s>(nodes: &mut Nodes<'s>, fields: &Fields<'_, 's>) -> NodeId {
    nodes.push(crate::syntax::NodeKind::Error, fields.span(), &[])
}

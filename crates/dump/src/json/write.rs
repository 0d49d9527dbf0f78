//! Kernels as JSON: one line for each domain, array, substitution, instruction and item.

use std::fmt::Write as _;

use nestegg_ir::{
    Array, ArrayKind, Assignee, Dtype, ExprId, Instruction, InstructionKind, Item, Kernel, Number, Program,
};

use super::version::version;
use super::write_expr::write_expr;
use crate::share::{bounded, writable};

/// The dump of a kernel. Reading it gives the kernel again; the same kernel gives the same bytes.
///
/// An expression is written as the tree that its DAG stands for. Where that would be too deep to be read or much larger
/// than the DAG, sub-expressions are named by substitutions: an equal kernel, not the same.
#[must_use]
pub fn write_json(program: &Program) -> String {
    let program = &*bounded(program);
    let program = &*writable(program);
    let kernel = program.kernel();
    let mut writer = Writer { kernel, out: String::new() };
    writer.header();
    writer.arrays();
    writer.code();
    writer.linearization(program);
    writer.out
}

struct Writer<'k> {
    kernel: &'k Kernel,
    out: String,
}

impl<'k> Writer<'k> {
    fn header(&mut self) {
        let kernel = self.kernel;
        self.out.push_str("{\"format\": ");
        self.string(version(kernel));
        self.out.push_str(",\n\"name\": ");
        self.string(&kernel.name);
        if let Some(meta) = &kernel.meta {
            self.out.push_str(",\n\"meta\": ");
            self.out.push_str(meta);
        }
        let parameters: Vec<_> = kernel.stated_parameters().map(|id| &kernel[id]).collect();
        if !parameters.is_empty() {
            self.list("parameters", &parameters, |writer, parameter| {
                writer.out.push_str("{\"name\": ");
                writer.string(&parameter.name);
                writer.out.push_str(", \"dtype\": ");
                writer.string(parameter.dtype.name());
                if let Some(estimate) = parameter.estimate {
                    writer.out.push_str(", \"estimate\": ");
                    writer.out.push_str(&estimate.to_string());
                }
                writer.out.push('}');
            });
        }
        if let Some(assumptions) = &kernel.assumptions {
            self.out.push_str(",\n\"assumptions\": ");
            self.string(assumptions);
        }
        self.list("domains", &kernel.domains, |writer, domain| writer.string(&domain.text));
        let tagged: Vec<_> = kernel.inames.iter().filter(|iname| !iname.tags.is_empty()).collect();
        if !tagged.is_empty() {
            self.list("inames", &tagged, |writer, iname| {
                writer.out.push_str("{\"name\": ");
                writer.string(&iname.name);
                writer.out.push_str(", \"tags\": ");
                writer.inline(&iname.tags, |writer, tag| writer.string(tag.spelling()));
                writer.out.push('}');
            });
        }
    }

    fn arrays(&mut self) {
        let kernel = self.kernel;
        let (arguments, temporaries): (Vec<_>, Vec<_>) = kernel.arrays.iter().partition(|array| array.is_argument());
        self.list("arguments", &arguments, |writer, array| writer.array(array));
        self.list("temporaries", &temporaries, |writer, array| writer.array(array));
    }

    fn array(&mut self, array: &Array) {
        self.out.push_str("{\"name\": ");
        self.string(&array.name);
        self.out.push_str(", \"dtype\": ");
        self.string(array.type_name());
        self.out.push_str(", \"shape\": ");
        self.inline(&array.shape, |writer, &size| match writer.kernel.is_unstated(size) {
            true => writer.out.push_str("null"),
            false => writer.expr(size),
        });
        match &array.kind {
            ArrayKind::Argument(access) => {
                self.out.push_str(", \"access\": ");
                self.string(access.spelling());
            }
            ArrayKind::Temporary => self.out.push_str(", \"initializer\": null"),
            ArrayKind::Table(values) => {
                self.out.push_str(", \"initializer\": ");
                write_table(self.kernel, array, values, ",", &mut self.out);
            }
        }
        self.out.push('}');
    }

    fn code(&mut self) {
        let kernel = self.kernel;
        if !kernel.substitutions.is_empty() {
            self.list("substitutions", &kernel.substitutions, |writer, substitution| {
                writer.out.push_str("{\"name\": ");
                writer.string(&substitution.name);
                writer.out.push_str(", \"parameters\": ");
                writer.inline(&substitution.parameters, |writer, formal| writer.string(formal));
                writer.out.push_str(", \"expression\": ");
                write_expr(kernel, &substitution.parameters, substitution.expression, &mut writer.out);
                writer.out.push('}');
            });
        }
        self.list("instructions", &kernel.instructions, |writer, insn| writer.instruction(insn));
    }

    fn instruction(&mut self, insn: &Instruction) {
        let kernel = self.kernel;
        self.out.push_str("{\"id\": ");
        self.string(&insn.id);
        self.out.push_str(", \"kind\": ");
        self.string(match insn.kind {
            InstructionKind::Assignment { .. } => "assignment",
            InstructionKind::Call { .. } => "call",
            InstructionKind::Opaque { .. } => "opaque",
        });
        self.out.push_str(", \"within_inames\": ");
        self.inline(&insn.within, |writer, &iname| writer.string(&kernel[iname].name));
        self.out.push_str(", \"depends_on\": ");
        self.inline(&insn.depends_on, |writer, &other| writer.string(&kernel[other].id));
        self.out.push_str(", \"predicates\": ");
        self.inline(&insn.predicates, |writer, &predicate| writer.expr(predicate));
        match &insn.kind {
            InstructionKind::Assignment { assignee, expression } => {
                self.out.push_str(", \"assignee\": ");
                self.assignee(assignee);
                self.out.push_str(", \"expression\": ");
                self.expr(*expression);
            }
            InstructionKind::Call { assignees, function, arguments } => {
                self.out.push_str(", \"assignees\": ");
                self.inline(assignees, Self::assignee);
                self.out.push_str(", \"function\": ");
                self.string(&kernel[*function]);
                self.out.push_str(", \"arguments\": ");
                self.inline(arguments, |writer, &argument| writer.expr(argument));
            }
            InstructionKind::Opaque { code, reads, writes } => {
                self.out.push_str(", \"code\": ");
                self.string(code);
                self.out.push_str(", \"reads\": ");
                self.inline(reads, |writer, &array| writer.string(&kernel[array].name));
                self.out.push_str(", \"writes\": ");
                self.inline(writes, |writer, &array| writer.string(&kernel[array].name));
            }
        }
        self.out.push('}');
    }

    fn assignee(&mut self, assignee: &Assignee) {
        let name = &self.kernel[assignee.array].name;
        if assignee.indices.is_empty() {
            self.string(name);
            return;
        }
        self.out.push_str("[\"[]\",");
        self.string(name);
        for &index in &assignee.indices {
            self.out.push(',');
            self.expr(index);
        }
        self.out.push(']');
    }

    fn linearization(&mut self, program: &Program) {
        let kernel = self.kernel;
        match program.linearization() {
            None => self.out.push_str(",\n\"linearization\": null"),
            Some(items) => self.list("linearization", items, |writer, item| {
                let (word, name) = match item {
                    Item::For(iname) => ("for", Some(&kernel[*iname].name)),
                    Item::End(iname) => ("end", Some(&kernel[*iname].name)),
                    Item::If(_) => ("if", None),
                    Item::EndIf => ("endif", None),
                    Item::Run(insn) => ("run", Some(&kernel[*insn].id)),
                };
                writer.out.push('[');
                writer.string(word);
                if let Some(name) = name {
                    writer.out.push(',');
                    writer.string(name);
                }
                if let Item::If(condition) = item {
                    writer.out.push(',');
                    writer.expr(*condition);
                }
                writer.out.push(']');
            }),
        }
        self.out.push_str("}\n");
    }

    fn expr(&mut self, id: ExprId) {
        write_expr(self.kernel, &[], id, &mut self.out);
    }

    fn string(&mut self, text: &str) {
        quoted(text, &mut self.out);
    }

    /// A field that is a list with one line for each item.
    fn list<T>(&mut self, field: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        let _ = write!(self.out, ",\n\"{field}\": [");
        for (idx, item) in items.iter().enumerate() {
            self.out.push_str(if idx == 0 { "\n  " } else { ",\n  " });
            write(self, item);
        }
        self.out.push(']');
    }

    /// A list on one line.
    fn inline<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.out.push('[');
        for (idx, item) in items.iter().enumerate() {
            if idx > 0 {
                self.out.push(',');
            }
            write(self, item);
        }
        self.out.push(']');
    }
}

/// A JSON string.
pub(crate) fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The sizes of a table. Sizes of tables are literal; a size that is none counts as one.
fn table_shape(kernel: &Kernel, array: &Array) -> Vec<usize> {
    let size = |&id: &ExprId| match kernel.exprs[id] {
        nestegg_ir::Expr::Number(Number::Int(size)) => usize::try_from(size).unwrap_or(1),
        _ => 1,
    };
    array.shape.iter().map(size).collect()
}

/// The values of a table as nested lists, row-major; a scalar is its value alone.
pub(crate) fn write_table(kernel: &Kernel, array: &Array, values: &[Number], separator: &str, out: &mut String) {
    let shape = table_shape(kernel, array);
    let is_single = array.dtype == Dtype::Float32;
    for (idx, value) in values.iter().enumerate() {
        // How many of the innermost lists begin before this value, and end after it.
        let boundary = |at: usize| {
            let mut size = 1;
            shape
                .iter()
                .rev()
                .take_while(|&&extent| {
                    size *= extent.max(1);
                    at.is_multiple_of(size)
                })
                .count()
        };
        if idx > 0 {
            out.push_str(separator);
        }
        (0..boundary(idx)).for_each(|_| out.push('['));
        out.push_str(&if is_single { value.single_digits() } else { value.to_string() });
        (0..boundary(idx + 1)).for_each(|_| out.push(']'));
    }
}

//! Kernels as text.

use std::fmt::Write as _;

use nestegg_ir::{
    Array, ArrayKind, Assignee, ExprId, InameId, Instruction, InstructionKind, Item, Kernel, Linearization, Program,
};

use super::write_expr::write_expr;
use crate::json::{quoted, write_table};
use crate::share::{bounded, writable};

/// Spaces for each block that is open.
const INDENT: usize = 2;

/// The text form of a kernel. Reading it gives the kernel again; the same kernel gives the same bytes.
///
/// Instructions without linearization stand in `for` blocks that share what inames neighbours begin with. As in
/// JSON, expressions are written as trees, with names for sub-expressions where those would be too deep or too large.
#[must_use]
pub fn write_text(program: &Program) -> String {
    let program = &*bounded(program);
    let program = &*writable(program);
    let kernel = program.kernel();
    let mut writer = Writer { kernel, out: String::new(), depth: 0 };
    writer.out.push_str("kernel ");
    writer.out.push_str(&kernel.name);
    writer.out.push_str(if program.linearization().is_some() { " linearized\n" } else { "\n" });
    writer.declarations();
    match program.linearization() {
        None => writer.unordered(),
        Some(items) => writer.linearized(items),
    }
    writer.out
}

struct Writer<'k> {
    kernel: &'k Kernel,
    out: String,
    /// How many blocks are open.
    depth: usize,
}

impl<'k> Writer<'k> {
    fn declarations(&mut self) {
        let kernel = self.kernel;
        if let Some(meta) = &kernel.meta {
            let _ = writeln!(self.out, "meta {meta}");
        }
        for parameter in kernel.stated_parameters().map(|id| &kernel[id]) {
            let _ = write!(self.out, "param {} : {}", parameter.name, parameter.dtype);
            if let Some(estimate) = parameter.estimate {
                let _ = write!(self.out, " = {estimate}");
            }
            self.out.push('\n');
        }
        if let Some(assumptions) = &kernel.assumptions {
            self.raw("assume ", assumptions);
        }
        for domain in &kernel.domains {
            self.raw("domain ", &domain.text);
        }
        for array in &kernel.arrays {
            self.array(array);
        }
        for iname in kernel.inames.iter().filter(|iname| !iname.tags.is_empty()) {
            let tags: Vec<&str> = iname.tags.iter().map(|tag| tag.spelling()).collect();
            let _ = writeln!(self.out, "tag {} {}", iname.name, tags.join(", "));
        }
        for substitution in &kernel.substitutions {
            self.out.push_str(&substitution.name);
            if !substitution.parameters.is_empty() {
                let _ = write!(self.out, "({})", substitution.parameters.join(", "));
            }
            self.out.push_str(" := ");
            write_expr(kernel, &substitution.parameters, substitution.expression, &mut self.out);
            self.out.push('\n');
        }
    }

    /// A set in isl's notation, as it is if that can be read back.
    fn raw(&mut self, keyword: &str, text: &str) {
        self.out.push_str(keyword);
        let begins_like_one = text.starts_with(['{', '[']);
        if begins_like_one && text == text.trim_end() && !text.contains(['\n', '\r', '#', '"']) {
            self.out.push_str(text);
        } else {
            quoted(text, &mut self.out);
        }
        self.out.push('\n');
    }

    fn array(&mut self, array: &Array) {
        let keyword = match array.kind {
            ArrayKind::Argument(_) => "arg",
            ArrayKind::Temporary => "temp",
            ArrayKind::Table(_) => "table",
        };
        let _ = write!(self.out, "{keyword} {} : {}", array.name, array.type_name());
        if !array.shape.is_empty() {
            self.list("[", &array.shape, "]");
        }
        match &array.kind {
            ArrayKind::Argument(access) => {
                self.out.push(' ');
                self.out.push_str(access.spelling());
            }
            ArrayKind::Temporary => {}
            ArrayKind::Table(values) => {
                self.out.push_str(" = ");
                write_table(self.kernel, array, values, ", ", &mut self.out);
            }
        }
        self.out.push('\n');
    }

    fn unordered(&mut self) {
        let kernel = self.kernel;
        // The blocks that are open, and the inames that they hold together.
        let mut blocks: Vec<usize> = Vec::new();
        let mut open: Vec<InameId> = Vec::new();
        for insn in &kernel.instructions {
            while !insn.within.starts_with(&open) {
                let n_inames = blocks.pop().unwrap_or_default();
                open.truncate(open.len() - n_inames);
                self.end();
            }
            if open.len() < insn.within.len() {
                self.open_loop(&insn.within[open.len()..]);
                blocks.push(insn.within.len() - open.len());
                open.clone_from(&insn.within);
            }
            self.instruction(insn, &open);
        }
        for _ in blocks {
            self.end();
        }
    }

    fn linearized(&mut self, items: &Linearization) {
        let kernel = self.kernel;
        let runs: Vec<usize> = items
            .iter()
            .filter_map(|item| if let Item::Run(insn) = item { Some(insn.index()) } else { None })
            .collect();
        if !runs.is_sorted() {
            self.out.push_str("order ");
            for (idx, insn) in kernel.instructions.iter().enumerate() {
                if idx > 0 {
                    self.out.push_str(", ");
                }
                self.id(&insn.id);
            }
            self.out.push('\n');
        }
        let ends = ends(items);
        let mut open: Vec<InameId> = Vec::new();
        // For each open block, how many ends it stands for.
        let mut skipped = vec![false; items.len()];
        let mut item_idx = 0;
        while item_idx < items.len() {
            match items[item_idx] {
                Item::For(iname) => {
                    let mut inames = vec![iname];
                    // Loops that open together and close together are one block.
                    while let (Some(end), Some(Item::For(inner))) = (ends[item_idx], items.get(item_idx + 1))
                        && ends[item_idx + 1] == Some(end - 1)
                    {
                        inames.push(*inner);
                        skipped[end] = true;
                        item_idx += 1;
                    }
                    self.open_loop(&inames);
                    open.extend(inames);
                }
                Item::End(_) => {
                    open.pop();
                    if !skipped[item_idx] {
                        self.end();
                    }
                }
                Item::If(condition) => {
                    self.indent();
                    self.out.push_str("if ");
                    self.expr(condition);
                    self.out.push('\n');
                    self.depth += 1;
                }
                Item::EndIf => self.end(),
                Item::Run(insn) => self.instruction(&kernel[insn], &open),
            }
            item_idx += 1;
        }
    }

    fn open_loop(&mut self, inames: &[InameId]) {
        self.indent();
        self.out.push_str("for ");
        self.names(inames, ", ");
        self.out.push('\n');
        self.depth += 1;
    }

    fn end(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.indent();
        self.out.push_str("end\n");
    }

    /// Writes an instruction that stands inside blocks over the inames `open`.
    fn instruction(&mut self, insn: &Instruction, open: &[InameId]) {
        let kernel = self.kernel;
        self.indent();
        match &insn.kind {
            InstructionKind::Assignment { assignee, expression } => {
                self.assignee(assignee);
                self.out.push_str(" = ");
                self.expr(*expression);
            }
            InstructionKind::Call { assignees, function, arguments } => {
                for (idx, assignee) in assignees.iter().enumerate() {
                    if idx > 0 {
                        self.out.push(' ');
                    }
                    self.assignee(assignee);
                    if idx + 1 < assignees.len() || idx == 0 {
                        self.out.push(',');
                    }
                }
                self.out.push_str(" = ");
                self.out.push_str(&kernel[*function]);
                self.list("(", arguments, ")");
            }
            InstructionKind::Opaque { code, reads, writes } => {
                self.out.push_str("code ");
                if code.contains('\n')
                    && !code.contains(['\r', '\0'])
                    && !code.contains("\"\"\"")
                    && !code.ends_with('"')
                {
                    let _ = write!(self.out, "\"\"\"{code}\"\"\"");
                } else {
                    quoted(code, &mut self.out);
                }
                for (word, arrays) in [(" reads ", reads), (" writes ", writes)] {
                    for (idx, &array) in arrays.iter().enumerate() {
                        self.out.push_str(if idx == 0 { word } else { ", " });
                        self.out.push_str(&kernel[array].name);
                    }
                }
            }
        }
        self.out.push_str("  {id=");
        self.id(&insn.id);
        for (idx, &other) in insn.depends_on.iter().enumerate() {
            self.out.push_str(if idx == 0 { ", dep=" } else { ":" });
            self.id(&kernel[other].id);
        }
        for (idx, &predicate) in insn.predicates.iter().enumerate() {
            self.out.push_str(if idx == 0 { ", if=" } else { ":" });
            self.expr(predicate);
        }
        if insn.within != open && !insn.within.is_empty() {
            self.out.push_str(", inames=");
            self.names(&insn.within, ":");
        }
        self.out.push_str("}\n");
    }

    fn assignee(&mut self, assignee: &Assignee) {
        self.out.push_str(&self.kernel[assignee.array].name);
        if !assignee.indices.is_empty() {
            self.list("[", &assignee.indices, "]");
        }
    }

    fn list(&mut self, open: &str, exprs: &[ExprId], close: &str) {
        self.out.push_str(open);
        for (idx, &expr) in exprs.iter().enumerate() {
            if idx > 0 {
                self.out.push_str(", ");
            }
            match self.kernel.is_unstated(expr) {
                true => self.out.push('*'),
                false => self.expr(expr),
            }
        }
        self.out.push_str(close);
    }

    fn names(&mut self, inames: &[InameId], separator: &str) {
        for (idx, &iname) in inames.iter().enumerate() {
            if idx > 0 {
                self.out.push_str(separator);
            }
            self.out.push_str(&self.kernel[iname].name);
        }
    }

    fn expr(&mut self, id: ExprId) {
        write_expr(self.kernel, &[], id, &mut self.out);
    }

    fn id(&mut self, id: &str) {
        let is_word = !id.starts_with(|c: char| c.is_ascii_digit())
            && !id.is_empty()
            && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_word {
            self.out.push_str(id);
        } else {
            quoted(id, &mut self.out);
        }
    }

    fn indent(&mut self) {
        for _ in 0..self.depth * INDENT {
            self.out.push(' ');
        }
    }
}

/// For each item that opens a block, the item that closes it.
fn ends(items: &Linearization) -> Vec<Option<usize>> {
    let mut res = vec![None; items.len()];
    let mut open = Vec::new();
    for (item_idx, item) in items.iter().enumerate() {
        match item {
            Item::For(_) | Item::If(_) => open.push(item_idx),
            Item::End(_) | Item::EndIf => {
                if let Some(start) = open.pop() {
                    res[start] = Some(item_idx);
                }
            }
            Item::Run(_) => {}
        }
    }
    res
}

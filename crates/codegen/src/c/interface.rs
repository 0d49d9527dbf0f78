//! The function's prototype and its header.
//!
//! Parameters come first, then the arguments, each in the kernel's order. Sizes and read-only scalars are passed by value;
//! everything else by pointer, arrays row-major in one piece. The function always returns an `int`, 0 or 1 where memory for
//! temporaries is short: which temporaries there are depends on the strategy, and a caller is not to know. The header is C and C++.

use std::fmt::Write;

use nestegg_ir::{ArgumentAccess, Array, ArrayId, ArrayKind, Dtype, Stored};

use super::arrays::{Extent, Storage};
use super::layout::{comment, harmless};
use super::text::{stored_name, stored_type};
use super::writer::Writer;

/// Prototype and header of one function.
pub(crate) struct Interface<'w, 'k> {
    writer: &'w Writer<'k>,
}

impl<'w, 'k> Interface<'w, 'k> {
    /// The interface of a kernel.
    pub(crate) fn new(writer: &'w Writer<'k>) -> Self {
        Self { writer }
    }

    /// `int name(…)` over several lines; `definition` adds what only the function itself needs to know.
    pub(crate) fn prototype(&self, definition: bool) -> String {
        let kernel = self.writer.kernel;
        let constant = if definition { "const " } else { "" };
        let mut list: Vec<String> = kernel
            .stated_parameters()
            .map(|id| format!("{constant}{} {}", kernel[id].dtype.c_name(), self.writer.symbols.parameter(id)))
            .collect();
        list.extend(kernel.arguments().map(|id| self.argument(id, definition)));
        if list.is_empty() {
            list.push("void".to_owned());
        }
        let function = &self.writer.symbols.function;
        format!("int {function}(\n    {})", list.join(",\n    "))
    }

    fn argument(&self, id: ArrayId, definition: bool) -> String {
        let array = &self.writer.kernel[id];
        let (kind, name) = (&array.kind, &self.writer.symbols.arrays[id.index()]);
        let ty = stored_name(array);
        if self.writer.arrays.layout(id).storage == Storage::Variable {
            return if definition { format!("const {ty} {name}") } else { format!("{ty} {name}") };
        }
        let constant = if *kind == ArrayKind::Argument(ArgumentAccess::Read) { "const " } else { "" };
        let restrict = if definition { "restrict " } else { "" };
        format!("{constant}{ty} *{restrict}{name}")
    }

    /// The header's text.
    pub(crate) fn header(&self, title: &str) -> String {
        header(&self.writer.symbols.function, title, &[&self.declarations()])
    }

    /// The declaration with what a caller must know.
    pub(crate) fn declarations(&self) -> String {
        let mut out = String::new();
        comment("", &self.description(), &mut out);
        let _ = write!(out, "{};\n\n", self.prototype(false));
        out
    }

    /// What a caller must know.
    fn description(&self) -> String {
        let kernel = self.writer.kernel;
        let mut lines = vec!["Sizes first, then the arguments in the kernel's order.".to_owned()];
        for id in kernel.stated_parameters() {
            lines.push(format!("  {}: size, {}", self.writer.symbols.parameter(id), kernel[id].dtype));
        }
        for id in kernel.arguments() {
            lines.push(format!("  {}: {}", self.writer.symbols.arrays[id.index()], self.describe(id)));
        }
        for ((name, _), text) in self.writer.arrays.extents.iter().zip(&self.writer.arrays.extent_texts) {
            lines.push(format!("  where {name} is {text}"));
        }
        if let Some(assumptions) = &kernel.assumptions {
            lines.push(format!("Sizes must satisfy {assumptions}."));
        }
        lines.push("Arrays are row-major, in one piece; no two pointers may overlap.".to_owned());
        lines.push("Returns 0, or 1 if there is not enough memory; then nothing is written.".to_owned());
        lines.join("\n")
    }

    fn describe(&self, id: ArrayId) -> String {
        let array = &self.writer.kernel[id];
        let Array { kind, shape, .. } = array;
        let dtype = array.type_name();
        let access = match kind {
            ArrayKind::Argument(ArgumentAccess::Read) => "read",
            ArrayKind::Argument(ArgumentAccess::Write) => "written",
            ArrayKind::Argument(ArgumentAccess::ReadWrite) => "read and written",
            ArrayKind::Temporary | ArrayKind::Table(_) => "local",
        };
        if shape.is_empty() {
            return format!("{dtype}, {access}");
        }
        format!("{dtype}[{}], {access}", self.shape(id))
    }

    /// The sizes of an array, separated by commas.
    pub(crate) fn shape(&self, id: ArrayId) -> String {
        let extents = self.writer.arrays.layout(id).extents.iter();
        let sizes: Vec<String> = extents
            .map(|extent| match extent {
                Extent::Number(size) => size.to_string(),
                Extent::Text(text) => text.text.clone(),
                Extent::Unstated => "?".to_owned(),
            })
            .collect();
        harmless(&sizes.join(", "))
    }
}

/// The text of a header with declarations.
pub(crate) fn header(function: &str, title: &str, declarations: &[&str]) -> String {
    let guard = format!("NESTEGG_{}_H", function.to_uppercase());
    let declarations = declarations.concat();
    let mut out = String::new();
    comment("", title, &mut out);
    let _ = write!(out, "#ifndef {guard}\n#define {guard}\n\n");
    out.push_str(&includes(&declarations));
    out.push_str("#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    out.push_str(&declarations);
    out.push_str("#ifdef __cplusplus\n}\n#endif\n\n");
    let _ = writeln!(out, "#endif /* {guard} */");
    out
}

/// The headers that types in a text need.
pub(crate) fn includes(text: &str) -> String {
    let mut res = String::new();
    let uses = |word: &str| super::names::identifiers(text).any(|used| used == word);
    if uses(Dtype::Bool.c_name()) {
        res.push_str("#include <stdbool.h>\n");
    }
    let stored = Stored::ALL.map(stored_type);
    let integers = [Dtype::Int32.c_name(), Dtype::Int64.c_name()];
    if integers.into_iter().chain(stored.iter().map(String::as_str)).any(uses) {
        res.push_str("#include <stdint.h>\n");
    }
    if !res.is_empty() {
        res.push('\n');
    }
    res
}

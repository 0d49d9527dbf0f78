//! Puts the source together: includes, helper functions, tables, the function with its declarations and statements.
//!
//! # Input
//! The statements, already written, and the declarations of temporaries.
//! # Output
//! [`CText`]. Only what the statements mention is there: helper functions, headers, tables.
//! # Complexity
//! Linear in the text.

use std::fmt::Write;

use nestegg_ir::{ArrayId, ArrayKind, Expr, ExprId, Kernel};
use rustc_hash::FxHashSet;

use super::arrays::{Extent, Storage, n_elements_text};
use super::interface::Interface;
use super::layout::{self, Code};
use super::names::identifiers;
use super::statements::Temporaries;
use super::temporaries::Place;
use super::text::{Precedence, Text, type_name};
use super::writer::Writer;
use super::{CText, facts, literal, loops, math};

/// The parts of the text in their order.
pub(crate) fn assemble(
    writer: &Writer<'_>,
    temporaries: &Temporaries,
    extents: Vec<Code>,
    statements: Vec<Code>,
) -> CText {
    let kernel = writer.kernel;
    let heap: Vec<ArrayId> = temporaries
        .declarations
        .keys()
        .copied()
        .filter(|&id| writer.arrays.layout(id).storage == Storage::Heap)
        .collect();
    let interface = Interface::new(writer);
    let mut statement_text = String::new();
    layout::print(&statements, 1, &mut statement_text);
    let mut body = extents;
    body.extend(declared_at_top(writer, temporaries));
    body.extend(allocations(writer, temporaries, &heap));
    let mut body_text = String::new();
    layout::print(&body, 1, &mut body_text);
    body_text.push_str(&statement_text);
    let used: FxHashSet<&str> = identifiers(&body_text).collect();
    let mut text = String::new();
    for id in kernel.array_ids() {
        if kernel[id].table().is_some() && used.contains(writer.symbols.arrays[id.index()].as_str()) {
            table(writer, temporaries, id, &mut text);
        }
    }
    let _ = write!(text, "{}\n{{\n", interface.prototype(true));
    for name in unused(writer, &used) {
        let _ = writeln!(text, "    (void){name};");
    }
    text.push_str(&body_text);
    for &id in heap.iter().rev() {
        let _ = writeln!(text, "    free({});", writer.symbols.arrays[id.index()]);
    }
    text.push_str("    return 0;\n}\n");
    let title = title(kernel);
    let source = format!("{}{text}", preamble(writer, &title, &text, !heap.is_empty()));
    CText {
        source,
        header: interface.header(&title),
        symbol: writer.symbols.function.clone(),
        prototype: interface.prototype(false),
        externals: writer.signatures.clone(),
    }
}

fn title(kernel: &Kernel) -> String {
    format!("Kernel {}, written by nestegg.", kernel.name)
}

/// Silences what compilers say of conditions that never hold.
const QUIET: &str = "\
/* A condition of the kernel may be known to hold or not: that is no mistake. */
#if defined(__clang__)
#pragma clang diagnostic ignored \"-Wtautological-compare\"
#elif defined(__GNUC__)
#pragma GCC diagnostic ignored \"-Wtautological-compare\"
#endif
";

/// Whether some expression is compared with several literals, so that a condition may contradict itself.
fn compares_twice(kernel: &Kernel) -> bool {
    let mut compared: FxHashSet<ExprId> = FxHashSet::default();
    kernel.exprs.iter().any(|(_, expr)| match expr {
        Expr::Op { op, operands } if op.is_comparison() => {
            let is_literal = |id: ExprId| facts::literal_of(kernel, id).is_some();
            match (is_literal(operands[0]), is_literal(operands[1])) {
                (false, true) => !compared.insert(operands[0]),
                (true, false) => !compared.insert(operands[1]),
                _ => false,
            }
        }
        _ => false,
    })
}

/// Comment, includes, helper functions, and prototypes of functions that others define.
fn preamble(writer: &Writer<'_>, title: &str, text: &str, uses_heap: bool) -> String {
    let mut helpers = String::new();
    for helper in &writer.helpers.0 {
        helpers.push_str(&helper.definition());
        helpers.push('\n');
    }
    let mut prototypes = String::new();
    for (name, signature) in &writer.signatures {
        prototypes.push_str(&signature.prototype(name));
    }
    let all = format!("{helpers}{prototypes}{text}");
    let words: FxHashSet<&str> = identifiers(&all).collect();
    let mut out = String::new();
    layout::comment("", title, &mut out);
    let mathematical = |word: &&str| {
        let stem = word.strip_suffix('f').unwrap_or(word);
        math::is_standard(word) || math::is_standard(stem) || matches!(*word, "INFINITY" | "NAN")
    };
    if words.iter().any(mathematical) {
        out.push_str("#include <math.h>\n");
    }
    if words.contains("bool") || words.contains("true") || words.contains("false") {
        out.push_str("#include <stdbool.h>\n");
    }
    out.push_str("#include <stdint.h>\n");
    if uses_heap {
        out.push_str("#include <stdlib.h>\n");
    }
    out.push('\n');
    if compares_twice(writer.kernel) {
        out.push_str(QUIET);
        out.push('\n');
    }
    if words.contains(loops::UNROLL) {
        out.push_str(loops::MARKS);
        out.push('\n');
    }
    out.push_str(&helpers);
    if !prototypes.is_empty() {
        out.push_str("/* Defined elsewhere. */\n");
        out.push_str(&prototypes);
        out.push('\n');
    }
    out
}

/// Parameters and arguments that the body does not mention.
fn unused<'a>(writer: &'a Writer<'_>, used: &FxHashSet<&str>) -> Vec<&'a str> {
    let parameters = writer.symbols.parameters.iter().map(String::as_str);
    let arguments = writer.kernel.arguments().map(|id| writer.symbols.arrays[id.index()].as_str());
    parameters.chain(arguments).filter(|name| !used.contains(name)).collect()
}

/// A constant table.
fn table(writer: &Writer<'_>, temporaries: &Temporaries, id: ArrayId, out: &mut String) {
    let array = &writer.kernel[id];
    let ArrayKind::Table(values) = &array.kind else { return };
    let name = &writer.symbols.arrays[id.index()];
    if let Some((note, _)) = temporaries.notes.get(&id) {
        layout::comment("", note, out);
    }
    let sizes: Vec<i64> = sizes(writer, id);
    let dims: String = sizes.iter().map(|size| format!("[{size}]")).collect();
    let literals = values.iter().map(|&value| literal::literal(value, array.dtype).text);
    let mut texts: Vec<String> = literals.collect();
    if texts.is_empty() {
        texts.push("0".to_owned());
    }
    for &size in sizes.iter().rev() {
        let size = usize::try_from(size).unwrap_or(1).max(1);
        let rows = texts.chunks(size).map(|row| format!("{{{}}}", row.join(", ")));
        texts = rows.collect();
    }
    let line = format!("static const {} {name}{dims} = {};", type_name(array.dtype), texts.join(", "));
    layout::print(&[Code::Line(line)], 0, out);
    out.push('\n');
}

/// The sizes of an array of C: numbers, at least 1 each, as C demands.
fn sizes(writer: &Writer<'_>, id: ArrayId) -> Vec<i64> {
    let extents = writer.arrays.layout(id).extents.iter();
    extents
        .map(|extent| match extent {
            Extent::Number(size) => (*size).max(1),
            Extent::Text(_) => 1,
        })
        .collect()
}

/// Scalars and C arrays that are declared at the top of the function.
fn declared_at_top(writer: &Writer<'_>, temporaries: &Temporaries) -> Vec<Code> {
    let mut res = Vec::new();
    for (&id, declared) in &temporaries.declarations {
        let storage = writer.arrays.layout(id).storage;
        if declared.place != Place::Top || storage == Storage::Heap {
            continue;
        }
        let array = &writer.kernel[id];
        let name = &writer.symbols.arrays[id.index()];
        res.extend(temporaries.notes.get(&id).map(|(note, _)| Code::Comment(note.clone())));
        if storage == Storage::Nested {
            let dims: String = sizes(writer, id).iter().map(|size| format!("[{size}]")).collect();
            let start = if declared.is_conditional { " = {0}" } else { "" };
            res.push(Code::line(format!("{} {name}{dims}{start};", type_name(array.dtype))));
        } else {
            let zero = literal::literal(nestegg_ir::Number::Int(0), array.dtype);
            res.push(Code::line(format!("{} {name} = {};", type_name(array.dtype), zero.text)));
        }
        if !declared.is_read {
            res.push(Code::line(format!("(void){name};")));
        }
    }
    res
}

/// Memory for the large temporaries; the function returns 1 if there is not enough.
fn allocations(writer: &Writer<'_>, temporaries: &Temporaries, heap: &[ArrayId]) -> Vec<Code> {
    let mut res = Vec::new();
    let mut taken: Vec<&str> = Vec::new();
    for &id in heap {
        let name = writer.symbols.arrays[id.index()].as_str();
        let ty = type_name(writer.kernel[id].dtype);
        res.extend(temporaries.notes.get(&id).map(|(note, _)| Code::Comment(note.clone())));
        let count = Text::primary(n_elements_text(&writer.arrays.layout(id).extents)).at_least(Precedence::Primary);
        // One element more: a request for nothing may be answered by a null pointer.
        let request = match temporaries.declarations[&id].is_conditional {
            true => format!("calloc({count} + 1, sizeof({ty}))"),
            false => format!("malloc(({count} + 1)*sizeof({ty}))"),
        };
        res.push(Code::line(format!("{ty} *restrict {name} = {request};")));
        let mut body: Vec<Code> = taken.iter().rev().map(|name| Code::line(format!("free({name});"))).collect();
        body.push(Code::line("return 1;"));
        res.push(Code::Block { head: format!("if (!{name})"), body });
        taken.push(name);
    }
    res
}

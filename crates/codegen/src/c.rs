//! C11: one function for a linearized kernel, with its header.
//!
//! # Input
//! A verified [`LinearizedKernel`]. Substitution rules are inlined as sharing first.
//! # Output
//! [`CText`]: a source that compiles without warnings under `-std=c11 -Wall -Wextra -Wpedantic -Wconversion` with gcc and
//! clang, and a header for C and C++. The function runs the kernel's loops, conditions and instructions in
//! their order, and evaluates exactly what they evaluate: operations keep their order and dtypes, and no
//! operand of a selection or condition is evaluated that the kernel would not evaluate.
//! # Method
//! [`plan`] decides where each operation is computed, [`evaluate`] writes locals, [`loops`] takes bounds from isl, [`statements`]
//! follows the linearization, [`interface`] writes prototype and header. Names are the kernel's own where C
//! allows.
//! # Complexity
//! Linear in the operations of the instructions, plus isl's work for each distinct loop.
//! # Not done
//! Nothing is optimized: no loop is moved, no operation rewritten. `parallel` is only a comment. Inames that an inlined
//! rule binds are not renamed.

use std::collections::BTreeMap;
use std::fmt::Write;

use indexmap::IndexMap;
use nestegg_ir::inline::inline_substitutions;
use nestegg_ir::linearization::to_tree;
use nestegg_ir::{ArrayId, ArrayKind, Expr, ExprId, Item, Kernel, LinearizedKernel};
use rustc_hash::{FxHashMap, FxHashSet};

mod arrays;
mod error;
mod evaluate;
mod facts;
pub mod harness;
mod helpers;
mod interface;
mod layout;
mod literal;
mod loops;
mod math;
mod names;
mod operation;
mod plan;
mod statements;
mod symbols;
mod temporaries;
mod text;
mod writer;

pub use error::CodegenError;

use arrays::{Storage, n_elements_text};
use interface::Interface;
use layout::Code;
use names::identifiers;
use plan::ROOT;
use statements::Temporaries;
use temporaries::{Declaration, Place};
use text::{Precedence, Text, type_name};
use writer::{Signature, Writer};

/// How a kernel is written as C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct COptions {
    /// What is said of temporaries and tables, by their names in the kernel; others get a note of their dtype and definition.
    pub notes: BTreeMap<String, String>,
    /// The function's name; `None` is the kernel's name.
    pub symbol: Option<String>,
}

/// A kernel as C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CText {
    /// The text of the `.c` file, complete in itself.
    pub source: String,
    /// The text of the `.h` file, complete in itself.
    pub header: String,
    /// The function's name.
    pub symbol: String,
    /// The function's declaration, without the semicolon.
    pub prototype: String,
    /// Whether the function returns an `int`: 0, or 1 if there is not enough memory.
    pub can_fail: bool,
    /// Functions that the text calls and neither it nor C defines.
    pub(crate) externals: IndexMap<String, Signature>,
}

impl CText {
    /// The names of the functions that the text calls and neither it nor C defines: to be linked with it.
    pub fn externals(&self) -> impl Iterator<Item = &str> {
        self.externals.keys().map(String::as_str)
    }
}

/// The C of a kernel.
///
/// # Errors
/// If isl cannot give the bounds of a loop, a name is no identifier, functions are called inconsistently, or the kernel
/// exceeds a limit of C compilers.
///
/// ```
/// use std::collections::BTreeMap;
/// use nestegg_codegen::c::{COptions, emit};
/// use nestegg_ir::LinearizedKernel;
///
/// let mut empty = LinearizedKernel::default();
/// empty.kernel.name = "nothing".to_owned();
/// let text = emit(&empty, &COptions { notes: BTreeMap::new(), symbol: None })?;
/// assert!(text.header.contains("void nothing(\n    void);"));
/// # Ok::<(), nestegg_codegen::c::CodegenError>(())
/// ```
pub fn emit(kernel: &LinearizedKernel, options: &COptions) -> Result<CText, CodegenError> {
    let LinearizedKernel { kernel, linearization } = without_rules(kernel)?;
    let tree = to_tree(&linearization)?;
    let declarations = temporaries::declarations(&kernel, &tree);
    let mut writer = Writer::new(&kernel, &linearization, options.symbol.as_deref())?;
    let temporaries = Temporaries { notes: notes(&writer, options, &declarations), declarations };
    let extents = extents(&mut writer)?;
    let statements = writer.statements(&tree, &temporaries, &mut Vec::new())?;
    Ok(assemble(&writer, &temporaries, extents, statements))
}

/// The kernel without substitution rules, and without expressions that nothing uses.
fn without_rules(kernel: &LinearizedKernel) -> Result<LinearizedKernel, CodegenError> {
    let mut res = kernel.clone();
    let mut conditions = conditions(&mut res.linearization);
    inline_substitutions(&mut res.kernel, &mut conditions)?;
    let mut roots: Vec<&mut ExprId> = conditions;
    let shapes = res.kernel.arrays.iter_mut().flat_map(|array| &mut array.shape);
    roots.extend(shapes);
    let old = std::mem::take(&mut res.kernel.exprs);
    let of_instructions = res.kernel.instructions.iter().flat_map(|instruction| instruction.expressions());
    let used = old.reachable(of_instructions.chain(roots.iter().map(|root| **root)));
    let mut map: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for id in used {
        let mut expr = old[id].clone();
        for child in expr.children_mut() {
            *child = map[child];
        }
        map.insert(id, res.kernel.exprs.intern(expr));
    }
    for root in roots {
        *root = map[root];
    }
    for instruction in &mut res.kernel.instructions {
        instruction.map_expressions(|id| map[&id]);
    }
    Ok(res)
}

/// The conditions of a linearization.
fn conditions(items: &mut [Item]) -> Vec<&mut ExprId> {
    items
        .iter_mut()
        .filter_map(|item| match item {
            Item::If(condition) => Some(condition),
            _ => None,
        })
        .collect()
}

/// Notes on the temporaries and tables, and whether each was given.
fn notes(
    writer: &Writer<'_>,
    options: &COptions,
    declarations: &BTreeMap<ArrayId, Declaration>,
) -> BTreeMap<ArrayId, (String, bool)> {
    let kernel = writer.kernel;
    let mut definitions: BTreeMap<ArrayId, Vec<&str>> = BTreeMap::new();
    for insn in kernel.insn_ids() {
        for array in kernel[insn].written_arrays() {
            definitions.entry(array).or_default().push(&kernel[insn].id);
        }
    }
    let interface = Interface::new(writer, false);
    kernel
        .array_ids()
        .filter(|array| declarations.contains_key(array) || kernel[*array].table().is_some())
        .map(|array| {
            let defined_by = definitions.get(&array).map_or(&[][..], Vec::as_slice);
            let given = options.notes.get(&kernel[array].name);
            let note = temporaries::note(&kernel[array], &interface.shape(array), given, defined_by);
            (array, (note, given.is_some()))
        })
        .collect()
}

/// The variables that hold sizes which are more than affine.
fn extents(writer: &mut Writer<'_>) -> Result<Vec<Code>, CodegenError> {
    let mut res = Vec::new();
    for (name, expr) in writer.arrays.extents.clone() {
        let mut evaluated = writer.evaluate(&[(expr, ROOT)], 0, &[], &|| format!("size `{name}`"))?;
        res.append(&mut evaluated.regions[ROOT]);
        let value = writer.convert(expr, evaluated.roots.swap_remove(0), nestegg_ir::Dtype::Int64);
        res.push(Code::line(format!("const int64_t {name} = {};", value.text)));
        writer.arrays.extent_texts.push(value.text);
    }
    Ok(res)
}

/// The parts of the text in their order.
fn assemble(writer: &Writer<'_>, temporaries: &Temporaries, extents: Vec<Code>, statements: Vec<Code>) -> CText {
    let kernel = writer.kernel;
    let heap: Vec<ArrayId> = temporaries
        .declarations
        .keys()
        .copied()
        .filter(|&id| writer.arrays.layout(id).storage == Storage::Heap)
        .collect();
    let can_fail = !heap.is_empty();
    let interface = Interface::new(writer, can_fail);
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
    if can_fail {
        for &id in heap.iter().rev() {
            let _ = writeln!(text, "    free({});", writer.symbols.arrays[id.index()]);
        }
        text.push_str("    return 0;\n");
    }
    text.push_str("}\n");
    let title = title(kernel);
    let source = format!("{}{text}", preamble(writer, &title, &text, can_fail));
    CText {
        source,
        header: interface.header(&title),
        symbol: writer.symbols.function.clone(),
        prototype: interface.prototype(false),
        can_fail,
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
fn preamble(writer: &Writer<'_>, title: &str, text: &str, can_fail: bool) -> String {
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
    if words.iter().any(|word| mathematical(word)) {
        out.push_str("#include <math.h>\n");
    }
    if words.contains("bool") || words.contains("true") || words.contains("false") {
        out.push_str("#include <stdbool.h>\n");
    }
    out.push_str("#include <stdint.h>\n");
    if can_fail {
        out.push_str("#include <stdlib.h>\n");
    }
    out.push('\n');
    if compares_twice(writer.kernel) {
        out.push_str(QUIET);
        out.push('\n');
    }
    if words.contains(loops::VEC) || words.contains(loops::UNROLL) {
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
            arrays::Extent::Number(size) => (*size).max(1),
            arrays::Extent::Text(_) => 1,
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
            let start = if writer.conditional.contains(&id) { " = {0}" } else { "" };
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
        let request = match writer.conditional.contains(&id) {
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

//! Puts the source together: includes, helper functions, tables, the function with its declarations and statements.
//!
//! # Input
//! The statements, already written, and the declarations of temporaries.
//! # Output
//! [`CText`]. Only what the statements mention is there: helper functions, headers, tables.
//! # Complexity
//! Linear in the text.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;

use indexmap::IndexMap;
use nestegg_ir::{ArrayId, ArrayKind, Expr, ExprId, Kernel, LoopTree};
use rustc_hash::FxHashSet;

use super::arrays::{Copy, Extent, Storage};
use super::heap::Heap;
use super::helpers::Helpers;
use super::interface::Interface;
use super::lanes::Lanes;
use super::layout::{self, Code};
use super::names::identifiers;
use super::statements::Temporaries;
use super::temporaries::Place;
use super::text::stored_name;
use super::writer::{Signature, Writer};
use super::{CText, SharedText, facts, literal, loops, math, strips, summing, vectors};

/// A function and what it needs.
#[derive(Debug)]
pub(crate) struct Function {
    /// What comes before functions and tables, by parts.
    preamble: Preamble,
    /// Tables, one text each.
    tables: Vec<String>,
    /// The head of the definition.
    head: String,
    /// The definition's statements.
    body: String,
    title: String,
    header: String,
    declarations: String,
    symbol: String,
    prototype: String,
    externals: IndexMap<String, Signature>,
}

impl Function {
    /// The text of one function.
    pub(crate) fn into_text(self) -> CText {
        let source = source(&[&self]);
        CText { source, header: self.header, symbol: self.symbol, prototype: self.prototype, externals: self.externals }
    }

    /// Its name.
    pub(crate) fn symbol(&self) -> &str {
        &self.symbol
    }

    /// Whether it can answer 1, where memory for temporaries is short.
    pub(crate) fn can_fail(&self) -> bool {
        self.preamble.uses_heap
    }

    /// The text of a function that stands in a file with others: it is static, and its tables are its own.
    pub(crate) fn into_shared(self) -> SharedText {
        let mut tables = String::new();
        for table in &self.tables {
            tables.extend(table.lines().filter(|line| !line.is_empty()).map(|line| format!("    {line}\n")));
        }
        let body = format!("static {}\n{{\n{tables}{}}}\n", self.head, self.body);
        let source = format!("{}{body}", self.preamble.text(&self.title, &body, Company::Others));
        SharedText { source, can_fail: self.can_fail() }
    }

    /// The function where there are vectors of gcc and clang, and another one elsewhere, which computes the same.
    pub(crate) fn or_else(mut self, other: Self) -> Self {
        self.body = format!("#if defined(__GNUC__)\n{}#else\n{}#endif\n", self.body, other.body);
        self.tables.extend(other.tables.into_iter().filter(|table| !self.tables.contains(table)).collect::<Vec<_>>());
        self.preamble.join(&other.preamble);
        self
    }

    /// The text of two functions with one preamble, the second under its own symbol.
    pub(crate) fn with(self, other: Self) -> (CText, CText) {
        let source = source(&[&self, &other]);
        let header = super::interface::header(&self.symbol, &self.title, &[&self.declarations, &other.declarations]);
        let text = |function: Self, externals| CText {
            source: source.clone(),
            header: header.clone(),
            symbol: function.symbol,
            prototype: function.prototype,
            externals,
        };
        let mut externals = self.externals.clone();
        externals.extend(other.externals.clone());
        (text(self, externals.clone()), text(other, externals))
    }
}

/// The source of functions.
fn source(functions: &[&Function]) -> String {
    let mut body = String::new();
    let mut known: FxHashSet<&str> = FxHashSet::default();
    for function in functions {
        for table in function.tables.iter().filter(|table| known.insert(table.as_str())) {
            body.push_str(table);
        }
    }
    for (idx, function) in functions.iter().enumerate() {
        if idx > 0 {
            body.push('\n');
        }
        let _ = write!(body, "{}\n{{\n{}}}\n", function.head, function.body);
    }
    let mut preamble = functions[0].preamble.clone();
    for function in &functions[1..] {
        preamble.join(&function.preamble);
    }
    format!("{}{body}", preamble.text(&functions[0].title, &body, Company::None))
}

/// The parts of the text in their order.
pub(crate) fn assemble(
    writer: &mut Writer<'_>,
    temporaries: &Temporaries,
    tree: &[LoopTree],
    (extents, statements): (Vec<Code>, Vec<Code>),
) -> Function {
    let kernel = writer.kernel;
    let heap = Heap::new(writer, temporaries, tree);
    let writer: &Writer<'_> = writer;
    let interface = Interface::new(writer);
    let mut statement_text = String::new();
    layout::print(&statements, 1, &mut statement_text);
    let mut declared = declared_at_top(writer, temporaries);
    declared.extend(copies(writer));
    declared.extend(heap.taken());
    let mut declared_text = String::new();
    layout::print(&declared, 1, &mut declared_text);
    let mentioned: FxHashSet<&str> = identifiers(&declared_text).chain(identifiers(&statement_text)).collect();
    let mut body = extents;
    // The size of the first axis has no part in where elements lie.
    let is_unused = |name: &&String| !mentioned.contains(name.as_str());
    let sizes = writer.arrays.extents.iter().map(|extent| &extent.0);
    body.extend(sizes.filter(is_unused).map(|name| Code::line(format!("(void){name};"))));
    body.extend(declared);
    let mut body_text = String::new();
    layout::print(&body, 1, &mut body_text);
    body_text.push_str(&statement_text);
    let used: FxHashSet<&str> = identifiers(&body_text).collect();
    let mut tables = Vec::new();
    for id in kernel.array_ids() {
        if kernel[id].table().is_some() && used.contains(writer.symbols.arrays[id.index()].as_str()) {
            let mut text = String::new();
            table(writer, temporaries, id, &mut text);
            tables.push(text);
        }
    }
    tables.extend_from_slice(&writer.mirrored_tables);
    let mut text = String::new();
    for name in unused(writer, &used) {
        let _ = writeln!(text, "    (void){name};");
    }
    text.push_str(&body_text);
    layout::print(&heap.given_back(), 1, &mut text);
    text.push_str("    return 0;\n");
    let title = title(kernel);
    Function {
        preamble: Preamble::new(writer, !heap.is_empty()),
        tables,
        head: interface.prototype(true),
        body: text,
        header: interface.header(&title),
        declarations: interface.declarations(),
        title,
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

/// What vectors need of the compiler.
const VECTORS: &str = "\
/* Vectors are those of gcc and clang. Compile with `nestegg cflags`:\n * -O3 -march=native -ffp-contract=fast -fno-math-errno -fopenmp-simd */
";

/// Keeps compilers from warning that functions take wide vectors: they are inline.
const QUIET_VECTORS: &str = "\
#if defined(__clang__)
#if __has_warning(\"-Wpsabi\")
#pragma clang diagnostic ignored \"-Wpsabi\"
#endif
#elif defined(__GNUC__)
#pragma GCC diagnostic ignored \"-Wpsabi\"
#endif
";

/// Shuffles by either builtin function.
const SHUFFLE: &str = "\
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define NESTEGG_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#ifndef NESTEGG_SHUFFLE
#define NESTEGG_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (__typeof__((a) < (b))){__VA_ARGS__})
#endif
";

/// What else stands in the file of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Company {
    /// Nothing.
    None,
    /// Other functions, which may define the same helper functions.
    Others,
}

impl Company {
    /// A definition that may be in the file already.
    fn once(self, name: &str, definition: &str) -> String {
        match self {
            Self::None => definition.to_owned(),
            Self::Others => {
                let guard = format!("NESTEGG_HAS_{}", name.to_uppercase());
                format!("#ifndef {guard}\n#define {guard}\n{definition}#endif\n")
            }
        }
    }
}

/// Comment, includes, helper functions, and prototypes of functions that others define.
#[derive(Clone, Debug)]
struct Preamble {
    helpers: Helpers,
    prototypes: BTreeMap<String, String>,
    prototype_order: Vec<String>,
    uses_heap: bool,
    is_quiet: bool,
    lanes: Option<Rc<Lanes>>,
    lane_functions: BTreeMap<String, String>,
    may_round: bool,
}

impl Preamble {
    fn new(writer: &Writer<'_>, uses_heap: bool) -> Self {
        let prototypes = writer.signatures.iter().map(|(name, signature)| (name.clone(), signature.prototype(name)));
        Self {
            helpers: writer.helpers.clone(),
            prototypes: prototypes.collect(),
            prototype_order: writer.signatures.keys().cloned().collect(),
            uses_heap,
            is_quiet: compares_twice(writer.kernel),
            lanes: writer.lanes.clone(),
            lane_functions: writer.lane_functions.clone(),
            may_round: writer.may_round,
        }
    }

    /// Takes in what another function needs.
    fn join(&mut self, other: &Self) {
        self.helpers.0.extend(&other.helpers.0);
        for name in &other.prototype_order {
            if !self.prototypes.contains_key(name) {
                self.prototype_order.push(name.clone());
                self.prototypes.insert(name.clone(), other.prototypes[name].clone());
            }
        }
        self.uses_heap |= other.uses_heap;
        self.is_quiet |= other.is_quiet;
        self.lanes = self.lanes.take().or_else(|| other.lanes.clone());
        self.lane_functions.extend(other.lane_functions.clone());
        self.may_round |= other.may_round;
    }

    fn text(&self, title: &str, text: &str, company: Company) -> String {
        let mut helpers = String::new();
        for helper in &self.helpers.0 {
            helpers.push_str(&company.once(&helper.name(), &helper.definition()));
            helpers.push('\n');
        }
        let prototypes: String = self.prototype_order.iter().map(|name| self.prototypes[name].as_str()).collect();
        let functions = self.lane_functions.iter();
        let functions: String =
            functions.map(|(name, definition)| format!("{}\n", company.once(name, definition))).collect();
        let all = format!("{helpers}{prototypes}{functions}{text}");
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
        if self.uses_heap {
            out.push_str("#include <stdlib.h>\n");
        }
        if words.contains("memset") {
            out.push_str("#include <string.h>\n");
        }
        out.push('\n');
        if self.is_quiet {
            out.push_str(QUIET);
            out.push('\n');
        }
        if text.contains(summing::MARK) {
            out.push_str(summing::QUIET);
            out.push('\n');
        }
        if self.may_round && text.contains("for (") {
            let declared = summing::vector_calls(&words);
            out.push_str(&declared);
            out.push_str(if declared.is_empty() { "" } else { "\n" });
        }
        if words.contains(loops::UNROLL) {
            out.push_str(loops::MARKS);
            out.push('\n');
        }
        if let Some(lanes) = &self.lanes {
            out.push_str(VECTORS);
            out.push_str(QUIET_VECTORS);
            out.push_str(&vectors::types(lanes, |name| words.contains(name)));
            out.push('\n');
        }
        if words.contains("NESTEGG_SHUFFLE") {
            out.push_str(SHUFFLE);
            out.push('\n');
        }
        out.push_str(&helpers);
        if !prototypes.is_empty() {
            out.push_str("/* Defined elsewhere. */\n");
            out.push_str(&prototypes);
            out.push('\n');
        }
        if self.lanes.is_none() && functions.contains(strips::TOTAL) {
            out.push_str(QUIET_VECTORS);
            out.push('\n');
        }
        out.push_str(&functions);
        out
    }
}

/// Parameters and arguments that the body does not mention.
fn unused<'a>(writer: &'a Writer<'_>, used: &FxHashSet<&str>) -> Vec<&'a str> {
    let parameters = writer.kernel.stated_parameters().map(|id| writer.symbols.parameter(id));
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
    let line = format!("static const {} {name}{dims} = {};", stored_name(array), texts.join(", "));
    layout::print(&[Code::Line(line)], 0, out);
    out.push('\n');
}

/// The sizes of an array of C: numbers, at least 1 each, as C demands.
fn sizes(writer: &Writer<'_>, id: ArrayId) -> Vec<i64> {
    let extents = writer.arrays.layout(id).extents.iter();
    extents
        .map(|extent| match extent {
            Extent::Number(size) => (*size).max(1),
            Extent::Text(_) | Extent::Unstated => 1,
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
            let ty = writer.element_type(array, writer.arrays.is_held(id));
            res.push(Code::line(format!("{ty} {name}{dims}{start};")));
        } else if writer.arrays.is_held(id) {
            res.push(Code::line(format!("{} {name} = {{0}};", writer.element_type(array, true))));
        } else {
            let zero = literal::literal(nestegg_ir::Number::Int(0), array.dtype);
            res.push(Code::line(format!("{} {name} = {};", stored_name(array), zero.text)));
        }
        if !declared.is_read {
            res.push(Code::line(format!("(void){name};")));
        }
    }
    res
}

/// The copies of arguments that hold lanes, but for those on the heap.
fn copies(writer: &Writer<'_>) -> Vec<Code> {
    let mut res = Vec::new();
    let Some(lanes) = &writer.lanes else { return res };
    for id in writer.kernel.arguments() {
        let Some(Copy { name, layout, rest, rest_on_heap, size, .. }) = writer.arrays.copies.get(&id) else { continue };
        let array = &writer.kernel[id];
        let ty = writer.element_type(array, true);
        match layout.storage {
            Storage::Variable => res.push(Code::line(format!("{ty} {name};"))),
            Storage::Nested => {
                res.push(Code::line(format!("{ty} {name}{};", Writer::copy_sizes(&layout.extents))));
            }
            _ => {}
        }
        if lanes.limit.is_some() && !rest_on_heap {
            res.push(Code::line(format!("{} {rest}[{}];", array.dtype.c_name(), size * lanes.width)));
        }
    }
    res
}

//! C11: one function for a linearized kernel, with its header.
//!
//! # Input
//! A verified [`LinearizedKernel`]. Substitution rules are inlined as sharing first.
//! # Output
//! [`CText`]: a source that compiles without warnings under `-std=c11 -Wall -Wextra -Wpedantic -Wconversion` with gcc and
//! clang, and a header for C and C++. The function runs the kernel's loops, conditions and instructions in
//! their order and returns 0, or 1 where memory for temporaries is short; operations keep their order and dtypes, and no operand of a selection or condition that can fail is
//! evaluated where the kernel would not evaluate it.
//! # Method
//! `plan` decides where each operation is computed, `evaluate` writes locals, `loops` takes bounds from isl, `statements`
//! follows the linearization, `temporaries` finds where each is declared, `source` and `interface` put source and header together.
//! Names are the kernel's own where C allows.
//! # Complexity
//! Linear in the operations of the instructions, plus isl's work for each distinct loop.
//! # Not done
//! Nothing is optimized: no loop is moved, no operation rewritten, unless [symmetric matrices](COptions::mirrors), [pairs](COptions::pairs), [neighbours](COptions::neighbours) or [sums in lanes](COptions::summing) are asked for. `vec` is vectors where the iname is the lane of a block ([`lanes`]), else
//! a comment, as `parallel` is unless [threads](COptions::parallel) are asked for. Inames that an inlined rule binds are not renamed.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use nestegg_ir::inline::inline_substitutions;
use nestegg_ir::linearization::to_tree;
use nestegg_ir::{ArrayId, Expr, ExprId, InameId, Item, LinearizedKernel, Program, SummingLoop, data_bounds};
use rustc_hash::FxHashMap;

mod accumulators;
mod across;
mod arrays;
mod bounds;
mod each;
mod error;
mod evaluate;
mod facts;
mod flat;
pub mod harness;
mod heap;
mod helpers;
mod interface;
mod lanes;
mod layout;
mod literal;
mod loops;
mod math;
mod mirrored;
mod names;
mod neighbours;
mod operation;
mod packing;
mod pairs;
mod plan;
mod rows;
mod source;
mod statements;
mod strips;
mod summing;
mod symbols;
mod temporaries;
mod text;
mod threads;
pub mod timing;
mod vectors;
mod writer;

pub use error::CodegenError;
pub use threads::Parallel;

use interface::Interface;
use layout::Code;
use plan::ROOT;
use source::{Function, assemble};
use statements::Temporaries;
use temporaries::{Bounding, Declaration};
use writer::{Signature, Writer};

/// How a kernel is written as C.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct COptions {
    /// What is said of temporaries and tables, by their names in the kernel; others get a note of their dtype and definition.
    pub notes: BTreeMap<String, String>,
    /// The function's name; `None` is the kernel's name.
    pub symbol: Option<String>,
    /// Loops whose iterations OpenMP may give to threads, if the compiler has it: the outermost of them get a pragma.
    pub parallel: Vec<Parallel>,
    /// Whether loops that write a symmetric matrix compute only one half of it, in tiles: the same values in less time.
    pub mirrors: bool,
    /// Whether neighbours in memory are computed together: stores of straight-line code, short rows, and the iterations of loops around others. The same values in less time.
    pub neighbours: bool,
    /// Loops that may run in vector lanes although they add to scalars: the same terms in another order, in less time.
    pub summing: Vec<SummingLoop>,
    /// Whether values may be right to a few units in the last place only, in less time: quotients by numbers are products, and loops may call the functions that
    /// glibc has for vectors.
    pub may_round: bool,
    /// Whether real and imaginary parts are computed side by side, in vectors of two: the same values in less time.
    pub pairs: bool,
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
    /// Functions that the text calls and neither it nor C defines.
    pub(crate) externals: IndexMap<String, Signature>,
}

/// A function for a file that holds others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedText {
    /// The text of the function, with what it needs before it.
    pub source: String,
    /// Whether it can answer 1, where memory for temporaries is short.
    pub can_fail: bool,
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
/// use nestegg_codegen::c::{COptions, emit};
/// use nestegg_ir::LinearizedKernel;
///
/// let mut empty = LinearizedKernel::default();
/// empty.kernel.name = "nothing".to_owned();
/// let text = emit(&empty, &COptions::default())?;
/// assert!(text.header.contains("int nothing(\n    void);"));
/// # Ok::<(), nestegg_codegen::c::CodegenError>(())
/// ```
pub fn emit(kernel: &LinearizedKernel, options: &COptions) -> Result<CText, CodegenError> {
    Ok(function(kernel, options)?.into_text())
}

/// The C of a kernel of one element and of the same kernel of many, in one source with one header; the second has the notes and the symbol
/// of its own options.
///
/// # Errors
/// As [`emit`].
pub fn emit_both(
    one: (&LinearizedKernel, &COptions),
    many: (&LinearizedKernel, &COptions),
) -> Result<(CText, CText), CodegenError> {
    Ok(function(one.0, one.1)?.with(function(many.0, many.1)?))
}

/// The same where the kernel of many is a loop around the kernel of one: the second function calls the first for each element, unless that could fail, for
/// then nothing may have been written.
///
/// # Errors
/// As [`emit`].
pub fn emit_each(
    one: (&LinearizedKernel, &COptions),
    many: (&LinearizedKernel, &COptions),
) -> Result<(CText, CText), CodegenError> {
    let of_one = function(one.0, one.1)?;
    let of_many =
        if of_one.can_fail() { function(many.0, many.1)? } else { each::calls(&one.0.kernel, of_one.symbol(), many)? };
    Ok(of_one.with(of_many))
}

/// The C of a kernel for a file that holds other functions too: the function is static, its tables are inside of it, and what several such
/// texts need is defined once.
///
/// # Errors
/// As [`emit`].
pub fn emit_shared(kernel: &LinearizedKernel, options: &COptions) -> Result<SharedText, CodegenError> {
    Ok(function(kernel, options)?.into_shared())
}

/// One function, and what it needs.
fn function(kernel: &LinearizedKernel, options: &COptions) -> Result<Function, CodegenError> {
    let bounded = bounded(without_rules(kernel)?)?;
    let (function, has_pairs) =
        written(&bounded, &COptions { pairs: options.pairs && bounded.1.is_empty(), ..options.clone() })?;
    if !has_pairs {
        return Ok(function);
    }
    // Compilers without vectors get the kernel without pairs.
    Ok(function.or_else(written(&bounded, &COptions { pairs: false, ..options.clone() })?.0))
}

/// The function, and whether it has pairs.
fn written(
    (linearized, bounding): &(LinearizedKernel, Bounding),
    options: &COptions,
) -> Result<(Function, bool), CodegenError> {
    let LinearizedKernel { kernel, linearization } = linearized;
    let tree = to_tree(linearization)?;
    let mut writer = Writer::new(kernel, (linearization, &tree), options)?;
    let lanes = writer.lanes.clone();
    let mut runs = |iname, open: &[InameId]| Ok(writer.loop_over(iname, open)?.trip_count.is_some_and(|n| n > 0));
    let declarations = temporaries::declarations(kernel, &tree, (lanes.as_deref(), bounding), &mut runs)?;
    let temporaries = Temporaries { notes: notes(&writer, options, &declarations), declarations };
    let extents = extents(&mut writer)?;
    let statements = writer.statements(&tree, &temporaries, &mut Vec::new())?;
    Ok((assemble(&mut writer, &temporaries, &tree, (extents, statements)), writer.pairs.is_some()))
}

/// The kernel with bounds in the place of guards on data, and for each iname the temporaries that bound it.
fn bounded(linearized: LinearizedKernel) -> Result<(LinearizedKernel, Bounding), CodegenError> {
    if !data_bounds::has_open_inames(&linearized.kernel) {
        return Ok((linearized, Bounding::default()));
    }
    let Some(unguarded) = data_bounds::unguarded(&Program::Linearized(linearized)) else {
        unreachable!("there are open inames");
    };
    if let Some(&iname) = unguarded.unbounded.first() {
        return Err(CodegenError::Unbounded { iname: unguarded.program.kernel()[iname].name.clone() });
    }
    let kernel = unguarded.program.kernel();
    let array = |&leaf: &ExprId| match kernel.exprs[leaf] {
        Expr::Access { array, .. } => Some(array),
        _ => None,
    };
    let arrays =
        |ends: &data_bounds::Ends| ends.ends.iter().flat_map(|end| end.terms.keys()).filter_map(array).collect();
    let bounding: Bounding = unguarded.ends.iter().map(|ends| (ends.iname, arrays(ends))).collect();
    match unguarded.bounded() {
        Ok(Some(Program::Linearized(linearized))) => Ok((linearized, bounding)),
        Ok(_) => unreachable!("all inames are bounded"),
        Err(error) => Err(CodegenError::Domain(error.into())),
    }
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
    let interface = Interface::new(writer);
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

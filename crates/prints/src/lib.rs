//! Kernels from what loopy prints: `str` of a translation unit.
//!
//! # Input
//! The print of loopy 2025.2: sections for the name, arguments, domains, tags, temporaries, substitution rules and instructions, with
//! colours and dependency arrows or without; one kernel, or several that one of them calls. A last section [`DATA:`](with_data)
//! holds what a print leaves out. Any text is allowed: nothing panics.
//! # Output
//! The kernel, as `nestegg.dump` in Python writes it of the translation unit itself, with the places of its parts; or what is wrong.
//! # Method
//! Lines are cut into sections ([`sections`]), expressions parsed by the precedence of loopy's printer ([`parse`]), rules by
//! what Python prints of them ([`rules`]), kernels that are called
//! put in place of the calls ([`inline`]), types inferred as loopy does ([`types`]), and C's way with numbers and conditions
//! written out ([`write`]). `nestegg_dump` makes the kernel of the syntax tree, with all checks.
//! # What a print does not say
//! Values of tables and assumptions are asked for. Priorities of loops are left out, and a float literal is taken for one of Python's.
//! Dependences follow from the order in which loopy prints instructions, which is one that they allow.
//! # Complexity
//! Linear in the text and in what substitution rules and calls become.
#![warn(missing_docs)]

mod arrays;
mod data;
mod expr;
mod inline;
mod instructions;
mod kernel;
mod layout;
mod parse;
mod problem;
mod rules;
mod sections;
mod types;
mod write;

use nestegg_dump::{Errors, Read, ReadErrors};
use nestegg_span::Source;

pub use data::{BadData, Data, with_data};

/// Whether a source is a print: it begins with the name of a kernel, after a rule of dashes.
#[must_use]
pub fn is_print(source: &Source) -> bool {
    let mut lines = source.text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.find(|line| !sections::is_rule(line)).is_some_and(|line| line.starts_with(sections::KERNEL))
}

/// Reads the kernel of a print.
///
/// # Errors
/// All that is wrong with it.
///
/// ```
/// use nestegg_span::Source;
///
/// let print = "
/// KERNEL: axpy
/// ARGUMENTS:
/// y: type: np:dtype('float64'), shape: (n), dim_tags: (N0:stride:1) in/out aspace: global
/// x: type: np:dtype('float64'), shape: (n), dim_tags: (N0:stride:1) in aspace: global
/// a: ValueArg, type: np:dtype('float64')
/// n: ValueArg, type: np:dtype('int32')
/// DOMAINS:
/// [n] -> { [i] : 0 <= i < n }
/// INAME TAGS:
/// i: None
/// INSTRUCTIONS:
/// for i
///   y[i] = y[i] + a*x[i]  {id=insn}
/// end i
/// ";
/// let axpy = nestegg_prints::read(&Source::new("axpy.txt", print))?;
/// let written = nestegg_dump::write_text(&axpy.program);
/// assert!(written.contains("y[i] = y[i] + a*x[i]  {id=insn}"), "{written}");
/// # Ok::<(), Box<nestegg_dump::ReadErrors>>(())
/// ```
pub fn read(source: &Source) -> Result<Read, Box<ReadErrors>> {
    let text = sections::plain(&source.text);
    match kernel::read(&text) {
        Ok(syntax) => nestegg_dump::build(source, &syntax, Errors::default()),
        Err(errors) => Err(errors.of(source)),
    }
}

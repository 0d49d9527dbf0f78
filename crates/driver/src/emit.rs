//! The outputs of a result: a dump, the text form, C. Of a batch, dump and text hold the kernel of many elements, and C holds both functions.

use std::collections::BTreeMap;

use nestegg_codegen::c::{self, COptions, CodegenError};
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_transform::batch::{Batched, Batching};

use crate::error::Error;
use crate::notation::Notation;
use crate::pipeline::Optimized;
use crate::signature::Signature;

/// A text to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// The ending of a file that holds it, without the dot.
    pub extension: &'static str,
    /// The text.
    pub text: String,
    /// Whether it accompanies another product, as a header does.
    pub is_companion: bool,
}

/// A kernel dump in JSON.
#[must_use]
pub fn dump(program: &LinearizedKernel) -> Product {
    product("json", Notation::Json.write(&Program::Linearized(program.clone())))
}

/// A kernel in the text form.
#[must_use]
pub fn text(program: &LinearizedKernel) -> Product {
    product("knl", Notation::Text.write(&Program::Linearized(program.clone())))
}

/// C11: the source, and its header. Of a kernel that was lifted from a function of C, the function has the same head.
///
/// # Errors
/// If C has no words for something in the kernel.
pub fn c(optimized: &Optimized) -> Result<Vec<Product>, Error> {
    let kernel = &optimized.program.kernel;
    let options = COptions { parallel: optimized.parallel.clone(), ..options(optimized) };
    if let (None, Some(signature)) = (&optimized.batched, Signature::of(kernel)) {
        let options = COptions { symbol: Some(Signature::symbol(kernel)), ..options.clone() };
        let held = c::emit_shared(&optimized.program, &options).map_err(|error| refused(optimized, error))?;
        if let Some(source) = signature.source(kernel, &held) {
            let header = Product { is_companion: true, ..product("h", signature.header(kernel)) };
            return Ok(vec![product("c", source), header]);
        }
    }
    let emitted = match &optimized.batched {
        None => c::emit(&optimized.program, &options),
        // The kernel's own loop over elements is in blocks: the interface is the same.
        Some(Batched { program, batching: Batching::InPlace { .. } }) => c::emit(program, &options),
        Some(Batched { program, batching: Batching::Elements { .. } }) => {
            let of_one = COptions { parallel: Vec::new(), ..options.clone() };
            c::emit_both((&optimized.program, &of_one), (program, &options)).map(|(one, _)| one)
        }
    };
    let emitted = emitted.map_err(|error| refused(optimized, error))?;
    let header = Product { is_companion: true, ..product("h", emitted.header) };
    Ok(vec![product("c", emitted.source), header])
}

/// C11 of a kernel of one element for a file that holds other functions too: a static function with its tables.
///
/// # Errors
/// If C has no words for something in the kernel.
pub fn shared_c(optimized: &Optimized) -> Result<String, Error> {
    let text = c::emit_shared(&optimized.program, &options(optimized)).map_err(|error| refused(optimized, error))?;
    Ok(text.source)
}

/// What all C of a result has in common: its notes, and where time is made small symmetric matrices in tiles, complex numbers in vectors, and
/// neighbouring elements together.
fn options(optimized: &Optimized) -> COptions {
    let is_fast = optimized.report.estimate.is_some();
    COptions { notes: notes(optimized), mirrors: is_fast, neighbours: is_fast, pairs: is_fast, ..COptions::default() }
}

fn notes(optimized: &Optimized) -> BTreeMap<String, String> {
    let temporaries = optimized.report.temporaries.iter();
    temporaries.map(|temporary| (temporary.name.clone(), temporary.to_string())).collect()
}

fn refused(optimized: &Optimized, error: CodegenError) -> Error {
    let kernel = optimized.program.kernel.name.clone();
    Error::Refused { pass: "emit", kernel, source: Box::new(error) }
}

fn product(extension: &'static str, mut text: String) -> Product {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Product { extension, text, is_companion: false }
}

//! The outputs of a result: a dump, the text form, C. Of a batch, dump and text hold the kernel of many elements, and C holds both functions.

use std::collections::BTreeMap;

use nestegg_codegen::c::{self, COptions, CText, CodegenError};
use nestegg_ir::{Licence, LinearizedKernel, Program};
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
    if let (None, Some(signature)) = (&optimized.batched, Signature::of(kernel)) {
        let options = COptions { symbol: Some(Signature::symbol(kernel)), ..options(optimized) };
        let held = c::emit_shared(&optimized.program, &options).map_err(|error| refused(optimized, error))?;
        if let Some(source) = signature.source(kernel, &held) {
            let header = Product { is_companion: true, ..product("h", signature.header(kernel)) };
            return Ok(vec![product("c", source), header]);
        }
    }
    let written = runs_in_c(optimized, None)?;
    let header = Product { is_companion: true, ..product("h", written.header) };
    Ok(vec![product("c", written.source), header])
}

/// C11 of [what runs](Optimized::runs), under a symbol or its own name. Where elements are put together, the function of one stands before it.
///
/// # Errors
/// If C has no words for something in the kernel.
pub fn runs_in_c(optimized: &Optimized, symbol: Option<&str>) -> Result<CText, Error> {
    let symbol = symbol.map(str::to_owned);
    let options = COptions { symbol: symbol.clone(), ..options(optimized) };
    let written = match &optimized.batched {
        None => c::emit(&optimized.program, &options),
        // The kernel's own loop over elements is in blocks: the interface is the same.
        Some(Batched { program, batching: Batching::InPlace { .. }, .. }) => c::emit(program, &options),
        Some(Batched { program, batching: Batching::Elements { .. }, width }) => {
            let symbol = symbol.map(|symbol| format!("{symbol}_one"));
            let one = (&optimized.program, &COptions { symbol, ..fast(optimized, &optimized.program) });
            let emit = if *width == 1 { c::emit_each } else { c::emit_both };
            emit(one, (program, &options)).map(|(_, many)| many)
        }
    };
    written.map_err(|error| refused(optimized, error))
}

/// C11 of a kernel of one element for a file that holds other functions too: a static function with its tables.
///
/// # Errors
/// If C has no words for something in the kernel.
pub fn shared_c(optimized: &Optimized) -> Result<String, Error> {
    let text = c::emit_shared(&optimized.program, &fast(optimized, &optimized.program))
        .map_err(|error| refused(optimized, error))?;
    Ok(text.source)
}

/// How the form of a result that runs is written. Sums of several elements are in lanes already.
fn options(optimized: &Optimized) -> COptions {
    let mut options = COptions { parallel: optimized.parallel.clone(), ..fast(optimized, optimized.runs()) };
    if optimized.report.estimate.is_some() && !options.parallel.is_empty() {
        options.summing = nestegg_transform::loops_in_threads(optimized.runs()).unwrap_or_default();
        // Lanes add up in another order.
        options.summing.retain(|found| options.may_round || found.sums.is_empty());
    }
    match &optimized.batched {
        Some(batched) if batched.width > 1 => COptions { summing: Vec::new(), ..options },
        _ => options,
    }
}

/// How a form of a result is written: with its notes, and with what makes it fast where time is made small.
fn fast(optimized: &Optimized, program: &LinearizedKernel) -> COptions {
    let fast = match optimized.report.estimate {
        Some(_) => fast_options(program, Licence::from_name(&optimized.report.float).unwrap_or_default()),
        None => COptions::default(),
    };
    COptions { notes: notes(optimized), ..fast }
}

/// How C is written where time is made small: symmetric matrices in tiles, complex numbers in vectors, neighbouring elements together. Unless the licence is strict,
/// sums also run in vector lanes, and loops call functions on vectors.
#[must_use]
pub fn fast_options(program: &LinearizedKernel, licence: Licence) -> COptions {
    let may_round = licence != Licence::Strict;
    // Loops that are too hard for isl stay unmarked.
    let summing = if may_round { nestegg_transform::summing_loops(program).unwrap_or_default() } else { Vec::new() };
    COptions { mirrors: true, neighbours: true, pairs: true, summing, may_round, ..COptions::default() }
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

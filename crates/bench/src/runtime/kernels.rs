//! Who takes part in a race: functions in C of one interface.
//!
//! # Input
//! A kernel, and perhaps a peer's program for it.
//! # Output
//! [`Contestants`]: the input, the peer's program and our result, one element at a time, and the last two in lanes.
//! # Method
//! Kernels of small elements get the interface of many: where a function is of one element, one in the same source calls it for each, so that the compiler may join them.
//! Kernels of grids, whose arguments are large or whose sizes are parameters, are called as they are, and not put together.

use std::fs;

use miette::{IntoDiagnostic, miette};
use nestegg_bench::fixtures::Fixture;
use nestegg_codegen::c::{COptions, CText, emit, emit_each};
use nestegg_driver::batch::{Width, put_together};
use nestegg_driver::config::{BatchRequest, Config};
use nestegg_driver::emit::{fast_options, runs_in_c};
use nestegg_ir::{ArrayId, Dtype, Kernel, Licence, LinearizedKernel, affine};

use super::RuntimeArgs;

/// Bytes of arguments above which a kernel is one of a grid.
const MAX_BYTES_OF_ELEMENT: u64 = 1 << 20;

/// A function that takes part.
pub(super) struct Contestant {
    pub(super) who: Who,
    pub(super) text: CText,
    /// Operations for one element.
    pub(super) operations: f64,
}

/// Whose function it is; the number of lanes, where elements are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Input,
    Peer(Option<Width>),
    Ours(Option<Width>),
}

/// All functions of a kernel.
pub(super) struct Contestants {
    pub(super) name: String,
    /// The kernel that says what the functions' arguments are.
    pub(super) interface: Kernel,
    /// Whether they are of many elements.
    pub(super) of_many: bool,
    /// Bytes of an element's arguments: those that are read and those that are written.
    pub(super) moved: u64,
    /// Bytes that an element's arguments take.
    pub(super) bytes: u64,
    /// The estimated nanoseconds of our result, one element at a time.
    pub(super) predicted: f64,
    pub(super) is_single: bool,
    /// Values of parameters that are not their estimates.
    pub(super) parameters: Vec<(String, i64)>,
    pub(super) all: Vec<Contestant>,
}

/// Finds them.
pub(super) fn contestants(
    fixture: &Fixture,
    peer: Option<&Fixture>,
    args: &RuntimeArgs,
) -> miette::Result<Contestants> {
    let source = fixture.read().into_diagnostic()?;
    let input = nestegg_driver::read(&source)?.program.into_linearized().into_diagnostic()?;
    let config = args.config(&input.kernel);
    let best = nestegg_driver::optimize(&source, &config)?;
    let ours = best.program;
    let peer = match peer {
        Some(peer) => {
            let source = peer.read().into_diagnostic()?;
            let program = nestegg_driver::read(&source)?.program.into_linearized().into_diagnostic()?;
            if shapes(&program.kernel) != shapes(&ours.kernel) {
                return Err(miette!("the peer's program has other arguments"));
            }
            Some((program, nestegg_driver::count(&source, &config.parameters)?.total))
        }
        None => None,
    };
    let bytes = |id: ArrayId| ours.kernel[id].dtype.size() * n_values(&ours.kernel, id).unwrap_or(MAX_BYTES_OF_ELEMENT);
    let written = ours.kernel.written();
    let moved = ours.kernel.arguments().map(|id| bytes(id) * if written[id.index()] { 2 } else { 1 }).sum();
    let bytes: u64 = ours.kernel.arguments().map(bytes).sum();
    let of_many = bytes <= MAX_BYTES_OF_ELEMENT && ours.kernel.parameters.is_empty();
    let predicted = nestegg_time::estimate(&ours, &config.parameters, &config.machine).into_diagnostic()?.nanoseconds;
    let mut all = Vec::new();
    let mut add = |who, text: CText, operations: u128| {
        all.push(Contestant { who, text, operations: operations as f64 });
    };
    let options = |symbol: &str| COptions { symbol: Some(symbol.to_owned()), ..COptions::default() };
    let text = |program: &LinearizedKernel, options: COptions| match of_many {
        true => each(program, &options),
        false => emit(program, &options).into_diagnostic(),
    };
    add(Who::Input, text(&input, options("input"))?, best.report.before.total);
    if let Some((program, operations)) = &peer {
        add(Who::Peer(None), text(program, options("peer"))?, *operations);
    }
    let plain = if args.operations { COptions::default() } else { fast_options(&ours, Licence::default()) };
    let fast = text(&ours, COptions { symbol: Some("ours".to_owned()), ..plain })?;
    add(Who::Ours(None), fast, best.report.after.total);
    let mut interface = ours.kernel.clone();
    if of_many {
        interface = together(&ours, Width::Lanes(1))?.kernel;
        for &width in &args.batch {
            if let Some((program, operations)) = &peer {
                let many = emit(&together(program, width)?, &options(&format!("peer_{width}"))).into_diagnostic()?;
                add(Who::Peer(Some(width)), many, *operations);
            }
            let batch = Some(BatchRequest { width, ..BatchRequest::default() });
            let best = nestegg_driver::optimize(&source, &Config { batch, ..config.clone() })?;
            let many = runs_in_c(&best, Some(&format!("ours_{width}")))?;
            add(Who::Ours(Some(width)), many, best.report.after.total);
        }
    }
    if let Some(folder) = &args.keep {
        let folder = folder.join(&fixture.name);
        fs::create_dir_all(&folder).into_diagnostic()?;
        for one in &all {
            fs::write(folder.join(format!("{}.c", one.text.symbol)), &one.text.source).into_diagnostic()?;
        }
    }
    let (name, is_single) = (fixture.full_name(), ours.kernel.has_single());
    Ok(Contestants { name, interface, of_many, moved, bytes, predicted, is_single, parameters: config.parameters, all })
}

/// A function of many that calls that of one.
fn each(program: &LinearizedKernel, options: &COptions) -> miette::Result<CText> {
    let many = together(program, Width::Lanes(1))?;
    let symbol = options.symbol.as_ref().map(|symbol| format!("{symbol}_each"));
    Ok(emit_each((program, options), (&many, &COptions { symbol, ..options.clone() })).into_diagnostic()?.1)
}

fn together(program: &LinearizedKernel, width: Width) -> miette::Result<LinearizedKernel> {
    let request = BatchRequest { width, ..BatchRequest::default() };
    Ok(put_together(program, &request, Licence::default(), false)?.program)
}

/// The arguments with their dtypes and numbers of values.
fn shapes(kernel: &Kernel) -> Vec<(String, Dtype, Option<u64>)> {
    kernel.arguments().map(|id| (kernel[id].name.clone(), kernel[id].dtype, n_values(kernel, id))).collect()
}

/// How many values an argument has, if that is a number.
fn n_values(kernel: &Kernel, id: ArrayId) -> Option<u64> {
    let sizes = kernel[id].shape.iter().map(|&size| affine::of(&kernel.exprs, size)?.as_constant());
    sizes.map(|size| size.and_then(|n| u64::try_from(n).ok())).product()
}

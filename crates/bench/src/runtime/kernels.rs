//! Who takes part in a race: functions in C of one interface.
//!
//! # Input
//! A kernel, and perhaps a peer's program for it.
//! # Output
//! [`Contestants`]: the input, the peer's program and our result, one element at a time, and the last two in lanes.
//! # Method
//! Kernels of small elements get the interface of many: where a function is of one element, a loop in its own source calls it, so that the compiler may join them.
//! Kernels of grids, whose arguments are large or whose sizes are parameters, are called as they are, and not put together.

use std::fs;

use miette::{IntoDiagnostic, miette};
use nestegg_bench::fixtures::Fixture;
use nestegg_codegen::c::harness::each_element;
use nestegg_codegen::c::timing::function;
use nestegg_codegen::c::{COptions, CText, emit};
use nestegg_driver::batch::put_together;
use nestegg_driver::config::{BatchRequest, Config};
use nestegg_driver::emit::fast_options;
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
    Peer(Option<u32>),
    Ours(Option<u32>),
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
    let mut add = |who, program: &LinearizedKernel, operations: u128, text: CText| -> miette::Result<()> {
        let text = match who {
            Who::Input | Who::Peer(None) | Who::Ours(None) if of_many => {
                each_element(&program.kernel, &text, &format!("{}_each", text.symbol), &[]).into_diagnostic()?
            }
            _ => text,
        };
        all.push(Contestant { who, text, operations: operations as f64 });
        Ok(())
    };
    let text = |program: &LinearizedKernel, symbol: &str| function(program, symbol).into_diagnostic();
    add(Who::Input, &input, best.report.before.total, text(&input, "input")?)?;
    if let Some((program, operations)) = &peer {
        add(Who::Peer(None), program, *operations, text(program, "peer")?)?;
    }
    let plain = if args.operations { COptions::default() } else { fast_options(&ours, Licence::default()) };
    let fast = emit(&ours, &COptions { symbol: Some("ours".to_owned()), ..plain }).into_diagnostic()?;
    add(Who::Ours(None), &ours, best.report.after.total, fast)?;
    let mut interface = ours.kernel.clone();
    if of_many {
        interface = together(&ours, 4)?.kernel;
        for &width in &args.batch {
            if let Some((program, operations)) = &peer {
                let many = together(program, width)?;
                add(Who::Peer(Some(width)), &many, *operations, text(&many, &format!("peer_{width}"))?)?;
            }
            let batch = Some(BatchRequest { width: Some(width), ..BatchRequest::default() });
            let best = nestegg_driver::optimize(&source, &Config { batch, ..config.clone() })?;
            let symbol = format!("ours_{width}");
            add(Who::Ours(Some(width)), best.runs(), best.report.after.total, text(best.runs(), &symbol)?)?;
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

fn together(program: &LinearizedKernel, width: u32) -> miette::Result<LinearizedKernel> {
    let request = BatchRequest { width: Some(width), ..BatchRequest::default() };
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

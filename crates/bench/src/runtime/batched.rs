//! Run time of elements put together, against one at a time: ours, and the peers' programs through the same machinery.
//!
//! # Method
//! All functions have one interface, that of many elements, and are linked into one program; where a function is of one element, a loop in its own
//! source calls it, so that the compiler may join them. They are called in turn on so many elements that their data stay in the first-level cache; a figure is the
//! minimum over the rounds, in nanoseconds for one element. Peers' programs are compiled with the flags of their makers, ours with `nestegg cflags`.

use std::fs;

use miette::{IntoDiagnostic, miette};
use nestegg_bench::fixtures::{Fixture, peer_programs};
use nestegg_codegen::c::CText;
use nestegg_codegen::c::harness::each_element;
use nestegg_codegen::c::timing::{Effort, Function, function, times_of};
use nestegg_driver::batch::put_together;
use nestegg_driver::config::{BatchRequest, Config, Strategy, Validation};
use nestegg_ir::affine;
use nestegg_ir::{Kernel, Licence, LinearizedKernel};

use super::{RuntimeArgs, TOLERANCE, TOLERANCE_FLOAT32};
use crate::statistics::geometric_mean;
use crate::table::{ratio, table};

/// Bytes of arguments that all elements of a call may take together.
const BYTES_IN_CACHE: u64 = 20 << 10;

/// The most and the fewest elements of a call.
const N_ELEMENTS: (u64, u64) = (16, 512);

/// The flags that the makers of the peers' programs give.
const PEER_FLAGS: &str = "-std=gnu11 -O3 -march=native -ffast-math";

/// The flags of ours.
const FLAGS: &str = "-std=gnu11 -O3 -march=native -ffp-contract=fast -fno-math-errno";

/// Nanoseconds for one element.
struct Row {
    name: String,
    n_elements: u64,
    peer: Option<Vec<f64>>,
    ours: Vec<f64>,
}

/// Compiles and times every chosen kernel.
pub(super) fn run(args: &RuntimeArgs) -> miette::Result<String> {
    let peers = peer_programs(&args.common.fixtures).into_diagnostic()?;
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for fixture in args.common.chosen()? {
        let peer = peers.iter().find(|peer| peer.full_name() == fixture.full_name());
        match measure(&fixture, peer, args) {
            Ok(row) => rows.push(row),
            Err(error) => failures.push(format!("{}: {error:#}", fixture.full_name())),
        }
    }
    let widths = args.batch.iter().map(|width| format!("{width} at once"));
    let group = |who: &str| {
        [format!("{who} alone")]
            .into_iter()
            .chain(widths.clone().map(|width| format!("{who} {width}")))
            .collect::<Vec<_>>()
    };
    let mut header = vec!["kernel".to_owned(), "elements".to_owned()];
    header.extend(group("peer").into_iter().chain(group("ours")));
    header.extend(["ours / peer".to_owned(), "ours / peer at once".to_owned()]);
    let (mut against_alone, mut against_together) = (Vec::new(), Vec::new());
    let mut lines = Vec::new();
    for row in &rows {
        let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
        let ours = least(&row.ours);
        let mut line = vec![row.name.clone(), row.n_elements.to_string()];
        let times = |times: &[f64]| times.iter().map(|time| format!("{time:.1}")).collect::<Vec<_>>();
        match &row.peer {
            Some(peer) => {
                line.extend(times(peer));
                line.extend(times(&row.ours));
                against_alone.push(ours / peer[0]);
                against_together.push(ours / least(&peer[1..]));
                line.extend([ratio(against_alone.last().copied()), ratio(against_together.last().copied())]);
            }
            None => {
                line.extend(vec!["-".to_owned(); args.batch.len() + 1]);
                line.extend(times(&row.ours));
                line.extend(["-".to_owned(), "-".to_owned()]);
            }
        }
        lines.push(line);
    }
    let mut text =
        format!("{}, level {}; nanoseconds for one element; peers {PEER_FLAGS}; ours {FLAGS}\n\n", args.cc, args.level);
    text += &table(args.common.markdown, &header, &lines);
    text += &format!(
        "\n{} kernels; our best over the peer alone: geometric mean {}; over the peer's best at once: {}\n",
        rows.len(),
        ratio(geometric_mean(&against_alone)),
        ratio(geometric_mean(&against_together)),
    );
    if !failures.is_empty() {
        text += &format!("failed:\n  {}\n", failures.join("\n  "));
    }
    Ok(text)
}

fn measure(fixture: &Fixture, peer: Option<&Fixture>, args: &RuntimeArgs) -> miette::Result<Row> {
    let source = fixture.read().into_diagnostic()?;
    let config =
        Config { strategy: Strategy::Named(args.level.clone()), validation: Validation::Off, ..Config::default() };
    let ours = nestegg_driver::optimize(&source, &config)?.program;
    let mut functions: Vec<(CText, &str)> = Vec::new();
    let mut n_of_peer = 0;
    let mut kernel = None;
    if let Some(peer) = peer {
        let peer =
            nestegg_driver::read(&peer.read().into_diagnostic()?)?.program.into_linearized().into_diagnostic()?;
        if interface(&peer.kernel) != interface(&ours.kernel) {
            return Err(miette!("the peer's program has other arguments"));
        }
        functions.extend(of_program(&peer, "peer", args, &mut kernel)?.into_iter().map(|text| (text, PEER_FLAGS)));
        n_of_peer = functions.len();
    }
    functions.extend(of_program(&ours, "ours", args, &mut kernel)?.into_iter().map(|text| (text, FLAGS)));
    let kernel = kernel.ok_or_else(|| miette!("no width is given"))?;
    let bytes: u64 = interface(&ours.kernel).iter().map(|(_, dtype, n)| dtype.size() * n).sum();
    let n_elements = (BYTES_IN_CACHE / bytes.max(1) / 16 * 16).clamp(N_ELEMENTS.0, N_ELEMENTS.1);
    if let Some(kept) = &args.keep {
        let kept = kept.join(&fixture.name);
        fs::create_dir_all(&kept).into_diagnostic()?;
        for (idx, (text, _)) in functions.iter().enumerate() {
            fs::write(kept.join(format!("f{idx}.c")), &text.source).into_diagnostic()?;
        }
    }
    let timed: Vec<Function<'_>> = functions.iter().map(|(text, flags)| Function { text, flags }).collect();
    let parameters = [("n_elements".to_owned(), i64::try_from(n_elements).unwrap_or(i64::MAX))];
    let effort = Effort { n_rounds: args.rounds, milliseconds: args.milliseconds, n_sets: 1 };
    let times = times_of(&kernel, &timed, &parameters, &args.cc, effort)?;
    let tolerance = if ours.kernel.has_single() { TOLERANCE_FLOAT32 } else { TOLERANCE };
    if times.difference > tolerance {
        return Err(miette!("the functions differ by {:e}", times.difference));
    }
    let least: Vec<f64> = (0..functions.len())
        .map(|idx| times.rounds.iter().map(|round| round[idx]).fold(f64::INFINITY, f64::min) / n_elements as f64)
        .collect();
    let (peer, ours) = least.split_at(n_of_peer);
    let peer = if peer.is_empty() { None } else { Some(peer.to_vec()) };
    Ok(Row { name: fixture.full_name(), n_elements, peer, ours: ours.to_vec() })
}

/// A program alone, and put together at each width; the kernel of many gives the interface.
fn of_program(
    program: &LinearizedKernel,
    who: &str,
    args: &RuntimeArgs,
    kernel: &mut Option<Kernel>,
) -> miette::Result<Vec<CText>> {
    let alone = function(program, &format!("{who}_alone")).into_diagnostic()?;
    let mut res = vec![each_element(&program.kernel, &alone, &format!("{who}_each"), &[]).into_diagnostic()?];
    for &width in &args.batch {
        let request = BatchRequest { width: Some(width), ..BatchRequest::default() };
        let batched = put_together(program, &request, Licence::default(), false)?;
        res.push(function(&batched.program, &format!("{who}_{width}")).into_diagnostic()?);
        *kernel = Some(batched.program.kernel);
    }
    Ok(res)
}

/// The arguments with their dtypes and numbers of values.
fn interface(kernel: &Kernel) -> Vec<(String, nestegg_ir::Dtype, u64)> {
    let size = |size: &nestegg_ir::ExprId| affine::of(&kernel.exprs, *size).and_then(|size| size.as_constant());
    let n = |id: nestegg_ir::ArrayId| {
        kernel[id].shape.iter().map(size).map(|size| size.and_then(|n| u64::try_from(n).ok()).unwrap_or(1)).product()
    };
    kernel.arguments().map(|id| (kernel[id].name.clone(), kernel[id].dtype, n(id))).collect()
}

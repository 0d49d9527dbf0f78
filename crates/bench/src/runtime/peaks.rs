//! The peaks of the machine: the most operations and bytes a second that compiled loops reach.
//!
//! # Method
//! Polynomials of degree 32 over vectors in cache, many at a time, so that no chain is waited for; and a sum of two arrays, scaled, that fill memory.

use miette::{IntoDiagnostic, miette};
use nestegg_codegen::c::COptions;
use nestegg_codegen::c::timing::{Compiler, Effort, times};
use nestegg_span::Source;

use super::RuntimeArgs;

/// What the machine does at best.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peaks {
    /// 10^9 operations a second, float64.
    pub(super) operations: f64,
    /// 10^9 bytes a second.
    pub(super) bandwidth: f64,
}

const N_IN_CACHE: usize = 512;
const DEGREE: usize = 32;
const N_IN_MEMORY: usize = 8_000_000;

impl Peaks {
    /// Measures them.
    pub(super) fn measured(cc: &str, args: &RuntimeArgs) -> miette::Result<Self> {
        let value = (1..DEGREE).fold("x[i] + 0.5".to_owned(), |value, at| format!("({value})*x[i] + 0.{at}"));
        let polynomial = format!(
            "kernel polynomial linearized\ndomain {{ [i] : 0 <= i < {N_IN_CACHE} }}\narg y : float64[{N_IN_CACHE}] write\narg x : float64[{N_IN_CACHE}] read\nfor i\n  y[i] = {value}\nend\n"
        );
        let triad = format!(
            "kernel triad linearized\ndomain {{ [i] : 0 <= i < {N_IN_MEMORY} }}\narg y : float64[{N_IN_MEMORY}] readwrite\narg x : float64[{N_IN_MEMORY}] read\nfor i\n  y[i] = y[i] + 2.5*x[i]\nend\n"
        );
        let operations = (N_IN_CACHE * (2 * DEGREE - 1)) as f64;
        let bytes = (N_IN_MEMORY * 24) as f64;
        Ok(Self { operations: operations / least(&polynomial, cc, args)?, bandwidth: bytes / least(&triad, cc, args)? })
    }
}

/// The least nanoseconds of a kernel.
fn least(text: &str, cc: &str, args: &RuntimeArgs) -> miette::Result<f64> {
    let source = Source::new("peak", text);
    let program = nestegg_driver::read(&source)?.program.into_linearized().into_diagnostic()?;
    let compiler = Compiler { command: cc.to_owned(), flags: args.flags.clone() };
    let effort = Effort { n_rounds: 25, milliseconds: 1, n_sets: 1 };
    let times = times(&[(&program, COptions::default())], &[], &compiler, effort)?;
    let least = times.rounds.iter().flatten().copied().min_by(f64::total_cmp);
    least.ok_or_else(|| miette!("no round was timed"))
}

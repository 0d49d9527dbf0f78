//! Kernels of terms: every term is stored, at every point of all loops.

use std::collections::BTreeSet;
use std::fmt::Write;

use indexmap::IndexMap;
use nestegg_interp::{Inputs, RunOptions, Values, run};
use nestegg_ir::Program;
use nestegg_span::Source;

use super::term::{Leaf, Loops, Term};

/// Values of each leaf, one after another.
pub(super) const N_POINTS: usize = 12;
/// Where a run is stopped; kernels of terms take far less.
const MAX_STEPS: u64 = 2_000_000_000;
/// Decimal digits after the first that equal values share, whatever was rounded on the way to them.
const DIGITS: i32 = 9;
/// What is smaller than this is zero, and rounding errors.
const ZERO: f64 = 1e-12;

/// What a term is at all points: rounded, so that equal terms have equal fingerprints. `None` where the value is not a number.
pub(super) type Fingerprint = Vec<Option<(i64, i32)>>;

/// A kernel that stores terms as `t0`, `t1`, …: at the points of the loops that they depend on, or at all of all loops.
pub(super) fn text(terms: &[&Term], sizes: [usize; 2], everywhere: bool) -> String {
    let mut text = format!("kernel terms\ndomain {{ [e] : 0 <= e < {N_POINTS} }}\n");
    let mut leaves: BTreeSet<Leaf> = BTreeSet::new();
    let mut loops = if everywhere { Loops::BOTH } else { Loops::NONE };
    for term in terms {
        leaves.extend(term.leaves());
        loops = loops.union(term.free()).union(term.bound());
    }
    for (one, name) in loops.each() {
        let size = sizes[usize::from(one == Loops::R)];
        let _ = writeln!(text, "domain {{ [{name}] : 0 <= {name} < {size} }}");
        let _ = writeln!(text, "domain {{ [{name}{name}] : 0 <= {name}{name} < {size} }}");
    }
    let mut arrays = BTreeSet::new();
    for leaf in &leaves {
        arrays.extend(leaf.arrays().into_iter().map(|name| (name, leaf.over)));
    }
    for (name, over) in &arrays {
        let _ = writeln!(text, "arg {name} : float64[{}] read", shape(*over, sizes));
    }
    let over = |term: &Term| if everywhere { Loops::BOTH } else { term.free() };
    for (idx, term) in terms.iter().enumerate() {
        let _ = writeln!(text, "arg t{idx} : float64[{}] write", shape(over(term), sizes));
    }
    text.push_str("for e\n");
    for (idx, term) in terms.iter().enumerate() {
        let (mut open, mut close, mut index) = (String::new(), String::new(), "e".to_owned());
        for (_, name) in over(term).each() {
            let _ = writeln!(open, "for {name}");
            close.push_str("end\n");
            let _ = write!(index, ", {name}");
        }
        let _ = write!(text, "{open}t{idx}[{index}] = {}  {{id=s{idx}}}\n{close}", term.expression(sizes));
    }
    text.push_str("end\n");
    text
}

/// A kernel, read; `None` if the terms are no kernel.
pub(super) fn read(text: String) -> Option<Program> {
    nestegg_dump::read_text(&Source::new("terms.knl", text)).ok().map(|read| read.program)
}

/// The fingerprints of terms; `None` if they cannot be run.
pub(super) fn fingerprints(terms: &[&Term]) -> Option<Vec<Fingerprint>> {
    let mut res: Vec<Fingerprint> = vec![Vec::new(); terms.len()];
    for (seed, sizes) in [(1, [3, 2]), (2, [2, 3])] {
        let program = read(text(terms, sizes, true))?;
        let inputs = Inputs::random(program.kernel(), &IndexMap::new(), seed).ok()?;
        let outputs = run(&program, &inputs, &RunOptions { max_steps: MAX_STEPS }).ok()?;
        for (idx, fingerprint) in res.iter_mut().enumerate() {
            let output = outputs.arrays.get(&format!("t{idx}"))?;
            let Values::Floats(values) = &output.values else { return None };
            fingerprint.extend(values.iter().map(|&value| rounded(value)));
        }
    }
    Some(res)
}

fn rounded(value: f64) -> Option<(i64, i32)> {
    match value {
        _ if value.is_nan() => None,
        _ if value.is_infinite() => Some((if value > 0.0 { 1 } else { -1 }, i32::MAX)),
        _ if value.abs() < ZERO => Some((0, 0)),
        _ => {
            let exponent = value.abs().log10().floor() as i32;
            let digits = (value * 10.0_f64.powi(DIGITS - exponent)).round() as i64;
            // What rounds up to the next power of ten is that.
            let limit = 10_i64.pow(DIGITS.unsigned_abs() + 1);
            Some(if digits.abs() == limit { (digits / 10, exponent + 1) } else { (digits, exponent) })
        }
    }
}

fn shape(over: Loops, sizes: [usize; 2]) -> String {
    let mut shape = N_POINTS.to_string();
    for (one, _) in over.each() {
        let _ = write!(shape, ", {}", sizes[usize::from(one == Loops::R)]);
    }
    shape
}

//! What a kernel decides on: which constants meet which arguments in comparisons and extrema.
//!
//! A decision is a comparison, an extremum, the absolute value, or what rounds to a whole number, that depends on data. Its *palette* is
//! the literals among its operands' sub-expressions; the arguments that reach it are those read there, and those that the
//! temporaries read there were computed from.

use std::collections::{BTreeMap, BTreeSet};

use nestegg_ir::{Expr, ExprId, Kernel, Number, Op, ReduceOp};
use rustc_hash::FxHashSet;

use crate::source::Source;

/// More constants of one argument than this are not kept: the least and the greatest are spread over.
const MAX_PALETTE: usize = 64;

/// Of the arguments of a kernel, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Decisions {
    palettes: BTreeMap<String, BTreeSet<u64>>,
    divisors: BTreeSet<String>,
    any: bool,
}

/// Calls that decide on their arguments.
const DECIDING: &[&str] = &[
    "abs", "ceil", "copysign", "fabs", "fdim", "floor", "fmax", "fmin", "fmod", "nearbyint", "remainder", "rint",
    "round", "trunc",
];

impl Decisions {
    pub(super) fn of(kernel: &Kernel, source: &Source) -> Self {
        let reach = reached_by(kernel, source);
        let mut res = Self::default();
        for (id, expr) in source.exprs.iter() {
            let is_affine = |operands: &[ExprId]| operands.iter().all(|id| source.forms[id.index()].is_some());
            let (decides, divides) = match expr {
                Expr::Op { op, operands } => {
                    let decides = op.is_comparison() || matches!(op, Op::Min | Op::Max);
                    let divides = matches!(op, Op::FloorDiv | Op::Mod | Op::Shl | Op::Shr);
                    (decides && !is_affine(operands), divides)
                }
                Expr::Reduce { op, .. } => (matches!(op, ReduceOp::Min | ReduceOp::Max), false),
                Expr::Call { function, .. } => (DECIDING.contains(&kernel[*function].as_str()), false),
                Expr::Cast { .. } => (true, false),
                _ => continue,
            };
            if decides {
                res.decision(kernel, source, &reach, id);
            }
            if divides && let Some(&divisor) = expr.children().get(1) {
                for array in arrays(kernel, source, &reach, [divisor]) {
                    res.divisors.insert(array);
                }
            }
        }
        // Conditions that are stored values: truth values, and numbers that are used as such.
        res.any |= kernel.instructions.iter().any(|instruction| !instruction.predicates.is_empty());
        res
    }

    fn decision(&mut self, kernel: &Kernel, source: &Source, reach: &[BTreeSet<usize>], id: ExprId) {
        let names = arrays(kernel, source, reach, [id]);
        self.any |= !names.is_empty();
        let mut constants = BTreeSet::new();
        for part in source.exprs.reachable([id]) {
            if let Expr::Number(number) = &source.exprs[part] {
                constants.insert(match *number {
                    Number::Int(value) => (value as f64).to_bits(),
                    Number::Float(value) => value.get().to_bits(),
                });
            }
        }
        for name in names {
            self.palettes.entry(name).or_default().extend(&constants);
        }
    }

    /// Adds what another kernel with the same arguments decides on.
    pub(super) fn join(&mut self, other: Self) {
        for (name, constants) in other.palettes {
            self.palettes.entry(name).or_default().extend(constants);
        }
        self.divisors.extend(other.divisors);
        self.any |= other.any;
    }

    /// The constants that an argument meets, in increasing order.
    pub(super) fn palette(&self, name: &str) -> Vec<f64> {
        let Some(constants) = self.palettes.get(name) else { return Vec::new() };
        let mut res: Vec<f64> = constants.iter().map(|&bits| f64::from_bits(bits)).collect();
        res.retain(|value| value.is_finite());
        res.sort_unstable_by(f64::total_cmp);
        if res.len() > MAX_PALETTE {
            let last = res.len() - 1;
            res = (0..MAX_PALETTE).map(|idx| res[idx * last / (MAX_PALETTE - 1)]).collect();
        }
        res
    }

    pub(super) fn is_divisor(&self, name: &str) -> bool {
        self.divisors.contains(name)
    }

    pub(super) fn any(&self) -> bool {
        self.any
    }
}

/// The names of the arguments that some expressions are computed from.
fn arrays<const N: usize>(
    kernel: &Kernel,
    source: &Source,
    reach: &[BTreeSet<usize>],
    roots: [ExprId; N],
) -> BTreeSet<String> {
    let mut res = BTreeSet::new();
    for id in source.exprs.reachable(roots) {
        if let Expr::Access { array, .. } = &source.exprs[id] {
            for &origin in &reach[array.index()] {
                let origin = &kernel.arrays[origin];
                if origin.is_argument() {
                    res.insert(origin.name.clone());
                }
            }
        }
    }
    res
}

/// For each array the arrays that its elements are computed from, itself among them.
fn reached_by(kernel: &Kernel, source: &Source) -> Vec<BTreeSet<usize>> {
    let n = kernel.arrays.len();
    let mut edges: FxHashSet<(usize, usize)> = FxHashSet::default();
    for (reads, writes) in source.reads.iter().zip(&source.writes) {
        for (written, _) in writes {
            edges.extend(reads.iter().map(|(read, _)| (written.index(), read.index())));
        }
    }
    let mut from: Vec<Vec<usize>> = vec![Vec::new(); n];
    let mut sorted: Vec<(usize, usize)> = edges.into_iter().collect();
    sorted.sort_unstable();
    for (to, origin) in sorted {
        from[to].push(origin);
    }
    let closure = |array: usize| {
        let (mut seen, mut pending) = (BTreeSet::from([array]), vec![array]);
        while let Some(next) = pending.pop() {
            pending.extend(from[next].iter().copied().filter(|&origin| seen.insert(origin)));
        }
        seen
    };
    (0..n).map(closure).collect()
}

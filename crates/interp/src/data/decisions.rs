//! What a kernel decides on: which constants meet which arguments in comparisons and extrema.
//!
//! A decision is a comparison, an extremum, the absolute value, or what rounds to a whole number, that depends on data. Its *palette* is
//! the literals among its operands' sub-expressions; the arguments that reach it are those read there, and those that the
//! temporaries read there were computed from.

use std::collections::{BTreeMap, BTreeSet};

use nestegg_ir::{ArrayId, Expr, ExprId, Kernel, Number, Op, ReduceOp};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::source::Source;

/// So many constants of one argument are kept: the first that are met.
const MAX_PALETTE: usize = 64;

/// So many constants and arrays are kept of the operands of one expression.
const MAX_CONE: usize = 12;

/// Of the arguments of a kernel, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Decisions {
    palettes: BTreeMap<String, BTreeSet<u64>>,
    divisors: BTreeSet<String>,
    any: bool,
    /// Whether there are decisions on inames or parameters alone.
    of_points: bool,
}

/// What an expression is made of: constants, as bits, and arrays.
#[derive(Clone, Debug, Default)]
struct Cone {
    constants: SmallVec<[u64; 2]>,
    arrays: SmallVec<[ArrayId; 2]>,
}

impl Cone {
    fn add_constant(&mut self, bits: u64) {
        if self.constants.len() < MAX_CONE && !self.constants.contains(&bits) {
            self.constants.push(bits);
        }
    }

    fn add_array(&mut self, array: ArrayId) {
        if self.arrays.len() < MAX_CONE && !self.arrays.contains(&array) {
            self.arrays.push(array);
        }
    }
}

/// Calls that decide on their arguments.
const DECIDING: &[&str] = &[
    "abs",
    "ceil",
    "copysign",
    "fabs",
    "fdim",
    "floor",
    "fmax",
    "fmin",
    "fmod",
    "nearbyint",
    "remainder",
    "rint",
    "round",
    "trunc",
];

impl Decisions {
    pub(super) fn of(kernel: &Kernel, source: &Source) -> Self {
        let mut res = Self::default();
        // By array.
        let mut palettes: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); kernel.arrays.len()];
        let mut decides = vec![false; kernel.arrays.len()];
        let mut divides = vec![false; kernel.arrays.len()];
        let mut cones: Vec<Cone> = Vec::with_capacity(source.exprs.len());
        for (_, expr) in source.exprs.iter() {
            let cone = cone(expr, &cones);
            let is_affine = |operands: &[ExprId]| operands.iter().all(|id| source.forms[id.index()].is_some());
            let is_decision = match expr {
                Expr::Op { op, operands } => {
                    let decides = op.is_comparison() || matches!(op, Op::Min | Op::Max);
                    res.of_points |= decides && is_affine(operands);
                    decides && !is_affine(operands)
                }
                Expr::Reduce { op, .. } => matches!(op, ReduceOp::Min | ReduceOp::Max),
                Expr::Call { function, .. } => DECIDING.contains(&kernel[*function].as_str()),
                Expr::Cast { .. } => true,
                _ => false,
            };
            if is_decision {
                for array in &cone.arrays {
                    decides[array.index()] = true;
                    palettes[array.index()].extend(&cone.constants);
                }
            }
            if matches!(expr, Expr::Op { op: Op::FloorDiv | Op::Mod | Op::Shl | Op::Shr, .. }) {
                for array in expr.children().get(1).iter().flat_map(|divisor| &cones[divisor.index()].arrays) {
                    divides[array.index()] = true;
                }
            }
            cones.push(cone);
        }
        let from = origins(kernel, source);
        let mut pending: Vec<usize> =
            (0..kernel.arrays.len()).filter(|&array| decides[array] || divides[array]).collect();
        while let Some(array) = pending.pop() {
            for &origin in &from[array] {
                let known = (palettes[origin].len(), decides[origin], divides[origin]);
                decides[origin] |= decides[array];
                divides[origin] |= divides[array];
                let room = MAX_PALETTE.saturating_sub(palettes[origin].len());
                let new: Vec<u64> = palettes[array].difference(&palettes[origin]).take(room).copied().collect();
                palettes[origin].extend(new);
                if known != (palettes[origin].len(), decides[origin], divides[origin]) {
                    pending.push(origin);
                }
            }
        }
        for array in kernel.arguments() {
            let name = &kernel[array].name;
            res.any |= decides[array.index()];
            if decides[array.index()] {
                res.palettes.insert(name.clone(), std::mem::take(&mut palettes[array.index()]));
            }
            if divides[array.index()] {
                res.divisors.insert(name.clone());
            }
        }
        // Conditions that are stored values: truth values, and numbers that are used as such.
        res.any |= kernel.instructions.iter().any(|instruction| !instruction.predicates.is_empty());
        res
    }

    /// Adds what another kernel with the same arguments decides on.
    pub(super) fn join(&mut self, other: Self) {
        for (name, constants) in other.palettes {
            self.palettes.entry(name).or_default().extend(constants);
        }
        self.divisors.extend(other.divisors);
        self.any |= other.any;
        self.of_points |= other.of_points;
    }

    /// The constants that an argument meets, in increasing order.
    pub(super) fn palette(&self, name: &str) -> Vec<f64> {
        let Some(constants) = self.palettes.get(name) else { return Vec::new() };
        let mut res: Vec<f64> = constants.iter().map(|&bits| f64::from_bits(bits)).collect();
        res.retain(|value| value.is_finite());
        res.sort_unstable_by(f64::total_cmp);
        res
    }

    pub(super) fn is_divisor(&self, name: &str) -> bool {
        self.divisors.contains(name)
    }

    pub(super) fn any(&self) -> bool {
        self.any
    }

    pub(super) fn of_points(&self) -> bool {
        self.of_points
    }
}

/// What an expression is made of, given its operands' parts.
fn cone(expr: &Expr, cones: &[Cone]) -> Cone {
    let mut res = Cone::default();
    match expr {
        Expr::Number(Number::Int(value)) => res.add_constant((*value as f64).to_bits()),
        Expr::Number(Number::Float(value)) => res.add_constant(value.get().to_bits()),
        Expr::Access { array, .. } => res.add_array(*array),
        _ => {}
    }
    for child in expr.children() {
        let child = &cones[child.index()];
        child.constants.iter().for_each(|&bits| res.add_constant(bits));
        child.arrays.iter().for_each(|&array| res.add_array(array));
    }
    res
}

/// For each array those that are read where it is written.
fn origins(kernel: &Kernel, source: &Source) -> Vec<Vec<usize>> {
    let mut edges: FxHashSet<(usize, usize)> = FxHashSet::default();
    for (reads, writes) in source.reads.iter().zip(&source.writes) {
        for (written, _) in writes {
            edges.extend(reads.iter().map(|(read, _)| (written.index(), read.index())));
        }
    }
    let mut res: Vec<Vec<usize>> = vec![Vec::new(); kernel.arrays.len()];
    let mut sorted: Vec<(usize, usize)> = edges.into_iter().collect();
    sorted.sort_unstable();
    for (to, origin) in sorted {
        res[to].push(origin);
    }
    res
}

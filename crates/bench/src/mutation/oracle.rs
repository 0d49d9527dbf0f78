//! Whether a mutant is different from the kernel that it was made of, by running both.
//!
//! # Input
//! The kernel, and values of its parameters.
//! # Output
//! An [`Oracle`], which says of mutants whether some data tell them apart.
//! # Method
//! The kernel is run on all [kinds](super::data::Kind) of data at the given sizes and at small ones, in floats and in the prime field. A mutant
//! is different if it fails where the kernel does not, if it leaves an element without the value that the kernel gives it, if integers differ, if floats differ by far more than rounding explains, or
//! if elements differ in the field. Where the kernel has functions or comparisons of floats, which the field replaces by oracles that know few laws, a difference there
//! counts only together with one in floats.
//! # Not done
//! Sizes beyond the given ones.

use indexmap::IndexMap;
use nestegg_interp::{FieldValues, Inputs, Output, Outputs, Values, run, run_field};
use nestegg_ir::types::Types;
use nestegg_ir::{Expr, Kernel, Number, Op, Program};

use super::data::{Kind, LIMIT, inputs};

/// Sizes beside the given ones: all parameters have this value, as far as the kernel's assumptions allow.
const SIZES: [i64; 5] = [3, 2, 1, 0, 5];

/// So many sizes are used, at most.
const MAX_SIZES: usize = 4;

/// What floats may differ by in any case, relative to the largest element of the array.
const CERTAIN: f64 = 1e-6;

/// The same with float32 values.
const CERTAIN_SINGLE: f64 = 1e-3;

/// What floats must differ by for a difference in the field to count where it has oracles.
const NOTICEABLE: f64 = 1e-12;

/// One run of the kernel.
#[derive(Debug)]
struct Case {
    kind: Kind,
    inputs: Inputs,
    seed: u64,
    floats: Outputs,
    field: Option<Outputs<FieldValues>>,
}

/// Runs of a kernel that mutants are compared with.
#[derive(Debug)]
pub struct Oracle {
    cases: Vec<Case>,
    has_oracles: bool,
    certain: f64,
}

impl Oracle {
    /// The runs of a kernel; `None` if it can be run on no data at these sizes.
    #[must_use]
    pub fn new(program: &Program, values: &[(String, i64)]) -> Option<Self> {
        let mut cases = of_size(program, &values.iter().cloned().collect());
        if cases.is_empty() {
            return None;
        }
        let mut n_sizes = 1;
        for size in SIZES {
            let small: IndexMap<String, i64> = values.iter().map(|(name, _)| (name.clone(), size)).collect();
            if values.is_empty() || n_sizes == MAX_SIZES || values.iter().all(|(_, value)| *value == size) {
                continue;
            }
            let more = of_size(program, &small);
            n_sizes += usize::from(!more.is_empty());
            cases.extend(more);
        }
        let certain = if program.kernel().has_single() { CERTAIN_SINGLE } else { CERTAIN };
        Some(Self { cases, has_oracles: has_oracles(program.kernel()), certain })
    }

    /// Whether some data tell a mutant from the kernel.
    #[must_use]
    pub fn tells_apart(&self, mutant: &Program) -> bool {
        let has_oracles = self.has_oracles || has_oracles(mutant.kernel());
        self.cases.iter().any(|case| self.differs(case, mutant, has_oracles))
    }

    fn differs(&self, case: &Case, mutant: &Program, has_oracles: bool) -> bool {
        let Ok(floats) = run(mutant, &case.inputs, &LIMIT) else { return true };
        let distance = distance(&case.floats, &floats);
        let field = || {
            let other = run_field(mutant, &case.inputs, case.seed, &LIMIT).ok()?;
            Some(differ_in_field(case.field.as_ref()?, &other))
        };
        match (distance, has_oracles) {
            // What overflows is no real number: where the field finds no difference there is none.
            (None, _) => field() != Some(false),
            // Of numbers of very different magnitude rounding may leave nothing.
            (Some(distance), true) if distance > self.certain && case.kind != Kind::Magnitudes => {
                field() != Some(false)
            }
            (Some(distance), true) => distance > NOTICEABLE && field() == Some(true),
            (Some(distance), false) => field().unwrap_or(distance > self.certain),
        }
    }
}

fn of_size(program: &Program, parameters: &IndexMap<String, i64>) -> Vec<Case> {
    let mut cases = Vec::new();
    for (seed, kind) in (1..).zip(Kind::ALL) {
        let Some(inputs) = inputs(program, parameters, kind, seed) else { continue };
        let Ok(floats) = run(program, &inputs, &LIMIT) else { continue };
        let field = run_field(program, &inputs, seed, &LIMIT).ok();
        cases.push(Case { kind, inputs, seed, floats, field });
    }
    cases
}

/// How far floats are apart, relative to the largest element of their array; `None` if something else differs.
fn distance(first: &Outputs, second: &Outputs) -> Option<f64> {
    let mut largest = 0.0_f64;
    for (a, b) in first.arrays.values().zip(second.arrays.values()) {
        let set = written(a, b)?;
        match (&a.values, &b.values) {
            (Values::Ints(x), Values::Ints(y)) if set.iter().all(|&at| x[at] == y[at]) => {}
            (Values::Floats(x), Values::Floats(y)) => largest = largest.max(of_floats(&set, x, y)?),
            _ => return None,
        }
    }
    Some(largest)
}

/// Whether elements differ in the field.
fn differ_in_field(first: &Outputs<FieldValues>, second: &Outputs<FieldValues>) -> bool {
    first.arrays.values().zip(second.arrays.values()).any(|(a, b)| match (written(a, b), &a.values, &b.values) {
        (Some(set), FieldValues::Elements(x), FieldValues::Elements(y)) => set.iter().any(|&at| x[at] != y[at]),
        (Some(set), FieldValues::Ints(x), FieldValues::Ints(y)) => set.iter().any(|&at| x[at] != y[at]),
        _ => true,
    })
}

/// The elements that have a value in the first; `None` if one of them has none in the second. What the first leaves without a value
/// may have any in the second.
fn written<V: Elements>(first: &Output<V>, second: &Output<V>) -> Option<Vec<usize>> {
    let is_set = |output: &Output<V>, at: usize| output.is_set.as_ref().is_none_or(|is_set| is_set[at]);
    let set: Vec<usize> = (0..first.values.n()).filter(|&at| is_set(first, at)).collect();
    let is_kept = first.values.n() == second.values.n() && set.iter().all(|&at| is_set(second, at));
    is_kept.then_some(set)
}

/// Elements of an array.
trait Elements {
    /// How many there are.
    fn n(&self) -> usize;
}

impl Elements for Values {
    fn n(&self) -> usize {
        self.len()
    }
}

impl Elements for FieldValues {
    fn n(&self) -> usize {
        match self {
            Self::Elements(values) => values.len(),
            Self::Ints(values) => values.len(),
        }
    }
}

/// The distance of one array. What is not finite in the first may be anything that is not finite in the second.
fn of_floats(set: &[usize], x: &[f64], y: &[f64]) -> Option<f64> {
    let scale = set.iter().map(|&at| x[at].abs()).filter(|size| size.is_finite()).fold(0.0, f64::max);
    let mut largest = 0.0_f64;
    for &at in set {
        match (x[at].is_finite(), y[at].is_finite()) {
            (true, true) if x[at] == y[at] => {}
            (true, true) => largest = largest.max((x[at] - y[at]).abs() / scale.max(f64::MIN_POSITIVE)),
            (false, false) => {}
            _ => return None,
        }
    }
    Some(largest)
}

/// Whether the prime field replaces something in a kernel by an oracle: functions, powers that are not whole, comparisons and extrema of floats.
fn has_oracles(kernel: &Kernel) -> bool {
    let types = Types::infer(kernel);
    kernel.exprs.iter().any(|(_, expr)| match expr {
        Expr::Call { .. } => true,
        Expr::Op { op: Op::Pow, operands } => !matches!(kernel.exprs[operands[1]], Expr::Number(Number::Int(_))),
        Expr::Op { op, operands } if op.is_comparison() || matches!(op, Op::Min | Op::Max | Op::Mod | Op::FloorDiv) => {
            operands.iter().any(|&operand| types.of(operand).is_float())
        }
        Expr::Reduce { op: nestegg_ir::ReduceOp::Min | nestegg_ir::ReduceOp::Max, body, .. } => {
            types.of(*body).is_float()
        }
        _ => false,
    })
}

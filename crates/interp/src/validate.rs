//! Whether two programs mean the same: evidence by running both.
//!
//! # Input
//! Two programs, values for parameters.
//! # Output
//! A [`Verdict`]. *Different* names the first element that differs, the world and both values.
//! # Method
//! In this order: the arguments agree in name, order, dtype, shape and access; both are run on the same random data in
//! the prime field, where there is no rounding, so results must be equal; both are run in floats, once on random outputs
//! and once on outputs that start at zero (contributions may be tiny beside what they are added to). A float result may
//! differ by the tolerance times its condition: the magnitude that a first-order error analysis of the *first* program
//! gives for that element, so cancellation in the kernel itself is no fault of the other.
//! # Certainty
//! Two programs that are different rational functions of their data, of degree d, agree in the field on one seed with
//! probability at most d/2^40 (data are drawn from 2^40 values; Schwartz, 1980; Zippel, 1979). Functions and
//! comparisons of floats are random oracles of their arguments there. In floats a function that only the kernel's user
//! knows has a smooth stand-in; kernels with opaque code are compared in the field alone.
//! # Complexity
//! Four runs of each program, and one with error analysis of the first.

use std::fmt;

use indexmap::IndexMap;
use nestegg_ir::{Dtype, Kernel, Program};

use crate::conditioned::Conditioned;
use crate::error::{Error, Trap};
use crate::field::Field;
use crate::float::Floats;
use crate::input::{Inputs, Values};
use crate::memory::{Data, Storage};
use crate::run::{Compiled, RunOptions};
use crate::world::World;

/// How two programs are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidateOptions {
    /// Values of parameters; others take their estimate.
    pub parameters: IndexMap<String, i64>,
    /// The seeds of the runs in the field.
    pub seeds: Vec<u64>,
    /// How far a float64 result may be off, relative to its condition.
    pub tolerance: f64,
    /// The same for float32 results.
    pub tolerance_single: f64,
    /// Where a run is stopped.
    pub run: RunOptions,
}

impl Default for ValidateOptions {
    fn default() -> Self {
        Self {
            parameters: IndexMap::new(),
            seeds: vec![1, 2],
            tolerance: 1e-9,
            tolerance_single: 1e-4,
            run: RunOptions::default(),
        }
    }
}

/// How many other seeds are tried where a run in the field divides by zero.
const MORE_SEEDS: u64 = 6;

/// What a comparison found.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// No difference.
    Equal(Evidence),
    /// A difference.
    Different(Difference),
}

/// What was compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Elements of outputs that were equal in the field, over all seeds.
    pub n_exact: usize,
    /// Seeds in the field.
    pub n_seeds: usize,
    /// Elements of outputs that were compared in floats.
    pub n_floats: usize,
    /// The largest float error relative to the condition.
    pub largest_error: f64,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} elements equal in the prime field on {} seeds (chance of a wrong verdict at most degree/2^40 each), {} in \
             floats, largest error {:.1e} of the condition",
            self.n_exact, self.n_seeds, self.n_floats, self.largest_error
        )
    }
}

/// The first difference.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// The arguments are not the same.
    Arguments {
        /// In words.
        reason: String,
    },
    /// One program cannot be run where the other can.
    Trap {
        /// Which: `the first` or `the second`.
        program: &'static str,
        /// Why.
        error: Error,
    },
    /// Two values.
    Value {
        /// The argument.
        argument: String,
        /// The index of each dimension.
        index: Vec<i64>,
        /// `the prime field` or `floating point`.
        world: &'static str,
        /// The value of the first program.
        first: String,
        /// The value of the second.
        second: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments { reason } => f.write_str(reason),
            Self::Trap { program, error } => write!(f, "only {program} program fails: {error}"),
            Self::Value { argument, index, world, first, second } => {
                write!(
                    f,
                    "`{argument}{index:?}` is {first} in the first and {second} in the second program, in {world}"
                )
            }
        }
    }
}

/// Compares two programs.
///
/// # Errors
/// If the first program cannot be run.
pub fn validate(first: &Program, second: &Program, options: &ValidateOptions) -> Result<Verdict, Error> {
    if let Some(reason) = arguments_differ(first.kernel(), second.kernel()) {
        return Ok(Verdict::Different(Difference::Arguments { reason }));
    }
    let random = |seed| Inputs::random(first.kernel(), &options.parameters, seed);
    let parameters = random(0)?.parameters;
    let comparison = Comparison {
        first: Compiled::new(first, &parameters)?.with_stand_ins(),
        second: match Compiled::new(second, &parameters) {
            Ok(compiled) => compiled.with_stand_ins(),
            Err(error) => return Ok(Verdict::Different(Difference::Trap { program: "the second", error })),
        },
        options,
    };
    let mut evidence = Evidence::default();
    let found = comparison.in_field(&mut evidence, random)?;
    let found = match found {
        Some(difference) => Some(difference),
        None => comparison.in_floats(&mut evidence, &random(options.seeds.first().copied().unwrap_or(1))?)?,
    };
    Ok(match found {
        Some(difference) => Verdict::Different(difference),
        None => Verdict::Equal(evidence),
    })
}

/// Why the arguments of two kernels are not the same, if they are not.
fn arguments_differ(first: &Kernel, second: &Kernel) -> Option<String> {
    let names = |kernel: &Kernel| kernel.arguments().map(|array| kernel[array].name.clone()).collect::<Vec<_>>();
    if names(first) != names(second) {
        let (first, second) = (names(first).join(", "), names(second).join(", "));
        return Some(format!("the arguments are ({first}) and ({second})"));
    }
    first.arguments().zip(second.arguments()).find_map(|(a, b)| {
        let (a, b) = (&first[a], &second[b]);
        let shapes = a.shape.iter().zip(&b.shape).all(|(&x, &y)| {
            let (x, y) = (nestegg_ir::affine::of(&first.exprs, x), nestegg_ir::affine::of(&second.exprs, y));
            x == y
        });
        let same = a.dtype == b.dtype && a.kind == b.kind && a.shape.len() == b.shape.len() && shapes;
        (!same).then(|| format!("argument `{}` has another dtype, shape or access", a.name))
    })
}

struct Comparison<'a> {
    first: Compiled,
    second: Compiled,
    options: &'a ValidateOptions,
}

/// Both programs' memories after a run, or why that seed says nothing.
enum Pair<A, B> {
    Memories(Vec<Storage<A>>, Vec<Storage<B>>),
    Difference(Difference),
    /// A division by zero in the field.
    NoInverse(Difference),
}

impl Comparison<'_> {
    fn in_field(
        &self,
        evidence: &mut Evidence,
        random: impl Fn(u64) -> Result<Inputs, Error>,
    ) -> Result<Option<Difference>, Error> {
        for &seed in &self.options.seeds {
            let mut last = None;
            for attempt in 0..=MORE_SEEDS {
                let seed = seed.wrapping_add(attempt.wrapping_mul(0x1000_0001));
                let inputs = random(seed)?;
                match self.run(|| Field { seed }, || Field { seed }, &inputs)? {
                    Pair::Difference(difference) => return Ok(Some(difference)),
                    Pair::NoInverse(difference) => last = Some(difference),
                    Pair::Memories(first, second) => {
                        let compare = |a: &u64, b: &u64, _: Dtype| {
                            if a == b { Ok(0.0) } else { Err((a.to_string(), b.to_string())) }
                        };
                        let (n, _, difference) = self.compare(&first, &second, "the prime field", compare);
                        if difference.is_some() {
                            return Ok(difference);
                        }
                        evidence.n_exact += n;
                        evidence.n_seeds += 1;
                        last = None;
                        break;
                    }
                }
            }
            if last.is_some() {
                return Ok(last);
            }
        }
        Ok(None)
    }

    fn in_floats(&self, evidence: &mut Evidence, inputs: &Inputs) -> Result<Option<Difference>, Error> {
        let mut from_zero = inputs.clone();
        let kernel = self.first.kernel();
        for array in kernel.arguments().filter(|&array| kernel[array].is_writable()) {
            if let Some(Values::Floats(values)) = from_zero.arrays.get_mut(&kernel[array].name) {
                values.fill(0.0);
            }
        }
        for inputs in [inputs, &from_zero] {
            let found = match self.run(|| Conditioned, || Floats, inputs) {
                // Opaque code has a meaning in the field only: what it makes of rounded values nobody knows.
                Err(Error::Trap { trap: Trap::Unsupported(_), .. }) => return Ok(None),
                found => found?,
            };
            match found {
                Pair::Difference(difference) | Pair::NoInverse(difference) => return Ok(Some(difference)),
                Pair::Memories(first, second) => {
                    let compare = |a: &crate::conditioned::Scaled, b: &f64, dtype: Dtype| {
                        let tolerance = match dtype {
                            Dtype::Float32 => self.options.tolerance_single,
                            _ => self.options.tolerance,
                        };
                        let (a, scale) = (a.value, a.magnitude.max(a.value.abs()).max(b.abs()));
                        let error = (a - b).abs();
                        if a.to_bits() == b.to_bits() || a == *b || (a.is_nan() && b.is_nan()) {
                            Ok(0.0)
                        } else if error <= tolerance * scale || (!scale.is_finite() && !a.is_finite()) {
                            Ok(if scale > 0.0 && scale.is_finite() { error / scale } else { 0.0 })
                        } else {
                            Err((format!("{a:e}"), format!("{b:e}")))
                        }
                    };
                    let (n, largest, difference) = self.compare(&first, &second, "floating point", compare);
                    if difference.is_some() {
                        return Ok(difference);
                    }
                    evidence.n_floats += n;
                    evidence.largest_error = evidence.largest_error.max(largest);
                }
            }
        }
        Ok(None)
    }

    /// Runs both programs on the same data.
    fn run<A: World, B: World>(
        &self,
        first: impl Fn() -> A,
        second: impl Fn() -> B,
        inputs: &Inputs,
    ) -> Result<Pair<A::Float, B::Float>, Error> {
        let max_steps = self.options.run.max_steps;
        let a = self.first.memory(&first(), inputs).and_then(|memory| self.first.execute(first(), memory, max_steps));
        let b =
            self.second.memory(&second(), inputs).and_then(|memory| self.second.execute(second(), memory, max_steps));
        let no_inverse = |error: &Error| matches!(error, Error::Trap { trap: Trap::NoInverse, .. });
        Ok(match (a, b) {
            (Ok(a), Ok(b)) => Pair::Memories(a, b),
            (Err(error), _) if no_inverse(&error) => Pair::NoInverse(Difference::Trap { program: "the first", error }),
            (Err(error), _) => return Err(error),
            (Ok(_), Err(error)) if no_inverse(&error) => {
                Pair::NoInverse(Difference::Trap { program: "the second", error })
            }
            (Ok(_), Err(error)) => Pair::Difference(Difference::Trap { program: "the second", error }),
        })
    }

    /// Compares the writable arguments; answers how many elements, the largest error, and the first difference.
    fn compare<A, B>(
        &self,
        first: &[Storage<A>],
        second: &[Storage<B>],
        world: &'static str,
        compare: impl Fn(&A, &B, Dtype) -> Result<f64, (String, String)>,
    ) -> (usize, f64, Option<Difference>) {
        let kernel = self.first.kernel();
        let other = self.second.kernel();
        let (mut n, mut largest) = (0, 0.0_f64);
        for (a, b) in kernel.arguments().zip(other.arguments()) {
            if !kernel[a].is_writable() {
                continue;
            }
            let layout = &self.first.code.layouts[a.index()];
            let (left, right) = (&first[a.index()], &second[b.index()]);
            let is_set = |is_set: &Option<Vec<bool>>, idx: usize| is_set.as_ref().is_none_or(|is_set| is_set[idx]);
            for idx in 0..layout.len {
                let found = match (is_set(&left.is_set, idx), is_set(&right.is_set, idx)) {
                    // What the first program leaves open the second may write or not.
                    (false, _) => continue,
                    (true, false) => Err(("a value".to_owned(), "not written".to_owned())),
                    (true, true) => match (&left.data, &right.data) {
                        (Data::Floats(left), Data::Floats(right)) => compare(&left[idx], &right[idx], layout.dtype),
                        (Data::Ints(left), Data::Ints(right)) if left[idx] == right[idx] => Ok(0.0),
                        (Data::Ints(left), Data::Ints(right)) => Err((left[idx].to_string(), right[idx].to_string())),
                        _ => Err(("of one type".to_owned(), "of another".to_owned())),
                    },
                };
                match found {
                    Ok(error) => {
                        n += 1;
                        largest = largest.max(error);
                    }
                    Err((left, right)) => {
                        let difference = Difference::Value {
                            argument: layout.name.clone(),
                            index: index_of(idx, &layout.shape),
                            world,
                            first: left,
                            second: right,
                        };
                        return (n, largest, Some(difference));
                    }
                }
            }
        }
        (n, largest, None)
    }
}

/// The index of each dimension of a row-major position.
fn index_of(position: usize, shape: &[i64]) -> Vec<i64> {
    let mut rest = position as i64;
    let mut res: Vec<i64> = shape
        .iter()
        .rev()
        .map(|&size| {
            let index = rest % size.max(1);
            rest /= size.max(1);
            index
        })
        .collect();
    res.reverse();
    res
}

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
//! gives for that element, so cancellation in the kernel itself is no fault of the other. What has no finite value or
//! no finite condition in the first program must be the same infinity, or not a number, in the second. Where the programs must
//! [agree to the bit](Agreement::Bits), no tolerance is given.
//! A difference names the instruction of the second program that last wrote the element.
//! # Certainty
//! Two programs that are different rational functions of their data, of degree d, agree in the field on one seed with
//! probability at most d/2^40 (data are drawn from 2^40 values; Schwartz, 1980; Zippel, 1979). Functions and
//! comparisons of floats are random oracles of their arguments there. In floats a function that only the kernel's user
//! knows has a smooth stand-in. Kernels with opaque code are compared in the field alone. An element that the field has no
//! value for in the first program, because a quotient by zero or the cast of a float to an integer reaches it or decides
//! on it, is compared in floats alone; one that is undefined in the second alone is a difference. What is undefined
//! but reaches no output is none: C's quotient by zero does no harm. [`Evidence`] says what was not compared.
//! # Complexity
//! Four runs of each program, two of them with error analysis of the first; field and floats in parallel.
//! # Not done
//! The smallest sub-expression that differs is not looked for: whoever made the second program knows better how to try.

mod compare;

use std::fmt;

use indexmap::IndexMap;
use nestegg_ir::{Kernel, Program};

use crate::error::Error;
use crate::input::Inputs;
use crate::run::{Compiled, RunOptions};
use crate::validate::compare::Comparison;

/// How two programs are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidateOptions {
    /// Values of parameters; others take their estimate.
    pub parameters: IndexMap<String, i64>,
    /// The seeds of the runs in the field.
    pub seeds: Vec<u64>,
    /// How far a float64 result may be off, relative to its condition.
    pub tolerance: f64,
    /// The same for float32 results, and for all results of programs that hold float32 values: they may round on the way.
    pub tolerance_single: f64,
    /// What floats of the two programs must have in common.
    pub agreement: Agreement,
    /// Where a run is stopped.
    pub run: RunOptions,
}

/// What floats of two programs must have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// They are close, by the tolerances.
    Close,
    /// All bits, but for those of what is not a number.
    Bits,
}

impl Default for ValidateOptions {
    fn default() -> Self {
        Self {
            parameters: IndexMap::new(),
            seeds: vec![1, 2],
            tolerance: 1e-9,
            tolerance_single: 1e-4,
            agreement: Agreement::Close,
            run: RunOptions::default(),
        }
    }
}

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
    /// Seeds in the field on which elements were compared.
    pub n_seeds: usize,
    /// Elements of outputs that are undefined in the field in the first program, over all seeds.
    pub n_undefined: usize,
    /// Elements of outputs that were compared in floats, over both runs.
    pub n_floats: usize,
    /// The largest float error relative to the condition.
    pub largest_error: f64,
    /// Why the programs could not be compared in one of the worlds: the first has no meaning there, or all of it is undefined.
    pub not_compared: Option<Error>,
}

/// Prints a sentence.
impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.n_seeds {
            0 => f.write_str("not compared in the prime field")?,
            n_seeds => write!(
                f,
                "{} elements equal in the prime field on {n_seeds} seeds (chance of a wrong verdict at most degree/2^40 each)",
                self.n_exact
            )?,
        }
        if self.n_undefined > 0 {
            write!(f, ", {} undefined there", self.n_undefined)?;
        }
        match self.n_floats {
            0 => f.write_str(", none in floats")?,
            n => write!(f, ", {n} in floats, largest error {:.1e} of the condition", self.largest_error)?,
        }
        match &self.not_compared {
            None => Ok(()),
            Some(error) => write!(f, " ({error})"),
        }
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
        /// The instruction of the second program that wrote the element last, if one did.
        instruction: Option<String>,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments { reason } => f.write_str(reason),
            Self::Trap { program, error } => write!(f, "only {program} program fails: {error}"),
            Self::Value { argument, index, world, first, second, instruction } => {
                write!(
                    f,
                    "`{argument}{index:?}` is {first} in the first and {second} in the second program, in {world}"
                )?;
                match instruction {
                    None => Ok(()),
                    Some(instruction) => write!(f, "; instruction `{instruction}` wrote it last"),
                }
            }
        }
    }
}

/// Compares two programs.
///
/// # Errors
/// If the first program cannot be run, or neither world gives a meaning to what it does.
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
        has_single: first.kernel().has_single() || second.kernel().has_single(),
    };
    let inputs = random(options.seeds.first().copied().unwrap_or(1))?;
    let (in_field, in_floats) = rayon::join(|| comparison.in_field(random), || comparison.in_floats(&inputs));
    Ok(match (in_field?, in_floats?) {
        (Err(difference), _) | (_, Err(difference)) => Verdict::Different(difference),
        (Ok(Evidence { not_compared: Some(error), .. }), Ok(Evidence { not_compared: Some(_), .. })) => {
            return Err(error);
        }
        (Ok(field), Ok(floats)) => Verdict::Equal(Evidence {
            n_exact: field.n_exact,
            n_seeds: field.n_seeds,
            n_undefined: field.n_undefined,
            n_floats: floats.n_floats,
            largest_error: floats.largest_error,
            not_compared: field.not_compared.or(floats.not_compared),
        }),
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

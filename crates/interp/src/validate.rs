//! Whether two programs mean the same: evidence by running both.
//!
//! # Input
//! Two programs, values for parameters.
//! # Output
//! A [`Verdict`]. *Different* names the first element that differs, the arithmetic and both values.
//! # Method
//! The arguments agree in name, order, dtype, shape and access. Then both programs run on the same data, in rounds.
//!
//! Each round is in *exact arithmetic*: every value is an element of a prime field and a float beside it
//! ([`exact`](crate::exact)). Elements of outputs must be equal in the field, and their floats as close as the first
//! program's condition asks: the magnitude that a first-order error analysis gives, so cancellation in the first program is no fault of
//! the second. Where functions of math.h have a part in values that differ in the field, identities of these functions may
//! still make them equal: then *real arithmetic* decides, with 115 digits ([`real`](crate::real)).
//!
//! The first two rounds draw data of moderate size, the second with outputs that start at zero, for contributions may be
//! tiny beside what they are added to. Programs that decide on data are run on further [profiles](crate::data) until every decision went
//! both ways, or the rounds are used up. An element of the first program that has no value on some data (it divides by zero, or takes the
//! root of a negative number) is compared on other data; one that has none on any is compared in floats alone, where
//! infinities must be the same and what is no number must be so in both.
//!
//! Bold data have neighbours among floats, and rounding decides comparisons of these. So a difference on such data is
//! [doubted](doubt) until real arithmetic confirms it, or, where programs are compared in floats alone, until it is no jump of the first program.
//!
//! Programs that run long are not run whole: chosen elements are evaluated backwards, on demand ([`demand`](crate::demand)).
//! They are those that the corners of each store's loops write, and random ones.
//!
//! Where the programs must [agree to the bit](Agreement::Bits), they run in plain floats too, and no tolerance is given.
//! A difference names the instruction of the second program that last wrote the element.
//! # Certainty
//! Two programs that are different rational functions of their data, of degree d, agree in the field on one round with
//! probability at most d/2^40 (data are drawn from 2^40 values; Schwartz, 1980; Zippel, 1979). In floats a function that only the kernel's user
//! knows has a smooth stand-in. [`Evidence`] says what was not compared, and which decisions never went one way.
//! # Complexity
//! Two runs of each program; where they decide on data some twenty more, on demand and within limits of steps.
//! # Not done
//! The smallest sub-expression that differs is not looked for: whoever made the second program knows better how to try.

mod choose;
mod chosen;
mod compare;
mod doubt;
mod survey;
mod tally;
mod whole;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use nestegg_ir::{ExprId, Kernel, Program};

use crate::data::Plan;
use crate::error::Error;
use crate::run::{Compiled, RunOptions};
use crate::validate::compare::Comparison;

pub use crate::validate::survey::{Element, Survey, survey};

/// How two programs are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidateOptions {
    /// Values of parameters; others take their estimate.
    pub parameters: IndexMap<String, i64>,
    /// The seeds of the first rounds in exact arithmetic; without any, programs are compared in floats alone.
    pub seeds: Vec<u64>,
    /// How far a float64 result may be off, relative to its condition.
    pub tolerance: f64,
    /// The same for float32 results, and for all results of programs that hold float32 values: they may round on the way.
    pub tolerance_single: f64,
    /// Where programs are compared in floats alone: an element may also be off by this part of the largest condition in its output. Tables of which small
    /// numbers were changed leave that much where the first program has next to nothing.
    pub noise: f64,
    /// What floats of the two programs must have in common.
    pub agreement: Agreement,
    /// How often all kinds of data are gone through, at most, for decisions that have gone one way only.
    pub max_cycles: usize,
    /// Where a run is stopped.
    pub run: RunOptions,
    /// An element, evaluated on demand, may take so many steps.
    pub max_steps_of_element: u64,
    /// Elements to look at before all others, where not all are looked at.
    pub suspects: Vec<Element>,
    /// Whether [`survey`] found no suspects: then fewer elements do, and need not be of every store.
    pub is_surveyed: bool,
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
            noise: 0.0,
            agreement: Agreement::Close,
            max_cycles: 48,
            run: RunOptions::default(),
            max_steps_of_element: 100_000_000,
            suspects: Vec::new(),
            is_surveyed: false,
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
    /// Elements of outputs that were looked at: all that the first program writes, or chosen ones.
    pub n_elements: usize,
    /// Whether these are chosen ones.
    pub is_chosen: bool,
    /// Of these, the ones that were equal in exact arithmetic, on every data set on which they have a value.
    pub n_exact: usize,
    /// The ones that are equal by identities of functions: to [`real::DIGITS`](crate::real) digits in real arithmetic.
    pub n_real: usize,
    /// The ones that have no value in exact arithmetic on any data, and are equal in floats.
    pub n_floats: usize,
    /// The data sets.
    pub n_data: usize,
    /// The largest float error relative to the condition.
    pub largest_error: f64,
    /// Decisions that went one way only, on all data; `None` if nobody watched.
    pub unreached: Option<Vec<Unreached>>,
    /// Why there are elements that could not be compared at all, if there are.
    pub not_compared: Option<Error>,
}

/// A decision that went one way only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// Whether it is one of the first program.
    pub is_first: bool,
    /// The condition, or the extremum, in that program.
    pub expr: ExprId,
    /// What never happened: the condition holds, or does not; for an extremum the position of the operand that it never is.
    pub never: Outcome,
}

/// What a decision may come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The condition holds.
    True,
    /// It does not.
    False,
    /// The extremum is this operand.
    Operand(usize),
    /// It is not even asked for.
    Any,
}

impl Unreached {
    /// What neither of two runs reached, of the same programs at different sizes.
    #[must_use]
    pub fn in_both(first: &[Self], second: &[Self]) -> Vec<Self> {
        let of = |list: &[Self], own: &Self| -> Vec<Self> {
            list.iter().filter(|it| (it.is_first, it.expr) == (own.is_first, own.expr)).cloned().collect()
        };
        let mut res: Vec<Self> = Vec::new();
        for own in first {
            let other = of(second, own);
            match own.never {
                Outcome::Any => res.extend(other),
                _ if other.iter().any(|other| other.never == own.never || other.never == Outcome::Any) => {
                    res.push(own.clone());
                }
                _ => {}
            }
        }
        res
    }
}

/// Prints a sentence.
impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = if self.is_chosen { "" } else { "all " };
        let of =
            |n: usize| if n == self.n_elements { format!("{all}{n}") } else { format!("{n} of {}", self.n_elements) };
        let chosen = if self.is_chosen { "chosen elements" } else { "elements" };
        let mut parts = Vec::new();
        if self.n_exact > 0 {
            let sets = if self.n_data == 1 { "1 data set".to_owned() } else { format!("{} data sets", self.n_data) };
            parts.push(format!("{} {chosen} exactly on {sets}", of(self.n_exact)));
        }
        if self.n_real > 0 {
            parts.push(format!("{} {chosen} in real arithmetic", of(self.n_real)));
        }
        if self.n_floats > 0 {
            parts.push(format!("{} {chosen} in floats alone", of(self.n_floats)));
        }
        if parts.is_empty() {
            parts.push("nothing to compare".to_owned());
        }
        f.write_str(&parts.join(", "))?;
        match &self.not_compared {
            None => Ok(()),
            Some(error) => write!(f, "; others have no value on any data ({error})"),
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
        /// `exact arithmetic`, `real arithmetic` or `floating point`.
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

/// What was compiled, or why nothing was.
type Shared = Result<Arc<Compiled>, Error>;

/// A program that may be compared several times: what is compiled of it is kept.
pub struct Runnable<'p> {
    program: Cow<'p, Program>,
    /// The parameter values of the first comparison, and what was compiled for them.
    compiled: OnceLock<(IndexMap<String, i64>, Shared)>,
}

impl fmt::Debug for Runnable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runnable").field("program", &self.program).finish_non_exhaustive()
    }
}

impl<'p> From<&'p Program> for Runnable<'p> {
    fn from(program: &'p Program) -> Self {
        Self { program: Cow::Borrowed(program), compiled: OnceLock::new() }
    }
}

impl From<Program> for Runnable<'_> {
    fn from(program: Program) -> Self {
        Self { program: Cow::Owned(program), compiled: OnceLock::new() }
    }
}

impl Runnable<'_> {
    /// The program.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    fn kernel(&self) -> &Kernel {
        self.program.kernel()
    }

    fn compiled(&self, parameters: &IndexMap<String, i64>) -> Shared {
        let compile = || Ok(Arc::new(Compiled::new(&self.program, parameters)?.with_stand_ins()));
        let (of, compiled) = self.compiled.get_or_init(|| (parameters.clone(), compile()));
        if of == parameters { compiled.clone() } else { compile() }
    }
}

/// Compares two programs.
///
/// # Errors
/// If the first program cannot be run, or neither world gives a meaning to what it does.
pub fn validate(first: &Program, second: &Program, options: &ValidateOptions) -> Result<Verdict, Error> {
    validate_runnable(&first.into(), &second.into(), options)
}

/// The same for programs that are compared several times.
///
/// # Errors
/// As [`validate`].
pub fn validate_runnable(
    first: &Runnable<'_>,
    second: &Runnable<'_>,
    options: &ValidateOptions,
) -> Result<Verdict, Error> {
    if let Some(reason) = arguments_differ(first.kernel(), second.kernel()) {
        return Ok(Verdict::Different(Difference::Arguments { reason }));
    }
    match compiled(first, second, options)? {
        Ok((plan, programs)) => Comparison::new(programs, &plan, options).verdict(),
        Err(error) => Ok(Verdict::Different(Difference::Trap { program: "the second", error })),
    }
}

/// The data and both programs.
type Pair = (Plan, [Arc<Compiled>; 2]);

/// The data and both programs, or why the second is none.
fn compiled(
    first: &Runnable<'_>,
    second: &Runnable<'_>,
    options: &ValidateOptions,
) -> Result<Result<Pair, Error>, Error> {
    let plan = Plan::new(first.kernel(), &[second.kernel()], &options.parameters)?;
    let (of_first, of_second) = (first.compiled(plan.parameters())?, second.compiled(plan.parameters()));
    Ok(of_second.map(|of_second| (plan, [of_first, of_second])))
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
        let shapes = a.shape.iter().zip(&b.shape).all(|(&x_id, &y_id)| {
            let (x, y) = (nestegg_ir::affine::of(&first.exprs, x_id), nestegg_ir::affine::of(&second.exprs, y_id));
            match (first.is_unstated(x_id), second.is_unstated(y_id)) {
                (false, false) => x == y,
                (a, b) => a == b,
            }
        });
        let same =
            (a.dtype, a.stored) == (b.dtype, b.stored) && a.kind == b.kind && a.shape.len() == b.shape.len() && shapes;
        (!same).then(|| format!("argument `{}` has another dtype, shape or access", a.name))
    })
}

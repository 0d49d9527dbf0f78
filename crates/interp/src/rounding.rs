//! How far kernels are from the real numbers that they stand for.
//!
//! # Input
//! A program, other programs that are to compute the same, and random data.
//! # Output
//! For each of them its [`Deviation`]: the largest error of an element, over the largest magnitude in its array.
//! # Method
//! The first program is evaluated in double-double arithmetic, with literals and data as the floats that they are; all of them are
//! evaluated in floats. Outputs begin at zero: what is added to a large value would be rounded with it.
//! # Not done
//! Errors of single elements relative to their own size: an element of an output that cancels to nothing is as far off as its
//! neighbours, and nobody minds. Elements that are made by functions that are not known to many digits have no exact value, and are not compared.

use indexmap::IndexMap;
use nestegg_ir::Program;

use crate::doubled::{Doubled, Long};
use crate::error::Error;
use crate::float::Floats;
use crate::input::{Inputs, Values};
use crate::memory::{Data, Storage};
use crate::run::{Compiled, RunOptions};

/// The errors of one program on some data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    /// The largest error of an element over the largest exact magnitude of its array, over all outputs.
    pub largest: f64,
    /// How many elements were compared: those with an exact value.
    pub n_elements: usize,
}

/// Programs whose rounding errors are compared: all are to compute what the first does.
pub struct Rounding {
    programs: Vec<Compiled>,
}

impl Rounding {
    /// Prepares the programs, with these values of parameters.
    ///
    /// # Errors
    /// If a program has no order, or no meaning with these values.
    pub fn new(programs: &[&Program], parameters: &IndexMap<String, i64>) -> Result<Self, Error> {
        let compiled = |program: &&Program| Ok(Compiled::new(program, parameters)?.with_stand_ins());
        Ok(Self { programs: programs.iter().map(compiled).collect::<Result<_, Error>>()? })
    }

    /// The deviation of each program from the exact values of the first one.
    ///
    /// # Errors
    /// If a program cannot be run on these data, or the first has no meaning in high precision.
    pub fn deviations(&self, inputs: &Inputs, options: &RunOptions) -> Result<Vec<Deviation>, Error> {
        let Some(first) = self.programs.first() else { return Ok(Vec::new()) };
        let kernel = first.kernel();
        let mut inputs = inputs.clone();
        for array in kernel.arguments().filter(|&array| kernel[array].is_writable()) {
            if let Some(Values::Floats(values)) = inputs.arrays.get_mut(&kernel[array].name) {
                values.fill(0.0);
            }
        }
        let exact = exact(first, &inputs, options)?;
        let deviation = |program: &Compiled| {
            let memory = program.memory(&Floats, &inputs)?;
            let found = program.execute(&Floats, memory, options.max_steps)?;
            let mut deviation = Deviation::default();
            for (a, b) in kernel.arguments().zip(program.kernel().arguments()).filter(|(a, _)| kernel[*a].is_writable())
            {
                let (exact, found) = (&exact[a.index()], &found[b.index()]);
                if let (Data::Floats(reals), Data::Floats(floats)) = (&exact.data, &found.data) {
                    let has_value = |idx: &usize| exact.has_value(*idx) && exact.gap(*idx).is_none();
                    let pairs: Vec<(Long, f64)> =
                        (0..reals.len()).filter(has_value).map(|idx| (reals[idx], floats[idx])).collect();
                    deviation.n_elements += pairs.len();
                    deviation.largest = deviation.largest.max(largest_error(&pairs));
                }
            }
            Ok(deviation)
        };
        self.programs.iter().map(deviation).collect()
    }
}

/// What a program leaves, in high precision.
fn exact(program: &Compiled, inputs: &Inputs, options: &RunOptions) -> Result<Vec<Storage<Long>>, Error> {
    let memory = program.memory(&Doubled, inputs)?;
    program.execute(&Doubled, memory, options.max_steps)
}

/// The largest error over the largest magnitude; what is not finite must be so in both.
fn largest_error(pairs: &[(Long, f64)]) -> f64 {
    let finite = |(real, _): &&(Long, f64)| real.0.hi().is_finite();
    let scale = pairs.iter().filter(finite).map(|(real, _)| real.0.hi().abs()).fold(0.0, f64::max);
    let error = |&(real, float): &(Long, f64)| {
        if !real.0.hi().is_finite() {
            return if float.is_finite() { f64::INFINITY } else { 0.0 };
        }
        let error = (real.0 - float).hi().abs();
        if error.is_nan() { f64::INFINITY } else { error }
    };
    let largest = pairs.iter().map(error).fold(0.0, f64::max);
    if largest == 0.0 { 0.0 } else { largest / scale }
}

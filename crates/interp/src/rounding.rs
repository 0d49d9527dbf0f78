//! How far kernels are from the real numbers that they stand for.
//!
//! # Input
//! A program, other programs that are to compute the same, and data.
//! # Output
//! For each of them and each of the data its [`Deviation`]: the largest error of an element, over the largest magnitude in its array.
//! # Method
//! Chosen elements of the first program's outputs are evaluated on demand as real numbers in high precision, with literals and data as the floats that they are; the same
//! elements of all programs are evaluated in floats. Outputs begin at zero: what is added to a large value would be rounded with it.
//! # Complexity
//! As evaluation on demand; [`Sample`] bounds elements and steps.
//! # Not done
//! Errors of single elements relative to their own size: an element of an output that cancels to nothing is as far off as its
//! neighbours, and nobody minds. Elements without a real value (a quotient by zero, a function that high precision does not know) are not compared.

use std::collections::BTreeSet;

use nestegg_ir::{ArgumentAccess, ArrayId, ArrayKind, Dtype, Kernel, LinearizedKernel, Program};

use crate::demand::{Data, Demand, Plan, Value};
use crate::error::Error;
use crate::float::Floats;
use crate::input::{Inputs, Values, parameter_values};
use crate::memory::Layout;
use crate::real::{Real, RealValue};
use crate::source::Source;
use crate::world::{World, mix};

/// The errors of one program on some data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    /// The largest error of an element over the largest exact magnitude of its array, over all outputs.
    pub largest: f64,
    /// How many elements were compared: those with an exact value.
    pub n_elements: usize,
}

/// How much is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Elements of each output.
    pub n_elements: usize,
    /// No further element is begun after so many steps in high precision, on each of the data.
    pub max_steps: u64,
}

/// An element may take this many times the steps after which no other one is begun.
const MAX_STEPS_OF_ELEMENT: u64 = 50;

/// For each of the data, which agree in the values of parameters, the deviation of each program from the exact values of the first one.
///
/// # Errors
/// If a program cannot be evaluated on demand.
pub fn deviations(programs: &[&Program], data: &[Inputs], sample: Sample) -> Result<Vec<Vec<Deviation>>, Error> {
    let Some(parameters) = data.first().map(|inputs| &inputs.parameters) else { return Ok(Vec::new()) };
    let linearized = programs.iter().map(|&program| program.clone().into_linearized());
    let linearized: Vec<LinearizedKernel> = linearized.collect::<Result<_, _>>()?;
    let mut plans = Vec::with_capacity(linearized.len());
    for program in &linearized {
        let values = parameter_values(&program.kernel, parameters)?;
        let source = Source::new(&program.kernel, &values)?;
        plans.push((Plan::new(program, &values)?.with_stand_ins(), Layout::all(&program.kernel, &source)?));
    }
    let Some((first, layouts)) = plans.first() else { return Ok(Vec::new()) };
    let outputs: Vec<(usize, ArrayId)> = outputs(first.kernel).collect();
    let world = Real::new();
    let mut res = Vec::with_capacity(data.len());
    for inputs in data {
        // Elements with an exact value: of which argument, at which position, and the value.
        let mut exact: Vec<(usize, usize, RealValue)> = Vec::new();
        let given = Given::new(&world, first.kernel, layouts, inputs);
        let limit = sample.max_steps.saturating_mul(MAX_STEPS_OF_ELEMENT);
        let mut demand = Demand::new(&world, first, &given).with_limit(limit);
        for &(argument, array) in &outputs {
            let layout = &layouts[array.index()];
            for position in positions(layout.len, sample.n_elements) {
                if demand.steps() > sample.max_steps && exact.last().is_some_and(|last| last.0 == argument) {
                    break;
                }
                match demand.element(array, &layout.index(position)) {
                    Ok(Value::Float(value)) if value.is_defined() => exact.push((argument, position, value)),
                    _ => {}
                }
            }
        }
        let of_program = |(plan, layouts): &(Plan<'_>, Vec<Layout>)| {
            let given = Given::new(&Floats, plan.kernel, layouts, inputs);
            let mut demand = Demand::new(&Floats, plan, &given);
            let mut deviation = Deviation { largest: 0.0, n_elements: exact.len() };
            for (argument, array) in self::outputs(plan.kernel) {
                let own = exact.iter().filter(|element| element.0 == argument);
                let pairs = own.map(|(_, position, value)| {
                    let found = demand.element(array, &layouts[array.index()].index(*position));
                    (value, if let Ok(Value::Float(found)) = found { found } else { f64::NAN })
                });
                deviation.largest = deviation.largest.max(largest_error(pairs));
            }
            deviation
        };
        res.push(plans.iter().map(of_program).collect());
    }
    Ok(res)
}

/// The arguments of float dtypes that a kernel writes, with their number among all arguments.
fn outputs(kernel: &Kernel) -> impl Iterator<Item = (usize, ArrayId)> + '_ {
    let is_output = |&(_, array): &(usize, ArrayId)| kernel[array].is_writable() && kernel[array].dtype.is_float();
    kernel.arguments().enumerate().filter(is_output)
}

/// Positions of so many elements: all, if there are not more; else scattered ones.
fn positions(len: usize, n_elements: usize) -> BTreeSet<usize> {
    if len <= n_elements {
        return (0..len).collect();
    }
    (0..n_elements as u64).map(|idx| (mix(idx) % len as u64) as usize).collect()
}

/// The largest error over the largest magnitude; what is not a number is infinitely far off.
fn largest_error<'a>(pairs: impl Iterator<Item = (&'a RealValue, f64)>) -> f64 {
    let (mut largest, mut scale) = (0.0_f64, 0.0_f64);
    for (real, float) in pairs {
        let error = if float.is_finite() { real.distance(float) } else { f64::INFINITY };
        largest = largest.max(error);
        scale = scale.max(real.to_float().abs());
    }
    if largest == 0.0 { 0.0 } else { largest / scale }
}

/// Given arrays, in the form of a world; outputs are zero.
struct Given<'a, W: World> {
    world: &'a W,
    arrays: Vec<Option<(&'a Layout, &'a Values)>>,
}

impl<'a, W: World> Given<'a, W> {
    fn new(world: &'a W, kernel: &Kernel, layouts: &'a [Layout], inputs: &'a Inputs) -> Self {
        let given = |array: ArrayId| {
            let is_zero = kernel[array].dtype.is_float()
                && !matches!(kernel[array].kind, ArrayKind::Argument(ArgumentAccess::Read));
            let values = inputs.arrays.get(&kernel[array].name).filter(|_| !is_zero)?;
            Some((&layouts[array.index()], values))
        };
        Self { world, arrays: kernel.array_ids().map(given).collect() }
    }

    /// Where an element is kept.
    fn at(&self, array: ArrayId, index: &[i64]) -> Option<(&'a Layout, &'a Values, usize)> {
        let (layout, values) = self.arrays[array.index()]?;
        let position: i64 = index.iter().zip(&layout.strides).map(|(index, stride)| index * stride).sum();
        Some((layout, values, usize::try_from(position).ok()?))
    }
}

impl<W: World> Data<W::Float> for Given<'_, W> {
    fn float(&self, array: ArrayId, index: &[i64]) -> W::Float {
        let value = match self.at(array, index) {
            Some((layout, Values::Floats(values), position)) => {
                let value = values.get(position).copied().unwrap_or(0.0);
                if layout.dtype == Dtype::Float32 { f64::from(value as f32) } else { value }
            }
            _ => 0.0,
        };
        self.world.literal(value)
    }

    fn int(&self, array: ArrayId, index: &[i64]) -> i64 {
        match self.at(array, index) {
            Some((_, Values::Ints(values), position)) => values.get(position).copied().unwrap_or(0),
            _ => 0,
        }
    }
}

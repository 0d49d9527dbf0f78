//! How far kernels are from the real numbers that they stand for.
//!
//! # Input
//! A program, other programs that are to compute the same, and [families](Family) of data with their seeds.
//! # Output
//! For each of them and each of the data its [`Deviation`]: the largest error of an element, over the largest magnitude in its array.
//! # Method
//! Chosen elements are evaluated on demand, in floats. Where the programs are nearly as close as rounding allows none can lose much, and that is
//! all; else the elements of the first program are evaluated once more, as real numbers in high precision, with literals and data as the
//! floats that they are. Outputs begin at zero: what is added to a large value would be rounded with it.
//! # Complexity
//! As evaluation on demand; [`Sample`] bounds elements and steps.
//! # Not done
//! Errors of single elements relative to their own size: an element of an output that cancels to nothing is as far off as its
//! neighbours, and nobody minds. Elements without a real value (a quotient by zero, a function that high precision does not know) are not compared.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use nestegg_ir::{ArrayId, Kernel, LinearizedKernel, Program};
use rayon::prelude::*;

use crate::data::{self, Profile};
use crate::demand::{Data, Demand, Plan, Value};
use crate::error::Error;
use crate::float::Floats;
use crate::hard::{Family, Hard, HardData};
use crate::input::parameter_values;
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Elements of each output.
    pub n_elements: usize,
    /// No further element of an output is begun after so many steps on one case, in floats and in high precision each.
    pub max_steps: u64,
    /// Fewer cases are looked at, the first one of each kind at least, where one element of each takes more steps together.
    pub max_steps_of_all: u64,
    /// Programs whose floats are within so many unit roundoffs of each other, relative to the largest of the output, are not measured.
    pub close: Option<f64>,
    /// So many cases are measured at most: those in which the programs are furthest apart.
    pub max_exact: usize,
}

/// What became of one case.
#[derive(Clone, Debug, PartialEq)]
pub enum Case {
    /// The family is about no argument of the kernel.
    Absent,
    /// All programs give nearly the same floats.
    Close,
    /// The limit of cases, or the first program has no finite value.
    NotMeasured,
    /// The deviation of each program.
    Measured(Vec<Deviation>),
}

/// An element may take this many times the steps after which no other one is begun.
const MAX_STEPS_OF_ELEMENT: u64 = 50;

/// Data that may be friendly, and the seed on which that is tried.
const PROFILES: [Profile; 6] = [
    Profile::Signed,
    Profile::Positive,
    Profile::Scaled(0),
    Profile::Scaled(1),
    Profile::Scaled(2),
    Profile::Scaled(3),
];
const SEED: u64 = 1;

/// Nothing is measured where the first element takes more steps.
const MAX_WEIGHT: u64 = 20_000_000;

/// One program, ready for evaluation on demand.
struct Ready<'k> {
    plan: Plan<'k>,
    layouts: Vec<Layout>,
    /// For each argument of the first program the array of this one.
    outputs: Vec<(usize, ArrayId)>,
}

/// For each family with its seed, the deviation of each program from the exact values of the first one.
///
/// # Errors
/// If a program cannot be evaluated on demand, or an element takes too many steps.
pub fn deviations(
    programs: &[&Program],
    parameters: &IndexMap<String, i64>,
    cases: &[(Family, u64)],
    sample: Sample,
) -> Result<Vec<Case>, Error> {
    let linearized = programs.iter().map(|&program| program.clone().into_linearized());
    let linearized: Vec<LinearizedKernel> = linearized.collect::<Result<_, _>>()?;
    let mut ready = Vec::with_capacity(linearized.len());
    for program in &linearized {
        let values = parameter_values(&program.kernel, parameters)?;
        let source = Source::new(&program.kernel, &values)?;
        let plan = Plan::new(program, &values)?.with_stand_ins();
        let layouts = Layout::all(&program.kernel, &source)?;
        ready.push(Ready { plan, layouts, outputs: outputs(&program.kernel).collect() });
    }
    let Some(first) = ready.first() else { return Ok(Vec::new()) };
    let kernel = first.plan.kernel;
    let data = data::Plan::new(kernel, &[], parameters)?;
    let hard = Hard::new(kernel, parameters)?;
    // Friendly are the first data on which an element has a value.
    let friendly = |profile| HardData::new(data.data(SEED, profile, true), &hard, Family::Friendly, SEED);
    let mut weights = PROFILES.iter().filter_map(|&profile| Some((profile, weight(first, &friendly(profile)?)?)));
    let (profile, weight) = weights.next().unwrap_or((Profile::Signed, Ok(1)));
    let case = |&(family, seed): &(Family, u64)| HardData::new(data.data(seed, profile, true), &hard, family, seed);
    let roundoff =
        if linearized.iter().any(|program| program.kernel.has_single()) { f32::EPSILON.into() } else { f64::EPSILON };
    // Where one element is much work, fewer cases have to do: the first ones.
    let weight = weight?.max(sample.max_steps);
    let affordable = |steps: u64, least: usize| usize::try_from(steps / weight).unwrap_or(usize::MAX).max(least);
    let n_screened = affordable(sample.max_steps_of_all, Family::N_KINDS);
    let max_exact = sample.max_exact.min(affordable(sample.max_steps_of_all / 4, 1));
    // Where a case is, and how far apart the programs are on it.
    let screen = |asked: &(Family, u64)| match (case(asked), sample.close) {
        (None, _) => (Case::Absent, None),
        (Some(_), None) => (Case::NotMeasured, Some(f64::INFINITY)),
        (Some(given), Some(close)) => match distance(&ready, &given, sample) {
            None => (Case::NotMeasured, None),
            Some(distance) if distance <= close * roundoff / 2.0 => (Case::Close, None),
            Some(distance) => (Case::NotMeasured, Some(distance)),
        },
    };
    let screened = &cases[..cases.len().min(n_screened)];
    let (mut res, distances): (Vec<Case>, Vec<Option<f64>>) = screened.par_iter().map(screen).unzip();
    res.resize(cases.len(), Case::NotMeasured);
    let mut distant: Vec<(f64, usize)> =
        distances.iter().zip(0..).filter_map(|(it, idx)| Some(((*it)?, idx))).collect();
    distant.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    distant.truncate(max_exact);
    let measure = |&(_, idx): &(f64, usize)| Some((idx, exactly(&Real::new(), &ready, &case(&cases[idx])?, sample)));
    let measured: Vec<_> = distant.par_iter().filter_map(measure).collect();
    for (idx, deviations) in measured {
        res[idx] = Case::Measured(deviations);
    }
    Ok(res)
}

/// How many steps a first element of a program's outputs that has a value takes; an error if these are more than [`MAX_WEIGHT`].
fn weight(program: &Ready<'_>, data: &HardData<'_>) -> Option<Result<u64, Error>> {
    let given = Given { world: &Floats, data };
    let mut demand = Demand::new(&Floats, &program.plan, &given).with_limit(MAX_WEIGHT);
    program.outputs.iter().find_map(|&(_, array)| {
        let layout = &program.layouts[array.index()];
        if layout.len == 0 {
            return None;
        }
        match demand.element(array, &layout.index(0)) {
            Ok(Value::Float(value)) if value.is_finite() => Some(Ok(demand.steps())),
            Err(error @ Error::StepLimit { .. }) => Some(Err(error)),
            Ok(_) | Err(_) => None,
        }
    })
}

/// How far the floats of programs are from those of the first, over the largest of each output. `None` if the first has no finite ones.
fn distance(ready: &[Ready<'_>], data: &HardData<'_>, sample: Sample) -> Option<f64> {
    let (first, others) = ready.split_first()?;
    let given = Given { world: &Floats, data };
    let mut demand = Demand::new(&Floats, &first.plan, &given);
    let mut others: Vec<_> = others.iter().map(|other| (other, Demand::new(&Floats, &other.plan, &given))).collect();
    let mut res: Option<f64> = None;
    for &(argument, array) in &first.outputs {
        let layout = &first.layouts[array.index()];
        let (mut scale, mut largest) = (0.0_f64, 0.0_f64);
        for position in positions(layout.len, sample.n_elements) {
            if demand.steps() > sample.max_steps && scale > 0.0 {
                break;
            }
            let index = layout.index(position);
            let Ok(Value::Float(value)) = demand.element(array, &index) else { continue };
            if !value.is_finite() {
                continue;
            }
            scale = scale.max(value.abs());
            for (other, demand) in &mut others {
                let own = other.outputs.iter().find(|output| output.0 == argument);
                let found = own.map(|&(_, array)| demand.element(array, &index));
                let Some(Ok(Value::Float(found))) = found else { return Some(f64::INFINITY) };
                largest = largest.max(if found.is_finite() { (found - value).abs() } else { f64::INFINITY });
            }
        }
        if scale > 0.0 || largest > 0.0 {
            res = Some(res.unwrap_or(0.0).max(largest / scale));
        }
    }
    res
}

/// The deviation of each program on one case.
fn exactly(world: &Real, ready: &[Ready<'_>], data: &HardData<'_>, sample: Sample) -> Vec<Deviation> {
    let Some(first) = ready.first() else { return Vec::new() };
    // Elements with an exact value: of which argument, at which position, and the value.
    let mut exact: Vec<(usize, usize, RealValue)> = Vec::new();
    let given = Given { world, data };
    let limit = sample.max_steps.saturating_mul(MAX_STEPS_OF_ELEMENT);
    let mut demand = Demand::new(world, &first.plan, &given).with_limit(limit);
    for &(argument, array) in &first.outputs {
        let layout = &first.layouts[array.index()];
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
    let of_program = |program: &Ready<'_>| {
        let given = Given { world: &Floats, data };
        let mut demand = Demand::new(&Floats, &program.plan, &given);
        let mut deviation = Deviation { largest: 0.0, n_elements: exact.len() };
        for &(argument, array) in &program.outputs {
            let own = exact.iter().filter(|element| element.0 == argument);
            let pairs = own.map(|(_, position, value)| {
                let found = demand.element(array, &program.layouts[array.index()].index(*position));
                (value, if let Ok(Value::Float(found)) = found { found } else { f64::NAN })
            });
            deviation.largest = deviation.largest.max(largest_error(pairs));
        }
        deviation
    };
    ready.iter().map(of_program).collect()
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

/// Hard data in the form of a world.
struct Given<'a, W: World> {
    world: &'a W,
    data: &'a HardData<'a>,
}

impl<W: World> Data<W::Float> for Given<'_, W> {
    fn float(&self, array: ArrayId, index: &[i64]) -> W::Float {
        self.world.literal(self.data.float(array, index))
    }

    fn int(&self, array: ArrayId, index: &[i64]) -> i64 {
        self.data.int(array, index)
    }
}

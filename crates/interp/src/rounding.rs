//! How far kernels are from the real numbers that they stand for.
//!
//! # Input
//! A program, other programs that are to compute the same, and [families](Family) of data with their seeds.
//! # Output
//! For each of them and each of the data its [`Deviation`]: the largest error of an element, over the largest magnitude in its array.
//! # Method
//! Chosen elements are evaluated on demand, in floats: of each output first the one that is the largest in a program that is cheap to evaluate, for errors are
//! measured by it, then scattered ones. Where the programs are nearly as close as rounding allows none can lose much, and that is
//! all; else the elements of the first program are evaluated once more, with literals and data as the floats that they are: in doubled precision, or as real
//! numbers in high precision where the program decides on floats. Outputs begin at zero: what is added to a large value would be rounded with it.
//! A [`Reference`] evaluates the first program once on each of the data, however many others are measured beside it.
//! # Complexity
//! As evaluation on demand; [`Sample`] bounds elements and steps.
//! # Not done
//! Errors of single elements relative to their own size: an element of an output that cancels to nothing is as far off as its
//! neighbours, and nobody minds. Elements without a real value (a quotient by zero, a function that high precision does not know) are not compared.

mod screen;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use indexmap::IndexMap;
use nestegg_ir::{ArrayId, Kernel, LinearizedKernel, Program};
use rayon::prelude::*;
use twofloat::TwoFloat;

use crate::data::{self, Profile};
use crate::demand::{Data, Demand, Plan, Value};
use crate::doubled::{self, Doubled, decides_on_floats};
use crate::error::Error;
use crate::float::Floats;
use crate::hard::{Family, Hard, HardData};
use crate::input::parameter_values;
use crate::memory::Layout;
use crate::real::{Real, RealValue};
use crate::rounding::screen::{Group, groups};
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
    /// The largest element of an output is looked for in so many steps on one case. Where it is not found errors are measured by a smaller one, and a program
    /// may seem to be further off than it is.
    pub max_steps_of_looking: u64,
    /// Fewer cases are looked at, the first ones, as many at least as are of the hardest family of a kind, where one element of each takes more steps together.
    pub max_steps_of_all: u64,
    /// Programs whose floats are within so many unit roundoffs of each other, relative to the largest of the output, are not measured.
    pub close: Option<f64>,
    /// So many cases are measured in high precision at most: those in which the programs are furthest apart.
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
pub(crate) const PROFILES: [Profile; 6] = [
    Profile::Signed,
    Profile::Positive,
    Profile::Scaled(0),
    Profile::Scaled(1),
    Profile::Scaled(2),
    Profile::Scaled(3),
];
const SEED: u64 = 1;

/// Among so many elements of an output the largest is looked for.
const N_LOOKED_AT: usize = 1024;

/// High precision takes so many times the steps of floats.
const STEPS_OF_REAL: u64 = 4;

/// Nothing is measured where the first element takes more steps.
const MAX_WEIGHT: u64 = 20_000_000;

/// One program, ready for evaluation on demand.
struct Ready<'k> {
    program: &'k LinearizedKernel,
    plan: Plan<'k>,
    layouts: Vec<Layout>,
    /// For each argument of the first program the array of this one.
    outputs: Vec<(usize, ArrayId)>,
}

/// A program that others are measured beside, and what is known of it so far.
pub struct Reference<'k> {
    ready: Ready<'k>,
    /// What shows which elements are large.
    guide: Ready<'k>,
    data: data::Plan,
    hard: Hard,
    profile: Profile,
    parameters: IndexMap<String, i64>,
    cases: Vec<(Family, u64)>,
    /// So many of them are looked at.
    n_screened: usize,
    sample: Sample,
    /// Steps of one element.
    weight: u64,
    /// For each case what was evaluated on it.
    known: Vec<Known>,
    /// Cases that are evaluated at once.
    groups: Vec<Group>,
}

/// The elements of a program on one case.
#[derive(Default)]
struct Known {
    /// Of each output the position of its largest element, as far as is known.
    largest: OnceLock<Vec<Option<usize>>>,
    floats: OnceLock<Vec<Element<f64>>>,
    exact: OnceLock<(Vec<Element<TwoFloat>>, Deviation)>,
}

/// An element with its value.
struct Element<T> {
    /// The number of the argument.
    argument: usize,
    position: usize,
    value: T,
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
    let Some((first, others)) = linearized.split_first() else { return Ok(Vec::new()) };
    let others: Vec<&LinearizedKernel> = others.iter().collect();
    let guide = others.first().copied().unwrap_or(first);
    Reference::new(first, guide, parameters, cases, sample)?.deviations(&others, 1.0)
}

impl<'k> Ready<'k> {
    fn new(program: &'k LinearizedKernel, parameters: &IndexMap<String, i64>) -> Result<Self, Error> {
        let values = parameter_values(&program.kernel, parameters)?;
        let source = Source::new(&program.kernel, &values)?;
        let plan = Plan::new(program, &values)?.with_stand_ins();
        let layouts = Layout::all(&program.kernel, &source)?;
        Ok(Self { program, plan, layouts, outputs: outputs(&program.kernel).collect() })
    }
}

impl<'k> Reference<'k> {
    /// Prepares a program for these families of data, each with its seed. `guide` is to compute the same with few operations; it says which elements are
    /// the largest.
    ///
    /// # Errors
    /// If one of them cannot be evaluated on demand, or an element takes too many steps.
    pub fn new(
        program: &'k LinearizedKernel,
        guide: &'k LinearizedKernel,
        parameters: &IndexMap<String, i64>,
        cases: &[(Family, u64)],
        sample: Sample,
    ) -> Result<Self, Error> {
        let [ready, guide] = [Ready::new(program, parameters)?, Ready::new(guide, parameters)?];
        let data = data::Plan::new(&program.kernel, &[], parameters)?;
        let hard = Hard::new(&program.kernel, parameters)?;
        // Friendly are the first data on which an element has a value.
        let friendly = |profile| HardData::new(data.data(SEED, profile, true), &hard, Family::Friendly, SEED);
        let mut weights = PROFILES.iter().filter_map(|&profile| Some((profile, weight(&ready, &friendly(profile)?)?)));
        let (profile, weight) = weights.next().unwrap_or((Profile::Signed, Ok(1)));
        let weight = weight?.max(sample.max_steps);
        let known = cases.iter().map(|_| Known::default()).collect();
        // Where one element is much work, fewer cases have to do: the first ones.
        let is_hardest = |case: &&(Family, u64)| Family::ALL[..Family::N_KINDS].contains(&case.0);
        let least = cases.iter().filter(is_hardest).count();
        let n_screened = affordable(sample.max_steps_of_all, weight, least).min(cases.len());
        let is_present = |(family, seed)| HardData::new(data.data(seed, profile, true), &hard, family, seed).is_some();
        let present = cases[..n_screened].iter().enumerate().filter(|(_, case)| is_present(**case));
        let present: Vec<(usize, u64)> = present.map(|(idx, &(_, seed))| (idx, seed)).collect();
        let groups = groups(&present, data.reads_integers);
        let (parameters, cases) = (parameters.clone(), cases.to_vec());
        Ok(Self { ready, guide, data, hard, profile, parameters, cases, n_screened, sample, weight, known, groups })
    }

    /// For each case the deviations of the program and of others that are to compute the same; the guide is one of these if it is that very kernel. Of the cases in which programs are not close, those are
    /// measured in which one of the others may be `limit` times as far off as the first, the one in which they are furthest apart, and the same families with
    /// other seeds.
    ///
    /// # Errors
    /// If one of the others cannot be evaluated on demand.
    pub fn deviations(&self, others: &[&LinearizedKernel], limit: f64) -> Result<Vec<Case>, Error> {
        let kernel = self.ready.plan.kernel;
        let made = others.iter().map(|&other| match std::ptr::eq(other, self.guide.program) {
            true => Ok(None),
            false => Ready::new(other, &self.parameters).map(Some),
        });
        let made: Vec<Option<Ready<'_>>> = made.collect::<Result<_, _>>()?;
        let ready: Vec<&Ready<'_>> = made.iter().map(|own| own.as_ref().unwrap_or(&self.guide)).collect();
        let has_single = kernel.has_single() || others.iter().any(|other| other.kernel.has_single());
        let roundoff = if has_single { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let Sample { max_steps_of_all, max_exact, close, .. } = self.sample;
        let close = close.map(|close| close * roundoff / 2.0);
        let (mut res, distances) = self.screened(&ready, close);
        res.resize(self.cases.len(), Case::NotMeasured);
        let mut distant: Vec<(f64, usize)> =
            distances.iter().zip(0..).filter_map(|(it, idx)| Some(((*it)?, idx))).collect();
        distant.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        // The error of the others is at most that of the first and the distance.
        let n_doubtful = distant.iter().take_while(|(distance, _)| *distance > (limit - 1.0) * roundoff / 2.0).count();
        distant.truncate(n_doubtful.max(1));
        let is_decided = decides_on_floats(kernel);
        if is_decided {
            distant.truncate(max_exact.min(affordable(max_steps_of_all / STEPS_OF_REAL, self.weight, 1)));
        }
        // A single error may be small by chance: all seeds of a family are measured, or none.
        let families: Vec<Family> = distant.iter().map(|&(_, idx)| self.cases[idx].0).collect();
        let is_chosen = |idx: &usize| families.contains(&self.cases[*idx].0);
        let chosen: Vec<usize> = (0..self.n_screened).filter(is_chosen).collect();
        let measure = |&idx: &usize| {
            let data = self.case(idx)?;
            let (exact, of_first) = self.known[idx].exact.get_or_init(|| match is_decided {
                true => self.exactly(&Real::new(), idx, &data),
                false => self.exactly(&Doubled::new(), idx, &data),
            });
            let of_others = ready.iter().map(|other| deviation(other, &data, exact));
            Some((idx, std::iter::once(*of_first).chain(of_others).collect()))
        };
        let measured: Vec<(usize, Vec<Deviation>)> = chosen.par_iter().filter_map(measure).collect();
        for (idx, deviations) in measured {
            res[idx] = Case::Measured(deviations);
        }
        Ok(res)
    }

    /// The data of a case; `None` if the family is about no argument.
    fn case(&self, idx: usize) -> Option<HardData<'_>> {
        let (family, seed) = self.cases[idx];
        HardData::new(self.data.data(seed, self.profile, true), &self.hard, family, seed)
    }

    /// Where the evaluation of the first program's elements stops.
    fn max_steps_of_elements(&self) -> u64 {
        self.sample.max_steps.saturating_mul(MAX_STEPS_OF_ELEMENT).max(self.weight.saturating_mul(2))
    }

    /// Chosen elements that have a value, output by output; no further one of an output is begun after [`Sample::max_steps`].
    fn elements<W: World>(
        &self,
        world: &W,
        idx: usize,
        data: &HardData<'_>,
        has_value: impl Fn(&W::Float) -> bool,
    ) -> Vec<Element<W::Float>> {
        let given = Given { world, data };
        let mut demand = Demand::new(world, &self.ready.plan, &given).with_limit(self.max_steps_of_elements());
        let mut res: Vec<Element<W::Float>> = Vec::new();
        let largest = self.known[idx].largest.get_or_init(|| {
            let given = Given { world: &Floats, data };
            self.largest(&mut Demand::new(&Floats, &self.guide.plan, &given))
        });
        for (&(argument, array), largest) in self.ready.outputs.iter().zip(largest) {
            let layout = &self.ready.layouts[array.index()];
            let others = positions(layout.len, self.sample.n_elements).into_iter();
            for position in largest.iter().copied().chain(others.filter(|position| Some(*position) != *largest)) {
                let has_one = res.last().is_some_and(|last| last.argument == argument);
                if demand.steps() > self.sample.max_steps && has_one {
                    break;
                }
                match demand.element(array, &layout.index(position)) {
                    Ok(Value::Float(value)) if has_value(&value) => res.push(Element { argument, position, value }),
                    _ => {}
                }
            }
        }
        res
    }

    /// Elements as they are in the reals, and how far the program's floats are from them.
    fn exactly<W: Precise>(&self, world: &W, idx: usize, data: &HardData<'_>) -> (Vec<Element<TwoFloat>>, Deviation) {
        let elements = self.elements(world, idx, data, W::is_defined);
        let exact: Vec<Element<TwoFloat>> = elements
            .into_iter()
            .map(|Element { argument, position, value }| Element { argument, position, value: W::doubled(&value) })
            .collect();
        let deviation = deviation(&self.ready, data, &exact);
        (exact, deviation)
    }
}

impl Ready<'_> {
    /// The float at a position of an argument; `None` if it has no value.
    fn element<W: World, D: Data<W::Float>>(
        &self,
        demand: &mut Demand<'_, '_, W, D>,
        argument: usize,
        position: usize,
    ) -> Option<W::Float> {
        let &(_, array) = self.outputs.iter().find(|output| output.0 == argument)?;
        match demand.element(array, &self.layouts[array.index()].index(position)) {
            Ok(Value::Float(found)) => Some(found),
            _ => None,
        }
    }
}

/// How far the floats of a program are from exact values.
fn deviation(program: &Ready<'_>, data: &HardData<'_>, exact: &[Element<TwoFloat>]) -> Deviation {
    let given = Given { world: &Floats, data };
    let mut demand = Demand::new(&Floats, &program.plan, &given);
    let mut res = Deviation { largest: 0.0, n_elements: exact.len() };
    for of_output in exact.chunk_by(|a, b| a.argument == b.argument) {
        let pairs = of_output.iter().map(|Element { argument, position, value }| {
            (*value, program.element(&mut demand, *argument, *position).unwrap_or(f64::NAN))
        });
        res.largest = res.largest.max(largest_error(pairs));
    }
    res
}

/// How many cases may be looked at in so many steps, where one element takes `weight`.
fn affordable(steps: u64, weight: u64, least: usize) -> usize {
    usize::try_from(steps / weight.max(1)).unwrap_or(usize::MAX).max(least)
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

/// A world whose values are known far below the unit roundoff.
trait Precise: World {
    /// Whether a value is a finite number.
    fn is_defined(value: &Self::Float) -> bool;
    /// Its leading digits.
    fn doubled(value: &Self::Float) -> TwoFloat;
}

impl Precise for Real {
    fn is_defined(value: &RealValue) -> bool {
        doubled::doubled(value).is_some()
    }

    fn doubled(value: &RealValue) -> TwoFloat {
        doubled::doubled(value).unwrap_or_default()
    }
}

impl Precise for Doubled {
    fn is_defined(value: &TwoFloat) -> bool {
        doubled::is_defined(*value)
    }

    fn doubled(value: &TwoFloat) -> TwoFloat {
        *value
    }
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
fn largest_error(pairs: impl Iterator<Item = (TwoFloat, f64)>) -> f64 {
    let (mut largest, mut scale) = (0.0_f64, 0.0_f64);
    for (exact, float) in pairs {
        let error = if float.is_finite() { f64::from(exact - float).abs() } else { f64::INFINITY };
        largest = largest.max(error);
        scale = scale.max(f64::from(exact).abs());
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

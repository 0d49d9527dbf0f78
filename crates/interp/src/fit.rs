//! Coefficients of a kernel, moved in their last digits until it computes what another kernel computes.
//!
//! # Input
//! A kernel; a form of it whose coefficients are elements of arguments, all off by little; and [families](Family) of hard data.
//! # Output
//! Coefficients with which the form is as near the kernel as coefficients in floats can be; `None` where they are not what the form is off by, or
//! nothing better is found.
//! # Method
//! Both are recorded on [tapes](Tape). On friendly data and on each family in turn the form in doubled precision has a residual, and derivatives in its
//! coefficients: a linear least squares problem for relative changes, solved by conjugate gradients, which need only products with the Jacobian and its
//! transpose. They begin at no change and end at a small one. Each residual is divided by the rounding error of the kernel itself on such data, because a form
//! needs no more digits than the kernel has. Samples that were held out tell whether the solution holds; if not, twice as many samples are tried. Kernels that
//! take long to evaluate start with fewer.
//! # Complexity
//! Linear in the operations of both kernels, times samples, and in those of the form that depend on coefficients, times samples and steps; the caller bounds both together.
//! # Source
//! Hestenes and Stiefel, "Methods of conjugate gradients for solving linear systems", 1952, in the form for least squares (CGLS).

use std::cell::OnceCell;
use std::ops::Range;

use indexmap::IndexMap;
use nestegg_ir::{ArrayId, Expr, Kernel, LinearizedKernel, Number};
use rayon::prelude::*;
use twofloat::TwoFloat;

use crate::data;
use crate::doubled::Doubled;
use crate::error::Error;
use crate::float::Floats;
use crate::hard::{Family, Hard, HardData};
use crate::rounding::PROFILES;
use crate::tape::{Node, Place, Root, Tape};
use crate::world::World;

/// Kernels of more operations are left as they are.
const MAX_NODES: u64 = 1_500_000;

/// The budget of a run for all its fits, in operations evaluated forwards or backwards.
const MAX_WORK: usize = 400_000_000;

/// What an operation in doubled precision costs.
const DOUBLED: usize = 20;

/// The least number of samples, if the budget allows them.
const MIN_SAMPLES: usize = 64;

/// At least this many more samples are held out, and at least this many of each family.
const HELD_OUT: usize = 8;
const HELD_OUT_OF_FAMILY: usize = 2;

/// Steps of conjugate gradients: fewer are not worth a try, more are not needed; they end where the square of the gradient is this fraction of the first one's.
const MIN_STEPS: usize = 50;
const MAX_STEPS: usize = 400;
const SMALL: f64 = 1e-14;

/// They also stop when another [`MIN_STEPS`] leave more than this fraction of the sum of squares.
const STUCK: f64 = 0.9;

/// Elements within this of the kernel's, relative to the largest of their output, are near enough.
const NEAR: f64 = f64::EPSILON / 2.0;

/// A form is worth a try if its elements are off by at least this many [`NEAR`]. A solution holds if, on the data held out, its elements are off by at most
/// this many times what they are off by on the samples.
const WORTH: f64 = 2.0;

/// A solution must bring elements closer by at least this factor.
const GAIN: f64 = 1.05;

/// No coefficient is changed by more than this fraction.
const MAX_CHANGE: f64 = 1e-9;

/// Coefficients that were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Of each array of coefficients the elements.
    pub values: Vec<Vec<f64>>,
    /// How many are others than before.
    pub n_changed: usize,
    /// The largest change, as a fraction.
    pub largest_change: f64,
}

/// The fits of a run: what they share of the kernel, and the budget of them all.
pub struct Fits<'k> {
    kernel: &'k LinearizedKernel,
    parameters: IndexMap<String, i64>,
    /// Made for the first fit; `None` if the kernel cannot be recorded.
    recorded: OnceCell<Option<Recorded>>,
    /// What is left of [`MAX_WORK`].
    work: usize,
}

/// A kernel on tape, and its data.
struct Recorded {
    tape: Tape,
    data: data::Plan,
    hard: Hard,
}

impl Recorded {
    fn new(kernel: &LinearizedKernel, parameters: &IndexMap<String, i64>) -> Result<Option<Self>, Error> {
        let Some(tape) = Tape::record(kernel, parameters, MAX_NODES)? else { return Ok(None) };
        let data = data::Plan::new(&kernel.kernel, &[], parameters)?;
        let hard = Hard::new(&kernel.kernel, parameters)?;
        Ok(Some(Self { tape, data, hard }))
    }
}

impl<'k> Fits<'k> {
    /// Fits to this kernel, with values of its parameters.
    #[must_use]
    pub fn new(kernel: &'k LinearizedKernel, parameters: IndexMap<String, i64>) -> Self {
        Self { kernel, parameters, recorded: OnceCell::new(), work: MAX_WORK }
    }

    /// Whether forms can be fitted to the kernel, and there is work left for it.
    #[must_use]
    pub fn are_possible(&self) -> bool {
        self.work > 0 && self.recorded().is_some()
    }

    /// A kernel that cannot be evaluated on demand is not recorded either.
    fn recorded(&self) -> Option<&Recorded> {
        self.recorded.get_or_init(|| Recorded::new(self.kernel, &self.parameters).ok().flatten()).as_ref()
    }

    /// Fits the coefficients of a form: the elements of these arrays, whose values on entry are given. The form should come closer to the kernel by
    /// `factor`, on friendly data and on those of the families; `None` if no coefficients can bring it that close, or none are found.
    ///
    /// # Errors
    /// If the form cannot be evaluated on demand.
    pub fn fit(
        &mut self,
        form: &LinearizedKernel,
        coefficients: &[(ArrayId, Vec<f64>)],
        factor: f64,
        families: &[Family],
    ) -> Result<Option<Fitted>, Error> {
        if !self.are_possible() {
            return Ok(None);
        }
        let Some(own) = Tape::record(form, &self.parameters, MAX_NODES)? else { return Ok(None) };
        let mut work = self.work;
        let problem =
            self.recorded().and_then(|recorded| Problem::new(recorded, (&form.kernel, &own), coefficients, families));
        let found = problem.and_then(|problem| problem.solve(factor, &mut work));
        self.work = work;
        Ok(found)
    }
}

/// Where the value of an input of the form comes from.
#[derive(Clone, Copy)]
enum Given {
    Coefficient(usize),
    Datum(ArrayId),
}

struct Problem<'a> {
    kernel: &'a Recorded,
    form: &'a Tape,
    profile: data::Profile,
    /// What samples are taken of in turn.
    families: Vec<Family>,
    /// For each input of the form.
    given: Vec<Given>,
    /// The coefficients, array by array, and how many each array has.
    start: Vec<f64>,
    lengths: Vec<usize>,
    /// Of each output the numbers of its elements.
    outputs: Vec<Range<usize>>,
    /// The operations that depend on coefficients, in order; and for each operation its number among them.
    active: Vec<usize>,
    number: Vec<Option<usize>>,
}

/// Data, and what both kernels compute of them.
struct Sample<'a> {
    /// The number of its family.
    family: usize,
    data: HardData<'a>,
    /// The elements of the kernel.
    exact: Vec<TwoFloat>,
    /// What errors are multiplied with, for each element: one over the largest of the output, and less where the kernel's own are larger.
    weight: Vec<f64>,
    /// How far the form is off with the coefficients that it starts with, weighed.
    residual: Vec<f64>,
    /// Of each active operation its active operands with the derivative.
    slopes: Vec<[(u32, f64); 2]>,
}

/// No operand.
const NONE: u32 = u32::MAX;

impl<'a> Problem<'a> {
    fn new(
        kernel: &'a Recorded,
        (of_form, form): (&Kernel, &'a Tape),
        coefficients: &[(ArrayId, Vec<f64>)],
        families: &[Family],
    ) -> Option<Self> {
        let roots = |tape: &Tape| -> Vec<(String, usize)> {
            tape.roots.iter().map(|root| (root.array.clone(), root.position)).collect()
        };
        if roots(&kernel.tape) != roots(form) || form.roots.is_empty() {
            return None;
        }
        let starts: Vec<usize> = coefficients
            .iter()
            .scan(0, |start, (_, values)| Some(std::mem::replace(start, *start + values.len())))
            .collect();
        let friendly = kernel.data.data(0, data::Profile::Signed, true);
        let given = form.inputs.iter().map(|(array, index)| {
            match coefficients.iter().position(|known| known.0 == *array) {
                // Coefficients are in rows.
                Some(at) => {
                    let shape = &of_form[*array].shape;
                    let position = index.iter().zip(shape).try_fold(0, |position, (&index, &extent)| {
                        let extent = match of_form.exprs[extent] {
                            Expr::Number(Number::Int(extent)) => extent,
                            _ => return None,
                        };
                        Some(position * extent + index)
                    })?;
                    Some(Given::Coefficient(starts[at] + usize::try_from(position).ok()?))
                }
                None => friendly.array(&of_form[*array].name).map(Given::Datum),
            }
        });
        let given: Vec<Given> = given.collect::<Option<_>>()?;
        let mut number: Vec<Option<usize>> = vec![None; form.nodes.len()];
        let mut active = Vec::new();
        for (place, node) in form.nodes.iter().enumerate() {
            let is_active = match node {
                Node::Input(input) => matches!(given[*input], Given::Coefficient(_)),
                _ => form.operands(place).iter().any(|operand| number[operand.index()].is_some()),
            };
            if is_active {
                number[place] = Some(active.len());
                active.push(place);
            }
        }
        let mut outputs: Vec<Range<usize>> = Vec::new();
        for of_output in form.roots.chunk_by(|a, b| a.array == b.array) {
            let start = outputs.last().map_or(0, |last| last.end);
            outputs.push(start..start + of_output.len());
        }
        let start: Vec<f64> = coefficients.iter().flat_map(|(_, values)| values.iter().copied()).collect();
        let lengths = coefficients.iter().map(|(_, values)| values.len()).collect();
        let mut res = Self {
            kernel,
            form,
            profile: data::Profile::Signed,
            families: vec![Family::Friendly],
            given,
            start,
            lengths,
            outputs,
            active,
            number,
        };
        // Friendly are the first data on which every element has a value.
        res.profile = PROFILES.into_iter().find(|&profile| res.is_defined(Family::Friendly, profile))?;
        let is_hard = |family: &&Family| **family != Family::Friendly && res.is_defined(**family, res.profile);
        let hard: Vec<Family> = families.iter().filter(is_hard).copied().collect();
        res.families.extend(hard);
        Some(res)
    }

    /// Data; `None` if the family is about no argument.
    fn data(&self, family: Family, profile: data::Profile, seed: usize) -> Option<HardData<'a>> {
        // Other seeds than those that results are measured with.
        let seed = 1_000 + seed as u64;
        HardData::new(self.kernel.data.data(seed, profile, true), &self.kernel.hard, family, seed)
    }

    fn is_defined(&self, family: Family, profile: data::Profile) -> bool {
        let elements = self.data(family, profile, 0).and_then(|data| self.elements(&Floats, &data));
        elements.is_some_and(|elements| elements.iter().all(|element| element.is_finite()))
    }

    /// The elements of the kernel; `None` where an operation has no value.
    fn elements<W: World>(&self, world: &W, data: &HardData<'_>) -> Option<Vec<W::Float>> {
        let tape = &self.kernel.tape;
        let inputs: Vec<W::Float> =
            tape.inputs.iter().map(|(array, index)| world.literal(data.float(*array, index))).collect();
        let values = tape.play(world, &inputs)?;
        Some(tape.roots.iter().map(|root| values[root.place.index()].clone()).collect())
    }

    /// A sample; `None` where an element has no value.
    fn sample(&self, seed: usize) -> Option<Sample<'a>> {
        let family = seed % self.families.len();
        let data = self.data(self.families[family], self.profile, seed)?;
        let exact = self.elements(&Doubled::new(), &data)?;
        let mut weight = vec![0.0; exact.len()];
        for output in &self.outputs {
            let scale = largest(exact[output.clone()].iter().map(|&value| f64::from(value)));
            if scale > 0.0 {
                weight[output.clone()].fill(1.0 / scale);
            }
        }
        let slopes = self.slopes(&data)?;
        let residual = self.residual((&data, &exact, &weight), &self.start)?;
        Some(Sample { family, data, exact, weight, residual, slopes })
    }

    /// Samples, without those on which an element has no value.
    fn samples(&self, seeds: Range<usize>) -> Vec<Sample<'a>> {
        let each: Vec<Option<Sample<'a>>> = seeds.into_par_iter().map(|seed| self.sample(seed)).collect();
        each.into_iter().flatten().collect()
    }

    /// For each family how far the kernel's own floats are off on samples of it, at worst.
    fn own_errors(&self, samples: &[Sample<'_>]) -> Vec<f64> {
        let mut res = vec![NEAR; self.families.len()];
        let each: Vec<Option<f64>> = samples.par_iter().map(|sample| self.own_error(sample)).collect();
        for (sample, error) in samples.iter().zip(each) {
            let most = &mut res[sample.family];
            *most = error.unwrap_or(0.0).max(*most);
        }
        res
    }

    fn own_error(&self, sample: &Sample<'_>) -> Option<f64> {
        let found = self.elements(&Floats, &sample.data)?;
        let off = |((found, exact), weight): ((&f64, &TwoFloat), &f64)| f64::from(*exact - *found) * weight;
        Some(largest(found.iter().zip(&sample.exact).zip(&sample.weight).map(off)))
    }

    /// Divides weights by the kernel's own errors on the family: where it rounds more, the form may be off by more.
    fn weigh(samples: &mut [Sample<'_>], own_errors: &[f64]) {
        for sample in samples {
            let less = NEAR / own_errors[sample.family];
            sample.weight.iter_mut().chain(&mut sample.residual).for_each(|own| *own *= less);
        }
    }

    /// The inputs of the form.
    fn inputs<T>(&self, data: &HardData<'_>, coefficients: &[f64], of: impl Fn(f64) -> T) -> Vec<T> {
        let value = |(given, (_, index)): (&Given, &(ArrayId, Vec<i64>))| match given {
            Given::Coefficient(number) => of(coefficients[*number]),
            Given::Datum(array) => of(data.float(*array, index)),
        };
        self.given.iter().zip(&self.form.inputs).map(value).collect()
    }

    /// How far the elements of the form are off on a sample, weighed.
    fn residual(
        &self,
        (data, exact, weight): (&HardData<'_>, &[TwoFloat], &[f64]),
        coefficients: &[f64],
    ) -> Option<Vec<f64>> {
        let world = Doubled::new();
        let found = self.form.play(&world, &self.inputs(data, coefficients, |value| world.literal(value)))?;
        let off = |((root, exact), weight): ((&Root, &TwoFloat), &f64)| {
            let off = f64::from(*exact - found[root.place.index()]) * weight;
            off.is_finite().then_some(off)
        };
        self.form.roots.iter().zip(exact).zip(weight).map(off).collect()
    }

    /// Of each active operation its active operands with the derivative, at the coefficients that the form starts with.
    fn slopes(&self, data: &HardData<'_>) -> Option<Vec<[(u32, f64); 2]>> {
        let values = self.form.play(&Floats, &self.inputs(data, &self.start, |value| value))?;
        let slope = |(operand, slope): (Place, f64)| match self.number[operand.index()] {
            Some(number) if slope != 0.0 => (number as u32, slope),
            _ => (NONE, 0.0),
        };
        let slopes = self.active.iter().map(|&place| Some(self.form.derivatives(place, &values)?.map(slope)));
        let slopes: Vec<[(u32, f64); 2]> = slopes.collect::<Option<_>>()?;
        slopes.iter().flatten().all(|(_, slope)| slope.is_finite()).then_some(slopes)
    }

    /// The coefficient that an active operation is.
    fn coefficient(&self, number: usize) -> Option<usize> {
        match self.form.nodes[self.active[number]] {
            Node::Input(input) => match self.given[input] {
                Given::Coefficient(coefficient) => Some(coefficient),
                Given::Datum(_) => None,
            },
            _ => None,
        }
    }

    /// The Jacobian of a sample times relative changes.
    fn forward(&self, sample: &Sample<'_>, changes: &[f64]) -> Vec<f64> {
        let mut tangents = vec![0.0; self.active.len()];
        for number in 0..self.active.len() {
            tangents[number] = match self.coefficient(number) {
                Some(coefficient) => self.start[coefficient] * changes[coefficient],
                None => sample.slopes[number]
                    .iter()
                    .filter(|(operand, _)| *operand != NONE)
                    .map(|(operand, slope)| slope * tangents[*operand as usize])
                    .sum(),
            };
        }
        let of_root = |(root, weight): (&Root, &f64)| {
            self.number[root.place.index()].map_or(0.0, |number| tangents[number] * weight)
        };
        self.form.roots.iter().zip(&sample.weight).map(of_root).collect()
    }

    /// The transpose of the Jacobian of a sample times what its elements are off by.
    fn backward(&self, sample: &Sample<'_>, off: &[f64]) -> Vec<f64> {
        let mut adjoints = vec![0.0; self.active.len()];
        for ((root, weight), off) in self.form.roots.iter().zip(&sample.weight).zip(off) {
            if let Some(number) = self.number[root.place.index()] {
                adjoints[number] += weight * off;
            }
        }
        let mut res = vec![0.0; self.start.len()];
        for number in (0..self.active.len()).rev() {
            let adjoint = adjoints[number];
            if let Some(coefficient) = self.coefficient(number) {
                res[coefficient] += self.start[coefficient] * adjoint;
            }
            for &(operand, slope) in &sample.slopes[number] {
                if operand != NONE {
                    adjoints[operand as usize] += slope * adjoint;
                }
            }
        }
        res
    }

    fn backward_all(&self, samples: &[Sample<'_>], off: &[Vec<f64>]) -> Vec<f64> {
        let each: Vec<Vec<f64>> = samples.par_iter().zip(off).map(|(sample, off)| self.backward(sample, off)).collect();
        // In one order, so that sums are the same on every machine.
        each.into_iter().fold(vec![0.0; self.start.len()], |mut sum, own| {
            sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            sum
        })
    }

    /// The relative changes that bring the form nearest to the kernel on samples, and the steps that were taken.
    fn changes(&self, samples: &[Sample<'_>], max_steps: usize) -> (Vec<f64>, usize) {
        let mut res = vec![0.0; self.start.len()];
        let mut off: Vec<Vec<f64>> = samples.iter().map(|sample| sample.residual.clone()).collect();
        let mut gradient = self.backward_all(samples, &off);
        let mut direction = gradient.clone();
        let mut size = dot(&gradient, &gradient);
        let (first, mut step) = (size, 0);
        let mut least = f64::INFINITY;
        while step < max_steps && size > SMALL * first && largest(off.iter().flatten().copied()) > NEAR {
            let image: Vec<Vec<f64>> = samples.par_iter().map(|sample| self.forward(sample, &direction)).collect();
            let length: f64 = image.iter().map(|image| dot(image, image)).sum();
            if length == 0.0 || !length.is_finite() {
                break;
            }
            let along = size / length;
            res.iter_mut().zip(&direction).for_each(|(change, direction)| *change += along * direction);
            for (off, image) in off.iter_mut().zip(&image) {
                off.iter_mut().zip(image).for_each(|(off, image)| *off -= along * image);
            }
            gradient = self.backward_all(samples, &off);
            let next = dot(&gradient, &gradient);
            direction.iter_mut().zip(&gradient).for_each(|(old, gradient)| *old = gradient + next / size * *old);
            size = next;
            step += 1;
            if step.is_multiple_of(MIN_STEPS) {
                let now = off.iter().map(|off| dot(off, off)).sum();
                if now > STUCK * least {
                    break;
                }
                least = now;
            }
        }
        (res, step)
    }

    /// How far the form is off with these coefficients, on samples.
    fn error(&self, samples: &[Sample<'_>], coefficients: &[f64]) -> Option<f64> {
        let of_sample = |sample: &Sample<'_>| {
            Some(largest(self.residual((&sample.data, &sample.exact, &sample.weight), coefficients)?))
        };
        let all: Vec<Option<f64>> = samples.par_iter().map(of_sample).collect();
        all.into_iter().try_fold(0.0_f64, |most, error| Some(most.max(error?)))
    }

    /// Operations of making so many samples, as work.
    fn work_of_samples(&self, n_samples: usize) -> usize {
        n_samples * DOUBLED * self.kernel.tape.nodes.len()
    }

    /// Operations of as many residuals.
    fn work_of_residuals(&self, n_samples: usize) -> usize {
        n_samples * DOUBLED * self.form.nodes.len()
    }

    /// Steps that may be taken on samples, `n_known` of which are made, with the work that is left.
    fn affordable_steps(&self, n_samples: usize, n_known: usize, work: usize) -> usize {
        let before = self.work_of_samples(n_samples - n_known) + 2 * self.work_of_residuals(n_samples);
        (work.saturating_sub(before) / (2 * n_samples * self.active.len()).max(1)).min(MAX_STEPS)
    }

    /// Coefficients that bring the form nearer, by a factor that is asked for if they can be without error.
    fn solve(&self, factor: f64, work: &mut usize) -> Option<Fitted> {
        let n_held_out = HELD_OUT.max(HELD_OUT_OF_FAMILY * self.families.len());
        *work = work.saturating_sub(self.work_of_samples(n_held_out) + self.work_of_residuals(n_held_out));
        let mut held_out = self.samples(0..n_held_out);
        let own_errors = self.own_errors(&held_out);
        Self::weigh(&mut held_out, &own_errors);
        let before = largest(held_out.iter().flat_map(|sample| sample.residual.iter().copied()));
        if before <= factor.max(WORTH) * NEAR {
            return None;
        }
        let least = 2 * self.start.len() / self.form.roots.len();
        let mut n_samples = MIN_SAMPLES.max(least);
        while n_samples / 2 >= least.max(self.families.len()) && self.affordable_steps(n_samples, 0, *work) < MAX_STEPS
        {
            n_samples /= 2;
        }
        let mut samples: Vec<Sample<'a>> = Vec::new();
        let mut n_known = 0;
        loop {
            let n_steps = self.affordable_steps(n_samples, n_known, *work);
            if n_steps < MIN_STEPS {
                return None;
            }
            let mut further = self.samples(n_held_out + n_known..n_held_out + n_samples);
            Self::weigh(&mut further, &own_errors);
            samples.extend(further);
            *work = work.saturating_sub(self.work_of_samples(n_samples - n_known));
            n_known = n_samples;
            let (changes, n_steps) = self.changes(&samples, n_steps);
            let found: Vec<f64> =
                self.start.iter().zip(&changes).map(|(start, change)| start + start * change).collect();
            let largest_change = largest(changes.iter().copied());
            let after = self.error(&held_out, &found)?;
            let known = self.error(&samples, &found)?;
            let done = 2 * self.work_of_residuals(n_samples) + 2 * n_steps * n_samples * self.active.len();
            *work = work.saturating_sub(done);
            let holds = after <= WORTH * known.max(NEAR);
            let is_affordable = self.affordable_steps(2 * n_samples, n_known, *work) >= MIN_STEPS;
            if (!holds || largest_change > MAX_CHANGE) && is_affordable {
                n_samples *= 2;
                continue;
            }
            if after * GAIN > before || largest_change > MAX_CHANGE {
                return None;
            }
            let n_changed = self.start.iter().zip(&found).filter(|(start, found)| start != found).count();
            let mut rest = found.into_iter();
            let values = self.lengths.iter().map(|&length| rest.by_ref().take(length).collect()).collect();
            return Some(Fitted { values, n_changed, largest_change });
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0_f64, |largest, value| largest.max(value.abs()))
}

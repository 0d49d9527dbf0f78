//! Coefficients of a kernel, moved in their last digits until it computes what another kernel computes.
//!
//! # Input
//! A kernel, and a form of it whose coefficients are elements of arguments; they are off by little.
//! # Output
//! Coefficients with which the form is as near the kernel as coefficients in floats can be; `None` where they are not what the form is off by, or
//! nothing better is found.
//! # Method
//! Both are recorded on [tapes](Tape). On friendly data the form in doubled precision has a residual, and derivatives in its coefficients: a linear least
//! squares problem for relative changes, solved by conjugate gradients, which need only products with the Jacobian and its transpose. They begin at no change
//! and end at a small one. Other data say whether the solution holds; if not, it is sought on twice as many.
//! # Complexity
//! Linear in the operations of both kernels, times samples, and in those of the form that depend on coefficients, times samples and steps; the caller bounds both together.
//! # Source
//! Hestenes and Stiefel, "Methods of conjugate gradients for solving linear systems", 1952, in the form for least squares (CGLS).

use std::ops::Range;

use indexmap::IndexMap;
use nestegg_ir::{ArrayId, Expr, Kernel, LinearizedKernel, Number};
use rayon::prelude::*;
use twofloat::TwoFloat;

use crate::data::{self, DataSet};
use crate::doubled::Doubled;
use crate::error::Error;
use crate::float::Floats;
use crate::rounding::PROFILES;
use crate::tape::{Node, Place, Root, Tape};
use crate::world::World;

/// Kernels of more operations are left as they are.
const MAX_NODES: u64 = 1_500_000;

/// The budget of a run for all its fits, in operations evaluated forwards or backwards.
pub const MAX_WORK: usize = 200_000_000;

/// What an operation in doubled precision costs.
const DOUBLED: usize = 20;

/// The least number of samples, and how many more are held out.
const MIN_SAMPLES: usize = 64;
const HELD_OUT: usize = 8;

/// Steps of conjugate gradients: fewer are not worth a try, more are not needed; they end where the square of the gradient is this fraction of the first one's.
const MIN_STEPS: usize = 50;
const MAX_STEPS: usize = 400;
const SMALL: f64 = 1e-14;

/// Elements within this of the kernel's, relative to the largest of their output, are near enough.
const NEAR: f64 = f64::EPSILON / 2.0;

/// A form is worth a try if its elements are off by this at least, and a solution is one if it brings them as much nearer.
const WORTH: f64 = 2.0;

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

/// Fits coefficients: of each array of `form` its elements, which are its values on entry. The form should come nearer to the kernel by `factor`; where
/// no coefficients can bring it as near, none are sought. Fits deduct what they do from `work`; a run starts with [`MAX_WORK`].
///
/// # Errors
/// If one of the kernels cannot be evaluated on demand.
pub fn fit(
    kernel: &LinearizedKernel,
    form: &LinearizedKernel,
    coefficients: &[(ArrayId, Vec<f64>)],
    factor: f64,
    parameters: &IndexMap<String, i64>,
    work: &mut usize,
) -> Result<Option<Fitted>, Error> {
    if *work == 0 {
        return Ok(None);
    }
    let Some(tape) = Tape::record(kernel, parameters, MAX_NODES)? else { return Ok(None) };
    let Some(own) = Tape::record(form, parameters, MAX_NODES)? else { return Ok(None) };
    let data = data::Plan::new(&kernel.kernel, &[], parameters)?;
    let Some(problem) = Problem::new([(&kernel.kernel, &tape), (&form.kernel, &own)], coefficients, &data) else {
        return Ok(None);
    };
    Ok(problem.solve(factor, work))
}

/// Where the value of an input of the form comes from.
#[derive(Clone, Copy)]
enum Given {
    Coefficient(usize),
    Datum(ArrayId),
}

struct Problem<'a> {
    kernel: (&'a Kernel, &'a Tape),
    form: &'a Tape,
    data: &'a data::Plan,
    profile: data::Profile,
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

/// One sample: how far the elements are off, and the derivatives.
struct Row {
    /// Over the largest of the output.
    residual: Vec<f64>,
    /// One over the largest of the output, for each element.
    weight: Vec<f64>,
    /// Of each active operation its active operands with the derivative.
    slopes: Vec<[(u32, f64); 2]>,
}

/// No operand.
const NONE: u32 = u32::MAX;

impl<'a> Problem<'a> {
    fn new(
        [kernel, (of_form, form)]: [(&'a Kernel, &'a Tape); 2],
        coefficients: &[(ArrayId, Vec<f64>)],
        data: &'a data::Plan,
    ) -> Option<Self> {
        let roots = |tape: &Tape| -> Vec<(String, usize)> {
            tape.roots.iter().map(|root| (root.array.clone(), root.position)).collect()
        };
        if roots(kernel.1) != roots(form) || form.roots.is_empty() {
            return None;
        }
        let starts: Vec<usize> = coefficients
            .iter()
            .scan(0, |start, (_, values)| Some(std::mem::replace(start, *start + values.len())))
            .collect();
        let friendly = data.data(0, data::Profile::Signed, true);
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
        let mut res =
            Self { kernel, form, data, profile: data::Profile::Signed, given, start, lengths, outputs, active, number };
        // Friendly are the first data on which every element has a value.
        res.profile = PROFILES.into_iter().find(|&profile| res.is_defined(profile))?;
        Some(res)
    }

    fn sample(&self, seed: usize) -> DataSet<'_> {
        // Other seeds than those that results are measured with.
        self.data.data(1_000 + seed as u64, self.profile, true)
    }

    fn is_defined(&self, profile: data::Profile) -> bool {
        let data = self.data.data(1_000, profile, true);
        let inputs: Vec<f64> = self.kernel.1.inputs.iter().map(|(array, index)| data.float(*array, index)).collect();
        let values = self.kernel.1.play(&Floats, &inputs);
        values.is_some_and(|values| self.kernel.1.roots.iter().all(|root| values[root.place.index()].is_finite()))
    }

    /// The inputs of the form.
    fn inputs<T>(&self, data: &DataSet<'_>, coefficients: &[f64], of: impl Fn(f64) -> T) -> Vec<T> {
        let value = |(given, (_, index)): (&Given, &(ArrayId, Vec<i64>))| match given {
            Given::Coefficient(number) => of(coefficients[*number]),
            Given::Datum(array) => of(data.float(*array, index)),
        };
        self.given.iter().zip(&self.form.inputs).map(value).collect()
    }

    /// How far the elements of the form are off on a sample, over the largest of their output, and one over that.
    fn residual(&self, seed: usize, coefficients: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        let (world, data) = (Doubled::new(), self.sample(seed));
        let of_kernel: Vec<TwoFloat> =
            self.kernel.1.inputs.iter().map(|(array, index)| world.literal(data.float(*array, index))).collect();
        let exact = self.kernel.1.play(&world, &of_kernel)?;
        let found = self.form.play(&world, &self.inputs(&data, coefficients, |value| world.literal(value)))?;
        let exact: Vec<TwoFloat> = self.kernel.1.roots.iter().map(|root| exact[root.place.index()]).collect();
        let found: Vec<TwoFloat> = self.form.roots.iter().map(|root| found[root.place.index()]).collect();
        let (mut residual, mut weight) = (vec![0.0; exact.len()], vec![0.0; exact.len()]);
        for output in &self.outputs {
            let scale = exact[output.clone()].iter().fold(0.0_f64, |scale, value| scale.max(f64::from(*value).abs()));
            if scale > 0.0 {
                for idx in output.clone() {
                    weight[idx] = 1.0 / scale;
                    residual[idx] = f64::from(exact[idx] - found[idx]) / scale;
                }
            }
        }
        residual.iter().all(|residual| residual.is_finite()).then_some((residual, weight))
    }

    fn row(&self, seed: usize) -> Option<Row> {
        let (residual, weight) = self.residual(seed, &self.start)?;
        let values = self.form.play(&Floats, &self.inputs(&self.sample(seed), &self.start, |value| value))?;
        let slope = |(operand, slope): (Place, f64)| match self.number[operand.index()] {
            Some(number) if slope != 0.0 => (number as u32, slope),
            _ => (NONE, 0.0),
        };
        let slopes = self.active.iter().map(|&place| Some(self.form.derivatives(place, &values)?.map(slope)));
        let slopes: Vec<[(u32, f64); 2]> = slopes.collect::<Option<_>>()?;
        let is_finite = slopes.iter().flatten().all(|(_, slope)| slope.is_finite());
        is_finite.then_some(Row { residual, weight, slopes })
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
    fn forward(&self, row: &Row, changes: &[f64]) -> Vec<f64> {
        let mut tangents = vec![0.0; self.active.len()];
        for number in 0..self.active.len() {
            tangents[number] = match self.coefficient(number) {
                Some(coefficient) => self.start[coefficient] * changes[coefficient],
                None => row.slopes[number]
                    .iter()
                    .filter(|(operand, _)| *operand != NONE)
                    .map(|(operand, slope)| slope * tangents[*operand as usize])
                    .sum(),
            };
        }
        let of_root = |(root, weight): (&Root, &f64)| {
            self.number[root.place.index()].map_or(0.0, |number| tangents[number] * weight)
        };
        self.form.roots.iter().zip(&row.weight).map(of_root).collect()
    }

    /// The transpose of the Jacobian of a sample times what its elements are off by.
    fn backward(&self, row: &Row, off: &[f64]) -> Vec<f64> {
        let mut adjoints = vec![0.0; self.active.len()];
        for ((root, weight), off) in self.form.roots.iter().zip(&row.weight).zip(off) {
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
            for &(operand, slope) in &row.slopes[number] {
                if operand != NONE {
                    adjoints[operand as usize] += slope * adjoint;
                }
            }
        }
        res
    }

    fn backward_all(&self, rows: &[Row], off: &[Vec<f64>]) -> Vec<f64> {
        let each: Vec<Vec<f64>> = rows.par_iter().zip(off).map(|(row, off)| self.backward(row, off)).collect();
        // In one order, so that sums are the same on every machine.
        each.into_iter().fold(vec![0.0; self.start.len()], |mut sum, own| {
            sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            sum
        })
    }

    /// The relative changes that bring the form nearest to the kernel on samples, and the steps that were taken.
    fn changes(&self, rows: &[Row], max_steps: usize) -> (Vec<f64>, usize) {
        let mut res = vec![0.0; self.start.len()];
        let mut off: Vec<Vec<f64>> = rows.iter().map(|row| row.residual.clone()).collect();
        let mut gradient = self.backward_all(rows, &off);
        let mut direction = gradient.clone();
        let mut size = dot(&gradient, &gradient);
        let (first, mut step) = (size, 0);
        while step < max_steps && size > SMALL * first && largest(&off) > NEAR {
            let image: Vec<Vec<f64>> = rows.par_iter().map(|row| self.forward(row, &direction)).collect();
            let length: f64 = image.iter().map(|image| dot(image, image)).sum();
            if length == 0.0 || !length.is_finite() {
                break;
            }
            let along = size / length;
            res.iter_mut().zip(&direction).for_each(|(change, direction)| *change += along * direction);
            for (off, image) in off.iter_mut().zip(&image) {
                off.iter_mut().zip(image).for_each(|(off, image)| *off -= along * image);
            }
            gradient = self.backward_all(rows, &off);
            let next = dot(&gradient, &gradient);
            direction.iter_mut().zip(&gradient).for_each(|(old, gradient)| *old = gradient + next / size * *old);
            size = next;
            step += 1;
        }
        (res, step)
    }

    /// How far the form is off with these coefficients, on samples.
    fn error(&self, seeds: Range<usize>, coefficients: &[f64]) -> Option<f64> {
        let of_sample = |seed| Some(largest(&[self.residual(seed, coefficients)?.0]));
        let all: Vec<Option<f64>> = seeds.into_par_iter().map(of_sample).collect();
        all.into_iter().try_fold(0.0_f64, |most, error| Some(most.max(error?)))
    }

    /// Operations in doubled precision of a residual on so many samples, as work.
    fn work_of_residuals(&self, n_samples: usize) -> usize {
        n_samples * DOUBLED * (self.kernel.1.nodes.len() + self.form.nodes.len())
    }

    /// Steps that may be taken on samples with the work that is left.
    fn affordable_steps(&self, n_samples: usize, work: usize) -> usize {
        let left = work.saturating_sub(2 * self.work_of_residuals(n_samples));
        (left / (2 * n_samples * self.active.len()).max(1)).min(MAX_STEPS)
    }

    /// Coefficients that bring the form nearer, by a factor that is asked for if they can be without error.
    fn solve(&self, factor: f64, work: &mut usize) -> Option<Fitted> {
        let held_out = 0..HELD_OUT;
        *work = work.saturating_sub(self.work_of_residuals(HELD_OUT));
        let before = self.error(held_out.clone(), &self.start)?;
        if before <= factor.max(WORTH) * NEAR {
            return None;
        }
        let mut n_samples = MIN_SAMPLES.max(2 * self.start.len() / self.form.roots.len());
        loop {
            let n_steps = self.affordable_steps(n_samples, *work);
            if n_steps < MIN_STEPS {
                return None;
            }
            let samples = HELD_OUT..HELD_OUT + n_samples;
            let rows: Vec<Option<Row>> = samples.clone().into_par_iter().map(|seed| self.row(seed)).collect();
            let rows: Vec<Row> = rows.into_iter().collect::<Option<_>>()?;
            let (changes, n_steps) = self.changes(&rows, n_steps);
            let found: Vec<f64> =
                self.start.iter().zip(&changes).map(|(start, change)| start + start * change).collect();
            let largest_change = changes.iter().fold(0.0_f64, |largest, change| largest.max(change.abs()));
            let after = self.error(held_out.clone(), &found)?;
            let known = self.error(samples, &found)?;
            let done = 2 * self.work_of_residuals(n_samples) + 2 * n_steps * n_samples * self.active.len();
            *work = work.saturating_sub(done);
            let holds = after <= WORTH * known.max(NEAR);
            if (!holds || largest_change > MAX_CHANGE) && self.affordable_steps(2 * n_samples, *work) >= MIN_STEPS {
                n_samples *= 2;
                continue;
            }
            if after * WORTH > before || largest_change > MAX_CHANGE {
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

fn largest(all: &[Vec<f64>]) -> f64 {
    all.iter().flatten().fold(0.0_f64, |largest, value| largest.max(value.abs()))
}

//! Runs of two compiled programs on the same data, and the comparison of what they leave.

use nestegg_ir::{ArrayId, Dtype};

use crate::conditioned::{Conditioned, Scaled};
use crate::error::Error;
use crate::field::Field;
use crate::float::Floats;
use crate::input::{Inputs, Values};
use crate::memory::{Data, Storage};
use crate::run::Compiled;
use crate::validate::{Agreement, Difference, Evidence, ValidateOptions};
use crate::world::Batch;

/// How many other seeds are tried where more than half of what the first program writes is undefined.
const MORE_SEEDS: u64 = 6;

/// What one world says.
type Finding = Result<Evidence, Difference>;

/// Two programs with the same arguments.
pub(super) struct Comparison<'a> {
    pub(super) first: Compiled,
    pub(super) second: Compiled,
    pub(super) options: &'a ValidateOptions,
    /// Whether one of them computes anything in float32, which may reach any output.
    pub(super) has_single: bool,
}

/// Both programs' memories after a run, or why there are none.
enum Pair<A, B> {
    Memories(Vec<Storage<A>>, Vec<Storage<B>>),
    Difference(Difference),
    /// The world has no meaning for something that the first does.
    NoMeaning(Error),
}

/// How many elements were compared, the largest error, and the first mismatch.
struct Compared {
    n: usize,
    largest_error: f64,
    mismatch: Option<Mismatch>,
    /// How many were not, because they are undefined in the first program.
    n_undefined: usize,
    /// Why the first of those is.
    gap: Option<Error>,
}

/// An element that differs.
enum Mismatch {
    /// It has two values; the array is the second program's.
    Values { array: ArrayId, position: usize, first: String, second: String },
    /// It is undefined in the second program alone.
    Undefined(Error),
}

impl Comparison<'_> {
    /// Compares exactly, on each seed.
    pub(super) fn in_field(&self, random: impl Fn(u64) -> Result<Inputs, Error>) -> Result<Finding, Error> {
        let mut evidence = Evidence::default();
        let mut gap = None;
        for &seed in &self.options.seeds {
            for attempt in 0..=MORE_SEEDS {
                let seed = seed.wrapping_add(attempt.wrapping_mul(0x1000_0001));
                let inputs = random(seed)?;
                let (first, second) = match self.run(&Field { seed }, &Field { seed }, &inputs)? {
                    Pair::Difference(difference) => return Ok(Err(difference)),
                    Pair::NoMeaning(error) => {
                        return Ok(Ok(Evidence { not_compared: Some(error), ..Evidence::default() }));
                    }
                    Pair::Memories(first, second) => (first, second),
                };
                let exact = |a: &u64, b: &u64, _| if a == b { Ok(0.0) } else { Err((a.to_string(), b.to_string())) };
                let compared = self.compare(&first, &second, exact);
                if let Some(mismatch) = compared.mismatch {
                    return Ok(Err(self.explain(mismatch, &Field { seed }, &inputs)));
                }
                evidence.n_exact += compared.n;
                evidence.n_undefined += compared.n_undefined;
                evidence.n_seeds += usize::from(compared.n > 0 || compared.gap.is_none());
                gap = gap.or(compared.gap);
                if compared.n_undefined <= compared.n {
                    break;
                }
            }
        }
        if evidence.n_seeds == 0 {
            evidence.not_compared = gap;
        }
        Ok(Ok(evidence))
    }

    /// Compares with tolerance, on these inputs and with outputs that start at zero.
    pub(super) fn in_floats(&self, inputs: &Inputs) -> Result<Finding, Error> {
        let mut evidence = Evidence::default();
        let mut from_zero = inputs.clone();
        let kernel = self.first.kernel();
        for array in kernel.arguments().filter(|&array| kernel[array].is_writable()) {
            if let Some(Values::Floats(values)) = from_zero.arrays.get_mut(&kernel[array].name) {
                values.fill(0.0);
            }
        }
        for inputs in [inputs, &from_zero] {
            match self.run(&Conditioned, &Floats, inputs)? {
                Pair::Difference(difference) => return Ok(Err(difference)),
                Pair::NoMeaning(error) => {
                    return Ok(Ok(Evidence { not_compared: Some(error), ..Evidence::default() }));
                }
                Pair::Memories(first, second) => {
                    let compared = self.compare(&first, &second, |a, b, dtype| self.approximately(a, b, dtype));
                    if let Some(mismatch) = compared.mismatch {
                        return Ok(Err(self.explain(mismatch, &Floats, inputs)));
                    }
                    evidence.n_floats += compared.n;
                    evidence.largest_error = evidence.largest_error.max(compared.largest_error);
                }
            }
        }
        Ok(Ok(evidence))
    }

    /// The error relative to the condition, or both values if that is too large.
    fn approximately(&self, first: &Scaled, second: &f64, dtype: Dtype) -> Result<f64, (String, String)> {
        let is_single = dtype == Dtype::Float32 || self.has_single;
        let tolerance = if is_single { self.options.tolerance_single } else { self.options.tolerance };
        let (a, b) = (first.value, *second);
        if self.options.agreement == Agreement::Bits && a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan()) {
            return Err((format!("{a:e}"), format!("{b:e}")));
        }
        if a == b || (a.is_nan() && b.is_nan()) {
            return Ok(0.0);
        }
        let scale = first.magnitude.max(a.abs()).max(b.abs());
        let error = (a - b).abs();
        let is_close = scale.is_finite() && error <= tolerance * scale;
        if is_close { Ok(error / scale) } else { Err((format!("{a:e}"), format!("{b:e}"))) }
    }

    /// Runs both programs on the same data.
    fn run<A: Batch, B: Batch>(
        &self,
        first: &A,
        second: &B,
        inputs: &Inputs,
    ) -> Result<Pair<A::Float, B::Float>, Error> {
        let max_steps = self.options.run.max_steps;
        let a = self.first.memory(first, inputs).and_then(|memory| self.first.execute(first, memory, max_steps));
        let b = self.second.memory(second, inputs).and_then(|memory| self.second.execute(second, memory, max_steps));
        Ok(match (a, b) {
            (Ok(a), Ok(b)) => Pair::Memories(a, b),
            (Err(error @ Error::Unsupported { .. }), _) => Pair::NoMeaning(error),
            (Err(error), _) => return Err(error),
            (Ok(_), Err(error)) => Pair::Difference(Difference::Trap { program: "the second", error }),
        })
    }

    /// Compares the writable arguments.
    fn compare<A, B>(
        &self,
        first: &[Storage<A>],
        second: &[Storage<B>],
        compare: impl Fn(&A, &B, Dtype) -> Result<f64, (String, String)>,
    ) -> Compared {
        let kernel = self.first.kernel();
        let other = self.second.kernel();
        let mut res = Compared { n: 0, largest_error: 0.0, mismatch: None, n_undefined: 0, gap: None };
        for (a, b) in kernel.arguments().zip(other.arguments()).filter(|(a, _)| kernel[*a].is_writable()) {
            let layout = &self.first.code.layouts[a.index()];
            let (left, right) = (&first[a.index()], &second[b.index()]);
            for idx in 0..layout.len {
                if let Some(error) = left.gap(idx) {
                    res.n_undefined += 1;
                    res.gap.get_or_insert_with(|| error.clone());
                    continue;
                }
                if let (true, Some(error)) = (left.has_value(idx), right.gap(idx)) {
                    res.mismatch = Some(Mismatch::Undefined(error.clone()));
                    return res;
                }
                let found = match (left.has_value(idx), right.has_value(idx)) {
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
                        res.n += 1;
                        res.largest_error = res.largest_error.max(error);
                    }
                    Err((first, second)) => {
                        res.mismatch = Some(Mismatch::Values { array: b, position: idx, first, second });
                        return res;
                    }
                }
            }
        }
        res
    }

    /// Runs the second program again, and watches the element.
    fn explain<W: Batch>(&self, mismatch: Mismatch, world: &W, inputs: &Inputs) -> Difference {
        let (array, position, first, second) = match mismatch {
            Mismatch::Undefined(error) => return Difference::Trap { program: "the second", error },
            Mismatch::Values { array, position, first, second } => (array, position, first, second),
        };
        let writer = self
            .second
            .memory(world, inputs)
            .and_then(|memory| self.second.last_writer(world, memory, self.options.run.max_steps, (array, position)));
        let layout = &self.second.code.layouts[array.index()];
        Difference::Value {
            argument: layout.name.clone(),
            index: layout.index(position),
            world: world.name(),
            first,
            second,
            instruction: writer.ok().flatten().map(|insn| self.second.kernel()[insn].id.clone()),
        }
    }
}

//! Comparison of all elements: both programs are run.

use nestegg_ir::{Dtype, Instruction, InstructionKind};

use crate::conditioned::{Conditioned, Scaled};
use crate::data::DataSet;
use crate::error::Error;
use crate::exact::Exactly;
use crate::float::Floats;
use crate::input::Inputs;
use crate::memory::{Data, Storage};
use crate::run::Compiled;
use crate::validate::Difference;
use crate::validate::compare::{Comparison, outputs};
use crate::validate::tally::{Known, Place, Sameness, Slot, Stop, Tally};
use crate::world::Batch;

/// Programs that take more steps than this are not run whole, but for those with more stores than [`MAX_STORES`].
const MAX_STEPS: u64 = 1_500_000;

/// The same in floats.
const MAX_STEPS_IN_FLOATS: u64 = 8_000_000;

/// The same where only the second program failed so far.
const MAX_STEPS_OF_ASTRAY: u64 = 200_000;

/// A program with more stores is mostly straight-line code: each needs an element, and running it whole is cheaper, up to [`MAX_STEPS_OF_STORES`].
const MAX_STORES: usize = 256;
const MAX_STEPS_OF_STORES: u64 = 20_000_000;

/// Both programs' memories after a run, or why there are none.
pub(super) enum Pair<A, B> {
    /// With the steps of the one that took more.
    Memories(Vec<Storage<A>>, Vec<Storage<B>>, u64),
    /// The world has no meaning for something that the first does.
    NoMeaning(Error),
}

impl Comparison<'_> {
    /// All elements in exact arithmetic; those that are equal at most by identities of functions are listed.
    pub(super) fn whole(
        &self,
        data: DataSet<'_>,
        tally: &mut Tally<'_>,
        by_identity: &mut Vec<Place>,
    ) -> Result<(), Stop> {
        let world = Exactly::new(data.seed);
        let inputs = data.inputs();
        let ran = match self.run(&world, &world, &inputs, self.max_steps()) {
            // The first program had no value to go on with, and was not led astray for that alone.
            Err(Stop::Different(..)) if !data.profile.is_tame() && self.first_fails(data) => return Ok(()),
            ran => ran?,
        };
        let (first, second) = match ran {
            Pair::NoMeaning(error) => {
                tally.gap.get_or_insert(error);
                return Ok(());
            }
            Pair::Memories(first, second, n_steps) => {
                tally.n_steps_whole = n_steps;
                (first, second)
            }
        };
        let compared = self.compare(&first, &second, tally, |place, known, a, b, dtype| {
            let sameness = self.sameness(a, b, dtype, data.profile);
            known.is_exact |= matches!(sameness, Sameness::Equal(_));
            if matches!(sameness, Sameness::ByIdentity) {
                by_identity.push(place);
            }
            sameness
        });
        compared.map_err(|stop| self.explain(stop, &world, &inputs))
    }

    /// All elements in floats.
    pub(super) fn whole_in_floats(
        &self,
        data: DataSet<'_>,
        tally: &mut Tally<'_>,
        compare: impl FnMut(&mut Known, &Scaled, &f64, Dtype, f64) -> Sameness,
    ) -> Result<(), Stop> {
        let inputs = data.inputs();
        let (first, second) = match self.run(&Conditioned, &Floats, &inputs, self.max_steps_in_floats())? {
            Pair::NoMeaning(error) => {
                tally.gap.get_or_insert(error);
                return Ok(());
            }
            Pair::Memories(first, second, n_steps) => {
                tally.n_steps_whole = n_steps;
                (first, second)
            }
        };
        let mut compare = compare;
        let largest: Vec<f64> = first.iter().map(largest).collect();
        let compared = self.compare(&first, &second, tally, |(array, ..), known, a, b, dtype| {
            compare(known, a, b, dtype, largest[array.index()])
        });
        compared.map_err(|stop| self.explain(stop, &Floats, &inputs))
    }

    /// Whether the first program, run whole in floats, does not come to its end within [`MAX_STEPS_OF_ASTRAY`].
    pub(super) fn first_fails(&self, data: DataSet<'_>) -> bool {
        let run = || self.first.execute(&Floats, self.first.memory(&Floats, &data.inputs())?, MAX_STEPS_OF_ASTRAY);
        !self.may_be_held() || run().is_err()
    }

    /// Where a run in exact arithmetic is stopped.
    pub(super) fn max_steps(&self) -> u64 {
        let n_stores = |compiled: &Compiled| compiled.kernel().instructions.len();
        let is_straight = n_stores(&self.first).max(n_stores(&self.second)) > MAX_STORES;
        let limit = match is_straight && self.may_be_held() {
            _ if self.has_opaque_code() => u64::MAX,
            true => MAX_STEPS_OF_STORES,
            false => MAX_STEPS,
        };
        limit.min(self.options.run.max_steps)
    }

    /// The same in floats.
    pub(super) fn max_steps_in_floats(&self) -> u64 {
        let limit = if self.has_opaque_code() { u64::MAX } else { MAX_STEPS_IN_FLOATS };
        limit.min(self.options.run.max_steps)
    }

    /// Whether a program cannot be evaluated on demand: then running it whole is the only way, however long it takes.
    fn has_opaque_code(&self) -> bool {
        let is_opaque = |instruction: &Instruction| matches!(instruction.kind, InstructionKind::Opaque { .. });
        [&self.first, &self.second].iter().any(|compiled| compiled.kernel().instructions.iter().any(is_opaque))
    }

    /// Runs both programs on the same data.
    pub(super) fn run<A: Batch, B: Batch>(
        &self,
        first: &A,
        second: &B,
        inputs: &Inputs,
        max_steps: u64,
    ) -> Result<Pair<A::Float, B::Float>, Stop> {
        let (of_first, of_second) = (&self.first, &self.second);
        let run_first =
            || of_first.memory(first, inputs).and_then(|memory| of_first.execute_counted(first, memory, max_steps));
        let run_second =
            || of_second.memory(second, inputs).and_then(|memory| of_second.execute_counted(second, memory, max_steps));
        let (a, b) = if self.is_short { (run_first(), run_second()) } else { rayon::join(run_first, run_second) };
        match (a, b) {
            (Ok((a, steps)), Ok((b, steps_of_second))) => Ok(Pair::Memories(a, b, steps.max(steps_of_second))),
            (Err(error @ Error::Unsupported { .. }), _) => Ok(Pair::NoMeaning(error)),
            (Err(error), _) => Err(error.into()),
            (Ok(_), Err(error @ Error::StepLimit { .. })) => Err(error.into()),
            (Ok(_), Err(error)) => Err(Stop::second_fails(error)),
        }
    }

    /// Enters the writable arguments.
    fn compare<A, B>(
        &self,
        first: &[Storage<A>],
        second: &[Storage<B>],
        tally: &mut Tally<'_>,
        mut compare: impl FnMut(Place, &mut Known, &A, &B, Dtype) -> Sameness,
    ) -> Result<(), Stop> {
        for (array, other) in outputs(self.first.kernel(), self.second.kernel()) {
            let layout = &self.first.code.layouts[array.index()];
            let (left, right) = (&first[array.index()], &second[other.index()]);
            for position in 0..layout.len {
                let place = (array, other, position);
                let compare = |known: &mut Known, a: &A, b: &B, dtype| compare(place, known, a, b, dtype);
                tally.enter(place, layout, slot(left, position), slot(right, position), compare)?;
            }
        }
        Ok(())
    }

    /// A difference in exact arithmetic, with the instruction that made it.
    pub(super) fn explain_exactly(&self, stop: Stop, data: DataSet<'_>) -> Stop {
        self.explain(stop, &Exactly::new(data.seed), &data.inputs())
    }

    /// Runs the second program again, and watches the element.
    pub(super) fn explain<W: Batch>(&self, stop: Stop, world: &W, inputs: &Inputs) -> Stop {
        let Stop::Different(mut difference, Some(at)) = stop else { return stop };
        let writer = self
            .second
            .memory(world, inputs)
            .and_then(|memory| self.second.last_writer(world, memory, self.options.run.max_steps, at));
        if let Difference::Value { instruction, .. } = &mut *difference {
            *instruction = writer.ok().flatten().map(|insn| self.second.kernel()[insn].id.clone());
        }
        Stop::Different(difference, Some(at))
    }
}

/// The largest condition of an array's elements that have one.
pub(super) fn largest(storage: &Storage<Scaled>) -> f64 {
    let Data::Floats(values) = &storage.data else { return 0.0 };
    let has_value = |position: &usize| storage.has_value(*position) && storage.gap(*position).is_none();
    let magnitudes = (0..values.len()).filter(has_value).map(|position| values[position].magnitude);
    magnitudes.filter(|magnitude| magnitude.is_finite()).fold(0.0, f64::max)
}

fn slot<F>(storage: &Storage<F>, position: usize) -> Slot<'_, F> {
    match (storage.has_value(position), storage.gap(position), &storage.data) {
        (false, ..) => Slot::Unwritten,
        (true, Some(error), _) => Slot::Gap(error),
        (true, None, Data::Floats(values)) => Slot::Float(&values[position]),
        (true, None, Data::Ints(values)) => Slot::Int(values[position]),
    }
}

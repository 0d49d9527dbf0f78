//! Estimated time of candidates, where time is made small.
//!
//! [`nestegg_time`] estimates; here its answers become numbers that rank. A kernel for which there is no estimate takes
//! forever: then it is never preferred to the input. Where elements are to be put together, what is estimated is the
//! kernel of many elements, in the number of lanes that takes the least time if the caller leaves it open.

use nestegg_ir::{Licence, LinearizedKernel, Program, Semantics, Traps};
use nestegg_schedule::Fusion;
use nestegg_time::{Estimate, EstimateError, Profile};
use rayon::prelude::*;

use crate::batch::{BatchRequest, Width, put_together};
use crate::candidates::Candidate;
use crate::config::{Config, CostModel};
use crate::count::operations;
use crate::error::Error;
use crate::parameters;
use crate::report::TimeEstimate;
use crate::search::Told;
use crate::stages::Stages;
use crate::temporaries;

/// A form for compilers must save this many hundredths of the time: smaller differences are beyond the model.
pub(crate) const GAIN: u128 = 2;

/// Results that take this many times as long as the fastest get no forms for compilers.
const NEAR: u128 = 2;

/// Loops that are fused although the first cache holds all temporaries count as so many hundredths slower: what they save there is least certain.
const DOUBT: u128 = 10;

/// Time of one run, in thousandths of a nanosecond: a whole number, so that estimates can be compared and sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Nanoseconds(u128);

impl Nanoseconds {
    /// Of what has no estimate.
    pub(crate) const FOREVER: Self = Self(u128::MAX);

    fn of(value: f64) -> Self {
        // The conversion saturates.
        Self((value * 1000.0).round() as u128)
    }

    /// The time, reduced by so many hundredths.
    pub(crate) fn less(self, hundredths: u128) -> Self {
        Self(self.0 - self.0 / 100 * hundredths)
    }

    /// The time, longer by so many hundredths.
    fn more(self, hundredths: u128) -> Self {
        Self(self.0 + self.0 / 100 * hundredths)
    }

    /// Whether it is no more than another time, to a thousandth, which the model does not know.
    pub(crate) fn is_at_most(self, other: Self) -> bool {
        self.0 - self.0 / 1000 <= other.0
    }

    fn as_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

/// What the estimate of a run depends on beside the kernel.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    /// The machine, and whether elements are put together.
    pub(crate) config: &'a Config,
    /// Values of parameters.
    pub(crate) values: &'a [(String, i64)],
    /// What may be done to floats.
    pub(crate) licence: Licence,
}

impl Run<'_> {
    /// The estimate of a kernel; `None` unless time is made small.
    pub(crate) fn of(&self, program: &LinearizedKernel) -> Result<Option<Nanoseconds>, Error> {
        if self.config.cost != CostModel::Time {
            return Ok(None);
        }
        Ok(Some(self.time(program)?))
    }

    fn estimate(&self, program: &LinearizedKernel) -> Result<Estimate, Error> {
        match &self.config.batch {
            None => self.estimate_with(program, self.values),
            Some(request) => Ok(self.together(program, request)?.1),
        }
    }

    fn estimate_with(&self, program: &LinearizedKernel, values: &[(String, i64)]) -> Result<Estimate, Error> {
        nestegg_time::estimate(program, values, &self.config.machine).map_err(|error| refused(program, error))
    }

    /// The number of lanes in which a kernel of many takes the least time; `None` if the caller chose, or time is not made small.
    pub(crate) fn width(&self, program: &LinearizedKernel, request: &BatchRequest) -> Result<Option<u32>, Error> {
        match (request.width, self.config.cost) {
            (Width::Auto, CostModel::Time) => Ok(Some(self.together(program, request)?.0)),
            _ => Ok(None),
        }
    }

    /// The number of lanes in which a kernel of many takes the least time, and the estimate.
    fn together(&self, program: &LinearizedKernel, request: &BatchRequest) -> Result<(u32, Estimate), Error> {
        let mut best: Option<(u32, Estimate)> = None;
        for width in request.widths(&program.kernel, &self.config.machine) {
            let batched = put_together(program, &request.of_width(width), self.licence, true)?.program;
            let assumed = parameters::assumed(&batched.kernel, &self.config.parameters)?;
            let estimate = self.estimate_with(&batched, &parameters::values(&assumed))?;
            if best.as_ref().is_none_or(|(_, best)| estimate.nanoseconds < best.nanoseconds) {
                best = Some((width, estimate));
            }
        }
        let Some(best) = best else { unreachable!("some number of lanes is tried") };
        Ok(best)
    }

    /// Whether the lanes of elements are an axis of their own, so that no loop of the kernel runs in lanes.
    fn has_lanes(&self) -> bool {
        self.config.batch.as_ref().is_some_and(BatchRequest::has_lanes)
    }

    /// The fastest of the kernel's forms for compilers, with its time, if it saves [`GAIN`]: the same operations in loops whose trip counts are numbers, that go along
    /// rows, that change nothing that they read again, or that neither store far apart nor call beside what they compute, with temporaries and tables laid out
    /// in memory for the loops that run in lanes.
    fn for_compilers(
        &self,
        program: &LinearizedKernel,
        profile: &Profile,
        time: Nanoseconds,
    ) -> Result<Option<(LinearizedKernel, Nanoseconds)>, Error> {
        let mut forms: Vec<(LinearizedKernel, Nanoseconds)> = Vec::new();
        forms.extend(self.laid_out(program, profile)?);
        let of_triangles = [nestegg_transform::write_out_triangles, nestegg_transform::coalesce_triangles];
        let mut changed: Vec<LinearizedKernel> = of_triangles.into_iter().filter_map(|pass| pass(program)).collect();
        let splits = [nestegg_transform::store_last, nestegg_transform::call_first];
        let bases = || std::iter::once(program).chain(&changed);
        let split: Vec<LinearizedKernel> = splits.into_iter().flat_map(|pass| bases().filter_map(pass)).collect();
        changed.extend(split);
        for form in changed {
            let profile = self.profile(&form)?;
            let laid_out = self.laid_out(&form, &profile)?;
            let time = match &self.config.batch {
                None => Nanoseconds::of(profile.on(&self.config.machine).nanoseconds),
                Some(_) => self.time(&form)?,
            };
            forms.push((form, time));
            forms.extend(laid_out);
        }
        if let Some(turned) = nestegg_transform::look_right(program) {
            let time = self.time(&turned)?;
            forms.push((turned, time));
        }
        if let Some(split) = nestegg_transform::split_index_sets(program) {
            let time = self.time(&split)?;
            forms.push((split, time));
        }
        Ok(self.fastest(forms, time))
    }

    /// The fastest of some forms whose temporaries are within the limit of memory, if it saves [`GAIN`].
    fn fastest(
        &self,
        mut forms: Vec<(LinearizedKernel, Nanoseconds)>,
        time: Nanoseconds,
    ) -> Option<(LinearizedKernel, Nanoseconds)> {
        forms.retain(|(form, _)| temporaries::are_within(form, self.values, self.config.memory));
        forms.into_iter().min_by_key(|form| form.1).filter(|form| form.1 < time.less(GAIN))
    }

    /// The fastest of a kernel's forms with padded rows, as its arrays are or laid out for the loops that run in lanes, with its time, if it saves [`GAIN`].
    fn padded(
        &self,
        program: &LinearizedKernel,
        profile: &Profile,
        time: Nanoseconds,
    ) -> Result<Option<(LinearizedKernel, Nanoseconds)>, Error> {
        let bases = std::iter::once(program.clone()).chain(self.along_lanes(program, profile));
        let mut forms: Vec<(LinearizedKernel, Nanoseconds)> = Vec::new();
        for padded in bases.filter_map(|base| nestegg_transform::pad_rows(&base, self.config.machine.vector_bytes())) {
            let time = self.time(&padded)?;
            forms.push((padded, time));
        }
        Ok(self.fastest(forms, time))
    }

    /// A kernel with loops joined that add to elements between each other's, and its time; `None` if there are none. The model does not know what such
    /// loops wait for, so that its opinion is not asked.
    fn interleaved(&self, program: &LinearizedKernel) -> Result<Option<(LinearizedKernel, Nanoseconds)>, Error> {
        let Some(shared) = nestegg_transform::share_interleaved(program) else { return Ok(None) };
        let res = self.fused(shared, Fusion::Early)?;
        let time = self.time(&res)?;
        Ok(Some((res, time)))
    }

    /// A kernel with the elements that long loops add to as scalars, which alone C adds up in lanes, and its time; `None` if there are none. The model takes the one for the
    /// other, so that its opinion is not asked.
    fn with_sums(&self, program: &LinearizedKernel) -> Result<Option<(LinearizedKernel, Nanoseconds)>, Error> {
        let Some(res) = nestegg_transform::write_out_sums(program) else { return Ok(None) };
        let time = self.time(&res)?;
        Ok(Some((res, time)))
    }

    /// A kernel, whose profile this is, with its arrays laid out for the loops that run in lanes, and its time; `None` if they are.
    fn laid_out(
        &self,
        program: &LinearizedKernel,
        profile: &Profile,
    ) -> Result<Option<(LinearizedKernel, Nanoseconds)>, Error> {
        let Some(res) = self.along_lanes(program, profile) else { return Ok(None) };
        let time = self.time(&res)?;
        Ok(Some((res, time)))
    }

    /// The same without its time.
    fn along_lanes(&self, program: &LinearizedKernel, profile: &Profile) -> Option<LinearizedKernel> {
        let axes = profile.axes(&self.config.machine);
        (!axes.is_empty()).then(|| nestegg_schedule::lay_out(program.clone(), &axes.arrays, &axes.reads))
    }

    fn profile(&self, program: &LinearizedKernel) -> Result<Profile, Error> {
        Profile::new(program, self.values, &self.config.machine).map_err(|error| refused(program, error))
    }

    /// The time of a kernel, or of the kernel of many that is made of it.
    pub(crate) fn time(&self, program: &LinearizedKernel) -> Result<Nanoseconds, Error> {
        Ok(Nanoseconds::of(self.estimate(program)?.nanoseconds))
    }

    /// What a report says of the time of a run.
    pub(crate) fn report(
        &self,
        before: Option<Nanoseconds>,
        output: &LinearizedKernel,
    ) -> Result<Option<TimeEstimate>, Error> {
        let Some(before) = before else { return Ok(None) };
        let estimate = self.estimate(output)?;
        let loops = estimate.to_string().lines().skip(1).map(|line| line.trim().to_owned()).collect();
        let after = Nanoseconds::of(estimate.nanoseconds).as_f64();
        let machine = self.config.machine_name.clone();
        Ok(Some(TimeEstimate { machine, before: before.as_f64(), after, loops }))
    }
}

fn refused(program: &LinearizedKernel, error: EstimateError) -> Error {
    Error::Refused { pass: "estimate", kernel: program.kernel.name.clone(), source: Box::new(error) }
}

impl Told<'_> {
    /// What estimates depend on.
    pub(crate) fn run(&self) -> Run<'_> {
        Run { config: self.config, values: self.values, licence: self.semantics.licence }
    }

    /// Estimates the time of candidates, if time is made small. Results of a search are replaced by their fastest form for compilers.
    pub(crate) fn estimate(&self, candidates: &mut [Candidate], stages: &mut Stages) {
        self.estimate_of(candidates, true, stages);
    }

    /// The same for results of parts, which keep the values that they may share with other parts.
    pub(crate) fn estimate_parts(&self, candidates: &mut [Candidate], stages: &mut Stages) {
        self.estimate_of(candidates, false, stages);
    }

    fn estimate_of(&self, candidates: &mut [Candidate], is_whole: bool, stages: &mut Stages) {
        if self.config.cost != CostModel::Time {
            return;
        }
        stages.run("estimate", || {
            candidates.par_iter_mut().for_each(|candidate| {
                self.ease(candidate);
                let time = self.run().of(&candidate.program).ok().flatten();
                candidate.time = time.unwrap_or(Nanoseconds::FOREVER);
            });
            if self.run().has_lanes() {
                return;
            }
            let may_take = |candidate: &Candidate| {
                let arranged = candidate.is_of_form.then(|| self.run().time_at_best(&candidate.program)).flatten();
                arranged.map_or(candidate.time, |time| time.min(candidate.time))
            };
            let times: Vec<Nanoseconds> = candidates.par_iter().map(may_take).collect();
            let best = times.iter().copied().min().unwrap_or_default();
            let near = candidates
                .par_iter_mut()
                .zip(times)
                .filter(|(candidate, time)| candidate.is_of_form && time.0 <= best.0.saturating_mul(NEAR));
            near.for_each(|(candidate, _)| self.rewrite_for_compilers(candidate, is_whole));
        });
    }

    /// Replaces a result by its fastest form for compilers.
    fn rewrite_for_compilers(&self, candidate: &mut Candidate, is_whole: bool) {
        if let Ok(Some((program, time))) = self.run().interleaved(&candidate.program) {
            (candidate.program, candidate.time) = (program, time);
        }
        if is_whole
            && let Ok(Some((program, time))) = self.run().recomputed(&candidate.program)
            && let Ok(counted) = operations(&Program::Linearized(program.clone()), self.values)
            && counted.total <= self.most
        {
            (candidate.program, candidate.time, candidate.counted) = (program, time, Some(counted));
        }
        let is_in_cache = !self.run().has_large_temporaries(&candidate.program);
        let mut is_doubtful = false;
        if let Ok(Some((program, time, is_fused))) = self.run().rearranged(&candidate.program, candidate.time) {
            is_doubtful = is_fused && is_in_cache;
            (candidate.program, candidate.time) = (program, time);
        }
        let mut profile = self.run().profile(&candidate.program);
        if let Ok(known) = &profile
            && let Ok(Some((program, time))) = self.run().for_compilers(&candidate.program, known, candidate.time)
        {
            (candidate.program, candidate.time) = (program, time);
            profile = self.run().profile(&candidate.program);
        }
        if let Ok(known) = &profile
            && let Ok(Some((program, time))) = self.run().padded(&candidate.program, known, candidate.time)
            && let Ok(counted) = operations(&Program::Linearized(program.clone()), self.values)
            && counted.total <= self.most
        {
            (candidate.program, candidate.time, candidate.counted) = (program, time, Some(counted));
        }
        if let Ok(Some((program, time))) = self.run().with_sums(&candidate.program) {
            (candidate.program, candidate.time) = (program, time);
        }
        if self.semantics.licence != Licence::Strict
            && let Some(program) = nestegg_transform::split_long_sums(&candidate.program)
        {
            candidate.program = program;
        }
        if is_doubtful {
            candidate.time = candidate.time.more(DOUBT);
        }
    }

    /// Rewrites a result so that compilers make faster code of it: elements that loops write become scalars, sums add recurrences last, stores that add to
    /// an element are updates, quotients and powers share what they can. The last takes a few more operations, which do not count when results are compared, but never more than the input.
    fn ease(&self, candidate: &mut Candidate) {
        if !candidate.is_of_form {
            return;
        }
        if let Some(program) = nestegg_transform::replace_by_scalars(&candidate.program) {
            candidate.program = program;
        }
        let Semantics { licence, traps } = self.semantics;
        if licence == Licence::Strict || traps == Traps::Keep {
            return;
        }
        if let Some(program) = nestegg_transform::add_recurrences_last(&candidate.program) {
            candidate.program = program;
        }
        if let Some(program) = nestegg_transform::write_as_updates(&candidate.program) {
            candidate.program = program;
        }
        let Some(program) = nestegg_transform::reduce_strength(&candidate.program) else { return };
        let program = Program::Linearized(program);
        if let (Ok(counted), Program::Linearized(program)) = (operations(&program, self.values), program)
            && counted.total <= self.most
        {
            (candidate.program, candidate.counted) = (program, Some(counted));
        }
    }
}

//! Estimated time of candidates, where time is made small.
//!
//! [`nestegg_time`] estimates; here its answers become numbers that rank. A kernel for which there is no estimate takes
//! forever: then it is never preferred to the input.

use nestegg_ir::LinearizedKernel;

use crate::candidates::Candidate;
use crate::config::{Config, CostModel};
use crate::error::Error;
use crate::report::TimeEstimate;
use crate::search::Told;
use crate::stages::Stages;

/// Time of one run, in thousandths of a nanosecond: a whole number, so that estimates can be compared and sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Nanoseconds(u128);

impl Nanoseconds {
    fn of(value: f64) -> Self {
        // The conversion saturates.
        Self((value * 1000.0).round() as u128)
    }

    fn as_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

/// The estimate of a kernel; `None` unless time is made small.
pub(crate) fn estimated(
    program: &LinearizedKernel,
    config: &Config,
    values: &[(String, i64)],
) -> Result<Option<Nanoseconds>, Error> {
    if config.cost != CostModel::Time {
        return Ok(None);
    }
    let estimate = nestegg_time::estimate(program, values, &config.machine);
    let refused =
        |source| Error::Refused { pass: "estimate", kernel: program.kernel.name.clone(), source: Box::new(source) };
    Ok(Some(Nanoseconds::of(estimate.map_err(refused)?.nanoseconds)))
}

/// What a report says of the time of a run.
pub(crate) fn of_run(
    before: Option<Nanoseconds>,
    output: &LinearizedKernel,
    config: &Config,
    values: &[(String, i64)],
) -> Result<Option<TimeEstimate>, Error> {
    let Some(before) = before else { return Ok(None) };
    let after = estimated(output, config, values)?.unwrap_or_default();
    let loops = nestegg_time::estimate(output, values, &config.machine).map(|estimate| estimate.to_string());
    let loops = loops.unwrap_or_default().lines().skip(1).map(|line| line.trim().to_owned()).collect();
    let machine = config.machine_name.clone();
    Ok(Some(TimeEstimate { machine, before: before.as_f64(), after: after.as_f64(), loops }))
}

impl Told<'_> {
    /// Estimates the time of candidates, if time is made small.
    pub(crate) fn estimate(&self, candidates: &mut [Candidate], stages: &mut Stages) {
        if self.config.cost != CostModel::Time {
            return;
        }
        stages.run("estimate", || {
            for candidate in candidates {
                let time = estimated(&candidate.program, self.config, self.values).ok().flatten();
                candidate.time = time.unwrap_or(Nanoseconds(u128::MAX));
            }
        });
    }
}

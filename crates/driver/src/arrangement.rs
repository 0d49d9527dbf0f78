//! Where the loops of a result stand: nests fused, values computed again, calls apart.
//!
//! # Input
//! A result of the search, in the order in which it was scheduled.
//! # Output
//! The same values in the arrangement of loops that takes the least time by the model.
//! # Method
//! Loops over equally long ranges are [aligned](nestegg_transform::align_loops) and [fused](nestegg_schedule::fuse()), each with the first or with the last that it can join. Temporaries
//! that the first cache does not hold are [computed again](nestegg_transform::recompute) one after the other, as long as that saves time.
//! # Complexity
//! Six estimates, and one for each large temporary.

use std::borrow::Cow;

use nestegg_ir::LinearizedKernel;
use nestegg_schedule::Fusion;
use nestegg_time::Constant;

use crate::error::Error;
use crate::temporaries;
use crate::time::{GAIN, Nanoseconds, Run};

/// How the loops of a kernel are arranged.
#[derive(Clone, Copy)]
struct Arrangement {
    /// Whether loops over equally long ranges are fused, and how.
    fusion: Option<Fusion>,
    /// Whether calls that cannot run in lanes get loops of their own.
    calls_first: bool,
}

/// A kernel in an arrangement.
struct Arranged<'k> {
    time: Nanoseconds,
    how: Arrangement,
    form: Cow<'k, LinearizedKernel>,
}

impl Run<'_> {
    /// A kernel with its loops over one iname fused.
    pub(crate) fn fused(&self, program: LinearizedKernel, fusion: Fusion) -> Result<LinearizedKernel, Error> {
        let kernel = program.kernel.name.clone();
        let refused = |source| Error::Refused { pass: "fuse", kernel, source: Box::new(source) };
        nestegg_schedule::fuse(program, self.licence, fusion).map_err(refused)
    }

    /// A kernel that computes large temporaries again where it reads them, if that is faster once its loops are fused, and its time as it stands.
    pub(crate) fn recomputed(
        &self,
        program: &LinearizedKernel,
    ) -> Result<Option<(LinearizedKernel, Nanoseconds)>, Error> {
        let large = self.large_temporaries(program);
        if large.is_empty() {
            return Ok(None);
        }
        let mut best: Option<LinearizedKernel> = None;
        let Arranged { time: mut least, how, .. } = self.best_arrangement(program)?;
        for name in large {
            let base = best.as_ref().unwrap_or(program);
            let Some(form) = nestegg_transform::recompute(base, &name) else { continue };
            let time = self.time(&self.arranged(form.clone(), how)?)?;
            if time < least.less(GAIN) {
                (best, least) = (Some(form), time);
            }
        }
        let Some(best) = best else { return Ok(None) };
        let time = self.time(&best)?;
        Ok(Some((best, time)))
    }

    /// The time of a kernel with large temporaries in the best arrangement of its loops; `None` of other kernels.
    pub(crate) fn time_at_best(&self, program: &LinearizedKernel) -> Option<Nanoseconds> {
        if !self.has_large_temporaries(program) {
            return None;
        }
        self.best_arrangement(program).ok().map(|best| best.time)
    }

    /// Whether there are temporaries that the first cache does not hold.
    pub(crate) fn has_large_temporaries(&self, program: &LinearizedKernel) -> bool {
        !self.large_temporaries(program).is_empty()
    }

    fn large_temporaries(&self, program: &LinearizedKernel) -> Vec<String> {
        temporaries::larger_than(program, self.values, self.config.machine[Constant::L1Bytes] as u128)
    }

    /// A kernel in the best arrangement of its loops, and the time that it takes then.
    fn best_arrangement<'k>(&self, program: &'k LinearizedKernel) -> Result<Arranged<'k>, Error> {
        let aligned = nestegg_transform::align_loops(program);
        let mut best: Option<Arranged<'k>> = None;
        for fusion in [None, Some(Fusion::Early), Some(Fusion::Late)] {
            let fused = match (fusion, &aligned) {
                (None, _) => Cow::Borrowed(program),
                (Some(_), None) => break,
                (Some(fusion), Some(aligned)) => Cow::Owned(self.fused(aligned.clone(), fusion)?),
            };
            let apart = nestegg_transform::call_first(&fused).map(Cow::Owned);
            for (form, calls_first) in [(Some(fused), false), (apart, true)] {
                let Some(form) = form else { continue };
                let time = self.time(&form)?;
                if best.as_ref().is_none_or(|best| time < best.time) {
                    best = Some(Arranged { time, how: Arrangement { fusion, calls_first }, form });
                }
            }
        }
        Ok(best.unwrap_or_else(|| unreachable!("a kernel as it stands is tried")))
    }

    /// A kernel with its loops in their best arrangement and its time, if that saves [`GAIN`], and whether that fuses loops.
    pub(crate) fn rearranged(
        &self,
        program: &LinearizedKernel,
        time: Nanoseconds,
    ) -> Result<Option<(LinearizedKernel, Nanoseconds, bool)>, Error> {
        let best = self.best_arrangement(program)?;
        let saves = best.time < time.less(GAIN);
        Ok(saves.then(|| (best.form.into_owned(), best.time, best.how.fusion.is_some())))
    }

    /// A kernel with its loops arranged in some way, as far as that changes it.
    fn arranged(&self, program: LinearizedKernel, how: Arrangement) -> Result<LinearizedKernel, Error> {
        let aligned = how.fusion.and_then(|fusion| Some((nestegg_transform::align_loops(&program)?, fusion)));
        let fused = match aligned {
            Some((aligned, fusion)) => self.fused(aligned, fusion)?,
            None => program,
        };
        let apart = if how.calls_first { nestegg_transform::call_first(&fused) } else { None };
        Ok(apart.unwrap_or(fused))
    }
}

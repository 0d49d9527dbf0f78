//! Which loops of a result go to threads, if that is asked for.
//!
//! # Input
//! The result in the form that runs, and the machine.
//! # Output
//! The loops whose iterations have nothing in common ([`nestegg_transform::parallel`]) and that take longer than it takes to start threads.
//! # Not done
//! The time model knows one thread: forms and orders of loops are chosen as for one.

use nestegg_codegen::c::Parallel;
use nestegg_ir::domains::Domains;
use nestegg_ir::{InameSet, Item, LinearizedKernel};
use nestegg_isl as isl;
use nestegg_transform::parallel::{ParallelLoop, parallel_loops};
use num_traits::ToPrimitive;

use crate::config::Config;
use crate::error::Error;
use crate::parameters;
use crate::pipeline::Optimized;
use crate::stages::Stages;

/// Loops that take less are not worth it: threads start in some microseconds.
const MIN_NANOSECONDS: f64 = 20_000.0;

/// The results with the loops of each that go to threads, if that is asked for.
pub(crate) fn threaded(mut best: Vec<Optimized>, config: &Config) -> Result<Vec<Optimized>, Error> {
    if !config.openmp {
        return Ok(best);
    }
    for optimized in &mut best {
        let mut stages = Stages::new(config.memory_probe).watched_by(config.watcher.clone());
        let found = stages.run("threads", || long_loops(optimized.runs(), config))?;
        optimized.report.stages.extend(stages.into_done());
        optimized.parallel = found;
    }
    Ok(best)
}

/// The loops that may run in threads and are worth it, at the estimates of parameters or, where one parameter says how often the loop runs, from
/// some value of it on.
fn long_loops(program: &LinearizedKernel, config: &Config) -> Result<Vec<Parallel>, Error> {
    let LinearizedKernel { kernel, linearization } = program;
    let refused = |source: Box<dyn std::error::Error + Send + Sync>| Error::Refused {
        pass: "threads",
        kernel: kernel.name.clone(),
        source,
    };
    let found = parallel_loops(program).map_err(|error| refused(Box::new(error)))?;
    let assumed = parameters::assumed(kernel, &config.parameters)?;
    let values = parameters::values(&assumed);
    let context = isl::Context::new();
    let domains = Domains::new(&context, kernel).map_err(|error| refused(Box::new(error)))?.with_values(&values);
    let mut alone = program.clone();
    let mut res = Vec::new();
    for one in found {
        let outer: InameSet = one.outer.iter().copied().collect();
        let n_times = domains.count(&outer).map_err(|error| refused(Box::new(error)))?;
        alone.linearization = items_of(linearization, &one);
        let estimate = nestegg_time::estimate(&alone, &values, &config.machine);
        let all_times = estimate.map_err(|error| refused(Box::new(error)))?.nanoseconds;
        let nanoseconds = all_times / n_times.to_f64().filter(|&n| n > 0.0).unwrap_or(f64::INFINITY);
        let from = match *kernel[kernel[one.iname].domain].parameters {
            [parameter] => values.iter().find(|(name, _)| *name == kernel[parameter].name).map(|(_, value)| {
                // Time is taken to be in proportion.
                (parameter, (*value as f64 * MIN_NANOSECONDS / nanoseconds.max(1e-3)).ceil() as i64)
            }),
            _ => None,
        };
        if from.is_some() || nanoseconds >= MIN_NANOSECONDS {
            res.push(Parallel { nth: one.nth, private: one.private, from });
        }
    }
    Ok(res)
}

/// A loop and the loops around it, without anything else in them.
fn items_of(items: &[Item], one: &ParallelLoop) -> Vec<Item> {
    let starts = items.iter().enumerate().filter(|(_, item)| matches!(item, Item::For(_)));
    let Some((start, _)) = starts.take(one.nth + 1).last() else { return Vec::new() };
    let (mut depth, mut end) = (0_usize, start);
    for item in &items[start..] {
        match item {
            Item::For(_) => depth += 1,
            Item::End(_) => depth -= 1,
            _ => {}
        }
        end += 1;
        if depth == 0 {
            break;
        }
    }
    let mut res: Vec<Item> = one.outer.iter().map(|&iname| Item::For(iname)).collect();
    res.extend(&items[start..end]);
    res.extend(one.outer.iter().rev().map(|&iname| Item::End(iname)));
    res
}

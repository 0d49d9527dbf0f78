//! Results of the parts of a kernel, put together.
//!
//! # Input
//! The parts of a value form, which can run in any order, and the results of each part, the best first.
//! # Output
//! Results of the whole: the best of each part together; then the same with the next best of one part, as often as
//! asked, and with the best result of each part that equals it exactly. So a kernel never costs more than its parts
//! alone, and if a form of one part does not hold, the others keep theirs.
//! # Complexity
//! One copy and one schedule of the whole for each result.

use std::borrow::Cow;

use nestegg_ir::join::in_sequence;
use nestegg_ir::{Kernel, Licence, LinearizedKernel, Program};
use nestegg_schedule::Order;

use crate::candidates::Candidate;
use crate::count::operations;
use crate::error::Error;
use crate::report::Gap;
use crate::same::different;
use crate::seeds::{Fired, add_fired};
use crate::time::Nanoseconds;
use crate::unrolled::unrolled_in;

/// A part and its results, the best first.
pub(crate) struct Part {
    /// Its value form.
    pub(crate) form: LinearizedKernel,
    pub(crate) ranking: Vec<Candidate>,
}

impl Part {
    /// What it writes.
    pub(crate) fn name(&self) -> String {
        name(&self.form.kernel)
    }
}

/// What a kernel writes.
pub(crate) fn name(kernel: &Kernel) -> String {
    let mut written: Vec<&str> = written(kernel).collect();
    written.dedup();
    written.join(" and ")
}

fn written(kernel: &Kernel) -> impl Iterator<Item = &str> {
    let arrays = kernel.instructions.iter().flat_map(|instruction| instruction.written_arrays());
    arrays.filter(|&array| kernel[array].is_argument()).map(|array| kernel[array].name.as_str())
}

/// Results of the whole, for each part with up to `n_next` further ones beside the best of the others, each with its loops in these orders; none if a
/// part has none.
pub(crate) fn in_order(
    parts: &[Part],
    n_next: usize,
    (licence, orders): (Licence, &[Order]),
    values: &[(String, i64)],
    refused: impl Fn(nestegg_schedule::ScheduleError) -> Error,
) -> Result<Vec<Candidate>, Error> {
    let mut choices: Vec<Vec<usize>> = Vec::new();
    let best = vec![0; parts.len()];
    for (idx, part) in parts.iter().enumerate() {
        if part.ranking.is_empty() {
            return Ok(Vec::new());
        }
        choices.extend((1..part.ranking.len().min(n_next + 1)).map(|next| {
            let mut choice = best.clone();
            choice[idx] = next;
            choice
        }));
    }
    let exact = parts.iter().map(|part| part.ranking.iter().position(|candidate| candidate.approximated.is_none()));
    choices.extend(exact.collect::<Option<Vec<usize>>>().filter(|exact| *exact != best));
    choices.insert(0, best);
    choices.dedup();
    let mut res = Vec::with_capacity(choices.len());
    for choice in choices {
        let chosen: Vec<(&Part, &Candidate)> =
            parts.iter().zip(choice).map(|(part, at)| (part, &part.ranking[at])).collect();
        let programs: Vec<&LinearizedKernel> = chosen.iter().map(|(_, candidate)| &candidate.program).collect();
        let Some(program) = in_sequence(&programs) else { return Ok(Vec::new()) };
        let scheduled = orders.iter().map(|&order| {
            let program = nestegg_schedule::schedule_under(program.clone(), licence, order).map_err(&refused)?;
            Ok(nestegg_transform::eliminate_dead(program))
        });
        for program in different(scheduled)? {
            res.push(whole(&chosen, program, (licence, values))?);
        }
    }
    Ok(res)
}

fn whole(
    chosen: &[(&Part, &Candidate)],
    program: LinearizedKernel,
    (licence, values): (Licence, &[(String, i64)]),
) -> Result<Candidate, Error> {
    let counted = operations(&Program::Linearized(program.clone()), values)?;
    let named = chosen.iter().map(|(part, candidate)| format!("{}: {}", part.name(), candidate.seed));
    let tolerances = chosen.iter().filter_map(|(_, candidate)| Some(candidate.approximated.as_ref()?.1));
    let approximated = tolerances.reduce(|a, b| a.and(b)).and_then(|tolerance| {
        let forms: Option<Vec<Cow<'_, LinearizedKernel>>> =
            chosen.iter().map(|chosen| compared(chosen, licence)).collect();
        let form = in_sequence(&forms?.iter().map(AsRef::as_ref).collect::<Vec<_>>())?;
        Some((form, tolerance))
    });
    let mut rules = Fired::default();
    let (mut limits, mut unjudged) = (Vec::new(), Vec::new());
    for (_, candidate) in chosen {
        add_fired(&mut rules, candidate.rules.iter().map(|(rule, &times)| (rule, times)));
        limits.extend(candidate.limits.iter().filter(|hit| !limits.contains(*hit)).cloned().collect::<Vec<_>>());
        unjudged.extend(candidate.unjudged.iter().cloned());
    }
    let saved = chosen.iter().flat_map(|(_, candidate)| candidate.saved.clone()).collect();
    Ok(Candidate {
        program,
        cost: counted.total,
        counted: Some(counted),
        time: Nanoseconds::default(),
        seed: named.collect::<Vec<_>>().join("; "),
        is_of_form: chosen.iter().all(|(_, candidate)| candidate.is_of_form),
        approximated,
        unrolled: chosen.iter().flat_map(|(_, candidate)| candidate.unrolled.iter().cloned()).collect(),
        n_fits: 0,
        rules,
        limits,
        unjudged,
        gap: gap(chosen),
        saved,
        from: chosen.iter().flat_map(|(_, candidate)| candidate.from.iter().cloned()).collect(),
    })
}

/// What a candidate of a part is compared with exactly: a form with computed tables, or an unrolled one, or that of the part.
fn compared<'a>((part, candidate): &(&'a Part, &'a Candidate), licence: Licence) -> Option<Cow<'a, LinearizedKernel>> {
    match &candidate.approximated {
        Some((form, _)) => Some(Cow::Borrowed(form)),
        None if candidate.unrolled.is_empty() => Some(Cow::Borrowed(&part.form)),
        None => Some(Cow::Owned(unrolled_in(&part.form, &candidate.unrolled, licence)?.after)),
    }
}

/// How far the choices of all parts can be from the best ones.
fn gap(chosen: &[(&Part, &Candidate)]) -> Gap {
    let mut sum = (0, 0);
    for (_, candidate) in chosen {
        match candidate.gap {
            Gap::Proved { lower_bound, cost } => sum = (sum.0 + lower_bound, sum.1 + cost),
            Gap::NotProved => return Gap::NotProved,
        }
    }
    Gap::Proved { lower_bound: sum.0, cost: sum.1 }
}

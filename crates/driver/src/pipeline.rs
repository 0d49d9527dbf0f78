//! The order of the passes, and the checks between them.
//!
//! # Input
//! The text of a kernel, and a [`Config`].
//! # Output
//! The linearized result and the story of the run; or an error and no result.
//! # Method
//! The stages of `ARCHITECTURE.md`, in this order. After every pass its output is verified; at the end the interpreter
//! compares the result with the input, and its rounding errors with those of the input. If a result fails, the pipeline
//! takes the same result with [other coefficients](crate::fitted), or the [next best](crate::rest), down to the value form without any
//! rule, the input without its dead code, and the unchanged input. Failures are reported. They are errors only where a
//! rule of the caller's took part in a result that differs from the input, or where nothing holds. A result with more
//! operations than the input is not taken: the input without its dead code takes its place, as it does where the input
//! came with an order and only that order would change.
//! # Not done
//! Nothing here decides about a kernel: rules propose, the extractor chooses, the scheduler orders.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::OnceLock;

use nestegg_codegen::c::Parallel;
use nestegg_interp::{Fits, Runnable};
use nestegg_ir::{LinearizedKernel, Program, Semantics};
use nestegg_rules::RuleBook;
use nestegg_span::Source;
use nestegg_transform::batch::Batched;

use crate::accuracy::{self, Accuracy, Guard};
use crate::batch;
use crate::candidates::{Accepted, Candidate, Refusal, Trials, first_that_hold};
use crate::config::{Config, CostModel, Validation};
use crate::count::operations;
use crate::error::Error;
use crate::fitted::fit;
use crate::lineage::Lineages;
use crate::notation::read_defined;
use crate::parameters;
use crate::report::{AssumedParameter, Failure, FailureKind, Report, Validated};
use crate::rest::Rest;
use crate::rules::{self, Licensed};
use crate::search::{AS_IT_CAME, Fold, Found, Told, as_it_came, linearized, search, violations, with_unrolled};
use crate::smallest::{self, Smallest, Wrong};
use crate::stages::{ACCURACY, FIT, Stages, VALIDATE};
use crate::stated::Stated;
use crate::temporaries;
use crate::threads::threaded;
use crate::time::Run;
use crate::trace::Event;
use crate::validation::{self, Steps, Subject};

/// A result with its story.
#[derive(Debug)]
pub struct Optimized {
    /// The result.
    pub program: LinearizedKernel,
    /// The result with its elements put together, if that was asked for.
    pub batched: Option<Batched>,
    /// Loops of [the form that runs](Self::runs) that may go to threads, if that was asked for.
    pub parallel: Vec<Parallel>,
    /// Its story.
    pub report: Report,
    /// The events of the run, where they are asked for.
    pub events: Vec<Event>,
    /// What it was made of, where that is remembered.
    pub(crate) from: Lineages,
}

impl Optimized {
    /// The result in the form that runs: for many elements, where they were put together.
    #[must_use]
    pub fn runs(&self) -> &LinearizedKernel {
        self.batched.as_ref().map_or(&self.program, |batched| &batched.program)
    }
}

/// Optimizes a kernel.
///
/// # Errors
/// If the input is at fault, or no result holds ([`Error::is_wrong_result`]).
pub fn optimize(source: &Source, config: &Config) -> Result<Optimized, Error> {
    optimize_best(source, config, 1).map(|mut best| best.swap_remove(0))
}

/// Optimizes a kernel; answers the best results that hold, different programs, at least one and at most `n`, the best first. The input
/// without its dead code is among those that compete. The first is what [`optimize`] answers.
///
/// # Errors
/// Those of [`optimize`].
pub fn optimize_best(source: &Source, config: &Config, n: usize) -> Result<Vec<Optimized>, Error> {
    let mut stages = Stages::new(config.memory_probe).watched_by(config.watcher.clone()).traced(config.traces);
    let input = stages.run("read", || read_defined(source, &config.parameters))?;
    let span = |id: &str| {
        let kernel = input.program.kernel();
        kernel.insn_ids().find(|&insn| kernel[insn].id == id).map(|insn| input.spans.instruction(insn))
    };
    let res = optimize_program(Subject::of(source, &input), config, n.max(1), stages);
    let threaded = |best| threaded(batched(&input.program, best, config)?, config);
    match res.and_then(threaded) {
        Err(Error::NotEqual { kernel, difference, rules, .. }) if config.validation == Validation::Explained => {
            let smallest = smallest_wrong(
                &input.program,
                config,
                Wrong { difference: *difference.clone(), rules: rules.clone() },
            )?;
            Err(Error::NotEqual { kernel, difference, rules, smallest: smallest.map(Box::new) })
        }
        res => res.map_err(|error| error.located(source, span)),
    }
}

/// The smallest sub-expression that goes wrong.
fn smallest_wrong(input: &Program, config: &Config, wrong: Wrong) -> Result<Option<Smallest>, Error> {
    let (book, name) = rules::of_config(config)?;
    let licence = rules::licensed(&book, &name, config)?.licence;
    let config = Config { validation: Validation::On, memory_probe: None, watcher: None, ..config.clone() };
    let goes_wrong = |program: &LinearizedKernel| {
        let program = Program::Linearized(program.clone());
        match optimize_program(Subject::from(&program), &config, 1, Stages::new(None)) {
            Err(Error::NotEqual { difference, rules, .. }) => Some(Wrong { difference: *difference, rules }),
            _ => None,
        }
    };
    Ok(smallest::smallest(linearized(input)?, wrong, licence, &goes_wrong))
}

/// The results with their elements put together, if that is asked for.
fn batched(input: &Program, mut best: Vec<Optimized>, config: &Config) -> Result<Vec<Optimized>, Error> {
    let Some(request) = &config.batch else { return Ok(best) };
    let (book, name) = rules::of_config(config)?;
    let licence = rules::licensed(&book, &name, config)?.licence;
    let assumed = parameters::assumed(input.kernel(), &config.parameters)?;
    let (values, compared) = (parameters::values(&assumed), config.validation != Validation::Off);
    let in_order = linearized(input)?;
    let run = Run { config, values: &values, licence };
    for optimized in &mut best {
        let mut stages = Stages::new(config.memory_probe).watched_by(config.watcher.clone());
        let (batched, report) = stages.run("batch", || {
            let request = match run.width(&optimized.program, request)? {
                Some(width) => &request.of_width(width),
                None => request,
            };
            batch::together(&in_order, &optimized.program, request, (&values, licence), compared)
        })?;
        optimized.report.stages.extend(stages.into_done());
        optimized.report.batch = Some(report);
        optimized.batched = Some(batched);
    }
    Ok(best)
}

/// The best results that hold, at least one and at most `n`.
fn optimize_program(
    subject: Subject<'_>,
    config: &Config,
    n: usize,
    mut stages: Stages,
) -> Result<Vec<Optimized>, Error> {
    let input = subject.program;
    let file = subject.written.map_or("", |(source, _)| &*source.name);
    let assumed = parameters::assumed(input.kernel(), &config.parameters)?;
    let values = parameters::values(&assumed);
    let (book, name) = rules::of_config(config)?;
    let Licensed { strategy, licence, left_out } = rules::licensed(&book, &name, config)?;
    let of_caller = rules::of_caller(&book);

    let before = stages.run("count input", || operations(input, &values))?;
    stages.note(|| Event::Run {
        kernel: input.kernel().name.clone(),
        strategy: name.clone(),
        operations: before.total,
    });
    let told = Told {
        strategy: &strategy,
        semantics: Semantics { licence, traps: config.traps },
        values: &values,
        config,
        most: before.total,
        is_strict: !of_caller.is_empty() || config.validation == Validation::EachSeed,
        only: None,
    };
    let mut found = search(input, told, &mut stages)?;
    if config.cost == CostModel::Time {
        add_lower(&mut found, input, (&book, &name), told, &mut stages)?;
    }
    let in_order = linearized(input)?;
    let estimate_before = told.run().of(&in_order)?;
    let (guard, runnable) = (OnceLock::new(), Runnable::from(input));
    let subject = Subject { runnable: Some(&runnable), ..subject };
    let judge = Judge { input: subject, in_order: &in_order, guard, found: &found, told, of_caller: &of_caller };
    if config.validation == Validation::EachSeed {
        stages.run(VALIDATE, || judge.each_seed())?;
    }
    let stages = RefCell::new(stages);
    let rest = RefCell::new(Rest::new(input, &found, told, &before, estimate_before)?);
    let mut fits = Fits::new(&in_order, accuracy::parameters(&in_order, &values));
    let fitted = RefCell::new(None);
    // Where one candidate rounds too much, the next may well, too.
    let mut is_wary = false;
    let Trials { held, refused } = first_that_hold(
        n,
        || fitted.take().map_or_else(|| rest.borrow_mut().next(&mut stages.borrow_mut()), |fitted| Ok(Some(fitted))),
        |candidate| {
            let judged = judge.judge(candidate, is_wary, &mut stages.borrow_mut())?;
            if let Err(Refusal::Inaccurate { excess, .. }) = judged {
                is_wary = true;
                rest.borrow_mut().lose(candidate);
                fitted.replace(stages.borrow_mut().run(FIT, || fit(&mut fits, candidate, excess)));
            }
            if let Err(refusal) = &judged {
                stages.borrow_mut().note(|| Event::Refused {
                    seed: candidate.seed.clone(),
                    operations: candidate.cost,
                    reason: refusal.reason(),
                });
            }
            Ok(judged)
        },
    )
    .map_err(|error| judge.with_failures(error, file, &assumed))?;
    let failures = judge.failures(&refused, file, &assumed);
    if held.is_empty() {
        let kernel = input.kernel().name.clone();
        let reason = refused.last().map_or_else(|| "there is none".to_owned(), |(_, refusal)| refusal.reason());
        return Err(Error::NotValidated { kernel, reason, failures });
    }
    let stages = stages.into_inner();
    let told_of = |(candidate, accepted): (Candidate, Accepted)| {
        let Accepted { validated, stated, accuracy } = accepted;
        let mut stages = stages.clone();
        let after = stages.run("count output", || candidate.operations(&values))?;
        let Candidate { mut program, seed, mut rules, mut limits, mut unjudged, gap, saved, from, .. } = candidate;
        stated.add_to(&mut program.kernel);
        let mut seeds = found.seeds.clone();
        seeds.extend(rest.borrow().of_second_search());
        if seed == AS_IT_CAME {
            // What the rules gave is in what was found and not taken.
            let best = found.ranking.first();
            rules = best.map(|best| best.rules.clone()).unwrap_or_default();
            limits = best.map(|best| best.limits.clone()).unwrap_or_default();
            unjudged = best.map(|best| best.unjudged.clone()).unwrap_or_default();
            if seeds.is_empty() {
                seeds.extend(best.map(|best| (best.seed.clone(), best.cost)));
            }
        }
        limits.extend(found.limits.iter().cloned());
        stages.note(|| Event::Taken { seed: seed.clone(), operations: after.clone(), limits: limits.clone() });
        let events = stages.events().to_vec();
        let report = Report {
            kernel: program.kernel.name.clone(),
            strategy: name.clone(),
            float: licence.name().into(),
            left_out: left_out.clone(),
            seed,
            seeds,
            cost: config.cost,
            parameters: assumed.clone(),
            before: before.clone(),
            after,
            estimate: told.run().report(estimate_before, &program)?,
            temporaries: temporaries::describe(&program, &values, &saved),
            rules,
            limits,
            unjudged,
            gap,
            validation: validated,
            accuracy,
            batch: None,
            failures: failures.clone(),
            tuned: Vec::new(),
            stages: stages.into_done(),
        };
        Ok(Optimized { program, batched: None, parallel: Vec::new(), report, events, from })
    };
    held.into_iter().map(told_of).collect()
}

/// The strategy whose results compete too where time is made small: fewer operations are not always less time. Results of O2 are among those of O3, but for
/// those of factored sums.
const LOWER: &str = "O1";

/// Adds the results of the lowest built-in strategy, and the input without its dead code.
fn add_lower(
    found: &mut Found,
    input: &Program,
    (book, name): (&RuleBook, &str),
    told: Told<'_>,
    stages: &mut Stages,
) -> Result<(), Error> {
    if ["O2", "O3"].contains(&name) {
        let Licensed { strategy, .. } = rules::licensed(book, LOWER, told.config)?;
        let of_lower = search(input, Told { strategy: &strategy, ..told }, stages)?;
        found.ranking.extend(of_lower.ranking.into_iter().map(|candidate| {
            let seed = format!("{} of {LOWER}", candidate.seed);
            Candidate { seed, ..candidate }
        }));
    }
    let mut kept = [Candidate::untouched(as_it_came(input)?, AS_IT_CAME, told.values)?];
    told.estimate(&mut kept, stages);
    found.ranking.extend(kept);
    found.ranking.sort_by_key(Candidate::rank);
    // A result that takes as long goes first: C may have its sums in vectors.
    if let [first, second, ..] = &mut found.ranking[..]
        && first.seed == AS_IT_CAME
        && second.time.is_at_most(first.time)
    {
        std::mem::swap(first, second);
    }
    Ok(())
}

/// What decides whether a candidate is the result.
struct Judge<'a> {
    input: Subject<'a>,
    /// The input, in its order.
    in_order: &'a LinearizedKernel,
    /// What results are measured beside, once one is.
    guard: OnceLock<Guard<'a>>,
    found: &'a Found,
    told: Told<'a>,
    /// Rules of the caller's.
    of_caller: &'a BTreeSet<String>,
}

impl Judge<'_> {
    /// Whether a candidate is a kernel, is equal to the input, and has no larger rounding errors than are allowed. If `is_wary`, rounding errors are
    /// measured first, so that no comparison is in vain.
    ///
    /// # Errors
    /// If the input cannot be compared with anything, or a rule of the caller's had a part in what is not equal to it.
    fn judge(
        &self,
        candidate: &Candidate,
        is_wary: bool,
        stages: &mut Stages,
    ) -> Result<Result<Accepted, Refusal>, Error> {
        let LinearizedKernel { kernel, linearization } = &candidate.program;
        if let Some(violations) = violations(kernel, Some(linearization)) {
            return Ok(Err(Refusal::Broken(violations)));
        }
        if !nestegg_ir::data_bounds::is_bounded(&candidate.program) {
            return Ok(Err(Refusal::Broken("a loop whose bounds depend on data has none".to_owned())));
        }
        let Some(folds) = self.folds(candidate) else {
            let reason = "its instructions were not unrolled as those of the whole kernel are".to_owned();
            return Ok(Err(Refusal::NotCompared(reason)));
        };
        if self.told.config.validation == Validation::Off {
            let validated = Validated::NotCompared { reason: "switched off".to_owned() };
            let tolerance = candidate.approximated.as_ref().map(|(_, tolerance)| *tolerance);
            let stated = Stated::of_steps(&folds, tolerance, None);
            return Ok(Ok(Accepted { validated, stated, accuracy: None }));
        }
        // A rule of the caller's that is wrong is an error, whatever else is.
        let is_of_caller = candidate.rules.keys().any(|rule| self.of_caller.contains(rule));
        let (checked, measured) = if is_wary && !is_of_caller {
            let measured = stages.run(ACCURACY, || self.measure(candidate));
            if let Err(refusal) = measured {
                return Ok(Err(refusal));
            }
            (stages.run(VALIDATE, || self.check(candidate, &folds)), measured)
        } else {
            stages.both((VALIDATE, || self.check(candidate, &folds)), (ACCURACY, || self.measure(candidate)))
        };
        let (validated, stated) = match checked? {
            Ok(checked) => checked,
            Err(Refusal::NotEqual(difference)) if is_of_caller => {
                let rules = candidate.rules.keys().cloned().collect();
                return Err(Error::NotEqual { kernel: kernel.name.clone(), difference, rules, smallest: None });
            }
            Err(refusal) => return Ok(Err(refusal)),
        };
        Ok(measured.map(|accuracy| Accepted { validated, stated, accuracy }))
    }

    fn check(&self, candidate: &Candidate, folds: &[Fold]) -> Result<Result<(Validated, Stated), Refusal>, Error> {
        let steps = Steps { folds, approximated: candidate.approximated.as_ref() };
        let output = Program::Linearized(candidate.program.clone());
        let output = Runnable::from(&output);
        validation::check(self.input, steps, Subject::from(&output), self.told.values, self.told.semantics.licence)
    }

    /// Where constants were folded on the way to a candidate; `None` if that cannot be told.
    fn folds(&self, candidate: &Candidate) -> Option<Vec<Fold>> {
        let form = self.found.form.as_ref().filter(|_| candidate.is_of_form);
        let Some(form) = form else { return Some(Vec::new()) };
        with_unrolled(self.found.folds.clone(), form, &candidate.unrolled, self.told.semantics.licence)
    }

    /// Rounding errors that are within what is allowed. Those of the input itself always are.
    fn measure(&self, candidate: &Candidate) -> Result<Option<Accuracy>, Refusal> {
        let of_form = if candidate.approximated.is_some() { accuracy::LIMIT_COMPUTED } else { accuracy::LIMIT_EXACT };
        let limit = self.told.config.accuracy.unwrap_or(of_form);
        if !candidate.is_of_form || limit == f64::INFINITY {
            return Ok(None);
        }
        let least = self.told.config.accuracy.unwrap_or(accuracy::LIMIT_EXACT);
        let guard = self.guard.get_or_init(|| {
            let guide = self.found.ranking.first().map_or(self.in_order, |best| &best.program);
            Guard::new(self.in_order, guide, self.told.values, least)
        });
        let found = guard.accuracy(&candidate.program, limit);
        let refusal = found.exceeds(limit).map(|worst| {
            let reason = format!(
                "on {} data its rounding errors are {:.0} times those of the input, {limit} times are allowed",
                worst.data, worst.ratio
            );
            Refusal::Inaccurate { excess: worst.ratio / limit, reason }
        });
        refusal.map_or(Ok(Some(found)), Err)
    }

    /// Whether what was made of each seed is equal to the input.
    ///
    /// # Errors
    /// If one is not; the error names the seed beside the rules.
    fn each_seed(&self) -> Result<(), Error> {
        for candidate in &self.found.ranking {
            let Some(folds) = self.folds(candidate) else { continue };
            match self.check(candidate, &folds) {
                Ok(Err(Refusal::NotEqual(difference))) => {
                    let seed = format!("seed {}", candidate.seed);
                    let rules = [seed].into_iter().chain(candidate.rules.keys().cloned()).collect();
                    let kernel = self.input.program.kernel().name.clone();
                    return Err(Error::NotEqual { kernel, difference, rules, smallest: None });
                }
                Ok(_) | Err(Error::NotValidated { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The failures, for the report.
    fn failures(&self, refused: &[(Candidate, Refusal)], file: &str, assumed: &[AssumedParameter]) -> Vec<Failure> {
        let failure = |seed: &str, kind, reason| Failure {
            seed: seed.to_owned(),
            operations: None,
            kind,
            reason,
            rules: Vec::new(),
            parameters: assumed.to_vec(),
            data_seeds: validation::data_seeds(),
            command: self.told.config.command(file),
        };
        let of_passes =
            self.found.failed.iter().map(|(seed, error)| failure(seed, FailureKind::Broken, with_causes(error)));
        let of_candidates = refused.iter().map(|(candidate, refusal)| Failure {
            operations: Some(candidate.cost),
            rules: candidate.rules.keys().cloned().collect(),
            ..failure(&candidate.seed, refusal.kind(), refusal.reason())
        });
        of_passes.chain(of_candidates).collect()
    }

    /// An error, with the failures of passes that came before it.
    fn with_failures(&self, mut error: Error, file: &str, assumed: &[AssumedParameter]) -> Error {
        if let Error::NotValidated { failures, .. } = &mut error {
            *failures = self.failures(&[], file, assumed);
        }
        error
    }
}

/// An error and what caused it, on one line.
fn with_causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Strategy;
    use crate::notation::read;
    use crate::same::is_same;

    /// A kernel with several seeds at O3, dead code, and a constant that folds.
    const KERNEL: &str = "kernel k
domain { [q, j] : 0 <= q < 4 and 0 <= j < 3 }
arg A : float64[3] readwrite
arg f : float64[4] read
table phi : float64[4, 3] = [[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]
temp dead : float64
for j
  dead = f[j]*f[j]
  A[j] = A[j] + (0.1*3.0)*sum(q, f[q]*phi[q, j] + f[q]*phi[q, j])
end
";

    fn optimized(config: Config) -> Optimized {
        optimize(&Source::new("k.knl", KERNEL), &config).unwrap()
    }

    fn o3() -> Config {
        Config { strategy: Strategy::Named("O3".to_owned()), ..Config::of_operations() }
    }

    /// What loses no digits at all is the input alone, so that all other candidates are refused.
    #[test]
    fn the_input_is_the_last_candidate() {
        let Optimized { program, report, .. } = optimized(Config { accuracy: Some(0.0), ..o3() });
        let input = read(&Source::new("k.knl", KERNEL)).unwrap().program;
        assert!(is_same(&program, &as_it_came(&input).unwrap()));
        assert_eq!(report.seed, AS_IT_CAME);
        assert!(matches!(report.validation, Validated::Equal { .. }));
        let seeds: Vec<&str> = report.failures.iter().map(|failure| failure.seed.as_str()).collect();
        assert!(seeds.len() > 2 && seeds.contains(&"rolled"), "{seeds:?}");
        assert!(report.failures.iter().all(|failure| failure.kind == FailureKind::Inaccurate && !failure.is_bug()));
        let costs: Vec<Option<u128>> = report.failures.iter().map(|failure| failure.operations).collect();
        // Those of seeds, and then two that come last whatever they cost.
        assert!(costs[..costs.len() - 2].is_sorted(), "the best comes first: {costs:?}");
        assert!(
            report.failures[0].command.ends_with("k.knl --level O3 --cost operations --accuracy 0"),
            "{}",
            report.failures[0].command
        );
    }

    #[test]
    fn where_nothing_fails_nothing_is_reported() {
        let Optimized { program, report, .. } = optimized(o3());
        assert!(report.failures.is_empty());
        assert!(report.after.total < report.before.total);
        assert!(!Stated::of(&program.kernel).is_exact(), "the constant is rounded");
        // Without validation the same is the result, and it states the same, but for what nobody measured.
        let unvalidated = optimized(Config { validation: Validation::Off, ..o3() });
        assert!(is_same(&unvalidated.program, &program));
        let stated = program.kernel.meta.map(|meta| meta.replace(r#","error":1e-15"#, ""));
        assert_eq!(unvalidated.program.kernel.meta.as_deref(), stated.as_deref());
    }
}

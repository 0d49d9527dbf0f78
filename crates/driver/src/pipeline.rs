//! The order of the passes, and what is checked between them.
//!
//! # Input
//! The text of a kernel, and a [`Config`].
//! # Output
//! The linearized result and the story of the run; or an error, and then there is no result.
//! # Method
//! The stages of `ARCHITECTURE.md`, in this order. After every pass the result is verified; at the end it is compared
//! with the input by the interpreter. A result with more operations than the input is not taken: then the input
//! itself is the result, without its dead code; and so it is where it came with an order and only that would change.
//! # Not done
//! Nothing here decides about a kernel: rules propose, the extractor chooses, the scheduler orders.

use nestegg_ir::{LinearizedKernel, Program, Semantics};
use nestegg_span::Source;

use crate::config::{Config, Validation};
use crate::count::operations;
use crate::error::Error;
use crate::notation::read_defined;
use crate::parameters;
use crate::report::{Report, Validated};
use crate::rules::{self, Licensed};
use crate::search::{as_it_came, linearized, search, verified};
use crate::smallest::{self, Smallest, Wrong};
use crate::stages::{Stages, VALIDATE};
use crate::temporaries;
use crate::validation::{self, Steps};

/// A result with its story.
#[derive(Debug)]
pub struct Optimized {
    /// The result.
    pub program: LinearizedKernel,
    /// Its story.
    pub report: Report,
}

/// Optimizes a kernel.
///
/// # Errors
/// If the input is at fault, or the result is found wrong ([`Error::is_wrong_result`]).
pub fn optimize(source: &Source, config: &Config) -> Result<Optimized, Error> {
    let mut stages = Stages::new(config.memory_probe).watched_by(config.watcher.clone());
    let input = stages.run("read", || read_defined(source, &config.parameters))?.program;
    match optimize_program(&input, config, stages) {
        Err(Error::NotEqual { kernel, difference, rules, .. }) if config.validation == Validation::Explained => {
            let smallest =
                smallest_wrong(&input, config, Wrong { difference: *difference.clone(), rules: rules.clone() })?;
            Err(Error::NotEqual { kernel, difference, rules, smallest: smallest.map(Box::new) })
        }
        res => res,
    }
}

/// The smallest sub-expression that goes wrong.
fn smallest_wrong(input: &Program, config: &Config, wrong: Wrong) -> Result<Option<Smallest>, Error> {
    let (book, name) = rules::of_config(config)?;
    let licence = rules::licensed(&book, &name, config)?.licence;
    let config = Config { validation: Validation::On, memory_probe: None, watcher: None, ..config.clone() };
    let goes_wrong = |program: &LinearizedKernel| {
        let program = Program::Linearized(program.clone());
        match optimize_program(&program, &config, Stages::new(None)) {
            Err(Error::NotEqual { difference, rules, .. }) => Some(Wrong { difference: *difference, rules }),
            _ => None,
        }
    };
    Ok(smallest::smallest(linearized(input)?, wrong, licence, &goes_wrong))
}

fn optimize_program(input: &Program, config: &Config, mut stages: Stages) -> Result<Optimized, Error> {
    let assumed = parameters::assumed(input.kernel(), &config.parameters)?;
    let values = parameters::values(&assumed);
    let (book, name) = rules::of_config(config)?;
    let Licensed { strategy, licence, left_out } = rules::licensed(&book, &name, config)?;
    let semantics = Semantics { licence, traps: config.traps };

    let before = stages.run("count input", || operations(input, &values))?;
    let found = search(input, &strategy, semantics, &values, config, &mut stages)?;
    verified("the optimizer", &Program::Linearized(found.program.clone()))?;
    let counted = stages.run("count output", || operations(&Program::Linearized(found.program.clone()), &values))?;
    let wins_nothing = matches!(input, Program::Linearized(_))
        && counted == before
        && found.is_only_reordered(&as_it_came(input)?, &values);
    let (found, after) = if counted.total > before.total || wins_nothing {
        stages.run("keep the input", || {
            let kept = found.refused(as_it_came(input)?, counted.total);
            let after = operations(&Program::Linearized(kept.program.clone()), &values)?;
            Ok::<_, Error>((kept, after))
        })?
    } else {
        (found, counted)
    };
    let output = Program::Linearized(found.program);
    let validation = match config.validation {
        Validation::On | Validation::EachSeed | Validation::Explained => {
            let steps = Steps { folds: found.folds, approximated: found.approximated };
            let checked = stages.run(VALIDATE, || validation::check(input, steps, &output, &values, licence));
            checked.map_err(|error| error.after(found.rules.keys()))?
        }
        Validation::Off => Validated::NotCompared { reason: "switched off".to_owned() },
    };
    let Program::Linearized(program) = output else { unreachable!("the output was made linearized above") };
    let report = Report {
        kernel: program.kernel.name.clone(),
        strategy: name,
        float: licence.name(),
        left_out,
        seed: found.seed,
        seeds: found.seeds,
        cost: config.cost,
        parameters: assumed,
        before,
        after,
        temporaries: temporaries::describe(&program, &values, &found.saved),
        rules: found.rules,
        limits: found.limits,
        unjudged: found.unjudged,
        gap: found.gap,
        validation,
        stages: stages.into_done(),
    };
    Ok(Optimized { program, report })
}

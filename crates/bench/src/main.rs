//! Benchmarks of nestegg, one command each.
//!
//! # Input
//! The kernels in `fixtures/` with their `peers.csv`, and kernels made by [`nestegg_bench::generate`].
//! # Output
//! Tables on standard output, as text or Markdown.
//! # Method
//! * `operations` optimizes every fixture at each level and sets the counts beside every published figure.
//! * `ablation` leaves out every seed and form of a strategy in turn.
//! * `scaling` measures seconds and peak memory of each stage against the size of the kernel.
//! * `rounding` sets the rounding errors of results beside those of their inputs.
//! * `mutants` breaks results and asks validation.
//! * `rule-mutants` breaks rules and asks the check of rules.
//! * `validation` sets the seconds of validation beside those of everything else.
//! * `spelling` writes every fixture in other ways and sets the counts beside each other.
//! * `beside` puts two fixtures into one kernel and sets it beside the two alone.
//! * `model` sets the time model beside measurements.
//! * `runtime` compiles the C of input and output and runs them in turn in one process.
//!
//! `operations`, but for its seconds, `ablation`, `rounding`, `mutants`, `rule-mutants`, `spelling` and `beside` give the same numbers everywhere; the others measure this machine.

mod ablation;
mod beside;
mod memory;
mod model;
mod mutants;
mod operations;
mod progress;
mod rounding;
mod rule_mutants;
mod runtime;
mod scaling;
mod spelling;
mod statistics;
mod table;
mod validation;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use miette::{Context, IntoDiagnostic};
use nestegg_bench::fixtures::{self, Fixture};

/// Benchmarks of nestegg.
#[derive(Debug, Parser)]
#[command(name = "nestegg-bench")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Operations at each level against the figures of other compilers, over all fixtures
    Operations(operations::OperationsArgs),
    /// What each seed and each form of a strategy wins, over all fixtures
    Ablation(ablation::AblationArgs),
    /// Seconds and peak memory of each stage against the size of the kernel
    Scaling(scaling::ScalingArgs),
    /// One kernel of `scaling`
    #[command(hide = true)]
    Measure(scaling::MeasureArgs),
    /// Rounding errors of results beside those of their inputs, over all fixtures
    Rounding(rounding::RoundingArgs),
    /// Results that are broken on purpose, and whether validation notices
    Mutants(mutants::MutantsArgs),
    /// Rules that are broken on purpose, and whether the check of rules notices
    RuleMutants(rule_mutants::RuleMutantsArgs),
    /// Seconds of validation beside those of everything else, over all fixtures
    Validation(validation::ValidationArgs),
    /// Operations of kernels that are written in other ways, over those of the best spelling
    Spelling(spelling::SpellingArgs),
    /// Operations and seconds of two fixtures in one kernel, over those of the two alone
    Beside(beside::BesideArgs),
    /// The time model's nanoseconds beside measured ones, over all results that the search finds
    Model(model::ModelArgs),
    /// Run time of the emitted C of the output against that of the input
    Runtime(runtime::RuntimeArgs),
}

/// Which kernels, and how the table looks.
#[derive(Debug, Args)]
struct CommonArgs {
    /// The folder with the kernels and their figures
    #[arg(long, default_value = "fixtures")]
    fixtures: PathBuf,
    /// Only kernels whose `group/name` holds one of these words
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// Print Markdown
    #[arg(long)]
    markdown: bool,
}

impl CommonArgs {
    /// The fixtures that are chosen.
    fn chosen(&self) -> miette::Result<Vec<Fixture>> {
        let all = fixtures::fixtures(&self.fixtures).into_diagnostic().wrap_err_with(|| {
            format!("no fixtures in `{}`; run this from the project's folder", self.fixtures.display())
        })?;
        Ok(self.chosen_of(all))
    }

    /// The chosen ones of some kernels.
    fn chosen_of(&self, all: Vec<Fixture>) -> Vec<Fixture> {
        let is_chosen =
            |name: &str| self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()));
        all.into_iter().filter(|fixture| is_chosen(&fixture.full_name())).collect()
    }
}

/// A value of a parameter.
fn parameter(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("a parameter is given as `name=value`")?;
    Ok((name.to_owned(), value.parse().map_err(|_| format!("`{value}` is not a whole number"))?))
}

fn main() -> miette::Result<()> {
    let text = match Cli::parse().command {
        Command::Operations(args) => operations::run(&args)?,
        Command::Ablation(args) => ablation::run(&args)?,
        Command::Scaling(args) => scaling::run(&args)?,
        Command::Measure(args) => scaling::measure(&args)?,
        Command::Rounding(args) => rounding::run(&args)?,
        Command::Mutants(args) => mutants::run(&args)?,
        Command::RuleMutants(args) => rule_mutants::run(&args)?,
        Command::Validation(args) => validation::run(&args)?,
        Command::Spelling(args) => spelling::run(&args)?,
        Command::Beside(args) => beside::run(&args)?,
        Command::Model(args) => model::run(&args)?,
        Command::Runtime(args) => runtime::run(&args)?,
    };
    // Nobody is left to tell if standard output is gone.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(())
}

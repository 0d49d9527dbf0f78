//! Mutants: how many broken results validation notices.
//!
//! # Input
//! The chosen fixtures and random kernels, optimized at each level.
//! # Output
//! For each family of mutants how many were made, how many are different from the result, how many of these validation killed, and how many survived.
//! Then every survivor. With `--save`, survivors are written as pairs of kernels.
//! # Method
//! [`nestegg_bench::mutation`] judges each mutant twice. Of a result that takes long to run fewer mutants are drawn: [`OPERATIONS`] in all over those of
//! the result, but never fewer than [`LEAST`]. Everything but the seconds is the same everywhere.
//! # Not done
//! Results that take too long to run, even at small sizes, are listed, not tried.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::ParallelProgressIterator;
use miette::{IntoDiagnostic, WrapErr};
use nestegg_bench::mutation::{Subject, Trial};
use nestegg_ir::Program;
use nestegg_span::Source;
use nestegg_testgen::mutate::{FAMILIES, Mutant};
use nestegg_testgen::{Knobs, generate_seed};
use rayon::prelude::*;

use crate::CommonArgs;
use crate::progress::bar;
use crate::table::table;

/// Operations that all mutants of one result may take together.
const OPERATIONS: u128 = 10_000_000;

/// So many mutants are drawn of each result in any case.
const LEAST: usize = 6;

/// `nestegg-bench mutants`.
#[derive(Debug, Args)]
pub struct MutantsArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The levels
    #[arg(long, value_delimiter = ',', default_value = "O0,O1,O2,O3")]
    levels: Vec<String>,
    /// Mutants of each family and result, at most
    #[arg(long, default_value_t = 2)]
    per_family: usize,
    /// Random kernels of each kind
    #[arg(long, default_value_t = 40)]
    random: u64,
    /// The seed of the mutants, and the first of the random kernels
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// About a minute: one mutant of each family, few random kernels, every eighth fixture
    #[arg(long)]
    quick: bool,
    /// Write survivors to this folder, each beside what it was compared with
    #[arg(long, value_name = "FOLDER")]
    save: Option<PathBuf>,
    /// List, and save, also the mutants that nothing tells from the result
    #[arg(long)]
    undistinguished: bool,
}

/// What is optimized.
struct Kernel {
    source: Source,
    values: Vec<(String, i64)>,
}

/// A mutant and what became of it.
struct Tried<'a> {
    subject: &'a Subject,
    mutant: Mutant,
    trial: Trial,
}

/// Makes and judges all mutants.
pub fn run(args: &MutantsArgs) -> miette::Result<String> {
    let kernels = kernels(args)?;
    let jobs: Vec<(&Kernel, &String)> =
        kernels.iter().flat_map(|kernel| args.levels.iter().map(move |level| (kernel, level))).collect();
    let results: Vec<Result<Subject, String>> = jobs
        .par_iter()
        .progress_with(bar("optimizing", jobs.len())?)
        .map(|(kernel, level)| {
            let subject = Subject::new(&kernel.source, level, &kernel.values);
            subject.map_err(|error| format!("{} at {level}: {error}", kernel.source.name))
        })
        .collect();
    let (mut subjects, mut left_out) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(subject) => subjects.push(subject),
            Err(reason) => left_out.push(reason),
        }
    }
    let per_family = if args.quick { 1 } else { args.per_family };
    let mutants: Vec<(&Subject, Mutant)> =
        subjects.par_iter().flat_map_iter(|subject| drawn(subject, per_family, args.seed)).collect();
    let progress = bar("judging", mutants.len())?;
    let tried: Vec<Result<Tried<'_>, String>> = mutants
        .into_par_iter()
        .progress_with(progress)
        .map(|(subject, mutant)| match subject.trial(&mutant) {
            Ok(trial) => Ok(Tried { subject, mutant, trial }),
            Err(error) => Err(format!("{} at {}: {error}", subject.name, subject.level)),
        })
        .collect();
    let mut all = Vec::new();
    for one in tried {
        match one {
            Ok(one) => all.push(one),
            Err(reason) => left_out.push(reason),
        }
    }
    left_out.dedup();
    if let Some(folder) = &args.save {
        save(folder, &all, args.undistinguished)?;
    }
    Ok(report(args, &subjects, &all, &left_out))
}

fn kernels(args: &MutantsArgs) -> miette::Result<Vec<Kernel>> {
    let step = if args.quick { 8 } else { 1 };
    let mut res = Vec::new();
    for fixture in args.common.chosen()?.iter().step_by(step) {
        res.push(Kernel { source: fixture.read().into_diagnostic()?, values: Vec::new() });
    }
    let is_chosen =
        |name: &str| args.common.words.is_empty() || args.common.words.iter().any(|word| name.contains(word.as_str()));
    let n_random = if args.quick { args.random.div_ceil(10) } else { args.random };
    for (kind, knobs) in Knobs::presets() {
        for seed in args.seed..args.seed + n_random {
            let name = format!("random/{kind}_{seed}");
            if is_chosen(&name) {
                let generated = generate_seed(seed, &knobs);
                let source = Source::new(name, nestegg_dump::write_text(&generated.program));
                res.push(Kernel { source, values: generated.parameters });
            }
        }
    }
    Ok(res)
}

/// The mutants of a result that are tried: all of them, or evenly spread ones where it runs long.
fn drawn(subject: &Subject, per_family: usize, seed: u64) -> Vec<(&Subject, Mutant)> {
    let all = subject.mutants(per_family, seed);
    let affordable = usize::try_from(OPERATIONS / subject.operations.max(1)).unwrap_or(usize::MAX).max(LEAST);
    let step = all.len().div_ceil(affordable.max(1)).max(1);
    // Results differ in where they begin, so that all families are met.
    let first = subject.name.len() % step;
    all.into_iter().skip(first).step_by(step).map(|mutant| (subject, mutant)).collect()
}

/// Counts of one family.
#[derive(Clone, Copy, Default)]
struct Counts {
    made: usize,
    different: usize,
    killed: usize,
    /// Killed, though no data of the oracle's told it from the result.
    only_killed: usize,
}

impl Counts {
    fn add(&mut self, trial: &Trial) {
        self.made += 1;
        self.different += usize::from(trial.is_different);
        self.killed += usize::from(trial.is_different && trial.is_killed);
        self.only_killed += usize::from(!trial.is_different && trial.is_killed);
    }

    fn row(self, name: &str, meaning: &str) -> Vec<String> {
        let percent = match self.different {
            0 => "-".to_owned(),
            different => format!("{:.2}", 100.0 * self.killed as f64 / different as f64),
        };
        vec![
            name.to_owned(),
            self.made.to_string(),
            self.different.to_string(),
            self.killed.to_string(),
            (self.different - self.killed).to_string(),
            percent,
            self.only_killed.to_string(),
            meaning.to_owned(),
        ]
    }
}

fn report(args: &MutantsArgs, subjects: &[Subject], all: &[Tried<'_>], left_out: &[String]) -> String {
    let mut by_family: BTreeMap<&str, Counts> = BTreeMap::new();
    let mut total = Counts::default();
    for one in all {
        by_family.entry(one.mutant.family).or_default().add(&one.trial);
        total.add(&one.trial);
    }
    let header =
        ["family", "made", "different", "killed", "survived", "%", "not told apart, but killed", "what is broken"];
    let mut rows: Vec<Vec<String>> = FAMILIES
        .iter()
        .map(|family| by_family.get(family.name).copied().unwrap_or_default().row(family.name, family.meaning))
        .collect();
    rows.push(total.row("all", ""));
    let mut text = format!("mutants of {} results\n\n", subjects.len());
    text += &table(args.common.markdown, &header.map(str::to_owned), &rows);
    let mut list = |title: &str, is_meant: &dyn Fn(&Trial) -> bool| {
        let lines: Vec<String> = all.iter().filter(|one| is_meant(&one.trial)).map(Tried::describe).collect();
        if !lines.is_empty() {
            text += &format!("\n{title}:\n  {}\n", lines.join("\n  "));
        }
    };
    list("survived", &|trial| trial.is_different && !trial.is_killed);
    if args.undistinguished {
        list("equal, as far as is known", &|trial| !trial.is_different && !trial.is_killed);
        list("killed, but not told apart", &|trial| !trial.is_different && trial.is_killed);
    }
    if !left_out.is_empty() {
        text += &format!("\nnot tried:\n  {}\n", left_out.join("\n  "));
    }
    text
}

impl Tried<'_> {
    fn describe(&self) -> String {
        let Mutant { family, description, .. } = &self.mutant;
        format!("{} at {}: {family}: {description}", self.subject.name, self.subject.level)
    }
}

/// Writes mutants beside what they were compared with.
fn save(folder: &Path, all: &[Tried<'_>], undistinguished: bool) -> miette::Result<()> {
    std::fs::create_dir_all(folder).into_diagnostic().wrap_err("the folder for survivors")?;
    let is_meant = |trial: &Trial| {
        if undistinguished { !trial.is_different || !trial.is_killed } else { trial.is_different && !trial.is_killed }
    };
    for (at, one) in all.iter().filter(|one| is_meant(&one.trial)).enumerate() {
        let values: Vec<String> =
            one.subject.values.iter().map(|(name, value)| format!(" --param {name}={value}")).collect();
        let verdict = match (one.trial.is_different, one.trial.is_killed) {
            (true, _) => "survived",
            (false, true) => "killed, but not told apart",
            (false, false) => "not told apart",
        };
        let comment = format!("# {verdict}: {}{}\n", one.describe(), values.concat());
        for (word, program) in
            [("reference", &one.subject.reference), ("mutant", &Program::Linearized(one.mutant.kernel.clone()))]
        {
            let path = folder.join(format!("{at:04}_{}_{word}.knl", one.mutant.family));
            std::fs::write(path, comment.clone() + &nestegg_dump::write_text(program)).into_diagnostic()?;
        }
    }
    Ok(())
}

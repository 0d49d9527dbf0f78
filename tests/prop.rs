//! Random kernels through the whole optimizer: whatever the kernel, every level answers an equal one.
//!
//! There is a trial for each kind of kernel that [`Knobs`] name and each level that the driver knows. It optimizes
//! the kernels of some seeds: that succeeds, the result is well-formed, equal to its input by the interpreter, as is what is made of forms that do not win, has no
//! more operations, and is the same the next time. A kernel that fails is made small and printed as text.
//! Six seeds that follow each other have each licence for floats with each meaning of traps, and so has each seed over the levels in
//! part. Kernels under `strict` also divide by zero, tell zeros from their negatives and grow beyond all floats. Some kernels state the probabilities of their conditions.
//!
//! Few seeds are tried by default; `tests/README.md` says how to try as many as one likes.

#[path = "prop/check.rs"]
mod check;
#[path = "prop/shrink.rs"]
mod shrink;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use check::{Setting, check, has_meaning};
use libtest_mimic::{Arguments, Failed, Trial};
use nestegg_driver::config::CostModel;
use nestegg_ir::{Licence, Program};
use nestegg_testgen::{Knobs, generate_seed, second_version};
use shrink::{shrink, size};

/// Seeds of each trial where nobody asks for more.
const N_SEEDS: u64 = 20;

/// Percent of the places where a value may be no real number, under the licence that keeps these.
const EXCEPTIONAL: u8 = 40;

/// Kernels that are tried to make one small, at most.
const MAX_TRIALS: usize = 3000;

/// The same where each takes long.
const MAX_ENDLESS_TRIALS: usize = 30;

fn main() {
    let arguments = Arguments::from_args();
    let book = nestegg_driver::rules::rule_book(&[]).unwrap_or_else(|error| panic!("the built-in rules: {error}"));
    let first = number("NESTEGG_PROP_FIRST", 0);
    let seeds = first..first + number("NESTEGG_PROP_SEEDS", N_SEEDS);
    let mut kinds: Vec<(&str, Knobs, bool)> =
        Knobs::presets().into_iter().map(|(name, knobs)| (name, knobs, false)).collect();
    // Opaque code has a meaning in one world, conversions of floats to integers in the other.
    kinds.push(("whole_format", Knobs::whole_format(), true));
    kinds.push(("opaque", Knobs::opaque(), true));
    let mut trials = Vec::new();
    for (name, knobs, may_be_not_compared) in kinds {
        for (level_idx, level) in (0..).zip(book.strategies.keys()) {
            let (knobs, seeds, level) = (knobs.clone(), seeds.clone(), (level_idx, level.to_string()));
            let title = format!("{name}/{}", level.1);
            let trial = move || run(name, &knobs, seeds, &level, may_be_not_compared);
            trials.push(Trial::test(title, trial));
        }
    }
    trials.push(Trial::test("shrinking", shrinking));
    libtest_mimic::run(&arguments, trials).exit();
}

fn number(variable: &str, default: u64) -> u64 {
    let Ok(text) = std::env::var(variable) else { return default };
    text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}"))
}

/// All seeds; one small kernel for each kind of failure.
fn run(
    name: &str,
    knobs: &Knobs,
    seeds: std::ops::Range<u64>,
    (level_idx, level): &(u64, String),
    may_be_not_compared: bool,
) -> Result<(), Failed> {
    let mut found: BTreeMap<String, (u64, usize)> = BTreeMap::new();
    let mut report = String::new();
    for seed in seeds {
        let (float, traps) = Setting::semantics(seed + level_idx);
        // What no other licence keeps.
        let exceptional = if float == Licence::Strict { EXCEPTIONAL } else { 0 };
        let generated = generate_seed(seed, &Knobs { exceptional, ..knobs.clone() });
        let parameters = generated.parameters.clone();
        let cost = if seed % 2 == 0 { CostModel::Time } else { CostModel::Operations };
        let setting = Setting { level: level.clone(), float, traps, cost, parameters, may_be_not_compared };
        let program = with_probabilities(generated.program, seed);
        // A quarter of the kernels needs the second version of the format.
        let program = if seed % 4 == 3 { second_version(program, seed / 4) } else { program };
        let Err(failure) = check(&program, &setting) else { continue };
        let (_, times) = found.entry(failure.kind.clone()).or_insert((seed, 0));
        *times += 1;
        if *times > 1 {
            continue;
        }
        let max_trials = if failure.is_endless() { MAX_ENDLESS_TRIALS } else { MAX_TRIALS };
        let small = shrink(&program, max_trials, |candidate| {
            has_meaning(candidate, &setting.parameters)
                && check(candidate, &setting).is_err_and(|other| other.kind == failure.kind)
        });
        let message = check(&small, &setting).err().map_or(failure.message, |small| small.message);
        let kernel = format!(
            "# {name}, seed {seed}, {}: {}\n{}",
            setting.flags(),
            message.replace('\n', "\n# "),
            nestegg_dump::write_text(&small)
        );
        let _ = writeln!(report, "{kernel}");
        if let Ok(folder) = std::env::var("NESTEGG_PROP_SAVE") {
            std::fs::create_dir_all(&folder)?;
            std::fs::write(format!("{folder}/prop_{name}_{level}_{seed}.knl"), kernel)?;
        }
    }
    for (kind, (seed, times)) in &found {
        let _ = writeln!(report, "{times} times from seed {seed} on: {kind}");
    }
    if found.is_empty() { Ok(()) } else { Err(report.into()) }
}

/// Half of the kernels with conditions around instructions say how likely these are: always, never, or anything between.
fn with_probabilities(mut program: Program, seed: u64) -> Program {
    let text = nestegg_dump::write_text(&program);
    let conditions: BTreeSet<String> = text.lines().flat_map(conditions).map(str::to_owned).collect();
    if conditions.is_empty() || (seed / 6).is_multiple_of(2) {
        return program;
    }
    let stated = conditions.into_iter().zip(seed..).map(|(condition, number)| {
        let probability = [0.001, 0.0, 1.0, 0.9, 0.25][(number / 2 % 5) as usize];
        (condition, serde_json::Value::from(probability))
    });
    let meta = serde_json::json!({ "probabilities": stated.collect::<serde_json::Map<_, _>>() });
    let kernel = match &mut program {
        Program::Unordered(kernel) => kernel,
        Program::Linearized(linearized) => &mut linearized.kernel,
    };
    kernel.meta = Some(meta.to_string().into());
    program
}

/// The conditions in a line of text: of a branch, or predicates.
fn conditions(line: &str) -> impl Iterator<Item = &str> {
    let options = line.split_once(", if=").map_or("", |(_, options)| options.trim_end_matches('}'));
    let predicates = options.split_once(", inames=").map_or(options, |(predicates, _)| predicates);
    let branch = line.trim_start().strip_prefix("if ").into_iter();
    branch.chain(predicates.split(':').filter(|condition| !condition.is_empty()))
}

/// A planted failure ends as the one instruction that matters.
fn shrinking() -> Result<(), Failed> {
    let shows = |program: &nestegg_ir::Program| {
        has_meaning(program, &[]) && nestegg_dump::write_text(program).contains("sqrt(")
    };
    let knobs = Knobs { function: 40, parametric: 0, ..Knobs::everything() };
    let mut n_shrunk = 0;
    for seed in 0..40 {
        let program = generate_seed(seed, &knobs).program;
        if !shows(&program) {
            continue;
        }
        let small = shrink(&program, MAX_TRIALS, shows);
        let text = nestegg_dump::write_text(&small);
        if !shows(&small) || size(&small) > 8 {
            return Err(format!("seed {seed} is not small:\n{text}").into());
        }
        n_shrunk += 1;
    }
    if n_shrunk < 3 { Err(format!("only {n_shrunk} kernels show the planted failure").into()) } else { Ok(()) }
}

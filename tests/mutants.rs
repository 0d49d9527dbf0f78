//! Validation kills all mutants that are different: a small part of `nestegg-bench mutants`.
//!
//! There is a trial for each kind of kernel and level. It breaks the results for a few kernels in every way that
//! [`FAMILIES`](nestegg_testgen::mutate::FAMILIES) name, and counts those that some data tell from the result and validation calls equal.

use libtest_mimic::{Arguments, Failed, Trial};
use nestegg_bench::fixtures;
use nestegg_bench::mutation::Subject;
use nestegg_span::Source;
use nestegg_testgen::{Knobs, generate_seed};
use nestegg_tests::root;

/// Small fixtures of each kind.
const FIXTURES: [&str; 3] = ["tsfc/mass_tri_1", "tsfc/helmholtz_tri_1", "coffee/tsfc_helmholtz_2d_nf0_q1"];

/// The levels: the one that keeps kernels as they came, and the one that changes most without computing tables.
const LEVELS: [&str; 2] = ["O0", "O2"];

/// Random kernels of each kind.
const N_SEEDS: u64 = 3;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for level in LEVELS {
        for fixture in fixtures::fixtures(&root().join("fixtures")).expect("the fixtures are there") {
            if FIXTURES.contains(&fixture.full_name().as_str()) {
                trials.push(Trial::test(format!("{}/{level}", fixture.full_name()), move || {
                    let mut tally = Tally::default();
                    tally.add(&fixture.read()?, level, &[])?;
                    tally.judged()
                }));
            }
        }
        for (name, knobs) in Knobs::presets() {
            trials.push(Trial::test(format!("{name}/{level}"), move || {
                let mut tally = Tally::default();
                for seed in 0..N_SEEDS {
                    let generated = generate_seed(seed, &knobs);
                    let source =
                        Source::new(format!("{name}, seed {seed}"), nestegg_dump::write_text(&generated.program));
                    tally.add(&source, level, &generated.parameters)?;
                }
                tally.judged()
            }));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// What became of the mutants of some kernels.
#[derive(Default)]
struct Tally {
    n_different: usize,
    survivors: Vec<String>,
}

impl Tally {
    fn add(&mut self, source: &Source, level: &str, values: &[(String, i64)]) -> Result<(), Failed> {
        let subject = Subject::new(source, level, values)?;
        for mutant in subject.mutants(1, 0) {
            let trial = subject.trial(&mutant)?;
            self.n_different += usize::from(trial.is_different);
            if trial.is_different && !trial.is_killed {
                self.survivors.push(format!("{}: {}: {}", source.name, mutant.family, mutant.description));
            }
        }
        Ok(())
    }

    /// None of those that are different survives.
    fn judged(self) -> Result<(), Failed> {
        if self.n_different == 0 {
            return Err("no mutant is different".into());
        }
        if !self.survivors.is_empty() {
            let survivors = self.survivors.join("\n");
            return Err(format!("of {} that are different survive:\n{survivors}", self.n_different).into());
        }
        Ok(())
    }
}

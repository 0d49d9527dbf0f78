//! The judge of rules at work on whole runs: what it says of every built-in rule, and rules that would never end.
//!
//! # Method
//! `built-in` optimizes the kernels of `tests/optimize/` with every rule judged, guided ones too. `ends` runs rules that make values parts of
//! themselves, judged and unjudged.

use std::fs;
use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use nestegg_driver::config::{Config, Judged, Strategy, Validation};
use nestegg_driver::error::Error;
use nestegg_span::Source;
use nestegg_tests::{files, root};

/// Wrong rules after which a value is part of itself.
const SELF_REFERENCES: [(&str, &str); 4] =
    [("(- ?a ?b)", "0"), ("(* ?a ?b)", "(+ (* ?a ?b) 1)"), ("(+ ?a ?b)", "(* 2 (+ ?a ?b))"), ("(+ ?a ?b)", "?a")];

/// The kernel on which they run hangs where ranges do not end.
const ENDLESS: &str = "fixtures/tsfc/neohookean_jac_tri_1.json";

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for path in files(&root().join("tests/optimize"), &["knl"]) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        trials.push(Trial::test(format!("built-in/{name}"), move || built_in(&path)));
    }
    for (idx, &(left, right)) in SELF_REFERENCES.iter().enumerate() {
        trials.push(Trial::test(format!("ends/{idx} judged"), move || refused_at_once(left, right)));
        trials.push(Trial::test(format!("ends/{idx} unjudged"), move || {
            // Whatever comes of it: it comes.
            let _ = optimized(left, right, Judged::Nobody);
            Ok(())
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// A rule `trial` as the text of a file.
fn rule(left: &str, right: &str) -> String {
    format!(";; Rules of a trial.\n\n;; A rule.\n(rule trial {left} {right} :tag reassociate)\n")
}

/// Every rule of every level is right on a kernel.
fn built_in(path: &Path) -> Result<(), Failed> {
    let source = Source::new(path.display().to_string(), fs::read_to_string(path)?);
    for level in ["O1", "O3"] {
        let strategy = Strategy::Named(level.to_owned());
        let config =
            Config { strategy, judged: Judged::Everybody, validation: Validation::On, ..Config::of_operations() };
        if let Err(error @ Error::Unsound(_)) = nestegg_driver::optimize(&source, &config) {
            return Err(format!("{level}: {error}; {error:?}").into());
        }
    }
    Ok(())
}

/// A real kernel with a rule before those of O2.
fn optimized(left: &str, right: &str, judged: Judged) -> Result<nestegg_driver::Optimized, Error> {
    let text = fs::read_to_string(root().join(ENDLESS)).unwrap_or_default();
    let validation = if judged == Judged::Nobody { Validation::Off } else { Validation::On };
    let config = Config {
        strategy: Strategy::Named("O2".to_owned()),
        rules: vec![Source::new("trial.rules", rule(left, right))],
        judged,
        validation,
        ..Config::of_operations()
    };
    nestegg_driver::optimize(&Source::new(ENDLESS, text), &config)
}

fn refused_at_once(left: &str, right: &str) -> Result<(), Failed> {
    match optimized(left, right, Judged::Given) {
        Err(Error::Unsound(_)) => Ok(()),
        Err(error) => Err(format!("another error: {error}").into()),
        Ok(_) => Err(format!("{left} -> {right} passes").into()),
    }
}

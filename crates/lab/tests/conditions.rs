//! Each condition of each rule that comes with nestegg alone keeps the rule silent on some kernel of `rules/tests`.
//!
//! A rule is silent on its kernels `RULE-not-….knl`, which `nestegg rules test` asks. Here each of its conditions is left out in turn. On one of the
//! kernels what is left must hold where the whole condition does not: the rule then fires there, or matches and says nothing new.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_driver::explore::explore;
use nestegg_egraph::builtin;
use nestegg_egraph::pattern::PatternRule;
use nestegg_egraph::pattern::near::near;
use nestegg_lab::mutate::mutants;
use nestegg_lab::snapshot::Expected;
use nestegg_rules::{Rule, RuleKind};
use nestegg_span::Source;

/// What a rule without one of its conditions is called.
const NAME: &str = "without-a-condition";

/// The kernels on which a rule is silent.
fn kernels(rule: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules/tests");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_own = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap();
        name.starts_with(&format!("{rule}-not-")) && path.extension().is_some_and(|ending| ending == "knl")
    };
    let mut res: Vec<PathBuf> = paths.filter(is_own).collect();
    res.sort();
    res
}

/// Whether on a kernel nothing but the condition that `broken` lacks keeps a rule silent.
fn is_kept_silent(rule: &Rule, broken: &Rule, kernel: &Path) -> bool {
    let source = Source::new(kernel.display().to_string(), fs::read_to_string(kernel).unwrap());
    let expected = Expected::read(&source.text).unwrap();
    let text = Rule { name: NAME.into(), doc: "It.".to_owned(), ..broken.clone() }.to_string();
    let config = Config {
        strategy: Strategy::Named(expected.level.unwrap()),
        rules: vec![Source::new("broken.rules", format!(";; A rule that lacks a condition.\n\n{text}\n"))],
        float: expected.float,
        // What is wrong without its condition may fire all the same.
        validation: Validation::Off,
        ..Config::of_operations()
    };
    let RuleKind::Pattern { lhs, rhs, when, .. } = &rule.kind else { panic!("guided rules have no conditions") };
    let RuleKind::Pattern { when: left, .. } = &broken.kind else { panic!("{broken:?}") };
    explore(&source, &config, |explored| {
        let fires = explored.saturation.fired.get(NAME).is_some_and(|&n| n > 0);
        let direction = PatternRule { lhs, rhs, when: when.as_ref(), functions: explored.functions, is_forward: true };
        let is_alone = |tests: &[(String, bool)]| {
            let holds = |asked: &str| tests.iter().any(|(test, holds)| test == asked && *holds);
            left.as_ref().is_none_or(|left| left.holds(|test| holds(&test.to_string())))
        };
        fires || near(explored.graph, &direction).refused.iter().any(|refused| is_alone(&refused.tests))
    })
    .unwrap()
}

#[test]
fn each_condition_alone_keeps_its_rule_silent_somewhere() {
    let book = builtin::rule_book(&[]).unwrap();
    let (mut wrong, mut n_conditions) = (Vec::new(), 0);
    for rule in book.rules.values() {
        let (kernels, mut used) = (kernels(rule.name.as_str()), BTreeSet::new());
        for mutant in mutants(rule).into_iter().filter(|mutant| mutant.family == "condition-dropped") {
            n_conditions += 1;
            let silent: Vec<&PathBuf> =
                kernels.iter().filter(|kernel| is_kept_silent(rule, &mutant.rule, kernel)).collect();
            if silent.is_empty() {
                wrong.push(format!("no kernel shows what is left out in {}", mutant.text));
            }
            used.extend(silent);
        }
        let idle = kernels.iter().filter(|kernel| !used.contains(kernel));
        wrong.extend(
            idle.map(|kernel| format!("no condition alone keeps `{}` silent on {}", rule.name, kernel.display())),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(n_conditions > 30, "{n_conditions}");
}

//! What the check of rules must find, what it must let pass, and what it must not claim.

#![allow(clippy::unwrap_used)]

use nestegg_egraph::{builtin, vocabulary::vocabulary};
use nestegg_interp::{Inputs, RunOptions, Values, run};
use nestegg_lab::check::{CounterExample, Verdict, check, check_all};
use nestegg_lab::mutate::{Outcome, measure};
use nestegg_rules::{Rule, RuleBook};
use nestegg_span::Source;

/// Rules that are wrong, and what is wrong with each.
const UNSOUND: [(&str, &str); 25] = [
    ("(sqrt (* ?x ?x)) ?x :tag reassociate", "lacks `(nonnegative ?x)`"),
    ("(fabs ?x) ?x :tag exact", "lacks `(nonnegative ?x)`"),
    ("(fabs ?x) ?x :when (nonzero ?x) :tag exact", "has the wrong condition"),
    ("(* ?a (+ ?b ?c)) (+ (* ?a ?b) (* ?a ?c)) :tag exact", "has the wrong tag"),
    ("(+ ?x ?y ?_rest...) (+ ?x ?y) :tag reassociate", "forgets terms"),
    ("(// ?x 2) (/ ?x 2) :tag reassociate", "takes one operator for another"),
    ("(not (< ?x ?y)) (> ?x ?y) :tag exact", "forgets equality"),
    ("(if ?c ?a ?b) (if ?c ?b ?a) :tag exact", "swaps the branches"),
    ("(if (<= ?x ?y) ?a ?b) (if (< ?x ?y) ?a ?b) :tag exact", "is wrong at ties alone"),
    ("(if (< ?x 100000) ?a ?_b) ?a :tag exact", "is wrong for large numbers alone"),
    ("(min ?a 1000) ?a :tag exact", "is wrong for large numbers alone"),
    ("(+ (min ?a ?b) (max ?a ?b)) (- ?a ?b) :tag reassociate", "is plainly wrong"),
    ("(log (* ?a ?b)) (+ (log ?a) (log ?b)) :tag reassociate", "has no value where both are negative"),
    ("(log (* ?a ?a)) (* 2 (log ?a)) :tag finite-only", "takes the logarithm of a negative number"),
    ("(sum (?q...) (* ?a ?b)) (* ?a (sum (?q...) ?b)) :tag reassociate", "lets `?a` out"),
    ("(* ?a (sum (?q...) ?b)) (sum (?q...) (+ ?a ?b)) :tag reassociate", "adds where it multiplies"),
    ("(sum (?q...) ?a) (* (size ?q...) ?a) :tag reassociate", "lacks `(free-of ?a ?q...)`"),
    (
        "(sum (?q ?r...) (* (?a... free-of ?q) ?b...)) (sum (?q) (* ?a... (sum (?r...) (* ?b...)))) :when (some ?a...) :tag reassociate",
        "takes the inames the wrong way round",
    ),
    (
        "(min (?q...) (* (?a... free-of ?q...) ?b...)) (* ?a... (min (?q...) (* ?b...))) :tag reassociate",
        "forgets the sign",
    ),
    (
        "(max (?q...) (+ (?a... free-of ?q...) ?b...)) (+ ?a... (max (?q...) (+ ?b...))) :when (some ?a...) :tag reassociate",
        "is wrong for no integers",
    ),
    ("(* (sum (?q...) ?a) (sum (?q...) ?b)) (sum (?q...) (* ?a ?b)) :tag reassociate", "shares inames"),
    ("(sum (?q) ?t) 1 :when (table ?t) :tag reassociate", "asks for any table"),
    ("(erfc (- ?x)) (erfc ?x) :tag reassociate", "forgets that erfc is not even"),
    ("(* ?a ?b) (* ?a ?b 1.0000001) :tag reassociate", "is nearly right"),
    ("(+ ?a ?b) (+ ?a ?b 0.000000000000000000000000000001) :tag reassociate", "is wrong by less than floats show"),
];

/// Rules that are right.
const SOUND: [&str; 12] = [
    "(+ (* ?a ?c) (* ?b ?c) ?rest...) (+ (* (+ ?a ?b) ?c) ?rest...) :tag reassociate",
    "(sqrt (* ?x ?x)) (fabs ?x) :tag reassociate",
    "(* (sqrt ?a) (sqrt ?b)) (sqrt (* ?a ?b)) :tag reassociate",
    "(if (not ?c) ?a ?b) (if ?c ?b ?a) :tag exact",
    "(max ?a (- ?a)) (fabs ?a) :when (float ?a) :tag reassociate",
    "(sum (?q...) (+ ?a ?b)) (+ (sum (?q...) ?a) (sum (?q...) ?b)) :tag reassociate",
    "(sum (?q ?r...) ?a) (sum (?r...) (sum (?q) ?a)) :tag reassociate",
    "(min (?q...) (- ?a)) (- (max (?q...) ?a)) :when (float ?a) :tag reassociate",
    "(* (sum (?q...) ?a) (sum (?r...) ?b)) (sum (?q... ?r...) (* ?a ?b)) :tag reassociate",
    "(* (exp ?x) (exp ?y)) <-> (exp (+ ?x ?y)) :tag finite-only",
    "(* (?d... divisor) ?a...) (* ?a... (/ 1 (* (inverse ?d...)))) :when (and (some ?a...) (some ?d...)) :tag finite-only",
    "(erf (- ?x)) (- (erf ?x)) :tag exact",
];

/// Rules that nothing can be said of.
const SILENT: [&str; 3] = [
    "(+ ?x 0) ?x :tag exact",
    "(sqrt ?x) ?x :when (and (constant ?x) (not (constant ?x))) :tag exact",
    "(fabs (- (- ?x))) ?x :tag exact",
];

fn rule(text: &str) -> Rule {
    let file = Source::new("trial.rules", format!(";; Trials.\n\n;; A trial.\n(rule trial {text})\n"));
    let book = RuleBook::parse(&[file], &vocabulary()).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    book.rules.into_values().next().unwrap()
}

#[test]
fn wrong_rules_have_counter_examples() {
    let mut wrong = Vec::new();
    for (text, what) in UNSOUND {
        match check(&rule(text)).verdict {
            Verdict::Unsound(counter) => wrong.extend(unfit(&counter).map(|reason| format!("{text}: {reason}"))),
            other => wrong.push(format!("{text} {what}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a counter-example lacks: it is a kernel that can be read, and shows two values wherever floats do.
fn unfit(counter: &CounterExample) -> Option<String> {
    let read = match nestegg_dump::read_text(&Source::new("counter.knl", counter.kernel.as_str())) {
        Ok(read) => read,
        Err(error) => return Some(format!("{error:?}\n{}", counter.kernel)),
    };
    if counter.arithmetic != "floating point" {
        return None;
    }
    let inputs = Inputs::random(read.program.kernel(), &indexmap::IndexMap::new(), 0).unwrap();
    let outputs = match run(&read.program, &inputs, &RunOptions::default()) {
        Ok(outputs) => outputs,
        // Where the right side has no value it may not run.
        Err(_) if counter.right_value.starts_with("none") => return None,
        Err(error) => return Some(format!("{error}\n{}", counter.kernel)),
    };
    let bits = |name: &str| match &outputs.arrays[name].values {
        Values::Floats(values) => values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>(),
        Values::Ints(values) => values.iter().map(|&value| value as u64).collect(),
    };
    (bits("left") == bits("right")).then(|| format!("both sides are the same in\n{}", counter.kernel))
}

#[test]
fn right_rules_pass() {
    let verdict = |text: &&str| match check(&rule(text)).verdict {
        Verdict::Sound(_) => None,
        other => Some(format!("{text}: {other:?}")),
    };
    let wrong: Vec<String> = SOUND.iter().filter_map(verdict).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_never_fires_is_not_called_sound() {
    for text in SILENT {
        let verdict = check(&rule(text)).verdict;
        assert!(matches!(verdict, Verdict::NotChecked { .. }), "{text}: {verdict:?}");
    }
}

#[test]
fn all_built_in_rules_are_sound() {
    let book = builtin::rule_book(&[]).unwrap();
    let rules: Vec<&Rule> = book.rules.values().collect();
    for checked in check_all(&rules, |_| {}) {
        let Verdict::Sound(trials) = &checked.verdict else { panic!("{checked:?}") };
        assert!(trials.kernels >= 20 && trials.compared >= 20, "{checked:?}");
    }
}

/// Each of so many mutants is checked here; `nestegg-bench -- rule-mutants` checks all of them.
const STRIDE: usize = 5;

#[test]
fn mutants_die() {
    let book = builtin::rule_book(&[]).unwrap();
    let rules: Vec<&Rule> = book.rules.values().collect();
    let measured = measure(&rules, STRIDE, || {});
    assert!(measured.len() >= 100, "{} mutants", measured.len());
    let survivors: Vec<&str> = measured
        .iter()
        .filter(|(_, outcome)| *outcome == Outcome::Survived)
        .map(|(mutant, _)| mutant.text.as_str())
        .collect();
    assert!(survivors.is_empty(), "{}", survivors.join("\n"));
    let n_killed = measured.iter().filter(|(_, outcome)| *outcome == Outcome::Killed).count();
    assert!(n_killed * 10 >= measured.len() * 8, "{n_killed} of {} mutants are killed", measured.len());
}

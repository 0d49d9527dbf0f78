//! Rules that grow together are named, and no others.
#![allow(clippy::unwrap_used)]

use nestegg_egraph::builtin;
use nestegg_lab::growth::growing;
use nestegg_span::Source;

/// What is said of rules and strategies, which are given without documentation.
fn said(forms: &[&str]) -> Vec<String> {
    let text: Vec<String> = forms.iter().map(|form| format!(";; A form.\n{form}\n")).collect();
    let source = Source::new("trial.rules", format!(";; Rules of a trial.\n\n{}", text.join("\n")));
    let book =
        builtin::rule_book(std::slice::from_ref(&source)).unwrap_or_else(|errors| panic!("{forms:?}: {errors:?}"));
    growing(&book, |rule| rule.source == source).iter().map(ToString::to_string).collect()
}

const HALF: &str = "(rule half (cos ?x) (- 1 (* 2 (** (sin (/ ?x 2)) 2))))";
const TURN: &str = "(rule turn (** (sin ?x) 2) (- 1 (** (cos ?x) 2)))";
const INTO_ROOT: &str = "(rule into-root (fabs ?x) (sqrt (** (sin ?x) 2)))";

#[test]
fn no_rules_that_come_with_nestegg_grow_together() {
    let book = builtin::rule_book(&[]).unwrap();
    let all: Vec<String> = growing(&book, |_| true).iter().map(ToString::to_string).collect();
    assert!(all.is_empty(), "{all:?}");
}

#[test]
fn two_rules_of_a_file_that_grow_together_are_named() {
    let both = "rules `half` and `turn`: together they make more e-nodes in each pass, without end";
    assert_eq!(said(&[HALF, TURN]), [both]);
    assert_eq!(
        said(&["(rule beside (max ?x ?x) ?x)", HALF, TURN]),
        [both],
        "a rule that has no part in it is not named"
    );
    assert!(said(&[HALF]).is_empty() && said(&[TURN]).is_empty(), "each alone ends");
}

#[test]
fn a_rule_that_grows_with_those_of_its_phase_is_named_with_them() {
    let strategy = "(strategy mine :extends O1 (phase first :rules (into-root identities) :passes 4 :nodes 1000))";
    let said_of_both = said(&[INTO_ROOT, strategy]);
    assert_eq!(said_of_both.len(), 1, "{said_of_both:?}");
    assert!(
        said_of_both[0].contains("`into-root`") && said_of_both[0].contains("`sqrt-of-square`"),
        "{said_of_both:?}"
    );
    assert!(said(&[INTO_ROOT]).is_empty(), "in a phase of its own it ends");
}

#[test]
fn rules_that_lead_back_to_where_they_began_do_not_grow() {
    let there = "(rule there (sinh ?x) (/ (- (exp ?x) (exp (- ?x))) 2))";
    let back = "(rule back (exp ?x) (+ (cosh ?x) (sinh ?x)))";
    assert!(said(&[there, back]).is_empty());
    let over = "(rule over (* ?a (+ ?b ?c)) (+ (* ?a ?b) (* ?a ?c)))";
    let out = "(rule out (+ (* ?a ?b) (* ?a ?c)) (* ?a (+ ?b ?c)))";
    assert!(said(&[over, out]).is_empty());
    assert!(said(&["(rule even (cos ?x) (cos (- ?x)))", "(rule odd (sin ?x) (- (sin (- ?x))))"]).is_empty());
}

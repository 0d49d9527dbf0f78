//! Warnings about rules: none for the built-in ones, and one of each kind.

use nestegg_egraph::builtin;
use nestegg_egraph::lint::lint;
use nestegg_span::Source;

/// The warnings about rules, which are `(rule …)` without documentation.
fn warnings(rules: &[&str]) -> Vec<String> {
    let text: Vec<String> = rules.iter().map(|rule| format!(";; A rule.\n{rule}\n")).collect();
    let source = Source::new("trial.rules", format!(";; Rules of a trial.\n\n{}", text.join("\n")));
    let book =
        builtin::rule_book(std::slice::from_ref(&source)).unwrap_or_else(|errors| panic!("{rules:?}: {errors:?}"));
    lint(&book, |rule| rule.source == source).iter().map(ToString::to_string).collect()
}

#[test]
fn built_in_rules_have_none() {
    let book = builtin::rule_book(&[]).unwrap();
    let all: Vec<String> = lint(&book, |_| true).iter().map(ToString::to_string).collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn unused_variables_are_named() {
    let all = warnings(&["(rule trial (if ?c ?x ?y) ?x)"]);
    assert_eq!(all, ["rule `trial`: nothing uses `?c`", "rule `trial`: nothing uses `?y`"]);
    assert!(warnings(&["(rule trial (if ?_c ?x ?_y) ?x)"]).is_empty());
}

#[test]
fn left_sides_that_the_normal_form_hides_are_named() {
    for hidden in [
        "(+ ?x 0)",
        "(* ?x 1)",
        "(* ?x 0)",
        "(- ?x ?x)",
        "(/ ?x ?x)",
        "(- (- ?x))",
        "(** ?x 1)",
        "(min ?x ?x)",
        "(* ?x (** ?x 2))",
        "(+ ?x (* 2 ?x))",
        "(+ 1 2)",
    ] {
        let all = warnings(&[&format!("(rule trial (exp {hidden}) (cos {hidden}))")]);
        assert!(all.iter().any(|warning| warning.contains("never stands in an e-graph")), "{hidden}: {all:?}");
    }
    assert!(warnings(&["(rule trial (cbrt (* ?x ?x)) (fabs ?x))"]).is_empty());
}

#[test]
fn values_that_are_captured_or_escape_are_named() {
    let all = warnings(&["(rule trial (* ?a (sum (?q...) ?b)) (sum (?q...) (* ?a ?b)))"]);
    assert_eq!(all, ["rule `trial`: `?a` goes into a reduction over `?q`, and may depend on it"]);
    let all = warnings(&["(rule trial (sum (?q...) (* ?a ?b)) (* ?a (sum (?q...) ?b)))"]);
    assert_eq!(all, ["rule `trial`: `?a` leaves a reduction over `?q`, and may depend on it"]);
    let free = "(rule trial (sum (?q...) (* ?a ?b)) (* ?a (sum (?q...) ?b)) :when (free-of ?a ?q...))";
    assert!(warnings(&[free]).is_empty());
}

#[test]
fn rules_in_the_shadow_of_others_are_named() {
    let all = warnings(&["(rule one (tan (- ?x)) (- (tan ?x)))", "(rule two (tan (- (sin ?x))) (- (tan (sin ?x))))"]);
    assert_eq!(all, ["rule `two`: `one` gives the same forms wherever this rule applies"]);
}

#[test]
fn rules_that_grow_without_bound_are_named() {
    let halves = "(rule trial (exp ?x) (* (exp (/ ?x 2)) (exp (/ ?x 2))))";
    let grows = "rule `trial`: it applies to `(exp (/ ?x 2))`, which it makes itself, and `?x` grows each time";
    assert_eq!(warnings(&[halves]), [grows]);
    let around = "(rule trial (pow ?x ?y) (pow ?y (* 2 ?x)))";
    assert!(warnings(&[around])[0].contains("`?y` grows each time"), "by way of another variable");
    for ends in [
        "(rule trial (tan (tan ?x)) (tan ?x))",
        "(rule trial (exp ?x) (* (exp (/ ?x 2)) (exp (/ ?x 2))) :when (> ?x 1000))",
        "(rule trial (atan2 ?x ?y) (atan2 ?y ?x))",
        "(rule trial (cos ?x) (cos (- ?x)))",
        "(rule trial (log ?x) (- (log (/ 1 ?x))))",
        "(rule trial (pow ?x ?y) (pow ?x (* 2 3)) :when (== ?y 6))",
    ] {
        assert!(warnings(&[ends]).is_empty(), "{ends}: {:?}", warnings(&[ends]));
    }
}

//! Rules are found again.

#![allow(clippy::unwrap_used)]

use nestegg_driver::rules::rule_book;
use nestegg_lab::infer::{Inferred, InferredRule, Status, THEMES, Theme, infer};
use nestegg_rules::Rule;

fn found(names: &[&str]) -> Vec<Inferred> {
    let book = rule_book(&[]).unwrap();
    let known: Vec<&Rule> = book.rules.values().collect();
    let themes: Vec<&Theme> = names.iter().filter_map(|name| THEMES.iter().find(|theme| theme.name == *name)).collect();
    assert_eq!(themes.len(), names.len());
    infer(&themes, &known, |_| ())
}

fn of_equation<'a>(found: &'a [Inferred], equation: &str) -> &'a InferredRule {
    let mut rules = found.iter().flat_map(|found| &found.rules);
    rules.find(|rule| rule.equation == equation).unwrap_or_else(|| panic!("no rule says {equation}"))
}

#[test]
fn sums_and_products() {
    let found = found(&["algebra", "quotients"]);
    assert!(found.iter().all(|found| found.limits.is_empty()));
    let known = |name: &str| Status::Known(vec![name.to_owned()]);
    assert_eq!(of_equation(&found, "a*(b*c) == a*b*c").status, known("flatten-product"));
    assert_eq!(of_equation(&found, "(a + (b + c)) == (a + b + c)").status, known("flatten-sum"));
    // A solver has it, not a pattern rule.
    let distributed = of_equation(&found, "(a*b + a*c) == a*(b + c)");
    assert_eq!(distributed.status, Status::Implied);
    let form = "(rule algebra-5\n  (+ (* ?a ?b...) (* ?a ?c...) ?rest...)\n  (+ (* ?a (+ (* ?b...) (* ?c...))) ?rest...)\n  :when (and (some ?b...) (some ?c...))\n  :tag reassociate)\n";
    assert_eq!(distributed.text.split_once('\n').unwrap().1, form, "as general as the language can say it");
    // What the first theme says is not said again.
    let rules: Vec<&str> = found[1].rules.iter().map(|rule| rule.equation.as_str()).collect();
    assert!(!rules.contains(&"a*(b*c) == a*b*c"), "{rules:?}");
}

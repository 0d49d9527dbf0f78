//! The reference of the rule language is of this program: its examples use the operators, conditions, guided rules, tags and options that there are, and its text
//! names them all.

#![allow(missing_docs, clippy::unwrap_used)]

use nestegg_egraph::vocabulary::vocabulary;
use nestegg_rules::RuleBook;
use nestegg_span::Source;

const README: &str = include_str!("../../../rules/README.md");

#[test]
fn the_examples_of_the_reference_are_correct() {
    let examples = README.split("```lisp\n").skip(1).filter_map(|block| block.split("```").next());
    let files = [Source::new("<README>", examples.collect::<Vec<_>>().join("\n"))];
    let book = RuleBook::parse(&files, &vocabulary()).unwrap_or_else(|errors| panic!("{:#?}", errors.errors));
    assert_eq!(book.rules.len(), 7);
    let mine = book.resolve("mine").expect("shown in the reference");
    let rules: Vec<(&str, usize)> = mine.phases.iter().map(|phase| (phase.name.as_str(), phase.rules.len())).collect();
    assert_eq!(rules, [("hoist", 1), ("again", 1)]);
}

#[test]
fn the_reference_names_every_condition_tag_and_option() {
    let words = vocabulary();
    let names = words.conditions.keys().chain(words.tags.keys()).chain(words.options.keys());
    let missing: Vec<&str> =
        names.map(|name| name.as_str()).filter(|name| !README.contains(&format!("`{name}"))).collect();
    assert!(missing.is_empty(), "the reference does not name {missing:?}");
}

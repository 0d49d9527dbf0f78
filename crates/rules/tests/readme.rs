//! The reference of the language shows rule files that are correct.

mod common;

use nestegg_rules::RuleBook;
use nestegg_span::Source;

const README: &str = include_str!("../../../rules/README.md");

#[test]
fn the_examples_of_the_reference_are_correct() {
    let examples = README.split("```lisp\n").skip(1).filter_map(|block| block.split("```").next());
    let files = [Source::new("<README>", examples.collect::<Vec<_>>().join("\n"))];
    let book = RuleBook::parse(&files, &common::vocabulary()).unwrap_or_else(|_| panic!("{}", common::report(&files)));
    assert_eq!(book.rules.len(), 4);
    let mine = book.resolve("mine").expect("shown in the reference");
    let rules: Vec<(&str, usize)> = mine.phases.iter().map(|phase| (phase.name.as_str(), phase.rules.len())).collect();
    assert_eq!(rules, [("hoist", 1), ("again", 1)]);
}

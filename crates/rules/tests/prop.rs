//! Arbitrary text: reading never panics, and what is read prints and reads the same.

mod common;

use nestegg_rules::RuleBook;
use nestegg_span::Source;
use proptest::prelude::*;

const WORDS: [&str; 44] = [
    "(",
    "(",
    "(",
    ")",
    ")",
    ")",
    "\n(",
    "\n(rule",
    "\n(strategy",
    "\n;; Doc.\n",
    " ; ",
    "rule",
    "guided",
    "ruleset",
    "strategy",
    "phase",
    "without",
    "?x",
    "?y",
    "?xs...",
    "?",
    "1",
    "-1/2",
    "1/0",
    "0.25",
    "+",
    "*",
    "sqrt",
    "pi",
    ":when",
    ":apply",
    ":limit",
    ":tag",
    ":off",
    ":rules",
    ":extends",
    ":passes",
    ":nodes",
    ":option",
    "nonzero",
    "and",
    "not",
    "a",
    "O1",
];

/// Reads `text` as two files. Whatever is accepted prints and reads the same.
fn read(text: &str) {
    let (first, second) = text.split_at(boundary(text, text.len() / 2));
    for files in
        [vec![Source::new("a.rules", text)], vec![Source::new("a.rules", first), Source::new("b.rules", second)]]
    {
        match RuleBook::parse(&files, &common::vocabulary()) {
            Ok(book) => {
                for strategy in book.strategies.keys() {
                    assert!(book.resolve(strategy).is_ok());
                }
            }
            Err(errors) => {
                assert!(!errors.errors.is_empty());
                // Every label lies in its file.
                common::report(&files);
            }
        }
    }
}

/// The last place at or before `at` where `text` can be cut.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// A correct pattern as text, over the variables `?x`, `?y` and `?z`.
fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["?x", "?y", "?z", "(pi)"]).prop_map(str::to_owned),
        (-99i32..99, 1u32..9).prop_map(|(above, below)| format!("{above}/{below}")),
        (-99i32..99, 0u32..1000).prop_map(|(whole, fraction)| format!("{whole}.{fraction}")),
    ];
    leaf.prop_recursive(8, 40, 4, |inner| {
        let nary = prop::sample::select(vec!["+", "*", "min"]);
        prop_oneof![
            (nary, prop::collection::vec(inner.clone(), 2..5))
                .prop_map(|(operator, children)| format!("({operator} {})", children.join("\n"))),
            inner.clone().prop_map(|child| format!("( sqrt {child})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("(/ {a}  {b} )")),
        ]
    })
}

/// A correct condition as text, over the same variables.
fn condition() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["(nonzero ?x)", "(below ?y -1/3)", "(dtype ?z int)", "(disjoint ?x ?y ?z)"]);
    leaf.prop_map(str::to_owned).prop_recursive(6, 20, 3, |inner| {
        prop_oneof![
            (prop::sample::select(vec!["and", "or"]), prop::collection::vec(inner.clone(), 1..4))
                .prop_map(|(head, parts)| format!("({head} {})", parts.join(" "))),
            inner.prop_map(|part| format!("(not {part})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in ".{0,200}") {
        read(&text);
    }

    #[test]
    fn any_words_are_read(words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..80)) {
        read(&words.join(" "));
    }

    #[test]
    fn any_change_to_a_correct_file_is_read(
        at in 0usize..1000,
        n_removed in 0usize..12,
        inserted in prop::sample::select(&WORDS[..]),
    ) {
        let mut text = CORRECT.to_owned();
        let at = boundary(&text, at % text.len());
        let end = boundary(&text, (at + n_removed).min(text.len()));
        text.replace_range(at..end, inserted);
        read(&text);
    }

    #[test]
    fn patterns_and_conditions_print_as_they_read(rhs in pattern(), when in condition()) {
        let text = format!(";; Doc.\n(rule a (* ?x ?y ?z 7) {rhs} :when {when})");
        let read = |text: &str| RuleBook::parse(&[Source::new("t", text)], &common::vocabulary());
        let first = read(&text).map_err(|errors| TestCaseError::fail(format!("{errors}: {text}")))?;
        let printed = first.rules["a"].to_string();
        let second = read(&printed).map_err(|errors| TestCaseError::fail(format!("{errors}: {printed}")))?;
        prop_assert_eq!(&first.rules["a"].kind, &second.rules["a"].kind);
        prop_assert_eq!(printed, second.rules["a"].to_string());
    }
}

const CORRECT: &str = "\
;; Header.

;; x * 1 == x.
(rule mul-one (* ?x 1 ?xs...) (* ?x ?xs...) :when (and (nonzero ?x) (not (empty ?xs...))) :tag reassociate)
;; Groups.
(guided group :apply group-product :limit (sets 3) :tag (finite-only))
;; Both.
(ruleset both mul-one group)
;; Nothing.
(strategy O0)
;; Something.
(strategy O1 :extends O0 :option (selection greedy)
  (phase p :rules (both) :passes 1 :nodes 10)
  (phase q :rules (both) :off (group) :passes 1 :nodes 10))
;; Less.
(strategy mine :extends O1 :off (mul-one) (without p))
";

//! What correct rule files say.

mod common;

use expect_test::{Expect, expect};
use nestegg_rules::{OptionValue, Rule, RuleBook, RuleKind};
use nestegg_span::Source;

const ALGEBRA: &str = "\
;; Ring identities on scalar expressions.
;; Exact, unless tagged.

;; x * 1 == x.
(rule mul-one (* ?x 1 ?xs...) (* ?x ?xs...))

;; a*c + b*c == (a + b)*c.
;;
;; Fewer multiplies: it cannot run away.
(rule factor-right
  (+ (* ?a ?c ?u...) (* ?b ?c ?v...))          ; two terms
  (* ?c (+ (* ?a ?u...) (* ?b ?v...)))
  :when (and (nonzero ?c) (not (constant ?a)) (or (empty ?u...) (below ?b 0.5)))
  :tag reassociate :tag (finite-only))

;; sqrt(pi) ** -1 == 1/3, which is not true.
(rule thirds (/ 1 (sqrt (pi))) 1/3)
";

const HOISTING: &str = "\
; Code motion.
;
; Groups factors by iname sets.
(guided group-product :apply group-product :limit (sets 32) :tag reassociate)
; Pulls invariant factors out.
(guided pull-invariant :apply pull-invariant)
; All code motion.
(ruleset licm hoisting mul-one)
";

const STRATEGIES: &str = "\
;; As it came.
(strategy O0)

;; Code motion.
(strategy O1 :extends O0 :option (selection local-search) :option (seeds split rolled)
  ;; Comments are allowed here.
  (phase fold  :rules (algebra) :passes 4 :nodes 200000)
  (phase hoist :rules (licm mul-one) :off (pull-invariant) :passes 3 :nodes 100000))
";

const MINE: &str = "\
;; O1 without folding, but for my own rule.
(strategy mine :extends O1 :option (moves 7) :off (mul-one)
  (without fold)
  (phase again :rules (mine algebra) :passes 1 :nodes 5))
;; x + 0 == x.
(rule add-zero (+ ?x 0) ?x)
";

fn book() -> RuleBook {
    let files = [
        Source::new("rules/algebra.rules", ALGEBRA),
        Source::new("rules/hoisting.rules", HOISTING),
        Source::new("rules/strategies.rules", STRATEGIES),
        Source::new("C:\\mine.rules", MINE),
    ];
    RuleBook::parse(&files, &common::vocabulary()).unwrap_or_else(|_| panic!("{}", common::report(&files)))
}

fn check_strategy(name: &str, expected: Expect) {
    let book = book();
    let strategy = book.resolve(name).expect("known");
    let mut out = format!("{}: {}\n", strategy.name, strategy.doc);
    for phase in &strategy.phases {
        let rules: Vec<&str> = phase.rules.iter().map(|rule| rule.name.as_str()).collect();
        out += &format!("  {}: {} ({} passes, {} nodes)\n", phase.name, rules.join(" "), phase.passes, phase.nodes);
    }
    for (option, value) in &strategy.options {
        out += &format!("  {option} = {value}\n");
    }
    expected.assert_eq(&out);
}

#[test]
fn files_and_their_documentation() {
    let book = book();
    let docs: Vec<&str> = book.files.iter().map(|file| file.doc.as_str()).collect();
    assert_eq!(docs, ["Ring identities on scalar expressions.\nExact, unless tagged.", "Code motion.", "", ""]);
    let sets: Vec<(&str, bool)> = book.sets.values().map(|set| (set.name.as_str(), set.is_file())).collect();
    assert_eq!(sets, [("algebra", true), ("licm", false), ("hoisting", true), ("mine", true)]);
    assert_eq!(book.sets["algebra"].doc, book.files[0].doc);
}

#[test]
fn rules_keep_their_places() {
    let book = book();
    let rule = &book.rules["mul-one"];
    assert_eq!(rule.source.slice(rule.span), "(rule mul-one (* ?x 1 ?xs...) (* ?x ?xs...))");
    let RuleKind::Pattern { lhs, .. } = &rule.kind else { panic!("a pattern rule") };
    let spans: Vec<&str> = lhs.nodes().map(|(id, _)| rule.source.slice(lhs.span(id))).collect();
    assert_eq!(spans, ["?x", "1", "?xs...", "(* ?x 1 ?xs...)"]);
}

#[test]
fn sets_stand_for_their_rules() {
    let book = book();
    let names = |name| book.rules_of(name).iter().map(|rule| rule.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names("licm"), ["group-product", "pull-invariant", "mul-one"]);
    assert_eq!(names("mul-one"), ["mul-one"]);
    assert_eq!(names("O1"), [""; 0]);
}

#[test]
fn strategies_without_phases() {
    check_strategy(
        "O0",
        expect![[r#"
        O0: As it came.
          selection = greedy
          seeds = rolled
          moves = 100
          tolerance = 0
    "#]],
    );
}

#[test]
fn strategies_extend_others() {
    check_strategy(
        "O1",
        expect![[r#"
        O1: Code motion.
          fold: mul-one factor-right thirds (4 passes, 200000 nodes)
          hoist: group-product mul-one (3 passes, 100000 nodes)
          selection = local-search
          seeds = split rolled
          moves = 100
          tolerance = 0
    "#]],
    );
    check_strategy(
        "mine",
        expect![[r#"
        mine: O1 without folding, but for my own rule.
          hoist: group-product (3 passes, 100000 nodes)
          again: add-zero factor-right thirds (1 passes, 5 nodes)
          selection = local-search
          seeds = split rolled
          moves = 7
          tolerance = 0
    "#]],
    );
}

#[test]
fn unknown_strategies_are_refused() {
    let book = book();
    let error = book.resolve("O7").expect_err("unknown");
    assert_eq!(error.to_string(), "no strategy is called `O7`");
    assert_eq!(miette::Diagnostic::help(&error).map(|help| help.to_string()).as_deref(), Some("did you mean `O0`?"));
}

#[test]
fn what_is_printed_reads_the_same() {
    let first = book();
    let expected = expect![[r#"
        ;; x * 1 == x.
        (rule mul-one (* ?x 1 ?xs...) (* ?x ?xs...))

        ;; a*c + b*c == (a + b)*c.
        ;;
        ;; Fewer multiplies: it cannot run away.
        (rule factor-right (+ (* ?a ?c ?u...) (* ?b ?c ?v...)) (* ?c (+ (* ?a ?u...) (* ?b ?v...))) :when (and (nonzero ?c) (not (constant ?a)) (or (empty ?u...) (below ?b 1/2))) :tag reassociate :tag finite-only)

        ;; sqrt(pi) ** -1 == 1/3, which is not true.
        (rule thirds (/ 1 (sqrt (pi))) 1/3)

        ;; Groups factors by iname sets.
        (guided group-product :apply group-product :limit (sets 32) :limit (depth 2) :tag reassociate)

        ;; Pulls invariant factors out.
        (guided pull-invariant :apply pull-invariant)

        ;; x + 0 == x.
        (rule add-zero (+ ?x 0) ?x)

        ;; Ring identities on scalar expressions.
        ;; Exact, unless tagged.
        (ruleset algebra mul-one factor-right thirds)

        ;; All code motion.
        (ruleset licm hoisting mul-one)

        ;; Code motion.
        (ruleset hoisting group-product pull-invariant)

        ;; Of a file.
        (ruleset mine add-zero)

        ;; As it came.
        (strategy O0)

        ;; Code motion.
        (strategy O1 :extends O0 :option (selection local-search) :option (seeds split rolled)
          (phase fold :rules (algebra) :passes 4 :nodes 200000)
          (phase hoist :rules (licm mul-one) :passes 3 :nodes 100000 :off (pull-invariant)))

        ;; O1 without folding, but for my own rule.
        (strategy mine :extends O1 :option (moves 7) :off (mul-one)
          (without fold)
          (phase again :rules (mine algebra) :passes 1 :nodes 5))

    "#]];
    let text = print(&first);
    expected.assert_eq(&text);
    let files = [Source::new("printed.rules", text.as_str()), Source::new("algebra.rules", "")];
    let second =
        RuleBook::parse(&files, &common::vocabulary()).unwrap_or_else(|_| panic!("{}", common::report(&files)));
    assert_eq!(print(&second), text);
    let content = |rule: &Rule| (rule.name.clone(), rule.doc.clone(), rule.kind.clone(), rule.tags.clone());
    assert!(first.rules.values().map(content).eq(second.rules.values().map(content)));
}

/// All rules, all sets, those of the files as if they were written, and all strategies.
fn print(book: &RuleBook) -> String {
    let rules = book.rules.values().map(|rule| format!("{rule}\n\n"));
    let sets = book.sets.values().filter(|set| *set.name != *"printed").map(|set| {
        let doc = if set.doc.is_empty() { ";; Of a file.\n" } else { "" };
        format!("{doc}{set}\n\n")
    });
    let strategies = book.strategies.values().map(|strategy| format!("{strategy}\n\n"));
    rules.chain(sets).chain(strategies).collect()
}

#[test]
fn options_have_defaults() {
    let book = book();
    assert_eq!(book.resolve("O0").expect("known").options["selection"], OptionValue::word("greedy"));
}

#[test]
fn a_rule_may_have_the_name_of_its_file() {
    let file = Source::new("div-one.rules", ";; x / 1 == x.\n(rule div-one (/ ?x 1) ?x)");
    let book = RuleBook::parse(&[file], &common::vocabulary()).expect("correct");
    assert!(book.sets.is_empty());
    assert_eq!(book.rules_of("div-one").len(), 1);
}

#[test]
fn several_rest_variables_on_the_right() {
    let file =
        Source::new("<stdin>", ";; (a + u) + v == a + u + v.\n(rule flat (+ (+ ?a ?u...) ?v...) (+ ?a ?u... ?v...))");
    let book = RuleBook::parse(&[file], &common::vocabulary()).expect("correct");
    assert!(book.sets.is_empty(), "`<stdin>` is no name for a set");
    assert_eq!(book.rules.len(), 1);
}

#[test]
fn vocabularies_print_as_a_reference() {
    expect![[r#"
        Operators:
          + (at least 2 children): Sum.
          * (at least 2 children): Product.
          min (at least 2 children): The least.
          - (2 children): Difference.
          / (2 children): Quotient.
          sqrt (1 child): Square root.
          pi (no children): The ratio of a circle's circumference to its diameter.

        Reductions, `(sum (?q...) ?x)`:
          sum: Sum over inames.

        Functions of rest variables on right sides, besides `(each ?xs... pattern)`:
          open: Operands of operands.

        Conditions (arguments), besides and, or, not:
          free-of (a variable for values or inames; a variable for values or inames; a variable for values or inames, repeated): No common inames.
          known-size (a variable for inames): The number of points is known.
          less (a variable, a number or `(size ?q...)`; a variable, a number or `(size ?q...)`): Less.
          nonzero (a variable): Never zero.
          constant (a variable): Known.
          below (a variable; a number): Less than a number.
          empty (a rest variable): No children are left.
          dtype (a variable; one of `float`, `int`): Has the type.
          disjoint (a variable or rest variable; a variable or rest variable, repeated): No common inames.

        Appliers of guided rules:
          group-product: Groups factors.
            :limit (sets 64)  from 1 to 1000
            :limit (depth 2)  from 0 to 6
          pull-invariant: Pulls factors out of reductions.

        Tags:
          reassociate: Changes rounding.
          finite-only: Not for infinities.

        Options of strategies:
          :option (selection greedy)  one of `greedy`, `local-search`: The extractor.
          :option (seeds rolled)  some of `rolled`, `split`: Seeds.
          :option (moves 100)  a whole number from 0 to 1000: Moves of the search.
          :option (tolerance 0)  a number: Of tables.
    "#]]
    .assert_eq(&common::vocabulary().to_string());
}

#[test]
fn large_files_are_read_in_linear_time() {
    let mut text: String =
        (0..20_000).map(|i| format!(";; x * {i} == {i} * x.\n(rule r{i} (* ?x {i}) (* {i} ?x))\n")).collect();
    let mut sets: String = (1..5_000).map(|i| format!(";; Nested.\n(ruleset s{i} s{} r{i})\n", i - 1)).collect();
    sets += ";; Innermost.\n(ruleset s0 r0)\n";
    text += &sets;
    let book = RuleBook::parse(&[Source::new("<stdin>", text)], &common::vocabulary()).expect("correct");
    assert_eq!(book.rules_of("s4999").len(), 5_000);
}

#[test]
fn reductions_print_as_they_are_read() {
    let forms = [
        "(rule pull (sum (?q ?r...) (* (?a... free-of ?q) ?b...)) (* ?a... (sum (?q ?r...) (* ?b...))) :when (known-size ?q))",
        "(rule split (sum (?q...) (+ ?a... ?x)) (+ (each ?a... (sum (?q...) ?a)) (* (size ?q...) ?x)) :when (less (size ?q...) 8))",
        "(rule both (sum (?q...) (+ ?a ?b)) <-> (+ (sum (?q...) ?a) (sum (?q...) ?b)))",
        "(rule flat (+ (?a... nonzero) ?_b...) (+ (open ?a...)))",
    ];
    for form in forms {
        let text = format!(";; Rules.\n\n;; Doc.\n{form}\n");
        let book = RuleBook::parse(&[nestegg_span::Source::new("t.rules", text)], &common::vocabulary());
        let book = book.unwrap_or_else(|errors| panic!("{form}: {errors:?}"));
        let printed = book.rules.values().next().map(ToString::to_string);
        assert_eq!(printed.as_deref(), Some(format!(";; Doc.\n{form}").as_str()));
    }
}

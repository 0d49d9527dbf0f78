//! Every error of rule files: its code, its place, its wording.

mod common;

use expect_test::{Expect, expect};
use nestegg_span::Source;

/// Compares the report of one file of these forms, each of which is documented.
fn check(forms: &[&str], expected: Expect) {
    let text: String = forms.iter().map(|form| format!(";; Doc.\n{form}\n")).collect();
    check_text(&text, expected);
}

fn check_text(text: &str, expected: Expect) {
    expected.assert_eq(&common::report(&[Source::new("t.rules", text)]));
}

fn check_files(files: &[(&str, &str)], expected: Expect) {
    let sources: Vec<Source> = files.iter().map(|(name, text)| Source::new(*name, *text)).collect();
    expected.assert_eq(&common::report(&sources));
}

#[test]
fn unclosed_list() {
    check_text(
        ";; A.\n(rule a (* ?x 1\n\n;; B.\n(rule b (* ?x 1) ?x)\n",
        expect![[r#"
        rules::unclosed_list t.rules:2:9
          this list is not closed
          2:9 "(": opened here
          5:1 "(": still open here
          help: add the missing `)`
    "#]],
    );
    check_text(
        ";; A.\n(rule a (* ?x 1",
        expect![[r#"
        rules::unclosed_list t.rules:2:9
          this list is not closed
          2:9 "(": opened here
          help: add the missing `)`
    "#]],
    );
}

#[test]
fn unopened_list() {
    check(
        &["(rule a (* ?x 1) ?x))"],
        expect![[r#"
        rules::unopened_list t.rules:2:21
          this parenthesis closes nothing
          2:21 ")": no list is open here
          help: remove it, or open a list before it
    "#]],
    );
}

#[test]
fn too_deep() {
    let deep = format!("(rule a {}?x{} ?x)", "(sqrt ".repeat(64), ")".repeat(64));
    let expected = expect![[r#"
        rules::too_deep t.rules:2:387
          lists nest deeper than 64
          2:387 "(": this list is too deep
          help: split the rule into several smaller ones
    "#]];
    let report = common::report(&[Source::new("t.rules", format!(";; Doc.\n{deep}"))]);
    expected.assert_eq(&report);
}

#[test]
fn long_atom() {
    let report = common::report(&[Source::new("t.rules", format!(";; Doc.\n(rule a (* ?x {}) ?x)", "1".repeat(401)))]);
    assert!(
        report.starts_with("rules::long_atom t.rules:2:15\n  a word or number is longer than 400 bytes\n"),
        "{report}"
    );
}

#[test]
fn bad_number() {
    check(
        &["(rule a (* ?x 1e3) (* ?x 1/0))"],
        expect![[r#"
        rules::bad_number t.rules:2:15
          `1e3` is not a number
          2:15 "1e3": not a number
          help: write an integer `-2`, a decimal fraction `0.5` or a ratio `1/3`, without exponent
        rules::bad_number t.rules:2:26
          `1/0` is not a number
          2:26 "1/0": not a number
          help: write an integer `-2`, a decimal fraction `0.5` or a ratio `1/3`, without exponent
    "#]],
    );
}

#[test]
fn bad_variable() {
    check(
        &["(rule a (* ? 1) ?1)"],
        expect![[r#"
        rules::bad_variable t.rules:2:12
          `?` is not a variable
          2:12 "?": not a variable
          help: write `?x` for one expression, `?xs...` for the rest of a list; a name is a letter, then letters, digits, `-`, `_`
        rules::bad_variable t.rules:2:17
          `?1` is not a variable
          2:17 "?1": not a variable
          help: write `?x` for one expression, `?xs...` for the rest of a list; a name is a letter, then letters, digits, `-`, `_`
    "#]],
    );
}

#[test]
fn outside_form() {
    check_text(
        "words",
        expect![[r#"
        rules::outside_form t.rules:1:1
          a rule file holds forms in parentheses only
          1:1 "words": outside of every form
          help: begin comments with `;`
    "#]],
    );
}

#[test]
fn unknown_form() {
    check(
        &["(rul a (* ?x 1) ?x)", "()", "(3)"],
        expect![[r#"
        rules::unknown_form t.rules:2:2
          a form cannot begin with `rul`
          2:2 "rul": not a form
          help: did you mean `rule`?
        rules::unknown_form t.rules:4:1
          a form cannot begin with nothing
          4:1 "()": not a form
          help: known forms: `rule`, `guided`, `ruleset`, `strategy`
        rules::unknown_form t.rules:6:2
          a form cannot begin with the number `3`
          6:2 "3": not a form
          help: known forms: `rule`, `guided`, `ruleset`, `strategy`
    "#]],
    );
}

#[test]
fn bad_name() {
    check(
        &["(rule a+b (* ?x 1) ?x)", "(strategy 3)", "(strategy s :extends +)"],
        expect![[r#"
        rules::bad_name t.rules:2:7
          `a+b` cannot name a rule
          2:7 "a+b": not a name
          help: a name is a letter, then letters, digits, `-` and `_`
        rules::unexpected t.rules:4:11
          expected the name of a strategy, found the number `3`
          4:11 "3": expected the name of a strategy
        rules::bad_name t.rules:6:22
          `+` cannot name a strategy
          6:22 "+": not a name
          help: a name is a letter, then letters, digits, `-` and `_`
    "#]],
    );
}

#[test]
fn missing_doc() {
    check_text(
        ";; Header.\n\n(rule a (* ?x 1) ?x)\n;; Apart.\n\n(ruleset b a)\n(guided c :apply pull-invariant)\n(strategy d) ; behind",
        expect![[r#"
            rules::missing_doc t.rules:3:7
              rule `a` is not documented
              3:7 "a": no comment above
              help: write a comment directly above it, without an empty line between; a rule's comment is its equation: `;; x * 1 == x.`
            rules::missing_doc t.rules:6:10
              rule set `b` is not documented
              6:10 "b": no comment above
              help: write a comment directly above it, without an empty line between; a rule's comment is its equation: `;; x * 1 == x.`
            rules::missing_doc t.rules:7:9
              rule `c` is not documented
              7:9 "c": no comment above
              help: write a comment directly above it, without an empty line between; a rule's comment is its equation: `;; x * 1 == x.`
            rules::missing_doc t.rules:8:11
              strategy `d` is not documented
              8:11 "d": no comment above
              help: write a comment directly above it, without an empty line between; a rule's comment is its equation: `;; x * 1 == x.`
        "#]],
    );
}

#[test]
fn missing_part() {
    check(
        &[
            "(rule)",
            "(rule b)",
            "(rule c (* ?x 1))",
            "(guided d)",
            "(ruleset e)",
            "(strategy f (phase) (phase g) (without))",
        ],
        expect![[r#"
            rules::missing_part t.rules:2:1
              this `rule` has no name
              2:1 "(rule)": in this form
              help: its shape is `(rule name left-side right-side :when condition :tag tag), or (rule name side <-> side …)`
            rules::missing_part t.rules:4:1
              this `rule` has no left side
              4:1 "(rule b)": in this form
              help: its shape is `(rule name left-side right-side :when condition :tag tag), or (rule name side <-> side …)`
            rules::missing_part t.rules:6:1
              this `rule` has no right side
              6:1 "(rule c (* ?x 1))": in this form
              help: its shape is `(rule name left-side right-side :when condition :tag tag), or (rule name side <-> side …)`
            rules::missing_part t.rules:8:1
              this `guided` has no `:apply`
              8:1 "(guided d)": in this form
              help: its shape is `(guided name :apply applier :limit (name number) :tag tag)`
            rules::missing_part t.rules:10:1
              this `ruleset` has no member
              10:1 "(ruleset e)": in this form
              help: its shape is `(ruleset name rule-or-set …)`
            rules::missing_part t.rules:12:13
              this `phase` has no name
              12:13 "(phase)": in this form
              help: its shape is `(phase name :rules (rule-or-set …) :passes number :nodes number :off (rule-or-set …))`
            rules::missing_part t.rules:12:21
              this `phase` has no `:rules`
              12:21 "(phase g)": in this form
              help: its shape is `(phase name :rules (rule-or-set …) :passes number :nodes number :off (rule-or-set …))`
            rules::missing_part t.rules:12:21
              this `phase` has no `:passes`
              12:21 "(phase g)": in this form
              help: its shape is `(phase name :rules (rule-or-set …) :passes number :nodes number :off (rule-or-set …))`
            rules::missing_part t.rules:12:21
              this `phase` has no `:nodes`
              12:21 "(phase g)": in this form
              help: its shape is `(phase name :rules (rule-or-set …) :passes number :nodes number :off (rule-or-set …))`
            rules::missing_part t.rules:12:31
              this `without` has no phase
              12:31 "(without)": in this form
              help: its shape is `(without phase …)`
        "#]],
    );
}

#[test]
fn extra_part() {
    check(
        &[
            "(rule a (* ?x 1) ?x ?x)",
            "(guided b c :apply pull-invariant)",
            "(strategy d (phase e :rules (a) 3 :passes 1 :nodes 1))",
        ],
        expect![[r#"
            rules::extra_part t.rules:2:21
              the variable `?x` has no place in this `rule`
              2:21 "?x": not expected
              help: its shape is `(rule name left-side right-side :when condition :tag tag), or (rule name side <-> side …)`
            rules::extra_part t.rules:4:11
              the word `c` has no place in this `guided`
              4:11 "c": not expected
              help: its shape is `(guided name :apply applier :limit (name number) :tag tag)`
            rules::extra_part t.rules:6:33
              the number `3` has no place in this `phase`
              6:33 "3": not expected
              help: its shape is `(phase name :rules (rule-or-set …) :passes number :nodes number :off (rule-or-set …))`
        "#]],
    );
}

#[test]
fn unexpected() {
    check(
        &[
            "(rule ?a (* ?x 1) ?x)",
            "(rule b ((+ ?x 1) ?x) ?x)",
            "(rule c (sqrt ()) (* ?x :y))",
            "(rule d (* ?x 1) ?x :when nonzero)",
            "(guided e :apply 3)",
            "(guided f :apply group-product :limit sets :limit (sets))",
            "(ruleset g 3)",
            "(strategy h 3 :off a :option (moves many))",
            "(rule i (* ?x 1) ?x :tag 3 :when (3))",
        ],
        expect![[r#"
            rules::unexpected t.rules:2:7
              expected the name of a rule, found the variable `?a`
              2:7 "?a": expected the name of a rule
            rules::unexpected t.rules:4:10
              expected an operator, found a list
              4:10 "(+ ?x 1)": expected an operator
            rules::unexpected t.rules:6:15
              expected a pattern: an operator and its children in parentheses, found a list
              6:15 "()": expected a pattern: an operator and its children in parentheses
            rules::unexpected t.rules:6:25
              expected a pattern, found the key `:y`
              6:25 ":y": expected a pattern
            rules::unexpected t.rules:8:27
              expected a condition: a name and its arguments in parentheses, found the word `nonzero`
              8:27 "nonzero": expected a condition: a name and its arguments in parentheses
            rules::unexpected t.rules:10:18
              expected the name of an applier, found the number `3`
              10:18 "3": expected the name of an applier
            rules::unexpected t.rules:12:39
              expected a list of a name and a value for a limit, found the word `sets`
              12:39 "sets": expected a list of a name and a value for a limit
            rules::unexpected t.rules:12:51
              expected one number after `sets`, found a list
              12:51 "(sets)": expected one number after `sets`
            rules::unexpected t.rules:14:12
              expected the name of a rule or rule set, found the number `3`
              14:12 "3": expected the name of a rule or rule set
            rules::unexpected t.rules:16:13
              expected `(phase …)` or `(without …)`, found the number `3`
              16:13 "3": expected `(phase …)` or `(without …)`
            rules::unexpected t.rules:16:20
              expected a list of rules and rule sets, found the word `a`
              16:20 "a": expected a list of rules and rule sets
            rules::unexpected t.rules:16:37
              expected a whole number for option `moves`, found the word `many`
              16:37 "many": expected a whole number for option `moves`
            rules::unexpected t.rules:18:26
              expected a list of tags, found the number `3`
              18:26 "3": expected a list of tags
            rules::unexpected t.rules:18:35
              expected the name of a condition, found the number `3`
              18:35 "3": expected the name of a condition
        "#]],
    );
}

#[test]
fn unknown_key() {
    check(
        &["(rule a (* ?x 1) ?x :wen (nonzero ?x))", "(ruleset b a :off c)"],
        expect![[r#"
        rules::unknown_key t.rules:2:21
          a `rule` has no key `:wen`
          2:21 ":wen": not known here
          help: did you mean `:when`?
        rules::unknown_key t.rules:4:14
          a `ruleset` has no key `:off`
          4:14 ":off": not known here
          help: no keys are known here
    "#]],
    );
}

#[test]
fn missing_value() {
    check(
        &["(rule a (* ?x 1) ?x :when :tag reassociate)", "(guided b :apply)"],
        expect![[r#"
        rules::missing_value t.rules:2:21
          `:when` has no value
          2:21 ":when": a value is missing after this
          help: a key is followed by one value: `:when (nonzero ?x)`
        rules::missing_value t.rules:4:11
          `:apply` has no value
          4:11 ":apply": a value is missing after this
          help: a key is followed by one value: `:apply group-product`
    "#]],
    );
}

#[test]
fn repeated() {
    check(
        &[
            "(rule a (* ?x 1) ?x :tag reassociate :tag (reassociate))",
            "(guided b :apply group-product :apply group-product :limit (sets 1) :limit (sets 2))",
            "(ruleset c a b a)",
            "(strategy d :option (moves 1) :option (moves 2) (phase e :rules (a a) :passes 1 :nodes 1))",
        ],
        expect![[r#"
            rules::repeated t.rules:2:44
              `reassociate` is given twice
              2:44 "reassociate": given again here
              2:26 "reassociate": first given here
              help: keep one of them
            rules::repeated t.rules:4:32
              `:apply` is given twice
              4:32 ":apply": given again here
              4:11 ":apply": first given here
              help: keep one of them
            rules::repeated t.rules:4:77
              `sets` is given twice
              4:77 "sets": given again here
              4:61 "sets": first given here
              help: keep one of them
            rules::repeated t.rules:6:16
              `a` is given twice
              6:16 "a": given again here
              6:12 "a": first given here
              help: keep one of them
            rules::repeated t.rules:8:40
              `moves` is given twice
              8:40 "moves": given again here
              8:22 "moves": first given here
              help: keep one of them
            rules::repeated t.rules:8:68
              `a` is given twice
              8:68 "a": given again here
              8:66 "a": first given here
              help: keep one of them
        "#]],
    );
}

#[test]
fn empty_list() {
    check(
        &["(rule a (* ?x 1) ?x :tag ())", "(strategy b (phase c :rules () :passes 1 :nodes 1))"],
        expect![[r#"
        rules::empty_list t.rules:2:26
          this list of tags is empty
          2:26 "()": nothing in here
          help: name at least one, or leave the whole form out
        rules::empty_list t.rules:4:29
          this list of rules and rule sets is empty
          4:29 "()": nothing in here
          help: name at least one, or leave the whole form out
    "#]],
    );
}

#[test]
fn number_out_of_range() {
    check(
        &[
            "(guided a :apply group-product :limit (sets 0) :limit (depth 1/2))",
            "(strategy b :option (moves 1001) (phase c :rules (a) :passes 0 :nodes 10000000000000000000000))",
        ],
        expect![[r#"
            rules::number_out_of_range t.rules:2:45
              limit `sets` is a whole number from 1 to 1000, not `0`
              2:45 "0": out of range
              help: write a number from 1 to 1000
            rules::number_out_of_range t.rules:2:62
              limit `depth` is a whole number from 0 to 6, not `1/2`
              2:62 "1/2": out of range
              help: write a number from 0 to 6
            rules::number_out_of_range t.rules:4:28
              option `moves` is a whole number from 0 to 1000, not `1001`
              4:28 "1001": out of range
              help: write a number from 0 to 1000
            rules::number_out_of_range t.rules:4:62
              `:passes` is a whole number from 1 to 10000, not `0`
              4:62 "0": out of range
              help: write a number from 1 to 10000
            rules::number_out_of_range t.rules:4:71
              `:nodes` is a whole number from 1 to 1000000000, not `10000000000000000000000`
              4:71 "10000000000000000000000": out of range
              help: write a number from 1 to 1000000000
        "#]],
    );
}

#[test]
fn duplicate_name() {
    check_files(
        &[
            ("rules/a.rules", ";; 1.\n(rule one (* ?x 1) ?x)\n;; 2.\n(ruleset one one)\n;; 3.\n(strategy O1)\n"),
            (
                "mine.rules",
                ";; 4.\n(guided one :apply pull-invariant)\n;; 5.\n(strategy O1)\n;; 6.\n(rule a (+ ?x 0) ?x)",
            ),
            ("other/mine.rules", ";; 7.\n(rule b (/ ?x 1) ?x)\n"),
        ],
        expect![[r#"
            rules::duplicate_name rules/a.rules:4:10
              rule set `one` is defined already
              4:10 "one": defined again here
              2:7 "one": first defined here
              help: the first one is the rule at rules/a.rules:2:7; choose another name
            rules::duplicate_name mine.rules:2:9
              rule `one` is defined already
              2:9 "one": defined again here
              help: the first one is the rule at rules/a.rules:2:7; choose another name
            rules::duplicate_name mine.rules:4:11
              strategy `O1` is defined already
              4:11 "O1": defined again here
              help: the first one is the strategy at rules/a.rules:6:11; choose another name
            rules::duplicate_name mine.rules:6:7
              rule `a` is defined already
              6:7 "a": defined again here
              help: the first one is the file's rule set at rules/a.rules:1:1; choose another name; a file with rules defines the set of them, under the name of the file
        "#]],
    );
}

#[test]
fn unknown_operator() {
    check(
        &["(rule a (squrt ?x) ?x)", "(rule b (foo ?x) ?y)"],
        expect![[r#"
        rules::unknown_operator t.rules:2:10
          unknown operator `squrt`
          2:10 "squrt": not an operator
          help: did you mean `sqrt`?
        rules::unknown_operator t.rules:4:10
          unknown operator `foo`
          4:10 "foo": not an operator
          help: known operators: `+`, `*`, `min`, `-`, `/`, `sqrt`, `pi`
        rules::unbound_variable t.rules:4:18
          `?y` is not bound by the left side of `b`
          4:18 "?y": used here
          4:9 "(foo ?x)": variables are bound by this pattern
          help: every variable on the right side and in the condition must also occur on the left side
    "#]],
    );
}

#[test]
fn wrong_arity() {
    check(
        &["(rule a (sqrt ?x ?y) (* ?x))", "(rule b (- ?x) (pi ?x))"],
        expect![[r#"
        rules::wrong_arity t.rules:2:9
          `sqrt` takes 1 child, not 2
          2:9 "(sqrt ?x ?y)": 2 here
        rules::wrong_arity t.rules:2:22
          `*` takes at least 2 children, not 1
          2:22 "(* ?x)": 1 here
          help: a rest variable `?xs...` stands for any number of children
        rules::wrong_arity t.rules:4:9
          `-` takes 2 children, not 1
          4:9 "(- ?x)": 1 here
        rules::wrong_arity t.rules:4:16
          `pi` takes no children, not 1
          4:16 "(pi ?x)": 1 here
    "#]],
    );
}

#[test]
fn bare_word() {
    check(
        &["(rule a (* x 1) ?x)", "(rule b (* ?x 1) x)"],
        expect![[r#"
        rules::bare_word t.rules:2:12
          `x` is neither a variable nor a number
          2:12 "x": a word alone is not a pattern
          help: write `?x` for a variable, or `(x …)` for an operator or function
        rules::bare_word t.rules:4:18
          `x` is neither a variable nor a number
          4:18 "x": a word alone is not a pattern
          help: write `?x` for a variable, or `(x …)` for an operator or function
    "#]],
    );
}

#[test]
fn unbound_variable() {
    check(
        &["(rule a (* ?x 1) (* ?y ?ys...) :when (or (nonzero ?z) (empty ?zs...)))"],
        expect![[r#"
        rules::unbound_variable t.rules:2:21
          `?y` is not bound by the left side of `a`
          2:21 "?y": used here
          2:9 "(* ?x 1)": variables are bound by this pattern
          help: every variable on the right side and in the condition must also occur on the left side
        rules::unbound_variable t.rules:2:24
          `?ys...` is not bound by the left side of `a`
          2:24 "?ys...": used here
          2:9 "(* ?x 1)": variables are bound by this pattern
          help: every variable on the right side and in the condition must also occur on the left side
        rules::unbound_variable t.rules:2:51
          `?z` is not bound by the left side of `a`
          2:51 "?z": used here
          2:9 "(* ?x 1)": variables are bound by this pattern
          help: every variable on the right side and in the condition must also occur on the left side
        rules::unbound_variable t.rules:2:62
          `?zs...` is not bound by the left side of `a`
          2:62 "?zs...": used here
          2:9 "(* ?x 1)": variables are bound by this pattern
          help: every variable on the right side and in the condition must also occur on the left side
    "#]],
    );
}

#[test]
fn bare_left_side() {
    check(
        &["(rule a ?x (* ?x 1))", "(rule b 1 (+ 1 0))"],
        expect![[r#"
        rules::bare_left_side t.rules:2:9
          the left side of `a` is the variable `?x`, not an operator with its children
          2:9 "?x": begin it with an operator
          help: a rule applies where its left side's operator stands; a bare variable would match every expression
        rules::bare_left_side t.rules:4:9
          the left side of `b` is the number `1`, not an operator with its children
          4:9 "1": begin it with an operator
          help: a rule applies where its left side's operator stands; a bare variable would match every expression
    "#]],
    );
}

#[test]
fn same_sides() {
    check(
        &["(rule a (* ?x 1) (*  ?x  1))"],
        expect![[r#"
        rules::same_sides t.rules:2:18
          both sides of `a` are the same
          2:18 "(*  ?x  1)": equal to the left side
          help: such a rule never adds a form; remove it
    "#]],
    );
}

#[test]
fn rest_outside_nary() {
    check(
        &["(rule a (sqrt ?xs...) 1)", "(rule b (+ ?x ?xs...) ?xs...)", "(rule c ?xs... 1)"],
        expect![[r#"
        rules::rest_outside_nary t.rules:2:15
          `?xs...` does not stand in an n-ary operator
          2:15 "?xs...": no place for a rest variable
          help: a rest variable stands for the remaining children of an operator that takes any number of them
        rules::rest_outside_nary t.rules:4:23
          `?xs...` does not stand in an n-ary operator
          4:23 "?xs...": no place for a rest variable
          help: a rest variable stands for the remaining children of an operator that takes any number of them
        rules::rest_outside_nary t.rules:6:9
          `?xs...` does not stand in an n-ary operator
          6:9 "?xs...": no place for a rest variable
          help: a rest variable stands for the remaining children of an operator that takes any number of them
    "#]],
    );
}

#[test]
fn second_rest() {
    check(
        &["(rule a (+ ?x ?xs... ?ys...) ?x)"],
        expect![[r#"
            rules::second_rest t.rules:2:22
              a list on the left side has at most one rest variable
              2:22 "?ys...": a second one
              2:15 "?xs...": the first one
              help: with two of them there is no telling which children belong to which: say so of one, as `(?xs... test …)`
        "#]],
    );
}

#[test]
fn rest_in_other_operator() {
    check(
        &["(rule a (+ ?x ?xs...) (* ?x ?xs...))"],
        expect![[r#"
        rules::rest_in_other_operator t.rules:2:29
          `?xs...` holds children of `+`, not of `*`
          2:29 "?xs...": used here
          2:15 "?xs...": bound here
          help: terms with coefficients, factors with exponents and plain children are not interchangeable
    "#]],
    );
}

#[test]
fn mixed_variable() {
    check(
        &["(rule a (+ ?x ?x...) ?x)", "(rule b (+ ?x ?xs...) (* ?xs 2) :when (nonzero ?xs))"],
        expect![[r#"
        rules::mixed_variable t.rules:2:15
          `x` is a variable and a rest variable
          2:15 "?x...": different here
          2:12 "?x": first used here
          help: write `?x` or `?x...` everywhere, or rename one
        rules::mixed_variable t.rules:4:26
          `xs` is a variable and a rest variable
          4:26 "?xs": different here
          4:15 "?xs...": first used here
          help: write `?xs` or `?xs...` everywhere, or rename one
        rules::mixed_variable t.rules:4:48
          `xs` is a variable and a rest variable
          4:48 "?xs": different here
          4:15 "?xs...": first used here
          help: write `?xs` or `?xs...` everywhere, or rename one
    "#]],
    );
}

#[test]
fn unknown_condition() {
    check(
        &["(rule a (* ?x 1) ?x :when (and (nonzer ?x) (not (odd ?y))))"],
        expect![[r#"
            rules::unknown_condition t.rules:2:33
              unknown condition `nonzer`
              2:33 "nonzer": not a condition
              help: did you mean `nonzero`?
            rules::unknown_condition t.rules:2:50
              unknown condition `odd`
              2:50 "odd": not a condition
              help: known conditions: `free-of`, `known-size`, `less`, `nonzero`, `constant`, `below`, `empty`, `dtype`, `disjoint`, `and`, `or`, `not`
            rules::unbound_variable t.rules:2:54
              `?y` is not bound by the left side of `a`
              2:54 "?y": used here
              2:9 "(* ?x 1)": variables are bound by this pattern
              help: every variable on the right side and in the condition must also occur on the left side
        "#]],
    );
}

#[test]
fn wrong_condition_arity() {
    check(
        &["(rule a (* ?x 1) ?x :when (and (nonzero ?x ?x) (not) (or) (below ?x) (disjoint)))"],
        expect![[r#"
        rules::wrong_condition_arity t.rules:2:32
          `nonzero` takes 1 argument, not 2
          2:32 "(nonzero ?x ?x)": 2 here
        rules::wrong_condition_arity t.rules:2:48
          `not` takes 1 condition, not 0
          2:48 "(not)": 0 here
        rules::wrong_condition_arity t.rules:2:54
          `or` takes at least 1 condition, not 0
          2:54 "(or)": 0 here
        rules::wrong_condition_arity t.rules:2:59
          `below` takes 2 arguments, not 1
          2:59 "(below ?x)": 1 here
        rules::wrong_condition_arity t.rules:2:70
          `disjoint` takes at least 1 argument, not 0
          2:70 "(disjoint)": 0 here
    "#]],
    );
}

#[test]
fn wrong_argument() {
    check(
        &[
            "(rule a (* ?x ?xs...) ?x :when (and (nonzero 1) (nonzero (+ ?x ?y)) (empty ?x) (below ?x ?x) (dtype ?x flaot) (disjoint ?x 1)))",
        ],
        expect![[r#"
            rules::wrong_argument t.rules:2:46
              `nonzero` takes a variable here, not the number `1`
              2:46 "1": expected a variable
            rules::wrong_argument t.rules:2:58
              `nonzero` takes a variable here, not a list
              2:58 "(+ ?x ?y)": expected a variable
            rules::wrong_argument t.rules:2:76
              `empty` takes a rest variable here, not the variable `?x`
              2:76 "?x": expected a rest variable
            rules::wrong_argument t.rules:2:90
              `below` takes a number here, not the variable `?x`
              2:90 "?x": expected a number
            rules::wrong_argument t.rules:2:104
              `dtype` takes one of `float`, `int` here, not the word `flaot`
              2:104 "flaot": expected one of `float`, `int`
            rules::wrong_argument t.rules:2:124
              `disjoint` takes a variable or rest variable here, not the number `1`
              2:124 "1": expected a variable or rest variable
        "#]],
    );
}

#[test]
fn unknown_applier() {
    check(
        &["(guided a :apply group-products)"],
        expect![[r#"
        rules::unknown_applier t.rules:2:18
          unknown applier `group-products`
          2:18 "group-products": no search and application has this name
          help: did you mean `group-product`?
    "#]],
    );
}

#[test]
fn unknown_limit() {
    check(
        &["(guided a :apply group-product :limit (set 3))", "(guided b :apply pull-invariant :limit (sets 3))"],
        expect![[r#"
            rules::unknown_limit t.rules:2:40
              `group-product` has no limit `set`
              2:40 "set": not a limit of `group-product`
              help: did you mean `sets`?
            rules::unknown_limit t.rules:4:41
              `pull-invariant` has no limit `sets`
              4:41 "sets": not a limit of `pull-invariant`
              help: no limits are known here
        "#]],
    );
}

#[test]
fn unknown_tag() {
    check(
        &["(rule a (* ?x 1) ?x :tag reasociate :tag (finite-only fast))"],
        expect![[r#"
        rules::unknown_tag t.rules:2:26
          unknown tag `reasociate`
          2:26 "reasociate": not a tag
          help: did you mean `reassociate`?
        rules::unknown_tag t.rules:2:55
          unknown tag `fast`
          2:55 "fast": not a tag
          help: known tags: `reassociate`, `finite-only`
    "#]],
    );
}

#[test]
fn unknown_rule() {
    check(
        &[
            "(rule one (* ?x 1) ?x)",
            "(ruleset set onee)",
            "(strategy s :off (two) (phase p :rules (sets) :off (three) :passes 1 :nodes 1))",
        ],
        expect![[r#"
            rules::unknown_rule t.rules:4:14
              no rule or rule set is called `onee`
              4:14 "onee": not known
              help: did you mean `one`?
            rules::unknown_rule t.rules:6:19
              no rule or rule set is called `two`
              6:19 "two": not known
              help: known rules and rule sets: `one`, `set`, `t`
            rules::unknown_rule t.rules:6:41
              no rule or rule set is called `sets`
              6:41 "sets": not known
              help: did you mean `set`?
            rules::unknown_rule t.rules:6:53
              no rule or rule set is called `three`
              6:53 "three": not known
              help: known rules and rule sets: `one`, `set`, `t`
        "#]],
    );
}

#[test]
fn cyclic_set() {
    check(
        &["(rule one (* ?x 1) ?x)", "(ruleset a b)", "(ruleset b one c)", "(ruleset c b a)", "(ruleset d d)"],
        expect![[r#"
            rules::cyclic_set t.rules:8:12
              rule set `b` contains itself: `b` → `c` → `b`
              8:12 "b": leads back to `b`
              help: remove one of these names from the set before it
            rules::cyclic_set t.rules:8:14
              rule set `a` contains itself: `a` → `b` → `c` → `a`
              8:14 "a": leads back to `a`
              help: remove one of these names from the set before it
            rules::cyclic_set t.rules:10:12
              rule set `d` contains itself: `d` → `d`
              10:12 "d": leads back to `d`
              help: remove one of these names from the set before it
        "#]],
    );
}

#[test]
fn unknown_strategy() {
    check(
        &["(strategy O1)", "(strategy O2 :extends 01)", "(strategy mine :extends O3)"],
        expect![[r#"
        rules::unexpected t.rules:4:23
          expected the name of a strategy, found the number `1`
          4:23 "01": expected the name of a strategy
        rules::unknown_strategy t.rules:6:25
          no strategy is called `O3`
          6:25 "O3": not known
          help: did you mean `O1`?
    "#]],
    );
}

#[test]
fn cyclic_extends() {
    check(
        &["(strategy a :extends b)", "(strategy b :extends c)", "(strategy c :extends b)", "(strategy d :extends d)"],
        expect![[r#"
            rules::cyclic_extends t.rules:6:22
              strategy `b` extends itself: `b` → `c` → `b`
              6:22 "b": leads back to `b`
              help: a strategy extends one that was complete without it
            rules::cyclic_extends t.rules:8:22
              strategy `d` extends itself: `d` → `d`
              8:22 "d": leads back to `d`
              help: a strategy extends one that was complete without it
        "#]],
    );
}

#[test]
fn unknown_phase() {
    check(
        &[
            "(rule one (* ?x 1) ?x)",
            "(strategy O1 (phase fold :rules (one) :passes 1 :nodes 1))",
            "(strategy O2 :extends O1 (without fald))",
            "(strategy O3 (without fold) (phase fold :rules (one) :passes 1 :nodes 1))",
        ],
        expect![[r#"
            rules::unknown_phase t.rules:6:35
              `O2` inherits no phase `fald`
              6:35 "fald": not an inherited phase
              help: did you mean `fold`?
            rules::unknown_phase t.rules:8:23
              `O3` inherits no phase `fold`
              8:23 "fold": not an inherited phase
              help: no inherited phases are known here
        "#]],
    );
}

#[test]
fn duplicate_phase() {
    check(
        &[
            "(rule one (* ?x 1) ?x)",
            "(strategy O1 (phase p :rules (one) :passes 1 :nodes 1) (phase p :rules (one) :passes 1 :nodes 1))",
            "(strategy O2 :extends O1 (without p) (phase p :rules (one) :passes 1 :nodes 1))",
            "(strategy O3 :extends O2 (phase p :rules (one) :passes 1 :nodes 1))",
        ],
        expect![[r#"
            rules::duplicate_phase t.rules:4:56
              `O1` has a phase `p` already
              4:56 "(phase p :rules (one) :passes 1 :nodes 1)": a second one
              help: rename one of them
            rules::duplicate_phase t.rules:8:26
              `O3` has a phase `p` already
              8:26 "(phase p :rules (one) :passes 1 :nodes 1)": a second one
              help: it is inherited from `O2`: rename this one, or leave that out with `(without p)`
        "#]],
    );
}

#[test]
fn off_unused() {
    check(
        &[
            "(rule one (* ?x 1) ?x)",
            "(rule two (+ ?x 0) ?x)",
            "(strategy O1 :off (two) (phase p :rules (one) :off (t) :passes 1 :nodes 1))",
        ],
        expect![[r#"
            rules::off_unused t.rules:6:20
              `two` is not on in `O1`
              6:20 "two": in no phase
              help: `:off` takes out rules of the phases before it; there is nothing to take out
        "#]],
    );
}

#[test]
fn unknown_option() {
    check(
        &["(strategy a :option (selektion greedy) :option (colour red))"],
        expect![[r#"
        rules::unknown_option t.rules:2:22
          unknown option `selektion`
          2:22 "selektion": not an option
          help: did you mean `selection`?
        rules::unknown_option t.rules:2:49
          unknown option `colour`
          2:49 "colour": not an option
          help: known options: `selection`, `seeds`, `moves`, `tolerance`
    "#]],
    );
}

#[test]
fn wrong_option_value() {
    check(
        &[
            "(strategy a :option (selection best))",
            "(strategy b :option (seeds rolled folded))",
            "(strategy c :option (seeds) :option (selection greedy greedy) :option (tolerance small))",
        ],
        expect![[r#"
            rules::wrong_option_value t.rules:2:32
              option `selection` takes one of `greedy`, `local-search`, not the word `best`
              2:32 "best": expected one of `greedy`, `local-search`
            rules::wrong_option_value t.rules:4:35
              option `seeds` takes some of `rolled`, `split`, not the word `folded`
              4:35 "folded": expected some of `rolled`, `split`
            rules::wrong_option_value t.rules:6:21
              option `seeds` takes some of `rolled`, `split`, not 0 values
              6:21 "(seeds)": expected some of `rolled`, `split`
            rules::wrong_option_value t.rules:6:37
              option `selection` takes one of `greedy`, `local-search`, not 2 values
              6:37 "(selection greedy greedy)": expected one of `greedy`, `local-search`
            rules::wrong_option_value t.rules:6:82
              option `tolerance` takes a number, not the word `small`
              6:82 "small": expected a number
        "#]],
    );
}

#[test]
fn all_files_report_together() {
    check_files(
        &[
            ("a.rules", ";; 1.\n(rule one (* ?x 1) ?y)\n;; 2.\n(ruleset set nothing)\n;; 3.\n(rule two (foo ?x) ?x)\n"),
            ("b.rules", ";; 4.\n(ruleset other one two a)\n;; 5.\n(rule three (* ?x 1) ?x :when (nozero ?x))\n"),
        ],
        expect![[r#"
            rules::unbound_variable a.rules:2:20
              `?y` is not bound by the left side of `one`
              2:20 "?y": used here
              2:11 "(* ?x 1)": variables are bound by this pattern
              help: every variable on the right side and in the condition must also occur on the left side
            rules::unknown_rule a.rules:4:14
              no rule or rule set is called `nothing`
              4:14 "nothing": not known
              help: known rules and rule sets: `one`, `set`, `two`, `a`, `other`, `three`, `b`
            rules::unknown_operator a.rules:6:12
              unknown operator `foo`
              6:12 "foo": not an operator
              help: known operators: `+`, `*`, `min`, `-`, `/`, `sqrt`, `pi`
            rules::unknown_condition b.rules:4:32
              unknown condition `nozero`
              4:32 "nozero": not a condition
              help: did you mean `nonzero`?
        "#]],
    );
}

#[test]
fn errors_are_counted_beyond_the_limit() {
    let vocabulary = common::vocabulary();
    let source = Source::new("t.rules", "word ".repeat(1000));
    let errors = nestegg_rules::RuleBook::parse(&[source], &vocabulary).expect_err("no forms");
    assert_eq!(errors.to_string(), "1000 errors in the rule files, of which 200 are shown");
}

#[test]
fn asked_too_early() {
    check(
        &["(rule a (* (+ (?a... free-of ?y) ?b...) ?y) (+ ?a... ?b...))"],
        expect![[r#"
            rules::asked_too_early t.rules:2:15
              `?y` is not known yet where this test is asked
              2:15 "(?a... free-of ?y)": asked here
              help: plain children are matched first, from left to right, then those with tests, then the rest: reorder them
        "#]],
    );
}

#[test]
fn reductions() {
    check(
        &[
            "(rule no-body (sum (?q...)) 1)",
            "(rule no-inames (sum () ?x) ?x)",
            "(rule two-rests (sum (?q... ?r...) ?x) ?x)",
            "(rule unbound (sum (?q...) ?x) (sum (?r...) ?x))",
            "(rule mixed (sum (?q...) (* ?q ?x)) ?x)",
            "(rule not-of-inames (sum (?q...) ?x) ?x :when (known-size ?x))",
            "(rule not-of-values (sum (?q) ?x) ?x :when (nonzero ?q))",
            "(rule size-on-the-left (* (size ?q) ?x) ?x)",
        ],
        expect![[r#"
            rules::wrong_arity t.rules:2:15
              `sum` takes inames and 1 child, not 1
              2:15 "(sum (?q...))": 1 here
              help: a reduction is `(sum (?q...) ?x)`: its inames in parentheses, then what is reduced
            rules::empty_list t.rules:4:22
              this list of inames is empty
              4:22 "()": nothing in here
              help: name at least one, or leave the whole form out
            rules::second_rest t.rules:6:29
              a list on the left side has at most one rest variable
              6:29 "?r...": a second one
              6:23 "?q...": the first one
              help: with two of them there is no telling which children belong to which: say so of one, as `(?xs... test …)`
            rules::unbound_variable t.rules:8:38
              `?r...` is not bound by the left side of `unbound`
              8:38 "?r...": used here
              8:15 "(sum (?q...) ?x)": variables are bound by this pattern
              help: every variable on the right side and in the condition must also occur on the left side
            rules::mixed_variable t.rules:10:19
              `q` is a variable and a rest variable
              10:19 "?q...": different here
              10:29 "?q": first used here
              help: write `?q` or `?q...` everywhere, or rename one
            rules::wrong_argument t.rules:12:59
              `known-size` takes a variable for inames here, not one for values
              12:59 "?x": expected a variable for inames
            rules::wrong_argument t.rules:14:53
              `nonzero` takes a variable here, not one for inames
              14:53 "?q": expected a variable
            rules::unexpected t.rules:16:27
              expected a pattern that a left side can have, found a list
              16:27 "(size ?q)": expected a pattern that a left side can have
        "#]],
    );
}

#[test]
fn children_with_tests() {
    check(
        &[
            "(rule no-test (+ (?a...) ?b...) (+ ?a... ?b...))",
            "(rule on-the-right (+ ?a... ?x) (+ (?a... free-of ?x) ?x))",
            "(rule not-of-a-child (+ (?a... known-size ?x) ?x) ?x)",
            "(rule each-on-the-left (+ (each ?a... ?a) ?x) ?x)",
            "(rule one-value (+ ?a... ?x) (sqrt (each ?a... ?a)))",
            "(rule turned (+ ?a... ?x) <-> (+ (open ?a...) ?x))",
        ],
        expect![[r#"
            rules::unexpected t.rules:2:18
              expected a test after the rest variable, found a list
              2:18 "(?a...)": expected a test after the rest variable
            rules::unexpected t.rules:4:36
              expected a rest variable alone on a right side, found a list
              4:36 "(?a... free-of ?x)": expected a rest variable alone on a right side
            rules::unknown_condition t.rules:6:25
              unknown condition `known-size`
              6:25 "(?a... known-size ?x)": not a condition
              help: known tests of a child: `free-of`, `less`, `nonzero`, `constant`, `below`, `dtype`, `disjoint`
            rules::unexpected t.rules:8:27
              expected `(each ?xs... pattern)` on a right side, found a list
              8:27 "(each ?a... ?a)": expected `(each ?xs... pattern)` on a right side
            rules::rest_outside_nary t.rules:10:42
              `?a...` does not stand in an n-ary operator
              10:42 "?a...": no place for a rest variable
              help: a rest variable stands for the remaining children of an operator that takes any number of them
            rules::unexpected t.rules:12:34
              expected a function of one rest variable on a right side, found a list
              12:34 "(open ?a...)": expected a function of one rest variable on a right side
        "#]],
    );
}

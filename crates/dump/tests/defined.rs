//! Kernels that certainly compute with what is not there, and some that only seem to.
#![allow(missing_docs, clippy::unwrap_used)]

use expect_test::{Expect, expect};
use miette::Diagnostic;
use nestegg_dump::{check_defined, read};
use nestegg_span::Source;

/// The errors with their codes and places.
fn refused(text: &str, given: &[(&str, i64)]) -> String {
    let source = Source::new("k.knl", text);
    let read = read(&source).unwrap_or_else(|errors| panic!("{:#?}", errors.errors()));
    let given: Vec<(String, i64)> = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let Err(errors) = check_defined(&source, &read, &given) else { return String::new() };
    let lines = errors.errors().iter().map(|error| {
        let (code, at) = (error.code().unwrap(), error.place());
        let written = &text[at.start as usize..(at.start + at.len()) as usize];
        format!("{code} `{written}`: {error}\n")
    });
    lines.collect()
}

fn check(text: &str, given: &[(&str, i64)], expected: Expect) {
    expected.assert_eq(&refused(text, given));
}

fn check_file(name: &str, expected: Expect) {
    let path = format!("{}/../../tests/error/{name}.knl", env!("CARGO_MANIFEST_DIR"));
    check(&std::fs::read_to_string(path).unwrap(), &[], expected);
}

#[test]
fn files() {
    check_file(
        "out-of-bounds",
        expect![[r#"
        dump::out_of_bounds `x[i + 1]`: `x[i + 1]` is outside of `x` at i = 99
        dump::out_of_bounds `z[j + 1]`: `z[j + 1]` is outside of `z` at j = 3, k = 0
        dump::out_of_bounds `t[j]`: `t[j]` is outside of `t` at j = 3, k = 0
        dump::out_of_bounds `x[k - j]`: `x[k - j]` is outside of `x` at j = 1, k = 0
        dump::out_of_bounds `t[3]`: `t[3]` is outside of `t` at j = 0, k = 0
        dump::out_of_bounds `decided`: `x[…]` is outside of `x`
    "#]],
    );
    check_file(
        "out-of-bounds-of-all",
        expect![[r#"
        dump::out_of_bounds `x[i + 1]`: `x[i + 1]` is outside of `x` at i = 0
    "#]],
    );
    check_file("out-of-bounds-of-one", expect![[""]]);
    check_file(
        "uninitialised",
        expect![[r#"
        dump::uninitialised `never`: `never` is read at i = 0 before anything writes it
        dump::uninitialised `later`: `later` is read at i = 0 before anything writes it
        dump::uninitialised `part[k]`: `part[k]` is read at k = 3 before anything writes it
        dump::uninitialised `z[3 - k]`: `z[3 - k]` is read at k = 0 before anything writes it
        dump::uninitialised `back[k + 1]`: `back[k + 1]` is read at k = 0 before anything writes it
    "#]],
    );
    check_file("defined", expect![[""]]);
}

#[test]
fn sizes_decide() {
    let text = "kernel k\nparam n : int32 = 4\ndomain [n] -> { [i] : 0 <= i < n }\narg x : float64[4] read\narg y : float64[n] write\nfor i\n  y[i] = x[i]\nend\n";
    check(text, &[], expect![[""]]);
    check(
        text,
        &[("n", 5)],
        expect![[r#"
        dump::out_of_bounds `x[i]`: `x[i]` is outside of `x` at i = 4
    "#]],
    );
    check(text, &[("n", 0)], expect![[""]]);
}

#[test]
fn conditions_of_the_linearization_count() {
    let text = "kernel k linearized\ndomain { [i] : 0 <= i < 4 }\narg x : float64[3] read\narg y : float64[4] write\nfor i\n  if i < 3\n    y[i] = x[i]  {id=a}\n  end\n  if x[i] > 0.0\n    y[i + 1] = 1.0  {id=b}\n  end\nend\n";
    check(
        text,
        &[],
        expect![[r#"
        dump::out_of_bounds `x[i]`: `x[i]` is outside of `x` at i = 3
    "#]],
    );
}

#[test]
fn logic_is_decided_from_the_left() {
    let text = "kernel k\ndomain { [i] : 0 <= i < 4 }\narg x : float64[3] read\narg y : float64[4] write\nfor i\n  y[i] = 1.0 if i < 3 and x[i] > 0.0 else 0.0\n  y[i] = 1.0 if i >= 3 or x[i] > 0.0 else 0.0\n  y[i] = 1.0 if x[i] > 0.0 and i < 3 else 0.0\nend\n";
    check(
        text,
        &[],
        expect![[r#"
        dump::out_of_bounds `x[i]`: `x[i]` is outside of `x` at i = 3
    "#]],
    );
}

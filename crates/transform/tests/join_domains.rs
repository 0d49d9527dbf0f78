//! Domains that enclose others become one with them where every point has some point inside.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use expect_test::{Expect, expect};
use nestegg_transform::join_domains;
use support::{assert_same_meaning, parse, text};

fn check(given: &str, expect: Expect) {
    let program = parse("test", given);
    let joined = join_domains(program.clone().into_linearized().unwrap()).unwrap();
    assert_same_meaning("test", &program, &joined);
    let domains = text(joined)
        .lines()
        .filter(|line| line.starts_with("domain"))
        .fold(String::new(), |all, line| all + line + "\n");
    expect.assert_eq(&domains);
}

#[test]
fn triangles_are_joined() {
    check(
        "kernel k
param n : int32 = 7
domain [n] -> { [i] : 0 <= i < n }
domain [i] -> { [j] : 0 <= j <= i }
domain [i, j] -> { [k] : j <= k <= i }
arg y : float64[n, n, n] readwrite
y[i, j, k] = y[i, j, k] + 2.0 {inames=i:j:k}
",
        expect![[r#"
            domain [n] -> { [i, j, k] : i < n and 0 <= j <= i and j <= k <= i }
        "#]],
    );
}

#[test]
fn assumptions_stay_outside() {
    check(
        "kernel k
param n : int32 = 5
assume [n] -> { : n >= 0 }
domain { [j, k] : 0 <= j < 4 and 0 <= k < 4 }
domain [j] -> { [l] : j <= l < 5 }
arg y : float64[4, 4, 5] write
y[j, k, l] = 1.5 {inames=j:k:l}
",
        expect![[r#"
            domain { [j, k, l] : 0 <= j <= 3 and 0 <= k <= 3 and j <= l <= 4 }
        "#]],
    );
}

#[test]
fn what_may_be_empty_is_not() {
    check(
        "kernel k
param n : int32 = 7
domain [n] -> { [i] : 0 <= i < n }
domain [i] -> { [j] : 0 <= j < i }
arg y : float64[n, n] readwrite
arg z : float64[n] readwrite
for i
  z[i] = z[i] + 1.0 {inames=i}
  y[i, j] = y[i, j] + 2.0 {inames=i:j}
end
",
        expect![[r#"
            domain [n] -> { [i] : 0 <= i < n }
            domain [i] -> { [j] : 0 <= j < i }
        "#]],
    );
}

#[test]
fn reductions_are_not() {
    check(
        "kernel k
param n : int32 = 7
domain [n] -> { [i] : 0 <= i < n }
domain [i] -> { [j] : 0 <= j <= i }
arg x : float64[n] read
arg z : float64[n] readwrite
z[i] = sum(j, x[j]) {inames=i}
",
        expect![[r#"
            domain [n] -> { [i] : 0 <= i < n }
            domain [i] -> { [j] : 0 <= j <= i }
        "#]],
    );
}

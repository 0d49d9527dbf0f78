//! Terms that the iteration before has computed come last.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::add_recurrences_last;
use support::Pass;

const HEAD: &str = "kernel k linearized\ndomain { [i, j] : 0 <= i, j < 6 }\narg A : float64[8, 8] readwrite\narg x : float64[8] readwrite\narg b : float64[8] read\n";

const PASS: Pass = Pass { head: HEAD, run: add_recurrences_last };

/// What the one instruction of a kernel becomes.
fn check(given: &str, expected: &str) {
    PASS.check_part(&format!("for i, j\n  {given}\nend\n"), expected);
}

fn refuse(given: &str) {
    PASS.refuse(&format!("for i, j\n  {given}\nend\n"));
}

#[test]
fn what_was_just_written_comes_last() {
    check("x[j + 1] = x[j] + b[j] + b[j + 1]", "x[j + 1] = b[j] + b[j + 1] + x[j]");
    check(
        "A[i, j + 1] = 0.25*(A[i, j]*b[0] + A[i, j + 2] + A[i + 1, j])",
        "(A[i, j + 2] + A[i + 1, j] + A[i, j]*b[0])",
    );
}

#[test]
fn other_sums_stay_as_they_are() {
    refuse("x[j + 1] = b[j] + x[j]");
    refuse("x[j] = x[j + 1] + b[j] + b[j + 1]");
    refuse("A[i + 1, j] = A[i, j] + b[j]");
    refuse("x[j] = x[j] + b[j]");
    refuse("x[0] = x[0] + b[j]");
}

//! Stores that add to an element are updates.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::write_as_updates;
use support::Pass;

const HEAD: &str = "kernel k linearized\ndomain { [i, j] : 0 <= i, j < 6 }\narg A : float64[8, 8] readwrite\narg x : float64[8] readwrite\narg b : float64[8] read\n\
                    arg n : int32[8] readwrite\n";

const PASS: Pass = Pass { head: HEAD, run: write_as_updates };

/// What the one instruction of a kernel becomes.
fn check(given: &str, expected: &str) {
    PASS.check_part(&format!("for i, j\n  {given}\nend\n"), expected);
}

fn refuse(given: &str) {
    PASS.refuse(&format!("for i, j\n  {given}\nend\n"));
}

#[test]
fn signs_and_sums_are_followed() {
    check("A[i, j] = -(b[j] - A[i, j])", "A[i, j] = A[i, j] - b[j]");
    check("A[i, j] = b[i] + A[i, j] - b[j]*b[i]", "A[i, j] = A[i, j] + (b[i] - b[j]*b[i])");
    check("A[i, j] = b[i] + b[j]*b[i] + A[i, j]", "A[i, j] = A[i, j] + (b[i] + b[j]*b[i])");
    check("A[i, j] = b[i] - (b[j] - (A[i, j] - b[0]))", "A[i, j] = A[i, j] + (b[i] - (b[0] + b[j]))");
    check("A[i, j] = A[i, j] - b[i] - b[j]", "A[i, j] = A[i, j] - (b[i] + b[j])");
}

#[test]
fn other_stores_stay_as_they_are() {
    refuse("A[i, j] = A[i, j] - b[j]");
    refuse("A[i, j] = b[i]*b[j] + A[i, j]");
    refuse("A[i, j] = b[i] - A[i, j]");
    refuse("A[i, j] = 2.0*(b[i] + A[i, j])");
    refuse("A[i, j] = b[i] + A[j, i] + b[j]");
    refuse("n[j] = 1 + n[j] + i");
    // The next iteration waits for the sum.
    refuse("A[i, j + 1] = b[i] + A[i, j + 1] + A[i, j]");
}

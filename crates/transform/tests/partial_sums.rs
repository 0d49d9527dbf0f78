//! Long sums in loops are split.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::split_long_sums;
use support::Pass;

const HEAD: &str = "kernel k linearized\ndomain { [i] : 0 <= i < 8 }\narg x : float64[8] readwrite\narg b : float64[32, 8] read\narg n : int64[8] readwrite\n";

const PASS: Pass = Pass { head: HEAD, run: split_long_sums };

/// The rows of `b` from one to before another, added up.
fn sum(from: usize, to: usize) -> String {
    let rows: Vec<String> = (from..to).map(|row| format!("b[{row}, i]")).collect();
    rows.join(" + ")
}

#[test]
fn parts_are_of_equal_length() {
    let parts = [sum(0, 10), sum(10, 20)].map(|part| format!("({part})")).join(" + ");
    PASS.check_part(&format!("for i\n  x[i] = {}\nend\n", sum(0, 20)), &format!("x[i] = {parts}"));
    let twice = format!("{} + {}", sum(0, 32), sum(0, 32));
    PASS.check_part(&format!("for i\n  x[i] = {twice}\nend\n"), &format!("x[i] = ({})", sum(0, 16)));
}

#[test]
fn what_an_update_adds_to_stays_at_the_end() {
    let parts = [sum(0, 9), sum(9, 17)].map(|part| format!("({part})")).join(" + ");
    PASS.check_part(&format!("for i\n  x[i] = {} + x[i]\nend\n", sum(0, 17)), &format!("x[i] = {parts} + x[i]"));
    PASS.check_part(&format!("for i\n  x[i] = x[i] + {}\nend\n", sum(0, 17)), &format!("x[i] = x[i] + {parts}"));
}

#[test]
fn other_sums_stay_as_they_are() {
    PASS.refuse(&format!("for i\n  x[i] = {}\nend\n", sum(0, 16)));
    PASS.refuse(&format!("for i\n  x[i] = {} + x[i]\nend\n", sum(0, 16)));
    let outside = sum(0, 20).replace("i]", "0]");
    PASS.refuse(&format!("x[0] = {outside}\n"));
    let whole: Vec<String> = (0..20).map(|at| format!("n[{}]", at % 8)).collect();
    PASS.refuse(&format!("for i\n  n[i] = {}\nend\n", whole.join(" + ")));
}

//! Limits that leave something out are reported.

#![allow(missing_docs, clippy::unwrap_used)]

use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_driver::optimize;
use nestegg_driver::report::LimitHit;
use nestegg_span::Source;

const STRATEGY: &str =
    ";; Shifts alone.\n\n;; Only values that recur at shifts.\n(strategy shifts :option (seeds rolled shifted))\n";

/// The limits that a kernel hits whose instructions have so many expressions each.
fn limits(n_instructions: usize, n_terms: usize) -> Vec<LimitHit> {
    let store = |at: usize| {
        let terms: Vec<String> = (0..n_terms).map(|term| format!("x[{term}]*{at}.{term}5")).collect();
        format!("y[{at}] = {}\n", terms.join(" + "))
    };
    let stores: String = (0..n_instructions).map(store).collect();
    let text =
        format!("kernel large\narg x : float64[{n_terms}] read\narg y : float64[{n_instructions}] write\n{stores}");
    let strategy = Strategy::InFile(Source::new("shifts.rules", STRATEGY));
    let config = Config { strategy, validation: Validation::Off, ..Config::of_operations() };
    optimize(&Source::new("large.knl", text), &config).unwrap().report.limits
}

#[test]
fn a_kernel_too_large_for_shifts_says_so() {
    let hit = LimitHit { place: "seed shifted".to_owned(), limit: "expressions".to_owned(), value: Some(20_000) };
    assert!(limits(600, 20).contains(&hit));
    assert!(!limits(60, 20).contains(&hit));
}

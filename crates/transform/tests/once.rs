//! Loops and reductions that run once are replaced by their bodies.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::without_loops_of_one;
use support::Pass;

const HEAD: &str = "kernel k linearized
param n : int64 = 1
domain { [j] : 0 <= j < 1 }
domain [j] -> { [k] : j < k < 2 }
domain { [c] : 0 <= c < 2 }
domain [c] -> { [d] : c < d < 2 }
domain { [q] : 2 <= q < 3 }
domain [n] -> { [p] : 0 <= p < 1 and p < n }
domain { [u, v] : 0 <= u < v < 2 }
domain { [s, t] : 0 <= s < 4 and 1 <= t < 2 }
domain { [i] : 0 <= i < 4 }
arg A : float64[4, 4] readwrite
arg x : float64[4] read
";

const PASS: Pass = Pass { head: HEAD, run: without_loops_of_one };

#[test]
fn loops_that_depend_on_each_other_run_once_together() {
    PASS.check("for j, k, i\n  A[k, i] = x[j]*x[i]\nend\n", "for i\nA[1, i] = x[0]*x[i]\nend");
    PASS.check("for u, v, i\n  A[v, i] = x[u]*x[i]\nend\n", "for i\nA[1, i] = x[0]*x[i]\nend");
}

#[test]
fn reductions_over_one_value_are_what_they_go_over() {
    PASS.check("for i\n  A[0, i] = sum(q, x[q]*x[i])\nend\n", "for i\nA[0, i] = x[2]*x[i]\nend");
    PASS.check("A[0, 0] = sum([q, i], x[q]*x[i])\n", "A[0, 0] = sum(i, x[2]*x[i])");
}

#[test]
fn other_loops_stay() {
    PASS.check("for p, i\n  A[p, i] = x[i]\nend\n", "for p, i\nA[p, i] = x[i]\nend");
    PASS.check("for s, t\n  A[t, s] = x[s]\nend\n", "for s, t\nA[t, s] = x[s]\nend");
    PASS.check("for c, d\n  A[c, d] = x[c]\nend\n", "for c, d\nA[c, d] = x[c]\nend");
}

//! Stores to elements that lie apart come after what is computed beside them.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::store_last;
use support::{Pass, assert_same_meaning, parse};

const HEAD: &str = "kernel k linearized\nparam n : int32 = 3\ndomain [n] -> { [e] : 0 <= e < n }\ndomain { [q] : 0 <= q < 2 }\ndomain { [i] : 1 <= i < 3 }\n\
                    domain [i] -> { [j] : 0 <= j < i }\ndomain { [m] : -1 <= m < 2 }\n\
                    arg x : float64[4] read\narg y : float64[4] readwrite\narg A : float64[4, 4] readwrite\narg E : float64[n, n] readwrite\narg F : float64[4, 2] readwrite\narg S : float32[4, 4] readwrite\n\
                    table P : int32[4] = [2, 0, 3, 1]\ntemp t : float64[4]\ntemp v : float64\n";

const PASS: Pass = Pass { head: HEAD, run: store_last };

#[test]
fn stores_that_lie_apart_come_last() {
    PASS.check(
        "for i\n  v = 0.0\n  for q\n    v = v + x[q]*x[i]\n  end\n  A[i, 0] = A[i, 0] - v\n  A[i, 1] = v + A[i, 1]\n  A[i, 2] = v*v\nend\n",
        "for i\nv = 0.0\nfor q\nv = v + x[q]*x[i]\nend\nstored_0[i] = v\nstored_1[i] = v*v\nend\n\
         for i\nA[i, 0] = A[i, 0] - stored_0[i]\nA[i, 1] = A[i, 1] + stored_0[i]\nA[i, 2] = stored_1[i]\nend",
    );
    // Where a table says; with neighbours that come along; in a triangle.
    PASS.check(
        "for i, j\n  t[j] = x[j]*x[i]\n  y[P[j]] = y[P[j]] + t[j]\n  A[i, j] = t[j]\nend\n",
        "for i\nfor j\nt[j] = x[j]*x[i]\nstored_0[j] = t[j]\nend\nfor j\ny[P[j]] = y[P[j]] + stored_0[j]\nA[i, j] = stored_0[j]\nend\nend",
    );
}

#[test]
fn what_changes_between_stores_is_kept_twice() {
    PASS.check(
        "for i\n  v = x[i]\n  A[i, 0] = v\n  v = v*x[0]\n  A[i, 1] = v\nend\n",
        "for i\nv = x[i]\nstored_0[i] = v\nv = v*x[0]\nstored_1[i] = v\nend\nfor i\nA[i, 0] = stored_0[i]\nA[i, 1] = stored_1[i]\nend",
    );
}

/// Values are kept as they are computed, and only stores round them.
#[test]
fn values_keep_their_types() {
    PASS.check_part("for i\n  v = x[i]\n  S[i, 0] = S[i, 0] + v*v\nend\n", "temp stored_0 : float64[3]");
}

#[test]
fn loops_that_stay() {
    // Nothing but stores; neighbours; the element of all iterations.
    PASS.refuse("for i\n  A[i, 0] = x[i]\n  A[i, 1] = x[i]\nend\n");
    PASS.refuse("for i\n  v = x[i]\n  y[i] = v*v\nend\n");
    PASS.refuse("for i\n  v = x[i]\n  y[0] = y[0] + v*v\nend\n");
    // Elements with neighbours that other stores fill.
    PASS.refuse("for i\n  v = x[i]\n  F[i, 0] = v\n  F[i, 1] = v*v\nend\n");
    // What the loop reads again, or writes elsewhere too.
    PASS.refuse("for i\n  v = A[0, i]\n  A[i, 0] = v*v\nend\n");
    PASS.refuse("for i\n  v = x[i]\n  A[i, 0] = v\n  for q\n    A[q, i] = v\n  end\nend\n");
    PASS.refuse("for i\n  v = x[i]\n  A[i, 0] = A[i - 1, 0] + v\nend\n");
    // What a condition asks for.
    PASS.refuse("for i\n  v = x[i]\n  A[i, 0] = v*v\n  if A[0, 0] > 0.5\n    y[0] = v\n  end\nend\n");
    // Not always; an index that changes; values that are not known, or below zero.
    PASS.refuse("for i\n  v = x[i]\n  A[i, 0] = v  {if=v > 0.5}\nend\n");
    PASS.refuse("for e\n  v = x[0]\n  E[e, 0] = v*v\nend\n");
    PASS.refuse("for m\n  v = x[m + 1]\n  A[m + 1, 0] = v*v\nend\n");
}

/// Whatever is computed and stored: the kernel means the same.
#[test]
fn all_small_loops() {
    let lines = [
        "v = x[j]",
        "v = v*x[0]",
        "t[j] = v",
        "v = v + t[j]",
        "A[i, j] = A[i, j] + v",
        "A[j, i] = A[j, i] - t[j]",
        "A[j, 0] = v + A[j, 0]",
        "A[j, i] = A[i, j]",
        "y[P[j]] = v",
        "y[j] = y[P[j]] + v",
        "A[i, j] = A[i, j] + y[j]",
        "y[P[j]] = v*A[j, i]",
    ];
    let mut n_split = 0;
    for first in lines {
        for second in lines {
            for third in lines {
                let body = format!("  v = 0.5\n  t[j] = 0.25\n  {first}\n  {second}\n  {third}\n");
                let input = parse("test", &format!("{HEAD}for i, j\n{body}end\n"));
                if let Some(output) = store_last(&input.clone().into_linearized().unwrap()) {
                    assert_same_meaning("test", &input, &output);
                    n_split += 1;
                }
            }
        }
    }
    assert!(n_split > 100, "{n_split} loops split");
}

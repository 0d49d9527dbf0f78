//! Loops over equally long ranges get one iname, and mean the same.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::align_loops;
use support::Pass;

const HEAD: &str = "kernel k linearized\nparam n : int32 = 5\ndomain { [i] : 0 <= i < 4 }\ndomain { [j] : 2 <= j < 6 }\ndomain { [k] : 1 <= k < 4 }\ndomain { [l] : 0 <= l < 4 }\n\
                    domain [n] -> { [p] : 0 <= p < n - 1 }\ndomain [n] -> { [q] : 1 <= q < n }\ndomain [n] -> { [r] : 0 <= r < n }\ndomain [i] -> { [b] : 0 <= b <= i }\n\
                    domain { [d] : 0 <= d < 8 and d mod 2 = 0 }\ndomain { [e] : 1 <= e < 9 and e mod 2 = 1 }\ndomain { [o] : 0 <= o < 4 }\n\
                    arg x : float64[n] read\narg y : float64[n] readwrite\narg A : float64[9, 9] readwrite\narg w : float64[9] readwrite\ntemp t : float64[4]\ntag o sequential\n";

const PASS: Pass = Pass { head: HEAD, run: align_loops };

#[test]
fn equal_ranges_and_shifted_ones() {
    PASS.check(
        "for i\n  w[i] = w[i]*2.0\nend\nfor j\n  w[j + 1] = w[j - 1]\nend\n",
        "for i\nw[i] = w[i]*2.0\nend\nfor i\nw[i + 3] = w[i + 1]\nend",
    );
    PASS.check(
        "for i, k\n  A[i, k] = 0.5\nend\nfor l, k\n  A[k, l] = A[k, l] + 1.0\nend\n",
        "for i, k\nA[i, k] = 0.5\nend\nfor i, k\nA[k, i] = A[k, i] + 1.0\nend",
    );
}

#[test]
fn ranges_with_parameters_and_strides() {
    PASS.check(
        "for p\n  y[p] = x[p]\nend\nfor q\n  y[q] = x[q - 1]*y[q]\nend\n",
        "for p\ny[p] = x[p]\nend\nfor p\ny[p + 1] = x[p]*y[p + 1]\nend",
    );
    PASS.check(
        "for d\n  w[d] = 1.0\nend\nfor e\n  w[e] = 2.0\nend\n",
        "for d\nw[d] = 1.0\nend\nfor d\nw[d + 1] = 2.0\nend",
    );
}

/// A loop inside another stands beside those at its own depth.
#[test]
fn depths_are_told_apart() {
    PASS.check(
        "for i, j\n  A[i, j] = 1.0\nend\nfor l\n  for k\n    A[l, k] = A[l, k] + 1.0\n  end\n  w[l] = 2.0\nend\n",
        "for i, j\nA[i, j] = 1.0\nend\nfor i\nfor k\nA[i, k] = A[i, k] + 1.0\nend\nw[i] = 2.0\nend",
    );
}

#[test]
fn loops_that_keep_their_inames() {
    // Other lengths; bounds of others; tags; an iname that is open already.
    PASS.refuse("for i\n  w[i] = 1.0\nend\nfor k\n  w[k] = 2.0\nend\n");
    PASS.refuse("for p\n  y[p] = 1.0\nend\nfor r\n  y[r] = 2.0\nend\n");
    PASS.refuse("for l\n  w[l] = 1.0\nend\nfor i, b\n  A[i, b] = 2.0\nend\n");
    PASS.refuse("for i\n  w[i] = 1.0\nend\nfor o\n  w[o] = 2.0\nend\n");
    PASS.refuse("for i\n  w[i] = 1.0\nend\nfor l, i\n  A[l, i] = 2.0\nend\n");
}

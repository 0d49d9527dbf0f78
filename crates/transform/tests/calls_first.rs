//! Calls that compilers cannot put into lanes come before what is computed with them.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::call_first;
use support::Pass;

const HEAD: &str = "kernel k linearized\nparam n : int32 = 3\ndomain [n] -> { [e] : 0 <= e < n }\ndomain { [q] : 0 <= q < 2 }\ndomain { [i] : 1 <= i < 3 }\n\
                    domain { [m] : -1 <= m < 2 }\n\
                    arg x : float64[4] read\narg y : float64[4] readwrite\narg z : float64[4] readwrite\narg A : float64[4, 4] readwrite\narg s : float32[4] readwrite\n\
                    temp t : float64[4]\ntemp v : float64\n";

const PASS: Pass = Pass { head: HEAD, run: call_first };

#[test]
fn calls_get_a_loop_of_their_own() {
    PASS.check(
        "for q, i\n  v = x[i]*x[q]\n  A[q, i] = v + f(x[i], 2.0*x[q])*x[i]\n  y[i] = y[i] - f(x[i], 2.0*x[q])\nend\n",
        "for q\nfor i\ncalled_0[i] = f(x[i], 2.0*x[q])\nend\nfor i\nv = x[i]*x[q]\nA[q, i] = v + called_0[i]*x[i]\ny[i] = y[i] - called_0[i]\nend\nend",
    );
}

/// Calls in arguments of calls are read by these, and by others.
#[test]
fn calls_of_calls() {
    PASS.check(
        "for i\n  y[i] = x[0]*f(f(x[i], x[1]), x[2])\n  z[i] = x[0] + f(x[i], x[1])\nend\n",
        "for i\ncalled_0[i] = f(x[i], x[1])\ncalled_1[i] = f(called_0[i], x[2])\nend\nfor i\ny[i] = x[0]*called_1[i]\nz[i] = x[0] + called_0[i]\nend",
    );
}

#[test]
fn calls_that_stay() {
    // Vectors have these.
    PASS.refuse("for i\n  y[i] = x[0]*exp(x[i]) + sqrt(x[1])\nend\n");
    // Nothing beside the call.
    PASS.refuse("for i\n  y[i] = f(x[i], 2.0*x[1])\nend\n");
    // What the loop changes; not always; other loops inside; values that are not known, or below zero.
    PASS.refuse("for i\n  v = x[i]*x[0]\n  y[i] = 2.0*f(v, x[1])\nend\n");
    PASS.refuse("for i\n  y[i] = 2.0*f(x[i], x[1])  {if=x[0] > 0.5}\nend\n");
    PASS.refuse("for i\n  y[i] = 2.0*if(x[0] > 0.5, f(x[i], x[1]), x[2])\nend\n");
    PASS.refuse("for i\n  y[i] = 2.0*f(x[i], x[1])\n  for q\n    z[q] = x[i]\n  end\nend\n");
    PASS.refuse("for e\n  y[0] = y[0] + 2.0*f(x[0], x[1])\nend\n");
    PASS.refuse("for m\n  y[m + 1] = 2.0*f(x[m + 1], x[1])\nend\n");
}

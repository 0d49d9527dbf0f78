//! Stored values are computed again where they are read.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::recompute;
use support::Pass;

const HEAD: &str = "kernel k linearized\ndomain { [i, j] : 1 <= i, j < 6 }\ndomain { [p, q] : 2 <= p, q < 5 }\ndomain { [r] : 0 <= r < 3 }\n\
                    arg x : float64[9, 9] readwrite\narg y : float64[9, 9] readwrite\narg a : float64 read\narg w : float64[9] readwrite\n\
                    temp s : float64[9, 9]\ntemp f : float32[9, 9]\ntemp v : float64\n";

const PASS: Pass = Pass { head: HEAD, run: |kernel| recompute(kernel, "s") };

const STORE: &str = "for i, j\n  s[i + 1, j] = a*x[i, j]\nend\n";

#[test]
fn readers_compute_elements() {
    PASS.check(
        &format!("{STORE}for p, q\n  y[p, q] = s[p + 1, q] - s[p, q + 1]\nend\n"),
        "for p, q\ny[p, q] = a*x[p, q] - a*x[p + -1, q + 1]\nend",
    );
    // Other axes first; several readers, one of them in a loop inside another.
    PASS.check(
        "for i, j\n  s[j, i] = x[i, j]*x[i, j]\nend\nfor p\n  w[p] = s[p, 3]\n  for q\n    y[p, q] = s[q, p]\n  end\nend\n",
        "for p\nw[p] = x[3, p]*x[3, p]\nfor q\ny[p, q] = x[p, q]*x[p, q]\nend\nend",
    );
    // What changes later, or before.
    let read = "for p, q\n  y[p, q] = s[p + 1, q]\nend\n";
    PASS.check(
        &format!("for r\n  x[r, r] = 1.0\nend\n{STORE}{read}for r\n  x[r, 0] = 2.0\nend\n"),
        "for r\nx[r, r] = 1.0\nend\nfor p, q\ny[p, q] = a*x[p, q]\nend\nfor r\nx[r, 0] = 2.0\nend",
    );
}

#[test]
fn arrays_that_stay() {
    let read = "for p, q\n  y[p, q] = s[p + 1, q]\nend\n";
    // What they are made of changes in between, or where they are read.
    PASS.refuse(&format!("{STORE}for r\n  x[r, r] = 1.0\nend\n{read}"));
    PASS.refuse(&format!("{STORE}for p, q\n  x[p, q] = s[p + 1, q]\nend\n"));
    // Two stores; a condition; another place for each value.
    PASS.refuse(&format!("{STORE}{STORE}{read}"));
    PASS.refuse(&format!("for i, j\n  s[i + 1, j] = a*x[i, j]  {{if=x[i, j] > 0.5}}\nend\n{read}"));
    PASS.refuse(&format!("for i, j\n  s[2*i - 1, j] = a*x[i, j]\nend\n{read}"));
    PASS.refuse("for i, j\n  s[i, i] = a*x[i, j]\nend\nfor p, q\n  y[p, q] = s[p, p]\nend\n");
    // Readers in the same nest.
    PASS.refuse("for i\n  for j\n    s[i, j] = a*x[i, j]\n  end\n  w[i] = s[i, 3]\nend\n");
    // Whose reader asks where it is, or nobody reads it.
    PASS.refuse(STORE);
}

/// A store to `float32` rounds, so that other values would come out.
#[test]
fn rounded_values_stay() {
    let rounded = Pass { head: HEAD, run: |kernel| recompute(kernel, "f") };
    rounded.refuse("for i, j\n  f[i, j] = a*x[i, j]\nend\nfor p, q\n  y[p, q] = f[p, q]\nend\n");
}

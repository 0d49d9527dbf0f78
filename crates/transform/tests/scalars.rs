//! Elements that loops write again and again are scalars.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::replace_by_scalars;
use support::Pass;

const HEAD: &str = "kernel k linearized\nparam n : int32 = 4\nparam m : int32 = 3\nassume [n, m] -> { : n >= 1 }\ndomain [n] -> { [i] : 0 <= i < n }\n\
                    domain [n] -> { [j] : 0 <= j < n }\ndomain [m] -> { [k] : 0 <= k < m }\ndomain [i] -> { [h] : 0 <= h < i }\ndomain [i] -> { [g] : 0 <= g <= i }\ndomain { [s] : 0 <= s < 4 }\n\
                    arg A : float64[n, n] read\narg x : float64[n] read\narg y : float64[n] readwrite\narg z : float64[n] readwrite\narg w : float64[n + 1] readwrite\narg p : int32[n] readwrite\n";

const PASS: Pass = Pass { head: HEAD, run: replace_by_scalars };

#[test]
fn sums_in_elements() {
    PASS.check(
        "for i\n  for j\n    y[i] = y[i] + A[i, j]*x[j]\n  end\nend\n",
        "for i\ny_element_0 = y[i]\nfor j\ny_element_0 = y_element_0 + A[i, j]*x[j]\nend\ny[i] = y_element_0\nend",
    );
    // What is set before it is read is not loaded; two elements at once.
    PASS.check(
        "for j\n  y[0] = x[j]\n  z[1] = z[1] + y[0]\nend\n",
        "z_element_0 = z[1]\nfor j\ny_element_0 = x[j]\nz_element_0 = z_element_0 + y_element_0\nend\ny[0] = y_element_0\nz[1] = z_element_0",
    );
}

#[test]
fn elements_that_are_written_beside_those_read() {
    PASS.check(
        "for i\n  for h\n    w[i] = w[i] - x[h]*w[h]\n  end\n  w[i] = 0.5*w[i]\nend\n",
        "for i\nw_element_0 = w[i]\nfor h\nw_element_0 = w_element_0 - x[h]*w[h]\nend\nw[i] = w_element_0\nw[i] = 0.5*w[i]\nend",
    );
    // The loop may be empty, and then nothing touches the element, or nobody has given it a value; it is one of those that are read.
    PASS.refuse("for i\n  w[i] = 0.5\n  for h\n    w[i] = x[h]\n  end\nend\n");
    PASS.refuse("for i, h\n  w[i] = w[i] - x[h]*w[h]\nend\n");
    PASS.refuse("for i\n  for h\n    w[i] = w[i] - x[h]*w[h]\n  end\n  w[i] = 0.5*w[i]  {if=x[i] > 0.0}\nend\n");
    PASS.refuse("for i\n  for g\n    w[i] = w[i] - x[g]*w[g]\n  end\n  w[i] = 0.5*w[i]\nend\n");
}

#[test]
fn elements_that_are_read_beside_those_written() {
    PASS.check(
        "for i, g\n  w[g] = w[g] + x[g]*w[i + 1]\nend\n",
        "for i\nw_element_0 = w[i + 1]\nfor g\nw[g] = w[g] + x[g]*w_element_0\nend\nend",
    );
    // It is one of those that are written; a condition decides whether it is read; the loop may be empty.
    PASS.refuse("for i, g\n  w[g] = w[g] + x[g]*w[i]\nend\n");
    PASS.refuse("for i, g\n  w[g] = w[g] + (w[i + 1] if x[g] > 0.0 else 0.0)\nend\n");
    PASS.refuse("for i, g\n  w[g] = w[g] + x[g]*w[i + 1]  {if=x[g] > 0.0}\nend\n");
    PASS.refuse("for i, h\n  w[h] = w[h] + x[h]*w[i + 1]\nend\n");
}

#[test]
fn others_stay_in_memory() {
    // Elements of each iteration, other elements of the array, integers.
    PASS.refuse("for i, j\n  y[j] = y[j] + A[i, j]\nend\n");
    PASS.refuse("for i, j\n  y[i] = y[i] + y[j]\nend\n");
    PASS.refuse("for j\n  y[0] = x[j]\n  y[j] = 1.0\nend\n");
    PASS.refuse("for j\n  p[0] = p[0] + 1\nend\n");
    // An element that other elements or data name, a condition, a loop that may be empty.
    PASS.refuse("for j\n  y[p[0]] = y[p[0]] + x[j]\nend\n");
    PASS.refuse("for j\n  y[0] = y[0] + x[j]  {if=x[j] > 0.0}\nend\n");
    PASS.refuse("for j\n  if x[j] > 0.0\n    y[0] = y[0] + x[j]\n  end\nend\n");
    PASS.refuse("for k\n  y[0] = y[0] + x[k]\nend\n");
    PASS.refuse("for i\n  for h\n    y[i] = y[i] + x[h]\n  end\nend\n");
    // A short loop.
    PASS.refuse("for s\n  y[0] = y[0] + x[0]*s\nend\n");
    // A loop that is not innermost.
    PASS.refuse("for i\n  z[0] = 1.0\n  for j\n    y[j] = z[0]*x[j]\n  end\nend\n");
}

//! Short loops become as long as vectors.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_ir::LinearizedKernel;
use nestegg_transform::pad_rows;
use support::{Pass, assert_same_meaning, parse};

const HEAD: &str = "kernel k linearized\nparam n : int32 = 3\ndomain { [j] : 0 <= j < 3 }\ndomain { [i] : 0 <= i < 2 }\ndomain { [m] : 0 <= m < 4 }\ndomain [n] -> { [e] : 0 <= e < n }\n\
                    domain [i] -> { [l] : 0 <= l < 2 + i }\narg x : float64[3] read\narg y : float64[3] readwrite\narg c : int32[3] read\n\
                    table P : int32[3] = [2, 0, 1]\ntable T : float64[3, 2] = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]\n\
                    temp t : float64[3]\ntemp u : float64[2, 3]\ntemp w : float64[3, 2]\ntemp f : float32[3]\ntemp v : float64\ntemp s : float64\n";

/// The bytes of four float64.
const BYTES: u64 = 32;

fn padded(kernel: &LinearizedKernel) -> Option<LinearizedKernel> {
    pad_rows(kernel, BYTES)
}

const PASS: Pass = Pass { head: HEAD, run: padded };

#[test]
fn rows_and_tables_get_an_element_more() {
    let body = "for j\n  t[j] = T[j, 1]*x[0]\nend\nfor i, j\n  v = t[j]*T[j, i]\n  u[i, j] = v*v\nend\ny[0] = u[0, 0] + u[1, 2]\n";
    PASS.check(
        body,
        "for j_0\nt[j_0] = padded_0[1, j_0]*x[0]\nend\nfor i, j_1\nv = t[j_1]*padded_0[i, j_1]\nu[i, j_1] = v*v\nend\ny[0] = u[0, 0] + u[1, 2]",
    );
    PASS.check_part(body, "temp u : float64[2, 4]");
    PASS.check_part(body, "[[1.0, 3.0, 5.0, 5.0], [2.0, 4.0, 6.0, 6.0]]");
    PASS.check_part(body, "{ [j_0] : 0 <= j_0 < 4 }");
}

#[test]
fn loops_inside_stay() {
    PASS.check(
        "for j\n  t[j] = 0.0\n  for i\n    t[j] = t[j] + T[j, i]*x[i]\n  end\nend\ny[0] = t[0]\n",
        "for j_0\nt[j_0] = 0.0\nfor i\nt[j_0] = t[j_0] + padded_0[i, j_0]*x[i]\nend\nend\ny[0] = t[0]",
    );
}

/// The order in which sums are added up is what it was.
#[test]
fn terms_of_sums_are_added_up_behind() {
    PASS.check(
        "s = 0.5\nfor j\n  t[j] = x[0]*T[j, 0]\n  v = t[j]*t[j] + x[1]*t[j]\n  s = s + v*(v + x[1])\n  y[1] = y[1] - v*v*(x[2] + v)\nend\ny[0] = s + t[2]\n",
        "s = 0.5\nfor j_0\nt[j_0] = x[0]*padded_0[0, j_0]\nv = t[j_0]*t[j_0] + x[1]*t[j_0]\nterms_0[j_0] = v*(v + x[1])\nterms_1[j_0] = v*v*(x[2] + v)\nend\n\
         for j\ns = s + terms_0[j]\ny[1] = y[1] - terms_1[j]\nend\ny[0] = s + t[2]",
    );
}

#[test]
fn what_others_write_last_is_repeated() {
    PASS.check(
        "t[0] = x[0]\nt[1] = x[1]\nt[2] = x[2]\nfor j\n  u[1, j] = t[j]*t[j]\nend\ny[0] = u[1, 2]\n",
        "t[0] = x[0]\nt[1] = x[1]\nt[2] = x[2]\nt[3] = t[2]\nfor j_0\nu[1, j_0] = t[j_0]*t[j_0]\nend\ny[0] = u[1, 2]",
    );
}

#[test]
fn loops_that_stay() {
    // Rows of arguments; along the first axis; of four elements.
    PASS.refuse("for j\n  y[j] = T[j, 0]*x[0]\nend\n");
    PASS.refuse("for j\n  t[j] = x[j]\nend\ny[0] = t[0]\n");
    PASS.refuse("for j\n  w[j, 0] = T[j, 0]\nend\ny[0] = w[0, 0]\n");
    PASS.refuse("for m\n  v = x[0]*m\n  s = v*v\nend\ny[0] = s\n");
    // Vectors of eight elements have four in their half, but here are two types.
    PASS.refuse("for j\n  f[j] = T[j, 0]\n  t[j] = T[j, 1]\nend\ny[0] = t[0] + f[0]\n");
    // The iname itself; other elements of the row; a condition.
    PASS.refuse("for j\n  t[j] = j*x[0]\nend\ny[0] = t[0]\n");
    PASS.refuse("for j\n  t[-1*j + 2] = T[j, 0]\nend\ny[0] = t[0]\n");
    PASS.refuse("for j\n  t[j] = T[j, 0]  {if=x[0] > 0.5}\nend\ny[0] = t[0]\n");
    PASS.refuse("for j\n  if x[0] > 0.5\n    t[j] = T[j, 0]\n  end\nend\ny[0] = t[0]\n");
    // How often it runs is no number, or depends on a loop.
    PASS.refuse("for e\n  t[e] = x[0]\nend\ny[0] = t[0]\n");
    PASS.refuse("for i, l\n  t[l] = x[i]\nend\ny[0] = t[0]\n");
    // Others write its last element under a condition, add to it, or at a place that is not known.
    PASS.refuse("t[2] = x[0]  {if=x[0] > 0.5}\nfor j\n  u[0, j] = t[j]\nend\ny[0] = u[0, 0]\n");
    PASS.refuse("t[2] = x[0]\nt[2] = t[2] + x[1]\nfor j\n  u[0, j] = t[j]\nend\ny[0] = u[0, 0]\n");
    PASS.refuse("for j\n  t[j] = T[j, 0]\nend\nt[c[0] % 3] = x[0]\ny[0] = t[0]\n");
    // A scalar that comes from the iteration before, or is read behind; a sum that the loop reads, or of little.
    PASS.refuse("v = x[0]\nfor j\n  t[j] = v*T[j, 0]\n  v = t[j]\nend\ny[0] = t[0]\n");
    PASS.refuse("for j\n  v = T[j, 0]\n  t[j] = v*v\nend\ny[0] = t[0] + v\n");
    PASS.refuse("s = 0.0\nfor j\n  s = s + T[j, 0]\n  t[j] = s*s + s*x[0] + x[1]*s\nend\ny[0] = t[0] + s\n");
    PASS.refuse("s = 0.0\nfor j\n  t[j] = T[j, 0]\n  s = s + t[j]*x[0]\nend\ny[0] = s\n");
}

/// Whatever the loops do: the kernel means the same.
#[test]
fn all_small_loops() {
    let lines = [
        "v = T[j, 0]*x[1]",
        "t[j] = v*x[0]",
        "t[j] = t[j] + v",
        "u[i, j] = t[j]*v",
        "u[1, j] = u[0, j]*T[j, 1]",
        "v = v*u[i, j] + u[0, 2]*v + u[1, 1]",
        "s = s + v*(v + t[j]*(v + u[i, j]))",
        "y[P[i]] = y[P[i]] - v*v*(v + t[j])*v",
        "y[1] = y[1] + s",
        "t[j] = x[P[j]] + t[2]",
    ];
    let mut n_padded = 0;
    for before in ["t[2] = x[2]", "t[c[1] % 3] = x[0]"] {
        for first in lines {
            for second in lines {
                for third in lines {
                    let body = format!(
                        "s = 0.5\nt[0] = 0.25\nt[1] = 0.75\nt[2] = 0.5\n{before}\nfor i, j\n  u[i, j] = T[j, i]\nend\n\
                         for i, j\n  v = T[j, 1]\n  {first}\n  {second}\n  {third}\nend\ny[0] = s + t[2] + u[1, 2]\n"
                    );
                    let input = parse("test", &format!("{HEAD}{body}"));
                    if let Some(output) = padded(&input.clone().into_linearized().unwrap()) {
                        assert_same_meaning("test", &input, &output);
                        n_padded += 1;
                    }
                }
            }
        }
    }
    assert!(n_padded > 500, "{n_padded} kernels padded");
}

//! Triangles of loops become loops over their points, with packed arrays.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::coalesce_triangles;
use support::{Pass, assert_same_meaning, parse};

const HEAD: &str = "kernel k linearized\nparam n : int32 = 3\ndomain [n] -> { [e] : 0 <= e < n }\ndomain { [q] : 0 <= q < 2 }\ndomain { [i] : 0 <= i < 2 }\n\
                    domain [i] -> { [j] : i < j < 3 }\ndomain [e] -> { [h] : 0 <= h <= e }\ndomain [j] -> { [l] : 0 <= l < j }\n\
                    domain { [r] : 0 <= r < 1 }\ndomain { [s] : 1 <= s < 3 }\ndomain { [m] : 0 <= m < 3 }\n\
                    arg x : float64[2] read\narg y : float64[4] readwrite\narg A : float64[3, 3] readwrite\narg E : float64[n, n] readwrite\n\
                    table B : float64[2, 2, 3] = [[[0.5, 0.25, 2.0], [1.5, 0.75, 4.0]], [[0.1, 0.2, 0.3], [0.4, 0.6, 0.7]]]\n\
                    temp t : float64[3, 3]\ntemp u : float64[2, 3, 3]\ntemp v : float64\n";

const PASS: Pass = Pass { head: HEAD, run: coalesce_triangles };

#[test]
fn arrays_over_a_triangle_are_packed() {
    PASS.check(
        "for i, j\n  t[i, j - 1] = x[i]*B[0, i, j]\nend\nfor i, j\n  A[i, j] = A[i, j] + t[i, j - 1]\n  A[j, i] = A[j, i] + t[i, j - 1]\nend\n",
        "for i_0\nt[i_0] = x[point_0[i_0]]*packed_0[0, i_0]\nend\n\
         for i_0\nA[point_0[i_0], point_1[i_0]] = A[point_0[i_0], point_1[i_0]] + t[i_0]\n\
         A[point_1[i_0], point_0[i_0]] = A[point_1[i_0], point_0[i_0]] + t[i_0]\nend",
    );
}

#[test]
fn rectangles_come_along_where_an_array_needs_it() {
    // The parts of a triangle that are written apart, and one element.
    PASS.check(
        "for i, j\n  t[i, j] = x[i]*B[0, i, j]\nend\nfor r, s\n  t[r, s] = t[r, s] + x[r]\nend\nt[1, 2] = x[0]\nfor i, j\n  A[i, j] = t[i, j]\nend\n",
        "for i_0\nt[i_0] = x[point_0[i_0]]*packed_0[0, i_0]\nend\nfor r_0\nt[r_0] = t[r_0] + x[0]\nend\nt[2] = x[0]\n\
         for i_0\nA[point_0[i_0], point_1[i_0]] = t[i_0]\nend",
    );
    // What is read along other loops stays an array of two axes.
    PASS.check_part(
        "for m\n  t[m, m] = x[0]\nend\nfor i, j\n  t[i, j] = x[i]\nend\nfor m\n  y[m] = t[m, m]\nend\n",
        "t[point_0[i_0], point_1[i_0]] = x[point_0[i_0]]",
    );
}

#[test]
fn several_triangles_around_each_other() {
    PASS.check_part(
        "for q\n  for i, j\n    u[q, i, j] = x[q]*B[q, i, j]\n  end\nend\nfor i, j\n  for q\n    A[i, j] = A[i, j] + u[q, i, j]\n  end\nend\n",
        "u[q, i_0] = x[q]*packed_0[q, i_0]",
    );
}

#[test]
fn loops_that_stay() {
    // No triangle; one around which bounds depend on parameters; one around a loop that depends on it; one that is not directly around the other.
    PASS.refuse("for m, s\n  A[m, s] = x[0]\nend\n");
    PASS.refuse("for e, h\n  E[e, h] = x[0]\nend\n");
    PASS.refuse("for i, j, l\n  A[l, j] = x[i]\nend\n");
    PASS.refuse("for i\n  y[i] = x[i]\n  for j\n    A[i, j] = x[i]\n  end\nend\n");
}

/// Whatever is read and written over triangles and rectangles: the kernel means the same.
#[test]
fn all_small_loops() {
    let nests = [
        "for i, j\n  t[i, j] = x[i]*B[0, i, j]\nend\n",
        "for i, j\n  t[j, i] = B[1, i, j] - x[0]*B[0, i, j]\nend\n",
        "for i, j\n  t[2 - i, j - 1] = B[0, 1 - i, j - i]\nend\n",
        "for r, s\n  t[r, s] = x[r]*s\nend\n",
        "for m, s\n  t[m, s] = B[0, 1, m]\nend\n",
        "for r, s\n  for i, j\n    A[i, s] = A[i, s] + x[r]*j\n  end\nend\n",
        "t[0, 1] = x[1]\n",
        "for i, j\n  v = x[i]\n  for r\n    v = v + B[r, i, j]*x[r]\n  end\n  A[i, j] = A[i, j] + v\n  A[j, i] = A[j, i] - v\nend\n",
        "for q, i, j\n  A[i, j] = A[i, j] + B[q, i, j]*x[q]  {if=j > q}\nend\n",
    ];
    let fill = "for i, j\n  t[i, j] = 0.5\n  t[j, i] = 0.25*j\nend\n";
    let last = "for i, j\n  A[i, j] = A[i, j] + t[i, j]\n  A[j - 1, i] = t[j, i]\nend\n";
    let mut n_packed = 0;
    for first in nests {
        for second in nests {
            let input = parse("test", &format!("{HEAD}{fill}{first}{second}{last}"));
            let output = coalesce_triangles(&input.clone().into_linearized().unwrap()).unwrap();
            n_packed += usize::from(support::text(output.clone()).contains("temp t : float64[6]"));
            assert_same_meaning("test", &input, &output);
        }
    }
    assert!(n_packed > 20, "t is packed in {n_packed} kernels");
}

//! Triangular solves go along rows.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::look_right;
use support::{Pass, assert_same_meaning, parse};

const HEAD: &str = "kernel k linearized\nparam n : int32 = 6\nassume [n] -> { : n >= 1 }\ndomain [n] -> { [i] : 0 <= i < n }\n\
                    domain [i] -> { [j] : 0 <= j < i }\ndomain [j] -> { [k] : 0 <= k < j }\ndomain [i] -> { [l] : 1 <= l < i }\ndomain [l] -> { [h] : 0 <= h < l }\n\
                    domain [j] -> { [g] : 0 <= g <= j }\narg A : float64[n, n] readwrite\narg y : float64[n] readwrite\narg z : float64[n] readwrite\ntemp v : float64\n";

const PASS: Pass = Pass { head: HEAD, run: look_right };

#[test]
fn the_lower_half_of_an_elimination() {
    let expected = "for i, j\nA_element_0 = A[i, j]/A[j, j]\nA[i, j] = A_element_0\nfor j_0\nA[i, j_0] = A[i, j_0] - A_element_0*A[j, j_0]\nend\nend";
    PASS.check(
        "for i, j\n  for k\n    A[i, j] = A[i, j] - A[i, k]*A[k, j]\n  end\n  A[i, j] = A[i, j]/A[j, j]\nend\n",
        expected,
    );
    PASS.check(
        "for i, j\n  v = A[i, j]\n  for k\n    v = v - A[i, k]*A[k, j]\n  end\n  A[i, j] = v/A[j, j]\nend\n",
        expected,
    );
    PASS.check(
        "for i, j\n  v = A[i, j]\n  for k\n    v = v - A[i, k]*A[k, j]\n  end\n  A[i, j] = v\n  A[i, j] = A[i, j]/A[j, j]\nend\n",
        expected,
    );
}

#[test]
fn updates_that_are_no_sums() {
    PASS.check(
        "for i, j\n  for k\n    A[i, j] = (0.5*A[i, j] + A[i, k])*A[k, j]\n  end\n  A[i, j] = sqrt(A[i, j]*A[i, j] + 1.0)\nend\n",
        "for i, j\nA_element_0 = sqrt(A[i, j]*A[i, j] + 1.0)\nA[i, j] = A_element_0\nfor j_0\nA[i, j_0] = (0.5*A[i, j_0] + A_element_0)*A[j, j_0]\nend\nend",
    );
}

#[test]
fn rows_stay_rows() {
    // Along rows already; both orders go down a column.
    PASS.refuse("for i, j\n  for k\n    y[j] = y[j] - A[j, k]*y[k]\n  end\n  y[j] = y[j]/A[j, j]\nend\n");
    PASS.refuse(
        "for i, j\n  for k\n    A[j, i] = A[j, i] - A[k, i]*A[k, j]\n  end\n  A[j, i] = A[j, i]/A[j, j]\nend\n",
    );
}

#[test]
fn what_is_not_complete() {
    // The update reads the element itself, or one that comes later.
    PASS.refuse(
        "for i, j\n  for k\n    A[i, j] = A[i, j] - A[i, k + 1]*A[k, j]\n  end\n  A[i, j] = A[i, j]/A[j, j]\nend\n",
    );
    // So does the last step.
    PASS.refuse(
        "for i, j\n  for k\n    A[i, j] = A[i, j] - A[i, k]*A[k, j]\n  end\n  A[i, j] = A[i, j]/A[i, j + 1]\nend\n",
    );
    PASS.refuse("for i, j\n  v = A[i, j]\n  for k\n    v = v - A[i, k]*A[k, j]\n  end\n  A[i, j] = v/A[i, j]\nend\n");
    // Updates by what the loop does not compute, and by the element itself.
    PASS.refuse(
        "for i, l\n  for h\n    A[i, l] = A[i, l] - A[i, h]*A[h, l]\n  end\n  A[i, l] = A[i, l]/A[l, l]\nend\n",
    );
    PASS.refuse(
        "for i, j\n  for g\n    A[i, j] = A[i, j] - A[i, g]*A[g, j]\n  end\n  A[i, j] = A[i, j]/A[j, j]\nend\n",
    );
}

#[test]
fn what_others_know() {
    PASS.refuse(
        "for i, j\n  v = A[i, j]\n  for k\n    v = v - A[i, k]*A[k, j]\n  end\n  A[i, j] = v/A[j, j]\nend\nz[0] = v\n",
    );
    PASS.refuse("for i, j\n  v = y[j]\n  for k\n    v = v - A[i, k]*A[k, j]\n  end\n  A[i, j] = v/A[j, j]\nend\n");
    PASS.refuse(
        "for i, j\n  for k\n    A[i, j] = A[i, j] - A[i, k]*A[k, j]  {if=y[k] > 0.0}\n  end\n  A[i, j] = A[i, j]/A[j, j]\nend\n",
    );
}

/// Whatever is read and updated: where a loop turns, the kernel means the same.
#[test]
fn all_small_solves() {
    let head = "kernel k linearized\ndomain { [i] : 0 <= i < 5 }\ndomain [i] -> { [j] : 0 <= j < i }\ndomain [j] -> { [k] : 0 <= k < j }\n\
                domain [i, j] -> { [h] : 0 <= h < i and h <= j }\narg A : float64[6, 6] readwrite\narg y : float64[6] readwrite\ntemp v : float64\n";
    let elements = ["A[i, j]", "A[j, i]", "A[i, i - j]", "A[j, j]", "y[j]"];
    let reads = ["A[i, k]", "A[k, j]", "A[j, k]", "A[k, i]", "A[i, k + 1]", "A[i, i - k]", "y[k]", "y[j]", "A[k, k]"];
    let lasts = ["A[j, j]", "A[i, j + 1]", "A[j + 1, j]", "y[j]", "A[i, i - j]", "A[i, 0]"];
    let (mut n_turned, mut n_kept) = (0, 0);
    for element in elements {
        for (at, one) in reads.iter().enumerate() {
            for other in &reads[at..] {
                for last in lasts {
                    for k in ["k", "h"] {
                        let update = format!("E = E - {one}*{other}").replace('E', element).replace('k', k);
                        let text = format!(
                            "{head}for i, j\n  for {k}\n    {update}\n  end\n  {element} = {element}/({last} + 3.0)\nend\n"
                        );
                        let input = parse("test", &text);
                        match look_right(&input.clone().into_linearized().unwrap()) {
                            Some(output) => {
                                assert_same_meaning("test", &input, &output);
                                n_turned += 1;
                            }
                            None => n_kept += 1,
                        }
                    }
                }
            }
        }
    }
    assert!(n_turned > 20 && n_kept > 20, "{n_turned} loops turned, {n_kept} stayed");
}

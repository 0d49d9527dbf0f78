//! Loops are split where they change what their other iterations read.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::split_index_sets;
use support::{Pass, assert_same_meaning, parse};

const HEAD: &str = "kernel k linearized\nparam n : int32 = 5\nassume [n] -> { : n >= 1 }\ndomain [n] -> { [i] : 0 <= i < n }\ndomain [n] -> { [j] : 0 <= j < n }\n\
                    domain [n] -> { [k] : 0 <= k < n }\ndomain [i] -> { [h] : 0 <= h < i }\ndomain { [s] : 0 <= s < 8 }\n\
                    arg D : float64[n, n] readwrite\narg y : float64[n] readwrite\narg w : float64[2*n + 8] readwrite\ntemp v : float64\n";

const PASS: Pass = Pass { head: HEAD, run: split_index_sets };

#[test]
fn shortest_paths() {
    PASS.check(
        "for k, i, j\n  D[i, j] = min(D[i, j], D[i, k] + D[k, j])\nend\n",
        "for k, i\nD_element_0 = D[i, k]\nfor j_0\nD[i, j_0] = min(D[i, j_0], D_element_0 + D[k, j_0])\nend\n\
         D[i, k] = min(D[i, k], D[i, k] + D[k, k])\n\
         D_element_1 = D[i, k]\nfor j_1\nD[i, j_1] = min(D[i, j_1], D_element_1 + D[k, j_1])\nend\nend",
    );
}

#[test]
fn temporaries_of_an_iteration() {
    PASS.check(
        "for k, j\n  v = y[k]*D[k, j]\n  y[j] = y[j] - v\nend\n",
        "for k\ny_element_0 = y[k]\nfor j_0\nv_0 = y_element_0*D[k, j_0]\ny[j_0] = y[j_0] - v_0\nend\n\
         v_1 = y[k]*D[k, k]\ny[k] = y[k] - v_1\n\
         y_element_1 = y[k]\nfor j_1\nv_2 = y_element_1*D[k, j_1]\ny[j_1] = y[j_1] - v_2\nend\nend",
    );
}

#[test]
fn iterations_at_an_end() {
    // Nothing comes before the first iteration.
    PASS.check(
        "for i, j\n  D[i, j] = D[i, j]/D[i, 0]\nend\n",
        "for i\nD[i, 0] = D[i, 0]/D[i, 0]\nD_element_0 = D[i, 0]\nfor j_0\nD[i, j_0] = D[i, j_0]/D_element_0\nend\nend",
    );
}

#[test]
fn loops_that_stay() {
    // The element is another one, is not known in advance, is written twice, or in every iteration.
    PASS.refuse("for i, h\n  y[h] = y[h] - y[i]*D[i, h]\nend\n");
    PASS.refuse("for i, j\n  y[j] = y[j] - y[n - 1 - j]\nend\n");
    PASS.refuse("for i, j\n  w[j] = w[j] + w[i]\n  w[j + 1] = 0.5\nend\n");
    PASS.refuse("for i, j\n  y[i] = y[i] + D[i, j]\nend\n");
    PASS.refuse("for i, j\n  w[2*j] = w[2*j] + w[i]\nend\n");
    // Not in every iteration; the loop may be empty; it is short.
    PASS.refuse("for i, j\n  y[j] = y[j] - (y[i] if D[i, j] > 0.0 else 0.5)\nend\n");
    PASS.refuse("for i, j\n  y[j] = y[j] - y[i]  {if=D[i, j] > 0.0}\nend\n");
    PASS.refuse("for i, h\n  w[h] = w[h] - w[i - 1]\nend\n");
    PASS.refuse("for i, s\n  w[s] = w[s] - w[i]\nend\n");
}

/// Whatever is read and written: where a loop is split, the kernel means the same.
#[test]
fn all_small_loops() {
    let head = "kernel k linearized\nparam n : int32 = 6\nassume [n] -> { : n >= 1 }\ndomain [n] -> { [i] : 0 <= i < n }\ndomain [n] -> { [k] : 0 <= k < n }\n\
                domain [n, i] -> { [j] : i <= j < n }\narg D : float64[2*n, 2*n] readwrite\ntemp v : float64\n";
    let written = ["D[i, j]", "D[j, i]", "D[i, n - j]", "D[i, j + i]", "D[k, j]", "D[j, j]"];
    let reads = ["D[i, k]", "D[k, j]", "D[i, i]", "D[k + 1, i]", "D[i, n - k]", "D[j, k]", "D[k, k]"];
    let (mut n_split, mut n_kept) = (0, 0);
    for element in written {
        for (at, one) in reads.iter().enumerate() {
            for other in &reads[at..] {
                let text =
                    format!("{head}for k, i, j\n  v = 0.5*{one} - {other}\n  {element} = 0.25*{element} + v\nend\n");
                let input = parse("test", &text);
                match split_index_sets(&input.clone().into_linearized().unwrap()) {
                    Some(output) => {
                        assert_same_meaning("test", &input, &output);
                        n_split += 1;
                    }
                    None => n_kept += 1,
                }
            }
        }
    }
    assert!(n_split > 20 && n_kept > 20, "{n_split} loops split, {n_kept} stayed");
}

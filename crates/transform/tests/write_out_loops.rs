//! Short loops, written out: the same values, no loop whose bounds depend on another, and sums of scalars.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::{write_out_sums, write_out_triangles};
use support::{assert_becomes, assert_has_loops, parse};

fn check(given: &str, loops: &[&str]) {
    let input = parse("test", given);
    let output = write_out_triangles(&input.clone().into_linearized().unwrap());
    let Some(output) = output else {
        assert!(loops.is_empty(), "nothing was written out");
        return;
    };
    assert_has_loops(&input, output, loops);
}

#[test]
fn the_outer_loop_of_a_triangle_goes() {
    let body = "arg x : float64[4] read\narg A : float64[4, 4] readwrite\nfor i\n  for j\n    A[i, j] = A[i, j] + x[i]*x[j]\n  end\nend\n";
    let apart = "kernel k linearized\ndomain { [i] : 0 <= i < 3 }\ndomain [i] -> { [j] : i < j < 4 }\n";
    check(&format!("{apart}{body}"), &["j_0", "j_1", "j_2"]);
    let joint = "kernel k linearized\ndomain { [i, j] : 0 <= i < 3 and i < j < 4 }\n";
    check(&format!("{joint}{body}"), &["j_0", "j_1", "j_2"]);
    let rectangle = "kernel k linearized\ndomain { [i, j] : 0 <= i < 3 and 0 <= j < 4 }\n";
    check(&format!("{rectangle}{body}"), &[]);
}

/// Two loops of a tetrahedron go, and the loop around it stays; a loop without iterations is left out.
#[test]
fn tetrahedra_keep_their_innermost_loop() {
    let body = "arg x : float64[5, 4] read\narg A : float64[4, 4, 4] readwrite\nfor q\n  for i\n    for j\n      for k\n        A[i, j, k] = A[i, j, k] + x[q, i]*x[q, j]*x[q, k]\n      end\n    end\n  end\nend\n";
    let domains = "kernel k linearized\ndomain { [q] : 0 <= q < 5 }\ndomain { [i, j, k] : 0 <= i < j and j < k < 4 }\n";
    check(&format!("{domains}{body}"), &["q", "k_0_0", "k_0_1", "k_1_0"]);
}

#[test]
fn conditions_and_other_loops_come_along() {
    check(
        "kernel k linearized
param n : int32 = 3
domain [n] -> { [e] : 0 <= e < n }
domain { [i] : 0 <= i < 2 }
domain [i] -> { [j] : 0 <= j <= i }
domain { [m] : 0 <= m < 2 }
arg x : float64[n, 2] read
arg A : float64[n, 2, 2] readwrite
for e
  for i
    if x[e, i] > 0.0
      for j
        for m
          A[e, i, j] = A[e, i, j] + x[e, m]*i
        end
      end
    end
  end
end
",
        &["e", "j_0", "m", "j_1", "m"],
    );
}

/// A long loop, and one whose values are not known, stay.
#[test]
fn long_and_parametric_loops_stay() {
    for bound in ["40", "n"] {
        let text = format!(
            "kernel k linearized\nparam n : int32 = 3\nassume [n] -> {{ : 1 <= n < 40 }}\ndomain [n] -> {{ [i] : 0 <= i < {bound} }}\ndomain [i] -> {{ [j] : 0 <= j <= i }}\narg A : float64[40, 40] readwrite\nfor i\n  for j\n    A[i, j] = A[i, j] + 1.0\n  end\nend\n"
        );
        check(&text, &[]);
    }
}

/// Short loops inside of a long one that adds to elements are written out, and the elements are scalars meanwhile.
#[test]
fn sums_of_elements_are_sums_of_scalars() {
    let sums = |n: u32, body: &str| {
        let given = format!(
            "kernel k linearized\ndomain {{ [q] : 0 <= q < {n} }}\ndomain {{ [j] : 1 <= j < 3 }}\narg a : float64[3, 9] read\narg T : float64[3, 9] read\narg U : float64[9, 3] read\n\
             arg A : float64[3] readwrite\ntemp s : float64[3]\nfor j\n  s[j] = 0.5\nend\nfor q\n  for j\n    {body}\n  end\nend\nfor j\n  A[j] = s[j]\nend\n"
        );
        let input = parse("test", &given);
        (input.clone(), write_out_sums(&input.into_linearized().unwrap()))
    };
    let (input, output) = sums(9, "s[j] = s[j] + a[0, q]*T[j, q]");
    assert_becomes(
        &input,
        output.unwrap(),
        "for j\ns[j] = 0.5\nend\ns_element_0 = s[1]\ns_element_1 = s[2]\nfor q\ns_element_0 = s_element_0 + a[0, q]*T[1, q]\n\
         s_element_1 = s_element_1 + a[0, q]*T[2, q]\nend\ns[1] = s_element_0\ns[2] = s_element_1\nfor j\nA[j] = s[j]\nend",
    );
    for (n, body) in [
        // Few iterations; not along rows; an argument; nothing is added; another function.
        (7, "s[j] = s[j] + a[0, q]*T[j, q]"),
        (9, "s[j] = s[j] + a[0, q]*U[q, j]"),
        (9, "A[j] = A[j] + a[0, q]*T[j, q]"),
        (9, "s[j] = a[0, q]*T[j, q]"),
        (9, "s[j] = s[j] + exp(T[j, q])"),
    ] {
        assert!(sums(n, body).1.is_none(), "{n}: {body}");
    }
}

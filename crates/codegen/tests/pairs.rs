//! Pairs in vectors: what they compute, with and without vectors, and which statements stay as they are.
#![allow(missing_docs, clippy::unwrap_used)]

mod compiled;

use nestegg_codegen::c::{COptions, CText, emit};
use nestegg_ir::{LinearizedKernel, Program};

/// What only pairs need.
const PAIR: &str = "pair_f64_loose *)&";
/// Where vectors are.
const VECTORS: &str = "#if defined(__GNUC__)";

/// A kernel with complex numbers `A`, `w` and `c`.
fn kernel(temporaries: &str, body: &str) -> Program {
    let head = "kernel k\ndomain { [q] : 0 <= q < 3 }\ndomain { [i] : 0 <= i < 6 }\ndomain { [n] : 0 <= n < 40 }\n\
                arg A : float64[3, 2, 2] readwrite\narg B : float64[40, 2] readwrite\narg w : float64[6, 2] read\n\
                arg c : float64[2, 2] read\narg g : float64[6] read\n\
                table T : float64[3, 6] = [[0.5, 1.0, -2.0, 0.25, 3.0, 1.5], [1.0, 2.0, 0.75, -0.5, 0.125, 2.0], \
                [-1.0, 4.0, 0.5, 2.5, -0.25, 1.0]]\n";
    let temporaries: String = temporaries.split_whitespace().map(|name| format!("temp {name} : float64\n")).collect();
    compiled::read(&format!("{head}{temporaries}{body}"))
}

fn write(program: &Program, pairs: bool) -> (LinearizedKernel, CText) {
    let linearized = program.clone().into_linearized().unwrap();
    let options = COptions { symbol: Some("subject".to_owned()), pairs, ..COptions::default() };
    let text = emit(&linearized, &options).unwrap();
    (linearized, text)
}

/// Checks that so many vectors are declared and so many pairs are read or written, and that the kernel is computed: by vectors, and by what
/// compilers without them get.
fn check(temporaries: &str, body: &str, (n_vectors, n_places): (usize, usize)) -> String {
    let program = kernel(temporaries, body);
    let (linearized, text) = write(&program, true);
    let vectors = text.source.split("#else").next().unwrap().to_owned();
    assert_eq!(vectors.matches("pair_f64 pair").count(), n_vectors, "{}", text.source);
    assert_eq!(vectors.matches(PAIR).count(), n_places, "{}", text.source);
    let mut without_vectors = text.clone();
    without_vectors.source = text.source.replace(VECTORS, "#if 0");
    compiled::check_written(&program, (linearized.clone(), text), &[], "");
    compiled::check_written(&program, (linearized, without_vectors), &[], "");
    vectors
}

/// Checks that a kernel is written as without pairs.
fn refuse(temporaries: &str, body: &str) {
    let program = kernel(temporaries, body);
    assert_eq!(write(&program, true).1.source, write(&program, false).1.source);
}

#[test]
fn sums_of_complex_numbers() {
    let body = "for q\n  x = 0.0\n  y = 0.0\n  for i\n    x = x + T[q, i]*w[i, 0]\n    y = y + w[i, 1]*T[q, i]\n  end\n  \
                A[q, 0, 0] = A[q, 0, 0] + x\n  A[q, 0, 1] = A[q, 0, 1] + y\nend\n";
    let text = check("x y", body, (1, 2));
    assert!(text.contains("pair0 += T[q][i]*(*(const pair_f64_loose *)&w[i*2]);"), "{text}");
    assert!(text.contains("*(pair_f64_loose *)&A[q*4] += pair0;"), "{text}");
}

#[test]
fn products_of_complex_numbers() {
    let body = "for q\n  x = w[q, 0]*g[q]\n  y = w[q, 1]*g[q]\n  A[q, 0, 0] = x*c[0, 0] + A[q, 0, 0] - c[0, 1]*y\n  \
                A[q, 0, 1] = A[q, 0, 1] + c[0, 0]*y + c[0, 1]*x\nend\n";
    let text = check("x y", body, (1, 3));
    assert!(text.contains("(pair_f64){-c[1], c[1]}*(pair_f64){pair0[1], pair0[0]};"), "{text}");
}

#[test]
fn differences_quotients_and_signs() {
    let body = "for q\n  A[q, 0, 0] = -((w[q, 0] - c[0, 0])/g[q])\n  A[q, 0, 1] = (w[q, 1] - c[0, 1])/g[q]\n  \
                A[q, 1, 0] = A[q, 1, 0] - w[q, 0]/c[0, 0]\n  A[q, 1, 1] = A[q, 1, 1] - w[q, 1]/c[0, 1]\nend\n";
    check("", body, (0, 6));
}

#[test]
fn what_lies_between_may_touch_other_elements() {
    let body = "for q\n  A[q, 0, 0] = A[q, 0, 0] + w[q, 0]\n  A[q, 1, 0] = A[q, 1, 0] + w[q, 0]*g[0]\n  \
                A[q, 0, 1] = A[q, 0, 1] + w[q, 1]\n  A[q, 1, 1] = A[q, 1, 1] + w[q, 1]*g[0]\nend\n";
    check("", body, (0, 4));
}

#[test]
fn lanes_are_read_as_scalars_too() {
    let body = "for q\n  x = w[q, 0]*g[q] + c[0, 0]\n  y = w[q, 1]*g[q] + c[0, 1]\n  A[q, 0, 0] = A[q, 0, 0] + x\n  \
                A[q, 0, 1] = A[q, 0, 1] + y\n  A[q, 1, 0] = x*y\nend\n";
    let text = check("x y", body, (1, 3));
    assert!(text.contains("A[q*4 + 2] = pair0[0]*pair0[1];"), "{text}");
}

#[test]
fn what_reads_between_stays_as_it_is() {
    refuse("", "for q\n  A[q, 0, 0] = w[q, 0]\n  B[q, 0] = A[q, 0, 0]\n  A[q, 0, 1] = w[q, 1]*B[q, 0]\nend\n");
    // The second reads what the first writes.
    refuse("", "for q\n  A[q, 0, 0] = w[q, 0]\n  A[q, 0, 1] = w[q, 1] + A[q, 0, 0]\nend\n");
}

#[test]
fn long_loops_stay_as_they_are() {
    refuse("", "for n\n  B[n, 0] = B[n, 0] + c[0, 0]*g[0]\n  B[n, 1] = B[n, 1] + c[0, 1]*g[0]\nend\n");
}

#[test]
fn what_decides_stays_a_scalar() {
    let body = "for q\n  x = w[q, 0]*g[q]\n  y = w[q, 1]*g[q]\n  if x > 0.0\n    A[q, 1, 0] = A[q, 1, 0] + y\n  end\n  \
                A[q, 0, 0] = A[q, 0, 0] + x*c[0, 0]\n  A[q, 0, 1] = A[q, 0, 1] + y*c[0, 0]\nend\n";
    let program = kernel("x y", body);
    let (linearized, text) = write(&program, true);
    assert!(!text.source.contains("pair_f64 pair"), "{}", text.source);
    compiled::check_written(&program, (linearized, text), &[], "");
}

#[test]
fn what_is_not_alike_stays_as_it_is() {
    refuse("", "for q\n  A[q, 0, 0] = sin(w[q, 0])\n  A[q, 0, 1] = w[q, 1]/g[q]\nend\n");
}

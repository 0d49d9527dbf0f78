//! Neighbouring elements: stores in vectors and short rows one after the other, what they compute, and which statements stay as they are.
#![allow(missing_docs, clippy::unwrap_used, clippy::cast_precision_loss)]

mod compiled;

use nestegg_codegen::c::{COptions, CText, emit};
use nestegg_ir::{LinearizedKernel, Program};

/// Where vectors are.
const VECTORS: &str = "#if defined(__GNUC__)";

/// A kernel with arrays `A`, `B`, `F` and `w`, scalars `x` and `y`, and tables `T` and `S` of five rows of six.
fn kernel(body: &str) -> Program {
    let row =
        |i: usize| (0..6).map(|j| format!("{:?}", (i * 7 + j * 3) as f64 / 8.0 - 1.0)).collect::<Vec<_>>().join(", ");
    let rows = (0..5).map(|i| format!("[{}]", row(i))).collect::<Vec<_>>().join(", ");
    compiled::read(&format!(
        "kernel k\ndomain {{ [i] : 0 <= i < 5 }}\ndomain {{ [j] : 0 <= j < 6 }}\ndomain {{ [k] : 0 <= k < 8 }}\n\
         arg A : float64[5, 6] readwrite\narg B : float64[30] readwrite\narg F : float32[8] readwrite\narg w : float64[6] read\n\
         table T : float64[5, 6] = [{rows}]\ntable S : float64[5, 6] = [{rows}]\ntemp x : float64\ntemp y : float64\n{body}"
    ))
}

fn write(program: &Program, neighbours: bool) -> (LinearizedKernel, CText) {
    let linearized = program.clone().into_linearized().unwrap();
    let options = COptions { symbol: Some("subject".to_owned()), neighbours, ..COptions::default() };
    let text = emit(&linearized, &options).unwrap();
    (linearized, text)
}

/// Checks that the text has the lines, and that the kernel is computed: by vectors, and by what compilers without them get.
fn check(body: &str, lines: &[&str]) {
    let program = kernel(body);
    let (linearized, text) = write(&program, true);
    for line in lines {
        assert!(text.source.contains(line), "{line}\n{}", text.source);
    }
    let mut without_vectors = text.clone();
    without_vectors.source = text.source.replace(VECTORS, "#if 0");
    compiled::check_written(&program, (linearized.clone(), text), &[], "");
    compiled::check_written(&program, (linearized, without_vectors), &[], "");
}

/// Checks that a kernel is written as it would be without neighbours.
fn refuse(body: &str) {
    let program = kernel(body);
    assert_eq!(write(&program, true).1.source, write(&program, false).1.source);
}

#[test]
fn sums_and_differences() {
    check(
        "x = w[0]*w[1]\ny = w[2] - x\nA[0, 0] = A[0, 0] + x\nA[0, 1] = A[0, 1] - y\nA[0, 2] = -(x - A[0, 2])\n\
         A[0, 3] = x + y + A[0, 3]\nA[0, 4] = A[0, 4] - x\nA[0, 5] = A[0, 5] - x*y\nA[1, 0] = A[1, 0] + y\n",
        &[
            "lanes_add_signed_4_f64(&A[0], x, y, x, x + y, 1, -1, -1, 1);",
            "lanes_subtract_2_f64(&A[4], x, x*y);",
            "A[6] += y;",
        ],
    );
}

#[test]
fn stores_in_another_order_with_others_between() {
    check(
        "B[3] = w[0]\nB[1] = w[1]\nx = w[2]\nA[2, 2] = A[2, 2] + x\nB[2] = x\nB[4] = w[3]\nA[2, 3] = A[2, 3] + x\n",
        &["lanes_store_4_f64(&B[1], w[1], x, w[0], w[3]);", "lanes_add_2_f64(&A[14], x, x);"],
    );
}

#[test]
fn single_precision() {
    let body: String =
        (0..8).map(|at| format!("F[{at}] = F[{at}]{}F[{at}]\n", if at < 7 { "*" } else { "+" })).collect();
    refuse(&body);
    check("F[0] = 0.5\nF[1] = 1.5\nF[2] = 2.5\nF[3] = 0.25\n", &["lanes_store_4_f32(&F[0], 0.5f, 1.5f, 2.5f, 0.25f);"]);
}

#[test]
fn elements_that_are_written_in_another_way() {
    check(
        "B[0] = B[0] + w[0]\nB[1] = w[1] + B[1] + w[2]\nB[2] = B[2] + w[0]\nB[3] = B[3] + w[1]\n",
        &["B[1] = w[1] + B[1] + w[2];", "lanes_add_2_f64(&B[2], w[0], w[1]);"],
    );
}

#[test]
fn what_is_read_or_written_between_stays_as_it_is() {
    refuse("B[0] = w[0]\nx = B[0]*w[1]\nB[1] = x\n");
    refuse("B[0] = w[0]\nB[1] = B[0] + w[1]\n");
    refuse("x = w[0]\nB[0] = x\nx = w[1]\nB[1] = x\n");
    refuse("B[0] = w[0]\nfor k\n  B[k] = B[k] + w[1]\nend\nB[1] = w[2]\n");
    refuse("B[0] = w[0]\nB[0] = B[0] + w[1]\nB[2] = w[2]\n");
}

#[test]
fn values_that_others_overwrite_between_stay_in_smaller_groups() {
    check(
        "x = w[0]\nB[0] = x\nB[1] = x + w[2]\nx = w[1]\nB[2] = x\nB[3] = w[3]\n",
        &["lanes_store_2_f64(&B[0], x, x + w[2]);", "lanes_store_2_f64(&B[2], x, w[3]);"],
    );
}

#[test]
fn stores_in_loops_stay_as_they_are() {
    refuse("for k\n  B[0] = B[0] + w[0]\n  B[1] = B[1] + w[1]\nend\n");
}

#[test]
fn rows_one_after_the_other() {
    let at = "element0";
    check(
        "x = w[0]\nfor i, j\n  A[i, j] = x*T[i, j] - w[1]*(-S[i, j]) + A[i, j]\nend\n",
        &[
            "for (int32_t element0 = 0; element0 < 30; ++element0) {",
            &format!("A[{at}] += x*((const double *)T)[{at}] - w[1]*(-((const double *)S)[{at}]);"),
        ],
    );
    check(
        "for i, j\n  A[i, j] = A[i, j] + w[1] + T[i, j]\nend\n",
        &[&format!("A[{at}] = A[{at}] + w[1] + ((const double *)T)[{at}];")],
    );
    check(
        "for i, j\n  B[6*i + j] = T[i, j]/w[0] + A[i, j]\nend\n",
        &[&format!("B[{at}] = ((const double *)T)[{at}]/w[0] + A[{at}];")],
    );
}

#[test]
fn other_loops_stay_as_they_are() {
    refuse("for i, j\n  A[i, j] = T[i, j]*w[j] + A[i, j]\nend\n");
    refuse("for i, j\n  B[5*j + i] = T[i, j]\nend\n");
    refuse("for j, i\n  A[i, j] = A[i, j] + abs(T[i, j])\nend\n");
    refuse("for i, j\n  A[i, j] = abs(A[i, j])*T[i, j]\nend\n");
    refuse("for i, j\n  A[i, j] = T[i, j] + A[0, j]\nend\n");
    refuse("for i, j\n  A[i, j] = max(T[i, j], w[0])\nend\n");
}

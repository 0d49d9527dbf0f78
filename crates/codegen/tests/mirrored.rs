//! Symmetric matrices in tiles: what they compute, with and without vectors, and which loops stay as they are.
#![allow(missing_docs, clippy::unwrap_used, clippy::cast_precision_loss)]

mod compiled;

use std::fmt::Write;

use nestegg_codegen::c::{COptions, CText, emit};
use nestegg_ir::{LinearizedKernel, Program};

/// What only tiles call.
const TILES: &str = "tile_turn(";
/// What vectors need.
const VECTORS: &str = "#if defined(__GNUC__)";

/// The rows of a symmetric table of n by n; `skew` is added right of the diagonal.
fn table(n: usize, seed: usize, skew: f64) -> String {
    let entry = |i: usize, j: usize| {
        let (low, high) = (i.min(j), i.max(j));
        ((low * 7 + high * 13 + seed * 5) % 17) as f64 / 8.0 - 1.0 + if j > i { skew } else { 0.0 }
    };
    let row = |i| (0..n).map(|j| format!("{:?}", entry(i, j))).collect::<Vec<String>>().join(", ");
    (0..n).map(|i| format!("[{}]", row(i))).collect::<Vec<String>>().join(", ")
}

/// A kernel that writes `value` to `A[i, j]`: `S0` to `S4` are symmetric tables, `N` is not, `g0` to `g4` are scalars.
fn kernel(n: usize, access: &str, value: &str) -> Program {
    let mut text = format!(
        "kernel k\ndomain {{ [i] : 0 <= i < {n} }}\ndomain {{ [j] : 0 <= j < {n} }}\narg A : float64[{n}, {n}] {access}\narg f : float64[5] read\n"
    );
    for at in 0..5 {
        let _ = writeln!(text, "table S{at} : float64[{n}, {n}] = [{}]", table(n, at, 0.0));
    }
    let _ = writeln!(text, "table N : float64[{n}, {n}] = [{}]", table(n, 9, 0.25));
    (0..5).for_each(|at| text += &format!("temp g{at} : float64\n"));
    (0..5).for_each(|at| text += &format!("g{at} = f[{at}]*f[{}]\n", (at + 2) % 5));
    compiled::read(&format!("{text}for i, j\n  A[i, j] = {value}\nend\n"))
}

fn write(program: &Program, mirrors: bool) -> (LinearizedKernel, CText) {
    let linearized = program.clone().into_linearized().unwrap();
    let options = COptions { symbol: Some("subject".to_owned()), mirrors, ..COptions::default() };
    let text = emit(&linearized, &options).unwrap();
    (linearized, text)
}

/// Checks that tiles are written, and that they compute what the kernel says: the vectors, and the loops of compilers that have none.
fn check(n: usize, access: &str, value: &str) {
    let program = kernel(n, access, value);
    let (linearized, text) = write(&program, true);
    assert!(text.source.contains(TILES), "{}", text.source);
    assert_eq!(text.source.matches(VECTORS).count(), 2);
    let portable = text.source.replace(VECTORS, "#if 0");
    let mut without_vectors = text.clone();
    without_vectors.source = portable;
    compiled::check_written(&program, (linearized.clone(), text), &[], "");
    compiled::check_written(&program, (linearized, without_vectors), &[], "");
}

/// Checks that a kernel is written as without tiles.
fn refuse(n: usize, value: &str) {
    let program = kernel(n, "readwrite", value);
    assert_eq!(write(&program, true).1.source, write(&program, false).1.source);
}

const SUM: &str = "g0*S0[i, j] + g1*S1[i, j] + g2*S2[i, j] + g3*S3[i, j]";

#[test]
fn sums_that_are_added() {
    for n in [12, 13, 15, 20] {
        check(n, "readwrite", &format!("{SUM} + A[i, j]"));
    }
    check(14, "readwrite", &format!("A[i, j] + ({SUM})"));
}

#[test]
fn sums_of_sums_and_of_numbers() {
    let parts = "(g0*S0[i, j] + g1*S1[i, j]) + (g4 + g2*S2[i, j] + g3*S3[i, j])";
    check(13, "readwrite", &format!("{parts} + A[i, j]"));
    check(12, "write", parts);
    check(12, "write", "g4 + g0 + -(g1*S1[i, j]) + (g0 + g4) + g2*S2[i, j] + (g3*S3[i, j] + S0[i, j])*g0");
}

#[test]
fn sums_that_are_written() {
    check(12, "write", SUM);
    check(15, "write", SUM);
}

#[test]
fn other_sums() {
    let value = "-(g0*S0[i, j] - g1*(S1[i, j] + 0.5*g2*S2[i, j])) + (S3[i, j] - g4*S4[i, j])";
    check(17, "readwrite", &format!("{value} + A[i, j]"));
}

#[test]
fn what_is_not_symmetric_stays_as_it_is() {
    refuse(15, &format!("{SUM} + g4*N[i, j] + A[i, j]"));
    refuse(15, &format!("{SUM} + A[j, i]"));
    refuse(15, &format!("{SUM} + f[i % 5] + A[i, j]"));
}

#[test]
fn what_would_add_in_another_order_stays_as_it_is() {
    refuse(15, &format!("A[i, j] + {SUM}"));
}

#[test]
fn small_matrices_stay_as_they_are() {
    refuse(10, &format!("{SUM} + A[i, j]"));
    refuse(15, "g0*S0[i, j] + g1*S1[i, j] + g2*S2[i, j] + A[i, j]");
}

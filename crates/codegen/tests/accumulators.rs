//! Sums in vectors of their own: the same values for every number of iterations that are left over, and loops that stay as they are.
#![allow(missing_docs, clippy::unwrap_used)]

mod compiled;

use nestegg_codegen::c::{COptions, CText, emit};
use nestegg_ir::{ArrayId, Program, SummingLoop};

/// The program, and its C where the innermost loops over `iname` add to the scalars `sums` with temporaries of their own.
fn write(text: &str, iname: &str, sums: &[&str], private: &[&str]) -> (Program, CText) {
    let program = compiled::read(text);
    let linearized = program.clone().into_linearized().unwrap();
    let kernel = &linearized.kernel;
    let arrays = |names: &[&str]| -> Vec<ArrayId> {
        names.iter().map(|name| kernel.array_ids().find(|&id| kernel[id].name == *name).unwrap()).collect()
    };
    let iname = kernel.iname_ids().find(|&id| kernel[id].name == iname).unwrap();
    let insn = kernel.insn_ids().find(|&insn| kernel[insn].within.contains(&iname)).unwrap();
    let summing = vec![SummingLoop { iname, insn, sums: arrays(sums), private: arrays(private) }];
    let options = COptions { symbol: Some("subject".to_owned()), summing, ..COptions::default() };
    let text = emit(&linearized, &options).unwrap();
    (program, text)
}

/// The loop is written in vectors, and the C computes what the kernel does.
fn check(text: &str, (iname, sums, private): (&str, &[&str], &[&str]), parameters: &[(&str, i64)]) {
    let (program, written) = write(text, iname, sums, private);
    assert!(written.source.contains("lanes_total_"), "{}", written.source);
    let linearized = program.clone().into_linearized().unwrap();
    compiled::check_written(&program, (linearized, written), parameters, "");
}

#[test]
fn every_number_of_iterations() {
    let text = "kernel k linearized\nparam n : int32\ndomain [n] -> { [i] : 0 <= i < n }\narg x : float64[n] read\narg y : float64[n] read\n\
                arg A : float64[2] readwrite\ntemp s : float64\ntemp t : float64\ntemp v : float64\ns = A[0]\nt = 1.5\nfor i\n  \
                v = x[i] - 2.0*y[n - 1 - i]\n  s = s + v*v/(2.0 + y[i]*y[i])\n  t = t - (v + x[i])*A[1]\nend\nA[0] = s\nA[1] = t\n";
    for n in (0..=9).chain([15, 16, 17, 31, 40]) {
        check(text, ("i", &["s", "t"], &["v"]), &[("n", n)]);
    }
}

#[test]
fn single_precision_and_numbers() {
    for n in [8, 23, 64, 71] {
        let text = format!(
            "kernel k linearized\ndomain {{ [i] : 3 <= i < {} }}\narg x : float32[80] read\narg A : float32[1] readwrite\ntemp s : float32\n\
             s = 0.0\nfor i\n  s = s + x[i]*x[i + 2]\nend\nA[0] = A[0] + s\n",
            n + 3
        );
        check(&text, ("i", &["s"], &[]), &[]);
    }
}

#[test]
fn triangles() {
    let text = "kernel k linearized\nparam n : int32\ndomain [n] -> { [i] : 0 <= i < n }\ndomain [i] -> { [j] : 0 <= j < i }\narg A : float64[n, n] readwrite\n\
                temp s : float64\nfor i\n  s = A[i, i]\n  for j\n    s = s - A[i, j]*A[i, j]\n  end\n  A[i, i] = s\nend\n";
    check(text, ("j", &["s"], &[]), &[("n", 23)]);
}

#[test]
fn loops_that_stay() {
    let stays = |text: &str| {
        let (_, written) = write(text, "i", &["s"], &[]);
        assert!(written.source.contains("omp simd"), "{}", written.source);
        assert!(!written.source.contains("lanes_"), "{}", written.source);
    };
    let with = |statement: &str| {
        format!(
            "kernel k linearized\ndomain {{ [i] : 0 <= i < 16 }}\narg x : float64[16] read\narg n : int32[16] read\narg z : float32[16] read\narg A : float64[1] readwrite\ntemp s : float64\n\
             s = 0.0\nfor i\n  {statement}\nend\nA[0] = A[0] + s\n"
        )
    };
    stays(&with("s = s + exp(x[i])"));
    stays(&with("s = s + i*x[i]"));
    stays(&with("s = s + x[i]*n[i]"));
    stays(&with("s = s + x[i]*z[i]"));
    stays(&with("s = s + (2.0 if x[i] > 0.0 else x[i])"));
    stays(&with("s = s + x[n[i]]"));
    stays(&with("s = s + x[15]"));
}

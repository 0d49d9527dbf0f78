//! Loops that add to scalars in vector lanes, and functions on vectors: what is written, and that compilers take it with and without `-fopenmp-simd`.
#![allow(missing_docs, clippy::unwrap_used)]

mod compiled;

use std::process::Command;

use nestegg_codegen::c::{COptions, emit};
use nestegg_ir::{ArrayId, InameId, InsnId, SummingLoop};

const KERNEL: &str = "kernel k linearized\ndomain { [i] : 0 <= i < 16 }\ndomain { [j] : 0 <= j < 6 }\narg x : float64[16] read\narg A : float64[3] readwrite\n\
                      temp s : float64\ntemp t : float64\ntemp u : float64\ns = 0.0\nt = 0.0\nfor i\n  u = 0.0\n  for j\n    u = u + x[i]*j\n  end\n  s = s + exp(-u)\n  t = t + u\nend\n\
                      A[0] = s\nA[1] = A[1] + t\nA[2] = exp(t - s)/3.0 + t/4.0\n";

#[test]
fn sums_in_lanes() {
    let program = compiled::read(KERNEL);
    let linearized = program.clone().into_linearized().unwrap();
    let kernel = &linearized.kernel;
    let array = |name: &str| kernel.array_ids().find(|&id| kernel[id].name == name).unwrap();
    let i: InameId = kernel.iname_ids().find(|&id| kernel[id].name == "i").unwrap();
    let inside: InsnId = kernel.insn_ids().find(|&insn| kernel[insn].within.len() == 2).unwrap();
    let summing = |private: Vec<ArrayId>| {
        vec![SummingLoop { iname: i, insn: inside, sums: vec![array("s"), array("t")], private }]
    };
    let write = |summing: Vec<SummingLoop>| {
        let symbol = Some("subject".to_owned());
        emit(&linearized, &COptions { symbol, summing, may_round: true, ..COptions::default() }).unwrap()
    };
    let text = write(summing(vec![array("u")]));
    assert!(text.source.contains("#pragma omp simd reduction(+:s, t)\n    for (int32_t i"), "{}", text.source);
    assert!(text.source.contains("double exp(double);"), "{}", text.source);
    assert!(text.source.contains("A[2] = exp(t - s)*(1.0/3.0) + t/4.0;"), "{}", text.source);
    // No warning without the flag.
    compiled::check_written(&program, (linearized.clone(), text.clone()), &[], "");
    for compiler in compiled::compilers() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("k.c"), &text.source).unwrap();
        let flags = "-std=gnu11 -O3 -Wall -Wextra -Wpedantic -Werror -fno-math-errno -fopenmp-simd -c k.c";
        let output = Command::new(compiler).args(flags.split(' ')).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    }
    // Another loop over the iname.
    let text = write(vec![SummingLoop { insn: InsnId::new(0), ..summing(Vec::new()).remove(0) }]);
    assert!(!text.source.contains("omp"), "{}", text.source);
}

//! Real kernels: their C compiles without a warning and computes what the interpreter says.
#![allow(missing_docs, clippy::unwrap_used)]

mod compiled;

use std::fs;
use std::path::Path;

use compiled::{check_program, read, write};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");

/// Every kernel of the corpus in a fixed order, with its path inside it.
fn kernels() -> Vec<(String, String)> {
    let mut res = Vec::new();
    let mut folders = vec![Path::new(FIXTURES).to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let name = path.strip_prefix(FIXTURES).unwrap().display().to_string();
                res.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    res.sort();
    res
}

/// Small kernels of each source and shape, and one large one.
const SAMPLE: [&str; 14] = [
    "coffee/ffc_elasticity_3d_nf0_q1.json",
    "coffee/ffc_hyperelasticity_3d_nf0_q1.json",
    "coffee/tsfc_burgers_rhs_2d_nf0_q2.json",
    "coffee/tsfc_helmholtz_action_2d_nf0_q2.json",
    "coffee/tsfc_hyper_2d_nf1_q1.json",
    "coffee/tsfc_mass_2d_nf1_q2.json",
    "coffee/tsfc_wlap_3d_nf2_q1.json",
    "tsfc/burgers_jac_tri_2.json",
    "tsfc/burgers_res_tri_2.json",
    "tsfc/elasticity_ehex_1.json",
    "tsfc/elasticity_f1_tet_1.json",
    "tsfc/helmholtz_tet_4.json",
    "tsfc/peer/burgers_jac_tet_1.json",
    "tsfc/peer/elasticity_f2_tet_2.json",
];

#[test]
fn a_sample_computes_what_the_interpreter_says() {
    let kernels = kernels();
    for name in SAMPLE {
        let (_, text) = kernels.iter().find(|kernel| kernel.0 == name).unwrap_or_else(|| panic!("no fixture {name}"));
        check_program(&read(text), &[], "");
    }
}

#[test]
fn small_stencils_compute_what_the_interpreter_says() {
    for name in ["acoustic_so8", "elastic_so4", "tti_so4"] {
        let text = fs::read_to_string(Path::new(FIXTURES).join(format!("devito/{name}.json"))).unwrap();
        // A box of 3 points in 20 shows as much as one of 64 in 80.
        let small = text.replace("< 64", "< 3");
        let small =
            ["80,80,80", "76,76,76", "72,72,72"].iter().fold(small, |text, shape| text.replace(shape, "20,20,20"));
        check_program(&read(&small), &[], "");
    }
}

#[test]
fn every_kernel_has_c() {
    let kernels = kernels();
    assert!(kernels.len() > 200);
    for (name, text) in kernels {
        let (_, text) = write(&read(&text), None);
        let brackets: i32 = text
            .source
            .bytes()
            .map(|byte| match byte {
                b'{' | b'(' | b'[' => 1,
                b'}' | b')' | b']' => -1,
                _ => 0,
            })
            .sum();
        assert_eq!(brackets, 0, "{name}");
    }
}

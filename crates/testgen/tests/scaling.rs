//! Kernels of a given size.

use indexmap::IndexMap;
use nestegg_interp::{Inputs, RunOptions, run};
use nestegg_ir::verify::verify;
use nestegg_span::Source;
use nestegg_testgen::{Knobs, Scaling, Seeded, generate, scaling};

#[test]
fn sizes_are_about_right() {
    for kind in Scaling::ALL {
        for n_nodes in [100, 1_000, 10_000, 100_000] {
            let program = scaling(n_nodes, kind);
            let factor = program.kernel().exprs.len() as f64 / n_nodes as f64;
            assert!((0.7..1.4).contains(&factor), "{} {n_nodes}: {factor}", kind.name());
        }
    }
}

#[test]
fn kernels_are_well_formed_and_run() {
    for kind in Scaling::ALL {
        for n_nodes in [1, 100, 2_000] {
            let program = scaling(n_nodes, kind);
            assert!(verify(&program).is_empty(), "{}", kind.name());
            let json = nestegg_dump::write_json(&program);
            let read = nestegg_dump::read_json(&Source::new("scaling.json", json.as_str())).unwrap();
            assert_eq!(nestegg_dump::write_json(&read.program), json, "{}", kind.name());
            let inputs = Inputs::random(program.kernel(), &IndexMap::new(), 1).unwrap();
            run(&program, &inputs, &RunOptions::default()).unwrap();
        }
    }
}

#[test]
fn random_kernels_grow_as_well() {
    for (name, knobs) in Knobs::presets() {
        // Not every seed uses all that it may; the largest of a few does.
        let n_nodes =
            |seed| generate(&mut Seeded::new(seed), &knobs.clone().with_nodes(20_000)).program.kernel().exprs.len();
        let largest = (0..4).map(n_nodes).max().unwrap();
        assert!((5_000..60_000).contains(&largest), "{name}: {largest}");
    }
}

//! What is promised of mutants.

use std::collections::BTreeSet;

use nestegg_ir::verify::verify;
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_testgen::mutate::{FAMILIES, Mutant, mutants};
use nestegg_testgen::{Knobs, generate_seed};

fn linearized(seed: u64, knobs: &Knobs) -> LinearizedKernel {
    generate_seed(seed, knobs).program.into_linearized().expect("generated kernels have an order")
}

fn text(kernel: &LinearizedKernel) -> String {
    nestegg_dump::write_text(&Program::Linearized(kernel.clone()))
}

/// Calls `check` with kernels of every preset and their mutants.
fn for_each(n_seeds: u64, mut check: impl FnMut(&LinearizedKernel, &[Mutant])) {
    for (_, knobs) in Knobs::presets() {
        for seed in 0..n_seeds {
            let kernel = linearized(seed, &knobs);
            check(&kernel, &mutants(&kernel, 2, seed));
        }
    }
}

#[test]
fn mutants_are_well_formed_and_other_kernels_of_the_same_arguments() {
    for_each(30, |kernel, mutants| {
        let (own, before) = (&kernel.kernel, text(kernel));
        for Mutant { family, description, kernel: mutant } in mutants {
            let errors = verify(&Program::Linearized(mutant.clone()));
            let after = text(mutant);
            assert!(errors.is_empty(), "{family}, {description}: {errors:?}\n{after}");
            assert!(before != after, "{family}, {description} changes nothing in\n{before}");
            let names = |kernel: &nestegg_ir::Kernel| -> Vec<String> {
                kernel.arguments().map(|array| kernel[array].name.clone()).collect()
            };
            assert_eq!(names(own), names(&mutant.kernel));
        }
    });
}

#[test]
fn the_same_seed_gives_the_same_mutants() {
    let kernel = linearized(3, &Knobs::everything());
    let all = |seed| -> Vec<String> { mutants(&kernel, 3, seed).iter().map(|mutant| text(&mutant.kernel)).collect() };
    assert_eq!(all(7), all(7));
    assert_ne!(all(7), all(8));
}

#[test]
fn every_family_breaks_some_kernel() {
    let mut found = BTreeSet::new();
    for_each(40, |_, mutants| found.extend(mutants.iter().map(|mutant| mutant.family)));
    let missing: Vec<&str> = FAMILIES.iter().map(|family| family.name).filter(|name| !found.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn names_of_families_are_unique() {
    let names: BTreeSet<&str> = FAMILIES.iter().map(|family| family.name).collect();
    assert_eq!(names.len(), FAMILIES.len());
    assert!(names.len() >= 24);
}

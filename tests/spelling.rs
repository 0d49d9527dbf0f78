//! Spellings of real kernels: each family writes the kernel that it was given, and every family writes some.

use std::collections::BTreeSet;

use libtest_mimic::{Arguments, Failed, Trial};
use nestegg_bench::fixtures;
use nestegg_driver::validation::{Comparison, compare};
use nestegg_driver::{Notation, optimize};
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_span::Source;
use nestegg_testgen::spell::{FAMILIES, beside, in_one_store, spellings};
use nestegg_tests::root;

/// Fixtures that together with [`NESTED`] have something for every family.
const KERNELS: [&str; 6] = [
    "tsfc/helmholtz_tri_1",
    "tsfc/elasticity_tri_1",
    "tsfc/stvk_jac_tri_1",
    "tsfc/helmholtz_action_hex_1",
    "coffee/ffc_helmholtz_3d_nf1_q1",
    "devito/acoustic_so8",
];

/// A kernel with reductions over several inames, and in each other.
const NESTED: &str = "\
kernel nested
domain { [i, j, q, r, s] : 0 <= i, j < 5 and 0 <= q, r, s < 4 }
arg y : float64[5, 5] write
arg a : float64[5, 4] read
arg b : float64[4, 4, 5] read
for i, j
  y[i, j] = sum([q, r], a[i, q]*b[q, r, j]) + sum(q, a[i, q]*sum(s, b[q, s, j]))
end
";

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![Trial::test("families", every_family_has_a_kernel)];
    for name in KERNELS.into_iter().chain(["nested"]) {
        trials.push(Trial::test(format!("equal/{name}"), move || spellings_are_equal(name)));
    }
    trials.push(Trial::test("beside", two_kernels_are_both));
    libtest_mimic::run(&arguments, trials).exit();
}

fn kernel(name: &str) -> Result<(Program, LinearizedKernel), Failed> {
    let all = fixtures::fixtures(&root().join("fixtures"))?;
    let source = match all.iter().find(|fixture| fixture.full_name() == name) {
        Some(fixture) => fixture.read()?,
        None => Source::new(name.to_owned(), NESTED),
    };
    let program = nestegg_driver::read(&source).map_err(|error| format!("{:?}", miette::Report::new(error)))?.program;
    let linearized = program.clone().into_linearized().map_err(|error| error.to_string())?;
    Ok((program, linearized))
}

fn every_family_has_a_kernel() -> Result<(), Failed> {
    let mut seen = BTreeSet::new();
    for name in KERNELS.into_iter().chain(["nested"]) {
        seen.extend(spellings(&kernel(name)?.1).into_iter().map(|spelling| spelling.family));
    }
    let missing: Vec<&str> = FAMILIES.iter().map(|family| family.name).filter(|name| !seen.contains(name)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no kernel is spelled {}", missing.join(", ")).into()) }
}

fn spellings_are_equal(name: &str) -> Result<(), Failed> {
    let (program, linearized) = kernel(name)?;
    for spelling in spellings(&linearized) {
        let spelled = Program::Linearized(spelling.kernel);
        let family = spelling.family;
        // Reading and writing lose nothing, so that the text is the spelling.
        let source = Source::new(format!("{name}, {family}"), Notation::Json.write(&spelled));
        let read = nestegg_driver::read(&source).map_err(|error| format!("{:?}", miette::Report::new(error)))?;
        if !spelling.is_comparable {
            optimize(&source, &nestegg_driver::config::Config::default())
                .map_err(|error| format!("{family}: {error}"))?;
            continue;
        }
        match compare(&program, &read.program, &[]) {
            Ok(Comparison::Equal { .. }) => {}
            Ok(Comparison::Different(difference)) => return Err(format!("{family}: {difference}").into()),
            Ok(Comparison::Stopped(error)) => return Err(format!("{family}: {error}").into()),
            Err(error) => return Err(format!("{family}: {error}").into()),
        }
    }
    Ok(())
}

fn two_kernels_are_both() -> Result<(), Failed> {
    let (first, second) = (kernel(KERNELS[0])?.1, kernel(KERNELS[1])?.1);
    let both = beside(&first, &second).ok_or("both are plain")?;
    let is_of_second = |name: &str| name.ends_with("_second");
    let n_second = both.kernel.arguments().filter(|&array| is_of_second(&both.kernel[array].name)).count();
    if n_second != second.kernel.arguments().count() {
        return Err(format!("{n_second} arguments of the second kernel").into());
    }
    if in_one_store(&both).is_some() {
        return Err("stores to different arrays are one".into());
    }
    let source = Source::new("both", Notation::Json.write(&Program::Linearized(both)));
    optimize(&source, &nestegg_driver::config::Config::default()).map_err(|error| error.to_string())?;
    Ok(())
}

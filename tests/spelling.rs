//! Spellings of real kernels: each family writes the kernel that it was given, every family writes some, and most make no difference to what comes out.

use std::collections::BTreeSet;

use libtest_mimic::{Arguments, Failed, Trial};
use nestegg_bench::fixtures;
use nestegg_driver::config::{Config, Strategy};
use nestegg_driver::validation::{Comparison, compare};
use nestegg_driver::{Notation, optimize};
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_span::Source;
use nestegg_testgen::spell::{self, FAMILIES, beside, spellings};
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
    for name in ["tsfc/helmholtz_tri_1", "tsfc/stvk_jac_tri_1"] {
        trials.push(Trial::test(format!("alike/{name}"), move || spellings_cost_the_same(name)));
    }
    trials.push(Trial::test("beside", two_kernels_are_both));
    for level in ["O2", "O3"] {
        trials.push(Trial::test(format!("beside/{level}"), move || two_kernels_share_what_they_read(level)));
    }
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
            optimize(&source, &of_level("O1")).map_err(|error| format!("{family}: {error}"))?;
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

/// Ways to write a kernel that make no difference.
const ALIKE: [&str; 13] = [
    "renamed",
    "shifted",
    "reversed",
    "strided",
    "interchanged",
    "nested",
    "digits",
    "merged",
    "split",
    "apart",
    "in-scalars",
    "in-arrays",
    "under-true",
];

/// The most operations of a spelling over those of the best one.
const MAX_RATIO: f64 = 1.05;

fn spellings_cost_the_same(name: &str) -> Result<(), Failed> {
    let config = of_level("O3");
    let mut costs: Vec<(&str, u128)> = Vec::new();
    for spelling in spellings(&kernel(name)?.1).into_iter().filter(|spelling| ALIKE.contains(&spelling.family)) {
        let source = Source::new(spelling.family, Notation::Json.write(&Program::Linearized(spelling.kernel)));
        let optimized = optimize(&source, &config).map_err(|error| format!("{}: {error}", spelling.family))?;
        if let Some(failure) = optimized.report.failures.iter().find(|failure| failure.is_bug()) {
            return Err(format!("{}: {}", spelling.family, failure.reason).into());
        }
        costs.push((spelling.family, optimized.report.after.total));
    }
    let least = costs.iter().map(|cost| cost.1).min().ok_or("there are spellings")?;
    let far = costs.iter().filter(|cost| cost.1 as f64 > MAX_RATIO * least as f64);
    let far: Vec<String> = far.map(|(family, cost)| format!("{family}: {cost}, the best: {least}")).collect();
    if far.is_empty() { Ok(()) } else { Err(far.join("; ").into()) }
}

fn two_kernels_are_both() -> Result<(), Failed> {
    let (first, second) = (kernel(KERNELS[0])?.1, kernel(KERNELS[1])?.1);
    let both = beside(&first, &second, spell::Arguments::Apart).ok_or("both are plain")?;
    let is_of_second = |name: &str| name.ends_with("_second");
    let n_second = both.kernel.arguments().filter(|&array| is_of_second(&both.kernel[array].name)).count();
    if n_second != second.kernel.arguments().count() {
        return Err(format!("{n_second} arguments of the second kernel").into());
    }
    let source = Source::new("both", Notation::Json.write(&Program::Linearized(both)));
    optimize(&source, &of_level("O1")).map_err(|error| error.to_string())?;
    Ok(())
}

fn of_level(level: &str) -> Config {
    Config { strategy: Strategy::Named(level.to_owned()), ..Config::of_operations() }
}

/// Two kernels on one cell cost less together than apart, because they share its geometry.
fn two_kernels_share_what_they_read(level: &str) -> Result<(), Failed> {
    let (first, second) = (kernel("tsfc/helmholtz_tri_2")?.1, kernel("tsfc/elasticity_tri_2")?.1);
    let both = beside(&first, &second, spell::Arguments::Shared).ok_or("both are plain")?;
    let config = of_level(level);
    let mut costs = Vec::new();
    for kernel in [first, second, both] {
        let source = Source::new("kernel", Notation::Json.write(&Program::Linearized(kernel)));
        let report = optimize(&source, &config).map_err(|error| error.to_string())?.report;
        costs.push(report.after.total);
    }
    match costs[..] {
        [first, second, both] if both < first + second => Ok(()),
        _ => Err(format!("{costs:?}: together as much as alone").into()),
    }
}

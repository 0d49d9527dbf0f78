//! The accuracy guard: forms that lose digits on hard data are found, and there are forms that do not.

use nestegg_driver::accuracy::{Accuracy, LIMIT_EXACT, measure};
use nestegg_driver::config::{Config, Strategy};
use nestegg_driver::optimize;
use nestegg_driver::report::FailureKind;
use nestegg_forms::{Options, Selected, Shape, Stores, Sums, point_features};
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_span::Source;
use nestegg_tests::root;
use nestegg_transform::{isolate_stores, normalise};

/// What is said of a program without parameters and a result.
fn accuracy(input: &Program, result: LinearizedKernel) -> Accuracy {
    measure(input, &result, &[]).expect("the input has an order")
}

/// A kernel in value form with its stores in loops of their own.
fn isolated(input: &Program) -> LinearizedKernel {
    let linearized = input.clone().into_linearized().expect("the kernel has an order");
    isolate_stores(normalise(linearized).expect("the kernel is well-formed")).expect("the kernel is well-formed")
}

fn curl_curl() -> Program {
    let text = std::fs::read_to_string(root().join("examples/curl_curl.knl")).expect("the example is there");
    nestegg_driver::read(&Source::new("curl_curl.knl", text)).expect("the example is a kernel").program
}

const OPTIONS: Options = Options {
    shape: Shape::StraightLine,
    stores: Stores::Together,
    sums: Sums::Expanded,
    basis: false,
    moments: false,
    row_differences: false,
    pairs: false,
    scalars: true,
    max_statements: Options::DEFAULT_MAX_STATEMENTS,
    max_monomials: None,
    selected: Selected::Scalars,
};

/// The features of the points of a kernel.
fn features(kernel: &LinearizedKernel, sums: Sums) -> LinearizedKernel {
    let found = point_features(kernel, &Options { sums, ..OPTIONS }).expect("the kernel is well-formed");
    found.expect("the kernel has features").linearized
}

/// With cross products multiplied out, an exact form is off by 1e-5 of the largest element where the input is off by 1e-10.
#[test]
fn expanded_cross_products_lose_digits_on_flat_cells() {
    let input = curl_curl();
    let found = accuracy(&input, features(&isolated(&input), Sums::Expanded));
    let worst = found.exceeds(LIMIT_EXACT).expect("digits are lost");
    assert!(worst.ratio > 1e4, "{worst:?}");
    let is_flat = |data: &str| data.contains("flat boxes");
    assert!(found.families.iter().any(|family| is_flat(&family.data) && family.ratio > 1e3), "{found:?}");
    assert!(found.families[0].result < worst.result / 100.0, "friendly data show less: {:?}", found.families[0]);
    assert!(found.digits_lost().is_some_and(|digits| digits > 4.0), "{found:?}");
}

#[test]
fn sums_that_are_kept_lose_none() {
    let input = curl_curl();
    let found = accuracy(&input, features(&isolated(&input), Sums::Kept));
    assert!(found.families.len() > 8 && found.n_elements > 0, "{found:?}");
    assert_eq!(found.exceeds(LIMIT_EXACT), None);
}

/// The linear maps of this kernel lose too many digits, and so does the search's next result; in a second search, without the forms that lose the most, is a better one.
#[test]
fn a_second_search_does_without_the_forms_that_lose_digits() {
    let path = root().join("fixtures/coffee/tsfc_elasticity_3d_nf1_q1.json");
    let text = std::fs::read_to_string(path).expect("the fixture is there");
    let config = Config { strategy: Strategy::Named("O3".to_owned()), ..Config::of_operations() };
    let report = optimize(&Source::new("k.json", text), &config).expect("the kernel is well-formed").report;
    assert!(report.seed.ends_with(", carefully"), "{}", report.seed);
    assert!(report.failures.iter().all(|failure| failure.kind == FailureKind::Inaccurate), "{:?}", report.failures);
    assert!(report.failures.iter().any(|failure| failure.seed == "linear-map"), "{:?}", report.failures);
    let of_first = report.seeds.iter().filter(|(seed, _)| !seed.ends_with(", carefully"));
    let is_refused = |seed: &str| report.failures.iter().any(|failure| failure.seed == seed);
    let next = of_first.filter(|(seed, _)| !is_refused(seed)).map(|(_, cost)| *cost).min().expect("some are left");
    assert!(report.after.total < next, "{} is less than {next}", report.after.total);
}

#[test]
fn a_kernel_loses_nothing_against_itself() {
    let input = curl_curl();
    let found = accuracy(&input, input.clone().into_linearized().expect("it has an order"));
    assert!(found.families.iter().all(|family| family.ratio == 1.0), "{found:?}");
    assert_eq!(found.digits_lost(), Some(0.0));
}

#[test]
fn what_has_no_exact_value_is_not_measured() {
    let text = "kernel k\narg a : float64 write\narg b : float64 read\na = j0(b)\n";
    let input = nestegg_driver::read(&Source::new("k.knl", text)).expect("it is a kernel").program;
    let found = accuracy(&input, input.clone().into_linearized().expect("it has an order"));
    assert!(found.not_measured.is_some() && found.worst().is_none(), "{found:?}");
}

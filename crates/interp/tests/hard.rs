//! Hard data: which arguments are made hard, and how.
#![allow(missing_docs)]

mod support;

use indexmap::IndexMap;
use nestegg_interp::{Family, Hard, Inputs, Values};
use support::*;

/// Triangles: a determinant in a divisor, and a coefficient.
const TRIANGLE: &str = "arg a : float64 write
arg x : float64[6] read
arg w : float64[3] read
temp d : float64
d = (x[2] - x[0])*(x[5] - x[1]) - (x[3] - x[1])*(x[4] - x[0])
a = (w[0] + w[1] + w[2])/d
";

/// The floats of an argument.
fn floats(inputs: &Inputs, name: &str) -> Vec<f64> {
    match &inputs.arrays[name] {
        Values::Floats(values) => values.clone(),
        Values::Ints(_) => panic!("{name} holds integers"),
    }
}

/// Friendly and hard data of a kernel.
fn data(text: &str, family: Family, seed: u64) -> (Inputs, Option<Inputs>) {
    let program = kernel(text);
    let friendly = Inputs::random(program.kernel(), &IndexMap::new(), seed).expect("sizes are literals");
    let hard = Hard::new(program.kernel(), &friendly.parameters).expect("sizes are literals");
    let made = hard.inputs(&friendly, family, seed);
    (friendly, made)
}

/// The determinant of a triangle over the product of the lengths of two sides.
fn flatness(x: &[f64]) -> f64 {
    let (a, b) = ((x[2] - x[0], x[3] - x[1]), (x[4] - x[0], x[5] - x[1]));
    (a.0 * b.1 - a.1 * b.0).abs() / (a.0.hypot(a.1) * b.0.hypot(b.1))
}

#[test]
fn what_divides_is_a_shape_and_the_rest_are_factors() {
    for seed in 1..10 {
        let (friendly, flat) = data(TRIANGLE, Family::Flat(20), seed);
        let flat = flat.expect("there is a shape");
        assert_eq!(floats(&friendly, "w"), floats(&flat, "w"));
        assert!(flatness(&floats(&flat, "x")) < 1e-2, "{flat:?}");
        let (friendly, spread) = data(TRIANGLE, Family::Spread(26), seed);
        let spread = spread.expect("there is a factor");
        assert_eq!(floats(&friendly, "x"), floats(&spread, "x"));
        assert!(floats(&spread, "w").iter().all(|value| (1e-9..1e9).contains(&value.abs())));
        assert_ne!(floats(&friendly, "w"), floats(&spread, "w"));
    }
}

#[test]
fn determinants_make_shapes_where_nothing_divides() {
    let text = TRIANGLE.replace("/d", "*fabs(d)");
    let (friendly, thin) = data(&text, Family::Thin(14), 1);
    let thin = thin.expect("there is a shape");
    assert!(flatness(&floats(&thin, "x")) < flatness(&floats(&friendly, "x")));
}

#[test]
fn linear_kernels_have_no_shape() {
    let text = "arg a : float64 write\narg x : float64[6] read\na = x[0] + x[5]\n";
    assert!(data(text, Family::Flat(10), 1).1.is_none());
    let (_, far) = data(text, Family::Far(20), 1);
    let far = floats(&far.expect("all arguments are factors"), "x");
    assert!(far.iter().all(|value| (value - far[0]).abs() < 1e-5), "{far:?}");
}

#[test]
fn rows_of_matrices_are_points() {
    let text = "domain { [e] : 0 <= e < 5 }\narg a : float64[5] write\narg x : float64[5, 3, 2] read\n\
                for e\n  a[e] = 1.0/((x[e, 1, 0] - x[e, 0, 0])*(x[e, 2, 1] - x[e, 0, 1]) - (x[e, 1, 1] - x[e, 0, 1])*(x[e, 2, 0] - x[e, 0, 0]))\nend\n";
    let (_, flat) = data(text, Family::Flat(20), 2);
    let flat = floats(&flat.expect("there is a shape"), "x");
    assert!(flat.chunks(6).all(|triangle| flatness(triangle) < 1e-2), "{flat:?}");
}

#[test]
fn data_are_the_same_each_time() {
    for family in Family::ALL {
        assert_eq!(data(TRIANGLE, family, 3), data(TRIANGLE, family, 3), "{}", family.name());
    }
}

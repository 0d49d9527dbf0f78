//! Coefficients that are fitted to a kernel.
#![allow(missing_docs)]

mod support;

use indexmap::IndexMap;
use nestegg_interp::{Family, Fits, Fitted};
use nestegg_ir::{ArrayId, LinearizedKernel};
use support::*;

fn linearized(text: &str) -> LinearizedKernel {
    kernel(text).into_linearized().expect("the kernel has an order")
}

/// Fits the elements of arrays of `form`, which begin with values, to a kernel on friendly data.
fn fitted(text: &str, form: &str, coefficients: &[(&str, Vec<f64>)]) -> Option<Fitted> {
    fitted_on(text, form, coefficients, (2.0, &[]))
}

/// The same on data of families, too.
fn fitted_on(
    text: &str,
    form: &str,
    coefficients: &[(&str, Vec<f64>)],
    (factor, families): (f64, &[Family]),
) -> Option<Fitted> {
    let form = linearized(form);
    let array = |name: &str| -> ArrayId {
        form.kernel.array_ids().find(|&array| form.kernel[array].name == name).expect("the form has the array")
    };
    let coefficients: Vec<(ArrayId, Vec<f64>)> =
        coefficients.iter().map(|(name, values)| (array(name), values.clone())).collect();
    let kernel = linearized(text);
    let mut fits = Fits::new(&kernel, IndexMap::new());
    assert!(fits.are_possible(), "the kernel is evaluated on demand");
    fits.fit(&form, &coefficients, factor, families).expect("the form is evaluated on demand")
}

const MATRIX: &str = "kernel k linearized
domain { [i, j] : 0 <= i < 2 and 0 <= j < 3 }
table a : float64[2, 3] = [[1.0, 2.0, 3.0], [5.0, 7.0, 11.0]]
arg x : float64[3] read
arg y : float64[2] write
for i
  y[i] = sum(j, a[i, j]*x[j])
end
";

#[test]
fn noise_of_last_digits_goes() {
    let exact = [1.0, 2.0, 3.0, 5.0, 7.0, 11.0];
    let noise = [3e-14, -2e-13, 1e-14, 5e-14, -4e-14, 1e-13];
    let start = exact.iter().zip(noise).map(|(value, noise)| value * (1.0 + noise)).collect();
    let form =
        MATRIX.replace("table a : float64[2, 3] = [[1.0, 2.0, 3.0], [5.0, 7.0, 11.0]]", "arg a : float64[2, 3] read");
    let found = fitted(MATRIX, &form, &[("a", start)]).expect("the form is off by its coefficients");
    assert_eq!(found.n_changed, 6);
    assert!(found.largest_change < 3e-13, "{found:?}");
    for (found, exact) in found.values[0].iter().zip(exact) {
        assert!((found / exact - 1.0).abs() < 4e-16, "{found} for {exact}");
    }
}

#[test]
fn coefficients_that_are_multiplied_with_each_other_are_fitted() {
    let kernel = "kernel k linearized
domain { [i] : 0 <= i < 2 }
table a : float64[2] = [1.5, 3.5]
arg x : float64 read
arg z : float64 read
arg y : float64[2] write
for i
  y[i] = a[i]*x/(2.25*z)
end
";
    let form = "kernel k linearized
domain { [i] : 0 <= i < 2 }
arg b : float64[2] read
arg c : float64 read
arg x : float64 read
arg z : float64 read
arg y : float64[2] write
for i
  y[i] = b[i]*(c*x)/z
end
";
    let start = [("b", vec![3.0, 7.000_000_000_002]), ("c", vec![0.222_222_222_223])];
    let found = fitted(kernel, form, &start).expect("the form is off by its coefficients");
    let [b, c] = &found.values[..] else { panic!("{found:?}") };
    for (b, a) in b.iter().zip([1.5, 3.5]) {
        assert!((b * c[0] / (a / 2.25) - 1.0).abs() < 4e-16, "{found:?}");
    }
}

/// What the small coefficients are off by shows only where the datum of the large one is small.
#[test]
fn noise_that_only_hard_data_show_goes() {
    let kernel = "kernel k linearized
domain { [j] : 0 <= j < 9 }
table a : float64[9] = [1000.0, 3.0, 5.0, 7.0, 3.0, 5.0, 7.0, 3.0, 5.0]
arg x : float64[9] read
arg y : float64 write
y = sum(j, a[j]*x[j])
";
    let exact = [1000.0, 3.0, 5.0, 7.0, 3.0, 5.0, 7.0, 3.0, 5.0];
    let form = kernel
        .replace("table a : float64[9] = [1000.0, 3.0, 5.0, 7.0, 3.0, 5.0, 7.0, 3.0, 5.0]", "arg a : float64[9] read");
    let start: Vec<f64> = exact.iter().map(|&value| if value < 10.0 { value * (1.0 + 1e-14) } else { value }).collect();
    let coefficients = [("a", start)];
    assert_eq!(fitted_on(kernel, &form, &coefficients, (10.0, &[])), None, "nothing is off much");
    let found = fitted_on(kernel, &form, &coefficients, (10.0, &Family::ALL)).expect("hard data show it");
    for (found, exact) in found.values[0].iter().zip(exact) {
        assert!((found / exact - 1.0).abs() < 4e-15, "{found} for {exact}, from 1e-14");
    }
}

#[test]
fn what_coefficients_are_not_to_blame_for_is_left() {
    let start = vec![1.0, 2.0, 3.0, 5.0, 7.0, 11.0];
    let form =
        MATRIX.replace("table a : float64[2, 3] = [[1.0, 2.0, 3.0], [5.0, 7.0, 11.0]]", "arg a : float64[2, 3] read");
    assert_eq!(fitted(MATRIX, &form, &[("a", start.clone())]), None, "nothing is off");
    let other = form.replace("a[i, j]*x[j]", "a[i, j]*(x[j] + 1e-12*x[j]*x[0])");
    assert_eq!(fitted(MATRIX, &other, &[("a", start.clone())]), None, "no coefficients bring it nearer");
    let deciding = form.replace("a[i, j]*x[j]", "(a[i, j]*x[j] if x[j] > 0.0 else a[i, j]*x[j])");
    assert_eq!(fitted(MATRIX, &deciding, &[("a", start)]), None, "it decides on data");
}

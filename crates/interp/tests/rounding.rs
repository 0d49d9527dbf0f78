//! Errors beside exact evaluation: of which elements, and how large.
#![allow(missing_docs)]

mod support;

use indexmap::IndexMap;
use nestegg_interp::{Case, Deviation, Family, Sample, deviations};
use support::*;

/// The deviation of a kernel from itself in exact arithmetic.
fn deviation(text: &str) -> Deviation {
    let program = kernel(text);
    let sample = Sample {
        n_elements: 10,
        max_steps: 1_000,
        max_steps_of_looking: 10_000,
        max_steps_of_all: u64::MAX,
        close: None,
        max_exact: 1,
    };
    let found = deviations(&[&program], &IndexMap::new(), &[(Family::Friendly, 1)], sample);
    match found.expect("the kernel has an order").as_slice() {
        [Case::Measured(deviations)] => deviations[0],
        other => panic!("{other:?}"),
    }
}

#[test]
fn quotients_are_off_by_their_last_digits() {
    let found = deviation(
        "domain { [i] : 0 <= i < 40 }\narg a : float64[2] write\narg b : float64[40] read\na[0] = sum(i, b[i]/3.0)\na[1] = b[0]\n",
    );
    assert_eq!(found.n_elements, 2);
    assert!(found.largest > 0.0 && found.largest < 1e-14, "{found:?}");
}

#[test]
fn functions_have_exact_values_where_they_are_known() {
    let found = deviation("arg a : float64[2] write\narg b : float64 read\na[0] = exp(b)\na[1] = 2.0*b\n");
    assert_eq!(found.n_elements, 2);
    assert!(found.largest > 0.0 && found.largest < 1e-15, "{found:?}");
    let found = deviation("arg a : float64 write\narg b : float64 read\na = j0(b)\n");
    assert_eq!(found.n_elements, 0);
}

#[test]
fn large_outputs_are_sampled() {
    let found = deviation(
        "domain { [i] : 0 <= i < 100000000 }\narg a : float64[100000000] write\narg b : float64 read\nfor i\n  a[i] = b/3.0\nend\n",
    );
    assert!(found.n_elements > 5 && found.n_elements <= 10, "{found:?}");
}

#[test]
fn errors_are_measured_by_the_largest_element_of_an_output() {
    let text = |divisor: &str| {
        format!(
            "domain {{ [i] : 0 <= i < 1000 }}\narg a : float64[1000] write\narg b : float64 read\nfor i\n  a[i] = (1000000.0*b if i == 7 else b/{divisor})\nend\n"
        )
    };
    let programs = [kernel(&text("3.0")), kernel(&text("2.9999"))];
    let sample = Sample {
        n_elements: 3,
        max_steps: 1_000,
        max_steps_of_looking: 10_000,
        max_steps_of_all: u64::MAX,
        close: None,
        max_exact: 1,
    };
    let found = deviations(&programs.each_ref(), &IndexMap::new(), &[(Family::Friendly, 1)], sample);
    match found.expect("the kernels have an order").as_slice() {
        [Case::Measured(deviations)] => {
            assert_eq!(deviations[1].n_elements, 4);
            let largest = deviations[1].largest;
            assert!(largest > 1e-12 && largest < 1e-10, "{largest}");
        }
        other => panic!("{other:?}"),
    }
}

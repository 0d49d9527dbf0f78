//! Errors beside exact evaluation: of which elements, and how large.
#![allow(missing_docs)]

mod support;

use indexmap::IndexMap;
use nestegg_interp::{Deviation, Inputs, Rounding, RunOptions};
use support::*;

/// The deviation of a kernel from itself in exact arithmetic.
fn deviation(text: &str) -> Deviation {
    let program = kernel(text);
    let inputs = Inputs::random(program.kernel(), &IndexMap::new(), 1).expect("sizes are literals");
    let rounding = Rounding::new(&[&program], &inputs.parameters).expect("the kernel has an order");
    rounding.deviations(&inputs, &RunOptions::default()).expect("the kernel runs")[0]
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
fn exponentials_have_no_exact_value() {
    let found = deviation("arg a : float64[2] write\narg b : float64 read\na[0] = exp(b)\na[1] = 2.0*b\n");
    assert_eq!(found, Deviation { largest: 0.0, n_elements: 1 });
    let found = deviation("arg a : float64 write\narg b : float64 read\na = log(b)\n");
    assert_eq!(found.n_elements, 0);
}

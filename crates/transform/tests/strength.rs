//! Quotients and powers from what they share: what is computed, where, and that it means the same.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use indexmap::IndexMap;
use nestegg_interp::{Inputs, RunOptions, Values, run};
use nestegg_ir::Program;
use nestegg_transform::reduce_strength;
use support::{Pass, assert_body};

const HEAD: &str = "kernel k linearized\ndomain { [i] : 0 <= i < 4 }\ndomain { [j] : 0 <= j < 5 }\ndomain [n] -> { [m] : 0 <= m < n }\nparam n : int32 = 3\n\
                    arg x : float64[8] read\narg y : float64[8] readwrite\narg z : float64[4, 5] readwrite\ntemp s : float64\ntemp t : float64\n";

const PASS: Pass = Pass { head: HEAD, run: reduce_strength };

#[test]
fn quotients_by_one_value_are_products() {
    PASS.check(
        "s = x[0]*x[1]\ny[0] = x[2]/s\ny[1] = x[3]*x[4]/s\n",
        "s = x[0]*x[1]\nreciprocal_0 = 1.0/s\ny[0] = x[2]*reciprocal_0\ny[1] = x[3]*(x[4]*reciprocal_0)",
    );
}

#[test]
fn a_quotient_in_a_loop_is_a_product() {
    PASS.check(
        "for i\n  for j\n    z[i, j] = z[i, j]/x[i]\n  end\nend\n",
        "for i\nreciprocal_0 = 1.0/x[i]\nfor j\nz[i, j] = z[i, j]*reciprocal_0\nend\nend",
    );
}

/// A quotient waits for its dividend; the reciprocal of a divisor that is there long before does not.
#[test]
fn dividends_that_are_late() {
    PASS.check(
        "s = x[0] + x[1]\nt = log(s)\ny[0] = (x[2] - t)/s\n",
        "s = x[0] + x[1]\nt = log(s)\nreciprocal_0 = 1.0/s\ny[0] = (x[2] - t)*reciprocal_0",
    );
    PASS.refuse("s = log(x[0])\ny[0] = (x[2] - s)/s\n");
    PASS.refuse("y[0] = x[1]*x[2]/x[0]\n");
}

/// A reciprocal that is there already is the one that others use.
#[test]
fn reciprocals_are_used() {
    PASS.check("s = 1.0/x[0]\ny[0] = x[1]/x[0]\ny[1] = s\n", "s = 1.0/x[0]\ny[0] = x[1]*s\ny[1] = s");
}

/// A divisor that is a quotient by itself comes after what it is computed from.
#[test]
fn divisors_of_divisors() {
    PASS.check(
        "y[0] = x[1]/(x[2]/x[0])\ny[1] = x[3]/(x[2]/x[0])\n",
        "reciprocal_0 = 1.0/x[0]\nreciprocal_1 = 1.0/(x[2]*reciprocal_0)\ny[0] = x[1]*reciprocal_1\ny[1] = x[3]*reciprocal_1",
    );
}

#[test]
fn what_is_written_between_is_not_shared() {
    PASS.refuse("s = x[0]\ny[0] = x[1]/s\ns = x[2]\ny[1] = x[3]/s\n");
    PASS.refuse("y[0] = x[0]/y[1]\ny[1] = x[2]\ny[2] = x[3]/y[1]\n");
    PASS.refuse("for i\n  y[i] = x[i]/y[7]\n  y[7] = y[i]\nend\n");
    PASS.refuse("for i\n  y[i] = x[i]/x[i + 1]\nend\n");
    PASS.refuse("y[0] = x[0]/3.0\ny[1] = x[1]/3.0\n");
}

/// A loop that may be empty, and a condition, may keep the divisor from being read.
#[test]
fn nothing_is_read_that_the_kernel_does_not_read() {
    PASS.refuse("for m\n  y[m] = y[m]/x[4]\nend\n");
    PASS.refuse("for i\n  if x[0] > 0.0\n    y[i] = x[2]/x[i + 1]\n  end\nend\n");
    PASS.refuse("s = x[0]  {if=x[1] > 0.0}\ny[0] = x[2]/s  {if=x[1] > 0.0}\ny[1] = x[3]/s  {if=x[1] > 0.0}\n");
    PASS.refuse("for i\n  for j\n    z[i, j] = if(x[0] > 0.0, z[i, j]/x[i], 0.0)\n  end\nend\n");
    PASS.check(
        "for i\n  y[i] = if(x[0] > 0.0, y[i]/x[5], 0.0)\nend\n",
        "reciprocal_0 = 1.0/x[5]\nfor i\ny[i] = y[i]*reciprocal_0 if x[0] > 0.0 else 0.0\nend",
    );
}

/// Powers of halves are roots, alone or shared; whole powers and others stay.
#[test]
fn powers_with_halves_are_products_with_roots() {
    let given = "y[0] = x[0]**0.5\ny[1] = x[0]**1.5 + x[0]**2.5\ny[2] = x[0]**-0.5\ny[3] = x[0]**-1.5*x[1]**0.25\n";
    let (input, output) = PASS.of(given);
    let output = output.unwrap();
    let inputs = Inputs::random(input.kernel(), &IndexMap::new(), 1).unwrap();
    let values = |program: &Program| match &run(program, &inputs, &RunOptions::default()).unwrap().arrays["y"].values {
        Values::Floats(values) => values.clone(),
        Values::Ints(_) => panic!("`y` has floats"),
    };
    for (before, after) in values(&input).into_iter().zip(values(&Program::Linearized(output.clone()))) {
        assert!(
            (before - after).abs() <= 1e-14 * before.abs() || before.is_nan() && after.is_nan(),
            "{before} {after}"
        );
    }
    assert_body(
        output,
        "root_0 = sqrt(x[0])\ny[0] = root_0\ny[1] = x[0]*root_0 + x[0]**2*root_0\ny[2] = 1.0/root_0\ny[3] = 1.0/(x[0]*root_0)*x[1]**0.25",
    );
    PASS.refuse("y[0] = x[0]**3 + x[0]**0.25 + x[1]**5.5\n");
}

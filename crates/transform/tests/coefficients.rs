//! Coefficients apart from a kernel, and put back.
#![allow(missing_docs)]

mod support;

use expect_test::expect;
use nestegg_transform::{Coefficients, coefficients, with_coefficients};
use support::{parse, text};

const KERNEL: &str = "kernel k linearized
domain { [i] : 0 <= i < 2 }
arg x : float64[2] read
arg y : float64[2] write
table phi : float64[2] = [0.5, 0.25]
table at : int64[2] = [1, 0]
for i
  y[at[i]] = 3.0*phi[i]*x[i]**2.5 + sin(4.0*x[i]) + (3.0 if x[i] > 7.0 else -1.0*x[i])  {id=insn0}
end
";

#[test]
fn tables_and_factors_are_coefficients_and_exponents_are_not() {
    let linearized = parse("k", KERNEL).into_linearized().unwrap();
    let Coefficients { linearized, values } = coefficients(&linearized);
    let names: Vec<(&str, &[f64])> =
        values.iter().map(|(array, values)| (&*linearized.kernel[*array].name, &**values)).collect();
    assert_eq!(names, [("phi", &[0.5, 0.25][..]), ("literals_0", &[3.0, 4.0][..])]);
    expect![[r#"
        kernel k linearized
        domain { [i] : 0 <= i < 2 }
        arg x : float64[2] read
        arg y : float64[2] write
        arg phi : float64[2] read
        table at : int64[2] = [1, 0]
        arg literals_0 : float64[2] read
        for i
          y[at[i]] = literals_0[0]*phi[i]*x[i]**2.5 + sin(literals_0[1]*x[i]) + (3.0 if x[i] > 7.0 else -1.0*x[i])  {id=insn0}
        end
    "#]].assert_eq(&text(linearized));
}

#[test]
fn put_back_they_are_the_kernel() {
    let linearized = parse("k", KERNEL).into_linearized().unwrap();
    let values: Vec<Vec<f64>> = coefficients(&linearized).values.into_iter().map(|(_, values)| values).collect();
    assert_eq!(text(with_coefficients(&linearized, &values)), text(linearized.clone()));
    let other = with_coefficients(&linearized, &[vec![0.125, f64::INFINITY], vec![8.0, 9.0]]);
    let expected =
        KERNEL.replace("[0.5, 0.25]", "[0.125, 0.25]").replace("4.0*x", "9.0*x").replace("3.0*phi", "8.0*phi");
    assert_eq!(text(other), expected);
}

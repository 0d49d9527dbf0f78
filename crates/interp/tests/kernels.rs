//! Domains, reductions, tables, conditions, calls, opaque code.
#![allow(missing_docs)]

mod support;

use nestegg_interp::{Error, FieldValues, PRIME, RunOptions, Values, run, run_field};
use support::*;

#[test]
fn triangular_domains() {
    let text = "domain { [i] : 0 <= i < 4 }\ndomain [i] -> { [j] : 0 <= j <= i }\narg x : float64[4] read\n\
                arg y : float64[4] write\nfor i\n  y[i] = sum(j, x[j])\nend\n";
    assert_eq!(y(text, &[("x", floats(&[1.0, 2.0, 3.0, 4.0]))]), floats(&[1.0, 3.0, 6.0, 10.0]));
}

#[test]
fn a_loop_runs_where_the_loops_inside_it_are_empty() {
    let text = "domain { [i] : 0 <= i < 3 }\ndomain [i] -> { [j] : 0 <= j < i }\ndomain [i] -> { [k] : i <= k < 1 }\n\
                arg y : float64[3] write\nfor i\n  y[i] = 10.0  {id=a}\n  for j\n    \
                y[i] = y[i] + 1.0  {id=b, dep=a}\n  end\n  for k\n    y[i] = y[i] + 0.5  {id=c, dep=b}\n  end\nend\n";
    assert_eq!(y(text, &[]), floats(&[10.5, 11.0, 12.0]));
}

#[test]
fn strided_domains() {
    let text = "domain { [i] : exists e : i = 3*e + 1 and 0 <= i < 9 }\narg y : float64[9] readwrite\n\
                for i\n  y[i] = y[i] + 1.0\nend\n";
    let expected = [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0];
    assert_eq!(y(text, &[("y", floats(&[0.0; 9]))]), floats(&expected));
}

#[test]
fn domains_of_several_pieces() {
    let text = "domain { [i] : 0 <= i < 2 or 5 <= i < 7 or i = 6 }\narg y : float64[7] readwrite\n\
                for i\n  y[i] = y[i] + 1.0\nend\n";
    assert_eq!(y(text, &[("y", floats(&[0.0; 7]))]), floats(&[1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0]));
}

#[test]
fn parameters_size_domains_and_arrays() {
    let text = "param n : int32 = 3\nassume [n] -> { : n >= 0 }\ndomain [n] -> { [i] : 0 <= i < n }\n\
                arg x : float64[n] read\narg y : float64[n + 1] readwrite\nfor i\n  y[i + 1] = y[i + 1] + n*x[i]\nend\n";
    let program = kernel(text);
    for n in [0, 1, 5] {
        let mut given = inputs(&[("x", floats(&vec![1.0; n])), ("y", floats(&vec![0.5; n + 1]))]);
        given.parameters.insert("n".to_owned(), n as i64);
        let mut expected = vec![0.5 + n as f64; n + 1];
        expected[0] = 0.5;
        let outputs = run(&program, &given, &RunOptions::default());
        assert_eq!(outputs.map(|outputs| outputs.arrays["y"].values.clone()), Ok(floats(&expected)));
    }
    let mut given = inputs(&[("x", floats(&[])), ("y", floats(&[]))]);
    given.parameters.insert("n".to_owned(), -1);
    assert!(matches!(run(&program, &given, &RunOptions::default()), Err(Error::Assumptions { .. })));
}

/// Sum, product, minimum and maximum over `i < n`.
fn reductions(dtype: &str, n: usize, x: Values) -> Values {
    let text = format!(
        "param n : int32 = {n}\ndomain [n] -> {{ [i] : 0 <= i < n }}\narg x : {dtype}[4] read\narg y : {dtype}[4] write\n\
         y[0] = sum(i, x[i])\ny[1] = product(i, x[i])\ny[2] = reduce(min, i, x[i])\ny[3] = reduce(max, i, x[i])\n"
    );
    y(&text, &[("x", x)])
}

#[test]
fn reductions_of_each_kind() {
    let x = floats(&[2.0, -3.0, 0.5, 4.0]);
    assert_eq!(reductions("float64", 4, x.clone()), floats(&[3.5, -12.0, -3.0, 4.0]));
    assert_eq!(reductions("float64", 1, x.clone()), floats(&[2.0; 4]));
    assert_eq!(reductions("float64", 0, x), floats(&[0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY]));
    let x = ints(&[2, -3, 5, 4]);
    assert_eq!(reductions("int32", 4, x.clone()), ints(&[8, -120, -3, 5]));
    assert_eq!(reductions("int32", 0, x.clone()), ints(&[0, 1, i32::MAX.into(), i32::MIN.into()]));
    assert_eq!(reductions("int64", 0, x), ints(&[0, 1, i64::MAX, i64::MIN]));
}

#[test]
fn a_reduction_adds_what_does_not_depend_on_its_iname() {
    let text = "domain { [i] : 0 <= i < 5 }\narg a : float64 read\narg y : float64 write\ny = sum(i, a)\n";
    assert_eq!(y(text, &[("a", floats(&[1.5]))]), floats(&[7.5]));
}

#[test]
fn reductions_inside_reductions() {
    let text = "domain { [i, j] : 0 <= i < 3 and 0 <= j <= i }\narg x : float64[3] read\narg y : float64 write\n\
                y = sum(i, x[i]*sum(j, x[j]))\n";
    assert_eq!(y(text, &[("x", floats(&[1.0, 10.0, 100.0]))]), floats(&[1.0 + 110.0 + 11100.0]));
}

#[test]
fn tables() {
    let text = "domain { [i, j] : 0 <= i < 2 and 0 <= j < 3 }\ntable t : float64[2, 3] = [[1, 2.5, 3], [4, 5, 6]]\n\
                table k : int32[2] = [1, 0]\narg y : float64[2, 3] write\nfor i, j\n  y[k[i], j] = t[i, j]\nend\n";
    assert_eq!(y(text, &[]), floats(&[4.0, 5.0, 6.0, 1.0, 2.5, 3.0]));
}

#[test]
fn predicates() {
    let text = "domain { [i] : 0 <= i < 4 }\narg x : float64[4] read\narg y : float64[4] readwrite\nfor i\n  \
                y[i] = x[i]  {if=i % 2 == 0:x[i] > 0.0}\nend\n";
    let given = [("x", floats(&[1.0, 2.0, -3.0, 4.0])), ("y", floats(&[9.0; 4]))];
    assert_eq!(y(text, &given), floats(&[1.0, 9.0, 9.0, 9.0]));
}

#[test]
fn conditions_of_a_linearization() {
    let text = "kernel k linearized\ndomain { [i] : 0 <= i < 4 }\narg p : bool read\narg y : float64[4] readwrite\n\
                temp t : float64\nif p\n  for i\n    if i > 1\n      t = 2.0*i\n      y[i] = t\n    else\n      \
                y[i] = 1.0\n    end\n  end\nend\n";
    let run = |p: i64| y(text, &[("p", ints(&[p])), ("y", floats(&[0.0; 4]))]);
    assert_eq!(run(1), floats(&[1.0, 1.0, 4.0, 6.0]));
    assert_eq!(run(0), floats(&[0.0; 4]));
}

#[test]
fn recurrences_see_what_was_stored_before() {
    let text = "kernel k linearized\ndomain { [i] : 1 <= i < 6 }\narg y : float64[6] readwrite\nfor i\n  \
                y[i] = y[i] + y[i - 1]\nend\n";
    let sums = floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(y(text, &[("y", floats(&[1.0; 6]))]), sums);
    let text = "kernel k linearized\ndomain { [i] : 0 <= i < 5 }\narg y : float64[6] readwrite\nfor i\n  \
                y[i] = y[i + 1]\nend\n";
    assert_eq!(y(text, &[("y", sums)]), floats(&[2.0, 3.0, 4.0, 5.0, 6.0, 6.0]));
}

#[test]
fn a_scalar_temporary_is_written_again_at_each_point() {
    let text = "kernel k linearized\ndomain { [i] : 0 <= i < 3 }\narg x : float64[3] read\narg y : float64[3] write\n\
                temp t : float64\nfor i\n  t = x[i]*x[i]\n  y[i] = t + 1.0\nend\n";
    assert_eq!(y(text, &[("x", floats(&[1.0, 2.0, 3.0]))]), floats(&[2.0, 5.0, 10.0]));
}

#[test]
fn indirect_writes() {
    let text = "kernel k linearized\ndomain { [i] : 0 <= i < 4 }\narg m : int32[4] read\narg y : float64[2] readwrite\n\
                for i\n  y[m[i]] = y[m[i]] + 1.0\nend\n";
    let given = [("m", ints(&[0, 1, 1, 1])), ("y", floats(&[0.0, 0.0]))];
    assert_eq!(y(text, &given), floats(&[1.0, 3.0]));
}

#[test]
fn what_is_not_written_has_no_value() {
    let text = "domain { [i] : 0 <= i < 2 }\narg y : float64[3] write\nfor i\n  y[i] = 1.0\nend\n";
    let outputs = run_text(text, &[]);
    assert_eq!(outputs.map(|it| it.arrays["y"].is_set.clone()), Ok(Some(vec![true, true, false])));
}

const CALL: &str = "arg x : float64 read\narg y : float64[2] write\ny[1], y[0] = sincos(x)  {id=c}\n";

#[test]
fn calls_with_several_results() {
    let given = [("x", floats(&[0.25]))];
    let FieldValues::Elements(values) = y_in_field(CALL, &given) else { panic!("floats are elements") };
    assert!(values[0] != values[1] && values.iter().all(|&value| value < PRIME));
    assert_eq!(y_in_field(CALL, &given), FieldValues::Elements(values));
    let error = run_text(CALL, &given).expect_err("nobody knows its results in floats");
    assert_eq!(error.to_string(), "instruction `c`: function `sincos` has no value in floating point");
}

const OPAQUE: &str = "domain { [i] : 0 <= i < 2 }\narg x : float64[2] read\narg y : float64[2] readwrite\n\
                      temp t : float64[2]\nfor i\n  code \"f(x, t);\" reads x, y writes t {id=o}\n  \
                      y[i] = t[i]  {id=s, dep=o}\nend\n";

#[test]
fn opaque_code_is_an_oracle_of_what_it_reads() {
    let program = kernel(OPAQUE);
    let run = |x: [f64; 2], seed| {
        let given = inputs(&[("x", floats(&x)), ("y", floats(&[0.0, 0.0]))]);
        run_field(&program, &given, seed, &RunOptions::default()).map(|outputs| outputs.arrays["y"].values.clone())
    };
    let first = run([1.0, 2.0], 1);
    assert!(first.is_ok());
    assert_eq!(first, run([1.0, 2.0], 1));
    assert_ne!(first, run([1.0, 3.0], 1));
    assert_ne!(first, run([1.0, 2.0], 2));
    let error = run_text(OPAQUE, &[("x", floats(&[1.0, 2.0])), ("y", floats(&[0.0, 0.0]))]).expect_err("in floats");
    assert_eq!(error.to_string(), "instruction `o`: opaque code has no value in floating point");
}

#[test]
fn dyadic_numbers_in_the_field() {
    let text = scalar_kernel("float64", "float64", "(a + 0.5*b)/c - 3");
    let given = abc(&[1.0, 7.0, 0.75]);
    // (1 + 3.5)/0.75 − 3 = 3.
    assert_eq!(y_in_field(&text, &given), FieldValues::Elements(vec![3]));
    let FieldValues::Elements(tenth) = y_in_field(&scalar_kernel("float64", "float64", "a"), &abc(&[0.1, 0.0, 0.0]))
    else {
        panic!("floats are elements")
    };
    // 0.1 in float64 is 3602879701896397/2^55.
    let left = u128::from(tenth[0]) * (1_u128 << 55) % u128::from(PRIME);
    assert_eq!(left, 3_602_879_701_896_397 % u128::from(PRIME));
}

#[test]
fn the_field_orders_whole_numbers() {
    let truth = |expr: &str| y_in_field(&scalar_kernel("float64", "bool", expr), &abc(&[0.3, 0.7, -0.3]));
    for expr in ["-2.0 < -1.0", "-1.0 < 0.0", "0.0 < 1.0", "2.0 <= 2.0", "1000.0 < 1001.0", "fabs(-2.0) == 2.0"] {
        assert_eq!(truth(expr), FieldValues::Ints(vec![1]), "{expr}");
    }
    for expr in
        ["min(a, b) <= max(a, b)", "fabs(a) == fabs(c)", "(a < b) == (b > a) or True", "fmin(a, b) == min(b, a)"]
    {
        let expr = expr.replace("(a < b) == (b > a) or True", "a < b and b > a or b <= a");
        assert_eq!(truth(&expr), FieldValues::Ints(vec![1]), "{expr}");
    }
}

#[test]
fn indices_in_conditions_of_a_linearization_are_within_their_arrays() {
    let text = "kernel k linearized\ndomain { [i] : 0 <= i < 8 }\narg at : int32[8] read\narg x : float64[2] read\n\
                arg y : float64 write\nfor i\n  if x[at[i]] > 0.0\n    y = 1.0\n  end\nend\n";
    let program = kernel(text);
    for seed in 0..10 {
        let inputs = nestegg_interp::Inputs::random(program.kernel(), &Default::default(), seed).expect("it has sizes");
        let result = run(&program, &inputs, &RunOptions::default());
        assert!(result.is_ok(), "{seed}: {result:?}");
    }
}

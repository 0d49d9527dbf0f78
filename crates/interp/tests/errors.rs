//! Each way in which a run can end early.
#![allow(missing_docs)]

mod support;

use indexmap::IndexMap;
use nestegg_interp::{Error, Inputs, RunOptions, Trap, run, run_field};
use nestegg_ir::Program;
use support::*;

fn message(text: &str, given: &[(&str, nestegg_interp::Values)]) -> String {
    run_text(text, given).expect_err("it cannot be run").to_string()
}

#[test]
fn indices_out_of_bounds() {
    let text = "domain { [i, j] : 0 <= i < 2 and 0 <= j < 3 }\narg x : float64[2, 3] read\narg y : float64[2, 3] write\n\
                for i, j\n  y[i, j] = x[i, j + 1]  {id=s}\nend\n";
    let given = [("x", floats(&[0.0; 6]))];
    assert_eq!(message(text, &given), "instruction `s` at i = 0, j = 2: index [0, 3] of `x` is out of bounds");
    let text = "domain { [i] : 0 <= i < 3 }\narg y : float64[3] write\nfor i\n  y[i - 1] = 1.0  {id=s}\nend\n";
    assert_eq!(message(text, &[]), "instruction `s` at i = 0: index [-1] of `y` is out of bounds");
    let text = "domain { [i] : 0 <= i < 3 }\narg m : int32[3] read\narg x : float64[3] read\narg y : float64[3] write\n\
                for i\n  y[i] = x[m[i]]  {id=s}\nend\n";
    let given = [("m", ints(&[0, 2, 3])), ("x", floats(&[0.0; 3]))];
    assert_eq!(message(text, &given), "instruction `s` at i = 2: index [3] of `x` is out of bounds");
}

#[test]
fn temporaries_without_value() {
    let text = "domain { [i] : 0 <= i < 3 }\ntemp t : float64[3]\narg y : float64[3] write\n\
                t[0] = 1.0  {id=a}\nfor i\n  y[i] = t[i]  {id=b, dep=a}\nend\n";
    let expected = Trap::Uninitialised { array: "t".to_owned(), index: vec![1] };
    assert_eq!(trap(text, &[]), ("b i = 1".to_owned(), expected));
    let text = "arg y : float64 write\narg x : float64 write\nx = y  {id=s}\ny = 1.0\n";
    assert!(matches!(trap(text, &[]).1, Trap::Uninitialised { .. }));
}

#[test]
fn a_condition_without_value() {
    let text = "kernel k linearized\narg n : int32 read\narg y : int32 write\nif 1 // n == 1\n  y = 1\nend\n";
    assert_eq!(message(text, &[("n", ints(&[0]))]), "instruction `if`: integer division by zero");
}

#[test]
fn no_inverse_in_the_field() {
    let program = kernel(&scalar_kernel("float64", "float64", "a/(b - b)"));
    let result = run_field(&program, &inputs(&abc(&[1.0, 2.0, 3.0])), 1, &RunOptions::default());
    assert!(matches!(result, Err(Error::Trap { trap: Trap::NoInverse, .. })), "{result:?}");
    let program = kernel(&scalar_kernel("float64", "float64", "(b - b)**-1"));
    let result = run_field(&program, &inputs(&abc(&[1.0, 2.0, 3.0])), 1, &RunOptions::default());
    assert!(matches!(result, Err(Error::Trap { trap: Trap::NoInverse, .. })), "{result:?}");
}

#[test]
fn casts_have_no_meaning_in_the_field() {
    let program = kernel(&scalar_kernel("float64", "int32", "int32(a)"));
    let run = |a: f64| run_field(&program, &inputs(&abc(&[a, 2.0, 3.0])), 1, &RunOptions::default());
    assert!(matches!(run(0.1), Err(Error::Trap { trap: Trap::Unsupported(_), .. })));
    assert!(run(-7.0).is_ok());
}

#[test]
fn the_step_limit() {
    let text = "domain { [i] : 0 <= i < 100000 }\narg y : float64 readwrite\nfor i\n  y = y + 1.0\nend\n";
    let given = inputs(&[("y", floats(&[0.0]))]);
    let result = run(&kernel(text), &given, &RunOptions { max_steps: 1000 });
    assert_eq!(result, Err(Error::StepLimit { limit: 1000 }));
}

#[test]
fn given_arrays_that_do_not_fit() {
    let text = "arg x : float64[2] read\narg m : int32 read\narg p : bool read\narg y : float64 write\n\
                y = x[m] if p else 0.0\n";
    let good = [("x", floats(&[1.0, 2.0])), ("m", ints(&[1])), ("p", ints(&[1]))];
    assert!(run_text(text, &good).is_ok());
    for (position, values, expected) in [
        (0, floats(&[1.0]), "argument `x`: it has 1 elements, not 2"),
        (0, ints(&[1, 2]), "argument `x`: its dtype is float64"),
        (1, floats(&[1.0]), "argument `m`: its dtype is int32"),
        (1, ints(&[1 << 31]), "argument `m`: 2147483648 is no int32"),
        (2, ints(&[2]), "argument `p`: 2 is no bool"),
    ] {
        let mut given = good.clone();
        given[position].1 = values;
        assert_eq!(message(text, &given), expected);
    }
    assert_eq!(message(text, &good[..2]), "argument `p`: it has no values");
}

#[test]
fn parameters_and_sizes() {
    let text = "param n : int32\narg y : float64[n] write\ny[0] = 1.0\n";
    let program = kernel(text);
    let run = |n: Option<i64>| {
        let parameters: IndexMap<String, i64> = n.map(|n| ("n".to_owned(), n)).into_iter().collect();
        run(&program, &Inputs { parameters, arrays: IndexMap::new() }, &RunOptions::default())
    };
    assert_eq!(run(None), Err(Error::MissingParameter { name: "n".to_owned() }));
    assert!(matches!(run(Some(-1)), Err(Error::Size { .. })));
    assert!(matches!(run(Some(1 << 40)), Err(Error::Size { .. })));
    assert!(matches!(run(Some(0)), Err(Error::Trap { trap: Trap::OutOfBounds { .. }, .. })));
    assert!(run(Some(1)).is_ok());
}

#[test]
fn domains_without_bounds() {
    let text = "domain { [i] : 0 <= i < 2 }\narg y : float64 readwrite\nfor i\n  y = y + 1.0\nend\n";
    let mut kernel = kernel(text).kernel().clone();
    kernel.domains[0].text = "{ [i] : 0 <= i }".to_owned();
    let result = run(&Program::Unordered(kernel), &inputs(&[("y", floats(&[0.0]))]), &RunOptions::default());
    assert_eq!(result, Err(Error::Unbounded { iname: "i".to_owned() }));
}

#[test]
fn functions_that_nobody_knows() {
    let text = scalar_kernel("float64", "float64", "foo(a)");
    let message = message(&text, &abc(&[1.0, 2.0, 3.0]));
    assert_eq!(message, "instruction `s`: function `foo` has no value in floating point");
}

#[test]
fn kernels_without_order() {
    let text = "arg y : float64 write\ny = 1.0  {id=a, dep=b}\ny = 2.0  {id=b, dep=a}\n";
    match nestegg_dump::read(&nestegg_span::Source::new("k.knl", format!("kernel k\n{text}"))) {
        Ok(read) => {
            let result = run(&read.program, &inputs(&[]), &RunOptions::default());
            assert!(matches!(result, Err(Error::Order(_))), "{result:?}");
        }
        // The reader may refuse circles first.
        Err(errors) => assert!(!errors.errors().is_empty()),
    }
}

//! Every operator against expected values.
#![allow(missing_docs)]

mod support;

use nestegg_interp::{Trap, Values};
use support::*;

/// `expr` of three float64.
fn float(expr: &str, values: [f64; 3]) -> f64 {
    match y(&scalar_kernel("float64", "float64", expr), &abc(&values)) {
        Values::Floats(values) => values[0],
        Values::Ints(_) => panic!("{expr} is no float"),
    }
}

/// `expr` of three float32, as float32.
fn single(expr: &str, values: [f32; 3]) -> f32 {
    let given = abc(&values.map(f64::from));
    match y(&scalar_kernel("float32", "float32", expr), &given) {
        Values::Floats(values) => values[0] as f32,
        Values::Ints(_) => panic!("{expr} is no float"),
    }
}

fn int(dtype: &str, expr: &str, values: [i64; 3]) -> i64 {
    match y(&scalar_kernel(dtype, dtype, expr), &abc_ints(&values)) {
        Values::Ints(values) => values[0],
        Values::Floats(_) => panic!("{expr} is no integer"),
    }
}

fn truth(dtype: &str, expr: &str, values: [f64; 3]) -> bool {
    let given = if dtype == "float64" { abc(&values) } else { abc_ints(&values.map(|value| value as i64)) };
    y(&scalar_kernel(dtype, "bool", expr), &given) == ints(&[1])
}

fn int_trap(dtype: &str, expr: &str, values: [i64; 3]) -> Trap {
    trap(&scalar_kernel(dtype, dtype, expr), &abc_ints(&values)).1
}

#[test]
fn arithmetic_in_float64() {
    let values = [0.1, 0.2, -7.5];
    assert_eq!(float("a + b + c", values), 0.1 + 0.2 + -7.5);
    assert_eq!(float("a - b", values), 0.1 - 0.2);
    assert_eq!(float("a*b*c", values), 0.1 * 0.2 * -7.5);
    assert_eq!(float("a/b", values), 0.1 / 0.2);
    assert_eq!(float("-(c)", values), 7.5);
    assert_eq!(float("a/(b - b)", values), f64::INFINITY);
    assert!(float("(a - a)/(b - b)", values).is_nan());
    assert_eq!(float("min(a, b, c)", values), -7.5);
    assert_eq!(float("max(a, b, c)", values), 0.2);
    assert_eq!(float("a if b < c else c", values), -7.5);
    assert_eq!(float("1/4", values), 0.25);
    assert_eq!(float("7*a", values), 7.0 * 0.1);
}

#[test]
fn floor_division_rounds_down() {
    for (a, b) in [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-7.5, -2.0), (6.0, 3.0), (-6.0, 3.0)] {
        assert_eq!(float("a // b", [a, b, 0.0]), (a / b).floor());
        assert_eq!(float("a % b", [a, b, 0.0]), a - b * (a / b).floor());
    }
    for dtype in ["int32", "int64"] {
        for (a, b, quotient, rest) in
            [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, 3, 2, 0), (-6, 3, -2, 0)]
        {
            assert_eq!(int(dtype, "a // b", [a, b, 0]), quotient, "{a} // {b}");
            assert_eq!(int(dtype, "a % b", [a, b, 0]), rest, "{a} % {b}");
        }
    }
}

#[test]
fn powers() {
    assert_eq!(float("a**3", [1.5, 0.0, 0.0]), 3.375);
    assert_eq!(float("a**-2", [0.5, 0.0, 0.0]), 4.0);
    assert_eq!(float("a**0", [0.0, 0.0, 0.0]), 1.0);
    assert_eq!(float("a**0.5", [2.25, 0.0, 0.0]), 1.5);
    assert_eq!(float("a**b", [2.0, 10.0, 0.0]), 1024.0);
    assert_eq!(float("pow(a, 2)", [3.0, 0.0, 0.0]), 9.0);
    assert_eq!(int("int32", "a**3", [-3, 0, 0]), -27);
    assert_eq!(int("int64", "a**4", [-3, 0, 0]), 81);
}

#[test]
fn functions_of_math_h() {
    assert_eq!(float("fabs(c)", [0.0, 0.0, -2.5]), 2.5);
    assert_eq!(float("sqrt(a)", [6.25, 0.0, 0.0]), 2.5);
    assert_eq!(float("exp(a) + log(b)", [0.0, 1.0, 0.0]), 1.0);
    assert_eq!(float("fma(a, b, c)", [2.0, 3.0, 4.0]), 10.0);
    assert_eq!(float("atan2(a, b)", [0.0, 1.0, 0.0]), 0.0);
    assert_eq!(float("fmin(a, b) + fmax(a, b)", [1.0, 2.0, 0.0]), 3.0);
}

#[test]
fn float32_rounds_every_result() {
    let (a, b, c) = (0.1_f32, 1e8_f32, -1e8_f32);
    assert_eq!(single("a + b + c", [a, b, c]), a + b + c);
    assert_eq!(single("a*a", [a, b, c]), a * a);
    assert_eq!(single("a/(b + a)", [a, b, c]), a / (b + a));
    assert_eq!(single("0.1*a", [a, b, c]), 0.1_f32 * a);
    assert_eq!(single("a**2", [a, b, c]), a * a);
    assert_eq!(float("float32(a)", [0.1, 0.0, 0.0]), f64::from(0.1_f32));
    let text = "arg x : float32[3] read\narg y : float32 write\ndomain { [i] : 0 <= i < 3 }\ny = sum(i, x[i])\n";
    let values = [1e8_f32, 1.0, -1e8];
    let given = [("x", floats(&values.map(f64::from)))];
    assert_eq!(y(text, &given), floats(&[f64::from(values[0] + values[1] + values[2])]));
}

#[test]
fn float32_beside_float64_is_float64() {
    let text = "arg a : float32 read\narg b : float64 read\narg y : float64 write\ny = a*b\n";
    let given = [("a", floats(&[f64::from(0.1_f32)])), ("b", floats(&[0.1]))];
    assert_eq!(y(text, &given), floats(&[f64::from(0.1_f32) * 0.1]));
}

#[test]
fn given_float32_are_rounded() {
    let text = "arg a : float32 read\narg y : float64 write\ny = a\n";
    assert_eq!(y(text, &[("a", floats(&[0.1]))]), floats(&[f64::from(0.1_f32)]));
}

#[test]
fn integers_have_widths() {
    assert_eq!(int("int32", "a + b", [2_147_483_646, 1, 0]), 2_147_483_647);
    assert_eq!(int_trap("int32", "a + b", [2_147_483_647, 1, 0]), Trap::IntegerOverflow);
    assert_eq!(int_trap("int32", "a - b", [-2_147_483_648, 1, 0]), Trap::IntegerOverflow);
    assert_eq!(int_trap("int32", "a*b", [65536, 32768, 0]), Trap::IntegerOverflow);
    assert_eq!(int_trap("int32", "-(a)", [-2_147_483_648, 0, 0]), Trap::IntegerOverflow);
    assert_eq!(int_trap("int32", "a**5", [100, 0, 0]), Trap::IntegerOverflow);
    assert_eq!(int("int64", "a*b", [65536, 32768, 0]), 2_147_483_648);
    assert_eq!(int_trap("int64", "a*b", [i64::MAX, 2, 0]), Trap::IntegerOverflow);
    assert_eq!(int_trap("int64", "a // b", [i64::MIN, -1, 0]), Trap::IntegerOverflow);
    let text = "arg a : int32 read\narg b : int64 read\narg y : int64 write\ny = a*b\n";
    assert_eq!(y(text, &[("a", ints(&[65536])), ("b", ints(&[65536]))]), ints(&[1 << 32]));
}

#[test]
fn inames_overflow_like_other_integers() {
    let text = "domain { [i] : 0 <= i < 3 }\narg y : int64[3] write\nfor i\n  y[i] = 1500000000*i  {id=s}\nend\n";
    assert_eq!(trap(text, &[]), ("s i = 2".to_owned(), Trap::IntegerOverflow));
}

#[test]
fn integer_division_by_zero() {
    for dtype in ["int32", "int64"] {
        assert_eq!(int_trap(dtype, "a // b", [1, 0, 0]), Trap::IntegerDivisionByZero);
        assert_eq!(int_trap(dtype, "a % b", [1, 0, 0]), Trap::IntegerDivisionByZero);
    }
}

#[test]
fn bits() {
    assert_eq!(int("int32", "a & b", [12, 10, 0]), 8);
    assert_eq!(int("int32", "a | b", [12, 10, 0]), 14);
    assert_eq!(int("int32", "a ^ b", [12, 10, 0]), 6);
    assert_eq!(int("int32", "~a", [12, 0, 0]), -13);
    assert_eq!(int("int32", "a << b", [3, 4, 0]), 48);
    assert_eq!(int("int32", "a >> b", [-48, 4, 0]), -3);
    assert_eq!(int("int64", "a << b", [1, 40, 0]), 1 << 40);
    assert_eq!(int_trap("int32", "a << b", [1, 32, 0]), Trap::ShiftOutOfRange);
    assert_eq!(int_trap("int64", "a >> b", [1, -1, 0]), Trap::ShiftOutOfRange);
    assert_eq!(int_trap("int32", "a << b", [1, 31, 0]), Trap::IntegerOverflow);
}

#[test]
fn comparisons_and_logic() {
    for dtype in ["float64", "int32", "int64"] {
        for (expr, expected) in [
            ("a < b", true),
            ("a <= a", true),
            ("a > b", false),
            ("b >= a", true),
            ("a == b", false),
            ("a != b", true),
            ("a < b and b < c", true),
            ("a < b and c < b and a < c", false),
            ("a > b or b > c or a == a", true),
            ("not (a < b)", false),
        ] {
            assert_eq!(truth(dtype, expr, [-1.0, 2.0, 3.0]), expected, "{dtype} {expr}");
        }
    }
    let nan = f64::NAN;
    for expr in ["a < b", "a <= b", "a > b", "a >= b", "a == a"] {
        assert!(!truth("float64", expr, [nan, 1.0, 0.0]), "{expr}");
    }
    assert!(truth("float64", "a != a", [nan, 1.0, 0.0]));
}

#[test]
fn truth_values_are_numbers() {
    let text = "arg p : bool[2] read\narg y : int32[4] write\ny[0] = int32(p[0])\ny[1] = int32(p[1])\n\
                y[2] = 2*int32(p[0])\ny[3] = int32(not p[1])\n";
    assert_eq!(y(text, &[("p", ints(&[1, 0]))]), ints(&[1, 0, 2, 1]));
    let text = "arg a : float64[2] read\narg y : bool[2] write\ny[0] = bool(a[0])\ny[1] = bool(a[1])\n";
    assert_eq!(y(text, &[("a", floats(&[0.0, 0.5]))]), ints(&[0, 1]));
}

#[test]
fn casts() {
    let cast = |from: &str, to: &str, value: Values| {
        y(&format!("arg a : {from} read\narg y : {to} write\ny = cast({to}, a)\n"), &[("a", value)])
    };
    assert_eq!(cast("float64", "int32", floats(&[-2.9])), ints(&[-2]));
    assert_eq!(cast("float64", "int64", floats(&[1e15])), ints(&[1_000_000_000_000_000]));
    assert_eq!(cast("int64", "float32", ints(&[16_777_217])), floats(&[16_777_216.0]));
    assert_eq!(cast("int64", "int32", ints(&[-5])), ints(&[-5]));
    assert_eq!(cast("bool", "float64", ints(&[1])), floats(&[1.0]));
    let wrong = |from: &str, to: &str, value: Values| {
        trap(&format!("arg a : {from} read\narg y : {to} write\ny = cast({to}, a)\n"), &[("a", value)]).1
    };
    assert_eq!(wrong("float64", "int32", floats(&[3e9])), Trap::IntegerOverflow);
    assert_eq!(wrong("float64", "int64", floats(&[1e300])), Trap::IntegerOverflow);
    assert_eq!(wrong("float64", "int64", floats(&[f64::NAN])), Trap::IntegerOverflow);
    assert_eq!(wrong("int64", "int32", ints(&[1 << 31])), Trap::IntegerOverflow);
}

#[test]
fn only_the_chosen_branch_matters() {
    assert_eq!(int("int32", "a // b if b != 0 else c", [1, 0, 5]), 5);
    assert_eq!(int("int32", "a // b if b != 0 else c", [7, 2, 5]), 3);
    assert_eq!(int_trap("int32", "c if b != 0 else a // b", [1, 0, 5]), Trap::IntegerDivisionByZero);
    let text = |condition: &str| scalar_kernel("int32", "bool", condition);
    assert_eq!(y(&text("b != 0 and a // b > 0"), &abc_ints(&[1, 0, 0])), ints(&[0]));
    assert_eq!(y(&text("b == 0 or a // b > 0"), &abc_ints(&[1, 0, 0])), ints(&[1]));
    assert_eq!(trap(&text("a // b > 0 and b != 0"), &abc_ints(&[1, 0, 0])).1, Trap::IntegerDivisionByZero);
    assert_eq!(trap(&text("b == 0 and a // b > 0"), &abc_ints(&[1, 0, 0])).1, Trap::IntegerDivisionByZero);
    let text = "domain { [i] : 0 <= i < 4 }\narg x : float64[4] read\narg y : float64[4] write\nfor i\n  \
                y[i] = x[i - 1] if i > 0 else 0.0\nend\n";
    assert_eq!(y(text, &[("x", floats(&[1.0, 2.0, 3.0, 4.0]))]), floats(&[0.0, 1.0, 2.0, 3.0]));
}

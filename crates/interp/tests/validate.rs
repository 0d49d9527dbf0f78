//! Comparison of programs: equal ones, and each kind of planted error.
#![allow(missing_docs)]

mod support;

use nestegg_interp::{
    Agreement, Difference, Error, Evidence, Outcome, Survey, ValidateOptions, Verdict, survey, validate,
};
use support::*;

fn compare(first: &str, second: &str) -> Verdict {
    match validate(&kernel(first), &kernel(second), &ValidateOptions::default()) {
        Ok(verdict) => verdict,
        Err(error) => panic!("{error}\n{first}"),
    }
}

fn equal(first: &str, second: &str) -> Evidence {
    match compare(first, second) {
        Verdict::Equal(evidence) => evidence,
        Verdict::Different(difference) => panic!("{difference}\n{first}\n{second}"),
    }
}

fn different(first: &str, second: &str) -> Difference {
    match compare(first, second) {
        Verdict::Equal(evidence) => panic!("{evidence}\n{first}\n{second}"),
        Verdict::Different(difference) => difference,
    }
}

/// No seeds in the field: floats are alone.
fn in_floats_alone() -> ValidateOptions {
    ValidateOptions { seeds: Vec::new(), ..ValidateOptions::default() }
}

/// The world in which a value differs.
fn world(difference: &Difference) -> &'static str {
    match difference {
        Difference::Value { world, .. } => world,
        other => panic!("{other}"),
    }
}

const MASS: &str = "domain { [q, j, k] : 0 <= q < 4 and 0 <= j, k < 3 }
arg A : float64[3, 3] readwrite
arg w : float64[4] read
arg s : float64 read
table phi : float64[4, 3] = [[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]
for j, k
  A[j, k] = A[j, k] + s*sum(q, w[q]*phi[q, j]*phi[q, k])  {id=acc}
end
";

#[test]
fn a_program_is_equal_to_itself() {
    let evidence = equal(MASS, MASS);
    assert_eq!((evidence.n_elements, evidence.n_exact, evidence.n_data), (9, 9, 2));
    assert_eq!(evidence.largest_error, 0.0);
}

#[test]
fn another_order_of_operations_is_equal() {
    let other = MASS.replace("s*sum(q, w[q]*phi[q, j]*phi[q, k])", "sum(q, phi[q, k]*(s*phi[q, j])*w[q])");
    let evidence = equal(MASS, &other);
    assert!(evidence.largest_error < 1e-15);
    assert_eq!(evidence.not_compared, None);
}

#[test]
fn planted_errors_are_found() {
    for (from, to) in [
        // A coefficient that is off by 1e-13.
        ("0.8, 0.1]", "0.80000000000008, 0.1]"),
        // Wrong indices.
        ("phi[q, j]*phi[q, k]", "phi[q, j]*phi[q, j]"),
        ("w[q]", "w[3 - q]"),
        ("A[j, k] = A[j, k] +", "A[j, k] = A[k, j] +"),
        // A term too few, one too many.
        ("A[j, k] + s", "s"),
        ("s*sum", "s + s*sum"),
        ("s*sum(q, w[q]", "s*sum(q, s*w[q]"),
        // A loop that is too short.
        ("for j, k\n", "for j, k\n if j + k > 0\n"),
    ] {
        let mut other = MASS.replace(from, to);
        assert_ne!(other, MASS);
        if to.contains(" if ") {
            other.push_str("end\n");
        }
        match different(MASS, &other) {
            Difference::Value { argument, world, instruction, .. } => {
                assert_eq!((argument.as_str(), world), ("A", "exact arithmetic"), "{to}");
                let is_skipped = to.contains(" if ");
                assert_eq!(instruction, (!is_skipped).then(|| "acc".to_owned()), "{to}");
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_difference_names_element_values_and_instruction() {
    let text = "domain { [i] : 0 <= i < 3 }\narg x : float64[3] read\narg y : int32[3] write\n\
                for i\n  y[i] = i  {id=first}\nend\ny[2] = 2  {id=second, dep=first}\n";
    let difference = different(text, &text.replace("y[2] = 2", "y[2] = 5"));
    assert_eq!(
        difference.to_string(),
        "`y[2]` is 2 in the first and 5 in the second program, in exact arithmetic; instruction `second` wrote it last"
    );
}

#[test]
fn arguments_must_agree() {
    let text = "arg x : float64[2] read\narg y : float64 write\narg z : float64 write\ny = x[0]\nz = x[1]\n";
    for (from, to) in [
        ("arg y : float64 write\narg z : float64 write", "arg z : float64 write\narg y : float64 write"),
        ("x : float64[2]", "x : float32[2]"),
        ("x : float64[2]", "x : float64[3]"),
        ("y : float64 write", "y : float64 readwrite"),
    ] {
        let difference = different(text, &text.replace(from, to));
        assert!(matches!(difference, Difference::Arguments { .. }), "{difference}");
    }
}

#[test]
fn branches_and_predicates() {
    let text = "domain { [i] : 0 <= i < 8 }\narg x : float64[8] read\narg z : float64[8] read\n\
                arg y : float64[8] readwrite\nfor i\n  y[i] = x[i] if x[i] < z[i] else z[i]  {if=x[i] > 0.0}\nend\n";
    equal(text, &text.replace("x[i] if x[i] < z[i] else z[i]", "z[i] if z[i] <= x[i] else x[i]"));
    for (from, to) in [
        ("x[i] if x[i] < z[i] else z[i]", "z[i] if x[i] < z[i] else x[i]"),
        ("x[i] < z[i]", "x[i] > z[i]"),
        ("{if=x[i] > 0.0}", ""),
        ("x[i] > 0.0", "z[i] > 0.0"),
    ] {
        different(text, &text.replacen(from, to, 1));
    }
}

#[test]
fn functions_and_the_order_of_their_arguments() {
    let text = scalar_kernel("float64", "float64", "pow(a, b) + atan2(a, c) + foo(a, b)");
    equal(&text, &scalar_kernel("float64", "float64", "foo(a, b) + atan2(a, c) + pow(a, b)"));
    different(&text, &scalar_kernel("float64", "float64", "pow(b, a) + atan2(a, c) + foo(a, b)"));
    different(&text, &scalar_kernel("float64", "float64", "pow(a, b) + atan2(c, a) + foo(a, b)"));
    different(&text, &scalar_kernel("float64", "float64", "pow(a, b) + atan2(a, c) + foo(b, a)"));
    equal(&scalar_kernel("float64", "float64", "fabs(a - b)"), &scalar_kernel("float64", "float64", "fabs(b - a)"));
}

#[test]
fn a_trap_in_one_program_only() {
    let text = scalar_kernel("float64", "float64", "a");
    let out_of_bounds = "arg a : float64 read\narg b : float64 read\narg c : float64 read\narg y : float64 write\n\
                         temp t : float64[2]\nt[0] = a  {id=r}\ny = t[1] + a  {id=s, dep=r}\n";
    match different(&text, out_of_bounds) {
        Difference::Trap { program, error } => {
            assert_eq!(program, "the second");
            assert!(matches!(error, Error::Trap { .. }), "{error}");
        }
        other => panic!("{other}"),
    }
    let first = validate(&kernel(out_of_bounds), &kernel(&text), &ValidateOptions::default());
    assert!(matches!(first, Err(Error::Trap { .. })), "{first:?}");
}

#[test]
fn divisors_that_are_zero() {
    let text = |expr: &str| scalar_kernel("float64", "float64", expr);
    // In the field on every seed, in one program only.
    match different(&text("a/b"), &text("a/(b*(c - c + 1) - b + b*0)*b")) {
        Difference::Trap { program: "the second", .. } => {}
        other => panic!("{other}"),
    }
    // In both: floats remain.
    let evidence = equal(&text("a/(b - b)"), &text("a/(c - c)"));
    assert_eq!((evidence.n_exact, evidence.n_floats), (0, 1));
    assert!(evidence.to_string().contains("in floats alone"), "{evidence}");
    different(&text("a/(b - b)"), &text("a/(c - c) - a/(c - c)"));
}

#[test]
fn what_is_not_finite_is_compared_where_bits_count() {
    let text = |expr: &str| scalar_kernel("float64", "float64", expr);
    let nan = "sqrt(-(a*a))";
    equal(&text(nan), &text(nan));
    equal(&text("sqrt(-(a*a)) - b"), &text("sqrt(-(a*a)) + (0.0 - b)"));
    // Real numbers know no overflow: what is multiplied by zero is zero.
    for (first, second) in [("0.0*exp(1e6*fabs(a) + 1e9)", "0.0"), ("1.0 + 0.0*exp(1e9 + a)", "1.0")] {
        equal(&text(first), &text(second));
        let options = ValidateOptions { agreement: Agreement::Bits, ..ValidateOptions::default() };
        match validate(&kernel(&text(first)), &kernel(&text(second)), &options) {
            Ok(Verdict::Different(difference)) => assert_eq!(world(&difference), "floating point"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn single_precision_has_its_own_tolerance() {
    let text = |expr: &str| {
        format!(
            "domain {{ [i] : 0 <= i < 32 }}\narg a : float32[32] read\narg b : float32[32] read\n\
             arg y : float32[32] write\nfor i\n  y[i] = {expr}\nend\n"
        )
    };
    let evidence = equal(&text("a[i]*b[i] + a[i]*0.1"), &text("a[i]*(b[i] + 0.1)"));
    assert!(evidence.largest_error > 1e-12 && evidence.largest_error < 1e-6, "{evidence}");
    let difference = different(&text("a[i]*b[i] + a[i]"), &text("a[i]*(b[i] + 1.000001)"));
    assert_eq!(world(&difference), "exact arithmetic");
}

/// A contribution of 1e-12 to a readwrite argument of size 1.
const TINY: &str = "arg A : float64 readwrite\narg x : float64 read\nA = A + 1e-12*sin(x)\n";

#[test]
fn tiny_contributions() {
    assert_eq!(world(&different(TINY, &TINY.replace("1e-12", "1.1e-12"))), "real arithmetic");
    let text = TINY.replace("sin(x)", "x");
    assert_eq!(world(&different(&text, &text.replace("1e-12*x", "1e-12*x*x"))), "exact arithmetic");
    equal(&text, &text.replace("1e-12*x", "x*1e-12"));
}

#[test]
fn floats_from_zero_find_tiny_contributions() {
    let found = validate(&kernel(TINY), &kernel(&TINY.replace("1e-12", "1.1e-12")), &in_floats_alone());
    match found {
        Ok(Verdict::Different(Difference::Value { world, .. })) => assert_eq!(world, "floating point"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn cancellation_in_the_first_program_is_no_fault_of_the_second() {
    let text = |expr: &str| scalar_kernel("float64", "float64", expr);
    let evidence = equal(&text("(1e15*a + b) - 1e15*a"), &text("b"));
    assert!(evidence.largest_error < 1e-14, "{evidence}");
}

#[test]
fn opaque_code_is_an_oracle() {
    let text = "arg x : float64 read\narg y : float64 write\ntemp t : float64\ncode \"t = f(x);\" reads x writes t {id=o}\n\
                y = 2.0*t  {id=s, dep=o}\n";
    let evidence = equal(text, &text.replace("2.0*t", "t + t"));
    assert_eq!((evidence.n_exact, evidence.n_floats), (1, 0));
    different(text, &text.replace("f(x)", "g(x)"));
    different(text, &text.replace("2.0*t", "t"));
}

#[test]
fn truncation_is_compared() {
    let text = scalar_kernel("float64", "int32", "int32(10.0*a + b)");
    let evidence = equal(&text, &scalar_kernel("float64", "int32", "int32(b + 10.0*a)"));
    assert_eq!((evidence.n_exact, evidence.n_floats), (1, 0));
    different(&text, &scalar_kernel("float64", "int32", "int32(13.0*a + b)"));
}

#[test]
fn what_opaque_code_computes_may_be_truncated() {
    let text = "arg x : float64 read\narg y : int32 write\ntemp t : float64\ncode \"t = f(x);\" reads x writes t {id=o}\n\
                y = int32(t)  {id=s, dep=o}\n";
    equal(text, text);
    different(text, &text.replace("int32(t)", "int32(9.0*t)"));
}

#[test]
fn calls_with_several_results_are_compared() {
    let text = "arg x : float64 read\narg y : float64[2] write\ny[1], y[0] = foo(x)  {id=c}\n";
    let evidence = equal(text, text);
    assert_eq!(evidence.n_exact, 2);
    different(text, &text.replace("y[1], y[0]", "y[0], y[1]"));
}

#[test]
fn elements_that_only_the_second_program_leaves_open() {
    let text = "domain { [i] : 0 <= i < 3 }\narg y : float64[3] write\nfor i\n  y[i] = 1.0  {if=i < 2}\nend\n";
    equal(text, &text.replace("i < 2", "i < 3"));
    let difference = different(text, &text.replace("i < 2", "i < 1"));
    assert_eq!(
        difference.to_string(),
        "`y[1]` is a value in the first and not written in the second program, in exact arithmetic"
    );
}

/// A kernel over three points with a table that has a zero in it.
fn with_zero(dtype: &str, body: &str) -> String {
    format!(
        "domain {{ [i] : 0 <= i < 3 }}\narg a : float64[3] read\narg y : {dtype}[3] write\ntemp t : float64[3]\n\
         table z : float64[3] = [1.0, 0.0, 2.0]\nfor i\n{body}\nend\n"
    )
}

#[test]
fn what_is_undefined_but_not_used_is_no_difference() {
    let guarded = with_zero("float64", "y[i] = (a[i]/z[i] if z[i] != 0.0 else a[i])");
    let speculated = with_zero("float64", "t[i] = a[i]/z[i] {id=t}\ny[i] = (t[i] if z[i] != 0.0 else a[i]) {dep=t}");
    for (first, second) in [(&guarded, &speculated), (&speculated, &guarded)] {
        let evidence = equal(first, second);
        assert_eq!((evidence.n_elements, evidence.n_exact), (3, 3));
        assert_eq!(evidence.not_compared, None);
    }
    match different(&guarded, &with_zero("float64", "t[i] = a[i]/z[i] {id=t}\ny[i] = t[i] {dep=t}")) {
        Difference::Trap { program: "the second", error } => {
            assert_eq!(error.to_string(), "instruction `insn1` at i = 1: division by zero");
        }
        other => panic!("{other}"),
    }
    different(&guarded, &speculated.replace("z[i] != 0.0", "z[i] == 0.0"));
}

#[test]
fn integers_are_not_divided_by_zero_in_advance() {
    let text = |body: &str| {
        format!("arg n : int32 read\narg y : int32 write\ntemp t : int32\ntable z : int32[1] = [0]\n{body}\n")
    };
    let difference = different(
        &text("y = (n//z[0] if z[0] != 0 else n)"),
        &text("t = n//z[0] {id=t}\ny = (t if z[0] != 0 else n) {dep=t}"),
    );
    assert!(matches!(difference, Difference::Trap { program: "the second", .. }), "{difference}");
}

#[test]
fn what_is_undefined_in_the_first_program_is_compared_in_floats() {
    let text = with_zero("float64", "y[i] = 1.0/z[i]");
    let evidence = equal(&text, &text);
    assert_eq!((evidence.n_exact, evidence.n_floats), (2, 1));
    assert!(evidence.to_string().contains("1 of 3 elements in floats alone"), "{evidence}");
    let difference = different(&text, &with_zero("float64", "y[i] = (1.0/z[i] if z[i] != 0.0 else 5.0)"));
    assert_eq!(world(&difference), "floating point");
    // Mostly undefined.
    let text = with_zero("float64", "y[i] = 1.0/(z[i]*(z[i] - 1.0))");
    assert_eq!((equal(&text, &text).n_exact, equal(&text, &text).n_floats), (1, 2));
}

#[test]
fn what_an_undefined_condition_decides_is_undefined() {
    let predicate = with_zero("float64", "y[i] = a[i] {if=1.0/z[i] > 0.5}");
    let branch = "kernel k linearized\ndomain { [i] : 0 <= i < 3 }\narg a : float64[3] read\narg y : float64[3] write\n\
                  table z : float64[3] = [1.0, 0.0, 2.0]\nfor i\n  if 1.0/z[i] > 0.5\n    y[i] = a[i]\n  end\nend\n";
    for (first, second) in [(predicate.as_str(), branch), (branch, predicate.as_str())] {
        assert_eq!(equal(first, second).n_floats, 1);
    }
    different(&predicate, &predicate.replace("= a[i]", "= 2.0*a[i]"));
    // Whether the first element is written at all is known in the first program only.
    different(&predicate, &predicate.replace("1.0/z[i]", "1.0/z[1]"));
}

#[test]
fn a_cast_float_may_be_an_index() {
    let text = |index: &str| {
        format!(
            "domain {{ [i] : 0 <= i < 3 }}\narg a : float64[3] read\narg y : float64[3] write\narg w : float64 write\n\
             for i\n  y[{index}] = a[0]\nend\nw = a[1]\n"
        )
    };
    let evidence = equal(&text("int32(fabs(a[i]))"), &text("int32(fabs(a[i]))"));
    assert_eq!(evidence.n_exact, evidence.n_elements);
    different(&text("int32(fabs(a[i]))"), &text("int32(0.5*fabs(a[i]))"));
}

#[test]
fn calls_and_opaque_code_hand_on_what_is_undefined() {
    let text = |last: &str| {
        format!(
            "arg x : float64 read\narg y : float64[3] write\ntemp t : float64\ntemp u : float64\n\
             t = x/(x - x) {{id=a}}\ncode \"u = f(t);\" reads t writes u {{id=o, dep=a}}\n\
             y[0], y[1] = foo(t)  {{id=c, dep=a}}\ny[2] = {last} {{dep=o}}\n"
        )
    };
    let evidence = equal(&text("x"), &text("x"));
    assert_eq!((evidence.n_exact, evidence.n_elements), (1, 3));
    assert!(evidence.not_compared.is_some());
    let difference = different(&text("x"), &text("u"));
    assert!(matches!(difference, Difference::Trap { program: "the second", .. }), "{difference}");
}

#[test]
fn powers_with_whole_exponents_are_products() {
    let text = |expr: &str| scalar_kernel("float64", "float64", expr);
    for expr in ["pow(a, 2.0)", "pow(a, 2)", "a**2", "a**2.0", "a**(1.0 + 1.0)", "pow(a, 1.0 + 1.0)"] {
        equal(&text(expr), &text("a*a"));
        equal(&text("a*a"), &text(expr));
        different(&text(expr), &text("a*b"));
    }
    for expr in ["pow(a, -2.0)", "a**-2", "pow(a, 1.0 - 3.0)"] {
        equal(&text(expr), &text("1.0/(a*a)"));
    }
    equal(&text("pow(a*a, b)"), &text("(a*a)**b"));
    equal(&text("pow(a*a, 0.5)"), &text("(a*a)**0.5"));
    different(&text("pow(a*a, 0.5)"), &text("(a*a)**1.5"));
}

#[test]
fn float64_results_of_float32_values_are_equal_to_single_precision() {
    let text = |expr: &str| {
        format!(
            "domain {{ [i] : 0 <= i < 32 }}\narg a : float32[32] read\narg b : float32[32] read\n\
             arg y : float64[32] write\nfor i\n  y[i] = {expr}\nend\n"
        )
    };
    let evidence = equal(&text("a[i]*b[i] + a[i]*0.1"), &text("a[i]*(b[i] + 0.1)"));
    assert!(evidence.largest_error > 1e-9 && evidence.largest_error < 1e-6, "{evidence}");
}

/// A kernel that may decide on floats and integers, and read through an array of indices.
fn deciding(body: &str) -> String {
    format!(
        "domain {{ [i] : 0 <= i < 16 }}\narg a : float64[16] read\narg b : float64[16] read\narg m : int32[16] read\n\
         arg x : float64[32] read\narg off : int32[16] read\narg o : float64[16] write\ntemp t : float64\n\
         for i\n  {body}\nend\n"
    )
}

/// Pairs that random data of one size would take for equal.
#[test]
fn data_reach_both_sides_of_every_decision() {
    let text = deciding;
    for (first, second) in [
        ("o[i] = a[i] if a[i] < 100000.0 else b[i]", "o[i] = a[i]"),
        ("o[i] = a[i] if a[i] < 100000.0 else b[i]", "o[i] = a[i] if a[i] <= 100000.0 else b[i]"),
        ("o[i] = a[i] if a[i] < 100000.0 else b[i]", "o[i] = a[i] if a[i] < 100000.01 else b[i]"),
        ("o[i] = min(a[i], 1000000000.0)", "o[i] = a[i]"),
        ("o[i] = max(-3.0, a[i]*b[i])", "o[i] = a[i]*b[i]"),
        ("o[i] = a[i] if m[i] < 5000 else b[i]", "o[i] = a[i]"),
        ("o[i] = a[i] if m[i] != 77 else b[i]", "o[i] = a[i]"),
        ("o[i] = 2.0 if a[i] == b[i] else b[i]", "o[i] = b[i]"),
        ("o[i] = x[i + off[i]] - x[i]", "o[i] = 0.0"),
        ("o[i] = x[2*off[i] + 1] - x[i]", "o[i] = x[1] - x[i]"),
        ("o[i] = floor(a[i])", "o[i] = floor(a[i] + 1e-6)"),
        ("o[i] = fabs(a[i])", "o[i] = a[i] if a[i] > -1e4 else -a[i]"),
        ("o[i] = a[i]/(b[i] - 7.0)", "o[i] = a[i]/fabs(b[i] - 7.0)*(-1.0)"),
    ] {
        let _ = different(&text(first), &text(second));
        equal(&text(first), &text(first));
    }
    equal(&text("o[i] = a[i] if a[i] == b[i] else b[i]"), &text("o[i] = b[i]"));
    equal(&text("o[i] = min(a[i], b[i]) + max(a[i], b[i])"), &text("o[i] = a[i] + b[i]"));
    equal(&text("o[i] = a[i] if a[i] < b[i] else b[i]"), &text("o[i] = min(b[i], a[i])"));
    equal(&text("o[i] = 1.0 if a[i]*a[i] >= 0.0 else b[i]"), &text("o[i] = 1.0"));
}

/// So do floats alone, which cannot tell the two sides of a jump apart where data are just beside it.
#[test]
fn floats_alone_reach_both_sides_of_every_decision() {
    let compare =
        |first: &str, second: &str| validate(&kernel(&deciding(first)), &kernel(&deciding(second)), &in_floats_alone());
    for (first, second) in [
        ("o[i] = a[i] if a[i] < 100000.0 else b[i]", "o[i] = a[i]"),
        ("o[i] = min(a[i], 1000000000.0)", "o[i] = a[i]"),
        ("o[i] = a[i] if m[i] < 5000 else b[i]", "o[i] = a[i]"),
        ("o[i] = a[i] if m[i] != 77 else b[i]", "o[i] = a[i]"),
        ("o[i] = x[i + off[i]] - x[i]", "o[i] = 0.0"),
        ("o[i] = a[i] if i < 15 else b[i]", "o[i] = a[i]"),
    ] {
        assert!(matches!(compare(first, second), Ok(Verdict::Different(_))), "{first} {second}");
        let Ok(Verdict::Equal(evidence)) = compare(first, first) else { panic!("{first}") };
        assert_eq!(evidence.unreached.unwrap_or_default(), [], "{first}");
    }
    let never = "o[i] = a[i] if a[i]*a[i] < -1.0 else b[i]";
    let Ok(Verdict::Equal(evidence)) = compare(never, "o[i] = b[i]") else { panic!("{never}") };
    let outcomes: Vec<Outcome> = evidence.unreached.unwrap_or_default().iter().map(|it| it.never).collect();
    assert_eq!(outcomes, [Outcome::True]);
}

/// The two programs divide by zero at other points than most data: what an element is on other data counts.
#[test]
fn an_infinity_of_either_sign_is_no_value() {
    let text = |expr: &str| scalar_kernel("float64", "float64", expr);
    equal(&text("1.0/(a*1e-200*b*1e-200 - c*0.0)"), &text("-1.0/(c*0.0 - a*1e-200*b*1e-200)"));
}

/// The logarithm of the determinant of one and a gradient, at many points: it has a value where the gradient is small beside the rest.
#[test]
fn determinants_are_positive_on_some_data() {
    let text = |factor: &str| {
        format!(
            "domain {{ [q, i] : 0 <= q < 40 and 0 <= i < 3 }}\narg T : float64[40, 3] read\narg x : float64[4] read\n\
             arg w : float64[3, 2] read\narg o : float64[1] write\n\
             o[0] = sum(q, {factor}*log((1.0 + sum(i, T[q, i]*w[i, 0])/x[0])*(1.0 + sum(i, T[q, i]*w[i, 1])/x[1])))\n"
        )
    };
    equal(&text("2.0"), &text("2.0"));
    let _ = different(&text("2.0"), &text("2.5"));
}

/// No output needs what is stored there.
#[test]
fn stores_are_inside_their_arrays_wherever_the_loops_end() {
    let text = |end: &str| {
        format!(
            "domain {{ [i, j] : 0 <= i < 3000 and 0 <= j < {end} }}\narg x : float64[3000] read\n\
             arg o : float64[3000, 2000] write\nfor i, j\n  o[i, j] = 2.0*x[i]\nend\n"
        )
    };
    equal(&text("2000"), &text("2000"));
    let Difference::Trap { error, .. } = different(&text("2000"), &text("2001")) else { panic!("no trap") };
    assert!(error.to_string().contains("out of bounds"), "{error}");
}

#[test]
fn a_survey_names_the_elements_that_differ() {
    let text = |third: &str, body: &str| {
        format!(
            "domain {{ [i] : 0 <= i < 4 }}\narg x : float64[4] read\narg y : float64[4] write\n\
             table t : float64[4] = [2.0, 2.0, {third}, 2.0]\nfor i\n  {body}\nend\n"
        )
    };
    let options = ValidateOptions::default();
    let form = kernel(&text("2.0", "y[i] = t[i]*x[i]"));
    let of = |second: &str| survey(&(&form).into(), &kernel(second).into(), &options).unwrap().unwrap();
    let none = Survey { n_elements: 4, ..Survey::default() };
    assert_eq!(of(&text("2.0", "y[i] = x[i] + x[i]")), none);
    let suspects = vec![("y".to_owned(), vec![2])];
    assert_eq!(of(&text("2.00001", "y[i] = t[i]*x[i]")), Survey { suspects, ..none });
    let longer = text("2.0", "y[i] = t[i]*x[i]").replace("y : float64[4]", "y : float64[5]");
    assert_eq!(survey(&kernel(&longer).into(), &kernel(&text("2.0", "y[i] = t[i]*x[i]")).into(), &options), Ok(None));
    let outside = of(&text("2.0", "y[i] = t[i + 1]*x[i]"));
    assert!(matches!(outside.failure, Some(Error::Trap { .. })), "{outside:?}");
    let not_written =
        of(&text("2.0", "y[i] = t[i]*x[i]").replace("for i\n", "for i\n if i < 3\n").replace("\nend", "\n end\nend"));
    assert_eq!(not_written.suspects, [("y".to_owned(), vec![3])]);
}

/// The logarithm has a value only where `a` is small beside one, and decisions are watched element by element.
#[test]
fn differences_of_elements_that_had_no_value_before_count() {
    let program = |factor: &str| {
        format!(
            "domain {{ [i] : 0 <= i < 8 }}
arg y : float64[8] write
arg a : float64[8] read
arg b : float64[8] read
for i
  y[i] = log(1.0 - 1000.0*a[i]*a[i])*{factor} + (b[i] if b[i] > 3.0 else 1.0)  {{id=s}}
end
"
        )
    };
    let options = ValidateOptions { noise: 1e-15, ..in_floats_alone() };
    let compared = |second: &str| validate(&kernel(&program("1.0")), &kernel(&program(second)), &options).unwrap();
    let Verdict::Equal(evidence) = compared("1.0") else { panic!("a program differs from itself") };
    assert_eq!((evidence.n_elements, evidence.n_floats), (8, 8));
    assert!(matches!(compared("1.5"), Verdict::Different(_)));
}

/// The number of one table in sixteen is another; two numbers select it.
#[test]
fn all_values_of_selectors_occur() {
    let program = |number: &str| {
        let rows: Vec<String> = (0..4)
            .map(|row| {
                let entry = |at: i32| if (row, at) == (2, 1) { number.to_owned() } else { format!("{}.5", row + at) };
                format!("[{}]", (0..4).map(entry).collect::<Vec<String>>().join(", "))
            })
            .collect();
        format!(
            "domain {{ [i] : 0 <= i < 8 }}
arg y : float64[8] write
arg a : float64[8] read
arg f : int32[2] read
table T : float64[4, 4] = [{}]
for i
  y[i] = a[i]*T[f[0], f[1]]  {{id=s}}
end
",
            rows.join(", ")
        )
    };
    for options in [in_floats_alone(), ValidateOptions { max_cycles: 0, ..ValidateOptions::default() }] {
        let found = validate(&kernel(&program("3.5")), &kernel(&program("3.25")), &options).unwrap();
        assert!(matches!(found, Verdict::Different(_)), "{found:?}");
    }
}

/// Each of many terms takes the magnitude of another value, so that each sign is to be seen, not only those of some terms.
#[test]
fn the_sign_of_every_magnitude_is_seen_both_ways() {
    const N_TERMS: usize = 24;
    let program = |lost: Option<usize>| {
        let term = |at: usize| {
            let function = if lost == Some(at) { "" } else { "fabs" };
            format!("x[i, {at}]*{function}(a[{at}]*b[0] - a[{}]*b[1])", (at + 1) % N_TERMS)
        };
        let sum = (0..N_TERMS).map(term).collect::<Vec<String>>().join(" + ");
        format!(
            "domain {{ [i] : 0 <= i < 32 }}
arg y : float64[32] write
arg x : float64[32, {N_TERMS}] read
arg a : float64[{N_TERMS}] read
arg b : float64[2] read
for i
  y[i] = {sum}  {{id=s}}
end
"
        )
    };
    for lost in 0..N_TERMS {
        for options in [in_floats_alone(), ValidateOptions::default()] {
            let found = validate(&kernel(&program(None)), &kernel(&program(Some(lost))), &options).unwrap();
            assert!(matches!(found, Verdict::Different(_)), "term {lost}: {found:?}");
        }
    }
}

/// The condition keeps the first program inside of `x`; indices without a condition must stay inside of their arrays meanwhile, and what the
/// first program leaves open the second must not fail for.
#[test]
fn what_a_condition_guards_is_inside_only_then() {
    let program = |condition: &str| {
        format!(
            "domain {{ [i] : 0 <= i < 5 }}
arg y : float64[5] write
arg z : float64[5] readwrite
arg x : float64[8] read
arg w : float64[8] read
arg a : bool read
arg k : int32[5] read
arg l : int32[5] read
arg m : int32[5] read
arg n : int32[5] read
for i
  y[i] = x[k[i]]  {{id=s{condition}}}
  z[i] = z[i] + w[l[i]]*w[m[i]]*w[n[i]]  {{id=t, dep=s}}
end
"
        )
    };
    for options in [in_floats_alone(), ValidateOptions::default()] {
        let compared = |second: &str| validate(&kernel(&program(", if=a")), &kernel(&program(second)), &options);
        assert!(matches!(compared(", if=a"), Ok(Verdict::Equal(_))));
        let Ok(Verdict::Different(difference)) = compared("") else { panic!("a lost condition is not found") };
        assert!(matches!(difference, Difference::Trap { .. }), "{difference:?}");
    }
}

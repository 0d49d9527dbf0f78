//! What emitted C looks like, and what is refused.
#![allow(missing_docs, clippy::unwrap_used)]

mod compiled;

use std::collections::BTreeMap;

use compiled::{build_and_run, compilers, read, write};
use expect_test::{Expect, expect};
use nestegg_codegen::c::harness::{HarnessOptions, Mode, harness, read_times};
use nestegg_codegen::c::{COptions, emit, emit_shared};

/// A kernel around statements: scalars, vectors and a matrix of each kind.
fn kernel(declarations: &str, statements: &str) -> String {
    format!(
        "kernel k\nparam n : int32\ndomain [n] -> {{ [i, j] : 0 <= i, j < n }}\narg x : float64[n] read\n\
         arg y : float64[n] readwrite\narg A : float64[n, n] readwrite\n{declarations}\n{statements}\n"
    )
}

/// Compares the body of the function.
fn check_body(declarations: &str, statements: &str, expect: Expect) {
    let (_, text) = write(&read(&kernel(declarations, statements)), None);
    let body = text.source.split_once("\n{\n").expect("a function").1;
    let body: String = body
        .lines()
        .take_while(|line| *line != "}")
        .filter(|line| !line.starts_with("    (void)") && *line != "    return 0;")
        .map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line)))
        .collect();
    expect.assert_eq(&body);
}

/// A caller need not change where another strategy takes other temporaries.
#[test]
fn the_signature_does_not_depend_on_temporaries() {
    let prototype = |declarations, statements| {
        let linearized = read(&kernel(declarations, statements)).into_linearized().unwrap();
        let text = emit(&linearized, &COptions::default()).unwrap();
        (text.source.contains("alloc("), text.prototype)
    };
    let (without_heap, plain) = prototype("", "y[i] = x[i] + x[i]  {inames=i}");
    let (with_heap, kept) =
        prototype("temp t : float64[n]", "t[i] = x[i] + x[i]  {inames=i, id=t}\ny[j] = t[j]  {inames=j, dep=t}");
    assert_eq!((without_heap, with_heap), (false, true));
    assert_eq!(plain, kept);
    assert!(plain.starts_with("int k("), "{plain}");
}

/// Two functions of one file may have tables of one name and the same helper functions, and no one else sees them.
#[test]
fn functions_share_a_file() {
    let function = |name: &str, entry: &str| {
        let text = format!(
            "kernel {name}\ndomain {{ [i] : 0 <= i < 2 }}\narg y : float64[2] readwrite\narg k : int32 read\n\
             table t : float64[2] = [{entry}, 2.0]\ny[i] = y[i] + t[i]*((k + i) % 3)  {{inames=i}}\n"
        );
        let linearized = read(&text).into_linearized().unwrap();
        emit_shared(&linearized, &COptions::default()).unwrap().source
    };
    let (first, second) = (function("first", "1.0"), function("second", "10.0"));
    assert!(first.contains("static int first("), "{first}");
    assert_eq!(first.lines().filter(|line| line.contains("table of float64")).count(), 1, "{first}");
    let main = "#include <stdio.h>\nint main(void)\n{\n    double y[2] = {0.0, 0.0};\n    \
                return first(y, 1) + second(y, 2) + !printf(\"%g %g\", y[0], y[1]);\n}\n";
    for compiler in compilers() {
        let folder = tempfile::tempdir().unwrap();
        let written = build_and_run(compiler, folder.path(), &[("both.c", &format!("{first}{second}{main}"))]);
        assert_eq!(written, "21 4");
    }
}

/// Compares the message of a refusal.
fn check_error(declarations: &str, statements: &str, expect: Expect) {
    let linearized = read(&kernel(declarations, statements)).into_linearized().unwrap();
    let error = emit(&linearized, &COptions::default()).expect_err("it is refused");
    expect.assert_eq(&error.to_string());
}

const EXAMPLE: &str = "kernel weighted_mass
param n : int32 = 1000
assume [n] -> { : n >= 1 }
domain [n] -> { [e] : 0 <= e < n }
domain { [q, j, k] : 0 <= q < 4 and 0 <= j, k < 3 }
arg A : float64[n, 3, 3] readwrite
arg f : float64[n, 4] read
arg scale : float64 read
table phi : float64[4, 3] = [[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]
temp w : float64[4]
temp t : float64
for e
  for q
    w[q] = f[e, q]*scale
  end
  for j, k
    t = sum(q, w[q]*phi[q, j]*phi[q, k])
    A[e, j, k] = A[e, j, k] + t
  end
end
";

#[test]
fn source_and_header() {
    let linearized = read(EXAMPLE).into_linearized().unwrap();
    let notes = [("w", "the weights of one element"), ("t", "one entry, over j and k")];
    let notes = notes.into_iter().map(|(name, note)| (name.to_owned(), note.to_owned())).collect();
    let text = emit(&linearized, &COptions { notes, ..COptions::default() }).unwrap();
    expect![[r#"
        /* Kernel weighted_mass, written by nestegg. */
        #include <stdint.h>

        /* phi: table of float64[4, 3] */
        static const double phi[4][3] = {{0.5, 0.25, 0.25}, {0.1, 0.8, 0.1}, {0.1, 0.1, 0.8}, {0.3, 0.3, 0.4}};

        int weighted_mass(
            const int32_t n,
            double *restrict A,
            const double *restrict f,
            const double scale)
        {
            /* w: the weights of one element */
            double w[4];
            for (int32_t e = 0; e < n; ++e) {
                for (int32_t q = 0; q < 4; ++q) {
                    w[q] = f[(int64_t)e*4 + q]*scale;
                }
                for (int32_t j = 0; j < 3; ++j) {
                    for (int32_t k = 0; k < 3; ++k) {
                        double sum0 = 0.0;
                        for (int32_t q = 0; q < 4; ++q) {
                            sum0 += w[q]*phi[q][j]*phi[q][k];
                        }
                        /* t: one entry, over j and k */
                        const double t = sum0;
                        A[(int64_t)e*9 + j*3 + k] += t;
                    }
                }
            }
            return 0;
        }
    "#]]
    .assert_eq(&text.source);
    expect![[r#"
        /* Kernel weighted_mass, written by nestegg. */
        #ifndef NESTEGG_WEIGHTED_MASS_H
        #define NESTEGG_WEIGHTED_MASS_H

        #include <stdint.h>

        #ifdef __cplusplus
        extern "C" {
        #endif

        /* Sizes first, then the arguments in the kernel's order.
         * n: size, int32
         * A: float64[n, 3, 3], read and written
         * f: float64[n, 4], read
         * scale: float64, read
         * Sizes must satisfy [n] -> { : n >= 1 }.
         * Arrays are row-major, in one piece; no two pointers may overlap.
         * Returns 0, or 1 if there is not enough memory; then nothing is written. */
        int weighted_mass(
            int32_t n,
            double *A,
            const double *f,
            double scale);

        #ifdef __cplusplus
        }
        #endif

        #endif /* NESTEGG_WEIGHTED_MASS_H */
    "#]]
    .assert_eq(&text.header);
}

#[test]
fn updates() {
    check_body(
        "",
        "y[i] = y[i] + x[i] {inames=i}
y[i] = x[i] - 1.0 + y[i] {inames=i}
y[i] = (x[i] - 1.0) + y[i] {inames=i}
y[i] = y[i] - x[i] {inames=i}
y[i] = x[i]*y[i] {inames=i}
y[i] = x[i] - y[i] {inames=i}
y[i] = y[i] + x[i] + 1.0 {inames=i}",
        expect![[r#"
            for (int32_t i = 0; i < n; ++i) {
                y[i] += x[i];
                y[i] += x[i] - 1.0;
                y[i] += x[i] - 1.0;
                y[i] -= x[i];
                y[i] *= x[i];
                y[i] = x[i] - y[i];
                y[i] = y[i] + x[i] + 1.0;
            }
        "#]],
    );
}

#[test]
fn shared_and_single_operations() {
    check_body(
        "",
        "y[i] = (x[i] + 1.0)*(x[i] + 1.0) + (x[i] + 2.0) {inames=i}
A[i, j] = exp(x[i]*x[j])*x[i]*x[j] + -x[i]*(-1*x[j]) - -3.0*x[i] {inames=i:j}",
        expect![[r#"
            for (int32_t i = 0; i < n; ++i) {
                const double s0 = x[i] + 1.0;
                y[i] = s0*s0 + (x[i] + 2.0);
                for (int32_t j = 0; j < n; ++j) {
                    A[(int64_t)i*n + j] = exp(x[i]*x[j])*x[i]*x[j] - x[i]*(-x[j]) + 3.0*x[i];
                }
            }
        "#]],
    );
}

#[test]
fn scalars_live_where_they_are_used() {
    check_body(
        "temp s : float64\ntemp t : float64\ntemp u : float64\ntemp v : float64",
        "for i
  s = x[i]*2.0
  t = s + 1.0
  t = t*s
  u = t {if=t > 0.0}
  y[i] = t + (u if t > 0.0 else 0.0)
end
v = 0.0
for i
  v = v + y[i]
end
for i
  y[i] = v
end",
        expect![[r#"
            /* u: float64, defined by instruction insn3 */
            double u = 0.0;
            double v = 0.0; /* insn5 */
            for (int32_t i = 0; i < n; ++i) {
                const double s = x[i]*2.0; /* insn0 */
                double t = s + 1.0; /* insn1 */
                t *= s;
                if (t > 0.0) {
                    u = t;
                }
                y[i] = t + (t > 0.0 ? u : 0.0);
                v += y[i];
                y[i] = v;
            }
        "#]],
    );
}

#[test]
fn sizes_that_are_more_than_affine() {
    let text = "kernel k
param n : int32
domain [n] -> { [i] : 0 <= i < n }
arg B : float64[n, n*n + 1] readwrite
B[i, n*i] = B[i, 0] {inames=i}
";
    let (_, text) = write(&read(text), None);
    assert!(text.source.contains("const int64_t extent0 = "), "{}", text.source);
    assert!(
        text.header.contains("float64[n, extent0]") && text.header.contains("where extent0 is "),
        "{}",
        text.header
    );
}

#[test]
fn refusals() {
    check_error("", "y[0] = sqrt(x[0], 1.0)", expect!["`sqrt` of math.h is called with 2 arguments instead of 1"]);
    check_error(
        "",
        "y[0] = f(x[0]) + f(x[0], 1.0)",
        expect!["function `f` is called with 1 arguments and with 2 arguments, which is no C function"],
    );
    check_error(
        "",
        "y[0] = modf(x[0])",
        expect!["`modf` cannot be called from C as the kernel does: the name means something else there"],
    );
    check_error(
        "",
        "y[0], y[1] = f(x[0])\ny[2] = f(x[0])",
        expect!["function `f` is called with one result and with several results, which is no C function"],
    );
    check_error(
        "",
        "y[0], y[1] = rand(x[0])",
        expect!["`rand` cannot be called from C as the kernel does: the name means something else there"],
    );
}

#[test]
fn integers_of_math_h() {
    check_body(
        "arg f : float32[n] read\narg g : float32[n] readwrite",
        "y[i] = ldexp(x[i], 3) + lround(x[i]) + isnan(x[i])*2.0 + j0(x[i]) + abs(i) {inames=i}
g[i] = ldexp(f[i], i) + lrint(f[i]) {inames=i}",
        expect![[r#"
            for (int32_t i = 0; i < n; ++i) {
                y[i] = ldexp(x[i], 3) + (double)lround(x[i]) + (double)isnan(x[i])*2.0 + j0(x[i]) + fabs((double)i);
                g[i] = ldexpf(f[i], i) + (float)lrintf(f[i]);
            }
        "#]],
    );
}

#[test]
fn two_functions_are_timed_in_one_program() {
    let program = read(EXAMPLE);
    let (linearized, first) = write(&program, Some("first"));
    let (_, second) = write(&program, Some("second"));
    let options = HarnessOptions {
        parameters: BTreeMap::from([("n".to_owned(), 10)]),
        given: BTreeMap::new(),
        seed: 1,
        mode: Mode::Time { n_rounds: 3, milliseconds: 1, n_sets: 4 },
        definitions: String::new(),
    };
    let main = harness(&linearized.kernel, &[&first, &second], &options).unwrap();
    for compiler in compilers() {
        let folder = tempfile::tempdir().unwrap();
        let sources = [("first.c", &*first.source), ("second.c", &*second.source), ("main.c", &*main)];
        let times = read_times(&build_and_run(compiler, folder.path(), &sources)).expect("times");
        assert!(times.difference.abs() < 1e-12);
        assert_eq!(times.rounds.len(), 3);
        assert!(times.rounds.iter().all(|round| round.len() == 2 && round.iter().all(|&time| time > 0.0)));
    }
    // Many sets of large arguments would leave the cache.
    let n_sets = |n: i64| {
        let options = HarnessOptions { parameters: BTreeMap::from([("n".to_owned(), n)]), ..options.clone() };
        let main = harness(&linearized.kernel, &[&first], &options).unwrap();
        (1..=4).find(|sets| main.contains(&format!("run_time(1, {sets}, 3, 1,")))
    };
    assert_eq!([n_sets(10), n_sets(1_000_000)], [Some(4), Some(1)]);
}

#[test]
fn a_harness_needs_values() {
    let program = read(&EXAMPLE.replace(" = 1000", ""));
    let (linearized, text) = write(&program, None);
    let options = HarnessOptions {
        parameters: BTreeMap::new(),
        given: BTreeMap::new(),
        seed: 1,
        mode: Mode::Print,
        definitions: String::new(),
    };
    let error = harness(&linearized.kernel, &[&text], &options).expect_err("there is no value");
    expect!["parameter `n` has no value: give it an `estimate` or a value"].assert_eq(&error.to_string());
}

//! Functions of C and the kernels that they are, errors at their places, and text of any kind.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use expect_test::{Expect, expect};
use miette::Diagnostic;
use nestegg_span::Source;
use proptest::prelude::*;

/// The kernel of a text without its `meta`, or what is wrong with it.
fn lifted(text: &str) -> String {
    let source = Source::new("k.c", text);
    match nestegg_lift::read(&source) {
        Ok(read) => {
            let written = nestegg_dump::write_text(&read.program);
            written.lines().filter(|line| !line.starts_with("meta ")).map(|line| format!("{line}\n")).collect()
        }
        Err(errors) => {
            let mut res = String::new();
            for error in errors.errors() {
                let (code, place) = (error.code().map(|code| code.to_string()).unwrap_or_default(), error.place());
                writeln!(res, "{code} {}: {error}: `{}`", source.position(place.start), source.slice(place)).unwrap();
            }
            res
        }
    }
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&lifted(text));
}

#[test]
fn integers_mean_what_c_says() {
    check(
        "void f(int n, int k, double *a) {
            for (int i = -3; i < n; i++) { a[i + 3] = i/2 + i%2 + (n + k)/k; }
            for (int i = 0; i < n; i++) a[i] = i/2 + 7/2 + -7/2;
        }",
        expect![[r#"
            kernel f linearized
            param n : int32 = 1000
            param k : int32 = 1000
            domain [n] -> { [i] : -3 <= i and i < n }
            domain [n] -> { [i_0] : 0 <= i_0 and i_0 < n }
            arg a : float64[n + 3] write
            for i
              a[i + 3] = cast(float64, (i//2 + 1 if i < 0 and i%2 != 0 else i//2) + (i%2 - 2 if i < 0 and i%2 != 0 else i%2) + ((n + k)//k + 1 if (n + k < 0 and k > 0 or n + k > 0 and k < 0) and (n + k)%k != 0 else (n + k)//k))  {id=insn0}
            end
            for i_0
              a[i_0] = cast(float64, i_0//2 + 3 + -3)  {id=insn1}
            end
        "#]],
    );
}

#[test]
fn floats_mean_what_c_says() {
    check(
        "void f(float *x, double *y, int *k) {
            x[0] = 2.0*x[0] + 0.1f;
            x[0] = 2*x[0] - sqrtf(x[0])/sqrt(x[0]);
            y[0] = x[0] + y[0] + k[0];
            y[0] += (x[0] > 1) + !k[0];
            k[0] = y[0];
        }",
        expect![[r#"
            kernel f linearized
            arg x : float32[1] readwrite
            arg y : float64[1] readwrite
            arg k : int32[1] readwrite
            x[0] = cast(float32, 2.0*cast(float64, x[0]) + 0.10000000149011612)  {id=insn0}
            x[0] = cast(float32, cast(float64, cast(float32, 2)*x[0]) - cast(float64, sqrt(x[0]))/sqrt(cast(float64, x[0])))  {id=insn1}
            y[0] = cast(float64, x[0]) + y[0] + cast(float64, k[0])  {id=insn2}
            y[0] = y[0] + cast(float64, (1 if x[0] > cast(float32, 1) else 0) + (1 if not (k[0] != 0) else 0))  {id=insn3}
            k[0] = cast(int32, y[0])  {id=insn4}
        "#]],
    );
}

#[test]
fn loops_become_domains() {
    check(
        "void f(int n, int m, double a[n][m]) {
            int i, j;
            for (i = n - 1; i >= 0; i -= 2)
                for (j = (i > 3 ? i : 3); j != m; ++j)
                    a[i][j] = i;
            for (i = 1; i <= n && 2*i < m; i = i + 3) a[i - 1][0] = 0;
        }",
        expect![[r#"
            kernel f linearized
            param n : int32 = 1000
            param m : int32 = 1000
            assume [n, m] -> { : n >= 1 and m >= 1 }
            domain [n] -> { [i] : 0 <= i and 0 <= -2i + n - 1 }
            domain [i, n, m] -> { [j] : ((((-2i + n - 1 > 3)) and -2i + n - 1 <= j) or (not ((-2i + n - 1 > 3)) and 3 <= j)) and j < m }
            domain [n, m] -> { [i_0] : 1 <= i_0 and (i_0 - 1) mod 3 = 0 and i_0 <= n and 2i_0 < m }
            arg a : float64[n, m] write
            for i, j
              a[n - 1 - 2*i, j] = cast(float64, n - 1 - 2*i)  {id=insn0}
            end
            for i_0
              a[i_0 - 1, 0] = 0  {id=insn1}
            end
        "#]],
    );
}

#[test]
fn conditions_keep_their_values() {
    check(
        "void f(double *a) {
            if (a[0] > 0 && a[1] > 0) a[0] = -1; else if (a[2] > 0) { a[0] = 1; } else { a[3] = 2; }
        }",
        expect![[r#"
            kernel f linearized
            arg a : float64[4] readwrite
            temp holds : bool
            temp holds_0 : bool
            holds = a[0] > 0 and a[1] > 0  {id=insn0}
            if holds
              a[0] = -1  {id=insn1}
            end
            if not holds
              holds_0 = a[2] > 0  {id=insn2}
              if holds_0
                a[0] = 1  {id=insn3}
              end
              if not holds_0
                a[3] = 2  {id=insn4}
              end
            end
        "#]],
    );
}

#[test]
fn extents_follow_from_accesses() {
    check(
        "void f(int n, double *restrict a, const double *b, double (*c)[4], double *e) {
            for (int i = 0; i < n; ++i)
                for (int j = 0; j < 4; ++j) {
                    if (i > 0) a[i - 1] = b[6*j + 2];
                    c[i][j] = i < n - 1 ? b[3] : 0.0;
                }
            *e = *(e + 1);
        }",
        expect![[r#"
            kernel f linearized
            param n : int32 = 1000
            domain [n] -> { [i] : 0 <= i and i < n }
            domain { [j] : 0 <= j and j < 4 }
            arg a : float64[n - 1] write
            arg b : float64[21] read
            arg c : float64[n, 4] write
            arg e : float64[2] readwrite
            for i, j
              if i > 0
                a[i - 1] = b[6*j + 2]  {id=insn0}
              end
              c[i, j] = b[3] if i < n - 1 else 0.0  {id=insn1}
            end
            e[0] = e[1]  {id=insn2}
        "#]],
    );
}

/// An entry of a table may be any number between its least and its greatest, zero among them where some are not written.
#[test]
fn extents_follow_from_entries_of_tables() {
    check(
        "static const int p[3] = {2, 5, 1};
        static const int q[2][2] = {{1, 3}};
        void f(double *a, double *b) {
            for (int i = 0; i < 3; ++i) {
                a[4*p[i] + p[i] - 5 + i] = 1;
                b[q[0][1] + q[1][0]] += 1;
            }
        }",
        expect![[r#"
            kernel f linearized
            domain { [i] : 0 <= i and i < 3 }
            arg a : float64[23] write
            arg b : float64[7] readwrite
            table p : int32[3] = [2, 5, 1]
            table q : int32[2, 2] = [[1, 3], [0, 0]]
            for i
              a[4*p[i] + p[i] + -5 + i] = 1  {id=insn0}
              b[q[0, 1] + q[1, 0]] = b[q[0, 1] + q[1, 0]] + 1  {id=insn1}
            end
        "#]],
    );
}

#[test]
fn declarations_become_tables_temporaries_and_constants() {
    check(
        "#define N 3
#define SQUARE(x) ((x)*(x))
typedef double real;
static const real W[] = {0.5, 1.0/4, -1e-3};
static inline real twice(real x) { const real y = 2.0; return y*x; }
void f(real A[N][N], real *b) {
    static const real t[2][N] = {{1, 2}, {3.5}};
    real local[N] = {b[0]}, s = 0;
    const int last = N - 1;
    for (int i = 0; i <= last; ++i) { s += W[i]*t[1][i]; local[i] += SQUARE(s + 1); A[i][last] = twice(local[i]); }
    (void)s;
}",
        expect![[r#"
            kernel f linearized
            domain { [local_i] : 0 <= local_i < 3 }
            domain { [i] : 0 <= i and i <= 2 }
            arg A : float64[3, 3] write
            arg b : float64[1] read
            table t : float64[2, 3] = [[1.0, 2.0, 0.0], [3.5, 0.0, 0.0]]
            temp local : float64[3]
            temp s : float64
            table W : float64[3] = [0.5, 0.25, -0.001]
            for local_i
              local[local_i] = 0  {id=insn0}
            end
            local[0] = b[0]  {id=insn1}
            s = 0  {id=insn2}
            for i
              s = s + W[i]*t[1, i]  {id=insn3}
              local[i] = local[i] + (s + 1)*(s + 1)  {id=insn4}
              A[i, 2] = 2.0*local[i]  {id=insn5}
            end
        "#]],
    );
}

#[test]
fn structures_and_views_of_devito_are_followed() {
    check(
        "struct dataobj { void *data; int *size; };
int Kernel(struct dataobj *restrict u_vec, const float dt, const int x_M, const int x_m) {
    float (*restrict u)[u_vec->size[1]] = (float (*)[u_vec->size[1]]) u_vec->data;
    for (int x = x_m; x <= x_M; x += 1) { u[1][x + 2] = dt*u[0][x + 2]; }
    return 0;
}",
        expect![[r#"
            kernel Kernel linearized
            param x_M : int32 = 1000
            param x_m : int32 = 1000
            param u_vec_size_1 : int32 = 1000
            assume [u_vec_size_1] -> { : u_vec_size_1 >= 1 }
            domain [x_m, x_M] -> { [x] : x_m <= x and x <= x_M }
            arg dt : float32 read
            arg u : float32[2, u_vec_size_1] readwrite
            for x
              u[1, x + 2] = dt*u[0, x + 2]  {id=insn0}
            end
        "#]],
    );
}

#[test]
fn arrays_in_a_block_of_memory_are_apart() {
    check(
        "#include <stdlib.h>
#define cosf nestegg_cosf
int f(double *restrict x, const double *restrict y) {
    const size_t start = (10*8 + 255)/128*128;
    char *const block = malloc(start + 256 + 127);
    if (!block) {
        return 1;
    }
    char *const first = block + (-(uintptr_t)block & 127);
    double *restrict t = (double *)first;
    double *restrict u = (double *)(first + start);
    double *const v = t;
    for (int i = 0; i < 10; ++i) t[i] = 2*y[i];
    for (int i = 0; i < 10; ++i) u[i] = t[i];
    for (int i = 0; i < 10; ++i) v[i] = u[9 - i];
    for (int i = 0; i < 10; ++i) x[i] = v[i];
    free(block);
    return 0;
}",
        expect![[r#"
            kernel f linearized
            domain { [i] : 0 <= i and i < 10 }
            arg x : float64[10] write
            arg y : float64[10] read
            temp t : float64[10]
            temp u : float64[10]
            for i
              t[i] = 2*y[i]  {id=insn0}
            end
            for i
              u[i] = t[i]  {id=insn1}
            end
            for i
              t[i] = u[9 - i]  {id=insn2}
            end
            for i
              x[i] = t[i]  {id=insn3}
            end
        "#]],
    );
}

#[test]
fn what_no_kernel_does_is_refused_at_its_place() {
    for (text, expected) in [
        (
            "void f(double *a) { char *b = malloc(80); double *t = (double *)b; b[0] = 1; free(b); }",
            expect![[r#"
                c::unsupported 1:51: the pointer `t` into a block cannot be part of a kernel: `t`
                c::unsupported 1:68: memory as an array of `char` cannot be part of a kernel: `b`
            "#]],
        ),
        (
            "void f(double *a) { while (a[0] > 0) a[0] -= 1; }",
            expect![[r#"
            c::unsupported 1:21: this loop cannot be part of a kernel: `while (a[0] > 0) a[0] -= 1;`
        "#]],
        ),
        (
            "void f(double *a, int *p) { for (int i = p[0]; i < p[1]; ++i) a[i] = 0; }",
            expect![[r#"
            c::not_affine 1:42: the start of the loop is not affine: `p[0]`
        "#]],
        ),
        (
            "void f(double *a, int n) { for (int i = 0; i > n; ++i) a[i] = 0; }",
            expect![[r#"
            c::not_affine 1:44: the condition of the loop is not affine: `i > n`
        "#]],
        ),
        (
            "void f(double *a) { a[0] = b + (a[1] = 2); g(a); a[0] = g(1); }",
            expect![[r#"
            c::unknown_name 1:28: the name `b` is not defined: `b`
            c::unsupported 1:44: a call of `g` for its effect cannot be part of a kernel: `g(a)`
            c::unknown_function 1:57: nothing is known of the function `g`: `g(1)`
        "#]],
        ),
        (
            "void f(double *a) { a[0] = 1 +; }",
            expect![[r#"
            c::syntax 1:30: not C: the grammar has no place for this: `+`
        "#]],
        ),
        (
            "void f(double *a, double *b, int k) { a[k*k] = 0; b[k - 1] = 1; }",
            expect![[r#"
            c::no_extent 1:39: the extent of `a` does not follow from its accesses: this subscript is not affine: `a[k*k]`
        "#]],
        ),
        (
            "void f(double *a) { int i; for (i = 0; i < 3; i++) a[i] = 0; a[3] = i; }",
            expect![[r#"
            c::unsupported 1:69: the value of `i` outside of its loop cannot be part of a kernel: `i`
        "#]],
        ),
        (
            "double f(double *a) { return a[0]; }",
            expect![[r#"
            c::unsupported 1:8: a returned value cannot be part of a kernel: `f`
            c::unsupported 1:30: a returned value cannot be part of a kernel: `a[0]`
        "#]],
        ),
        (
            "void f(double **a, char *b) { a[0][0] = 0; b[0] = 1; }",
            expect![[r#"
            c::type 1:31: `a` has the type `a pointer to pointers`: `a`
            c::type 1:44: `b` has the type `char`: `b`
        "#]],
        ),
        (
            "void f(double *a) { a[-1] = 0; }",
            expect![[r#"
            c::no_extent 1:21: the extent of `a` does not follow from its accesses: this subscript can be negative: `a[-1]`
        "#]],
        ),
        (
            "#define N 1 + 2\nvoid f(double *a) { a[N] = 0; }",
            expect![[r#"
                c::unsupported 2:23: the macro `N`, which is no expression in parentheses, cannot be part of a kernel: `N`
            "#]],
        ),
        (
            "void f(double *a) { a[0] = 0; } void g(double *a) { a[0] = 1; }",
            expect![[r#"
            c::several_functions 1:38: the file has 2 kernels: `f`, `g`: `g`
        "#]],
        ),
        (
            "#define N 1\n#define N 2\nvoid f(double *a) { a[N] = 0; (void)(a[0] = 1); }",
            expect![[r#"
            c::unsupported 3:23: the macro `N`, which is defined twice, cannot be part of a kernel: `N`
            c::unsupported 3:31: a statement without effect cannot be part of a kernel: `(void)(a[0] = 1)`
        "#]],
        ),
        (
            "int main(void) { return 0; }",
            expect![[r#"
            c::no_function 1:1: there is no kernel: `i`
        "#]],
        ),
        (
            "void f(double *a, float s) { s = 2; static double t; for (int i = 0; i < 3; i++) i += 1; }",
            expect![[r#"
            c::unsupported 1:30: an assignment to the parameter `s` cannot be part of a kernel: `s`
            c::unsupported 1:51: `t`, which outlives the call, cannot be part of a kernel: `t`
            c::unsupported 1:82: a change of `i` cannot be part of a kernel: `i`
        "#]],
        ),
    ] {
        check(text, expected);
    }
}

#[test]
fn one_function_of_several_is_read_where_it_stands() {
    let text = "static const double w = 2;\nvoid f(double *a) { a[0] = w; }\nvoid g(double *a)\n{\n  a[0] = u;\n}\n";
    let source = Source::new("k.c", text);
    let names: Vec<String> = nestegg_lift::functions(&source).unwrap().into_iter().map(|found| found.name).collect();
    assert_eq!(names, ["f", "g"]);
    let f = nestegg_lift::only(&source, "f").unwrap();
    assert!(nestegg_lift::read(&f).is_ok());
    let g = nestegg_lift::only(&source, "g").unwrap();
    let errors = nestegg_lift::read(&g).unwrap_err();
    assert_eq!(source.slice(errors.errors()[0].place()), "u");
    assert!(nestegg_lift::only(&source, "h").is_err());
    let text = nestegg_lift::replaced(&source, &[("g".to_owned(), "new\n".to_owned())]).unwrap();
    assert_eq!(text, "static const double w = 2;\nvoid f(double *a) { a[0] = w; }\nnew\n");
}

/// Pieces that C text is made of, in any order.
const PIECES: &[&str] = &[
    "void f(double *a, int n) {",
    "for (int i = 0; i < n; ++i)",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "a[i]",
    "a",
    "i",
    "n",
    "=",
    "+=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "?",
    ":",
    ";",
    ",",
    "if (",
    "else",
    "1",
    "2.5f",
    "0x1p3",
    "#define N a[N]\n",
    "N",
    "return",
    "static const double t[2] = {1, {2}};",
    "t[1]",
    "int j = i;",
    "double s[3] = {0};",
    "s",
    "sqrt(",
    "double (*b)[n] = (double (*)[n]) a;",
    "b",
    "&&",
    "!",
    "~",
    "<<",
    "++",
    "/*",
    "*/",
    "\"",
    "'",
    "\\",
    "é",
    "while (1)",
    "#if 1\n",
    "#ifdef N\n",
    "#elif defined(M) && M(1)\n",
    "#else\n",
    "#if N\n",
    "\n",
    "#endif\n",
    "u->v[0]",
    "struct s *u",
    "99999999999999999999",
    "for (i = n; i > 0; i -= 3)",
    "abs(",
    "(int)",
    "(float)",
    "#define M(x) (x + M(x))\n",
    "M(1)",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in ".*") {
        let _ = lifted(&text);
    }

    #[test]
    fn any_pieces_are_read_or_refused(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        let _ = lifted(&pieces.join(" "));
        let _ = lifted(&format!("void f(double *a, int n) {{ {} }}", pieces.join(" ")));
    }
}

#[test]
fn deep_text_is_refused() {
    for (open, close) in
        [("(", ")"), ("{", "}"), ("-", ""), ("a[", "]"), ("if (n) ", ""), ("sqrt(", ")"), ("1 ? ", " : 2")]
    {
        let text = format!("void f(double *a, int n) {{ a[0] = {}1{}; }}", open.repeat(20_000), close.repeat(20_000));
        assert!(lifted(&text).starts_with("c::"), "{open}");
        let text = format!("void f(double *a, int n) {{ {}a[0] = 1;{} }}", open.repeat(20_000), close.repeat(20_000));
        assert!(!lifted(&text).is_empty(), "{open}");
    }
    let sum = vec!["a[0]"; 20_000].join(" + ");
    assert!(lifted(&format!("void f(double *a) {{ a[0] = {sum}; }}")).starts_with("kernel f"));
}

/// The value that `f` stores, of a text with `VALUE` in it, or what is wrong.
fn chosen(text: &str) -> String {
    let written = lifted(&format!("{text}\n"));
    let value = |line: &str| Some(line.trim().strip_prefix("a[0] = ")?.split_once(' ')?.0.to_owned());
    written.lines().find_map(value).unwrap_or(written)
}

#[test]
fn conditionals_choose_what_a_compiler_without_extensions_reads() {
    for (text, expected) in [
        ("void f(double *a) {\n#if defined(__GNUC__)\nv4 x = *(v4 *)a;\n#else\na[0] = 2;\n#endif\n}", "2"),
        ("#ifdef __clang__\ntypedef\n#elif defined __GNUC__\n@\n#else\nvoid f(double *a) { a[0] = 3; }\n#endif", "3"),
        // Groups nest, and what is not chosen chooses nothing inside.
        (
            "void f(double *a) { a[0] =\n#if 0\n#if 1\n1\n#else\n2\n#endif\n#elif 1\n#if 0\n3\n#else\n4\n#endif\n#else\n5\n#endif\n; }",
            "4",
        ),
        // The first that holds is chosen; conditions after it need no value.
        ("void f(double *a) { a[0] =\n#if 1\n1\n#elif 1/0\n2\n#elif g(\n3\n#else\n4\n#endif\n; }", "1"),
        (
            "void f(double *a) { a[0] =\n#if 0\n#elif X(\n#endif\n1; }",
            "c::condition 3:7: this condition of the preprocessor has no value: `X(…)` cannot be expanded: `X`\n",
        ),
        // What the file defines, where it does.
        (
            "#define N 3\n#undef N\n#ifndef N\n#define N 5\n#endif\nvoid f(double *a) { a[0] =\n#if N == 5\n1\n#else\n2\n#endif\n; }",
            "1",
        ),
        ("void f(double *a) { a[0] =\n#ifdef N\n1\n#else\n2\n#endif\n; }\n#define N", "2"),
        ("#if 0\n#define N 7\n#else\n#define N 8\n#endif\nvoid f(double *a) { a[0] = N; }", "8"),
        // Comments and lines that go on.
        (
            "void f(double *a) { a[0] =\n#if /* 1 */ 0 \\\n + 1 // and so on\n1\n/*\n#else\n*/\n# else /* of the\n condition */\n2\n#/**/endif\n; }",
            "1",
        ),
        ("#if 0\ndon't \"\n#endif\nvoid f(double *a) { a[0] = 1; }", "1"),
        // A name that nothing defines is 0.
        ("void f(double *a) { a[0] =\n#if UNKNOWN\n1\n#else\n2\n#endif\n; }", "2"),
    ] {
        assert_eq!(chosen(text), expected, "{text}");
    }
}

#[test]
fn conditions_are_those_of_c() {
    let defined = "#define ONE 1\n#define EMPTY\n#define SUM 1 + 1\n#define TWICE(x) ((x)*2)\n#define FIRST(a, b) a\n#define SELF SELF + 1\n\
                   #define HAS_ONE (defined(ONE) && !defined NONE)\n#define NAME TWICE\n#define NONE_GIVEN() 4\n";
    for (condition, expected) in [
        ("1", true),
        ("0x10 == 16 && 010 == 8 && 'a' == 97 && 0b11 == 3", true),
        ("defined(ONE) && defined ONE && !defined(TWO) && defined EMPTY", true),
        ("ONE + SUM * 2 == 4", true),
        ("TWICE(SUM) == 4 && TWICE(TWICE(1)) == 4", true),
        ("FIRST((ONE), (2, 3)) == 1", true),
        ("FIRST(ONE, (2, 3)) == 1", true),
        ("SELF == 1", true),
        ("HAS_ONE", true),
        ("NAME(3) == 6", true),
        ("NONE_GIVEN() == 4", true),
        ("TWICE == 0", true),
        ("1 ? 2 : 1/0", true),
        ("0 && 1/0 || !(1 || 1/0)", false),
        ("7 / 2 == 3 && -7 / 2 == -3 && -7 % 2 == -1 && (1 << 3 | 1) == 9 && (6 & 3 ^ 1) == 3", true),
        ("-1 < 0 && !(-1 < 0u) && ~0 == -1", true),
        ("2 - 1 - 1", false),
        ("18446744073709551615u + 1 == 0", true),
        ("__STDC__ && __STDC_VERSION__ >= 199901L", true),
        ("true && !false", true),
    ] {
        let text = format!("{defined}void f(double *a) {{ a[0] =\n#if {condition}\n1\n#else\n2\n#endif\n; }}");
        assert_eq!(chosen(&text), if expected { "1" } else { "2" }, "{condition}");
    }
}

#[test]
fn what_cannot_be_evaluated_is_refused_at_its_place() {
    let rest = "\n1\n#endif\nvoid f(double *a) { a[0] = 1; }";
    for (text, expected) in [
        (
            "#if",
            expect![[r#"
            c::condition 1:1: this condition of the preprocessor has no value: an operand is missing: `#if`
        "#]],
        ),
        (
            "#if 1 +",
            expect![[r#"
            c::condition 1:1: this condition of the preprocessor has no value: an operand is missing: `#if 1 +`
        "#]],
        ),
        (
            "#if (1",
            expect![[r#"
            c::condition 1:5: this condition of the preprocessor has no value: this is not closed: `(`
        "#]],
        ),
        (
            "#if 1 2",
            expect![[r#"
            c::condition 1:7: this condition of the preprocessor has no value: `2` is not expected here: `2`
        "#]],
        ),
        (
            "#if 1.5",
            expect![[r#"
            c::condition 1:5: this condition of the preprocessor has no value: `1.5` is no integer: `1.5`
        "#]],
        ),
        (
            "#if \"a\"",
            expect![[r#"
            c::condition 1:5: this condition of the preprocessor has no value: `"a"` is no integer: `"a"`
        "#]],
        ),
        (
            "#if 1 ? 2",
            expect![[r#"
            c::condition 1:7: this condition of the preprocessor has no value: `?` lacks its `:`: `?`
        "#]],
        ),
        (
            "#if 2/(1 - 1)",
            expect![[r#"
                c::condition 1:6: this condition of the preprocessor has no value: `/` has no result of 64 bits: `/`
            "#]],
        ),
        (
            "#if 9223372036854775807 + 1",
            expect![[r#"
                c::condition 1:25: this condition of the preprocessor has no value: `+` has no result of 64 bits: `+`
            "#]],
        ),
        (
            "#if 99999999999999999999",
            expect![[r#"
            c::condition 1:5: this condition of the preprocessor has no value: `99999999999999999999` is no integer: `99999999999999999999`
        "#]],
        ),
        (
            "#if defined(3)",
            expect![[r#"
            c::condition 1:5: this condition of the preprocessor has no value: `defined` asks for one name: `defined`
        "#]],
        ),
        (
            "#ifdef",
            expect![[r#"
            c::condition 1:1: this condition of the preprocessor has no value: `#ifdef` asks for a name: `#ifdef`
        "#]],
        ),
        (
            "#if 1 && __has_include(<math.h>)",
            expect![[r#"
                c::condition 1:10: this condition of the preprocessor has no value: `__has_include(…)` cannot be expanded: `__has_include`
            "#]],
        ),
        (
            "#define F(x) x\n#if F(1",
            expect![[r#"
            c::condition 2:5: this condition of the preprocessor has no value: the arguments of `F` have no end: `F`
        "#]],
        ),
        (
            "#define F(x) x\n#if F(1, 2)",
            expect![[r#"
                c::condition 2:5: this condition of the preprocessor has no value: `F` takes 1 argument, not 2: `F`
            "#]],
        ),
        (
            "#define F(x) x ## 1\n#if F(1)",
            expect![[r#"
                c::condition 2:5: this condition of the preprocessor has no value: `F(…)` cannot be expanded: `F`
            "#]],
        ),
        (
            "#include <limits.h>\n#if INT_MAX > 40000",
            expect![[r#"
            c::condition 2:5: this condition of the preprocessor has no value: the value of `INT_MAX` may stand in a header: `INT_MAX`
        "#]],
        ),
        (
            "#include \"sizes.h\"\n#if N > 3",
            expect![[r#"
            c::condition 2:5: this condition of the preprocessor has no value: the value of `N` may stand in a header: `N`
        "#]],
        ),
        (
            "#include <math.h>\n#if N > 3\n#error no",
            expect![[r#"
            kernel f linearized
            arg a : float64[1] write
            a[0] = 1  {id=insn0}
        "#]],
        ),
        (
            "#if N == 0\n  #error N is not given",
            expect![[r#"
            c::conditional 2:3: `#error` refuses this file: `#error N is not given`
        "#]],
        ),
        (
            "#if 1\n#ifdef A\n#endif",
            expect![[r#"
            c::conditional 1:1: this conditional has no `#endif`: `#if 1`
        "#]],
        ),
        (
            "#ifndef A\n#else\n#else\n",
            expect![[r#"
            c::conditional 3:1: `#else` comes after `#else`: `#else`
        "#]],
        ),
        (
            "#ifndef A\n#else\n#elif 1\n",
            expect![[r#"
            c::conditional 3:1: `#elif` comes after `#else`: `#elif 1`
        "#]],
        ),
        (
            "#endif\n#if 1",
            expect![[r#"
            c::conditional 1:1: `#endif` belongs to no conditional: `#endif`
        "#]],
        ),
    ] {
        let last = if text.starts_with("#if 1\n#ifdef") { rest.replace("#endif", "") } else { rest.to_owned() };
        check(&format!("{text}{last}"), expected);
    }
}

#[test]
fn places_after_conditionals_stay_right() {
    check(
        "#if defined(__GNUC__) /* é */\nint é;\n#endif\nvoid f(double *a)\n{\n#ifdef __GNUC__\n    *a = é;\n#else\n    a[0] = b;\n#endif\n    a[1] = c;\n}\n",
        expect![[r#"
            c::unknown_name 9:12: the name `b` is not defined: `b`
            c::unknown_name 11:12: the name `c` is not defined: `c`
        "#]],
    );
}

#[test]
fn endless_macros_are_refused() {
    let mut text = String::from("#define A0(x) x x\n");
    for n in 1..40 {
        writeln!(text, "#define A{n}(x) A{}(A{}(x))", n - 1, n - 1).unwrap();
    }
    assert!(
        lifted(&format!("{text}#if A39(1)\n#endif\nvoid f(double *a) {{ a[0] = 1; }}")).starts_with("c::condition")
    );
    let nested = format!("#if {}1{}\n#endif\n", "(".repeat(5_000), ")".repeat(5_000));
    assert!(lifted(&nested).starts_with("c::condition"));
    let calls = format!("#define F(x) x\n#if {}1{}\n#endif\n", "F(".repeat(3_000), ")".repeat(3_000));
    assert!(lifted(&calls).starts_with("c::condition"));
    assert!(lifted(&"#if 1\n".repeat(50_000)).starts_with("c::conditional"));
}

#[test]
fn conditionals_stay_around_functions() {
    let text = "void f(double *a)\n{\n#ifdef X\n    a[0] = 1;\n#else\n    a[0] = 2;\n#endif\n}\n#ifdef X\nvoid g(double *a)\n#else\nvoid g(float *a)\n#endif\n{\n    a[0] = 3;\n}\n\
                #ifdef X\nvoid h(int *a) {\n#else\nvoid h(double *a) {\n#endif\n    a[0] = 4;\n}\n";
    let source = Source::new("k.c", text);
    let names: Vec<String> = nestegg_lift::functions(&source).unwrap().into_iter().map(|found| found.name).collect();
    assert_eq!(names, ["f", "g", "h"]);
    for name in names {
        let one = nestegg_lift::only(&source, &name).unwrap();
        assert!(nestegg_lift::read(&one).is_ok(), "{name}:\n{}", one.text);
    }
    let new = |name: &str| [(name.to_owned(), format!("void {name}(double *a) {{ a[0] = 5; }}"))];
    let replaced = nestegg_lift::replaced(&source, &new("f")).unwrap();
    assert!(replaced.starts_with("void f(double *a) { a[0] = 5; }\n#ifdef X\nvoid g("), "{replaced}");
    for name in ["g", "h"] {
        let errors = nestegg_lift::replaced(&source, &new(name)).unwrap_err();
        expect!["a conditional begins or ends inside of the function `NAME`"]
            .assert_eq(&errors.errors()[0].to_string().replace(&format!("`{name}`"), "`NAME`"));
    }
}

#[test]
fn helpers_of_compilers_with_vectors_are_known() {
    let text = "#if defined(__GNUC__)\nstatic inline void tile_turn(double *r) { r[0] = 1; }\n#endif\nvoid f(double *a) { a[0] = 1; }\n";
    let new = "#ifndef NESTEGG_HAS_TILE_TURN\n#endif\n#ifndef NESTEGG_HAS_PAIR_F64\n#endif\nvoid f(double *a) { a[0] = 2; }\n";
    let source = Source::new("k.c", text);
    let replaced = nestegg_lift::replaced(&source, &[("f".to_owned(), new.to_owned())]).unwrap();
    assert!(
        replaced.contains("#endif\n#ifndef NESTEGG_HAS_TILE_TURN\n#define NESTEGG_HAS_TILE_TURN\n#endif\n#ifndef"),
        "{replaced}"
    );
    assert!(!replaced.contains("#define NESTEGG_HAS_PAIR_F64"), "{replaced}");
}

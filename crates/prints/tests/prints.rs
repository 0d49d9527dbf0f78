//! Prints and the kernels that they are, errors at their places, and text of any kind.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use expect_test::{Expect, expect};
use miette::Diagnostic;
use nestegg_prints::{Data, is_print, with_data};
use nestegg_span::Source;
use proptest::prelude::*;

/// The kernel of a print, or what is wrong with it.
fn read(source: &Source) -> String {
    match nestegg_prints::read(source) {
        Ok(read) => nestegg_dump::write_text(&read.program),
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
    let source = Source::new("k.txt", text);
    assert!(is_print(&source));
    expected.assert_eq(&read(&source));
}

/// A kernel of one instruction over `i`.
fn kernel(expression: &str) -> String {
    format!(
        "KERNEL: k\nARGUMENTS:\n\
         y: type: np:dtype('float64'), shape: (8), dim_tags: (N0:stride:1) out aspace: global\n\
         x: type: np:dtype('float64'), shape: (9), dim_tags: (N0:stride:1) in aspace: global\n\
         k: type: np:dtype('int32'), shape: (9), dim_tags: (N0:stride:1) in aspace: global\n\
         a: ValueArg, type: np:dtype('float64')\n\
         DOMAINS:\n{{ [i, j] : 0 <= i <= 7 and 0 <= j <= 7 }}\nINAME TAGS:\ni: None\nINSTRUCTIONS:\nfor i\n  \
         y[i] = {expression}  {{id=insn}}\nend i\n"
    )
}

const WHOLE: &str = "\
---------------------------------------------------------------------------
KERNEL: whole
---------------------------------------------------------------------------
ARGUMENTS:
A: type: np:dtype('float64'), shape: (n, 3), dim_tags: (N0:stride:1, N1:stride:1*n) in/out aspace: global
B: type: np:dtype('float64'), shape: (4, 3), dim_tags: (stride:8, stride:1) in aspace: global
flag: type: np:dtype('int32'), shape: (n), dim_tags: (N0:stride:1) in aspace: global
c: ValueArg, type: np:dtype('float64')
n: ValueArg, type: np:dtype('int32')
---------------------------------------------------------------------------
DOMAINS:
[n, unused] -> { [e] : 0 <= e < n }
{ [i, j] : 0 <= i <= 2 and 0 <= j <= 3 }
---------------------------------------------------------------------------
INAME TAGS:
e: l.0
i: unr
j: None
---------------------------------------------------------------------------
TEMPORARIES:
phi: type: np:dtype('float64'), shape: (4, 3), dim_tags: (N1:stride:3, N0:stride:1) aspace: global
t: type: <auto/runtime>, shape: () aspace: auto
---------------------------------------------------------------------------
SUBSTITUTION RULES:
SubstitutionRule(name='sq', arguments=('x',), expression=Product((Variable('x'), Variable('x'))))
---------------------------------------------------------------------------
INSTRUCTIONS:
  for i, e
↱     \u{1b}[36mt\u{1b}[0m = \u{1b}[35mreduce(sum, [j], phi[j, i]*sq(B[j, i]))\u{1b}[0m  {id=\u{1b}[32mt\u{1b}[0m}
│     if flag[e] and not (i > 1)
└       \u{1b}[36mA[e, i]\u{1b}[0m = \u{1b}[35mA[e, i] + (-1)*t*c\u{1b}[0m  {id=\u{1b}[32minsn\u{1b}[0m, priority=1}
      end
  end i, e
---------------------------------------------------------------------------
";

#[test]
fn all_sections_are_read() {
    let source = Source::new("k.txt", WHOLE);
    let data = Data::from_bytes(
        br#"{"phi": [[1, 0, 0.5], [0, 1, 0], [0, 0, 1], [0.25, -1e-3, 1]], "assumptions": "[n] -> { : n >= 1 }"}"#,
    );
    let expected = expect![[r#"
        kernel whole
        param n : int32
        assume [n] -> { : n >= 1 }
        domain [n] -> { [e] : 0 <= e < n }
        domain { [i, j] : 0 <= i <= 2 and 0 <= j <= 3 }
        arg A : float64[3, n] readwrite
        arg B : float64[4, 8] read
        arg flag : int32[n] read
        arg c : float64 read
        table phi : float64[4, 3] = [[1, 0, 0.5], [0, 1, 0], [0, 0, 1], [0.25, -0.001, 1]]
        temp t : float64
        tag e parallel
        tag i unroll
        for e, i
          t = sum(j, phi[j, i]*(B[j, i]*B[j, i]))  {id=t}
          A[i, e] = A[i, e] - t*c  {id=insn, dep=t, if=flag[e] != 0:not (i > 1)}
        end
    "#]];
    expected.assert_eq(&read(&with_data(&source, &[data.unwrap()])));
}

#[test]
fn values_of_tables_are_asked_for() {
    check(
        WHOLE,
        expect![[r#"
        print::lost 21:1: the print has lost the values of the table `phi`: `phi`
    "#]],
    );
}

#[test]
fn c_says_what_numbers_mean() {
    let lines = [
        "x[i + 1] + (-1)*2*x[i] + x[i]",
        "(x[i] + a)*(i / 3)",
        "x[(i + -4) / 3]",
        "(i > 3)*a",
        "a if k[i] else x[i]",
        "reduce(any, [j], x[j] > 0.9)*a",
        "cast(np:dtype('float32'), x[i])**2 + s\u{332}q\u{332}r\u{332}t(a)",
        "(a / x[i])*x[i]*fmin(a, 2) + abs(k[i]) + min(a, x[i])",
        "(1.0 if i == 1 else 0.0) if i == 0 or i == 3 and not (i > 5) else k[i] << 2 & 1",
    ];
    let mut res = String::new();
    for line in lines {
        let text = read(&Source::new("k.txt", kernel(line)));
        let found = text.lines().find(|line| line.contains(" = ") || line.contains("::")).unwrap_or(&text);
        writeln!(res, "{}", found.trim()).unwrap();
    }
    expect![[r#"
        y[i] = x[i + 1] + -(2*x[i]) + x[i]  {id=insn}
        y[i] = (x[i] + a)*i/3  {id=insn}
        y[i] = x[-(-(i + -4)//3) if i + -4 < 0 else (i + -4)//3]  {id=insn}
        y[i] = (1 if i > 3 else 0)*a  {id=insn}
        y[i] = a if k[i] != 0 else x[i]  {id=insn}
        y[i] = (1 if sum(j, 1 if x[j] > 0.9 else 0) != 0 else 0)*a  {id=insn}
        y[i] = cast(float32, x[i])**2 + sqrt(a)  {id=insn}
        y[i] = a/x[i]*x[i]*fmin(a, 2) + max(k[i], -k[i]) + min(a, x[i])  {id=insn}
        y[i] = (1.0 if i == 1 else 0.0) if i == 0 or i == 3 and not (i > 5) else k[i] << 2 & 1  {id=insn}
    "#]]
    .assert_eq(&res);
}

#[test]
fn what_a_print_does_not_tell_is_refused() {
    let mut res = String::new();
    for line in [
        "a**a**a",
        "a*a / a",
        "a / a / a",
        "a < a < a",
        "reduce(argmax, [j], x[j])",
        "zeta(x[i])",
        "z[i]",
        "x[i, 2]",
        "(a",
        "a +",
        "1e999",
        "grp.0",
    ] {
        res.push_str(&read(&Source::new("k.txt", kernel(line))));
    }
    expect![[r#"
        print::two_readings 13:10: an operation beside one that binds as tightly has two readings: `a**a`
        print::two_readings 13:10: an operation beside one that binds as tightly has two readings: `a*a `
        print::two_readings 13:10: an operation beside one that binds as tightly has two readings: `a / a `
        print::two_readings 13:10: an operation beside one that binds as tightly has two readings: `a < a `
        print::unsupported 13:10: the reduction `argmax` has no place in a kernel: `reduce(argmax`
        print::unsupported 13:10: the function `zeta` has no place in a kernel: `zeta(x[i])`
        print::unknown_name 13:10: the name `z` is not declared in this print: `z[i]`
        print::syntax 13:10: expected as many indices as the array has axes: 1: `x[i, 2]`
        print::syntax 13:12: expected `)`: ``
        print::syntax 13:13: expected an expression: ``
        print::syntax 13:10: expected a finite number: `1e999`
        print::unsupported 13:10: this expression of loopy has no place in a kernel: `grp.`
    "#]]
    .assert_eq(&res);
}

#[test]
fn calls_are_inlined() {
    check(
        "\
KERNEL: wrap
ARGUMENTS:
y: type: np:dtype('float64'), shape: (n, 3), dim_tags: (N1:stride:3, N0:stride:1) in/out aspace: global
x: type: np:dtype('float64'), shape: (n, 3), dim_tags: (N1:stride:3, N0:stride:1) in aspace: global
n: ValueArg, type: np:dtype('int32')
DOMAINS:
[n] -> { [e] : 0 <= e < n }
{ [i, k] : 0 <= i <= 2 and 0 <= k <= 2 }
INAME TAGS:
e: None
INSTRUCTIONS:
for e
  [i]: y[e, i] = element([i]: y[e, i], [k]: x[e, k], 2.0)  {id=call}
end e
KERNEL: element
ARGUMENTS:
b: type: np:dtype('float64'), shape: (3), dim_tags: (N0:stride:1) in/out aspace: global
x: type: np:dtype('float64'), shape: (3), dim_tags: (N0:stride:1) in aspace: global
s: ValueArg, type: np:dtype('float64')
DOMAINS:
{ [i, j] : 0 <= i <= 2 and 0 <= j <= 2 }
INAME TAGS:
i: None
TEMPORARIES:
t: type: np:dtype('float64'), shape: (3), dim_tags: (N0:stride:1) aspace: local
INSTRUCTIONS:
for i
  t[i] = s*x[i]  {id=t}
  b[i] = b[i] + reduce(sum, [j], x[j])*t[i]  {id=insn}
end i
",
        expect![[r#"
            kernel wrap
            param n : int32
            domain [n] -> { [e] : 0 <= e < n }
            domain { [i_0, j] : 0 <= i_0 <= 2 and 0 <= j <= 2 }
            arg y : float64[n, 3] readwrite
            arg x : float64[n, 3] read
            temp t : float64[3]
            for e, i_0
              t[i_0] = 2.0*x[e, i_0]  {id=t}
              y[e, i_0] = y[e, i_0] + sum(j, x[e, j])*t[i_0]  {id=insn, dep=t}
            end
        "#]],
    );
}

#[test]
fn lines_that_are_no_print_have_their_place() {
    let mut res = String::new();
    for (old, new) in [
        ("in/out aspace", "inout aspace"),
        ("shape: (n, 3)", "shape: unknown"),
        ("end i, e", "end j"),
        ("np:dtype('int32'), shape", "np:dtype('uint8'), shape"),
        ("DOMAINS:", "PLACES:"),
        ("i > 1)", "i > 1) or flag[e] and i > 3"),
        ("priority=1", "atomic=update[A]"),
        ("(Variable('x'), Variable('x'))", "(..., Variable('x'))"),
        ("Product((Variable('x'), Variable('x')))", "Power(Variable('x'))"),
        ("Variable('x'), Variable", "Variable('x') Variable"),
        ("  end i, e", "  end i, e\n nonsense"),
    ] {
        res.push_str(&read(&Source::new("k.txt", WHOLE.replacen(old, new, 1))));
    }
    expect![[r#"
        print::syntax 5:85: expected `in`, `out` or `in/out`: `inout`
        print::unsupported 5:38: an array without an extent has no place in a kernel: `unknown`
        print::syntax 33:3: expected the end of a loop that is open, not `j`: `end j`
        print::unsupported 7:13: the type uint8 has no place in a kernel: `np:dtype('uint8')`
        print::syntax 11:1: expected the heading of a section, such as `ARGUMENTS:`: `PLACES:`
        print::two_readings 30:10: a condition of `and` beside `or` or `if` has two readings: `flag[e] and not (i > 1) or flag[e] and i > 3`
        print::unsupported 31:76: an atomic update has no place in a kernel: `atomic=update[A]`
        print::lost 25:67: the print has lost the inside of a substitution rule: `...`
        print::unsupported 25:58: a substitution rule with `Power` has no place in a kernel: `Power(Variable('x'))`
        print::syntax 25:80: expected `)`: ``
        print::syntax 34:2: expected an instruction and `{id=…}`: `nonsense`
    "#]].assert_eq(&res);
}

#[test]
fn arrays_of_numpy_are_data() {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut archive = ndarray_npy::NpzWriter::new(&mut bytes);
    archive
        .add_array("phi", &ndarray::array![[1.0, 0.5, 0.1], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 2.0]])
        .unwrap();
    archive.finish().unwrap();
    let data = Data::from_bytes(bytes.get_ref()).unwrap();
    let text = read(&with_data(&Source::new("k.txt", WHOLE), &[data]));
    assert!(
        text.contains(
            "table phi : float64[4, 3] = [[1.0, 0.5, 0.1], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 2.0]]"
        ),
        "{text}"
    );
    assert!(Data::from_bytes(b"PK and no more").is_err());
    assert!(Data::from_bytes(b"[1, 2]").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        let _ = nestegg_prints::read(&Source::new("k.txt", &*text));
        let _ = nestegg_prints::read(&Source::new("k.txt", format!("KERNEL: k\n{text}")));
        let _ = nestegg_prints::read(&Source::new("k.txt", kernel(&text)));
        let _ = Data::from_bytes(text.as_bytes());
    }

    #[test]
    fn token_soup(tokens in prop::collection::vec(prop::sample::select(vec![
        "i", "j", "a", "x", "k", "(", ")", "[", "]", "[[", "]]", ",", ":", "+", "-", "*", "**", " / ", " // ", "%", "<", "==", "&", "|", "^",
        "~", "<<", " if ", " else ", " and ", " or ", "not ", "reduce(sum, [j], ", "cast(np:dtype('float32'), ", "1", "2.5", "-3", "1e-3", "sqrt(",
    ]), 0..40)) {
        let _ = nestegg_prints::read(&Source::new("k.txt", kernel(&tokens.concat())));
    }

    #[test]
    fn mutations(at in 0_usize..4_000, len in 0_usize..30, new in any::<String>(), line in 0_usize..40, other in 0_usize..40) {
        let chars: Vec<char> = WHOLE.chars().collect();
        let at = at % (chars.len() + 1);
        let end = (at + len).min(chars.len());
        let text: String = chars[..at].iter().copied().chain(new.chars()).chain(chars[end..].iter().copied()).collect();
        let _ = nestegg_prints::read(&Source::new("k.txt", &*text));
        // Lines in another order.
        let mut lines: Vec<&str> = text.lines().collect();
        let n_lines = lines.len().max(1);
        if line % n_lines < lines.len() && other % n_lines < lines.len() {
            lines.swap(line % n_lines, other % n_lines);
        }
        let _ = nestegg_prints::read(&Source::new("k.txt", lines.join("\n")));
    }
}

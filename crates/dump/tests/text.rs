//! The text form, by example.
#![allow(missing_docs, clippy::unwrap_used)]

use expect_test::{Expect, expect};
use nestegg_dump::{read_json, read_text, write_json, write_text};
use nestegg_ir::verify::verify;
use nestegg_span::Source;

/// Reads a text and compares how it is written; text, JSON and text again are the same.
fn check(text: &str, expect: Expect) {
    let source = Source::new("t.knl", text);
    let read = read_text(&source).unwrap_or_else(|errors| panic!("{errors}: {:#?}", errors.errors()));
    assert_eq!(verify(&read.program), [], "what is read is verified");
    let written = write_text(&read.program);
    expect.assert_eq(&written);
    let json = write_json(&read.program);
    let from_json = read_json(&Source::new("t.json", &*json)).expect("what is written is read");
    assert_eq!(write_text(&from_json.program), written, "JSON to text");
    let again = read_text(&Source::new("u.knl", &*written)).expect("what is written is read");
    assert_eq!(write_json(&again.program), json, "text to JSON");
}

/// An expression on the right of an assignment, and as it is written.
fn check_expr(expr: &str, expect: Expect) {
    let text = format!(
        "kernel k\nparam n : int32\ndomain {{ [i, j] : 0 <= i, j < 4 }}\narg a : float64 read\narg b : float64 read\n\
         arg c : float64 read\narg x : float64[4] read\narg y : float64 write\narg p : bool read\ntemp q : int64\n\
         sq(v) := v*v\ny = {expr}"
    );
    let read = read_text(&Source::new("t.knl", &*text));
    let read = read.unwrap_or_else(|errors| panic!("{expr}: {errors}: {:#?}", errors.errors()));
    let json = write_json(&read.program);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let written = write_text(&read.program);
    let line = written.lines().last().unwrap().strip_prefix("y = ").unwrap();
    let right = line.strip_suffix("  {id=insn0}").unwrap();
    expect.assert_eq(&format!("{right}\n{}\n", value["instructions"][0]["expression"]));
    let again = read_text(&Source::new("u.knl", &*written)).expect("what is written is read");
    assert_eq!(write_json(&again.program), json, "the structure is kept");
}

#[test]
fn the_example_of_the_format() {
    check(
        "kernel weighted_mass
param n : int32 = 1000                      # the estimate
assume [n] -> { : n >= 1 }
domain [n] -> { [e] : 0 <= e < n }
domain { [q, j, k] : 0 <= q < 4 and 0 <= j, k < 3 }
arg A : float64[n, 3, 3] readwrite
arg f : float64[n, 4] read
arg scale : float64 read
table phi : float64[4, 3] = [[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]
temp t : float64
tag e parallel
square(x) := x*x
for e, j, k
  t = sum(q, f[e, q]*phi[q, j]*phi[q, k])           {id=quad}
  A[e, j, k] = A[e, j, k] + square(scale)*t         {id=acc, dep=quad}
end
",
        expect![[r#"
            kernel weighted_mass
            param n : int32 = 1000
            assume [n] -> { : n >= 1 }
            domain [n] -> { [e] : 0 <= e < n }
            domain { [q, j, k] : 0 <= q < 4 and 0 <= j, k < 3 }
            arg A : float64[n, 3, 3] readwrite
            arg f : float64[n, 4] read
            arg scale : float64 read
            table phi : float64[4, 3] = [[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]
            temp t : float64
            tag e parallel
            square(x) := x*x
            for e, j, k
              t = sum(q, f[e, q]*phi[q, j]*phi[q, k])  {id=quad}
              A[e, j, k] = A[e, j, k] + square(scale)*t  {id=acc, dep=quad}
            end
        "#]],
    );
}

#[test]
fn the_grammar_ends_with_a_kernel() {
    let grammar = include_str!("../GRAMMAR.md");
    let example = grammar.rsplit("```").nth(1).expect("a block of code").trim_start();
    read_text(&Source::new("GRAMMAR.md", example)).expect("the example is read");
}

#[test]
fn a_linearized_kernel() {
    check(
        r#"kernel lin linearized
meta {"source": "a # b", "deep": [1, {"x": null}]}
param n : int64
domain [n] -> { [i] : 0 <= i < n }
domain [i] -> { [j] :
   0 <= j <= i }   # two lines
domain { [k] : 0 <= k < 2 }
arg A : float32[n, n] write
arg B : float32[n] read
temp t : float32
order last, first, c
for i
  t = B[i] {id=first, if=B[i] > 0.0:i > 1}
  if i > 2
    for j, k
      A[i, j] = t {id=last, dep=first, inames=k:j:i}
    end
  else
    a_b, = f(t) {id="a b", inames=i}
  end
end
temp a_b : float32
code "printf(\"%d\", n);" reads B {id=c, dep="a b":last}
"#,
        expect![[r#"
            kernel lin linearized
            meta {"source":"a # b","deep":[1,{"x":null}]}
            param n : int64
            domain [n] -> { [i] : 0 <= i < n }
            domain [i] -> { [j] : 0 <= j <= i }
            domain { [k] : 0 <= k < 2 }
            arg A : float32[n, n] write
            arg B : float32[n] read
            temp t : float32
            temp a_b : float32
            order last, first, c, "a b"
            for i
              t = B[i]  {id=first, if=B[i] > 0.0:i > 1}
              if i > 2
                for j, k
                  A[i, j] = t  {id=last, dep=first, inames=k:j:i}
                end
              end
              if not (i > 2)
                a_b, = f(t)  {id="a b"}
              end
            end
            code "printf(\"%d\", n);" reads B  {id=c, dep="a b":last}
        "#]],
    );
}

#[test]
fn blocks_of_an_unordered_kernel() {
    check(
        r#"kernel blocks
domain { [i, j] : 0 <= i, j < 3 }
arg p : bool[3] read
arg s : float64[3] readwrite
arg u : float64 readwrite
arg v : float64 readwrite
for i
  s[i] = 0
  for j
    if p[i]
      s[i] = s[i] + p3*j
    else
      s[i] = 1.
    end
  end
  s[i] = 2e0*s[i]
end
u, v = modf(s[0], 1e-7)
code """
  u = v;
  """ reads v writes u {id=raw}
v = v {inames=j:i, if=p[j]}
p3 := 1e22
"#,
        expect![[r#"
            kernel blocks
            domain { [i, j] : 0 <= i, j < 3 }
            arg p : bool[3] read
            arg s : float64[3] readwrite
            arg u : float64 readwrite
            arg v : float64 readwrite
            p3 := 1e22
            for i
              s[i] = 0  {id=insn0}
              for j
                s[i] = s[i] + p3*j  {id=insn1, if=p[i]}
                s[i] = 1.0  {id=insn2, if=not p[i]}
              end
              s[i] = 2.0*s[i]  {id=insn3}
            end
            u, v = modf(s[0], 1e-7)  {id=insn4}
            code """
              u = v;
              """ reads v writes u  {id=raw}
            for j, i
              v = v  {id=insn6, if=p[j]}
            end
        "#]],
    );
}

#[test]
fn declarations_words_are_names_too() {
    check(
        "kernel param
domain { [end, for_] : 0 <= end, for_ < 3 }
arg domain : float64[3] write
arg temp : float64 write
arg meta : float64[3] write
arg sum : float64 read
for end
  domain[end] = sum
  meta[end] = sum + sum
end
temp = sum(for_, sum*for_)
",
        expect![[r#"
            kernel param
            domain { [end, for_] : 0 <= end, for_ < 3 }
            arg domain : float64[3] write
            arg temp : float64 write
            arg meta : float64[3] write
            arg sum : float64 read
            for end
              domain[end] = sum  {id=insn0}
              meta[end] = sum + sum  {id=insn1}
            end
            temp = sum(for_, sum*for_)  {id=insn2}
        "#]],
    );
}

#[test]
fn sums_and_products_keep_their_structure() {
    check_expr(
        "a + b + c",
        expect![[r#"
        a + b + c
        ["+","a","b","c"]
    "#]],
    );
    check_expr(
        "(a + b) + c",
        expect![[r#"
        (a + b) + c
        ["+",["+","a","b"],"c"]
    "#]],
    );
    check_expr(
        "a + (b + c)",
        expect![[r#"
        a + (b + c)
        ["+","a",["+","b","c"]]
    "#]],
    );
    check_expr(
        "a - b + c - a",
        expect![[r#"
        a - b + c - a
        ["-",["+",["-","a","b"],"c"],"a"]
    "#]],
    );
    check_expr(
        "a - (b - c)",
        expect![[r#"
        a - (b - c)
        ["-","a",["-","b","c"]]
    "#]],
    );
    check_expr(
        "(a*b)*c*(a/b)",
        expect![[r#"
        (a*b)*c*a/b
        ["*",["*","a","b"],"c",["/","a","b"]]
    "#]],
    );
    check_expr(
        "a*b/c*a",
        expect![[r#"
        a*b/c*a
        ["*","a",["/","b","c"],"a"]
    "#]],
    );
    check_expr(
        "(a*b)/(c*a)/b",
        expect![[r#"
        (a*b)/(c*a)/b
        ["/",["/",["*","a","b"],["*","c","a"]],"b"]
    "#]],
    );
}

#[test]
fn signs_and_powers() {
    check_expr(
        "-2 - -2",
        expect![[r#"
        -2 - -2
        ["-",-2,-2]
    "#]],
    );
    check_expr(
        "-(2) + --a",
        expect![[r#"
        -(2) + --a
        ["+",["-",2],["-",["-","a"]]]
    "#]],
    );
    check_expr(
        "-2**2 + (-2)**-2.5e3",
        expect![[r#"
        -2**2 + (-2)**-2500.0
        ["+",["-",["**",2,2]],["**",-2,-2500.0]]
    "#]],
    );
    check_expr(
        "-a**b**c + (a**b)**c + (-a)**2 + a**-b",
        expect![[r#"
        -a**b**c + (a**b)**c + (-a)**2 + a**-b
        ["+",["-",["**","a",["**","b","c"]]],["**",["**","a","b"],"c"],["**",["-","a"],2],["**","a",["-","b"]]]
    "#]],
    );
    check_expr(
        "-a*b + -(a*b) - -9223372036854775808",
        expect![[r#"
        -a*b + -(a*b) - -9223372036854775808
        ["-",["+",["*",["-","a"],"b"],["-",["*","a","b"]]],-9223372036854775808]
    "#]],
    );
    check_expr(
        "-0.0 + .5 + 1. + 0 + 5e-324 + -(0.5)",
        expect![[r#"
        -0.0 + 0.5 + 1.0 + 0 + 5e-324 + -(0.5)
        ["+",-0.0,0.5,1.0,0,5e-324,["-",0.5]]
    "#]],
    );
}

#[test]
fn conditions_and_selections() {
    check_expr(
        "a if p else b if a < b and not p or p else c",
        expect![[r#"
        a if p else b if a < b and not p or p else c
        ["if","p","a",["if",["or",["and",["<","a","b"],["not","p"]],"p"],"b","c"]]
    "#]],
    );
    check_expr(
        "(a if p else b) if (p if a <= b else p) else if(p, a, b)",
        expect![[r#"
        (a if p else b) if (p if a <= b else p) else a if p else b
        ["if",["if",["<=","a","b"],"p","p"],["if","p","a","b"],["if","p","a","b"]]
    "#]],
    );
    check_expr(
        "a if not (p and (a == b or a != b)) else b",
        expect![[r#"
        a if not (p and (a == b or a != b)) else b
        ["if",["not",["and","p",["or",["==","a","b"],["!=","a","b"]]]],"a","b"]
    "#]],
    );
    check_expr(
        "(a if p else b) + 1",
        expect![[r#"
        (a if p else b) + 1
        ["+",["if","p","a","b"],1]
    "#]],
    );
    check_expr(
        "a if (a < b if p else p) and (not p) else b",
        expect![[r#"
        a if (a < b if p else p) and not p else b
        ["if",["and",["if","p",["<","a","b"],"p"],["not","p"]],"a","b"]
    "#]],
    );
}

#[test]
fn integers() {
    check_expr(
        "q & 3 | (n ^ ~q << 2 >> (1 << n))",
        expect![[r#"
        q & 3 | (n ^ ~q << 2 >> (1 << n))
        ["|",["&","q",3],["^","n",[">>",["<<",["~","q"],2],["<<",1,"n"]]]]
    "#]],
    );
    check_expr(
        "q % 3 * n // 2 - q*(n % 3) + (q & (n + 1)) + (q & n & 7)",
        expect![[r#"
        q%3*n//2 - q*n%3 + (q & n + 1) + (q & n & 7)
        ["+",["-",["*",["%","q",3],["//","n",2]],["*","q",["%","n",3]]],["&","q",["+","n",1]],["&","q","n",7]]
    "#]],
    );
}

#[test]
fn calls_and_reductions() {
    check_expr(
        "sum(i, x[i]) + reduce(sum, [i], x[i]) + product(i, x[i + 0]*sum(j, x[j]))",
        expect![[r#"
        sum(i, x[i]) + sum(i, x[i]) + product(i, x[i + 0]*sum(j, x[j]))
        ["+",["reduce","sum",["i"],["[]","x","i"]],["reduce","sum",["i"],["[]","x","i"]],["reduce","product",["i"],["*",["[]","x",["+","i",0]],["reduce","sum",["j"],["[]","x","j"]]]]]
    "#]],
    );
    check_expr(
        "sum((i, j), x[i]*x[j]) + sum([j, i], a) + reduce(min, i, x[i]) + reduce(max, [i], -x[i])",
        expect![[r#"
        reduce(sum, [i, j], x[i]*x[j]) + reduce(sum, [j, i], a) + reduce(min, [i], x[i]) + reduce(max, [i], -x[i])
        ["+",["reduce","sum",["i","j"],["*",["[]","x","i"],["[]","x","j"]]],["reduce","sum",["j","i"],"a"],["reduce","min",["i"],["[]","x","i"]],["reduce","max",["i"],["-",["[]","x","i"]]]]
    "#]],
    );
    check_expr(
        "min(a, b + c, 2)*max(a, b) + sqrt(a) + zero() + sq(sq(a)) + float32(b) + cast(int64, a)",
        expect![[r#"
        min(a, b + c, 2)*max(a, b) + sqrt(a) + zero() + sq(sq(a)) + cast(float32, b) + cast(int64, a)
        ["+",["*",["min","a",["+","b","c"],2],["max","a","b"]],["call","sqrt","a"],["call","zero"],["subst","sq",["subst","sq","a"]],["cast","float32","b"],["cast","int64","a"]]
    "#]],
    );
}

/// Reads instructions after declarations of `a`, `b`, `x`, `y`, `m` and `i`, and writes them; an error shows its message and help.
fn instructions(body: &str) -> String {
    let head = "kernel k\nparam n : int32\ndomain { [i, j] : 0 <= i, j < 8 }\narg a : float64 read\narg b : float64 read\n\
                arg x : float64[8] read\narg m : int32[8] read\narg y : float64[8] readwrite\n";
    let source = Source::new("k.knl", format!("{head}{body}"));
    match read_text(&source) {
        Ok(read) => {
            let text = write_text(&read.program);
            let again = read_text(&Source::new("k.knl", text.clone())).unwrap();
            assert_eq!(write_text(&again.program), text);
            text.split_once("readwrite\n").unwrap().1.to_owned()
        }
        Err(errors) => errors
            .errors()
            .iter()
            .map(|error| {
                let help = miette::Diagnostic::help(error).map(|help| format!("; {help}")).unwrap_or_default();
                format!("{error}{help}\n")
            })
            .collect(),
    }
}

fn check_instructions(body: &str, expect: Expect) {
    expect.assert_eq(&instructions(body));
}

#[test]
fn options_of_blocks_patterns_and_nops() {
    check_instructions(
        "for i\n  with {id_prefix=init}\n    y[i] = 0\n    y[i] = +1.5\n  end\n  ... nop {id=done, dep=init*}\n  \
         with {dep=done}\n    y[i] = a  {id=last, nosync=init*@global}\n  end\n  y[i] = b  {dep=*last}\n  y[i] = x[i]  {id=all, dep=l*:insn*}\nend\n",
        expect![[r#"
            for i
              y[i] = 0  {id=init}
              y[i] = 1.5  {id=init_0}
              y[i] = a  {id=last, dep=init:init_0}
              y[i] = b  {id=insn3, dep=last}
              y[i] = x[i]  {id=all, dep=last:insn3}
            end
        "#]],
    );
    check_instructions(
        "y[0] = a  {dep=nothing*}\n",
        expect![[r#"
            no instruction has the id `nothing*`
        "#]],
    );
}

#[test]
fn branches() {
    check_instructions(
        "for i\n  if m[i] > 2\n    y[i] = a\n  elif m[i] > 1\n    y[i] = b\n  elif m[i] > 0\n    y[i] = 1\n  else\n    y[i] = 2\n  end\nend\n",
        expect![[r#"
            for i
              y[i] = a  {id=insn0, if=m[i] > 2}
              y[i] = b  {id=insn1, if=not (m[i] > 2):m[i] > 1}
              y[i] = 1  {id=insn2, if=not (m[i] > 2):not (m[i] > 1):m[i] > 0}
              y[i] = 2  {id=insn3, if=not (m[i] > 2):not (m[i] > 1):not (m[i] > 0)}
            end
        "#]],
    );
    check_instructions(
        "for i\n  elif m[i] > 1\n    y[i] = b\n  end\nend\n",
        expect![[r#"
        expected `=`, found `m`
        this end closes nothing that is open; loops and conditions close in the reverse of the order in which they open
    "#]],
    );
}

#[test]
fn temporaries_that_assignments_declare() {
    check_instructions(
        "for i\n  <float32> s = 2.5f*x[i]\n  <> t = x[i]*2 + 0.5\n  <> k = 3*m[i]\n  <> acc = 0\n  acc = acc + t\n  <> p = m[i] > 1\n  \
         y[i] = simul_reduce(sum, j, x[j])*0 + acc + s if p else t + k + 2.5d\nend\n",
        expect![[r#"
            temp s : float32
            temp t : float64
            temp k : int32
            temp acc : float64
            temp p : bool
            for i
              s = cast(float32, 2.5)*x[i]  {id=insn0}
              t = x[i]*2 + 0.5  {id=insn1}
              k = 3*m[i]  {id=insn2}
              acc = 0  {id=insn3}
              acc = acc + t  {id=insn4}
              p = m[i] > 1  {id=insn5}
              y[i] = sum(j, x[j])*0 + acc + s if p else t + k + 2.5  {id=insn6}
            end
        "#]],
    );
    check_instructions(
        "<> t = 0.5\ny[0] = t\n",
        expect![[r#"
        the type of `t` does not follow from what is assigned to it; write it: `<float64> t = …`
    "#]],
    );
    check_instructions(
        "<> t = m[0]/2\ny[0] = t\n",
        expect![[r#"
        the type of `t` does not follow from what is assigned to it; write it: `<float64> t = …`
    "#]],
    );
    check_instructions(
        "<> t[0] = a\n",
        expect![[r#"
        expected a scalar after `<…>`, found another expression; declare arrays with their sizes: `temp t : float64[4]`
    "#]],
    );
}

#[test]
fn what_loopy_reads_otherwise() {
    for body in [
        "y[0] = a if not a == b else b",
        "y[0] = a if not a + 1 < b else b",
        "y[0] = a if m[0] & 3 == m[1] else b",
        "y[0] = a if m[0] == m[1] & 3 else b",
        "y[m[0] | 1 ^ m[1]] = a",
        "y[m[0] | 1 & m[2] ^ m[1]] = a",
        "y[0] = max(i, x[0])",
    ] {
        let found = instructions(&format!("{body}\n"));
        assert!(found.contains("two readings"), "{body}: {found}");
    }
    check_instructions(
        "y[0] = a if not (a == b) else b\ny[1] = a if (m[0] & 3) == m[1] else b\ny[2] = a if not (a > 0 and b > 0) else b\n\
         y[m[0] | (1 ^ m[1])] = a\ny[m[0] & 1 | m[1]] = b\nfor i\n  y[i] = max(i, x[i])\nend\n",
        expect![[r#"
            y[0] = a if not (a == b) else b  {id=insn0}
            y[1] = a if (m[0] & 3) == m[1] else b  {id=insn1}
            y[2] = a if not (a > 0 and b > 0) else b  {id=insn2}
            y[m[0] | (1 ^ m[1])] = a  {id=insn3}
            y[m[0] & 1 | m[1]] = b  {id=insn4}
            for i
              y[i] = max(i, x[i])  {id=insn5}
            end
        "#]],
    );
    check_instructions(
        "y[0] = max(i, x[0])\n",
        expect![[r#"
        `max(i, …)` has two readings; to loopy it is the reduction over `i`: write `reduce(max, [i], …)`; as the extremum of two values it needs a value of `i`, which it has in a loop over it
    "#]],
    );
}

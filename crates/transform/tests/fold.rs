//! Folded constants are what the interpreter computes, to the bit; what has no value stays.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use expect_test::{Expect, expect};
use indexmap::IndexMap;
use nestegg_interp::{Inputs, RunOptions, Values, run};
use nestegg_ir::{Expr, InstructionKind, LinearizedKernel, Program};
use nestegg_transform::{fold_constants, normalise};
use support::{parse, text};

fn value_form(name: &str, given: &str) -> LinearizedKernel {
    normalise(parse(name, given).into_linearized().unwrap()).unwrap()
}

fn check(given: &str, expect: Expect) {
    let form = value_form("test", given);
    expect.assert_eq(
        &fold_constants(&form).map_or_else(|| "nothing to fold".to_owned(), |folded| text(folded.linearized)),
    );
}

#[test]
fn constants_keep_the_type_that_matters() {
    check(
        "kernel k
arg x : float32 read
arg n : int64 read
arg y : float32[2] write
arg z : float64 write
arg m : int64[2] write
y[0] = x*(0.1 + 0.2)
y[1] = x + cast(float32, 0.5)*cast(float32, 0.25)
z = sqrt(x*(cast(float64, 3)/7))
m[0] = cast(int64, 2147483647) + 1
m[1] = n + cast(int64, 3)*4
",
        expect![[r#"
            kernel k linearized
            arg x : float32 read
            arg n : int64 read
            arg y : float32[2] write
            arg z : float64 write
            arg m : int64[2] write
            y[0] = x*0.30000000000000004  {id=insn0}
            y[1] = x + 0.125  {id=insn1, dep=insn0}
            z = sqrt(x*cast(float64, 0.42857142857142855))  {id=insn2}
            m[0] = 2147483648  {id=insn3}
            m[1] = n + cast(int64, 12)  {id=insn4, dep=insn3}
        "#]],
    );
}

#[test]
fn decided_conditions_go() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 4 }
arg x : float64[4] read
arg y : float64[4] write
arg z : float64[4] write
for i
  if 1 > 2
    y[i] = 1.0
    if x[i] > 0.0
      y[i] = 3.0
    end
  end
  if 3 % 2 == 1
    y[i] = x[i]
  end
  z[i] = (x[i] if x[i] > 0.0 or 2.0 > 1.0 else exp(x[i]))  {if=not (2 < 1):x[i] > 3.0}
  z[i] = 5.0  {if=(5 & 2) == 1}
end
",
        expect![[r#"
            kernel k linearized
            domain { [i] : 0 <= i < 4 }
            arg x : float64[4] read
            arg y : float64[4] write
            arg z : float64[4] write
            for i
              y[i] = x[i]  {id=insn2}
              z[i] = x[i]  {id=insn3, if=x[i] > 3.0}
            end
        "#]],
    );
}

#[test]
fn what_has_no_value_stays() {
    check(
        "kernel k
arg y : float64[2] write
arg m : int32[3] write
y[0] = 1.0/0.0
y[1] = sin(1.0) + log(0.0)
m[0] = 2147483647 + 1
m[1] = 1 // 0
m[2] = 1 << 40
",
        expect!["nothing to fold"],
    );
}

/// Numbers from a linear congruence.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    /// A constant expression of a kind: `b` truth values, `i` integers, `f` floats.
    fn expression(&mut self, kind: char, depth: usize) -> String {
        let inner = depth.saturating_sub(1);
        match (kind, self.below(if depth == 0 { 2 } else { 10 })) {
            ('b', 0..=2) => {
                let (op, kind) = (self.pick(&["<", "<=", ">", ">=", "==", "!="]), ['i', 'f'][self.below(2)]);
                format!("({} {op} {})", self.expression(kind, inner), self.expression(kind, inner))
            }
            ('b', 3) => format!("(not {})", self.expression('b', inner)),
            ('b', 4) => format!("cast(bool, {})", self.expression('i', inner)),
            ('b', _) => {
                let op = self.pick(&["and", "or"]);
                format!("({} {op} {})", self.expression('b', inner), self.expression('b', inner))
            }
            ('i', 0) => self.pick(&["0", "1", "-1", "3", "-7", "31", "2147483647", "65536", "t[1]", "t[2]"]).to_owned(),
            ('i', 1) => format!("cast(int64, {})", self.pick(&["2", "-5", "40", "3000000000"])),
            ('i', 2) => format!("cast({}, {})", self.pick(&["int32", "int64"]), self.expression('f', inner)),
            ('i', 3) => format!("({}{})", self.pick(&["-", "~"]), self.expression('i', inner)),
            ('i', 4) => self.selection('i', inner),
            ('i', 5) => format!(
                "{}({}, {})",
                self.pick(&["min", "max"]),
                self.expression('i', inner),
                self.expression('i', inner)
            ),
            ('i', 6) => format!("({})**{}", self.expression('i', inner), self.below(5)),
            ('i', _) => {
                let op = self.pick(&["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"]);
                format!("({} {op} {})", self.expression('i', inner), self.expression('i', inner))
            }
            (_, 0) => {
                self.pick(&["0.1", "0.5", "-2.0", "3.0", "1e-3", "1e20", "0.0", "u[0]", "u[1]", "v[1]"]).to_owned()
            }
            (_, 1) => format!("cast(float32, {})", self.pick(&["0.1", "1.5", "-3.0", "16777217"])),
            (_, 2) => format!("cast({}, {})", self.pick(&["float32", "float64"]), self.expression('i', inner)),
            (_, 3) => self.selection('f', inner),
            (_, 4) => {
                let name = self.pick(&["sqrt", "fabs", "floor", "ceil", "round", "rint", "trunc", "exp", "cos", "log"]);
                format!("{name}({})", self.expression('f', inner))
            }
            (_, 5) => {
                let name = self.pick(&["min", "max", "fmin", "fmax", "copysign", "fmod", "fdim", "pow", "hypot"]);
                format!("{name}({}, {})", self.expression('f', inner), self.expression('f', inner))
            }
            (_, 6) => format!("({})**{}", self.expression('f', inner), self.pick(&["0", "1", "2", "3", "(-1)"])),
            (_, 7) => {
                let body = self.expression('f', inner);
                if body.contains("sum(q") { body } else { format!("sum(q, {body} + w[q])") }
            }
            _ => {
                let op = self.pick(&["+", "-", "*", "/", "//", "%", "+", "*"]);
                let mixed = ['i', 'f', 'f'][self.below(3)];
                format!("({} {op} {})", self.expression('f', inner), self.expression(mixed, inner))
            }
        }
    }

    fn selection(&mut self, kind: char, depth: usize) -> String {
        let (condition, a, b) =
            (self.expression('b', depth), self.expression(kind, depth), self.expression(kind, depth));
        format!("if({condition}, {a}, {b})")
    }
}

/// The bits of all outputs, or nothing if the run stops.
fn outputs(program: &Program) -> Option<Vec<(String, Vec<u64>)>> {
    let inputs = Inputs::random(program.kernel(), &IndexMap::new(), 0).unwrap();
    let outputs = run(program, &inputs, &RunOptions::default()).ok()?;
    let bits = |values: Values| match values {
        Values::Floats(values) => values.into_iter().map(f64::to_bits).collect(),
        Values::Ints(values) => values.into_iter().map(|value| value as u64).collect(),
    };
    Some(outputs.arrays.into_iter().map(|(name, output)| (name, bits(output.values))).collect())
}

#[test]
fn folding_is_what_the_interpreter_computes_to_the_bit() {
    let mut random = Random(7);
    let (mut n_run, mut n_literal) = (0, 0);
    for seed in 0..1500 {
        let (kind, dtype) = [('f', "float64"), ('f', "float32"), ('i', "int64"), ('b', "bool")][random.below(4)];
        let depth = 1 + random.below(4);
        let expression = random.expression(kind, depth);
        let given = format!(
            "kernel k\ndomain {{ [q] : 0 <= q < 3 }}\narg y : {dtype} write\ntable t : int32[3] = [4, -9, 2]\n\
             table u : float32[2] = [0.3, 2.0]\ntable v : float64[2] = [0.7, 1.25]\n\
             table w : float64[3] = [0.1, 0.2, 0.3]\ny = {expression}\n"
        );
        let name = format!("seed {seed}: {expression}");
        let form = value_form(&name, &given);
        let Some(folded) = fold_constants(&form) else { continue };
        let res = Program::Linearized(folded.linearized);
        assert!(nestegg_ir::verify::verify(&res).is_empty(), "{name}");
        let Some(expected) = outputs(&Program::Linearized(form)) else { continue };
        assert_eq!(outputs(&res), Some(expected), "{name}");
        n_run += 1;
        let kernel = res.kernel();
        let InstructionKind::Assignment { expression, .. } = &kernel.instructions[0].kind else { continue };
        n_literal += usize::from(matches!(kernel.exprs[*expression], Expr::Number(_) | Expr::Cast { .. }));
    }
    assert!(n_run > 500 && n_literal * 2 > n_run, "{n_literal} of {n_run} became literals");
}

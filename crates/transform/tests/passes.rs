//! Dead code, states of memory, and refusals, by example.
#![allow(missing_docs)]

mod support;

use std::fmt::Write;

use expect_test::{Expect, expect};
use nestegg_ir::InsnId;
use nestegg_ir::order::arrays_read;
use nestegg_ir::sequences::Sequences;
use nestegg_transform::{eliminate_dead, normalise};

use support::{assert_same_meaning, normalised, parse, text};

fn check_dead(given: &str, expect: Expect) {
    let program = parse("test", given);
    let linearized = program.clone().into_linearized().expect("the kernel has an order");
    let res = eliminate_dead(linearized);
    assert_same_meaning("test", &program, &res);
    expect.assert_eq(&text(res));
}

#[test]
fn what_no_result_needs_goes() {
    check_dead(
        "kernel k linearized
domain { [i] : 0 <= i < 4 }
domain { [j, l] : 0 <= j, l < 4 }
domain { [unused] : 0 <= unused < 4 }
arg x : float64[4] read
arg spare : float64 read
arg y : float64[4] write
table phi : float64[2] = [1.0, 2.0]
table psi : float64[2] = [1.0, 2.0]
temp s : float64
temp t : float64
temp u : float64
f(v) := v*phi[0]
g(v) := v*psi[0]
u = 0.0  {id=z}
for j
  s = x[j]  {id=a}
  t = g(sin(s))  {id=b, dep=a}
  if t > 1.0
    u = t + u  {id=c, dep=b}
  end
end
for i
  s = f(x[i])  {id=d, dep=c:b}
  y[i] = s  {id=e, dep=d:c}
end
",
        expect![[r#"
            kernel k linearized
            domain { [i] : 0 <= i < 4 }
            domain { [j, l] : 0 <= j, l < 4 }
            arg x : float64[4] read
            arg spare : float64 read
            arg y : float64[4] write
            table phi : float64[2] = [1.0, 2.0]
            temp s : float64
            f(v) := v*phi[0]
            for j
              s = x[j]  {id=a}
            end
            for i
              s = f(x[i])  {id=d, dep=a}
              y[i] = s  {id=e, dep=d:a}
            end
        "#]],
    );
}

#[test]
fn opaque_instructions_keep_what_they_read() {
    let given = "kernel k linearized
arg x : float64 read
temp s : float64
temp t : float64
temp u : float64
s = x
t = s*2.0
u = t
code \"use(t);\" reads t
";
    let linearized = parse("test", given).into_linearized().expect("the kernel has an order");
    expect![[r#"
        kernel k linearized
        arg x : float64 read
        temp s : float64
        temp t : float64
        s = x  {id=insn0}
        t = s*2.0  {id=insn1}
        code "use(t);" reads t  {id=insn3}
    "#]]
    .assert_eq(&text(eliminate_dead(linearized)));
}

/// For each read of memory that is written in the value form: the loops at whose iteration its state is another, and the writers before it.
fn check_states(given: &str, expect: Expect) {
    let form = normalised("test", given);
    let kernel = &form.kernel;
    let sequences = Sequences::new(&form);
    let mut res = String::new();
    for (insn, arrays) in arrays_read(kernel).into_iter().enumerate() {
        let insn = InsnId::new(insn);
        for array in arrays {
            if let Some(state) = sequences.memory_state(insn, array) {
                let pinned: Vec<&str> = state.pinned.iter().map(|iname| kernel[iname].name.as_str()).collect();
                let (id, name) = (&kernel[insn].id, &kernel[array].name);
                let (pinned, n) = (pinned.join(" "), state.n_writers_before);
                writeln!(res, "{id} reads {name} at [{pinned}] after {n} writers").expect("a string takes text");
            }
        }
    }
    expect.assert_eq(&res);
}

#[test]
fn states_of_memory_lie_between_writers() {
    check_states(
        "kernel k linearized
domain { [i, j] : 0 <= i, j < 4 }
domain { [t] : 0 <= t < 3 }
arg A : float64[4] readwrite
arg B : float64[4] readwrite
arg x : float64[4] read
tag t sequential
for i
  B[i] = A[i] + x[i]                {id=b0}
end
for t
  for i
    B[i] = A[i]*x[i]                {id=b1}
  end
  for i
    A[i] = 0.5*B[i]                 {id=a0}
    for j
      B[j] = A[i]*B[i]              {id=b2}
      B[i] = 2.0 + A[i]             {id=b3}
    end
  end
end
A[0] = A[1] + B[0]                  {id=a1}
",
        expect![[r#"
            b0 reads A at [] after 0 writers
            b1 reads A at [t] after 0 writers
            a0 reads B at [i t] after 0 writers
            b2 reads A at [i t] after 1 writers
            b2 reads B at [i j t] after 0 writers
            b3 reads A at [i t] after 1 writers
            a1 reads A at [] after 1 writers
            a1 reads B at [] after 2 writers
        "#]],
    );
}

#[test]
fn what_nothing_writes_is_an_error() {
    let given = "kernel k linearized
arg y : float64 write
temp s : float64
y = s {id=bad}
";
    let linearized = parse("test", given).into_linearized().expect("the kernel has an order");
    let error = normalise(linearized).expect_err("`s` has no value");
    expect!["instruction `bad` reads `s`, which no instruction writes"].assert_eq(&error.to_string());
}

/// Long chains, through scalars and through arrays over two inames, with each value used twice: the tree has 2^2000 leaves.
#[test]
fn chains_are_resolved_as_dags() {
    const LENGTH: usize = 2_000;
    let mut given = String::from(
        "kernel k linearized\ndomain { [i] : 0 <= i < 3 }\ndomain { [j] : 0 <= j < 3 }\narg x : float64[3] read\narg y : float64[3] write\n",
    );
    for n in 0..LENGTH {
        writeln!(given, "temp s{n} : float64\ntemp t{n} : float64[3]").expect("a string takes text");
    }
    given.push_str("s0 = x[0]\nfor i\n  t0[i] = x[i]\nend\n");
    for n in 1..LENGTH {
        let (before, iname) = (n - 1, if n % 2 == 0 { "i" } else { "j" });
        writeln!(given, "s{n} = s{before}*s{before} + x[1]").expect("a string takes text");
        writeln!(given, "for {iname}\n  t{n}[{iname}] = t{before}[{iname}]*t{before}[{iname}] + s{n}\nend")
            .expect("a string takes text");
    }
    let last = LENGTH - 1;
    writeln!(given, "for i\n  y[i] = t{last}[2 - i]\nend").expect("a string takes text");
    let linearized = parse("chain", &given).into_linearized().expect("the kernel has an order");
    let kernel = normalise(linearized).expect("the kernel has a value form").kernel;
    assert_eq!(kernel.instructions.len(), 1);
    assert!(kernel.exprs.len() < 5 * LENGTH, "{} expressions", kernel.exprs.len());
}

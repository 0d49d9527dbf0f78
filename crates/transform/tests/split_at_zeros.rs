//! Splitting at zeros, by example and on real kernels.
#![allow(missing_docs)]

mod support;

use expect_test::{Expect, expect};
use nestegg_ir::count::count;
use nestegg_ir::verify::verify;
use nestegg_ir::{Expr, InstructionKind, LinearizedKernel, Op, Program};
use nestegg_transform::{SplitOptions, normalise, split_at_zeros};

use support::{assert_same_meaning, body, parse};

const OPTIONS: SplitOptions = SplitOptions {
    max_instructions: SplitOptions::DEFAULT_MAX_INSTRUCTIONS,
    max_pieces_per_iname: SplitOptions::DEFAULT_MAX_PIECES_PER_INAME,
};

/// The value form of a kernel, and what splitting makes of it, which means the same.
fn split(name: &str, text: &str, options: &SplitOptions) -> (LinearizedKernel, Option<LinearizedKernel>) {
    let linearized = parse(name, text).into_linearized().expect("the kernel has an order");
    let form = normalise(linearized).unwrap_or_else(|error| panic!("{name}: {error}"));
    let res = split_at_zeros(form.clone(), options).unwrap_or_else(|error| panic!("{name}: {error}"));
    if let Some(split) = &res {
        assert_same_meaning(name, &Program::Linearized(form.clone()), split);
    }
    (form, res)
}

fn check_with(text: &str, options: &SplitOptions, expect: Expect) {
    let (_, res) = split("test", text, options);
    expect.assert_eq(&res.map_or_else(|| "none\n".to_owned(), body));
}

fn check(text: &str, expect: Expect) {
    check_with(text, &OPTIONS, expect);
}

/// The size of a real kernel before and after.
fn check_fixture(name: &str, expect: Expect) {
    let path = format!("{}/../../fixtures/tsfc/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the fixture is there");
    let (form, res) = split(name, &text, &OPTIONS);
    let size = |linearized: LinearizedKernel| {
        let n_instructions = linearized.kernel.instructions.len();
        let n_exprs = linearized.kernel.exprs.len();
        let count = count(&Program::Linearized(linearized), &[]).expect("the kernel is countable");
        format!("{n_instructions} instructions, {n_exprs} expressions, {} operations", count.total())
    };
    let after = res.map_or_else(|| "none".to_owned(), size);
    expect.assert_eq(&format!("{}\n{after}\n", size(form)));
}

#[test]
fn blocks_of_a_vector_element_become_stores() {
    check(
        "kernel k linearized
domain { [j, k] : 0 <= j < 4 and 0 <= k < 4 }
arg A : float64[4, 4] readwrite
arg x : float64[2] read
table T : float64[2, 4] = [[0.5, 0.25, 0.0, 0.0], [0.0, 0.0, 0.5, 0.25]]
for j, k
  A[j, k] = A[j, k] + x[0]*T[0, j]*T[0, k] + x[1]*T[1, j]*T[1, k]
end
",
        expect![[r#"
            domain { [j_0] : 0 <= j_0 < 2 }
            domain { [k_0] : 0 <= k_0 < 2 }
            domain { [k_1] : 2 <= k_1 < 4 }
            domain { [j_1] : 2 <= j_1 < 4 }
            for j_0, k_0
              A[j_0, k_0] = A[j_0, k_0] + x[0]*T[0, j_0]*T[0, k_0]  {id=insn0_0}
            end
            for j_1, k_1
              A[j_1, k_1] = A[j_1, k_1] + x[1]*T[1, j_1]*T[1, k_1]  {id=insn0_3, dep=insn0_0}
            end
        "#]],
    );
}

#[test]
fn nothing_is_cut_without_zeros() {
    check(
        "kernel k linearized
domain { [j] : 0 <= j < 3 }
arg y : float64[3] write
table T : float64[3] = [0.5, 1e-14, 2.0]
for j
  y[j] = T[j]
end
",
        expect![[r#"
            none
        "#]],
    );
}

#[test]
fn plain_stores_become_zeros_and_values() {
    check(
        "kernel k linearized
domain { [j] : 0 <= j < 6 }
arg x : float64 read
arg y : float64[6] write
table T : float64[6] = [0.0, 0.0, 0.5, 0.5, 0.25, 0.0]
table U : float64[6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
for j
  y[j] = U[j]*T[j]/x
end
",
        expect![[r#"
            domain { [j_0] : 0 <= j_0 < 2 }
            domain { [j_1] : 2 <= j_1 < 5 }
            for j_0
              y[j_0] = 0.0  {id=insn0_0}
            end
            for j_1
              y[j_1] = U[j_1]*T[j_1]/x  {id=insn0_1, dep=insn0_0}
            end
            y[5] = 0.0  {id=insn0_2, dep=insn0_1}
        "#]],
    );
}

#[test]
fn stores_of_an_element_to_itself_go() {
    check(
        "kernel k linearized
domain { [j] : 0 <= j < 4 }
arg x : float64[4] read
arg y : float64[4] readwrite
table T : float64[4] = [0.0, 0.0, 0.5, 0.25]
for j
  y[j] = y[j] - T[j]*x[j]
end
",
        expect![[r#"
            domain { [j_1] : 2 <= j_1 < 4 }
            for j_1
              y[j_1] = y[j_1] - T[j_1]*x[j_1]  {id=insn0_1}
            end
        "#]],
    );
}

#[test]
fn shifted_indices_and_other_dimensions() {
    check(
        "kernel k linearized
domain { [j] : 1 <= j < 5 }
domain { [k] : 0 <= k < 2 }
arg y : float64[5, 2] readwrite
table T : float64[3, 5] = [[0.0, 0.0, 0.5, 0.25, 1.0], [0.0, 0.5, 0.5, 0.25, 1.0], [0.0, 0.0, 2.0, 2.0, 1.0]]
for j, k
  y[j, k] = y[j, k] + T[k, j - 1]*T[2, j - 1]
end
",
        expect![[r#"
            domain { [j_0] : 2 <= j_0 < 4 }
            for j_0
              y[j_0 + 1, 0] = y[j_0 + 1, 0] + T[0, j_0]*2.0  {id=insn0_4}
            end
            for j_0
              y[j_0 + 1, 1] = y[j_0 + 1, 1] + T[1, j_0]*2.0  {id=insn0_5, dep=insn0_4}
            end
        "#]],
    );
}

#[test]
fn reductions_are_cut() {
    check(
        "kernel k linearized
domain { [j] : 0 <= j < 3 }
domain { [q, r] : 0 <= q < 4 and 0 <= r < 2 }
arg w : float64[4, 2] read
arg y : float64[3] readwrite
table T : float64[4, 2] = [[0.5, 0.0], [0.25, 0.0], [0.0, 2.0], [0.0, 0.0]]
for j
  y[j] = y[j] + sum((q, r), w[q, r]*T[q, r]) + sum(q, T[q, 0]*w[q, 1]*j)
end
",
        expect![[r#"
            domain { [j] : 0 <= j < 3 }
            domain { [q_0] : 0 <= q_0 < 2 }
            for j
              y[j] = y[j] + (sum(q_0, w[q_0, 0]*T[q_0, 0]) + w[2, 1]*2.0) + sum(q_0, T[q_0, 0]*w[q_0, 1]*j)  {id=insn0}
            end
        "#]],
    );
}

#[test]
fn tables_of_cut_stores_do_not_cut_reductions() {
    check(
        "kernel k linearized
domain { [j] : 0 <= j < 2 }
domain { [q] : 0 <= q < 4 }
arg w : float64[4] read
arg y : float64[2] readwrite
table S : float64[2] = [0.0, 1.5]
table T : float64[4] = [0.5, 0.0, 0.25, 0.25]
for j
  y[j] = y[j] + sum(q, w[q]*(S[j]*T[q] + 1.0))
end
",
        expect![[r#"
            domain { [q] : 0 <= q < 4 }
            domain { [q_0] : 2 <= q_0 < 4 }
            y[0] = y[0] + sum(q, w[q]*1.0)  {id=insn0_0}
            y[1] = y[1] + (w[0]*(1.5*0.5 + 1.0) + w[1]*1.0 + sum(q_0, w[q_0]*(1.5*0.25 + 1.0)))  {id=insn0_1, dep=insn0_0}
        "#]],
    );
}

#[test]
fn conditions_move_along() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 2 }
domain { [j] : 0 <= j < 4 }
arg x : float64[2, 4] read
arg y : float64[2, 4] readwrite
table T : float64[4] = [0.0, 0.5, 0.25, 0.0]
for i
  if x[i, 0] > 0.0
    for j
      if x[i, j] > x[0, 0]
        y[i, j] = y[i, j] + T[j]*x[i, j]  {if=j > i}
        y[i, j] = y[i, j] + x[i, j]
      end
    end
  end
end
",
        expect![[r#"
            domain { [i] : 0 <= i < 2 }
            domain { [j] : 0 <= j < 4 }
            domain { [j_0] : 1 <= j_0 < 3 }
            for i
              for j_0
                y[i, j_0] = y[i, j_0] + T[j_0]*x[i, j_0]  {id=insn0_1, if=x[i, 0] > 0.0:x[i, j_0] > x[0, 0]:j_0 > i}
              end
              for j
                y[i, j] = y[i, j] + x[i, j]  {id=insn1, dep=insn0_1, if=x[i, 0] > 0.0:x[i, j] > x[0, 0]}
              end
            end
        "#]],
    );
}

#[test]
fn stores_that_meet_in_one_array_are_parted_where_they_add_or_are_apart() {
    check(
        "kernel k linearized
domain { [j, k] : 0 <= j < 2 and 0 <= k < 2 }
arg A : float64[4, 4] readwrite
arg B : float64[4, 4] write
arg x : float64 read
table T : float64[2] = [0.0, 0.5]
for j
  for k
    A[j, k] = A[j, k] + T[j]*x
    A[k, j] = A[k, j] - x
    B[2*j, k] = T[j]*x
    B[2*j + 1, k] = x
    B[2*j + 1, k + 2] = 2.0*x
  end
end
",
        expect![[r#"
            domain { [j, k] : 0 <= j < 2 and 0 <= k < 2 }
            for k
              A[1, k] = A[1, k] + 0.5*x  {id=insn0_1}
            end
            for k
              B[0, k] = 0.0  {id=insn2_0}
            end
            for k
              B[2, k] = 0.5*x  {id=insn2_1, dep=insn2_0}
            end
            for j, k
              A[k, j] = A[k, j] - x  {id=insn1, dep=insn0_1}
              B[2*j + 1, k] = x  {id=insn3, dep=insn2_1}
              B[2*j + 1, k + 2] = 2.0*x  {id=insn4, dep=insn3}
            end
        "#]],
    );
}

#[test]
fn other_reads_and_writes_keep_stores_in_their_loops() {
    check(
        "kernel k linearized
domain { [i, j] : 0 <= i < 2 and 0 <= j < 4 }
arg x : float64[4] readwrite
arg y : float64[4] readwrite
arg z : float64[4] readwrite
arg u : float64[4] readwrite
arg v : float64[4] readwrite
table T : float64[4] = [0.0, 0.5, 0.25, 0.0]
for j
  y[j] = T[j]*x[j]
  x[3 - j] = 1.0
end
for j
  z[j] = T[j]*z[3 - j]
end
for i, j
  u[i] = T[j]
end
for j
  v[j] = v[j] + T[j]
  v[3] = 2.0*v[j]
end
",
        expect![[r#"
            none
        "#]],
    );
}

#[test]
fn an_inner_loop_is_cut_where_the_outer_one_may_not_be() {
    check(
        "kernel k linearized
domain { [i, j] : 0 <= i < 2 and 0 <= j < 4 }
arg x : float64[4] read
arg y : float64[2, 4] readwrite
arg z : float64 write
table S : float64[2] = [0.0, 1.0]
table T : float64[4] = [0.0, 0.0, 0.25, 0.5]
for i
  for j
    y[i, j] = S[i]*x[j] + T[j]
  end
  z = y[i, 0]
end
",
        expect![[r#"
            domain { [i] : 0 <= i < 2 }
            domain { [j_0] : 0 <= j_0 < 2 }
            domain { [j_1] : 2 <= j_1 < 4 }
            for i
              for j_0
                y[i, j_0] = S[i]*x[j_0]  {id=insn0_0}
              end
              for j_1
                y[i, j_1] = S[i]*x[j_1] + T[j_1]  {id=insn0_1, dep=insn0_0}
              end
              z = y[i, 0]  {id=insn1, dep=insn0_1}
            end
        "#]],
    );
}

#[test]
fn sequential_and_enclosing_inames_stay_whole() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 3 }
domain [i] -> { [l] : 0 <= l <= i }
domain { [j] : 0 <= j < 3 }
tag j sequential
arg y : float64[3, 3] readwrite
arg z : float64[3] readwrite
table T : float64[3] = [0.0, 0.5, 0.0]
for i, l
  y[i, l] = y[i, l] + T[i]*T[l]
end
for j
  z[j] = z[j] + T[j]
end
",
        expect![[r#"
            none
        "#]],
    );
}

#[test]
fn zeros_of_the_input_stay() {
    check(
        "kernel k linearized
domain { [j] : 0 <= j < 3 }
arg x : float64[3] read
arg y : float64[3] write
table T : float64[3] = [0.0, 0.5, 0.0]
for j
  y[j] = 0.0*x[j] + fabs(T[j]) + (j + T[j])/2 + min(T[j], x[j])
end
",
        expect![[r#"
            y[0] = 0.0*x[0] + fabs(0.0) + (0 + 0.0)/2 + min(0.0, x[0])  {id=insn0_0}
            y[1] = 0.0*x[1] + fabs(0.5) + (1 + 0.5)/2 + min(0.5, x[1])  {id=insn0_1, dep=insn0_0}
            y[2] = 0.0*x[2] + fabs(0.0) + (2 + 0.0)/2 + min(0.0, x[2])  {id=insn0_2, dep=insn0_1}
        "#]],
    );
}

#[test]
fn limits() {
    let text = "kernel k linearized
domain { [j] : 0 <= j < 5 }
arg x : float64[5] read
arg y : float64[5] readwrite
table T : float64[5] = [0.0, 0.5, 0.0, 0.25, 0.0]
for j
  y[j] = y[j] + T[j]*x[j]
end
";
    let with = |max_instructions, max_pieces_per_iname| SplitOptions { max_instructions, max_pieces_per_iname };
    // Only the block of values from 1 to 3.
    check_with(
        text,
        &with(3, 3),
        expect![[r#"
        domain { [j_0] : 1 <= j_0 < 4 }
        for j_0
          y[j_0] = y[j_0] + T[j_0]*x[j_0]  {id=insn0_1}
        end
    "#]],
    );
    check_with(
        text,
        &with(2, 3),
        expect![[r#"
        none
    "#]],
    );
    check_with(
        text,
        &with(400, 2),
        expect![[r#"
        none
    "#]],
    );
}

#[test]
fn floats_of_two_sizes_stay() {
    check(
        "kernel k linearized
domain { [j] : 0 <= j < 2 }
arg x : float32[2] read
arg y : float64[2] write
table T : float64[2] = [0.0, 0.5]
for j
  y[j] = T[j]*x[j]
end
",
        expect![[r#"
            none
        "#]],
    );
    check(
        "kernel k linearized
domain { [j] : 0 <= j < 3 }
arg x : float32[3] read
arg y : float32[3] write
table T : float32[3] = [0.0, 0.1, 0.5]
for j
  y[j] = T[j]*x[j]
end
",
        expect![[r#"
            domain { [j_0] : 1 <= j_0 < 3 }
            y[0] = 0.0  {id=insn0_0}
            for j_0
              y[j_0] = T[j_0]*x[j_0]  {id=insn0_1, dep=insn0_0}
            end
        "#]],
    );
}

/// A chain of operations far deeper than any stack, and shared: it would be enormous as a tree.
#[test]
fn deep_shared_expressions() {
    let text = "kernel k linearized
domain { [j] : 0 <= j < 4 }
arg x : float64 read
arg y : float64[4] readwrite
table T : float64[4] = [0.0, 0.0, 0.25, 0.5]
for j
  y[j] = y[j] + T[j]*x
end
";
    let mut linearized = parse("deep", text).into_linearized().expect("the kernel has an order");
    let kernel = &mut linearized.kernel;
    let InstructionKind::Assignment { expression, .. } = &mut kernel.instructions[0].kind else {
        panic!("the instruction is an assignment")
    };
    let Expr::Op { operands, .. } = &kernel.exprs[*expression] else { panic!("the expression is a sum") };
    let (element, term) = (operands[0], operands[1]);
    let mut chain = term;
    for _ in 0..100_000 {
        let square = kernel.exprs.op(Op::Mul, [chain, chain]);
        chain = kernel.exprs.op(Op::Add, [square, term]);
    }
    *expression = kernel.exprs.op(Op::Add, [element, chain]);
    let res = split_at_zeros(linearized, &OPTIONS).expect("the kernel is well-formed").expect("it is split");
    assert_eq!(res.kernel.instructions.len(), 1, "the other one stores an element to itself");
    assert_eq!(verify(&Program::Linearized(res)), []);
}

#[test]
fn real_kernels() {
    check_fixture(
        "elasticity_tri_1",
        expect![[r#"
            1 instructions, 117 expressions, 18036 operations
            36 instructions, 398 expressions, 4872 operations
        "#]],
    );
    check_fixture(
        "stokes_tri_1",
        expect![[r#"
            3 instructions, 115 expressions, 200232 operations
            48 instructions, 332 expressions, 48816 operations
        "#]],
    );
    check_fixture(
        "neohookean_jac_tri_1",
        expect![[r#"
            1 instructions, 173 expressions, 94896 operations
            36 instructions, 748 expressions, 46452 operations
        "#]],
    );
    check_fixture(
        "mixedpoisson_tri_2",
        expect![[r#"
            3 instructions, 129 expressions, 82000 operations
            31 instructions, 1065 expressions, 80196 operations
        "#]],
    );
    check_fixture(
        "helmholtz_tri_2",
        expect![[r#"
        1 instructions, 63 expressions, 21636 operations
        36 instructions, 657 expressions, 17940 operations
    "#]],
    );
}

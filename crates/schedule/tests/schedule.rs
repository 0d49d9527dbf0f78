//! Scheduling by example, and that it never changes what a kernel means.

use expect_test::{Expect, expect};
use nestegg_interp::{ValidateOptions, Verdict, validate};
use nestegg_ir::{Expr, InsnId, Licence, LinearizedKernel, Program};
use nestegg_schedule::{Fusion, Order, fuse, lay_out, realize_reductions, schedule_under};
use nestegg_span::Source;
use nestegg_testgen::{Knobs, generate_seed};
use proptest::prelude::*;

fn scheduled(input: &Program, order: Order) -> LinearizedKernel {
    let linearized = input.clone().into_linearized().expect("the kernel has an order");
    let realized = realize_reductions(linearized).expect("reductions become loops");
    schedule_under(realized, Licence::default(), order).expect("the kernel is well nested")
}

/// Schedules a kernel, demands that it means the same, and compares what follows the declarations.
fn check(text: &str, expected: Expect) {
    check_in(Order::Shared, text, expected);
}

/// The same for an order of loops.
fn check_in(order: Order, text: &str, expected: Expect) {
    let input = read(text);
    let output = Program::Linearized(scheduled(&input, order));
    expected.assert_eq(&checked(&input, &output));
}

/// Fuses the loops of a kernel, demands that it means the same, and compares what follows the declarations.
fn check_fused(fusion: Fusion, text: &str, expected: Expect) {
    let input = read(text);
    expected.assert_eq(&checked(&input, &fused(&input, fusion)));
}

fn fused(input: &Program, fusion: Fusion) -> Program {
    let linearized = input.clone().into_linearized().expect("the kernel has an order");
    Program::Linearized(fuse(linearized, Licence::default(), fusion).expect("the kernel is well nested"))
}

fn read(text: &str) -> Program {
    nestegg_dump::read(&Source::new("kernel.knl", text)).unwrap_or_else(|errors| panic!("{errors:?}")).program
}

/// What follows the declarations of a kernel, which means the same as its input.
fn checked(input: &Program, output: &Program) -> String {
    assert_eq!(nestegg_ir::verify::verify(output), []);
    assert_same(input, output);
    let text = nestegg_dump::write_text(output);
    let keep = |line: &&str| {
        !["kernel", "domain", "arg", "order", "table", "meta", "tag"].iter().any(|word| line.starts_with(word))
    };
    let body: Vec<&str> = text.lines().filter(keep).map(|line| line.split("  {").next().unwrap_or(line)).collect();
    format!("{}\n", body.join("\n").trim())
}

fn assert_same(input: &Program, output: &Program) {
    match validate(input, output, &ValidateOptions::default()).expect("the kernel runs") {
        Verdict::Equal(_) => {}
        Verdict::Different(difference) => panic!("{difference}\n{}", nestegg_dump::write_text(output)),
    }
}

#[test]
fn a_value_between_two_loops_becomes_a_scalar() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 5 }
arg a : float64[5] read
arg b : float64[5] write
temp t : float64[5]
for i
  t[i] = 2.0*a[i]
end
for i
  b[i] = t[i] + 1.0
end
",
        expect![[r#"
            temp t : float64
            for i
              t = 2.0*a[i]
              b[i] = t + 1.0
            end
        "#]],
    );
}

/// A loop between two that it could join: with the first, it stores an array for the second; with the second, scalars.
#[test]
fn late_fusion_computes_values_where_they_are_needed() {
    let text = "kernel k linearized
domain { [i] : 0 <= i < 5 }
arg a : float64[6] read
arg b : float64[6] readwrite
arg c : float64[5] write
temp s : float64[5]
temp t : float64[5]
for i
  b[i] = 2.0*a[i]
end
for i
  s[i] = a[i + 1]
end
for i
  t[i] = s[i]*s[i]
end
for i
  c[i] = t[i] + b[i + 1]
end
";
    check_fused(
        Fusion::Early,
        text,
        expect![[r#"
        temp s : float64
        temp t : float64[5]
        for i
          b[i] = 2.0*a[i]
          s = a[i + 1]
          t[i] = s*s
        end
        for i
          c[i] = t[i] + b[i + 1]
        end
    "#]],
    );
    check_fused(
        Fusion::Late,
        text,
        expect![[r#"
        temp s : float64
        temp t : float64
        for i
          b[i] = 2.0*a[i]
        end
        for i
          s = a[i + 1]
          t = s*s
          c[i] = t + b[i + 1]
        end
    "#]],
    );
}

#[test]
fn reductions_outermost_contract_what_depends_on_them() {
    check(
        "kernel k linearized
domain { [q] : 0 <= q < 4 }
domain { [j, k] : 0 <= j, k < 3 }
arg A : float64[3, 3] readwrite
arg phi : float64[4, 3] read
arg w : float64[4] read
temp t : float64[4, 3]
for j, q
  t[q, j] = w[q]*phi[q, j]
end
for j, k
  A[j, k] = A[j, k] + sum(q, t[q, j]*phi[q, k])
end
",
        expect![[r#"
            temp t : float64
            for q, j
              t = w[q]*phi[q, j]
              for k
                A[j, k] = A[j, k] + t*phi[q, k]
              end
            end
        "#]],
    );
}

#[test]
fn a_user_of_the_whole_array_waits_for_it() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 5 }
arg a : float64[5] read
arg b : float64[5] write
temp t : float64[5]
for i
  t[i] = 2.0*a[i]
end
for i
  b[i] = t[4 - i]
end
",
        expect![[r#"
            temp t : float64[5]
            for i
              t[i] = 2.0*a[i]
            end
            for i
              b[i] = t[4 - i]
            end
        "#]],
    );
}

#[test]
fn a_stencil_of_a_computed_value_is_not_fused() {
    check(
        "kernel k linearized
domain { [x] : 0 <= x < 5 }
arg a : float64[6] read
arg b : float64[5] write
temp t : float64[6]
t[5] = a[5]
for x
  t[x] = 2.0*a[x]
end
for x
  b[x] = t[x + 1] - t[x]
end
",
        expect![[r#"
            temp t : float64[6]
            t[5] = a[5]
            for x
              t[x] = 2.0*a[x]
            end
            for x
              b[x] = t[x + 1] - t[x]
            end
        "#]],
    );
}

#[test]
fn sequential_loops_and_recurrences_keep_their_order() {
    check(
        "kernel k linearized
domain { [n] : 0 <= n < 3 }
domain { [x] : 1 <= x < 5 }
arg u : float64[5] readwrite
tag n sequential
for n
  for x
    u[x] = u[x] + u[x - 1]
  end
end
",
        expect![[r#"
            for n, x
              u[x] = u[x] + u[x - 1]
            end
        "#]],
    );
}

#[test]
fn an_update_in_place_stays_between_its_readers() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 4 }
arg a : float64[4] readwrite
arg b : float64[4] write
arg c : float64[4] write
for i
  b[i] = a[i]
end
for i
  a[i] = 2.0*a[i]
end
for i
  c[i] = a[i]
end
",
        expect![[r#"
            for i
              b[i] = a[i]
              a[i] = 2.0*a[i]
              c[i] = a[i]
            end
        "#]],
    );
}

/// A product of matrices as it is realized: each element is a sum in a temporary of its own.
const PRODUCT: &str = "kernel k linearized
domain { [i, j, k] : 0 <= i < 5 and 0 <= j < 6 and 0 <= k < 7 }
arg a : float64[5, 7] read
arg b : float64[7, 6] read
arg c : float64[5, 6] write
for i, j
  c[i, j] = 2.0*sum(k, a[i, k]*b[k, j])
end
";

#[test]
fn the_innermost_loop_runs_along_memory() {
    check_in(
        Order::Consecutive,
        PRODUCT,
        expect![[r#"
        temp red : float64[6]
        for i
          for j
            red[j] = 0.0
          end
          for k, j
            red[j] = red[j] + a[i, k]*b[k, j]
          end
          for j
            c[i, j] = 2.0*red[j]
          end
        end
    "#]],
    );
}

#[test]
fn what_is_shared_moves_out_without_turning_the_loops() {
    check_in(
        Order::Axes,
        "kernel k linearized
domain { [x, y] : 0 <= x < 5 and 0 <= y < 6 }
arg h : float64[6] read
arg a : float64[5, 6] readwrite
temp v : float64[6]
for y
  v[y] = sqrt(h[y])
end
for y, x
  a[x, y] = a[x, y]*v[y]
end
",
        expect![[r#"
            temp v : float64[6]
            for y
              v[y] = sqrt(h[y])
            end
            for x, y
              a[x, y] = a[x, y]*v[y]
            end
        "#]],
    );
}

#[test]
fn a_value_of_an_earlier_iteration_keeps_a_loop_whole() {
    check_in(
        Order::Consecutive,
        "kernel k linearized
domain { [t, x, y] : 1 <= t < 5 and 0 <= x < 6 and 0 <= y < 6 }
arg a : float64[5, 6] readwrite
arg b : float64[6] readwrite
for t
  for x
    b[x] = 2.0*a[t - 1, x]
  end
  for y
    a[t, y] = b[y]
  end
end
",
        expect![[r#"
            for t
              for x
                b[x] = 2.0*a[t - 1, x]
              end
              for y
                a[t, y] = b[y]
              end
            end
        "#]],
    );
}

#[test]
fn random_kernels_mean_the_same() {
    for (name, knobs) in Knobs::presets() {
        for seed in 0..60 {
            let generated = generate_seed(seed, &knobs);
            let options = ValidateOptions {
                parameters: generated.parameters.iter().cloned().collect(),
                ..ValidateOptions::default()
            };
            for order in [Order::Shared, Order::Consecutive, Order::Axes, Order::Kept] {
                let output = Program::Linearized(scheduled(&generated.program, order));
                assert_eq!(nestegg_ir::verify::verify(&output), [], "{name}, seed {seed}, {order:?}");
                match validate(&generated.program, &output, &options) {
                    Ok(Verdict::Equal(_)) | Err(_) => {}
                    Ok(Verdict::Different(difference)) => panic!("{name}, seed {seed}, {order:?}: {difference}"),
                }
            }
        }
    }
}

/// Every temporary and table, with every axis behind the others in turn.
#[test]
fn values_stay_where_axes_move() {
    let text = "kernel k linearized
domain { [i, j, k] : 0 <= i < 2 and 0 <= j < 3 and 0 <= k < 4 }
arg a : float64[2, 3, 4] read
arg b : float64[4] write
table T : float64[2, 3] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
temp t : float64[2, 3, 4]
for i, j, k
  t[i, j, k] = T[i, j]*a[i, j, k]
end
for k
  b[k] = t[0, 1, k] + t[1, 2, k]*T[1, 0]
end
";
    let input =
        nestegg_dump::read(&Source::new("kernel.knl", text)).unwrap_or_else(|errors| panic!("{errors:?}")).program;
    let before = input.clone().into_linearized().expect("the kernel has an order");
    for array in before.kernel.array_ids() {
        for axis in 0..before.kernel[array].shape.len() {
            let output = Program::Linearized(lay_out(before.clone(), &[(array, axis)], &[]));
            assert_eq!(nestegg_ir::verify::verify(&output), []);
            assert_same(&input, &output);
            let is_moved = nestegg_dump::write_text(&output) != nestegg_dump::write_text(&input);
            let is_last = axis + 1 == before.kernel[array].shape.len();
            assert_eq!(is_moved, !before.kernel[array].is_argument() && !is_last);
        }
    }
}

/// Every access of every instruction to a table reads a copy, with every axis behind the others in turn, while the table itself is turned or not.
#[test]
fn values_stay_where_tables_are_copied() {
    let text = "kernel k linearized
domain { [i, j] : 0 <= i < 2 and 0 <= j < 3 }
arg a : float64[2, 3] write
arg b : float64[3] readwrite
table T : float64[2, 3] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
for i, j
  a[i, j] = 2.0*T[i, j]
  b[j] = b[j] + T[i, j]*T[1, j]
end
";
    let input =
        nestegg_dump::read(&Source::new("kernel.knl", text)).unwrap_or_else(|errors| panic!("{errors:?}")).program;
    let before = input.clone().into_linearized().expect("the kernel has an order");
    let table = before.kernel.array_ids().find(|id| before.kernel[*id].table().is_some()).expect("there is a table");
    for insn in (0..before.kernel.instructions.len()).map(InsnId::new) {
        let accesses = nestegg_ir::walk::below(&before.kernel.exprs, before.kernel[insn].expressions());
        for access in accesses {
            for axis in 0..2 {
                let is_table = matches!(&before.kernel.exprs[access], Expr::Access { array, .. } if *array == table);
                for last in [vec![], vec![(table, 0)]] {
                    let laid_out = lay_out(before.clone(), &last, &[(insn, access, axis)]);
                    assert_eq!(laid_out.kernel.arrays.len(), before.kernel.arrays.len() + usize::from(is_table));
                    let output = Program::Linearized(laid_out);
                    assert_eq!(nestegg_ir::verify::verify(&output), []);
                    assert_same(&input, &output);
                }
            }
        }
    }
}

#[test]
fn the_halves_of_a_matrix_do_not_meet() {
    check_in(
        Order::Consecutive,
        "kernel k linearized
domain { [i] : 0 <= i < 5 }
domain [i] -> { [j] : i <= j < 5 }
domain { [k] : 0 <= k < 4 }
arg a : float64[4, 5] read
arg c : float64[5, 5] readwrite
for i, j
  c[i, j] = 0.0
  for k
    c[i, j] = c[i, j] + a[k, i]*a[k, j]
  end
  c[j, i] = c[i, j]
end
",
        expect![[r#"
            for i
              for j
                c[i, j] = 0.0
              end
              for k, j
                c[i, j] = c[i, j] + a[k, i]*a[k, j]
              end
            end
            for i, j
              c[j, i] = c[i, j]
            end
        "#]],
    );
}

#[test]
fn rows_that_are_done_are_read_in_any_order() {
    // Elimination: the rows above do not change any more.
    check_in(
        Order::Consecutive,
        "kernel k linearized
domain { [i] : 0 <= i < 5 }
domain [i] -> { [j] : i <= j < 5 }
domain [i] -> { [k] : 0 <= k < i }
arg a : float64[5, 5] readwrite
for i, j, k
  a[i, j] = a[i, j] - a[i, k]*a[k, j]
end
",
        expect![[r#"
            for i, k, j
              a[i, j] = a[i, j] - a[i, k]*a[k, j]
            end
        "#]],
    );
    // Here the row itself does.
    check_in(
        Order::Consecutive,
        "kernel k linearized
domain { [i, j, k] : 0 <= i < 5 and 0 <= j < 5 and 0 <= k < 5 }
arg a : float64[5, 5] readwrite
for i, j, k
  a[i, j] = a[i, j] - a[i, k]*a[k, j]
end
",
        expect![[r#"
            for i, j, k
              a[i, j] = a[i, j] - a[i, k]*a[k, j]
            end
        "#]],
    );
}

#[test]
fn a_sum_begins_with_its_other_terms() {
    check(
        "kernel k linearized
domain { [i, q] : 0 <= i < 4 and 0 <= q < 5 }
arg a : float64[5, 5] readwrite
arg b : float64[5] read
arg r : float64[4] write
for i
  a[i, 4] = (a[i, 4] - reduce(sum, q, a[i, q]*b[q]))/b[i]
  r[i] = b[i]*(b[i] + reduce(sum, q, b[q])) + reduce(sum, q, b[q])
end
",
        expect![[r#"
            temp red : float64
            temp red_0 : float64
            for i
              red = a[i, 4]
              red_0 = 0.0
              for q
                red = red - a[i, q]*b[q]
                red_0 = red_0 + b[q]
              end
              a[i, 4] = red/b[i]
              r[i] = b[i]*(b[i] + red_0) + red_0
            end
        "#]],
    );
}

/// A statement in the loops `inames` that reads and writes elements of one array, which are as near or as far as the numbers say.
fn statement(inames: &[&str], [write, one, other, kind]: [usize; 4]) -> String {
    let index = |which: usize| {
        let iname = inames[which % inames.len()];
        match which / inames.len() % 4 {
            0 => iname.to_owned(),
            1 => format!("{iname} - 1"),
            2 => format!("{iname} + 1"),
            _ => format!("6 - {iname}"),
        }
    };
    let element = |which: usize| format!("a[{}, {}]", index(which), index(which / 12));
    let (target, one, other) = (element(write), element(one), element(other));
    match kind % 4 {
        0 => format!("{target} = {one} + 2.0*{other}"),
        1 => format!("{target} = {target} + {one}*{other}"),
        2 => format!("{target} = {target} - {one}"),
        _ => format!("{target} = 0.5*{target}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Loops that read what they write, in rectangles and triangles: whatever is split or turned, values stay.
    #[test]
    fn values_stay_where_arrays_are_changed_in_place(
        triangles in 0_usize..9,
        numbers in proptest::array::uniform4(proptest::array::uniform4(0_usize..144)),
    ) {
        let of_j = ["{ [j] : 1 <= j < 6 }", "[i] -> { [j] : i <= j < 6 }", "[i] -> { [j] : 1 <= j < i }"][triangles % 3];
        let of_k = ["{ [k] : 1 <= k < 5 }", "[i] -> { [k] : 1 <= k < i }", "[j] -> { [k] : j <= k < 6 }"][triangles / 3];
        let [first, inside, last, after] = numbers;
        let text = format!(
            "kernel k linearized\ndomain {{ [i] : 1 <= i < 6 }}\ndomain {of_j}\ndomain {of_k}\narg a : float64[8, 8] readwrite\n\
             for i\n  for j\n    {}\n    for k\n      {}\n    end\n    {}\n  end\n  {}\nend\n",
            statement(&["i", "j"], first),
            statement(&["i", "j", "k"], inside),
            statement(&["j", "i"], last),
            statement(&["i"], after),
        );
        let input = read(&text);
        for order in [Order::Shared, Order::Consecutive, Order::Axes, Order::Kept] {
            let output = Program::Linearized(scheduled(&input, order));
            prop_assert_eq!(nestegg_ir::verify::verify(&output), []);
            assert_same(&input, &output);
        }
    }

    /// Loops one after another, some of which may be one: whichever way they are fused, values stay.
    #[test]
    fn values_stay_where_loops_are_fused(numbers in proptest::array::uniform5(proptest::array::uniform4(0_usize..144))) {
        let nests = numbers.map(|number| format!("for i, j\n  {}\nend\n", statement(&["i", "j"], number)));
        let text = format!(
            "kernel k linearized\ndomain {{ [i, j] : 1 <= i, j < 6 }}\narg a : float64[8, 8] readwrite\n{}",
            nests.concat()
        );
        let input = read(&text);
        for fusion in [Fusion::Early, Fusion::Late] {
            checked(&input, &fused(&input, fusion));
        }
    }
}

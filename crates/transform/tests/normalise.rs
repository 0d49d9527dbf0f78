//! Value form, by example.
#![allow(missing_docs)]

mod support;

use expect_test::{Expect, expect};

use support::{body, normalised};

/// The value form of a kernel, without its arguments.
fn check(text: &str, expect: Expect) {
    expect.assert_eq(&body(normalised("test", text)));
}

#[test]
fn scalars_are_their_values() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 4 }
arg x : float64[4] read
arg y : float64[4] write
temp s : float64
temp t : float64
for i
  s = x[i] + 1.0
  t = s*s
  y[i] = t*s
end
",
        expect![[r#"
            domain { [i] : 0 <= i < 4 }
            for i
              y[i] = ((x[i] + 1.0)*(x[i] + 1.0))*(x[i] + 1.0)  {id=insn2}
            end
        "#]],
    );
}

#[test]
fn constant_elements_and_overwriting() {
    check(
        "kernel k linearized
arg x : float64[4] read
arg y : float64[2] write
temp J : float64[4]
J[0] = x[0] - x[1]
J[1] = x[2]
J[0] = J[0]*J[1]
y[0] = J[0] + J[1]
J[1] = 3.0
y[1] = J[1]
",
        expect![[r#"
            y[0] = (x[0] - x[1])*x[2] + x[2]  {id=insn3}
            y[1] = 3.0  {id=insn5, dep=insn3}
        "#]],
    );
}

#[test]
fn arrays_are_read_at_other_inames_and_offsets() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 6 }
domain { [j, l] : 0 <= j < 4 and 0 <= l < 6 }
arg x : float64[6] read
arg y : float64[4, 6] write
temp t : float64[7]
for i
  t[i + 1] = x[i]*x[5 - i]
end
for j, l
  y[j, l] = t[j + 2] + t[6 - l]
end
",
        expect![[r#"
            domain { [j, l] : 0 <= j < 4 and 0 <= l < 6 }
            for j, l
              y[j, l] = x[j + 1]*x[-1*j + 4] + x[-1*l + 5]*x[l]  {id=insn1}
            end
        "#]],
    );
}

#[test]
fn accumulations_are_reductions() {
    check(
        "kernel k linearized
domain { [q, r] : 0 <= q < 3 and 0 <= r < 2 }
domain { [j] : 0 <= j < 4 }
arg x : float64[3] read
arg p : float64[3, 4] read
arg A : float64[4] readwrite
arg m : float64 write
temp t : float64
temp u : float64[4]
temp v : float64
t = 0.0
for j
  u[j] = 1.0
end
v = x[0]
for q
  t = t + x[q]
  t = p[q, 0] + t - x[q]*2.0
  v = max(v, x[q])
  for j
    u[j] = u[j]*p[q, j]
    for r
      t = t + p[q, j]*r
    end
    A[j] = A[j] + u[0]*x[q]
  end
end
for j
  A[j] = A[j] + t*u[j]
end
m = v
",
        expect![[r#"
            domain { [q, r] : 0 <= q < 3 and 0 <= r < 2 }
            domain { [j] : 0 <= j < 4 }
            domain { [j_1] : 0 <= j_1 <= 3 }
            temp u : float64[4]
            for j
              u[j] = 1.0  {id=insn1}
            end
            for q, j
              u[j] = u[j]*p[q, j]  {id=insn6, dep=insn1}
              A[j] = A[j] + u[0]*x[q]  {id=insn8, dep=insn6}
            end
            for j
              A[j] = A[j] + ((sum(q, x[q]) + sum(q, p[q, 0] + -(x[q]*2.0))) + reduce(sum, [q, j_1, r], p[q, j_1]*r))*product(q, p[q, j])  {id=insn9, dep=insn8}
            end
            m = max(x[0], reduce(max, [q], x[q]))  {id=insn10}
        "#]],
    );
}

#[test]
fn stores_leave_the_loops_they_reduce_over() {
    check(
        "kernel k linearized
domain { [e, q, j, k] : 0 <= e < 2 and 0 <= q < 3 and 0 <= j, k < 4 }
arg x : float64[4] read
arg p : float64[3, 4] read
arg A : float64[2, 4, 4] readwrite
arg B : float64[2, 4] readwrite
temp w : float64
for e, q
  w = x[q]*x[q]
  for j
    for k
      A[e, j, k] = A[e, j, k] + w*p[q, j]*p[q, k]
    end
    B[e, j] = B[e, j] + w*p[q, j] {if=q > 0}
    if x[j] > 1.0
      B[e, 0] = w + B[e, 0]
    end
  end
end
",
        expect![[r#"
            domain { [e, q, j, k] : 0 <= e < 2 and 0 <= q < 3 and 0 <= j, k < 4 }
            for e
              for j
                for k
                  A[e, j, k] = A[e, j, k] + sum(q, (x[q]*x[q])*p[q, j]*p[q, k])  {id=insn1}
                end
                B[e, j] = B[e, j] + sum(q, (x[q]*x[q])*p[q, j] if q > 0 else 0.0)  {id=insn2}
              end
              B[e, 0] = B[e, 0] + reduce(sum, [q, j], x[q]*x[q] if x[j] > 1.0 else 0.0)  {id=insn3, dep=insn2}
            end
        "#]],
    );
}

#[test]
fn conditions_become_selections() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 4 }
arg x : float64[4] read
arg y : float64[4] write
arg z : float64[4] write
temp s : float64
for i
  s = 1.0
  s = x[i] {if=x[i] > 0.0}
  y[i] = s {if=x[i] > 0.0}
  if x[i] < 0.5
    s = s + 2.0
  end
  z[i] = s
end
",
        expect![[r#"
            domain { [i] : 0 <= i < 4 }
            for i
              y[i] = x[i]  {id=insn2, if=x[i] > 0.0}
              z[i] = (x[i] if x[i] > 0.0 else 1.0) + 2.0 if x[i] < 0.5 else x[i] if x[i] > 0.0 else 1.0  {id=insn4}
            end
        "#]],
    );
}

#[test]
fn recurrences_stay_in_memory() {
    check(
        "kernel k linearized
domain { [t] : 0 <= t < 3 }
domain { [i] : 1 <= i < 4 }
domain { [j] : 0 <= j < 4 }
arg x : float64[4] read
arg y : float64[4] write
temp u : float64[4]
temp v : float64[4]
tag t sequential
for j
  u[j] = x[j]
end
for t
  for i
    u[i] = u[i] + 0.5*u[i - 1]
  end
end
v[0] = x[0]
for i
  v[i] = v[i - 1]*x[i]
end
for j
  y[j] = u[j] + v[j]
end
",
        expect![[r#"
            domain { [t] : 0 <= t < 3 }
            domain { [i] : 0 <= i <= 2 }
            domain { [j] : 0 <= j < 4 }
            temp u : float64[4]
            temp v : float64[4]
            tag t sequential
            for j
              u[j] = x[j]  {id=insn0}
            end
            for t, i
              u[i + 1] = u[i + 1] + 0.5*u[i]  {id=insn1, dep=insn0}
            end
            v[0] = x[0]  {id=insn2}
            for i
              v[i + 1] = v[i]*x[i + 1]  {id=insn3, dep=insn2}
            end
            for j
              y[j] = u[j] + v[j]  {id=insn4, dep=insn1:insn3}
            end
        "#]],
    );
}

#[test]
fn values_do_not_move_across_writes_of_what_they_read() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 4 }
domain { [j] : 0 <= j < 4 }
arg A : float64[4] readwrite
arg y : float64[4] write
temp s : float64
temp t : float64[4]
for i
  s = A[i]
  A[i] = A[i]*2.0
  y[i] = s
  t[i] = A[i]
end
for j
  A[j] = t[j] + 1.0
end
",
        expect![[r#"
            domain { [i] : 0 <= i < 4 }
            domain { [j] : 0 <= j < 4 }
            temp s : float64
            temp t : float64[4]
            for i
              s = A[i]  {id=insn0}
              A[i] = A[i]*2.0  {id=insn1, dep=insn0}
              y[i] = s  {id=insn2, dep=insn0}
              t[i] = A[i]  {id=insn3, dep=insn1}
            end
            for j
              A[j] = t[j] + 1.0  {id=insn4, dep=insn1:insn3}
            end
        "#]],
    );
}

#[test]
fn prefix_sums_stay_in_memory() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 4 }
arg x : float64[4] read
arg y : float64[4] write
temp s : float64
s = 0.0
for i
  s = s + x[i]
  y[i] = s
end
",
        expect![[r#"
            domain { [i] : 0 <= i < 4 }
            temp s : float64
            s = 0.0  {id=insn0}
            for i
              s = s + x[i]  {id=insn1, dep=insn0}
              y[i] = s  {id=insn2, dep=insn1}
            end
        "#]],
    );
}

#[test]
fn reductions_are_renamed_where_names_would_clash() {
    check(
        "kernel k linearized
domain { [q] : 0 <= q < 3 }
domain { [j] : 0 <= j < 4 }
arg x : float64[3] read
arg p : float64[3, 4] read
arg y : float64[3] write
arg z : float64 write
temp t : float64
temp u : float64[4]
mean(v) := sum(q, x[q]*v)
t = 0.0
for q
  t = t + x[q]
end
for q
  y[q] = t*x[q]
end
for j
  u[j] = 0.0
  for q
    u[j] = u[j] + p[q, j]
  end
end
z = sum(q, x[q]*u[q]) + mean(mean(2.0))
",
        expect![[r#"
            domain { [q] : 0 <= q < 3 }
            domain { [q_1] : 0 <= q_1 <= 2 }
            domain { [q_1_1] : 0 <= q_1_1 <= 2 }
            domain { [q_2] : 0 <= q_2 <= 2 }
            for q
              y[q] = sum(q_2, x[q_2])*x[q]  {id=insn2}
            end
            z = sum(q, x[q]*sum(q_2, p[q_2, q])) + sum(q_1, x[q_1]*sum(q_1_1, x[q_1_1]*2.0))  {id=insn5}
        "#]],
    );
}

#[test]
fn domains_need_not_be_boxes() {
    check(
        "kernel k linearized
param n : int32 = 5
domain [n] -> { [i] : 0 <= i < n }
domain [i] -> { [j] : 0 <= j <= i }
domain [n] -> { [k, l] : 0 <= l <= k < n }
domain [n] -> { [m] : 0 <= m < n - 1 }
arg L : float64[n, n] read
arg x : float64[n] read
arg y : float64[n] write
arg z : float64[n] write
temp s : float64
temp t : float64[n]
temp u : float64[n, n]
for i
  s = 0.0
  t[i] = 0.0
  for j
    s = s + L[i, j]*x[j]
    t[i] = t[i] + L[i, j]
    u[i, j] = L[j, i]
  end
  y[i] = s
end
for k
  z[k] = t[k]
  for l
    z[k] = z[k] + u[k, l]
  end
end
for m
  z[m] = t[m + 1]
end
",
        expect![[r#"
            domain [n] -> { [i] : 0 <= i < n }
            domain [i] -> { [j] : 0 <= j <= i }
            domain [n] -> { [k, l] : 0 <= l <= k < n }
            domain [n] -> { [m] : 0 <= m < n - 1 }
            domain [k] -> { [j_1] : 0 <= j_1 <= k }
            domain [m] -> { [j_2] : 0 <= j_2 <= 1 + m }
            for i
              y[i] = sum(j, L[i, j]*x[j])  {id=insn5}
            end
            for k
              z[k] = sum(j_1, L[k, j_1])  {id=insn6}
              z[k] = z[k] + sum(l, L[l, k])  {id=insn7, dep=insn6}
            end
            for m
              z[m] = sum(j_2, L[m + 1, j_2])  {id=insn8, dep=insn7}
            end
        "#]],
    );
}

#[test]
fn flattened_indices() {
    check(
        "kernel k linearized
domain { [i, j] : 0 <= i < 3 and 0 <= j < 4 }
domain { [k, l] : 0 <= k < 3 and 0 <= l < 4 }
arg x : float64[3, 4] read
arg y : float64[3, 4] write
temp t : float64[12]
temp u : float64[24]
for i, j
  t[4*i + j] = x[i, j]
  u[8*i + 2*j] = x[i, j]
end
for k, l
  y[k, l] = t[4*k + l] + u[8*k + 2*l]
end
",
        expect![[r#"
            domain { [k, l] : 0 <= k < 3 and 0 <= l < 4 }
            for k, l
              y[k, l] = x[k, l] + x[k, l]  {id=insn2}
            end
        "#]],
    );
}

#[test]
fn values_are_rounded_as_their_arrays() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 4 }
arg x : float64[4] read
arg y : float64[4] write
arg n : int32[4] read
temp s : float32
temp c : float32
temp m : int32
temp a : float64
for i
  s = x[i]
  c = 0.1
  m = n[i]*2
  y[i] = s*c + m
end
a = 0
for i
  a = a + n[i]
end
y[0] = a
",
        expect![[r#"
            domain { [i] : 0 <= i < 4 }
            for i
              y[i] = cast(float32, x[i])*cast(float32, 0.1) + n[i]*2  {id=insn3}
            end
            y[0] = sum(i, cast(float64, n[i]))  {id=insn6, dep=insn3}
        "#]],
    );
}

#[test]
fn indirect_elements() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 4 }
arg n : int32[4] read
arg x : float64[4] read
arg y : float64[4] write
temp m : int32
temp t : float64[4]
temp o : int32
for i
  m = n[i]
  o = i
  t[m] = x[m]
  y[i] = t[n[i]] + x[o]
end
",
        expect![[r#"
            domain { [i] : 0 <= i < 4 }
            for i
              y[i] = x[n[i]] + x[i]  {id=insn3}
            end
        "#]],
    );
}

#[test]
fn opaque_instructions_and_calls_keep_what_they_touch() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 4 }
arg x : float64[4] read
arg y : float64[4] write
temp s : float64
temp t : float64
temp u : float64
temp v : float64
temp w : float64
for i
  s = x[i]
  u = 2.0*x[i]
  code \"t = s;\" reads s writes t
  y[i] = t + u
  v = 1.0
  w = v
end
",
        expect![[r#"
            domain { [i] : 0 <= i < 4 }
            temp s : float64
            temp t : float64
            for i
              s = x[i]  {id=insn0}
              code "t = s;" reads s writes t  {id=insn2, dep=insn0}
              y[i] = t + 2.0*x[i]  {id=insn3, dep=insn2}
            end
        "#]],
    );
}

#[test]
fn the_last_iteration_counts() {
    check(
        "kernel k linearized
domain { [i, j] : 0 <= i < 4 and 0 <= j < 3 }
domain { [l] : 0 <= l < 4 }
arg x : float64[4] read
arg p : float64[4, 3] read
arg y : float64[4] write
temp s : float64
temp t : float64[4]
for i
  s = x[i]
  s = s*s
  for j
    t[i] = p[i, j]*s
  end
end
for l
  y[l] = s + t[l]
end
",
        expect![[r#"
            domain { [l] : 0 <= l < 4 }
            for l
              y[l] = x[3]*x[3] + p[l, 2]*(x[l]*x[l])  {id=insn3}
            end
        "#]],
    );
}

#[test]
fn later_iterations_of_earlier_writes_count() {
    check(
        "kernel k linearized
domain { [i] : 0 <= i < 3 }
arg x : float64[4] read
arg y : float64[3] write
temp t : float64[4]
t[0] = x[0]
for i
  t[i] = t[i] + x[i]
  t[i + 1] = x[i]
end
for i
  y[i] = t[i + 1]
end
",
        expect![[r#"
            domain { [i] : 0 <= i < 3 }
            temp t : float64[4]
            t[0] = x[0]  {id=insn0}
            for i
              t[i] = t[i] + x[i]  {id=insn1, dep=insn0}
              t[i + 1] = x[i]  {id=insn2, dep=insn1}
            end
            for i
              y[i] = t[i + 1]  {id=insn3, dep=insn2}
            end
        "#]],
    );
}

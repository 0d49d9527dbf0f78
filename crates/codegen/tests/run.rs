//! Emitted C compiles without a warning under gcc and clang and computes what the interpreter says.
#![allow(missing_docs, clippy::unwrap_used, clippy::cast_precision_loss)]

mod compiled;

use compiled::{check, check_program, outputs_from_zero, read};

#[test]
fn the_example_of_the_format() {
    let text = "kernel weighted_mass
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
  t = sum(q, f[e, q]*phi[q, j]*phi[q, k])
  A[e, j, k] = A[e, j, k] + square(scale)*t
end
";
    check(text, &[("n", 5)]);
}

#[test]
fn floor_division_and_modulo_of_negative_numbers() {
    check(
        "kernel floors
domain { [i, j] : -5 <= i <= 5 and -3 <= j <= 3 and (j < 0 or j > 0) }
arg q : int32[11, 7] write
arg r : int32[11, 7] write
arg l : int64[11] write
arg x : float64[11] read
arg y : float64[11, 7] write
arg z : float64[11, 7] write
q[i + 5, j + 3] = i // j {inames=i:j}
r[i + 5, j + 3] = i % j {inames=i:j}
y[i + 5, j + 3] = x[i + 5] // j {inames=i:j}
z[i + 5, j + 3] = x[i + 5] % 0.75 {inames=i:j}
l[i + 5] = cast(int64, i) % 3 + (i + 5) // 2*10 + (i + 5) % 4 {inames=i}
",
        &[],
    );
}

#[test]
fn triangles_and_enclosing_inames() {
    check(
        "kernel triangle
param n : int32
domain [n] -> { [i] : 0 <= i < n }
domain [i] -> { [j] : 0 <= j <= i }
domain [i, j] -> { [k] : j <= k <= i and k <= 4 }
arg A : float64[n, n] readwrite
arg x : float64[n] read
for i, j
  A[i, j] = A[i, j] + sum(k, x[k]*x[j])
end
",
        &[("n", 7)],
    );
}

#[test]
fn inner_domains_that_are_empty_for_some_outer_values() {
    // The projection of a domain on the open inames says how often a loop runs: `k` has no value where `i` is 0, so
    // neither `j` nor what is beside `k` runs there if they share its domain.
    let text = "kernel holes linearized
param n : int32
domain { [i] : 0 <= i < 2 }
domain [i] -> { [j] : 0 <= j < i }
domain [n] -> { [p, q] : 0 <= p < 3 and p <= q < n }
domain [n] -> { [r, s] : 0 <= r < 3 and 2 <= s < n }
domain { [u, v] : 0 <= u < 6 and (v = 0 and u = 3 or v = 1 and u = 5) }
arg a : int32[2] readwrite
arg b : int32[2] readwrite
arg c : int32[3] readwrite
arg d : int32[3] readwrite
arg e : int32[6] readwrite
for i
  a[i] = a[i] + 1
  for j
    b[i] = b[i] + 10
  end
end
for p
  c[p] = c[p] + 1
  for q
    c[p] = c[p] + 100
  end
end
for r
  d[r] = d[r] + 1
end
for u
  e[u] = e[u] + 1
  for v
    e[u] = e[u] + 10*v
  end
end
";
    for outputs in outputs_from_zero(text, &[("n", 2)]) {
        let values: Vec<Vec<f64>> = outputs.into_iter().map(|output| output.values).collect();
        let expected =
            [&[1.0, 1.0][..], &[0.0, 10.0], &[201.0, 101.0, 0.0], &[0.0; 3], &[0.0, 0.0, 0.0, 1.0, 0.0, 11.0]];
        assert_eq!(values, expected);
    }
}

#[test]
fn conditions_that_contradict_themselves() {
    check(
        "kernel never
domain { [i] : 0 <= i < 6 }
arg x : float64[6] read
arg y : int32[6] readwrite
arg z : float64[6] write
for i
  y[i] = y[i] + 1 {if=i < 3 and i > 3}
  y[i] = y[i] + 2 {if=i < 3:i > 3}
  z[i] = (x[i] + 1.0)**0 + (x[i]*2)**0 {if=i*i == i*i}
  y[i] = y[i] + 4 {if=x[i] == x[i] and 1 < 2}
  y[i] = y[i]
end
",
        &[],
    );
}

#[test]
fn strides_unions_and_empty_loops() {
    check(
        "kernel strides
param n : int32
param m : int64
domain { [i] : exists e : i = 3e + 1 and -4 <= i < 20 }
domain { [j] : 0 <= j < 3 or 6 <= j < 9 or j = 11 }
domain [n] -> { [k] : exists e : k = 2e and n <= k < 3n }
domain [n] -> { [l] : 3 <= l < n }
domain [m, n] -> { [p] : 2p >= n and 3p <= m and p >= 1 }
arg a : int32[24] readwrite
arg b : int32[12] readwrite
arg c : int32[3*n] readwrite
arg d : int32[3] readwrite
arg e : int64[m + 1] readwrite
a[i + 4] = a[i + 4] + 10*i {inames=i}
b[j] = j*j {inames=j}
c[k] = k {inames=k}
d[0] = d[0] + 1 {inames=l}
e[p] = p {inames=p}
",
        &[("n", 3), ("m", 17)],
    );
}

#[test]
fn bounds_that_round_below_zero() {
    for n in [-9, -8, 0, 1, 7] {
        check(
            "kernel rounded
param n : int32
domain [n] -> { [i] : 2i >= n - 3 and 3i <= 10 - n }
domain [i] -> { [j] : exists e : j = 4e - 1 and i <= j <= -i }
domain [n, i] -> { [k] : 5k >= -i and 5k <= n and k >= i and 2k <= -n }
domain [n] -> { [l] : exists e : l = 3e + n and -n <= 2l <= n + 7 and (l <= -1 or l >= 2) }
domain [n] -> { [p, q] : -3 <= p and 2p <= n and p <= 3q <= 2p + n and q <= 6 }
arg a : int32[20] readwrite
arg b : int32[20, 40] readwrite
arg c : int32[20, 20] readwrite
arg d : int32[40] readwrite
arg e : int32[20, 20] readwrite
a[i + 8] = a[i + 8] + 10*i {inames=i}
b[i + 8, j + 16] = i // 3 + j % 5 {inames=i:j}
c[i + 8, k + 8] = i*k {inames=i:k}
d[l + 16] = l // -2 {inames=l}
e[p + 8, q + 8] = p % -3 + q {inames=p:q}
",
            &[("n", n)],
        );
    }
}

#[test]
fn several_sizes_of_which_some_are_zero_or_one() {
    for (n, m) in [(0, 0), (0, 1), (1, 1), (2, 5), (5, 2)] {
        check(
            "kernel sizes
param n : int32
param m : int64
domain [n, m] -> { [i, j] : 0 <= i < n and 0 <= j < m and i - 1 <= j <= 2*i + 1 }
domain [n, m, i] -> { [k] : i <= k < n and k < m }
domain [n, m] -> { [l] : 0 <= l < n or n + 2 <= l < n + m }
arg A : float64[n, m] readwrite
arg B : int64[n, n + 1] readwrite
arg c : float64[n + m] readwrite
A[i, j] = A[i, j] + i - j {inames=i:j}
B[i, k] = B[i, k] + 100*i + k {inames=i:k}
c[l] = c[l] + l {inames=l}
",
            &[("n", n), ("m", m)],
        );
    }
}

#[test]
fn several_loop_orders_of_a_skewed_domain() {
    for order in ["i, j", "j, i"] {
        check(
            &format!(
                "kernel skewed linearized
domain {{ [i, j] : 0 <= i < 9 and 2j <= i and i <= 3j + 4 and j >= 0 }}
arg a : int32[9, 9] readwrite
for {order}
  a[i, j] = a[i, j] + 10*i + j {{inames=i:j}}
end
"
            ),
            &[],
        );
    }
}

#[test]
fn float32_and_mixed_dtypes() {
    check(
        "kernel single
domain { [i] : 0 <= i < 6 }
arg x : float32[6] read
arg y : float64[6] read
arg k : int32[6] read
arg l : int64[6] read
arg b : bool[6] read
arg o1 : float32[6] write
arg o2 : float64[6] write
arg o3 : float64[6] write
arg o4 : int64[6] write
arg o5 : float32[6] write
arg o6 : bool[6] write
arg o7 : float32[6] write
for i
  o1[i] = 2*x[i] + 0.1 + sqrt(fabs(x[i])) + x[i]**3
  o2[i] = x[i]*x[i] + y[i]
  o3[i] = k[i]/(l[i] + 1) + i
  o4[i] = k[i] + l[i]*3 + i
  o5[i] = y[i] + k[i]
  o6[i] = x[i] < y[i] and not b[i]
  o7[i] = (x[i] if b[i] else k[i]) + min(x[i], 0.5, 2) + max(k[i], 1)
end
",
        &[],
    );
}

#[test]
fn powers() {
    check(
        "kernel powers
domain { [i] : 0 <= i < 6 }
arg x : float64[6] read
arg s : float32[6] read
arg k : int32[6] read
arg o : float64[6] write
arg p : float32[6] write
arg q : int32[6] write
for i
  o[i] = x[i]**2 + x[i]**3 + x[i]**4 + x[i]**7 + (x[i] + 1)**2 + x[i]**-2 + x[i]**0 + x[i]**1 + fabs(x[i])**0.5 + fabs(x[i])**x[i] + x[i]**-1
  p[i] = s[i]**5 + fabs(s[i])**1.5
  q[i] = k[i]**2 + (k[i] + 1)**3 + k[i]**6
end
",
        &[],
    );
}

#[test]
fn integers_bits_and_conditions() {
    check(
        "kernel bits
domain { [i] : -8 <= i < 8 }
arg o : int32[16] write
arg p : int64[16] write
arg c : bool[16] write
for i
  o[i + 8] = (i & 6 | 1) ^ 12 + ~i + (i << 2) + (i >> 1) - (i & 3) * 2
  p[i + 8] = cast(int64, i) << 40
  c[i + 8] = i < 3 and (i > -2 or i == -5) or not (i != 4 and i >= -7)
end
",
        &[],
    );
}

#[test]
fn lazy_branches_do_not_read_out_of_bounds() {
    check(
        "kernel lazy
domain { [i] : 0 <= i < 8 }
domain { [q] : 0 <= q < 3 }
arg x : float64[8] read
arg k : int32[8] read
arg y : float64[8] write
arg z : int32[8] write
arg c : bool[8] write
for i
  y[i] = (x[i - 1]*x[i] + sqrt(fabs(x[i - 1]*x[i]))) if i > 0 else sum(q, x[q]*x[q])
  z[i] = (8 // k[i])*(8 // k[i]) if k[i] != 0 else -1
  c[i] = i > 0 and x[i - 1]*x[i] > 0.25 and x[i - 1]*x[i] < 1.0 or i == 3
end
",
        &[],
    );
}

#[test]
fn predicates_and_branches() {
    check(
        "kernel guarded linearized
domain { [i, j] : 0 <= i < 6 and 0 <= j < 4 }
arg x : float64[6] read
arg y : float64[6, 4] readwrite
temp t : float64
temp u : float64
for i
  u = 0.0
  if x[i] > 0.0
    t = 2.0*x[i]
    for j
      y[i, j] = y[i, j] + t {if=j > 0:x[i]*x[i] + x[i] > 0.5 + j*x[i]*x[i]}
      u = u + t
    end
  end
  y[i, 0] = u
end
",
        &[],
    );
}

#[test]
fn reductions_in_expressions() {
    check(
        "kernel reductions
param n : int32
domain [n] -> { [i] : 0 <= i < n }
domain { [q, r] : 0 <= q < 4 and 0 <= r <= q }
domain { [s] : 0 <= s < 5 }
domain [n] -> { [v] : 4 <= v < n }
arg w : float64[5] read
arg x : float64[n] read
arg k : int32[5] read
arg y : float64[n] write
arg z : float64[n] write
arg m : float64[n, 4] write
arg l : int32[n] write
for i
  y[i] = sum(q, w[q]*x[i]*sum(s, w[s]*w[s] + x[i])) + reduce(product, [s], w[s]) + sum([q, r], w[q]*w[r])
  z[i] = sum(s, (w[s] + 1)*(w[s] + 1)) * sum(q, (w[q] + 1)*x[i]) + sum(s, (w[s] + 1)*2)
  m[i, 0] = reduce(min, [s], w[s]*x[i])
  m[i, 1] = reduce(max, [s], w[s]*x[i])
  m[i, 2] = sum(v, w[v])
  m[i, 3] = 0.0 if reduce(max, [v], w[v]) < 0.0 else 1.0
  l[i] = reduce(max, [s], k[s]) + reduce(min, [v], k[v])//2 + sum(s, s*s)
end
",
        &[("n", 4)],
    );
}

#[test]
fn names_that_c_needs() {
    check(
        "kernel subject
param s0 : int32
domain [s0] -> { [NULL, j0] : 0 <= NULL < s0 and 0 <= j0 < 2 }
arg sin : float64[s0, 2] readwrite
arg y1 : float64 read
arg unused : float64[s0] read
temp s1 : float64
temp floor_div_i32 : float64[2]
table y0 : float64[2] = [1.0, -2.5e-300]
table spare : int32[1] = [1]
for NULL, j0
  s1 = y1 + j0//2 + (NULL - 1)//3
  floor_div_i32[j0] = s1*s1*y0[j0] + cos(s1 + s1)
  sin[NULL, j0] = floor_div_i32[j0]*(s1 + 1.0)*(s1 + 1.0)
end
",
        &[("s0", 3)],
    );
}

#[test]
fn scalars_in_and_out() {
    check(
        "kernel scalars
domain { [i] : 0 <= i < 5 }
arg x : float64[5] read
arg total : float64 write
arg count : int32 readwrite
arg flag : bool readwrite
temp t : float64
t = 0.0
for i
  t = t + x[i]
  count = count + 1 {if=x[i] > 0.0}
end
total = t
flag = t > 0.0 or flag
",
        &[],
    );
}

#[test]
fn large_temporaries_come_from_the_heap() {
    check(
        "kernel heap
param n : int32
domain [n] -> { [i, j] : 0 <= i, j < n }
domain [n] -> { [g, h] : 0 <= g, h < n }
domain { [k] : 0 <= k < 20000 }
arg x : float64[n, n] read
arg y : float64[n, n] write
arg z : float64[20000] write
temp t : float64[n, n // 1 + 1]
temp u : float64[20000]
for i, j
  t[i, j] = 2*x[j, i] {id=a}
end
for k
  u[k] = k {id=c}
  z[k] = u[k] + u[0] {dep=c}
end
y[g, h] = t[h, g] + t[g, h] {dep=a, inames=g:h}
",
        &[("n", 4)],
    );
}

#[test]
fn long_loops_and_64_bit_sizes() {
    // The interpreter computes with inames in 32 bits, and refuses these values.
    let text = "kernel wide
param n : int64
domain [n] -> { [i] : n - 3 <= i < n }
domain { [j] : 5000000000 <= j < 5000000004 }
arg a : int64[4] readwrite
arg b : int64[4] write
a[i - n + 3] = a[i - n + 3] + 3*cast(int64, i) {inames=i}
b[j - 5000000000] = cast(int64, j) + 1 {inames=j}
";
    for outputs in outputs_from_zero(text, &[("n", 3_000_000_000)]) {
        assert_eq!(outputs[0].values, [8_999_999_991.0, 8_999_999_994.0, 8_999_999_997.0, 0.0]);
        assert_eq!(outputs[1].values, [5_000_000_001.0, 5_000_000_002.0, 5_000_000_003.0, 5_000_000_004.0]);
    }
}

#[test]
fn indirect_indices_and_tags() {
    check(
        "kernel gather
domain { [i, j] : 0 <= i < 8 and 0 <= j < 8 }
arg map : int32[8] read
arg x : float64[8] read
arg y : float64[8] readwrite
arg z : float64[8, 8] write
tag j vec
tag i unroll
y[map[i]] = y[map[i]] + x[map[map[i]]]*2.0 {inames=i}
z[i, j] = x[i]*x[j] {inames=i:j}
",
        &[],
    );
}

#[test]
fn calls_with_several_results_and_opaque_code() {
    let program = read(
        "kernel foreign
domain { [i] : 0 <= i < 3 }
arg x : float64[3] read
arg y : float64[3] readwrite
arg n : int32[3] readwrite
temp a : float64
temp b : int32
for i
  a, b = split(x[i], i + 1)
  y[i] = a + twice(x[i]*x[i]) + twice(x[i])
  n[i] = b
  single = n[i]
end
temp single : int32
code \"y[0] = 1.0;\" reads x writes y
",
    );
    let definitions = "extern double twice(double);
double twice(double x) { return 2*x; }
extern void split(double, int32_t, double *, int32_t *);
void split(double x, int32_t k, double *a, int32_t *b) { *a = x*k; *b = k; }";
    check_program(&program, &[], definitions);
}

#[test]
fn rows_that_end_where_data_say() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/run/data_bounds.knl")).unwrap();
    check(&text, &[]);
    for name in ["csr", "rows", "boxes", "extruded"] {
        let path = format!("{}/../../tests/optimize/data-bounds-{name}.knl", env!("CARGO_MANIFEST_DIR"));
        check(&std::fs::read_to_string(path).unwrap(), &[]);
    }
}

#[test]
fn bounds_that_depend_on_data_under_conditions() {
    check(
        "kernel conditions
domain { [i] : 0 <= i < 9 }
domain [lo, hi, least, i] -> { [j] : lo <= j < hi and least <= j <= lo + i }
domain [n] -> { [k] : 0 <= k < n }
arg starts : int32[10] read
arg first : int32 read
arg x : float64[*] read
arg y : float64[9] readwrite
arg z : int64[9] write
temp lo : int32
temp hi : int32
temp least : int32
temp n : int64
least = first
for i
  lo = starts[i]
  hi = starts[i + 1]
  n = cast(int64, hi) - lo
  if x[0] > 0.0 or i > 3
    for j
      y[i] = y[i] + x[j]*j
    end
  end
  z[i] = sum(k, k*k + 1)
end
",
        &[],
    );
}

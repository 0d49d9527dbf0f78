//! Copies with divisions in their indices are read through, or stay; either way the kernel means the same.
#![allow(missing_docs)]

mod support;

use expect_test::{Expect, expect};
use support::{body, normalised};

fn check(given: &str, expect: Expect) {
    let form = normalised("test", given);
    expect.assert_eq(&body(form));
}

#[test]
fn a_vector_is_read_as_a_matrix() {
    check(
        "kernel k
domain { [p, q] : 0 <= p < 6 and 0 <= q < 4 }
domain { [r] : 0 <= r < 24 }
arg b : float64[24] read
arg y : float64[24] write
temp m : float64[6, 4]
m[p, q] = b[4*p + q]      {id=m, inames=p:q}
y[r] = m[r//4, r % 4]     {inames=r, dep=m}
",
        expect![[r#"
            domain { [r] : 0 <= r < 24 }
            for r
              y[r] = b[r]  {id=insn1}
            end
        "#]],
    );
}

#[test]
fn a_matrix_is_read_as_a_vector() {
    check(
        "kernel k
domain { [p, q] : 0 <= p < 6 and 0 <= q < 4 }
domain { [r] : 0 <= r < 24 }
domain { [u, v] : 0 <= u < 4 and 0 <= v < 6 }
arg c : float64[6, 4] read
arg y : float64[24] write
arg z : float64[4, 6] write
temp f : float64[24]
f[4*p + q] = c[p, q]      {id=f, inames=p:q}
y[r] = f[r]               {inames=r, dep=f}
z[u, v] = f[6*u + v]      {inames=u:v, dep=f}
",
        expect![[r#"
            domain { [r] : 0 <= r < 24 }
            domain { [u, v] : 0 <= u < 4 and 0 <= v < 6 }
            for r
              y[r] = c[r//4, r%4]  {id=insn1}
            end
            for u, v
              z[u, v] = c[(6*u + v)//4, (6*u + v)%4]  {id=insn2}
            end
        "#]],
    );
}

#[test]
fn there_and_back_is_nothing() {
    check(
        "kernel k
domain { [p, q] : 0 <= p < 6 and 0 <= q < 4 }
domain { [r] : 0 <= r < 24 }
domain { [u, v] : 0 <= u < 6 and 0 <= v < 4 }
arg c : float64[6, 4] read
arg z : float64[6, 4] write
temp f : float64[24]
f[r] = c[r//4, r % 4]     {id=f, inames=r}
z[u, v] = f[4*u + v]      {inames=u:v, dep=f}
",
        expect![[r#"
            domain { [u, v] : 0 <= u < 6 and 0 <= v < 4 }
            for u, v
              z[u, v] = c[u, v]  {id=insn1}
            end
        "#]],
    );
}

#[test]
fn inside_a_loop_around_both_with_parameters() {
    check(
        "kernel k
param n : int32 = 5
assume [n] -> { : n >= 1 }
domain [n] -> { [e] : 0 <= e < n }
domain { [p, q] : 0 <= p < 3 and 0 <= q < 2 }
domain { [r] : 0 <= r < 6 }
arg b : float64[n, 6] read
arg y : float64[n, 6] write
temp m : float64[3, 2]
m[p, q] = b[e, 2*p + q]   {id=m, inames=e:p:q}
y[e, r] = m[r//2, r % 2]  {inames=e:r, dep=m}
",
        expect![[r#"
            domain [n] -> { [e] : 0 <= e < n }
            domain { [r] : 0 <= r < 6 }
            for e, r
              y[e, r] = b[e, r]  {id=insn1}
            end
        "#]],
    );
}

#[test]
fn what_is_not_all_written_stays() {
    check(
        "kernel k
domain { [p, q] : 0 <= p < 6 and 0 <= q < 4 }
domain { [r] : 0 <= r < 24 }
domain { [g] : 0 <= g < 24 }
arg b : float64[24] read
arg y : float64[24] write
temp f : float64[24]
f[g] = 1.0                {id=g, inames=g}
f[4*p + 2] = b[p]         {id=f, inames=p, dep=g}
y[r] = f[4*(r//4) + 2] + f[r] {inames=r, dep=f}
",
        expect![[r#"
            domain { [p, q] : 0 <= p < 6 and 0 <= q < 4 }
            domain { [r] : 0 <= r < 24 }
            domain { [g] : 0 <= g < 24 }
            temp f : float64[24]
            for g
              f[g] = 1.0  {id=g}
            end
            for p
              f[4*p + 2] = b[p]  {id=f, dep=g}
            end
            for r
              y[r] = b[r//4] + f[r]  {id=insn2, dep=f}
            end
        "#]],
    );
}

#[test]
fn two_writers_of_one_element_stay() {
    check(
        "kernel k
domain { [p, q] : 0 <= p < 6 and 0 <= q < 4 }
domain { [r] : 0 <= r < 19 }
arg b : float64[6, 4] read
arg y : float64[24] write
temp f : float64[24]
f[3*p + q] = b[p, q]      {id=f, inames=p:q}
y[r] = f[r//1]            {inames=r, dep=f}
",
        expect![[r#"
            domain { [p, q] : 0 <= p < 6 and 0 <= q < 4 }
            domain { [r] : 0 <= r < 19 }
            temp f : float64[24]
            for p, q
              f[3*p + q] = b[p, q]  {id=f}
            end
            for r
              y[r] = f[r]  {id=insn1, dep=f}
            end
        "#]],
    );
}

//! Splitting at zeros, by example and on real kernels.
#![allow(missing_docs)]

mod support;

use expect_test::{Expect, expect};
use nestegg_ir::count::count;
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_transform::{SplitOptions, normalise, split_at_zeros};

use support::{assert_same_meaning, body, parse};

const OPTIONS: SplitOptions = SplitOptions {
    max_instructions: SplitOptions::DEFAULT_MAX_INSTRUCTIONS,
    max_pieces_per_iname: SplitOptions::DEFAULT_MAX_PIECES_PER_INAME,
};

/// The value form of a kernel, and what splitting makes of it, which means the same.
fn split(name: &str, text: &str, options: &SplitOptions) -> (LinearizedKernel, Option<LinearizedKernel>) {
    let linearized = parse(name, text).into_linearized().expect("the kernel has an order");
    let form = normalise(linearized).unwrap_or_else(|error| panic!("{name}: {error}")).linearized;
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
fn real_kernels() {
    check_fixture("elasticity_tri_1", expect![[r#"
        1 instructions, 121 expressions, 18036 operations
        36 instructions, 398 expressions, 4872 operations
    "#]]);
    check_fixture("stokes_tri_1", expect![[r#"
        3 instructions, 121 expressions, 200232 operations
        48 instructions, 338 expressions, 48816 operations
    "#]]);
    check_fixture("neohookean_jac_tri_1", expect![[r#"
        1 instructions, 177 expressions, 94896 operations
        36 instructions, 748 expressions, 46452 operations
    "#]]);
    check_fixture("helmholtz_tri_2", expect![[r#"
        1 instructions, 63 expressions, 21636 operations
        36 instructions, 657 expressions, 17940 operations
    "#]]);
}

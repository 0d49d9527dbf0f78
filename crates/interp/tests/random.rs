//! Random kernels: floats against the field, and programs against themselves.
#![allow(missing_docs)]

mod support;

use nestegg_interp::{
    FieldValues, Inputs, PRIME, RunOptions, ValidateOptions, Values, Verdict, run, run_field, validate,
};
use nestegg_ir::{Expr, Number};
use nestegg_testgen::{Generated, Knobs, generate_seed};
use support::*;

/// Sums, differences and products over all kinds of domains.
fn polynomials() -> Knobs {
    Knobs {
        parametric: 20,
        triangular: 30,
        strided: 20,
        interior: 20,
        temporary: 50,
        accumulation: 40,
        reduction: 30,
        other_reductions: 20,
        update: 20,
        reopened: 30,
        linearized: 50,
        sharing: 20,
        substitution: 10,
        offset: 40,
        ..Knobs::PLAIN
    }
}

fn given(generated: &Generated, seed: u64) -> Inputs {
    let parameters = generated.parameters.iter().cloned().collect();
    match Inputs::random(generated.program.kernel(), &parameters, seed) {
        Ok(inputs) => inputs,
        Err(error) => panic!("{seed}: {error}"),
    }
}

/// Where floats do not round, they are what the field says.
#[test]
fn whole_numbers_are_the_same_in_both_worlds() {
    let mut n_compared = 0;
    for seed in 0..400 {
        let generated = generate_seed(seed, &polynomials());
        let program = &generated.program;
        // Products with 0.1 round to whole numbers; what is not whole on the way has another order in the field.
        let text = nestegg_dump::write_text(program);
        if !program.kernel().exprs.iter().all(|(_, expr)| is_dyadic(expr))
            || text.contains("min")
            || text.contains("max")
        {
            continue;
        }
        let mut inputs = given(&generated, seed);
        for values in inputs.arrays.values_mut() {
            if let Values::Floats(values) = values {
                values.iter_mut().for_each(|value| *value = value.signum() * (1.0 + (value.abs() * 3.0).floor()));
            }
        }
        let options = RunOptions::default();
        let in_floats = run(program, &inputs, &options).unwrap_or_else(|error| panic!("{seed}: {error}\n{text}"));
        let in_field = run_field(program, &inputs, seed, &options);
        let in_field = in_field.unwrap_or_else(|error| panic!("{seed}: {error}\n{text}"));
        for (floats, field) in in_floats.arrays.values().zip(in_field.arrays.values()) {
            assert_eq!(floats.is_set, field.is_set);
            let (Values::Floats(floats), FieldValues::Elements(field)) = (&floats.values, &field.values) else {
                continue;
            };
            // Any step that rounds makes a value that is not whole, or one that is large.
            for (value, element) in floats.iter().zip(field).filter(|(value, _)| is_exact(**value)) {
                let signed = if *element > PRIME / 2 { *element as i64 - PRIME as i64 } else { *element as i64 };
                assert_eq!(*value, signed as f64, "{seed}: {}", nestegg_dump::write_text(program));
                n_compared += 1;
            }
        }
    }
    assert!(n_compared > 2000, "{n_compared}");
}

/// Whether an expression is no literal with more than ten bits behind the point.
fn is_dyadic(expr: &Expr) -> bool {
    !matches!(expr, Expr::Number(Number::Float(value)) if (value.get() * 1024.0).fract() != 0.0)
}

fn is_exact(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < 1e6
}

#[test]
fn random_kernels_are_equal_to_themselves() {
    for (name, knobs) in Knobs::presets() {
        for seed in 0..40 {
            let generated = generate_seed(seed, &knobs);
            let program = &generated.program;
            let parameters = generated.parameters.iter().cloned().collect();
            let options = ValidateOptions { parameters, ..ValidateOptions::default() };
            let verdict = validate(program, program, &options);
            let text = || nestegg_dump::write_text(program);
            assert!(matches!(verdict, Ok(Verdict::Equal(_))), "{name} {seed}: {verdict:?}\n{}", text());
        }
    }
}

/// The fixtures that take less than a second, each against itself.
#[test]
fn fixtures_are_equal_to_themselves() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/tsfc");
    let mut n_compared = 0;
    for name in ["mass_tet_1", "helmholtz_tet_2", "burgers_jac_tet_1", "elasticity_tet_1", "laplacian_f1_hex_2"] {
        let Ok(text) = std::fs::read_to_string(root.join(format!("{name}.json"))) else { continue };
        let program = kernel_of_json(&text);
        let verdict = validate(&program, &program, &ValidateOptions::default());
        assert!(matches!(verdict, Ok(Verdict::Equal(_))), "{name}: {verdict:?}");
        n_compared += 1;
    }
    assert!(n_compared >= 3);
}

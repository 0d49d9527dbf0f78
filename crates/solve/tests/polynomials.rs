//! Polynomial systems: same values, never more operations than one by one, the same program each time; geometry of
//! finite elements.

use nestegg_solve::program::power_operations;
use nestegg_solve::{Polynomial, PolynomialOptions, Program, Reciprocals, Step, polynomials};
use proptest::prelude::*;

/// What the polynomials cost one by one, each monomial as often as it occurs.
fn naive_operations(system: &[Polynomial]) -> u64 {
    let mut total = 0;
    for polynomial in system {
        total += (polynomial.len() as u64).saturating_sub(1);
        for (coefficient, factors) in polynomial {
            let n_above = factors.iter().filter(|factor| factor.1 > 0).count() as u64;
            let n_below = factors.iter().filter(|factor| factor.1 < 0).count() as u64;
            total += n_above.saturating_sub(1) + n_below.saturating_sub(1) + u64::from(n_below > 0);
            total += factors.iter().map(|factor| power_operations(factor.1)).sum::<u64>();
            total += u64::from(coefficient.abs() != 1.0 && !factors.is_empty());
        }
    }
    total
}

fn check_values(program: &Program, system: &[Polynomial], n_inputs: usize) {
    let inputs: Vec<f64> = (0..n_inputs).map(|input| 0.6 + (input * 31 % 17) as f64 / 13.0).collect();
    let values = program.evaluate(&inputs);
    assert_eq!(values.len(), system.len());
    for (polynomial, value) in system.iter().zip(values) {
        let terms = polynomial.iter().map(|(coefficient, factors)| {
            coefficient * factors.iter().map(|&(input, exponent)| inputs[input].powi(exponent)).product::<f64>()
        });
        let expected: f64 = terms.clone().sum();
        let magnitude: f64 = terms.map(f64::abs).sum();
        assert!((value - expected).abs() <= 1e-12 * magnitude, "{value} is not {expected}");
    }
}

fn check(system: &[Polynomial], n_inputs: usize, options: &PolynomialOptions) -> Program {
    let program = polynomials(system, options);
    check_values(&program, system, n_inputs);
    assert!(program.operations() <= naive_operations(system));
    assert_eq!(program, polynomials(system, options));
    program
}

fn count(system: &[Polynomial], n_inputs: usize) -> u64 {
    check(system, n_inputs, &PolynomialOptions::ALL).operations()
}

/// Sorts factors, adds exponents.
fn term(coefficient: f64, inputs: &[usize]) -> (f64, Vec<(usize, i32)>) {
    let mut factors: Vec<(usize, i32)> = Vec::new();
    let mut sorted = inputs.to_vec();
    sorted.sort_unstable();
    for input in sorted {
        match factors.last_mut() {
            Some(last) if last.0 == input => last.1 += 1,
            _ => factors.push((input, 1)),
        }
    }
    (coefficient, factors)
}

/// G_ij = sum_k K_ik K_jk |det|, upper triangle; K is d x d from input 0, |det| comes after it.
fn metric(d: usize, others: &[usize]) -> Vec<Polynomial> {
    let mut system = Vec::new();
    for i in 0..d {
        for j in i..d {
            let terms = (0..d).map(|k| {
                let mut inputs = vec![i * d + k, j * d + k, d * d];
                inputs.extend(others);
                term(1.0, &inputs)
            });
            system.push(terms.collect());
        }
    }
    system
}

#[test]
fn determinants_share_cofactors() {
    // The adjugate of a 3 x 3 matrix and its determinant.
    let at = |row: usize, column: usize| (row % 3) * 3 + column % 3;
    let mut system: Vec<Polynomial> = Vec::new();
    let mut determinant = Polynomial::new();
    for row in 0..3 {
        for column in 0..3 {
            let plus = [at(row + 1, column + 1), at(row + 2, column + 2)];
            let minus = [at(row + 1, column + 2), at(row + 2, column + 1)];
            system.push(vec![term(1.0, &plus), term(-1.0, &minus)]);
            if row == 0 {
                determinant.push(term(1.0, &[column, plus[0], plus[1]]));
                determinant.push(term(-1.0, &[column, minus[0], minus[1]]));
            }
        }
    }
    system.push(determinant);
    assert_eq!(count(&system, 9), 27 + 5);
}

#[test]
fn metrics_take_out_the_determinant() {
    assert_eq!(count(&metric(2, &[]), 5), 3 * 4);
    assert_eq!(count(&metric(3, &[]), 10), 6 * 6);
}

#[test]
fn coefficients_times_metrics_are_outer_products() {
    // f_r G_ij and f_r f_s G_ij for four f and six G, times |det|: the metric once, then the products.
    let with = |factors: &[usize]| metric(3, factors);
    let linear: Vec<Polynomial> = (10..14).flat_map(|r| with(&[r])).collect();
    assert!(count(&linear, 14) <= 36 + 24);
    let quadratic: Vec<Polynomial> = (10..14).flat_map(|r| (r..14).flat_map(move |s| metric(3, &[r, s]))).collect();
    assert!(count(&quadratic, 14) <= 36 + 10 + 60);
}

#[test]
fn horner_is_found() {
    let system = vec![(0..6).map(|exponent| (f64::from(exponent) + 0.5, vec![(0, exponent)])).collect()];
    assert_eq!(count(&system, 1), 10);
}

#[test]
fn a_reciprocal_read_once_is_a_division() {
    let program = check(&[vec![(1.0, vec![(0, 1), (1, -1)])]], 2, &PolynomialOptions::ALL);
    assert_eq!(
        program.steps,
        [Step::Product(vec![(nestegg_solve::Operand::Input(0), 1), (nestegg_solve::Operand::Input(1), -1)])]
    );
    let two = vec![vec![(1.0, vec![(0, 1), (1, -1)])], vec![(1.0, vec![(1, -1), (2, 1)])]];
    assert_eq!(count(&two, 3), 2);
    let once = PolynomialOptions { reciprocals: Reciprocals::Once, ..PolynomialOptions::ALL };
    let program = polynomials(&two, &once);
    check_values(&program, &two, 3);
    assert_eq!(program.operations(), 3);
}

#[test]
fn reciprocals_are_steps_where_that_saves() {
    // 1/(b² c²) + 1, c/b² + a/c²: neither 1/b nor 1/c is worth a step.
    let first = vec![(1.0, vec![(1, -2), (2, -2)]), (1.0, vec![])];
    let second = vec![(1.0, vec![(1, -2), (2, 1)]), (1.0, vec![(0, 1), (2, -2)])];
    let options = PolynomialOptions { sums: false, products: false, ..PolynomialOptions::ALL };
    assert_eq!(check(&[first.clone(), second], 3, &options).operations(), 10);
    // Beside 1/b and 1/c both are: there the reciprocal is needed anyway.
    let alone = |input: usize| vec![(1.0, vec![(input, -1)])];
    assert_eq!(check(&[first, alone(1), alone(2)], 3, &options).operations(), 2 + 3 + 1);
}

#[test]
fn degenerate_systems() {
    assert_eq!(count(&[], 0), 0);
    assert_eq!(count(&[vec![], vec![(3.0, vec![])], vec![(-1.0, vec![(0, 1)])], vec![(1.0, vec![(0, 0)])]], 1), 0);
    let cancelling = vec![(1.0, vec![(0, 1)]), (-1.0, vec![(0, 1)])];
    assert_eq!(count(&[cancelling], 1), 0);
    // A factor of numbers, and equal coefficients beside another one.
    assert_eq!(count(&[vec![(2.0, vec![(0, 1)]), (2.0, vec![(1, 1)])]], 2), 2);
    assert_eq!(count(&[vec![(2.0, vec![(0, 1)]), (2.0, vec![(1, 1)]), (1.0, vec![(2, 1)])]], 3), 3);
    // Multiples of a sum.
    let sum = |factor: f64| vec![(0.1 * factor, vec![(0, 1)]), (0.3 * factor, vec![(1, 1)])];
    assert_eq!(count(&[sum(1.0), sum(3.0)], 2), 4);
}

fn system() -> impl Strategy<Value = Vec<Polynomial>> {
    let coefficient = prop::sample::select(vec![1.0, -1.0, 2.0, -2.0, 0.1, 0.3, 1.0 / 3.0]);
    let exponent = prop::sample::select(vec![-2, -1, 1, 1, 1, 2, 3]);
    let factors = prop::collection::btree_map(0usize..5, exponent, 0..4);
    let term = (coefficient, factors.prop_map(|factors| factors.into_iter().collect::<Vec<_>>()));
    prop::collection::vec(prop::collection::vec(term, 0..10), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_stay(system in system(), bits in 0u8..8) {
        let options = PolynomialOptions {
            sums: bits & 1 > 0,
            products: bits & 2 > 0,
            max_work: if bits & 4 > 0 { 20 } else { 1_000_000 },
            ..PolynomialOptions::ALL
        };
        check(&system, 5, &options);
        let once = PolynomialOptions { reciprocals: Reciprocals::Once, ..options };
        check_values(&polynomials(&system, &once), &system, 5);
    }
}

/// The product of three matrices, multiplied out: contracted again it takes two products of matrices.
#[test]
fn products_of_matrices_are_contracted() {
    const N: usize = 3;
    let element = |matrix: usize, row: usize, column: usize| (matrix * N * N + row * N + column, 1);
    let mut elements: Vec<Polynomial> = Vec::new();
    for (i, j) in (0..N).flat_map(|i| (0..N).map(move |j| (i, j))) {
        let pairs = (0..N).flat_map(|k| (0..N).map(move |l| (k, l)));
        elements.push(pairs.map(|(k, l)| (1.0, vec![element(0, i, k), element(1, k, l), element(2, l, j)])).collect());
    }
    let of_two_products = 2 * N * N * (2 * N - 1);
    assert_eq!(polynomials(&elements, &PolynomialOptions::ALL).operations(), of_two_products as u64);
}

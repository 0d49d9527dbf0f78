//! Linear maps on random matrices: same values, never more operations than row by row, the same program each time.

use nestegg_solve::cluster::TOLERANCE;
use nestegg_solve::linear::Entry;
use nestegg_solve::{LinearOptions, Program, cluster, linear_map};
use proptest::prelude::*;

/// What the rows cost one by one.
fn naive_operations(n_rows: usize, entries: &[Entry]) -> u64 {
    let mut n_terms = vec![0u64; n_rows];
    let mut products = 0;
    for &(row, _, value) in entries {
        if value != 0.0 {
            n_terms[row] += 1;
            products += u64::from(value.abs() != 1.0);
        }
    }
    products + n_terms.iter().map(|n_terms| n_terms.saturating_sub(1)).sum::<u64>()
}

/// Compares with the matrix, relative to the sum of magnitudes.
fn check_values(program: &Program, n_rows: usize, n_columns: usize, entries: &[Entry]) {
    let inputs: Vec<f64> = (0..n_columns).map(|column| ((column * 37 % 19) as f64 - 8.3) / 5.7).collect();
    let mut expected = vec![0.0; n_rows];
    let mut magnitudes = vec![0.0f64; n_rows];
    for &(row, column, value) in entries {
        expected[row] += value * inputs[column];
        magnitudes[row] += (value * inputs[column]).abs();
    }
    let largest = magnitudes.iter().copied().fold(0.0, f64::max);
    for (row, (value, expected)) in program.evaluate(&inputs).into_iter().zip(&expected).enumerate() {
        assert!((value - expected).abs() <= 1e-12 * largest, "row {row}: {value} is not {expected}");
    }
}

fn options(bits: u8) -> LinearOptions {
    LinearOptions {
        proportional_rows: bits & 1 > 0,
        row_differences: bits & 2 > 0,
        pairs: bits & 4 > 0,
        column_scaling: bits & 16 > 0,
        max_chain: if bits & 32 > 0 { 2 } else { usize::MAX },
        tolerance: if bits & 8 > 0 { 1e-12 } else { 0.0 },
        max_work: if bits & 64 > 0 { 200 } else { 20_000_000 },
    }
}

fn check(n_rows: usize, n_columns: usize, entries: &[Entry], options: &LinearOptions) {
    let program = linear_map(n_rows, n_columns, entries, options);
    check_values(&program, n_rows, n_columns, entries);
    assert!(program.operations() <= naive_operations(n_rows, entries));
    assert_eq!(program, linear_map(n_rows, n_columns, entries, options));
}

/// Few values, as in tables of finite elements.
const VALUES: [f64; 12] = [0.0, 0.0, 0.0, 1.0, 1.0, -1.0, 0.1, -0.1, 0.2, 1.0 / 3.0, -2.0, 0.7];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_stay(rows in prop::collection::vec(prop::collection::vec(0usize..12, 7), 1..30), bits in 0u8..128) {
        let entries: Vec<Entry> = rows.iter().enumerate().flat_map(|(row, values)| {
            values.iter().enumerate().map(move |(column, &value)| (row, column, VALUES[value]))
        }).collect();
        check(rows.len(), 7, &entries, &options(bits));
    }

    #[test]
    fn any_values(rows in prop::collection::vec(prop::collection::vec(-9.0f64..9.0, 5), 1..9), bits in 0u8..128) {
        let entries: Vec<Entry> = rows.iter().enumerate().flat_map(|(row, values)| {
            values.iter().enumerate().map(move |(column, &value)| (row, column, value))
        }).collect();
        check(rows.len(), 5, &entries, &options(bits));
    }
}

#[test]
fn scatter_costs_little_and_is_not_amplified() {
    // Entries of a few values, moved by up to 1e-14: as many operations as without, errors of that size.
    let exact: Vec<Entry> = (0..60)
        .flat_map(|row| (0..6).map(move |column| (row, column, VALUES[(row * 5 + column * column * 7) % 12])))
        .collect();
    let moved: Vec<f64> =
        exact.iter().map(|entry| entry.2 + ((entry.0 * 6 + entry.1) % 21) as f64 * 1e-15 - 1e-14).collect();
    let mut clustered = moved;
    cluster(&mut clustered, TOLERANCE * 2.0);
    let entries: Vec<Entry> = exact.iter().zip(&clustered).map(|(entry, &value)| (entry.0, entry.1, value)).collect();
    let program = linear_map(60, 6, &entries, &LinearOptions::ALL);
    assert!(program.operations() <= linear_map(60, 6, &exact, &LinearOptions::ALL).operations());
    check_values(&program, 60, 6, &exact);
}

#[test]
fn degenerate_matrices() {
    check(0, 0, &[], &LinearOptions::ALL);
    check(3, 2, &[], &LinearOptions::ALL);
    check(2, 1, &[(0, 0, 1.0), (1, 0, -1.0)], &LinearOptions::ALL);
    let program = linear_map(3, 1, &[(0, 0, 2.0), (1, 0, -2.0), (2, 0, 1.0)], &LinearOptions::ALL);
    assert_eq!(program.operations(), 1);
}

#[test]
fn a_chain_of_a_hundred_thousand_rows_does_not_overflow() {
    let n_rows = 100_000;
    let mut entries = Vec::new();
    for row in 0..n_rows {
        entries.extend([(row, row, 1.0), (row, row + 1, 1.0), (row, row + 2, 1.0)]);
    }
    check(n_rows, n_rows + 2, &entries, &LinearOptions::ALL);
}

//! Bases and clusters of random tables: what they promise about every entry.

use nestegg_solve::basis::RESIDUAL;
use nestegg_solve::cluster::TOLERANCE;
use nestegg_solve::{basis, cluster};
use proptest::prelude::*;

fn column(n_rows: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop::sample::select(vec![0.0, 0.0, 1.0, -1.0, 0.1, 1.0 / 3.0, 2.5]), n_rows)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_column_is_met(
        independent in prop::collection::vec(column(12), 1..5),
        mixtures in prop::collection::vec(prop::collection::vec(-2i32..3, 4), 1..8),
    ) {
        let mut columns = independent.clone();
        for mixture in &mixtures {
            let mut mixed = vec![0.0; 12];
            for (&factor, part) in mixture.iter().zip(&independent) {
                mixed.iter_mut().zip(part).for_each(|(value, part)| *value += f64::from(factor) * part);
            }
            columns.push(mixed);
        }
        let n_nonzeros = |column: &[f64]| column.iter().filter(|&&value| value != 0.0).count();
        let largest = columns.iter().flatten().fold(0.0f64, |most, value| most.max(value.abs()));
        if let Some(found) = basis(&columns, &[f64::INFINITY; 12]) {
            prop_assert!(found.columns.len() <= independent.len());
            let mut rebuilt = vec![vec![0.0; 12]; columns.len()];
            for (&of_basis, feature) in found.columns.iter().zip(&found.features) {
                for &(read, factor) in feature {
                    let column = rebuilt[read].iter_mut().zip(&columns[of_basis]);
                    column.for_each(|(value, part)| *value += factor * part);
                }
            }
            for (rebuilt, column) in rebuilt.iter().flatten().zip(columns.iter().flatten()) {
                prop_assert!((rebuilt - column).abs() <= 2.0 * RESIDUAL * largest);
            }
            let total: usize = columns.iter().map(|column| n_nonzeros(column)).sum();
            prop_assert!(found.columns.iter().map(|&idx| n_nonzeros(&columns[idx])).sum::<usize>() < total);
        }
    }

    #[test]
    fn scatter_is_bounded(values in prop::collection::vec((0usize..6, -9i32..9), 1..60)) {
        let table = [0.0, 1.0, 0.1, -0.1, 1.0 / 3.0, 0.7];
        let scattered: Vec<f64> =
            values.iter().map(|&(idx, scatter)| table[idx] + f64::from(scatter) * 1e-15).collect();
        let mut clustered = scattered.clone();
        let res = cluster(&mut clustered, TOLERANCE);
        prop_assert!(res.n_magnitudes <= 4);
        prop_assert!(res.largest_change <= TOLERANCE);
        let n_changed = scattered.iter().zip(&clustered).filter(|(old, new)| old != new).count();
        prop_assert_eq!(n_changed, res.n_changed);
        for (left, right) in values.iter().zip(&clustered).zip(values.iter().zip(&clustered).skip(1)).filter(|(left, right)| left.0.0 == right.0.0).map(|(left, right)| (left.1, right.1)) {
            prop_assert_eq!(left.abs(), right.abs());
        }
    }
}

//! Scaled columns, so that more coefficients are 1.
//!
//! # Input
//! A net.
//! # Output
//! The net in which inputs are read through a row that scales them; none where no scale but 1 is found.
//! # Method
//! The scale is the most frequent magnitude of an input's coefficients, or of all coefficients; of several the one
//! that occurs first. Coefficients are divided by it, so sums of scaled inputs need no multiplications.
//! # Complexity
//! O(entries · log).

use std::collections::BTreeMap;

use super::net::Net;
use crate::ratio;
use crate::terms::Symbol;

/// Where a scale comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scales {
    /// Each column has its own.
    ByColumn,
    /// One for the matrix.
    ByMatrix,
}

/// The net with scaled inputs.
#[must_use]
pub fn scale_columns(net: &Net, scales: Scales) -> Option<Net> {
    let entries = || net.rows.iter().flatten().filter(|entry| net.row_idx(entry.0).is_none());
    let mut by_input: Vec<Vec<f64>> = vec![Vec::new(); net.n_inputs];
    for &(symbol, value) in entries() {
        by_input[symbol as usize].push(value);
    }
    let of_matrix = most_frequent(&entries().map(|entry| entry.1).collect::<Vec<_>>());
    let mut scaled = net.clone();
    let mut replaced: Vec<Option<(Symbol, f64)>> = vec![None; net.n_inputs];
    for (input, values) in by_input.iter().enumerate() {
        let scale = match scales {
            Scales::ByColumn => most_frequent(values),
            Scales::ByMatrix => of_matrix,
        };
        if let Some(scale) = scale.filter(|&scale| !values.is_empty() && scale != 1.0) {
            let input_symbol = Symbol::try_from(input).expect("there are fewer than 2^32 values");
            replaced[input] = Some((scaled.push(vec![(input_symbol, scale)]), scale));
        }
    }
    if replaced.iter().all(Option::is_none) {
        return None;
    }
    for row in &mut scaled.rows[..net.rows.len()] {
        for entry in row.iter_mut() {
            if let Some(Some((symbol, scale))) = replaced.get(entry.0 as usize) {
                *entry = (*symbol, ratio::clean_unit(entry.1 / scale));
            }
        }
        row.sort_unstable_by_key(|entry| entry.0);
    }
    Some(scaled)
}

fn most_frequent(values: &[f64]) -> Option<f64> {
    let mut counts: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
    for (value_idx, &value) in values.iter().enumerate() {
        counts.entry(ratio::magnitude_key(value)).or_insert((0, value_idx)).0 += 1;
    }
    let best = counts.values().max_by_key(|(count, first)| (*count, std::cmp::Reverse(*first)));
    best.map(|&(_, first)| values[first].abs())
}

#[cfg(test)]
mod tests {
    use super::{Scales, scale_columns};
    use crate::LinearOptions;
    use crate::linear::net::build;

    #[test]
    fn scales_are_most_frequent_magnitudes() {
        let entries = [(0, 0, 0.5), (0, 1, 3.0), (1, 0, 0.5), (1, 1, -1.0), (2, 0, 2.0), (2, 1, 1.0)];
        let net = build(3, 2, &entries, &LinearOptions::NONE);
        let scaled = scale_columns(&net, Scales::ByColumn).unwrap();
        assert_eq!(scaled.rows[3], [(0, 0.5)]);
        assert_eq!(scaled.rows[0], [(1, 3.0), (5, 1.0)]);
        assert_eq!(scaled.rows[2], [(1, 1.0), (5, 4.0)]);
        assert_eq!(scale_columns(&net, Scales::ByMatrix).unwrap().rows[0], [(5, 1.0), (6, 6.0)]);
        assert!(scale_columns(&build(1, 1, &[(0, 0, 1.0)], &LinearOptions::NONE), Scales::ByColumn).is_none());
    }
}

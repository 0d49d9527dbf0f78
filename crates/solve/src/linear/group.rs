//! Terms of equal coefficients as sums of their own.
//!
//! # Input
//! A net.
//! # Output
//! The net in which every magnitude that a row has twice or more stands once, before a sum with coefficients 1 and −1;
//! none where no row changes.
//! # Method
//! Equal sums are one row, up to the sign. A row of a single magnitude 1 stays as it is.
//! # Complexity
//! O(entries · log).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::net::Net;
use crate::ratio;
use crate::terms::{Row, Symbol};

/// The net with sums multiplied by their common coefficient.
#[must_use]
pub fn group_values(net: &Net) -> Option<Net> {
    let mut grouped = net.clone();
    let mut known: FxHashMap<Vec<(Symbol, bool)>, Symbol> = FxHashMap::default();
    for (row_idx, row) in net.rows.iter().enumerate() {
        let mut by_magnitude: BTreeMap<u64, Row> = BTreeMap::new();
        for &(symbol, value) in row {
            by_magnitude.entry(ratio::magnitude_key(value)).or_default().push((symbol, value));
        }
        let is_sum = by_magnitude.len() == 1 && row.iter().all(|entry| entry.1.abs() == 1.0);
        if is_sum || by_magnitude.len() == row.len() {
            continue;
        }
        let mut outer = Row::new();
        for members in by_magnitude.into_values() {
            if members.len() == 1 {
                outer.extend(members);
                continue;
            }
            let sign = 1f64.copysign(members[0].1);
            let signs = members.iter().map(|&(symbol, value)| (symbol, sign * value < 0.0)).collect();
            let symbol = *known.entry(signs).or_insert_with(|| {
                grouped.push(members.iter().map(|&(symbol, value)| (symbol, 1f64.copysign(sign * value))).collect())
            });
            outer.push((symbol, members[0].1));
        }
        outer.sort_unstable_by_key(|entry| entry.0);
        grouped.rows[row_idx] = outer;
    }
    (grouped.rows.len() > net.rows.len()).then_some(grouped)
}

#[cfg(test)]
mod tests {
    use super::group_values;
    use crate::linear::net::build;

    #[test]
    fn equal_magnitudes_become_sums() {
        let entries =
            [(0, 0, 0.5), (0, 1, -0.5), (0, 2, 3.0), (1, 0, -0.7), (1, 1, 0.7), (2, 0, 1.0), (2, 1, 1.0), (2, 2, 1.0)];
        let net = build(3, 3, &entries, false);
        let grouped = group_values(&net).unwrap();
        assert_eq!(grouped.rows[0], [(2, 3.0), (6, 0.5)]);
        assert_eq!(grouped.rows[1], [(6, 0.7)]);
        assert_eq!(grouped.rows[2].len(), 3);
        assert_eq!(grouped.rows[3], [(0, 1.0), (1, -1.0)]);
    }
}

//! Products or sums: where the coefficients of a row are multiplied.
//!
//! # Input
//! Rows.
//! # Output
//! For each row and each magnitude v that it has more than once, whether its terms are products v·x that other
//! rows may share, or one sum times v.
//! # Method
//! All such groups begin as sums. For each magnitude all groups become products if that costs less; then single groups change
//! sides while that saves multiplications, in the order of rows, [`ROUNDS_LIMIT`] times at most.
//! # Complexity
//! O(entries · log) for each round.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Row, Symbol};
use crate::ratio;

/// Rounds in which groups change sides.
pub const ROUNDS_LIMIT: usize = 4;

/// What was chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    expanded: FxHashSet<(usize, u64)>,
    /// How many rows read each product.
    readers: FxHashMap<(Symbol, u64), usize>,
}

impl Choice {
    /// Whether a row has its terms of a magnitude as products.
    #[must_use]
    pub fn is_expanded(&self, row_idx: usize, magnitude: u64) -> bool {
        self.expanded.contains(&(row_idx, magnitude))
    }

    /// How many rows read a product.
    #[must_use]
    pub fn n_readers(&self, symbol: Symbol, magnitude: u64) -> usize {
        self.readers.get(&(symbol, magnitude)).copied().unwrap_or(0)
    }

    fn read(&mut self, members: &Row, magnitude: u64) {
        for entry in members {
            *self.readers.entry((entry.0, magnitude)).or_insert(0) += 1;
        }
    }

    fn unread(&mut self, members: &Row, magnitude: u64) {
        for entry in members {
            if let Some(count) = self.readers.get_mut(&(entry.0, magnitude)) {
                *count -= 1;
            }
        }
    }

    /// Products of the members that at most so many rows read.
    fn n_read_by(&self, members: &Row, magnitude: u64, at_most: usize) -> usize {
        members.iter().filter(|entry| self.n_readers(entry.0, magnitude) <= at_most).count()
    }
}

/// The terms of a row by the keys of their magnitudes, ascending, each with its terms in order.
#[must_use]
pub fn by_magnitude(row: &Row) -> Vec<(u64, Row)> {
    let mut keyed: Vec<(u64, Symbol, f64)> =
        row.iter().map(|&(symbol, value)| (ratio::magnitude_key(value), symbol, value)).collect();
    keyed.sort_by_key(|entry| (entry.0, entry.1));
    let groups = keyed.chunk_by(|left, right| left.0 == right.0);
    groups.map(|group| (group[0].0, group.iter().map(|entry| (entry.1, entry.2)).collect())).collect()
}

/// Chooses.
#[must_use]
pub fn factor(rows: &[Row]) -> Choice {
    let mut choice = Choice::default();
    let mut groups: BTreeMap<u64, Vec<(usize, Row)>> = BTreeMap::new();
    for (row_idx, row) in rows.iter().enumerate() {
        for (magnitude, members) in by_magnitude(row) {
            if magnitude == ratio::key(1.0) {
                continue;
            }
            if members.len() == 1 {
                choice.read(&members, magnitude);
            } else {
                groups.entry(magnitude).or_default().push((row_idx, members));
            }
        }
    }
    for (&magnitude, of_magnitude) in &groups {
        let symbols: BTreeSet<Symbol> =
            of_magnitude.iter().flat_map(|(_, members)| members).map(|entry| entry.0).collect();
        let n_new = symbols.iter().filter(|&&symbol| choice.n_readers(symbol, magnitude) == 0).count();
        if n_new < of_magnitude.len() {
            for (row_idx, members) in of_magnitude {
                choice.expanded.insert((*row_idx, magnitude));
                choice.read(members, magnitude);
            }
        }
        for _ in 0..ROUNDS_LIMIT {
            let mut is_changed = false;
            for (row_idx, members) in of_magnitude {
                let place = (*row_idx, magnitude);
                if choice.expanded.contains(&place) {
                    if choice.n_read_by(members, magnitude, 1) > 1 {
                        choice.expanded.remove(&place);
                        choice.unread(members, magnitude);
                        is_changed = true;
                    }
                } else if choice.n_read_by(members, magnitude, 0) == 0 {
                    choice.expanded.insert(place);
                    choice.read(members, magnitude);
                    is_changed = true;
                }
            }
            if !is_changed {
                break;
            }
        }
    }
    choice
}

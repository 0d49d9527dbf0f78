//! Rows that are stored times a factor, where that saves multiplications.
//!
//! # Input
//! Ordered rows.
//! # Output
//! The same outputs; a row that is no output may be multiplied by a factor, by which its readers then divide.
//! # Method
//! Products of a symbol and a magnitude count once, however many rows read them. For each row the factors tried are the
//! magnitudes by which it is read and the reciprocals of its coefficients, [`FACTORS_LIMIT`] at most; the first one that saves
//! most is taken, [`ROUNDS_LIMIT`] times at most.
//! # Complexity
//! O(entries · factors · log) for each round.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::Ordered;
use crate::ratio;
use crate::terms::Symbol;

/// Factors that are tried for a row.
pub const FACTORS_LIMIT: usize = 8;

/// Rounds over all rows.
pub const ROUNDS_LIMIT: usize = 2;

/// How many terms are the product of a symbol and a magnitude.
type Products = FxHashMap<(Symbol, u64), usize>;

/// Scales rows; returns whether one changed.
pub fn rescale(ordered: &mut Ordered) -> bool {
    if ordered.is_output.iter().all(|is_output| *is_output) {
        return false;
    }
    let mut is_any_changed = false;
    let mut products = Products::default();
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); ordered.rows.len()];
    for (row_idx, row) in ordered.rows.iter().enumerate() {
        for &(symbol, value) in row {
            add(&mut products, symbol, value);
            if let Some(read) = (symbol as usize).checked_sub(ordered.n_inputs) {
                readers[read].push(row_idx);
            }
        }
    }
    for _ in 0..ROUNDS_LIMIT {
        let mut is_changed = false;
        for (row_idx, readers) in readers.iter().enumerate() {
            if !ordered.is_output[row_idx] {
                is_changed |= rescale_row(ordered, row_idx, readers, &mut products);
            }
        }
        is_any_changed |= is_changed;
        if !is_changed {
            break;
        }
    }
    is_any_changed
}

fn add(products: &mut Products, symbol: Symbol, value: f64) {
    *products.entry((symbol, ratio::magnitude_key(value))).or_insert(0) += 1;
}

fn remove(products: &mut Products, symbol: Symbol, value: f64) {
    let place = (symbol, ratio::magnitude_key(value));
    if let Some(count) = products.get_mut(&place) {
        *count -= 1;
        if *count == 0 {
            products.remove(&place);
        }
    }
}

fn rescale_row(ordered: &mut Ordered, row_idx: usize, readers: &[usize], products: &mut Products) -> bool {
    let own = Symbol::try_from(ordered.n_inputs + row_idx).expect("there are fewer than 2^32 values");
    let row = ordered.rows[row_idx].clone();
    let place =
        |ordered: &Ordered, reader: usize| ordered.rows[reader].binary_search_by_key(&own, |entry| entry.0).ok();
    let uses: Vec<(usize, usize, f64)> = readers
        .iter()
        .filter_map(|&reader| place(ordered, reader).map(|at| (reader, at, ordered.rows[reader][at].1)))
        .collect();
    let read = uses.iter().map(|term| term.2.abs());
    let reciprocals = row.iter().map(|entry| 1.0 / entry.1.abs());
    let mut tried: BTreeMap<u64, f64> = BTreeMap::new();
    for factor in read.chain(reciprocals).filter(|&factor| factor.is_finite() && !ratio::is_unit(factor)) {
        if tried.len() < FACTORS_LIMIT {
            tried.entry(ratio::key(factor)).or_insert(factor);
        }
    }
    let mut best: Option<(i64, f64)> = None;
    for &(symbol, value) in &row {
        remove(products, symbol, value);
    }
    let n_read = |factor: f64| {
        let magnitudes = uses.iter().map(|term| term.2 / factor).filter(|&value| !ratio::is_unit(value));
        let mut keys: Vec<u64> = magnitudes.map(ratio::magnitude_key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.len() as i64
    };
    let n_own = |factor: f64| {
        let is_new = |symbol: Symbol, value: f64| {
            !ratio::is_unit(value) && !products.contains_key(&(symbol, ratio::magnitude_key(value)))
        };
        row.iter().filter(|entry| is_new(entry.0, entry.1 * factor)).count() as i64
    };
    let before = n_read(1.0) + n_own(1.0);
    for &factor in tried.values() {
        let saved = before - n_read(factor) - n_own(factor);
        if saved > best.map_or(0, |(most, _)| most) {
            best = Some((saved, factor));
        }
    }
    let factor = best.map_or(1.0, |(_, factor)| factor);
    for entry in &mut ordered.rows[row_idx] {
        entry.1 = ratio::clean_unit(entry.1 * factor);
        add(products, entry.0, entry.1);
    }
    if best.is_none() {
        return false;
    }
    for (reader, at, value) in uses {
        remove(products, own, value);
        let scaled = ratio::clean_unit(value / factor);
        ordered.rows[reader][at].1 = scaled;
        add(products, own, scaled);
    }
    true
}

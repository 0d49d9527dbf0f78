//! Rows in order, without those that nothing is gained by.
//!
//! # Input
//! A net.
//! # Output
//! Its rows that outputs need, in order. No row is a single term with coefficient 1 or −1; no row that is read once, and
//! is no output, is left; of magnitudes that only rounding tells apart one is left.
//! # Method
//! A depth-first walk from the outputs, with a stack of its own, orders the rows. Each row is then rewritten once: a term that
//! reads a row of one term is that term, if one of the two coefficients is 1 or −1; a term that alone reads a row is the
//! row. Magnitudes become the first one of the same [key](crate::ratio).
//! # Complexity
//! O(entries · log).

use rustc_hash::FxHashMap;

use super::Ordered;
use crate::linear::net::Net;
use crate::ratio;
use crate::terms::{Row, Symbol};

/// Orders and inlines.
#[must_use]
pub fn inline(net: &Net) -> Ordered {
    let order = order(net);
    let mut is_output = vec![false; net.rows.len()];
    for (symbol, _) in net.outputs.iter().flatten() {
        if let Some(row_idx) = net.row_idx(*symbol) {
            is_output[row_idx] = true;
        }
    }
    let mut n_readers = vec![0usize; net.rows.len()];
    for &row_idx in &order {
        for read in net.rows[row_idx].iter().filter_map(|entry| net.row_idx(entry.0)) {
            n_readers[read] += 1;
        }
    }
    let mut rows: Vec<Row> = vec![Vec::new(); net.rows.len()];
    for &row_idx in &order {
        let mut terms = Row::new();
        for &(symbol, value) in &net.rows[row_idx] {
            let inlined = net.row_idx(symbol).filter(|&read| {
                let alone = !is_output[read] && n_readers[read] == 1;
                alone || matches!(rows[read][..], [(_, inner)] if inner.abs() == 1.0 || value.abs() == 1.0)
            });
            match inlined {
                Some(read) => terms.extend(rows[read].iter().map(|term| (term.0, term.1 * value))),
                None => terms.push((symbol, value)),
            }
        }
        rows[row_idx] = summed(terms);
    }
    let mut outputs = net.outputs.clone();
    for output in &mut outputs {
        if let Some((symbol, sign)) = *output
            && let Some(row_idx) = net.row_idx(symbol)
        {
            match rows[row_idx][..] {
                [] => *output = None,
                [(inner, value)] if value.abs() == 1.0 => *output = Some((inner, sign * value)),
                _ => {}
            }
        }
    }
    let inlined = Net { n_inputs: net.n_inputs, rows, outputs };
    renumbered(&inlined)
}

/// Terms sorted, those of one symbol added, zeros left out.
fn summed(mut terms: Row) -> Row {
    terms.sort_by_key(|entry| entry.0);
    let sums = terms.chunk_by(|left, right| left.0 == right.0);
    let sums = sums.map(|run| (run[0].0, run[1..].iter().fold(run[0].1, |sum, entry| sum + entry.1)));
    sums.filter(|entry| entry.1 != 0.0).collect()
}

/// The rows that outputs need, each after those that it reads.
fn order(net: &Net) -> Vec<usize> {
    let mut res = Vec::with_capacity(net.rows.len());
    let mut is_entered = vec![false; net.rows.len()];
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for root in net.outputs.iter().flatten().filter_map(|output| net.row_idx(output.0)) {
        if is_entered[root] {
            continue;
        }
        is_entered[root] = true;
        stack.push((root, 0));
        while let Some((row_idx, place)) = stack.pop() {
            let Some(&(symbol, _)) = net.rows[row_idx].get(place) else {
                res.push(row_idx);
                continue;
            };
            stack.push((row_idx, place + 1));
            if let Some(read) = net.row_idx(symbol).filter(|&read| !is_entered[read]) {
                is_entered[read] = true;
                stack.push((read, 0));
            }
        }
    }
    res
}

fn renumbered(net: &Net) -> Ordered {
    let order = order(net);
    let mut symbols: Vec<Symbol> = vec![0; net.rows.len()];
    for (position, &row_idx) in order.iter().enumerate() {
        symbols[row_idx] = net.symbol(position);
    }
    let renamed = |symbol: Symbol| net.row_idx(symbol).map_or(symbol, |row_idx| symbols[row_idx]);
    let mut magnitudes: FxHashMap<u64, f64> = FxHashMap::default();
    let mut rows: Vec<Row> = Vec::with_capacity(order.len());
    for &row_idx in &order {
        let mut row: Row = Vec::with_capacity(net.rows[row_idx].len());
        for &(symbol, value) in &net.rows[row_idx] {
            let magnitude = *magnitudes.entry(ratio::magnitude_key(value)).or_insert(ratio::clean_unit(value.abs()));
            row.push((renamed(symbol), magnitude.copysign(value)));
        }
        row.sort_unstable_by_key(|entry| entry.0);
        rows.push(row);
    }
    let mut is_output = vec![false; rows.len()];
    let outputs: Vec<Option<(Symbol, f64)>> =
        net.outputs.iter().map(|output| output.map(|(symbol, sign)| (renamed(symbol), sign))).collect();
    for (symbol, _) in outputs.iter().flatten() {
        if let Some(position) = (*symbol as usize).checked_sub(net.n_inputs) {
            is_output[position] = true;
        }
    }
    Ordered { n_inputs: net.n_inputs, rows, is_output, outputs }
}

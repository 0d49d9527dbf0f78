//! Rows that read inputs and each other: what the steps of a linear map transform.
//!
//! # Input
//! A sparse matrix.
//! # Output
//! A net: one row for each different row of the matrix up to the sign, multiples of a row as a row with that one term.
//! # Method
//! Rows are compared by the bits of their entries up to the sign of the first one, then by coarse [keys](crate::ratio) of
//! the ratios to the first one; each multiple is then compared within [`LinearOptions::tolerance`]. Of proportional rows the
//! one with the most coefficients 1 or −1 represents the others, then the largest one, then the first.
//! # Complexity
//! O(entries · log).

use rustc_hash::FxHashMap;

use super::{Entry, LinearOptions};
use crate::ratio;
use crate::terms::{Row, Symbol};

/// Rows that read inputs and each other, without cycles, in no particular order.
#[derive(Clone, Debug, PartialEq)]
pub struct Net {
    /// Symbols below this number are inputs; others are rows.
    pub n_inputs: usize,
    /// The rows; row k is the symbol `n_inputs + k`.
    pub rows: Vec<Row>,
    /// For each output its symbol and 1 or −1; none for zero.
    pub outputs: Vec<Option<(Symbol, f64)>>,
}

impl Net {
    /// The symbol of a row.
    #[must_use]
    pub fn symbol(&self, row_idx: usize) -> Symbol {
        to_symbol(self.n_inputs + row_idx)
    }

    /// The row of a symbol; none for an input.
    #[must_use]
    pub fn row_idx(&self, symbol: Symbol) -> Option<usize> {
        (symbol as usize).checked_sub(self.n_inputs)
    }

    /// Adds a row.
    pub fn push(&mut self, row: Row) -> Symbol {
        self.rows.push(row);
        self.symbol(self.rows.len() - 1)
    }

    /// Entries of all rows.
    #[must_use]
    pub fn n_entries(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }
}

fn to_symbol(idx: usize) -> Symbol {
    Symbol::try_from(idx).expect("there are fewer than 2^32 values")
}

/// The net of a matrix.
#[must_use]
pub fn build(n_rows: usize, n_columns: usize, entries: &[Entry], options: &LinearOptions) -> Net {
    let mut net = Net { n_inputs: n_columns, rows: Vec::new(), outputs: Vec::with_capacity(n_rows) };
    let mut known: FxHashMap<Vec<(Symbol, u64)>, Symbol> = FxHashMap::default();
    for row in sorted_rows(n_rows, n_columns, entries) {
        let Some(&(_, first)) = row.first() else {
            net.outputs.push(None);
            continue;
        };
        let sign = 1f64.copysign(first);
        let bits = row.iter().map(|&(symbol, value)| (symbol, (sign * value).to_bits())).collect();
        let symbol = *known
            .entry(bits)
            .or_insert_with(|| net.push(row.iter().map(|&(symbol, value)| (symbol, sign * value)).collect()));
        net.outputs.push(Some((symbol, sign)));
    }
    if options.proportional_rows {
        let largest = net.rows.iter().flatten().fold(0.0f64, |most, entry| most.max(entry.1.abs()));
        merge_proportional(&mut net, options.tolerance * largest);
    }
    net
}

/// The rows of a matrix, entries of the same place added, zeros left out.
fn sorted_rows(n_rows: usize, n_columns: usize, entries: &[Entry]) -> Vec<Row> {
    let mut order: Vec<&Entry> = entries.iter().collect();
    order.sort_by_key(|entry| (entry.0, entry.1));
    let mut rows: Vec<Row> = vec![Vec::new(); n_rows];
    for &&(row, column, value) in &order {
        assert!(row < n_rows && column < n_columns, "entry ({row}, {column}) of a matrix of {n_rows} x {n_columns}");
        let column = to_symbol(column);
        match rows[row].last_mut() {
            Some(last) if last.0 == column => last.1 += value,
            _ => rows[row].push((column, value)),
        }
    }
    for row in &mut rows {
        row.retain(|entry| entry.1 != 0.0);
    }
    rows
}

fn merge_proportional(net: &mut Net, tolerance: f64) {
    let mut members: Vec<Vec<usize>> = Vec::new();
    let mut known: FxHashMap<Vec<(Symbol, u64)>, usize> = FxHashMap::default();
    for (row_idx, row) in net.rows.iter().enumerate() {
        if row.len() < 2 {
            continue;
        }
        let ratios = row.iter().map(|&(symbol, value)| (symbol, ratio::coarse_key(value / row[0].1))).collect();
        let class = *known.entry(ratios).or_insert_with(|| {
            members.push(Vec::new());
            members.len() - 1
        });
        members[class].push(row_idx);
    }
    for rows in members {
        let rank = |row_idx: usize| {
            let row = &net.rows[row_idx];
            let n_units = row.iter().filter(|entry| entry.1.abs() == 1.0).count();
            (n_units, row[0].1.abs())
        };
        let by_rank = |left: &usize, right: &usize| {
            let (left, right) = (rank(*left), rank(*right));
            left.0.cmp(&right.0).then(left.1.total_cmp(&right.1))
        };
        let first_best = rows.iter().copied().rev().max_by(by_rank);
        let representative = first_best.expect("a class has a member");
        let largest = net.rows[representative].iter().enumerate().map(|(place, entry)| (entry.1.abs(), place));
        let (_, largest) = largest.fold((0.0, 0), |most, entry| if entry.0 > most.0 { entry } else { most });
        for row_idx in rows {
            if row_idx != representative {
                let of_class = &net.rows[representative];
                let factor = ratio::clean_unit(net.rows[row_idx][largest].1 / of_class[largest].1);
                let mut pairs = net.rows[row_idx].iter().zip(of_class);
                if pairs.all(|(entry, of_class)| (entry.1 - factor * of_class.1).abs() <= tolerance) {
                    net.rows[row_idx] = vec![(net.symbol(representative), factor)];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::build;
    use crate::LinearOptions;

    #[test]
    fn equal_and_proportional_rows_are_one() {
        let entries =
            [(0, 0, 0.1), (0, 1, 0.3), (1, 0, -0.1), (1, 1, -0.3), (2, 0, 0.2), (2, 1, 0.6), (4, 1, 1.0), (4, 1, 1.0)];
        let net = build(5, 2, &entries, &LinearOptions::ALL);
        assert_eq!(net.rows, [vec![(3, 0.5)], vec![(0, 0.2), (1, 0.6)], vec![(1, 2.0)]]);
        assert_eq!(net.outputs, [Some((2, 1.0)), Some((2, -1.0)), Some((3, 1.0)), None, Some((4, 1.0))]);
        assert_eq!(build(5, 2, &entries, &LinearOptions::NONE).rows[0], [(0, 0.1), (1, 0.3)]);
    }
}

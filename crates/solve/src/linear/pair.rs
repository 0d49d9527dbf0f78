//! Common pairs of terms, computed once.
//!
//! # Input
//! A net, and its pairs counted: once for all preferences.
//! # Output
//! The same values with a row for each pair that was found worth it; rows stay sorted by symbol.
//! # Method
//! A pair is two symbols and a coarse [key](crate::ratio) of the ratio of their coefficients; a row takes part if it is met
//! within the tolerance. The pair of the largest gain, in how many rows it stands less one, becomes a symbol t = a + r·b,
//! and the rows read t. The coefficients of b are at most [`AMPLIFIED`] times those of a, for r carries the scatter of
//! the latter. Ties go by the [`Preference`], then to the pair of the smallest symbols. A new symbol is the largest, so
//! pairs of old symbols only become fewer: counts are kept for pairs that occur twice or more, and the heap is put right
//! when it is read.
//! # Complexity
//! O(sum of squared lengths of rows · log); each pair of entries that is looked at is one unit of work.
//! Source: Paar, "Optimized arithmetic for Reed-Solomon encoders", ISIT 1997, with ratios in place of bits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::difference::ROUNDING;
use super::net::Net;
use crate::ratio;
use crate::terms::{Row, Symbol};

/// How far the scatter of a coefficient may be amplified before the larger one is taken for base.
pub const AMPLIFIED: f64 = 8.0;

/// Which pairs come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// A pair of ratio 1 or −1, which saves multiplications, counts as if it stood in two rows more.
    Unit,
    /// The number of rows alone; a ratio of 1 or −1 among equals.
    Count,
    /// As `Count`, but ties go to the pair of the largest symbols.
    Newest,
}

impl Preference {
    /// What a pair that stands in so many rows is worth.
    fn gain(self, pair: Pair, count: u32) -> usize {
        let count = count as usize;
        match self {
            Self::Unit => count + 2 * usize::from(pair.is_unit()),
            Self::Count | Self::Newest => 2 * count + usize::from(pair.is_unit()),
        }
    }

    /// The pair, [turned](Pair::turned) where the largest symbols come first; of a turned pair, the pair.
    fn in_order(self, pair: Pair) -> Pair {
        if self == Self::Newest { pair.turned() } else { pair }
    }
}

/// Two symbols, the smaller first, and the key of the second coefficient over the first: 32, 32 and 64 bits, so that pairs are sorted as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Pair(u128);

impl Pair {
    fn new(left: (Symbol, f64), right: (Symbol, f64)) -> Self {
        Self::packed(left.0, right.0, ratio::coarse_key(right.1 / left.1))
    }

    fn packed(left: Symbol, right: Symbol, ratio: u64) -> Self {
        Self(u128::from(left) << 96 | u128::from(right) << 64 | u128::from(ratio))
    }

    fn left(self) -> Symbol {
        (self.0 >> 96) as Symbol
    }

    fn right(self) -> Symbol {
        (self.0 >> 64) as Symbol
    }

    fn ratio(self) -> u64 {
        self.0 as u64
    }

    fn is_unit(self) -> bool {
        self.ratio() == ratio::coarse_key(1.0) || self.ratio() == ratio::coarse_key(-1.0)
    }

    /// The pair whose place among others is that of this one where the largest symbols come first; of that one, this one.
    fn turned(self) -> Self {
        Self::packed(!self.right(), !self.left(), self.ratio())
    }
}

/// The pairs of a net, counted: the same for all preferences.
pub struct Counted {
    /// How far an entry of the matrix may be moved.
    tolerance: f64,
    /// For each symbol what a coefficient of 1 is in entries of the matrix.
    sizes: Vec<f64>,
    /// For each symbol the rows that read it.
    readers: Vec<Vec<usize>>,
    /// In how many rows each pair stands, if that is twice or more.
    counts: FxHashMap<Pair, u32>,
    /// The same pairs in the order in which they were counted.
    pairs: Vec<(Pair, u32)>,
}

/// Counts the pairs of all rows; `None` if that is more work than is left.
#[must_use]
pub fn count_pairs(net: &Net, tolerance: f64, work: &mut u64) -> Option<Counted> {
    let needed = net.rows.iter().map(|row| (row.len() as u64).pow(2)).sum::<u64>();
    *work = work.checked_sub(needed)?;
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); net.n_inputs + net.rows.len()];
    for (row_idx, row) in net.rows.iter().enumerate() {
        for entry in row {
            readers[entry.0 as usize].push(row_idx);
        }
    }
    let sizes = sizes(net);
    let weighed = net.rows.iter().flatten().map(|entry| entry.1.abs() * sizes[entry.0 as usize]);
    let tolerance = tolerance.max(ROUNDING) * weighed.fold(0.0, f64::max);
    let mut found: Vec<(Pair, u32)> = Vec::new();
    let mut pairs: Vec<Pair> = Vec::new();
    for (symbol, of_symbol) in readers.iter().enumerate() {
        pairs.clear();
        for &row_idx in of_symbol {
            let row = &net.rows[row_idx];
            let position = row.partition_point(|entry| (entry.0 as usize) < symbol);
            pairs.extend(row[position + 1..].iter().map(|&right| Pair::new(row[position], right)));
        }
        found.extend(repeated(&mut pairs));
    }
    Some(Counted { tolerance, sizes, readers, counts: found.iter().copied().collect(), pairs: found })
}

/// The pairs that occur twice or more, and how often.
fn repeated(pairs: &mut [Pair]) -> impl Iterator<Item = (Pair, u32)> {
    pairs.sort_unstable();
    let count = |run: &[Pair]| u32::try_from(run.len()).expect("there are fewer than 2^32 rows");
    pairs.chunk_by(|left, right| left == right).filter(|run| run.len() > 1).map(move |run| (run[0], count(run)))
}

/// Shares pairs of a net that were counted, until none occurs twice or the work is used up.
pub fn share_pairs(net: &mut Net, counted: &Counted, preference: Preference, work: &mut u64) {
    let Counted { tolerance, sizes, readers, counts, pairs } = counted;
    let by_gain = by_gain(preference, pairs);
    let (sizes, readers, counts) = (sizes.clone(), readers.clone(), counts.clone());
    let mut sharing = Sharing { net, preference, tolerance: *tolerance, sizes, readers, counts, by_gain };
    while *work > 0 {
        let Some(pair) = sharing.best() else { return };
        *work = work.saturating_sub(sharing.replace(pair));
    }
}

/// Pairs by their gains, as [`Sharing::by_gain`] has them.
fn by_gain(preference: Preference, pairs: &[(Pair, u32)]) -> Vec<BinaryHeap<Reverse<Pair>>> {
    let mut res: Vec<Vec<Reverse<Pair>>> = Vec::new();
    for &(pair, count) in pairs {
        let gain = preference.gain(pair, count);
        if res.len() <= gain {
            res.resize_with(gain + 1, Vec::new);
        }
        res[gain].push(Reverse(preference.in_order(pair)));
    }
    res.into_iter().map(BinaryHeap::from).collect()
}

struct Sharing<'a> {
    net: &'a mut Net,
    preference: Preference,
    /// How far an entry of the matrix may be moved.
    tolerance: f64,
    /// For each symbol what a coefficient of 1 is in entries of the matrix.
    sizes: Vec<f64>,
    /// For each symbol the rows that read it or did.
    readers: Vec<Vec<usize>>,
    /// In how many rows each pair stands, if that was twice or more at first.
    counts: FxHashMap<Pair, u32>,
    /// By their gains, which may be out of date but never too small, the pairs, [turned](Pair::turned) where the largest symbols come first.
    by_gain: Vec<BinaryHeap<Reverse<Pair>>>,
}

impl Sharing<'_> {
    /// Takes in pairs that were not counted before.
    fn insert(&mut self, mut pairs: Vec<Pair>) {
        for (pair, count) in repeated(&mut pairs) {
            self.counts.insert(pair, count);
            self.push(self.preference.gain(pair, count), pair);
        }
    }

    fn push(&mut self, gain: usize, pair: Pair) {
        if self.by_gain.len() <= gain {
            self.by_gain.resize_with(gain + 1, BinaryHeap::new);
        }
        let pair = self.preference.in_order(pair);
        self.by_gain[gain].push(Reverse(pair));
    }

    fn best(&mut self) -> Option<Pair> {
        while let Some(of_gain) = self.by_gain.last_mut() {
            let Some(Reverse(pair)) = of_gain.pop() else {
                self.by_gain.pop();
                continue;
            };
            let gain = self.by_gain.len() - 1;
            let pair = self.preference.in_order(pair);
            let Some(&count) = self.counts.get(&pair).filter(|&&count| count > 1) else { continue };
            let now = self.preference.gain(pair, count);
            if now == gain {
                return Some(pair);
            }
            self.push(now, pair);
        }
        None
    }

    /// Makes the pair a symbol; returns the pairs of entries looked at.
    fn replace(&mut self, pair: Pair) -> u64 {
        self.counts.remove(&pair);
        let mut looked_at = 0;
        let mut is_read = false;
        let mut pairs: Vec<Pair> = Vec::new();
        let mut touched: Vec<usize> = Vec::new();
        let new = self.net.symbol(self.net.rows.len());
        let (fewer, _) = if self.readers[pair.left() as usize].len() <= self.readers[pair.right() as usize].len() {
            (pair.left(), pair.right())
        } else {
            (pair.right(), pair.left())
        };
        let (is_left_base, ratio) = self.ratio(pair, fewer);
        for row_idx in std::mem::take(&mut self.readers[fewer as usize]) {
            let row = &self.net.rows[row_idx];
            looked_at += 1;
            let (Some(left), Some(right)) = (position(row, pair.left()), position(row, pair.right())) else {
                if position(row, fewer).is_some() {
                    self.readers[fewer as usize].push(row_idx);
                }
                continue;
            };
            let (left_entry, right_entry) = (row[left], row[right]);
            let (base, other) = if is_left_base { (left_entry, right_entry) } else { (right_entry, left_entry) };
            let change = (other.1 - ratio * base.1).abs() * self.sizes[other.0 as usize];
            if Pair::new(left_entry, right_entry) != pair || change > self.tolerance {
                self.readers[fewer as usize].push(row_idx);
                continue;
            }
            is_read = true;
            let mut row = std::mem::take(&mut self.net.rows[row_idx]);
            row.remove(right);
            row.remove(left);
            looked_at += 3 * row.len() as u64;
            for &other in &row {
                self.forget(ordered(other, left_entry));
                self.forget(ordered(other, right_entry));
                pairs.push(Pair::new(other, (new, base.1)));
            }
            row.push((new, base.1));
            self.net.rows[row_idx] = row;
            touched.push(row_idx);
        }
        if is_read {
            let (left, right) = if is_left_base { (1.0, ratio) } else { (ratio, 1.0) };
            self.net.push(vec![(pair.left(), left), (pair.right(), right)]);
            let size = |symbol: Symbol, coefficient: f64| coefficient.abs() * self.sizes[symbol as usize];
            self.sizes.push(size(pair.left(), left).max(size(pair.right(), right)));
            let own = self.net.rows.len() - 1;
            self.readers.push(touched);
            self.readers[pair.left() as usize].push(own);
            self.readers[pair.right() as usize].push(own);
            self.insert(pairs);
        }
        looked_at
    }

    /// Whether the first symbol of a pair is the base, and the ratio of the other coefficient to that of the base, from the
    /// row where they are largest, so least scattered; the first such row.
    fn ratio(&self, pair: Pair, symbol: Symbol) -> (bool, f64) {
        let mut best = (0.0, 1.0, 1.0);
        for &row_idx in &self.readers[symbol as usize] {
            let row = &self.net.rows[row_idx];
            if let (Some(left), Some(right)) = (position(row, pair.left()), position(row, pair.right()))
                && row[left].1.abs() > best.0
                && Pair::new(row[left], row[right]) == pair
            {
                best = (row[left].1.abs(), row[left].1, row[right].1);
            }
        }
        let (_, left, right) = best;
        let size = |symbol: Symbol, coefficient: f64| coefficient.abs() * self.sizes[symbol as usize];
        let is_left_base = pair.is_unit() || AMPLIFIED * size(pair.left(), left) >= size(pair.right(), right);
        let ratio = if is_left_base { right / left } else { left / right };
        (is_left_base, if pair.is_unit() { 1f64.copysign(ratio) } else { ratio })
    }

    fn forget(&mut self, pair: Pair) {
        if let Some(count) = self.counts.get_mut(&pair) {
            *count -= 1;
        }
    }
}

/// For each symbol what a coefficient of 1 is in entries of the matrix: 1 for inputs, their scale for scaled inputs, at most
/// the largest entry for rows.
fn sizes(net: &Net) -> Vec<f64> {
    let mut sizes = vec![1.0; net.n_inputs];
    let is_input = |symbol: Symbol| net.row_idx(symbol).is_none();
    let largest = net.rows.iter().flatten().filter(|entry| is_input(entry.0)).map(|entry| entry.1.abs());
    let largest = largest.fold(1.0, f64::max);
    sizes.extend(net.rows.iter().map(|row| match row[..] {
        [(symbol, scale)] if is_input(symbol) => scale.abs(),
        _ => largest,
    }));
    sizes
}

fn ordered(one: (Symbol, f64), other: (Symbol, f64)) -> Pair {
    if one.0 < other.0 { Pair::new(one, other) } else { Pair::new(other, one) }
}

fn position(row: &Row, symbol: Symbol) -> Option<usize> {
    row.binary_search_by_key(&symbol, |entry| entry.0).ok()
}

#[cfg(test)]
mod tests {
    use super::{Preference, count_pairs, share_pairs};
    use crate::LinearOptions;
    use crate::linear::net::build;

    #[test]
    fn a_pair_of_one_ratio_becomes_a_row() {
        let entries =
            [(0, 0, 1.0), (0, 1, 2.0), (0, 2, 1.0), (1, 0, 3.0), (1, 1, 6.0), (1, 3, 1.0), (2, 0, 1.0), (2, 1, 1.0)];
        let mut net = build(3, 4, &entries, &LinearOptions::NONE);
        let mut work = 1000;
        let counted = count_pairs(&net, 0.0, &mut work).unwrap();
        share_pairs(&mut net, &counted, Preference::Count, &mut work);
        assert_eq!(net.rows[0], [(2, 1.0), (7, 1.0)]);
        assert_eq!(net.rows[1], [(3, 1.0), (7, 3.0)]);
        assert_eq!(net.rows[2], [(0, 1.0), (1, 1.0)]);
        assert_eq!(net.rows[3], [(0, 1.0), (1, 2.0)]);
        assert!(count_pairs(&net, 0.0, &mut 1).is_none());
    }
}

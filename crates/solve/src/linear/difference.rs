//! Rows as other rows and their difference.
//!
//! # Input
//! A net whose rows of two or more terms read inputs only.
//! # Output
//! The net in which a row may read another one, up to the sign, and the inputs in which they differ; none where no row
//! gains, or where the limit of work forbids to look.
//! # Method
//! A minimum spanning tree of all rows and zero by Prim: a row alone weighs its additions, n − 1; next to another row the terms
//! of their difference or sum, whichever has fewer. Of equal weights zero comes first, then the row that joined the tree
//! first. A row at the end of a chain of [`LinearOptions::max_chain`] differences starts no other one, and no row reads one
//! that is more than [`LARGER`] times as large: its rounding would be all that is left.
//!
//! Differences of equal values scatter. They are clustered within [`LinearOptions::tolerance`], and within the part of their
//! row that [`PART`] allows, and those that meet an entry of the matrix become that entry.
//! # Complexity
//! O(rows² · columns) comparisons of small integers, [`COMPARISONS`] of which count as one unit of work.
//! Source: Kirby, Knepley, Logg, Scott, SIAM J. Sci. Comput. 27(3), 2005.

use rustc_hash::FxHashMap;

use super::LinearOptions;
use super::net::Net;
use crate::cluster::{PART, cluster_each};
use crate::terms::Row;

/// How far rounding alone can separate equal differences, as a multiple of the largest entry.
pub const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// How many times as large as a row one that it reads may be.
pub const LARGER: f64 = 1e4;

/// Comparisons of entries that are as much work as one pair of entries.
pub const COMPARISONS: u64 = 64;

/// How a row joined the tree.
#[derive(Clone, Copy)]
struct Join {
    weight: usize,
    /// The other row and whether it is subtracted; none for zero.
    parent: Option<(usize, bool)>,
    chain: usize,
}

/// The net with rows computed from rows.
#[must_use]
pub fn difference(net: &Net, options: &LinearOptions, work: &mut u64) -> Option<Net> {
    let candidates: Vec<usize> = (0..net.rows.len()).filter(|&row_idx| net.rows[row_idx].len() > 1).collect();
    let comparisons = (candidates.len() as u64).pow(2).saturating_mul(net.n_inputs as u64);
    let needed = comparisons.div_ceil(COMPARISONS);
    if candidates.len() < 2 || needed > *work {
        return None;
    }
    *work -= needed;
    let joins = spanning_tree(net, &candidates, options.max_chain);
    if joins.iter().all(|join| join.parent.is_none()) {
        return None;
    }
    let largest = net.rows.iter().flatten().map(|entry| entry.1.abs()).fold(0.0, f64::max);
    let mut known: Vec<f64> = net.rows.iter().flatten().map(|entry| entry.1.abs()).collect();
    known.sort_unstable_by(f64::total_cmp);
    known.dedup();
    let mut res = net.clone();
    let mut differences: Vec<f64> = Vec::new();
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (&row_idx, join) in candidates.iter().zip(&joins) {
        let Some((parent, is_subtracted)) = join.parent else { continue };
        let parent = candidates[parent];
        let sign = if is_subtracted { -1.0 } else { 1.0 };
        let (mut row, computed) = subtract(&net.rows[row_idx], &net.rows[parent], sign);
        for term_idx in computed {
            differences.push(row[term_idx].1);
            places.push((row_idx, term_idx));
        }
        row.push((net.symbol(parent), sign));
        res.rows[row_idx] = row;
    }
    let tolerances: Vec<f64> = places
        .iter()
        .map(|&(row_idx, _)| (options.tolerance.max(ROUNDING) * largest).min(PART * magnitude(&net.rows[row_idx])))
        .collect();
    cluster_each(&mut differences, |place_idx| tolerances[place_idx]);
    for ((&(row_idx, term_idx), &value), &tolerance) in places.iter().zip(&differences).zip(&tolerances) {
        res.rows[row_idx][term_idx].1 = snap(value, &known, tolerance);
    }
    for row in &mut res.rows {
        row.retain(|entry| entry.1 != 0.0);
    }
    Some(res)
}

/// How each candidate joins the tree.
fn spanning_tree(net: &Net, candidates: &[usize], max_chain: usize) -> Vec<Join> {
    let width = net.n_inputs;
    let classes = dense_classes(net, candidates);
    let magnitudes: Vec<f64> = candidates.iter().map(|&row_idx| magnitude(&net.rows[row_idx])).collect();
    let row = |position: usize| &classes[position * width..(position + 1) * width];
    let alone = |&row_idx: &usize| Join { weight: net.rows[row_idx].len() - 1, parent: None, chain: 0 };
    let mut joins: Vec<Join> = candidates.iter().map(alone).collect();
    let mut rest: Vec<usize> = (0..candidates.len()).collect();
    while let Some(next) = (0..rest.len()).min_by_key(|&place| (joins[rest[place]].weight, rest[place])) {
        let joined = rest.remove(next);
        let chain = joins[joined].chain + 1;
        if chain > max_chain {
            continue;
        }
        for &other in &rest {
            let (differing, opposing) = distances(row(joined), row(other));
            let weight = differing.min(opposing);
            if weight < joins[other].weight && magnitudes[joined] <= LARGER * magnitudes[other] {
                joins[other] = Join { weight, parent: Some((joined, opposing < differing)), chain };
            }
        }
    }
    joins
}

/// The sum of the magnitudes of a row.
fn magnitude(row: &Row) -> f64 {
    row.iter().map(|entry| entry.1.abs()).sum()
}

/// Entries as small integers, opposite ones for opposite values, zero for zero.
fn dense_classes(net: &Net, candidates: &[usize]) -> Vec<i32> {
    let mut known: FxHashMap<u64, i32> = FxHashMap::default();
    let mut classes = vec![0; candidates.len() * net.n_inputs];
    for (position, &row_idx) in candidates.iter().enumerate() {
        for &(symbol, value) in &net.rows[row_idx] {
            let next = i32::try_from(known.len() + 1).expect("there are fewer than 2^31 values");
            let class = *known.entry(value.abs().to_bits()).or_insert(next);
            classes[position * net.n_inputs + symbol as usize] = if value < 0.0 { -class } else { class };
        }
    }
    classes
}

/// Entries in which two rows differ, and in which one differs from the negative of the other.
fn distances(left: &[i32], right: &[i32]) -> (usize, usize) {
    let mut differing = 0i32;
    let mut opposing = 0i32;
    for (&left, &right) in left.iter().zip(right) {
        differing += i32::from(left != right);
        opposing += i32::from(left != -right);
    }
    (differing.unsigned_abs() as usize, opposing.unsigned_abs() as usize)
}

/// `row - sign * parent` without the entries that cancel, and the positions of those that were computed.
fn subtract(row: &Row, parent: &Row, sign: f64) -> (Row, Vec<usize>) {
    let mut res = Row::new();
    let mut computed = Vec::new();
    let mut rest = parent.iter().copied().peekable();
    for &(symbol, value) in row {
        while let Some(below) = rest.next_if(|entry| entry.0 < symbol) {
            res.push((below.0, -sign * below.1));
        }
        match rest.next_if(|entry| entry.0 == symbol) {
            Some((_, other)) if sign * other == value => {}
            Some((_, other)) => {
                computed.push(res.len());
                res.push((symbol, value - sign * other));
            }
            None => res.push((symbol, value)),
        }
    }
    res.extend(rest.map(|(symbol, value)| (symbol, -sign * value)));
    (res, computed)
}

/// The value, or the known magnitude within the tolerance with its sign.
fn snap(value: f64, known: &[f64], tolerance: f64) -> f64 {
    let above = known.partition_point(|&magnitude| magnitude < value.abs());
    let near = [above.checked_sub(1), Some(above)].into_iter().flatten().filter_map(|place| known.get(place));
    let nearest = near.min_by(|left, right| (*left - value.abs()).abs().total_cmp(&(*right - value.abs()).abs()));
    match nearest {
        Some(magnitude) if (magnitude - value.abs()).abs() <= tolerance => magnitude.copysign(value),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::difference;
    use crate::linear::net::build;
    use crate::linear::{Entry, LinearOptions};

    fn matrix(rows: &[&[f64]]) -> Vec<Entry> {
        let entries = |(row_idx, row): (usize, &&[f64])| {
            row.iter().enumerate().map(move |(column, &value)| (row_idx, column, value)).collect::<Vec<_>>()
        };
        rows.iter().enumerate().flat_map(entries).collect()
    }

    #[test]
    fn rows_are_read_by_rows_up_to_the_sign() {
        let rows: [&[f64]; 3] = [&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0, 5.0], &[1.0, -2.0, -3.0, -4.0]];
        let mut work = 1000;
        let net = build(3, 4, &matrix(&rows), &LinearOptions::NONE);
        let res = difference(&net, &LinearOptions::ALL, &mut work).unwrap();
        assert_eq!(res.rows[0], net.rows[0]);
        assert_eq!(res.rows[1], [(3, 1.0), (4, 1.0)]);
        assert_eq!(res.rows[2], [(0, 2.0), (4, -1.0)]);
        let unchained = LinearOptions { max_chain: 0, ..LinearOptions::ALL };
        assert!(difference(&net, &unchained, &mut work).is_none());
        assert!(difference(&net, &LinearOptions::ALL, &mut 0).is_none());
    }

    #[test]
    fn small_rows_read_no_large_ones() {
        let (large, small): (&[f64], &[f64]) = (&[64.0, 3e-16, 2e-16, 5e-16], &[7e-16, 3e-16, 2e-16, 5e-16]);
        let net = build(2, 4, &matrix(&[large, small]), &LinearOptions::NONE);
        assert!(difference(&net, &LinearOptions::ALL, &mut 1000).is_none());
        let net = build(2, 4, &matrix(&[small, large]), &LinearOptions::NONE);
        let res = difference(&net, &LinearOptions::ALL, &mut 1000).unwrap();
        assert_eq!(res.rows[0], net.rows[0]);
        assert_eq!(res.rows[1], [(0, 64.0 - 7e-16), (4, 1.0)]);
    }

    #[test]
    fn differences_meet_entries() {
        let rows: [&[f64]; 2] = [&[0.1, 0.2, 0.3, 0.2], &[0.3, 0.2, 0.3, 0.2]];
        let net = build(2, 4, &matrix(&rows), &LinearOptions::NONE);
        let res = difference(&net, &LinearOptions::ALL, &mut 1000).unwrap();
        assert_eq!(res.rows[1], [(0, 0.2), (4, 1.0)]);
    }
}

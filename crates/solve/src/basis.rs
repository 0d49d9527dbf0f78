//! A few sparse independent columns of a matrix, and the other columns as their combinations.
//!
//! # Input
//! The columns of a matrix C, dense, all of one length, finite, and how far each row may be off.
//! # Output
//! Positions of independent columns B and a sparse R with C = B R, so that C x = B (R x); none where that has no fewer
//! entries than C. Proportional columns are the simplest case: one column, and multiples of it.
//! # Method
//! Columns are taken in the order of their non-zeros, then of their position: the greedy choice has the fewest non-zeros of
//! all bases. The others are their combinations ([`spanned`](crate::spanned)). A column stays in B, and no other column is
//! made from it, if no combination comes within [`RESIDUAL`] of the largest entry, and in each row within its limit, or if
//! the terms of that combination cancel too much.
//! # Complexity
//! O(rows · columns · rank).

use std::sync::LazyLock;

use crate::memo::{self, Memo, bits};
use crate::spanned::{Spanned, clean};

/// How far an entry of C may be from that of B R, as a multiple of the largest entry of C.
pub const RESIDUAL: f64 = 1e-12;

/// C = B R.
#[derive(Clone, Debug, PartialEq)]
pub struct Basis {
    /// The positions in C of the columns of B, ascending.
    pub columns: Vec<usize>,
    /// The rows of R: for each column of B the columns of C that read it, ascending, with coefficients.
    pub features: Vec<Vec<(usize, f64)>>,
}

/// The columns and the limits, by their bits.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Question(Vec<Vec<u64>>, Vec<u64>);

impl memo::Question for Question {
    fn n_words(&self) -> u64 {
        (self.0.len() + 1) as u64 * self.1.len() as u64
    }
}

static KNOWN: LazyLock<Memo<Question, Option<Basis>>> = LazyLock::new(Memo::new);

/// Finds a basis that wins; `limits` says of each row how far an entry of it may be off.
#[must_use]
pub fn basis(columns: &[Vec<f64>], limits: &[f64]) -> Option<Basis> {
    let question = Question(columns.iter().map(|column| bits(column)).collect(), bits(limits));
    KNOWN.answer(question, || solve(columns, limits))
}

fn solve(columns: &[Vec<f64>], limits: &[f64]) -> Option<Basis> {
    let n_nonzeros = |column: &[f64]| column.iter().filter(|&&value| value != 0.0).count();
    let total: usize = columns.iter().map(|column| n_nonzeros(column)).sum();
    let mut order: Vec<usize> = (0..columns.len()).filter(|&idx| n_nonzeros(&columns[idx]) > 0).collect();
    order.sort_by_key(|&idx| (n_nonzeros(&columns[idx]), idx));
    let largest = columns.iter().flatten().fold(0.0f64, |most, value| most.max(value.abs()));
    let tolerances: Vec<f64> = limits.iter().map(|limit| limit.min(RESIDUAL * largest)).collect();
    let mut spanned = Spanned::default();
    let mut dependent: Vec<(usize, Vec<f64>)> = Vec::new();
    let mut alone: Vec<usize> = Vec::new();
    for &idx in &order {
        if let Err(projections) = spanned.take(columns, idx) {
            match spanned.solve(columns, idx, projections, |row| tolerances[row]) {
                Some(solution) => dependent.push((idx, solution)),
                None => alone.push(idx),
            }
        }
    }
    clean(columns, &spanned.columns, &mut dependent, |_, row| tolerances[row]);
    let mut features: Vec<(usize, Vec<(usize, f64)>)> =
        spanned.columns.iter().chain(&alone).map(|&idx| (idx, vec![(idx, 1.0)])).collect();
    for (idx, solution) in &dependent {
        let read = solution.iter().enumerate().filter(|(_, value)| **value != 0.0);
        read.for_each(|(position, &value)| features[position].1.push((*idx, value)));
    }
    features.sort_by_key(|feature| feature.0);
    let of_basis: usize = features.iter().map(|(idx, read)| n_nonzeros(&columns[*idx]) + read.len() - 1).sum();
    if of_basis >= total {
        return None;
    }
    let (columns, mut features): (Vec<usize>, Vec<_>) = features.into_iter().unzip();
    features.iter_mut().for_each(|feature| feature.sort_by_key(|entry| entry.0));
    Some(Basis { columns, features })
}

#[cfg(test)]
mod tests {
    use super::{Basis, basis};

    #[test]
    fn combinations_are_found_and_clean() {
        let columns = vec![
            vec![1.0, 0.0, 0.3, 0.0],
            vec![0.0, 2.0, 0.0, 0.1],
            vec![1.0, 2.0, 0.3, 0.1],
            vec![0.5, 0.0, 0.15, 0.0],
            vec![0.0; 4],
        ];
        let found = basis(&columns, &[f64::INFINITY; 4]).unwrap();
        let features = vec![vec![(0, 1.0), (2, 1.0), (3, 0.5)], vec![(1, 1.0), (2, 1.0)]];
        assert_eq!(found, Basis { columns: vec![0, 1], features });
    }

    #[test]
    fn independent_columns_stay() {
        assert_eq!(basis(&[vec![1.0, 0.0], vec![1.0, 1.0]], &[1.0; 2]), None);
        assert_eq!(basis(&[], &[]), None);
    }

    #[test]
    fn columns_whose_terms_cancel_stay() {
        // Of three rows three independent columns make any other.
        let three = vec![vec![1.0, 1.0, 1.0], vec![1.0, 1.0, 1.01], vec![1.0, 2.0, 1.5]];
        let combined: Vec<f64> = (0..3).map(|row| 1e3 * (three[1][row] - three[0][row]) + three[2][row]).collect();
        let with = |last: Vec<f64>| [three.clone(), vec![last]].concat();
        assert_eq!(basis(&with(combined), &[1.0; 3]), None, "terms of 1e3 make entries of 11.5 at most");
        let sum = (0..3).map(|row| three[1][row] + three[2][row]).collect();
        assert!(basis(&with(sum), &[1.0; 3]).is_some());
    }

    #[test]
    fn rows_say_how_far_they_may_be_off() {
        let columns = vec![vec![1.0, 1e-15], vec![2.0, 1e-15]];
        assert!(basis(&columns, &[1e-10, 1e-10]).is_some());
        assert_eq!(basis(&columns, &[1e-10, 1e-25]), None);
    }
}

//! A few sparse independent columns of a matrix, and the other columns as their combinations.
//!
//! # Input
//! The columns of a matrix C, dense, all of one length, finite, and how far each row may be off.
//! # Output
//! Positions of independent columns B and a sparse R with C = B R, so that C x = B (R x); none where that has no fewer
//! entries than C. Proportional columns are the simplest case: one column, and multiples of it.
//! # Method
//! Columns are taken in the order of their non-zeros, then of their position: the greedy choice has the fewest non-zeros of
//! all bases. A column is independent if more than [`INDEPENDENT`] of its length remains after modified Gram-Schmidt, run
//! twice. Other columns are solved for by the triangular factor and refined once. Coefficients within [`CLEAN`] of 0, 1 or −1
//! become these, others within it of each other become one of them, if the column is then still met. A column that is not met
//! within [`RESIDUAL`] of the largest entry, and in each row within what that allows, stays in B, and no other column is a combination of it.
//! # Complexity
//! O(rows · columns · rank).

use crate::cluster::cluster;

/// What remains of an independent column, as a part of its length.
pub const INDEPENDENT: f64 = 1e-10;

/// How far a coefficient is moved at most.
pub const CLEAN: f64 = 1e-12;

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

/// Finds a basis that wins; `limits` says of each row how far an entry of it may be off.
#[must_use]
pub fn basis(columns: &[Vec<f64>], limits: &[f64]) -> Option<Basis> {
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
        let (projections, rest) = spanned.project(&columns[idx]);
        let remaining = norm(&rest);
        if remaining > INDEPENDENT * norm(&columns[idx]) {
            spanned.push(idx, projections, rest, remaining);
        } else {
            match spanned.solve(columns, idx, projections, &tolerances) {
                Some(solution) => dependent.push((idx, solution)),
                None => alone.push(idx),
            }
        }
    }
    clean(columns, &spanned.columns, &mut dependent, &tolerances);
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

/// Independent columns and their orthonormal frame.
#[derive(Default)]
struct Spanned {
    /// Positions of the columns.
    columns: Vec<usize>,
    frame: Vec<Vec<f64>>,
    /// The triangular factor by columns: column k has k + 1 entries.
    triangle: Vec<Vec<f64>>,
}

impl Spanned {
    /// Projections on the frame and what remains, by modified Gram-Schmidt run twice.
    fn project(&self, column: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut rest = column.to_vec();
        let mut projections = vec![0.0; self.frame.len()];
        for _ in 0..2 {
            for (direction, projection) in self.frame.iter().zip(&mut projections) {
                let part = dot(direction, &rest);
                *projection += part;
                rest.iter_mut().zip(direction).for_each(|(value, unit)| *value -= part * unit);
            }
        }
        (projections, rest)
    }

    fn push(&mut self, idx: usize, mut projections: Vec<f64>, mut rest: Vec<f64>, length: f64) {
        rest.iter_mut().for_each(|value| *value /= length);
        projections.push(length);
        self.columns.push(idx);
        self.frame.push(rest);
        self.triangle.push(projections);
    }

    /// The column as a combination of the independent ones, if it is met within the tolerances of the rows.
    fn solve(&self, columns: &[Vec<f64>], idx: usize, projections: Vec<f64>, tolerances: &[f64]) -> Option<Vec<f64>> {
        let mut solution = self.solve_triangle(projections);
        let residual = residual(columns, idx, &self.columns, &solution);
        let correction = self.solve_triangle(self.frame.iter().map(|direction| dot(direction, &residual)).collect());
        solution.iter_mut().zip(&correction).for_each(|(value, part)| *value += part);
        is_met(columns, idx, &self.columns, &solution, tolerances).then_some(solution)
    }

    fn solve_triangle(&self, mut right: Vec<f64>) -> Vec<f64> {
        for column in (0..right.len()).rev() {
            right[column] /= self.triangle[column][column];
            let value = right[column];
            for (row, part) in self.triangle[column][..column].iter().enumerate() {
                right[row] -= part * value;
            }
        }
        right
    }
}

/// Cleans coefficients, each column only if it is still met.
fn clean(columns: &[Vec<f64>], basis: &[usize], dependent: &mut [(usize, Vec<f64>)], tolerances: &[f64]) {
    let mut coefficients: Vec<f64> = dependent.iter().flat_map(|(_, solution)| solution.iter().copied()).collect();
    for value in &mut coefficients {
        if value.abs() <= CLEAN {
            *value = 0.0;
        } else if (value.abs() - 1.0).abs() <= CLEAN {
            *value = 1f64.copysign(*value);
        }
    }
    cluster(&mut coefficients, CLEAN);
    let mut rest = &coefficients[..];
    for (idx, solution) in dependent {
        let (cleaned, others) = rest.split_at(solution.len());
        rest = others;
        let cleaned: Vec<f64> = cleaned
            .iter()
            .map(|&value| if (value.abs() - 1.0).abs() <= CLEAN { value.signum() } else { value })
            .collect();
        if is_met(columns, *idx, basis, &cleaned, tolerances) {
            *solution = cleaned;
        }
    }
}

fn is_met(columns: &[Vec<f64>], idx: usize, basis: &[usize], solution: &[f64], tolerances: &[f64]) -> bool {
    let residual = residual(columns, idx, basis, solution);
    residual.iter().zip(tolerances).all(|(value, tolerance)| value.abs() <= *tolerance)
}

/// A column less a combination of the basis.
fn residual(columns: &[Vec<f64>], idx: usize, basis: &[usize], solution: &[f64]) -> Vec<f64> {
    let mut res = columns[idx].clone();
    for (&of_basis, &coefficient) in basis.iter().zip(solution) {
        if coefficient != 0.0 {
            res.iter_mut().zip(&columns[of_basis]).for_each(|(value, part)| *value -= coefficient * part);
        }
    }
    res
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn norm(column: &[f64]) -> f64 {
    dot(column, column).sqrt()
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
    fn rows_say_how_far_they_may_be_off() {
        let columns = vec![vec![1.0, 1e-15], vec![2.0, 1e-15]];
        assert!(basis(&columns, &[1e-10, 1e-10]).is_some());
        assert_eq!(basis(&columns, &[1e-10, 1e-25]), None);
    }
}

//! Independent columns, and others as their combinations.
//!
//! # Method
//! A column is independent if more than [`INDEPENDENT`] of its length remains after modified Gram-Schmidt, run
//! twice. Other columns are solved for by the triangular factor and refined once. Coefficients within [`CLEAN`] of 0, 1 or −1
//! become these, others within it of each other become one of them, if the column is then still met. Combinations whose
//! terms cancel too much are rejected ([`AMPLIFIED`]), because rounding errors grow by as much.
//! # Complexity
//! O(length · rank) for each column.

use crate::cluster::cluster;

/// What remains of an independent column, as a part of its length.
pub const INDEPENDENT: f64 = 1e-10;

/// The absolute values of a combination's terms may add up to this many times the largest entry of the column. Cancellation multiplies rounding errors by
/// that ratio.
pub const AMPLIFIED: f64 = 64.0;

/// How far a coefficient is moved at most.
pub const CLEAN: f64 = 1e-12;

/// Sums that a scalar product is made of.
const LANES: usize = 8;

/// Independent columns and their orthonormal frame.
#[derive(Default)]
pub(crate) struct Spanned {
    /// Positions of the columns.
    pub(crate) columns: Vec<usize>,
    frame: Vec<Vec<f64>>,
    /// The triangular factor by columns: column k has k + 1 entries.
    triangle: Vec<Vec<f64>>,
}

impl Spanned {
    /// Takes a column if it is independent of those so far; else its projections on their frame.
    pub(crate) fn take(&mut self, columns: &[Vec<f64>], idx: usize) -> Result<(), Vec<f64>> {
        let (projections, rest) = self.project(&columns[idx]);
        let remaining = norm(&rest);
        if remaining > INDEPENDENT * norm(&columns[idx]) {
            self.push(idx, projections, rest, remaining);
            return Ok(());
        }
        Err(projections)
    }

    /// Projections on the frame and what remains, by modified Gram-Schmidt run twice.
    pub(crate) fn project(&self, column: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut rest = column.to_vec();
        let mut projections = vec![0.0; self.frame.len()];
        for _ in 0..2 {
            for (direction, projection) in self.frame.iter().zip(&mut projections) {
                let part = dot(direction, &rest);
                if part == 0.0 {
                    continue;
                }
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

    /// The column as a combination of the independent ones, if it is met within the tolerance of each row without too much cancellation
    /// ([`AMPLIFIED`]).
    pub(crate) fn solve(
        &self,
        columns: &[Vec<f64>],
        idx: usize,
        projections: Vec<f64>,
        tolerance: impl Fn(usize) -> f64,
    ) -> Option<Vec<f64>> {
        let mut solution = self.solve_triangle(projections);
        let residual = residual(columns, idx, &self.columns, &solution);
        let correction = self.solve_triangle(self.frame.iter().map(|direction| dot(direction, &residual)).collect());
        solution.iter_mut().zip(&correction).for_each(|(value, part)| *value += part);
        let holds = is_met(columns, idx, &self.columns, &solution, tolerance)
            && amplification(columns, idx, &self.columns, &solution) <= AMPLIFIED;
        holds.then_some(solution)
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

/// Cleans coefficients, each column only if it is still met within the tolerance of that column and each row.
pub(crate) fn clean(
    columns: &[Vec<f64>],
    basis: &[usize],
    dependent: &mut [(usize, Vec<f64>)],
    tolerance: impl Fn(usize, usize) -> f64,
) {
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
        if is_met(columns, *idx, basis, &cleaned, |row| tolerance(*idx, row)) {
            *solution = cleaned;
        }
    }
}

/// Whether a column is a combination of others within the tolerance of each row.
pub(crate) fn is_met(
    columns: &[Vec<f64>],
    idx: usize,
    basis: &[usize],
    solution: &[f64],
    tolerance: impl Fn(usize) -> f64,
) -> bool {
    let residual = residual(columns, idx, basis, solution);
    residual.iter().enumerate().all(|(row, value)| value.abs() <= tolerance(row))
}

/// The largest sum, over the rows, of the absolute values of a combination's terms, divided by the largest entry of the column.
fn amplification(columns: &[Vec<f64>], idx: usize, basis: &[usize], solution: &[f64]) -> f64 {
    let mut sizes = vec![0.0; columns[idx].len()];
    for (&of_basis, &coefficient) in basis.iter().zip(solution).filter(|(_, coefficient)| **coefficient != 0.0) {
        sizes.iter_mut().zip(&columns[of_basis]).for_each(|(size, part)| *size += (coefficient * part).abs());
    }
    let largest = |column: &[f64]| column.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    largest(&sizes) / largest(&columns[idx])
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

/// In [`LANES`] sums, which the compiler keeps in one register.
fn dot(left: &[f64], right: &[f64]) -> f64 {
    let (lefts, left_rest) = left.as_chunks::<LANES>();
    let (rights, right_rest) = right.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (left, right) in lefts.iter().zip(rights) {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    }
    let rest: f64 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f64>() + rest
}

fn norm(column: &[f64]) -> f64 {
    dot(column, column).sqrt()
}

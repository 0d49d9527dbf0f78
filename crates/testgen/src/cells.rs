//! Cells: a number of points and functions, and tables of the functions' values at the points.
//!
//! Tables have what forms look for: functions that add up to one or that are made of others, zeros where others have none, equal points, identities,
//! values that depend on one digit of the point, mirror images.

use nestegg_ir::{ArrayId, Dtype, ExprId};

use crate::builder::{Builder, Role};
use crate::space::Size;

/// How many numbers select among tables.
const N_SELECTORS: i64 = 2;

/// Points and functions, and tables.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) n_points: i64,
    pub(crate) n_functions: i64,
    /// A number for each point.
    pub(crate) weights: ArrayId,
    /// A number for each point and function; for each value of a selector, if there is an array of these.
    pub(crate) tables: Vec<ArrayId>,
    /// Two numbers that select among the members of tables.
    pub(crate) selectors: Option<ArrayId>,
}

/// What the tables of a cell have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Plain,
    /// Points are pairs of digits to this base.
    Digits(usize),
    /// Points and functions have mirror images.
    Mirrored,
    /// There is a function for each point.
    Collocated,
}

impl Builder<'_> {
    /// An old cell or a new one.
    pub(crate) fn cell(&mut self) -> Cell {
        if !self.cells.is_empty() && !self.chance(30) {
            let at = self.position(self.cells.len());
            return self.cells[at].clone();
        }
        let (n_points, n_functions, family) = match self.weighted(&[8, 2, 2, 2]) {
            0 => (self.pick(&[2, 3, 4, 5, 6, 7]), self.pick(&[2, 3, 4, 5]), Family::Plain),
            1 => {
                let (high, low) = (self.between(2, 3), self.between(2, 3));
                (high * low, self.between(2, 3), Family::Digits(low as usize))
            }
            2 => (self.between(3, 6), self.between(2, 5), Family::Mirrored),
            _ => {
                let n = self.between(2, 4);
                (n, n, Family::Collocated)
            }
        };
        let n_tables = 1 + self.weighted(&[3, 4, 2, 1]);
        let weights = (0..n_points).map(|_| self.entry()).collect();
        let mut rows = vec![weights];
        if family == Family::Mirrored {
            mirror(&mut rows, 1.0, 1);
        }
        let weights = self.table(vec![Size::Const(n_points)], rows);
        let mut tables = Vec::new();
        let n_members = self.chance(self.knobs.selected).then(|| self.between(2, 3));
        for idx in 0..n_tables {
            let mut rows = Vec::new();
            for _ in 0..n_members.unwrap_or(1) {
                rows.extend(self.cell_rows(idx, (n_points as usize, n_functions as usize), family));
            }
            let shape = n_members.into_iter().chain([n_points, n_functions]).map(Size::Const).collect();
            tables.push(self.table(shape, rows));
        }
        let role = |n: i64| Role::Index(Size::Const(n));
        let selectors = n_members.map(|n| self.declare(role(n), Dtype::Int32, vec![Size::Const(N_SELECTORS)]));
        let cell = Cell { n_points, n_functions, weights, tables, selectors };
        self.cells.push(cell.clone());
        cell
    }

    /// An element of a table of a cell, of the member that one of its numbers selects; the first of them if `is_first`.
    pub(crate) fn of_cell(&mut self, cell: &Cell, table: ArrayId, at: [ExprId; 2], is_first: bool) -> ExprId {
        let mut indices = Vec::with_capacity(3);
        if let Some(selectors) = cell.selectors {
            let number = if is_first { 0 } else { self.between(0, N_SELECTORS - 1) };
            let number = self.kernel.exprs.int(number);
            indices.push(self.read(selectors, [number].into()));
        }
        indices.extend(at);
        self.read(table, indices.into())
    }

    /// The entries of a table, a row for each point.
    fn cell_rows(&mut self, idx: usize, (n_points, n_functions): (usize, usize), family: Family) -> Vec<Vec<f64>> {
        let mut rows: Vec<Vec<f64>> = (0..n_points).map(|_| (0..n_functions).map(|_| self.entry()).collect()).collect();
        self.structure(&mut rows);
        match family {
            Family::Digits(low) => {
                let is_high = idx.is_multiple_of(2);
                let all = rows.clone();
                for (point, row) in rows.iter_mut().enumerate() {
                    *row = all[if is_high { point / low * low } else { point % low }].clone();
                }
            }
            Family::Mirrored => {
                let sign = if self.chance(50) { -1.0 } else { 1.0 };
                mirror(&mut rows, sign, n_points);
            }
            Family::Collocated if idx == 0 => {
                for (point, row) in rows.iter_mut().enumerate() {
                    row.iter_mut().enumerate().for_each(|(at, value)| *value = f64::from(u8::from(at == point)));
                }
            }
            Family::Plain | Family::Collocated => {}
        }
        rows
    }

    /// Relations between rows or columns.
    fn structure(&mut self, rows: &mut [Vec<f64>]) {
        let n = rows[0].len();
        match self.weighted(&[4, 3, 2, 2, 2, 1, 1]) {
            // The functions add up to one.
            1 => rows.iter_mut().for_each(|row| row[n - 1] = 1.0 - row[..n - 1].iter().sum::<f64>()),
            // They are constant.
            2 => {
                let first = rows[0].clone();
                rows.iter_mut().for_each(|row| row.clone_from(&first));
            }
            // Some are nothing.
            3 => {
                let cut = self.position(n);
                let is_first = self.chance(50);
                for row in rows {
                    row.iter_mut().enumerate().filter(|(at, _)| (*at < cut) == is_first).for_each(|pair| *pair.1 = 0.0);
                }
            }
            // One is a multiple of another.
            4 => {
                let (from, to, factor) = (self.position(n), self.position(n), self.pick(&[1.0, -1.0, 2.0, 0.0]));
                rows.iter_mut().for_each(|row| row[to] = factor * row[from]);
            }
            // Some points are alike.
            5 => {
                let (from, to) = (self.position(rows.len()), self.position(rows.len()));
                rows[to] = rows[from].clone();
            }
            // One is what two others make.
            6 if n > 2 => rows.iter_mut().for_each(|row| row[n - 1] = 0.5 * row[0] - row[1]),
            _ => {}
        }
    }

    fn entry(&mut self) -> f64 {
        match self.weighted(&[4, 4, 2]) {
            0 => self.between(-16, 16) as f64 / 16.0,
            1 => self.between(-19, 19) as f64 / 10.0,
            _ => self.pick(&[1.0, 0.0, -1.0, 1.0 / 3.0, 0.25]),
        }
    }
}

/// Makes the last rows mirror images of the first ones, up to the sign, and of each other in the middle.
fn mirror(rows: &mut [Vec<f64>], sign: f64, n_points: usize) {
    for point in 0..rows.len() {
        let n = rows[point].len();
        let image = rows.len() - 1 - point;
        for at in 0..n {
            if (image, n - 1 - at) > (point, at) {
                rows[image][n - 1 - at] = sign * rows[point][at];
            } else if (image, n - 1 - at) == (point, at) && sign < 0.0 && n_points > 1 {
                rows[point][at] = 0.0;
            }
        }
    }
}

//! Systems of linear constraints over the integers: normal form, substitution, intervals.
//!
//! Arithmetic is in 128 bits and checked: constraints of isl have coefficients of 64 bits and few are combined.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_integer::Integer;

use crate::error::{Error, Result};

/// `Σ coefficient·variable + constant`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub(super) coefficients: Vec<i128>,
    pub(super) constant: i128,
}

fn overflow() -> Error {
    Error::Overflow("in a count, beyond 128 bits".to_string())
}

impl Row {
    pub(super) fn constant(n: usize, constant: i128) -> Row {
        Row { coefficients: vec![0; n], constant }
    }

    /// `self * factor`.
    pub(super) fn scale(&self, factor: i128) -> Result<Row> {
        Row::constant(self.coefficients.len(), 0).add_scaled(self, factor)
    }

    /// `self + factor * other`.
    pub(super) fn add_scaled(&self, other: &Row, factor: i128) -> Result<Row> {
        let add = |a: i128, b: i128| b.checked_mul(factor).and_then(|p| a.checked_add(p)).ok_or_else(overflow);
        let pairs = self.coefficients.iter().zip(&other.coefficients);
        Ok(Row {
            coefficients: pairs.map(|(a, b)| add(*a, *b)).collect::<Result<_>>()?,
            constant: add(self.constant, other.constant)?,
        })
    }

    /// The row with an affine expression (in which the variable may itself occur) in place of a variable.
    fn substitute(&self, var: usize, value: &Row) -> Result<Row> {
        let coefficient = self.coefficients[var];
        if coefficient == 0 {
            return Ok(self.clone());
        }
        let mut rest = self.clone();
        rest.coefficients[var] = 0;
        rest.add_scaled(value, coefficient)
    }

    fn gcd(&self) -> i128 {
        self.coefficients.iter().fold(0, |g, c| g.gcd(c))
    }

    /// The variables that occur.
    pub(super) fn variables(&self) -> impl Iterator<Item = usize> + '_ {
        self.coefficients.iter().enumerate().filter(|(_, c)| **c != 0).map(|(at, _)| at)
    }

    /// The only variable that occurs, if there is only one.
    fn single(&self) -> Option<usize> {
        let mut variables = self.variables();
        let first = variables.next()?;
        variables.next().is_none().then_some(first)
    }
}

/// The least and greatest value of each variable, where known.
pub(super) type Intervals = Vec<(Option<i128>, Option<i128>)>;

/// Constraints that hold together, on variables of which some are eliminated.
#[derive(Debug, Clone)]
pub(super) struct System {
    /// Which variables are still to be counted over.
    pub(super) alive: Vec<bool>,
    /// Rows that are zero.
    pub(super) equalities: Vec<Row>,
    /// Rows that are at least zero.
    pub(super) inequalities: Vec<Row>,
}

impl System {
    /// No constraint on `n` variables.
    pub(super) fn new(n: usize) -> System {
        System { alive: vec![true; n], equalities: Vec::new(), inequalities: Vec::new() }
    }

    /// The number of variables, eliminated ones included.
    pub(super) fn n(&self) -> usize {
        self.alive.len()
    }

    /// The variables still to be counted over.
    pub(super) fn live(&self) -> impl Iterator<Item = usize> + '_ {
        self.alive.iter().enumerate().filter(|(_, alive)| **alive).map(|(at, _)| at)
    }

    /// Replaces a variable by an affine expression everywhere.
    pub(super) fn substitute(&mut self, var: usize, value: &Row) -> Result<()> {
        for row in self.equalities.iter_mut().chain(&mut self.inequalities) {
            *row = row.substitute(var, value)?;
        }
        Ok(())
    }

    /// Divides rows by their common factors, rounding inequalities to the integers, keeps the tightest of parallel rows,
    /// turns opposite inequalities into equalities, and drops rows that the intervals of their variables imply. `false` if a contradiction shows.
    pub(super) fn normalize(&mut self) -> Result<bool> {
        let mut tightest: BTreeMap<Vec<i128>, i128> = BTreeMap::new();
        for mut row in std::mem::take(&mut self.inequalities) {
            let gcd = row.gcd();
            if gcd == 0 {
                if row.constant < 0 {
                    return Ok(false);
                }
                continue;
            }
            row.coefficients.iter_mut().for_each(|c| *c /= gcd);
            let constant = row.constant.div_euclid(gcd);
            let least = tightest.entry(row.coefficients).or_insert(constant);
            *least = constant.min(*least);
        }
        for (coefficients, constant) in &tightest {
            let opposite: Vec<i128> = coefficients.iter().map(|c| -c).collect();
            let row = Row { coefficients: coefficients.clone(), constant: *constant };
            match tightest.get(&opposite).map(|other| constant.checked_add(*other).ok_or_else(overflow)).transpose()? {
                Some(width) if width < 0 => return Ok(false),
                Some(0) if *coefficients > opposite => self.equalities.push(row),
                Some(0) => {}
                _ => self.inequalities.push(row),
            }
        }
        for mut row in std::mem::take(&mut self.equalities) {
            let gcd = row.gcd();
            if gcd == 0 && row.constant == 0 {
                continue;
            }
            if gcd == 0 || row.constant % gcd != 0 {
                return Ok(false);
            }
            row.coefficients.iter_mut().for_each(|c| *c /= gcd);
            row.constant /= gcd;
            self.equalities.push(row);
        }
        Ok(self.drop_implied())
    }

    /// Drops rows of several variables that hold throughout the box of the rows of one variable; `false` if one fails throughout.
    fn drop_implied(&mut self) -> bool {
        let intervals = self.box_intervals();
        let mut possible = true;
        self.inequalities.retain(|row| {
            possible &= extreme(row, &intervals, true).is_none_or(|greatest| greatest >= 0);
            row.single().is_some() || extreme(row, &intervals, false).is_none_or(|least| least < 0)
        });
        possible
    }

    /// What the rows of one variable say; such rows are normalized to unit coefficients.
    fn box_intervals(&self) -> Intervals {
        let mut intervals: Intervals = vec![(None, None); self.n()];
        for row in &self.inequalities {
            if let Some(var) = row.single() {
                let (least, greatest) = &mut intervals[var];
                match row.coefficients[var] {
                    1 => *least = Some(-row.constant),
                    -1 => *greatest = Some(row.constant),
                    _ => {}
                }
            }
        }
        intervals
    }

    /// How many points a box has; `None` where a row has several variables, or a variable no bounds. The system is normalized and has
    /// no equalities.
    pub(super) fn points_of_box(&self) -> Option<BigInt> {
        if self.inequalities.iter().any(|row| row.single().is_none()) {
            return None;
        }
        let intervals = self.box_intervals();
        let length = |var: usize| Some(BigInt::from(intervals[var].1?.checked_sub(intervals[var].0?)?) + 1);
        self.live().map(length).product()
    }

    /// The intervals that follow from all inequalities by a few rounds of propagation.
    pub(super) fn intervals(&self) -> Intervals {
        /// Rounds of propagation; bounds are estimates, so that stopping early only costs precision.
        const ROUNDS: usize = 3;
        let mut intervals = self.box_intervals();
        for _ in 0..ROUNDS {
            for row in &self.inequalities {
                for var in row.variables() {
                    let mut rest = row.clone();
                    rest.coefficients[var] = 0;
                    let Some(slack) = extreme(&rest, &intervals, true) else { continue };
                    let coefficient = row.coefficients[var];
                    let (least, greatest) = &mut intervals[var];
                    if coefficient > 0 {
                        let bound = Integer::div_ceil(&-slack, &coefficient);
                        *least = Some(least.map_or(bound, |old| old.max(bound)));
                    } else {
                        let bound = Integer::div_floor(&slack, &-coefficient);
                        *greatest = Some(greatest.map_or(bound, |old| old.min(bound)));
                    }
                }
            }
        }
        intervals
    }
}

/// The greatest or least value of a row over a box; `None` if unbounded or beyond 128 bits.
fn extreme(row: &Row, intervals: &Intervals, greatest: bool) -> Option<i128> {
    row.variables().try_fold(row.constant, |sum, var| {
        let coefficient = row.coefficients[var];
        let at = if (coefficient > 0) == greatest { intervals[var].1 } else { intervals[var].0 };
        sum.checked_add(coefficient.checked_mul(at?)?)
    })
}

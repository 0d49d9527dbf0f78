//! The points of a set of inames, and where they are found in smaller sets.

use nestegg_ir::InameId;
use rustc_hash::FxHashMap;

use crate::node::SetCode;

/// A block's set may have this many points at once.
const MAX_POINTS: usize = 1 << 26;

/// The points of a set for the current values of the outer inames.
#[derive(Debug, Default)]
pub(crate) struct Points {
    pub(crate) len: usize,
    /// For each iname of the set its value at each point.
    pub(crate) columns: Vec<Vec<i64>>,
    /// The least and greatest value of each iname.
    pub(crate) hull: Vec<(i64, i64)>,
    lookup: Option<Lookup>,
}

#[derive(Debug)]
enum Lookup {
    /// Positions of the points in the hull, row-major.
    Dense(Vec<u32>),
    /// Positions of tuples.
    Sparse(FxHashMap<Vec<i64>, u32>),
}

impl Points {
    /// Enumerates the points; `chunk` gives the values of the chunked iname. `None` if there are too many; else
    /// whether the points are the earlier ones, each iname shifted by the same for all: they are then found in other sets
    /// where they were before.
    pub(crate) fn fill(&mut self, set: &SetCode, env: &mut [i64], chunk: Option<(InameId, &[i64])>) -> Option<bool> {
        let mut columns: Vec<Vec<i64>> = Vec::with_capacity(set.inames.len());
        let mut len = 1;
        for (idx, (&iname, bounds)) in set.inames.iter().zip(&set.bounds).enumerate() {
            let mut next: Vec<Vec<i64>> = vec![Vec::new(); idx + 1];
            let varies = bounds.depends_on.iter().any(|other| set.inames[..idx].contains(other));
            let given = chunk.filter(|chunk| chunk.0 == iname).map(|chunk| chunk.1);
            let mut values: Vec<i64> = Vec::new();
            for point in 0..len {
                for (column, &outer) in columns.iter().zip(&set.inames) {
                    env[outer.index()] = column[point];
                }
                if point == 0 || varies {
                    values.clear();
                    match given {
                        Some(given) => values.extend(given),
                        None => {
                            let all = bounds.values(env)?;
                            if all.len() > MAX_POINTS {
                                return None;
                            }
                            values.extend(all.iter());
                        }
                    }
                }
                if next[idx].len() + values.len() > MAX_POINTS {
                    return None;
                }
                for (outer, column) in columns.iter().enumerate() {
                    let filled = next[outer].len() + values.len();
                    next[outer].resize(filled, column[point]);
                }
                next[idx].extend(&values);
            }
            len = next[idx].len();
            columns = next;
        }
        let range =
            |column: &Vec<i64>| (column.iter().copied().min().unwrap_or(0), column.iter().copied().max().unwrap_or(-1));
        let is_shifted = self.len == len && self.columns.iter().zip(&columns).all(|(old, new)| is_shift(old, new));
        self.hull = columns.iter().map(range).collect();
        self.columns = columns;
        self.len = len;
        self.lookup = None;
        Some(is_shifted)
    }

    fn dense_len(&self) -> Option<usize> {
        let mut len = 1_i128;
        for (lo, hi) in &self.hull {
            len = len.checked_mul(i128::from(*hi) - i128::from(*lo) + 1)?;
        }
        usize::try_from(len).ok().filter(|&len| len <= 8 * self.len + 1024)
    }

    fn prepare(&mut self) {
        if self.lookup.is_some() {
            return;
        }
        let lookup = match self.dense_len() {
            Some(len) => {
                let mut positions = vec![u32::MAX; len];
                for point in 0..self.len {
                    positions[self.dense_position(|idx| self.columns[idx][point])] = point as u32;
                }
                Lookup::Dense(positions)
            }
            None => {
                let tuple = |point: usize| self.columns.iter().map(|column| column[point]).collect();
                Lookup::Sparse((0..self.len).map(|point| (tuple(point), point as u32)).collect())
            }
        };
        self.lookup = Some(lookup);
    }

    fn dense_position(&self, value: impl Fn(usize) -> i64) -> usize {
        let mut position = 0;
        for (idx, (lo, hi)) in self.hull.iter().enumerate() {
            position = position * (hi - lo + 1) as usize + (value(idx) - lo) as usize;
        }
        position
    }
}

/// Whether all values differ by the same.
fn is_shift(old: &[i64], new: &[i64]) -> bool {
    let (Some(first_old), Some(first_new)) = (old.first(), new.first()) else { return old.len() == new.len() };
    let shift = first_new.wrapping_sub(*first_old);
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| new.wrapping_sub(*old) == shift)
}

/// For each point of `from` the position of its projection on `to`, whose inames are among those of `from`.
pub(crate) fn gather(from: &Points, from_inames: &[InameId], to: &mut Points, to_inames: &[InameId]) -> Vec<u32> {
    if to_inames.is_empty() {
        return vec![0; from.len];
    }
    to.prepare();
    let to = &*to;
    let columns: Vec<&Vec<i64>> = to_inames
        .iter()
        .filter_map(|iname| from_inames.iter().position(|other| other == iname))
        .map(|idx| &from.columns[idx])
        .collect();
    match &to.lookup {
        Some(Lookup::Dense(positions)) => {
            (0..from.len).map(|point| positions[to.dense_position(|idx| columns[idx][point])]).collect()
        }
        Some(Lookup::Sparse(positions)) => (0..from.len)
            .map(|point| {
                let tuple: Vec<i64> = columns.iter().map(|column| column[point]).collect();
                positions.get(&tuple).copied().unwrap_or(u32::MAX)
            })
            .collect(),
        None => Vec::new(),
    }
}

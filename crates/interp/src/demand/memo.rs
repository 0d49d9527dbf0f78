//! Values that are kept: one for each unit and point.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::demand::Value;
use crate::demand::plan::Plan;
use crate::error::Error;

/// A value, or why there is none.
pub(super) type Known<F> = Result<Value<F>, Arc<Error>>;

/// Units with at most so many points keep them in a list.
const MAX_DENSE: u128 = 512;

/// So many values are kept, and so many bytes; then all are forgotten.
const BUDGET: usize = 1 << 21;
const BUDGET_BYTES: usize = 1 << 27;

enum Table<F> {
    Dense(Vec<Option<Known<F>>>),
    /// Positions by key, and values: a table that grows moves no value.
    Sparse(FxHashMap<u128, u32>, Vec<Known<F>>),
}

pub(super) struct Memo<F> {
    tables: Vec<Table<F>>,
    len: usize,
}

impl<F: Clone> Memo<F> {
    pub(super) fn new(plan: &Plan<'_>) -> Self {
        let table = |&extent: &u128| match extent <= MAX_DENSE {
            true => Table::Dense(Vec::new()),
            false => Table::Sparse(FxHashMap::default(), Vec::new()),
        };
        Self { tables: plan.extents.iter().map(table).collect(), len: 0 }
    }

    #[inline]
    pub(super) fn get(&self, unit: usize, key: u128) -> Option<&Known<F>> {
        match &self.tables[unit] {
            Table::Dense(values) => values.get(key as usize)?.as_ref(),
            Table::Sparse(positions, values) => values.get(*positions.get(&key)? as usize),
        }
    }

    pub(super) fn insert(&mut self, unit: usize, key: u128, value: Known<F>) {
        if self.len >= BUDGET.min(BUDGET_BYTES / size_of::<Option<Known<F>>>().max(1)) {
            self.clear();
        }
        self.len += 1;
        match &mut self.tables[unit] {
            Table::Dense(values) => {
                let at = key as usize;
                if values.len() <= at {
                    values.resize(at + 1, None);
                }
                values[at] = Some(value);
            }
            Table::Sparse(positions, values) => match positions.entry(key) {
                Entry::Occupied(at) => values[*at.get() as usize] = value,
                Entry::Vacant(at) => {
                    // All tables together hold at most the budget.
                    at.insert(values.len() as u32);
                    values.push(value);
                }
            },
        }
    }

    fn clear(&mut self) {
        for table in &mut self.tables {
            match table {
                Table::Dense(values) => values.clear(),
                Table::Sparse(positions, values) => {
                    positions.clear();
                    values.clear();
                }
            }
        }
        self.len = 0;
    }
}

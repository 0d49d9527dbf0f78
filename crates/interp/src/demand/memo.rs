//! Values that are kept: one for each unit and point.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::demand::Value;
use crate::demand::plan::Plan;
use crate::error::Error;

/// A value, or why there is none.
pub(super) type Known<F> = Result<Value<F>, Arc<Error>>;

/// Units with at most so many points keep them in a list.
const MAX_DENSE: u128 = 512;

/// So many values are kept; then all are forgotten.
const BUDGET: usize = 1 << 21;

enum Table<F> {
    Dense(Vec<Option<Known<F>>>),
    Sparse(FxHashMap<u128, Known<F>>),
}

pub(super) struct Memo<F> {
    tables: Vec<Table<F>>,
    len: usize,
}

impl<F: Clone> Memo<F> {
    pub(super) fn new(plan: &Plan<'_>) -> Self {
        let table = |&extent: &u128| match extent <= MAX_DENSE {
            true => Table::Dense(Vec::new()),
            false => Table::Sparse(FxHashMap::default()),
        };
        Self { tables: plan.extents.iter().map(table).collect(), len: 0 }
    }

    #[inline]
    pub(super) fn get(&self, unit: usize, key: u128) -> Option<&Known<F>> {
        match &self.tables[unit] {
            Table::Dense(values) => values.get(key as usize)?.as_ref(),
            Table::Sparse(values) => values.get(&key),
        }
    }

    pub(super) fn insert(&mut self, unit: usize, key: u128, value: Known<F>) {
        if self.len == BUDGET {
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
            Table::Sparse(values) => {
                values.insert(key, value);
            }
        }
    }

    fn clear(&mut self) {
        for table in &mut self.tables {
            match table {
                Table::Dense(values) => values.clear(),
                Table::Sparse(values) => values.clear(),
            }
        }
        self.len = 0;
    }
}

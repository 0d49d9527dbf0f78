//! Integers that select among few elements, such as the number of a facet in `T[facet[0], q, j]`: all of their values.
//!
//! # Input
//! The integer arguments, and the values that keep all accesses inside.
//! # Output
//! For each number of a selection the value of each such element. All combinations of values occur if there are at most [`MAX_SELECTIONS`]; else every value of every element
//! does.
//! # Method
//! Elements are the digits of the number, or all count alike from where each begins.
//! Arrays of more than [`MAX_ELEMENTS`] elements are left alone: among so many of one data set the values occur anyway.

use nestegg_ir::ArrayId;
use rustc_hash::FxHashMap;

use crate::data::indices::Indices;
use crate::memory::Layout;

/// How many selections there are at most.
const MAX_SELECTIONS: u64 = 16;

/// How many elements an array may have.
const MAX_ELEMENTS: usize = 16;

/// One element.
#[derive(Clone, Copy, Debug)]
struct Selector {
    lower: i64,
    n_values: u64,
    /// How many selections pass until the next value.
    stride: u64,
    /// Where it begins.
    start: u64,
}

/// The elements of integer arguments that select among few.
#[derive(Clone, Debug, Default)]
pub(super) struct Selectors {
    of: FxHashMap<(ArrayId, usize), Selector>,
    n_selections: u64,
}

impl Selectors {
    pub(super) fn of<'l>(arguments: impl Iterator<Item = (ArrayId, &'l Layout)>, indices: &Indices) -> Self {
        let mut found = Vec::new();
        for (array, layout) in arguments.filter(|(_, layout)| layout.len <= MAX_ELEMENTS) {
            for position in 0..layout.len {
                let Some((lower, upper)) = indices.range(array, &layout.index(position)) else { continue };
                let n_values = upper.saturating_sub(lower).saturating_add(1).unsigned_abs();
                if (2..=MAX_SELECTIONS).contains(&n_values) {
                    found.push(((array, position), lower, n_values));
                }
            }
        }
        let n_combinations = found.iter().fold(1_u64, |n, (_, _, n_values)| n.saturating_mul(*n_values));
        let are_digits = n_combinations <= MAX_SELECTIONS;
        let longest = found.iter().map(|(_, _, n_values)| *n_values).max().unwrap_or(0);
        let n_selections = if are_digits && !found.is_empty() { n_combinations } else { longest };
        let mut stride = 1;
        let of = found.into_iter().zip(0..).map(|((element, lower, n_values), start)| {
            let selector = Selector { lower, n_values, stride, start: if are_digits { 0 } else { start } };
            if are_digits {
                stride *= n_values;
            }
            (element, selector)
        });
        Self { of: of.collect(), n_selections }
    }

    /// How many selections there are.
    pub(super) fn n_selections(&self) -> u64 {
        self.n_selections
    }

    /// The value of an element in a selection; `None` if it does not select among few.
    pub(super) fn value(&self, array: ArrayId, position: usize, number: u64) -> Option<i64> {
        let selector = self.of.get(&(array, position))?;
        let digit = (number / selector.stride + selector.start) % selector.n_values;
        selector.lower.checked_add_unsigned(digit)
    }
}

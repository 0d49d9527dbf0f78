//! Tables by their contents: equal ones are one.
//!
//! # Output
//! [`TablePool::get`] answers the table of a shape and these values, which is made if no table of the kernel holds them.
//! # Complexity
//! Linear in the entries of all tables.

use std::sync::Arc;

use nestegg_ir::names::Names;
use nestegg_ir::{Array, ArrayId, ArrayKind, Dtype, Exprs, Kernel, Number};
use rustc_hash::FxHashMap;

/// The contents of a table.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Contents {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Arc<[Number]>,
}

/// The tables of a kernel, and those that were made since.
pub(crate) struct TablePool {
    contents: Vec<Option<Contents>>,
    known: FxHashMap<Contents, ArrayId>,
    names: Names,
    new: Vec<Array>,
}

impl TablePool {
    /// The tables of a kernel.
    pub(crate) fn new(kernel: &Kernel) -> Self {
        let contents: Vec<Option<Contents>> = kernel.array_ids().map(|array| contents(kernel, array)).collect();
        let mut known = FxHashMap::default();
        for (array, contents) in kernel.array_ids().zip(&contents) {
            if let Some(contents) = contents {
                known.entry(contents.clone()).or_insert(array);
            }
        }
        Self { contents, known, names: Names::new(kernel), new: Vec::new() }
    }

    /// What a table of the kernel holds; `None` of other arrays.
    pub(crate) fn contents(&self, array: ArrayId) -> Option<&Contents> {
        self.contents.get(array.index())?.as_ref()
    }

    /// The first table that holds the same.
    pub(crate) fn first_equal(&self, array: ArrayId) -> ArrayId {
        self.contents(array).and_then(|contents| self.known.get(contents)).copied().unwrap_or(array)
    }

    /// The table of these contents; a new one is named after `stem`.
    pub(crate) fn get(&mut self, exprs: &mut Exprs, stem: &str, contents: Contents) -> ArrayId {
        if let Some(&known) = self.known.get(&contents) {
            return known;
        }
        let array = ArrayId::new(self.contents.len());
        self.new.push(Array {
            name: self.names.new_name(stem),
            dtype: contents.dtype,
            stored: None,
            shape: contents.shape.iter().map(|&size| exprs.int(size as i64)).collect(),
            kind: ArrayKind::Table(contents.values.clone()),
        });
        self.contents.push(Some(contents.clone()));
        self.known.insert(contents, array);
        array
    }

    /// A name that nothing has.
    pub(crate) fn new_name(&mut self, stem: &str) -> String {
        self.names.new_name(stem)
    }

    /// The tables that were made, behind the arrays of the kernel.
    pub(crate) fn finish(self, kernel: &mut Kernel) {
        kernel.arrays.extend(self.new);
    }
}

fn contents(kernel: &Kernel, array: ArrayId) -> Option<Contents> {
    let values = kernel[array].table()?.clone();
    Some(Contents { dtype: kernel[array].dtype, shape: kernel.constant_shape(array)?, values })
}

impl Contents {
    /// The entries where these dimensions have these indices: a table of the others. `None` if one is outside.
    pub(crate) fn slice(&self, fixed: &[Option<i64>]) -> Option<Self> {
        let mut values: Vec<Number> = self.values.to_vec();
        let mut shape = Vec::new();
        let mut inner: usize = self.shape.iter().product();
        // From the outermost dimension: `values` holds those before it that stay, and all after it.
        for (&size, &index) in self.shape.iter().zip(fixed) {
            inner /= size.max(1);
            match index {
                Some(index) => {
                    let index = usize::try_from(index).ok().filter(|&index| index < size)?;
                    let rows = values.chunks(size * inner);
                    values = rows.flat_map(|row| row[index * inner..(index + 1) * inner].iter().copied()).collect();
                }
                None => shape.push(size),
            }
        }
        Some(Self { dtype: self.dtype, shape, values: values.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_keep_the_order_of_other_dimensions() {
        let values: Vec<Number> = (0..24).map(Number::Int).collect();
        let whole = Contents { dtype: Dtype::Int64, shape: vec![2, 3, 4], values: values.into() };
        let middle = whole.slice(&[None, Some(1), None]).unwrap();
        assert_eq!(middle.shape, [2, 4]);
        assert_eq!(middle.values.to_vec(), [4, 5, 6, 7, 16, 17, 18, 19].map(Number::Int));
        let ends = whole.slice(&[Some(1), None, Some(2)]).unwrap();
        assert_eq!((ends.shape, ends.values.to_vec()), (vec![3], [14, 18, 22].map(Number::Int).to_vec()));
        assert!(whole.slice(&[Some(2), None, None]).is_none());
    }
}

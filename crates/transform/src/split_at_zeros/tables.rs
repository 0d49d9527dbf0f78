//! Constant tables of floats: their values in a box, and where slices change their non-zero entries.

use std::sync::Arc;

use nestegg_ir::{ArrayId, Dtype, Float, Kernel, Number, affine};

use crate::split_at_zeros::boxes::Interval;

/// What the entries of a part of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// All zero.
    Zero,
    /// All this value.
    Value(Float),
    /// Different, or there is none.
    Mixed,
}

/// Which entries along one dimension an access reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Along {
    /// The one at the value of the iname plus this.
    Shifted(i64),
    /// Any of these.
    Within(Interval),
}

/// Where the non-zero entries that an access reads change along an iname.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The values at which they are others than at the value before, in increasing order.
    pub(crate) all: Vec<i64>,
    /// From the first value at which there is one to after the last.
    pub(crate) block: Option<Interval>,
}

#[derive(Clone, Debug)]
struct Table {
    shape: Vec<i64>,
    values: Arc<[Number]>,
    dtype: Dtype,
    has_zero: bool,
}

/// The float tables of a kernel.
#[derive(Debug)]
pub(crate) struct Tables(Vec<Option<Table>>);

impl Tables {
    /// The float tables of a kernel.
    pub(crate) fn new(kernel: &Kernel) -> Self {
        Self(kernel.array_ids().map(|array| Table::new(kernel, array)).collect())
    }

    /// The shape, if this is a float table.
    pub(crate) fn shape(&self, array: ArrayId) -> Option<&[i64]> {
        self.0[array.index()].as_ref().map(|table| table.shape.as_slice())
    }

    /// Whether this is a float table with an entry that is zero.
    pub(crate) fn has_zero(&self, array: ArrayId) -> bool {
        self.0[array.index()].as_ref().is_some_and(|table| table.has_zero)
    }

    /// What a float table holds in a box, which need not be inside its shape.
    pub(crate) fn content(&self, array: ArrayId, part: &[Interval]) -> Content {
        let Some(table) = &self.0[array.index()] else { return Content::Mixed };
        let part: Vec<Interval> = part.iter().zip(&table.shape).map(|(&part, &size)| clamped(part, size)).collect();
        let mut entries = table.entries(&part);
        let Some(first) = entries.next() else { return Content::Mixed };
        let is_same = |value: f64| if first == 0.0 { value == 0.0 } else { value.to_bits() == first.to_bits() };
        if !entries.all(is_same) {
            return Content::Mixed;
        }
        match Float::new(first) {
            Some(_) if first == 0.0 => Content::Zero,
            // A literal is not rounded to the size of the table's entries.
            Some(value) if table.dtype == Dtype::Float64 || f64::from(first as f32) == first => Content::Value(value),
            _ => Content::Mixed,
        }
    }

    /// Where in an interval of an iname the non-zero entries change that an access reads; nothing if it reads
    /// outside of the table.
    pub(crate) fn changes(&self, array: ArrayId, dims: &[Along], (start, end): Interval) -> Option<Changes> {
        let table = self.0[array.index()].as_ref()?;
        let mut parts = Vec::with_capacity(dims.len());
        for (&along, &size) in dims.iter().zip(&table.shape) {
            match along {
                Along::Shifted(by) => {
                    let bounds = (start.checked_add(by), end.checked_add(by));
                    if !matches!(bounds, (Some(start), Some(end)) if 0 <= start && end <= size) {
                        return None;
                    }
                    parts.push((0, 0));
                }
                Along::Within(part) => parts.push(clamped(part, size)),
            }
        }
        let mut pattern_at = |value: i64| -> Vec<bool> {
            for (part, &along) in parts.iter_mut().zip(dims) {
                if let Along::Shifted(by) = along {
                    *part = (value + by, value + by + 1);
                }
            }
            table.entries(&parts).map(|entry| entry != 0.0).collect()
        };
        let mut res = Changes { all: Vec::new(), block: None };
        let mut last = None;
        for value in start..end {
            let pattern = pattern_at(value);
            if pattern.contains(&true) {
                res.block = Some((res.block.map_or(value, |block| block.0), value + 1));
            }
            if last.as_ref().is_some_and(|last| *last != pattern) {
                res.all.push(value);
            }
            last = Some(pattern);
        }
        Some(res)
    }
}

fn clamped((start, end): Interval, size: i64) -> Interval {
    (start.max(0), end.min(size))
}

impl Table {
    fn new(kernel: &Kernel, array: ArrayId) -> Option<Self> {
        let values = kernel[array].table()?;
        let dtype = kernel[array].dtype;
        if !dtype.is_float() {
            return None;
        }
        let size = |&size: &_| affine::of(&kernel.exprs, size)?.as_constant();
        let shape: Vec<i64> = kernel[array].shape.iter().map(size).collect::<Option<_>>()?;
        let n_entries = shape.iter().try_fold(1i64, |n, &size| n.checked_mul(size))?;
        if shape.iter().any(|&size| size < 0) || usize::try_from(n_entries).ok()? != values.len() {
            return None;
        }
        let has_zero = values.iter().any(|value| value.to_f64() == 0.0);
        Some(Self { shape, values: Arc::clone(values), dtype, has_zero })
    }

    /// The entries in a box inside the shape, row-major.
    fn entries<'a>(&'a self, part: &'a [Interval]) -> impl Iterator<Item = f64> + 'a {
        let is_empty = part.iter().any(|&(start, end)| start >= end);
        let mut next: Option<Vec<i64>> = (!is_empty).then(|| part.iter().map(|&(start, _)| start).collect());
        std::iter::from_fn(move || {
            let index = next.as_mut()?;
            let flat = index.iter().zip(&self.shape).fold(0, |flat, (&at, &size)| flat * size + at);
            let res = self.values[usize::try_from(flat).expect("the box is inside the shape")].to_f64();
            let mut dim = part.len();
            loop {
                if dim == 0 {
                    next = None;
                    break;
                }
                dim -= 1;
                index[dim] += 1;
                if index[dim] < part[dim].1 {
                    break;
                }
                index[dim] = part[dim].0;
            }
            Some(res)
        })
    }
}

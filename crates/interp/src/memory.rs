//! The arrays of a run: flat, row-major, one storage each.

use std::collections::BTreeMap;

use nestegg_ir::{Array, ArrayId, ArrayKind, Dtype, Kernel, Number, Stored};

use crate::error::{Error, Trap};
use crate::source::Source;
use crate::world::{Batch, World};

/// An array that is held may have this many elements.
const MAX_HELD: usize = 1 << 33;

/// Shape and strides of an array.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    /// The integer type that elements must fit, if it is not the dtype.
    pub(crate) stored: Option<Stored>,
    pub(crate) shape: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) len: usize,
}

impl Layout {
    /// The layout for the parameter values with which `source` was made.
    pub(crate) fn of(source: &Source, array: &Array) -> Result<Self, Error> {
        let size = |reason: &str| Error::Size { name: array.name.clone(), reason: reason.to_owned() };
        let mut shape = Vec::with_capacity(array.shape.len());
        for &expr in &array.shape {
            let value = source.constant(expr).ok_or_else(|| size("it is not an integer expression in parameters"))?;
            if value < 0 {
                return Err(size("it is negative"));
            }
            shape.push(value);
        }
        let mut strides = vec![0; shape.len()];
        let mut len = 1_i64;
        for (stride, extent) in strides.iter_mut().zip(&shape).rev() {
            *stride = len;
            len = len.checked_mul(*extent).ok_or_else(|| size("it is too large"))?;
        }
        let len = usize::try_from(len).map_err(|_| size("it is too large"))?;
        Ok(Self { name: array.name.clone(), dtype: array.dtype, stored: array.stored, shape, strides, len })
    }

    /// Whether a run may hold all elements.
    pub(crate) fn check_held(&self) -> Result<(), Error> {
        if self.len <= MAX_HELD {
            return Ok(());
        }
        let reason = format!("it has {} elements, a run may hold {MAX_HELD}", self.len);
        Err(Error::Size { name: self.name.clone(), reason })
    }

    pub(crate) fn all(kernel: &Kernel, source: &Source) -> Result<Vec<Self>, Error> {
        kernel.arrays.iter().map(|array| Self::of(source, array)).collect()
    }

    /// The index of each dimension of a flat position.
    pub(crate) fn index(&self, position: usize) -> Vec<i64> {
        let mut rest = position as i64;
        let mut index = Vec::with_capacity(self.shape.len());
        for &stride in &self.strides {
            index.push(rest / stride.max(1));
            rest %= stride.max(1);
        }
        index
    }

    /// Whether an index is within the shape.
    pub(crate) fn contains(&self, index: &[i64]) -> bool {
        index.len() == self.shape.len()
            && index.iter().zip(&self.shape).all(|(index, extent)| (0..*extent).contains(index))
    }

    /// The flat position of an index.
    pub(crate) fn position(&self, index: &[i64]) -> usize {
        let flat: i64 = index.iter().zip(&self.strides).map(|(index, stride)| index * stride).sum();
        usize::try_from(flat).unwrap_or(0)
    }

    pub(crate) fn out_of_bounds(&self, index: Vec<i64>) -> Trap {
        Trap::OutOfBounds { array: self.name.clone(), index }
    }

    pub(crate) fn uninitialised(&self, position: usize) -> Trap {
        Trap::Uninitialised { array: self.name.clone(), index: self.index(position) }
    }
}

/// Elements: floats in the world's form, or integers and truth values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data<F> {
    Floats(Vec<F>),
    Ints(Vec<i64>),
}

impl<F> Data<F> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Floats(values) => values.len(),
            Self::Ints(values) => values.len(),
        }
    }
}

/// One array.
#[derive(Clone, Debug)]
pub(crate) struct Storage<F> {
    pub(crate) data: Data<F>,
    /// Which elements have a value; absent if all have.
    pub(crate) is_set: Option<Vec<bool>>,
    /// The elements that were written without the world having a value for them, and why.
    pub(crate) undefined: BTreeMap<usize, Error>,
}

impl<F> Storage<F> {
    /// Elements that all have a value.
    pub(crate) fn full(data: Data<F>) -> Self {
        Self { data, is_set: None, undefined: BTreeMap::new() }
    }

    /// Notes that an element is written with a value, or with none.
    #[inline(always)]
    pub(crate) fn note(&mut self, position: usize, value: Result<(), Error>) {
        if let Some(is_set) = &mut self.is_set {
            is_set[position] = true;
        }
        match value {
            Ok(()) if self.undefined.is_empty() => {}
            Ok(()) => {
                self.undefined.remove(&position);
            }
            Err(error) => {
                self.undefined.insert(position, error);
            }
        }
    }

    /// Notes that any element may have been written, and that none has a value.
    pub(crate) fn note_all(&mut self, error: &Error) {
        if let Some(is_set) = &mut self.is_set {
            is_set.fill(true);
        }
        if self.undefined.len() < self.data.len() {
            self.undefined = (0..self.data.len()).map(|position| (position, error.clone())).collect();
        }
    }

    /// Why the element at a flat position has no value, though it was written.
    #[inline(always)]
    pub(crate) fn gap(&self, position: usize) -> Option<&Error> {
        if self.undefined.is_empty() { None } else { self.undefined.get(&position) }
    }

    /// Whether the element at a flat position has a value.
    pub(crate) fn has_value(&self, position: usize) -> bool {
        self.is_set.as_ref().is_none_or(|is_set| is_set[position])
    }
}

impl<F: Clone + Default> Storage<F> {
    /// An array without values.
    pub(crate) fn unset(dtype: Dtype, len: usize) -> Self {
        let data = if dtype.is_float() { Data::Floats(vec![F::default(); len]) } else { Data::Ints(vec![0; len]) };
        Self { data, is_set: Some(vec![false; len]), undefined: BTreeMap::new() }
    }
}

/// Values of a constant table.
pub(crate) fn table<W: World>(world: &W, array: &Array) -> Option<Storage<W::Float>> {
    let ArrayKind::Table(values) = &array.kind else { return None };
    let data = if array.dtype.is_float() {
        let value = |number: &Number| match *number {
            Number::Int(value) => world.integer(value),
            Number::Float(value) => world.literal(value.get()),
        };
        let round = array.dtype == Dtype::Float32;
        let rounded = |number| if round { world.round_single(value(number)) } else { value(number) };
        Data::Floats(values.iter().map(rounded).collect())
    } else {
        let value = |number: &Number| match *number {
            Number::Int(value) => value,
            Number::Float(value) => value.get() as i64,
        };
        Data::Ints(values.iter().map(value).collect())
    };
    Some(Storage::full(data))
}

/// The arrays of `kernel` with the tables filled in, everything else without values.
pub(crate) fn empty<W: Batch>(world: &W, kernel: &Kernel, layouts: &[Layout]) -> Vec<Storage<W::Float>> {
    let storage = |array: ArrayId| {
        table(world, &kernel[array]).unwrap_or_else(|| {
            let layout = &layouts[array.index()];
            Storage::unset(layout.dtype, layout.len)
        })
    };
    kernel.array_ids().map(storage).collect()
}

//! What a run starts from: parameter values and arrays.

use indexmap::IndexMap;
use nestegg_ir::{Dtype, Kernel, Stored, unstated};

use crate::data::{Plan, Profile};
use crate::error::Error;
use crate::memory::Data;

/// Elements of an array, flat and row-major; truth values are 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Of a float dtype.
    Floats(Vec<f64>),
    /// Of an integer dtype, or `bool`.
    Ints(Vec<i64>),
}

impl Values {
    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Floats(values) => values.len(),
            Self::Ints(values) => values.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Parameter values, and the arguments that a kernel reads, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// Every parameter of the kernel.
    pub parameters: IndexMap<String, i64>,
    /// Every argument that is read.
    pub arrays: IndexMap<String, Values>,
}

impl Inputs {
    /// Random arrays for a kernel: floats are dyadic, of size in [0.5, 2) and either sign; integers that serve as indices
    /// take any value that keeps the accesses inside their arrays, others are small. Each element depends on the seed, the argument's
    /// name and the position only. Parameters without value in `parameters` take their estimate.
    ///
    /// # Errors
    /// A parameter without value and estimate, an unusable size.
    pub fn random(kernel: &Kernel, parameters: &IndexMap<String, i64>, seed: u64) -> Result<Self, Error> {
        let plan = Plan::new(kernel, &[], parameters)?;
        plan.check_held()?;
        Ok(plan.data(seed, Profile::Signed, false).inputs())
    }
}

/// A number of size in [0.5, 2) with that many bits behind the point.
pub(crate) fn dyadic(hash: u64, n_bits: u32) -> f64 {
    let scale = (1_u64 << n_bits) as f64;
    let size = 0.5 + ((hash >> 1) % (3 << (n_bits - 1))) as f64 / scale;
    if hash & 1 == 0 { size } else { -size }
}

/// The value of each parameter, in the kernel's order. Unstated extents that are not given hold what the kernel accesses.
pub(crate) fn parameter_values(kernel: &Kernel, given: &IndexMap<String, i64>) -> Result<Vec<i64>, Error> {
    let given: Vec<(String, i64)> = given.iter().map(|(name, value)| (name.clone(), *value)).collect();
    let missing = |parameter: &nestegg_ir::Parameter| Error::MissingParameter { name: parameter.name.clone() };
    let values = unstated::values(kernel, &given).into_iter().zip(&kernel.parameters);
    values.map(|(value, parameter)| value.ok_or_else(|| missing(parameter))).collect()
}

/// Given numbers in the form of a world, rounded to the dtype; what is wrong with them, if they do not have it.
pub(crate) fn data<F>(
    values: &Values,
    (dtype, stored): (Dtype, Option<Stored>),
    literal: impl Fn(f64) -> F,
) -> Result<Data<F>, String> {
    let is_in_range = |value: &i64| match dtype {
        _ if stored.is_some_and(|stored| !stored.holds(*value)) => false,
        Dtype::Bool => matches!(value, 0 | 1),
        Dtype::Int32 => i32::try_from(*value).is_ok(),
        _ => true,
    };
    match values {
        Values::Floats(values) if dtype == Dtype::Float32 => {
            Ok(Data::Floats(values.iter().map(|&value| literal(f64::from(value as f32))).collect()))
        }
        Values::Floats(values) if dtype.is_float() => {
            Ok(Data::Floats(values.iter().map(|&value| literal(value)).collect()))
        }
        Values::Ints(values) if !dtype.is_float() => match values.iter().find(|value| !is_in_range(value)) {
            None => Ok(Data::Ints(values.clone())),
            Some(value) => Err(format!("{value} is no {}", stored.map_or(dtype.name(), Stored::name))),
        },
        _ => Err(format!("its dtype is {dtype}")),
    }
}

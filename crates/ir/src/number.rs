//! Scalar types and literal numbers.

use std::fmt;
use std::hash::{Hash, Hasher};

/// The type of a scalar or of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dtype {
    /// Truth value.
    Bool,
    /// 32-bit signed integer.
    Int32,
    /// 64-bit signed integer.
    Int64,
    /// IEEE binary32.
    Float32,
    /// IEEE binary64.
    Float64,
}

impl Dtype {
    /// All of them, in the order of [`Dtype::name`]'s documentation.
    pub const ALL: [Self; 5] = [Self::Bool, Self::Int32, Self::Int64, Self::Float32, Self::Float64];

    /// Its name in kernel dumps: `bool`, `int32`, `int64`, `float32`, `float64`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        }
    }

    /// The type of C that it is, after `<stdbool.h>` and `<stdint.h>`: `bool`, `int32_t`, `int64_t`, `float`, `double`.
    #[must_use]
    pub fn c_name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int32 => "int32_t",
            Self::Int64 => "int64_t",
            Self::Float32 => "float",
            Self::Float64 => "double",
        }
    }

    /// The dtype of that name in kernel dumps.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Whether it is `float32` or `float64`.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    /// Whether it is `int32` or `int64`.
    #[must_use]
    pub fn is_integer(self) -> bool {
        matches!(self, Self::Int32 | Self::Int64)
    }

    /// Bytes of one element in C.
    #[must_use]
    pub fn size(self) -> u64 {
        match self {
            Self::Bool => 1,
            Self::Int32 | Self::Float32 => 4,
            Self::Int64 | Self::Float64 => 8,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An integer type in which arrays may be held. Nothing is computed in it: an element that is read has the [dtype](Stored::dtype) that holds all its
/// values, and what is written must be one of them, as a sum must fit its dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stored {
    /// 8-bit signed integer.
    Int8,
    /// 16-bit signed integer.
    Int16,
    /// 8-bit unsigned integer.
    Uint8,
    /// 16-bit unsigned integer.
    Uint16,
    /// 32-bit unsigned integer.
    Uint32,
    /// 64-bit unsigned integer; values from 2^63 on have no place.
    Uint64,
}

impl Stored {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Int8, Self::Int16, Self::Uint8, Self::Uint16, Self::Uint32, Self::Uint64];

    /// Its name in kernel dumps: `int8`, `int16`, `uint8`, `uint16`, `uint32`, `uint64`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
        }
    }

    /// The type of that name in kernel dumps.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stored| stored.name() == name)
    }

    /// The type in which its values are computed with.
    #[must_use]
    pub fn dtype(self) -> Dtype {
        match self {
            Self::Int8 | Self::Int16 | Self::Uint8 | Self::Uint16 => Dtype::Int32,
            Self::Uint32 | Self::Uint64 => Dtype::Int64,
        }
    }

    /// Its least and its greatest value.
    #[must_use]
    pub fn range(self) -> (i64, i64) {
        match self {
            Self::Int8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
            Self::Int16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
            Self::Uint8 => (0, i64::from(u8::MAX)),
            Self::Uint16 => (0, i64::from(u16::MAX)),
            Self::Uint32 => (0, i64::from(u32::MAX)),
            Self::Uint64 => (0, i64::MAX),
        }
    }

    /// Whether it has that value.
    #[must_use]
    pub fn holds(self, value: i64) -> bool {
        let (least, greatest) = self.range();
        (least..=greatest).contains(&value)
    }

    /// Bytes of one element in C.
    #[must_use]
    pub fn size(self) -> u64 {
        match self {
            Self::Int8 | Self::Uint8 => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Uint32 => 4,
            Self::Uint64 => 8,
        }
    }
}

/// A finite float literal; equality and hash are those of its bits (so `0.0` and `-0.0` differ).
#[derive(Clone, Copy)]
pub struct Float(f64);

impl Float {
    /// A literal of that value; `None` if it is not finite.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self(value))
    }

    /// Its value.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Float {}

impl Hash for Float {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl PartialOrd for Float {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Float {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Debug for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Prints the shortest decimal that reads back as the same bits, always with a point or an exponent.
impl fmt::Display for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A literal number as written: with a point or an exponent a float, otherwise an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Number {
    /// An integer literal.
    Int(i64),
    /// A float literal.
    Float(Float),
}

impl Number {
    /// Its value as a float (integers beyond 2^53 round).
    #[must_use]
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value.get(),
        }
    }

    /// The number as float32 holds it; one that float32 cannot hold stays as it is.
    #[must_use]
    pub fn to_single(self) -> Self {
        let rounded = f64::from(self.to_f64() as f32);
        match self {
            Self::Int(value) if rounded as i128 == i128::from(value) => self,
            _ => Float::new(rounded).map_or(self, Self::Float),
        }
    }

    /// The fewest digits that name this number among those of float32, if it is one.
    #[must_use]
    pub fn single_digits(self) -> String {
        match self {
            Self::Float(value) if f64::from(value.get() as f32) == value.get() => format!("{:?}", value.get() as f32),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision() {
        let single = |value: f64| Number::Float(Float::new(value).unwrap()).to_single();
        assert_eq!(single(0.1).to_f64(), f64::from(0.1_f32));
        assert_eq!(single(0.1).single_digits(), "0.1");
        assert_eq!(single(-1e-20).single_digits(), "-1e-20");
        assert_eq!(single(1e300).to_f64(), 1e300, "float32 has no such number");
        assert_eq!(Number::Int(16_777_217).to_single().to_f64(), 16_777_216.0);
        assert_eq!(Number::Int(3).to_single(), Number::Int(3));
    }
}

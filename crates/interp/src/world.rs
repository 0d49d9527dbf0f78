//! What a float is: the worlds in which a kernel can be run.
//!
//! The machine evaluates integers and truth values itself, exactly. Everything it does with floats goes through a
//! [`World`]: IEEE arithmetic ([`Floats`](crate::float::Floats)), a prime field ([`Field`](crate::field::Field)),
//! floats with a bound of their condition ([`Conditioned`](crate::conditioned::Conditioned)), floats in doubled precision
//! ([`Doubled`](crate::doubled::Doubled)), or real numbers in high precision ([`Real`](crate::real::Real)).

use std::fmt::Debug;

use crate::math::Math;

/// A function that expressions call.
#[derive(Clone)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: String,
    /// Its meaning in floats, if it is one of math.h's.
    pub(crate) math: Option<Math>,
    /// A hash of its name.
    pub(crate) hash: u64,
    /// Whether a function without meaning has one made up: [`stand_in`].
    pub(crate) has_stand_in: bool,
}

/// A stand-in's derivative in any argument is at most this.
pub(crate) const MAX_STAND_IN_SLOPE: f64 = 1.5;

/// The value that stands for result `result` of a function that only the kernel's user knows: smooth and of moderate size,
/// so that rounded arguments give nearly the same, and different for different names, results and positions of arguments.
pub(crate) fn stand_in(function: &Function, result: u64, arguments: &[f64]) -> f64 {
    let weight = |position| stand_in_weight(function, result, position);
    let phase = arguments.iter().enumerate().fold(weight(0), |sum, (idx, x)| sum + weight(idx as u64 + 1) * x);
    1.5 + libm::sin(phase)
}

/// The weight of the argument before this position in the phase of a stand-in, which is the sine of its phase and 1.5; that of position 0
/// is where it starts.
pub(crate) fn stand_in_weight(function: &Function, result: u64, position: u64) -> f64 {
    let hash = hash_with(hash_with(function.hash, result), position);
    0.5 + (hash >> 11) as f64 / (1_u64 << 53) as f64
}

/// One operand of a batch: a value for each point, or one for all.
#[derive(Clone, Copy)]
pub(crate) enum Operand<'a, T> {
    Each(&'a [T]),
    One(T),
}

impl<T: Clone> Operand<'_, T> {
    #[inline(always)]
    pub(crate) fn get(&self, idx: usize) -> T {
        match self {
            Self::Each(values) => values[idx].clone(),
            Self::One(value) => value.clone(),
        }
    }
}

/// Arithmetic on the values that stand for floats.
pub(crate) trait World {
    /// What stands for a float.
    type Float: Clone + Default + Debug + PartialEq;

    /// Whether float32 results are rounded.
    const ROUNDS: bool;

    fn literal(&self, value: f64) -> Self::Float;
    fn integer(&self, value: i64) -> Self::Float;
    /// C's conversion to an integer; `None` if this world cannot tell, or the value does not fit.
    fn truncate(&self, value: Self::Float) -> Option<i64>;
    /// Rounds to float32.
    fn round_single(&self, value: Self::Float) -> Self::Float;
    fn add(&self, a: Self::Float, b: Self::Float) -> Self::Float;
    fn sub(&self, a: Self::Float, b: Self::Float) -> Self::Float;
    fn mul(&self, a: Self::Float, b: Self::Float) -> Self::Float;
    fn neg(&self, a: Self::Float) -> Self::Float;
    /// The quotient; `None` if there is none.
    fn quotient(&self, a: Self::Float, b: Self::Float) -> Option<Self::Float>;
    /// Divides `left` in place; gives `undefined` the positions where there is no quotient.
    fn divide(&self, left: &mut [Self::Float], right: Operand<'_, Self::Float>, undefined: &mut Vec<usize>) {
        for (idx, a) in left.iter_mut().enumerate() {
            match self.quotient(a.clone(), right.get(idx)) {
                Some(value) => *a = value,
                None => undefined.push(idx),
            }
        }
    }
    fn less(&self, a: Self::Float, b: Self::Float) -> bool;
    fn equal(&self, a: Self::Float, b: Self::Float) -> bool;
    fn less_equal(&self, a: Self::Float, b: Self::Float) -> bool {
        self.less(a.clone(), b.clone()) || self.equal(a, b)
    }
    fn min(&self, a: Self::Float, b: Self::Float) -> Self::Float;
    fn max(&self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// The greatest or least value that there is: what an empty minimum or maximum is.
    fn infinity(&self, negative: bool) -> Self::Float;
    /// A power with a literal whole exponent; `None` if there is none.
    fn power(&self, base: Self::Float, exponent: i64) -> Option<Self::Float>;
    /// Any other power; `None` if there is none.
    fn power_any(&self, base: Self::Float, exponent: Self::Float) -> Option<Self::Float>;
    /// The quotient rounded down; `None` if there is none.
    fn floor_div(&self, a: Self::Float, b: Self::Float) -> Option<Self::Float>;
    /// `a − b·floor(a/b)`; `None` if there is none.
    fn modulo(&self, a: Self::Float, b: Self::Float) -> Option<Self::Float>;
    /// Result `result` of a function; `None` if this world does not know it.
    fn call(&self, function: &Function, result: u64, arguments: &[Self::Float]) -> Option<Self::Float>;
    /// The value of a random oracle; `None` if this world has none.
    fn oracle(&self, hash: u64) -> Option<Self::Float>;
    /// A hash of the value, for oracles.
    fn hash(&self, value: Self::Float) -> u64;
    /// Why `truncate`, `call` or `oracle` answered `None`.
    fn name(&self) -> &'static str;
}

/// A world whose values are plain numbers, as the machine needs them: it evaluates many points at once.
pub(crate) trait Batch: World<Float: Copy + Send + Sync> + Sync {}

impl<W: World<Float: Copy + Send + Sync> + Sync> Batch for W {}

/// Mixes the bits of a number: a bijection (the finalizer of splitmix64).
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Adds a number to a hash.
pub(crate) fn hash_with(hash: u64, value: u64) -> u64 {
    mix(hash.rotate_left(23).wrapping_add(0x9e37_79b9_7f4a_7c15) ^ mix(value.wrapping_add(0x632b_e59b_d9b4_e019)))
}

/// A hash of a text.
pub(crate) fn hash_text(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| hash_with(hash, u64::from(byte)))
}

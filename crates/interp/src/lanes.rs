//! The world of several floats side by side: one evaluation for as many data sets.
//!
//! # Input
//! Literals, tables and integers, which all lanes share, and floats of data, which differ from lane to lane.
//! # Output
//! In each lane what [`Floats`] would compute on its data, as long as no decision goes one way in one lane and another way in another:
//! [`Lanes::are_apart`] says if one did, and then the values of all lanes but the first mean nothing.
//! # Complexity
//! The arithmetic of each lane; what an operation costs beside its arithmetic is paid once for all.

use std::cell::Cell;

use crate::float::Floats;
use crate::world::{Function, World};

/// How many data sets are evaluated at once.
pub(crate) const N_LANES: usize = 16;

/// A float of each data set.
pub(crate) type Lane = [f64; N_LANES];

/// Floats side by side.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    are_apart: Cell<bool>,
}

impl Lanes {
    /// Whether a decision did not go the same way in all lanes.
    pub(crate) fn are_apart(&self) -> bool {
        self.are_apart.get()
    }

    /// What all lanes decide; that of the first lane if they do not agree.
    fn agreed<T: PartialEq>(&self, decide: impl Fn(usize) -> T) -> T {
        let first = decide(0);
        if (1..N_LANES).any(|lane| decide(lane) != first) {
            self.are_apart.set(true);
        }
        first
    }
}

#[inline(always)]
fn each(value: impl Fn(usize) -> f64) -> Lane {
    std::array::from_fn(value)
}

/// Floats have all of these; a lane in which there is none has no number.
#[inline(always)]
fn each_of(value: impl Fn(usize) -> Option<f64>) -> Option<Lane> {
    Some(each(|lane| value(lane).unwrap_or(f64::NAN)))
}

impl World for Lanes {
    type Float = Lane;

    const ROUNDS: bool = Floats::ROUNDS;

    #[inline(always)]
    fn literal(&self, value: f64) -> Lane {
        [value; N_LANES]
    }

    #[inline(always)]
    fn integer(&self, value: i64) -> Lane {
        [Floats.integer(value); N_LANES]
    }

    fn truncate(&self, value: Lane) -> Option<i64> {
        self.agreed(|lane| Floats.truncate(value[lane]))
    }

    #[inline(always)]
    fn round_single(&self, value: Lane) -> Lane {
        each(|lane| Floats.round_single(value[lane]))
    }

    #[inline(always)]
    fn add(&self, a: Lane, b: Lane) -> Lane {
        each(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    fn sub(&self, a: Lane, b: Lane) -> Lane {
        each(|lane| a[lane] - b[lane])
    }

    #[inline(always)]
    fn mul(&self, a: Lane, b: Lane) -> Lane {
        each(|lane| a[lane] * b[lane])
    }

    #[inline(always)]
    fn neg(&self, a: Lane) -> Lane {
        each(|lane| -a[lane])
    }

    #[inline(always)]
    fn quotient(&self, a: Lane, b: Lane) -> Option<Lane> {
        Some(each(|lane| a[lane] / b[lane]))
    }

    fn less(&self, a: Lane, b: Lane) -> bool {
        self.agreed(|lane| Floats.less(a[lane], b[lane]))
    }

    fn equal(&self, a: Lane, b: Lane) -> bool {
        self.agreed(|lane| Floats.equal(a[lane], b[lane]))
    }

    fn less_equal(&self, a: Lane, b: Lane) -> bool {
        self.agreed(|lane| Floats.less_equal(a[lane], b[lane]))
    }

    fn min(&self, a: Lane, b: Lane) -> Lane {
        each(|lane| Floats.min(a[lane], b[lane]))
    }

    fn max(&self, a: Lane, b: Lane) -> Lane {
        each(|lane| Floats.max(a[lane], b[lane]))
    }

    fn infinity(&self, negative: bool) -> Lane {
        [Floats.infinity(negative); N_LANES]
    }

    fn power(&self, base: Lane, exponent: i64) -> Option<Lane> {
        each_of(|lane| Floats.power(base[lane], exponent))
    }

    fn power_any(&self, base: Lane, exponent: Lane) -> Option<Lane> {
        each_of(|lane| Floats.power_any(base[lane], exponent[lane]))
    }

    fn floor_div(&self, a: Lane, b: Lane) -> Option<Lane> {
        each_of(|lane| Floats.floor_div(a[lane], b[lane]))
    }

    fn modulo(&self, a: Lane, b: Lane) -> Option<Lane> {
        each_of(|lane| Floats.modulo(a[lane], b[lane]))
    }

    fn call(&self, function: &Function, result: u64, arguments: &[Lane]) -> Option<Lane> {
        if function.math.is_none() && !function.has_stand_in {
            return None;
        }
        let mut of_lane = vec![0.0; arguments.len()];
        let mut res = [0.0; N_LANES];
        for (lane, res) in res.iter_mut().enumerate() {
            of_lane.iter_mut().zip(arguments).for_each(|(own, argument)| *own = argument[lane]);
            *res = Floats.call(function, result, &of_lane)?;
        }
        Some(res)
    }

    fn oracle(&self, hash: u64) -> Option<Lane> {
        Floats.oracle(hash).map(|value| [value; N_LANES])
    }

    fn hash(&self, value: Lane) -> u64 {
        self.agreed(|lane| Floats.hash(value[lane]))
    }

    fn name(&self) -> &'static str {
        Floats.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_is_what_floats_compute() {
        let a: Lane = std::array::from_fn(|lane| 0.3 + lane as f64);
        let b: Lane = std::array::from_fn(|lane| 1.7 - lane as f64 / 3.1);
        let lanes = Lanes::default();
        let found = lanes.quotient(lanes.add(lanes.mul(a, b), lanes.literal(2.0)), lanes.neg(b)).unwrap();
        for lane in 0..N_LANES {
            assert_eq!(found[lane].to_bits(), ((a[lane] * b[lane] + 2.0) / -b[lane]).to_bits());
        }
        assert!(!lanes.are_apart());
    }

    #[test]
    fn a_decision_that_differs_is_noticed() {
        let lanes = Lanes::default();
        let a: Lane = std::array::from_fn(|lane| lane as f64);
        assert!(lanes.less(a, lanes.literal(100.0)));
        assert!(!lanes.are_apart());
        assert!(lanes.less(a, lanes.literal(4.0)), "the first lane decides");
        assert!(lanes.are_apart());
    }
}

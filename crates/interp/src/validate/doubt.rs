//! Differences that rounding may have made.
//!
//! # Input
//! Programs that decide on data, and a difference that they showed.
//! # Output
//! The difference, if it is one.
//! # Method
//! Bold data are chosen beside the constants of comparisons, so the two sides of a comparison may be neighbours among floats, or equal. Both exact
//! arithmetic, which orders numbers as their floats are, and floats then decide by how they round, and a right result may decide otherwise.
//! On any data numbers may be beyond the range of floats, and the extremum of two of them is the one that comes first.
//!
//! - A difference in exact arithmetic is looked at again in [real arithmetic](crate::real), which decides as it should.
//! - Where programs are compared in floats alone, numbers of tables may differ. There the first program says how firm its value is: data are nudged, by
//!   far more than rounding errors and less than anything else; an element that jumps says nothing on this data.
//!
//! What cannot be looked at again, or not within the limits of steps, is a difference.

use std::cell::Cell;

use crate::conditioned::{Conditioned, Scaled};
use crate::data::{DataSet, NUDGE, NUDGE_SINGLE};
use crate::demand::{Demand, Value};
use crate::error::Error;
use crate::real::Real;
use crate::validate::Difference;
use crate::validate::chosen::{Given, MAX_STEPS_IN_REALS, OnDemand};
use crate::validate::compare::Comparison;
use crate::validate::tally::{EXACT, Place, Stop, Tally};
use crate::world::World;

/// Nudged data for each element: a comparison of neighbours goes the same way on all of them once in a million.
const N_NUDGED: u64 = 20;

/// Where the elements that were nudged took more steps together, no further difference is doubted.
const MAX_STEPS_OF_NUDGED: u64 = 4_000_000;

/// What a nudge moves by more than so many times itself, relative to the condition, jumps.
const LEAST_JUMP: f64 = 1e4;

/// A difference of one element.
pub(super) struct Doubt {
    pub(super) place: Place,
    pub(super) difference: Box<Difference>,
}

impl Doubt {
    /// The difference, after all.
    pub(super) fn stop(self) -> Stop {
        Stop::Different(self.difference, Some((self.place.1, self.place.2)))
    }

    /// Whether it is one of exact arithmetic.
    fn is_exact(&self) -> bool {
        matches!(&*self.difference, Difference::Value { world, .. } if *world == EXACT)
    }
}

impl Comparison<'_> {
    /// Runs a round. Where its differences are doubted, `settle` says which of them stand; elsewhere the first one ends the round.
    pub(super) fn with_doubts<'c>(
        tally: &mut Tally<'c>,
        is_doubted: bool,
        run: impl FnOnce(&mut Tally<'c>) -> Result<(), Stop>,
        settle: impl FnOnce(&mut Tally<'c>, Vec<Doubt>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        tally.doubts = is_doubted.then(Vec::new);
        let res = run(tally);
        // A round that failed may have shown differences before.
        let doubts = tally.doubts.take().unwrap_or_default();
        settle(tally, doubts)?;
        res
    }

    /// The first difference that real arithmetic does not refute.
    pub(super) fn confirmed<'c>(
        &'c self,
        data: DataSet<'_>,
        tally: &mut Tally<'c>,
        doubts: Vec<Doubt>,
    ) -> Result<(), Stop> {
        let (doubts, certain): (Vec<Doubt>, Vec<Doubt>) = doubts.into_iter().partition(Doubt::is_exact);
        if let Some(certain) = certain.into_iter().next() {
            return Err(certain.stop());
        }
        let Some(on_demand) = self.ready(tally, &doubts) else { return first(doubts) };
        let world = Real::new();
        let given = Given { world: &world, data };
        let mut demands =
            (Demand::new(&world, &on_demand.first, &given), Demand::new(&world, &on_demand.second, &given));
        let mut res = Ok(());
        for (n, doubt) in doubts.into_iter().enumerate() {
            if n > 0 && demands.0.steps().max(demands.1.steps()) > MAX_STEPS_IN_REALS {
                res = Err(doubt.stop());
                break;
            }
            let (array, other, position) = doubt.place;
            let index = self.first.code.layouts[array.index()].index(position);
            let is_equal = match (demands.0.element(array, &index), demands.1.element(other, &index)) {
                (Ok(Value::Float(a)), Ok(Value::Float(b))) => a.is_defined() && b.is_defined() && world.equal(a, b),
                (Ok(Value::Int(a)), Ok(Value::Int(b))) => a == b,
                // What the first program leaves open the second may write or not.
                (Ok(Value::Unwritten), Ok(_)) => true,
                _ => false,
            };
            if !is_equal {
                res = Err(doubt.stop());
                break;
            }
        }
        tally.on_demand = Some(on_demand);
        res
    }

    /// The first difference where the first program does not jump.
    pub(super) fn firm<'c>(&'c self, data: DataSet<'_>, tally: &mut Tally<'c>, doubts: Vec<Doubt>) -> Result<(), Stop> {
        let Some(on_demand) = self.ready(tally, &doubts) else { return first(doubts) };
        let (mut res, n_steps) = (Ok(()), Cell::new(0));
        for (n, doubt) in doubts.into_iter().enumerate() {
            if n > 0 && n_steps.get() > MAX_STEPS_OF_NUDGED {
                res = Err(doubt.stop());
                break;
            }
            let (array, _, position) = doubt.place;
            let index = self.first.code.layouts[array.index()].index(position);
            let at = |nudge| {
                let given = Given { world: &Conditioned, data: data.nudged(nudge) };
                let mut demand = Demand::new(&Conditioned, &on_demand.first, &given);
                let value = demand.element(array, &index);
                n_steps.set(n_steps.get() + demand.steps());
                value
            };
            let here = at(0);
            let jumps = |there: Result<Value<Scaled>, Error>| match (&here, there) {
                (Ok(Value::Float(here)), Ok(Value::Float(there))) => {
                    let nudge = if self.has_single { NUDGE_SINGLE } else { NUDGE };
                    let scale = here.magnitude.max(there.magnitude);
                    (here.value - there.value).abs() > LEAST_JUMP * nudge * scale
                }
                (Ok(Value::Int(here)), Ok(Value::Int(there))) => *here != there,
                _ => false,
            };
            if !(1..=N_NUDGED).any(|nudge| jumps(at(nudge))) {
                res = Err(doubt.stop());
                break;
            }
        }
        tally.on_demand = Some(on_demand);
        res
    }

    /// Both programs, ready to look at doubts; `None` if there are none, or it cannot be.
    fn ready<'c>(&'c self, tally: &mut Tally<'c>, doubts: &[Doubt]) -> Option<OnDemand<'c>> {
        if doubts.is_empty() || self.prepare(tally).is_err() {
            return None;
        }
        tally.on_demand.take()
    }
}

/// The first difference, if there is one.
fn first(doubts: Vec<Doubt>) -> Result<(), Stop> {
    doubts.into_iter().next().map_or(Ok(()), |doubt| Err(doubt.stop()))
}

//! Comparison of chosen elements, evaluated backwards: of programs that run long, that decide on data, or whose values are
//! equal at most by identities of functions.

use nestegg_ir::{ArrayId, Dtype, LinearizedKernel};

use crate::conditioned::{Conditioned, Scaled};
use crate::data::{DataSet, Profile};
use crate::demand::{self, Coverage, Demand, Value};
use crate::error::Error;
use crate::exact::Exactly;
use crate::float::Floats;
use crate::input::parameter_values;
use crate::real::Real;
use crate::validate::choose::{Chosen, choose};
use crate::validate::compare::{Comparison, outputs};
use crate::validate::tally::{Known, Place, Sameness, Slot, Stop, Tally};
use crate::world::{World, mix};

/// Steps of one program on one data set. On data of moderate size each store is looked at all the same, unless all elements were compared before;
/// other data begin with another element each.
const MAX_STEPS: u64 = 200_000;
const MAX_STEPS_AGAIN: u64 = 40_000;

/// On data of moderate size a program with many values to compute may take more: so many for each of them.
const MAX_STEPS_OF_UNIT: u64 = 250;

/// So many elements are looked at in any case where all were compared with those of a form.
const MIN_SURVEYED: usize = 8;

/// Where the first element of a round takes more steps, the programs run in threads of their own.
const MIN_STEPS_APART: u64 = 4_000;

/// Bold data on which so many elements have no value, and none has one, are given up.
const MAX_WITHOUT: usize = 64;

/// Elements and steps of one data set in real arithmetic.
const MAX_REALS: usize = 64;
pub(super) const MAX_STEPS_IN_REALS: u64 = 40_000;

/// Both programs, ready for evaluation on demand.
pub(super) struct OnDemand<'c> {
    pub(super) first: demand::Plan<'c>,
    pub(super) second: demand::Plan<'c>,
    chosen: Chosen,
    /// The outcomes of decisions so far.
    pub(super) seen: Option<[Coverage; 2]>,
}

impl OnDemand<'_> {
    /// How many values the second program keeps apart.
    fn n_units(&self) -> usize {
        self.second.n_units()
    }

    /// Adds the outcomes of decisions in one round.
    fn see(&mut self, outcomes: [Coverage; 2]) {
        match &mut self.seen {
            None => self.seen = Some(outcomes),
            Some(known) => known.iter_mut().zip(&outcomes).for_each(|(known, seen)| known.merge(seen)),
        }
    }
}

/// The arguments of a data set in a world.
pub(super) struct Given<'d, W> {
    pub(super) world: &'d W,
    pub(super) data: DataSet<'d>,
}

impl<W: World> demand::Data<W::Float> for Given<'_, W> {
    fn float(&self, array: ArrayId, index: &[i64]) -> W::Float {
        self.world.literal(self.data.float(array, index))
    }

    fn int(&self, array: ArrayId, index: &[i64]) -> i64 {
        self.data.int(array, index)
    }
}

/// Values that the world has none of, as against failures of the program.
fn is_gap(error: &Error) -> bool {
    matches!(error, Error::Trap { trap, .. } if trap.is_gap())
}

/// The value of an element as the tally takes it.
fn slot<F>(value: &Result<Value<F>, Error>) -> Slot<'_, F> {
    match value {
        Err(error) => Slot::Gap(error),
        Ok(Value::Unwritten) => Slot::Unwritten,
        Ok(Value::Float(value)) => Slot::Float(value),
        Ok(Value::Int(value)) => Slot::Int(*value),
    }
}

impl Comparison<'_> {
    /// Makes both programs ready for evaluation on demand.
    pub(super) fn prepare<'c>(&'c self, tally: &mut Tally<'c>) -> Result<(), Error> {
        if tally.on_demand.is_none() {
            let parameters = self.plan.parameters();
            let of = |program: &LinearizedKernel| parameter_values(&program.kernel, parameters);
            let (first, second) = (&self.first.linearized, &self.second.linearized);
            let pairs = outputs(&first.kernel, &second.kernel);
            tally.on_demand = Some(OnDemand {
                first: demand::Plan::new(first, &of(first)?)?.with_stand_ins(),
                second: demand::Plan::new(second, &of(second)?)?.with_stand_ins(),
                chosen: choose([first, second], &pairs, &self.first.code.layouts, parameters, &self.options.suspects)?,
                seen: None,
            });
        }
        Ok(())
    }

    /// Chosen elements in exact arithmetic; those that are equal at most by identities of functions are listed.
    pub(super) fn chosen<'c>(
        &'c self,
        data: DataSet<'_>,
        tally: &mut Tally<'c>,
        by_identity: &mut Vec<Place>,
    ) -> Result<(), Stop> {
        self.prepare(tally)?;
        let Some(mut on_demand) = tally.on_demand.take() else { return Ok(()) };
        let world = Exactly::new(data.seed);
        let given = Given { world: &world, data };
        let first = Demand::new(&world, &on_demand.first, &given);
        let second = Demand::new(&world, &on_demand.second, &given);
        let mut demands = (first, second);
        let found = self.each_chosen(
            (&on_demand.chosen, on_demand.n_units()),
            data,
            tally,
            &mut demands,
            |place, known, a, b, dtype| {
                let sameness = self.sameness(a, b, dtype, data.profile);
                known.is_exact |= matches!(sameness, Sameness::Equal(_));
                if matches!(sameness, Sameness::ByIdentity) {
                    by_identity.push(place);
                }
                sameness
            },
        );
        let seen = [demands.0.coverage().clone(), demands.1.coverage().clone()];
        on_demand.see(seen);
        tally.on_demand = Some(on_demand);
        found
    }

    /// Chosen elements in floats.
    pub(super) fn chosen_in_floats<'c>(
        &'c self,
        data: DataSet<'_>,
        tally: &mut Tally<'c>,
        mut compare: impl FnMut(&mut Known, &Scaled, &f64, Dtype, f64) -> Sameness,
    ) -> Result<(), Stop> {
        self.prepare(tally)?;
        let Some(mut on_demand) = tally.on_demand.take() else { return Ok(()) };
        let (of_first, of_second) = (Given { world: &Conditioned, data }, Given { world: &Floats, data });
        let first = Demand::new(&Conditioned, &on_demand.first, &of_first);
        let second = Demand::new(&Floats, &on_demand.second, &of_second);
        let mut demands = (first, second);
        // What is noise is known when all elements are.
        let mut largest = vec![0.0_f64; self.first.code.layouts.len()];
        let mut doubtful: Vec<(Place, Scaled, f64)> = Vec::new();
        let mut found = self.each_chosen(
            (&on_demand.chosen, on_demand.n_units()),
            data,
            tally,
            &mut demands,
            |place, known, a, b, dtype| {
                let largest = &mut largest[place.0.index()];
                if a.magnitude.is_finite() {
                    *largest = largest.max(a.magnitude);
                }
                match compare(known, a, b, dtype, 0.0) {
                    Sameness::Different { .. } if self.options.noise > 0.0 => {
                        doubtful.push((place, *a, *b));
                        Sameness::Open
                    }
                    other => other,
                }
            },
        );
        let seen = [demands.0.coverage().clone(), demands.1.coverage().clone()];
        on_demand.see(seen);
        for (place, a, b) in doubtful {
            let (layout, largest) = (&self.first.code.layouts[place.0.index()], largest[place.0.index()]);
            found = found.and_then(|()| {
                tally.enter(place, layout, Slot::Float(&a), Slot::Float(&b), |known, a, b, dtype| {
                    compare(known, a, b, dtype, largest)
                })
            });
        }
        tally.on_demand = Some(on_demand);
        found
    }

    /// Enters chosen elements, until the limit of steps.
    fn each_chosen<A, B, P, Q>(
        &self,
        (Chosen { elements, n_least, is_all, traps }, n_units): (&Chosen, usize),
        data: DataSet<'_>,
        tally: &mut Tally<'_>,
        (first, second): &mut (Demand<'_, '_, A, P>, Demand<'_, '_, B, Q>),
        mut compare: impl FnMut(Place, &mut Known, &A::Float, &B::Float, Dtype) -> Sameness,
    ) -> Result<(), Stop>
    where
        A: World<Float: Send> + Sync,
        B: World<Float: Send> + Sync,
        P: demand::Data<A::Float> + Sync,
        Q: demand::Data<B::Float> + Sync,
    {
        match traps {
            [Some(error), _] => return Err(error.clone().into()),
            [None, Some(error)] => return Err(Stop::second_fails(error.clone())),
            [None, None] => {}
        }
        let pairs = outputs(self.first.kernel(), self.second.kernel());
        let is_tame = data.profile.is_tame();
        let is_base = data.profile == Profile::Signed;
        let max_steps = match is_base {
            true if self.options.is_surveyed => MAX_STEPS,
            true => MAX_STEPS.max(n_units as u64 * MAX_STEPS_OF_UNIT),
            false if tally.seeks_values => MAX_STEPS,
            false => MAX_STEPS_AGAIN,
        };
        let n_least = if self.options.is_surveyed { MIN_SURVEYED.min(*n_least) } else { *n_least };
        let begin = if is_base { 0 } else { (mix(data.seed) % elements.len().max(1) as u64) as usize };
        let is_heavy = tally.n_steps_first > MIN_STEPS_APART;
        let (mut n_elements, mut n_without) = (0, 0);
        for &(array, position) in elements.iter().cycle().skip(begin).take(elements.len()) {
            let is_known = tally.elements.get(&(array, position)).is_some_and(|known| known.is_settled());
            if tally.seeks_values && is_known {
                continue;
            }
            if (tally.was_whole || !is_base || n_elements >= n_least) && first.steps().max(second.steps()) > max_steps {
                break;
            }
            if n_without == n_elements && n_without > n_least.max(MAX_WITHOUT) {
                break;
            }
            n_elements += 1;
            let Some(&(_, other)) = pairs.iter().find(|pair| pair.0 == array) else { continue };
            let layout = &self.first.code.layouts[array.index()];
            let index = layout.index(position);
            first.allow(self.options.max_steps_of_element);
            second.allow(self.options.max_steps_of_element);
            let (a, b) = if is_heavy {
                let (a, b) = rayon::join(|| first.element(array, &index), || second.element(other, &index));
                (a, Some(b))
            } else {
                (first.element(array, &index), None)
            };
            if n_elements == 1 {
                tally.n_steps_first = first.steps().max(tally.n_steps_first);
            }
            match &a {
                Err(error @ Error::StepLimit { .. }) => return Err(error.clone().into()),
                // Bold data that lead an element astray, or leave it without a value, say nothing of it. Decisions on the way count.
                Err(error) if !is_tame => {
                    if is_gap(error) && b.is_none() {
                        let _ = second.element(other, &index);
                    }
                    n_without += 1;
                    continue;
                }
                Err(error) if !is_gap(error) => return Err(error.clone().into()),
                Err(_) | Ok(_) => {}
            }
            let b = match (&a, b.unwrap_or_else(|| second.element(other, &index))) {
                // What the first program leaves open may have any value, or none; but nothing must fail for it.
                (Ok(Value::Unwritten), Err(Error::StepLimit { .. }) | Ok(_)) => Ok(Value::Unwritten),
                (Ok(Value::Unwritten), Err(error)) if is_gap(&error) => Ok(Value::Unwritten),
                (_, b) => b,
            };
            match &b {
                Err(error @ Error::StepLimit { .. }) => return Err(error.clone().into()),
                // What the first program computes beside the element may lead it astray, too.
                Err(error) if !is_gap(error) && !is_tame && self.first_fails(data) => break,
                Err(error) if matches!(a, Ok(Value::Unwritten)) => return Err(Stop::second_fails(error.clone())),
                Err(_) | Ok(_) => {}
            }
            let place = (array, other, position);
            let compare = |known: &mut Known, a: &A::Float, b: &B::Float, dtype| compare(place, known, a, b, dtype);
            tally.enter(place, layout, slot(&a), slot(&b), compare)?;
        }
        tally.is_chosen |= !tally.was_whole && !tally.seeks_values && (n_elements < elements.len() || !is_all);
        tally.n_steps += first.steps().max(second.steps());
        Ok(())
    }

    /// Elements in real arithmetic; as many as the limits allow, the others are as close as their floats.
    pub(super) fn in_reals<'c>(
        &'c self,
        data: DataSet<'_>,
        tally: &mut Tally<'c>,
        places: &[Place],
    ) -> Result<(), Stop> {
        // Opaque code cannot be evaluated so: as close as their floats are these elements then.
        if self.prepare(tally).is_err() {
            tally.are_in_floats(places);
            return Ok(());
        }
        let Some(on_demand) = tally.on_demand.take() else { return Ok(()) };
        let world = Real::new();
        let given = Given { world: &world, data };
        let mut first = Demand::new(&world, &on_demand.first, &given);
        let mut second = Demand::new(&world, &on_demand.second, &given);
        let mut found = Ok(());
        // Evenly over all that there are.
        let n_reals = places.len().min(MAX_REALS);
        for (n, &place) in (0..n_reals).map(|n| &places[n * places.len() / n_reals]).enumerate() {
            if n > 0 && first.steps().max(second.steps()) > MAX_STEPS_IN_REALS {
                break;
            }
            let (array, other, position) = place;
            let layout = &self.first.code.layouts[array.index()];
            let index = layout.index(position);
            let a = first.element(array, &index);
            let has_value = match &a {
                Err(_) | Ok(Value::Unwritten) => false,
                Ok(Value::Int(_)) => true,
                Ok(Value::Float(value)) => value.is_defined(),
            };
            if !has_value {
                continue;
            }
            let b = second.element(other, &index);
            found = tally.enter(place, layout, slot(&a), slot(&b), |known, a, b, _| {
                if world.equal(a.clone(), b.clone()) {
                    known.is_real = true;
                    return Sameness::Equal(0.0);
                }
                let (first, second) = (format!("{:e}", a.to_float()), format!("{:e}", b.to_float()));
                Sameness::Different { world: "real arithmetic", first, second }
            });
            if found.is_err() {
                break;
            }
        }
        tally.are_in_floats(places);
        tally.on_demand = Some(on_demand);
        found
    }
}

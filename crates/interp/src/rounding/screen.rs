//! Which cases are worth measuring: how far apart the floats of programs are on each.
//!
//! # Input
//! A [`Reference`] and programs to measure beside it.
//! # Output
//! For each case the largest difference of an element over the largest magnitude of its output; elements as in [`rounding`](crate::rounding).
//! # Method
//! Several cases that differ in floats only are evaluated [at once](crate::lanes). Where an element is much work they share one that
//! is nearly the largest in each of them; else each has its own. Programs whose cases decide differently are evaluated case by case.
//! # Complexity
//! One evaluation for each group of cases, and program.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use indexmap::IndexMap;
use nestegg_ir::ArrayId;
use rayon::prelude::*;

use crate::demand::{Data, Demand, Value};
use crate::doubled::decides_on_floats;
use crate::float::Floats;
use crate::hard::HardData;
use crate::lanes::{Lane, Lanes, N_LANES};
use crate::rounding::{Case, Element, Given, N_LOOKED_AT, Ready, Reference, positions};
use crate::world::mix;

/// Cases that are evaluated at once.
pub(super) struct Group {
    /// Their positions.
    cases: Vec<usize>,
    /// Elements of the first program on them; `None` if cases decide differently.
    known: OnceLock<Option<Vec<Shared>>>,
}

/// An element on several cases.
struct Shared {
    element: Element<Lane>,
    /// The lanes in which it counts: all, or those in which it is the largest of its output.
    counts: [bool; N_LANES],
}

/// Groups of cases, given by position and seed, no more in each than there are lanes; of one seed, if that makes a difference to integers.
pub(super) fn groups(cases: &[(usize, u64)], are_integers_read: bool) -> Vec<Group> {
    let mut of_seeds: IndexMap<u64, Vec<usize>> = IndexMap::new();
    for &(idx, seed) in cases {
        of_seeds.entry(if are_integers_read { seed } else { 0 }).or_default().push(idx);
    }
    let even = |cases: Vec<usize>| {
        let n_groups = cases.len().div_ceil(N_LANES).max(1);
        let groups: Vec<Vec<usize>> =
            cases.chunks(cases.len().div_ceil(n_groups).max(1)).map(<[usize]>::to_vec).collect();
        groups
    };
    let groups = of_seeds.into_values().flat_map(even);
    groups.map(|cases| Group { cases, known: OnceLock::new() }).collect()
}

/// The data of several cases; lanes beyond them repeat the last.
struct Together<'a> {
    cases: Vec<HardData<'a>>,
}

impl Data<Lane> for Together<'_> {
    fn float(&self, array: ArrayId, index: &[i64]) -> Lane {
        let mut res = [0.0; N_LANES];
        res.iter_mut().zip(&self.cases).for_each(|(value, case)| *value = case.float(array, index));
        let n = self.cases.len();
        let last = res[n - 1];
        res[n..].fill(last);
        res
    }

    fn int(&self, array: ArrayId, index: &[i64]) -> i64 {
        self.cases[0].int(array, index)
    }
}

impl Reference<'_> {
    /// What is known of the first cases before anything is measured, and how far apart the programs are on each that may be measured.
    /// `close` as in [`Sample`](crate::rounding::Sample), in absolute terms.
    pub(super) fn screened(&self, others: &[&Ready<'_>], close: Option<f64>) -> (Vec<Case>, Vec<Option<f64>>) {
        let Some(close) = close else {
            let unknown = |idx| match self.case(idx) {
                None => (Case::Absent, None),
                Some(_) => (Case::NotMeasured, Some(f64::INFINITY)),
            };
            return (0..self.n_screened).map(unknown).unzip();
        };
        let may_be_apart = std::iter::once(&self.ready).chain(others.iter().copied());
        let may_be_apart = may_be_apart.chain([&self.guide]).any(|ready| decides_on_floats(ready.plan.kernel));
        let apart = |idx: usize| self.case(idx).and_then(|data| self.distance(idx, others, &data));
        let of_group = |group: &Group| -> Vec<(usize, Option<f64>)> {
            let together = if may_be_apart { None } else { self.distances(group, others) };
            let distances = together.unwrap_or_else(|| group.cases.par_iter().map(|&idx| apart(idx)).collect());
            group.cases.iter().copied().zip(distances).collect()
        };
        let found: Vec<Vec<(usize, Option<f64>)>> = self.groups.par_iter().map(of_group).collect();
        let (mut cases, mut distances) = (vec![Case::Absent; self.n_screened], vec![None; self.n_screened]);
        for (idx, distance) in found.into_iter().flatten() {
            let is_close = distance.is_some_and(|distance| distance <= close);
            cases[idx] = if is_close { Case::Close } else { Case::NotMeasured };
            distances[idx] = distance.filter(|_| !is_close);
        }
        (cases, distances)
    }

    /// The distance of each of several cases, evaluated at once; `None` if they decide differently.
    fn distances(&self, group: &Group, others: &[&Ready<'_>]) -> Option<Vec<Option<f64>>> {
        let cases = &group.cases;
        let data = Together { cases: cases.iter().filter_map(|&idx| self.case(idx)).collect() };
        let world = Lanes::default();
        let mut others: Vec<_> = others.iter().map(|&other| (other, Demand::new(&world, &other.plan, &data))).collect();
        let elements = group.known.get_or_init(|| {
            // What the guide computes to find the largest elements it need not compute once more.
            let of_guide = others.iter_mut().find(|(other, _)| std::ptr::eq(*other, &self.guide));
            match of_guide {
                Some((_, of_guide)) => {
                    let found = self.shared(&data, (&world, of_guide), cases);
                    of_guide.allow(u64::MAX);
                    found
                }
                None => self.shared(&data, (&world, &mut Demand::new(&world, &self.guide.plan, &data)), cases),
            }
        });
        let elements = elements.as_ref()?;
        let mut res: Vec<Option<f64>> = vec![None; cases.len()];
        for of_output in elements.chunk_by(|a, b| a.element.argument == b.element.argument) {
            let (mut scale, mut largest) = ([0.0_f64; N_LANES], [0.0_f64; N_LANES]);
            for Shared { element, counts } in of_output {
                let counts = |lane: usize| counts[lane] && element.value[lane].is_finite();
                (0..N_LANES).filter(|&lane| counts(lane)).for_each(|lane| {
                    scale[lane] = scale[lane].max(element.value[lane].abs());
                });
                for (other, demand) in &mut others {
                    let found = other.element(demand, element.argument, element.position);
                    for lane in (0..N_LANES).filter(|&lane| counts(lane)) {
                        let found = found.map_or(f64::NAN, |found| found[lane]);
                        let by = if found.is_finite() { (found - element.value[lane]).abs() } else { f64::INFINITY };
                        largest[lane] = largest[lane].max(by);
                    }
                }
                if world.are_apart() {
                    return None;
                }
            }
            for (lane, res) in res.iter_mut().enumerate() {
                if largest[lane] == f64::INFINITY {
                    *res = Some(f64::INFINITY);
                } else if scale[lane] > 0.0 || largest[lane] > 0.0 {
                    *res = Some(res.unwrap_or(0.0).max(largest[lane] / scale[lane]));
                }
            }
        }
        Some(res)
    }

    /// Elements of the first program on several cases: of each output one that is nearly the largest in all cases, the largest of each case as long as they are
    /// not much work, scattered ones. `None` if cases decide differently.
    fn shared(
        &self,
        data: &Together<'_>,
        (world, of_guide): (&Lanes, &mut Demand<'_, '_, Lanes, Together<'_>>),
        cases: &[usize],
    ) -> Option<Vec<Shared>> {
        let looked_at = self.looked_at(data, of_guide);
        if world.are_apart() {
            return None;
        }
        for (lane, &case) in cases.iter().enumerate() {
            let largest = looked_at.iter().map(|of_output| of_output.own[lane]).collect();
            // What another candidate found is the same.
            let _ = self.known[case].largest.set(largest);
        }
        let mut demand = Demand::new(world, &self.ready.plan, data).with_limit(self.max_steps_of_elements());
        let max_steps = self.sample.max_steps;
        let mut res: Vec<Shared> = Vec::new();
        // Each case has as many steps as if it were alone: these are for the largest elements of others.
        let mut beside = 0;
        for (&(argument, array), largest) in self.ready.outputs.iter().zip(&looked_at) {
            let layout = &self.ready.layouts[array.index()];
            let res = &mut res;
            let mut add = |demand: &mut Demand<'_, '_, Lanes, Together<'_>>, position: usize, counts| {
                let Ok(Value::Float(value)) = demand.element(array, &layout.index(position)) else { return false };
                res.push(Shared { element: Element { argument, position, value }, counts });
                true
            };
            let start = demand.steps();
            let scattered = positions(layout.len, self.sample.n_elements);
            let own: BTreeSet<usize> = largest.own.iter().flatten().copied().collect();
            let in_own = |position: usize| std::array::from_fn(|lane| largest.own[lane] == Some(position));
            let mut has_one = largest.of_all.is_some_and(|position| add(&mut demand, position, [true; N_LANES]));
            let of_one = demand.steps() - start;
            let mut is_own = start - beside + of_one <= max_steps;
            for &position in own.iter().filter(|&&position| largest.of_all != Some(position)) {
                is_own &= demand.steps() - start <= max_steps;
                if !is_own {
                    break;
                }
                has_one |= add(&mut demand, position, in_own(position));
            }
            beside += demand.steps() - start - of_one;
            for &position in scattered.iter().filter(|&&position| largest.of_all != Some(position)) {
                if demand.steps() - beside > max_steps && has_one {
                    break;
                }
                has_one |= add(&mut demand, position, [true; N_LANES]);
            }
            // Where each has its own the one that they share is one of these, or a scattered one.
            if let Some(of_all) = largest.of_all.filter(|of_all| is_own && !scattered.contains(of_all)) {
                res.iter_mut()
                    .filter(|it| (it.element.argument, it.element.position) == (argument, of_all))
                    .for_each(|it| it.counts = in_own(of_all));
            }
            if world.are_apart() {
                return None;
            }
        }
        Some(res)
    }

    /// Of each output its largest elements, by the guide.
    fn looked_at(&self, data: &Together<'_>, of_guide: &mut Demand<'_, '_, Lanes, Together<'_>>) -> Vec<Largest> {
        of_guide.allow(self.sample.max_steps_of_looking);
        let mut of_output = |&(argument, array): &(usize, ArrayId)| {
            let all = looked_at(self.ready.layouts[array.index()].len);
            let values = all.map_while(|position| Some((self.guide.element(of_guide, argument, position)?, position)));
            let values: Vec<(Lane, usize)> = values.collect();
            let mut best: [Option<(f64, usize)>; N_LANES] = [None; N_LANES];
            for (value, position) in &values {
                for (lane, best) in best.iter_mut().enumerate().filter(|(lane, _)| value[*lane].is_finite()) {
                    let size = value[lane].abs();
                    let is_larger =
                        best.is_none_or(|(largest, at)| size > largest || (size == largest && *position < at));
                    if is_larger {
                        *best = Some((size, *position));
                    }
                }
            }
            // How large it is beside the largest, in the case where that is least.
            let worth = |value: &Lane| {
                (0..data.cases.len()).fold(1.0_f64, |least, lane| match best[lane] {
                    Some((largest, _)) if largest > 0.0 && value[lane].is_finite() => {
                        least.min(value[lane].abs() / largest)
                    }
                    Some((largest, _)) if largest > 0.0 => 0.0,
                    _ => least,
                })
            };
            let worths = values.iter().map(|(value, position)| (worth(value), *position));
            let of_all = worths.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            Largest { own: best.map(|best| best.map(|(_, position)| position)), of_all: of_all.map(|(_, at)| at) }
        };
        self.ready.outputs.iter().map(&mut of_output).collect()
    }

    /// How far the floats of others are from those of the program, over the largest of each output. `None` if it has no finite ones.
    fn distance(&self, idx: usize, others: &[&Ready<'_>], data: &HardData<'_>) -> Option<f64> {
        let given = Given { world: &Floats, data };
        let mut others: Vec<_> =
            others.iter().map(|&other| (other, Demand::new(&Floats, &other.plan, &given))).collect();
        if let Some((_, of_guide)) = others.iter_mut().find(|(other, _)| std::ptr::eq(*other, &self.guide)) {
            self.known[idx].largest.get_or_init(|| self.largest(of_guide));
            of_guide.allow(u64::MAX);
        }
        let elements =
            self.known[idx].floats.get_or_init(|| self.elements(&Floats, idx, data, |value| value.is_finite()));
        let mut res: Option<f64> = None;
        for of_output in elements.chunk_by(|a, b| a.argument == b.argument) {
            let scale = of_output.iter().fold(0.0_f64, |scale, element| scale.max(element.value.abs()));
            let mut largest = 0.0_f64;
            for Element { argument, position, value } in of_output {
                for (other, demand) in &mut others {
                    let Some(found) = other.element(demand, *argument, *position) else { return Some(f64::INFINITY) };
                    largest = largest.max(if found.is_finite() { (found - value).abs() } else { f64::INFINITY });
                }
            }
            if scale > 0.0 || largest > 0.0 {
                res = Some(res.unwrap_or(0.0).max(largest / scale));
            }
        }
        res
    }

    /// Of each output the position of the largest of many elements, by the guide.
    pub(super) fn largest<D: Data<f64>>(&self, demand: &mut Demand<'_, '_, Floats, D>) -> Vec<Option<usize>> {
        demand.allow(self.sample.max_steps_of_looking);
        let mut of_output = |&(argument, array): &(usize, ArrayId)| {
            let values = looked_at(self.ready.layouts[array.index()].len).map_while(|position| {
                let value = self.guide.element(demand, argument, position)?;
                Some((value.abs(), position))
            });
            let finite = values.filter(|(size, _)| size.is_finite());
            finite.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).map(|(_, position)| position)
        };
        self.ready.outputs.iter().map(&mut of_output).collect()
    }
}

/// Positions of large elements.
struct Largest {
    /// For each lane that of the largest.
    own: [Option<usize>; N_LANES],
    /// One that is nearly the largest in all.
    of_all: Option<usize>,
}

/// Positions among which the largest element is looked for: where there are too many, some from everywhere.
fn looked_at(len: usize) -> impl Iterator<Item = usize> {
    let mut all: Vec<usize> = positions(len, N_LOOKED_AT).into_iter().collect();
    all.sort_by_key(|&position| mix(position as u64));
    all.into_iter()
}

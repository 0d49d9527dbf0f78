//! Runs units and searches on a stack of frames.

use std::sync::Arc;

use nestegg_ir::ArrayId;
use smallvec::SmallVec;

use crate::demand::code::Reg;
use crate::demand::memo::Known;
use crate::demand::node::Place;
use crate::demand::plan::UnitAt;
use crate::demand::search::{Candidate, Element, Limit, compare, latest};
use crate::demand::{Data, Demand, Value};
use crate::error::{Error, Point, Trap};
use crate::world::World;

/// So many writers are looked at in the time of one step.
const SCANNED_PER_STEP: u64 = 8;

/// So many registers and frames may wait for values.
const MAX_WAITING: usize = 1 << 25;

/// What waits for a value.
pub(super) enum Frame {
    Unit(UnitFrame),
    Search(Box<Search>),
}

/// A unit at a point, before its step `pc`.
#[derive(Clone, Copy)]
pub(super) struct UnitFrame {
    pub(super) unit: usize,
    pub(super) key: u128,
    pub(super) floats: usize,
    pub(super) ints: usize,
    pub(super) pc: usize,
    /// Where the value that it waits for goes.
    pub(super) dst: Reg,
    pub(super) is_try: bool,
}

type Candidates = SmallVec<[(usize, Option<Candidate>); 2]>;

/// A search for the last writer of an element.
pub(super) struct Search {
    array: ArrayId,
    element: Element,
    /// For each writer its last instance that is not ruled out.
    candidates: Candidates,
    /// The candidate whose conditions are asked, and the next of them.
    current: Option<usize>,
    condition: usize,
    /// Why nobody knows whether its conditions hold, if so.
    doubt: Option<Arc<Error>>,
}

pub(super) enum Next<F> {
    /// The frame on top runs on.
    Run,
    /// The frame on top has what it waits for.
    Deliver(Known<F>),
}

/// Why a unit stops.
pub(super) enum Stop<F> {
    Value(Value<F>),
    Trap(Trap),
    Error(Arc<Error>),
}

impl<W: World, D: Data<W::Float>> Demand<'_, '_, W, D> {
    /// The value of an element at a place, at values of the loops around it.
    pub(super) fn resolve(&mut self, array: ArrayId, element: Element, place: Place, loops: &[i64]) -> Known<W::Float> {
        let base = self.frames.len();
        let next = self.search(array, element, place, loops);
        let res = self.finish(base, next);
        match res {
            Ok(None) => Ok(Value::Unwritten),
            Ok(Some(value)) => Ok(value),
            Err(error) => Err(error),
        }
    }

    /// The value of a unit at an instance of its instruction.
    pub(super) fn unit_value(&mut self, unit: &UnitAt, instance: &[i64]) -> Result<Value<W::Float>, Error> {
        let base = self.frames.len();
        let next = self.ask(unit, instance);
        let next = match next {
            Some(known) => Next::Deliver(known),
            None => Next::Run,
        };
        match self.finish(base, Ok(next)) {
            Ok(value) => Ok(value.unwrap_or(Value::Unwritten)),
            Err(error) => Err(Arc::unwrap_or_clone(error)),
        }
    }

    /// Runs until no frame above `base` is left. `None` if an element was never written.
    fn finish(
        &mut self,
        base: usize,
        next: Result<Next<W::Float>, Arc<Error>>,
    ) -> Result<Option<Value<W::Float>>, Arc<Error>> {
        let mut next = next;
        loop {
            next = match next {
                Ok(Next::Run) => self.run(),
                Ok(Next::Deliver(known)) if self.frames.len() == base => {
                    return match known {
                        Ok(Value::Unwritten) => Ok(None),
                        Ok(value) => Ok(Some(value)),
                        Err(error) => Err(error),
                    };
                }
                Ok(Next::Deliver(known)) => self.deliver(known),
                Err(error) => {
                    // The limit, or what cannot be evaluated: no value is kept.
                    while self.frames.len() > base {
                        if let Some(Frame::Unit(frame)) = self.frames.pop() {
                            self.floats.truncate(frame.floats);
                            self.ints.truncate(frame.ints);
                        }
                    }
                    return Err(error);
                }
            };
        }
    }

    /// Gives a value to the frame on top.
    fn deliver(&mut self, known: Known<W::Float>) -> Result<Next<W::Float>, Arc<Error>> {
        match self.frames.last() {
            Some(Frame::Search(_)) => {
                let Some(Frame::Search(search)) = self.frames.pop() else { return Ok(Next::Run) };
                self.advance(search, Some(known))
            }
            Some(&Frame::Unit(frame)) => match known {
                Ok(value) => {
                    self.put(&frame, value);
                    Ok(Next::Run)
                }
                Err(error) if frame.is_try && is_gap(&error) => {
                    self.ints[frame.ints + frame.dst as usize] = 2;
                    Ok(Next::Run)
                }
                Err(error) => Ok(Next::Deliver(self.leave(Err(error)))),
            },
            None => Ok(Next::Deliver(known)),
        }
    }

    fn put(&mut self, frame: &UnitFrame, value: Value<W::Float>) {
        match value {
            Value::Float(value) => self.floats[frame.floats + frame.dst as usize] = value,
            Value::Int(value) => self.ints[frame.ints + frame.dst as usize] = value,
            Value::Unwritten => {}
        }
    }

    /// Ends the unit on top with a value, which is kept.
    fn leave(&mut self, known: Known<W::Float>) -> Known<W::Float> {
        if let Some(Frame::Unit(frame)) = self.frames.pop() {
            self.floats.truncate(frame.floats);
            self.ints.truncate(frame.ints);
            self.memo.insert(frame.unit, frame.key, known.clone());
        }
        known
    }

    pub(super) fn key(&self, unit: usize, point: impl Iterator<Item = i64>) -> u128 {
        let keys = &self.plan.keys[unit];
        keys.iter().zip(point).map(|(&(lo, stride), value)| (value - lo) as u128 * stride).sum()
    }

    pub(super) fn enter(&mut self, unit: usize, key: u128, point: impl Iterator<Item = i64>) {
        let code = &self.plan.units[unit];
        let frame =
            UnitFrame { unit, key, floats: self.floats.len(), ints: self.ints.len(), pc: 0, dst: 0, is_try: false };
        self.ints.extend(point);
        self.ints.resize(frame.ints + code.n_ints, 0);
        self.floats.resize(frame.floats + code.n_floats, W::Float::default());
        self.frames.push(Frame::Unit(frame));
    }

    /// The value of a unit at an instance if it is known; else the unit is on top.
    fn ask(&mut self, unit: &UnitAt, instance: &[i64]) -> Option<Known<W::Float>> {
        let point = || unit.loops.iter().map(|&position| instance[position]);
        let key = self.key(unit.unit, point());
        if let Some(known) = self.memo.get(unit.unit, key) {
            return Some(known.clone());
        }
        self.enter(unit.unit, key, point());
        None
    }

    // Searches.

    pub(super) fn search(
        &mut self,
        array: ArrayId,
        element: Element,
        place: Place,
        loops: &[i64],
    ) -> Result<Next<W::Float>, Arc<Error>> {
        let plan = self.plan;
        let mut candidates: Candidates = SmallVec::new();
        let writers = &plan.writers[array.index()];
        self.steps += writers.n_scanned() / SCANNED_PER_STEP;
        for idx in writers.of(&element) {
            let limit = Limit::of(&plan.sequences, &writers.all[idx], place, loops);
            candidates.push((idx, self.candidate(array, idx, &element, &limit)?));
        }
        // Most writers have no conditions: what wrote last is what counts.
        if let Some(last) = self.last_of(array, &candidates)
            && let (idx, Some((instance, None))) = &candidates[last]
            && writers.all[*idx].conditions.is_empty()
        {
            return Ok(self.ask(&writers.all[*idx].value, instance).map_or(Next::Run, Next::Deliver));
        }
        let search = Search { array, element, candidates, current: None, condition: 0, doubt: None };
        self.advance(Box::new(search), None)
    }

    /// Which of the candidates runs last.
    fn last_of(&self, array: ArrayId, candidates: &Candidates) -> Option<usize> {
        let writers = &self.plan.writers[array.index()].all;
        let found = candidates
            .iter()
            .enumerate()
            .filter_map(|(idx, (writer, candidate))| Some((idx, &writers[*writer], candidate.as_ref()?)));
        let last = found
            .max_by(|(_, a, (first, _)), (_, b, (second, _))| compare(&self.plan.sequences, (a, first), (b, second)));
        last.map(|(idx, ..)| idx)
    }

    fn candidate(
        &mut self,
        array: ArrayId,
        idx: usize,
        element: &[i64],
        limit: &Limit,
    ) -> Result<Option<Candidate>, Arc<Error>> {
        let plan = self.plan;
        let writer = &plan.writers[array.index()].all[idx];
        match writer.index {
            Some(number) => {
                self.prepare(writer, number).map_err(Arc::new)?;
                Ok(self.indices[number].latest(element, limit))
            }
            None => {
                let found = latest(writer, element, limit, &mut self.env, &mut self.steps);
                self.check_limit()?;
                Ok(found.map(|instance| (instance, None)))
            }
        }
    }

    pub(super) fn check_limit(&self) -> Result<(), Arc<Error>> {
        match self.steps > self.max_steps {
            true => Err(Arc::new(Error::StepLimit { limit: self.max_steps })),
            false => Ok(()),
        }
    }

    /// Goes on with a search; `answer` is the condition that it asked for.
    fn advance(
        &mut self,
        mut search: Box<Search>,
        mut answer: Option<Known<W::Float>>,
    ) -> Result<Next<W::Float>, Arc<Error>> {
        let plan = self.plan;
        let writers = &plan.writers[search.array.index()].all;
        loop {
            let current = match search.current {
                Some(current) => current,
                None => {
                    let Some(idx) = self.last_of(search.array, &search.candidates) else {
                        return Ok(Next::Deliver(self.unwritten(&search)));
                    };
                    search.current = Some(idx);
                    search.condition = 0;
                    search.doubt = None;
                    idx
                }
            };
            let (writer_idx, candidate) = &search.candidates[current];
            let (writer_idx, writer) = (*writer_idx, &writers[*writer_idx]);
            let Some((instance, _)) = candidate else {
                return Ok(Next::Deliver(Ok(Value::Unwritten)));
            };
            let mut holds = true;
            while let Some(condition) = writer.conditions.get(search.condition) {
                let known = match answer.take() {
                    Some(known) => known,
                    None => match self.ask(&condition.value, instance) {
                        Some(known) => known,
                        None => {
                            // Beneath the unit that was entered.
                            let unit = self.frames.pop();
                            self.frames.push(Frame::Search(search));
                            self.frames.extend(unit);
                            return Ok(Next::Run);
                        }
                    },
                };
                search.condition += 1;
                match known {
                    Ok(Value::Int(truth)) => {
                        self.coverage.see(condition.decision, truth);
                        if truth == 0 {
                            holds = false;
                            break;
                        }
                    }
                    Ok(_) => {}
                    Err(error) if is_gap(&error) || search.doubt.is_some() => search.doubt = Some(error),
                    Err(error) => return Ok(Next::Deliver(Err(error))),
                }
            }
            if !holds {
                let limit = Limit { values: instance.clone(), is_included: false };
                search.candidates[current].1 = self.candidate(search.array, writer_idx, &search.element, &limit)?;
                search.current = None;
                continue;
            }
            if let Some(error) = search.doubt.take() {
                return Ok(Next::Deliver(Err(error)));
            }
            if let Some((_, Some(error))) = &search.candidates[current].1 {
                return Ok(Next::Deliver(Err(Arc::clone(error))));
            }
            return Ok(match self.ask(&writer.value, instance) {
                Some(known) => Next::Deliver(known),
                None => Next::Run,
            });
        }
    }

    fn unwritten(&mut self, search: &Search) -> Known<W::Float> {
        if let Some(value) = self.initial(search.array, &search.element) {
            return Ok(value);
        }
        let Some(Frame::Unit(frame)) = self.frames.last() else { return Ok(Value::Unwritten) };
        let array = self.plan.kernel[search.array].name.clone();
        Err(self.trapped(frame, Trap::Uninitialised { array, index: search.element.to_vec() }))
    }

    fn trapped(&self, frame: &UnitFrame, trap: Trap) -> Arc<Error> {
        let code = &self.plan.units[frame.unit];
        let kernel = self.plan.kernel;
        let values = code.inames.iter().zip(&self.ints[frame.ints..]);
        let point = Point(values.map(|(&iname, &value)| (kernel[iname].name.clone(), value)).collect());
        Arc::new(Error::Trap { instruction: self.instruction(frame.unit), point, trap })
    }

    fn instruction(&self, unit: usize) -> String {
        let found = self.plan.kernel.instructions.get(self.plan.units[unit].instruction);
        found.map_or_else(String::new, |found| found.id.clone())
    }

    // Units.

    /// Runs the unit on top until it ends or waits.
    fn run(&mut self) -> Result<Next<W::Float>, Arc<Error>> {
        let Some(&Frame::Unit(frame)) = self.frames.last() else { return Ok(Next::Run) };
        if self.ints.len() + self.floats.len() + self.frames.len() > MAX_WAITING {
            return Err(Arc::new(Error::Unsupported {
                instruction: self.instruction(frame.unit),
                reason: format!("its value depends on a chain of more than {MAX_WAITING} values"),
            }));
        }
        let mut pc = frame.pc;
        let stop = loop {
            match self.step(&frame, &mut pc) {
                Ok(None) => {}
                Ok(Some(next)) => return Ok(next),
                Err(stop) => break stop,
            }
        };
        self.check_limit()?;
        let known = match stop {
            Stop::Value(value) => Ok(value),
            Stop::Trap(trap) => Err(self.trapped(&frame, trap)),
            Stop::Error(error) if matches!(*error, Error::Trap { .. }) => Err(error),
            Stop::Error(error) => return Err(error),
        };
        Ok(Next::Deliver(self.leave(known)))
    }

    pub(super) fn save(&mut self, pc: usize, dst: Reg, is_try: bool) {
        if let Some(Frame::Unit(frame)) = self.frames.last_mut() {
            (frame.pc, frame.dst, frame.is_try) = (pc, dst, is_try);
        }
    }
}

/// Whether C would go on with some value.
pub(super) fn is_gap(error: &Error) -> bool {
    matches!(error, Error::Trap { trap, .. } if trap.is_gap())
}

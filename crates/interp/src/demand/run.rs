//! Runs units and searches on a stack of frames.

use std::sync::Arc;

use nestegg_ir::types::Type;
use nestegg_ir::{ArrayId, ReduceOp};
use smallvec::SmallVec;

use crate::demand::memo::Known;
use crate::demand::node::Place;
use crate::demand::plan::UnitAt;
use crate::demand::search::{Candidate, Element, Instance, Limit, compare, latest};
use crate::demand::unit::{AccessCode, DimCode, FormCode, Instr, LoopCode, Reg};
use crate::demand::{Data, Demand, Value};
use crate::error::{Error, Point, Trap};
use crate::node::Binary;
use crate::source::floor_div;
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
    unit: usize,
    key: u128,
    floats: usize,
    ints: usize,
    pc: usize,
    /// Where the value that it waits for goes.
    dst: Reg,
    is_try: bool,
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

enum Next<F> {
    /// The frame on top runs on.
    Run,
    /// The frame on top has what it waits for.
    Deliver(Known<F>),
}

/// Why a unit stops.
enum Stop<F> {
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

    fn key(&self, unit: usize, point: impl Iterator<Item = i64>) -> u128 {
        let keys = &self.plan.keys[unit];
        keys.iter().zip(point).map(|(&(lo, stride), value)| (value - lo) as u128 * stride).sum()
    }

    fn enter(&mut self, unit: usize, key: u128, point: impl Iterator<Item = i64>) {
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

    fn search(
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

    fn check_limit(&self) -> Result<(), Arc<Error>> {
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

    fn unwritten(&self, search: &Search) -> Known<W::Float> {
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

    fn save(&mut self, pc: usize, dst: Reg, is_try: bool) {
        if let Some(Frame::Unit(frame)) = self.frames.last_mut() {
            (frame.pc, frame.dst, frame.is_try) = (pc, dst, is_try);
        }
    }

    /// `None` if it is no `i64`.
    fn form(&self, frame: &UnitFrame, form: &FormCode) -> Option<i64> {
        let ints = &self.ints[frame.ints..];
        let wide = || {
            let terms = form.terms.iter();
            let sum: i128 =
                terms.map(|&(reg, coefficient)| i128::from(coefficient) * i128::from(ints[reg as usize])).sum();
            i64::try_from(sum + i128::from(form.constant)).ok()
        };
        let narrow = form.terms.iter().try_fold(form.constant, |sum, &(reg, coefficient)| {
            sum.checked_add(coefficient.checked_mul(ints[reg as usize])?)
        });
        narrow.or_else(wide)
    }

    fn element_of(&self, frame: &UnitFrame, access: &AccessCode) -> Result<Element, Trap> {
        let dim = |dim: &DimCode| match dim {
            DimCode::Form(form) => self.form(frame, form).unwrap_or(i64::MAX),
            DimCode::Reg(reg) => self.ints[frame.ints + *reg as usize],
        };
        let element: Element = access.dims.iter().map(dim).collect();
        match self.outside(access.array, &element) {
            None => Ok(element),
            Some(trap) => Err(trap),
        }
    }

    /// One step of the unit on top; what is next if it waits.
    #[allow(clippy::too_many_lines)]
    #[inline(always)]
    fn step(&mut self, frame: &UnitFrame, pc: &mut usize) -> Result<Option<Next<W::Float>>, Stop<W::Float>> {
        let plan = self.plan;
        let world = self.world;
        let unit = &plan.units[frame.unit];
        let instr = &unit.code[*pc];
        *pc += 1;
        self.steps += 1;
        macro_rules! float {
            ($reg:expr) => {
                self.floats[frame.floats + $reg as usize]
            };
        }
        macro_rules! int {
            ($reg:expr) => {
                self.ints[frame.ints + $reg as usize]
            };
        }
        let fits = |value: Option<i64>, ty: Type| {
            let value = value.filter(|&value| ty != Type::Int32 || i32::try_from(value).is_ok());
            value.ok_or(Stop::Trap(Trap::IntegerOverflow))
        };
        match instr {
            Instr::Literal { dst, literal } => float!(*dst) = self.literals[*literal].clone(),
            Instr::Form { dst, form, ty } => int!(*dst) = fits(self.form(frame, form), *ty)?,
            Instr::Read { dst, access, is_float } => {
                let element = self.element_of(frame, access).map_err(Stop::Trap)?;
                match self.initial(access.array, &element) {
                    Some(Value::Float(value)) if *is_float => float!(*dst) = value,
                    Some(Value::Int(value)) => int!(*dst) = value,
                    _ => {
                        let array = plan.kernel[access.array].name.clone();
                        return Err(Stop::Trap(Trap::Uninitialised { array, index: element.to_vec() }));
                    }
                }
            }
            Instr::Load { dst, access } => {
                let element = self.element_of(frame, access).map_err(Stop::Trap)?;
                let Some((place, loops)) = &access.state else { return Ok(None) };
                let loops: Instance = loops.iter().map(|&reg| int!(reg)).collect();
                self.save(*pc, *dst, false);
                let depth = self.frames.len();
                match self.search(access.array, element, *place, &loops).map_err(Stop::Error)? {
                    Next::Deliver(Ok(value)) if self.frames.len() == depth => match value {
                        Value::Float(value) => float!(*dst) = value,
                        Value::Int(value) => int!(*dst) = value,
                        Value::Unwritten => {}
                    },
                    Next::Deliver(Err(error)) if self.frames.len() == depth => return Err(Stop::Error(error)),
                    next => return Ok(Some(next)),
                }
            }
            Instr::FloatNeg { dst, a } => float!(*dst) = world.neg(float!(*a).clone()),
            Instr::IntNeg { dst, a, ty } => int!(*dst) = fits(int!(*a).checked_neg(), *ty)?,
            Instr::Not { dst, a } => int!(*dst) = i64::from(int!(*a) == 0),
            Instr::BitNot { dst, a } => int!(*dst) = !int!(*a),
            Instr::IntToFloat { dst, a } => float!(*dst) = world.integer(int!(*a)),
            Instr::FloatToInt { dst, a, ty } => {
                let value = float!(*a).clone();
                int!(*dst) = match ty {
                    Type::Bool => i64::from(!world.equal(value, world.literal(0.0))),
                    _ if W::ROUNDS => fits(world.truncate(value), *ty)?,
                    _ => match world.truncate(value) {
                        Some(value) => fits(Some(value), *ty)?,
                        None => {
                            let reason = format!("cast of a float to {ty:?} in {}", world.name());
                            return Err(Stop::Trap(Trap::Unsupported(reason)));
                        }
                    },
                }
            }
            Instr::IntToInt { dst, a, ty } => {
                int!(*dst) = match ty {
                    Type::Bool => i64::from(int!(*a) != 0),
                    _ => fits(Some(int!(*a)), *ty)?,
                }
            }
            Instr::Float { op, dst, a, b } => {
                let (a, b) = (float!(*a).clone(), float!(*b).clone());
                let no_inverse = || Stop::Trap(Trap::NoInverse);
                float!(*dst) = match op {
                    Binary::Add => world.add(a, b),
                    Binary::Sub => world.sub(a, b),
                    Binary::Mul => world.mul(a, b),
                    Binary::Div => world.quotient(a, b).ok_or_else(no_inverse)?,
                    Binary::FloorDiv => world.floor_div(a, b).ok_or_else(no_inverse)?,
                    Binary::Mod => world.modulo(a, b).ok_or_else(no_inverse)?,
                    Binary::Power => world.power_any(a, b).ok_or_else(no_inverse)?,
                    other => return Err(Stop::Trap(Trap::Unsupported(format!("operation {other:?} on floats")))),
                };
            }
            Instr::Int { op, dst, a, b, ty } => {
                let (a, b) = (int!(*a), int!(*b));
                int!(*dst) = integer(*op, a, b, *ty).map_err(Stop::Trap)?;
            }
            Instr::Compare { op, dst, a, b } => {
                let (a, b) = (float!(*a).clone(), float!(*b).clone());
                int!(*dst) = i64::from(match op {
                    Binary::Lt => world.less(a, b),
                    Binary::Le => world.less_equal(a, b),
                    Binary::Eq => world.equal(a, b),
                    _ => !world.equal(a, b),
                });
            }
            Instr::Round { reg } => {
                if W::ROUNDS {
                    float!(*reg) = world.round_single(float!(*reg).clone());
                }
            }
            Instr::FloatPower { dst, a, exponent } => {
                let power = world.power(float!(*a).clone(), *exponent);
                float!(*dst) = power.ok_or(Stop::Trap(Trap::NoInverse))?;
            }
            Instr::IntPower { dst, a, exponent, ty } => {
                int!(*dst) = match int!(*a) {
                    base @ (0 | 1) if *exponent > 0 => base,
                    base => fits(u32::try_from(*exponent).ok().and_then(|exponent| base.checked_pow(exponent)), *ty)?,
                }
            }
            Instr::FloatCopy { dst, a } => float!(*dst) = float!(*a).clone(),
            Instr::IntCopy { dst, a } => int!(*dst) = int!(*a),
            Instr::IntSet { dst, value } => int!(*dst) = *value,
            Instr::Call { unit, args, dst, is_try } => {
                let key = self.key(*unit, args.iter().map(|&reg| int!(reg)));
                match self.memo.get(*unit, key) {
                    Some(Ok(Value::Float(value))) => float!(*dst) = value.clone(),
                    Some(Ok(Value::Int(value))) => int!(*dst) = *value,
                    Some(Ok(Value::Unwritten)) => {}
                    Some(Err(error)) if *is_try && is_gap(error) => int!(*dst) = 2,
                    Some(Err(error)) => return Err(Stop::Error(Arc::clone(error))),
                    None => {
                        self.save(*pc, *dst, *is_try);
                        let point: Instance = args.iter().map(|&reg| int!(reg)).collect();
                        self.enter(*unit, key, point.into_iter());
                        return Ok(Some(Next::Run));
                    }
                }
            }
            Instr::Function { function, result, args, dst } => {
                let function = &plan.functions[*function];
                let values: SmallVec<[W::Float; 3]> = args.iter().map(|&reg| float!(reg).clone()).collect();
                match world.call(function, *result, &values) {
                    Some(value) => float!(*dst) = value,
                    None => {
                        let reason = format!("function `{}` has no value in {}", function.name, world.name());
                        return Err(Stop::Trap(Trap::Unsupported(reason)));
                    }
                }
            }
            Instr::Jump { to } => *pc = *to,
            Instr::JumpIf { a, value, to } => {
                if int!(*a) == *value {
                    *pc = *to;
                }
            }
            Instr::See { decision, a } => self.coverage.see(*decision, int!(*a)),
            Instr::FloatExtremum { is_max, acc, a, winner, idx } => {
                let (old, new) = (float!(*acc).clone(), float!(*a).clone());
                let wins = match is_max {
                    true => world.less(old.clone(), new.clone()),
                    false => world.less(new.clone(), old.clone()),
                };
                if wins {
                    int!(*winner) = *idx;
                }
                float!(*acc) = if *is_max { world.max(old, new) } else { world.min(old, new) };
            }
            Instr::IntExtremum { is_max, acc, a, winner, idx } => {
                let (old, new) = (int!(*acc), int!(*a));
                if if *is_max { new > old } else { new < old } {
                    int!(*winner) = *idx;
                    int!(*acc) = new;
                }
            }
            Instr::LoopInit { code, cur, end, is_dense, exit } => match self.range(frame, &unit.loops[*code]) {
                None => *pc = *exit,
                Some((lo, hi, dense)) => {
                    int!(*end) = hi;
                    int!(*is_dense) = i64::from(dense);
                    match self.next_value(frame, &unit.loops[*code], lo, hi, dense) {
                        None => *pc = *exit,
                        Some(value) => int!(*cur) = value,
                    }
                }
            },
            Instr::LoopNext { code, cur, end, is_dense, body } => {
                self.check_limit().map_err(Stop::Error)?;
                let (from, hi, dense) = (int!(*cur).saturating_add(1), int!(*end), int!(*is_dense) != 0);
                if let Some(value) = self.next_value(frame, &unit.loops[*code], from, hi, dense) {
                    int!(*cur) = value;
                    *pc = *body;
                }
            }
            Instr::FloatStart { op, acc } => {
                float!(*acc) = match op {
                    ReduceOp::Sum => world.literal(0.0),
                    ReduceOp::Product => world.literal(1.0),
                    ReduceOp::Min => world.infinity(false),
                    ReduceOp::Max => world.infinity(true),
                }
            }
            Instr::FloatJoin { op, acc, a, is_first, is_single } => {
                let (old, new) = (float!(*acc).clone(), float!(*a).clone());
                let round = |value| if W::ROUNDS && *is_single { world.round_single(value) } else { value };
                let is_start = std::mem::replace(&mut int!(*is_first), 0) != 0;
                float!(*acc) = match op {
                    ReduceOp::Sum => round(world.add(old, new)),
                    ReduceOp::Product => round(world.mul(old, new)),
                    ReduceOp::Min | ReduceOp::Max if is_start => new,
                    ReduceOp::Min => world.min(old, new),
                    ReduceOp::Max => world.max(old, new),
                };
            }
            Instr::IntJoin { op, acc, a, ty } => {
                let (old, new) = (int!(*acc), int!(*a));
                let joined = match op {
                    ReduceOp::Sum => old.checked_add(new),
                    ReduceOp::Product => old.checked_mul(new),
                    ReduceOp::Min => Some(old.min(new)),
                    ReduceOp::Max => Some(old.max(new)),
                };
                int!(*acc) = fits(joined, *ty)?;
            }
            Instr::Return { a } => {
                let value = match unit.is_float {
                    true => Value::Float(float!(*a).clone()),
                    false => Value::Int(int!(*a)),
                };
                return Err(Stop::Value(value));
            }
        }
        Ok(None)
    }

    fn look(&mut self, frame: &UnitFrame, code: &LoopCode) {
        for &(iname, reg) in &code.inputs {
            self.env[iname.index()] = self.ints[frame.ints + reg as usize];
        }
    }

    fn range(&mut self, frame: &UnitFrame, code: &LoopCode) -> Option<(i64, i64, bool)> {
        self.look(frame, code);
        code.bounds.range(&mut self.env)
    }

    /// The least value from `from` to `hi`.
    fn next_value(&mut self, frame: &UnitFrame, code: &LoopCode, from: i64, hi: i64, is_dense: bool) -> Option<i64> {
        if is_dense {
            return (from <= hi).then_some(from);
        }
        self.look(frame, code);
        (from..=hi).find(|&value| code.bounds.holds(&mut self.env, value))
    }
}

/// Whether C would go on with some value.
fn is_gap(error: &Error) -> bool {
    matches!(error, Error::Trap { trap, .. } if trap.is_gap())
}

/// An operation on two integers or truth values, with the width of its type.
fn integer(op: Binary, a: i64, b: i64, ty: Type) -> Result<i64, Trap> {
    let value = match op {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::FloorDiv | Binary::Mod if b == 0 => return Err(Trap::IntegerDivisionByZero),
        Binary::FloorDiv => floor_div(a, b),
        Binary::Mod => floor_div(a, b).map(|quotient| a.wrapping_sub(quotient.wrapping_mul(b))),
        Binary::Shl | Binary::Shr => {
            let width = if ty == Type::Int64 { 64 } else { 32 };
            match (u32::try_from(b).ok().filter(|&b| b < width), op) {
                (None, _) => return Err(Trap::ShiftOutOfRange),
                (Some(b), Binary::Shr) => Some(a >> b),
                (Some(b), _) => i64::try_from(i128::from(a) << b).ok(),
            }
        }
        Binary::Lt => return Ok(i64::from(a < b)),
        Binary::Le => return Ok(i64::from(a <= b)),
        Binary::Eq => return Ok(i64::from(a == b)),
        Binary::Ne => return Ok(i64::from(a != b)),
        Binary::BitAnd => return Ok(a & b),
        Binary::BitOr => return Ok(a | b),
        Binary::BitXor => return Ok(a ^ b),
        other => return Err(Trap::Unsupported(format!("operation {other:?} on integers"))),
    };
    value.filter(|&value| ty != Type::Int32 || i32::try_from(value).is_ok()).ok_or(Trap::IntegerOverflow)
}

//! Stores: the values of a unit into its array, all at once or point by point along a chain.
//!
//! What the world has no value for is stored as undefined.

use nestegg_ir::ArrayId;

use crate::error::{Error, Trap};
use crate::evaluate::{Range, Reader, State};
use crate::machine::{Machine, Watch};
use crate::memory::{Data, Storage};
use crate::node::{Action, Address, Block, NodeId, Unit};
use crate::world::Batch;

impl<W: Batch> Machine<'_, W> {
    /// Stores at the points `range`, at none of which others the unit runs.
    pub(super) fn store(&mut self, block_idx: usize, unit: &Unit, range: Range) -> Result<(), Error> {
        let Action::Store { array, address, .. } = &unit.action else { return Ok(()) };
        let block = &self.code.blocks[block_idx];
        let state = &self.states[block_idx];
        let range = Range { hi: range.hi.min(state.points[unit.set.index()].len), ..range };
        let mut target = std::mem::replace(&mut self.memory[array.index()], Storage::full(Data::Ints(Vec::new())));
        let reader = Reader::new(self.world, self.code, block, &self.memory, &self.env);
        let places = reader.places(state, array.index(), address, unit.set, range);
        let mut failure = None;
        for point in range.lo..range.hi {
            match self.stored(block, state, unit, point, || places.get(point - range.lo)) {
                Ok(stored) => {
                    self.put(&mut target, (block_idx, unit), state, point, &stored);
                    stored.show(&mut self.watch, *array, unit);
                }
                Err(trap) => {
                    failure = Some((point, trap));
                    break;
                }
            }
        }
        self.memory[array.index()] = target;
        self.clock += 1;
        self.array_at[array.index()] = self.clock;
        match failure {
            None => Ok(()),
            Some((point, trap)) => Err(self.error(block_idx, unit, point, trap)),
        }
    }

    /// Evaluates the chain and stores, point by point.
    pub(super) fn store_chain(&mut self, block_idx: usize, unit: &Unit, range: Range) -> Result<(), Error> {
        let Action::Store { array, address, chain, .. } = &unit.action else { return Ok(()) };
        let block = &self.code.blocks[block_idx];
        let len = self.states[block_idx].points[unit.set.index()].len;
        self.count(len as u64 * chain.len() as u64)?;
        for point in range.lo..range.hi.min(len) {
            let state = &mut self.states[block_idx];
            if unit.mask.is_some_and(|mask| state.poison_at(mask, point) == 0 && !state.truth(mask, point)) {
                continue;
            }
            let reader = Reader::new(self.world, self.code, block, &self.memory, &self.env);
            let range = Range { lo: point, hi: point + 1 };
            for &node in chain {
                reader.evaluate(state, node, range);
            }
            let place = reader.places(state, array.index(), address, unit.set, range).get(0);
            let state = &self.states[block_idx];
            let stored = match self.stored(block, state, unit, point, || place) {
                Ok(stored) => stored,
                Err(trap) => return Err(self.error(block_idx, unit, point, trap)),
            };
            let mut target = std::mem::replace(&mut self.memory[array.index()], Storage::full(Data::Ints(Vec::new())));
            self.put(&mut target, (block_idx, unit), &self.states[block_idx], point, &stored);
            stored.show(&mut self.watch, *array, unit);
            self.memory[array.index()] = target;
        }
        self.clock += 1;
        self.array_at[array.index()] = self.clock;
        Ok(())
    }

    /// What a unit stores at a point.
    fn stored(
        &self,
        block: &Block,
        state: &State<W::Float>,
        unit: &Unit,
        point: usize,
        place: impl FnOnce() -> Result<usize, Trap>,
    ) -> Result<Stored, Trap> {
        let Action::Store { array, address, value, .. } = &unit.action else { return Ok(Stored::Nothing) };
        let mut gap = self.doubt.clone();
        if let Some(mask) = unit.mask {
            match self.check(state, unit, mask, point) {
                Ok(()) if state.truth(mask, point) => {}
                Ok(()) => return Ok(Stored::Nothing),
                Err(trap) if trap.is_gap() || gap.is_some() => gap = Some(trap),
                Err(trap) => return Err(trap),
            }
        }
        let is_doubtful = gap.is_some();
        match self.check(state, unit, *value, point) {
            Ok(()) => {
                let narrow = self.code.layouts[array.index()].stored;
                if let (Some(narrow), Some(value)) = (narrow, state.integer(*value, point))
                    && !narrow.holds(value)
                    && !is_doubtful
                {
                    return Err(Trap::IntegerOverflow);
                }
            }
            Err(trap) if trap.is_gap() || is_doubtful => gap = Some(trap),
            Err(trap) => return Err(trap),
        }
        let place = match address_poison(state, address, point) {
            0 => place(),
            code => match self.trap(state, block, unit.set, code, point) {
                trap if trap.is_gap() => return Ok(Stored::Anywhere(trap)),
                trap => Err(trap),
            },
        };
        match (place, gap) {
            (Ok(position), None) => Ok(Stored::Value(position)),
            (Ok(position), Some(trap)) => Ok(Stored::Undefined(position, trap)),
            (Err(_), _) if is_doubtful => Ok(Stored::Nothing),
            (Err(trap), _) => Err(trap),
        }
    }

    fn put(
        &self,
        target: &mut Storage<W::Float>,
        (block_idx, unit): (usize, &Unit),
        state: &State<W::Float>,
        point: usize,
        stored: &Stored,
    ) {
        let Action::Store { value, .. } = &unit.action else { return };
        let error = |trap: &Trap| self.error(block_idx, unit, point, trap.clone());
        match stored {
            Stored::Nothing => {}
            Stored::Value(position) => write(target, *position, state, *value, point),
            Stored::Undefined(position, trap) => target.note(*position, Err(error(trap))),
            Stored::Anywhere(trap) => target.note_all(&error(trap)),
        }
    }
}

/// What a unit stores at a point.
enum Stored {
    Nothing,
    /// Its value, at a flat position.
    Value(usize),
    /// Something that the world has no value for.
    Undefined(usize, Trap),
    /// Something, at an index that the world has no value for.
    Anywhere(Trap),
}

impl Stored {
    fn show(&self, watch: &mut Watch, array: ArrayId, unit: &Unit) {
        match (self, unit.insn) {
            (Self::Nothing, _) | (_, None) => {}
            (Self::Value(position) | Self::Undefined(position, _), Some(insn)) => watch.see(array, *position, insn),
            (Self::Anywhere(_), Some(insn)) => watch.see_all(array, insn),
        }
    }
}

fn address_poison<F: Copy + Default>(state: &State<F>, address: &Address, point: usize) -> u32 {
    let mut code = 0;
    if state.n_poisoned > 0 {
        address.for_each_operand(|operand| {
            if code == 0 {
                code = state.poison_at(operand, point);
            }
        });
    }
    code
}

fn write<F: Copy + Default>(target: &mut Storage<F>, position: usize, state: &State<F>, value: NodeId, point: usize) {
    match &mut target.data {
        Data::Floats(target) => {
            let values = &state.floats[value.index()];
            target[position] = values[if values.len() == 1 { 0 } else { point }];
        }
        Data::Ints(target) => {
            let values = &state.ints[value.index()];
            target[position] = values[if values.len() == 1 { 0 } else { point }];
        }
    }
    target.note(position, Ok(()));
}
